#include "plan/dapple/places.h"

#include "core/hash.h"
#include "core/vector.h"
#include "plan/dapple/model.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STATES (1 << 20)

/* One machine while a step is made. */
struct machine {
    int index; /* in the cluster */
    int left;
};

/* A state taken apart. PLACES_ALL: machines[0] holds the stage placed last if `current`; the others are in descending
 * order of devices left. Other kinds: `left`, and the devices left in the current machine as machines[0]. */
struct layout {
    bool current;
    int left;
    struct machine *machines;
};

struct build {
    struct places *places;
    int machine_count;
    size_t state_room, machine_room, step_room;
    int64_t step_count, max_steps;
    struct hash_names states; /* PLACES_ALL: packed states and their number + 1 */
    struct layout layout;     /* of the state that steps are made from */
    int *take;                /* [machine] */
    bool out_of_memory, too_many;
};

/* --- states ------------------------------------------------------------------------------------------------------- */

/* PLACES_ALL: one byte tells whether there is a current machine; two bytes for each machine give its devices left. */
static size_t state_bytes(const struct build *build)
{
    return 1 + 2 * (size_t)build->machine_count;
}

static void pack(const struct layout *layout, int machine_count, uint8_t *bytes)
{
    bytes[0] = layout->current;
    for (int i = 0; i < machine_count; i++) {
        bytes[1 + 2 * i] = (uint8_t)(layout->machines[i].left & 255);
        bytes[2 + 2 * i] = (uint8_t)(layout->machines[i].left >> 8);
    }
}

static int add_state(struct build *build, int left)
{
    struct places *places = build->places;
    size_t count = (size_t)places->state_count + 1;
    if (!VECTOR_ROOM(places->left, build->state_room, count) ||
        !VECTOR_ROOM(places->machines, build->machine_room, count * state_bytes(build))) {
        build->out_of_memory = true;
        return 0;
    }
    if (places->state_count == MAX_STATES) {
        build->too_many = true;
        return 0;
    }
    places->left[places->state_count] = left;
    return places->state_count++;
}

static int find_state(struct build *build, const uint8_t *bytes, int left)
{
    bool added;
    uint32_t id = hash_names_id(&build->states, bytes, state_bytes(build), &added);
    if (id == 0)
        build->out_of_memory = true;
    if (!added)
        return id == 0 ? 0 : (int)id - 1;
    int state = add_state(build, left);
    if (build->out_of_memory || build->too_many)
        return 0;
    memcpy(build->places->machines + (size_t)state * state_bytes(build), bytes, state_bytes(build));
    return state;
}

static void add_step(struct build *build, int target, enum places_link link, int away, bool spans)
{
    if (build->step_count == build->max_steps) {
        build->too_many = true;
        return;
    }
    if (!VECTOR_ROOM(build->places->steps, build->step_room, (size_t)build->step_count + 1)) {
        build->out_of_memory = true;
        return;
    }
    build->places->steps[build->step_count++] =
        (struct places_step){target, (int16_t)away, (uint8_t)link, spans};
}

/* --- every placement ---------------------------------------------------------------------------------------------- */

static int by_left(const void *a, const void *b)
{
    const struct machine *first = a, *second = b;
    return first->left != second->left ? (first->left < second->left) - (first->left > second->left)
                                       : (first->index > second->index) - (first->index < second->index);
}

/* Sets the layout after build->take; `holder`: the machine that holds the new stage, -1: several. */
static void apply_take(const struct build *build, int holder, struct layout *after)
{
    after->current = holder >= 0;
    after->left = 0;
    for (int i = 0; i < build->machine_count; i++) {
        after->machines[i] = build->layout.machines[i];
        after->machines[i].left -= build->take[i];
        after->left += after->machines[i].left;
    }
    if (holder > 0) {
        struct machine swap = after->machines[0];
        after->machines[0] = after->machines[holder];
        after->machines[holder] = swap;
    }
    size_t fixed = holder >= 0;
    qsort(after->machines + fixed, (size_t)build->machine_count - fixed, sizeof *after->machines, by_left);
}

typedef void emit_step(struct build *build, int count, int holder);

/* Spreads `rest` devices over machines from `from` on; at most `cap` in one that is like the machine before it. */
static void spread_devices(struct build *build, int count, int from, int rest, int cap, int used,
                           emit_step *emit)
{
    if (build->too_many || build->out_of_memory)
        return;
    if (rest == 0) {
        if (used > 1)
            emit(build, count, -1);
        return;
    }
    if (from == build->machine_count)
        return;
    const struct machine *machine = &build->layout.machines[from];
    int max = machine->left < rest ? machine->left : rest;
    bool alike = from > build->layout.current && machine->left == machine[-1].left;
    if (alike && max > cap)
        max = cap;
    for (int take = max; take >= 0; take--) {
        build->take[from] = take;
        spread_devices(build, count, from + 1, rest - take, take, used + (take > 0), emit);
    }
    build->take[from] = 0;
}

static void for_all_steps(struct build *build, int count, emit_step *emit)
{
    for (int i = 0; i < build->machine_count; i++) {
        const struct machine *machine = &build->layout.machines[i];
        bool alike = i > build->layout.current && machine->left == machine[-1].left;
        if (machine->left < count || alike)
            continue;
        build->take[i] = count;
        emit(build, count, i);
        build->take[i] = 0;
    }
    if (count > 1 && build->machine_count > 1)
        spread_devices(build, count, 0, count, count, 0, emit);
}

static enum places_link link_of(const struct build *build, int state, int away)
{
    if (state == 0)
        return LINK_NONE;
    if (!build->layout.current)
        return LINK_SPANS;
    return away > 0 ? LINK_AWAY : LINK_INSIDE;
}

/* A build with room for the next layout. The build comes first, so that a pointer to it can be cast back. */
struct scratch {
    struct build build;
    struct arena arena;
    int state;
    struct layout after;
    uint8_t *bytes;
    int wanted; /* number of steps before the one to follow */
};

static void emit_to_table(struct build *build, int count, int holder)
{
    struct scratch *scratch = (struct scratch *)build;
    apply_take(build, holder, &scratch->after);
    pack(&scratch->after, build->machine_count, scratch->bytes);
    int away = build->layout.current ? count - build->take[0] : 0;
    int target = find_state(build, scratch->bytes, scratch->after.left);
    add_step(build, target, link_of(build, scratch->state, away), away, holder < 0);
}

static void unpack(const struct build *build, int state, struct layout *layout)
{
    const uint8_t *bytes = build->places->machines + (size_t)state * state_bytes(build);
    layout->current = bytes[0];
    layout->left = build->places->left[state];
    for (int i = 0; i < build->machine_count; i++)
        layout->machines[i] = (struct machine){i, bytes[1 + 2 * i] | bytes[2 + 2 * i] << 8};
}

static void start_layout(const struct build *build, struct layout *layout)
{
    layout->current = false;
    layout->left = build->places->devices;
    for (int i = 0; i < build->machine_count; i++)
        layout->machines[i] = (struct machine){i, dapple_machine_size(build->places->cluster, i)};
    qsort(layout->machines, (size_t)build->machine_count, sizeof *layout->machines, by_left);
}

/* --- devices in order --------------------------------------------------------------------------------------------- */

/* State 2 p + current: devices 0 … p - 1 are left. */
static int ordered_begin(const struct dapple_cluster *cluster, int left, int count, bool skip)
{
    int end = left;
    if (skip)
        end = dapple_machine_start(
            cluster, dapple_machine_of(cluster, left < dapple_devices(cluster) ? left : left - 1));
    return end < left || !skip ? end - count : -1;
}

static void steps_of_ordered(struct build *build, int state, int count)
{
    const struct places *places = build->places;
    const struct dapple_cluster *cluster = places->cluster;
    int left = places->left[state];
    for (int skip = 0; skip < 2; skip++) {
        int begin = ordered_begin(cluster, left, count, skip);
        if (begin < 0)
            continue;
        bool spans = dapple_machine_of(cluster, begin) != dapple_machine_of(cluster, begin + count - 1);
        int away = 0;
        if (build->layout.current && left < dapple_devices(cluster)) {
            int start = dapple_machine_start(cluster, dapple_machine_of(cluster, left)), end = begin + count;
            away = start >= end ? count : start > begin ? start - begin : 0;
        }
        add_step(build, 1 + 2 * begin + !spans, link_of(build, state, away), away, spans);
    }
}

/* --- devices counted ---------------------------------------------------------------------------------------------- */

/* State 1 + left * (largest + 2) + the devices left in the current machine and 1, or 0. */
static int loose_state(int max, int left, int current_left)
{
    return 1 + left * (max + 2) + (current_left < left ? current_left : left) + 1;
}

static void steps_of_loose(struct build *build, int state, int count)
{
    const struct places *places = build->places;
    int max = dapple_largest_machine(places->cluster), left = places->left[state];
    int here = build->layout.current ? build->layout.machines[0].left : 0;
    if (count > left)
        return;
    if (build->layout.current && here >= count)
        add_step(build, loose_state(max, left - count, here - count), LINK_INSIDE, 0, false);
    if (count <= max)
        add_step(build, loose_state(max, left - count, max - count), link_of(build, state, count), count,
                 false);
    for (int same = here < count - 1 ? here : count - 1; same >= 0 && count > 1 && build->machine_count > 1;
         same--)
        add_step(build, loose_state(max, left - count, -1), link_of(build, state, count - same), count - same,
                 true);
}

/* --- all steps ---------------------------------------------------------------------------------------------------- */

static bool number_states(struct build *build)
{
    int devices = build->places->devices, max = dapple_largest_machine(build->places->cluster);
    add_state(build, devices);
    if (build->places->kind == PLACES_ORDERED)
        for (int i = 0; i < 2 * (devices + 1); i++)
            add_state(build, i / 2);
    else if (build->places->kind == PLACES_LOOSE)
        for (int i = 0; i < (devices + 1) * (max + 2); i++)
            add_state(build, i / (max + 2));
    return !build->out_of_memory && !build->too_many;
}

static void open_state(struct scratch *scratch, int state)
{
    struct build *build = &scratch->build;
    int max = dapple_largest_machine(build->places->cluster);
    scratch->state = state;
    if (build->places->kind == PLACES_ALL) {
        unpack(build, state, &build->layout);
        return;
    }
    build->layout.current =
        state > 0 &&
        (build->places->kind == PLACES_ORDERED ? (state - 1) % 2 == 1 : (state - 1) % (max + 2) > 0);
    build->layout.machines[0].left = state > 0 ? (state - 1) % (max + 2) - 1 : 0;
}

static void make_steps(struct scratch *scratch)
{
    struct build *build = &scratch->build;
    struct places *places = build->places;
    size_t room = 0; /* first: [state * (devices + 1) + count] */
    for (int state = 0; state < places->state_count; state++) {
        size_t counts = (size_t)places->devices + 1;
        if (!VECTOR_ROOM(places->first, room, (size_t)(state + 1) * counts + 1)) {
            build->out_of_memory = true;
            return;
        }
        open_state(scratch, state);
        for (int count = 0; count <= places->devices; count++) {
            places->first[(int64_t)state * (places->devices + 1) + count] = build->step_count;
            if (count == 0 || count > places->left[state])
                continue;
            if (places->kind == PLACES_ALL)
                for_all_steps(build, count, emit_to_table);
            else if (places->kind == PLACES_ORDERED)
                steps_of_ordered(build, state, count);
            else
                steps_of_loose(build, state, count);
            if (build->too_many || build->out_of_memory)
                return;
        }
        places->first[(int64_t)(state + 1) * (places->devices + 1)] = build->step_count;
    }
}

static bool scratch_init(struct scratch *scratch, struct places *places)
{
    struct build *build = &scratch->build;
    build->places = places;
    build->machine_count = places->cluster->machine_count;
    size_t count = (size_t)build->machine_count;
    build->take = ARENA_ARRAY(&scratch->arena, count, int);
    build->layout.machines = ARENA_ARRAY(&scratch->arena, count, struct machine);
    scratch->after.machines = ARENA_ARRAY(&scratch->arena, count, struct machine);
    scratch->bytes = ARENA_ARRAY(&scratch->arena, state_bytes(build), uint8_t);
    return build->take && build->layout.machines && scratch->after.machines && scratch->bytes;
}

static void scratch_release(struct scratch *scratch)
{
    arena_release(&scratch->arena);
    hash_names_release(&scratch->build.states);
}

/* Sets the order in which states are compared (solve.c): by descending `there`, then descending `here`. Two passes of
 * sorting by counting. */
static bool order_states(struct places *places)
{
    int count = places->state_count, keys = places->devices + 2;
    int32_t *from = malloc((size_t)count * sizeof *from), *ends = malloc((size_t)keys * sizeof *ends);
    bool ready = from && ends;
    for (int i = 0; ready && i < count; i++)
        from[i] = i;
    for (int pass = 0; ready && pass < 2; pass++) {
        const int16_t *key = pass == 0 ? places->here : places->there;
        memset(ends, 0, (size_t)keys * sizeof *ends);
        for (int i = 0; i < count; i++)
            ends[places->devices - key[i] + 1]++;
        for (int i = 1; i < keys; i++)
            ends[i] += ends[i - 1];
        for (int i = 0; i < count; i++)
            places->by_there[ends[places->devices - key[from[i]]]++] = from[i];
        memcpy(from, places->by_there, (size_t)count * sizeof *from);
    }
    free(from);
    free(ends);
    return ready;
}

/* Sets here, there and current of every state. */
static bool compare_states(struct scratch *scratch)
{
    struct build *build = &scratch->build;
    struct places *places = build->places;
    size_t count = (size_t)places->state_count;
    places->here = ARENA_ARRAY(&places->arena, count, int16_t);
    places->there = ARENA_ARRAY(&places->arena, count, int16_t);
    places->current = ARENA_ARRAY(&places->arena, count, bool);
    places->by_there = ARENA_ARRAY(&places->arena, count, int32_t);
    places->largest = dapple_largest_machine(places->cluster);
    if (!places->here || !places->there || !places->current || !places->by_there)
        return false;
    places->ordered =
        places->kind == PLACES_LOOSE ||
        (places->kind == PLACES_ALL && (places->largest == 1 || places->cluster->machine_count <= 2));
    for (int state = 0; state < places->state_count; state++) {
        open_state(scratch, state);
        bool pair = places->kind == PLACES_ALL && places->cluster->machine_count == 2;
        places->current[state] = build->layout.current;
        if (places->kind != PLACES_ORDERED && (build->layout.current || pair))
            places->here[state] = (int16_t)build->layout.machines[0].left;
        places->there[state] = (int16_t)(pair ? build->layout.machines[1].left : places->left[state]);
    }
    return order_states(places);
}

bool places_init(struct places *places, const struct dapple_cluster *cluster, enum places_kind kind,
                 int64_t max_steps, struct error *err)
{
    *places = (struct places){.kind = kind, .cluster = cluster, .devices = dapple_devices(cluster)};
    struct scratch scratch = {.build = {.max_steps = max_steps}};
    struct build *build = &scratch.build;
    bool ready = scratch_init(&scratch, places);
    if (ready && kind == PLACES_ALL) {
        start_layout(build, &build->layout);
        pack(&build->layout, build->machine_count, scratch.bytes);
        find_state(build, scratch.bytes, places->devices);
    } else if (ready) {
        ready = number_states(build);
    }
    if (ready)
        make_steps(&scratch);
    bool too_many = build->too_many,
         done = ready && !build->out_of_memory && !too_many && compare_states(&scratch);
    scratch_release(&scratch);
    if (done)
        return true;
    places_release(places);
    return too_many ? error_set(err, ERROR_INFEASIBLE, "more than %lld ways to place a stage",
                                (long long)max_steps)
                    : error_memory(err);
}

void places_release(struct places *places)
{
    free(places->left);
    free(places->first);
    free(places->steps);
    free(places->machines);
    arena_release(&places->arena);
    *places = (struct places){.kind = places->kind};
}

/* --- from steps to devices ---------------------------------------------------------------------------------------- */

static void emit_wanted(struct build *build, int count, int holder)
{
    struct scratch *scratch = (struct scratch *)build;
    (void)count;
    if (scratch->wanted-- == 0)
        apply_take(build, holder, &scratch->after);
}

/* Each machine gives its devices from the last to the first. */
static void take_devices(struct scratch *scratch, int stage, int16_t *stage_of)
{
    struct build *build = &scratch->build;
    for (int i = 0; i < build->machine_count; i++)
        for (int k = 0; k < build->machine_count; k++) {
            const struct machine *before = &build->layout.machines[i], *after = &scratch->after.machines[k];
            int start = dapple_machine_start(build->places->cluster, before->index);
            for (int d = after->left; before->index == after->index && d < before->left; d++)
                stage_of[start + d] = (int16_t)stage;
        }
    struct machine *spare = build->layout.machines;
    build->layout = scratch->after;
    scratch->after.machines = spare;
}

static void follow_all(struct scratch *scratch, int count, const struct places_stage *stages,
                       int16_t *stage_of)
{
    start_layout(&scratch->build, &scratch->build.layout);
    for (int stage = count - 1; stage >= 0; stage--) {
        scratch->wanted = stages[stage].step;
        for_all_steps(&scratch->build, stages[stage].devices, emit_wanted);
        take_devices(scratch, stage, stage_of);
    }
}

static void follow_ordered(const struct places *places, int count, const struct places_stage *stages,
                           int16_t *stage_of)
{
    int state = 0;
    for (int stage = count - 1; stage >= 0; stage--) {
        const struct places_step *end, *step = places_steps(places, state, stages[stage].devices, &end);
        state = step[stages[stage].step].target;
        for (int i = 0; i < stages[stage].devices; i++)
            stage_of[places->left[state] + i] = (int16_t)stage;
    }
}

bool places_follow(const struct places *places, int count, const struct places_stage *stages,
                   int16_t *stage_of, struct error *err)
{
    for (int i = 0; i < places->devices; i++)
        stage_of[i] = -1;
    if (places->kind == PLACES_ORDERED) {
        follow_ordered(places, count, stages, stage_of);
        return true;
    }
    struct places copy = *places;
    struct scratch scratch = {.build = {.places = NULL}};
    bool ready = scratch_init(&scratch, &copy);
    if (ready)
        follow_all(&scratch, count, stages, stage_of);
    scratch_release(&scratch);
    return ready || error_memory(err);
}
