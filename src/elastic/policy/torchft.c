#include "elastic/policy/state.h"

#include <math.h>

/* Replicas of `stages` nodes each (HSDP). A quorum is formed for every step; a replica that lost a node is
 * out of it, and the others go on with a smaller batch. Once its nodes are there again, it starts and
 * copies a peer's state while the others train, and takes part from ready[replica] on. */

static double healthy(const struct policy_state *state)
{
    return policy_speed_equal(state, state->rates->pipelines);
}

/* Counts the replicas of the quorum, and sets when the next one is ready. */
static void set_quorum(struct policy_state *state, double time, struct policy_step *step)
{
    const struct elastic_rates *rates = state->rates;
    int in = 0;
    step->wake = INFINITY;
    for (int replica = 0; replica < rates->pipelines; replica++)
        if (state->ready[replica] <= time)
            in++;
        else
            step->wake = fmin(step->wake, state->ready[replica]);
    state->pipelines = in;
    state->from_save = state->from_save && in == 0;
    step->waits = in == 0;
    step->speed = in * policy_speed_equal(state, rates->pipelines) / rates->pipelines;
    step->iteration = rates->full * in / rates->pipelines;
}

static void begin(struct policy_state *state, struct policy_step *step)
{
    const struct elastic_rates *rates = state->rates;
    policy_state_resize(state, rates->pipelines * rates->stages);
    while (state->spare_count > 0 && state->hole_count > 0) /* from cell 0 on */
        policy_state_fill_hole(state, state->cells - state->hole_count);
    for (int replica = 0; replica < rates->pipelines; replica++)
        state->ready[replica] = state->pipeline_holes[replica] == 0 ? 0 : INFINITY;
    set_quorum(state, 0, step);
    state->from_save = state->pipelines == 0;
}

/* Puts spares into holes, first of the replicas that lack fewest, then at the lowest cell. */
static void fill_nearest(struct policy_state *state)
{
    int stages = state->rates->stages;
    while (state->spare_count > 0 && state->hole_count > 0) {
        int best = state->holes[0];
        for (int i = 1; i < state->hole_count; i++) {
            int hole = state->holes[i];
            int fewer = state->pipeline_holes[best / stages] - state->pipeline_holes[hole / stages];
            if (fewer > 0 || (fewer == 0 && hole < best))
                best = hole;
        }
        policy_state_fill_hole(state, best);
    }
}

/* Whether every replica of the quorum lost a node since the job ran. `time`: of the change. */
static int break_replicas(struct policy_state *state, double time)
{
    int stages = state->rates->stages, broken = 0;
    for (int i = 0; i < state->lost_count; i++) {
        double *ready = &state->ready[state->lost[i] / stages];
        if (state->pipeline_holes[state->lost[i] / stages] > 0 && *ready < INFINITY) {
            broken += *ready <= time;
            *ready = INFINITY;
        }
    }
    return broken;
}

/* Complete replicas that are out of the quorum start, and load the state from a peer or, if none has it,
 * the save. */
static void start_replicas(struct policy_state *state, double time, bool lost)
{
    const struct elastic_costs *costs = &state->setup->costs;
    double seconds =
        costs->restart + (state->from_save ? costs->load : costs->migrate) + (lost ? costs->detect : 0);
    for (int replica = 0; replica < state->rates->pipelines; replica++)
        if (state->pipeline_holes[replica] == 0 && !(state->ready[replica] < INFINITY))
            state->ready[replica] = time + seconds;
}

static void change(struct policy_state *state, const struct policy_change *change, struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    bool waited = step->waits;
    policy_state_apply(state, change);
    int broken = break_replicas(state, change->time);
    set_quorum(state, change->time, step);
    bool gone = broken > 0 && state->setup->exists_once; /* the others lack the lost shards */
    if ((state->pipelines == 0 || gone) && !waited) {
        state->from_save = true;
        for (int replica = 0; replica < state->rates->pipelines; replica++)
            state->ready[replica] = INFINITY;
        step->loss = POLICY_LOSES_SAVE;
    } else if (broken > 0) {
        step->loss = POLICY_LOSES_STEP;
    }
    fill_nearest(state);
    start_replicas(state, change->time, change->lost_count > 0);
    set_quorum(state, change->time, step);
    if (broken > 0 && state->pipelines > 0)
        policy_stop(step, costs->detect, costs->reroute);
}

static void wake(struct policy_state *state, double time, struct policy_step *step)
{
    set_quorum(state, time, step);
}

const struct elastic_policy policy_torchft = {
    SAYS_policy_torchft, .saving = POLICY_COPIES, .healthy = healthy,
    .begin = begin,      .change = change,        .wake = wake,
};
