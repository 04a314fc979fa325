#include "api/sim/simulate.h"

#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS 64 /* devices in a table for people */

/* ---- one schedule, for people ---- */

/* "1", or "1, 1, 1.5": a list is cut short. */
static void print_times(const char *name, const struct trial_times *times, struct text *out)
{
    text_format(out, "%s ", name);
    for (int i = 0; i < times->count && i < 8; i++)
        text_format(out, "%s%.6g", i > 0 ? ", " : "", times->seconds[i]);
    text_add(out, times->count > 8 ? ", ... s" : " s");
}

static void print_shape(const struct simulate_numbers *numbers, struct text *out)
{
    const struct trial_options *options = &numbers->options;
    print_times("forward", &options->forward, out);
    print_times("; input gradient", &options->input, out);
    print_times("; weight gradient", &options->weight, out);
    print_times("; send", &options->send, out);
    if (options->send_blocks)
        text_add(out, ", which occupies both devices");
    if (options->hidden > 0)
        text_format(out, "; pairs hide %.4g %% of the shorter pass", 100 * options->hidden);
    text_add(out, "\n");
}

static int fullest_of(const struct trial *trial)
{
    int fullest = 0;
    for (int device = 1; device < trial->devices; device++)
        if (trial->timing.devices[device].peak > trial->timing.devices[fullest].peak)
            fullest = device;
    return fullest;
}

static void print_devices(const struct trial *trial, struct text *out)
{
    const struct timing *timing = &trial->timing;
    text_format(out, "\n%6s  %10s  %10s  %10s  %8s  %8s\n", "device", "begin (s)", "end (s)", "busy (s)",
                "bubble", "peak");
    for (int device = 0; device < trial->devices && device < MAX_ROWS; device++)
        text_format(out, "%6d  %10.6g  %10.6g  %10.6g  %6.2f %%  %8.4g\n", device,
                    timing->devices[device].begin, timing->devices[device].end, timing->devices[device].busy,
                    100 * trial_bubble_of(trial, device), timing->devices[device].peak);
    if (trial->devices > MAX_ROWS)
        text_format(out, "... and %d more (--json has all)\n", trial->devices - MAX_ROWS);
}

void simulate_print(const struct trial *trial, const struct simulate_source *source,
                    const struct simulate_numbers *numbers, struct text *out)
{
    const struct timing *timing = &trial->timing;
    if (source->path != NULL)
        text_format(out, "%s: PyTorch's CSV, %s letters (%s)\n", source->path, source->letters,
                    strcmp(source->letters, "older") == 0 ? "B: input gradient, BW: whole backward pass"
                                                          : "I: input gradient, B: whole backward pass");
    else
        text_format(out, "%s: %s\n", trial->schedule->name, trial->schedule->title);
    text_format(out, "%d devices, %d chunk%s each, %d micro-batches\n", trial->devices, trial->chunks,
                trial->chunks > 1 ? "s" : "", trial->microbatches);
    print_shape(numbers, out);
    text_format(out, "\nmakespan      %.6g s, %.4g %% above the ideal %.6g s\n", timing->extent.makespan,
                100 * (timing->extent.makespan / trial->ideal - 1), trial->ideal);
    if (trial->formula.text != NULL)
        text_format(out, "formula       %.6g s = %s", trial->formula.makespan, trial->formula.text);
    if (trial->formula.text != NULL && !trial->formula.exact)
        text_format(out, "; exact for %s", trial->formula.condition);
    text_add(out, trial->formula.text != NULL ? "\n" : "");
    if (isfinite(trial->period))
        text_format(
            out,
            "steady state  %.6g s an iteration: without a flush the next one begins before this one ends\n",
            trial->period);
    if (isfinite(trial->bound))
        text_format(
            out,
            "lower bound   %.6g s for any order of these stages in this memory: at most %.3g %% to gain\n",
            trial->bound, 100 * (1 - trial->bound / timing->extent.makespan));
    text_format(out, "longest span  %.6g s, from the first to the last pass of a device\n",
                timing->extent.span);
    text_format(out, "bubble        %.4g %% of the devices' time\n", 100 * trial->bubble);
    text_format(out, "peak          activations of %.4g micro-batches, on device %d", timing->peak,
                fullest_of(trial));
    if (trial->formula.memory_text != NULL)
        text_format(out, "; formula %s = %.4g%s", trial->formula.memory_text, trial->formula.memory,
                    trial->formula.memory_exact ? "" : ", not exact here");
    if (trial->order.weight_versions > 1)
        text_format(out, "; %d versions of the weights", trial->order.weight_versions);
    text_add(out, "\n");
    print_devices(trial, out);
}

/* ---- one schedule, for programs ---- */

static void write_times(struct json *json, const char *key, const struct trial_times *times)
{
    if (times->count == 1) {
        json_number(json, key, times->seconds[0]);
        return;
    }
    json_open_flat(json, key, '[');
    for (int i = 0; i < times->count; i++)
        json_number(json, NULL, times->seconds[i]);
    json_close(json);
}

static void write_shape(struct json *json, const struct simulate_numbers *numbers)
{
    const struct trial_options *options = &numbers->options;
    write_times(json, "f", &options->forward);
    write_times(json, "b", &options->input);
    write_times(json, "w", &options->weight);
    write_times(json, "comm", &options->send);
    json_bool(json, "send_blocks", options->send_blocks);
    json_number(json, "hidden", options->hidden);
    if (options->memory > 0)
        json_number(json, "memory", options->memory);
}

/* A number of each device. */
enum per_device { DEVICE_BEGIN, DEVICE_SPAN, DEVICE_BUSY, DEVICE_BUBBLE, DEVICE_PEAK };

static void write_devices(struct json *json, const char *key, const struct trial *trial, enum per_device what)
{
    json_open_flat(json, key, '[');
    for (int device = 0; device < trial->devices; device++) {
        const struct timing_device *timing = &trial->timing.devices[device];
        const double values[] = {timing->begin, timing->end - timing->begin, timing->busy,
                                 trial_bubble_of(trial, device), timing->peak};
        json_number(json, NULL, values[what]);
    }
    json_close(json);
}

/* The numbers that both JSON documents have. */
static void write_figures(struct json *json, const struct trial *trial)
{
    const struct timing *timing = &trial->timing;
    json_number(json, "makespan", timing->extent.makespan);
    json_number(json, "max_stage_span", timing->extent.span);
    json_number(json, "ideal", trial->ideal);
    json_number(json, "bubble", trial->bubble);
    json_number(json, "bubble_over_ideal", timing->extent.makespan / trial->ideal - 1);
    json_number(json, "stage_bubble_over_ideal", timing->extent.span / trial->ideal - 1);
    json_number(json, "peak_activation_microbatches", timing->peak);
    json_number(json, "steady_state", isfinite(trial->period) ? trial->period : timing->extent.makespan);
    json_number(json, "formula", trial->formula.makespan);
    json_string(json, "formula_text", trial->formula.text);
    json_bool(json, "formula_exact", trial->formula.exact);
    json_number(json, "memory_formula", trial->formula.memory_text != NULL ? trial->formula.memory : NAN);
    json_string(json, "memory_formula_text", trial->formula.memory_text);
    json_number(json, "lower_bound", trial->bound);
    json_number(json, "gap", 1 - trial->bound / timing->extent.makespan);
    json_integer(json, "passes", (int64_t)pass_order_count(&trial->order));
    json_integer(json, "weight_versions", trial->order.weight_versions);
    json_bool(json, "flushes", trial->order.flushes);
}

void simulate_write_json(const struct trial *trial, const struct simulate_source *source,
                         const struct simulate_numbers *numbers, struct json *json)
{
    json_open_document(json, "rehearse-simulation/1");
    json_string(json, "schedule", trial->schedule != NULL ? trial->schedule->name : NULL);
    json_string(json, "title", trial->schedule != NULL ? trial->schedule->title : NULL);
    if (source->path != NULL) {
        json_string(json, "file", source->path);
        json_string(json, "letters", source->letters);
    }
    json_integer(json, "p", trial->devices);
    json_integer(json, "m", trial->microbatches);
    json_integer(json, "chunks", trial->chunks);
    write_shape(json, numbers);
    write_figures(json, trial);
    write_devices(json, "span_per_stage", trial, DEVICE_SPAN);
    write_devices(json, "peak_activations_per_stage", trial, DEVICE_PEAK);
    write_devices(json, "peak_per_stage", trial, DEVICE_PEAK);
    write_devices(json, "begin_per_stage", trial, DEVICE_BEGIN);
    write_devices(json, "busy_per_stage", trial, DEVICE_BUSY);
    write_devices(json, "bubble_per_stage", trial, DEVICE_BUBBLE);
    json_close(json);
}

/* ---- several schedules ---- */

void simulate_print_all(const struct simulate_entry *entries, int count,
                        const struct simulate_numbers *numbers, struct text *out)
{
    const struct trial_options *options = &numbers->options;
    text_format(out, "%d devices, %d micro-batches\n", options->devices, options->microbatches);
    print_shape(numbers, out);
    text_format(out, "\n%-14s  %6s  %12s  %8s  %10s  %8s  %8s  %8s\n", "schedule", "chunks", "makespan (s)",
                "gap", "span (s)", "bubble", "peak", "weights");
    for (int i = 0; i < count; i++) {
        const struct trial *trial = &entries[i].trial;
        if (!entries[i].played) {
            text_format(out, "%-14s  %s\n", entries[i].schedule->name, entries[i].reason.text);
            continue;
        }
        char gap[32] = "-";
        if (isfinite(trial->bound))
            snprintf(gap, sizeof gap, "%.2f %%", 100 * (1 - trial->bound / trial->timing.extent.makespan));
        text_format(out, "%-14s  %6d  %12.6g  %8s  %10.6g  %6.2f %%  %8.4g  %8d\n", entries[i].schedule->name,
                    trial->chunks, trial->timing.extent.makespan, gap, trial->timing.extent.span,
                    100 * trial->bubble, trial->timing.peak, trial->order.weight_versions);
    }
    text_add(out, "\ngap: how much faster any order in this memory can be at most; peak: activations of "
                  "a\ndevice, in micro-batches; weights: versions it holds\n");
}

void simulate_write_all(const struct simulate_entry *entries, int count,
                        const struct simulate_numbers *numbers, struct json *json)
{
    json_open_document(json, "rehearse-simulation-comparison/1");
    json_integer(json, "p", numbers->options.devices);
    json_integer(json, "m", numbers->options.microbatches);
    write_shape(json, numbers);
    json_open(json, "schedules", '[');
    for (int i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        json_string(json, "schedule", entries[i].schedule->name);
        if (entries[i].played) {
            json_integer(json, "chunks", entries[i].trial.chunks);
            write_figures(json, &entries[i].trial);
        } else {
            json_string(json, "reason", entries[i].reason.text);
        }
        json_close(json);
    }
    json_close(json);
    json_close(json);
}
