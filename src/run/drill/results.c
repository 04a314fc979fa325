#include "run/drill/results.h"

#include "core/statistics.h"
#include "core/unit.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>

static const char *const time_names[DRILL_TIMES] = {"detection",  "... of a cut", "agreement", "copies",
                                                    "first step", "recovery",     "simulated", NULL,
                                                    "restart",    "... load"};

static bool add_time(struct drill_results *results, int which, double value)
{
    return !isfinite(value) || VECTOR_ADD(results->times[which].values, results->times[which].count,
                                          results->times[which].capacity, value);
}

bool drill_results_add(struct drill_results *results, int number, const struct drill_outcome *outcome,
                       struct error *err)
{
    results->drills++;
    results->verdicts[outcome->verdict]++;
    results->lost += outcome->lost;
    results->views += outcome->views;
    results->restarts += outcome->restarts;
    results->repeated += outcome->repeated;
    results->samples += outcome->samples;
    results->cells += outcome->cells;
    results->last = *outcome;
    if ((outcome->verdict == DRILL_WRONG || outcome->verdict == DRILL_HANG) && results->wrong_count++ == 0) {
        results->wrong_drill = number;
        results->wrong = *outcome;
    }
    for (int i = 0; i < outcome->event_count; i++) {
        const struct drill_event *event = &outcome->events[i];
        double recovered = isfinite(event->simulated) ? event->stepped : NAN;
        if (!add_time(results, event->cut ? DRILL_CUT_FOUND : DRILL_KILL_FOUND, event->found) ||
            !add_time(results, DRILL_AGREED, event->agreement) ||
            !add_time(results, DRILL_COPIED, event->copied - event->agreed) ||
            !add_time(results, DRILL_STEPPED, event->stepped - event->copied) ||
            !add_time(results, DRILL_RECOVERED, recovered) ||
            !add_time(results, DRILL_SIMULATED, isfinite(recovered) ? event->simulated : NAN) ||
            !add_time(results, DRILL_RATIO, recovered / event->simulated))
            return error_memory(err);
    }
    for (int i = 0; i < outcome->restarts && i < DRILL_MAX_RESTARTS; i++)
        if (outcome->times[i].seconds > 0.0 &&
            (!add_time(results, DRILL_RESTARTED, outcome->times[i].seconds) ||
             !add_time(results, DRILL_LOADED, outcome->times[i].load)))
            return error_memory(err);
    return true;
}

void drill_results_sort(struct drill_results *results)
{
    for (int t = 0; t < DRILL_TIMES; t++)
        sort_doubles(results->times[t].values, (int)results->times[t].count);
}

static double share_of(const struct drill_results *results, int which, double share)
{
    return results->times[which].count > 0
               ? quantile_of(results->times[which].values, (int)results->times[which].count, share)
               : NAN;
}

void drill_results_print(const struct drill_results *results, struct text *out)
{
    char a[32], b[32], c[32];
    if (results->asked > 0)
        text_format(out, "stopped: %d of %d drills have ended\n", results->drills, results->asked);
    text_format(out, "%d drill%s, %d nodes lost, %d membership changes\n\n", results->drills,
                results->drills == 1 ? "" : "s", results->lost, results->views);
    for (int v = DRILL_VERDICTS - 1; v >= 0; v--)
        if (results->verdicts[v] > 0)
            text_format(out, "%6d  %s\n", results->verdicts[v], drill_verdicts[v]);
    if (results->drills == 1 && results->last.text[0])
        text_format(out, "        %s\n", results->last.text);
    if (results->drills == 1 && results->last.note[0])
        text_format(out, "        %s\n", results->last.note);
    text_format(out, "\n%lld samples trained once each, %lld layer shards as in a run without losses\n",
                (long long)results->samples, (long long)results->cells);
    if (results->restarts > 0)
        text_format(out, "%d restart%s from a checkpoint, %d iterations repeated\n", results->restarts,
                    results->restarts == 1 ? "" : "s", results->repeated);
    text_format(out, "\n%-12s %12s %12s %12s\n", "", "median", "90 %", "99 %");
    for (int t = 0; t < DRILL_TIMES; t++)
        if (results->times[t].count > 0 && time_names[t])
            text_format(out, "%-12s %12s %12s %12s\n", time_names[t],
                        unit_format(a, sizeof a, share_of(results, t, 0.5), UNIT_TIME, 3),
                        unit_format(b, sizeof b, share_of(results, t, 0.9), UNIT_TIME, 3),
                        unit_format(c, sizeof c, share_of(results, t, 0.99), UNIT_TIME, 3));
    if (results->times[DRILL_RATIO].count > 0)
        text_format(out,
                    "\nrecovery takes %+.1f %% compared to the simulation (median of %zu; p90 %+.1f %%)\n",
                    100 * (share_of(results, DRILL_RATIO, 0.5) - 1), results->times[DRILL_RATIO].count,
                    100 * (share_of(results, DRILL_RATIO, 0.9) - 1));
}

void drill_results_rows(const struct drill_results *results, struct drill_time_row rows[DRILL_TIMES])
{
    static const char *const names[DRILL_TIMES] = {
        "detection", "cut_detection",         "agreement", "copies", "first_step", "recovery",
        "simulated", "recovery_by_simulated", "restart",   "load"};
    for (int t = 0; t < DRILL_TIMES; t++)
        rows[t] = (struct drill_time_row){names[t], share_of(results, t, 0.5), share_of(results, t, 0.9),
                                          share_of(results, t, 0.99)};
}

#define OF_DRILLS(key, member, type) FIELD_OUT(struct drill_results, key, member, type)

static const struct field count_fields[] = {
    OF_DRILLS("drills", drills, FIELD_INT),
    OF_DRILLS("stopped_of", asked, FIELD_INT), /* of a batch that was stopped */
};

static const struct field sum_fields[] = {
    OF_DRILLS("lost", lost, FIELD_INT),
    OF_DRILLS("changes", views, FIELD_INT),
    FIELD_OPEN("verdicts", FIELD_FLAT_MAP),
    OF_DRILLS("hang", verdicts[DRILL_HANG], FIELD_INT),
    OF_DRILLS("right", verdicts[DRILL_RIGHT], FIELD_INT),
    OF_DRILLS("checkpoint_needed", verdicts[DRILL_CHECKPOINT], FIELD_INT),
    OF_DRILLS("too_few_nodes", verdicts[DRILL_NO_SHAPE], FIELD_INT),
    OF_DRILLS("wrong", verdicts[DRILL_WRONG], FIELD_INT),
    FIELD_CLOSE,
    OF_DRILLS("text", last.text, FIELD_CHARS),
    OF_DRILLS("note", last.note, FIELD_CHARS),
    OF_DRILLS("restarts", restarts, FIELD_INT),
    OF_DRILLS("iterations_again", repeated, FIELD_INT),
    OF_DRILLS("samples", samples, FIELD_INT64),
    OF_DRILLS("layer_parts", cells, FIELD_INT64),
};

const struct field drill_time_fields[4] = {
    FIELD(struct drill_time_row, name, FIELD_TEXT, 0, 0),
    FIELD(struct drill_time_row, median, FIELD_DOUBLE, 0, 0),
    FIELD(struct drill_time_row, p90, FIELD_DOUBLE, 0, 0),
    FIELD(struct drill_time_row, p99, FIELD_DOUBLE, 0, 0),
};

void drill_results_write_json(const struct drill_results *results, int64_t seed, int faults,
                              struct json *json)
{
    struct drill_time_row rows[DRILL_TIMES];
    drill_results_rows(results, rows);
    json_open_document(json, "rehearse-drills/1");
    fields_write(results, count_fields, results->asked > 0 ? 2 : 1, json);
    json_integer(json, "seed", seed);
    json_integer(json, "faults", faults);
    FIELDS_WRITE(results, sum_fields, json);
    json_open(json, "seconds", '{');
    for (int t = 0; t < DRILL_TIMES; t++)
        fields_write_map(&rows[t], drill_time_fields + 1, 3, json, rows[t].name);
    json_close(json);
    json_close(json);
}

bool drill_results_judge(const struct drill_results *results, struct error *err)
{
    if (results->wrong_count > 0)
        return error_set(err, ERROR_FAILED, "drill %d: %s%s%s", results->wrong_drill,
                         drill_verdicts[results->wrong.verdict], results->wrong.text[0] ? ": " : "",
                         results->wrong.text);
    if (results->drills == 1 && results->last.verdict != DRILL_RIGHT)
        return error_set(err, ERROR_INFEASIBLE, "%s", results->last.text);
    return true;
}

void drill_results_release(struct drill_results *results)
{
    for (int t = 0; t < DRILL_TIMES; t++)
        free(results->times[t].values);
    *results = (struct drill_results){.drills = 0};
}
