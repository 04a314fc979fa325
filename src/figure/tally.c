#include "figure/tally.h"

#include <math.h>
#include <stdlib.h>

int tally_bin(int64_t value)
{
    int bits = 63 - __builtin_clzll((unsigned long long)value | 1);
    int shift = bits > TALLY_BITS ? bits - TALLY_BITS : 0;
    return (shift << TALLY_BITS) + (int)(value >> shift);
}

int64_t tally_value(int bin)
{
    if (bin >= TALLY_BINS)
        return INT64_MAX;
    int shift = bin < 2 << TALLY_BITS ? 0 : (bin >> TALLY_BITS) - 1;
    return (int64_t)(bin - (shift << TALLY_BITS)) << shift;
}

void tally_add(struct tally *tally, int64_t value)
{
    if (value < 0 || tally->failed)
        return;
    if (!tally->counts) {
        tally->counts = calloc(TALLY_BINS, sizeof *tally->counts);
        tally->failed = !tally->counts;
        tally->least = value;
        if (tally->failed)
            return;
    }
    tally->counts[tally_bin(value)]++;
    tally->total++;
    tally->least = value < tally->least ? value : tally->least;
    tally->most = value > tally->most ? value : tally->most;
}

void tally_release(struct tally *tally)
{
    free(tally->counts);
    *tally = (struct tally){0};
}

int64_t tally_quantile(const struct tally *tally, double share)
{
    int64_t wanted = (int64_t)ceil(share * (double)tally->total), passed = 0;
    wanted = wanted < 1 ? 1 : wanted;
    for (int bin = 0; bin < TALLY_BINS && tally->counts; bin++) {
        passed += tally->counts[bin];
        if (passed >= wanted)
            return tally_value(bin) > tally->least ? tally_value(bin) : tally->least;
    }
    return tally->most;
}
