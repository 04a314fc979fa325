#include "feed/result/metrics.h"

#include <string.h>

static const char magic[8] = "rhmetr1";

/* Begins a message; rows, histograms and checkpoints follow. */
struct header {
    char magic[8];
    uint64_t row_size, histogram_size, checkpoint_size; /* another build would have others */
    int accelerators, epochs, first, count;
    uint64_t checkpoints;
};

static size_t row_count(const struct header *header)
{
    return (size_t)header->count * (size_t)header->epochs * METRICS_PHASES;
}

void metrics_pack(const struct metrics *metrics, struct text *out)
{
    struct header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    header.row_size = sizeof *metrics->rows;
    header.histogram_size = sizeof *metrics->wait;
    header.checkpoint_size = sizeof *metrics->checkpoints;
    header.accelerators = metrics->options.accelerators;
    header.epochs = metrics->options.epochs;
    header.first = metrics->first;
    header.count = metrics->count;
    header.checkpoints = metrics->checkpoint_count;
    text_add_bytes(out, (const char *)&header, sizeof header);
    text_add_bytes(out, (const char *)metrics->rows, row_count(&header) * sizeof *metrics->rows);
    text_add_bytes(out, (const char *)metrics->wait, METRICS_PHASES * sizeof *metrics->wait);
    text_add_bytes(out, (const char *)metrics->step, METRICS_PHASES * sizeof *metrics->step);
    text_add_bytes(out, (const char *)metrics->barrier, METRICS_PHASES * sizeof *metrics->barrier);
    text_add_bytes(out, (const char *)metrics->checkpoints,
                   metrics->checkpoint_count * sizeof *metrics->checkpoints);
}

static bool read_header(struct header *header, const char *bytes, size_t length)
{
    if (length < sizeof *header)
        return false;
    memcpy(header, bytes, sizeof *header);
    if (memcmp(header->magic, magic, sizeof magic) != 0 || header->row_size != sizeof(struct metrics_row) ||
        header->histogram_size != sizeof(struct histogram) ||
        header->checkpoint_size != sizeof(struct metrics_checkpoint) || header->count < 1 ||
        header->epochs < 1)
        return false;
    size_t fixed = sizeof *header + row_count(header) * sizeof(struct metrics_row) +
                   (size_t)3 * METRICS_PHASES * sizeof(struct histogram);
    return length >= fixed && (length - fixed) % sizeof(struct metrics_checkpoint) == 0 &&
           (length - fixed) / sizeof(struct metrics_checkpoint) == header->checkpoints;
}

static bool fits(const struct metrics *into, const struct header *from, struct error *err)
{
    int last = from->first + from->count - 1;
    if (from->accelerators != into->options.accelerators || from->epochs != into->options.epochs)
        return error_set(err, ERROR_FAILED, "metrics of %d accelerators and %d epochs do not match %d and %d",
                         from->accelerators, from->epochs, into->options.accelerators, into->options.epochs);
    if (from->first < into->first || last >= into->first + into->count)
        return error_set(err, ERROR_FAILED, "metrics of accelerators %d to %d lie outside %d to %d",
                         from->first, last, into->first, into->first + into->count - 1);
    const struct metrics_row *rows = metrics_row(into, from->first, 0, METRICS_TRAIN);
    for (size_t i = 0; i < row_count(from); i++)
        if (rows[i].blocks > 0)
            return error_set(err, ERROR_FAILED, "accelerators %d to %d were measured twice", from->first,
                             last);
    return true;
}

/* Adds a histogram for each phase; returns the bytes behind them. */
static const char *merge_histograms(struct histogram *into, const char *bytes)
{
    for (int phase = 0; phase < METRICS_PHASES; phase++, bytes += sizeof *into) {
        struct histogram histogram;
        memcpy(&histogram, bytes, sizeof histogram);
        histogram_merge(&into[phase], &histogram);
    }
    return bytes;
}

bool metrics_merge(struct metrics *into, const char *bytes, size_t length, struct error *err)
{
    struct header header;
    if (!read_header(&header, bytes, length))
        return error_set(err, ERROR_FAILED,
                         "metrics of another rank cannot be read: all ranks must run the same program");
    if (!fits(into, &header, err))
        return false;
    size_t rows = row_count(&header) * sizeof *into->rows;
    bytes += sizeof header;
    memcpy(metrics_row(into, header.first, 0, METRICS_TRAIN), bytes, rows);
    bytes = merge_histograms(into->wait, bytes + rows);
    bytes = merge_histograms(into->step, bytes);
    bytes = merge_histograms(into->barrier, bytes);
    for (uint64_t i = 0; i < header.checkpoints; i++, bytes += sizeof(struct metrics_checkpoint)) {
        struct metrics_checkpoint checkpoint;
        memcpy(&checkpoint, bytes, sizeof checkpoint);
        if (!metrics_checkpoint(into, &checkpoint, err))
            return false;
    }
    return true;
}
