#include "core/unit.h"
#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct plan_inspection {
    const struct plan *plan;
    struct error *err;
    int pipeline, stage; /* stage -1: about the whole pipeline */
    bool any_memory;
};

/* "plan.json:7: pipelines[0].stages[2].layers: …" */
static bool wrong(const struct plan_inspection *c, const char *format, ...) PRINTF_LIKE(2, 3);

static bool wrong(const struct plan_inspection *c, const char *format, ...)
{
    const struct plan_pipeline *pipeline = &c->plan->pipelines[c->pipeline];
    int line = c->stage >= 0 ? pipeline->stages[c->stage].line : pipeline->line;
    char place[256] = "", stage[32] = "", message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (c->plan->path && line > 0)
        snprintf(place, sizeof place, "%.200s:%d: ", c->plan->path, line);
    else if (c->plan->path)
        snprintf(place, sizeof place, "%.200s: ", c->plan->path);
    if (c->stage >= 0)
        snprintf(stage, sizeof stage, ".stages[%d]", c->stage);
    return error_set(c->err, ERROR_INPUT, "%spipelines[%d]%s%s", place, c->pipeline, stage, message);
}

static bool check_memory(const struct plan_inspection *c, const struct plan_stage *stage)
{
    const struct plan_device_type *type = &c->plan->types[stage->type];
    char need[32], limit[32];
    if (c->any_memory || type->nodes.memory == 0 || !(stage->bytes.total > (double)type->nodes.memory))
        return true;
    return wrong(c, ": needs %s per device, a '%s' has %s",
                 unit_format(need, sizeof need, stage->bytes.total, UNIT_BYTES, 4), type->name,
                 unit_format(limit, sizeof limit, (double)type->nodes.memory, UNIT_BYTES, 4));
}

/* `used`: [device, counted through the cluster] who has it. */
static bool check_runs(const struct plan_inspection *c, const struct plan_stage *stage, char *used)
{
    const struct plan *plan = c->plan;
    int first_node = 0;
    int64_t first_device = 0, count = 0,
            wanted = (int64_t)plan_stage_devices(stage) * plan->pipelines[c->pipeline].copies;
    for (int t = 0; t < stage->type; t++) {
        first_node += plan->types[t].nodes.count;
        first_device += (int64_t)plan->types[t].nodes.count * plan->types[t].nodes.devices;
    }
    const struct plan_device_type *type = &plan->types[stage->type];
    for (int i = 0; i < stage->run_count; i++) {
        const struct plan_run *run = &stage->runs[i];
        count += (int64_t)run->nodes * run->count;
        if (run->node < first_node ||
            (int64_t)run->node + run->nodes > (int64_t)first_node + type->nodes.count)
            return wrong(c, ".devices: node %d is no '%s'", run->node, type->name);
        if ((int64_t)run->first + run->count > type->nodes.devices)
            return wrong(c, ".devices: a '%s' node has %d devices, found %d", type->name, type->nodes.devices,
                         run->first + run->count - 1);
        for (int n = run->node; n < run->node + run->nodes; n++)
            for (int d = run->first; d < run->first + run->count; d++) {
                char *device = &used[first_device + (int64_t)(n - first_node) * type->nodes.devices + d];
                if (*device && stage->chunk == 0)
                    return wrong(c, ".devices: device %d of node %d has a stage already", d, n);
                *device = 1;
            }
    }
    return count == wanted ||
           wrong(c, ".devices: expected %lld, found %lld", (long long)wanted, (long long)count);
}

static bool check_stage(const struct plan_inspection *c, int next_layer, char *used)
{
    const struct plan_stage *stage = &c->plan->pipelines[c->pipeline].stages[c->stage];
    if (stage->layers.first != next_layer)
        return wrong(c, ".layers: expected to begin with %d, %s, found %d", next_layer,
                     c->stage ? "the layer after the stage before" : "the first layer", stage->layers.first);
    if (stage->layers.last < stage->layers.first - (c->plan->chunks > 1))
        return wrong(c, ".layers: expected an end of at least %d, found %d", stage->layers.first,
                     stage->layers.last);
    return check_memory(c, stage) && (stage->run_count == 0 || c->plan->types[stage->type].nodes.count == 0 ||
                                      check_runs(c, stage, used));
}

static bool check_pipelines(struct plan_inspection *c, char *used)
{
    const struct plan *plan = c->plan;
    int layers = plan->layer_count;
    for (c->pipeline = 0; c->pipeline < plan->pipeline_count; c->pipeline++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[c->pipeline];
        int next_layer = 0;
        if (pipeline->stage_count % plan->chunks != 0)
            return wrong(c, ": %d stages are not %d chunks of each device", pipeline->stage_count,
                         plan->chunks);
        for (c->stage = 0; c->stage < pipeline->stage_count; c->stage++) {
            if (!check_stage(c, next_layer, used))
                return false;
            next_layer = pipeline->stages[c->stage].layers.last + 1;
        }
        c->stage = -1;
        layers = layers > 0 ? layers : next_layer;
        if (next_layer != layers)
            return wrong(c, ": ends after layer %d, the model has layers 0 to %d", next_layer - 1,
                         layers - 1);
    }
    return true;
}

static bool check_counts(struct plan_inspection *c)
{
    const struct plan *plan = c->plan;
    for (int t = 0; t < plan->type_count; t++) {
        const struct plan_device_type *type = &plan->types[t];
        int64_t used = 0, there = (int64_t)type->nodes.count * type->nodes.devices;
        for (int p = 0; p < plan->pipeline_count; p++)
            for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
                const struct plan_stage *stage = &plan->pipelines[p].stages[s];
                if (stage->type == t && stage->chunk == 0)
                    used += (int64_t)plan_stage_devices(stage) * plan->pipelines[p].copies;
            }
        if (there > 0 && used > there)
            return error_set(c->err, ERROR_INPUT,
                             "%s%sthe plan uses %lld devices of type '%s', the cluster has %lld",
                             plan->path ? plan->path : "", plan->path ? ": " : "", (long long)used,
                             type->name, (long long)there);
    }
    return true;
}

static bool check(const struct plan *plan, bool any_memory, struct error *err)
{
    struct plan_inspection c = {.plan = plan, .err = err, .any_memory = any_memory};
    char *used = calloc((size_t)plan_devices(plan) + 1, 1);
    bool ok = used ? check_counts(&c) && check_pipelines(&c, used) : error_memory(err);
    free(used);
    return ok;
}

bool plan_check(const struct plan *plan, struct error *err)
{
    return check(plan, false, err);
}

bool plan_check_layout(const struct plan *plan, struct error *err)
{
    return check(plan, true, err);
}
