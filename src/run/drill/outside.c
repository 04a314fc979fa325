/* A drill from outside: its processes are started, killed when their time has come, and all ended. */
#include "run/drill/drill.h"

#include "core/clock.h"
#include "core/random.h"
#include "run/drill/rank.h"
#include "run/run.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAD 0.05 /* seconds for processes to start */

_Static_assert(sizeof(struct drill_outcome) <= PIPE_BUF, "outcomes of several ranks do not mix");

const char *const drill_verdicts[DRILL_VERDICTS] = {[DRILL_HANG] = "hang",
                                                    [DRILL_RIGHT] = "right",
                                                    [DRILL_CHECKPOINT] = "checkpoint needed",
                                                    [DRILL_NO_SHAPE] = "too few nodes",
                                                    [DRILL_WRONG] = "wrong"};

/* ---- who is hit ---- */

/* The k-th return is that of rank nodes + k. Returns the rank that a node is when something happens to it. */
static int rank_at(const struct drill_options *options, int nodes, int fate)
{
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

struct executioner {
    const struct drill_options *options;
    int nodes;
    double t0;
    bool done[DRILL_MAX_FATES];
};

static void tick(void *context, const pid_t *ranks, int count)
{
    struct executioner *executioner = context;
    const struct drill_options *options = executioner->options;
    for (int i = 0; i < options->fate_count; i++) {
        if (executioner->done[i] || options->fates[i].kind != DRILL_KILL ||
            clock_now() - executioner->t0 < options->fates[i].time)
            continue;
        int rank = rank_at(options, executioner->nodes, i);
        executioner->done[i] = true;
        if (rank < count && ranks[rank] > 0)
            kill(ranks[rank], SIGKILL);
    }
}

/* ---- one rank ---- */

static bool begin_state(struct drill_rank *rank, int nodes, struct error *err)
{
    int kinds[ELASTIC_MAX_KINDS];
    struct elastic_set set;
    const struct drill_options *options = rank->options;
    for (int k = 0; k < options->kit->kind_count; k++)
        kinds[k] = options->kit->kinds[k].nodes;
    if (!elastic_instances(&set, options->kit, kinds, options->faults, err))
        return false;
    rank->has_base = elastic_state_start(&rank->base, options->kit, &set, err);
    elastic_set_release(&set);
    if (!rank->has_base)
        return false;
    for (int r = 0; r < rank->ranks; r++) {
        rank->in_view[r] = r < nodes;
        rank->node_of[r] = r < nodes ? r : -1;
        rank->ready_epoch[r] = rank->result_epoch[r] = -1;
        rank->reports[r].epoch = -1;
    }
    for (int n = 0; n < DRILL_MAX_NODES; n++)
        rank->rank_of[n] = n < nodes ? n : -1;
    return true;
}

static bool begin(struct drill_rank *rank, int nodes, struct error *err)
{
    const struct drill_options *options = rank->options;
    bool member = rank->self < nodes;
    rank->node = member ? rank->self : -1;
    rank->phase = member ? PHASE_COMPUTES : PHASE_WAITS;
    rank->found_at = -1.0;
    rank->cut_at = rank->join_at = INFINITY;
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *fate = &options->fates[i];
        if (rank_at(options, nodes, i) != rank->self)
            continue;
        if (fate->kind == DRILL_CUT)
            rank->cut_at = fate->time;
        if (fate->kind == DRILL_RETURN) {
            rank->join_at = fate->time;
            rank->join_node = fate->node;
        }
    }
    if (!train_init(&rank->train, options->kit, rank->node, options->byte_share, err) ||
        !begin_state(rank, nodes, err))
        return false;
    if (!member) { /* it learns the state with the view that it joins */
        elastic_state_release(&rank->base);
        rank->has_base = false;
        memset(rank->in_view, 0, sizeof rank->in_view);
        rank->epoch = -1;
        return true;
    }
    return train_begin(&rank->train, &rank->base, err) &&
           train_split(&rank->train, &rank->base, &rank->shares, &rank->seconds, err);
}

static _Noreturn void be_rank(const struct drill_options *options, struct wire *wire, int nodes, double t0,
                              int pipe_end)
{
    struct error err = {.text = ""};
    struct drill_rank *rank = calloc(1, sizeof *rank);
    if (rank) {
        rank->options = options;
        rank->wire = wire;
        rank->err = &err;
        rank->self = wire->rank;
        rank->ranks = wire->size;
        rank->t0 = t0;
        rank->outcome_pipe = pipe_end;
        if (!begin(rank, nodes, &err)) {
            drill_finish(rank, err.kind == ERROR_INFEASIBLE ? DRILL_NO_SHAPE : DRILL_WRONG, err.text);
        } else {
            while (clock_now() < t0)
                clock_sleep((int64_t)((t0 - clock_now()) * 1e9) + 1000);
            if (rank->phase == PHASE_COMPUTES)
                drill_start_iteration(rank);
            drill_be_rank(rank);
        }
        wire_forget(wire);
        drill_rank_release(rank);
        free(rank);
    }
    run_leave(wire, 0);
}

/* ---- all of them ---- */

/* Takes the outcome of a rank that has seen the end: a wrong one counts before all others. */
static void read_outcomes(int pipe_end, struct drill_outcome *outcome)
{
    struct drill_outcome one;
    *outcome = (struct drill_outcome){.verdict = DRILL_HANG};
    while (read(pipe_end, &one, sizeof one) == (ssize_t)sizeof one)
        if (outcome->verdict == DRILL_HANG || one.verdict == DRILL_WRONG ||
            (one.verdict == outcome->verdict && one.event_count > outcome->event_count))
            *outcome = one;
}

bool drill_run(const struct drill_options *options, struct drill_outcome *outcome, struct error *err)
{
    int nodes = elastic_kit_nodes(options->kit), standby = 0, ends[2];
    for (int i = 0; i < options->fate_count; i++)
        standby += options->fates[i].kind == DRILL_RETURN;
    if (nodes + standby > DRILL_MAX_NODES)
        return error_set(err, ERROR_INPUT, "a drill of %d nodes: at most %d, with those that return", nodes,
                         DRILL_MAX_NODES);
    if (pipe(ends) != 0)
        return error_set(err, ERROR_FAILED, "cannot make a pipe: %s", strerror(errno));
    struct executioner executioner = {.options = options, .nodes = nodes, .t0 = clock_now() + LEAD};
    const struct run_watch watch = {&executioner, tick, options->limit};
    struct wire *wire;
    bool ok = run_start_watched(nodes + standby, options->silence, &watch, &wire, err);
    if (wire) {
        close(ends[0]);
        be_rank(options, wire, nodes, executioner.t0, ends[1]);
    }
    close(ends[1]);
    read_outcomes(ends[0], outcome);
    close(ends[0]);
    return ok;
}

/* ---- random drills ---- */

static int draw_node(const struct drill_options *options, int nodes, uint64_t *state)
{
    for (;;) {
        int node = (int)(random_uniform(state) * nodes);
        bool taken = false;
        for (int i = 0; i < options->fate_count; i++)
            taken |= options->fates[i].node == node;
        if (!taken && node < nodes)
            return node;
    }
}

static void add_fate(struct drill_options *options, enum drill_fate_kind kind, int node, double time)
{
    if (options->fate_count < DRILL_MAX_FATES)
        options->fates[options->fate_count++] = (struct drill_fate){kind, node, time};
}

void drill_draw(struct drill_options *options, uint64_t seed, int number, double period)
{
    uint64_t state = random_mix(seed + (uint64_t)number * RANDOM_GOLDEN);
    int nodes = elastic_kit_nodes(options->kit);
    int most = options->faults < nodes - 1 ? options->faults : nodes - 1;
    int count = 1 + (int)(random_uniform(&state) * most);
    double length = period * options->iterations, time = length * 0.6 * random_uniform(&state);
    options->fate_count = 0;
    if (random_uniform(&state) < 0.1 && count < nodes - 1)
        count++; /* one too many */
    for (int i = 0; i < count; i++) {
        bool cut = random_uniform(&state) < 0.3 && 2 * (i + 1) < nodes;
        int node = draw_node(options, nodes, &state);
        add_fate(options, cut ? DRILL_CUT : DRILL_KILL, node, time);
        double pause = random_uniform(&state);
        if (pause > 0.4)                                        /* else at once */
            time += pause < 0.7 ? 0.02 * random_uniform(&state) /* while the others recover */
                                : period * 3 * random_uniform(&state);
        if (random_uniform(&state) < 0.4)
            add_fate(
                options, DRILL_RETURN, node,
                time + (random_uniform(&state) < 0.5 ? 0.0 : 2 * options->silence * random_uniform(&state)));
    }
}

bool drill_may_need_checkpoint(const struct drill_options *options)
{
    int lost = 0;
    for (int i = 0; i < options->fate_count; i++)
        lost += options->fates[i].kind != DRILL_RETURN;
    return lost > options->faults;
}
