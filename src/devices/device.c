#include "devices/device.h"

#include "core/doc.h"
#include "core/text.h"
#include "devices/device_read.h"
#include "devices/tables.h"

#include <string.h>
#include <strings.h>

/* data/devices.yaml, by scripts/embed. */
extern const char data_devices[];
extern const size_t data_devices_size;

static const struct {
    const char *name;
    double bytes;
} types[COST_TYPE_COUNT] = {
    [COST_FP64] = {"fp64", 8}, [COST_FP32] = {"fp32", 4}, [COST_TF32] = {"tf32", 4},
    [COST_FP16] = {"fp16", 2}, [COST_BF16] = {"bf16", 2}, [COST_INT8] = {"int8", 1},
    [COST_FP8] = {"fp8", 1},   [COST_FP4] = {"fp4", 0.5},
};

const char *cost_type_name(enum cost_type type)
{
    return (unsigned)type < COST_TYPE_COUNT ? types[type].name : NULL;
}

bool cost_type_find(const char *name, enum cost_type *type)
{
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        if (strcmp(types[t].name, name) == 0) {
            *type = (enum cost_type)t;
            return true;
        }
    return false;
}

double cost_type_bytes(enum cost_type type)
{
    return types[type].bytes;
}

/* ---- the built-in table ---- */

static struct cost_device_table built_in;

bool device_read_known(struct error *err)
{
    return built_in.count > 0 ||
           device_read(&built_in, NULL, "devices.yaml", data_devices, data_devices_size, err);
}

const struct cost_device_table *device_known(void)
{
    return &built_in;
}

const struct cost_device_table *cost_devices(void)
{
    cost_tables_needed();
    return &built_in;
}

static bool is_called(const struct cost_device *device, const char *name)
{
    if (strcasecmp(device->name, name) == 0)
        return true;
    for (int i = 0; i < device->alias_count; i++)
        if (strcasecmp(device->aliases[i], name) == 0)
            return true;
    return false;
}

const struct cost_device *cost_device_in(const struct cost_device_table *table, const char *name)
{
    for (int i = 0; table && i < table->count; i++)
        if (is_called(&table->devices[i], name))
            return &table->devices[i];
    return NULL;
}

static struct cost_device_table added;

enum cost_type cost_device_type(const struct cost_device *device, enum cost_type type)
{
    static const enum cost_type instead[COST_TYPE_COUNT] = {
        [COST_FP64] = COST_FP32, [COST_FP32] = COST_FP32, [COST_TF32] = COST_FP32, [COST_FP16] = COST_FP32,
        [COST_BF16] = COST_FP16, [COST_INT8] = COST_FP16, [COST_FP8] = COST_BF16,  [COST_FP4] = COST_FP8,
    };
    while (device->peak[type] <= 0.0 && type != COST_FP32)
        type = instead[type];
    return type;
}

const struct cost_device *cost_device_find(const char *name)
{
    const struct cost_device *device = cost_device_in(&added, name);
    return device ? device : cost_device_in(cost_devices(), name);
}

/* ---- a user's table ---- */

static bool unknown_device(const struct cost_device_table *known, const char *name, struct error *err)
{
    const char *nearest = device_nearest(known, NULL, name);
    if (nearest)
        return error_set(err, ERROR_USAGE, "unknown device '%s', did you mean '%s'?", name, nearest);
    return error_set(err, ERROR_USAGE, "unknown device '%s'", name);
}

/* A table of one device, whose texts are the built-in table's. */
static bool table_of_one(struct cost_device_table *table, const char *name, struct error *err)
{
    const struct cost_device *device = cost_device_find(name);
    if (!device)
        return unknown_device(cost_devices(), name, err);
    table->devices = ARENA_NEW(&table->arena, struct cost_device);
    if (!table->devices)
        return error_memory(err);
    table->devices[0] = *device;
    table->count = 1;
    return true;
}

bool cost_devices_add(const char *path, struct error *err)
{
    return cost_tables(err) && device_read_file(&added, cost_devices(), path, err);
}

bool cost_device_load(struct cost_device_table *table, const char *path, struct error *err)
{
    *table = (struct cost_device_table){0};
    if (!cost_tables(err))
        return false;
    return doc_is_name(path) ? device_read_file(table, cost_devices(), path, err)
                             : table_of_one(table, path, err);
}

bool cost_device_parse(struct cost_device_table *table, const char *path, const char *data, size_t length,
                       struct error *err)
{
    *table = (struct cost_device_table){0};
    return cost_tables(err) && device_read(table, cost_devices(), path, data, length, err);
}

void cost_device_release(struct cost_device_table *table)
{
    arena_release(&table->arena);
    *table = (struct cost_device_table){0};
}
