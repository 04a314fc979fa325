#include "feed/result/metrics_figures.h"

#include <stdio.h>

/* All members are numbers of 64 bits. */
static void add_sums(struct metrics_sums *into, const struct metrics_sums *from)
{
    int64_t *sums = (int64_t *)into;
    for (size_t i = 0; i < sizeof *into / sizeof *sums; i++)
        sums[i] += ((const int64_t *)from)[i];
}

struct metrics_row metrics_total(const struct metrics *metrics, int accelerator, enum metrics_phase phase,
                                 int epoch)
{
    struct metrics_row total = {0};
    int from = epoch == METRICS_RUN ? 0 : epoch,
        to = epoch == METRICS_RUN ? metrics->options.epochs - 1 : epoch;
    for (int e = from; e <= to; e++) {
        const struct metrics_row *row = metrics_row(metrics, accelerator, e, phase);
        add_sums(&total.all, &row->all);
        add_sums(&total.counted, &row->counted);
        total.last += row->last;
        total.mark += row->mark;
        total.blocks += row->blocks;
    }
    return total;
}

double metrics_au(const struct metrics_sums *sums)
{
    return (double)sums->compute_asked / (double)sums->time;
}

static void widen(struct metrics_range *range, bool first, double value, int accelerator)
{
    if (first || value < range->min) {
        range->min = value;
        range->min_at = accelerator;
    }
    if (first || value > range->max) {
        range->max = value;
        range->max_at = accelerator;
    }
}

/* The longest time that any accelerator took for an epoch's steps, counted or all. */
static double longest(const struct metrics *metrics, enum metrics_phase phase, int epoch, bool counted)
{
    int64_t max = 0;
    for (int a = metrics->first; a < metrics->first + metrics->count; a++) {
        const struct metrics_row *row = metrics_row(metrics, a, epoch, phase);
        int64_t time = counted ? row->counted.time : row->all.time;
        max = time > max ? time : max;
    }
    return (double)max / 1e9;
}

static void add_times(const struct metrics *metrics, enum metrics_phase phase, int epoch,
                      struct metrics_figures *figures)
{
    int from = epoch == METRICS_RUN ? 0 : epoch,
        to = epoch == METRICS_RUN ? metrics->options.epochs - 1 : epoch;
    for (int e = from; e <= to; e++) {
        figures->seconds += longest(metrics, phase, e, true);
        figures->all_seconds += longest(metrics, phase, e, false);
    }
}

static void add_accelerators(const struct metrics *metrics, enum metrics_phase phase, int epoch,
                             struct metrics_figures *figures)
{
    for (int a = metrics->first; a < metrics->first + metrics->count; a++) {
        struct metrics_row row = metrics_total(metrics, a, phase, epoch);
        add_sums(&figures->all, &row.all);
        if (row.counted.steps == 0)
            continue;
        bool first = figures->accelerators++ == 0;
        widen(&figures->au_range, first, metrics_au(&row.counted), a);
        widen(&figures->load_range, first, (double)row.counted.load / 1e9, a);
        widen(&figures->last_range, first, (double)row.last, a);
        add_sums(&figures->counted, &row.counted);
    }
}

static void add_shares(const struct metrics_sums *sums, struct metrics_figures *figures)
{
    double time = (double)sums->time;
    figures->au = metrics_au(sums);
    figures->au_without_barrier = (double)sums->compute_asked / (time - (double)sums->barrier);
    figures->au_measured = (double)sums->compute / time;
    figures->load = (double)sums->load / time;
    figures->copy = (double)sums->copy / time;
    figures->compute = (double)sums->compute_asked / time;
    figures->late = (double)(sums->compute - sums->compute_asked) / time;
    figures->barrier = (double)sums->barrier / time;
    figures->lost = (double)sums->lost / time;
    figures->other = (double)(sums->time - sums->load - sums->copy - sums->compute - sums->barrier) / time;
}

static bool nothing_counted(const struct metrics *metrics, enum metrics_phase phase, int epoch,
                            const struct metrics_figures *figures, struct error *err)
{
    const struct metrics_options *options = &metrics->options;
    const char *what = phase == METRICS_TRAIN ? "training" : "evaluation";
    if (figures->all.steps == 0)
        return error_set(err, ERROR_FAILED, "no %s step ran", what);
    char where[32] = "";
    if (epoch != METRICS_RUN)
        snprintf(where, sizeof where, " of epoch %d", epoch + 1);
    int64_t steps = options->steps[phase], dropped = (int64_t)options->exclude_start + options->exclude_end;
    if (steps == 1 && options->exclude_start > 0)
        return error_set(err, ERROR_FAILED, "one %s step per epoch, dropped as warm-up: use more files",
                         what);
    if (steps <= dropped)
        return error_set(err, ERROR_FAILED,
                         "all %lld %s steps per epoch are dropped, the first %d as warm-up and the last %d: "
                         "use more files",
                         (long long)steps, what, options->exclude_start, options->exclude_end);
    return error_set(
        err, ERROR_FAILED,
        "no %s step%s counts yet: of %lld per epoch the first %d are dropped as warm-up, and the "
        "last %d",
        what, where, (long long)steps, options->exclude_start, options->exclude_end);
}

bool metrics_figures(const struct metrics *metrics, enum metrics_phase phase, int epoch,
                     struct metrics_figures *figures, struct error *err)
{
    const struct metrics_sums *counted = &figures->counted;
    *figures = (struct metrics_figures){0};
    add_times(metrics, phase, epoch, figures);
    add_accelerators(metrics, phase, epoch, figures);
    if (counted->steps == 0)
        return nothing_counted(metrics, phase, epoch, figures, err);
    figures->samples_per_second = (double)counted->samples / figures->seconds;
    figures->bytes_per_second = (double)counted->bytes / figures->seconds;
    add_shares(counted, figures);
    figures->all_samples_per_second = (double)figures->all.samples / figures->all_seconds;
    figures->met = figures->au >= metrics->options.au_target;
    return true;
}

struct metrics_percentiles metrics_percentiles(const struct histogram *histogram)
{
    return (struct metrics_percentiles){
        .min = histogram->count > 0 ? (double)histogram->min / 1e9 : 0,
        .p50 = histogram_quantile(histogram, 0.5) / 1e9,
        .p90 = histogram_quantile(histogram, 0.9) / 1e9,
        .p99 = histogram_quantile(histogram, 0.99) / 1e9,
        .p999 = histogram_quantile(histogram, 0.999) / 1e9,
        .max = histogram->count > 0 ? (double)histogram->max / 1e9 : 0,
    };
}

bool metrics_ran(const struct metrics *metrics, enum metrics_phase phase, int epoch)
{
    for (int a = metrics->first; a < metrics->first + metrics->count; a++)
        if (metrics_row(metrics, a, epoch, phase)->blocks > 0)
            return true;
    return false;
}

bool metrics_complete(const struct metrics *metrics, enum metrics_phase phase, int epoch, int64_t samples,
                      const uint64_t *mark, struct error *err)
{
    int64_t read = 0;
    uint64_t sum = 0;
    for (int a = metrics->first; a < metrics->first + metrics->count; a++) {
        const struct metrics_row *row = metrics_row(metrics, a, epoch, phase);
        read += row->all.samples;
        sum += row->mark;
    }
    if (read != samples)
        return error_set(err, ERROR_FAILED, "epoch %d: %lld samples were read, expected %lld", epoch + 1,
                         (long long)read, (long long)samples);
    if (mark && sum != *mark)
        return error_set(err, ERROR_FAILED, "epoch %d: not each of the %lld samples was read exactly once",
                         epoch + 1, (long long)samples);
    return true;
}
