#include "cli/cost/list.h"

#include "core/json.h"
#include "core/unit.h"
#include "devices/architecture.h"
#include "devices/device.h"
#include "devices/link.h"
#include "devices/software.h"
#include "devices/tables.h"

#include <inttypes.h>

static const enum cost_type shown[] = {COST_FP32, COST_TF32, COST_FP16, COST_BF16, COST_FP8};
#define SHOWN_COUNT ((int)(sizeof shown / sizeof *shown))

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
    text_format(out, "\n%-16s %10s %12s", "device", "memory", "bandwidth");
    for (int p = 0; p < SHOWN_COUNT; p++)
        text_format(out, " %8s", cost_type_name(shown[p]));
    text_format(out, "  TFLOP/s, %s\n", "link");
    for (int i = 0; i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        char memory[32], bandwidth[32];
        text_format(out, "%-16s %10s %12s", device->name,
                    unit_format(memory, sizeof memory, (double)device->memory, UNIT_BYTES, 3),
                    unit_format(bandwidth, sizeof bandwidth, device->bandwidth, UNIT_RATE, 4));
        for (int p = 0; p < SHOWN_COUNT; p++)
            if (device->peak[shown[p]] > 0)
                text_format(out, " %8.1f", device->peak[shown[p]] / 1e12);
            else
                text_format(out, " %8s", "-");
        text_format(out, "  %s\n", device->link ? device->link : "-");
    }
}

static void print_links(const struct table *table, struct text *out)
{
    text_format(out, "\n%-16s %12s  %s\n", "link", "bandwidth", "what it is");
    for (int i = 0; i < table->count; i++) {
        const struct cost_link *link = &table->links[i];
        char bandwidth[32];
        text_format(out, "%-16s %12s  %s\n", link->name,
                    unit_format(bandwidth, sizeof bandwidth, link->bandwidth, UNIT_RATE, 4), link->title);
    }
}

void cost_list_print(struct text *out)
{
    int count;
    const struct software *software = software_all(&count);
    const struct table *models = tables_known(TABLE_MODELS);
    const struct table *devices = tables_known(TABLE_DEVICES);
    const struct table *links = tables_known(TABLE_LINKS);
    print_models(models, out);
    print_devices(devices, out);
    print_links(links, out);
    text_format(out, "\n%-24s %s\n", "software", "what it is");
    for (int i = 0; i < count; i++)
        text_format(out, "%-24s %s\n", software[i].name, software[i].text);
}

static void write_models(const struct table *table, struct json *json)
{
    json_open(json, "models", '[');
    for (int i = 0; i < table->count; i++) {
        const struct architecture *model = &table->models[i];
        json_open_flat(json, NULL, '{');
        json_string(json, "name", model->name);
        json_number(json, "parameters", architecture_parameters(model));
        json_integer(json, "layers", model->layers);
        json_integer(json, "hidden", model->hidden);
        json_integer(json, "heads", model->heads);
        json_integer(json, "sequence", model->sequence);
        json_integer(json, "experts", model->experts);
        json_string(json, "source", model->source);
        json_close(json);
    }
    json_close(json);
}

static void write_devices(const struct table *table, struct json *json)
{
    json_open(json, "devices", '[');
    for (int i = 0; i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        json_open_flat(json, NULL, '{');
        json_string(json, "name", device->name);
        json_string(json, "title", device->title);
        json_string(json, "generation", device->generation);
        json_integer(json, "memory", device->memory);
        json_number(json, "bandwidth", device->bandwidth);
        for (int p = 0; p < COST_TYPE_COUNT; p++)
            if (device->peak[p] > 0)
                json_number(json, cost_type_name((enum cost_type)p), device->peak[p]);
        json_string(json, "link", device->link);
        json_string(json, "source", device->source);
        json_string(json, "fitted", device->fitted);
        json_close(json);
    }
    json_close(json);
}

static void write_links(const struct table *table, struct json *json)
{
    json_open(json, "links", '[');
    for (int i = 0; i < table->count; i++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "name", table->links[i].name);
        json_string(json, "title", table->links[i].title);
        json_number(json, "bandwidth", table->links[i].bandwidth);
        json_close(json);
    }
    json_close(json);
}

void cost_list_write(struct text *out)
{
    int count;
    const struct software *software = software_all(&count);
    const struct table *models = tables_known(TABLE_MODELS);
    const struct table *devices = tables_known(TABLE_DEVICES);
    const struct table *links = tables_known(TABLE_LINKS);
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-tables/1");
    write_models(models, &json);
    write_devices(devices, &json);
    write_links(links, &json);
    json_open(&json, "software", '[');
    for (int i = 0; i < count; i++) {
        json_open_flat(&json, NULL, '{');
        json_string(&json, "name", software[i].name);
        json_string(&json, "text", software[i].text);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}
