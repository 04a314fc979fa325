#include "support/random_kit.h"

#include "core/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 6

int64_t random_between(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(random_next(state) % (uint64_t)(high - low + 1));
}

static void random_lines(struct elastic_kit *kit, struct elastic_shape *shape, bool one, uint64_t *state)
{
    shape->line_count = one ? 1 : (int)random_between(state, 1, 2);
    shape->lines = ARENA_ARRAY(&kit->arena, 2, struct elastic_line);
    for (int l = 0; l < shape->line_count; l++) {
        shape->lines[l] = (struct elastic_line){
            .copies = one ? 1 : (int)random_between(state, 1, 2),
            .fill = (double)random_between(state, 0, 12),
            .period = (double)random_between(state, 2, 24) / (one ? shape->nodes : 1),
            .step = one || random_between(state, 0, 2) ? 1 : random_between(state, 2, 3),
        };
        shape->pipelines += shape->lines[l].copies;
    }
}

/* Stages on neighbouring nodes, each one shard or, on two devices, two. */
static void random_slots(struct elastic_kit *kit, struct elastic_shape *shape, uint64_t *state)
{
    int from = 0;
    shape->slots = ARENA_ARRAY(&kit->arena, (size_t)shape->nodes * 2, struct elastic_slot);
    for (int n = 0; n < shape->nodes; n++) {
        int left = shape->nodes - n - 1;
        int until = left == 0 ? LAYERS : (int)random_between(state, from + 1, LAYERS - left);
        int ways = (int)random_between(state, 1, 2);
        for (int w = 0; w < ways; w++)
            shape->slots[shape->slot_count++] = (struct elastic_slot){
                .position = n,
                .device = w,
                .layers.first = from,
                .layers.last = until - 1,
                .shard = w,
                .ways = ways,
                .first = from,
                .last = until - 1,
                .from = 2 / ways * w,
                .until = 2 / ways * (w + 1),
            };
        from = until;
    }
}

static void random_shape(struct elastic_kit *kit, struct elastic_shape *shape,
                         const struct random_kit_spec *spec, uint64_t *state)
{
    char name[32];
    while (shape->nodes == 0 || (spec->pipelines && shape->nodes > LAYERS)) {
        shape->nodes = 0;
        for (int k = 0; k < kit->kind_count; k++) {
            shape->need[k] = (int)random_between(state, 0, kit->kinds[k].nodes.count);
            shape->nodes += shape->need[k];
        }
    }
    shape->kinds = ARENA_ARRAY(&kit->arena, (size_t)shape->nodes, int);
    for (int k = 0, at = 0; k < kit->kind_count; k++)
        for (int n = 0; n < shape->need[k]; n++)
            shape->kinds[at++] = k;
    snprintf(name, sizeof name, "shape of %d nodes", shape->nodes);
    shape->name = arena_string(&kit->arena, name);
    shape->copies = spec->pipelines ? 1 : (int)random_between(state, 1, 2);
    shape->gradients = (double)random_between(state, 0, random_between(state, 0, 1) ? 40 : 600);
    shape->bandwidth = 10;
    shape->latency = 0.01;
    random_lines(kit, shape, spec->pipelines, state);
    if (spec->pipelines)
        random_slots(kit, shape, state);
}

void random_kit(struct elastic_kit *kit, const struct random_kit_spec *spec, uint64_t seed)
{
    uint64_t state = seed * 977 + 5;
    memset(kit, 0, sizeof *kit);
    kit->kind_count = (int)random_between(&state, 1, spec->kinds);
    for (int k = 0; k < kit->kind_count; k++)
        kit->kinds[k] = (struct elastic_kind){.name = k ? "other" : "one",
                                              .nodes.count = (int)random_between(&state, 1, spec->nodes),
                                              .nodes.devices = 2,
                                              .inside = (double)random_between(&state, 20, 200),
                                              .across = (double)random_between(&state, 5, 20),
                                              .latency = 0.01};
    kit->layer_count = kit->segment_count = LAYERS;
    kit->units = 2;
    kit->segment_from = ARENA_ARRAY(&kit->arena, LAYERS + 1, int);
    kit->segment_until = ARENA_ARRAY(&kit->arena, LAYERS + 1, double);
    for (int i = 0; i <= LAYERS; i++) {
        kit->segment_from[i] = i;
        kit->segment_until[i] =
            i == 0 ? 0 : kit->segment_until[i - 1] + (double)random_between(&state, 1, 100);
    }
    kit->batch = random_between(&state, 1, spec->batch);
    kit->shape_count = (int)random_between(&state, 1, spec->shapes);
    kit->shapes = calloc((size_t)kit->shape_count, sizeof *kit->shapes);
    for (int t = 0; kit->shapes && t < kit->shape_count; t++)
        random_shape(kit, &kit->shapes[t], spec, &state);
}
