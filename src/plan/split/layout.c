#include "plan/split/search.h"

#include <math.h>

/* The job, and the memory of each device. */
struct layout {
    const struct job *job;
    const struct job_layers *layers;
    double memory;
};

/* Is a stage with the blocks first..last - 1 within pace and memory? *taken: its seconds. */
static bool holds(const struct layout *layout, int stage, int first, int last, double pace, double *taken)
{
    struct job_layer layer = job_stage(layout->job, layout->layers, stage, first, last);
    *taken = job_pass_seconds(&layer.pass);
    return *taken <= pace &&
           job_stage_memory(layout->job, layout->layers, stage, &layer).total <= layout->memory;
}

/* Returns the maximum end of a stage that begins with block `first`; `first`: it cannot hold a block. */
static int reach(const struct layout *layout, int stage, int first, int max, double pace, double *taken)
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
static double fill(const struct layout *layout, double pace, int *blocks)
{
    int stages = layout->job->pipeline, total = layout->layers->block_count, first = 0;
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
static void even_out(const struct layout *layout, double pace, int *blocks)
{
    int stages = layout->job->pipeline, left = layout->layers->block_count, behind = 0;
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

bool job_layout(const struct job *job, const struct job_layers *layers, double memory, int *blocks)
{
    struct layout layout = {job, layers, memory};
    double ends[] = {job_pass_seconds(&layers->embedding.pass),
                     job_pass_seconds(&layers->head.pass) + job_pass_seconds(&layers->further.pass)};
    double high = fill(&layout, INFINITY, blocks);
    if (job->pipeline > layers->block_count || isinf(high))
        return false;
    double low = (job_pass_seconds(&layers->blocks.pass) + ends[0] + ends[1]) / job->pipeline * (1.0 - 1e-9);
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
