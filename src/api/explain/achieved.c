/* What matrix products achieved, beside what the cost model says. */
#include "explain/achieved.h"
#include "api/explain/explain.h"
#include "devices/tables.h"

#include <inttypes.h>
#include <math.h>

#define MAX_PRODUCTS      12 /* in the table for people */
#define MAX_JSON_PRODUCTS 1000
#define KERNEL_WIDTH      48

struct achieved {
    const struct explain *explain;
    struct table table;               /* of --device */
    const struct cost_device *device; /* NULL: unknown */
    const char *name;                 /* NULL: neither the trace nor an option names it */
    const char *other;                /* of the trace, if it is not `device`; else NULL */
    int64_t compute, sized;           /* ns, of all compute kernels, and of those in the list */
};

static int64_t compute_time(const struct explain *explain)
{
    int64_t sum = 0;
    for (size_t i = 0; i < explain->name_count; i++)
        sum += explain->names[i].class == REPLAY_COMPUTE ? explain->names[i].total : 0;
    return sum;
}

static void print_product(const struct explain_product *product, const struct cost_device *device,
                          struct text *out)
{
    const struct explain_achieved achieved = explain_achieved_of(product, device);
    const struct product_size *size = &product->size;
    text_format(out, "%10.3f  %6zu  %8.2f  ", (double)product->total / 1e6, product->count,
                achieved.flops / 1e12);
    if (isnan(achieved.bytes))
        text_format(out, "%6s  ", "?");
    else
        text_format(out, "%6.0f  ", achieved.bytes / 1e9);
    if (isnan(achieved.cost))
        text_format(out, "%8s  ", "?");
    else
        text_format(out, "%6.0f %%  ", 100 * achieved.cost / achieved.seconds);
    text_format(out, "%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64 " %s  ", size->batch, size->m,
                size->n, size->k, achieved.format);
    explain_tell_name(product->kernel, KERNEL_WIDTH, out);
    text_add(out, "\n");
}

static void print_achieved(const struct achieved *achieved, struct text *out)
{
    const struct explain *explain = achieved->explain;
    if (explain->product_count == 0)
        return;
    text_add(out, "\nmatrix products whose sizes the trace tells; ");
    if (achieved->device)
        text_format(out, "100 %%: as fast as 'rehearse cost' says of %s%s%s\n", achieved->device->name,
                    achieved->other ? ", though they ran on " : "", achieved->other ? achieved->other : "");
    else if (achieved->name)
        text_format(out, "device '%s' is not known: --device says what it is like\n", achieved->name);
    else
        text_add(out, "the trace names no device: --device says which\n");
    text_format(out, "%10s  %6s  %8s  %6s  %8s  %s\n", "total (ms)", "count", "TFLOP/s", "GB/s", "of cost",
                "batch x m x n x k, kernel");
    for (size_t i = 0; i < explain->product_count && i < MAX_PRODUCTS; i++)
        print_product(&explain->products[i], achieved->device, out);
    explain_tell_rest(explain->product_count, MAX_PRODUCTS, out);
    if (achieved->compute > achieved->sized)
        text_format(out, "%10.3f  of %.3f ms of compute kernels tell no sizes\n",
                    (double)(achieved->compute - achieved->sized) / 1e6, (double)achieved->compute / 1e6);
}

static void write_achieved(const struct achieved *all, struct json *json)
{
    const struct explain *explain = all->explain;
    json_open(json, "achieved", '{');
    json_string(json, "device_told", all->name);
    json_string(json, "device_traced", explain->device);
    json_string(json, "device", all->device ? all->device->name : NULL);
    json_number(json, "compute", (double)all->compute / 1e9);
    json_number(json, "sized", (double)all->sized / 1e9);
    json_open(json, "products", '[');
    for (size_t i = 0; i < explain->product_count && i < MAX_JSON_PRODUCTS; i++) {
        const struct explain_product *product = &explain->products[i];
        const struct explain_achieved achieved = explain_achieved_of(product, all->device);
        json_open_flat(json, NULL, '{');
        json_integer(json, "batch", product->size.batch);
        json_integer(json, "m", product->size.m);
        json_integer(json, "n", product->size.n);
        json_integer(json, "k", product->size.k);
        json_string(json, "type", achieved.format);
        json_string(json, "kernel", product->kernel);
        json_integer(json, "count", (int64_t)product->count);
        json_number(json, "seconds", (double)product->total / 1e9);
        json_number(json, "flops_per_second", achieved.flops);
        json_number(json, "bytes_per_second", achieved.bytes);
        json_number(json, "cost_seconds", achieved.cost);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

bool explain_add_achieved(const struct explain *explain, const char *device, struct text *out,
                          struct json *json, struct error *err)
{
    struct achieved achieved = {
        .explain = explain, .name = device ? device : explain->device, .compute = compute_time(explain)};
    if (!tables_ready(err))
        return false;
    if (device && !tables_load(NULL, TABLE_DEVICES, &achieved.table, device, err))
        return false;
    if (device) {
        const struct cost_device *told = explain->device ? tables_device(NULL, explain->device) : NULL;
        achieved.device = &achieved.table.devices[0];
        achieved.other = told && strcmp(told->name, achieved.device->name) != 0 ? explain->device : NULL;
    } else if (achieved.name) {
        achieved.device = tables_device(NULL, achieved.name);
    }
    for (size_t i = 0; i < explain->product_count; i++)
        achieved.sized += explain->products[i].total;
    print_achieved(&achieved, out);
    write_achieved(&achieved, json);
    if (device)
        table_release(&achieved.table);
    return true;
}
