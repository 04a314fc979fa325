#include "api/sim/simulate.h"

#include "core/fields.h"

#include <float.h>
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
                    100 * timing->devices[device].bubble, timing->devices[device].peak);
    if (trial->devices > MAX_ROWS)
        text_format(out, "... and %d more (--json has all)\n", trial->devices - MAX_ROWS);
}

static void print_message(const struct schedule_csv *csv, size_t action, struct text *out)
{
    text_format(out, "%s of rank %d", action_name(&csv->actions[action], csv->letters).text,
                schedule_csv_rank_of(csv, action));
}

static void print_streams(const struct trial *trial, const struct simulate_source *source,
                          const struct simulate_numbers *numbers, struct text *out)
{
    if (!trial->on_streams)
        return;
    text_format(out, "messages      in turn on a stream of each %s; %.6g s if none waited for another\n",
                numbers->options.streams == COMM_STREAMS_RANK ? "rank" : "pair of ranks", trial->unordered);
    if (!trial->lock.locked)
        return;
    text_add(out, "              ");
    print_message(source->csv, trial->lock.send, out);
    text_add(out, " waits for a RECV behind ");
    print_message(source->csv, trial->lock.other, out);
    text_add(
        out,
        ", and so on in a\n              circle: counted with sends that are buffered; NCCL's wait forever"
        " where a\n              message is larger than NCCL_BUFFSIZE (4 MiB)\n");
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
    bool cut = trial->order.slices > 1;
    text_format(out, "%d devices, %d chunk%s each, %d micro-batches", trial->devices, cut ? 1 : trial->chunks,
                trial->chunks > 1 && !cut ? "s" : "", trial->microbatches);
    if (cut)
        text_format(out, " of %d slices of the sequence", trial->chunks);
    text_add(out, "\n");
    print_shape(numbers, out);
    text_format(out, "\nmakespan      %.6g s, %.4g %% above the ideal %.6g s\n", timing->extent.makespan,
                100 * trial->more, trial->ideal);
    if (trial->formula.text != NULL)
        text_format(out, "formula       %.6g s = %s", trial->formula.makespan, trial->formula.text);
    if (trial->formula.text != NULL && !trial->formula.exact)
        text_format(out, "; exact for %s", trial->formula.condition);
    text_add(out, trial->formula.text != NULL ? "\n" : "");
    print_streams(trial, source, numbers, out);
    if (isfinite(trial->period))
        text_format(
            out,
            "steady state  %.6g s an iteration: without a flush the next one begins before this one ends\n",
            trial->period);
    if (isfinite(trial->bound))
        text_format(
            out,
            "lower bound   %.6g s for any order of these stages in this memory: at most %.3g %% to gain\n",
            trial->bound, 100 * trial->gap);
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

static const struct field shape_fields[] = {
    FIELD(struct trial_options, send_blocks, FIELD_FLAG, 0, 0),
    FIELD(struct trial_options, hidden, FIELD_DOUBLE, 0, 0),
    FIELD(struct trial_options, memory, FIELD_SOME_DOUBLE, DBL_TRUE_MIN, 0),
};

static void write_shape(struct json *json, const struct simulate_numbers *numbers)
{
    const struct trial_options *options = &numbers->options;
    write_times(json, "f", &options->forward);
    write_times(json, "b", &options->input);
    write_times(json, "w", &options->weight);
    write_times(json, "comm", &options->send);
    FIELDS_WRITE(options, shape_fields, json);
}

/* The numbers that both JSON documents have. */
static const struct field figure_fields[] = {
    FIELD_OUT(struct trial, "makespan", timing.extent.makespan, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "max_stage_span", timing.extent.span, FIELD_DOUBLE),
    FIELD(struct trial, ideal, FIELD_DOUBLE, 0, 0),
    FIELD(struct trial, bubble, FIELD_DOUBLE, 0, 0),
    FIELD_OUT(struct trial, "bubble_over_ideal", more, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "stage_bubble_over_ideal", span_more, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "peak_activation_microbatches", timing.peak, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "steady_state", steady, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "formula", formula.makespan, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "formula_text", formula.text, FIELD_TEXT),
    FIELD_OUT(struct trial, "formula_exact", formula.exact, FIELD_FLAG),
    FIELD_OUT(struct trial, "memory_formula", formula.memory, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "memory_formula_text", formula.memory_text, FIELD_TEXT),
    FIELD_OUT(struct trial, "lower_bound", bound, FIELD_DOUBLE),
    FIELD(struct trial, gap, FIELD_DOUBLE, 0, 0),
    FIELD(struct trial, passes, FIELD_INT64, 0, 0),
    FIELD_OUT(struct trial, "weight_versions", order.weight_versions, FIELD_INT),
    FIELD_OUT(struct trial, "flushes", order.flushes, FIELD_FLAG),
};

static const struct field head_fields[] = {
    FIELD_OUT(struct trial, "p", devices, FIELD_INT),
    FIELD_OUT(struct trial, "m", microbatches, FIELD_INT),
    FIELD(struct trial, chunks, FIELD_INT, 0, 0),
};

static const struct field stream_fields[] = {
    FIELD_OUT(struct trial, "unordered_makespan", unordered, FIELD_DOUBLE),
    FIELD_OUT(struct trial, "messages_cross", lock.locked, FIELD_FLAG),
};

/* A number of each device. */
#define DEVICES(key, member)                                                                                 \
    FIELD_ITEMS(struct trial, key, timing.devices, devices,                                                  \
                (&(const struct field)FIELD_OUT(struct timing_device, NULL, member, FIELD_DOUBLE)), 1,       \
                FIELD_FLAT_LIST)

static const struct field device_fields[] = {
    DEVICES("span_per_stage", span), DEVICES("peak_activations_per_stage", peak),
    DEVICES("peak_per_stage", peak), DEVICES("begin_per_stage", begin),
    DEVICES("busy_per_stage", busy), DEVICES("bubble_per_stage", bubble),
};

static const struct field schedule_fields[] = {
    FIELD_OUT(struct schedule, "schedule", name, FIELD_TEXT),
    FIELD(struct schedule, title, FIELD_TEXT, 0, 0),
};

static const struct field source_fields[] = {
    FIELD_OUT(struct simulate_source, "file", path, FIELD_SOME_TEXT),
    FIELD_OUT(struct simulate_source, "letters", letters, FIELD_SOME_TEXT),
};

void simulate_write_json(const struct trial *trial, const struct simulate_source *source,
                         const struct simulate_numbers *numbers, struct json *json)
{
    static const struct schedule none;
    json_open_document(json, "rehearse-simulation/1");
    FIELDS_WRITE(trial->schedule ? trial->schedule : &none, schedule_fields, json);
    FIELDS_WRITE(source, source_fields, json);
    FIELDS_WRITE(trial, head_fields, json);
    write_shape(json, numbers);
    FIELDS_WRITE(trial, figure_fields, json);
    FIELDS_WRITE(trial, stream_fields, json);
    FIELDS_WRITE(trial, device_fields, json);
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
            snprintf(gap, sizeof gap, "%.2f %%", 100 * trial->gap);
        text_format(out, "%-14s  %6d  %12.6g  %8s  %10.6g  %6.2f %%  %8.4g  %8d\n", entries[i].schedule->name,
                    trial->chunks, trial->timing.extent.makespan, gap, trial->timing.extent.span,
                    100 * trial->bubble, trial->timing.peak, trial->order.weight_versions);
    }
    text_add(out, "\ngap: how much faster any order in this memory can be at most; peak: activations of "
                  "a\ndevice, in micro-batches; weights: versions it holds\n");
}

static const struct field all_fields[] = {
    FIELD_OUT(struct trial_options, "p", devices, FIELD_INT),
    FIELD_OUT(struct trial_options, "m", microbatches, FIELD_INT),
};

static const struct field reason_fields[] = {FIELD_OUT(struct error, "reason", text, FIELD_CHARS)};

void simulate_write_all(const struct simulate_entry *entries, int count,
                        const struct simulate_numbers *numbers, struct json *json)
{
    json_open_document(json, "rehearse-simulation-comparison/1");
    FIELDS_WRITE(&numbers->options, all_fields, json);
    write_shape(json, numbers);
    json_open(json, "schedules", '[');
    for (int i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        fields_write(entries[i].schedule, schedule_fields, 1, json);
        if (entries[i].played) {
            fields_write(&entries[i].trial, head_fields + 2, 1, json);
            FIELDS_WRITE(&entries[i].trial, figure_fields, json);
        } else {
            FIELDS_WRITE(&entries[i].reason, reason_fields, json);
        }
        json_close(json);
    }
    json_close(json);
    json_close(json);
}
