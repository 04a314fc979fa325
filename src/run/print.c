#include "core/fields.h"
#include "core/unit.h"
#include "run/run.h"

#include <inttypes.h>
#include <math.h>

#define KEEPS_UP 1.1 /* played, over simulated */

static const char *seconds(char text[32], double value)
{
    return isfinite(value) ? unit_format(text, 32, value, UNIT_TIME, 4) : "unknown";
}

static const char *bytes(char text[32], double value)
{
    return unit_format(text, 32, value, UNIT_BYTES, 3);
}

static void print_beside(struct text *out, const char *name, double value, double beside)
{
    char text[32];
    text_format(out, "  %-10s %s", name, seconds(text, value));
    if (isfinite(value) && isfinite(beside) && beside > 0.0)
        text_format(out, "  (%+.2f %%)", 100 * (value / beside - 1));
    text_add(out, "\n");
}

void run_print(const struct run_result *result, struct text *out)
{
    char a[32], b[32], c[32];
    text_format(out, "%d iteration%s of %d devices on %d rank%s, schedule %s\n\n", result->iterations,
                result->iterations == 1 ? "" : "s", result->devices, result->ranks,
                result->ranks == 1 ? "" : "s", result->schedule);
    text_format(out, "time of an iteration%s, and its difference from the simulation:\n",
                result->iterations > 1 ? " (median)" : "");
    if (isfinite(result->expected))
        print_beside(out, "expected", result->expected, NAN);
    print_beside(out, "formula", result->planned, NAN);
    print_beside(out, "simulated", result->simulated, NAN);
    print_beside(out, "played", result->played, result->simulated);
    if (!result->computed && result->played > KEEPS_UP * result->simulated)
        text_add(out, "  slower: this host's processors or network did not keep up; --byte-share 0.1\n  "
                      "sends a tenth of the bytes, --priority runs ranks before other programs\n");
    text_format(out, "\n%" PRId64 " tasks, as scheduled; %" PRId64 " activations stored and freed\n",
                result->counts.tasks, result->counts.kept);
    text_format(out, "%" PRId64 " messages of %s between devices; %s across ranks, %s within ranks\n",
                result->counts.messages, bytes(a, (double)result->counts.bytes),
                bytes(b, (double)result->counts.wire_bytes), bytes(c, (double)result->counts.copied_bytes));
    if (result->counts.samples > 0)
        text_format(out, "%" PRId64 " samples of %s read\n", result->counts.samples,
                    bytes(a, (double)result->counts.sample_bytes));
    if (result->counts.files > 0)
        text_format(out, "%" PRId64 " files of checkpoints written, %s\n", result->counts.files,
                    bytes(a, (double)result->counts.file_bytes));
    if (result->computed)
        text_format(out, "kernels computed by %s: %s (CPU %s), planned %s\n", result->computed,
                    seconds(a, result->kernels_wall), seconds(b, result->kernels_processor),
                    seconds(c, result->kernels_planned));
    text_format(out, "%" PRId64 " collectives with correct sums\n", result->counts.collectives_checked);
    text_format(out, "tasks end %s late (median; p99 %s, max %s)\n", seconds(a, result->late_median),
                seconds(b, result->late_p99), seconds(c, result->late_max));
    if (result->ranks > 1)
        text_format(out, "clocks of ranks agree within %s", seconds(a, result->clock_error));
    if (result->clock_drift > 0.0)
        text_format(out, "; a drift of %.3g us per second was corrected", 1e6 * result->clock_drift);
    if (result->ranks > 1)
        text_add(out, "\n");
    text_format(out, "each device: %.2g %% of a CPU and %s of memory; buffers of at most %s per rank\n",
                100 * result->processor / result->wall / result->devices, bytes(a, (double)result->memory),
                bytes(b, (double)result->buffers));
}

static void write_ends(struct json *json, const char *name, const double *ends, int count)
{
    json_open_flat(json, name, '[');
    for (int i = 0; i < count; i++)
        json_number(json, NULL, ends[i]);
    json_close(json);
}

#define RESULT(key, member, type) FIELD_OUT(struct run_result, key, member, type)

static const struct field head_fields[] = {
    RESULT("model", model, FIELD_TEXT),
    RESULT("schedule", schedule, FIELD_TEXT),
    RESULT("computed", computed, FIELD_TEXT),
    RESULT("ranks", ranks, FIELD_INT),
    RESULT("devices", devices, FIELD_INT),
    RESULT("devices_per_rank", per_rank, FIELD_INT),
    RESULT("iterations", iterations, FIELD_INT),
    FIELD_OPEN("seconds", FIELD_FLAT_MAP),
    RESULT("expected", expected, FIELD_DOUBLE),
    RESULT("planned", planned, FIELD_DOUBLE),
    RESULT("simulated", simulated, FIELD_DOUBLE),
    RESULT("played", played, FIELD_DOUBLE),
    FIELD_CLOSE,
};

/* Behind the ends of iterations. */
static const struct field result_fields[] = {
    FIELD_OPEN("late", FIELD_FLAT_MAP),
    RESULT("median", late_median, FIELD_DOUBLE),
    RESULT("p99", late_p99, FIELD_DOUBLE),
    RESULT("max", late_max, FIELD_DOUBLE),
    FIELD_CLOSE,
    FIELD_OPEN("kernels", FIELD_FLAT_MAP),
    RESULT("planned", kernels_planned, FIELD_DOUBLE),
    RESULT("computed", kernels_wall, FIELD_DOUBLE),
    RESULT("processor", kernels_processor, FIELD_DOUBLE),
    FIELD_CLOSE,
    RESULT("wall_seconds", wall, FIELD_DOUBLE),
    RESULT("processor_seconds", processor, FIELD_DOUBLE),
    RESULT("clock_error", clock_error, FIELD_DOUBLE),
    RESULT("clock_drift", clock_drift, FIELD_DOUBLE),
    RESULT("tasks", counts.tasks, FIELD_INT64),
    RESULT("activations", counts.kept, FIELD_INT64),
    RESULT("collectives_checked", counts.collectives_checked, FIELD_INT64),
    RESULT("messages", counts.messages, FIELD_INT64),
    FIELD_OPEN("bytes", FIELD_FLAT_MAP),
    RESULT("messages", counts.bytes, FIELD_INT64),
    RESULT("between_ranks", counts.wire_bytes, FIELD_INT64),
    RESULT("copied", counts.copied_bytes, FIELD_INT64),
    FIELD_CLOSE,
    FIELD_OPEN("loaded", FIELD_FLAT_MAP),
    RESULT("samples", counts.samples, FIELD_INT64),
    RESULT("bytes", counts.sample_bytes, FIELD_INT64),
    FIELD_CLOSE,
    FIELD_OPEN("saved", FIELD_FLAT_MAP),
    RESULT("files", counts.files, FIELD_INT64),
    RESULT("bytes", counts.file_bytes, FIELD_INT64),
    FIELD_CLOSE,
    FIELD_OPEN("memory", FIELD_FLAT_MAP),
    RESULT("device", memory, FIELD_INT64),
    RESULT("buffers", buffers, FIELD_INT64),
    FIELD_CLOSE,
};

void run_write_json(const struct run_result *result, struct json *json)
{
    struct run_result shown = *result;
    if (!shown.computed)
        shown.kernels_planned = shown.kernels_wall = shown.kernels_processor = NAN;
    json_open_document(json, "rehearse-run/1");
    FIELDS_WRITE(&shown, head_fields, json);
    write_ends(json, "simulated_ends", result->ends[0], result->iterations);
    write_ends(json, "played_ends", result->ends[1], result->iterations);
    FIELDS_WRITE(&shown, result_fields, json);
    json_close(json);
}
