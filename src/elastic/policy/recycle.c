#include "elastic/policy/state.h"

#include <math.h>

/* Pipelines keep their shape. The micro-batches of a lost node go to the nodes of the same stage in other
 * pipelines, into their bubbles first: with backward passes split and optimizer steps staggered all of a
 * bubble is of use. */

static double healthy(const struct policy_state *state)
{
    return policy_speed_equal(state, state->rates->pipelines);
}

static int most_holes(const struct policy_state *state)
{
    int most = 0;
    if (state->hole_count == 0)
        return 0;
    for (int stage = 0; stage < state->rates->stages; stage++)
        if (state->stage_holes[stage] > most)
            most = state->stage_holes[stage];
    return most;
}

static void set_speed(struct policy_state *state, struct policy_step *step)
{
    const struct elastic_rates *rates = state->rates;
    int lost = most_holes(state), pipelines = state->pipelines;
    step->waits = pipelines == 0;
    step->speed = policy_speed_equal(state, pipelines);
    if (lost == 0 || pipelines == 0)
        return;
    double batch = (double)rates->batch, bubble = rates->stages - 1;
    double slots = ceil(batch / pipelines) + bubble;
    step->speed *= slots / fmax(slots, ceil(batch / (pipelines - lost)));
}

static void arrange(struct policy_state *state, struct policy_step *step)
{
    policy_use_pipelines(state);
    set_speed(state, step);
}

static void begin(struct policy_state *state, struct policy_step *step)
{
    arrange(state, step);
}

/* Puts spares into holes, first where most nodes of a stage are lost, then at the lowest cell. Returns
 * their number. */
static int fill_worst(struct policy_state *state)
{
    int filled = 0;
    for (; state->spare_count > 0 && state->hole_count > 0; filled++) {
        int worst = state->holes[0], stages = state->rates->stages;
        for (int i = 1; i < state->hole_count; i++) {
            int hole = state->holes[i];
            int more = state->stage_holes[hole % stages] - state->stage_holes[worst % stages];
            if (more > 0 || (more == 0 && hole < worst))
                worst = hole;
        }
        policy_state_fill_hole(state, worst);
    }
    return filled;
}

static void restart_job(struct policy_state *state, bool noticed, struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    arrange(state, step);
    step->wake_at_save = false;
    if (!step->waits)
        policy_stop(step, noticed ? 0 : costs->detect, costs->restart + costs->load);
}

static void change(struct policy_state *state, const struct policy_change *change, struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    bool waited = step->waits;
    bool hit = policy_state_apply(state, change) > 0;
    bool gone = state->pipelines > 0 && most_holes(state) == state->pipelines;
    state->from_save = state->from_save || gone || (hit && state->setup->exists_once);
    if (waited || state->from_save) {
        if (hit)
            step->loss = POLICY_LOSES_SAVE;
        if (hit || waited)
            restart_job(state, !hit, step);
        return;
    }
    int filled = fill_worst(state);
    set_speed(state, step);
    if (hit)
        step->loss = POLICY_LOSES_STEP;
    if (hit || filled > 0)
        policy_stop(step, hit ? costs->detect : 0,
                    filled > 0 ? fmax(costs->migrate, hit ? costs->reroute : 0) : costs->reroute);
    step->wake_at_save = policy_pipelines_of(state) > state->pipelines && state->hole_count == 0;
}

static void wake(struct policy_state *state, double time, struct policy_step *step)
{
    (void)time;
    if (policy_pipelines_of(state) > state->pipelines)
        restart_job(state, true, step);
}

const struct elastic_policy policy_recycle = {
    SAYS_policy_recycle, .saving = POLICY_COPIES, .healthy = healthy,
    .begin = begin,      .change = change,        .wake = wake,
};
