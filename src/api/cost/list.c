#include "api/cost/explain.h"

#include "core/fields.h"
#include "core/unit.h"
#include "devices/measured/kernels.h"
#include "devices/software.h"
#include "devices/tables.h"
#include "evidence/neighbours.h"

#include <inttypes.h>

static const enum cost_type shown[] = {COST_FP32, COST_TF32, COST_FP16, COST_BF16, COST_FP8};
#define SHOWN_COUNT ((int)(sizeof shown / sizeof *shown))

/* ---- for people ---- */

static void print_models(const struct table *table, struct text *out)
{
    text_format(out, "%-16s %11s %7s %7s %6s %9s %8s\n", "model", "parameters", "layers", "hidden", "heads",
                "sequence", "experts");
    for (int i = 0; i < table->count; i++) {
        const struct architecture *model = &table->models[i];
        text_format(out, "%-16s %9.2f B %7d %7" PRId64 " %6" PRId64 " %9" PRId64 " %8" PRId64 "\n",
                    model->name, architecture_parameters(model) / 1e9, model->layers, model->hidden,
                    model->heads, model->sequence, model->experts);
    }
}

static void print_devices(const struct table *table, struct text *out)
{
    text_format(out, "\n%-24s %10s %12s", "device", "memory", "bandwidth");
    for (int p = 0; p < SHOWN_COUNT; p++)
        text_format(out, " %8s", cost_type_name(shown[p]));
    text_format(out, "  %-22s %-10s %4s\n", "TFLOP/s, link", "kernels", "runs");
    for (int i = 0; i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        struct unit_texts texts = {0};
        text_format(out, "%-24s %10s %12s", device->name,
                    unit_text(&texts, (double)device->memory, UNIT_BYTES),
                    unit_text(&texts, device->bandwidth, UNIT_RATE));
        for (int p = 0; p < SHOWN_COUNT; p++)
            if (device->peak[shown[p]] > 0)
                text_format(out, " %8.1f", device->peak[shown[p]] / 1e12);
            else
                text_format(out, " %8s", "-");
        text_format(out, "  %-22s %-10s %4d\n", device->link ? device->link : "-", device_basis(device),
                    residuals_on(device));
    }
}

void cost_list_print(struct text *out)
{
    const struct table *links = tables_known(TABLE_LINKS);
    struct unit_texts texts = {0};
    print_models(tables_known(TABLE_MODELS), out);
    print_devices(tables_known(TABLE_DEVICES), out);
    text_format(out, "\n%-16s %12s  %s\n", "link", "bandwidth", "description");
    for (int i = 0; i < links->count; i++)
        text_format(out, "%-16s %12s  %s\n", links->links[i].name,
                    unit_text(&texts, links->links[i].bandwidth, UNIT_RATE), links->links[i].title);
    text_format(out, "\n%-24s %s\n", "software", "description");
    for (int i = 0; i < software_count(false); i++)
        text_format(out, "%-24s %s\n", software_at(i)->name, software_at(i)->title);
}

/* ---- for programs ---- */

static const struct field model_fields[] = {
    FIELD_OUT(struct architecture, "name", name, FIELD_TEXT),
    FIELD_OUT(struct architecture, "layers", layers, FIELD_INT),
    FIELD_OUT(struct architecture, "hidden", hidden, FIELD_INT64),
    FIELD_OUT(struct architecture, "heads", heads, FIELD_INT64),
    FIELD_OUT(struct architecture, "sequence", sequence, FIELD_INT64),
    FIELD_OUT(struct architecture, "experts", experts, FIELD_INT64),
    FIELD_OUT(struct architecture, "source", source, FIELD_TEXT),
};

static const struct field device_fields[] = {
    FIELD_OUT(struct cost_device, "name", name, FIELD_TEXT),
    FIELD_OUT(struct cost_device, "title", title, FIELD_TEXT),
    FIELD_OUT(struct cost_device, "generation", generation, FIELD_TEXT),
    FIELD_OUT(struct cost_device, "memory", memory, FIELD_INT64),
    FIELD_OUT(struct cost_device, "bandwidth", bandwidth, FIELD_DOUBLE),
    FIELD_OUT(struct cost_device, "link", link, FIELD_TEXT),
    FIELD_OUT(struct cost_device, "source", source, FIELD_TEXT),
    FIELD_OUT(struct cost_device, "fitted", fitted, FIELD_TEXT),
};

static const struct field link_fields[] = {
    FIELD_OUT(struct cost_link, "name", name, FIELD_TEXT),
    FIELD_OUT(struct cost_link, "title", title, FIELD_TEXT),
    FIELD_OUT(struct cost_link, "bandwidth", bandwidth, FIELD_DOUBLE),
};

static const struct field software_fields[] = {
    FIELD_OUT(struct software, "name", name, FIELD_TEXT),
    FIELD_OUT(struct software, "text", title, FIELD_TEXT),
};

static void write_parameters(const void *entry, struct json *json)
{
    json_number(json, "parameters", architecture_parameters(entry));
}

static void write_peaks(const void *entry, struct json *json)
{
    const struct cost_device *device = entry;
    json_string(json, "basis", device_basis(device));
    json_integer(json, "runs", residuals_on(device));
    for (int p = 0; p < COST_TYPE_COUNT; p++)
        if (device->peak[p] > 0)
            json_number(json, cost_type_name((enum cost_type)p), device->peak[p]);
}

/* Writes a list of entries: their fields, and `more` (NULL: nothing more). */
static void write_list(struct json *json, const char *key, const void *entries, int count, size_t size,
                       const struct field *fields, size_t field_count,
                       void (*more)(const void *entry, struct json *json))
{
    json_open(json, key, '[');
    for (int i = 0; i < count; i++) {
        const void *entry = (const char *)entries + (size_t)i * size;
        json_open_flat(json, NULL, '{');
        fields_write(entry, fields, field_count, json);
        if (more)
            more(entry, json);
        json_close(json);
    }
    json_close(json);
}

#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

void cost_list_write(struct json *json)
{
    const struct table *models = tables_known(TABLE_MODELS), *devices = tables_known(TABLE_DEVICES),
                       *links = tables_known(TABLE_LINKS);
    json_open_document(json, "rehearse-tables/1");
    write_list(json, "models", models->models, models->count, sizeof *models->models, model_fields,
               COUNT(model_fields), write_parameters);
    write_list(json, "devices", devices->devices, devices->count, sizeof *devices->devices, device_fields,
               COUNT(device_fields), write_peaks);
    write_list(json, "links", links->links, links->count, sizeof *links->links, link_fields,
               COUNT(link_fields), NULL);
    write_list(json, "software", software_at(0), software_count(false), sizeof(struct software),
               software_fields, COUNT(software_fields), NULL);
    json_close(json);
}
