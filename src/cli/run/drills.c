#include "cli/run/drills.h"

#include "cli/output.h"
#include "cli/run/launched.h"
#include "comm/group.h"
#include "core/clock.h"
#include "elastic/failures.h"
#include "run/drill/drill.h"
#include "run/drill/results.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERIOD 0.02 /* seconds of an iteration of random drills */

bool drills_asked(const struct drills_given *given)
{
    return given->kill.count + given->cut.count + given->back.count > 0 || given->failures ||
           given->random > 0 || given->survive;
}

/* ---- what happens ---- */

/* Where nodes are; all of them on one host without a name, or on those of `rehearse launch`. */
struct places {
    const struct launch_hosts *hosts; /* NULL: no names */
    int host_of[DRILL_MAX_NODES];
};

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
    options->fates[options->fate_count++] = (struct drill_fate){kind, node, time, 0};
    return true;
}

/* The same happens to all nodes of a host. */
static bool add_host_fate(struct drill_options *options, const struct places *places,
                          const struct drill_fate *fate, const char *host, size_t length, const char *name,
                          struct error *err)
{
    int nodes = elastic_kit_nodes(options->kit), together = options->fate_count + 1;
    for (size_t h = 0; places->hosts && h < places->hosts->count; h++) {
        if (strlen(places->hosts->hosts[h].name) != length ||
            memcmp(places->hosts->hosts[h].name, host, length) != 0)
            continue;
        for (int node = 0; node < nodes; node++) {
            if (places->host_of[node] != (int)h)
                continue;
            if (!add_fate(options, fate->kind, node, fate->time, name, err))
                return false;
            options->fates[options->fate_count - 1].together = together;
        }
        return true;
    }
    return error_set(err, ERROR_USAGE, "%s: expected a node%s and a time, such as 2@1.5s; found '%.*s'", name,
                     places->hosts ? " or one of the hosts" : "", (int)length, host);
}

static bool read_fates(struct drill_options *options, const struct places *places, enum drill_fate_kind kind,
                       const struct rh_list *list, const char *name, struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i];
        const char *at = strrchr(text, '@');
        size_t length = at ? (size_t)(at - text) : 0;
        char *end;
        long node = strtol(text, &end, 10);
        struct drill_fate fate = {.kind = kind};
        if (length == 0 || !unit_parse(at + 1, UNIT_TIME, &fate.time) || !(fate.time >= 0.0))
            return error_set(err, ERROR_USAGE, "%s: expected a node and a time, such as 2@1.5s; found '%s'",
                             name, text);
        bool numbered = end == at && text[0] >= '0' && text[0] <= '9' && node <= DRILL_MAX_NODES;
        if (numbered ? !add_fate(options, kind, (int)node, fate.time, name, err)
                     : !add_host_fate(options, places, &fate, text, length, name, err))
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

/* ---- all of it ---- */

/* Draws a drill; its checkpoints are in a folder of its own, whose path the caller frees. */
static bool draw(struct drill_options *options, const struct drills_given *given,
                 const struct drills_more *more, int number, struct text *folder, struct error *err)
{
    drill_draw(options, (uint64_t)given->seed, number, PERIOD);
    options->number = number;
    if (!more->checkpoints)
        return true;
    folder->length = 0;
    text_format(folder, "%s/drill-%d", more->checkpoints, number);
    options->checkpoints = folder->data;
    return !folder->failed || error_memory(err);
}

static bool run_random(struct drill_options *options, const struct drills_given *given,
                       const struct drills_more *more, struct drill_results *results, struct error *err)
{
    struct text folder = {0};
    bool ok = true;
    for (int i = 0; ok && i < given->random; i++) {
        struct drill_outcome outcome;
        if (given->only < 0 || i == given->only)
            ok = draw(options, given, more, i, &folder, err) && drill_run(options, &outcome, err) &&
                 drill_results_add(results, i, &outcome, err);
    }
    text_release(&folder);
    return ok;
}

static bool read_all_fates(struct drill_options *options, const struct drills_given *given,
                           const struct places *places, struct error *err)
{
    return read_fates(options, places, DRILL_KILL, &given->kill, "--kill", err) &&
           read_fates(options, places, DRILL_CUT, &given->cut, "--cut", err) &&
           (!given->failures || read_failures(options, given->failures, err)) &&
           read_fates(options, places, DRILL_RETURN, &given->back, "--return", err);
}

static bool run_one(struct drill_options *options, const struct drills_given *given,
                    struct drill_results *results, struct error *err)
{
    struct drill_outcome outcome;
    struct places places = {.hosts = NULL};
    if (options->launch)
        places.hosts = &options->launch->hosts;
    return (!places.hosts ||
            launch_place(places.hosts, elastic_kit_nodes(options->kit), places.host_of, err)) &&
           read_all_fates(options, given, &places, err) && drill_run(options, &outcome, err) &&
           drill_results_add(results, 0, &outcome, err);
}

/* ---- under mpirun ---- */

struct teller {
    const struct drills_given *given;
    const struct drills_more *more;
};

static bool deliver(struct drill_results *results, const struct drills_given *given,
                    const struct drills_more *more, struct error *err);

static int tell(void *context, const struct drill_outcome *outcome)
{
    const struct teller *teller = context;
    struct drill_results results = {.drills = 0};
    struct error err;
    bool ok =
        drill_results_add(&results, 0, outcome, &err) && deliver(&results, teller->given, teller->more, &err);
    drill_results_release(&results);
    if (ok)
        return 0;
    fprintf(stderr, "rehearse: error: %s\n", err.text);
    return (int)err.kind;
}

/* All ranks call it; those beside rank 0 fail in silence. */
static bool be_one_of_mpi(struct drill_options *options, const struct drills_given *given,
                          const struct drills_more *more, struct error *err)
{
    struct places places = {.hosts = NULL};
    struct teller teller = {given, more};
    struct text folder = {0};
    int64_t together = 0;
    struct comm *comm = comm_open(more->timeout, err);
    bool ok = comm && comm_may_lose(comm, err);
    if (ok && given->random > 0 && given->only < 0)
        ok = error_set(
            err, ERROR_USAGE,
            "--random: under mpirun there is one drill, as lost ranks stay lost and mpirun starts no "
            "others: --drill K says which");
    ok = ok && (given->random > 0 ? draw(options, given, more, (int)given->only, &folder, err)
                                  : read_all_fates(options, given, &places, err));
    if (ok && comm_size(comm) < drill_ranks(options))
        ok = error_set(
            err, ERROR_USAGE,
            "this drill has %d ranks, one for each node and one for each that returns; the launcher has "
            "started %d",
            drill_ranks(options), comm_size(comm));
    int rank = comm ? comm_rank(comm) : 0;
    struct wire *wire = ok ? wire_over_mpi(comm, given->silence, err) : NULL;
    struct drill_options own = *options;
    own.report = tell;
    own.report_context = &teller;
    if (wire && comm_reduce_integers(comm, COMM_SUM, &together, 1, "the beginning", err))
        drill_be_one_of_mpi(&own, wire);
    if (rank > 0) {
        clock_sleep(CLOCK_SECOND / 2); /* the launcher ends the others at once */
        run_leave(NULL, (int)err->kind);
    }
    return false;
}

/* A rank on one of the hosts of `rehearse launch`: never returns. */
static void be_launched(struct drill_options *options, const struct drills_given *given,
                        const struct drills_more *more, struct error *err)
{
    struct text folder = {0};
    struct launch_seat seat;
    struct places places;
    struct wire *wire = launch_join(&seat, given->silence, options->limit, err);
    bool ok = wire != NULL;
    places.hosts = &seat.hosts;
    for (int node = 0; ok && node < DRILL_MAX_NODES && node < seat.size; node++)
        places.host_of[node] = seat.host_of[node];
    if (ok && given->random > 0)
        ok = draw(options, given, more, seat.number, &folder, err);
    else
        ok = ok && read_all_fates(options, given, &places, err);
    if (ok)
        drill_be_launched(options, &seat, wire);
    launch_tell_failure(err);
    run_leave(wire, (int)err->kind);
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

/* Prints all results, and judges them. */
static bool deliver(struct drill_results *results, const struct drills_given *given,
                    const struct drills_more *more, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    drill_results_sort(results);
    if (more->json)
        drill_results_write_json(results, given->seed, (int)given->faults, &json);
    else
        drill_results_print(results, &text);
    return output_and_release(more->output, &text, err) && drill_results_judge(results, err);
}

bool drills_run(const struct drills_given *given, const struct drills_more *more, struct error *err)
{
    struct elastic_kit kit;
    struct drill_results results = {.drills = 0};
    double seconds;
    if (!more->checkpoints != (more->save_every == 0))
        return error_set(err, ERROR_USAGE, "%s",
                         more->checkpoints ? "--checkpoints: expected --save-every"
                                           : "--save-every: in a drill, expected --checkpoints");
    if (given->only >= given->random && given->random > 0)
        return error_set(err, ERROR_USAGE, "--drill: there are drills 0 to %lld",
                         (long long)given->random - 1);
    if (!load(&kit, given, more, err))
        return false;
    bool ok = iteration_of(&kit, (int)given->faults, &seconds, err);
    struct drill_options options = {.kit = &kit,
                                    .faults = (int)given->faults,
                                    .iterations = more->iterations,
                                    .byte_share = more->byte_share,
                                    .silence = given->silence,
                                    .launch = launched_hosts(),
                                    .checkpoints = more->checkpoints,
                                    .save_every = more->save_every,
                                    .fresh = given->random > 0,
                                    .time_share = given->time_share};
    if (ok) {
        if (given->random > 0)
            options.time_share = PERIOD / seconds;
        options.limit = (given->random > 0 ? 15.0 : 60.0) +
                        20.0 * seconds * options.time_share * options.iterations + 20.0 * given->silence;
        if (launch_is_rank())
            be_launched(&options, given, more, err);
        ok = comm_launched() > 1 ? be_one_of_mpi(&options, given, more, err)
             : given->random > 0 ? run_random(&options, given, more, &results, err)
                                 : run_one(&options, given, &results, err);
    }
    ok = ok && deliver(&results, given, more, err);
    drill_results_release(&results);
    elastic_kit_release(&kit);
    return ok;
}
