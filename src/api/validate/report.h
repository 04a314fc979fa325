/* The answers of rh_validate. */
#ifndef REHEARSE_API_VALIDATE_REPORT_H
#define REHEARSE_API_VALIDATE_REPORT_H

#include "api/handle.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "evidence/better.h"
#include "evidence/interval.h"
#include "evidence/left_out.h"
#include "evidence/rank.h"
#include "evidence/simulated.h"
#include "evidence/validate.h"

#include <stdbool.h>

/* Fields of a run that stand together in documents; those from RUN_SET on are columns, too. */
enum { RUN_SOURCE = 2, RUN_SET = 5, RUN_REASON = 8, RUN_MEASURED, RUN_PREDICTED = 11, RUN_MEMORY = 13 };
#define RUN_FIELDS 16
extern const struct field validate_run_fields[RUN_FIELDS];

/* What known runs say of a run. */
struct judged {
    struct plan_interval interval;
    double nearest; /* seconds by the nearest known run alone; 0: there is none */
};

struct validate_report {
    struct validation validation;
    bool no_neighbours;          /* predictions are those of the formulas */
    struct judged *judged;       /* of modelled runs */
    struct better *betters;      /* NULL: not asked for */
    struct simulated *simulated; /* likewise */
    struct ranking ranking;      /* where `ranked` */
    bool ranked;
    struct left_out *left_out; /* likewise: the parts of runs, and all of them */
    enum run_part part;
    int left_out_count;
    int worst;                 /* print this many runs with the largest errors */
    int covered, extrapolated; /* of scored ones */
    bool rows, wide;           /* print every run, with all columns */
};

/* Corrects all runs that were predicted by known runs, makes their intervals, and counts the scored runs inside. */
bool validate_print(const struct validate_report *report, struct text *out, struct error *err);
void validate_write(const struct validate_report *report, struct json *json); /* JSON */

/* The ranking of splits: a line for each job, and with report->rows for each split. */
void validate_print_ranking(const struct validate_report *report, struct text *out);
void validate_write_ranking(const struct validate_report *report, struct json *json);

/* The errors and the share inside the intervals: by source and device, by generation, and by set where runs belong to
 * sets. */
void validate_print_scores(const struct validate_report *report, struct text *out);
void validate_write_scores(const struct validate_report *report, struct json *json);

/* What is predicted of runs when those like them are left out. */
void validate_print_left_out(const struct validate_report *report, struct text *out);
void validate_write_left_out(const struct validate_report *report, struct json *json);

extern const struct field validate_job_fields[4]; /* columns of jobs, too */

/* Adds what callers can ask of a report that is complete, and lives as long as the handle. */
void validate_add_values(const struct validate_report *report, rh_handle *handle);

/* Measured runs of pipeline schedules, with the times of their passes. */
struct validate_schedules {
    const char *table; /* NULL: the published runs */
    const struct cost_device *device;
    const struct cost_link *across;
    const struct software *software;
    bool rows;
};

/* The whole answer. */
bool validate_schedules(const struct validate_schedules *given, struct api_report *report, struct error *err);

#endif
