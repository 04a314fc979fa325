/* Transitions, and all single losses. */
#include "elastic/reconfigure_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- transitions ---- */

void elastic_transition_release(struct elastic_transition *transition)
{
    elastic_state_release(&transition->after);
    text_release(&transition->steps);
    text_release(&transition->missing);
    free(transition->copies);
    memset(transition, 0, sizeof *transition);
}

static bool seconds_of(const struct elastic_state *state, double *seconds, struct error *err)
{
    struct elastic_set set;
    if (!elastic_state_set(state, &set, err))
        return false;
    *seconds = set.seconds;
    elastic_set_release(&set);
    return true;
}

static int rarest_copies(const struct elastic_state *state)
{
    int copies = 0;
    for (int i = 0; i < state->instance_count; i++)
        copies += state->kit->shapes[state->instances[i].shape].copies;
    return copies;
}

/* Where all pipelines are one group, shards move with every change of their number, and a lost one has no copy. */
static void need_checkpoint(struct elastic_transition *out, const struct elastic_kit *kit, bool lost)
{
    bool once = elastic_exists_once(kit);
    if (once && lost)
        out->reason =
            kit->sharded == elastic_all_states
                ? "the lost nodes' shards of parameters and optimizer states had no other copy (ZeRO 3)"
                : "the lost nodes' shards of the optimizer states had no other copy (ZeRO)";
    else if (once)
        out->reason = "optimizer states must be resharded for another number of pipelines (ZeRO)";
    else if (out->missing.length > 0 && kit->sharded)
        out->reason = "some shards of these layers have no copy left (HSDP)";
    else if (out->missing.length > 0)
        out->reason = "some layers have no copy left";
    if (!out->reason)
        return;
    out->outcome.checkpoint = true;
    free(out->copies);
    out->copies = NULL;
    out->copy_count = 0;
    out->outcome.bytes_across = out->bytes_inside = 0;
    out->outcome.seconds = out->bound = NAN;
}

static void elastic_crews_release(struct elastic_crews *crews)
{
    for (size_t i = 0; i < crews->count; i++)
        free(crews->crews[i].nodes);
    free(crews->crews);
    free(crews->spares);
    memset(crews, 0, sizeof *crews);
}

bool elastic_reconfigure(struct elastic_transition *out, const struct elastic_state *from,
                         const struct elastic_change *change, struct error *err)
{
    struct elastic_crews crews = {0};
    memset(out, 0, sizeof *out);
    bool ok = elastic_crews_init(&crews, from, change, out, err) &&
              (change->method == ELASTIC_FASTEST ? elastic_fastest_crews(&crews, change->faults, err)
                                                 : elastic_repair_crews(&crews, err)) &&
              elastic_seat_crews(&crews, err) && elastic_copy_state(from, out, err) &&
              seconds_of(from, &out->before, err) && seconds_of(&out->after, &out->outcome.iteration, err);
    elastic_crews_release(&crews);
    if (ok) {
        bool lost = false, moved = out->copy_count > 0;
        for (int i = 0; i < change->lost_count; i++)
            lost |= from->owner[change->lost[i]] >= 0;
        if (lost || moved || out->missing.length > 0)
            need_checkpoint(out, from->kit, lost);
        out->kept = rarest_copies(&out->after);
        if (out->steps.failed || out->missing.failed)
            ok = error_memory(err);
    }
    if (!ok)
        elastic_transition_release(out);
    return ok;
}

/* ---- all single losses ---- */

static bool lose_one(const struct elastic_state *state, const struct elastic_change *change,
                     struct elastic_loss *loss, struct error *err)
{
    struct elastic_transition transition;
    if (!elastic_reconfigure(&transition, state, change, err)) {
        if (err->kind != ERROR_INFEASIBLE)
            return false;
        loss->outcome.checkpoint = true;
        loss->outcome.seconds = loss->outcome.iteration = INFINITY;
        return true;
    }
    loss->outcome = transition.outcome;
    elastic_transition_release(&transition);
    return true;
}

/* The row of a node, or a new one. */
static struct elastic_loss *row_of(struct elastic_loss *losses, int *count, int shape, int position)
{
    for (int i = 0; i < *count; i++)
        if (losses[i].shape == shape && losses[i].position == position)
            return &losses[i];
    losses[*count] = (struct elastic_loss){.shape = shape, .position = position};
    return &losses[(*count)++];
}

static int place_of(const struct elastic_instance *instance, int node)
{
    int position = 0;
    while (instance->nodes[position] != node)
        position++;
    return position;
}

bool elastic_single_losses(const struct elastic_state *state, enum elastic_method method, int faults,
                           struct elastic_loss **losses, int *count, struct error *err)
{
    *count = 0;
    *losses = calloc((size_t)state->node_count + 1, sizeof **losses);
    if (!*losses)
        return error_memory(err);
    for (int n = 0; n < state->node_count; n++) {
        int owner = state->owner[n];
        if (owner == ELASTIC_GONE)
            continue;
        struct elastic_loss *row = owner == ELASTIC_SPARE
                                       ? row_of(*losses, count, -1, elastic_kind_of(state->kit, n))
                                       : row_of(*losses, count, state->instances[owner].shape,
                                                place_of(&state->instances[owner], n));
        if (row->nodes++ > 0)
            continue;
        struct elastic_change change = {.lost = &n, .lost_count = 1, .method = method, .faults = faults};
        row->node = n;
        if (!lose_one(state, &change, row, err)) {
            free(*losses);
            *losses = NULL;
            return false;
        }
    }
    return true;
}
