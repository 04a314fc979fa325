/* A drill is done by processes that are started, and after losses that their memory cannot heal by new ones, which load
 * a checkpoint. */
#include "core/clock.h"
#include "core/file.h"
#include "run/drill/rank.h"
#include "run/drill/saved.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void drill_begin_again(struct drill_options *options, const struct drill_again *again);
static bool drill_is_over(const struct drill_options *options, const struct drill_outcome *outcome);

/* A drill from outside: its processes are started, killed when their time has come, and all ended. */

#define LAUNCH_LEAD 0.1 /* seconds from the launcher's word to the beginning */

#define PATIENCE 2.0 /* seconds for the others to end, after one has seen the end: longer than they linger */

struct scene {
    const struct drill_options *options;
    struct drill_outcome *outcome;
    double t0;
    double ends_at; /* when those that have not ended by then are ended; INFINITY: nobody has seen the end */
    bool done[DRILL_MAX_FATES];
};

static double begins(void *context)
{
    struct scene *scene = context;
    if (scene->t0 <= 0.0) /* of a later attempt it is that of the first */
        scene->t0 = scene->options->again.attempt > 0 ? scene->options->t0 : clock_now() + LAUNCH_LEAD;
    return scene->t0;
}

static void tick(void *context, struct launch_job *job)
{
    struct scene *scene = context;
    const struct drill_options *options = scene->options;
    if (drill_is_over(options, scene->outcome) || clock_now() > scene->ends_at)
        launch_end(job);
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *fate = &options->fates[i];
        if (scene->done[i] || fate->kind == DRILL_CUT || clock_now() - scene->t0 < fate->time)
            continue;
        scene->done[i] = true;
        if (fate->kind == DRILL_KILL)
            launch_kill(job, drill_rank_at(options, i));
        else
            launch_start(job, drill_rank_at(options, i));
    }
}

static void result(void *context, int rank, const void *bytes, size_t length)
{
    struct scene *scene = context;
    struct drill_outcome one;
    (void)rank;
    if (length != sizeof one)
        return;
    memcpy(&one, bytes, sizeof one);
    one.text[sizeof one.text - 1] = 0;
    if (one.verdict < DRILL_VERDICTS && one.event_count >= 0 && one.event_count <= DRILL_MAX_EVENTS)
        drill_take_outcome(scene->outcome, &one);
    if (scene->outcome->verdict != DRILL_HANG && !isfinite(scene->ends_at))
        scene->ends_at = clock_now() + PATIENCE + 2.0 * scene->options->silence;
}

/* outside.c: the processes of one attempt, until all have ended; sets when the first ones began. */
static bool drill_run_attempt(struct drill_options *options, struct drill_outcome *outcome, struct error *err)
{
    int nodes = elastic_kit_nodes(options->kit), ranks = drill_ranks(options);
    uint8_t when[DRILL_MAX_NODES];
    struct scene scene = {.options = options, .outcome = outcome, .ends_at = INFINITY};
    const struct launch_watch watch = {.context = &scene,
                                       .begins = begins,
                                       .tick = tick,
                                       .result = result,
                                       .limit = options->limit + options->launch->timeout,
                                       .survives = true};
    const struct launch_ranks all = {.count = ranks,
                                     .when = when,
                                     .number = options->number,
                                     .note = &options->again,
                                     .note_length = sizeof options->again};
    *outcome = (struct drill_outcome){.verdict = DRILL_HANG};
    for (int rank = 0; rank < ranks; rank++)
        when[rank] = rank >= nodes ? LAUNCH_LATER : options->again.absent[rank] ? LAUNCH_NEVER : LAUNCH_FIRST;
    bool ok = launch_run(options->launch, &all, &watch, err);
    if (scene.t0 > 0.0)
        options->t0 = scene.t0;
    return ok;
}

_Noreturn void drill_be_launched(struct drill_options *options, const struct launch_seat *seat,
                                 struct wire *wire)
{
    struct error err;
    struct drill_again again;
    struct drill_outcome outcome;
    if (seat->note_length == sizeof again) {
        memcpy(&again, seat->note, sizeof again);
        drill_begin_again(options, &again);
    }
    if (seat->size != drill_ranks(options)) {
        error_set(&err, ERROR_INPUT,
                  "rank %d reads another plan or cluster than the launcher: %d ranks, not %d", seat->rank,
                  drill_ranks(options), seat->size);
        launch_tell_failure(&err);
        wire_leave(wire, ERROR_INPUT);
    }
    drill_play_rank(options, wire, seat->start, &outcome);
    wire_leave(wire, 0);
}

bool drill_be_one_of_mpi(const struct drill_options *options, struct wire *wire,
                         struct drill_outcome *outcome)
{
    signal(SIGALRM, SIG_DFL);
    alarm((unsigned)ceil(options->limit) + 1); /* nobody else would end a rank that hangs */
    return drill_play_rank(options, wire, clock_now() + LAUNCH_LEAD, outcome);
}

#define LEAD         0.05 /* seconds for processes to start */
#define MAX_ATTEMPTS 64
#define MIN_SECONDS  1e-4 /* of a wait for a node that returns */

/* ---- who begins ---- */

static int list_absent(const struct drill_options *options, int nodes, int *absent)
{
    int count = 0;
    for (int n = 0; n < nodes; n++)
        if (options->again.absent[n])
            absent[count++] = n;
    return count;
}

/* As if those that are absent had just been lost: all processes find the same state. Layers are loaded, so that none
 * needs a copy. */
static bool without_absent(struct elastic_state *state, const struct drill_options *options,
                           struct error *err)
{
    int absent[DRILL_MAX_NODES];
    const struct elastic_change change = {.lost = absent,
                                          .lost_count = list_absent(options, state->node_count, absent),
                                          .faults = options->faults};
    struct elastic_transition way;
    if (change.lost_count == 0)
        return true;
    if (!elastic_reconfigure(&way, state, &change, err))
        return false;
    elastic_state_release(state);
    *state = way.after;
    way.after = (struct elastic_state){.kit = options->kit};
    elastic_transition_release(&way);
    return true;
}

bool drill_first_state(struct elastic_state *state, const struct drill_options *options, struct error *err)
{
    int kinds[ELASTIC_MAX_KINDS];
    struct elastic_set set;
    for (int k = 0; k < options->kit->kind_count; k++)
        kinds[k] = options->kit->kinds[k].nodes.count;
    if (!elastic_instances(&set, options->kit, kinds, options->faults, err))
        return false;
    bool ok = elastic_state_start(state, options->kit, &set, err);
    elastic_set_release(&set);
    if (!ok || without_absent(state, options, err))
        return ok;
    elastic_state_release(state);
    return false;
}

static bool can_begin(const struct drill_options *options)
{
    struct elastic_state state;
    struct error ignored;
    bool can = drill_first_state(&state, options, &ignored);
    if (can)
        elastic_state_release(&state);
    return can;
}

/* ---- what is left of the fates ---- */

/* What was to happen has happened, and only the rest is of this attempt. */
static void drill_begin_again(struct drill_options *options, const struct drill_again *again)
{
    int count = 0;
    options->again = *again;
    for (int i = 0; i < options->fate_count; i++)
        if (again->attempt == 0 || options->fates[i].time > again->elapsed)
            options->fates[count++] = options->fates[i];
    options->fate_count = count;
}

/* Of each node the last thing that has happened to it counts, and what the survivors saw only where nothing has. */
static void find_absent(const struct drill_options *options, const struct drill_outcome *outcome, double now,
                        struct drill_again *again)
{
    double latest[DRILL_MAX_NODES];
    for (int n = 0; n < DRILL_MAX_NODES; n++) {
        latest[n] = -INFINITY;
        again->absent[n] = !outcome->present[n];
    }
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *fate = &options->fates[i];
        if (fate->time > now || fate->time < latest[fate->node])
            continue;
        latest[fate->node] = fate->time;
        again->absent[fate->node] = fate->kind != DRILL_RETURN;
    }
}

/* Returns when the next node returns; INFINITY: none does. */
static double next_return(const struct drill_options *options, double now)
{
    double next = INFINITY;
    for (int i = 0; i < options->fate_count; i++)
        if (options->fates[i].kind == DRILL_RETURN && options->fates[i].time > now)
            next = fmin(next, options->fates[i].time);
    return next;
}

/* Finds who is there for another attempt, and waits for nodes that return where there are too few. False: there will be
 * none. */
static bool find_again(struct drill_options *options, const struct drill_outcome *outcome)
{
    struct drill_again again = options->again;
    double now = clock_now() - options->t0;
    again.attempt++;
    for (;;) {
        struct drill_options next = *options;
        find_absent(options, outcome, now, &again);
        again.elapsed = now;
        drill_begin_again(&next, &again);
        if (can_begin(&next)) {
            *options = next;
            return true;
        }
        double wait = next_return(options, now);
        if (!isfinite(wait) || wait - now > options->limit)
            return false;
        now = wait;
        while (clock_now() - options->t0 < now)
            clock_sleep((int64_t)(MIN_SECONDS * 1e9));
    }
}

/* ---- what all attempts have done ---- */

/* Adds what was before to what the last attempt says. */
static void add_before(struct drill_outcome *last, const struct drill_outcome *before)
{
    struct drill_event events[DRILL_MAX_EVENTS];
    int kept = before->event_count, more = last->event_count;
    if (kept + more > DRILL_MAX_EVENTS)
        more = DRILL_MAX_EVENTS - kept;
    memcpy(events, before->events, (size_t)kept * sizeof *events);
    memcpy(events + kept, last->events, (size_t)more * sizeof *events);
    memcpy(last->events, events, sizeof events);
    last->event_count = kept + more;
    last->views += before->views;
    last->lost += before->lost;
    last->restarts = before->restarts;
    last->repeated = before->repeated;
    memcpy(last->times, before->times, sizeof last->times);
    if (before->note[0] && !last->note[0])
        memcpy(last->note, before->note, sizeof last->note);
}

/* `reached`: iterations that were done before the restart; `found`: when its loss was. */
static void add_restart(struct drill_outcome *outcome, int reached, double found)
{
    int repeated = reached > outcome->begun_at ? reached - outcome->begun_at : 0;
    outcome->repeated += repeated;
    if (outcome->restarts <= DRILL_MAX_RESTARTS)
        outcome->times[outcome->restarts - 1] =
            (struct drill_restart){repeated, outcome->stepped_at - found, outcome->load};
}

/* Returns whether an attempt is over, so that the next one or the end of the drill follows. */
static bool drill_is_over(const struct drill_options *options, const struct drill_outcome *outcome)
{
    return options->checkpoints &&
           (outcome->verdict == DRILL_CHECKPOINT || outcome->verdict == DRILL_NO_SHAPE);
}

/* Where nobody was left to say anything, or all that were left had to take themselves for the smaller half, that is
 * what there is to say. */
static void name_last(const struct drill_options *options, struct drill_outcome *outcome)
{
    bool hit[DRILL_MAX_NODES] = {false};
    double now = clock_now() - options->t0;
    int nodes = elastic_kit_nodes(options->kit), left = 0, silent = 0;
    if (outcome->verdict != DRILL_HANG || options->fate_count == 0 ||
        now > options->again.elapsed + options->limit)
        return;
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *fate = &options->fates[i];
        hit[fate->node] |= fate->kind != DRILL_RETURN && fate->time <= now;
        silent += fate->kind == DRILL_CUT && fate->time <= now;
    }
    for (int n = 0; n < nodes; n++) {
        outcome->present[n] = !options->again.absent[n] && !hit[n];
        outcome->lost += !options->again.absent[n] && hit[n];
        left += outcome->present[n];
    }
    if (left > silent)
        return;
    outcome->verdict = DRILL_NO_SHAPE;
    outcome->found_at = now;
    snprintf(outcome->text, sizeof outcome->text, "%s",
             left == 0 ? "no node is left" : "most nodes are silent, so the others stop");
}

static bool run_attempt(struct drill_options *options, struct drill_outcome *outcome, struct error *err)
{
    bool ok = drill_run_attempt(options, outcome, err);
    name_last(options, outcome);
    return ok;
}

bool drill_run(const struct drill_options *asked, struct drill_outcome *outcome, struct error *err)
{
    struct drill_options options = *asked;
    struct drill_outcome before;
    int reached = 0;
    double found = NAN;
    if (!drill_check_size(&options, err))
        return false;
    if (options.checkpoints &&
        (!file_make_folders(options.checkpoints, err) || !drill_check_folder(&options, err)))
        return false;
    options.t0 = clock_now() + LEAD;
    if (!run_attempt(&options, outcome, err))
        return false;
    while (drill_is_over(&options, outcome) && options.again.attempt < MAX_ATTEMPTS) {
        if (outcome->iterations > reached)
            reached = outcome->iterations;
        if (!isfinite(found))
            found = outcome->found_at;
        before = *outcome;
        if (!find_again(&options, &before)) {
            outcome->verdict = DRILL_NO_SHAPE; /* a checkpoint there is */
            return true;
        }
        before.restarts++;
        if (!run_attempt(&options, outcome, err))
            return false;
        add_before(outcome, &before);
        if (!isfinite(outcome->stepped_at) && outcome->verdict != DRILL_RIGHT)
            continue;
        add_restart(outcome, reached, found);
        found = NAN;
        reached = 0;
    }
    if (options.checkpoints && options.fresh && outcome->verdict == DRILL_RIGHT)
        saved_remove(options.checkpoints);
    return true;
}
