/* All kinds of files that a report knows, and the search for the kind of a file. */
#include "core/text.h"
#include "report/parts.h"

#include <string.h>

/* clang-format off */
const struct report_kind report_kinds[] = {
    {.format = "rehearse-plan/2", .name = "plan", .group = REPORT_PLANS, .write = report_plan},
    {.format = "rehearse-plan/1", .name = "plan", .group = REPORT_PLANS, .write = report_plan},
    {.format = "rehearse-templates/2", .name = "pipeline templates", .group = REPORT_PLANS, .write = report_templates},
    {.format = "rehearse-templates/1", .name = "pipeline templates", .group = REPORT_PLANS, .write = report_templates},
    {.format = "rehearse-elastic/1", .name = "elastic run", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-goodput/1", .name = "goodput of policies", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-plan-check/1", .keys = "file objective iteration_time", .name = "checked plan", .group = REPORT_PLANS, .write = report_check},
    {.format = "rehearse-price/1", .name = "price of a launch description", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-sweep/1", .name = "sweep", .group = REPORT_SWEEPS, .write = report_document},
    {.format = "rehearse-played-plan/1", .name = "played plan", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-run/1", .name = "played run", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-drills/1", .name = "failure drills", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-drill-checkpoint/1", .name = "checkpoint of a drill", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-replay/1", .name = "replay of a trace", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-replay-memory/1", .name = "replay of allocations", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-played-schedules/1", .name = "schedules of a plan", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-simulation/1", .name = "simulation", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-schedule-validation/1", .name = "validation of schedules", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-simulation-sweep/1", .name = "sweep of simulations", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-simulation-comparison/1", .name = "comparison of schedules", .group = REPORT_PLANS, .write = report_document},
    {.format = "rehearse-profile/1", .name = "profile", .group = REPORT_COSTS, .write = report_document},
    {.format = "rehearse-layer-times/1", .name = "measured layers", .group = REPORT_COSTS, .write = report_document},
    {.format = "rehearse-counts/1", .keys = "module rules flops instructions", .name = "counts", .group = REPORT_COSTS, .write = report_document},
    {.format = "rehearse-calibration-fit/1", .keys = "device fitted", .name = "calibration fit", .group = REPORT_COSTS, .write = report_document},
    {.format = "rehearse-link-times/1", .name = "measured links", .group = REPORT_COSTS, .write = report_document},
    {.format = "rehearse-profile-conversion/1", .name = "converted profile", .group = REPORT_COSTS, .write = report_document},
    {.format = "rehearse-validation/1", .keys = "rows modelled results", .name = "validation", .group = REPORT_CHECKS, .write = report_document},
    {.format = "rehearse-cost-explanation/1", .name = "explained times", .group = REPORT_COSTS, .write = report_document},
    {.format = "rehearse-dataset-1", .name = "data set", .group = REPORT_DATA, .write = report_document},
    {.format = "rehearse-dataset-generation/1", .keys = "folder format files_train", .name = "generated data set", .group = REPORT_DATA, .write = report_document},
    {.format = "rehearse-dataset-verification/1", .keys = "folder faults listed", .name = "verified data set", .group = REPORT_DATA, .write = report_document},
    {.format = "rehearse-dataset-scaling/1", .keys = "folder items bytes_kept", .name = "scaled data set", .group = REPORT_DATA, .write = report_document},
    {.format = "rehearse-feed-result/1", .name = "storage run", .group = REPORT_FEEDS, .write = report_feed},
    {.format = "rehearse-feed-grid/1", .name = "grid of storage runs", .group = REPORT_FEEDS, .write = report_document},
    {.format = "rehearse-max-accelerators/1", .keys = "accelerators au_target probes", .name = "most accelerators", .group = REPORT_FEEDS, .write = report_document},
    {.format = "rehearse-checkpoint/1", .name = "checkpoint", .group = REPORT_FEEDS, .write = report_document},
    {.keys = "num_accelerators num_hosts metric", .name = "DLIO's summary", .group = REPORT_FEEDS, .write = report_document},
    {.ending = "_per_epoch_stats.json", .name = "DLIO's epochs of one accelerator", .group = REPORT_LINKED},
    {.ending = "_output.json", .name = "DLIO's figures of one accelerator", .group = REPORT_LINKED},
    {.ending = "rehearse_metadata.json", .name = "MLPerf Storage's facts about a run", .group = REPORT_LINKED},
    {.ending = "dlio_config/", .name = "DLIO's configuration of a run", .group = REPORT_LINKED},
    {.ending = "dlio_config/config.yaml", .name = "DLIO's configuration of a run", .group = REPORT_LINKED},
    {.ending = "dlio_config/hydra.yaml", .name = "DLIO's configuration of a run", .group = REPORT_LINKED},
    {.ending = "dlio_config/overrides.yaml", .name = "DLIO's configuration of a run", .group = REPORT_LINKED},
    {.ending = ".db", .name = "trace", .group = REPORT_TRACES, .write = report_trace},
    {.format = "rehearse-trace-summary/1", .name = "what is in a trace", .group = REPORT_TRACES, .write = report_document},
    {.format = "rehearse-trace-phases/1", .name = "phases of a trace", .group = REPORT_TRACES, .write = report_document},
    {.format = "rehearse-trace-import/1", .name = "how a trace was imported", .group = REPORT_TRACES, .write = report_document},
    {.format = "rehearse-trace-recording/1", .keys = "trace rows lost tracer_cpu_seconds", .name = "how a trace was recorded", .group = REPORT_TRACES, .write = report_document},
    {.format = "rehearse-comparison/1", .name = "comparison", .group = REPORT_COMPARISONS, .write = report_document},
    {.format = "rehearse-comparison-matrix/1", .name = "comparison of many", .group = REPORT_COMPARISONS, .write = report_document},
    {.format = "rehearse-steps/1", .name = "steps", .group = REPORT_STEPS, .write = report_document},
    {.ending = ".svg", .name = "figure", .group = REPORT_FIGURES, .write = report_svg},
    {.ending = ".png", .name = "figure", .group = REPORT_FIGURES, .write = report_png},
    {.format = "rehearse-report/1", .name = "contents of a report", .group = REPORT_LINKED},
    {.format = "rehearse-cluster/1", .keys = "groups", .name = "cluster", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-dapple/1", .keys = "machines inside", .name = "cluster (DAPPLE)", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-architecture/1", .name = "architectures", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-devices/1", .name = "devices", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-links/1", .name = "links", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-custom-calls/1", .keys = "custom_calls", .name = "custom calls", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-calibration/1", .name = "calibration", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-workload-list/1", .name = "built-in workloads", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-software/1", .name = "training software", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-workload/1", .keys = "dataset reader", .name = "workload", .group = REPORT_GIVEN, .write = report_document},
    {.format = "rehearse-tables/1", .keys = "devices links models", .name = "tables of devices", .group = REPORT_GIVEN, .write = report_document},
    {.keys = "traceEvents", .name = "timeline (Chrome, Perfetto)", .group = REPORT_LINKED},
    {.ending = ".pfw", .name = "trace (DFTracer)", .group = REPORT_LINKED},
    {.ending = ".pfw.gz", .name = "trace (DFTracer)", .group = REPORT_LINKED},
    {.ending = ".csv", .name = "table", .group = REPORT_LINKED},
    {.ending = ".pdf", .name = "figure", .group = REPORT_LINKED},
    {.ending = ".html", .name = "page", .group = REPORT_LINKED},
    {.ending = ".mlir", .name = "StableHLO", .group = REPORT_LINKED},
    {.ending = ".hlo", .name = "HLO", .group = REPORT_LINKED},
    {.ending = ".dot", .name = "graph", .group = REPORT_LINKED},
    {.ending = ".log", .name = "log", .group = REPORT_LINKED},
    {.ending = ".txt", .name = "text", .group = REPORT_LINKED},
    {.name = NULL},
};
/* clang-format on */

/* Returns whether all of these words are keys of the map. */
static bool has_keys(const struct doc_node *map, const char *words)
{
    char key[64];
    while (*words) {
        size_t length = strcspn(words, " ");
        if (length >= sizeof key)
            return false;
        memcpy(key, words, length);
        key[length] = '\0';
        if (!doc_find(map, key))
            return false;
        words += length + (words[length] == ' ');
    }
    return true;
}

const struct report_kind *report_kind_of_doc(const struct doc *doc)
{
    const struct doc_node *map = doc->root->type == DOC_LIST ? doc->root->first_child : doc->root;
    if (!map || map->type != DOC_MAP)
        return NULL;
    const char *format = report_string(map, "format");
    if (!format)
        format = report_string(map, "schema");
    for (const struct report_kind *kind = report_kinds; format && kind->name; kind++)
        if (kind->format && strcmp(kind->format, format) == 0)
            return kind;
    if (format && strncmp(format, "rehearse-", 9) == 0)
        return NULL;
    for (const struct report_kind *kind = report_kinds; kind->name; kind++)
        if (kind->keys && has_keys(map, kind->keys))
            return kind;
    return NULL;
}

const struct report_kind *report_kind_of_ending(const char *path)
{
    size_t length = strlen(path);
    for (const struct report_kind *kind = report_kinds; kind->name; kind++) {
        if (!kind->ending)
            continue;
        bool more = *kind->ending == '.' || *kind->ending == '_'; /* alone these are no name of a file */
        if (length >= strlen(kind->ending) + more && text_ends_like(path, kind->ending))
            return kind;
    }
    return NULL;
}
