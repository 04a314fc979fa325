/* The file of --prometheus: numbers of a played run, by where they stand in its document. */
#include "api/run/run.h"
#include "core/doc/prometheus.h"

/* clang-format off */
#define SECONDS(of) {"seconds." #of, "iteration_seconds{of=\"" #of "\"}", "Time of an iteration.", NULL}
#define LATE(key, quantile) {"late." key, "late_seconds{quantile=\"" quantile "\"}", "How late tasks end.", NULL}

static const struct prometheus_metric metrics[] = {
    {"ranks", "ranks", "Ranks that play.", NULL},
    {"devices", "devices", "Devices of the plan.", NULL},
    {"iterations", "iterations_total", "Iterations that were played.", NULL},
    SECONDS(expected), SECONDS(planned), SECONDS(simulated), SECONDS(played),
    LATE("median", "0.5"), LATE("p99", "0.99"), LATE("max", "1"),
    {"wall_seconds", "duration_seconds", "Time of the whole run.", NULL},
    {"processor_seconds", "processor_seconds_total", "Time of processors, of all ranks.", NULL},
    {"clock_error", "clock_error_seconds", "Within which the clocks of the ranks agree.", NULL},
    {"tasks", "tasks_total", "Tasks that were played.", NULL},
    {"messages", "messages_total", "Messages between devices.", NULL},
    {"bytes.messages", "message_bytes_total", "Bytes of these messages.", NULL},
    {"bytes.between_ranks", "between_ranks_bytes_total", "Bytes that left a rank.", NULL},
    {"collectives_checked", "collectives_checked_total", "Collectives whose sums are correct.", NULL},
    {"loaded.samples", "loaded_samples_total", "Samples that were read.", NULL},
    {"loaded.bytes", "loaded_bytes_total", "Bytes of these samples.", NULL},
    {"saved.files", "saved_files_total", "Files of checkpoints.", NULL},
    {"saved.bytes", "saved_bytes_total", "Bytes of these files.", NULL},
    {"memory.device", "device_memory_bytes", "Memory of the host for each device.", NULL},
    {"memory.buffers", "buffers_bytes", "Largest buffers of a rank.", NULL},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */

bool play_metrics(const struct rh_play_request *given, const struct text *document, struct error *err)
{
    const struct prometheus to = {given->prometheus, "rehearse_run_", metrics, "model"};
    const struct text none = {.data = (char[]){"{}"}, .length = 2};
    return !given->prometheus || prometheus_write(&to, !document, document ? document : &none, err);
}
