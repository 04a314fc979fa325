/* Oobleck, Bamboo, ReCycle and torchft. */
#include "support/policy_twin_job.h"

#include <math.h>

/* ---- Oobleck ---- */

int policy_twin_useful(const struct twin *twin)
{
    for (int nodes = 0; nodes < twin->live; nodes++)
        if (policy_twin_best(twin, nodes) >= policy_twin_best(twin, twin->live))
            return nodes;
    return twin->live;
}

/* Looks at many points of the model: is one of them in no pipeline any more? */
static bool a_part_is_gone(const struct twin *twin)
{
    int nodes = twin->cells_then, count = nodes / twin->rates->stages;
    if (nodes == 0)
        return false;
    count = count < 1 ? 1 : count;
    for (int point = 0; point < 5040; point++) {
        int gone = 0;
        for (int q = 0, first = 0; q < count; q++) {
            int length = nodes / count + (q < nodes % count);
            gone += has(&twin->lost_cells, first + (int)((point + 0.5) / 5040 * length));
            first += length;
        }
        if (gone == count)
            return true;
    }
    return false;
}

void policy_twin_react_oobleck(struct twin *twin, const struct list *lost, const struct list *back)
{
    bool waited = twin->waits;
    bool hit = policy_twin_apply(twin, lost, back) > 0;
    twin->from_save = twin->from_save || (hit && (twin->setup->exists_once || a_part_is_gone(twin)));
    if (!hit && !waited && policy_twin_useful(twin) <= twin->cells)
        return;
    policy_twin_use_cells(twin, policy_twin_useful(twin));
    twin->speed = policy_twin_best(twin, twin->live);
    if (twin->from_save)
        policy_twin_lose_to(twin, twin->saved);
    else if (hit)
        policy_twin_lose_step(twin, twin->rates->full);
    if (twin->speed <= 0)
        policy_twin_wait_for_nodes(twin);
    else
        policy_twin_stop(twin, hit ? twin->costs->detect : 0,
                         twin->from_save ? twin->costs->restart + twin->costs->load
                                         : twin->costs->reconfigure);
}

/* ---- Bamboo ---- */

void policy_twin_set_bamboo(struct twin *twin)
{
    double m = twin->rates->microbatches, p = twin->rates->stages, slots = m;
    if (p > 1) {
        slots = m + fmax(p - 1, m / 3);
        if (twin->holes.count > 0)
            slots = fmax(slots, 2 * m + p - 2);
    }
    twin->speed = twin->pipelines * policy_twin_equal(twin, twin->rates->pipelines) / twin->rates->pipelines *
                  (m + p - 1) / slots;
    twin->iteration = twin->rates->full * twin->pipelines / twin->rates->pipelines;
}

static bool gone_for_good(const struct twin *twin, int pipeline)
{
    int stages = twin->rates->stages;
    for (int i = 0; i < stages; i++) {
        int cell = pipeline * stages + i, before = pipeline * stages + (i + stages - 1) % stages;
        if ((has(&twin->lost_cells, cell) || has(&twin->holes, cell)) &&
            (has(&twin->lost_cells, before) || has(&twin->holes, before)))
            return true;
    }
    return false;
}

void policy_twin_react_bamboo(struct twin *twin, const struct list *lost, const struct list *back)
{
    bool waited = twin->waits, broken = false;
    int stages = twin->rates->stages;
    double iteration = twin->iteration;
    bool hit = policy_twin_apply(twin, lost, back) > 0;
    for (int i = 0; i < twin->holes.count; i++) {
        int cell = twin->holes.items[i], before = cell % stages == 0 ? cell + stages - 1 : cell - 1;
        broken = broken || has(&twin->holes, before);
    }
    if (hit && broken) {
        bool all = true;
        for (int q = 0; q * stages < twin->cells_then; q++)
            all = all && gone_for_good(twin, q);
        twin->from_save = twin->from_save || all || twin->setup->exists_once;
    }
    bool enough = twin->holes.count > 0 && twin->spares.count >= twin->holes.count;
    bool more = twin->pipelines < twin->rates->pipelines && twin->spares.count >= stages + twin->holes.count;
    if (waited || broken || enough || more) {
        if (twin->from_save)
            policy_twin_lose_to(twin, twin->saved);
        else if (broken && hit)
            policy_twin_lose_step(twin, iteration);
        policy_twin_use_pipelines(twin, policy_twin_whole_pipelines(twin));
        policy_twin_set_bamboo(twin);
        if (twin->pipelines > 0)
            policy_twin_stop(twin, hit ? twin->costs->detect : 0,
                             twin->from_save || waited ? twin->costs->restart + twin->costs->load
                                                       : twin->costs->reconfigure);
    } else if (hit) {
        policy_twin_set_bamboo(twin);
        policy_twin_stop(twin, twin->costs->detect, twin->costs->reroute);
    }
}

/* ---- ReCycle ---- */

static int holes_of_stage(const struct twin *twin, int stage)
{
    int count = 0;
    for (int i = 0; i < twin->holes.count; i++)
        count += twin->holes.items[i] % twin->rates->stages == stage;
    return count;
}

static int worst_stage(const struct twin *twin)
{
    int worst = 0;
    for (int stage = 1; stage < twin->rates->stages; stage++)
        if (holes_of_stage(twin, stage) > holes_of_stage(twin, worst))
            worst = stage;
    return worst;
}

void policy_twin_react_recycle(struct twin *twin, const struct list *lost, const struct list *back)
{
    const struct elastic_rates *rates = twin->rates;
    bool waited = twin->waits;
    bool hit = policy_twin_apply(twin, lost, back) > 0;
    if (twin->pipelines > 0 && holes_of_stage(twin, worst_stage(twin)) == twin->pipelines)
        twin->from_save = true;
    if (hit && twin->setup->exists_once)
        twin->from_save = true;
    if (waited || twin->from_save) {
        if (hit)
            policy_twin_lose_to(twin, twin->saved);
        if (hit || waited)
            policy_twin_restart_all(twin, !hit);
        return;
    }
    if (hit)
        policy_twin_lose_step(twin, rates->full);
    int filled = 0;
    for (; twin->spares.count > 0 && twin->holes.count > 0; filled++) {
        int top = holes_of_stage(twin, worst_stage(twin)), cell = 0;
        while (twin->node_of[cell] >= 0 || holes_of_stage(twin, cell % rates->stages) < top)
            cell++;
        policy_twin_put(twin, cell);
    }
    int gone = holes_of_stage(twin, worst_stage(twin)), d = twin->pipelines;
    double share = ceil((double)rates->batch / d) + rates->stages - 1;
    double load = ceil((double)rates->batch / (d - gone));
    twin->speed = policy_twin_equal(twin, d) * (gone > 0 ? share / fmax(share, load) : 1);
    if (hit || filled > 0)
        policy_twin_stop(twin, hit ? twin->costs->detect : 0,
                         fmax(filled > 0 ? twin->costs->migrate : 0, hit ? twin->costs->reroute : 0));
    twin->wake_at_save = policy_twin_whole_pipelines(twin) > d && twin->holes.count == 0;
}

/* ---- torchft ---- */

int policy_twin_holes_of_replica(const struct twin *twin, int replica)
{
    int count = 0;
    for (int i = 0; i < twin->holes.count; i++)
        count += twin->holes.items[i] / twin->rates->stages == replica;
    return count;
}

void policy_twin_form_quorum(struct twin *twin)
{
    int in = 0, before = twin->pipelines;
    twin->wake = INFINITY;
    for (int r = 0; r < twin->rates->pipelines; r++) {
        in += twin->ready[r] <= twin->now;
        if (twin->ready[r] > twin->now)
            twin->wake = fmin(twin->wake, twin->ready[r]);
    }
    twin->pipelines = in;
    twin->speed = in * policy_twin_equal(twin, twin->rates->pipelines) / twin->rates->pipelines;
    twin->iteration = twin->rates->full * in / twin->rates->pipelines;
    twin->waits = in == 0;
    if (in != before)
        twin->origin = twin->work;
    if (in > 0)
        twin->from_save = false;
}

void policy_twin_react_torchft(struct twin *twin, const struct list *lost, const struct list *back)
{
    bool waited = twin->waits, broke = false;
    double iteration = twin->iteration;
    int left = 0;
    policy_twin_apply(twin, lost, back);
    for (int r = 0; r < twin->rates->pipelines; r++) {
        if (policy_twin_holes_of_replica(twin, r) > 0) {
            broke = broke || twin->ready[r] <= twin->now;
            twin->ready[r] = INFINITY;
        }
        left += twin->ready[r] <= twin->now;
    }
    if (left > 0)
        twin->from_save = false;
    if (!waited && (left == 0 || (broke && twin->setup->exists_once))) {
        twin->from_save = true;
        for (int r = 0; r < twin->rates->pipelines; r++)
            twin->ready[r] = INFINITY;
        policy_twin_lose_to(twin, twin->saved);
    } else if (broke) {
        policy_twin_lose_step(twin, iteration);
    }
    while (twin->spares.count > 0 && twin->holes.count > 0) {
        int fewest = POLICY_TWIN_MAX_NODES, cell = 0;
        for (int i = 0; i < twin->holes.count; i++)
            fewest = (int)fmin(
                fewest, policy_twin_holes_of_replica(twin, twin->holes.items[i] / twin->rates->stages));
        while (twin->node_of[cell] >= 0 ||
               policy_twin_holes_of_replica(twin, cell / twin->rates->stages) > fewest)
            cell++;
        policy_twin_put(twin, cell);
    }
    double state = twin->from_save ? twin->costs->load : twin->costs->migrate;
    for (int r = 0; r < twin->rates->pipelines; r++)
        if (policy_twin_holes_of_replica(twin, r) == 0 && twin->ready[r] == INFINITY)
            twin->ready[r] =
                twin->now + twin->costs->restart + state + (lost->count > 0 ? twin->costs->detect : 0);
    policy_twin_form_quorum(twin);
    if (twin->pipelines == 0)
        policy_twin_wait_for_nodes(twin);
    else if (broke)
        policy_twin_stop(twin, twin->costs->detect, twin->costs->reroute);
}
