/* Metrics of a run for Prometheus: those of the answer, by where they stand in its document, and what is seen while it
 * runs. */
#include "api/data/feed_metrics.h"
#include "core/clock.h"
#include "core/doc/prometheus.h"
#include "core/fields.h"
#include "texts.h"

#define EVERY 5.0 /* seconds; a node exporter is asked every 15 to 60 */

static const struct prometheus_metric table[] = {ROWS_feed_metric, {.path = NULL}};
#define SEEN(member, type) FIELD(struct watch_view, member, type, 0, 0)

static const struct field live_fields[] = {
    SEEN(epoch, FIELD_INT),
    SEEN(epochs, FIELD_INT),
    SEEN(step, FIELD_INT64),
    SEEN(steps, FIELD_INT64),
    SEEN(au, FIELD_DOUBLE),
    SEEN(bytes_per_second, FIELD_DOUBLE),
    SEEN(samples_per_second, FIELD_DOUBLE),
    SEEN(bytes, FIELD_INT64),
    SEEN(samples, FIELD_INT64),
    SEEN(queue, FIELD_INT),
    SEEN(ready, FIELD_INT),
    SEEN(waiting, FIELD_INT),
    SEEN(saving, FIELD_FLAG),
};

static bool write_metrics(const struct feed_metrics *metrics, bool running, const struct text *document,
                          struct error *err)
{
    const struct prometheus to = {metrics->path, "rehearse_feed_", table, "workload"};
    return prometheus_write(&to, running, document, err);
}

bool feed_metrics_show(struct feed_metrics *metrics, const struct watch_view *view, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    double now = clock_now();
    if (!metrics->path || (view && now - metrics->shown < EVERY))
        return true;
    metrics->shown = now;
    json_open(&json, NULL, '{');
    json_string(&json, "workload", metrics->workload);
    json_integer(&json, "accelerators", metrics->accelerators);
    if (view)
        FIELDS_LONG_MAP(view, live_fields, &json, "live");
    json_close(&json);
    bool done = write_metrics(metrics, true, &text, err);
    text_release(&text);
    return done;
}

bool feed_metrics_end(const struct feed_metrics *metrics, bool done, const struct text *answer,
                      struct error *err)
{
    done = done && (!metrics->path || write_metrics(metrics, false, answer, err));
    if (metrics->path && !done)
        prometheus_remove(metrics->path);
    return done;
}
