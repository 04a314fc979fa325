/* The file of --prometheus: numbers of a played run, by where they stand in its document. */
#include "api/run/run.h"
#include "core/doc/prometheus.h"
#include "texts.h"

static const struct prometheus_metric metrics[] = {ROWS_run_metric, {.path = NULL}};
bool play_metrics(const struct rh_play_request *given, const struct text *document, struct error *err)
{
    const struct prometheus to = {given->prometheus, "rehearse_run_", metrics, "model"};
    const struct text none = {.data = (char[]){"{}"}, .length = 2};
    return !given->prometheus || prometheus_write(&to, !document, document ? document : &none, err);
}
