/* Sweeps as handles: a value for each axis and column, one element a point. */
#include "api/handle.h"
#include "api/sweep/inner.h"

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
    struct api_report *made = api_report_new(err);
    if (!made)
        return NULL;
    made->base.kind = &api_sweep_kind;
    sweep_print(answers, &made->text);
    sweep_write_json(answers, &made->json);
    sweep_write_csv(answers, &made->csv);
    add_reasons(&made->base, answers);
    bool whole = !made->text.failed && !made->json_text.failed && !made->csv.failed;
    return api_made(&made->base, whole || error_memory(err), err);
}
