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
                result->tasks, result->kept);
    text_format(out, "%" PRId64 " messages of %s between devices; %s across ranks, %s within ranks\n",
                result->messages, bytes(a, (double)result->bytes), bytes(b, (double)result->wire_bytes),
                bytes(c, (double)result->copied_bytes));
    if (result->samples > 0)
        text_format(out, "%" PRId64 " samples of %s read\n", result->samples,
                    bytes(a, (double)result->sample_bytes));
    if (result->files > 0)
        text_format(out, "%" PRId64 " files of checkpoints written, %s\n", result->files,
                    bytes(a, (double)result->file_bytes));
    if (result->computed)
        text_format(out, "kernels computed by %s: %s (CPU %s), planned %s\n", result->computed,
                    seconds(a, result->kernels_wall), seconds(b, result->kernels_processor),
                    seconds(c, result->kernels_planned));
    text_format(out, "%" PRId64 " collectives with correct sums\n", result->collectives_checked);
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

void run_write_json(const struct run_result *result, struct json *json)
{
    json_open_document(json, "rehearse-run/1");
    json_string(json, "model", result->model);
    json_string(json, "schedule", result->schedule);
    json_string(json, "computed", result->computed);
    json_integer(json, "ranks", result->ranks);
    json_integer(json, "devices", result->devices);
    json_integer(json, "devices_per_rank", result->per_rank);
    json_integer(json, "iterations", result->iterations);
    json_open_flat(json, "seconds", '{');
    json_number(json, "expected", result->expected);
    json_number(json, "planned", result->planned);
    json_number(json, "simulated", result->simulated);
    json_number(json, "played", result->played);
    json_close(json);
    write_ends(json, "simulated_ends", result->ends[0], result->iterations);
    write_ends(json, "played_ends", result->ends[1], result->iterations);
    json_open_flat(json, "late", '{');
    json_number(json, "median", result->late_median);
    json_number(json, "p99", result->late_p99);
    json_number(json, "max", result->late_max);
    json_close(json);
    json_open_flat(json, "kernels", '{');
    json_number(json, "planned", result->computed ? result->kernels_planned : NAN);
    json_number(json, "computed", result->computed ? result->kernels_wall : NAN);
    json_number(json, "processor", result->computed ? result->kernels_processor : NAN);
    json_close(json);
    json_number(json, "wall_seconds", result->wall);
    json_number(json, "processor_seconds", result->processor);
    json_number(json, "clock_error", result->clock_error);
    json_number(json, "clock_drift", result->clock_drift);
    json_integer(json, "tasks", result->tasks);
    json_integer(json, "activations", result->kept);
    json_integer(json, "collectives_checked", result->collectives_checked);
    json_integer(json, "messages", result->messages);
    json_open_flat(json, "bytes", '{');
    json_integer(json, "messages", result->bytes);
    json_integer(json, "between_ranks", result->wire_bytes);
    json_integer(json, "copied", result->copied_bytes);
    json_close(json);
    json_open_flat(json, "loaded", '{');
    json_integer(json, "samples", result->samples);
    json_integer(json, "bytes", result->sample_bytes);
    json_close(json);
    json_open_flat(json, "saved", '{');
    json_integer(json, "files", result->files);
    json_integer(json, "bytes", result->file_bytes);
    json_close(json);
    json_open_flat(json, "memory", '{');
    json_integer(json, "device", result->memory);
    json_integer(json, "buffers", result->buffers);
    json_close(json);
    json_close(json);
}
