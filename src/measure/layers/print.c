/* Measured layers as a table, and as rehearse-layer-times/1. */
#include "core/fields.h"
#include "core/unit.h"
#include "measure/layers/layers.h"

#include <inttypes.h>

/* ---- a table ---- */

static void print_head(const struct measured_layers *measured, struct text *out)
{
    text_format(out, "%s on %s, %s\n", measured->library, measured->host.name,
                *measured->host.processor ? measured->host.processor : measured->host.system);
    text_add(out, "cores ");
    host_write_cores(&measured->cores, out);
    text_format(out, ", %s, intervals of 95 %% within %.3g %% wanted\n",
                measured->options.by_processor ? "CPU seconds of the process" : "wall-clock seconds",
                100.0 * measured->options.precision);
    size_t before = out->length;
    text_add(out, "warning: ");
    size_t begun = out->length;
    host_load_print(&measured->load, out);
    if (out->length == begun && out->data)
        out->data[out->length = before] = 0;
    else
        text_add(out, "\n");
}

static void print_pair(double theirs, double ours, enum unit_kind kind, struct text *out)
{
    char first[32] = "-", second[32] = "-";
    if (theirs >= 0.0)
        unit_format(first, sizeof first, theirs, kind, 4);
    if (ours >= 0.0)
        unit_format(second, sizeof second, ours, kind, 4);
    text_format(out, "  %10s %10s", first, second);
}

static void print_pass(const char *name, const char *word, const struct measured_pass *pass, struct text *out)
{
    struct unit_texts texts = {0};
    if (!pass->is_there)
        return;
    text_format(out, "%-20s %-8s %10s", name, word, unit_text(&texts, pass->seconds, UNIT_TIME));
    if (pass->is_timed)
        text_format(out, " %10s %10s %6.2f %% %7d", unit_text(&texts, pass->time.low, UNIT_TIME),
                    unit_text(&texts, pass->time.high, UNIT_TIME), 100.0 * pass->time.precision,
                    pass->time.count);
    if (pass->notes)
        text_format(out, "  %s", pass->notes);
    text_add(out, "\n");
}

static bool is_by_plugin(const struct measured_layers *measured)
{
    return measured->count > 0 && text_starts_with(measured->library, "PJRT");
}

static void print_costs_of(const char *name, const char *word, const struct measured_pass *pass,
                           struct text *out)
{
    double peak =
        (double)pass->memory.arguments + (double)pass->memory.outputs + (double)pass->memory.temporary;
    if (!pass->is_timed)
        return;
    text_format(out, "%-20s %-8s", name, word);
    print_pair(pass->costs.flops, pass->flops, UNIT_COUNT, out);
    print_pair(pass->costs.bytes, pass->bytes, UNIT_BYTES, out);
    print_pair((double)pass->memory.arguments, (double)pass->argument_bytes, UNIT_BYTES, out);
    print_pair((double)pass->memory.outputs, (double)pass->output_bytes, UNIT_BYTES, out);
    print_pair(pass->memory.arguments < 0 ? -1.0 : peak, -1.0, UNIT_BYTES, out);
    text_add(out, "\n");
    if (*pass->costs.why)
        text_format(out, "  cost analysis: %s\n", pass->costs.why);
    if (*pass->memory.why)
        text_format(out, "  memory statistics: %s\n", pass->memory.why);
}

static void print_costs(const struct measured_layers *measured, struct text *out)
{
    text_format(out, "\n%-29s  %21s  %21s  %21s  %21s  %10s\n", "the plugin's, then ours", "flops",
                "bytes accessed", "arguments", "results", "in all");
    for (int i = 0; i < measured->count; i++)
        if (measured->layers[i].same == i) {
            print_costs_of(measured->layers[i].name, "forward", &measured->layers[i].forward, out);
            print_costs_of(measured->layers[i].name, "backward", &measured->layers[i].backward, out);
        }
}

static void print_products(const struct measured_layers *measured, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "\n%-8s %6s %8s %8s %8s %10s %10s %10s %12s\n", "product", "batch", "m", "n", "k",
                "median", "low", "high", "flop/s");
    for (int i = 0; i < measured->product_count; i++) {
        const struct measured_product *product = &measured->products[i];
        double flops =
            2.0 * (double)product->batch * (double)product->m * (double)product->n * (double)product->k;
        text_format(out, "%-8s %6" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %10s %10s %10s %12s\n",
                    cost_type_name(product->type), product->batch, product->m, product->n, product->k,
                    unit_text(&texts, product->time.median, UNIT_TIME),
                    unit_text(&texts, product->time.low, UNIT_TIME),
                    unit_text(&texts, product->time.high, UNIT_TIME),
                    unit_text(&texts, flops / product->time.median, UNIT_COMPUTE));
    }
}

void measured_print(const struct measured_layers *measured, struct text *out)
{
    print_head(measured, out);
    if (measured->count > 0)
        text_format(out, "\n%-20s %-8s %10s %10s %10s %8s %7s\n", "layer", "pass", "median", "low", "high",
                    "within", "samples");
    for (int i = 0; i < measured->count; i++) {
        const struct measured_layer *layer = &measured->layers[i];
        if (i > 0 && measured->layers[i - 1].same == layer->same)
            continue;
        print_pass(layer->name, "forward", &layer->forward, out);
        print_pass(layer->name, "backward", &layer->backward, out);
        if (!layer->backward.is_there && layer->backward.notes)
            text_format(out, "  no backward pass: %s\n", layer->backward.notes);
        int equal = 0;
        while (i + equal + 1 < measured->count && measured->layers[i + equal + 1].same == layer->same)
            equal++;
        if (equal > 0)
            text_format(out, "  and %d equal: to %s\n", equal, measured->layers[i + equal].name);
    }
    if (is_by_plugin(measured))
        print_costs(measured, out);
    if (measured->product_count > 0)
        print_products(measured, out);
}

/* ---- JSON ---- */

/* -1 is not known. */
static void write_known(struct json *json, const char *key, double value)
{
    if (value < 0.0)
        json_null(json, key);
    else
        json_number(json, key, value);
}

#define OF_TIME(key, member, type) FIELD_OUT(struct sample_result, key, member, type)

static const struct field time_fields[] = {
    OF_TIME("low", low, FIELD_DOUBLE),
    OF_TIME("high", high, FIELD_DOUBLE),
    OF_TIME("fastest", fastest, FIELD_DOUBLE),
    OF_TIME("cpu_seconds", processor, FIELD_DOUBLE),
    OF_TIME("within", precision, FIELD_DOUBLE),
    OF_TIME("samples", count, FIELD_INT),
    OF_TIME("runs_per_sample", batch, FIELD_INT64),
    OF_TIME("warm_ups", warm_ups, FIELD_INT),
    OF_TIME("disturbed", disturbed, FIELD_INT),
};

static const struct field product_fields[] = {
    FIELD(struct measured_product, batch, FIELD_INT64, 0, 0),
    FIELD(struct measured_product, m, FIELD_INT64, 0, 0),
    FIELD(struct measured_product, n, FIELD_INT64, 0, 0),
    FIELD(struct measured_product, k, FIELD_INT64, 0, 0),
    FIELD_OUT(struct measured_product, "seconds", time.median, FIELD_DOUBLE),
};

static const struct field layer_fields[] = {
    FIELD(struct measured_layer, name, FIELD_TEXT, 0, 0),
    FIELD_OUT(struct measured_layer, "same_as", same, FIELD_INT),
    FIELD(struct measured_layer, parameter_bytes, FIELD_INT64, 0, 0),
    FIELD(struct measured_layer, activation_bytes, FIELD_INT64, 0, 0),
    FIELD(struct measured_layer, output_bytes, FIELD_INT64, 0, 0),
};

static void write_time(struct json *json, const struct sample_result *time)
{
    FIELDS_WRITE(time, time_fields, json);
    json_bool(json, "is_precise", !(time->notes & SAMPLE_LIMIT));
    json_bool(json, "is_bimodal", time->notes & SAMPLE_BIMODAL);
    json_bool(json, "is_slowing", time->notes & SAMPLE_SLOWING);
}

static void write_plugin(struct json *json, const struct measured_pass *pass)
{
    json_open(json, "plugin", '{');
    write_known(json, "flops", pass->costs.flops);
    write_known(json, "transcendentals", pass->costs.transcendentals);
    write_known(json, "bytes", pass->costs.bytes);
    if (*pass->costs.why)
        json_string(json, "no_costs", pass->costs.why);
    write_known(json, "argument_bytes", (double)pass->memory.arguments);
    write_known(json, "output_bytes", (double)pass->memory.outputs);
    write_known(json, "temporary_bytes", (double)pass->memory.temporary);
    write_known(json, "code_bytes", (double)pass->memory.code);
    write_known(json, "peak_bytes", (double)pass->memory.peak);
    if (*pass->memory.why)
        json_string(json, "no_memory", pass->memory.why);
    json_close(json);
}

static void write_pass(struct json *json, const char *key, const struct measured_pass *pass, bool by_plugin)
{
    if (!pass->is_there) {
        json_null(json, key);
        return;
    }
    json_open(json, key, '{');
    json_number(json, "seconds", pass->seconds);
    json_bool(json, "is_measured", pass->is_timed);
    if (pass->is_timed)
        write_time(json, &pass->time);
    write_known(json, "flops", pass->flops);
    write_known(json, "bytes", pass->bytes);
    if (pass->is_timed && by_plugin)
        write_plugin(json, pass);
    if (pass->notes)
        json_string(json, "notes", pass->notes);
    json_close(json);
}

static void write_place(struct json *json, const struct measured_layers *measured, const char *command)
{
    struct text cores = {0}, warnings = {0};
    host_write_cores(&measured->cores, &cores);
    host_load_print(&measured->load, &warnings);
    json_string(json, "host", measured->host.name);
    json_string(json, "processor", measured->host.processor);
    json_string(json, "system", measured->host.system);
    json_string(json, "date", measured->host.date);
    json_string(json, "command", command);
    json_string(json, "library", measured->library);
    json_string(json, "device", measured->device);
    json_string(json, "cores", text_within(&cores, json->out));
    json_string(json, "clock", measured->options.by_processor ? "cpu" : "wall");
    json_number(json, "precision", measured->options.precision);
    json_number(json, "own_load", measured->load.own);
    json_number(json, "other_load", measured->load.other);
    json_number(json, "stolen", measured->load.stolen);
    write_known(json, "throttled", (double)measured->load.throttled);
    json_string(json, "warnings", warnings.length > 0 ? text_within(&warnings, json->out) : NULL);
    text_release(&cores);
    text_release(&warnings);
}

void measured_write_json(const struct measured_layers *measured, const char *command, struct json *json)
{
    json_open_document(json, "rehearse-layer-times/1");
    write_place(json, measured, command);
    json_open(json, "layers", '[');
    for (int i = 0; i < measured->count; i++) {
        const struct measured_layer *layer = &measured->layers[i];
        json_open(json, NULL, '{');
        FIELDS_WRITE(layer, layer_fields, json);
        write_pass(json, "forward", &layer->forward, is_by_plugin(measured));
        write_pass(json, "backward", &layer->backward, is_by_plugin(measured));
        json_close(json);
    }
    json_close(json);
    json_open(json, "products", '[');
    for (int i = 0; i < measured->product_count; i++) {
        const struct measured_product *product = &measured->products[i];
        json_open(json, NULL, '{');
        json_string(json, "type", cost_type_name(product->type));
        FIELDS_WRITE(product, product_fields, json);
        write_time(json, &product->time);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}
