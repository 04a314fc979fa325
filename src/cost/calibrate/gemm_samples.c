#include "cost/calibrate/gemm_samples.h"

#include "core/text.h"

#include <string.h>
#include <strings.h>

#define MAX_SIZE 0x1p40 /* of m, n, k and the batch: products of four stay far below infinity */

struct reader {
    struct gemm_samples *samples;
    const struct csv *csv;
    const char *device;
    enum cost_type type;
    int m, n, k, batch, dtype, gpu, time;
    double unit; /* of the time in seconds; 0: flop/s */
    struct error *err;
};

static int first_column(const struct csv *csv, const char *first, const char *second)
{
    int column = csv_column(csv, first);
    return column >= 0 ? column : csv_column(csv, second);
}

static bool find_time(struct reader *r)
{
    static const struct {
        const char *name;
        double unit;
    } columns[] = {{"time_us", 1e-6}, {"time_ms", 1e-3}, {"seconds", 1}, {"flops_per_sec", 0}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        r->time = csv_column(r->csv, columns[i].name);
        r->unit = columns[i].unit;
        if (r->time >= 0)
            return true;
    }
    return error_set(r->err, ERROR_INPUT,
                     "%s: expected a column 'time_us', 'time_ms', 'seconds' or 'flops_per_sec'",
                     r->csv->path);
}

static bool find_columns(struct reader *r)
{
    r->batch = first_column(r->csv, "b", "batch");
    r->dtype = first_column(r->csv, "dtype", "dtypes");
    r->gpu = first_column(r->csv, "gpu", "device");
    return csv_need(r->csv, "m", &r->m, r->err) && csv_need(r->csv, "n", &r->n, r->err) &&
           csv_need(r->csv, "k", &r->k, r->err) && find_time(r);
}

/* "bf16", "bfloat16", "f8e4m3fnxf8e4m3fn->bf16", … */
static bool find_type(const char *text, enum cost_type *type)
{
    static const struct {
        const char *start;
        enum cost_type type;
    } names[] = {
        {"bf16", COST_BF16}, {"bfloat16", COST_BF16}, {"fp16", COST_FP16}, {"float16", COST_FP16},
        {"f16", COST_FP16},  {"half", COST_FP16},     {"tf32", COST_TF32}, {"fp32", COST_TF32},
        {"f32", COST_TF32},  {"float32", COST_TF32},  {"fp8", COST_FP8},   {"f8", COST_FP8},
        {"int8", COST_INT8}, {"s8", COST_INT8},       {"fp64", COST_FP64}, {"f64", COST_FP64},
        {"fp4", COST_FP4},   {"f4", COST_FP4},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncasecmp(text, names[i].start, strlen(names[i].start)) == 0) {
            *type = names[i].type;
            return true;
        }
    return false;
}

/* Not of several devices at once: their times would be mixed. */
static bool check_device(const struct reader *r, int row, bool *wanted)
{
    const char *gpu = csv_cell(r->csv, row, r->gpu);
    *wanted = !r->device || r->gpu < 0 || strcasecmp(gpu, r->device) == 0;
    if (!r->device && r->gpu >= 0 && strcmp(gpu, csv_cell(r->csv, 0, r->gpu)) != 0)
        return csv_error(r->csv, row, r->gpu, r->err,
                         "a second device, '%s' besides '%s': say which is meant", gpu,
                         csv_cell(r->csv, 0, r->gpu));
    return true;
}

static bool read_size(const struct reader *r, int row, int column, int64_t *size)
{
    double value = 1;
    if (column >= 0 && !csv_number(r->csv, row, column, 1, MAX_SIZE, &value, r->err))
        return false;
    if (value != (double)(int64_t)value)
        return csv_error(r->csv, row, column, r->err, "expected a whole number, found '%s'",
                         csv_cell(r->csv, row, column));
    *size = (int64_t)value;
    return true;
}

static bool read_seconds(const struct reader *r, int row, struct gemm_sample *sample)
{
    double value;
    if (!csv_number(r->csv, row, r->time, 1e-12, 1e24, &value, r->err))
        return false;
    double flops = 2 * (double)sample->batch * (double)sample->m * (double)sample->n * (double)sample->k;
    sample->seconds = r->unit > 0 ? value * r->unit : flops / value;
    return true;
}

static bool read_row(struct reader *r, int row)
{
    struct gemm_samples *samples = r->samples;
    struct gemm_sample *sample = &samples->samples[samples->count];
    bool wanted;
    if (!check_device(r, row, &wanted))
        return false;
    sample->type = r->type;
    if (!wanted || (r->dtype >= 0 && !find_type(csv_cell(r->csv, row, r->dtype), &sample->type))) {
        samples->skipped++;
        return true;
    }
    if (!read_size(r, row, r->batch, &sample->batch) || !read_size(r, row, r->m, &sample->m) ||
        !read_size(r, row, r->n, &sample->n) || !read_size(r, row, r->k, &sample->k) ||
        !read_seconds(r, row, sample))
        return false;
    samples->count++;
    return true;
}

static bool read_rows(struct reader *r)
{
    struct gemm_samples *samples = r->samples;
    samples->path = arena_string(&samples->arena, r->csv->path);
    samples->samples = ARENA_ARRAY(&samples->arena, (size_t)r->csv->row_count + 1, struct gemm_sample);
    if (!samples->path || !samples->samples)
        return error_memory(r->err);
    for (int row = 0; row < r->csv->row_count; row++)
        if (!read_row(r, row))
            return false;
    return true;
}

bool gemm_samples_read(struct gemm_samples *samples, const struct csv *csv, const char *device,
                       enum cost_type type, struct error *err)
{
    struct reader r = {.samples = samples, .csv = csv, .device = device, .type = type, .err = err};
    *samples = (struct gemm_samples){0};
    if (find_columns(&r) && read_rows(&r))
        return true;
    gemm_samples_release(samples);
    return false;
}

void gemm_samples_release(struct gemm_samples *samples)
{
    arena_release(&samples->arena);
    *samples = (struct gemm_samples){0};
}
