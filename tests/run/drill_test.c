/* What a drill trains: a sample that is lost, doubled or wrong is found, and so is a word that differs. Drills are drawn as they should be,
 * and some of them are run. */
#include "run/drill/drill.h"
#include "run/drill/rank.h"
#include "run/drill/train.h"
#include "support/sanitizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Templates of six layers on 2, 3 and 4 nodes of one device. */
static struct elastic_slot slots_of_two[] = {
    {.position = 0, .layers.first = 0, .layers.last = 2, .ways = 1, .first = 0, .last = 1, .until = 1},
    {.position = 1, .layers.first = 3, .layers.last = 5, .ways = 1, .first = 2, .last = 2, .until = 1},
};
static struct elastic_slot slots_of_three[] = {
    {.position = 0, .layers.first = 0, .layers.last = 1, .ways = 1, .first = 0, .last = 0, .until = 1},
    {.position = 1, .layers.first = 2, .layers.last = 2, .ways = 1, .first = 1, .last = 1, .until = 1},
    {.position = 2, .layers.first = 3, .layers.last = 5, .ways = 1, .first = 2, .last = 2, .until = 1},
};
static struct elastic_line lines[] = {{.copies = 1, .fill = 0.010, .period = 0.005, .step = 1},
                                      {.copies = 1, .fill = 0.009, .period = 0.004, .step = 1}};
static int kinds[3];
static struct elastic_shape shapes[] = {
    {.name = "2 x some",
     .path = "",
     .need = {2},
     .nodes = 2,
     .kinds = kinds,
     .pipelines = 1,
     .copies = 1,
     .line_count = 1,
     .lines = &lines[0],
     .gradients = 1e6,
     .bandwidth = 1e9,
     .slot_count = 2,
     .slots = slots_of_two},
    {.name = "3 x some",
     .path = "",
     .need = {3},
     .nodes = 3,
     .kinds = kinds,
     .pipelines = 1,
     .copies = 1,
     .line_count = 1,
     .lines = &lines[1],
     .gradients = 1e6,
     .bandwidth = 1e9,
     .slot_count = 3,
     .slots = slots_of_three},
};
static int segment_from[] = {0, 2, 3, 6};
static double segment_until[] = {0, 400, 600, 1200};

static struct elastic_kit kit_of(int nodes)
{
    return (struct elastic_kit){
        .kind_count = 1,
        .kinds = {{.name = "some", .nodes = {nodes, 1, 0}, .inside = 1e10, .across = 1e9, .latency = 1e-5}},
        .shape_count = 2,
        .shapes = shapes,
        .layer_count = 6,
        .segment_count = 3,
        .units = 1,
        .segment_from = segment_from,
        .segment_until = segment_until,
        .batch = 8,
        .microbatch = 2,
        .shard_groups = 1,
    };
}

static void words_show_what_was_trained(void **state)
{
    (void)state;
    struct elastic_kit kit = kit_of(2);
    struct train train;
    struct elastic_set set;
    struct elastic_state first;
    struct train_share *shares;
    struct error err;
    double seconds;
    int nodes[ELASTIC_MAX_KINDS] = {2};
    assert_true(train_init(&train, &kit, 0, 1, &err));
    assert_true(elastic_instances(&set, &kit, nodes, 0, &err));
    assert_true(elastic_state_start(&first, &kit, &set, &err));
    assert_true(train_begin(&train, &first, &err));
    assert_true(train_split(&train, &first, &shares, &seconds, &err));
    assert_int_equal(shares[0].first, 0);
    assert_int_equal(shares[0].until, 16);
    assert_true(train_holds(&train, &first, 0, 1) && !train_holds(&train, &first, 0, 2));
    uint64_t words[64];
    for (int i = 0; i < 3; i++) {
        train_clear(&train);
        for (int c = 0; c < 2; c++) {
            train_contribute(&train, c, &shares[0], words);
            train_add(&train, c, words, 16, train_ids(&train, &shares[0]));
        }
        assert_true(train_step(&train, &err));
        train_count(&train);
    }
    assert_int_equal(train_compare(&train, &err), 2);
    train.cells[1].now[3] ^= 1;
    assert_int_equal(train_compare(&train, &err), -1);
    assert_string_equal(err.text, "node 0: layers 2 to 2 differ from a run without losses");
    train.cells[1].now[3] ^= 1;

    /* sample 5 twice instead of sample 6: as many, but not the same */
    const struct train_share parts[] = {{0, 6}, {5, 6}, {7, 16}};
    train_clear(&train);
    for (int c = 0; c < 2; c++)
        for (int p = 0; p < 3; p++) {
            train_contribute(&train, c, &parts[p], words);
            train_add(&train, c, words, parts[p].until - parts[p].first, train_ids(&train, &parts[p]));
        }
    assert_false(train_step(&train, &err));
    assert_string_equal(err.text, "iteration 3, layers 0 to 1: 16 samples of 16, some lost or duplicated");
    free(shares);
    elastic_state_release(&first);
    elastic_set_release(&set);
    train_release(&train);
}

/* Returns whether so many are lost at once that a layer may have no copy left. */
static bool may_need_checkpoint(const struct drill_options *options)
{
    int lost = 0;
    for (int i = 0; i < options->fate_count; i++) {
        bool new = options->fates[i].kind != DRILL_RETURN;
        for (int k = 0; k < i; k++)
            new &= options->fates[k].node != options->fates[i].node;
        lost += new;
    }
    return lost > options->faults;
}

/* Ranks end in any order; a spare node compares no layers, and what a wrong one compared is no success of others. */
static void a_spare_node_may_end_first(void **state)
{
    (void)state;
    static const struct drill_outcome spare = {.verdict = DRILL_RIGHT, .samples = 168},
                                      busy = {.verdict = DRILL_RIGHT, .samples = 168, .cells = 6},
                                      wrong = {.verdict = DRILL_WRONG, .samples = 168};
    for (int first = 0; first < 2; first++) {
        struct drill_outcome told = {.verdict = DRILL_HANG};
        drill_take_outcome(&told, first ? &spare : &busy);
        drill_take_outcome(&told, first ? &busy : &spare);
        assert_int_equal(told.verdict, DRILL_RIGHT);
        assert_int_equal(told.cells, busy.cells);
        drill_take_outcome(&told, &wrong);
        assert_int_equal(told.verdict, DRILL_WRONG);
        assert_int_equal(told.cells, 0);
    }
}

static void drills_are_drawn(void **state)
{
    (void)state;
    struct elastic_kit kit = kit_of(6);
    struct drill_options options = {.kit = &kit, .faults = 2, .iterations = 20, .silence = 0.5};
    int cuts = 0, returns = 0, more = 0, all = 0;
    for (int i = 0; i < 500; i++) {
        struct drill_options again = options;
        drill_draw(&options, 3, i, 0.02);
        drill_draw(&again, 3, i, 0.02);
        assert_memory_equal(options.fates, again.fates, (size_t)options.fate_count * sizeof *options.fates);
        assert_int_equal(options.fate_count, again.fate_count);
        for (int f = 0; f < options.fate_count; f++) {
            assert_in_range(options.fates[f].node, 0, 5);
            assert_true(options.fates[f].time >= 0);
            cuts += options.fates[f].kind == DRILL_CUT;
            returns += options.fates[f].kind == DRILL_RETURN;
            all++;
        }
        more += may_need_checkpoint(&options);
    }
    assert_true(all > 700 && cuts > 100 && returns > 200 && more > 10 && more < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_show_what_was_trained),
        cmocka_unit_test(a_spare_node_may_end_first),
        cmocka_unit_test(drills_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
