#include "devices/device.h"

#include "core/fields.h"

#include <inttypes.h>
#include <string.h>

/* Wide enough for anything real, narrow enough that no product of them overflows. */
#define MAX_UNITS 100000
#define MAX_LANES 100000
#define MIN_CLOCK 1e6
#define MAX_CLOCK 1e12
#define MIN_RATE  1e6 /* bytes/s, flop/s */
#define MAX_RATE  1e21
#define MAX_BYTES 0x1p53
#define MAX_TIME  1.0 /* seconds; of one launch */

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

/* ---- numbers: each may be left out where `like` gave it ---- */

static bool missing(struct table_reader *r, const struct doc_node *map, const char *key, bool had)
{
    return had || doc_need(r->doc, map, key, r->err);
}

static bool read_quantity(struct table_reader *r, const struct doc_node *map, const char *key,
                          enum unit_kind kind, double least, double most, double *value)
{
    const struct doc_node *node = doc_find(map, key);
    if (!node)
        return missing(r, map, key, *value > 0);
    if (!doc_quantity(r->doc, node, kind, false, value, r->err))
        return false;
    if (*value < least || *value > most)
        return doc_error(r->doc, node, r->err, "expected from %g to %g %s, found '%s'", least, most,
                         kind == UNIT_TIME    ? "seconds"
                         : kind == UNIT_BYTES ? "bytes"
                         : kind == UNIT_RATE  ? "bytes per second"
                                              : "flop/s",
                         node->text);
    return true;
}

static bool read_bytes(struct table_reader *r, const struct doc_node *map, const char *key, int64_t *bytes)
{
    double value = (double)*bytes;
    if (!read_quantity(r, map, key, UNIT_BYTES, 1, MAX_BYTES, &value))
        return false;
    *bytes = (int64_t)value;
    return true;
}

/* ---- peaks and fitted parameters, by type ---- */

static bool read_type(struct table_reader *r, const struct doc_node *node, enum cost_type *type)
{
    const char *names[COST_TYPE_COUNT];
    if (cost_type_find(node->key, type))
        return true;
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        names[t] = cost_type_name((enum cost_type)t);
    return doc_only_keys(r->doc, node->parent, names, COST_TYPE_COUNT, r->err);
}

/* As a whole: what is not named the device cannot. */
static bool read_peaks(struct table_reader *r, const struct doc_node *map, struct cost_device *device)
{
    const struct doc_node *peaks = doc_find(map, "peak");
    if (!peaks)
        return missing(r, map, "peak", device->peak[COST_FP32] > 0);
    if (!doc_is_map(r->doc, peaks, r->err))
        return false;
    memset(device->peak, 0, sizeof device->peak);
    for (const struct doc_node *node = peaks->first_child; node; node = node->next) {
        enum cost_type type;
        if (!read_type(r, node, &type) ||
            !read_quantity(r, peaks, node->key, UNIT_COMPUTE, MIN_RATE, MAX_RATE, &device->peak[type]))
            return false;
    }
    return missing(r, peaks, "fp32", device->peak[COST_FP32] > 0);
}

static bool read_gemm_of_type(struct table_reader *r, const struct doc_node *map,
                              struct gemm_parameters *gemm)
{
    static const struct field fields[] = {
#define X(name, text, least, most) FIELD(struct gemm_parameters, name, FIELD_DOUBLE, least, most),
        GEMM_PARAMETERS(X)
#undef X
    };
    const char *keys[sizeof fields / sizeof *fields];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        keys[i] = fields[i].key;
    if (!doc_is_map(r->doc, map, r->err) ||
        !doc_only_keys(r->doc, map, keys, sizeof keys / sizeof *keys, r->err))
        return false;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!field_need(gemm, &fields[i], r->doc, map, r->err))
            return false;
    return true;
}

/* Where a type without parameters of its own takes them: tensor cores of a generation differ less between types than
 * from one generation to the next. */
static const enum cost_type nearest_types[COST_TYPE_COUNT][COST_TYPE_COUNT] = {
    [COST_FP64] = {COST_FP32, COST_TF32, COST_BF16, COST_FP16},
    [COST_FP32] = {COST_TF32, COST_BF16, COST_FP16},
    [COST_TF32] = {COST_BF16, COST_FP16, COST_FP32},
    [COST_FP16] = {COST_BF16, COST_TF32},
    [COST_BF16] = {COST_FP16, COST_TF32},
    [COST_INT8] = {COST_FP8, COST_BF16, COST_FP16},
    [COST_FP8] = {COST_INT8, COST_BF16, COST_FP16},
    [COST_FP4] = {COST_FP8, COST_INT8, COST_BF16, COST_FP16},
};

void device_fill_types(struct cost_device *device)
{
    for (int type = 0; type < COST_TYPE_COUNT; type++)
        for (int i = 0; !device->gemm_own[type] && i < COST_TYPE_COUNT; i++) {
            enum cost_type nearest = nearest_types[type][i];
            if (device->gemm_own[nearest]) {
                device->gemm[type] = device->gemm[nearest];
                break;
            }
        }
}

static bool read_gemm(struct table_reader *r, const struct doc_node *map, struct cost_device *device,
                      bool like)
{
    const struct doc_node *gemm = doc_find(map, "gemm");
    if (!gemm)
        return missing(r, map, "gemm", like);
    if (!doc_is_map(r->doc, gemm, r->err))
        return false;
    for (const struct doc_node *node = gemm->first_child; node; node = node->next) {
        enum cost_type type;
        if (!read_type(r, node, &type) || !read_gemm_of_type(r, node, &device->gemm[type]))
            return false;
        device->gemm_own[type] = true;
    }
    if (!device->gemm_own[COST_BF16] && !device->gemm_own[COST_FP16])
        return doc_error(r->doc, gemm, r->err, "expected parameters of bf16 or fp16");
    device_fill_types(device);
    return true;
}

/* ---- a device ---- */

static bool read_datasheet(struct table_reader *r, const struct doc_node *map, struct cost_device *device)
{
    static const struct field fields[] = {
        FIELD(struct cost_device, units, FIELD_INT, 1, MAX_UNITS),
        FIELD(struct cost_device, lanes, FIELD_INT, 1, MAX_LANES),
        FIELD(struct cost_device, clock, FIELD_DOUBLE, MIN_CLOCK, MAX_CLOCK),
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!field_need(device, &fields[i], r->doc, map, r->err))
            return false;
    return read_peaks(r, map, device) &&
           read_quantity(r, map, "bandwidth", UNIT_RATE, MIN_RATE, MAX_RATE, &device->bandwidth) &&
           read_bytes(r, map, "memory", &device->memory) && read_bytes(r, map, "l2", &device->l2);
}

static bool read_fitted(struct table_reader *r, const struct doc_node *map, struct cost_device *device,
                        bool like)
{
    static const struct field efficiency =
        FIELD(struct cost_device, stream_efficiency, FIELD_DOUBLE, 0.01, 2);
    return read_quantity(r, map, "launch", UNIT_TIME, 1e-9, MAX_TIME, &device->launch) &&
           field_need(device, &efficiency, r->doc, map, r->err) &&
           read_quantity(r, map, "stream_half", UNIT_BYTES, 1, MAX_BYTES, &device->stream_half) &&
           read_gemm(r, map, device, like);
}

static size_t list_keys(const char *keys[TABLE_MAX_KEYS])
{
    static const char *const own[] = {
        "generation", "capability",        "units",       "lanes", "clock",
        "peak",       "bandwidth",         "memory",      "l2",    "launch",
        "link",       "stream_efficiency", "stream_half", "gemm",
    };
    memcpy(keys, own, sizeof own);
    return sizeof own / sizeof *own;
}

static bool read_device(struct table_reader *r, const struct doc_node *map, void *entry, bool like)
{
    struct cost_device *device = entry;
    return table_read_text(r, map, "generation", &device->generation) &&
           table_read_text(r, map, "capability", &device->capability) &&
           table_read_text(r, map, "link", &device->link) &&
           missing(r, map, "generation", device->generation) && read_datasheet(r, map, device) &&
           read_fitted(r, map, device, like);
}

const struct table_kind cost_device_kind = {
    .format = "rehearse-devices/1",
    .noun = "device",
    .list = "devices",
    .parts = TABLE_TITLED | TABLE_ALIASED | TABLE_SOURCED | TABLE_FITTED | TABLE_LIKE | TABLE_SINGLE,
    .size = sizeof(struct cost_device),
    .keys = list_keys,
    .read = read_device,
};

/* ---- as a file ---- */

static void write_datasheet(const struct cost_device *device, struct text *out)
{
    const char *separator = "";
    text_format(out, "units: %d\nlanes: %d\nclock: %.10g\npeak: {", device->units, device->lanes,
                device->clock);
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        if (device->peak[t] > 0) {
            text_format(out, "%s%s: %.10g", separator, cost_type_name((enum cost_type)t), device->peak[t]);
            separator = ", ";
        }
    text_format(out, "}\nbandwidth: %.10g\nmemory: %" PRId64 "\nl2: %" PRId64 "\n", device->bandwidth,
                device->memory, device->l2);
    text_format(out, "launch: %.10g\nstream_efficiency: %.10g\nstream_half: %.10g\n", device->launch,
                device->stream_efficiency, device->stream_half);
}

static void write_parameters(const struct gemm_parameters *gemm, enum cost_type type, struct text *out)
{
    const char *separator = "";
    text_format(out, "  %s: {", cost_type_name(type));
#define X(parameter, text, least, most)                                                                      \
    text_format(out, "%s" #parameter ": %.6g", separator, gemm->parameter);                                  \
    separator = ", ";
    GEMM_PARAMETERS(X)
#undef X
    text_add(out, "}\n");
}

void cost_device_write(const struct cost_device *device, struct text *out)
{
    text_format(out, "format: %s\n", cost_device_kind.format);
    table_write_text(out, "name", device->name);
    table_write_text(out, "title", device->title);
    table_write_text(out, "generation", device->generation);
    table_write_text(out, "capability", device->capability);
    write_datasheet(device, out);
    table_write_text(out, "link", device->link);
    table_write_text(out, "source", device->source);
    text_add(out, "gemm:\n");
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        if (device->gemm_own[t])
            write_parameters(&device->gemm[t], (enum cost_type)t, out);
    table_write_text(out, "fitted", device->fitted);
}
