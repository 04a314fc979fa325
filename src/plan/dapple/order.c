/* The order in which states are compared (dapple_sift.c): more there first, of those more here. By counting, twice. */
#include "plan/dapple/places.h"

#include <stdlib.h>
#include <string.h>

bool places_order(struct places *places)
{
    int count = places->state_count, keys = places->devices + 2;
    int32_t *from = malloc((size_t)count * sizeof *from), *ends = calloc((size_t)keys, sizeof *ends);
    if (!from || !ends || !places->by_there) {
        free(from);
        free(ends);
        return false;
    }
    for (int i = 0; i < count; i++)
        from[i] = i;
    for (int pass = 0; pass < 2; pass++) {
        const int16_t *key = pass == 0 ? places->here : places->there;
        memset(ends, 0, (size_t)keys * sizeof *ends);
        for (int i = 0; i < count; i++)
            ends[places->devices - key[i] + 1]++;
        for (int i = 1; i < keys; i++)
            ends[i] += ends[i - 1];
        for (int i = 0; i < count; i++)
            places->by_there[ends[places->devices - key[from[i]]]++] = from[i];
        memcpy(from, places->by_there, (size_t)count * sizeof *from);
    }
    free(from);
    free(ends);
    return true;
}
