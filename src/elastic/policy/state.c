#include "elastic/policy/state.h"

#include <stdlib.h>
#include <string.h>

bool policy_state_make(struct policy_state *state, int nodes, struct error *err)
{
    size_t count = (size_t)nodes + 1;
    memset(state, 0, sizeof *state);
    state->nodes = nodes;
    int **arrays[] = {&state->cell,        &state->node,           &state->spares,     &state->spare_place,
                      &state->holes,       &state->hole_place,     &state->lost_in,    &state->lost,
                      &state->stage_holes, &state->pipeline_holes, &state->slow_nodes, &state->room};
    bool ok = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = calloc(arrays[i] == &state->room ? 2 * count : count, sizeof(int));
        ok = ok && *arrays[i];
    }
    state->ready = calloc(count, sizeof *state->ready);
    state->slow = calloc(count, sizeof *state->slow);
    state->slow_pipelines = calloc(count, sizeof *state->slow_pipelines);
    if (ok && state->ready && state->slow && state->slow_pipelines)
        return true;
    policy_state_release(state);
    return error_memory(err);
}

void policy_state_release(struct policy_state *state)
{
    free(state->cell);
    free(state->node);
    free(state->spares);
    free(state->spare_place);
    free(state->holes);
    free(state->hole_place);
    free(state->lost_in);
    free(state->lost);
    free(state->stage_holes);
    free(state->pipeline_holes);
    free(state->room);
    free(state->ready);
    free(state->slow);
    free(state->slow_nodes);
    free(state->slow_pipelines);
    memset(state, 0, sizeof *state);
}

static void add_spare(struct policy_state *state, int node)
{
    state->cell[node] = CELL_SPARE;
    state->spare_place[node] = state->spare_count;
    state->spares[state->spare_count++] = node;
}

static void drop_spare(struct policy_state *state, int node)
{
    int last = state->spares[--state->spare_count], place = state->spare_place[node];
    state->spares[place] = last;
    state->spare_place[last] = place;
}

static void add_hole(struct policy_state *state, int cell)
{
    state->node[cell] = -1;
    state->hole_place[cell] = state->hole_count;
    state->holes[state->hole_count++] = cell;
    state->stage_holes[cell % state->rates->stages]++;
    state->pipeline_holes[cell / state->rates->stages]++;
}

static void drop_hole(struct policy_state *state, int cell)
{
    int last = state->holes[--state->hole_count], place = state->hole_place[cell];
    state->holes[place] = last;
    state->hole_place[last] = place;
    state->stage_holes[cell % state->rates->stages]--;
    state->pipeline_holes[cell / state->rates->stages]--;
}

void policy_state_begin(struct policy_state *state, const struct policy_setup *setup, int present)
{
    state->setup = setup;
    state->rates = setup->rates;
    state->nodes = state->rates->nodes;
    state->live = present;
    state->cells = state->spare_count = state->hole_count = state->lost_count = 0;
    state->pipelines = state->losses = state->arranged = 0;
    state->episode = 1;
    state->from_save = false;
    size_t nodes = (size_t)state->nodes;
    memset(state->lost_in, 0, nodes * sizeof *state->lost_in);
    memset(state->stage_holes, 0, nodes * sizeof *state->stage_holes);
    memset(state->pipeline_holes, 0, nodes * sizeof *state->pipeline_holes);
    for (int node = state->nodes - 1; node >= 0; node--) {
        state->cell[node] = CELL_GONE;
        if (node < present)
            add_spare(state, node);
    }
}

/* Takes a node away. Returns true if it had a cell. */
static bool lose_node(struct policy_state *state, int node)
{
    int cell = state->cell[node];
    if (cell == CELL_GONE)
        return false;
    state->live--;
    state->cell[node] = CELL_GONE;
    if (cell == CELL_SPARE) {
        drop_spare(state, node);
        return false;
    }
    add_hole(state, cell);
    if (state->lost_in[cell] != state->episode) {
        state->lost_in[cell] = state->episode;
        state->lost[state->lost_count++] = cell;
    }
    return true;
}

int policy_state_apply(struct policy_state *state, const struct policy_change *change)
{
    int hit = 0;
    if (!change->stopped) {
        state->episode++;
        state->from_save = false;
        state->lost_count = 0;
        state->arranged = state->cells;
    }
    for (int i = 0; i < change->lost_count; i++)
        hit += lose_node(state, change->lost[i]);
    for (int i = 0; i < change->returned_count; i++)
        if (state->cell[change->returned[i]] == CELL_GONE) {
            state->live++;
            add_spare(state, change->returned[i]);
        }
    state->losses += change->lost_count > 0;
    return hit;
}

/* Makes a cell's node a spare, and the cell a hole. */
static void policy_state_vacate(struct policy_state *state, int cell)
{
    if (state->node[cell] < 0)
        return;
    add_spare(state, state->node[cell]);
    add_hole(state, cell);
}

void policy_state_resize(struct policy_state *state, int cells)
{
    for (; state->cells > cells; state->cells--) {
        policy_state_vacate(state, state->cells - 1);
        drop_hole(state, state->cells - 1);
    }
    for (; state->cells < cells; state->cells++)
        add_hole(state, state->cells);
}

void policy_state_fill_hole(struct policy_state *state, int cell)
{
    int node = state->spares[state->spare_count - 1];
    drop_spare(state, node);
    drop_hole(state, cell);
    state->cell[node] = cell;
    state->node[cell] = node;
}

int policy_state_fill(struct policy_state *state)
{
    int filled = 0;
    for (; state->spare_count > 0 && state->hole_count > 0; filled++)
        policy_state_fill_hole(state, state->holes[state->hole_count - 1]);
    return filled;
}

static double speed_of(const struct policy_state *state, double seconds)
{
    return seconds > 0 ? state->rates->full / seconds : 0;
}

double policy_speed_best(const struct policy_state *state, int nodes)
{
    return speed_of(state, state->rates->best[nodes]);
}

double policy_speed_equal(const struct policy_state *state, int pipelines)
{
    return speed_of(state, state->rates->equal[pipelines]);
}

int policy_pipelines_of(const struct policy_state *state)
{
    int pipelines = state->live / state->rates->stages;
    return pipelines < state->rates->pipelines ? pipelines : state->rates->pipelines;
}

void policy_use_pipelines(struct policy_state *state)
{
    state->pipelines = policy_pipelines_of(state);
    policy_state_resize(state, state->pipelines * state->rates->stages);
    policy_state_fill(state);
}

void policy_stop(struct policy_step *step, double detect, double restart)
{
    step->stops = true;
    step->waits = false;
    step->detect = detect;
    step->restart = restart;
}

/* ---- the policies ---- */

static const struct elastic_policy *const policies[] = {
    &policy_restart, &policy_restart_async, &policy_restart_memory, &policy_spares,  &policy_varuna,
    &policy_bamboo,  &policy_oobleck,       &policy_parcae,         &policy_recycle, &policy_torchft,
};

const struct elastic_policy *const *elastic_policies(int *count)
{
    *count = (int)(sizeof policies / sizeof *policies);
    return policies;
}

const struct elastic_policy *elastic_policy_named(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}
