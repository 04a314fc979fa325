#include "elastic/kit_rates.h"

#include "elastic/rate.h"
#include "elastic/reconfigure.h"

#include <math.h>
#include <stdlib.h>

struct kit_rates {
    const struct elastic_kit *kit;
    struct elastic_rate *rate;
    struct error error;
    bool failed;
};

/* Takes `count` nodes of all kinds in proportion: the first kinds round up. */
static void take_nodes(const struct elastic_kit *kit, int count, int *live)
{
    int64_t left = elastic_kit_nodes(kit), wanted = count;
    for (int k = 0; k < kit->kind_count; k++) {
        int64_t share = left > 0 ? (wanted * kit->kinds[k].nodes.count + left - 1) / left : 0;
        live[k] = (int)(share < wanted ? share : wanted);
        left -= kit->kinds[k].nodes.count;
        wanted -= live[k];
    }
}

static double seconds_on(void *context, int nodes)
{
    struct kit_rates *rates = context;
    int live[ELASTIC_MAX_KINDS] = {0};
    double seconds = INFINITY;
    take_nodes(rates->kit, nodes, live);
    if (!rates->failed && !elastic_rate_seconds(rates->rate, live, &seconds, &rates->error))
        rates->failed = true;
    return isfinite(seconds) ? seconds : 0;
}

bool elastic_rates_of_kit(struct elastic_rates *rates, const struct elastic_kit *kit, int faults,
                          struct error *err)
{
    int nodes = elastic_kit_nodes(kit), stages = nodes;
    struct kit_rates asked = {.kit = kit};
    for (int i = 0; i < kit->shape_count; i++)
        if (kit->shapes[i].nodes < stages)
            stages = kit->shapes[i].nodes;
    if (!(asked.rate = elastic_rate_new(kit, faults, err)))
        return false;
    bool ok = elastic_rates_make(rates, nodes, stages, kit->batch, 0, seconds_on, &asked, err);
    elastic_rate_free(asked.rate);
    if (!asked.failed)
        return ok;
    if (ok)
        elastic_rates_release(rates);
    *err = asked.error;
    return false;
}

bool elastic_copy_seconds(const struct elastic_kit *kit, double *seconds, double *checkpoints,
                          struct error *err)
{
    struct elastic_set set;
    struct elastic_state state;
    struct elastic_loss *losses = NULL;
    int nodes[ELASTIC_MAX_KINDS], count = 0;
    double answered = 0, all = 0;
    *seconds = *checkpoints = 0;
    for (int k = 0; k < kit->kind_count; k++)
        nodes[k] = kit->kinds[k].nodes.count;
    if (!elastic_instances(&set, kit, nodes, 0, err))
        return false;
    bool ok = elastic_state_start(&state, kit, &set, err);
    if (ok) {
        ok = elastic_single_losses(&state, ELASTIC_LOCAL, 0, &losses, &count, err);
        elastic_state_release(&state);
    }
    for (int i = 0; ok && i < count; i++) {
        all += losses[i].nodes;
        if (losses[i].outcome.checkpoint)
            continue;
        answered += losses[i].nodes;
        *seconds += losses[i].nodes * losses[i].outcome.seconds;
    }
    if (ok && all > 0) {
        *checkpoints = 1 - answered / all;
        *seconds = answered > 0 ? *seconds / answered : 0;
    }
    free(losses);
    elastic_set_release(&set);
    return ok;
}
