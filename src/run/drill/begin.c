/* A rank of a drill begins its part; and what becomes of the outcomes of all. */
#include "run/drill/drill.h"

#include "core/clock.h"
#include "run/drill/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

bool drill_check_size(const struct drill_options *options, struct error *err)
{
    int ranks = drill_ranks(options);
    return ranks <= DRILL_MAX_NODES ||
           error_set(err, ERROR_INPUT,
                     "a drill of %d nodes exceeds the limit of %d (returning nodes included)", ranks,
                     DRILL_MAX_NODES);
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
        rank->now.in_view[r] = there;
        rank->now.node_of[r] = there ? r : -1;
        rank->ready_epoch[r] = rank->result_epoch[r] = -1;
        rank->reports[r].epoch = -1;
    }
    for (int n = 0; n < DRILL_MAX_NODES; n++)
        rank->now.rank_of[n] = n < nodes && !options->again.absent[n] ? n : -1;
    return true;
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
        if (fate->kind == DRILL_KILL && options->alone)
            rank->kill_at = fate->time;
        if (fate->kind == DRILL_CUT)
            rank->cut_at = fate->time;
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
        memset(rank->now.in_view, 0, sizeof rank->now.in_view);
        rank->now.epoch = -1;
        return true;
    }
    if (options->checkpoints)
        rank->phase = PHASE_LOADS;
    return (options->checkpoints ? drill_load(rank) : train_begin(&rank->train, &rank->base, err)) &&
           train_split(&rank->train, &rank->base, &rank->shares, &rank->seconds, err);
}

bool drill_play_rank(const struct drill_options *options, struct wire *wire, double t0,
                     struct drill_outcome *outcome)
{
    struct error err = {.text = ""};
    struct drill_rank *rank = calloc(1, sizeof *rank);
    int lowest = 0;
    *outcome = (struct drill_outcome){.verdict = DRILL_WRONG, .text = "out of memory"};
    if (!rank)
        return true;
    rank->options = options;
    rank->wire = wire;
    rank->err = &err;
    rank->self = wire->rank;
    rank->ranks = wire->size;
    rank->t0 = t0;
    if (!begin(rank, elastic_kit_nodes(options->kit), &err)) {
        drill_finish(rank, err.kind == ERROR_INFEASIBLE ? DRILL_NO_SHAPE : DRILL_WRONG, err.text);
    } else {
        while (clock_now() < t0)
            clock_sleep((int64_t)((t0 - clock_now()) * 1e9) + 1000);
        if (rank->phase == PHASE_COMPUTES)
            drill_start_iteration(rank);
        drill_be_rank(rank);
    }
    *outcome = rank->outcome;
    while (lowest < rank->self && !rank->now.in_view[lowest])
        lowest++;
    bool says = outcome->verdict == DRILL_WRONG || (outcome->verdict != DRILL_HANG && lowest == rank->self);
    wire_forget(wire);
    drill_rank_release(rank);
    free(rank);
    return says;
}

void drill_take_outcome(struct drill_outcome *outcome, const struct drill_outcome *one)
{
    char note[sizeof outcome->note];
    bool both = outcome->verdict == DRILL_RIGHT && one->verdict == DRILL_RIGHT;
    int64_t cells = outcome->cells > one->cells ? outcome->cells : one->cells; /* a spare node has none */
    memcpy(note, outcome->note[0] ? outcome->note : one->note, sizeof note);
    if (outcome->verdict == DRILL_HANG || one->verdict == DRILL_WRONG ||
        (one->verdict == outcome->verdict &&
         (one->event_count > outcome->event_count ||
          (one->event_count == outcome->event_count && one->samples > outcome->samples))))
        *outcome = *one;
    if (both)
        outcome->cells = cells;
    memcpy(outcome->note, note, sizeof note);
}
