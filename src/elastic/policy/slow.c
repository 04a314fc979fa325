#include "elastic/policy/slow.h"

#include <math.h>

void slow_begin(struct policy_state *state)
{
    state->slow_count = 0;
    for (int node = 0; node < state->nodes; node++)
        state->slow[node] = (struct slow_node){.speed = 1};
    for (int pipeline = 0; pipeline < state->nodes; pipeline++)
        state->slow_pipelines[pipeline] = (struct slow_pipeline){.speed = 1, .known = 1};
}

bool slow_set(struct policy_state *state, int node, double speed, double time)
{
    struct slow_node *slow = &state->slow[node];
    bool was = slow->speed < 1;
    slow->speed = speed;
    if (!was && speed < 1) {
        slow->known_at = time + state->setup->slow_detect;
        slow->known = slow->away = false;
        slow->place = state->slow_count;
        state->slow_nodes[state->slow_count++] = node;
    } else if (was && !(speed < 1)) {
        int last = state->slow_nodes[--state->slow_count];
        state->slow_nodes[slow->place] = last;
        state->slow[last].place = slow->place;
        slow->known = slow->away = false;
    }
    return was;
}

double slow_next_known(const struct policy_state *state, int *node)
{
    double next = INFINITY;
    if (state->setup->slow_answer == SLOW_IGNORED)
        return next;
    for (int i = 0; i < state->slow_count; i++) {
        const struct slow_node *slow = &state->slow[state->slow_nodes[i]];
        /* of one time, the lowest number */
        if (!slow->known &&
            (slow->known_at < next || (slow->known_at <= next && state->slow_nodes[i] < *node))) {
            next = slow->known_at;
            *node = state->slow_nodes[i];
        }
    }
    return next;
}

/* Pipelines with slow nodes in use, at the front of `list`. */
static int find_pipelines(struct policy_state *state, int *list)
{
    int count = 0;
    for (int i = 0; i < state->slow_count; i++) {
        int node = state->slow_nodes[i], cell = state->cell[node];
        if (cell < 0)
            continue;
        struct slow_pipeline *pipeline = &state->slow_pipelines[cell / state->rates->stages];
        if (!(pipeline->speed < 1))
            list[count++] = cell / state->rates->stages;
        pipeline->speed = fmin(pipeline->speed, state->slow[node].speed);
        if (state->slow[node].known)
            pipeline->known = fmin(pipeline->known, state->slow[node].speed);
    }
    return count;
}

static double micro_batches(double slots, double speed, double bubble)
{
    return fmax(0, floor(slots * speed - bubble));
}

/* Micro-batches that `others` pipelines without known slow nodes and those of the list do in so many slots. */
static double within(const struct policy_state *state, const int *list, int count, int others, double slots)
{
    double bubble = state->rates->stages - 1, sum = others * micro_batches(slots, 1, bubble);
    for (int i = 0; i < count; i++)
        if (state->slow_pipelines[list[i]].known < 1)
            sum += micro_batches(slots, state->slow_pipelines[list[i]].known, bubble);
    return sum;
}

/* Slots of an iteration whose work was moved by what is known of the pipelines of the list. */
static double slots_moved(const struct policy_state *state, const int *list, int count, int pipelines)
{
    double bubble = state->rates->stages - 1, batch = (double)state->rates->batch, slots = 0;
    double low = 0, high = ceil(batch / pipelines) + bubble, left = batch;
    int others = pipelines;
    for (int i = 0; i < count; i++) {
        others -= state->slow_pipelines[list[i]].known < 1;
        high = fmax(high, (ceil(batch / pipelines) + bubble) / state->slow_pipelines[list[i]].known);
    }
    high *= 1 + 1e-12; /* just above the least, so that floor() finds its micro-batches */
    while (high - low > 1e-12 * high) {
        double middle = (low + high) / 2;
        *(within(state, list, count, others, middle) >= batch ? &high : &low) = middle;
    }
    for (int i = 0; i < count; i++) {
        const struct slow_pipeline *pipeline = &state->slow_pipelines[list[i]];
        double taken = micro_batches(high, pipeline->known, bubble);
        if (!(pipeline->known < 1) || taken <= 0)
            continue;
        left -= taken;
        slots = fmax(slots, (taken + bubble) / pipeline->speed);
    }
    double each = others > 0 ? ceil(left / others) : 0;
    for (int i = 0; i < count && each > 0; i++)
        if (!(state->slow_pipelines[list[i]].known < 1))
            slots = fmax(slots, (each + bubble) / state->slow_pipelines[list[i]].speed);
    return each > 0 ? fmax(slots, each + bubble) : slots;
}

double slow_share(struct policy_state *state)
{
    int *list = state->room, count = find_pipelines(state, list);
    int stages = state->rates->stages, pipelines = (state->cells + stages - 1) / stages;
    double share = 1;
    for (int i = 0; i < count; i++)
        share = fmin(share, state->slow_pipelines[list[i]].speed);
    if (count > 0 && state->setup->slow_answer == SLOW_MOVED && pipelines > 1) {
        double even = ceil((double)state->rates->batch / pipelines) + stages - 1;
        share = even / slots_moved(state, list, count, pipelines);
    }
    for (int i = 0; i < count; i++)
        state->slow_pipelines[list[i]] = (struct slow_pipeline){.speed = 1, .known = 1};
    return share;
}
