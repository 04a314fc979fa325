/* Sweeps as handles: a value for each axis and column, one element a point. */
#include "api/handle.h"
#include "api/sweep/inner.h"

rh_handle *sweep_handle(const struct sweep_answers *answers, struct error *err)
{
    struct api_report *made = api_report_new(err);
    if (!made)
        return NULL;
    made->base.kind = &api_sweep_kind;
    sweep_print(answers, &made->text);
    sweep_write_json(answers, &made->json);
    sweep_write_csv(answers, &made->csv);
    bool whole = !made->text.failed && !made->json_text.failed && !made->csv.failed;
    return api_made(&made->base, whole || error_memory(err), err);
}
