/* The search for orders: what must hold for any problem, and published results to be reached. */
#include "core/csv.h"
#include "core/random.h"
#include "schedule/best.h"
#include "schedule/check.h"
#include "schedule/schedule.h"
#include "support/reference.h"
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

#define MAX_STAGES 128
#define HAIR       1e-9

struct instance {
    int devices, chunks, stages, microbatches;
    uint16_t device_of[MAX_STAGES];
    struct pass_cost costs[MAX_STAGES];
    struct timing_options timing;
    double memory;
};

static int one_of(uint64_t *random, int low, int high)
{
    return low + (int)(random_next(random) % (uint64_t)(high - low + 1));
}

/* Placements: around, to and fro, neighbours together. */
static uint16_t place(const struct instance *instance, int placement, int stage)
{
    int turn = stage / instance->devices, step = stage % instance->devices;
    if (placement == 2)
        return (uint16_t)(stage / instance->chunks);
    return (uint16_t)(placement == 1 && turn % 2 == 1 ? instance->devices - 1 - step : step);
}

static void draw_instance(struct instance *instance, uint64_t *random)
{
    bool alike = one_of(random, 0, 1) == 0;
    int placement = one_of(random, 0, 2);
    *instance = (struct instance){.devices = one_of(random, 1, 8),
                                  .chunks = one_of(random, 1, 3),
                                  .microbatches = one_of(random, 1, 20)};
    instance->stages = instance->devices * instance->chunks;
    instance->timing.costs = instance->costs;
    instance->timing.send_blocks = one_of(random, 0, 3) == 0;
    instance->timing.receive_blocks = one_of(random, 0, 5) == 0;
    if (instance->timing.send_blocks && one_of(random, 0, 3) == 0)
        instance->timing.fusion = one_of(random, 0, 1) == 0 ? FUSION_OPPOSITE : FUSION_ALL;
    instance->timing.send_in_turn = one_of(random, 0, 7) == 0;
    for (int stage = 0; stage < instance->stages; stage++) {
        struct pass_cost *cost = &instance->costs[stage];
        *cost = instance->costs[0];
        instance->device_of[stage] = place(instance, placement, stage);
        if (alike && stage > 0)
            continue;
        *cost = (struct pass_cost){.forward = random_uniform(random),
                                   .input = 2.0 * random_uniform(random),
                                   .weight = random_uniform(random),
                                   .send_forward = 0.2 * random_uniform(random),
                                   .send_backward = 0.2 * random_uniform(random),
                                   .kept = 0.5 + random_uniform(random)};
        cost->kept_for_weight = one_of(random, 0, 1) == 0 ? cost->kept : 0.3 * cost->kept;
    }
}

/* Sets a limit of memory between that of one micro-batch and that of twice as many as there are devices. */
static void draw_memory(struct instance *instance, uint64_t *random)
{
    double least = 0.0;
    for (int device = 0; device < instance->devices; device++) {
        double kept = 0.0;
        for (int stage = 0; stage < instance->stages; stage++)
            kept += instance->device_of[stage] == device ? instance->costs[stage].kept : 0.0;
        least = fmax(least, kept);
    }
    double times = 1.0 + random_uniform(random) * (2.0 * instance->devices - 1.0);
    instance->memory = one_of(random, 0, 4) == 0 ? 0.0 : least * times;
}

static struct order_found search_instance(const struct instance *instance, enum search_objective objective,
                                          int64_t effort, const struct pass_order **starts, int start_count)
{
    struct error err;
    struct order_found found;
    struct order_search search = {.devices = instance->devices,
                                  .stages = instance->stages,
                                  .microbatches = instance->microbatches,
                                  .device_of = instance->device_of,
                                  .timing = &instance->timing,
                                  .memory = instance->memory,
                                  .objective = objective,
                                  .effort = effort,
                                  .starts = starts,
                                  .start_count = start_count};
    if (!order_search(&search, &found, &err))
        fail_msg("%s", err.text);
    return found;
}

/* The order is valid, has the times that the search says, fits, and is no better than the bound. */
static void assert_found(const struct instance *instance, const struct order_found *found,
                         enum search_objective objective)
{
    struct error err;
    struct timing timing = {.extent.makespan = 0.0};
    if (!pass_order_check(&found->order, NULL, &err) ||
        !timing_of_order(&found->order, &instance->timing, false, &timing, &err))
        fail_msg("%s", err.text);
    assert_true(fabs(timing.extent.makespan - found->extent.makespan) < HAIR);
    assert_true(fabs(timing.extent.span - found->extent.span) < HAIR);
    assert_true(instance->memory <= 0.0 || timing.peak <= instance->memory * (1.0 + 2.0 * HAIR));
    double value = objective == SEARCH_SPAN ? found->extent.span : found->extent.makespan;
    assert_true(found->bound <= value + HAIR && found->bound > 0.0);
    assert_true(fabs(found->gap * value - (value - found->bound)) < HAIR);
    for (int device = 0; timing.devices != NULL && device < instance->devices; device++)
        assert_true(found->bound > timing.devices[device].busy - HAIR);
    timing_release(&timing);
}

static void any_answer_is_valid(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 300 / GOLDEN_STEP; i++) {
        struct instance instance;
        enum search_objective objective = i % 3 == 2 ? SEARCH_SPAN : SEARCH_MAKESPAN;
        draw_instance(&instance, &random);
        draw_memory(&instance, &random);
        struct order_found found = search_instance(&instance, objective, 200000, NULL, 0);
        assert_found(&instance, &found, objective);
        order_found_release(&found);
    }
}

/* Orders of an earlier search in less memory are starts like any others. */
static void an_answer_is_no_worse_than_its_starts(void **state)
{
    (void)state;
    uint64_t random = 2;
    for (int i = 0; i < 40 / GOLDEN_STEP; i++) {
        struct instance instance;
        draw_instance(&instance, &random);
        struct order_found start = search_instance(&instance, SEARCH_MAKESPAN, 2000000, NULL, 0);
        const struct pass_order *starts[] = {&start.order};
        struct order_found found = search_instance(&instance, SEARCH_MAKESPAN, 1, starts, 1);
        assert_found(&instance, &found, SEARCH_MAKESPAN);
        assert_true(found.extent.makespan <= start.extent.makespan + HAIR);
        order_found_release(&start);
        order_found_release(&found);
    }
}

static void the_same_problem_has_the_same_answer(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 12 / GOLDEN_STEP; i++) {
        struct instance instance;
        draw_instance(&instance, &random);
        draw_memory(&instance, &random);
        struct order_found first = search_instance(&instance, SEARCH_MAKESPAN, 1000000, NULL, 0);
        struct order_found second = search_instance(&instance, SEARCH_MAKESPAN, 1000000, NULL, 0);
        size_t passes = pass_order_count(&first.order);
        assert_int_equal(passes, pass_order_count(&second.order));
        assert_memory_equal(first.order.passes, second.order.passes, passes * sizeof *first.order.passes);
        order_found_release(&first);
        order_found_release(&second);
    }
}

/* `best` may not lose to any schedule of the table that has the same chunks and whole sequences, in no more memory. */
static void best_is_no_worse_than_the_table(void **state)
{
    (void)state;
    uint64_t random = 4;
    for (int i = 0; i < 8 / GOLDEN_STEP; i++) {
        struct instance instance;
        struct error err;
        draw_instance(&instance, &random);
        instance.chunks = 1 + i % 2;
        instance.stages = instance.devices * instance.chunks;
        for (const struct schedule *schedule = schedules; schedule->name != NULL; schedule++) {
            struct schedule_shape shape = {.devices = instance.devices,
                                           .chunks = instance.chunks,
                                           .microbatches = instance.microbatches,
                                           .timing = &instance.timing};
            struct pass_order order;
            struct timing timing = {.extent.makespan = 0.0};
            struct order_found best;
            bool paired = false;
            bool searched = strcmp(schedule->name, "best") == 0 || strstr(schedule->name, "-1p") != NULL ||
                            strstr(schedule->name, "-2p") != NULL;
            if (searched || schedule->two_chains || schedule->no_flush || schedule->cuts_sequence)
                continue;
            if (!schedule_make(schedule, &shape, &order, &err)) {
                pass_order_release(&order);
                continue;
            }
            for (size_t at = 0; at < pass_order_count(&order); at++)
                paired |= order.passes[at].paired;
            if (!paired) {
                assert_true(timing_of_order(&order, &instance.timing, false, &timing, &err));
                shape.memory = timing.peak;
                assert_true(best_order(&shape, shape.chunks > 0 ? shape.chunks : 2, 0,
                                       &(struct best_options){.effort = 100000}, &best, &err));
                if (best.extent.makespan > timing.extent.makespan + HAIR)
                    fail_msg("%s, %d devices, %d micro-batches: %g, best %g", schedule->name,
                             instance.devices, instance.microbatches, timing.extent.makespan,
                             best.extent.makespan);
                order_found_release(&best);
                timing_release(&timing);
            }
            pass_order_release(&order);
        }
    }
}

/* More than two million passes: the best order of the table is taken. The shape has the closed formula of ZB-V. */
static void a_large_shape_takes_a_schedule_of_the_table(void **state)
{
    (void)state;
    if (SEARCH_STEP > 1)
        skip();
    enum { DEVICES = 60, MICROBATCHES = 6000 };
    const double memories[] = {0.0, DEVICES / 3.0};
    for (int i = 0; i < 2; i++) {
        struct schedule_shape shape = {
            .devices = DEVICES, .chunks = 2, .microbatches = MICROBATCHES, .memory = 2.0 * memories[i]};
        struct pass_cost costs[2 * DEVICES];
        struct timing_options timing = {.costs = costs};
        struct timing played;
        struct order_found found;
        struct error err;
        for (int stage = 0; stage < 2 * DEVICES; stage++)
            costs[stage] = (struct pass_cost){
                .forward = 1.0, .input = 1.0, .weight = 1.0, .kept = 1.0, .kept_for_weight = 1.0};
        if (!best_order(&shape, 2, 0, NULL, &found, &err) || !pass_order_check(&found.order, NULL, &err) ||
            !timing_of_order(&found.order, &timing, false, &played, &err))
            fail_msg("%s", err.text);
        assert_true(fabs(played.extent.makespan - found.extent.makespan) < HAIR &&
                    found.bound <= found.extent.makespan + HAIR);
        assert_true(i > 0 || fabs(found.extent.makespan - (6.0 * MICROBATCHES + DEVICES - 1)) < HAIR);
        assert_true(i > 0 || found.gap < HAIR);
        assert_true(i == 0 || played.peak <= shape.memory * (1.0 + HAIR));
        timing_release(&played);
        order_found_release(&found);
    }
}

static void a_microbatch_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    struct pass_cost costs[2] = {{.forward = 1.0, .input = 1.0, .kept = 1.0},
                                 {.forward = 1.0, .input = 1.0, .kept = 3.0}};
    struct timing_options timing = {.costs = costs};
    struct schedule_shape shape = {.devices = 2, .microbatches = 4, .timing = &timing, .memory = 2.5};
    struct order_found found;
    struct error err;
    assert_false(best_order(&shape, 1, 2, NULL, &found, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_string_equal(err.text, "device 1: one micro-batch keeps 3, and the limit of memory is 2.5");
    order_found_release(&found);
}

static double number(const struct csv *csv, int row, const char *column)
{
    struct error err;
    double value;
    if (!csv_number(csv, row, csv_column(csv, column), 0, 1e9, &value, &err))
        fail_msg("%s", err.text);
    return value;
}

static void read_instance(const struct csv *csv, int row, struct instance *instance)
{
    *instance = (struct instance){.devices = (int)number(csv, row, "p"),
                                  .chunks = (int)number(csv, row, "chunks"),
                                  .microbatches = (int)number(csv, row, "m"),
                                  .memory = number(csv, row, "peak_activation_microbatches")};
    instance->stages = instance->devices * instance->chunks;
    instance->timing.costs = instance->costs;
    assert_true(instance->stages <= MAX_STAGES);
    for (int stage = 0; stage < instance->stages; stage++) {
        instance->device_of[stage] = place(instance, 1, stage);
        instance->costs[stage] = (struct pass_cost){.forward = number(csv, row, "f") / instance->chunks,
                                                    .input = number(csv, row, "b") / instance->chunks,
                                                    .weight = number(csv, row, "w") / instance->chunks,
                                                    .send_forward = number(csv, row, "comm"),
                                                    .send_backward = number(csv, row, "comm"),
                                                    .kept = 1.0 / instance->chunks,
                                                    .kept_for_weight = 1.0 / instance->chunks};
    }
}

/* Orders of the authors of zero bubble schedules (reference: training/schedules), in the memory that theirs
 * need. */
static void published_orders_are_reached(void **state)
{
    (void)state;
    char *path = reference_path("training/schedules/golden_schedules.csv");
    if (path == NULL)
        skip();
    struct csv csv;
    struct error err;
    int rows = 0, better = 0, shortest = 0;
    if (!csv_load(&csv, path, &err))
        fail_msg("%s", err.text);
    for (int row = 0; row < csv.row_count; row += SEARCH_STEP) {
        struct instance instance;
        const char *name = csv_cell(&csv, row, csv_column(&csv, "schedule"));
        if (strncmp(name, "ZB", 2) != 0 && strncmp(name, "V1F1B", 5) != 0)
            continue;
        read_instance(&csv, row, &instance);
        struct order_found found = search_instance(&instance, SEARCH_MAKESPAN, 0, NULL, 0);
        double published = number(&csv, row, "makespan");
        assert_found(&instance, &found, SEARCH_MAKESPAN);
        if (found.extent.makespan > published * (1.0 + HAIR))
            fail_msg("%s, row %d: %.12g, published %.12g", name, row, found.extent.makespan, published);
        rows++;
        better += found.extent.makespan < published * (1.0 - HAIR);
        shortest += found.gap < HAIR;
        order_found_release(&found);
    }
    printf("# %d rows: %d shorter than published, %d proven to be the shortest\n", rows, better, shortest);
    assert_true(SEARCH_STEP > 1 || better >= 25);
    csv_release(&csv);
    free(path);
}

/* Shapes whose memory is scarce, with the makespan of the zero-bubble authors' own scheduler (scripts/compare-zero-bubble,
 * sail-sg/zero-bubble at 3fd87fd1; INFINITY: none of theirs fits): no schedule that fills a memory on a V is slower. */
static void scarce_memory_is_used_as_well_as_by_the_authors(void **state)
{
    static const struct {
        int devices, microbatches;
        double memory, makespan[2]; /* for the times below */
    } shapes[] = {{4, 8, 2, {890, 295}},   {4, 12, 3, {1038, 385}}, {8, 16, 3, {INFINITY, INFINITY}},
                  {8, 24, 4, {2530, 835}}, {8, 24, 5, {2186, 805}}, {8, 32, 6, {2718, 1015}}};
    static const double times[][4] = {{28, 28, 20, 2}, {10, 10, 10, 0}};
    static const char *const names[] = {"best", "zb-v", "v-half"};
    (void)state;
    for (int kase = 0; kase<36; kase += SEARCH_STEP> 1 ? 5 : 1) {
        struct pass_cost costs[16];
        const double *t = times[kase / 18];
        int i = kase / 3 % 6, chunks = 0;
        for (int stage = 0; stage < 16; stage++)
            costs[stage] = (struct pass_cost){t[0] / 2, t[1] / 2, t[2] / 2, t[3], t[3], 0, 0.5, 0.5};
        const struct timing_options timing = {.costs = costs};
        const struct schedule_shape shape = {.devices = shapes[i].devices,
                                             .microbatches = shapes[i].microbatches,
                                             .memory = shapes[i].memory,
                                             .timing = &timing};
        struct pass_order order;
        struct timing played;
        struct error err;
        const struct schedule *schedule = schedule_find(names[kase % 3], &chunks, &err);
        if (!schedule_make(schedule, &shape, &order, &err) ||
            !timing_of_order(&order, &timing, false, &played, &err))
            fail_msg("%s", err.text);
        assert_true(played.peak <= shapes[i].memory * (1 + HAIR));
        if (played.extent.makespan > shapes[i].makespan[kase / 18] * (1 + HAIR))
            fail_msg("%s, shape %d: %.12g", names[kase % 3], i, played.extent.makespan);
        timing_release(&played);
        pass_order_release(&order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_answer_is_valid),
        cmocka_unit_test(an_answer_is_no_worse_than_its_starts),
        cmocka_unit_test(the_same_problem_has_the_same_answer),
        cmocka_unit_test(best_is_no_worse_than_the_table),
        cmocka_unit_test(a_large_shape_takes_a_schedule_of_the_table),
        cmocka_unit_test(a_microbatch_that_does_not_fit_is_an_error),
        cmocka_unit_test(published_orders_are_reached),
        cmocka_unit_test(scarce_memory_is_used_as_well_as_by_the_authors),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
