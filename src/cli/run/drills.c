#include "cli/run/drills.h"

#include "cli/output.h"
#include "core/statistics.h"
#include "core/vector.h"
#include "elastic/failures.h"
#include "run/drill/drill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD 0.02 /* seconds of an iteration of random drills */

bool drills_asked(const struct drills_given *given)
{
    return given->kill.count + given->cut.count + given->back.count > 0 || given->failures ||
           given->random > 0;
}

/* ---- what happens ---- */

static bool add_fate(struct drill_options *options, enum drill_fate_kind kind, int node, double time,
                     const char *name, struct error *err)
{
    int nodes = elastic_kit_nodes(options->kit);
    if (node >= nodes)
        return error_set(err, ERROR_USAGE, "%s: there is no node %d: the plan has nodes 0 to %d", name, node,
                         nodes - 1);
    if (options->fate_count == DRILL_MAX_FATES)
        return error_set(err, ERROR_USAGE, "%s: a drill has at most %d losses and returns", name,
                         DRILL_MAX_FATES);
    options->fates[options->fate_count++] = (struct drill_fate){kind, node, time};
    return true;
}

static bool read_fates(struct drill_options *options, enum drill_fate_kind kind, const struct rh_list *list,
                       const char *name, struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i];
        char *end;
        long node = strtol(text, &end, 10);
        double time;
        if (end == text || *end != '@' || text[0] < '0' || text[0] > '9' || node > DRILL_MAX_NODES ||
            !unit_parse(end + 1, UNIT_TIME, &time) || !(time >= 0.0))
            return error_set(err, ERROR_USAGE, "%s: expected a node and a time, such as 2@1.5s; found '%s'",
                             name, text);
        if (!add_fate(options, kind, (int)node, time, name, err))
            return false;
    }
    return true;
}

static bool read_failures(struct drill_options *options, const char *path, struct error *err)
{
    struct failure_trace trace = {0};
    int nodes = elastic_kit_nodes(options->kit);
    bool ok = failures_load(&trace, path, nodes, 1, err);
    if (ok && trace.present < nodes)
        ok = error_set(err, ERROR_INPUT,
                       "%s: %d of the %d nodes are there at the beginning; a drill needs all", path,
                       trace.present, nodes);
    for (int i = 0; ok && i < trace.count; i++)
        ok = add_fate(options, trace.events[i].returned ? DRILL_RETURN : DRILL_KILL, trace.events[i].node,
                      trace.events[i].time, path, err);
    failures_release(&trace);
    return ok;
}

/* ---- what came of it ---- */

enum { FOUND, AGREED, COPIED, STEPPED, TIMES };
static const char *const time_names[TIMES] = {"detection", "agreement", "copies", "first step"};

struct results {
    int drills, verdicts[DRILL_VERDICTS], hung, lost, views;
    int64_t samples, cells;
    struct {
        double *values;
        size_t count, capacity;
    } times[TIMES];
    int wrong_drill; /* the first; -1: none */
    struct drill_outcome wrong, last;
};

static bool add_time(struct results *results, int which, double value)
{
    return !isfinite(value) || VECTOR_ADD(results->times[which].values, results->times[which].count,
                                          results->times[which].capacity, value);
}

static bool add_outcome(struct results *results, int number, const struct drill_outcome *outcome,
                        struct error *err)
{
    results->drills++;
    results->verdicts[outcome->verdict]++;
    results->lost += outcome->lost;
    results->views += outcome->views;
    results->samples += outcome->samples;
    results->cells += outcome->cells;
    results->last = *outcome;
    if ((outcome->verdict == DRILL_WRONG || outcome->verdict == DRILL_HANG) && results->wrong_drill < 0) {
        results->wrong_drill = number;
        results->wrong = *outcome;
    }
    for (int i = 0; i < outcome->event_count; i++) {
        const struct drill_event *event = &outcome->events[i];
        if (!add_time(results, FOUND, event->found) || !add_time(results, AGREED, event->agreed) ||
            !add_time(results, COPIED, event->copied - event->agreed) ||
            !add_time(results, STEPPED, event->stepped - event->copied))
            return error_memory(err);
    }
    return true;
}

static double share_of(const struct results *results, int which, double share)
{
    return results->times[which].count > 0
               ? quantile_of(results->times[which].values, (int)results->times[which].count, share)
               : NAN;
}

static void print(const struct results *results, struct text *out)
{
    char a[32], b[32], c[32];
    text_format(out, "%d drill%s, %d nodes lost, %d changes of who trains\n\n", results->drills,
                results->drills == 1 ? "" : "s", results->lost, results->views);
    for (int v = DRILL_VERDICTS - 1; v >= 0; v--)
        if (results->verdicts[v] > 0)
            text_format(out, "%6d  %s\n", results->verdicts[v], drill_verdicts[v]);
    if (results->drills == 1 && results->last.text[0])
        text_format(out, "        %s\n", results->last.text);
    text_format(out, "\n%lld samples trained once, %lld layer parts as in a training without losses\n",
                (long long)results->samples, (long long)results->cells);
    text_format(out, "\n%-12s %12s %12s %12s\n", "", "median", "90 %", "99 %");
    for (int t = 0; t < TIMES; t++)
        if (results->times[t].count > 0)
            text_format(out, "%-12s %12s %12s %12s\n", time_names[t],
                        unit_format(a, sizeof a, share_of(results, t, 0.5), UNIT_TIME, 3),
                        unit_format(b, sizeof b, share_of(results, t, 0.9), UNIT_TIME, 3),
                        unit_format(c, sizeof c, share_of(results, t, 0.99), UNIT_TIME, 3));
}

static void write_json(const struct results *results, const struct drills_given *given, struct text *out)
{
    static const char *const keys[DRILL_VERDICTS] = {"hang", "right", "checkpoint_needed", "too_few_nodes",
                                                     "wrong"};
    static const char *const times[TIMES] = {"detection", "agreement", "copies", "first_step"};
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-drills/1");
    json_integer(&json, "drills", results->drills);
    json_integer(&json, "seed", given->seed);
    json_integer(&json, "faults", given->faults);
    json_integer(&json, "lost", results->lost);
    json_integer(&json, "changes", results->views);
    json_open_flat(&json, "verdicts", '{');
    for (int v = 0; v < DRILL_VERDICTS; v++)
        json_integer(&json, keys[v], results->verdicts[v]);
    json_close(&json);
    json_string(&json, "text", results->last.text);
    json_integer(&json, "samples", results->samples);
    json_integer(&json, "layer_parts", results->cells);
    json_open(&json, "seconds", '{');
    for (int t = 0; t < TIMES; t++) {
        json_open_flat(&json, times[t], '{');
        json_number(&json, "median", share_of(results, t, 0.5));
        json_number(&json, "p90", share_of(results, t, 0.9));
        json_number(&json, "p99", share_of(results, t, 0.99));
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

/* A drill that ended wrongly is a failure; one that was answered with less than a continuation has no feasible answer. */
static bool judge(const struct results *results, struct error *err)
{
    if (results->wrong_drill >= 0)
        return error_set(err, ERROR_FAILED, "drill %d: %s%s%s", results->wrong_drill,
                         drill_verdicts[results->wrong.verdict], results->wrong.text[0] ? ": " : "",
                         results->wrong.text);
    if (results->drills == 1 && results->last.verdict != DRILL_RIGHT)
        return error_set(err, ERROR_INFEASIBLE, "%s", results->last.text);
    return true;
}

/* ---- all of it ---- */

static bool run_random(struct drill_options *options, const struct drills_given *given,
                       struct results *results, struct error *err)
{
    for (int i = 0; i < given->random; i++) {
        struct drill_outcome outcome;
        if (given->only >= 0 && i != given->only)
            continue;
        drill_draw(options, (uint64_t)given->seed, i, PERIOD);
        if (!drill_run(options, &outcome, err) || !add_outcome(results, i, &outcome, err))
            return false;
    }
    return true;
}

static bool run_one(struct drill_options *options, const struct drills_given *given, struct results *results,
                    struct error *err)
{
    struct drill_outcome outcome;
    return read_fates(options, DRILL_KILL, &given->kill, "--kill", err) &&
           read_fates(options, DRILL_CUT, &given->cut, "--cut", err) &&
           (!given->failures || read_failures(options, given->failures, err)) &&
           read_fates(options, DRILL_RETURN, &given->back, "--return", err) &&
           drill_run(options, &outcome, err) && add_outcome(results, 0, &outcome, err);
}

static bool load(struct elastic_kit *kit, const struct drills_given *given, const struct drills_more *more,
                 struct error *err)
{
    struct cluster cluster;
    if (given->cluster && !cluster_load(&cluster, given->cluster, err))
        return false;
    const struct elastic_options options = {.paths = more->plans.items,
                                            .path_count = more->plans.count,
                                            .cluster = given->cluster ? &cluster : NULL,
                                            .optimizer = ELASTIC_OPTIMIZER_REPLICATED};
    bool ok = elastic_kit_load(kit, &options, err);
    if (given->cluster)
        cluster_release(&cluster);
    return ok;
}

/* Finds the seconds of an iteration of all nodes. */
static bool iteration_of(const struct elastic_kit *kit, int faults, double *seconds, struct error *err)
{
    int kinds[ELASTIC_MAX_KINDS];
    struct elastic_set set;
    for (int k = 0; k < kit->kind_count; k++)
        kinds[k] = kit->kinds[k].nodes;
    if (!elastic_instances(&set, kit, kinds, faults, err))
        return false;
    *seconds = set.seconds;
    elastic_set_release(&set);
    return true;
}

bool drills_run(const struct drills_given *given, const struct drills_more *more, struct error *err)
{
    struct elastic_kit kit;
    struct results results = {.wrong_drill = -1};
    struct text text = {0};
    double seconds;
    if (!load(&kit, given, more, err))
        return false;
    bool ok = iteration_of(&kit, (int)given->faults, &seconds, err);
    struct drill_options options = {.kit = &kit,
                                    .faults = (int)given->faults,
                                    .iterations = more->iterations,
                                    .byte_share = more->byte_share,
                                    .silence = given->silence,
                                    .time_share = given->time_share};
    if (ok) {
        if (given->random > 0)
            options.time_share = PERIOD / seconds;
        options.limit = (given->random > 0 ? 15.0 : 60.0) +
                        20.0 * seconds * options.time_share * options.iterations + 20.0 * given->silence;
        ok = given->random > 0 ? run_random(&options, given, &results, err)
                               : run_one(&options, given, &results, err);
    }
    for (int t = 0; t < TIMES; t++)
        sort_doubles(results.times[t].values, (int)results.times[t].count);
    if (ok) {
        if (more->json)
            write_json(&results, given, &text);
        else
            print(&results, &text);
        ok = output_and_release(more->output, &text, err) && judge(&results, err);
    }
    for (int t = 0; t < TIMES; t++)
        free(results.times[t].values);
    elastic_kit_release(&kit);
    return ok;
}
