/* Measured layers as a table, and as rehearse-layer-times/1. */
#include "core/fields.h"
#include "core/unit.h"
#include "measure/layers/layers.h"

#include <inttypes.h>

/* ---- a table ---- */

static void print_head(const struct measured_layers *measured, struct text *out)
{
    text_format(out, "%s on %s, %s\n", measured->about.library, measured->host.name,
                *measured->host.processor ? measured->host.processor : measured->host.system);
    text_format(out, "cores %s, %s, intervals of 95 %% within %.3g %% wanted\n", measured->about.cores,
                measured->options.by_processor ? "CPU seconds of the process" : "wall-clock seconds",
                100.0 * measured->options.precision);
    if (measured->about.warnings)
        text_format(out, "warning: %s\n", measured->about.warnings);
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
    if (!pass->is_there && pass->notes)
        text_format(out, "%-20s %-8s not measured: %s\n", name, word, pass->notes);
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
    return measured->count > 0 && text_starts_with(measured->about.library, "PJRT");
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
            print_costs_of(measured->layers[i].row.name, "forward", &measured->layers[i].forward, out);
            print_costs_of(measured->layers[i].row.name, "backward", &measured->layers[i].backward, out);
        }
}

static void print_products(const struct measured_layers *measured, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "\n%-8s %6s %8s %8s %8s %10s %10s %10s %12s\n", "product", "batch", "m", "n", "k",
                "median", "low", "high", "flop/s");
    for (int i = 0; i < measured->product_count; i++) {
        const struct measured_product *product = &measured->products[i];
        const struct profile_product *row = &product->row;
        double flops = product_flops(&row->size);
        text_format(out, "%-8s %6" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 " %10s %10s %10s %12s\n",
                    row->type, row->size.batch, row->size.m, row->size.n, row->size.k,
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
        print_pass(layer->row.name, "forward", &layer->forward, out);
        print_pass(layer->row.name, "backward", &layer->backward, out);
        int equal = 0;
        while (i + equal + 1 < measured->count && measured->layers[i + equal + 1].same == layer->same)
            equal++;
        if (equal > 0)
            text_format(out, "  and %d equal: to %s\n", equal, measured->layers[i + equal].row.name);
    }
    if (is_by_plugin(measured))
        print_costs(measured, out);
    if (measured->product_count > 0)
        print_products(measured, out);
}

/* ---- JSON ---- */

#define OF_TIME(key, member, type)    FIELD_OUT(struct sample_result, key, member, type)
#define OF_PRODUCT(key, member, type) FIELD_OUT(struct measured_product, key, member, type)
#define OF_LAYER(key, member, type)   FIELD_OUT(struct measured_layer, key, member, type)
#define OF_PASS(key, member, type)    FIELD_OUT(struct measured_pass, key, member, type)
#define OF_WHOLE(key, member, type)   FIELD_OUT(struct measured_layers, key, member, type)

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
    OF_PRODUCT("type", row.type, FIELD_TEXT), OF_PRODUCT("batch", row.size.batch, FIELD_INT64),
    OF_PRODUCT("m", row.size.m, FIELD_INT64), OF_PRODUCT("n", row.size.n, FIELD_INT64),
    OF_PRODUCT("k", row.size.k, FIELD_INT64), OF_PRODUCT("seconds", row.seconds, FIELD_DOUBLE),
};

static const struct field layer_fields[] = {
    OF_LAYER("name", row.name, FIELD_TEXT),
    OF_LAYER("same_as", same, FIELD_INT),
    OF_LAYER("parameter_bytes", row.parameter_bytes, FIELD_INT64),
    OF_LAYER("activation_bytes", row.activation_bytes, FIELD_INT64),
    OF_LAYER("output_bytes", row.output_bytes, FIELD_INT64),
};

static const struct field pass_fields[] = {
    OF_PASS("seconds", seconds, FIELD_DOUBLE),
    OF_PASS("is_measured", is_timed, FIELD_FLAG),
};

static const struct field work_fields[] = {
    OF_PASS("flops", flops, FIELD_KNOWN),
    OF_PASS("bytes", bytes, FIELD_KNOWN),
};

static const struct field plugin_fields[] = {
    FIELD_OPEN("plugin", FIELD_MAP),
    OF_PASS("flops", costs.flops, FIELD_KNOWN),
    OF_PASS("transcendentals", costs.transcendentals, FIELD_KNOWN),
    OF_PASS("bytes", costs.bytes, FIELD_KNOWN),
    OF_PASS("no_costs", costs.why, FIELD_SOME_CHARS),
    OF_PASS("argument_bytes", memory.arguments, FIELD_KNOWN_INT64),
    OF_PASS("output_bytes", memory.outputs, FIELD_KNOWN_INT64),
    OF_PASS("temporary_bytes", memory.temporary, FIELD_KNOWN_INT64),
    OF_PASS("code_bytes", memory.code, FIELD_KNOWN_INT64),
    OF_PASS("peak_bytes", memory.peak, FIELD_KNOWN_INT64),
    OF_PASS("no_memory", memory.why, FIELD_SOME_CHARS),
    FIELD_CLOSE,
};

static const struct field place_fields[] = {
    OF_WHOLE("host", host.name, FIELD_CHARS),
    OF_WHOLE("processor", host.processor, FIELD_CHARS),
    OF_WHOLE("system", host.system, FIELD_CHARS),
    OF_WHOLE("date", host.date, FIELD_CHARS),
    OF_WHOLE("command", about.command, FIELD_TEXT),
    OF_WHOLE("library", about.library, FIELD_TEXT),
    OF_WHOLE("device", device, FIELD_TEXT),
    OF_WHOLE("cores", about.cores, FIELD_TEXT),
    OF_WHOLE("clock", about.clock, FIELD_TEXT),
    OF_WHOLE("precision", about.precision, FIELD_DOUBLE),
    OF_WHOLE("own_load", load.own, FIELD_DOUBLE),
    OF_WHOLE("other_load", load.other, FIELD_DOUBLE),
    OF_WHOLE("stolen", load.stolen, FIELD_DOUBLE),
    OF_WHOLE("throttled", load.throttled, FIELD_KNOWN_INT64),
    OF_WHOLE("warnings", about.warnings, FIELD_TEXT),
};

static void write_time(struct json *json, const struct sample_result *time)
{
    FIELDS_WRITE(time, time_fields, json);
    json_bool(json, "is_precise", !(time->notes & SAMPLE_LIMIT));
    json_bool(json, "is_bimodal", time->notes & SAMPLE_BIMODAL);
    json_bool(json, "is_slowing", time->notes & SAMPLE_SLOWING);
}

static void write_pass(struct json *json, const char *key, const struct measured_pass *pass, bool by_plugin)
{
    if (!pass->is_there) {
        json_null(json, key);
        return;
    }
    json_open(json, key, '{');
    FIELDS_WRITE(pass, pass_fields, json);
    if (pass->is_timed)
        write_time(json, &pass->time);
    FIELDS_WRITE(pass, work_fields, json);
    if (pass->is_timed && by_plugin)
        FIELDS_WRITE(pass, plugin_fields, json);
    if (pass->notes)
        json_string(json, "notes", pass->notes);
    json_close(json);
}

void measured_write_json(const struct measured_layers *measured, struct json *json)
{
    json_open_document(json, "rehearse-layer-times/1");
    FIELDS_WRITE(measured, place_fields, json);
    json_open(json, "layers", '[');
    for (int i = 0; i < measured->count; i++) {
        const struct measured_layer *layer = &measured->layers[i];
        json_open(json, NULL, '{');
        FIELDS_WRITE(layer, layer_fields, json);
        write_pass(json, "forward", &layer->forward, is_by_plugin(measured));
        write_pass(json, "backward", &layer->backward, is_by_plugin(measured));
        if (!layer->forward.is_there || !layer->backward.is_there)
            json_string(json, "gap", layer->forward.is_there ? layer->backward.notes : layer->forward.notes);
        json_close(json);
    }
    json_close(json);
    json_open(json, "products", '[');
    for (int i = 0; i < measured->product_count; i++) {
        json_open(json, NULL, '{');
        FIELDS_WRITE(&measured->products[i], product_fields, json);
        write_time(json, &measured->products[i].time);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}
