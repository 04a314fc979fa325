/* Metrics of a run for Prometheus: those of the answer, by where they stand in its document, and what is seen while it
 * runs. */
#include "api/data/feed_metrics.h"
#include "core/clock.h"
#include "core/doc/prometheus.h"
#include "core/fields.h"

#define EVERY 5.0 /* seconds; a node exporter is asked every 15 to 60 */

#define PART(part)                                                                                           \
    {                                                                                                        \
        "training.shares." #part, "training_time_ratio{part=\"" #part "\"}",                                 \
            "Parts of the time of accelerators.", NULL                                                       \
    }
#define QUANTILE(key, quantile)                                                                              \
    {                                                                                                        \
        "training.wait_seconds." key, "training_wait_seconds{quantile=\"" quantile "\"}",                    \
            "Waits of an accelerator for a batch.", NULL                                                     \
    }
#define SAVES(kind, help)                                                                                    \
    {"checkpoints." kind ".count", "checkpoint_" kind "s_total", "Checkpoints that were " help ".", NULL},   \
        {"checkpoints." kind ".bytes", "checkpoint_" kind "_bytes", "Bytes of a checkpoint.", NULL},         \
    {                                                                                                        \
        "checkpoints." kind ".duration_mean", "checkpoint_" kind "_seconds", "Mean time of a checkpoint.",   \
            NULL                                                                                             \
    }

/* clang-format off */
static const struct prometheus_metric table[] = {
    {"passed", "passed", "1: each check passed, and the utilisation met its target.", NULL},
    {"accelerators", "accelerators", "Accelerators of all processes.", NULL},
    {"training.au", "training_au_ratio", "Utilisation of the accelerators, 0 to 1.", NULL},
    {"training.au_target", "training_au_target_ratio", "Its target.", NULL},
    {"training.seconds", "training_duration_seconds", "Time of the counted steps.", NULL},
    {"training.bytes_per_second", "training_bytes_per_second", "Bytes of samples per second.", NULL},
    {"training.samples_per_second", "training_samples_per_second", "Samples per second.", NULL},
    {"training.all_steps", "training_steps_total", "Steps of all accelerators.", NULL},
    {"training.all_samples", "training_samples_total", "Samples that were read.", NULL},
    {"training.all_bytes", "training_bytes_total", "Bytes of these samples.", NULL},
    PART(load), PART(copy), PART(compute), PART(late), PART(barrier), PART(other),
    QUANTILE("p50", "0.5"), QUANTILE("p90", "0.9"), QUANTILE("p99", "0.99"), QUANTILE("most", "1"),
    SAVES("save", "saved"), SAVES("load", "loaded"),
    {"storage.device_read", "device_read_bytes_total", "Bytes that the device has read.", NULL},
    {"storage.share", "from_storage_ratio", "Share of the bytes that came from storage, not from the page cache.", NULL},
    {"checks.passed", "check_passed", "1: the check passed.", "name"},
    {"bounded", "search_bounded", "1: fewer accelerators than were allowed keep the target.", NULL},
    {"live.epoch", "live_epoch", "Epoch that runs, from 1.", NULL},
    {"live.epochs", "live_epochs", "Epochs in all.", NULL},
    {"live.step", "live_step", "Step of the epoch.", NULL},
    {"live.steps", "live_steps", "Steps of the epoch in all.", NULL},
    {"live.au", "live_au_ratio", "Utilisation of the accelerators of the first process so far.", NULL},
    {"live.bytes_per_second", "live_bytes_per_second", "Bytes per second of the first process, in the last seconds.", NULL},
    {"live.samples_per_second", "live_samples_per_second", "Samples per second, likewise.", NULL},
    {"live.bytes", "live_bytes_total", "Bytes that the first process has read.", NULL},
    {"live.samples", "live_samples_total", "Samples that the first process has read.", NULL},
    {"live.queue", "live_batches_queued", "Batches that are not yet read.", NULL},
    {"live.ready", "live_batches_ready", "Batches that wait for their accelerator.", NULL},
    {"live.waiting", "live_accelerators_waiting", "Accelerators that wait for a batch.", NULL},
    {"live.saving", "live_saving", "1: a checkpoint is under way.", NULL},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */

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
