/* Logs of training runs: how long an iteration took, and what ran.
 *
 * Read are the lines that Megatron-LM, torchtitan and DeepSpeed write themselves, as their main branches of August 2026
 * and older versions write them:
 *
 *     Megatron-LM   " iteration 20/ 500 | ... | elapsed time per iteration (ms): 412.7 | ... | global batch size: 512 |
 *                   ...", and the arguments between "--- arguments ---" and "--- end of arguments ---"
 *     torchtitan    "step: 20  loss: ...  memory: 49.66GiB(52.28%)  tps: 5,868  tflops: ...  mfu: ...", and the
 *                   configuration behind "Running with configs: {" or "Running with args: {" (job.print_config)
 *     DeepSpeed     "steps: 20 loss: ... iter time (s): 0.51 samples/sec: 62.5" of its pipelines;
 *                   "RunningAvgSamplesPerSec=..., CurrSamplesPerSec=..." or "SamplesPerSec=..."; "time (ms) | forward:
 *                   ... | backward: ... | step: ..." of wall_clock_breakdown; and the configuration behind "json = {"
 *
 * Colours and what launchers put before a line ("[rank0]:", "0: ") do not count. Other lines are skipped. */
#ifndef REHEARSE_LAUNCH_LOG_LOG_H
#define REHEARSE_LAUNCH_LOG_LOG_H

#include "core/arena.h"
#include "core/error.h"
#include "launch/launch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_LOG_MAX_BYTES ((size_t)256 << 20)
#define RUN_LOG_MAX_STEPS 1000000
#define RUN_LOG_MAX_JOB   ((size_t)1 << 20) /* bytes of the arguments or the configuration in it */

/* How a line says the time of an iteration. */
enum run_measure {
    RUN_SECONDS,
    RUN_TOKENS,  /* tokens per second and device */
    RUN_SAMPLES, /* samples per second, of all devices */
    RUN_MEASURES
};

/* A line about an iteration, or the mean of several. */
struct run_step {
    int line;
    int64_t number;
    int64_t batch; /* samples of the iteration; 0: not said */
    double value;  /* above 0: of the log's measure */
};

struct run_log {
    struct arena arena;
    const char *path;
    const char *software; /* "Megatron-LM", "torchtitan", "DeepSpeed" */
    enum run_measure measure;
    struct run_step *steps;
    int count, room;
    int repeats; /* lines of other ranks about the same iteration */
    int skipped; /* iterations that the software itself skipped or that had no number: they are no step */
    int64_t devices;
    int devices_line;
    const char *gpu; /* as the log names it; NULL: it does not */
    const char *job; /* a launch description whose lines are those of the log; NULL: the log has none */
    size_t job_length;
    enum launch_syntax job_syntax;
};

/* Reads a log of RUN_LOG_MAX_BYTES at most. A log without iterations, or with an unreadable time of one, is
 * ERROR_INPUT, with the line. On failure *log holds nothing; on success the caller ends it with run_log_release. `path`
 * outlives the log. */
bool run_log_load(struct run_log *log, const char *path, struct error *err);
bool run_log_parse(struct run_log *log, const char *path, const char *data, size_t length, struct error *err);
void run_log_release(struct run_log *log);

/* ---- the steady part ---- */

/* The time of an iteration once the run is warm. */
struct run_pace {
    double seconds, low, high; /* the median, and its 95 % interval */
    int lines;                 /* that they are of */
    int warmup;      /* lines before, which are slower: compilation, allocation, a cold page cache */
    int other_batch; /* lines of another batch size than the last one's: it grew */
};

#define RUN_LOG_MIN_LINES 5

/* Returns the pace of a run: lines of the last batch size, without those of the warm-up. A pause (a checkpoint, an
 * evaluation) moves a line, and not the median. `tokens`: of an iteration and device; `batch`: samples of an iteration;
 * 0: not known, which is an error where the log's measure needs it. ERROR_INPUT with fewer than RUN_LOG_MIN_LINES
 * lines. */
bool run_log_pace(const struct run_log *log, double tokens, int64_t batch, struct run_pace *pace,
                  struct error *err);

#endif
