#include "api/plan/handle.h"

static const struct api_plan *of(const rh_handle *handle)
{
    return (const struct api_plan *)handle;
}

/* ---- forms ---- */

static bool copy(const struct text *from, struct text *out, struct error *err)
{
    text_add_bytes(out, from->data ? from->data : "", from->length);
    return !from->failed || error_memory(err);
}

static bool print(const rh_handle *handle, struct text *out, struct error *err)
{
    return copy(&of(handle)->text, out, err);
}

static void write_json(const rh_handle *handle, struct json *json)
{
    plan_write_json(&of(handle)->plan, json, NULL);
}

static bool write_dot(const rh_handle *handle, struct text *out, struct error *err)
{
    (void)err;
    plan_write_dot(&of(handle)->plan, out);
    return true;
}

static bool write_emitted(const rh_handle *handle, struct text *out, struct error *err)
{
    return of(handle)->emitted.length > 0
               ? copy(&of(handle)->emitted, out, err)
               : error_set(err, ERROR_USAGE, "no format is given: set `emit` in the request");
}

static void release(rh_handle *handle)
{
    struct api_plan *plan = (struct api_plan *)handle;
    plan_release(&plan->plan);
    text_release(&plan->text);
    text_release(&plan->emitted);
}

static const struct api_form forms[] = {
    {.name = "text", .write = print},         {.name = "json"}, {.name = "dot", .write = write_dot},
    {.name = "emit", .write = write_emitted}, {.name = NULL},
};

const struct api_kind api_plan_kind = {"plan", forms, release, write_json};

bool api_plan_copy(const rh_plan *handle, struct plan *plan, struct error *err)
{
    struct text text = {0};
    if (!api_is(handle, &api_plan_kind, "from", err))
        return false;
    write_json(handle, &(struct json){.out = &text});
    bool done = (!text.failed || error_memory(err)) && plan_parse(plan, "from", text.data, text.length, err);
    text_release(&text);
    return done;
}

/* ---- values ---- */

struct api_plan *api_plan_new(struct error *err)
{
    struct api_plan *made = api_new(&api_plan_kind, sizeof *made, err);
    if (made)
        plan_init(&made->plan);
    return made;
}

/* Of the stages of all pipelines, what the document has otherwise: the names that it points to, and first and last layer. */
struct stage_row {
    int pipeline, first_layer, last_layer;
    const char *type;
    int devices; /* of one copy */
};

static void add_stages(rh_handle *handle, const struct plan *plan)
{
    size_t count = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        count += (size_t)plan->pipelines[p].stage_count;
    struct stage_row *rows = ARENA_ARRAY(&handle->arena, count + 1, struct stage_row), *row = rows;
    handle->failed = handle->failed || !rows;
    for (int p = 0; rows && p < plan->pipeline_count; p++)
        for (int i = 0; i < plan->pipelines[p].stage_count; i++) {
            const struct plan_stage *stage = &plan->pipelines[p].stages[i];
            *row++ = (struct stage_row){p, stage->first_layer, stage->last_layer,
                                        plan->types[stage->type].name, plan_stage_devices(stage)};
        }
    if (!rows)
        return;
    int64_t n = (int64_t)count;
    API_COLUMN(handle, "stages.pipeline", 'i', rows, n, pipeline);
    API_COLUMN(handle, "stages.device_type", 's', rows, n, type);
    API_COLUMN(handle, "stages.devices", 'i', rows, n, devices);
    API_COLUMN(handle, "stages.first_layer", 'i', rows, n, first_layer);
    API_COLUMN(handle, "stages.last_layer", 'i', rows, n, last_layer);
}

/* The run as a sentence; the document has its parts. */
void api_plan_add_nearest(rh_handle *handle, const struct plan_nearest *nearest)
{
    struct text text = {0};
    plan_add_nearest(nearest, &text);
    const char *kept = text.data ? arena_string(&handle->arena, text.data) : NULL;
    handle->failed = handle->failed || text.failed || (text.data && !kept);
    api_add_string(handle, "nearest", kept);
    text_release(&text);
}

static void add_numbers(rh_handle *handle, const struct plan *plan)
{
    api_plan_add_nearest(handle, &plan->nearest);
    api_add_count(handle, "devices_used", plan_devices_used(plan));
    api_add_count(handle, "pipelines", plan->pipeline_count);
}

static void add_lists(rh_handle *handle, const struct plan *plan)
{
    const struct plan_alternative *others = plan->alternatives;
    int count = plan->alternative_count;
    API_COLUMN(handle, "pipelines.stages", 'i', plan->pipelines, plan->pipeline_count, stage_count);
    API_COLUMN(handle, "parts.name", 's', plan->parts, plan->part_count, name);
    API_COLUMN(handle, "parts.seconds", 'd', plan->parts, plan->part_count, value);
    API_COLUMN(handle, "figures.name", 's', plan->figures, plan->figure_count, name);
    API_COLUMN(handle, "figures.value", 'd', plan->figures, plan->figure_count, value);
    API_COLUMN(handle, "alternatives.iteration_time", 'd', others, count, iteration_time);
    API_COLUMN(handle, "alternatives.devices", 'i', others, count, devices);
    API_COLUMN(handle, "alternatives.tensor", 'i', others, count, tensor);
    API_COLUMN(handle, "alternatives.context", 'i', others, count, context);
    API_COLUMN(handle, "alternatives.expert", 'i', others, count, expert);
    API_COLUMN(handle, "alternatives.pipeline", 'i', others, count, pipeline);
    API_COLUMN(handle, "alternatives.data", 'i', others, count, data);
    API_COLUMN(handle, "alternatives.microbatch", 'q', others, count, microbatch);
    API_COLUMN(handle, "alternatives.recompute", 's', others, count, recompute);
    API_COLUMN(handle, "alternatives.memory", 'd', others, count, memory);
    API_COLUMN(handle, "alternatives.utilisation", 'd', others, count, utilisation);
    API_COLUMN(handle, "alternatives.on_front", '?', others, count, on_front);
}

rh_handle *api_plan_made(struct api_plan *made, bool done, struct error *err)
{
    if (done) {
        add_numbers(&made->base, &made->plan);
        add_lists(&made->base, &made->plan);
        add_stages(&made->base, &made->plan);
    }
    return api_made(&made->base, done && (!made->text.failed || error_memory(err)), err);
}
