#include "feed/result/metrics.h"

#include <string.h>

static const char magic[8] = "rhmetr1";

/* In front of a message. What follows: rows, histograms, checkpoints. */
struct header {
    char magic[8];
    uint64_t row_size, histogram_size, checkpoint_size; /* another build would have others */
    struct metrics_options options;
    int first, count;
    uint64_t checkpoints;
};

static size_t row_count(const struct metrics *metrics)
{
    return (size_t)metrics->count * (size_t)metrics->options.epochs * METRICS_PHASES;
}

static bool is_empty(const struct metrics_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].blocks > 0)
            return false;
    return true;
}

static bool fits(const struct metrics *into, const struct metrics *from, struct error *err)
{
    if (from->options.accelerators != into->options.accelerators ||
        from->options.epochs != into->options.epochs)
        return error_set(err, ERROR_FAILED,
                         "metrics of %d accelerators and %d epochs do not go with %d and %d",
                         from->options.accelerators, from->options.epochs, into->options.accelerators,
                         into->options.epochs);
    if (from->first < into->first || from->first + from->count > into->first + into->count)
        return error_set(err, ERROR_FAILED,
                         "metrics of accelerators %d to %d do not go into those of %d to %d", from->first,
                         from->first + from->count - 1, into->first, into->first + into->count - 1);
    if (!is_empty(metrics_row(into, from->first, 0, METRICS_TRAIN), row_count(from)))
        return error_set(err, ERROR_FAILED, "accelerators %d to %d were measured twice", from->first,
                         from->first + from->count - 1);
    return true;
}

bool metrics_merge(struct metrics *into, const struct metrics *from, struct error *err)
{
    if (!fits(into, from, err))
        return false;
    memcpy(metrics_row(into, from->first, 0, METRICS_TRAIN), from->rows,
           row_count(from) * sizeof *from->rows);
    for (int phase = 0; phase < METRICS_PHASES; phase++) {
        histogram_merge(&into->wait[phase], &from->wait[phase]);
        histogram_merge(&into->step[phase], &from->step[phase]);
        histogram_merge(&into->barrier[phase], &from->barrier[phase]);
    }
    for (size_t i = 0; i < from->checkpoint_count; i++)
        if (!metrics_checkpoint(into, &from->checkpoints[i], err))
            return false;
    return true;
}

void metrics_pack(const struct metrics *metrics, struct text *out)
{
    struct header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    header.row_size = sizeof *metrics->rows;
    header.histogram_size = sizeof *metrics->wait;
    header.checkpoint_size = sizeof *metrics->checkpoints;
    header.options = metrics->options;
    header.first = metrics->first;
    header.count = metrics->count;
    header.checkpoints = metrics->checkpoint_count;
    text_add_bytes(out, (const char *)&header, sizeof header);
    text_add_bytes(out, (const char *)metrics->rows, row_count(metrics) * sizeof *metrics->rows);
    text_add_bytes(out, (const char *)metrics->wait, METRICS_PHASES * sizeof *metrics->wait);
    text_add_bytes(out, (const char *)metrics->step, METRICS_PHASES * sizeof *metrics->step);
    text_add_bytes(out, (const char *)metrics->barrier, METRICS_PHASES * sizeof *metrics->barrier);
    text_add_bytes(out, (const char *)metrics->checkpoints,
                   metrics->checkpoint_count * sizeof *metrics->checkpoints);
}

static const char *take(void *to, const char *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
    return from + size;
}

static bool wrong_message(struct error *err)
{
    return error_set(err, ERROR_FAILED,
                     "metrics of another rank cannot be read: all ranks must run the same program");
}

static bool read_header(struct header *header, const char *bytes, size_t length, struct error *err)
{
    if (length < sizeof *header)
        return wrong_message(err);
    memcpy(header, bytes, sizeof *header);
    return (memcmp(header->magic, magic, sizeof magic) == 0 &&
            header->row_size == sizeof(struct metrics_row) &&
            header->histogram_size == sizeof(struct histogram) &&
            header->checkpoint_size == sizeof(struct metrics_checkpoint)) ||
           wrong_message(err);
}

bool metrics_unpack(struct metrics *metrics, const char *bytes, size_t length, struct error *err)
{
    struct header header;
    *metrics = (struct metrics){0};
    if (!read_header(&header, bytes, length, err) ||
        !metrics_init(metrics, &header.options, header.first, header.count, err))
        return false;
    size_t fixed = sizeof header + row_count(metrics) * sizeof *metrics->rows +
                   (size_t)3 * METRICS_PHASES * sizeof *metrics->wait;
    if (length < fixed || (length - fixed) / sizeof *metrics->checkpoints != header.checkpoints ||
        (length - fixed) % sizeof *metrics->checkpoints != 0) {
        metrics_release(metrics);
        return wrong_message(err);
    }
    bytes = take(metrics->rows, bytes + sizeof header, row_count(metrics) * sizeof *metrics->rows);
    bytes = take(metrics->wait, bytes, METRICS_PHASES * sizeof *metrics->wait);
    bytes = take(metrics->step, bytes, METRICS_PHASES * sizeof *metrics->step);
    bytes = take(metrics->barrier, bytes, METRICS_PHASES * sizeof *metrics->barrier);
    for (uint64_t i = 0; i < header.checkpoints; i++) {
        struct metrics_checkpoint checkpoint;
        bytes = take(&checkpoint, bytes, sizeof checkpoint);
        if (!metrics_checkpoint(metrics, &checkpoint, err)) {
            metrics_release(metrics);
            return false;
        }
    }
    return true;
}
