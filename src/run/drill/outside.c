/* A drill from outside: its processes are started, killed when their time has come, and all ended. */
#include "run/drill/drill.h"

#include "core/clock.h"
#include "core/random.h"
#include "run/drill/rank.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(struct drill_outcome) <= PIPE_BUF, "outcomes of several ranks do not mix");

const char *const drill_verdicts[DRILL_VERDICTS] = {[DRILL_HANG] = "hang",
                                                    [DRILL_RIGHT] = "right",
                                                    [DRILL_CHECKPOINT] = "checkpoint needed",
                                                    [DRILL_NO_SHAPE] = "too few nodes",
                                                    [DRILL_WRONG] = "wrong"};

/* ---- who is hit ---- */

/* The k-th return is that of rank nodes + k. */
int drill_rank_at(const struct drill_options *options, int fate)
{
    int nodes = elastic_kit_nodes(options->kit);
    int rank = options->fates[fate].node, returns = 0;
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *other = &options->fates[i];
        if (other->kind != DRILL_RETURN)
            continue;
        if (other->node == options->fates[fate].node &&
            (i == fate || other->time < options->fates[fate].time))
            rank = nodes + returns;
        returns++;
    }
    return rank;
}

int drill_ranks(const struct drill_options *options)
{
    int ranks = elastic_kit_nodes(options->kit);
    for (int i = 0; i < options->fate_count; i++)
        ranks += options->fates[i].kind == DRILL_RETURN;
    return ranks;
}

struct executioner {
    const struct drill_options *options;
    struct drill_outcome *outcome;
    int pipe_end; /* of what ranks say */
    double t0;
    bool done[DRILL_MAX_FATES];
};

static void read_outcomes(const struct executioner *executioner)
{
    struct drill_outcome one;
    while (read(executioner->pipe_end, &one, sizeof one) == (ssize_t)sizeof one)
        drill_take_outcome(executioner->outcome, &one);
}

/* Nodes that are there are processes from the beginning; those that return are new ones. */
static bool starts(void *context, int rank)
{
    const struct executioner *executioner = context;
    const struct drill_options *options = executioner->options;
    if (rank < elastic_kit_nodes(options->kit))
        return !options->again.absent[rank];
    for (int i = 0; i < options->fate_count; i++)
        if (options->fates[i].kind == DRILL_RETURN && drill_rank_at(options, i) == rank)
            return clock_now() - executioner->t0 >= options->fates[i].time;
    return false;
}

static void tick(void *context, const pid_t *ranks, int count)
{
    struct executioner *executioner = context;
    const struct drill_options *options = executioner->options;
    read_outcomes(executioner);
    bool over = drill_is_over(options, executioner->outcome);
    for (int rank = 0; over && rank < count; rank++)
        if (ranks[rank] > 0)
            kill(ranks[rank], SIGKILL);
    for (int i = 0; i < options->fate_count; i++) {
        if (executioner->done[i] || options->fates[i].kind != DRILL_KILL ||
            clock_now() - executioner->t0 < options->fates[i].time)
            continue;
        int rank = drill_rank_at(options, i);
        executioner->done[i] = true;
        if (rank < count && ranks[rank] > 0)
            kill(ranks[rank], SIGKILL);
    }
}

/* ---- one rank ---- */

static bool begin_state(struct drill_rank *rank, int nodes, struct error *err)
{
    const struct drill_options *options = rank->options;
    rank->has_base = drill_first_state(&rank->base, options, err);
    if (!rank->has_base)
        return false;
    for (int r = 0; r < rank->ranks; r++) {
        bool there = r < nodes && !options->again.absent[r];
        rank->in_view[r] = there;
        rank->node_of[r] = there ? r : -1;
        rank->ready_epoch[r] = rank->result_epoch[r] = -1;
        rank->reports[r].epoch = -1;
    }
    for (int n = 0; n < DRILL_MAX_NODES; n++)
        rank->rank_of[n] = n < nodes && !options->again.absent[n] ? n : -1;
    return true;
}

/* A rank that is cut off hears those that are cut off with it. */
static void spare_others(struct drill_rank *rank, int together)
{
    const struct drill_options *options = rank->options;
    for (int i = 0; together > 0 && i < options->fate_count; i++)
        if (options->fates[i].together == together)
            rank->spared[drill_rank_at(options, i)] = true;
}

static bool begin(struct drill_rank *rank, int nodes, struct error *err)
{
    const struct drill_options *options = rank->options;
    bool member = rank->self < nodes;
    rank->node = member ? rank->self : -1;
    rank->phase = member ? PHASE_COMPUTES : PHASE_WAITS;
    rank->found_at = -1.0;
    rank->outcome.found_at = rank->outcome.stepped_at = NAN;
    rank->cut_at = rank->join_at = rank->kill_at = INFINITY;
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *fate = &options->fates[i];
        if (drill_rank_at(options, i) != rank->self)
            continue;
        if (fate->kind == DRILL_KILL && options->report)
            rank->kill_at = fate->time;
        if (fate->kind == DRILL_CUT) {
            rank->cut_at = fate->time;
            spare_others(rank, fate->together);
        }
        if (fate->kind == DRILL_RETURN) {
            rank->join_at = fate->time;
            rank->join_node = fate->node;
        }
    }
    if (!train_init(&rank->train, options->kit, rank->node, options->byte_share, err) ||
        !begin_state(rank, nodes, err) || (options->checkpoints && !drill_keep(rank)))
        return false;
    if (!member) { /* it learns the state with the view that it joins */
        elastic_state_release(&rank->base);
        rank->has_base = false;
        memset(rank->in_view, 0, sizeof rank->in_view);
        rank->epoch = -1;
        return true;
    }
    if (options->checkpoints)
        rank->phase = PHASE_LOADS;
    return (options->checkpoints ? drill_load(rank) : train_begin(&rank->train, &rank->base, err)) &&
           train_split(&rank->train, &rank->base, &rank->shares, &rank->seconds, err);
}

/* Where nobody is told from outside, the lowest rank of those that see the end says it. */
static int report(const struct drill_rank *rank)
{
    const struct drill_options *options = rank->options;
    int lowest = 0;
    while (lowest < rank->self && !rank->in_view[lowest])
        lowest++;
    bool says =
        rank->outcome.verdict == DRILL_WRONG || (rank->outcome.verdict != DRILL_HANG && lowest == rank->self);
    return options->report && says ? options->report(options->report_context, &rank->outcome) : 0;
}

_Noreturn void drill_play_rank(const struct drill_options *options, struct wire *wire, double t0,
                               int outcome_pipe)
{
    struct error err = {.text = ""};
    struct drill_rank *rank = calloc(1, sizeof *rank);
    int status = 0;
    if (rank) {
        rank->options = options;
        rank->wire = wire;
        rank->err = &err;
        rank->self = wire->rank;
        rank->ranks = wire->size;
        rank->t0 = t0;
        rank->outcome_pipe = outcome_pipe;
        if (!begin(rank, elastic_kit_nodes(options->kit), &err)) {
            drill_finish(rank, err.kind == ERROR_INFEASIBLE ? DRILL_NO_SHAPE : DRILL_WRONG, err.text);
        } else {
            while (clock_now() < t0)
                clock_sleep((int64_t)((t0 - clock_now()) * 1e9) + 1000);
            if (rank->phase == PHASE_COMPUTES)
                drill_start_iteration(rank);
            drill_be_rank(rank);
        }
        status = report(rank);
        wire_forget(wire);
        drill_rank_release(rank);
        free(rank);
    }
    run_leave(wire, status);
}

/* ---- all of them ---- */

void drill_take_outcome(struct drill_outcome *outcome, const struct drill_outcome *one)
{
    char note[sizeof outcome->note];
    memcpy(note, outcome->note[0] ? outcome->note : one->note, sizeof note);
    if (outcome->verdict == DRILL_HANG || one->verdict == DRILL_WRONG ||
        (one->verdict == outcome->verdict &&
         (one->event_count > outcome->event_count ||
          (one->event_count == outcome->event_count && one->samples > outcome->samples))))
        *outcome = *one;
    memcpy(outcome->note, note, sizeof note);
}

bool drill_run_here(const struct drill_options *options, struct drill_outcome *outcome, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return error_set(err, ERROR_FAILED, "cannot make a pipe: %s", strerror(errno));
    struct executioner executioner = {
        .options = options, .outcome = outcome, .pipe_end = ends[0], .t0 = options->t0};
    const struct run_watch watch = {&executioner, starts, tick, options->limit};
    struct wire *wire;
    *outcome = (struct drill_outcome){.verdict = DRILL_HANG};
    bool ok = run_start_watched(drill_ranks(options), options->silence, &watch, &wire, err);
    if (wire) {
        close(ends[0]);
        drill_play_rank(options, wire, executioner.t0, ends[1]);
    }
    close(ends[1]);
    read_outcomes(&executioner);
    close(ends[0]);
    return ok;
}
