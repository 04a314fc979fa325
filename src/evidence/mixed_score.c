#include "evidence/mixed_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A rank is the number of smaller values and half of the number of equal ones, itself included, and a half. Quadratic:
 * tables have hundreds of rows. */
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

static bool of_cluster(const struct mixed_row *row, const char *cluster)
{
    return !row->reason && (!cluster || strcmp(row->cluster, cluster) == 0);
}

bool mixed_table_score(const struct mixed_table *table, const char *cluster, enum mixed_quantity quantity,
                       bool doubtful, struct mixed_score *score, struct error *err)
{
    int room = table->count + 1, count = 0;
    double *predicted = calloc((size_t)room, 4 * sizeof *predicted), *measured = predicted + room;
    if (!predicted)
        return error_memory(err);
    for (int i = 0; i < table->count; i++) {
        const struct mixed_row *row = &table->rows[i];
        predicted[count] = quantity == MIXED_SECONDS   ? row->predicted.seconds
                           : quantity == MIXED_PLANNER ? row->planner
                                                       : row->predicted_memory;
        measured[count] = quantity == MIXED_MEMORY ? row->measured_memory : row->measured;
        count += of_cluster(row, cluster) && measured[count] > 0.0 && predicted[count] > 0.0 &&
                 (!row->mark || doubtful);
    }
    score->rank = mixed_rank_correlation(predicted, measured, count, measured + room);
    for (int i = 0; i < count; i++)
        predicted[i] = predicted[i] / measured[i] - 1.0;
    score->errors = error_score_of(predicted, count);
    free(predicted);
    return true;
}
