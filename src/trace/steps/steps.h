/* Times of training steps and their parts, from the logs of instrumented applications:
 *   - MLPerf's (MLLOG) with values {"start": T, "duration": NS}, as lines or as one JSON list (UNET3D, DLRM);
 *   - DLIO's with lines "[INFO] EVENT NS";
 *   - R_output.json of DLIO and of `rehearse feed -o`;
 *   - JSON of TensorFlow's profiler, one step each (BERT).
 *
 * The format of a file is found from its content. Names of files and folders give the configuration
 * (UNET3D_8g_4b); runs of one configuration are pooled. docs/figure-steps.md lists the data left out, and
 * why. Files are read as streams; memory grows by 8 bytes per duration kept. */
#ifndef REHEARSE_TRACE_STEPS_STEPS_H
#define REHEARSE_TRACE_STEPS_STEPS_H

#include "core/error.h"
#include "core/text.h"
#include "trace/import/places.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPS_MAX_VALUES ((size_t)1 << 27) /* durations of all files: 1 GiB */
#define STEPS_MAX_GROUPS 4096
#define STEPS_MAX_FILES  100000 /* in one folder */
#define STEPS_MAX_EVENTS 64     /* different names */
#define STEPS_NAME       64

/* Events known by name; others follow in order of appearance. */
enum steps_event {
    STEPS_STEP,           /* step_end: the whole step */
    STEPS_LOAD,           /* load_batch_mem: blocked on the loader */
    STEPS_INNER,          /* load_batch_inner: within the framework's loader (DLIO) */
    STEPS_COPY,           /* load_batch_gpu: from host to device */
    STEPS_FORWARD,        /* model_forward_pass */
    STEPS_LOSS,           /* loss_tensor_calc */
    STEPS_BACKWARD,       /* model_backward_pass */
    STEPS_OPTIMIZER,      /* model_optim_step */
    STEPS_BARRIER,        /* cum_loss_fn_calc: the all-reduce of the loss, which synchronises workers */
    STEPS_COMPUTE,        /* all_compute: everything after loading, including the copy */
    STEPS_SAMPLE_LOAD,    /* one sample from storage */
    STEPS_SAMPLE_PREPARE, /* sample_preproc */
    STEPS_BATCH_LOAD,     /* one batch from storage */
    STEPS_BATCH_PREPARE,  /* batch_preproc */
    STEPS_KNOWN
};

enum steps_source { STEPS_NOTHING, STEPS_MLLOG, STEPS_DLIO, STEPS_DLIO_OUTPUT, STEPS_PROFILER };

/* Returns "MLLOG", … */
extern const char *const steps_source_words[];

/* Seconds; sorted by steps_finish. */
struct steps_values {
    double *items;
    size_t count, capacity;
};

/* All runs of one configuration. */
struct steps_group {
    int64_t gpus, batch; /* batch as in the name: per GPU, but global for DLRM */
    int files;
    struct steps_values events[STEPS_MAX_EVENTS];
};

struct steps {
    char workload[STEPS_NAME];
    enum steps_source source;
    bool as_study; /* the option of the reading */
    int event_count;
    char events[STEPS_MAX_EVENTS][STEPS_NAME];
    struct steps_group *groups; /* sorted by GPUs, then batch, by steps_finish */
    size_t group_count, group_capacity;
    size_t value_count; /* kept, in all groups */
    int files;          /* with steps in them */
    int64_t lines, malformed;
    int64_t first_steps; /* durations left out: of first steps … */
    int64_t skipped;     /* … of skipped epochs … */
    int64_t zeros;       /* … of no length … */
    int64_t other_ranks; /* … and lines of ranks other than 0 */
    struct import_places places;
};

struct steps_options {
    const char *workload; /* NULL: from the names */
    int64_t gpus, batch;  /* 0: from the names or the log */
    int64_t
        skip_epochs; /* the first of a run; negative: one of UNET3D (its data come from storage for the first
                             time), else none */
    bool as_study;   /* leave out the same durations as the study's scripts, with their faults */
};

/* Adds a file, or all logs below a folder. *steps starts as {0}; release it even after a failure. Counts and
 * skips malformed lines. Fails if workload or kind differ from earlier files. */
bool steps_read(struct steps *steps, const char *path, const struct steps_options *options,
                struct error *err);

/* Does the same for text in memory, as if it were a file of this path. */
bool steps_read_text(struct steps *steps, const char *path, const char *text, size_t length,
                     const struct steps_options *options, struct error *err);

/* Sorts; fails if nothing was found. */
bool steps_finish(struct steps *steps, struct error *err);

void steps_release(struct steps *steps);

/* Returns the event of this name, -1 if no log has it. */
int steps_event_find(const struct steps *steps, const char *name);

/* Reads GPUs, batch and workload from a path; not found: 0, "". Also for tests. */
void steps_path_configuration(const char *path, int64_t *gpus, int64_t *batch, char workload[STEPS_NAME]);

#endif
