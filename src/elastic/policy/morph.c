#include "elastic/policy/state.h"

#include <math.h>

/* Jobs that change the number of their equal pipelines: Varuna by a restart, Parcae by live migration. */

static double healthy(const struct policy_state *state)
{
    return policy_speed_equal(state, state->rates->pipelines);
}

/* Uses so many pipelines, filled with all nodes that there are. */
static void arrange(struct policy_state *state, int pipelines, struct policy_step *step)
{
    state->pipelines = pipelines;
    policy_state_resize(state, pipelines * state->rates->stages);
    policy_state_fill(state);
    step->speed = policy_speed_equal(state, pipelines);
    step->waits = pipelines == 0;
}

static void begin(struct policy_state *state, struct policy_step *step)
{
    arrange(state, policy_pipelines_of(state), step);
}

/* ---- Varuna ---- */

static void restart_from_save(struct policy_state *state, bool noticed, struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    arrange(state, policy_pipelines_of(state), step);
    step->wake_at_save = false;
    if (!step->waits)
        policy_stop(step, noticed ? 0 : costs->detect, costs->restart + costs->load);
}

static void change_varuna(struct policy_state *state, const struct policy_change *change,
                          struct policy_step *step)
{
    bool waited = step->waits;
    if (policy_state_apply(state, change) > 0) {
        step->loss = POLICY_LOSES_SAVE;
        restart_from_save(state, false, step);
    } else if (waited) {
        if (policy_pipelines_of(state) > 0)
            restart_from_save(state, true, step);
    } else {
        step->wake_at_save = policy_pipelines_of(state) > state->pipelines;
    }
}

static void wake_varuna(struct policy_state *state, double time, struct policy_step *step)
{
    (void)time;
    if (policy_pipelines_of(state) > state->pipelines)
        restart_from_save(state, true, step);
}

/* ---- Parcae ---- */

/* Whether all copies of a stage were lost since the job last ran. */
static bool stage_is_lost(const struct policy_state *state)
{
    int stages = state->rates->stages;
    if (state->lost_count < state->arranged / stages)
        return false;
    for (int stage = 0; stage < stages && stage < state->arranged; stage++) {
        bool lost = true;
        for (int cell = stage; lost && cell < state->arranged; cell += stages)
            lost = state->lost_in[cell] == state->episode;
        if (lost)
            return true;
    }
    return false;
}

/* More pipelines pay if the work that they gain until the next loss exceeds that of a migration. With n
 * changes with losses until time t, the next loss is expected t / n later: so the time from which it pays. */
static double time_to_grow(const struct policy_state *state, int pipelines)
{
    double speed = policy_speed_equal(state, state->pipelines),
           gain = policy_speed_equal(state, pipelines) - speed;
    return gain > 0 ? state->losses * state->setup->costs.migrate * speed / gain : INFINITY;
}

static void grow_parcae(struct policy_state *state, double time, struct policy_step *step)
{
    int pipelines = policy_pipelines_of(state);
    double from = pipelines > state->pipelines ? time_to_grow(state, pipelines) : INFINITY;
    step->wake = from;
    if (from > time)
        return;
    arrange(state, pipelines, step);
    step->wake = INFINITY;
    policy_stop(step, 0, state->setup->costs.migrate);
}

static void change_parcae(struct policy_state *state, const struct policy_change *change,
                          struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    bool noticed = costs->notice >= costs->migrate && costs->notice > 0, waited = step->waits;
    int hit = policy_state_apply(state, change);
    if (hit > 0) {
        /* the parameter server has the state of the last iteration */
        state->from_save =
            state->from_save || stage_is_lost(state) || (state->setup->exists_once && !noticed);
        bool early = noticed && !state->from_save;
        step->loss = early ? POLICY_KEEPS : POLICY_LOSES_STEP;
        int pipelines = policy_pipelines_of(state);
        arrange(state, pipelines < state->pipelines ? pipelines : state->pipelines, step);
        if (!step->waits)
            policy_stop(step, early ? 0 : costs->detect,
                        costs->migrate + (state->from_save ? costs->load : 0));
        step->wake = INFINITY;
        pipelines = policy_pipelines_of(state);
        if (!step->waits && pipelines > state->pipelines)
            step->wake = fmax(time_to_grow(state, pipelines), change->time);
    } else if (waited) {
        arrange(state, policy_pipelines_of(state), step);
        if (!step->waits)
            policy_stop(step, 0, costs->restart + costs->load);
    } else if (change->stopped) {
        step->wake = policy_pipelines_of(state) > state->pipelines ? change->time : INFINITY;
    } else {
        grow_parcae(state, change->time, step);
    }
}

const struct elastic_policy policy_varuna = {
    SAYS_policy_varuna, .saving = POLICY_COPIES, .healthy = healthy,
    .begin = begin,     .change = change_varuna, .wake = wake_varuna,
};

const struct elastic_policy policy_parcae = {
    SAYS_policy_parcae, .saving = POLICY_COPIES, .healthy = healthy,
    .begin = begin,     .change = change_parcae, .wake = grow_parcae,
};
