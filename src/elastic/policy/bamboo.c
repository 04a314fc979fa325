#include "elastic/policy/state.h"

#include <math.h>

/* Each node also runs the forward pass of its successor (the last one that of the first), in the bubbles
 * as far as they suffice. When a node is lost, its predecessor runs both stages, until a spare takes the
 * place. Two neighbours lost break a pipeline. Broken pipelines are built again when there are enough
 * nodes. */

#define FORWARD_SHARE (1.0 / 3) /* of a forward and backward pass */

/* Slots (a forward and backward pass of a stage) of an iteration. */
static double slots_plain(const struct elastic_rates *rates)
{
    return rates->microbatches + rates->stages - 1.0;
}

static double slots_of(const struct elastic_rates *rates, bool merged)
{
    double bubble = rates->stages - 1, m = rates->microbatches;
    if (rates->stages == 1)
        return m; /* no successor, nothing is redundant */
    double redundant = m + fmax(bubble, m * FORWARD_SHARE);
    return merged ? fmax(redundant, 2 * m + bubble - 1) : redundant;
}

static double speed_of(const struct policy_state *state, int pipelines, bool merged)
{
    const struct elastic_rates *rates = state->rates;
    return pipelines * policy_speed_equal(state, rates->pipelines) / rates->pipelines * slots_plain(rates) /
           slots_of(rates, merged);
}

static double healthy(const struct policy_state *state)
{
    return speed_of(state, state->rates->pipelines, false);
}

static void set_speed(struct policy_state *state, struct policy_step *step)
{
    step->speed = speed_of(state, state->pipelines, state->hole_count > 0);
    step->iteration = state->rates->full * state->pipelines / state->rates->pipelines;
    step->waits = state->pipelines == 0;
}

/* As many pipelines as the nodes suffice for, without holes. */
static void arrange(struct policy_state *state, struct policy_step *step)
{
    policy_use_pipelines(state);
    set_speed(state, step);
}

static void begin(struct policy_state *state, struct policy_step *step)
{
    arrange(state, step);
}

/* A hole is covered if its predecessor is no hole. */
static bool is_broken(const struct policy_state *state, int hole)
{
    int stages = state->rates->stages, first = hole / stages * stages;
    return state->node[hole == first ? first + stages - 1 : hole - 1] < 0;
}

/* Whether no pipeline was left whole by the losses since the job ran: then no copy of the state is left. */
static bool all_broken(struct policy_state *state)
{
    int stages = state->rates->stages;
    if (state->lost_count < state->arranged / stages)
        return false;
    for (int first = 0; first < state->arranged; first += stages) {
        bool broken = false;
        for (int i = 0; i < stages && !broken; i++) {
            int before = first + (i + stages - 1) % stages;
            bool gone = state->lost_in[first + i] == state->episode || state->room[first + i];
            broken = gone && (state->lost_in[before] == state->episode || state->room[before]);
        }
        if (!broken)
            return false;
    }
    return true;
}

static void change(struct policy_state *state, const struct policy_change *change, struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    int stages = state->rates->stages;
    bool waited = step->waits, broken = false;
    bool hit = policy_state_apply(state, change) > 0;
    for (int i = 0; i < state->hole_count && !broken; i++)
        broken = is_broken(state, state->holes[i]);
    if (hit && broken) {
        /* marks holes of before this change as lost, too: they have no copy of their own */
        for (int cell = 0; cell < state->arranged; cell++)
            state->room[cell] = cell < state->cells && state->node[cell] < 0;
        state->from_save = state->from_save || state->setup->exists_once || all_broken(state);
    }
    bool fills = state->hole_count > 0 && state->spare_count >= state->hole_count;
    bool grows =
        state->pipelines < state->rates->pipelines && state->spare_count >= stages + state->hole_count;
    if (waited || broken || grows || fills) {
        step->loss = state->from_save ? POLICY_LOSES_SAVE : broken && hit ? POLICY_LOSES_STEP : POLICY_KEEPS;
        arrange(state, step);
        if (!step->waits)
            policy_stop(step, hit ? costs->detect : 0,
                        state->from_save || waited ? costs->restart + costs->load : costs->reconfigure);
    } else if (hit) {
        set_speed(state, step);
        policy_stop(step, costs->detect, costs->reroute);
    }
}

const struct elastic_policy policy_bamboo = {
    SAYS_policy_bamboo, .saving = POLICY_COPIES, .healthy = healthy, .begin = begin, .change = change,
};
