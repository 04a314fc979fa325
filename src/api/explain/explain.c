/* rh_explain: where the time of a recorded job went. */
#include "api/explain/explain.h"

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_explain_request *given = request;
    struct explain explain;
    (void)call;
    if (!explain_make(&explain, given->traces.items, given->traces.count, err))
        return false;
    explain_print(&explain, &report->text);
    json_open_document(&report->json, "rehearse-explanation/1");
    explain_write(&explain, &report->json);
    json_close(&report->json);
    explain_release(&explain);
    return true;
}

API_WHOLE_COMMAND(explain, "explain", rh_explain_request, .answer = answer);
