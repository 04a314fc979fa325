#include "elastic/rate.h"
#include "core/caller.h"

#include "core/hash.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct elastic_rate {
    const struct elastic_kit *kit;
    int faults;
    struct hash_names states; /* the live nodes of each kind, as bytes */
    struct elastic_set *sets; /* [id - 1]; counts NULL: too few nodes */
    size_t count, capacity;
};

struct elastic_rate *elastic_rate_new(const struct elastic_kit *kit, int faults, struct error *err)
{
    struct elastic_rate *rate = calloc(1, sizeof *rate);
    if (!rate)
        return error_memory_null(err);
    rate->kit = kit;
    rate->faults = faults;
    return rate;
}

void elastic_rate_free(struct elastic_rate *rate)
{
    if (!rate)
        return;
    for (size_t i = 0; i < rate->count; i++)
        elastic_set_release(&rate->sets[i]);
    free(rate->sets);
    hash_names_release(&rate->states);
    free(rate);
}

/* The set for as many faults as fit; counts NULL if there is none at all. False: the machine failed. */
static bool make_set(const struct elastic_rate *rate, const int *live, struct elastic_set *set,
                     struct error *err)
{
    for (int faults = rate->faults; faults >= 0; faults--) {
        if (elastic_instances(set, rate->kit, live, faults, err))
            return true;
        if (err->kind != ERROR_INFEASIBLE)
            return false;
    }
    memset(set, 0, sizeof *set);
    set->seconds = INFINITY;
    return true;
}

static struct elastic_set *find(struct elastic_rate *rate, const int *live, struct error *err)
{
    bool added;
    uint32_t id = hash_names_id(&rate->states, live, (size_t)rate->kit->kind_count * sizeof *live, &added);
    if (id == 0)
        return error_memory_null(err);
    if (id <= rate->count)
        return &rate->sets[id - 1];
    /* an earlier failure may have left names without a set */
    while (rate->count < id) {
        struct elastic_set set = {.seconds = INFINITY};
        if (rate->count + 1 == id && !make_set(rate, live, &set, err))
            return NULL;
        if (!VECTOR_ADD(rate->sets, rate->count, rate->capacity, set)) {
            elastic_set_release(&set);
            return error_memory_null(err);
        }
    }
    return &rate->sets[id - 1];
}

bool elastic_rate_seconds(struct elastic_rate *rate, const int *live, double *seconds, struct error *err)
{
    const struct elastic_set *set = find(rate, live, err);
    *seconds = set ? set->seconds : INFINITY;
    return set != NULL;
}

double elastic_rate_nodes(void *rate, int nodes)
{
    const struct elastic_kit *kit = ((struct elastic_rate *)rate)->kit;
    int live[ELASTIC_MAX_KINDS] = {0}, all = elastic_kit_nodes(kit), left = nodes < all ? nodes : all;
    struct error error;
    double seconds;
    for (int k = 0; k < kit->kind_count; k++) {
        live[k] = all > 0 ? (int)((int64_t)kit->kinds[k].nodes.count * left / all) : 0;
        left -= live[k];
        all -= kit->kinds[k].nodes.count;
    }
    bool known = elastic_rate_seconds(rate, live, &seconds, &error);
    if (!known && error_is_memory(&error))
        caller_starve();
    return known && isfinite(seconds) ? seconds : 0;
}
