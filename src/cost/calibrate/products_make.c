/* products-make FOLDER: prints data/products.txt from the measured tables in FOLDER. scripts/learn-products runs it.
 *
 * A program of its own: its numbers are ratios to today's formula, with today's parameters, in the same build. */
#include "core/csv.h"
#include "core/statistics.h"
#include "core/text.h"
#include "cost/calibrate/samples.h"
#include "cost/gemm.h"
#include "devices/measured/products.h"
#include "devices/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 8

/* A part of a table. Lines have a character for each device. */
static const struct part {
    enum cost_type type;
    const char *file, *source;
    double launch; /* seconds that each time has more than the product */
    struct {
        const char *name, *cell;
        double launch; /* besides the part's */
    } devices[MAX_DEVICES];
} parts[] = {
#define XLA "openxla/xla matmul_perf_table (Apache-2.0), read in 2026-08; launches taken off"
    {COST_TF32,
     "matmul_perf_table.csv",
     XLA,
     0,
     {{"h100-sxm", "sm_90", 2.7e-6}, {"b200", "sm_100_B200", 3.1e-6}}},
    {COST_FP32,
     "gemm_neusight_fp32.csv.gz",
     "NeuSight's test set (MIT), ASPLOS 2025: PyTorch 2.1; 20 us of its launches taken off",
     20e-6,
     {{"p100", "Tesla P100-PCIE-16GB", 0},
      {"p4", "Tesla P4", 0},
      {"v100-pcie-32gb", "Tesla V100-PCIE-32GB", 0},
      {"t4", "Tesla T4", 0},
      {"a100-pcie-40gb", "NVIDIA A100-PCIE-40GB", 0},
      {"a100-pcie-80gb", "NVIDIA A100 80GB PCIe", 0},
      {"l4", "NVIDIA L4", 0},
      {"h100-sxm", "NVIDIA H100 80GB HBM3", 0}}},
};

/* A measured shape of one device. */
struct shape {
    int64_t batch, n, k, m;
    int device;
    double log_ratio;
};

struct shapes {
    struct shape *list;
    int count;
};

static const char head[] =
    "# Products of matrices, as rehearse reads them: table 1.\n"
    "# Measured matrix products, as what they take of the time that the formula of src/cost/gemm.c computes: "
    "a character for each\n"
    "# measured shape, a blank where none was measured. src/devices/measured/products.c reads it. Made by "
    "scripts/learn-products.\n"
    "# Rows are \"batch m n k\" with characters by device.\n";

static int by_line(const struct shape *a, const struct shape *b)
{
    int order = order_of(a->batch, b->batch);
    order = order ? order : order_of(a->m, b->m);
    order = order ? order : order_of(a->n, b->n);
    return order ? order : order_of(a->k, b->k);
}

static int by_shape(const void *a, const void *b)
{
    const struct shape *x = a, *y = b;
    int order = by_line(x, y);
    return order ? order : order_of(x->device, y->device);
}

/* Rows of one shape, such as those of two formats of 8 bits, become their mean. */
static void merge(struct shapes *shapes)
{
    int kept = 0, same = 0;
    for (int i = 0; i < shapes->count; i++) {
        struct shape *last = kept ? &shapes->list[kept - 1] : NULL;
        if (!last || by_shape(last, &shapes->list[i]) != 0) {
            shapes->list[kept++] = shapes->list[i];
            same = 1;
        } else {
            last->log_ratio += (shapes->list[i].log_ratio - last->log_ratio) / ++same;
        }
    }
    shapes->count = kept;
}

static bool add_device(struct shapes *shapes, const struct part *part, int index, const struct csv *csv,
                       struct error *err)
{
    const struct cost_device *device = tables_device(NULL, part->devices[index].name);
    double launch = part->launch + part->devices[index].launch;
    struct gemm_samples samples;
    if (!device)
        return error_set(err, ERROR_INPUT, "unknown device '%s'", part->devices[index].name);
    if (!gemm_samples_read(&samples, csv, part->devices[index].cell, part->type, err))
        return false;
    for (int i = 0; i < samples.count; i++) {
        const struct gemm_sample *s = &samples.samples[i];
        if (s->type != part->type || s->seconds < 1.25 * launch)
            continue;
        double seconds = gemm_time(device, s->type, s->size).seconds;
        shapes->list[shapes->count++] = (struct shape){
            s->size.batch, s->size.n, s->size.k, s->size.m, index, log((s->seconds - launch) / seconds)};
    }
    gemm_samples_release(&samples);
    return true;
}

/* ---- text ---- */

static void add_line(struct text *out, const struct shape *s, const char *codes, int count)
{
    while (count > 0 && codes[count - 1] == PRODUCT_NONE)
        count--;
    text_format(out, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\t%.*s\n", s->batch, s->m, s->n, s->k,
                count, codes);
}

static void add_part(struct text *out, const struct part *part, const struct shapes *shapes, int devices)
{
    char codes[MAX_DEVICES];
    text_format(out, "\nproducts %s\nsource %s\ndevices", cost_type_name(part->type), part->source);
    for (int i = 0; i < devices; i++)
        text_format(out, " %s", part->devices[i].name);
    text_add(out, "\nrows\n");
    for (int i = 0; i < shapes->count;) {
        const struct shape *first = &shapes->list[i];
        memset(codes, PRODUCT_NONE, sizeof codes);
        for (; i < shapes->count && by_line(first, &shapes->list[i]) == 0; i++)
            codes[shapes->list[i].device] = product_encode(shapes->list[i].log_ratio);
        add_line(out, first, codes, devices);
    }
}

static bool make_part(struct text *out, const struct part *part, const char *folder, struct error *err)
{
    struct text path = {0};
    struct csv csv;
    text_format(&path, "%s/%s", folder, part->file);
    bool done = !path.failed && csv_load(&csv, path.data, err);
    text_release(&path);
    if (!done)
        return false;
    struct shapes shapes = {calloc((size_t)csv.row_count * MAX_DEVICES + 1, sizeof *shapes.list), 0};
    int devices = 0;
    done = shapes.list || error_memory(err);
    for (; done && devices < MAX_DEVICES && part->devices[devices].name; devices++)
        done = add_device(&shapes, part, devices, &csv, err);
    if (done) {
        qsort(shapes.list, (size_t)shapes.count, sizeof *shapes.list, by_shape);
        merge(&shapes);
        add_part(out, part, &shapes, devices);
    }
    free(shapes.list);
    csv_release(&csv);
    return done;
}

int main(int count, char **arguments)
{
    struct text out = {0};
    struct error err;
    bool made = count == 2 || error_set(&err, ERROR_USAGE, "expected the folder of tables");
    text_add(&out, head);
    for (size_t i = 0; made && i < sizeof parts / sizeof *parts; i++)
        made = make_part(&out, &parts[i], arguments[1], &err);
    if (made)
        made =
            (!out.failed && fwrite(out.data, 1, out.length, stdout) == out.length && fflush(stdout) == 0) ||
            error_set(&err, ERROR_FAILED, "cannot write");
    if (!made)
        fprintf(stderr, "products-make: %s\n", err.text);
    text_release(&out);
    return made ? EXIT_SUCCESS : EXIT_FAILURE;
}
