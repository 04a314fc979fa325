/* A drill from outside: its processes are started, killed when their time has come, and all ended. */
#include "core/clock.h"
#include "run/drill/rank.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LEAD 0.1 /* seconds from the launcher's word to the beginning */

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
        scene->t0 = scene->options->again.attempt > 0 ? scene->options->t0 : clock_now() + LEAD;
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

bool drill_run_attempt(struct drill_options *options, struct drill_outcome *outcome, struct error *err)
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
    return drill_play_rank(options, wire, clock_now() + LEAD, outcome);
}
