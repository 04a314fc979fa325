#include "elastic/kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const elastic_optimizers[] = {"plan", "replicated", NULL};

/* ---- times ---- */

double elastic_line_seconds(const struct elastic_line *line, int64_t microbatches)
{
    int64_t steps = (microbatches + line->step - 1) / line->step;
    return microbatches < 1 ? 0 : line->fill + line->period * (double)(steps * line->step);
}

int64_t elastic_line_within(const struct elastic_line *line, double seconds, int64_t limit)
{
    double steps = floor((seconds - line->fill) / (line->period * (double)line->step));
    if (!(steps >= 0))
        return 0;
    if (steps * (double)line->step >= (double)limit + 2.0 * (double)line->step)
        return limit;
    /* the division rounds: the answer is made to agree with elastic_line_seconds */
    int64_t within = (int64_t)steps * line->step;
    while (elastic_line_seconds(line, within + 1) <= seconds)
        within += line->step;
    while (within > 0 && elastic_line_seconds(line, within) > seconds)
        within -= line->step;
    return within < limit ? within : limit;
}

double elastic_exchange(const struct elastic_shape *shape, int64_t pipelines)
{
    double d = (double)pipelines;
    if (pipelines < 2)
        return 0;
    if (shape->exposed_of > 1) {
        double planned = (double)shape->exposed_of;
        return shape->exposed * ((d - 1) / d) / ((planned - 1) / planned);
    }
    double sent = 2 * shape->gradients / shape->bandwidth;
    return fmin((d - 1) / d * sent + 2 * (d - 1) * shape->latency, sent + 2 * ceil(log2(d)) * shape->latency);
}

/* ---- nodes and state ---- */

int elastic_kit_nodes(const struct elastic_kit *kit)
{
    int nodes = 0;
    for (int k = 0; k < kit->kind_count; k++)
        nodes += kit->kinds[k].nodes.count;
    return nodes;
}

int elastic_kind_of(const struct elastic_kit *kit, int node)
{
    int k = 0;
    for (; k + 1 < kit->kind_count && node >= kit->kinds[k].nodes.count; k++)
        node -= kit->kinds[k].nodes.count;
    return k;
}

double elastic_unit_bytes(const struct elastic_kit *kit, int first, int last)
{
    return (kit->segment_until[last + 1] - kit->segment_until[first]) / kit->units;
}

void elastic_kit_release(struct elastic_kit *kit)
{
    free(kit->shapes);
    arena_release(&kit->arena);
    memset(kit, 0, sizeof *kit);
}

const char elastic_all_states[] = "parameters and optimizer states";

bool elastic_exists_once(const struct elastic_kit *kit)
{
    return kit->sharded != NULL && kit->shard_groups < 2;
}

const char *elastic_ways_to_survive(const struct elastic_kit *kit)
{
    return kit->replicable ? ELASTIC_PLAN_COPIES
               ", or keep all of them in each pipeline with '--optimizer replicated'"
                           : ELASTIC_PLAN_COPIES;
}
