#include "elastic/policy/state.h"

#include <string.h>

/* All nodes that make the job faster are in use, in pipelines whose lengths differ by at most one. As
 * every pipeline holds the whole model, node j of a pipeline of s nodes holds the part [j/s, (j+1)/s) of
 * it. */

static double healthy(const struct policy_state *state)
{
    return policy_speed_best(state, state->nodes);
}

/* The fewest of the nodes that are there with which the job is as fast. */
static int nodes_of_use(const struct policy_state *state)
{
    const double *best = state->rates->best;
    int nodes = state->live;
    while (nodes > 0 && !(best[nodes - 1] > best[nodes]) && (best[nodes - 1] > 0 || best[nodes] <= 0))
        nodes--;
    return nodes;
}

static void arrange(struct policy_state *state, struct policy_step *step)
{
    policy_state_resize(state, nodes_of_use(state));
    policy_state_fill(state);
    step->speed = policy_speed_best(state, state->live);
    step->waits = step->speed <= 0;
}

static void begin(struct policy_state *state, struct policy_step *step)
{
    arrange(state, step);
}

/* Pipelines of n nodes: the first n % count have one node more than the others. Returns whether some part
 * of the model was lost in all of them. Parts: between the cuts j/s and j/(s+1). */
static bool part_is_lost(struct policy_state *state)
{
    int nodes = state->arranged, count = nodes / state->rates->stages;
    if (count < 1)
        count = 1;
    if (state->lost_count < count)
        return false;
    int s = nodes / count, longer = nodes % count, *lost[2] = {state->room, state->room + s};
    memset(state->room, 0, (size_t)(2 * s + 1) * sizeof *state->room);
    for (int i = 0; i < state->lost_count; i++) {
        int cell = state->lost[i];
        if (cell < longer * (s + 1))
            lost[1][cell % (s + 1)]++;
        else if (cell < nodes)
            lost[0][(cell - longer * (s + 1)) % s]++;
    }
    /* part j of s overlaps parts j and j+1 of s+1 */
    for (int j = 0; j < s; j++)
        for (int k = j; k <= j + 1; k++)
            if ((longer < count ? lost[0][j] : 0) + (longer > 0 ? lost[1][k] : 0) >= count)
                return true;
    return false;
}

static void change(struct policy_state *state, const struct policy_change *change, struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    bool waited = step->waits;
    bool hit = policy_state_apply(state, change) > 0;
    state->from_save = state->from_save || (hit && (state->setup->exists_once || part_is_lost(state)));
    if (!hit && !waited && nodes_of_use(state) <= state->cells)
        return; /* a spare more or less */
    arrange(state, step);
    step->loss = state->from_save ? POLICY_LOSES_SAVE : hit ? POLICY_LOSES_STEP : POLICY_KEEPS;
    if (!step->waits)
        policy_stop(step, hit ? costs->detect : 0,
                    state->from_save ? costs->restart + costs->load : costs->reconfigure);
}

const struct elastic_policy policy_oobleck = {
    SAYS_policy_oobleck, .saving = POLICY_COPIES, .healthy = healthy, .begin = begin, .change = change,
};
