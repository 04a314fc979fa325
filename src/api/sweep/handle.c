/* Sweeps as handles: a value for each axis and column, one element a point. */
#include "api/handle.h"
#include "api/sweep/inner.h"

#include <math.h>
#include <string.h>

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

/* The value of an axis at each point: words, or whole numbers. */
static void add_axis(rh_handle *handle, const struct sweep_answers *answers, int axis)
{
    const struct sweep_axis *of_axis = &answers->sweep->axes[axis];
    size_t count = (size_t)answers->count;
    char **words = of_axis->words ? ARENA_ARRAY(&handle->arena, count, char *) : NULL;
    int64_t *values = of_axis->words ? NULL : ARENA_ARRAY(&handle->arena, count, int64_t);
    const char *name = arena_string(&handle->arena, of_axis->key);
    if ((!words && !values) || !name) {
        handle->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int at[SWEEP_MAX_AXES] = {0};
        sweep_locate(answers->sweep, (int64_t)i, at);
        if (values)
            values[i] = of_axis->values[at[axis]];
        else
            words[i] = arena_string(&handle->arena, of_axis->words[at[axis]]);
        handle->failed = handle->failed || (words && !words[i]);
    }
    api_add_column(handle, name, words ? 's' : 'q', words ? (void *)words : (void *)values, answers->count,
                   sizeof(int64_t));
}

/* NAN or NULL where a point has no answer. */
static void add_column(rh_handle *handle, const struct sweep_answers *answers, int column)
{
    const struct sweep_column *of_column = &answers->sweep->columns[column];
    bool is_text = of_column->kind == SWEEP_TEXT;
    size_t count = (size_t)answers->count;
    char **words = is_text ? ARENA_ARRAY(&handle->arena, count, char *) : NULL;
    double *values = is_text ? NULL : ARENA_ARRAY(&handle->arena, count, double);
    const char *name = arena_string(&handle->arena, of_column->key);
    if ((!words && !values) || !name) {
        handle->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct sweep_cell *cell = &sweep_cells(answers, (int64_t)i)[column];
        bool found = answers->states[i] == SWEEP_FOUND;
        if (values)
            values[i] = found ? cell->number : NAN;
        else
            words[i] = found ? arena_string(&handle->arena, sweep_text(cell)) : NULL;
        handle->failed = handle->failed || (words && found && !words[i]);
    }
    api_add_column(handle, name, is_text ? 's' : 'd', words ? (void *)words : (void *)values, answers->count,
                   sizeof(double));
}

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
    for (int i = 0; i < answers->sweep->axis_count; i++)
        add_axis(&made->base, answers, i);
    for (int i = 0; i < answers->sweep->column_count; i++)
        add_column(&made->base, answers, i);
    add_reasons(&made->base, answers);
    heard_end(&heard);
    bool whole = !made->text.failed && !made->json.failed && !made->csv.failed;
    return api_made(&made->base, whole || error_memory(err), err);
}
