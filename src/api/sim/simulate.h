/* rh_simulate: its options, and its parts. */
#ifndef REHEARSE_API_SIM_SIMULATE_H
#define REHEARSE_API_SIM_SIMULATE_H

#include "api/command.h"
#include "core/file_output.h"
#include "figure/gantt.h"
#include "report/timeline.h"
#include "schedule/trial.h"
#include "sim/chakra/write.h"
#include "sim/chrome.h"
#include "sim/play.h"
#include "sim/timeline.h"

struct simulate_options {
    struct rh_simulate_request asked;
    int64_t origin;            /* nanoseconds since 1970 of the beginning, for traces with dates */
    struct api_report *report; /* where the answer goes */
    const struct api_call *call;
};

/* Words of enum sim_level, sim_save_waits and sim_reshard. */
extern const char *const simulate_levels[], *const simulate_save_waits[], *const simulate_reshards[];

/* Returns whether the option was given, by its name without dashes. */
bool simulate_is_given(const struct simulate_options *given, const char *name);

/* Numbers of the command line, read. The caller releases them, also after a failure. */
struct simulate_numbers {
    double *lists[4];
    struct trial_options options;
};
bool simulate_numbers_read(const struct simulate_options *given, struct simulate_numbers *numbers,
                           struct error *err);
void simulate_numbers_release(struct simulate_numbers *numbers);

/* A schedule by name, and its trial or the reason why there is none. */
struct simulate_entry {
    const struct schedule *schedule;
    int chunks; /* asked for by the name; 0: not */
    struct trial trial;
    bool played;
    struct error reason;
    struct gantt *gantt; /* for --figure; NULL: none */
    char title[160];     /* of its panel */
};

#define SIMULATE_MAX_ENTRIES 64

/* Fills in the entries that --schedule names, or all; returns their number, or 0 and an error. */
int simulate_entries_read(const struct simulate_options *given, struct simulate_entry *entries,
                          struct error *err);

/* Wrong names and shapes are options here, not files. Returns false. */
bool simulate_as_usage(struct error *err);

/* Reports of one trial; `path`, `letters` and `csv` are those of a file, or NULL. */
struct simulate_source {
    const char *path, *letters;
    const struct schedule_csv *csv;
};
void simulate_print(const struct trial *trial, const struct simulate_source *source,
                    const struct simulate_numbers *numbers, struct text *out);
void simulate_write_json(const struct trial *trial, const struct simulate_source *source,
                         const struct simulate_numbers *numbers, struct json *json);

/* Reports of several. */
void simulate_print_all(const struct simulate_entry *entries, int count,
                        const struct simulate_numbers *numbers, struct text *out);
void simulate_write_all(const struct simulate_entry *entries, int count,
                        const struct simulate_numbers *numbers, struct json *json);

/* Returns whether a file is asked for that shows the tasks of a run. */
bool simulate_wants_tasks(const struct simulate_options *given);

/* Writes PyTorch's schedule CSV of an order; `read`: what was read from a file, or NULL. */
bool simulate_write_schedule(const struct pass_order *order, const struct schedule_csv *read,
                             const struct simulate_options *given, struct error *err);

struct simulate_tasks;

/* How tasks are shown. */
struct simulate_look {
    struct gantt_options picture;
    /* Fills in a lane of the page's timeline, as report/timeline.h has it; NULL: lanes are devices. */
    void (*name)(const void *context, int device, struct report_lane *lane);
    const void *context;
};

/* Files that show the tasks of a run, while it goes on. */
struct simulate_files {
    struct timeline_sinks sinks;
    struct file_output csv;
    struct gantt *gantt;
    struct chrome *chrome;
    struct timeline_store *store; /* instead of that */
    struct chakra_out *chakra;
    struct simulate_tasks *tasks;     /* in memory */
    struct report_timeline *timeline; /* of the page */
};

/* Returns a sink that keeps all tasks, for simulate_tasks_end; it has none where memory is out. */
struct timeline_sink simulate_tasks_sink(struct simulate_tasks **tasks, struct error *err);

/* Adds the tasks to the report if `done`, and ends them in any case. */
bool simulate_tasks_end(struct simulate_tasks *tasks, struct api_report *report, bool done,
                        struct error *err);

/* Opens those that are asked for; `look` is of the picture and the page, `trace` of the Chrome trace. Ended by
 * simulate_files_close, also after a failure. */
bool simulate_files_open(struct simulate_files *files, const struct simulate_options *given,
                         const struct simulate_look *look, const struct chrome_options *trace,
                         struct error *err);
/* Completes the files if `done`, else removes them; returns false if they are not complete. */
bool simulate_files_close(struct simulate_files *files, const struct simulate_options *given, bool done,
                          struct error *err);

/* Reads the samples a second of all accelerators in the training of a storage run, and the bytes of a sample. */
bool simulate_storage_read(const char *path, struct sim_options *options, struct error *err);

/* Loads the plan that is to be played. */
bool simulate_load(const struct simulate_options *given, struct plan *plan, struct error *err);

/* `rehearse simulate plan.json`. */
bool simulate_play_plan(const struct simulate_options *given, struct error *err);

/* `rehearse simulate --replay trace.json`. */
bool simulate_replay(const struct simulate_options *given, struct error *err);

/* The same of a memory snapshot of PyTorch's. */
bool simulate_snapshot(const struct simulate_options *given, struct error *err);

/* Plays a plan with several schedules, and reports. */
bool simulate_play_schedules(struct plan *plan, const struct sim_options *options,
                             const struct simulate_options *given, struct error *err);

#endif
