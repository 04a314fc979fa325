/* The makers: every schedule at random shapes, closed formulas, PyTorch's order. */
#include "core/random.h"
#include "core/text.h"
#include "schedule/check.h"
#include "schedule/csv.h"
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

#define MAX_STAGES 512

static int between(uint64_t *random, int least, int most)
{
    return least + (int)(random_next(random) % (uint64_t)(most - least + 1));
}

/* Costs of one stage in all: makers of V shapes and waves may look at them. */
static void random_costs(uint64_t *random, struct pass_cost *costs, int stages)
{
    bool equal = between(random, 0, 1) == 0;
    for (int i = 0; i < stages; i++)
        costs[i] = (struct pass_cost){.forward = equal ? 1.0 : random_uniform(random),
                                      .input = equal ? 1.0 : random_uniform(random),
                                      .weight = equal ? 1.0 : random_uniform(random),
                                      .send_forward = equal ? 0.0 : 0.2 * random_uniform(random),
                                      .send_backward = equal ? 0.0 : 0.2 * random_uniform(random),
                                      .hidden = 0.5,
                                      .kept = equal ? 1.0 : random_uniform(random)};
    for (int i = 0; i < stages; i++)
        costs[i].kept_for_weight = costs[i].kept * (equal ? 1.0 : random_uniform(random));
}

/* Schedules that do not have every shape say so. */
static bool may_refuse(const struct schedule *schedule, const struct schedule_shape *shape)
{
    const char *name = schedule->name;
    bool few = shape->microbatches < 2 * shape->devices;
    if (strcmp(name, "chimera") == 0)
        return shape->devices % 2 != 0;
    if (strcmp(name, "dualpipe") == 0)
        return few || shape->microbatches % 2 != 0 || shape->devices % 2 != 0;
    if (strcmp(name, "2bw") == 0)
        return shape->microbatches < shape->devices;
    if (strcmp(name, "hanayo") == 0)
        return schedule_chunks(schedule, shape) % 2 != 0;
    return strcmp(name, "dualpipev") == 0 && few;
}

/* Orders that are searched for take their time, and have tests of their own. */
static int rounds_of(const struct schedule *schedule)
{
    size_t length = strlen(schedule->name);
    bool searched = strcmp(schedule->name, "best") == 0 ||
                    (length > 3 && strcmp(schedule->name + length - 3, "-1p") == 0) ||
                    (length > 3 && strcmp(schedule->name + length - 3, "-2p") == 0);
    return searched ? 2 : 150 / SEARCH_STEP;
}

static void every_schedule_has_a_right_order_for_every_shape(void **state)
{
    (void)state;
    struct pass_cost costs[MAX_STAGES];
    uint64_t random = 15;
    for (const struct schedule *schedule = schedules; schedule->name != NULL; schedule++) {
        for (int round = 0; round < rounds_of(schedule); round++) {
            struct schedule_shape shape = {.devices = between(&random, 1, rounds_of(schedule) > 2 ? 12 : 4),
                                           .microbatches =
                                               between(&random, 1, rounds_of(schedule) > 2 ? 40 : 8),
                                           .chunks = schedule->chunks == 0 ? between(&random, 2, 4) : 0,
                                           .iterations = between(&random, 1, 3)};
            struct timing_options options = {.costs = costs, .send_blocks = between(&random, 0, 1) == 1};
            struct pass_order order;
            struct timing timing;
            struct error err = {.text = ""};
            random_costs(&random, costs, schedule_stages(schedule, &shape));
            shape.timing = between(&random, 0, 1) == 1 ? &options : NULL;
            bool made = schedule_make(schedule, &shape, &order, &err);
            if (made == may_refuse(schedule, &shape))
                fail_msg("%s, %d devices, %d micro-batches, %d chunks: %s", schedule->name, shape.devices,
                         shape.microbatches, schedule_chunks(schedule, &shape), made ? "made" : err.text);
            if (made) {
                if (!timing_of_order(&order, &options, false, &timing, &err))
                    fail_msg("%s: %s", schedule->name, err.text);
                assert_true(timing.extent.makespan >= timing.extent.span && timing.extent.span > 0.0);
                timing_release(&timing);
            }
            pass_order_release(&order);
        }
    }
}

/* The versions of weights that a schedule without flush claims are those that it needs. */
static void versions_of_weights_are_needed(void **state)
{
    (void)state;
    static const char *const names[] = {"pipedream", "2bw"};
    for (int which = 0; which < 2; which++)
        for (int devices = 2; devices <= 9; devices++) {
            struct schedule_shape shape = {.devices = devices, .microbatches = devices + 3, .iterations = 3};
            struct pass_order order;
            struct error err;
            int chunks = 0;
            assert_true(schedule_make(schedule_find(names[which], &chunks, &err), &shape, &order, &err));
            assert_false(order.flushes);
            assert_int_equal(order.microbatches, 3 * (devices + 3));
            assert_int_equal(order.step, which == 0 ? 1 : devices + 3);
            assert_int_equal(order.weight_versions, which == 0 ? devices : 2);
            order.weight_versions--;
            assert_false(pass_order_check(&order, NULL, &err));
            assert_non_null(strstr(err.text, "versions of its weights"));
            pass_order_release(&order);
        }
}

/* Without a flush the busiest device sets the pace, with sends that do not block and enough micro-batches in flight. */
static void iterations_without_flush_follow_each_other(void **state)
{
    (void)state;
    struct pass_cost costs[4];
    struct timing_options options = {.costs = costs};
    struct schedule_shape shape = {.devices = 4, .microbatches = 6, .timing = &options};
    struct error err;
    double seconds;
    int chunks = 0;
    for (int i = 0; i < 4; i++)
        costs[i] =
            (struct pass_cost){.forward = i == 2 ? 3.0 : 1.0, .input = i == 2 ? 4.0 : 1.0, .weight = 1.0};
    assert_true(schedule_period(schedule_find("pipedream", &chunks, &err), &shape, &seconds, &err));
    assert_true(fabs(seconds - 6 * 8.0) < 1e-9);
    assert_true(schedule_period(schedule_find("2bw", &chunks, &err), &shape, &seconds, &err));
    assert_true(fabs(seconds - 6 * 8.0) < 1e-9);
    assert_true(schedule_period(schedule_find("1f1b", &chunks, &err), &shape, &seconds, &err));
    assert_true(isnan(seconds));
}

/* About a half and a third of 1F1B's memory, for a half and two thirds of its bubble (arXiv 2405.15362). */
static void v_shapes_trade_memory_for_bubble(void **state)
{
    (void)state;
    struct pass_cost costs[32];
    struct timing_options options = {.costs = costs};
    struct error err;
    for (int i = 0; i < 32; i++)
        costs[i] = (struct pass_cost){
            .forward = 0.5, .input = 0.5, .weight = 0.5, .kept = 0.5, .kept_for_weight = 0.5};
    for (int p = 2; p <= 16; p++)
        for (int third = 0; third < 2; third++) {
            struct schedule_shape shape = {.devices = p, .microbatches = 3 * p, .timing = &options};
            struct pass_order order;
            struct timing timing;
            int chunks = 0;
            const struct schedule *schedule = schedule_find(third ? "v-min" : "v-half", &chunks, &err);
            assert_true(schedule_make(schedule, &shape, &order, &err));
            assert_true(timing_of_order(&order, &options, false, &timing, &err));
            double bubble = timing.extent.makespan - 3.0 * 3 * p, of_1f1b = 3.0 * (p - 1);
            assert_true(timing.peak <= (third ? (p + 4) / 3.0 : (p + 3) / 2.0) + 1e-9);
            assert_true(bubble <= (third ? 2 * of_1f1b / 3 + 1 : of_1f1b / 2) + 1e-9);
            timing_release(&timing);
            pass_order_release(&order);
        }
}

static void names_are_found(void **state)
{
    (void)state;
    struct error err;
    int chunks = 0;
    assert_string_equal(schedule_find("GPipe", &chunks, &err)->name, "gpipe");
    assert_string_equal(schedule_find("Interleaved-1F1B", &chunks, &err)->name, "interleaved");
    assert_int_equal(chunks, 0);
    assert_string_equal(schedule_find("interleaved-1F1B v4", &chunks, &err)->name, "interleaved");
    assert_int_equal(chunks, 4);
    assert_null(schedule_find("1F1B v2", &chunks, &err));
    assert_null(schedule_find("", &chunks, &err));
    assert_null(schedule_find("dualpip", &chunks, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text, "unknown schedule 'dualpip', did you mean 'dualpipe'?");
    for (const struct schedule *schedule = schedules; schedule->name != NULL; schedule++)
        assert_ptr_equal(schedule_find(schedule->name, &chunks, &err), schedule);
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        struct schedule_shape shape;
    } cases[] = {
        {"1f1b",
         "schedule 1f1b has 1 chunk of each device, not 2",
         {.devices = 2, .chunks = 2, .microbatches = 2}},
        {"interleaved",
         "schedule interleaved needs at least 2 chunks of each device",
         {.devices = 2, .chunks = 1, .microbatches = 2}},
        {"1f1b", "a schedule of 0 devices: expected 1 to 65535", {.devices = 0, .microbatches = 2}},
        {"1f1b",
         "a schedule of -1 micro-batches: expected 1 to 10000000",
         {.devices = 2, .microbatches = -1}},
        {"interleaved",
         "a schedule of 65536 stages: expected 1 to 65535",
         {.devices = 65535, .chunks = 65535, .microbatches = 1}},
        {"pipedream",
         "a schedule of 10000001 micro-batches: expected 1 to 10000000",
         {.devices = 2, .microbatches = 9000000, .iterations = 2000000000}},
        {"dualpipe", "DualPipe needs an even number of devices, not 3", {.devices = 3, .microbatches = 20}},
        {"dualpipe",
         "DualPipe on 4 devices needs an even number of micro-batches, at least 8, not 6",
         {.devices = 4, .microbatches = 6}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pass_order order;
        struct error err;
        int chunks = 0;
        assert_false(
            schedule_make(schedule_find(cases[i].name, &chunks, &err), &cases[i].shape, &order, &err));
        assert_string_equal(err.text, cases[i].text);
        pass_order_release(&order);
    }
}

/* Compares the order of a schedule with PyTorch's own file, as its tests have it, apart from empty cells. */
static void assert_pytorchs(const char *name, const struct schedule_shape *shape, const char *file)
{
    char *path = reference_path(file);
    if (path == NULL)
        skip();
    struct schedule_csv theirs, ours;
    struct pass_order order, their_order;
    struct text their_text = {0}, our_text = {0};
    struct error err;
    int chunks = 0;
    if (!schedule_csv_load(&theirs, path, &err) ||
        !schedule_make(schedule_find(name, &chunks, &err), shape, &order, &err) ||
        !schedule_csv_of_order(&ours, &order, &(struct schedule_csv_form){.letters = theirs.letters}, &err)) {
        fail_msg("%s", err.text);
        return;
    }
    ours.carriage_returns = theirs.carriage_returns;
    ours.unended = theirs.unended;
    if (shape->devices > 2) {
        schedule_csv_write(&theirs, &their_text);
        schedule_csv_write(&ours, &our_text);
        assert_string_equal(our_text.data, their_text.data);
    }
    if (!schedule_csv_order(&theirs, &their_order, &err)) {
        fail_msg("%s", err.text);
        return;
    }
    assert_int_equal(pass_order_count(&their_order), pass_order_count(&order));
    assert_memory_equal(their_order.passes, order.passes, pass_order_count(&order) * sizeof *order.passes);
    text_release(&their_text);
    text_release(&our_text);
    schedule_csv_release(&theirs);
    schedule_csv_release(&ours);
    pass_order_release(&order);
    pass_order_release(&their_order);
    free(path);
}

static void dualpipev_is_pytorchs(void **state)
{
    (void)state;
    assert_pytorchs("DualPipeV", &(struct schedule_shape){.devices = 4, .microbatches = 10},
                    "training/simulate/pytorch_dualpipev_4rank_10mb.csv");
}

/* The file has empty cells, which the order has not. */
static void interleaved_zero_bubble_is_pytorchs(void **state)
{
    (void)state;
    assert_pytorchs("ScheduleInterleavedZeroBubble",
                    &(struct schedule_shape){.devices = 2, .chunks = 2, .microbatches = 8},
                    "training/simulate/pytorch_zb1p_2rank_2stagep_compute.csv");
}

/* Five micro-batches in groups of two, chunk and micro-batch of each pass, as the authors' own scheduler prints them:
 * the last group leaves out the sixth. A gradient of weights follows each backward pass. */
static void groups_are_pipeoffloads(void **state)
{
    (void)state;
    static const char *const theirs[] = {
        "F00 F01 F10 F11 F02 F03 B10 F12 B11 F13 B00 F04 B01 B12 F14 B13 B02 B03 B14 B04 ",
        "F00 F01 F10 F11 F02 B10 F03 B11 F12 B00 F13 B01 F04 B12 B13 F14 B02 B03 B14 B04 ",
        "F00 F01 F10 F11 B10 F02 B11 F03 B00 F12 B01 F13 B12 F04 B13 B02 F14 B03 B14 B04 ",
        "F00 F01 F10 B10 F11 B11 F02 B00 F03 B01 F12 B12 F13 B13 F04 B02 B03 F14 B14 B04 ",
    };
    const struct schedule_shape shape = {.devices = 4, .chunks = 2, .microbatches = 5};
    struct pass_order order;
    struct error err;
    int chunks = 0;
    if (!schedule_make(schedule_find("gis", &chunks, &err), &shape, &order, &err)) {
        fail_msg("%s", err.text);
        return;
    }
    for (int device = 0; device < order.devices; device++) {
        struct text ours = {0};
        for (size_t i = order.first[device]; i < order.first[device + 1]; i++) {
            const struct pass *pass = &order.passes[i];
            if (pass->kind != PASS_WEIGHT)
                text_format(&ours, "%c%d%d ", pass->kind == PASS_FORWARD ? 'F' : 'B', pass->stage / 4,
                            (int)pass->microbatch);
            else
                assert_int_equal(pass[-1].kind, PASS_INPUT);
        }
        assert_string_equal(ours.data, theirs[device]);
        text_release(&ours);
    }
    pass_order_release(&order);
}

/* The least number of micro-batches that a device of BPipe sends to its twin, of all choices: it has room for `room`, and
 * `here` has a bit for each that it holds. Its order is that of 1F1B with n micro-batches in flight, of which `begun` have
 * had their forward pass and `ended` both. */
static int fewest_moves(int m, int n, int room, int begun, int ended, unsigned here)
{
    if (ended == m)
        return 0;
    bool forward = begun < m && begun - ended < n;
    int next = forward ? begun : ended, fewest = m;
    unsigned bit = 1u << next, then = forward ? here | bit : here & ~bit;
    if ((!forward && (here & bit)) || __builtin_popcount(here) < room)
        return fewest_moves(m, n, room, begun + forward, ended + !forward, then);
    for (unsigned left = here; left != 0; left &= left - 1) {
        unsigned sent = left & -left;
        int moves = 1 + fewest_moves(m, n, room, begun + forward, ended + !forward, then & ~sent);
        fewest = moves < fewest ? moves : fewest;
    }
    return fewest;
}

/* docs/schedules.md, BPipe. */
static void moves_of_bpipe_are_those_of_its_formula(void **state)
{
    (void)state;
    for (int p = 4; p <= 9; p++) {
        int room = (p + 3) / 2;
        for (int d = 0; d < p; d++) {
            int twins = p - d > room ? p - d - room : 0;
            assert_true(d + 1 + twins <= room || twins == 0); /* the twin has room for them */
            for (int m = p; m <= 13; m++) {
                int n = p - d, rest = n > 1 ? (m - 1) % (n - 1) - (room - 2) : 0;
                int counted = n <= room ? 0 : (n - room) * ((m - 1) / (n - 1)) + (rest > 0 ? rest : 0);
                assert_int_equal(fewest_moves(m, n, room, 0, 0, 0), counted);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_has_a_right_order_for_every_shape),
        cmocka_unit_test(versions_of_weights_are_needed),
        cmocka_unit_test(iterations_without_flush_follow_each_other),
        cmocka_unit_test(v_shapes_trade_memory_for_bubble),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
        cmocka_unit_test(dualpipev_is_pytorchs),
        cmocka_unit_test(interleaved_zero_bubble_is_pytorchs),
        cmocka_unit_test(groups_are_pipeoffloads),
        cmocka_unit_test(moves_of_bpipe_are_those_of_its_formula),
    };
    return cmocka_run_group_tests_name("make", tests, NULL, NULL);
}
