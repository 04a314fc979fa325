/* The steady part of a run. */
#include "core/statistics.h"
#include "launch/log/log.h"

#include <math.h>
#include <stdlib.h>

/* A line this much slower than the median of the second half belongs to the warm-up, if it comes before all others. */
#define SLOWER 1.05

static bool needs(const struct run_log *log, double tokens, int64_t batch, struct error *err)
{
    if (log->measure == RUN_TOKENS && tokens <= 0.0)
        return error_set(err, ERROR_INPUT, "%s: unknown number of tokens per iteration", log->path);
    if (log->measure == RUN_SAMPLES && batch <= 0)
        return error_set(err, ERROR_INPUT, "%s: unknown number of samples per iteration", log->path);
    return true;
}

static double seconds_of(const struct run_log *log, const struct run_step *step, double tokens, int64_t batch)
{
    return log->measure == RUN_SECONDS  ? step->value
           : log->measure == RUN_TOKENS ? tokens / step->value
                                        : (double)batch / step->value;
}

static double median_of(const double *values, int count, double *room)
{
    for (int i = 0; i < count; i++)
        room[i] = values[i];
    sort_doubles(room, count);
    return quantile_of(room, count, 0.5);
}

/* The first line holds what happens once; others follow it as long as they are slower, up to half of the lines. */
static int warmup_of(const double *seconds, int count, double *room)
{
    double steady = median_of(seconds + count / 2, count - count / 2, room);
    int warmup = count > 1;
    while (warmup < count / 2 && seconds[warmup] > SLOWER * steady)
        warmup++;
    return warmup;
}

/* The 95 % interval of a median by order statistics: ranks n/2 -+ 0.98 sqrt(n). */
static void find_interval(struct run_pace *pace, const double *sorted, int count)
{
    double half = 0.98 * sqrt(count);
    int low = (int)floor(count / 2.0 - half), high = (int)ceil(count / 2.0 + half);
    pace->low = sorted[low > 0 ? low : 0];
    pace->high = sorted[high < count ? high : count - 1];
    pace->seconds = quantile_of(sorted, count, 0.5);
}

bool run_log_pace(const struct run_log *log, double tokens, int64_t batch, struct run_pace *pace,
                  struct error *err)
{
    *pace = (struct run_pace){0};
    if (!needs(log, tokens, batch, err))
        return false;
    double *seconds = malloc(2 * ((size_t)log->count + 1) * sizeof *seconds),
           *room = seconds + log->count + 1;
    if (!seconds)
        return error_memory(err);
    int64_t last = log->count > 0 ? log->steps[log->count - 1].batch : 0;
    int count = 0;
    for (int i = 0; i < log->count; i++)
        if (log->steps[i].batch == last)
            seconds[count++] = seconds_of(log, &log->steps[i], tokens, batch);
    pace->other_batch = log->count - count;
    pace->warmup = count > 0 ? warmup_of(seconds, count, room) : 0;
    pace->lines = count - pace->warmup;
    bool enough = pace->lines >= RUN_LOG_MIN_LINES;
    if (enough) {
        sort_doubles(seconds + pace->warmup, pace->lines);
        find_interval(pace, seconds + pace->warmup, pace->lines);
    } else
        error_set(err, ERROR_INPUT,
                  "%s: %d lines about iterations of %s after the warm-up, expected at least %d: log more "
                  "often, or run longer",
                  log->path, pace->lines, log->software, RUN_LOG_MIN_LINES);
    free(seconds);
    return enough;
}
