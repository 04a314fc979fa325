#include "evidence/mixed_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One and a half: as many are smaller, and half of those that are equal. Quadratic: tables have hundreds of rows. */
static void rank(const double *values, int count, double *ranks)
{
    for (int i = 0; i < count; i++) {
        ranks[i] = 0.5;
        for (int j = 0; j < count; j++)
            ranks[i] += values[j] < values[i] ? 1.0 : values[j] == values[i] ? 0.5 : 0.0;
    }
}

double mixed_rank_correlation(const double *a, const double *b, int count, double *room)
{
    double *x = room, *y = room + count, mean = 0.5 * (count + 1);
    double products = 0.0, x_squares = 0.0, y_squares = 0.0;
    rank(a, count, x);
    rank(b, count, y);
    for (int i = 0; i < count; i++) {
        products += (x[i] - mean) * (y[i] - mean);
        x_squares += (x[i] - mean) * (x[i] - mean);
        y_squares += (y[i] - mean) * (y[i] - mean);
    }
    return x_squares > 0.0 && y_squares > 0.0 ? products / sqrt(x_squares * y_squares) : 0.0;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Of sorted values, between neighbours in proportion. */
static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int low = (int)at;
    return low + 1 < count ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]) : sorted[low];
}

/* Pairs in the first two columns; the others, of `most` too, are room. */
static struct mixed_score score_of(double *columns, int most, int count)
{
    double *predicted = columns, *measured = columns + most, *room = columns + 2 * (ptrdiff_t)most;
    struct mixed_score score = {.rows = count};
    if (count == 0)
        return score;
    score.rank = mixed_rank_correlation(predicted, measured, count, room);
    for (int i = 0; i < count; i++)
        room[i] = predicted[i] / measured[i] - 1.0;
    qsort(room, (size_t)count, sizeof *room, compare);
    score.bias = quantile(room, count, 0.5);
    for (int i = 0; i < count; i++) {
        room[i] = fabs(room[i]);
        score.mean += room[i] / count;
    }
    qsort(room, (size_t)count, sizeof *room, compare);
    score.median = quantile(room, count, 0.5);
    score.p90 = quantile(room, count, 0.9);
    return score;
}

static bool of_cluster(const struct mixed_row *row, const char *cluster)
{
    return !row->reason && (!cluster || strcmp(row->cluster, cluster) == 0);
}

enum quantity { SECONDS, PLANNER, MEMORY };

static void pair_of(const struct mixed_row *row, enum quantity quantity, double *predicted, double *measured)
{
    *predicted = quantity == SECONDS   ? row->predicted.seconds
                 : quantity == PLANNER ? row->planner
                                       : row->predicted_memory;
    *measured = quantity == MEMORY ? row->measured_memory : row->measured;
}

static bool score_table(const struct mixed_table *table, const char *cluster, bool doubtful,
                        enum quantity quantity, struct mixed_score *score, struct error *err)
{
    int most = table->count + 1, count = 0;
    double *columns = calloc((size_t)most, 4 * sizeof *columns);
    if (!columns)
        return error_memory(err);
    for (int i = 0; i < table->count; i++) {
        const struct mixed_row *row = &table->rows[i];
        double predicted, measured;
        pair_of(row, quantity, &predicted, &measured);
        if (!of_cluster(row, cluster) || measured <= 0.0 || predicted <= 0.0 || (row->mark && !doubtful))
            continue;
        columns[count] = predicted;
        columns[most + count++] = measured;
    }
    *score = score_of(columns, most, count);
    free(columns);
    return true;
}

bool mixed_table_score(const struct mixed_table *table, const char *cluster, bool doubtful,
                       struct mixed_score *score, struct error *err)
{
    return score_table(table, cluster, doubtful, SECONDS, score, err);
}

bool mixed_table_planner(const struct mixed_table *table, const char *cluster, bool doubtful,
                         struct mixed_score *score, struct error *err)
{
    return score_table(table, cluster, doubtful, PLANNER, score, err);
}

bool mixed_table_memory(const struct mixed_table *table, const char *cluster, struct mixed_score *score,
                        struct error *err)
{
    return score_table(table, cluster, true, MEMORY, score, err);
}
