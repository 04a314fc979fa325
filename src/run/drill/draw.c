/* Random drills. */
#include "core/random.h"
#include "run/drill/drill.h"

#include <math.h>

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

/* A node comes back, and is sometimes lost again while it joins. */
static void add_return(struct drill_options *options, int node, double time, uint64_t *state)
{
    if (random_uniform(state) < 0.5)
        time += 2 * options->silence * random_uniform(state);
    add_fate(options, DRILL_RETURN, node, time);
    if (random_uniform(state) < 0.2)
        add_fate(options, DRILL_KILL, node, time + 0.001 + 0.03 * random_uniform(state));
}

/* A time while a checkpoint is written, which begins with the iteration after it. */
static double when_saved(const struct drill_options *options, double time, double period, uint64_t *state)
{
    double every = period * options->save_every;
    return (floor(time / every) + 1) * every + period * random_uniform(state);
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
    if (options->checkpoints && random_uniform(&state) < 0.5)
        time = when_saved(options, time, period, &state);
    if (options->checkpoints && random_uniform(&state) < 0.4)
        count = most + (int)(random_uniform(&state) * (nodes - most)); /* far too many */
    for (int i = 0; i < count; i++) {
        bool cut = random_uniform(&state) < 0.3 && 2 * (i + 1) < nodes;
        int node = draw_node(options, nodes, &state);
        add_fate(options, cut ? DRILL_CUT : DRILL_KILL, node, time);
        double pause = random_uniform(&state);
        if (pause > 0.4)                                        /* else at once */
            time += pause < 0.7 ? 0.02 * random_uniform(&state) /* while the others recover */
                                : period * 3 * random_uniform(&state);
        if (random_uniform(&state) < 0.4)
            add_return(options, node, time, &state);
    }
}
