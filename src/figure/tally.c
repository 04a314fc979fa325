#include "figure/tally.h"

#include <math.h>
#include <stdlib.h>

void tally_add(struct tally *tally, int64_t value)
{
    if (value < 0 || tally->failed)
        return;
    if (!tally->counts) {
        tally->counts = calloc(TALLY_BINS, sizeof *tally->counts);
        tally->failed = !tally->counts;
        tally->min = value;
        if (tally->failed)
            return;
    }
    tally->counts[histogram_bin(value, TALLY_BITS)]++;
    tally->total++;
    tally->min = value < tally->min ? value : tally->min;
    tally->max = value > tally->max ? value : tally->max;
}

void tally_release(struct tally *tally)
{
    free(tally->counts);
    *tally = (struct tally){0};
}

int64_t tally_quantile(const struct tally *tally, double share)
{
    if (tally->total == 0)
        return 0;
    int64_t wanted = (int64_t)ceil(share * (double)tally->total);
    int64_t value = tally_value(histogram_rank_bin(tally->counts, TALLY_BINS, wanted));
    return value > tally->min ? value : tally->min;
}
