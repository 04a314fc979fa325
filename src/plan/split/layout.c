#include "plan/split/search.h"

#include <math.h>

#define TABLED 256 /* blocks: stages of more are priced each time anew */

/* The job, and the memory of each device. Where blocks are alike, stages differ in their number alone, and what was
 * found of one is kept. */
struct layout {
    const struct job *job;
    const struct job_layers *layers;
    double memory;
    bool alike;
    double seconds[4][TABLED + 1]; /* by ends of the pipeline, and number of blocks; 0: not known yet */
    int fits[TABLED]; /* [stage] number of blocks that memory has room for, plus 1; 0: not known yet */
};

static double seconds_of(struct layout *layout, int stage, int first, int last)
{
    int ends = (stage == 0) + 2 * (stage == job_depth(layout->job) - 1);
    double *known = layout->alike ? &layout->seconds[ends][last - first] : NULL;
    if (known && *known > 0.0)
        return *known;
    struct job_layer layer = job_stage(layout->job, layout->layers, stage, first, last);
    double seconds = job_pass_seconds(&layer.pass);
    if (known)
        *known = seconds;
    return seconds;
}

static bool has_room(const struct layout *layout, int stage, int first, int last)
{
    struct job_layer layer = job_stage(layout->job, layout->layers, stage, first, last);
    return job_stage_memory(layout->job, layout->layers, stage, &layer).total <= layout->memory;
}

/* Is a stage with the blocks first..last - 1 within memory? */
static bool fits(struct layout *layout, int stage, int first, int last)
{
    if (!layout->alike)
        return has_room(layout, stage, first, last);
    if (layout->fits[stage] == 0) {
        int good = 0, bad = layout->layers->block_count + 1;
        while (bad - good > 1) {
            int middle = good + (bad - good) / 2;
            *(has_room(layout, stage, 0, middle) ? &good : &bad) = middle;
        }
        layout->fits[stage] = good + 1;
    }
    return last - first < layout->fits[stage];
}

/* The same, within pace, too? *taken: its seconds. */
static bool holds(struct layout *layout, int stage, int first, int last, double pace, double *taken)
{
    *taken = seconds_of(layout, stage, first, last);
    return *taken <= pace && fits(layout, stage, first, last);
}

/* Returns the maximum end of a stage that begins with block `first`; `first`: it cannot hold a block. */
static int reach(struct layout *layout, int stage, int first, int max, double pace, double *taken)
{
    int good = first, bad = max + 1;
    *taken = 0.0;
    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;
        double seconds;
        if (holds(layout, stage, first, middle, pace, &seconds)) {
            good = middle;
            *taken = seconds;
        } else {
            bad = middle;
        }
    }
    return good;
}

/* Fills every stage as far as possible, leaving a block for each stage behind it. Returns the seconds of the slowest
 * stage; INFINITY: the stages do not hold all blocks. */
static double fill(struct layout *layout, double pace, int *blocks)
{
    int stages = layout->job->degrees.pipeline, total = layout->layers->block_count, first = 0;
    double slowest = 0.0;
    for (int stage = 0; stage < stages; stage++) {
        double taken;
        int last = reach(layout, stage, first, total - (stages - 1 - stage), pace, &taken);
        if (last == first)
            return INFINITY;
        blocks[stage] = last - first;
        slowest = fmax(slowest, taken);
        first = last;
    }
    return first == total ? slowest : INFINITY;
}

/* Makes stages of identical blocks as even as the pace allows, which readers expect. */
static void even_out(struct layout *layout, double pace, int *blocks)
{
    int stages = layout->job->degrees.pipeline, left = layout->layers->block_count, behind = 0;
    if (layout->layers->kind_count > 1)
        return;
    double taken;
    for (int stage = 0; stage < stages; stage++) {
        blocks[stage] = reach(layout, stage, 0, left, pace, &taken);
        behind += blocks[stage];
    }
    for (int stage = 0, stages_left = stages; stages_left > 0; stage++, stages_left--) {
        behind -= blocks[stage];
        int max = blocks[stage], min = left - behind > 1 ? left - behind : 1;
        int even = (int)ceil((double)left / stages_left);
        blocks[stage] = even > max ? max : even < min ? min : even;
        left -= blocks[stage];
    }
}

bool job_layout(const struct job *job, const struct job_layers *layers, double memory, double pace,
                int *blocks)
{
    int count = layers->block_count;
    struct layout layout = {job, layers, memory, layers->kind_count == 1 && count <= TABLED, {{0.0}}, {0}};
    double ends[] = {job_pass_seconds(&layers->embedding.pass),
                     job_pass_seconds(&layers->head.pass) + job_pass_seconds(&layers->further.pass)};
    if (job->degrees.pipeline > count || isinf(fill(&layout, pace, blocks)))
        return false;
    double high = fill(&layout, INFINITY, blocks);
    double low =
        (job_pass_seconds(&layers->blocks.pass) + ends[0] + ends[1]) / job->degrees.pipeline * (1.0 - 1e-9);
    while (high > low * (1.0 + 1e-9)) {
        double middle = low + (high - low) / 2.0, slowest = fill(&layout, middle, blocks);
        if (isinf(slowest))
            low = middle;
        else
            high = slowest;
    }
    high *= 1.0 + 1e-12;
    fill(&layout, high, blocks);
    even_out(&layout, high, blocks);
    return true;
}
