#include "api/cost/explain.h"

#include "api/cost/interval.h"
#include "core/fields.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/unit.h"
#include "cost/gemm_near.h"
#include "devices/calibration.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_OPCODES 4 /* named of one kernel */
#define MAX_NEAREST 3 /* measured shapes named of a product */

enum pass { PASS_FORWARD, PASS_BACKWARD };

static const char *const pass_names[] = {"forward", "backward"};

/* Equal kernels. */
struct row {
    enum pass pass;
    const char *what;        /* "gemm 1024 x 768 x 768 tf32 + add" */
    const char *profiled;    /* as a profiler lists it */
    const char *instruction; /* the first of the first kernel */
    double count;            /* number of runs */
    struct kernel_time time; /* of all runs */
    double of_pass[2];       /* seconds */
    double share;            /* of the time of both passes */
    double intensity;        /* flops per byte */
    const char *bound;
    double of_formula;   /* of a product or collective: its time, of that by the formula alone */
    const char *nearest; /* the measured ones that it leans on; NULL: none */
};

struct rows {
    struct arena arena;
    struct row *rows;
    int count;
    double seconds[2];             /* of the passes */
    double training[2];            /* the same of kernels in training */
    double optimizer;              /* seconds of its step */
    struct plan_interval interval; /* as shares of times */
    struct kernel_time sum;        /* of both passes */
    double rough;                  /* share of the time that kernels modelled roughly take */
    bool failed;
};

/* ---- names of kernels ---- */

/* Appends the opcodes of its instructions, each once, without the product itself: " + add, erf". */
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
        const char *name = kernel->instructions[i]->attributes->target;
        text_add(text, name && hlo_is_elementwise(opcode) ? name : hlo_opcode_name(opcode));
    }
}

static const char *keep_text(struct rows *rows, struct text *text)
{
    const char *copy = text->failed ? NULL : arena_string(&rows->arena, text->data);
    text_release(text);
    rows->failed |= !copy;
    return copy ? copy : "";
}

static void add_size(struct text *text, const struct product_size *size)
{
    if (size->batch > 1)
        text_format(text, "%" PRId64 " x ", size->batch);
    text_format(text, "%" PRId64 " x %" PRId64 " x %" PRId64, size->m, size->n, size->k);
}

static const char *name_of(struct rows *rows, const struct fused_kernel *fused, enum cost_type type)
{
    const struct kernel *kernel = &fused->kernel;
    struct text text = {0};
    text_format(&text, "%s%s", kernel->name, kernel->rough ? ", roughly" : "");
    if (kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION) {
        text_add(&text, " ");
        add_size(&text, &kernel->size);
        text_format(&text, " %s", cost_type_name(type));
    }
    add_opcodes(&text, fused);
    return keep_text(rows, &text);
}

/* What a profiler lists: products by what the libraries' names begin with (cuBLAS 12 and before, hipBLASLt), the rest
 * as XLA does: by the fusion's own name without its number, or by its kind and hero or root. */
static const char *profiled_name(struct rows *rows, const struct fused_kernel *fused,
                                 const struct cost_device *device, enum cost_type type)
{
    const struct kernel *kernel = &fused->kernel;
    const struct hlo_instruction *hero = fused->instructions[0],
                                 *root = fused->instructions[fused->count - 1];
    const char *opcode = hlo_opcode_name(hero->opcode);
    char *name;
    if (hero->opcode == HLO_FUSION)
        name = arena_copy(&rows->arena, hero->name, strcspn(hero->name, "."));
    else if (kernel->kind == KERNEL_ATTENTION)
        name = arena_string(&rows->arena, kernel->backward ? "*flash*b*" : "*flash*f*");
    else if (kernel->kind == KERNEL_GEMM)
        name = arena_format(&rows->arena, "%s (%s)",
                            hero->opcode == HLO_CONVOLUTION               ? "*implicit_gemm*"
                            : strncmp(device->generation, "cdna", 4) == 0 ? "Cijk_*"
                            : kernel_is_newest(device)                    ? "nvjet_*"
                                                                          : "*gemm*",
                            cost_type_name(type));
    else if (hero->opcode == HLO_CUSTOM_CALL)
        name = arena_string(&rows->arena, kernel->name);
    else if (fused->count == 1)
        name = arena_format(&rows->arena, "wrapped_%s", opcode);
    else if (hero->opcode == HLO_REDUCE || hero->opcode == HLO_TRANSPOSE)
        name = arena_format(&rows->arena, "input_%s_fusion", opcode);
    else
        name = arena_format(&rows->arena, "loop_%s_fusion", hlo_opcode_name(root->opcode));
    for (char *at = name; at && *at; at++)
        *at = *at == '-' ? '_' : *at;
    rows->failed |= !name;
    return name ? name : "";
}

/* ---- neighbours ---- */

/* "all_reduce of 16 MiB on 8 (45 %), …" */
static const char *nearest_text(struct rows *rows, const struct collective_near *transfers)
{
    struct text text = {0};
    for (int i = 0; i < transfers->count && i < MAX_NEAREST; i++) {
        struct unit_texts texts = {0};
        const struct known_collective *of = transfers->nearest[i].of;
        text_format(&text, "%s%s of %s on %d (%.0f %%)", i > 0 ? ", " : "", collective_kind_name(of->kind),
                    unit_text(&texts, of->bytes, UNIT_BYTES), of->devices,
                    100.0 * transfers->nearest[i].weight);
    }
    return keep_text(rows, &text);
}

/* "vLLM 0.24.0 on h100-sxm" */
static const char *table_text(struct rows *rows, const struct measured *table)
{
    struct text text = {0};
    text_format(&text, "%s on %s", table->title, table->device->name);
    return keep_text(rows, &text);
}

/* Notes which measured products the time of this one leans on. */
static void find_neighbours(struct rows *rows, struct row *row, const struct kernel *kernel,
                            enum cost_type type, const struct cost_device *device)
{
    struct gemm_near near;
    gemm_time_near(device, type, kernel->size, kernel->groups, &near);
    if (!near.table)
        return;
    row->of_formula = exp(near.log_ratio);
    row->nearest = table_text(rows, near.table);
}

/* ---- rows ---- */

static void add_row(struct rows *rows, struct row *row)
{
    row->of_pass[row->pass] = row->time.seconds;
    rows->rows[rows->count++] = *row;
    rows->seconds[row->pass] += row->time.seconds;
    kernel_time_add(&rows->sum, &row->time);
}

static void add_pass(struct rows *rows, const struct cost_explain *explain, const struct cost_device *device,
                     enum pass pass)
{
    const struct fused *fused = pass == PASS_FORWARD ? &explain->layer->forward : &explain->layer->backward;
    for (int i = 0; i < fused->kernel_count && !stop_wanted(); i++) {
        const struct fused_kernel *kernel = &fused->kernels[i];
        enum cost_type type = layer_kernel_type(&kernel->kernel, device, explain->options);
        struct row row = {
            .pass = pass,
            .what = name_of(rows, kernel, type),
            .profiled = profiled_name(rows, kernel, device, type),
            .instruction = kernel->instructions[0]->name,
            .count = kernel->kernel.repeats,
            .time = layer_kernel_time(&kernel->kernel, device, explain->options),
        };
        row.bound = kernel_bound_name(row.time.bound);
        if (kernel->kernel.kind == KERNEL_GEMM && !explain->options->no_neighbours)
            find_neighbours(rows, &row, &kernel->kernel, type, device);
        add_row(rows, &row);
    }
    for (int i = 0; i < fused->transfer_count && !stop_wanted_at((size_t)i); i++) {
        const struct fused_transfer *transfer = &fused->transfers[i];
        const char *name = arena_format(&rows->arena, "%s, %" PRId64 " devices",
                                        hlo_opcode_name(transfer->instruction->opcode), transfer->group);
        const char *kind = collective_kind_name(layer_collective(transfer->instruction->opcode));
        const char *profiled = arena_format(&rows->arena, "ncclDevKernel_* (%s)", kind);
        struct collective_near near;
        rows->failed |= !name || !profiled;
        struct row row = {
            .pass = pass,
            .what = name ? name : "",
            .profiled = profiled ? profiled : "",
            .instruction = transfer->instruction->name,
            .count = transfer->repeats,
            .time = layer_transfer_near(transfer, device, explain->options, &near),
            .bound = "link",
        };
        row.of_formula = exp(near.log_ratio);
        if (near.count > 0)
            row.nearest = nearest_text(rows, &near);
        add_row(rows, &row);
    }
}

static int compare_number(double a, double b)
{
    return (a > b) - (a < b);
}

/* Returns 0 for rows that are merged. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = (x->pass > y->pass) - (x->pass < y->pass);
    if (!order)
        order = strcmp(x->what, y->what);
    if (!order)
        order = compare_number(x->time.bytes / x->count, y->time.bytes / y->count);
    return order ? order : compare_number(x->time.seconds / x->count, y->time.seconds / y->count);
}

static int by_profiled(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return strcmp(x->profiled, y->profiled);
}

static int by_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = compare_number(y->time.seconds, x->time.seconds);
    return order ? order : compare_rows(a, b);
}

static void merge(struct rows *rows, bool profiled)
{
    int kept = 0;
    struct error stopped;
    if (!sort_items(rows->rows, (size_t)rows->count, sizeof *rows->rows,
                    profiled ? by_profiled : compare_rows, &stopped))
        return;
    for (int i = 0; i < rows->count && !stop_wanted_at((size_t)i); i++) {
        struct row *last = kept ? &rows->rows[kept - 1] : NULL;
        if (!last || (profiled ? by_profiled : compare_rows)(last, &rows->rows[i]) != 0) {
            rows->rows[kept++] = rows->rows[i];
            continue;
        }
        last->count += rows->rows[i].count;
        kernel_time_add(&last->time, &rows->rows[i].time);
        for (int p = 0; p < 2; p++)
            last->of_pass[p] += rows->rows[i].of_pass[p];
    }
    rows->count = kept;
    sort_items(rows->rows, (size_t)rows->count, sizeof *rows->rows, by_time, &stopped);
}

/* Returns whether custom calls or loops of unknown length are not, or not wholly, in the times. */
static bool lacks_times(const struct layer_cost *layer)
{
    return layer->forward.unknown_count + layer->backward.unknown_count > 0 ||
           layer->forward.unbounded_loops + layer->backward.unbounded_loops > 0.0;
}

static bool rows_make(struct rows *rows, const struct cost_explain *explain, const struct cost_device *device,
                      bool profiled)
{
    const struct fused *passes[2] = {&explain->layer->forward, &explain->layer->backward};
    size_t room = 1;
    *rows = (struct rows){0};
    struct layer_options training = *explain->options;
    training.training = true;
    for (int p = 0; p < 2; p++)
        rows->training[p] = layer_seconds(passes[p], device, &training).seconds;
    for (int p = 0; p < 2; p++)
        room += (size_t)passes[p]->kernel_count + (size_t)passes[p]->transfer_count;
    rows->rows = ARENA_ARRAY(&rows->arena, room, struct row);
    if (!rows->rows)
        return false;
    add_pass(rows, explain, device, PASS_FORWARD);
    add_pass(rows, explain, device, PASS_BACKWARD);
    if (!rows->failed && rows->count)
        merge(rows, profiled);
    double sum = rows->seconds[PASS_FORWARD] + rows->seconds[PASS_BACKWARD];
    for (int i = 0; i < rows->count; i++) {
        struct row *row = &rows->rows[i];
        row->share = sum > 0.0 ? row->time.seconds / sum : 0.0;
        row->intensity = row->time.bytes > 0.0 ? row->time.flops / row->time.bytes : 0.0;
    }
    rows->optimizer = layer_kernel_time(&explain->layer->optimizer, device, explain->options).seconds;
    rows->rough = sum > 0.0 ? rows->sum.rough / sum : 0.0;
    rows->interval = cost_interval_of_kernels(&rows->sum, device);
    if (lacks_times(explain->layer))
        rows->interval.high = INFINITY;
    return !rows->failed;
}

/* ---- for people ---- */

static void print_memory(const struct layer_cost *layer, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "  memory: parameters %s, gradients %s, optimizer states %s,\n",
                unit_text(&texts, (double)layer->parameter_bytes, UNIT_BYTES),
                unit_text(&texts, (double)layer->gradient_bytes, UNIT_BYTES),
                unit_text(&texts, (double)layer->optimizer_bytes, UNIT_BYTES));
    text_format(out, "          kept for backward %s, peak %s\n",
                unit_text(&texts, (double)layer->kept_bytes, UNIT_BYTES),
                unit_text(&texts, (double)layer->peak_bytes, UNIT_BYTES));
}

static void print_unknown(const struct layer_cost *layer, struct text *out)
{
    const struct fused *passes[] = {&layer->forward, &layer->backward};
    for (int p = 0; p < 2; p++) {
        for (int i = 0; i < passes[p]->unknown_count; i++)
            text_format(out,
                        text_starts_with(passes[p]->unknown[i], LAYER_GAP)
                            ? "  %s: the %s has no rule and is not in the times\n"
                            : "  %s: unknown custom call '%s', not in the times\n",
                        pass_names[p], passes[p]->unknown[i]);
        if (passes[p]->unbounded_loops > 0.0)
            text_format(out, "  %s: %.0f loops of unknown trip count, counted once\n", pass_names[p],
                        passes[p]->unbounded_loops);
    }
}

/* A wide table has the work, the instruction, and the measured kernels that a time leans on. */
static void print_row(const struct row *row, bool wide, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "  %10s %6.1f %%  %-8s %6.0f", unit_text(&texts, row->time.seconds, UNIT_TIME),
                100.0 * row->share, pass_names[row->pass], row->count);
    if (wide)
        text_format(out, " %10.4g %10s %10.4g  %-12s  %s  (%s)", row->time.flops / 1e9,
                    unit_text(&texts, row->time.bytes, UNIT_BYTES), row->intensity, row->bound, row->what,
                    row->instruction);
    else
        text_format(out, "  %-12s  %.44s", row->bound, row->what);
    if (wide && row->nearest)
        text_format(out, ", %.2f of the formula by %s", row->of_formula, row->nearest);
    text_add(out, "\n");
}

/* As nsys and torch.profiler do: a name in one row. */
static void print_profile(const struct rows *rows, struct text *out)
{
    text_format(out, "  %8s %10s %8s %10s %10s %10s  kernel\n", "share", "total", "calls", "mean", "forward",
                "backward");
    for (int i = 0; i < rows->count && !stop_wanted_at((size_t)i); i++) {
        const struct row *row = &rows->rows[i];
        struct unit_texts texts = {0};
        text_format(out, "  %6.1f %% %10s %8.0f %10s", 100.0 * row->share,
                    unit_text(&texts, row->time.seconds, UNIT_TIME), row->count,
                    unit_text(&texts, row->time.seconds / row->count, UNIT_TIME));
        for (int p = 0; p < 2; p++)
            text_format(out, " %10s", unit_text(&texts, row->of_pass[p], UNIT_TIME));
        text_format(out, "  %s\n", row->profiled);
    }
}

static void print_rows(const struct rows *rows, const struct cost_explain *explain, struct text *out)
{
    text_format(out, "  %10s %8s  %-8s %6s", "time", "share", "pass", "count");
    if (explain->wide)
        text_format(out, " %10s %10s %10s  %-12s  kernel (its first instruction)\n", "GFLOP", "bytes",
                    "flops/byte", "bound");
    else
        text_format(out, "  %-12s  kernel\n", "bound");
    for (int i = 0; i < rows->count && !stop_wanted_at((size_t)i); i++)
        print_row(&rows->rows[i], explain->wide, out);
}

static void print_interval(const struct rows *rows, struct text *out)
{
    text_add(out, "  80 % interval of kernels alone: ");
    if (isinf(rows->interval.high))
        text_format(out, "at least %.2f of these times, without the parts named above", rows->interval.low);
    else
        text_format(out, "%.2f to %.2f of these times", rows->interval.low, rows->interval.high);
    text_add(out, rows->interval.extrapolates ? ", extrapolated\n" : "\n");
    if (rows->rough == 0.0)
        return;
    text_format(out, "  modelled roughly, %g to %g of its time: %.3g %% of these times\n", KERNEL_ROUGH_LOW,
                KERNEL_ROUGH_HIGH, 100.0 * rows->rough);
}

static void print_device(const struct cost_explain *explain, const struct cost_device *device,
                         const struct rows *rows, struct text *out)
{
    struct unit_texts texts = {0};
    const struct calibration *calibration = tables_calibration(explain->options->tables, device);
    text_format(out, "\n%s: forward %s, backward %s per micro-batch; optimizer step %s\n", device->name,
                unit_text(&texts, rows->seconds[PASS_FORWARD], UNIT_TIME),
                unit_text(&texts, rows->seconds[PASS_BACKWARD], UNIT_TIME),
                unit_text(&texts, rows->optimizer, UNIT_TIME));
    print_interval(rows, out);
    text_format(out, "  products: %s\n",
                device->fitted ? device->fitted : "no measured error in the device's description");
    text_format(out,
                "  training: forward %s, backward %s: products reach %.3g of this speed, streams %.3g, "
                "collectives %.3g (%s)\n",
                unit_text(&texts, rows->training[PASS_FORWARD], UNIT_TIME),
                unit_text(&texts, rows->training[PASS_BACKWARD], UNIT_TIME), calibration->gemm,
                calibration->stream, calibration->inside,
                calibration->fitted ? calibration->fitted : "no measured runs of its generation");
    if (explain->profile) {
        print_profile(rows, out);
        return;
    }
    print_rows(rows, explain, out);
}

void cost_explain_print(const struct cost_explain *explain, struct text *out)
{
    text_format(out, "%s\n", explain->path);
    print_memory(explain->layer, out);
    print_unknown(explain->layer, out);
    for (int i = 0; i < explain->device_count; i++) {
        struct rows rows;
        if (rows_make(&rows, explain, explain->devices[i], explain->profile))
            print_device(explain, explain->devices[i], &rows, out);
        else
            out->failed = true;
        arena_release(&rows.arena);
    }
}

/* ---- for programs ---- */

static const struct field row_fields[] = {
    FIELD_WORDS(struct row, "pass", pass, pass_names),
    FIELD_OUT(struct row, "kernel", what, FIELD_TEXT),
    FIELD_OUT(struct row, "profiled", profiled, FIELD_TEXT),
    FIELD_OUT(struct row, "instruction", instruction, FIELD_TEXT),
    FIELD_OUT(struct row, "count", count, FIELD_DOUBLE),
    FIELD_OUT(struct row, "flops", time.flops, FIELD_DOUBLE),
    FIELD_OUT(struct row, "bytes", time.bytes, FIELD_DOUBLE),
    FIELD_OUT(struct row, "intensity", intensity, FIELD_DOUBLE),
    FIELD_OUT(struct row, "bound", bound, FIELD_TEXT),
    FIELD_OUT(struct row, "seconds", time.seconds, FIELD_DOUBLE),
    FIELD_OUT(struct row, "share", share, FIELD_DOUBLE),
};

static const struct field layer_fields[] = {
    FIELD_OUT(struct layer_cost, "parameter_bytes", parameter_bytes, FIELD_INT64),
    FIELD_OUT(struct layer_cost, "gradient_bytes", gradient_bytes, FIELD_INT64),
    FIELD_OUT(struct layer_cost, "optimizer_bytes", optimizer_bytes, FIELD_INT64),
    FIELD_OUT(struct layer_cost, "activation_bytes", kept_bytes, FIELD_INT64),
    FIELD_OUT(struct layer_cost, "output_bytes", output_bytes, FIELD_INT64),
    FIELD_OUT(struct layer_cost, "peak_bytes", peak_bytes, FIELD_INT64),
};

static const struct field device_fields[] = {
    FIELD_OUT(struct cost_device, "device", name, FIELD_TEXT),
    FIELD_OUT(struct cost_device, "products_fitted", fitted, FIELD_SOME_TEXT),
};

static const struct field rest_fields[] = {
    FIELD_OUT(struct calibration, "rest_fitted", fitted, FIELD_SOME_TEXT)};

static const struct field seconds_fields[] = {
    FIELD_OUT(struct rows, "forward_seconds", seconds[PASS_FORWARD], FIELD_DOUBLE),
    FIELD_OUT(struct rows, "backward_seconds", seconds[PASS_BACKWARD], FIELD_DOUBLE),
    FIELD_OUT(struct rows, "optimizer_seconds", optimizer, FIELD_DOUBLE),
    FIELD_OUT(struct rows, "training_forward_seconds", training[PASS_FORWARD], FIELD_DOUBLE),
    FIELD_OUT(struct rows, "training_backward_seconds", training[PASS_BACKWARD], FIELD_DOUBLE),
    FIELD_OUT(struct rows, "rough_share", rough, FIELD_DOUBLE),
};

static void write_device(const struct cost_explain *explain, const struct cost_device *device,
                         const struct rows *rows, struct json *json)
{
    json_open(json, NULL, '{');
    fields_write(device, device_fields, 1, json);
    fields_write(rows, seconds_fields, 5, json);
    fields_write(&rows->interval, interval_fields, INTERVAL_ENDS, json);
    fields_write(rows, seconds_fields + 5, 1, json);
    fields_write(device, device_fields + 1, 1, json);
    FIELDS_WRITE(tables_calibration(explain->options->tables, device), rest_fields, json);
    json_open(json, "kernels", '[');
    for (int i = 0; i < rows->count && !stop_wanted_at((size_t)i); i++) {
        json_open_flat(json, NULL, '{');
        FIELDS_WRITE(&rows->rows[i], row_fields, json);
        if (rows->rows[i].nearest) {
            json_number(json, "of_formula", rows->rows[i].of_formula);
            json_string(json, "nearest", rows->rows[i].nearest);
        }
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

void cost_explain_write(const struct cost_explain *explain, struct json *json)
{
    const struct layer_cost *layer = explain->layer;
    const struct fused *passes[] = {&layer->forward, &layer->backward};
    json_open_document(json, "rehearse-cost-explanation/1");
    json_string(json, "file", explain->path);
    FIELDS_WRITE(layer, layer_fields, json);
    json_open_flat(json, "unknown", '[');
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < passes[p]->unknown_count; i++)
            json_string(json, NULL, passes[p]->unknown[i]);
    json_close(json);
    json_integer(json, "unbounded_loops",
                 (int64_t)(layer->forward.unbounded_loops + layer->backward.unbounded_loops));
    json_open(json, "devices", '[');
    for (int i = 0; i < explain->device_count; i++) {
        struct rows rows;
        if (rows_make(&rows, explain, explain->devices[i], false))
            write_device(explain, explain->devices[i], &rows, json);
        else
            json->out->failed = true;
        arena_release(&rows.arena);
    }
    json_close(json);
    json_close(json);
}
