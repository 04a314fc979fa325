/* The search for orders against an exhaustive one: all orders of small pipelines.
 *
 * The exhaustive search knows counts of passes per type and the times of all results. It extends every
 * partial order by every pass that can come next and begins no earlier than the last one: so each order comes
 * up once, with its passes sorted by their begins. Of partial orders with equal counts it keeps all but the
 * ones that are later everywhere. It is told a length that is known to be reached, and drops what cannot end
 * by then: work left on a device, or the way left of the next micro-batch, without regard for memory. Tiny
 * cases are also enumerated without leaving out anything. */
#include "schedule/check.h"
#include "schedule/search/bound.h"
#include "schedule/search/search.h"

#include "core/random.h"
#include "support/random_problem.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_STAGES       6
#define MAX_DEVICES      3
#define MAX_MICROBATCHES 4
#define BUCKETS          (1 << 16)
#define HAIR             1e-9
#define TOLD_PASSES      24 /* forward passes of cases in which the twin is told the length */

struct partial {
    uint8_t done[3][MAX_STAGES];
    double clock[MAX_DEVICES];
    double end[2][MAX_STAGES][MAX_MICROBATCHES]; /* of forward and input passes */
    struct partial *next;
};

struct small_case {
    int devices, stages, microbatches;
    uint16_t device_of[MAX_STAGES];
    struct pass_cost costs[MAX_STAGES];
    bool send_blocks;
    double memory; /* 0: no limit */
};

/* Returns the way of a result between two stages. */
static double way(const struct small_case *c, int from, int to)
{
    if (from < 0 || from >= c->stages || c->device_of[from] == c->device_of[to])
        return 0.0;
    return from < to ? c->costs[from].send_forward : c->costs[from].send_backward;
}

/* Adds the next pass of a kind and stage. Returns false if it cannot come next. `sorted`: no later pass may begin
 * before this one does. */
static bool add_pass(const struct small_case *c, struct partial *partial, int kind, int stage, bool sorted)
{
    const struct pass_cost *cost = &c->costs[stage];
    int k = partial->done[kind][stage], device = c->device_of[stage], last = c->stages - 1;
    int from = kind == PASS_FORWARD ? stage - 1 : kind == PASS_INPUT && stage < last ? stage + 1 : -1;
    int to = kind == PASS_FORWARD ? stage + 1 : kind == PASS_INPUT ? stage - 1 : -1;
    double begin = partial->clock[device], kept = cost->kept;
    if (k == c->microbatches || (kind > 0 && partial->done[kind - 1][stage] <= k))
        return false;
    if (from >= 0 && partial->done[kind][from] <= k)
        return false;
    for (int s = 0; s < c->stages; s++)
        if (c->device_of[s] == device)
            kept += partial->done[0][s] * c->costs[s].kept -
                    partial->done[1][s] * (c->costs[s].kept - c->costs[s].kept_for_weight) -
                    partial->done[2][s] * c->costs[s].kept_for_weight;
    if (kind == PASS_FORWARD && c->memory > 0.0 && kept > c->memory * (1.0 + HAIR))
        return false;
    double before = from >= 0 && c->send_blocks ? way(c, from, stage) : 0.0;
    if (from >= 0)
        begin = fmax(begin + before, partial->end[kind][from][k] + way(c, from, stage));
    for (int i = 0; sorted && i < c->devices; i++)
        partial->clock[i] = fmax(partial->clock[i], begin - before);
    double seconds = kind == PASS_FORWARD ? cost->forward : kind == PASS_INPUT ? cost->input : cost->weight;
    partial->clock[device] = begin + seconds;
    if (to >= 0 && to < c->stages && c->send_blocks)
        partial->clock[device] += way(c, stage, to);
    if (kind != PASS_WEIGHT)
        partial->end[kind][stage][k] = begin + seconds;
    partial->done[kind][stage]++;
    return true;
}

/* A weight pass ends each device's order, so clocks are ends when all passes are done. */
static double makespan_of(const struct small_case *c, const struct partial *partial)
{
    double end = 0.0;
    for (int device = 0; device < c->devices; device++)
        end = fmax(end, partial->clock[device]);
    return end;
}

/* True: a is nowhere later than b, in what later passes can notice. */
static bool covers(const struct small_case *c, const struct partial *a, const struct partial *b)
{
    for (int device = 0; device < c->devices; device++)
        if (a->clock[device] > b->clock[device])
            return false;
    for (int stage = 0; stage < c->stages; stage++) {
        if (stage + 1 < c->stages)
            for (int k = a->done[0][stage + 1]; k < a->done[0][stage]; k++)
                if (a->end[0][stage][k] > b->end[0][stage][k])
                    return false;
        if (stage > 0)
            for (int k = a->done[1][stage - 1]; k < a->done[1][stage]; k++)
                if (a->end[1][stage][k] > b->end[1][stage][k])
                    return false;
    }
    return true;
}

struct set {
    struct partial **bucket;
    struct partial *all;
    size_t count, capacity;
};

static void keep(const struct small_case *c, struct set *set, const struct partial *partial)
{
    uint64_t hash = 0;
    for (int kind = 0; kind < 3; kind++)
        for (int stage = 0; stage < c->stages; stage++)
            hash = random_mix(hash + partial->done[kind][stage] + 1);
    struct partial **bucket = &set->bucket[hash % BUCKETS];
    for (struct partial *other = *bucket; other != NULL; other = other->next) {
        if (memcmp(other->done, partial->done, sizeof other->done) != 0)
            continue;
        if (covers(c, other, partial))
            return;
        if (covers(c, partial, other)) {
            struct partial *next = other->next;
            *other = *partial;
            other->next = next;
            return;
        }
    }
    assert_true(set->count < set->capacity);
    struct partial *copy = &set->all[set->count++];
    *copy = *partial;
    copy->next = *bucket;
    *bucket = copy;
}

/* Returns whether the work that is left on a device may end by `limit`. */
static bool work_ends_by(const struct small_case *c, const struct partial *partial, double limit)
{
    for (int device = 0; device < c->devices; device++) {
        double end = partial->clock[device];
        for (int s = 0; s < c->stages; s++)
            if (c->device_of[s] == device)
                end += (c->microbatches - partial->done[0][s]) * c->costs[s].forward +
                       (c->microbatches - partial->done[1][s]) * c->costs[s].input +
                       (c->microbatches - partial->done[2][s]) * c->costs[s].weight;
        if (end > limit)
            return false;
    }
    return true;
}

/* Returns whether some order that begins so may end by `limit`. */
static bool ends_by(const struct small_case *c, const struct partial *partial, double limit)
{
    double left = 0.0, begin = 0.0; /* from the end of a pass on; of the next pass of the stage before */
    if (limit == HUGE_VAL || !work_ends_by(c, partial, limit))
        return limit == HUGE_VAL;
    for (int s = 0; s < c->stages; s++)
        left += way(c, s - 1, s) + c->costs[s].forward + way(c, s + 1, s) + c->costs[s].input;
    left += c->costs[0].weight;
    for (int i = 0; i < 2 * c->stages; i++) { /* the way of a micro-batch, there and back */
        int kind = i < c->stages ? PASS_FORWARD : PASS_INPUT;
        int s = kind == PASS_FORWARD ? i : 2 * c->stages - 1 - i, from = kind == PASS_FORWARD ? s - 1 : s + 1;
        int k = partial->done[kind][s], count = c->microbatches - k;
        double seconds = kind == PASS_FORWARD ? c->costs[s].forward : c->costs[s].input, arrival = 0.0;
        left -= way(c, from, s) + seconds;
        if (count == 0)
            continue;
        if (i == c->stages)
            arrival = partial->done[0][s] > k ? 0.0 : begin + c->costs[s].forward;
        else if (i > 0)
            arrival = way(c, from, s) + (partial->done[kind][from] > k ? partial->end[kind][from][k]
                                         : kind == PASS_FORWARD        ? begin + c->costs[from].forward
                                                                       : begin + c->costs[from].input);
        begin = fmax(arrival, partial->clock[c->device_of[s]]);
        if (begin + count * seconds + left > limit)
            return false;
    }
    return true;
}

/* Returns the length of the shortest order that is no longer than `limit`. */
static double exhaustive(const struct small_case *c, struct set sets[2], double limit)
{
    double best = HUGE_VAL;
    struct partial empty = {.next = NULL};
    int length = 3 * c->stages * c->microbatches;
    sets[0].count = 0;
    memset((void *)sets[0].bucket, 0, BUCKETS * sizeof *sets[0].bucket);
    keep(c, &sets[0], &empty);
    for (int i = 0; i < length; i++) {
        struct set *old = &sets[i % 2], *new = &sets[(i + 1) % 2];
        new->count = 0;
        memset((void *)new->bucket, 0, BUCKETS * sizeof *new->bucket);
        for (size_t at = 0; at < old->count; at++)
            for (int kind = 0; kind < 3; kind++)
                for (int stage = 0; stage < c->stages; stage++) {
                    struct partial partial = old->all[at];
                    if (add_pass(c, &partial, kind, stage, true) && ends_by(c, &partial, limit))
                        keep(c, new, &partial);
                }
    }
    for (size_t at = 0; at < sets[length % 2].count; at++)
        best = fmin(best, makespan_of(c, &sets[length % 2].all[at]));
    return best;
}

/* All orders, one after the other, with micro-batches in any order: bit k of done[kind][stage] is micro-batch
 * k. */
static double enumerate(const struct small_case *c, const struct partial *partial, int left)
{
    double best = left == 0 ? makespan_of(c, partial) : HUGE_VAL;
    for (int kind = 0; kind < 3; kind++)
        for (int stage = 0; stage < c->stages; stage++)
            for (int k = 0; k < c->microbatches; k++) {
                struct partial more = *partial, counts = *partial;
                if (partial->done[kind][stage] >> k & 1)
                    continue;
                /* add_pass knows counts: it is shown those of this micro-batch, and the memory of all */
                double memory = 0.0;
                for (int i = 0; i < 3; i++)
                    for (int s = 0; s < c->stages; s++) {
                        uint8_t bits = partial->done[i][s];
                        int others = __builtin_popcount(bits) - (bits >> k & 1);
                        double early = c->costs[s].kept - c->costs[s].kept_for_weight;
                        double kept[3] = {c->costs[s].kept, -early, -c->costs[s].kept_for_weight};
                        counts.done[i][s] = bits >> k & 1;
                        memory += c->device_of[s] == c->device_of[stage] ? others * kept[i] : 0.0;
                        counts.end[i % 2][s][0] = i < 2 ? partial->end[i][s][k] : counts.end[i % 2][s][0];
                    }
                struct small_case own = *c;
                own.microbatches = 1;
                own.memory = c->memory > 0.0 ? c->memory - memory : 0.0;
                if ((c->memory > 0.0 && kind == PASS_FORWARD && own.memory < HAIR) ||
                    !add_pass(&own, &counts, kind, stage, false))
                    continue;
                memcpy(more.clock, counts.clock, sizeof more.clock);
                more.done[kind][stage] |= (uint8_t)(1 << k);
                if (kind < 2)
                    more.end[kind][stage][k] = counts.end[kind][stage][0];
                best = fmin(best, enumerate(c, &more, left - 1));
            }
    return best;
}

static void open_sets(struct set sets[2])
{
    for (int i = 0; i < 2; i++) {
        sets[i].capacity = 400000;
        sets[i].all = malloc(sets[i].capacity * sizeof *sets[i].all);
        sets[i].bucket = malloc(BUCKETS * sizeof *sets[i].bucket);
        assert_true(sets[i].all != NULL && sets[i].bucket != NULL);
    }
}

static void close_sets(struct set sets[2])
{
    for (int i = 0; i < 2; i++) {
        free(sets[i].all);
        free((void *)sets[i].bucket);
    }
}

/* Stage s on device s, then around again, or back: a V for two stages per device. */
static struct small_case make_case(int devices, int chunks, int microbatches, bool around)
{
    struct small_case c = {.devices = devices, .stages = devices * chunks, .microbatches = microbatches};
    for (int stage = 0; stage < c.stages; stage++)
        c.device_of[stage] = (uint16_t)(stage < devices ? stage
                                        : around        ? stage - devices
                                                        : 2 * devices - 1 - stage);
    return c;
}

enum { COSTS_EQUAL, COSTS_UNLIKE_PASSES, COSTS_UNLIKE_STAGES, COSTS_FREED_EARLY, COSTS };

static void set_costs(struct small_case *c, int which, uint64_t *random)
{
    for (int stage = 0; stage < c->stages; stage++) {
        c->costs[stage] = (struct pass_cost){
            .forward = 1.0, .input = 1.0, .weight = 1.0, .kept = 1.0, .kept_for_weight = 1.0};
        if (which == COSTS_UNLIKE_PASSES)
            c->costs[stage] = (struct pass_cost){.forward = 10.0,
                                                 .input = 13.0,
                                                 .weight = 9.0,
                                                 .send_forward = 1.0,
                                                 .send_backward = 1.0,
                                                 .kept = 1.0,
                                                 .kept_for_weight = 1.0};
        if (which < COSTS_UNLIKE_STAGES)
            continue;
        c->costs[stage] = (struct pass_cost){.forward = 1.0 + (double)(random_next(random) % 8),
                                             .input = 1.0 + (double)(random_next(random) % 8),
                                             .weight = (double)(random_next(random) % 8),
                                             .send_forward = (double)(random_next(random) % 3),
                                             .send_backward = (double)(random_next(random) % 3),
                                             .kept = 1.0 + (double)(random_next(random) % 2),
                                             .kept_for_weight = 1.0};
        if (which == COSTS_UNLIKE_STAGES)
            c->costs[stage].kept_for_weight = c->costs[stage].kept;
    }
}

static double least_memory(const struct small_case *c)
{
    double most = 0.0;
    for (int device = 0; device < c->devices; device++) {
        double kept = 0.0;
        for (int stage = 0; stage < c->stages; stage++)
            if (c->device_of[stage] == device)
                kept += c->costs[stage].kept;
        most = fmax(most, kept);
    }
    return most;
}

/* The search's answer, which must be a valid order with the times that it says. */
static struct order_found search_case(const struct small_case *c)
{
    struct error err;
    struct timing timing = {.extent.makespan = 0.0};
    struct order_found found;
    struct timing_options options = {.costs = c->costs, .send_blocks = c->send_blocks};
    struct order_search search = {.devices = c->devices,
                                  .stages = c->stages,
                                  .microbatches = c->microbatches,
                                  .device_of = c->device_of,
                                  .timing = &options,
                                  .memory = c->memory};
    if (!order_search(&search, &found, &err) || !pass_order_check(&found.order, NULL, &err) ||
        !timing_of_order(&found.order, &options, false, &timing, &err))
        fail_msg("%s", err.text);
    assert_true(fabs(timing.extent.makespan - found.extent.makespan) < HAIR);
    assert_true(fabs(timing.extent.span - found.extent.span) < HAIR);
    assert_true(c->memory <= 0.0 || timing.peak <= c->memory * (1.0 + HAIR));
    timing_release(&timing);
    return found;
}

/* Returns the share of the shortest order that the bound lacks. */
static double assert_bound(const struct small_case *c, double shortest)
{
    struct error err;
    struct search_problem problem;
    struct search_bound bound;
    struct timing_options options = {.costs = c->costs, .send_blocks = c->send_blocks};
    assert_true(search_problem_init(&problem, c->devices, c->stages, c->microbatches, c->device_of, &options,
                                    c->memory, &err));
    assert_true(search_bound_init(&bound, &problem, &err));
    if (bound.makespan > shortest + HAIR)
        fail_msg("%d devices, %d stages, %d micro-batches, memory %g: bound %.12g, an order of %.12g exists",
                 c->devices, c->stages, c->microbatches, c->memory, bound.makespan, shortest);
    double lacks = 1.0 - bound.makespan / shortest;
    search_bound_release(&bound);
    search_problem_release(&problem);
    return lacks;
}

/* How far bounds are from the shortest orders: over cases of one kind. */
struct looseness {
    int cases, reached;
    double most;
};

static void add_bound(struct looseness *looseness, double lacks)
{
    looseness->cases++;
    looseness->reached += lacks < HAIR;
    looseness->most = fmax(looseness->most, lacks);
}

/* told: the twin is told the length that the search found. */
static void compare(const struct small_case *c, bool told, struct set sets[2], struct looseness *looseness)
{
    struct order_found found = search_case(c);
    double shortest = exhaustive(c, sets, told ? found.extent.makespan + HAIR : HUGE_VAL);
    if (fabs(found.extent.makespan - shortest) > HAIR || found.gap > HAIR)
        fail_msg(
            "%d devices, %d stages, %d micro-batches, memory %g: found %.12g, bound %.12g, shortest %.12g",
            c->devices, c->stages, c->microbatches, c->memory, found.extent.makespan, found.bound, shortest);
    add_bound(looseness, assert_bound(c, shortest));
    order_found_release(&found);
}

static void compare_shapes(int chunks, bool around, int max_devices, int max_microbatches, uint64_t random)
{
    struct set sets[2];
    struct looseness any = {0}, scarce = {0};
    open_sets(sets);
    for (int devices = 1; devices <= max_devices; devices++)
        for (int microbatches = 1; microbatches <= max_microbatches; microbatches++)
            for (int costs = 0; costs < COSTS; costs++)
                for (int room = 0; room < 3; room++) {
                    struct small_case c = make_case(devices, chunks, microbatches, around);
                    set_costs(&c, costs, &random);
                    c.memory =
                        room == 2 ? 0.0 : least_memory(&c) * (room == 0 ? 1.0 : 1.5 + 0.5 * (devices - 1));
                    c.send_blocks = costs == COSTS_UNLIKE_PASSES && room == 1;
                    compare(&c, c.stages * microbatches >= TOLD_PASSES, sets, room < 2 ? &scarce : &any);
                }
    printf("# %d cases; limited memory: the bound is reached in %d of %d and up to %.0f %% short; else in %d "
           "of %d, %.0f %%\n",
           any.cases + scarce.cases, scarce.reached, scarce.cases, 100.0 * scarce.most, any.reached,
           any.cases, 100.0 * any.most);
    close_sets(sets);
}

static void orders_of_one_stage_per_device_are_the_shortest(void **state)
{
    (void)state;
    int cases = random_cases(8);
    for (int seed = 0; seed < cases; seed++)
        compare_shapes(1, false, 3, 4, (uint64_t)seed);
}

static void orders_of_two_stages_per_device_are_the_shortest(void **state)
{
    (void)state;
    bool all = random_cases(8) == 8;
    compare_shapes(2, false, 2, 4, 3);
    compare_shapes(2, true, 2, 4, 5);
    compare_shapes(2, false, 3, GOLDEN_STEP > 1 ? 2 : 4, 4);
    compare_shapes(2, true, 3, GOLDEN_STEP > 1 ? 2 : all ? 4 : 3, 6);
}

static void leaving_out_what_is_later_loses_nothing(void **state)
{
    (void)state;
    struct set sets[2];
    uint64_t random = 11;
    open_sets(sets);
    for (int i = 0; i < 12; i++) {
        struct small_case c = i % 2 == 0 ? make_case(1, 1, 3, false) : make_case(2, 1, 2, false);
        struct partial empty = {.next = NULL};
        set_costs(&c, i % COSTS, &random);
        c.memory = i % 3 == 0 ? least_memory(&c) : 0.0;
        assert_true(fabs(exhaustive(&c, sets, HUGE_VAL) -
                         enumerate(&c, &empty, 3 * c.stages * c.microbatches)) < HAIR);
    }
    close_sets(sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaving_out_what_is_later_loses_nothing),
        cmocka_unit_test(orders_of_one_stage_per_device_are_the_shortest),
        cmocka_unit_test(orders_of_two_stages_per_device_are_the_shortest),
    };
    return cmocka_run_group_tests_name("exhaustive", tests, NULL, NULL);
}
