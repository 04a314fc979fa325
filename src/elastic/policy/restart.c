#include "elastic/policy/state.h"

/* A job of a fixed number of nodes that starts again from a save. Other nodes are spares; a loss that no
 * spare can replace makes it wait. */

static int need_of(const struct policy_state *state)
{
    const struct policy_setup *setup = state->setup;
    return setup->need > 0 ? setup->need : state->nodes - setup->spares;
}

static double healthy(const struct policy_state *state)
{
    return policy_speed_best(state, need_of(state));
}

static void begin(struct policy_state *state, struct policy_step *step)
{
    policy_state_resize(state, need_of(state));
    policy_state_fill(state);
    step->waits = state->hole_count > 0;
    step->speed = healthy(state);
}

/* `restart`: seconds until the job runs again, but for the detection of a loss. */
static void restart_job(struct policy_state *state, const struct policy_change *change, enum policy_loss loss,
                        double restart, bool waited, int hit, struct policy_step *step)
{
    if (hit > 0)
        step->loss = loss;
    policy_state_fill(state);
    if (state->hole_count > 0) {
        step->waits = true;
        return;
    }
    /* a job that waited has noticed its losses, unless there are new ones */
    if (hit > 0 || (waited && change->returned_count > 0))
        policy_stop(step, hit > 0 ? state->setup->costs.detect : 0, restart);
}

static void change_disk(struct policy_state *state, const struct policy_change *change,
                        struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    int hit = policy_state_apply(state, change);
    restart_job(state, change, POLICY_LOSES_SAVE, costs->restart + costs->load, step->waits, hit, step);
}

static void change_spares(struct policy_state *state, const struct policy_change *change,
                          struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    int hit = policy_state_apply(state, change);
    restart_job(state, change, POLICY_LOSES_SAVE, costs->swap + costs->load, step->waits, hit, step);
}

/* Copies lie in the own memory and in that of the partner: cells 2k and 2k + 1 (an odd last cell's with
 * cell 0). */
static bool copies_are_lost(const struct policy_state *state)
{
    for (int i = 0; i < state->lost_count; i++) {
        int partner = state->lost[i] ^ 1;
        if (partner >= state->cells)
            partner = 0;
        if (state->lost_in[partner] == state->episode)
            return true; /* of one cell, the partner is the cell itself */
    }
    return false;
}

static void change_memory(struct policy_state *state, const struct policy_change *change,
                          struct policy_step *step)
{
    const struct elastic_costs *costs = &state->setup->costs;
    int hit = policy_state_apply(state, change);
    state->from_save = state->from_save || (hit > 0 && copies_are_lost(state));
    restart_job(state, change, state->from_save ? POLICY_LOSES_SAVE : POLICY_LOSES_COPY,
                costs->restart + (state->from_save ? costs->load : costs->migrate), step->waits, hit, step);
}

#define ASSUMES                                                                                              \
    "The job has a fixed number of nodes. Every loss among them stops it: detection, restart of all "        \
    "processes and "                                                                                         \
    "loading; all work since the last save is done again. "

const struct elastic_policy policy_restart = {
    SAYS_policy_restart,
    .assumes =
        ASSUMES "Training waits for saves. A node that is replaced costs no more than the restart; without a "
                "replacement the job waits.",
    .saving = POLICY_SAVES,
    .fixed = true,
    .healthy = healthy,
    .begin = begin,
    .change = change_disk,
};

const struct elastic_policy policy_restart_async = {
    SAYS_policy_restart_async,
    .assumes = ASSUMES
    "Training waits for the copy to the host's memory only; the copy counts once it is on disk, and "
    "the next one waits for it.",
    .saving = POLICY_COPIES,
    .fixed = true,
    .healthy = healthy,
    .begin = begin,
    .change = change_disk,
};

const struct elastic_policy policy_restart_memory = {
    SAYS_policy_restart_memory,
    .assumes = ASSUMES
    "Each node's state is copied to the host's memory and to that of a partner (pairs). If both are lost "
    "before the job runs again, it goes back to the last copy that was written to disk, which is "
    "done as often as writing takes.",
    .saving = POLICY_COPIES_OFTEN,
    .fixed = true,
    .healthy = healthy,
    .begin = begin,
    .change = change_memory,
};

const struct elastic_policy policy_spares = {
    SAYS_policy_spares,
    .assumes = ASSUMES
    "Spare nodes are already running: one replaces a lost node in `swap` seconds instead of a restart. "
    "Training waits for saves. Without a spare the job waits.",
    .saving = POLICY_SAVES,
    .fixed = true,
    .healthy = healthy,
    .begin = begin,
    .change = change_spares,
};
