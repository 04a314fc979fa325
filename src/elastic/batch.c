#include "elastic/batch.h"

#include <math.h>

#define HALVINGS 60

/* The most micro-batches of a pipeline by Z, in the terms of the head of batch.h: c_i(Z). */
static int64_t within(const struct elastic_share *share, double deadline, int64_t batch)
{
    return elastic_line_within(share->line, deadline, batch);
}

int64_t elastic_capacity(const struct elastic_share *shares, int count, double deadline, int64_t limit)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        int64_t each = within(&shares[i], deadline, limit);
        if (each < 1)
            return 0;
        if (each >= (limit - sum + shares[i].count - 1) / shares[i].count)
            sum = limit; /* the rest must still be able to do one */
        else
            sum += each * shares[i].count;
    }
    return sum;
}

/* The latest first micro-batch: no deadline before it is possible. */
static double earliest(const struct elastic_share *shares, int count)
{
    double seconds = 0;
    for (int i = 0; i < count; i++)
        seconds = fmax(seconds, elastic_line_seconds(shares[i].line, 1));
    return seconds;
}

/* Fills all pipelines to c_i(low), an impossible deadline, then raises the line whose next step ends
 * first. Returns the micro-batches that there is room for; *last is the line raised last, *deadline the
 * optimum. */
static int64_t fill(struct elastic_share *shares, int count, double low, int64_t batch, int *last,
                    double *deadline)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++) {
        shares[i].each = within(&shares[i], low, batch);
        sum += shares[i].each * shares[i].count;
    }
    *last = -1;
    *deadline = low;
    while (sum < batch) {
        double next = INFINITY;
        for (int i = 0; i < count; i++) {
            double seconds = elastic_line_seconds(shares[i].line, shares[i].each + 1);
            if (seconds < next) {
                next = seconds;
                *last = i;
            }
        }
        struct elastic_share *share = &shares[*last];
        *deadline = next;
        share->each += share->line->step;
        sum += share->line->step * share->count;
    }
    return sum;
}

/* Takes `excess` micro-batches from a line; returns those that it cannot give, as each pipeline keeps one. */
static int64_t take(struct elastic_share *share, int64_t excess)
{
    int64_t total = share->each * share->count, given = total - share->count;
    given = given < excess ? given : excess;
    share->each = (total - given) / share->count;
    share->extra = (total - given) % share->count;
    return excess - given;
}

double elastic_split(struct elastic_share *shares, int count, int64_t batch)
{
    int64_t pipelines = 0;
    double low = earliest(shares, count), high = 0, deadline;
    int last;
    for (int i = 0; i < count; i++) {
        pipelines += shares[i].count;
        high = fmax(high, elastic_line_seconds(shares[i].line, batch));
    }
    if (count == 0 || pipelines > batch)
        return INFINITY;
    if (elastic_capacity(shares, count, low, batch) < batch)
        for (int i = 0; i < HALVINGS && high - low > 1e-12 * high; i++) {
            double middle = low + (high - low) / 2;
            if (elastic_capacity(shares, count, middle, batch) >= batch)
                high = middle;
            else
                low = middle;
        }
    int64_t excess = fill(shares, count, low, batch, &last, &deadline) - batch;
    for (int i = 0; i < count; i++)
        shares[i].extra = 0;
    if (last >= 0)
        excess = take(&shares[last], excess);
    for (int i = 0; i < count && excess > 0; i++)
        excess = take(&shares[i], excess);
    double slowest = 0;
    for (int i = 0; i < count; i++)
        slowest = fmax(slowest, elastic_line_seconds(shares[i].line, shares[i].each + (shares[i].extra > 0)));
    return slowest;
}
