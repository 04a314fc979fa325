#include "api/plan/handle.h"

#include "core/fields.h"

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
    {.name = "text", .write = print},    {.name = "json"},
    {.name = "dot", .write = write_dot}, {.name = "emit", .write = write_emitted},
    API_PAGE_FORM{.name = NULL},
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

/* Of the stages of all pipelines, what the document has otherwise: the names that it points to, and first and last
 * layer. */
struct stage_row {
    int pipeline, first_layer, last_layer;
    const char *type;
    int devices; /* of one copy */
};

static const struct field stage_fields[] = {
    FIELD_OUT(struct stage_row, "pipeline", pipeline, FIELD_INT),
    FIELD_OUT(struct stage_row, "device_type", type, FIELD_TEXT),
    FIELD_OUT(struct stage_row, "devices", devices, FIELD_INT),
    FIELD_OUT(struct stage_row, "first_layer", first_layer, FIELD_INT),
    FIELD_OUT(struct stage_row, "last_layer", last_layer, FIELD_INT),
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
            *row++ = (struct stage_row){p, stage->layers.first, stage->layers.last,
                                        plan->types[stage->type].name, plan_stage_devices(stage)};
        }
    if (rows)
        API_FIELDS(handle, "stages", rows, (int64_t)count, stage_fields);
}

static const struct field nearest_fields[] = {FIELD_OUT(struct text, "nearest", data, FIELD_TEXT)};

/* The run as a sentence; the document has its parts. */
void api_plan_add_nearest(rh_handle *handle, const struct plan_nearest *nearest)
{
    struct text text = {0};
    plan_add_nearest(nearest, &text);
    handle->failed = handle->failed || text.failed;
    API_VALUES(handle, &text, nearest_fields);
    text_release(&text);
}

static const struct field part_fields[] = {
    FIELD_OUT(struct plan_figure, "name", name, FIELD_TEXT),
    FIELD_OUT(struct plan_figure, "seconds", value, FIELD_DOUBLE),
};

void api_plan_add_parts(rh_handle *handle, const struct plan_figure *parts, int count)
{
    API_FIELDS(handle, "parts", parts, count, part_fields);
}

static const struct field figure_fields[] = {
    FIELD_OUT(struct plan_figure, "name", name, FIELD_TEXT),
    FIELD_OUT(struct plan_figure, "value", value, FIELD_DOUBLE),
};

static const struct field pipeline_fields[] = {
    FIELD_OUT(struct plan_pipeline, "stages", stage_count, FIELD_INT)};

static const struct field number_fields[] = {
    FIELD_OUT(struct api_plan, "devices_used", devices_used, FIELD_INT),
    FIELD_OUT(struct api_plan, "pipelines", plan.pipeline_count, FIELD_INT),
};

static void add_values(struct api_plan *made)
{
    rh_handle *handle = &made->base;
    const struct plan *plan = &made->plan;
    made->devices_used = plan_devices_used(plan);
    API_VALUES(handle, made, number_fields);
    api_plan_add_nearest(handle, &plan->nearest);
    api_plan_add_parts(handle, plan->parts, plan->part_count);
    API_FIELDS(handle, "figures", plan->figures, plan->figure_count, figure_fields);
    API_FIELDS(handle, "pipelines", plan->pipelines, plan->pipeline_count, pipeline_fields);
    add_stages(handle, plan);
}

rh_handle *api_plan_made(struct api_plan *made, bool done, struct error *err)
{
    if (done)
        add_values(made);
    return api_made(&made->base, done && (!made->text.failed || error_memory(err)), err);
}
