#include "cost/calibrate/links.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEVICES 1000000
#define MAX_BYTES   0x1p60
#define MAX_TIME    1e12

/* Words that programs use, without capitals and what is not a letter or digit. */
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

static const struct {
    const char *column;
    double seconds;
} times[] = {{"time_us", 1e-6}, {"time_ms", 1e-3}, {"seconds", 1.0}};

struct reader {
    const struct csv *csv;
    struct error *err;
    int kind, devices, nodes, bytes, time, device; /* columns; -1: none */
    double seconds;                                /* of one unit of the time column */
};

static bool either(const struct reader *r, const char *first, const char *second, int *column)
{
    *column = csv_column(r->csv, first);
    if (*column < 0)
        *column = csv_column(r->csv, second);
    return *column >= 0 || csv_need(r->csv, first, column, r->err);
}

static bool find_columns(struct reader *r)
{
    if (!either(r, "collective", "opcode", &r->kind) || !either(r, "ranks", "devices", &r->devices) ||
        !csv_need(r->csv, "bytes", &r->bytes, r->err))
        return false;
    r->nodes = csv_column(r->csv, "nodes");
    r->device = csv_column(r->csv, "gpu");
    if (r->device < 0)
        r->device = csv_column(r->csv, "device");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        r->time = csv_column(r->csv, times[i].column);
        r->seconds = times[i].seconds;
        if (r->time >= 0)
            return true;
    }
    return csv_need(r->csv, times[0].column, &r->time, r->err);
}

static bool read_kind(const struct reader *r, int row, enum collective_kind *kind)
{
    const char *cell = csv_cell(r->csv, row, r->kind);
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
    return csv_error(r->csv, row, r->kind, r->err, "expected a collective such as 'all_reduce', found '%s'",
                     cell);
}

static bool read_count(const struct reader *r, int row, int column, int *count)
{
    double value;
    if (!csv_number(r->csv, row, column, 1, MAX_DEVICES, &value, r->err))
        return false;
    *count = (int)value;
    return *count == value || csv_error(r->csv, row, column, r->err, "expected a whole number, found '%s'",
                                        csv_cell(r->csv, row, column));
}

static bool read_number(const struct reader *r, int row, int column, double most, double *value)
{
    *value = 0.0;
    return *csv_cell(r->csv, row, column) == '\0' || csv_number(r->csv, row, column, 0, most, value, r->err);
}

static bool read_sample(const struct reader *r, int row, struct link_sample *sample)
{
    double time;
    sample->nodes = 1;
    if (!read_kind(r, row, &sample->kind) || !read_count(r, row, r->devices, &sample->devices) ||
        (r->nodes >= 0 && !read_count(r, row, r->nodes, &sample->nodes)) ||
        !read_number(r, row, r->bytes, MAX_BYTES, &sample->bytes) ||
        !read_number(r, row, r->time, MAX_TIME, &time))
        return false;
    sample->seconds = time * r->seconds;
    return sample->nodes <= sample->devices ||
           csv_error(r->csv, row, r->nodes, r->err, "expected at most as many nodes as devices");
}

/* Is it of the device that is asked for? False in *err when none is asked for and this is another one than `*first`. */
static bool is_wanted(const struct reader *r, int row, const char *device, const char **first, bool *wanted)
{
    const char *cell = csv_cell(r->csv, row, r->device);
    *wanted = !device || strcmp(cell, device) == 0;
    if (device || (*first && strcmp(cell, *first) == 0))
        return true;
    if (*first)
        return csv_error(r->csv, row, r->device, r->err,
                         "rows of '%s' and of '%s': choose one of them to fit", *first, cell);
    *first = cell;
    return true;
}

static bool read_rows(struct link_samples *samples, const struct reader *r, const char *device)
{
    const char *first = NULL;
    for (int row = 0; row < r->csv->row_count; row++) {
        struct link_sample *sample = &samples->samples[samples->count];
        bool wanted;
        if (!is_wanted(r, row, device, &first, &wanted))
            return false;
        if (!wanted)
            continue;
        if (!read_sample(r, row, sample))
            return false;
        if (sample->devices < 2 || sample->bytes <= 0.0 || sample->seconds <= 0.0)
            samples->skipped++;
        else
            samples->count++;
    }
    if (samples->count > 0)
        return true;
    return device ? error_set(r->err, ERROR_INPUT, "%s: no row of '%s' to fit to", r->csv->path, device)
                  : error_set(r->err, ERROR_INPUT, "%s: no row to fit to", r->csv->path);
}

bool link_samples_read(struct link_samples *samples, const struct csv *csv, const char *device,
                       struct error *err)
{
    struct reader r = {.csv = csv, .err = err};
    *samples = (struct link_samples){0};
    if (!find_columns(&r))
        return false;
    samples->path = arena_string(&samples->arena, csv->path);
    samples->samples = ARENA_ARRAY(&samples->arena, (size_t)csv->row_count + 1, struct link_sample);
    bool done = samples->path && samples->samples ? read_rows(samples, &r, device) : error_memory(err);
    if (!done)
        link_samples_release(samples);
    return done;
}

void link_samples_release(struct link_samples *samples)
{
    arena_release(&samples->arena);
    *samples = (struct link_samples){0};
}
