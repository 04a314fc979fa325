#include "cli/cost/explain.h"

#include "cli/cost/interval.h"
#include "core/unit.h"
#include "devices/calibration.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPCODES 4 /* of a kernel that are named */

enum pass { PASS_FORWARD, PASS_BACKWARD };

static const char *const pass_names[] = {"forward", "backward"};

/* Kernels that are alike. */
struct row {
    enum pass pass;
    const char *what;        /* "gemm 1024 x 768 x 768 tf32 + add" */
    const char *instruction; /* the first one's hero */
    double count;            /* how often it runs */
    double flops, bytes, seconds;
    const char *bound;
};

struct rows {
    struct arena arena;
    struct row *rows;
    int count;
    double seconds[2];        /* of the passes */
    struct interval interval; /* as shares of times */
    bool failed;
};

/* ---- what a kernel is called ---- */

/* " + add, erf": opcodes of its instructions but the hero of a product, each once. */
static void add_opcodes(struct text *text, const struct fused_kernel *kernel)
{
    bool product = kernel->kernel.kind != KERNEL_STREAM;
    int named = 0;
    for (int i = product ? 1 : 0; i < kernel->count && kernel->count > 1; i++) {
        enum hlo_opcode opcode = kernel->instructions[i]->opcode;
        bool seen = false;
        for (int before = product ? 1 : 0; before < i && !seen; before++)
            seen = kernel->instructions[before]->opcode == opcode;
        if (seen)
            continue;
        if (named++ == MAX_OPCODES) {
            text_add(text, ", ...");
            return;
        }
        text_add(text, named > 1 ? ", " : product ? " + " : ": ");
        text_add(text, hlo_opcode_name(opcode));
    }
}

static const char *name_of(struct rows *rows, const struct fused_kernel *fused, enum cost_type type)
{
    const struct kernel *kernel = &fused->kernel;
    struct text text = {0};
    text_add(&text, kernel->name);
    if (kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION) {
        text_add(&text, " ");
        if (kernel->batch > 1)
            text_format(&text, "%" PRId64 " x ", kernel->batch);
        text_format(&text, "%" PRId64 " x %" PRId64 " x %" PRId64 " %s", kernel->m, kernel->n, kernel->k,
                    cost_type_name(type));
    }
    add_opcodes(&text, fused);
    const char *name = text.failed ? NULL : arena_string(&rows->arena, text.data);
    text_release(&text);
    rows->failed |= !name;
    return name ? name : "";
}

/* ---- rows ---- */

static void add_row(struct rows *rows, const struct row *row)
{
    rows->rows[rows->count++] = *row;
    rows->seconds[row->pass] += row->seconds;
}

static void add_pass(struct rows *rows, const struct cost_explain *explain, const struct cost_device *device,
                     enum pass pass)
{
    const struct fused *fused = pass == PASS_FORWARD ? &explain->layer->forward : &explain->layer->backward;
    for (int i = 0; i < fused->kernel_count; i++) {
        const struct fused_kernel *kernel = &fused->kernels[i];
        struct kernel_time time = layer_kernel_time(&kernel->kernel, device, explain->options);
        add_row(rows, &(struct row){
                          .pass = pass,
                          .what = name_of(rows, kernel,
                                          layer_kernel_type(&kernel->kernel, device, explain->options)),
                          .instruction = kernel->instructions[0]->name,
                          .count = kernel->kernel.repeats,
                          .flops = time.flops,
                          .bytes = time.bytes,
                          .seconds = time.seconds,
                          .bound = kernel_bound_name(time.bound),
                      });
    }
    for (int i = 0; i < fused->transfer_count; i++) {
        const struct fused_transfer *transfer = &fused->transfers[i];
        const char *name = arena_format(&rows->arena, "%s, %" PRId64 " devices",
                                        hlo_opcode_name(transfer->instruction->opcode), transfer->group);
        rows->failed |= !name;
        add_row(rows, &(struct row){
                          .pass = pass,
                          .what = name ? name : "",
                          .instruction = transfer->instruction->name,
                          .count = transfer->repeats,
                          .bytes = transfer->repeats * transfer->bytes,
                          .seconds = layer_transfer_seconds(transfer, device, explain->options),
                          .bound = "link",
                      });
    }
}

static int compare_number(double a, double b)
{
    return (a > b) - (a < b);
}

/* Rows that are alike side by side. */
static int by_kind(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = (x->pass > y->pass) - (x->pass < y->pass);
    if (!order)
        order = strcmp(x->what, y->what);
    if (!order)
        order = compare_number(x->bytes / x->count, y->bytes / y->count);
    if (!order)
        order = compare_number(x->seconds / x->count, y->seconds / y->count);
    return order ? order : strcmp(x->instruction, y->instruction);
}

static int by_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = compare_number(y->seconds, x->seconds);
    return order ? order : by_kind(a, b);
}

static bool alike(const struct row *a, const struct row *b)
{
    return a->pass == b->pass && strcmp(a->what, b->what) == 0 &&
           a->bytes / a->count == b->bytes / b->count && a->seconds / a->count == b->seconds / b->count;
}

static void merge(struct rows *rows)
{
    int kept = 0;
    qsort(rows->rows, (size_t)rows->count, sizeof *rows->rows, by_kind);
    for (int i = 0; i < rows->count; i++) {
        struct row *last = kept ? &rows->rows[kept - 1] : NULL;
        if (!last || !alike(last, &rows->rows[i])) {
            rows->rows[kept++] = rows->rows[i];
            continue;
        }
        last->count += rows->rows[i].count;
        last->flops += rows->rows[i].flops;
        last->bytes += rows->rows[i].bytes;
        last->seconds += rows->rows[i].seconds;
    }
    rows->count = kept;
    qsort(rows->rows, (size_t)rows->count, sizeof *rows->rows, by_time);
}

static bool rows_make(struct rows *rows, const struct cost_explain *explain, const struct cost_device *device)
{
    struct error err;
    const struct fused *passes[2] = {&explain->layer->forward, &explain->layer->backward};
    size_t room = 1;
    *rows = (struct rows){0};
    for (int p = 0; p < 2; p++)
        room += (size_t)passes[p]->kernel_count + (size_t)passes[p]->transfer_count;
    rows->rows = ARENA_ARRAY(&rows->arena, room, struct row);
    if (rows->rows) {
        add_pass(rows, explain, device, PASS_FORWARD);
        add_pass(rows, explain, device, PASS_BACKWARD);
    }
    if (rows->rows && !rows->failed && rows->count)
        merge(rows);
    return rows->rows && !rows->failed && cost_interval_of_device(device, &rows->interval, &err);
}

static double share_of(const struct rows *rows, const struct row *row)
{
    double sum = rows->seconds[PASS_FORWARD] + rows->seconds[PASS_BACKWARD];
    return sum > 0.0 ? row->seconds / sum : 0.0;
}

static double intensity_of(const struct row *row)
{
    return row->bytes > 0.0 ? row->flops / row->bytes : 0.0;
}

/* ---- for people ---- */

static void print_memory(const struct layer_cost *layer, struct text *out)
{
    char text[5][32];
    const int64_t bytes[] = {layer->parameter_bytes, layer->gradient_bytes, layer->optimizer_bytes,
                             layer->kept_bytes, layer->peak_bytes};
    for (int i = 0; i < 5; i++)
        unit_format(text[i], sizeof text[i], (double)bytes[i], UNIT_BYTES, 4);
    text_format(out,
                "  memory: parameters %s, gradients %s, optimizer states %s, kept for backward %s, peak %s\n",
                text[0], text[1], text[2], text[3], text[4]);
}

static void print_unknown(const struct layer_cost *layer, struct text *out)
{
    const struct fused *passes[] = {&layer->forward, &layer->backward};
    for (int p = 0; p < 2; p++) {
        for (int i = 0; i < passes[p]->unknown_count; i++)
            text_format(out, "  %s: custom call '%s' is not known and not in the times\n", pass_names[p],
                        passes[p]->unknown[i]);
        if (passes[p]->unbounded_loops > 0.0)
            text_format(out, "  %s: %.0f loops whose turns cannot be told run once\n", pass_names[p],
                        passes[p]->unbounded_loops);
    }
}

static void print_row(const struct rows *rows, const struct row *row, struct text *out)
{
    char seconds[32], bytes[32];
    text_format(out, "  %10s %6.1f %%  %-8s %6.0f %10.4g %10s %10.4g  %-12s  %s  (%s)\n",
                unit_format(seconds, sizeof seconds, row->seconds, UNIT_TIME, 4), 100.0 * share_of(rows, row),
                pass_names[row->pass], row->count, row->flops / 1e9,
                unit_format(bytes, sizeof bytes, row->bytes, UNIT_BYTES, 4), intensity_of(row), row->bound,
                row->what, row->instruction);
}

static void print_device(const struct cost_explain *explain, const struct cost_device *device,
                         struct text *out)
{
    struct rows rows;
    char text[3][32];
    const struct calibration *calibration = tables_calibration(explain->options->tables, device);
    if (!rows_make(&rows, explain, device)) {
        arena_release(&rows.arena);
        out->failed = true;
        return;
    }
    double adam = layer_kernel_time(&explain->layer->optimizer, device, explain->options).seconds;
    text_format(out, "\n%s: forward %s, backward %s per micro-batch; optimizer step %s\n", device->name,
                unit_format(text[0], sizeof text[0], rows.seconds[PASS_FORWARD], UNIT_TIME, 4),
                unit_format(text[1], sizeof text[1], rows.seconds[PASS_BACKWARD], UNIT_TIME, 4),
                unit_format(text[2], sizeof text[2], adam, UNIT_TIME, 4));
    text_format(out, "  80 %% interval of whole training runs: %.2f to %.2f of these times%s\n",
                rows.interval.low, rows.interval.high, rows.interval.extrapolates ? ", extrapolated" : "");
    text_format(out, "  products: %s\n",
                device->fitted ? device->fitted : "no measured error in the device's description");
    text_format(out, "  the rest: %s\n",
                calibration->fitted ? calibration->fitted : "no measured error of its generation");
    text_format(out, "  %10s %8s  %-8s %6s %10s %10s %10s  %-12s  %s\n", "time", "share", "pass", "count",
                "GFLOP", "bytes", "flops/byte", "bound", "kernel (its first instruction)");
    for (int i = 0; i < rows.count; i++)
        print_row(&rows, &rows.rows[i], out);
    arena_release(&rows.arena);
}

void cost_explain_print(const struct cost_explain *explain, struct text *out)
{
    text_format(out, "%s\n", explain->path);
    print_memory(explain->layer, out);
    print_unknown(explain->layer, out);
    for (int i = 0; i < explain->device_count; i++)
        print_device(explain, explain->devices[i], out);
}

/* ---- for programs ---- */

static void write_row(const struct rows *rows, const struct row *row, struct json *json)
{
    json_open_flat(json, NULL, '{');
    json_string(json, "pass", pass_names[row->pass]);
    json_string(json, "kernel", row->what);
    json_string(json, "instruction", row->instruction);
    json_number(json, "count", row->count);
    json_number(json, "flops", row->flops);
    json_number(json, "bytes", row->bytes);
    json_number(json, "intensity", intensity_of(row));
    json_string(json, "bound", row->bound);
    json_number(json, "seconds", row->seconds);
    json_number(json, "share", share_of(rows, row));
    json_close(json);
}

static void write_device(const struct cost_explain *explain, const struct cost_device *device,
                         struct json *json)
{
    struct rows rows;
    const struct calibration *calibration = tables_calibration(explain->options->tables, device);
    if (!rows_make(&rows, explain, device)) {
        arena_release(&rows.arena);
        json->out->failed = true;
        return;
    }
    json_open(json, NULL, '{');
    json_string(json, "device", device->name);
    json_number(json, "forward_seconds", rows.seconds[PASS_FORWARD]);
    json_number(json, "backward_seconds", rows.seconds[PASS_BACKWARD]);
    json_number(json, "optimizer_seconds",
                layer_kernel_time(&explain->layer->optimizer, device, explain->options).seconds);
    interval_write(&rows.interval, json);
    if (device->fitted)
        json_string(json, "products_fitted", device->fitted);
    if (calibration->fitted)
        json_string(json, "rest_fitted", calibration->fitted);
    json_open(json, "kernels", '[');
    for (int i = 0; i < rows.count; i++)
        write_row(&rows, &rows.rows[i], json);
    json_close(json);
    json_close(json);
    arena_release(&rows.arena);
}

void cost_explain_write(const struct cost_explain *explain, struct json *json)
{
    const struct layer_cost *layer = explain->layer;
    const struct fused *passes[] = {&layer->forward, &layer->backward};
    json_open_document(json, "rehearse-cost-explanation/1");
    json_string(json, "file", explain->path);
    json_integer(json, "parameter_bytes", layer->parameter_bytes);
    json_integer(json, "gradient_bytes", layer->gradient_bytes);
    json_integer(json, "optimizer_bytes", layer->optimizer_bytes);
    json_integer(json, "activation_bytes", layer->kept_bytes);
    json_integer(json, "output_bytes", layer->output_bytes);
    json_integer(json, "peak_bytes", layer->peak_bytes);
    json_open_flat(json, "unknown", '[');
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < passes[p]->unknown_count; i++)
            json_string(json, NULL, passes[p]->unknown[i]);
    json_close(json);
    json_number(json, "unbounded_loops", layer->forward.unbounded_loops + layer->backward.unbounded_loops);
    json_open(json, "devices", '[');
    for (int i = 0; i < explain->device_count; i++)
        write_device(explain, explain->devices[i], json);
    json_close(json);
    json_close(json);
}
