#include "plan/plan.h"

#include <math.h>
#include <string.h>

void plan_init(struct plan *plan)
{
    *plan = (struct plan){
        .sharding = -1,
        .send_blocks = -1,
        .prefetch = -1,
        .keeps_gathered = -1,
        .shards_share = NAN,
        .chunks = 1,
        .asked_microbatches = -1,
        .schedule = "1f1b",
        .version = REHEARSE_VERSION,
        .expected = NAN,
        .interval.low = NAN,
        .interval.high = NAN,
        .interval.like_low = NAN,
        .interval.like_high = NAN,
        .interval.unlike_low = NAN,
        .interval.unlike_high = NAN,
        .memory = NAN,
        .headroom = NAN,
        .planning_seconds = NAN,
        .budget = {0.0, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
        .bottleneck_pipeline = -1,
        .bottleneck_stage = -1,
    };
}

void plan_release(struct plan *plan)
{
    arena_release(&plan->arena);
    *plan = (struct plan){0};
}

bool plan_add_types(struct plan *plan, int count, struct error *err)
{
    plan->types = ARENA_ARRAY(&plan->arena, (size_t)count + 1, struct plan_device_type);
    if (!plan->types)
        return error_memory(err);
    plan->type_count = count;
    for (int t = 0; t < count; t++)
        plan->types[t] = (struct plan_device_type){.nodes.devices = 1, .inside = -1, .across = -1};
    return true;
}

bool plan_add_pipelines(struct plan *plan, int count, struct error *err)
{
    plan->pipelines = ARENA_ARRAY(&plan->arena, (size_t)count + 1, struct plan_pipeline);
    if (!plan->pipelines)
        return error_memory(err);
    plan->pipeline_count = count;
    for (int p = 0; p < count; p++)
        plan->pipelines[p].copies = 1;
    return true;
}

bool plan_add_stages(struct plan *plan, struct plan_pipeline *pipeline, int count, struct error *err)
{
    pipeline->stages = ARENA_ARRAY(&plan->arena, (size_t)count + 1, struct plan_stage);
    if (!pipeline->stages)
        return error_memory(err);
    pipeline->stage_count = count;
    for (int s = 0; s < count; s++)
        pipeline->stages[s] = (struct plan_stage){
            .degrees = DEGREES_ONE,
            .seconds = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
            .bytes = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
        };
    return true;
}

int plan_add_link(struct plan *plan, const char *name, double bandwidth, double latency)
{
    for (int l = 0; l < plan->link_count; l++) {
        const struct plan_link *link = &plan->links[l];
        if (link->bandwidth == bandwidth && link->latency == latency && strcmp(link->name, name) == 0)
            return l;
    }
    if (!plan->links)
        plan->links = ARENA_ARRAY(&plan->arena, PLAN_MAX_LINKS, struct plan_link);
    const char *own =
        plan->links && plan->link_count < PLAN_MAX_LINKS ? arena_string(&plan->arena, name) : NULL;
    if (!own)
        return -1;
    plan->links[plan->link_count] = (struct plan_link){own, bandwidth, latency, 1};
    return plan->link_count++;
}

void plan_add_part(struct plan *plan, const char *name, double seconds)
{
    if (plan->part_count < PLAN_MAX_PARTS)
        plan->parts[plan->part_count++] = (struct plan_figure){name, seconds};
}

void plan_add_figure(struct plan *plan, const char *name, double value)
{
    if (plan->figure_count < PLAN_MAX_FIGURES)
        plan->figures[plan->figure_count++] = (struct plan_figure){name, value};
}

double plan_figure(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->figure_count; i++)
        if (strcmp(plan->figures[i].name, name) == 0)
            return plan->figures[i].value;
    return NAN;
}

double plan_gap_of(double seconds, double lower_bound)
{
    return lower_bound > 0 && seconds > 0 ? fmax(0, (seconds - lower_bound) / seconds) : 1;
}

double plan_gap(const struct plan *plan)
{
    return plan_gap_of(plan->iteration_time, plan->lower_bound);
}

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

double plan_stage_seconds(const struct plan_stage *stage)
{
    const struct plan_seconds *s = &stage->seconds;
    return known(s->forward) + known(s->backward) + known(s->recompute) + known(s->collectives) +
           known(s->send);
}

int plan_stage_devices(const struct plan_stage *stage)
{
    return stage->degrees.tensor * stage->degrees.context * stage->degrees.data;
}

int64_t plan_copies(const struct plan *plan)
{
    int64_t copies = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        copies += plan->pipelines[p].copies;
    return copies;
}

int64_t plan_devices_used(const struct plan *plan)
{
    int64_t used = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (plan->pipelines[p].stages[s].chunk == 0)
                used +=
                    (int64_t)plan->pipelines[p].copies * plan_stage_devices(&plan->pipelines[p].stages[s]);
    return used;
}

int64_t plan_devices(const struct plan *plan)
{
    int64_t devices = 0;
    for (int t = 0; t < plan->type_count; t++)
        devices += (int64_t)plan->types[t].nodes.count * plan->types[t].nodes.devices;
    return devices;
}

int plan_nodes(const struct plan *plan)
{
    int nodes = 0;
    for (int t = 0; t < plan->type_count; t++)
        nodes += plan->types[t].nodes.count;
    return nodes;
}

int64_t plan_readers(const struct plan *plan)
{
    int64_t readers = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        readers += (int64_t)plan->pipelines[p].copies * plan->pipelines[p].stages[0].degrees.data;
    return readers;
}

int64_t plan_samples(const struct plan *plan)
{
    double samples = 0;
    if (plan->global_batch > 0)
        return plan->global_batch;
    for (int p = 0; p < plan->pipeline_count; p++)
        samples += (double)plan->pipelines[p].copies * (double)plan->pipelines[p].microbatches *
                   (double)plan->microbatch;
    return samples < 0x1p53 ? (int64_t)samples : 0;
}

struct plan_alternative plan_as_alternative(const struct plan *plan)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    const struct plan_stage *stage = &pipeline->stages[0];
    struct plan_alternative own = {
        .iteration_time = plan->iteration_time,
        .devices = (int)plan_devices_used(plan),
        .degrees = stage->degrees,
        .chunks = plan->chunks,
        .sharding = plan->sharding > 0 ? plan->sharding : 0,
        .microbatch = plan->microbatch,
        .microbatches = pipeline->microbatches,
        .recompute = plan->recompute,
        .memory = plan->memory,
        .utilisation = plan_figure(plan, "utilisation"),
        .part_count = plan->part_count,
    };
    own.degrees.pipeline = pipeline->stage_count / plan->chunks;
    own.degrees.data = pipeline->copies;
    memcpy(own.parts, plan->parts, sizeof own.parts);
    return own;
}

bool plan_in_front(const struct plan *plan, int alternative)
{
    return plan->has_front && plan->alternatives[alternative].on_front;
}
