/* Sweeps as handles: a value for each axis and column, one element a point. */
#include "api/handle.h"
#include "api/sweep/inner.h"

struct api_sweep {
    rh_handle base;
    struct text text, json, csv;
};

static const struct api_sweep *of(const rh_handle *handle)
{
    return (const struct api_sweep *)handle;
}

static bool print(const rh_handle *handle, struct text *out, struct error *err)
{
    (void)err;
    text_add(out, text_within(&of(handle)->text, out));
    return true;
}

static bool write_json(const rh_handle *handle, struct text *out, struct error *err)
{
    (void)err;
    text_add(out, text_within(&of(handle)->json, out));
    return true;
}

static bool write_csv(const rh_handle *handle, struct text *out, struct error *err)
{
    (void)err;
    text_add(out, text_within(&of(handle)->csv, out));
    return true;
}

static void release(rh_handle *handle)
{
    struct api_sweep *sweep = (struct api_sweep *)handle;
    text_release(&sweep->text);
    text_release(&sweep->json);
    text_release(&sweep->csv);
}

static const struct api_form forms[] = {
    {.name = "text", .write = print},
    {.name = "json", .write = write_json},
    {.name = "csv", .write = write_csv},
    {.name = NULL},
};

static const struct api_kind kind = {.name = "sweep", .forms = forms, .release = release};

/* Why a point has no answer; NULL: it has one. */
static void add_reasons(rh_handle *handle, const struct sweep_answers *answers)
{
    char **reasons = ARENA_ARRAY(&handle->arena, (size_t)answers->count, char *);
    handle->failed = handle->failed || !reasons;
    for (int64_t i = 0; reasons && i < answers->count; i++)
        if (answers->states[i] == SWEEP_NONE) {
            reasons[i] = arena_string(&handle->arena, answers->reasons[i]);
            handle->failed = handle->failed || !reasons[i];
        }
    if (reasons)
        api_add_column(handle, "reason", 's', reasons, answers->count, sizeof *reasons);
}

rh_handle *sweep_handle(const struct sweep_answers *answers, struct error *err)
{
    struct api_sweep *made = api_new(&kind, sizeof *made, err);
    if (!made)
        return NULL;
    sweep_print(answers, &made->text);
    struct heard heard = {.handle = &made->base};
    const struct json_listener listener = {heard_item, &heard};
    sweep_write_json(answers, &(struct json){.out = &made->json, .listener = &listener});
    sweep_write_csv(answers, &made->csv);
    add_reasons(&made->base, answers);
    heard_end(&heard);
    bool whole = !made->text.failed && !made->json.failed && !made->csv.failed;
    return api_made(&made->base, whole || error_memory(err), err);
}
