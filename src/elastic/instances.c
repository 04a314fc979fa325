#include "elastic/instances.h"

#include "core/vector.h"
#include "elastic/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void elastic_set_release(struct elastic_set *set)
{
    free(set->counts);
    memset(set, 0, sizeof *set);
}

bool elastic_set_split(const struct elastic_set *set, const struct elastic_kit *kit,
                       struct elastic_share **shares, int *count, double *slowest, struct error *err)
{
    size_t capacity = 0;
    *shares = NULL;
    *count = 0;
    for (int t = 0; t < kit->shape_count; t++)
        for (int l = 0; set->counts[t] > 0 && l < kit->shapes[t].line_count; l++) {
            const struct elastic_line *line = &kit->shapes[t].lines[l];
            struct elastic_share share = {
                .line = line, .shape = t, .count = (int64_t)set->counts[t] * line->copies};
            if (!VECTOR_ADD(*shares, *count, capacity, share)) {
                free(*shares);
                *shares = NULL;
                return error_memory(err);
            }
        }
    *slowest = elastic_split(*shares, *count, kit->batch);
    return true;
}

bool elastic_set_score(struct elastic_set *set, const struct elastic_kit *kit, struct error *err)
{
    struct elastic_share *shares;
    int count;
    set->instances = set->nodes = 0;
    set->pipelines = 0;
    for (int t = 0; t < kit->shape_count; t++) {
        set->instances += set->counts[t];
        set->nodes += set->counts[t] * kit->shapes[t].nodes;
        set->pipelines += (int64_t)set->counts[t] * kit->shapes[t].pipelines;
    }
    if (!elastic_set_split(set, kit, &shares, &count, &set->slowest, err))
        return false;
    free(shares);
    set->exchange = 0;
    for (int t = 0; t < kit->shape_count; t++)
        if (set->counts[t] > 0)
            set->exchange = fmax(set->exchange, elastic_exchange(&kit->shapes[t], set->pipelines));
    set->seconds = set->slowest + set->exchange;
    return true;
}
