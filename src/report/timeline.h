/* A timeline in a page: what page/timeline.js draws, as the tasks come.
 *
 *     struct report_timeline *timeline = report_timeline_new(&options, err);
 *     struct timeline_sink sink = report_timeline_sink(timeline);
 *     … the run gives its tasks to the sink …
 *     bool ok = report_timeline_draw(timeline, "1F1B", &drawing, err);
 *     report_timeline_free(timeline);
 *
 * Each stream of a device is a lane; a task that begins before the one before it in its lane has ended lies in another
 * lane of the same stream. Devices that do and keep the same at the same times are one lane with several copies.
 *
 * The data, as JSON:
 *
 *     {"unit": "s", "end": 60.6, "tick": 1e-9, "missing": 0, "hidden": 0, "packed": "deflate", "label": "micro-batch",
 *      "labels": ["a.npz", …], "memory": {"quantum": 1, "title": "memory of a device", "unit": "B"},
 *      "durations": [ticks, …], "kinds": [{"colour": 4, "chunk": 1, "name": "forward", "legend": "forward"}, …],
 *      "lanes": [{"copies": 64, "name": "device 3", "group": "pipeline 0", "also": "device 7", "limit": 8e10,
 *                 "memory": "…", "count": 512, "tasks": "…"}, {"under": true, "name": "send", "count": …}, …]}
 *
 * A tick is the greatest time, in units, of which all begins and ends are multiples after rounding to a nanosecond (or
 * finer, where the run is short). `tasks` are, for each task, four numbers: ticks since the end of the lane's task
 * before it, index of the duration, index of the kind, and the label's number less the one before it, where the first
 * one follows 0 and a task without a number has -1. `memory` are, for each step, ticks since the one before and the
 * change in quanta. Numbers are LEB128, those that can be negative in zigzag order (2n, or -2n - 1), in base64, and
 * before that packed by zlib where `packed` says so. `labels` is not empty where numbers stand for texts. Kinds of odd
 * chunks are drawn lighter. An `under` lane belongs to the one above it. `missing` tasks came after the limit,
 * `hidden` ones overlap more others than there are lanes. */
#ifndef REHEARSE_REPORT_TIMELINE_H
#define REHEARSE_REPORT_TIMELINE_H

#include "core/error.h"
#include "core/text.h"
#include "report/parts.h"
#include "sim/timeline.h"

#include <stdbool.h>
#include <stdint.h>

#define REPORT_MAX_TASKS  6000000 /* of a timeline, and points of its memory */
#define REPORT_MAX_BESIDE 16      /* tasks of a stream at the same time */

/* What is said of a device. */
struct report_lane {
    char name[96], group[64]; /* group "": none */
    int64_t copies;           /* devices that it stands for, and that do the same */
    double limit;             /* of its memory; 0: unknown */
};

struct report_timeline_options {
    const char *label;         /* what the numbers of tasks are: "micro-batch" */
    const char *const *labels; /* texts of these numbers; NULL: numbers */
    int64_t label_count;       /* of them */
    int depth;                 /* stages of a chunk: stage / depth is the chunk; 0: no chunks */
    bool apart;                /* devices of different groups are never one lane */
    /* Recorded by a profiler: as if `apart`, and each stream is a lane of its own, "stream 7", unless a group names it. */
    bool recorded;
    int64_t most;                  /* tasks that are kept; 0: REPORT_MAX_TASKS */
    const char *memory_title;      /* "memory of a device" */
    const char *memory_unit;       /* "B", or of counts "micro-batches" */
    const char *const *kind_names; /* of the legend, for kinds that do not have their own; NULL: none */
    /* Fills in a lane, which is "device 3" of no group. NULL: all stay so. */
    void (*name)(const void *context, int device, struct report_lane *lane);
    const void *context;
};

struct report_timeline;

/* The options are kept, not what they point to. NULL: no memory, *err is set. */
struct report_timeline *report_timeline_new(const struct report_timeline_options *options, struct error *err);
void report_timeline_free(struct report_timeline *timeline);

/* Returns a sink that stores what is drawn; it must not outlive the timeline. */
struct timeline_sink report_timeline_sink(struct report_timeline *timeline);

/* Adds the data. Fails if memory is out, a stop is wanted, or times are no numbers. */
bool report_timeline_write(struct report_timeline *timeline, struct text *out, struct error *err);

/* A name for lanes of a plan that was played: "place 3" of "pipeline 0", with its copies and the memory of its type. */
struct plan;
struct sim_result;
struct report_played {
    const struct plan *plan;
    const struct sim_result *result; /* of the whole plan, when lanes are named */
};
void report_name_played(const void *played, int device, struct report_lane *lane);

/* Plays a plan by passes, and draws it, or says why not: it cannot be played, or has too many passes. */
bool report_play(struct plan *plan, struct report_part *part, struct error *err);

/* Makes a drawing of it, with a table of lanes for readers without scripts; `caption` is kept. The caller releases its
 * texts, also after a failure. */
bool report_timeline_draw(struct report_timeline *timeline, const char *caption,
                          struct report_drawing *drawing, struct error *err);

#endif
