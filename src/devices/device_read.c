#include "devices/device_read.h"

#include "core/doc.h"
#include "core/text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define FORMAT "rehearse-devices/1"

/* Wide enough for anything real, narrow enough that no product of them overflows. */
#define UNITS_MOST  100000
#define LANES_MOST  100000
#define CLOCK_LEAST 1e6
#define CLOCK_MOST  1e12
#define RATE_LEAST  1e6 /* bytes/s, flop/s */
#define RATE_MOST   1e21
#define BYTES_MOST  0x1p53
#define TIME_MOST   1.0 /* seconds; of one launch */

struct reader {
    struct cost_device_table *table;
    const struct cost_device_table *known;
    const struct doc *doc;
    struct error *err;
};

/* ---- names ---- */

const char *device_nearest(const struct cost_device_table *first, const struct cost_device_table *second,
                           const char *name)
{
    const struct cost_device_table *tables[] = {first, second};
    const char *names[2 * DEVICE_MOST];
    size_t count = 0;
    for (size_t t = 0; t < 2; t++)
        for (int i = 0; tables[t] && i < tables[t]->count; i++)
            names[count++] = tables[t]->devices[i].name;
    return text_nearest(name, names, count);
}

static const struct cost_device *find(const struct reader *r, const char *name)
{
    const struct cost_device *device = cost_device_in(r->table, name);
    return device ? device : cost_device_in(r->known, name);
}

static bool copy_text(struct reader *r, const struct doc_node *node, const char **value)
{
    const char *text;
    if (!doc_string(r->doc, node, &text, r->err))
        return false;
    *value = arena_string(&r->table->arena, text);
    return *value ? true : error_memory(r->err);
}

static bool read_text(struct reader *r, const struct doc_node *map, const char *key, const char **value)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || copy_text(r, node, value);
}

/* A name by which a device is found: of a length that tables can show, and not taken in this file. */
static bool read_name(struct reader *r, const struct doc_node *node, const char **name)
{
    if (!copy_text(r, node, name))
        return false;
    if (strlen(*name) > DEVICE_NAME_MOST)
        return doc_error(r->doc, node, r->err, "expected at most %d characters", DEVICE_NAME_MOST);
    if (cost_device_in(r->table, *name))
        return doc_error(r->doc, node, r->err, "'%s' is the name of another device above", *name);
    return true;
}

static bool read_aliases(struct reader *r, const struct doc_node *map, struct cost_device *device)
{
    const struct doc_node *list = doc_find(map, "aliases");
    if (!list)
        return true;
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count > DEVICE_ALIAS_MOST)
        return doc_error(r->doc, list, r->err, "expected at most %d aliases", DEVICE_ALIAS_MOST);
    device->aliases = ARENA_ARRAY(&r->table->arena, list->count, const char *);
    if (!device->aliases)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_name(r, node, &device->aliases[device->alias_count++]))
            return false;
    return true;
}

/* ---- numbers: each may be left out where `like` gave it ---- */

static bool missing(struct reader *r, const struct doc_node *map, const char *key, bool had)
{
    return had || doc_need(r->doc, map, key, r->err);
}

static bool read_quantity(struct reader *r, const struct doc_node *map, const char *key, enum unit_kind kind,
                          double least, double most, double *value)
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

static bool read_bytes(struct reader *r, const struct doc_node *map, const char *key, int64_t *bytes)
{
    double value = (double)*bytes;
    if (!read_quantity(r, map, key, UNIT_BYTES, 1, BYTES_MOST, &value))
        return false;
    *bytes = (int64_t)value;
    return true;
}

static bool read_number(struct reader *r, const struct doc_node *map, const char *key, double least,
                        double most, double *value)
{
    const struct doc_node *node = doc_find(map, key);
    return node ? doc_number(r->doc, node, least, most, value, r->err) : missing(r, map, key, *value > 0);
}

static bool read_count(struct reader *r, const struct doc_node *map, const char *key, int most, int *value)
{
    const struct doc_node *node = doc_find(map, key);
    int64_t number = *value;
    if (!node)
        return missing(r, map, key, *value > 0);
    if (!doc_integer(r->doc, node, 1, most, &number, r->err))
        return false;
    *value = (int)number;
    return true;
}

/* ---- peaks and fitted parameters, by type ---- */

static bool read_type(struct reader *r, const struct doc_node *node, enum cost_type *type)
{
    const char *names[COST_TYPE_COUNT];
    if (cost_type_find(node->key, type))
        return true;
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        names[t] = cost_type_name((enum cost_type)t);
    return doc_only_keys(r->doc, node->parent, names, COST_TYPE_COUNT, r->err);
}

/* As a whole: what is not named the device cannot. */
static bool read_peaks(struct reader *r, const struct doc_node *map, struct cost_device *device)
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
            !read_quantity(r, peaks, node->key, UNIT_COMPUTE, RATE_LEAST, RATE_MOST, &device->peak[type]))
            return false;
    }
    return missing(r, peaks, "fp32", device->peak[COST_FP32] > 0);
}

static bool read_gemm_of_type(struct reader *r, const struct doc_node *map, struct gemm_parameters *gemm)
{
    static const char *const keys[] = {
#define X(name, text, least, most) #name,
        GEMM_PARAMETERS(X)
#undef X
    };
    if (!doc_is_map(r->doc, map, r->err) ||
        !doc_only_keys(r->doc, map, keys, sizeof keys / sizeof *keys, r->err))
        return false;
#define X(name, text, least, most)                                                                           \
    if (!read_number(r, map, #name, least, most, &gemm->name))                                               \
        return false;
    GEMM_PARAMETERS(X)
#undef X
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

static bool read_gemm(struct reader *r, const struct doc_node *map, struct cost_device *device, bool like)
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

static bool read_like(struct reader *r, const struct doc_node *map, struct cost_device *device, bool *like)
{
    const struct doc_node *node = doc_find(map, "like");
    const char *name;
    *like = node;
    if (!node)
        return true;
    if (!doc_string(r->doc, node, &name, r->err))
        return false;
    const struct cost_device *other = find(r, name);
    if (!other) {
        const char *nearest = device_nearest(r->table, r->known, name);
        return nearest
                   ? doc_error(r->doc, node, r->err, "unknown device '%s', did you mean '%s'?", name, nearest)
                   : doc_error(r->doc, node, r->err, "unknown device '%s'", name);
    }
    *device = *other;
    device->title = NULL;
    device->alias_count = 0;
    device->aliases = NULL;
    device->fitted = NULL;
    device->source = NULL;
    return true;
}

static bool read_texts(struct reader *r, const struct doc_node *map, struct cost_device *device)
{
    if (!read_text(r, map, "title", &device->title) ||
        !read_text(r, map, "generation", &device->generation) ||
        !read_text(r, map, "capability", &device->capability) || !read_text(r, map, "link", &device->link) ||
        !read_text(r, map, "source", &device->source) || !read_text(r, map, "fitted", &device->fitted))
        return false;
    if (!device->title)
        device->title = device->name;
    return missing(r, map, "generation", device->generation);
}

static bool read_datasheet(struct reader *r, const struct doc_node *map, struct cost_device *device)
{
    return read_count(r, map, "units", UNITS_MOST, &device->units) &&
           read_count(r, map, "lanes", LANES_MOST, &device->lanes) &&
           read_number(r, map, "clock", CLOCK_LEAST, CLOCK_MOST, &device->clock) &&
           read_peaks(r, map, device) &&
           read_quantity(r, map, "bandwidth", UNIT_RATE, RATE_LEAST, RATE_MOST, &device->bandwidth) &&
           read_bytes(r, map, "memory", &device->memory) && read_bytes(r, map, "l2", &device->l2);
}

static bool read_fitted(struct reader *r, const struct doc_node *map, struct cost_device *device, bool like)
{
    return read_quantity(r, map, "launch", UNIT_TIME, 1e-9, TIME_MOST, &device->launch) &&
           read_number(r, map, "stream_efficiency", 0.01, 2, &device->stream_efficiency) &&
           read_quantity(r, map, "stream_half", UNIT_BYTES, 1, BYTES_MOST, &device->stream_half) &&
           read_gemm(r, map, device, like);
}

static bool read_device(struct reader *r, const struct doc_node *map, struct cost_device *device)
{
    static const char *const keys[] = {
        "format",
        "name",
        "like",
        "title",
        "aliases",
        "generation",
        "capability",
        "units",
        "lanes",
        "clock",
        "peak",
        "bandwidth",
        "memory",
        "l2",
        "launch",
        "link",
        "stream_efficiency",
        "stream_half",
        "gemm",
        "source",
        "fitted",
    };
    bool like;
    if (!doc_is_map(r->doc, map, r->err) ||
        !doc_only_keys(r->doc, map, keys, sizeof keys / sizeof *keys, r->err))
        return false;
    const struct doc_node *name = doc_need(r->doc, map, "name", r->err);
    return name && read_like(r, map, device, &like) && read_name(r, name, &device->name) &&
           read_aliases(r, map, device) && read_texts(r, map, device) && read_datasheet(r, map, device) &&
           read_fitted(r, map, device, like);
}

/* ---- a file: one device, or a list of them ---- */

static bool read_list(struct reader *r, const struct doc_node *root, const struct doc_node *list)
{
    static const char *const keys[] = {"format", "devices"};
    if (!doc_only_keys(r->doc, root, keys, 2, r->err) || !doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count < 1 || list->count > DEVICE_MOST)
        return doc_error(r->doc, list, r->err, "expected from 1 to %d devices, found %u", DEVICE_MOST,
                         list->count);
    r->table->devices = ARENA_ARRAY(&r->table->arena, list->count, struct cost_device);
    if (!r->table->devices)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        /* counted when it is whole: until then it is no name for those below */
        if (!read_device(r, node, &r->table->devices[r->table->count]))
            return false;
        r->table->count++;
    }
    return true;
}

static bool read_root(struct reader *r)
{
    const struct doc_node *root = r->doc->root;
    if (!doc_is_map(r->doc, root, r->err) || !doc_is_format(r->doc, root, FORMAT, r->err))
        return false;
    const struct doc_node *list = doc_find(root, "devices");
    if (list)
        return read_list(r, root, list);
    r->table->devices = ARENA_NEW(&r->table->arena, struct cost_device);
    if (!r->table->devices)
        return error_memory(r->err);
    if (!read_device(r, root, r->table->devices))
        return false;
    r->table->count = 1;
    return true;
}

static bool from_doc(struct cost_device_table *table, const struct cost_device_table *known, struct doc *doc,
                     struct error *err)
{
    struct reader r = {table, known, doc, err};
    bool done = read_root(&r);
    doc_release(doc);
    if (!done)
        cost_device_release(table);
    return done;
}

bool device_read(struct cost_device_table *table, const struct cost_device_table *known, const char *path,
                 const char *data, size_t length, struct error *err)
{
    struct doc doc;
    bool json = text_ends_with(path, ".json");
    return doc_parse(&doc, json ? DOC_JSON : DOC_YAML, path, data, length, err) &&
           from_doc(table, known, &doc, err);
}

bool device_read_file(struct cost_device_table *table, const struct cost_device_table *known,
                      const char *path, struct error *err)
{
    struct doc doc;
    return doc_load(&doc, path, err) && from_doc(table, known, &doc, err);
}
