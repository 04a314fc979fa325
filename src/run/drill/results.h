/* Results of one drill or of many: their outcomes, and the times of each step of a recovery. Private to run, except for
 * api/run.
 *
 *     struct drill_results results = {.drills = 0};
 *     bool ok = drill_run(&options, &outcome, err) && drill_results_add(&results, 0, &outcome, err);
 *     drill_results_sort(&results);
 *     drill_results_print(&results, &text);
 *     ok = ok && drill_results_judge(&results, err);
 *     drill_results_release(&results); */
#ifndef REHEARSE_RUN_DRILL_RESULTS_H
#define REHEARSE_RUN_DRILL_RESULTS_H

#include "core/fields.h"
#include "core/text.h"
#include "run/drill/drill.h"

/* Times in seconds, except DRILL_RATIO: recovery time / simulated recovery time. */
enum drill_time {
    DRILL_KILL_FOUND,
    DRILL_CUT_FOUND,
    DRILL_AGREED,
    DRILL_COPIED,
    DRILL_STEPPED,
    DRILL_RECOVERED,
    DRILL_SIMULATED,
    DRILL_RATIO,
    DRILL_RESTARTED,
    DRILL_LOADED,
    DRILL_TIMES
};

struct drill_results {
    int asked; /* of a batch that was stopped: how many there were to be; 0: it was not */
    int drills, verdicts[DRILL_VERDICTS], lost, views, restarts, repeated;
    int64_t samples, cells;
    struct {
        double *values;
        size_t count, capacity;
    } times[DRILL_TIMES];
    int wrong_count;            /* drills that ended wrongly, or not at all */
    int wrong_drill;            /* the number of the first of these */
    struct drill_outcome wrong; /* its outcome */
    struct drill_outcome last;
};

/* Adds the outcome of drill `number`. Fails only if memory is exhausted. */
bool drill_results_add(struct drill_results *results, int number, const struct drill_outcome *outcome,
                       struct error *err);

/* Called once all outcomes are added, and before the results are printed or written. */
void drill_results_sort(struct drill_results *results);

void drill_results_print(const struct drill_results *results, struct text *out);

/* Quantiles of one time, in seconds; NAN: it did not occur. */
struct drill_time_row {
    const char *name; /* "first_step" */
    double median, p90, p99;
};
extern const struct field drill_time_fields[4];
void drill_results_rows(const struct drill_results *results, struct drill_time_row rows[DRILL_TIMES]);

/* Writes a whole document, rehearse-drills/1. */
void drill_results_write_json(const struct drill_results *results, int64_t seed, int faults,
                              struct json *json);

/* Fails when a drill ended wrongly (ERROR_FAILED), or the only one without a continuation (ERROR_INFEASIBLE). */
bool drill_results_judge(const struct drill_results *results, struct error *err);

void drill_results_release(struct drill_results *results);

#endif
