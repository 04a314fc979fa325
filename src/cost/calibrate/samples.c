#include "cost/calibrate/samples.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MAX_SIZE    0x1p40 /* of m, n, k and the batch: products of four stay far below infinity */
#define MAX_DEVICES 1000000
#define MAX_BYTES   0x1p60
#define MAX_TIME    1e12

/* The columns of times, and the seconds of one unit. Rates of matrix products are times, too. */
static const struct {
    const char *column;
    double seconds; /* 0: flop/s */
} times[] = {
    {"time_us", 1e-6}, {"time_ms", 1e-3}, {"latency_ms", 1e-3}, {"seconds", 1}, {"flops_per_sec", 0}};
#define TIMES 5

struct reader {
    const struct csv *csv;
    const char *device;
    struct error *err;
    int gpu, time;  /* columns; -1: none */
    double seconds; /* of one unit of the time column; 0: it holds flop/s */
};

static int either(const struct csv *csv, const char *first, const char *second)
{
    int column = csv_column(csv, first);
    return column >= 0 ? column : csv_column(csv, second);
}

/* Finds the columns that all tables have; `rates`: the times may be rates. */
static bool begin(struct reader *r, bool rates)
{
    r->gpu = either(r->csv, "gpu", "device");
    for (int i = 0; i < (rates ? TIMES : TIMES - 1); i++) {
        r->time = csv_column(r->csv, times[i].column);
        r->seconds = times[i].seconds;
        if (r->time >= 0)
            return true;
    }
    return error_set(r->err, ERROR_INPUT, "%s: expected a column 'time_us', 'time_ms'%s", r->csv->path,
                     rates ? ", 'seconds' or 'flops_per_sec'" : " or 'seconds'");
}

/* Several devices are not taken at once: their times would be mixed. */
static bool check_device(const struct reader *r, int row, bool *wanted)
{
    const char *gpu = csv_cell(r->csv, row, r->gpu), *first = csv_cell(r->csv, 0, r->gpu);
    *wanted = !r->device || r->gpu < 0 || strcasecmp(gpu, r->device) == 0;
    return r->device || strcmp(gpu, first) == 0 ||
           csv_error(r->csv, row, r->gpu, r->err, "a second device, '%s' besides '%s': say which is meant",
                     gpu, first);
}

/* Reads a whole number from 1 to `max`; without the column *size is 1. */
static bool read_size(const struct reader *r, int row, int column, double max, int64_t *size)
{
    double value = 1;
    if (column >= 0 && !csv_number(r->csv, row, column, 1, max, &value, r->err))
        return false;
    *size = (int64_t)value;
    return value == (double)*size ||
           csv_error(r->csv, row, column, r->err, "expected a whole number, found '%s'",
                     csv_cell(r->csv, row, column));
}

/* ---- matrix products ---- */

struct gemm_columns {
    int m, n, k, batch, dtype;
};

/* "bf16", "bfloat16", "f8e4m3fnxf8e4m3fn->bf16", … XLA's f32 is multiplied as tf32, PyTorch's float32 is not. */
static bool find_type(const char *text, enum cost_type *type)
{
    static const struct {
        const char *start;
        enum cost_type type;
    } names[] = {
        {"bf16", COST_BF16}, {"bfloat16", COST_BF16}, {"fp16", COST_FP16}, {"float16", COST_FP16},
        {"f16", COST_FP16},  {"half", COST_FP16},     {"tf32", COST_TF32}, {"fp32", COST_FP32},
        {"f32", COST_TF32},  {"float32", COST_FP32},  {"fp8", COST_FP8},   {"f8", COST_FP8},
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

static bool read_gemm(const struct reader *r, const struct gemm_columns *at, int row,
                      struct gemm_sample *sample)
{
    double value;
    if (!read_size(r, row, at->batch, MAX_SIZE, &sample->size.batch) ||
        !read_size(r, row, at->m, MAX_SIZE, &sample->size.m) ||
        !read_size(r, row, at->n, MAX_SIZE, &sample->size.n) ||
        !read_size(r, row, at->k, MAX_SIZE, &sample->size.k) ||
        !csv_number(r->csv, row, r->time, 1e-12, 1e24, &value, r->err))
        return false;
    double flops = product_flops(&sample->size);
    sample->seconds = r->seconds > 0 ? value * r->seconds : flops / value;
    return true;
}

static bool read_gemms(struct gemm_samples *samples, struct reader *r, enum cost_type type)
{
    const struct csv *csv = r->csv;
    struct gemm_columns at = {.batch = either(csv, "b", "batch"), .dtype = either(csv, "dtype", "dtypes")};
    if (!csv_need(csv, "m", &at.m, r->err) || !csv_need(csv, "n", &at.n, r->err) ||
        !csv_need(csv, "k", &at.k, r->err) || !begin(r, true))
        return false;
    for (int row = 0; row < csv->row_count; row++) {
        struct gemm_sample *sample = &samples->samples[samples->count];
        bool wanted;
        if (!check_device(r, row, &wanted))
            return false;
        sample->type = type;
        wanted = wanted && (at.dtype < 0 || find_type(csv_cell(csv, row, at.dtype), &sample->type));
        if (wanted && !read_gemm(r, &at, row, sample))
            return false;
        samples->count += wanted;
        samples->skipped += !wanted;
    }
    return true;
}

bool gemm_samples_read(struct gemm_samples *samples, const struct csv *csv, const char *device,
                       enum cost_type type, struct error *err)
{
    struct reader r = {.csv = csv, .device = device, .err = err};
    *samples = (struct gemm_samples){0};
    samples->path = arena_string(&samples->arena, csv->path);
    samples->samples = ARENA_ARRAY(&samples->arena, (size_t)csv->row_count + 1, struct gemm_sample);
    bool done = samples->path && samples->samples ? read_gemms(samples, &r, type) : error_memory(err);
    if (!done)
        gemm_samples_release(samples);
    return done;
}

bool gemm_samples_take_off(struct gemm_samples *samples, double launch, struct error *err)
{
    for (int i = 0; i < samples->count; i++) {
        samples->samples[i].seconds -= launch;
        if (samples->samples[i].seconds <= 0)
            return error_set(err, ERROR_INPUT,
                             "%s: a matrix product takes no longer than a launch of %.3g us", samples->path,
                             1e6 * launch);
    }
    return true;
}

void gemm_samples_release(struct gemm_samples *samples)
{
    arena_release(&samples->arena);
    *samples = (struct gemm_samples){0};
}

/* ---- collectives ---- */

struct link_columns {
    int kind, devices, nodes, bytes;
};

/* Reads the words of programs, whose letters and digits count, in any case. */
static bool read_kind(const struct reader *r, int row, int column, enum collective_kind *kind)
{
    static const struct {
        const char *word;
        enum collective_kind kind;
    } words[] = {
        {"allreduce", COLLECTIVE_ALL_REDUCE},
        {"allgather", COLLECTIVE_ALL_GATHER},
        {"reducescatter", COLLECTIVE_REDUCE_SCATTER},
        {"alltoall", COLLECTIVE_ALL_TO_ALL},
        {"all2all", COLLECTIVE_ALL_TO_ALL},
        {"send", COLLECTIVE_SEND},
        {"sendrecv", COLLECTIVE_SEND},
        {"p2p", COLLECTIVE_SEND},
        {"collectivepermute", COLLECTIVE_SEND},
    };
    const char *cell = csv_cell(r->csv, row, column);
    char word[32];
    size_t length = 0;
    for (const char *at = cell; *at && *at != ' ' && length + 1 < sizeof word; at++)
        if (isalnum((unsigned char)*at))
            word[length++] = (char)tolower((unsigned char)*at);
    word[length] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0) {
            *kind = words[i].kind;
            return true;
        }
    return csv_error(r->csv, row, column, r->err, "expected a collective such as 'all_reduce', found '%s'",
                     cell);
}

/* Reads a number; an empty cell is 0. */
static bool read_number(const struct reader *r, int row, int column, double max, double *value)
{
    *value = 0.0;
    return *csv_cell(r->csv, row, column) == '\0' || csv_number(r->csv, row, column, 0, max, value, r->err);
}

static bool read_collective(const struct reader *r, const struct link_columns *at, int row,
                            struct link_sample *sample)
{
    int64_t devices, nodes;
    if (!read_kind(r, row, at->kind, &sample->kind) ||
        !read_size(r, row, at->devices, MAX_DEVICES, &devices) ||
        !read_size(r, row, at->nodes, MAX_DEVICES, &nodes) ||
        !read_number(r, row, at->bytes, MAX_BYTES, &sample->bytes) ||
        !read_number(r, row, r->time, MAX_TIME, &sample->seconds))
        return false;
    sample->devices = (int)devices;
    sample->nodes = (int)nodes;
    sample->seconds *= r->seconds;
    return nodes <= devices ||
           csv_error(r->csv, row, at->nodes, r->err, "expected at most as many nodes as devices");
}

static bool read_collectives(struct link_samples *samples, struct reader *r)
{
    const struct csv *csv = r->csv;
    struct link_columns at = {.kind = either(csv, "collective", "opcode"),
                              .devices = either(csv, "ranks", "devices"),
                              .nodes = csv_column(csv, "nodes")};
    if ((at.kind < 0 && !csv_need(csv, "collective", &at.kind, r->err)) ||
        (at.devices < 0 && !csv_need(csv, "ranks", &at.devices, r->err)) ||
        !csv_need(csv, "bytes", &at.bytes, r->err) || !begin(r, false))
        return false;
    for (int row = 0; row < csv->row_count; row++) {
        struct link_sample *sample = &samples->samples[samples->count];
        bool wanted;
        if (!check_device(r, row, &wanted) || (wanted && !read_collective(r, &at, row, sample)))
            return false;
        wanted = wanted && sample->devices > 1 && sample->bytes > 0.0 && sample->seconds > 0.0;
        samples->count += wanted;
        samples->skipped += !wanted;
    }
    return samples->count > 0 ||
           error_set(r->err, ERROR_INPUT, "%s: no row%s%s%s to fit to", csv->path, r->device ? " of '" : "",
                     r->device ? r->device : "", r->device ? "'" : "");
}

bool link_samples_read(struct link_samples *samples, const struct csv *csv, const char *device,
                       struct error *err)
{
    struct reader r = {.csv = csv, .device = device, .err = err};
    *samples = (struct link_samples){0};
    samples->path = arena_string(&samples->arena, csv->path);
    samples->samples = ARENA_ARRAY(&samples->arena, (size_t)csv->row_count + 1, struct link_sample);
    bool done = samples->path && samples->samples ? read_collectives(samples, &r) : error_memory(err);
    if (!done)
        link_samples_release(samples);
    return done;
}

void link_samples_release(struct link_samples *samples)
{
    arena_release(&samples->arena);
    *samples = (struct link_samples){0};
}
