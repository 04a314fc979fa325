/* Drills of rh_play: what happens to whom is read or drawn, and each drill run. */
#include "api/run/run.h"
#include "comm/group.h"
#include "core/fields.h"
#include "elastic/failures.h"
#include "run/drill/drill.h"
#include "run/drill/results.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD 0.02 /* seconds of an iteration of random drills */

bool play_asks_drills(const struct rh_play_request *given)
{
    return given->kill.count + given->cut.count + given->back.count > 0 || given->failures ||
           given->random > 0 || given->survive;
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
        const char *at = strrchr(text, '@');
        char *end;
        long node = strtol(text, &end, 10);
        double time;
        if (!at || end != at || text[0] < '0' || text[0] > '9' || node > INT_MAX ||
            !unit_parse(at + 1, UNIT_TIME, &time) || !(time >= 0.0))
            return error_set(err, ERROR_USAGE, "%s: expected a node and a time, such as 2@1.5s; found '%s'",
                             name, text);
        if (!dimension_parse(DIMENSION_MOMENT, UNIT_TIME, name + strspn(name, "-"), at + 1, &time, err) ||
            !add_fate(options, kind, (int)node, time, name, err))
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
                       "%s: only %d of the %d nodes are available at the beginning; a drill needs all", path,
                       trace.present, nodes);
    if (ok && trace.slow_count > 0)
        ok = error_set(err, ERROR_INPUT,
                       "%s: nodes that are slow or recover; a drill only loses nodes: leave these lines out",
                       path);
    for (int i = 0; ok && i < trace.count; i++)
        ok = add_fate(options, trace.events[i].returned ? DRILL_RETURN : DRILL_KILL, trace.events[i].node,
                      trace.events[i].time, path, err);
    failures_release(&trace);
    return ok;
}

/* ---- all of it ---- */

/* Draws a drill; its checkpoints are in a folder of its own, whose path the caller frees. */
static bool draw(struct drill_options *options, const struct rh_play_request *given, int number,
                 struct text *folder, struct error *err)
{
    drill_draw(options, (uint64_t)given->seed, number, PERIOD);
    options->number = number;
    if (!given->checkpoints)
        return true;
    folder->length = 0;
    text_format(folder, "%s/drill-%d", given->checkpoints, number);
    options->checkpoints = folder->data;
    return !folder->failed || error_memory(err);
}

static bool read_all_fates(struct drill_options *options, const struct rh_play_request *given,
                           struct error *err)
{
    return read_fates(options, DRILL_KILL, &given->kill, "--kill", err) &&
           read_fates(options, DRILL_CUT, &given->cut, "--cut", err) &&
           (!given->failures || read_failures(options, given->failures, err)) &&
           read_fates(options, DRILL_RETURN, &given->back, "--return", err);
}

static bool load(struct elastic_kit *kit, const struct rh_play_request *given, struct error *err)
{
    struct cluster cluster;
    if (given->cluster && !cluster_load(&cluster, given->cluster, err))
        return false;
    const struct elastic_options options = {.paths = given->plans.items,
                                            .path_count = given->plans.count,
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
        kinds[k] = kit->kinds[k].nodes.count;
    if (!elastic_instances(&set, kit, kinds, faults, err))
        return false;
    *seconds = set.seconds;
    elastic_set_release(&set);
    return true;
}

/* Reads the kit, which the caller releases, and all that is the same for all drills. */
static bool open_drills(struct elastic_kit *kit, struct drill_options *options,
                        const struct rh_play_request *given, struct error *err)
{
    double seconds;
    if (!given->checkpoints != (given->save_every == 0))
        return error_set(err, ERROR_USAGE, "%s",
                         given->checkpoints ? "--checkpoints needs --save-every"
                                            : "--save-every: in a drill, it needs --checkpoints");
    if (given->drill >= given->random && given->random > 0)
        return error_set(err, ERROR_USAGE, "--drill: there are drills 0 to %lld",
                         (long long)given->random - 1);
    if (!load(kit, given, err))
        return false;
    *options =
        (struct drill_options){.kit = kit}; /* as many nodes as they are, nothing happens to them yet */
    if (!drill_check_size(options, err) || !iteration_of(kit, (int)given->faults, &seconds, err)) {
        elastic_kit_release(kit);
        return false;
    }
    *options = (struct drill_options){.kit = kit,
                                      .faults = (int)given->faults,
                                      .iterations = (int)given->iterations,
                                      .byte_share = given->byte_share,
                                      .silence = given->silence,
                                      .checkpoints = given->checkpoints,
                                      .save_every = (int)given->save_every,
                                      .fresh = given->random > 0,
                                      .time_share = given->random > 0 ? PERIOD / seconds : given->time_share};
    options->limit = (given->random > 0 ? 15.0 : 60.0) +
                     20.0 * seconds * options->time_share * options->iterations + 20.0 * given->silence;
    return true;
}

/* ---- the answer ---- */

struct drills_answer {
    struct drill_results results;
    struct drill_time_row rows[DRILL_TIMES];
    struct wire *
        /* under mpirun: this rank leaves when its answer is no longer needed, as the launcher ends it when others have
         * left */
        wire;
};

static void drop(void *kept)
{
    struct drills_answer *answer = kept;
    drill_results_release(&answer->results);
    wire_close(answer->wire);
}

static const struct field stopped_fields[] = {FIELD_OUT(rh_handle, "stopped", stands, FIELD_FLAG)};

/* Writes what was found; that drills ended wrongly is an answer, too. */
static bool deliver(struct drills_answer *answer, const struct rh_play_request *given,
                    struct api_report *report, struct error *err)
{
    struct drill_results *results = &answer->results;
    struct json *json = &report->json;
    struct error why = {.text = ""};
    rh_handle *handle = &report->base;
    drill_results_sort(results);
    drill_results_write_json(results, given->seed, (int)given->faults, json);
    drill_results_print(results, &report->text);
    bool passed = drill_results_judge(results, &why);
    handle->stands = results->asked > 0;
    drill_results_rows(results, answer->rows);
    api_judge(handle, passed, &why);
    API_VALUES(handle, handle, stopped_fields);
    API_FIELDS(handle, "seconds", answer->rows, DRILL_TIMES, drill_time_fields);
    return (!report->text.failed && !report->json_text.failed) || error_memory(err);
}

static const struct field ends_fields[] = {{.key = "ends", .type = FIELD_FLAG}};

/* ---- who runs them ---- */

static bool run_random(struct drill_options *options, const struct rh_play_request *given,
                       struct drill_results *results, struct error *err)
{
    struct text folder = {0};
    bool ok = true;
    for (int i = 0; ok && i < given->random; i++) {
        struct drill_outcome outcome;
        if (given->drill < 0 || i == given->drill)
            ok = draw(options, given, i, &folder, err) && drill_run(options, &outcome, err) &&
                 drill_results_add(results, i, &outcome, err);
    }
    text_release(&folder);
    if (!ok && err->kind == ERROR_STOPPED && results->drills > 0) {
        results->asked = (int)given->random;
        return true; /* those that have ended are an answer */
    }
    return ok;
}

static bool run_one(struct drill_options *options, const struct rh_play_request *given,
                    struct drill_results *results, struct error *err)
{
    struct drill_outcome outcome;
    return read_all_fates(options, given, err) && drill_run(options, &outcome, err) &&
           drill_results_add(results, 0, &outcome, err);
}

static bool run_launched(const struct drill_options *asked, const struct rh_play_request *given,
                         const struct api_call *call, struct drill_results *results, struct error *err)
{
    struct play_launch open;
    bool ok = play_launch_open(&open, given, call, err);
    struct drill_options options = *asked;
    options.launch = &open.launch;
    ok = ok && (given->random > 0 ? run_random(&options, given, results, err)
                                  : run_one(&options, given, results, err));
    play_launch_close(&open);
    return ok;
}

/* All ranks call it. What is begun of MPI stays: ranks may be lost. */
static bool be_one_of_mpi(struct drill_options *options, const struct rh_play_request *given,
                          struct drills_answer *answer, bool *says, struct error *err)
{
    struct text folder = {0};
    struct drill_outcome outcome;
    int64_t together = 0;
    struct comm *comm = comm_open(given->timeout, err);
    bool ok = comm && comm_may_lose(comm, err);
    if (ok && given->random > 0 && given->drill < 0)
        ok = error_set(
            err, ERROR_USAGE,
            "--random: mpirun cannot restart lost ranks, so it runs one drill: choose it with --drill K");
    ok = ok && (given->random > 0 ? draw(options, given, (int)given->drill, &folder, err)
                                  : read_all_fates(options, given, err));
    ok = ok && drill_check_size(options, err);
    if (ok && comm_size(comm) > DRILL_MAX_NODES)
        ok = error_set(err, ERROR_USAGE, "the launcher has started %d ranks; a drill has at most %d",
                       comm_size(comm), DRILL_MAX_NODES);
    if (ok && comm_size(comm) < drill_ranks(options))
        ok = error_set(
            err, ERROR_USAGE,
            "this drill needs %d ranks (one per node, one per return), but the launcher has started %d",
            drill_ranks(options), comm_size(comm));
    int rank = comm ? comm_rank(comm) : 0;
    answer->wire = ok ? wire_over_mpi(comm, given->silence, true, err) : NULL;
    options->alone = true;
    ok = answer->wire && comm_reduce_integers(comm, COMM_SUM, &together, 1, "the beginning", err);
    *says = ok && drill_be_one_of_mpi(options, answer->wire, &outcome);
    ok = ok && (!*says || drill_results_add(&answer->results, 0, &outcome, err));
    text_release(&folder);
    if (!ok)
        play_leave_behind(given, rank, err);
    return ok;
}

bool play_drills(const struct rh_play_request *given, const struct api_call *call, struct api_report *report,
                 struct error *err)
{
    struct elastic_kit kit;
    struct drill_options options;
    struct drills_answer *answer = api_report_keep(report, sizeof *answer, drop, err);
    bool of_mpi = comm_launched() > 1, says = true;
    if (!answer || !open_drills(&kit, &options, given, err))
        return false;
    bool ok = of_mpi ? be_one_of_mpi(&options, given, answer, &says, err)
                     : run_launched(&options, given, call, &answer->results, err);
    elastic_kit_release(&kit);
    API_VALUES(&report->base, &of_mpi, ends_fields);
    return ok && (!says || deliver(answer, given, report, err));
}

_Noreturn void play_be_launched_drill(const struct rh_play_request *given, struct error *err)
{
    struct elastic_kit kit;
    struct drill_options options;
    struct text folder = {0};
    struct launch_seat seat = {.rank = 0};
    struct error later;
    bool ok =
        open_drills(&kit, &options, given, err); /* the launcher is told why not, which needs the seat */
    struct wire *wire =
        launch_join(&seat, given->silence, ok ? options.limit : given->timeout, ok ? err : &later);
    ok = ok && wire;
    if (ok && given->random > 0)
        ok = draw(&options, given, seat.number, &folder, err);
    else
        ok = ok && read_all_fates(&options, given, err);
    if (ok)
        drill_be_launched(&options, &seat, wire);
    launch_tell_failure(err);
    wire_leave(wire, (int)err->kind);
}
