#include "devices/device.h"

#include "devices/product_name.h"

#include <string.h>

/* Wide enough for anything real, narrow enough that no product of them overflows. */
#define MAX_UNITS 100000
#define MAX_LANES 100000
#define MAX_WATTS 1e6
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

struct usual_node usual_node(const struct cost_device *device)
{
    return (struct usual_node){device->node > 0 ? device->node : 8,
                               device->across ? device->across : "ib-400g"};
}

/* ---- peaks and fitted parameters, by type ---- */

/* A map with types as keys. */
static bool is_by_type(struct table_reader *r, const struct doc_node *map)
{
    const char *names[COST_TYPE_COUNT];
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        names[t] = types[t].name;
    return doc_is_map(r->doc, map, r->err) && doc_only_keys(r->doc, map, names, COST_TYPE_COUNT, r->err);
}

/* Given as a whole: the device does not multiply types that are not named. */
static bool read_peaks(struct table_reader *r, const struct doc_node *map, struct cost_device *device)
{
    const struct doc_node *peaks = doc_find(map, "peak");
    if (!peaks)
        return device->peak[COST_FP32] > 0 || doc_need(r->doc, map, "peak", r->err);
    if (!is_by_type(r, peaks))
        return false;
    memset(device->peak, 0, sizeof device->peak);
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        const struct field field = {types[t].name, 0, FIELD_COMPUTE, MIN_RATE, MAX_RATE, NULL, NULL};
        if ((t == COST_FP32 || doc_find(peaks, field.key)) &&
            !field_read(&device->peak[t], &field, r->doc, peaks, r->err))
            return false;
    }
    return true;
}

/* The types whose parameters a type without its own takes, the nearest first: tensor cores differ less between types
 * than between generations. */
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

static const struct field gemm_fields[] = {
#define X(name, text, min, max) FIELD(struct gemm_parameters, name, FIELD_DOUBLE, min, max),
    GEMM_PARAMETERS(X)
#undef X
};
#define GEMM_FIELDS (sizeof gemm_fields / sizeof *gemm_fields)

static bool read_gemm(struct table_reader *r, const struct doc_node *map, struct cost_device *device)
{
    const struct doc_node *gemm = doc_find(map, "gemm");
    if (!gemm) /* those of the device that `like` names */
        return device->gemm_own[COST_BF16] || device->gemm_own[COST_FP16] ||
               doc_need(r->doc, map, "gemm", r->err);
    if (!is_by_type(r, gemm))
        return false;
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        const struct doc_node *node = doc_find(gemm, types[t].name);
        if (node && !fields_read(&device->gemm[t], gemm_fields, GEMM_FIELDS, r->doc, node, r->err))
            return false;
        device->gemm_own[t] |= node != NULL;
    }
    if (!device->gemm_own[COST_BF16] && !device->gemm_own[COST_FP16])
        return doc_error(r->doc, gemm, r->err, "expected parameters of bf16 or fp16");
    device_fill_types(device);
    return true;
}

/* ---- a device ---- */

static const struct field device_fields[] = {
#define X(type, name, text, min, max) FIELD(struct cost_device, name, FIELD_##type, min, max),
    DEVICE_MEMBERS(X)
#undef X
        {.key = "peak", .type = FIELD_OTHER},
    {.key = "gemm", .type = FIELD_OTHER},
};

static bool read_device(struct table_reader *r, const struct doc_node *map, void *entry)
{
    return read_peaks(r, map, entry) && read_gemm(r, map, entry);
}

/* PCI Express 5.0 (80 % of 63 GB/s), where a device does not say more. */
static const struct cost_device initial = {.host_bandwidth = 50e9};

const struct table_kind cost_device_kind = {
    .format = "rehearse-devices/1",
    .noun = "device",
    .list = "devices",
    .parts = TABLE_TITLED | TABLE_ALIASED | TABLE_SOURCED | TABLE_FITTED | TABLE_LIKE | TABLE_SINGLE,
    .size = sizeof(struct cost_device),
    .initial = &initial,
    .fields = device_fields,
    .field_count = sizeof device_fields / sizeof *device_fields,
    .may_mean = product_may_mean,
    .read = read_device,
};

/* ---- as a file ---- */

void cost_device_write(const struct cost_device *device, struct text *out)
{
    const char *separator = "";
    table_write_entry(out, &cost_device_kind, device);
    text_add(out, "peak: {");
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        if (device->peak[t] > 0) {
            text_format(out, "%s%s: %.10g", separator, types[t].name, device->peak[t]);
            separator = ", ";
        }
    text_add(out, "}\n");
    table_write_text(out, "source", device->source);
    text_add(out, "gemm:\n");
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        if (!device->gemm_own[t])
            continue;
        text_format(out, "  %s: {", types[t].name);
        for (size_t i = 0; i < GEMM_FIELDS; i++)
            text_format(out, "%s%s: %.6g", i > 0 ? ", " : "", gemm_fields[i].key,
                        field_get(&device->gemm[t], &gemm_fields[i]));
        text_add(out, "}\n");
    }
    table_write_text(out, "fitted", device->fitted);
}
