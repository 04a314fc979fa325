/* Plans and sets of templates as a kit: whatever is read has slots within its cells and times that are
 * numbers, its set of instances is one of the nodes there are, and losing a node leaves a state in order. The
 * first byte gives the nodes, the faults, and the node that is lost. */
#include "elastic/reconfigure.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MAX_NODES 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_shape(const struct elastic_kit *kit, const struct elastic_shape *shape)
{
    int nodes = 0;
    for (int k = 0; k < kit->kind_count; k++)
        nodes += shape->need[k];
    require(nodes == shape->nodes && shape->nodes > 0 && shape->pipelines > 0 && shape->copies > 0);
    for (int s = 0; s < shape->slot_count; s++) {
        const struct elastic_slot *slot = &shape->slots[s];
        require(slot->position >= 0 && slot->position < nodes && slot->first >= 0 &&
                slot->first <= slot->last);
        require(slot->last < kit->segment_count && slot->from >= 0 && slot->from < slot->until);
        require(slot->until <= kit->units && slot->device >= 0);
        require(slot->device < kit->kinds[shape->kinds[slot->position]].nodes.devices);
    }
    for (int l = 0; l < shape->line_count; l++)
        require(elastic_line_seconds(&shape->lines[l], 2) >= elastic_line_seconds(&shape->lines[l], 1));
}

static void check_state(const struct elastic_state *state)
{
    for (int n = 0; n < state->node_count; n++)
        require(state->owner[n] >= ELASTIC_GONE && state->owner[n] < state->instance_count);
    for (int i = 0; i < state->instance_count; i++)
        for (int p = 0; p < state->kit->shapes[state->instances[i].shape].nodes; p++)
            require(state->owner[state->instances[i].nodes[p]] == i);
}

static void lose(const struct elastic_state *state, int node)
{
    struct elastic_transition way;
    struct error err;
    struct elastic_change change = {
        .lost = &node, .lost_count = 1, .method = node % 2 ? ELASTIC_FASTEST : ELASTIC_LOCAL};
    if (!elastic_reconfigure(&way, state, &change, &err)) {
        require(err.kind == ERROR_INFEASIBLE);
        return;
    }
    check_state(&way.after);
    require(way.outcome.checkpoint || way.outcome.seconds >= way.bound * (1 - 1e-9));
    elastic_transition_release(&way);
}

static void use(struct elastic_kit *kit, uint8_t first)
{
    struct elastic_set set;
    struct elastic_state state;
    struct error err;
    int nodes[ELASTIC_MAX_KINDS], faults = first % 3;
    for (int k = 0; k < kit->kind_count; k++)
        nodes[k] = kit->kinds[k].nodes.count =
            kit->kinds[k].nodes.count < MAX_NODES ? kit->kinds[k].nodes.count : MAX_NODES;
    if (!elastic_instances(&set, kit, nodes, faults, &err)) {
        require(err.kind == ERROR_INFEASIBLE);
        return;
    }
    require(!isnan(set.seconds) && set.bound <= set.seconds && set.instances > 0);
    if (elastic_state_start(&state, kit, &set, &err)) {
        check_state(&state);
        lose(&state, first / 3 % state.node_count);
        elastic_state_release(&state);
    }
    elastic_set_release(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elastic_kit kit;
    struct error err;
    const struct text text = {.data = (char *)(uintptr_t)data + 1, .length = size - 1};
    struct elastic_options options = {.texts = &text,
                                      .text_count = 1,
                                      .batch = size > 0 && data[0] % 2 ? 24 : 0,
                                      .optimizer = size > 0 && data[0] % 5 == 0 ? ELASTIC_OPTIMIZER_REPLICATED
                                                                                : ELASTIC_OPTIMIZER_PLAN};
    if (size < 2)
        return 0;
    if (!elastic_kit_load(&kit, &options, &err)) {
        require(*err.text != '\0');
        return 0;
    }
    for (int t = 0; t < kit.shape_count; t++)
        check_shape(&kit, &kit.shapes[t]);
    use(&kit, data[0]);
    elastic_kit_release(&kit);
    return 0;
}
