#include "explain/achieved.h"

#include "core/statistics.h"
#include "core/vector.h"
#include "cost/gemm_near.h"
#include "names.h"
#include "sim/replay/products.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool explain_product_type(const char *type, const char *kernel, enum cost_type *format)
{
    static const struct {
        const char *name;
        enum cost_type format;
    } types[] = {ROWS_torch_type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0) {
            bool tf32 =
                types[i].format == COST_FP32 &&
                (strstr(kernel, "tf32") || strstr(kernel, "s1688gemm")); /* CUTLASS: of tensor cores */
            *format = tf32 ? COST_TF32 : types[i].format;
            return true;
        }
    *format = COST_FP8;
    return strncmp(type, "c10::Float8", 11) == 0 || strncmp(type, "Float8", 6) == 0;
}

struct explain_achieved explain_achieved_of(const struct explain_product *product,
                                            const struct cost_device *device)
{
    const struct product_size *size = &product->size;
    double m = (double)size->m, n = (double)size->n, k = (double)size->k;
    struct explain_achieved achieved = {
        .seconds = (double)product->total / 1e9 / (double)product->count, .cost = NAN, .bytes = NAN};
    enum cost_type format;
    achieved.flops = product_flops(size) / achieved.seconds;
    achieved.format = product->type;
    if (!explain_product_type(product->type, product->kernel, &format))
        return achieved;
    achieved.format = cost_type_name(format);
    achieved.bytes =
        (double)size->batch * (m * k + k * n + m * n) * cost_type_bytes(format) / achieved.seconds;
    if (device)
        achieved.cost = gemm_time_near(device, cost_device_type(device, format), *size, 0, NULL).seconds;
    return achieved;
}

/* ---- while ranks are read ---- */

/* Most of what an operation launches may be copies and element-wise work beside a small product. */
static bool is_product(const struct replay *replay, const struct replay_product *product)
{
    const struct kernel_rule *rule = replay->rules ? replay->rules[product->kernel] : NULL;
    return !rule || (rule->class != CLASS_ELEMENTWISE && rule->class != CLASS_LAYOUT);
}

static bool add(struct explain *explain, const struct replay *replay, const struct replay_product *product,
                struct error *err)
{
    const struct product_size *size = &product->size;
    int64_t key[] = {size->batch, size->m, size->n, size->k, 0, 0};
    struct explain_product made = {*size, arena_string(&explain->arena, replay->texts[product->type]),
                                   arena_string(&explain->arena, replay->texts[product->kernel]), 0, 0};
    bool added;
    if (!made.type || !made.kernel)
        return error_memory(err);
    key[4] = (int64_t)hash_bytes(0, made.type, strlen(made.type));
    key[5] = (int64_t)hash_bytes(0, made.kernel, strlen(made.kernel));
    uint32_t id = hash_names_id(&explain->product_ids, key, sizeof key, &added);
    if (id == 0 ||
        (added && !VECTOR_ADD(explain->products, explain->product_count, explain->product_capacity, made)))
        return error_memory(err);
    explain->products[id - 1].count += product->count;
    explain->products[id - 1].total += product->total;
    return true;
}

bool explain_products_add(struct explain *explain, const struct replay *replay, struct error *err)
{
    struct replay_product *list;
    size_t count;
    for (size_t i = 0; !explain->device && i < replay->device_count; i++)
        if (replay->devices[i].name > 0) {
            explain->device = arena_string(&explain->arena, replay->texts[replay->devices[i].name]);
            if (!explain->device)
                return error_memory(err);
        }
    if (!replay_products(replay, &list, &count, err))
        return false;
    bool done = true;
    for (size_t i = 0; done && i < count; i++)
        done = !is_product(replay, &list[i]) || add(explain, replay, &list[i], err);
    free(list);
    return done;
}

static int by_product_total(const void *a, const void *b)
{
    const struct explain_product *first = a, *second = b;
    int order = order_of(second->total, first->total);
    order = order ? order : order_of(second->size.m, first->size.m);
    return order ? order : strcmp(first->kernel, second->kernel);
}

bool explain_products_sort(struct explain *explain, struct error *err)
{
    return sort_items(explain->products, explain->product_count, sizeof *explain->products, by_product_total,
                      err);
}
