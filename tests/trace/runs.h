/* Traces of runs that differ by what is asked for. */
#ifndef REHEARSE_TESTS_RUNS_H
#define REHEARSE_TESTS_RUNS_H

#include "core/random.h"
#include "trace/similarity/math.h"
#include "trace/similarity/similarity.h"
#include "trace/traces.h"

#include <math.h>

enum { RUN_FILES = 200 };

/* A run: files read from their beginnings to their ends, one after the other, and now and then a write. */
struct run {
    int reads;
    double latency, size, pause; /* factors */
    int swapped;                 /* so many pairs of far files change places */
    int turned;                  /* of the ten accesses to a file, so many first ones are in reverse order */
    uint64_t seed;
    double late;   /* factor of latencies in the last third */
    bool shuffled; /* of RUN_FILES files at most */
    int keep;      /* of ten reads; the rest is dropped */
    bool phases, writes_only;
    const char *folder;
};
static const struct run plain = {
    .reads = 2000, .latency = 1, .size = 1, .pause = 1, .seed = 7, .late = 1, .keep = 10};

static const struct similarity_options options = {
    .weights = {2, 1, 1, 2, 2, 1, 1, 1}, .values = 100000, .replicates = 20, .seed = 1};

static inline void assert_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within))
        fail_msg("%.9g instead of %.9g", value, expected);
}

static inline void add_event(struct trace_writer *writer, struct trace_event event)
{
    struct error err;
    if (!trace_add_event(writer, &event, &err))
        fail_msg("%s", err.text);
}

static inline void make_run(const char *name, struct run run)
{
    struct error err;
    uint64_t random = run.seed;
    int64_t now = 1000000000;
    int order[RUN_FILES];
    uint64_t shuffle = ~run.seed;
    for (int i = 0; i < RUN_FILES; i++) {
        int at = (int)(random_uniform(&shuffle) * (i + 1));
        order[i] = i;
        order[i] = order[at];
        order[at] = i;
    }
    struct trace_writer *writer = make_trace(name, TRACE_STORE_WHOLE);
    int64_t process = trace_process(writer, 1, 1, "feed", 4);
    for (int i = 0; i < run.reads; i++) {
        char path[32];
        int file = i / 10, other = run.reads / 10 - 1 - file, place = i % 10;
        place = place < run.turned ? run.turned - 1 - place : place;
        if (file < run.swapped || other < run.swapped)
            file = other;
        file = run.shuffled ? order[file] : file;
        int length = snprintf(path, sizeof path, "%s/data/%04d", run.folder ? run.folder : "", file);
        double size = floor(run.size * (4096 + 4096 * floor(16 * random_uniform(&random))));
        double latency =
            run.latency * (i >= run.reads * 2 / 3 ? run.late : 1) * 1e5 * (1 + random_uniform(&random));
        struct trace_event event = {.class = i % 20 == 19 || run.writes_only ? TRACE_WRITE : TRACE_READ,
                                    .cached = -1,
                                    .start_ns = now,
                                    .latency_ns = (int64_t)latency,
                                    .process = process,
                                    .file = trace_file(writer, TRACE_NONE, TRACE_NONE, path, (size_t)length),
                                    .fd = 3,
                                    .offset = place * 65536,
                                    .size = (int64_t)size,
                                    .result = (int64_t)size};
        now += (int64_t)(run.pause * 1e6 * (1 + random_uniform(&random)) + latency);
        if (i * 7 % 10 < run.keep)
            add_event(writer, event);
    }
    const struct trace_phase training = {"TRAINING", 1000000000, now, "mllog"};
    if (run.phases)
        assert_true(trace_add_phase(writer, &training, &err));
    finish_trace(writer);
}

static inline void read_run(struct similarity_trace *trace, const char *name)
{
    struct error err;
    *trace = (struct similarity_trace){0};
    if (!similarity_trace_read(trace, in_folder(name), &options, &err))
        fail_msg("%s", err.text);
}

static inline struct similarity compare_with(const struct similarity_options *with, const char *a,
                                             const char *b)
{
    struct error err;
    struct similarity_trace one, other;
    struct similarity result;
    read_run(&one, a);
    read_run(&other, b);
    if (!similarity_compare(&one, &other, with, &result, &err))
        fail_msg("%s", err.text);
    similarity_trace_release(&one);
    similarity_trace_release(&other);
    return result;
}

static inline double value_of(const char *a, const char *b)
{
    struct similarity_options quick = options;
    quick.replicates = 0;
    struct similarity result = compare_with(&quick, a, b);
    double value = result.value;
    similarity_release(&result);
    return value;
}

#endif
