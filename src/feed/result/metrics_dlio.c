/* DLIO's summary, and checkpoints: both as its StatsCounter makes them of lists of numbers. */
#include "feed/result/metrics_figures.h"

#include <math.h>
#include <stdlib.h>

void metrics_mean_stdev(const double *values, size_t count, double *mean, double *stdev)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *mean = count > 0 ? sum / (double)count : (double)NAN;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *stdev = count > 0 ? sqrt(squares / (double)count) : (double)NAN;
}

/* Weighted by steps; an epoch without any is 0. */
static double of_row(const struct metrics_row *row, double sum)
{
    return row->dlio_steps > 0 ? sum / (double)row->dlio_steps : 0;
}

static void train_epochs(const struct metrics *metrics, struct metrics_dlio *dlio)
{
    for (int epoch = 0; epoch < metrics->options.epochs; epoch++) {
        if (!metrics_ran(metrics, METRICS_TRAIN, epoch))
            continue;
        double au = 0, throughput = 0;
        for (int a = metrics->first; a < metrics->first + metrics->count; a++) {
            const struct metrics_row *row = metrics_row(metrics, a, epoch, METRICS_TRAIN);
            au += of_row(row, row->dlio_au);
            throughput += of_row(row, row->dlio_throughput);
        }
        dlio->au[dlio->count] = au / metrics->options.accelerators;
        dlio->throughput[dlio->count++] = throughput;
    }
}

static void eval_epochs(const struct metrics *metrics, struct metrics_dlio *dlio)
{
    for (int a = metrics->first; a < metrics->first + metrics->count; a++)
        for (int epoch = 0; epoch < metrics->options.epochs; epoch++) {
            const struct metrics_row *row = metrics_row(metrics, a, epoch, METRICS_EVAL);
            if (row->blocks == 0)
                continue;
            dlio->au[dlio->count] = of_row(row, row->dlio_au) / metrics->options.accelerators;
            dlio->throughput[dlio->count++] = of_row(row, row->dlio_throughput);
        }
}

bool metrics_dlio(const struct metrics *metrics, enum metrics_phase phase, struct metrics_dlio *dlio,
                  struct error *err)
{
    size_t max = (size_t)metrics->options.epochs * (phase == METRICS_EVAL ? (size_t)metrics->count : 1);
    *dlio = (struct metrics_dlio){
        .au = calloc(max, sizeof *dlio->au),
        .throughput = calloc(max, sizeof *dlio->throughput),
    };
    if (!dlio->au || !dlio->throughput) {
        metrics_dlio_release(dlio);
        return error_memory(err);
    }
    if (phase == METRICS_TRAIN)
        train_epochs(metrics, dlio);
    else
        eval_epochs(metrics, dlio);
    metrics_mean_stdev(dlio->au, dlio->count, &dlio->au_mean, &dlio->au_stdev);
    metrics_mean_stdev(dlio->throughput, dlio->count, &dlio->throughput_mean, &dlio->throughput_stdev);
    dlio->io_mean = dlio->throughput_mean * metrics->options.record_length / 1024 / 1024;
    dlio->io_stdev = dlio->throughput_stdev * metrics->options.record_length / 1024 / 1024;
    dlio->met = dlio->au_mean >= metrics->options.au_target * 100;
    return true;
}

void metrics_dlio_release(struct metrics_dlio *dlio)
{
    free(dlio->au);
    free(dlio->throughput);
    *dlio = (struct metrics_dlio){0};
}

static int by_number(const void *a, const void *b)
{
    const struct metrics_checkpoint *one = a, *other = b;
    return one->number != other->number ? (one->number > other->number) - (one->number < other->number)
                                        : (one->rank > other->rank) - (one->rank < other->rank);
}

static double seconds_of(const struct metrics_checkpoint *checkpoint)
{
    return (double)(checkpoint->end - checkpoint->start) / 1e9;
}

/* One value per checkpoint. */
struct lists {
    double *duration, *throughput, *dlio_duration, *dlio_throughput;
    double time, sync; /* sums over all ranks' parts */
};

static void add_rank(struct metrics_checkpoints *figures, const struct metrics_checkpoint *part,
                     struct lists *lists)
{
    double rate = (double)part->bytes / seconds_of(part);
    lists->time += seconds_of(part);
    lists->sync += (double)part->sync / 1e9;
    figures->all_bytes += part->bytes;
    figures->from_storage =
        figures->from_storage < 0 || part->from_storage < 0 ? -1 : figures->from_storage + part->from_storage;
    if (part->bytes > 0 && (figures->rank_min == 0 || rate < figures->rank_min)) {
        figures->rank_min = rate;
        figures->rank_min_at = part->rank;
    }
}

/* The parts of one checkpoint, in the order of ranks. */
static void add_checkpoint(struct metrics_checkpoints *figures, const struct metrics_checkpoint *parts,
                           size_t count, struct lists *lists)
{
    double bytes = 0, longest = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += (double)parts[i].bytes;
        longest = fmax(longest, seconds_of(&parts[i]));
        add_rank(figures, &parts[i], lists);
    }
    double size = bytes / 1024 / 1024 / 1024, root = seconds_of(&parts[0]);
    lists->duration[figures->count] = longest;
    lists->throughput[figures->count] = bytes / longest;
    lists->dlio_duration[figures->count] = root;
    lists->dlio_throughput[figures->count] = size / root;
    figures->count++;
}

static void finish(struct metrics_checkpoints *figures, const struct lists *lists)
{
    size_t count = (size_t)figures->count;
    double mean_rate;
    figures->bytes = figures->all_bytes / figures->count;
    figures->sync = lists->sync / lists->time;
    metrics_mean_stdev(lists->duration, count, &figures->duration_mean, &figures->duration_stdev);
    metrics_mean_stdev(lists->throughput, count, &mean_rate, &figures->throughput_stdev);
    figures->throughput_mean = (double)figures->all_bytes / (figures->duration_mean * (double)count);
    metrics_mean_stdev(lists->dlio_duration, count, &figures->dlio_duration_mean,
                       &figures->dlio_duration_stdev);
    metrics_mean_stdev(lists->dlio_throughput, count, &figures->dlio_throughput_mean,
                       &figures->dlio_throughput_stdev);
    figures->duration_max = lists->duration[0];
    figures->throughput_min = lists->throughput[0];
    for (size_t i = 1; i < count; i++) {
        figures->duration_max = fmax(figures->duration_max, lists->duration[i]);
        figures->throughput_min = fmin(figures->throughput_min, lists->throughput[i]);
    }
}

static void collect(struct metrics_checkpoints *figures, struct metrics_checkpoint *parts, size_t count,
                    double *numbers)
{
    struct lists lists = {numbers, numbers + count, numbers + 2 * count, numbers + 3 * count, 0, 0};
    qsort(parts, count, sizeof *parts, by_number);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && parts[next].number == parts[i].number;)
            next++;
        add_checkpoint(figures, parts + i, next - i, &lists);
    }
    finish(figures, &lists);
}

bool metrics_checkpoints(const struct metrics *metrics, enum metrics_kind kind,
                         struct metrics_checkpoints *figures, struct error *err)
{
    *figures = (struct metrics_checkpoints){0};
    size_t count = 0;
    for (size_t i = 0; i < metrics->checkpoint_count; i++)
        count += metrics->checkpoints[i].kind == kind;
    if (count == 0)
        return true;
    struct metrics_checkpoint *parts = calloc(count, sizeof *parts);
    double *numbers = calloc(count, 4 * sizeof *numbers);
    bool ok = parts && numbers;
    if (ok) {
        size_t at = 0;
        for (size_t i = 0; i < metrics->checkpoint_count; i++)
            if (metrics->checkpoints[i].kind == kind)
                parts[at++] = metrics->checkpoints[i];
        collect(figures, parts, count, numbers);
    }
    free(parts);
    free(numbers);
    return ok || error_memory(err);
}
