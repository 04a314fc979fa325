/* The checker: orders made by hand that are right, and damaged ones with the texts of their faults. */
#include "schedule/check.h"
#include "support/orders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* fault: NULL: the order is right */
static void assert_checked(int devices, int stages, int chains, int microbatches, const int *device_of,
                           const char *const *texts, const char *fault)
{
    struct pass_order order;
    struct error err = {.text = ""};
    orders_write(&order, devices, stages, chains, microbatches, device_of, texts);
    bool right = pass_order_check(&order, NULL, &err);
    pass_order_release(&order);
    if (fault == NULL && !right)
        fail_msg("refused: %s", err.text);
    if (fault != NULL && right)
        fail_msg("accepted, expected: %s", fault);
    if (fault != NULL) {
        assert_string_equal(err.text, fault);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

static const int v_shape[4] = {0, 1, 1, 0};

static void right_orders_are_accepted(void **state)
{
    (void)state;
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0B0"), NULL);
    assert_checked(2, 2, 1, 2, NULL, TEXTS("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"), NULL);
    assert_checked(2, 2, 1, 2, NULL, TEXTS("0F0 0F1 0I0 0W0 0B1", "1F0 1I0 1F1 1W0 1I1 1W1"), NULL);
    assert_checked(2, 4, 1, 1, v_shape, TEXTS("0F0 3F0 3B0 0B0", "1F0 2F0 2I0 1B0 2W0"), NULL);
}

static void places_are_checked(void **state)
{
    (void)state;
    assert_checked(2, 2, 1, 1, NULL, TEXTS("0F0 1F0", "1B0 0B0"),
                   "rank 0, cell 1: 1F0: stage 1 is on rank 1");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 1B0"),
                   "rank 0, cell 1: 1B0: the order has stages 0 to 0 and micro-batches 0 to 0");
    assert_checked(1, 1, 1, 2, NULL, TEXTS("0F0 0F2"),
                   "rank 0, cell 1: 0F2: the order has stages 0 to 0 and micro-batches 0 to 1");
    assert_checked(1, 1, 1, 1, (const int[]){3}, TEXTS("0F0 0B0"),
                   "stage 0 is on rank 3, but there are ranks 0 to 0");
}

static void each_pass_is_there_once(void **state)
{
    (void)state;
    assert_checked(2, 2, 1, 1, NULL, TEXTS("0F0 0B0", "1F0 1B0 1F0"),
                   "rank 1, cell 2: 1F0 is listed twice, first in cell 0");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0I0 0W0 0W0"),
                   "rank 0, cell 3: 0W0 is listed twice, first in cell 2");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0B0 0I0"),
                   "rank 0, cell 2: 0I0 is listed beside 0B0 in cell 1: expected B, or I and W");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0I0 0B0"),
                   "rank 0, cell 2: 0B0 is listed beside 0I0 in cell 1: expected B, or I and W");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0B0 0W0"),
                   "rank 0, cell 2: 0W0 is listed beside 0B0 in cell 1: expected B, or I and W");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0W0 0B0"),
                   "rank 0, cell 2: 0B0 is listed beside 0W0 in cell 1: expected B, or I and W");
    assert_checked(2, 2, 1, 2, NULL, TEXTS("0F0 0F1 0B0 0B1", "1F0 1B0 1B1"), "rank 1: 1F1 is missing");
    assert_checked(2, 2, 1, 2, NULL, TEXTS("0F0 0F1 0B0", "1F0 1B0 1F1 1B1"),
                   "rank 0: 0B1 is missing: the memory of the forward pass is never freed");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0I0"),
                   "rank 0: 0W0 is missing: the memory of the forward pass is never freed");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0W0"), "rank 0: 0I0 is missing");
    assert_checked(1, 1, 1, 1, NULL, TEXTS(""), "rank 0: 0F0 is missing");
    assert_checked(1, 1, 1, 10000000, NULL, TEXTS("0F0 0B0"),
                   "2 passes: 10000000 micro-batches on 1 stages have at least 20000000");
}

static void a_microbatch_takes_one_chain(void **state)
{
    (void)state;
    assert_checked(2, 4, 2, 1, v_shape, TEXTS("0F0 0B0 3F0 3B0", "1F0 1B0 2F0 2B0"),
                   "micro-batch 0 goes through several chains of stages, one by stage 0");
    assert_checked(2, 4, 2, 2, v_shape, TEXTS("0F0 0B0 3F1 3B1", "2F1 1F0 1B0 2B1"), NULL);
}

static void pairs_are_a_forward_and_a_backward_pass(void **state)
{
    (void)state;
    assert_checked(1, 1, 1, 2, NULL, TEXTS("0F0 0F1+0B0 0B1"), NULL);
    assert_checked(1, 1, 1, 2, NULL, TEXTS("0F0 0B0+0F1 0B1"), NULL);
    assert_checked(1, 1, 1, 2, NULL, TEXTS("0F0 0I0+0F1 0W0 0B1"), NULL);
    assert_checked(
        1, 1, 1, 2, NULL, TEXTS("0F0+0F1 0B0 0B1"),
        "rank 0, cell 0: 0F0 overlaps with 0F1: expected a pair of one forward and one backward pass");
    assert_checked(
        1, 1, 1, 2, NULL, TEXTS("0F0 0I0 0W0+0F1 0B1"),
        "rank 0, cell 2: 0W0 overlaps with 0F1: expected a pair of one forward and one backward pass");
    assert_checked(
        1, 1, 1, 2, NULL, TEXTS("0F0 0F1+0B0+0B1"),
        "rank 0, cell 1: 0F1 overlaps with 0B0: expected a pair of one forward and one backward pass");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0B0+"),
                   "rank 0, cell 1: 0B0 overlaps with the next pass, but is the last one");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0+0B0"),
                   "rank 0, cell 0: 0B0 waits for 0F0, with which it overlaps");
}

static void circles_are_named(void **state)
{
    (void)state;
    assert_checked(2, 2, 1, 2, NULL, TEXTS("0F0 0F1 0B0 0B1", "1F0 1B1 1F1 1B0"),
                   "rank 1, cell 1: 1B1 waits for 1F1, which comes later");
    assert_checked(1, 1, 1, 1, NULL, TEXTS("0F0 0W0 0I0"),
                   "rank 0, cell 1: 0W0 waits for 0I0, which comes later");
    assert_checked(1, 2, 1, 1, NULL, TEXTS("1F0 0F0 1B0 0B0"),
                   "rank 0, cell 0: 1F0 waits for 0F0, which comes later");
    /* each device is right by itself */
    assert_checked(2, 2, 1, 2, NULL, TEXTS("0F0 0B0 0F1 0B1", "1F1 1F0 1B0 1B1"),
                   "rank 0, cell 1: 0B0 waits for 1B0 (rank 1, cell 2), which comes after 1F1 (cell 0), "
                   "which waits for 0F1 (rank 0, cell 2), which comes later");
    /* a circle of pairs alone */
    assert_checked(2, 2, 1, 2, NULL, TEXTS("0F0 0F1+0B0 0B1", "1F0 1F1+1B0 1B1"),
                   "rank 0, cell 1: 0B0 waits for 1B0 (rank 1, cell 1), which waits for 0F1 (rank 0, cell "
                   "1), in the same cell");
}

static void versions_of_weights_are_counted(void **state)
{
    (void)state;
    const char *const texts[2] = {"0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"};
    struct pass_order order;
    struct error err;
    orders_write(&order, 2, 2, 1, 3, NULL, texts);
    assert_true(pass_order_check(&order, NULL, &err));
    order.step = 1;
    assert_false(pass_order_check(&order, NULL, &err));
    assert_string_equal(err.text, "rank 0, cell 2: 0B0: stage 0 needs 2 versions of its weights, not 1");
    order.weight_versions = 2;
    assert_true(pass_order_check(&order, NULL, &err));
    pass_order_release(&order);
}

static void places_of_a_file_are_named(void **state)
{
    (void)state;
    const char *const texts[1] = {"0F0 0W0 0I0"};
    const struct action_source source = {.path = "mine.csv", .letters = LETTERS_OLDER};
    struct pass_order order;
    struct error err;
    orders_write(&order, 1, 1, 1, 1, NULL, texts);
    assert_false(pass_order_check(&order, &source, &err));
    assert_string_equal(err.text, "mine.csv: rank 0, cell 1: 0W0 waits for 0B0, which comes later");
    pass_order_release(&order);
}

/* --- damaged orders --- */

enum progress { NOTHING, FORWARD_DONE, INPUT_DONE, ALL_DONE };

struct played {
    const struct pass_order *order;
    enum progress progress[ORDERS_MAX_STAGES][ORDERS_MAX_MICROBATCHES];
};

static bool is_possible(const struct played *played, const struct pass *pass)
{
    const struct pass_order *order = played->order;
    int depth = order->stages / order->chains, within = pass->stage % depth;
    enum progress own = played->progress[pass->stage][pass->microbatch];
    if (pass->kind == PASS_FORWARD)
        return own == NOTHING &&
               (within == 0 || played->progress[pass->stage - 1][pass->microbatch] != NOTHING);
    if (pass->kind == PASS_WEIGHT)
        return own == INPUT_DONE;
    return own == FORWARD_DONE &&
           (within == depth - 1 || played->progress[pass->stage + 1][pass->microbatch] >= INPUT_DONE);
}

/* Runs the next cell of a device if it can run. */
static bool run_cell(struct played *played, int device, size_t *at)
{
    const struct pass_order *order = played->order;
    const struct pass *pass = &order->passes[*at];
    size_t count = 1U + pass->paired;
    if (*at + count > order->first[device + 1])
        return false;
    for (size_t i = 0; i < count; i++)
        if (order->device_of[pass[i].stage] != device || !is_possible(played, &pass[i]))
            return false;
    if (count == 2 && (pass[1].paired || (pass[0].kind == PASS_FORWARD) == (pass[1].kind == PASS_FORWARD) ||
                       pass[0].kind == PASS_WEIGHT || pass[1].kind == PASS_WEIGHT))
        return false;
    for (size_t i = 0; i < count; i++)
        played->progress[pass[i].stage][pass[i].microbatch] = pass[i].kind == PASS_FORWARD ? FORWARD_DONE
                                                              : pass[i].kind == PASS_INPUT ? INPUT_DONE
                                                                                           : ALL_DONE;
    *at += count;
    return true;
}

/* Returns whether an order is right, by running what can run until nothing can. */
static bool is_right(const struct pass_order *order)
{
    struct played played = {.order = order};
    size_t at[8];
    for (int device = 0; device < order->devices; device++)
        at[device] = order->first[device];
    for (bool moved = true; moved;) {
        moved = false;
        for (int device = 0; device < order->devices; device++)
            while (at[device] < order->first[device + 1] && run_cell(&played, device, &at[device]))
                moved = true;
    }
    for (int device = 0; device < order->devices; device++)
        if (at[device] < order->first[device + 1])
            return false;
    int depth = order->stages / order->chains;
    for (int i = 0; i < order->microbatches; i++) {
        int chains = 0;
        for (int chain = 0; chain < order->chains; chain++) {
            int done = 0, begun = 0;
            for (int stage = chain * depth; stage < (chain + 1) * depth; stage++) {
                done += played.progress[stage][i] == ALL_DONE;
                begun += played.progress[stage][i] != NOTHING;
            }
            if (begun > 0 && done < depth)
                return false;
            chains += done == depth;
        }
        if (chains != 1)
            return false;
    }
    return true;
}

/* Damages an order: two passes of a device change places, or a pass becomes another one, or is overwritten by its neighbour,
 * or begins or ceases to overlap. */
static void damage(uint64_t *random, struct pass_order *order)
{
    size_t count = pass_order_count(order), a = (size_t)orders_between(random, 0, (int)count - 1);
    int device = 0;
    while (a >= order->first[device + 1])
        device++;
    size_t b = (size_t)orders_between(random, (int)order->first[device], (int)order->first[device + 1] - 1);
    struct pass *passes = order->passes, kept = passes[a];
    switch (orders_between(random, 0, 5)) {
    case 0:
        passes[a].kind = (uint8_t)orders_between(random, 0, PASS_KINDS - 1);
        break;
    case 1:
        passes[a].microbatch = (uint32_t)orders_between(random, 0, order->microbatches - 1);
        break;
    case 2:
        passes[a].stage = (uint16_t)orders_between(random, 0, order->stages - 1);
        break;
    case 3:
        passes[a].paired = !passes[a].paired;
        break;
    default:
        passes[a] = passes[b];
        passes[b] = kept;
        passes[b].paired = passes[a].paired;
        passes[a].paired = kept.paired;
    }
}

static void damaged_orders_are_refused(void **state)
{
    (void)state;
    uint64_t random = 7;
    int right = 0, wrong = 0;
    for (int round = 0; round < 30000; round++) {
        struct pass_order order;
        struct error err = {.text = ""};
        orders_draw(&random, &order);
        for (int i = orders_between(&random, 0, 2); i > 0; i--)
            damage(&random, &order);
        bool accepted = pass_order_check(&order, NULL, &err), expected = is_right(&order);
        if (accepted != expected)
            fail_msg("order %d: %s", round, accepted ? "accepted, but it is not right" : err.text);
        if (!accepted) {
            assert_int_equal(err.kind, ERROR_INPUT);
            assert_true(strlen(err.text) > 10);
        }
        right += accepted;
        wrong += !accepted;
        pass_order_release(&order);
    }
    printf("# %d right, %d damaged\n", right, wrong);
    assert_true(right > 3000 && wrong > 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_orders_are_accepted),
        cmocka_unit_test(places_are_checked),
        cmocka_unit_test(each_pass_is_there_once),
        cmocka_unit_test(a_microbatch_takes_one_chain),
        cmocka_unit_test(pairs_are_a_forward_and_a_backward_pass),
        cmocka_unit_test(circles_are_named),
        cmocka_unit_test(versions_of_weights_are_counted),
        cmocka_unit_test(places_of_a_file_are_named),
        cmocka_unit_test(damaged_orders_are_refused),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
