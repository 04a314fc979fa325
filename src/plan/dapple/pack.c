/* Finds a real placement for a plan of the relaxation: backtracking over the machines, from the last stage to the
 * first.
 *
 * A stage within a machine goes into the machine with the least room that holds it. A stage that spans machines takes
 * what it must from the machine of the stage behind it, and the rest from the fullest machines, or from the emptiest.
 * That nearly always finds a placement if there is one; if it gives up, the plan is only a bound. */
#include "plan/dapple/model.h"
#include "plan/dapple/places.h"

#include <string.h>

#define MAX_TRIES 20000

struct pack {
    const struct dapple_cluster *cluster;
    const struct places_step *const *steps; /* [stage] */
    const struct places_stage *stages;
    int16_t *stage_of;
    int *left;  /* [machine] devices 0 … left - 1 of it are free */
    int *taken; /* [stage][machine] */
    int tries;
};

static bool pack_stage(struct pack *pack, int stage, int current);

/* Takes the devices in `taken` and packs the stages in front; gives them back if that fails. */
static bool take_and_go_on(struct pack *pack, int stage, const int *taken, int current)
{
    int machines = pack->cluster->machine_count;
    for (int k = 0; k < machines; k++)
        pack->left[k] -= taken[k];
    if (pack_stage(pack, stage - 1, current))
        return true;
    for (int k = 0; k < machines; k++)
        pack->left[k] += taken[k];
    return false;
}

static bool pack_inside(struct pack *pack, int stage, int current)
{
    int machines = pack->cluster->machine_count, count = pack->stages[stage].devices;
    int *taken = pack->taken + (size_t)stage * (size_t)machines;
    bool same = pack->steps[stage]->link == LINK_INSIDE;
    int max = 0;
    for (int k = 0; k < machines; k++)
        max = pack->left[k] > max ? pack->left[k] : max;
    /* the machine with the least room first; of machines with equal room only one */
    for (int room = count; room <= max; room++)
        for (int k = 0; k < machines; k++) {
            if (pack->left[k] != room || (same ? k != current : k == current))
                continue;
            memset(taken, 0, (size_t)machines * sizeof *taken);
            taken[k] = count;
            if (take_and_go_on(pack, stage, taken, k))
                return true;
            break;
        }
    return false;
}

/* Takes `rest` devices from machines except `current`, at most `cap` from each, by ascending or descending room. */
static bool spread_rest(const struct pack *pack, int *taken, int current, int rest, int cap,
                        bool little_first)
{
    int machines = pack->cluster->machine_count, largest = dapple_largest_machine(pack->cluster);
    for (int i = 1; i <= largest && rest > 0; i++) {
        int room = little_first ? i : largest + 1 - i;
        for (int k = 0; k < machines && rest > 0; k++) {
            if (pack->left[k] != room || k == current)
                continue;
            int take = room < rest ? room : rest;
            taken[k] = take < cap ? take : cap;
            rest -= taken[k];
        }
    }
    return rest == 0;
}

static bool pack_spanning(struct pack *pack, int stage, int current)
{
    int machines = pack->cluster->machine_count, count = pack->stages[stage].devices;
    int *taken = pack->taken + (size_t)stage * (size_t)machines;
    int away = pack->steps[stage]->link == LINK_AWAY ? pack->steps[stage]->away : count;
    if (current >= 0 && pack->left[current] < count - away)
        return false;
    for (int way = 0; way < 4; way++) {
        memset(taken, 0, (size_t)machines * sizeof *taken);
        int cap = way < 2 ? count - 1 : (away + 1) / 2; /* not all in one machine */
        if (!spread_rest(pack, taken, current, away, cap > 0 ? cap : 1, way % 2 == 0))
            continue;
        if (current >= 0)
            taken[current] = count - away;
        if (take_and_go_on(pack, stage, taken, -1))
            return true;
    }
    return false;
}

static bool pack_stage(struct pack *pack, int stage, int current)
{
    if (stage < 0)
        return true;
    if (pack->tries++ >= MAX_TRIES)
        return false;
    return pack->steps[stage]->spans ? pack_spanning(pack, stage, current)
                                     : pack_inside(pack, stage, current);
}

/* Machines give their devices from the last to the first. */
static void number_devices(struct pack *pack, int count)
{
    int machines = pack->cluster->machine_count;
    for (int k = 0; k < machines; k++) {
        int start = pack->cluster->machine_end[k] - dapple_machine_size(pack->cluster, k);
        int next = pack->cluster->machine_end[k];
        for (int stage = count - 1; stage >= 0; stage--)
            for (int i = 0; i < pack->taken[(size_t)stage * (size_t)machines + (size_t)k]; i++)
                pack->stage_of[--next] = (int16_t)stage;
        while (next > start)
            pack->stage_of[--next] = -1;
    }
}

bool places_pack(const struct places *places, int count, const struct places_stage *stages, int16_t *stage_of,
                 bool *found, struct error *err)
{
    struct arena arena = {0};
    size_t machines = (size_t)places->cluster->machine_count;
    const struct places_step **steps = arena_alloc(&arena, (size_t)count, sizeof *steps);
    struct pack pack = {
        .cluster = places->cluster,
        .steps = steps,
        .stages = stages,
        .stage_of = stage_of,
        .left = ARENA_ARRAY(&arena, machines, int),
        .taken = ARENA_ARRAY(&arena, machines * (size_t)count, int),
    };
    bool ready = steps && pack.left && pack.taken;
    for (int stage = count - 1, state = 0; ready && stage >= 0; stage--) {
        const struct places_step *end, *first = places_steps(places, state, stages[stage].devices, &end);
        steps[stage] = first + stages[stage].step;
        state = steps[stage]->target;
    }
    for (size_t k = 0; ready && k < machines; k++)
        pack.left[k] = dapple_machine_size(places->cluster, (int)k);
    *found = ready && pack_stage(&pack, count - 1, -1);
    if (*found)
        number_devices(&pack, count);
    arena_release(&arena);
    return ready || error_memory(err);
}
