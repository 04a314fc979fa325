#include "elastic/reconfigure.h"

#include <stdlib.h>
#include <string.h>

const char *const elastic_methods[] = {"local", "fastest", NULL};

/* ---- states ---- */

void elastic_state_release(struct elastic_state *state)
{
    for (int i = 0; i < state->instance_count; i++)
        free(state->instances[i].nodes);
    free(state->instances);
    free(state->owner);
    memset(state, 0, sizeof *state);
}

static bool start_instance(struct elastic_state *state, int shape, int *next, struct error *err)
{
    const struct elastic_shape *of = &state->kit->shapes[shape];
    struct elastic_instance *instance = &state->instances[state->instance_count];
    instance->shape = shape;
    instance->nodes = calloc((size_t)of->nodes, sizeof *instance->nodes);
    if (!instance->nodes)
        return error_memory(err);
    for (int p = 0; p < of->nodes; p++) {
        instance->nodes[p] = next[of->kinds[p]]++;
        state->owner[instance->nodes[p]] = state->instance_count;
    }
    state->instance_count++;
    return true;
}

bool elastic_state_start(struct elastic_state *state, const struct elastic_kit *kit,
                         const struct elastic_set *set, struct error *err)
{
    int next[ELASTIC_MAX_KINDS], nodes = 0;
    *state = (struct elastic_state){.kit = kit, .node_count = elastic_kit_nodes(kit)};
    state->owner = calloc((size_t)state->node_count + 1, sizeof *state->owner);
    state->instances = calloc((size_t)set->instances + 1, sizeof *state->instances);
    bool ok = state->owner && state->instances ? true : error_memory(err);
    for (int k = 0; k < kit->kind_count; k++) {
        next[k] = nodes;
        nodes += kit->kinds[k].nodes.count;
    }
    for (int n = 0; ok && n < state->node_count; n++)
        state->owner[n] = ELASTIC_SPARE;
    /* instances of few nodes first */
    for (int size = 1; ok && state->instance_count < set->instances; size++)
        for (int t = 0; ok && t < kit->shape_count; t++)
            for (int i = 0; ok && i < set->counts[t] && kit->shapes[t].nodes == size; i++)
                ok = start_instance(state, t, next, err);
    if (!ok)
        elastic_state_release(state);
    return ok;
}

bool elastic_state_set(const struct elastic_state *state, struct elastic_set *set, struct error *err)
{
    memset(set, 0, sizeof *set);
    set->counts = calloc((size_t)state->kit->shape_count + 1, sizeof *set->counts);
    if (!set->counts)
        return error_memory(err);
    for (int i = 0; i < state->instance_count; i++)
        set->counts[state->instances[i].shape]++;
    if (elastic_set_score(set, state->kit, err))
        return true;
    elastic_set_release(set);
    return false;
}
