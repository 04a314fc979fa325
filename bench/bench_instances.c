/* Sets of instances and reconfigurations on one core, CPU time: random templates of 1 to 4 kinds of nodes,
 * seeded, on up to thousands of nodes; the rates of all numbers of live nodes; all single losses. "not
 * proven" counts the cases where the search gave up with a gap. */
#include "core/clock.h"
#include "core/random.h"
#include "elastic/rate.h"
#include "elastic/reconfigure.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 128

struct size {
    const char *name;
    int kinds, nodes, first, shapes; /* nodes of each kind; the smallest template; how many there are */
    int64_t batch;
};

static const struct size sizes[] = {
    {"64 nodes, templates of 1 to 16", 1, 64, 1, 16, 256},
    {"1,024 nodes, of 4 to 103", 1, 1024, 4, 100, 2048},
    {"4,096 nodes, of 8 to 307", 1, 4096, 8, 300, 4096},
    {"4,096 nodes, of 1 to 200", 1, 4096, 1, 200, 8192},
    {"2 x 64 nodes, 60 mixes", 2, 64, 2, 60, 512},
    {"4 x 16 nodes, 100 mixes", 4, 16, 2, 100, 256},
    {"4 x 256 nodes, 200 mixes", 4, 256, 4, 200, 2048},
};

/* Templates that scale well, not perfectly, with whole layers on every node. */
static void make_kit(struct elastic_kit *kit, const struct size *size, uint64_t seed)
{
    uint64_t state = seed;
    memset(kit, 0, sizeof *kit);
    kit->kind_count = size->kinds;
    for (int k = 0; k < size->kinds; k++)
        kit->kinds[k] = (struct elastic_kind){.name = "gpu",
                                              .nodes.count = size->nodes,
                                              .nodes.devices = 1,
                                              .inside = 4e11,
                                              .across = 5e10,
                                              .latency = 1e-5};
    kit->layer_count = kit->segment_count = LAYERS;
    kit->units = 1;
    kit->batch = size->batch;
    kit->segment_from = ARENA_ARRAY(&kit->arena, LAYERS + 1, int);
    kit->segment_until = ARENA_ARRAY(&kit->arena, LAYERS + 1, double);
    kit->shapes = calloc((size_t)size->shapes, sizeof *kit->shapes);
    for (int i = 0; i <= LAYERS; i++) {
        kit->segment_from[i] = i;
        kit->segment_until[i] = 3e9 * i;
    }
    for (; kit->shape_count < size->shapes; kit->shape_count++) {
        struct elastic_shape *shape = &kit->shapes[kit->shape_count];
        double speed = 0;
        shape->nodes = size->first + kit->shape_count;
        if (size->kinds > 1)
            shape->nodes = size->first + (int)(random_next(&state) % 14);
        for (int n = 0; n < shape->nodes; n++) {
            int kind = (int)(random_next(&state) % (uint64_t)size->kinds);
            shape->need[kind]++;
            speed += 1 + 0.7 * kind;
        }
        shape->kinds = ARENA_ARRAY(&kit->arena, (size_t)shape->nodes, int);
        for (int k = 0, at = 0; k < size->kinds; k++)
            for (int n = 0; n < shape->need[k]; n++)
                shape->kinds[at++] = k;
        shape->lines = ARENA_NEW(&kit->arena, struct elastic_line);
        shape->slots = ARENA_ARRAY(&kit->arena, LAYERS, struct elastic_slot);
        /* layers are whole: the slowest node has ceil(layers / nodes) of them, and imbalance on top */
        double period =
            (ceil((double)LAYERS / shape->nodes) * shape->nodes / LAYERS + 0.1 * random_uniform(&state)) /
            speed;
        *shape->lines =
            (struct elastic_line){1, period * (shape->nodes < LAYERS ? shape->nodes - 1 : LAYERS), period, 1};
        shape->name = "template";
        shape->line_count = shape->pipelines = shape->copies = 1;
        shape->gradients = 1e9 * ceil((double)LAYERS / shape->nodes);
        shape->bandwidth = 5e10;
        shape->latency = 1e-5;
        for (int p = 0; p < shape->nodes && p < LAYERS; p++)
            shape->slots[shape->slot_count++] = (struct elastic_slot){
                .position = p,
                .first = LAYERS * p / (shape->nodes < LAYERS ? shape->nodes : LAYERS),
                .last = LAYERS * (p + 1) / (shape->nodes < LAYERS ? shape->nodes : LAYERS) - 1,
                .until = 1,
                .ways = 1};
    }
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int main(void)
{
    enum { CASES = 9 };
    printf("%-32s  %10s  %10s  %10s  %10s  %12s\n", "set of instances, F = 1", "median", "worst",
           "not proven", "gap", "all losses");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double seconds[CASES], losses_seconds = 0, gap = 0;
        int unproven = 0;
        for (int c = 0; c < CASES; c++) {
            struct elastic_kit kit;
            struct elastic_set set;
            struct elastic_state state;
            struct elastic_loss *losses;
            struct error err;
            int nodes[ELASTIC_MAX_KINDS], count;
            make_kit(&kit, &sizes[i], (uint64_t)c + 1);
            for (int k = 0; k < kit.kind_count; k++)
                nodes[k] = kit.kinds[k].nodes.count;
            double start = clock_processor();
            if (!elastic_instances(&set, &kit, nodes, 1, &err)) {
                fprintf(stderr, "%s\n", err.text);
                return 1;
            }
            seconds[c] = clock_processor() - start;
            unproven += !set.proven;
            gap = fmax(gap, 1 - set.bound / set.seconds);
            if (c == 0) {
                start = clock_processor();
                if (!elastic_state_start(&state, &kit, &set, &err) ||
                    !elastic_single_losses(&state, ELASTIC_LOCAL, 1, &losses, &count, &err)) {
                    fprintf(stderr, "%s\n", err.text);
                    return 1;
                }
                losses_seconds = clock_processor() - start;
                free(losses);
                elastic_state_release(&state);
            }
            elastic_set_release(&set);
            elastic_kit_release(&kit);
        }
        qsort(seconds, CASES, sizeof *seconds, compare);
        printf("%-32s  %7.2f ms  %7.2f ms  %10d  %8.2g %%  %9.2f ms\n", sizes[i].name,
               1e3 * seconds[CASES / 2], 1e3 * seconds[CASES - 1], unproven, 100 * gap, 1e3 * losses_seconds);
        fflush(stdout);
    }
    return 0;
}
