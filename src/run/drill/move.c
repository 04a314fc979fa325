/* From one state to the next: what `elastic` answers is done with real copies. */
#include "core/clock.h"
#include "core/hash.h"
#include "run/drill/rank.h"
#include "run/drill/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool prepare_training(struct drill_rank *rank)
{
    free(rank->shares);
    rank->shares = NULL;
    return train_split(&rank->train, &rank->base, &rank->shares, &rank->seconds, rank->err);
}

void drill_complete(struct drill_rank *rank)
{
    if (rank->load)
        drill_loaded(rank);
    if (!rank->has_next)
        return;
    elastic_state_release(&rank->base);
    rank->base = rank->next;
    rank->has_next = false;
    rank->now.moves++;
    memset(rank->now.lost, 0, sizeof rank->now.lost);
    memset(rank->now.back, 0, sizeof rank->now.back);
    train_drop(&rank->train, &rank->base);
}

void drill_check_ready(struct drill_rank *rank)
{
    struct drill_outcome *outcome = &rank->outcome;
    if (rank->phase == PHASE_COPIES && rank->expected == 0 && clock_now() >= rank->copies_due) {
        rank->phase = PHASE_COPIED;
        rank->ready_epoch[rank->self] = rank->now.epoch;
        drill_tell_all(rank, DRILL_READY, 0, NULL, 0);
    }
    if (rank->phase != PHASE_COPIED)
        return;
    for (int r = 0; r < rank->ranks; r++)
        if (rank->now.in_view[r] && rank->ready_epoch[r] != rank->now.epoch)
            return;
    drill_complete(rank);
    if (outcome->event_count > 0 && rank->found_at >= 0.0)
        outcome->events[outcome->event_count - 1].copied = clock_now() - rank->found_at;
    rank->first_step = true;
    if (prepare_training(rank))
        drill_start_iteration(rank);
    else
        drill_finish(rank, DRILL_WRONG, rank->err->text);
}

/* ---- copies ---- */

struct copy_head {
    uint64_t checksum;
};

static uint64_t train_checksum(const struct train *train, int cell)
{
    return hash_bytes((uint64_t)cell, train->cells[cell].now, (size_t)train->words[cell] * sizeof(uint64_t));
}

static bool send_cell(struct drill_rank *rank, int to_node, int cell)
{
    const struct train *train = &rank->train;
    size_t words = (size_t)train->words[cell] * sizeof(uint64_t), length = sizeof(struct copy_head) + words;
    char *bytes = train->cells[cell].now ? malloc(length) : NULL;
    if (!bytes)
        return error_set(rank->err, ERROR_FAILED, "node %d should copy a layer that it does not hold",
                         rank->node);
    const struct copy_head head = {train_checksum(train, cell)};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, train->cells[cell].now, words);
    bool ok =
        drill_tell(rank, rank->now.rank_of[to_node], DRILL_COPY, rank->train.iteration, cell, bytes, length);
    free(bytes);
    return ok;
}

void drill_hear_copy(struct drill_rank *rank, int cell, const void *bytes, size_t length)
{
    struct train *train = &rank->train;
    struct copy_head head;
    if (cell < 0 || cell >= train->cell_count ||
        length != sizeof head + (size_t)train->words[cell] * sizeof(uint64_t)) {
        drill_finish(rank, DRILL_WRONG, "a copy whose length differs from its layers'");
        return;
    }
    memcpy(&head, bytes, sizeof head);
    const void *words = (const char *)bytes + sizeof head;
    if (!train_put(train, cell, words, rank->err)) {
        drill_finish(rank, DRILL_WRONG, rank->err->text);
        return;
    }
    if (train_checksum(train, cell) != head.checksum) {
        drill_finish(rank, DRILL_WRONG, "a copy whose checksum differs from its layers'");
        return;
    }
    if (rank->outcome.event_count > 0)
        rank->outcome.events[rank->outcome.event_count - 1].bytes += (double)length;
    rank->expected--;
}

static bool copy_all(struct drill_rank *rank, const struct elastic_transition *way)
{
    int units = rank->options->kit->units;
    rank->expected = 0;
    for (int i = 0; i < way->copy_count; i++) {
        const struct elastic_copy *copy = &way->copies[i];
        if (copy->from_node == copy->to_node)
            continue;
        for (int s = copy->first; s <= copy->last; s++)
            for (int u = copy->from; u < copy->until; u++) {
                rank->expected += copy->to_node == rank->node;
                if (copy->from_node == rank->node && !send_cell(rank, copy->to_node, s * units + u))
                    return false;
            }
    }
    return true;
}

/* ---- the answer of `elastic` ---- */

static int list_nodes(const struct drill_rank *rank, const bool *which, int *nodes)
{
    int count = 0;
    for (int n = 0; n < rank->base.node_count; n++)
        if (which[n])
            nodes[count++] = n;
    return count;
}

void drill_move(struct drill_rank *rank)
{
    int lost[DRILL_MAX_NODES], back[DRILL_MAX_NODES];
    struct elastic_change change = {.lost = lost, .returned = back, .faults = rank->options->faults};
    struct elastic_transition way;
    if (rank->has_next)
        elastic_state_release(&rank->next);
    rank->has_next = false;
    train_clear(&rank->train);
    if (rank->load) {
        drill_finish(rank, DRILL_CHECKPOINT, "nodes were lost while a checkpoint was loaded");
        return;
    }
    change.lost_count = list_nodes(rank, rank->now.lost, lost);
    change.returned_count = list_nodes(rank, rank->now.back, back);
    if (!elastic_reconfigure(&way, &rank->base, &change, rank->err)) {
        drill_finish(rank, rank->err->kind == ERROR_INFEASIBLE ? DRILL_NO_SHAPE : DRILL_WRONG,
                     rank->err->text);
        return;
    }
    if (way.outcome.checkpoint) {
        char text[300];
        snprintf(text, sizeof text,
                 "%d nodes are lost: %.200s; a checkpoint of iteration %d or before is needed",
                 change.lost_count, way.reason ? way.reason : "layers have no copy", rank->train.iteration);
        elastic_transition_release(&way);
        drill_finish(rank, DRILL_CHECKPOINT, text);
        return;
    }
    double share = rank->options->time_share;
    int events = rank->outcome.event_count;
    if (events > 0 && rank->tries == 1)
        rank->outcome.events[events - 1].simulated = (way.outcome.seconds + way.outcome.iteration) * share;
    rank->copies_due = clock_now() + way.outcome.seconds * share;
    rank->phase = PHASE_COPIES;
    bool ok = copy_all(rank, &way);
    rank->next = way.after;
    rank->has_next = true;
    way.after = (struct elastic_state){.kit = rank->options->kit};
    elastic_transition_release(&way);
    if (!ok)
        drill_finish(rank, DRILL_WRONG, rank->err->text);
    else
        drill_replay(rank);
}
