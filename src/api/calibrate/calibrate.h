/* Inside rh_calibrate. */
#ifndef REHEARSE_API_CALIBRATE_H
#define REHEARSE_API_CALIBRATE_H

#include "api/handle.h"
#include "core/arena.h"
#include "core/csv.h"
#include "core/error.h"
#include "core/json.h"
#include "core/statistics.h"
#include "core/text.h"
#include "devices/tables.h"

#include <stdbool.h>

/* What --known leaves out, in the order of its words. */
enum calibrate_left_out {
    CALIBRATE_LEAVE_ALL, /* one after another */
    CALIBRATE_LEAVE_ROWS,
    CALIBRATE_LEAVE_SIZES,
    CALIBRATE_LEAVE_GROUPS, /* collectives of as many devices */
    CALIBRATE_LEAVE_GPU     /* products: its data sheet, and the parameters of another GPU */
};

/* A fit of a type of matrix products, of a kind of collective or of runs. */
struct calibrate_line {
    const char *what, *name;
    struct error_score before, after; /* `after`: of rows left out of the fit */
    bool kept;                        /* the fit is worse: what was known stays */
};

#define CALIBRATE_MAX_LINES 640
#define CALIBRATE_MAX_FILES 4

struct calibrate_file {
    const char *name; /* of the file in a folder, without ending */
    struct text text;
};

/* What was measured in a recorded run, as tables (recorded.c). */
struct calibrate_recorded {
    const char *path; /* NULL: none was read */
    struct text products, collectives;
    int product_count, collective_count; /* rows */
    const struct cost_device *device;    /* as the trace names it; NULL: unknown */
    char told[80];                       /* what it calls it; "": nothing */
};

struct calibrate_report {
    const struct rh_calibrate_request *given;
    struct calibrate_recorded recorded;
    struct arena arena;
    struct table table;
    const struct cost_device *device; /* NULL: all, with --known */
    struct cost_device fitted;        /* the device with the fit of --gemm; name NULL: there is none */
    struct calibrate_run *run;        /* of --log; NULL: there is none */
    struct own_lab lab;               /* of --runs; runs 0: there is none */
    int line_count, file_count;
    int product_lines; /* of --known, the first of them */
    enum calibrate_left_out left_out;
    struct calibrate_line lines[CALIBRATE_MAX_LINES];
    struct calibrate_file files[CALIBRATE_MAX_FILES];
};

/* Adds a line; name is kept. */
void calibrate_add_line(struct calibrate_report *report, const char *what, const char *name,
                        const struct error_score *before, const struct error_score *after);

/* Adds the lines of --known. */
bool calibrate_known(struct calibrate_report *report, struct error *err);

/* Returns the text of a further file, by its name without ending. */
struct text *calibrate_add_file(struct calibrate_report *report, const char *name);

/* Prints the lines, and what was learned. */
void calibrate_print(const struct calibrate_report *report, struct text *out);

/* Is a file a profiler's trace, or a folder of its ranks? */
bool calibrate_is_recorded(const char *path);

/* A recorded run as --log is both tables, as far as it has them; `asked` is changed. */
struct rh_calibrate_request;
bool calibrate_take_recorded(struct calibrate_report *report, struct rh_calibrate_request *asked,
                             struct error *err);

/* Reads a trace, unless it is the one that was read last; `device` NULL: the trace's own. Another one than that, if
 * both are known, is an error. */
bool calibrate_recorded_read(struct calibrate_recorded *recorded, const char *path, const char *device,
                             struct error *err);
bool calibrate_recorded_table(struct calibrate_recorded *recorded, bool products, struct csv *csv,
                              struct error *err);
void calibrate_recorded_release(struct calibrate_recorded *recorded);

/* Reads the log of --log and its job, and adds what they say. On success the report has a run; calibrate_run_release
 * ends it in any case. */
bool calibrate_from(struct calibrate_report *report, struct error *err);
void calibrate_run_release(struct calibrate_run *run);

void calibrate_run_print(const struct calibrate_report *report, struct text *out);
void calibrate_run_write(const struct calibrate_report *report, struct json *json);

#endif
