/* PyTorch's schedule CSV: files of PyTorch go through unchanged, damaged ones are found, by a slow second checker, too. */
#include "schedule/csv.h"

#include "core/file.h"
#include "core/random.h"
#include "schedule/schedule.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void parse(struct schedule_csv *csv, const char *text)
{
    struct error err;
    if (!schedule_csv_parse(csv, "t.csv", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

/* Parses, makes the order, and returns the message of the first of both that fails; "" if none does. */
static const char *message_of(const char *text)
{
    static struct error err;
    struct schedule_csv csv;
    struct pass_order order = {.devices = 0};
    err.text[0] = '\0';
    if (schedule_csv_parse(&csv, "t.csv", text, strlen(text), &err)) {
        if (!schedule_csv_order(&csv, &order, &err))
            assert_int_equal(err.kind, ERROR_INPUT);
        pass_order_release(&order);
        schedule_csv_release(&csv);
    }
    return err.text;
}

static void assert_same(const struct schedule_csv *csv, const char *text, size_t length)
{
    struct text out = {0};
    schedule_csv_write(csv, &out);
    assert_int_equal(out.length, length);
    assert_memory_equal(out.data, text, length);
    text_release(&out);
}

/* ---- files of PyTorch ---- */

static char *read_reference(const char *name, size_t *length)
{
    char path[200], *data;
    struct error err;
    snprintf(path, sizeof path, "training/simulate/%s", name);
    char *file = reference_path(path);
    if (file == NULL)
        skip();
    if (!file_read(file, 1 << 20, &data, length, &err))
        fail_msg("%s", err.text);
    free(file);
    return data;
}

static const struct {
    const char *name;
    int ranks, stages, microbatches;
    enum schedule_letters letters;
} files[] = {
    {"pytorch_dualpipev_4rank_10mb.csv", 4, 8, 10, LETTERS_NEWER},
    {"pytorch_zb1p_2rank_2stagep_compute.csv", 2, 4, 8, LETTERS_OLDER},
    {"pytorch_zb1p_2rank_2stagep_comms.csv", 2, 4, 8, LETTERS_OLDER},
    {"torchtitan_custom_schedule.csv", 2, 4, 8, LETTERS_NEWER},
};

static void files_of_pytorch_are_written_back_byte_for_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct schedule_csv csv;
        struct pass_order order;
        struct error err;
        size_t length;
        char *data = read_reference(files[i].name, &length);
        assert_true(schedule_csv_parse(&csv, files[i].name, data, length, &err));
        assert_same(&csv, data, length);
        assert_int_equal(csv.letters, files[i].letters);
        if (!schedule_csv_order(&csv, &order, &err))
            fail_msg("%s", err.text);
        assert_int_equal(order.devices, files[i].ranks);
        assert_int_equal(order.stages, files[i].stages);
        assert_int_equal(order.microbatches, files[i].microbatches);
        pass_order_release(&order);
        schedule_csv_release(&csv);
        free(data);
    }
}

/* PyTorch made the second file from the first. */
static void communication_is_placed_as_by_pytorch(void **state)
{
    (void)state;
    struct schedule_csv computing, made;
    struct pass_order order;
    struct error err;
    size_t length, expected_length;
    char *data = read_reference("pytorch_zb1p_2rank_2stagep_compute.csv", &length);
    char *expected = read_reference("pytorch_zb1p_2rank_2stagep_comms.csv", &expected_length);
    const struct schedule_csv_form form = {.letters = LETTERS_OLDER, .with_sends = true};
    assert_true(schedule_csv_parse(&computing, "compute.csv", data, length, &err));
    assert_true(schedule_csv_order(&computing, &order, &err));
    assert_true(schedule_csv_of_order(&made, &order, &form, &err));
    assert_same(&made, expected, expected_length);
    assert_true(schedule_csv_check(&made, &err));
    schedule_csv_release(&made);
    pass_order_release(&order);
    schedule_csv_release(&computing);
    free(data);
    free(expected);
}

/* ---- form ---- */

static void cells_and_line_ends_are_kept(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0F0,,0B0,\n",
        "0F0,0B0\r\n,1F0,1B0\r\n",
        "0F0,0B0",
        "0F0,0B0\n1F0,1B0",
        "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0I0,0RESHARD,0W0,0REDUCE_GRAD\n1UNSHARD3,1RECV_F0\n",
        "(0F7;7B3)OVERLAP_F_B\n\n",
        ",\n",
        "0BW0\n1B0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct schedule_csv csv;
        parse(&csv, texts[i]);
        assert_same(&csv, texts[i], strlen(texts[i]));
        schedule_csv_release(&csv);
    }
}

static void letters_follow_from_bw_i_and_w(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum schedule_letters letters;
        int kind; /* of B0 on stage 0 */
    } cases[] = {
        {"0B0\n", LETTERS_NEWER, ACTION_BACKWARD},
        {"0B0,0I1,0W1\n", LETTERS_NEWER, ACTION_BACKWARD},
        {"0B0,0W0\n", LETTERS_OLDER, ACTION_INPUT},
        {"0B0,0BW1\n", LETTERS_OLDER, ACTION_INPUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schedule_csv csv;
        parse(&csv, cases[i].text);
        assert_int_equal(csv.letters, cases[i].letters);
        assert_int_equal(csv.actions[0].kind, cases[i].kind);
        schedule_csv_release(&csv);
    }
    assert_string_equal(
        message_of("0F0,0I0\n0BW1\n"),
        "t.csv: rank 1, cell 0 has BW, of PyTorch's older letters, but rank 0, cell 1 has I, of the "
        "newer ones");
}

static void wrong_cells_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.csv: no rows: expected one for each rank"},
        {"0F0,F0\n",
         "t.csv: rank 0, cell 1: 'F0' is not an action: expected stage, kind and micro-batch, such as 3F0"},
        {"0F0\n,0f0\n",
         "t.csv: rank 1, cell 1: '0f0' is not an action: expected stage, kind and micro-batch, such as 3F0"},
        {"0X0\n", "t.csv: rank 0, cell 0: '0X0' has an unknown kind (known: F, I, W, B, BW, SEND_F, RECV_F, "
                  "SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD)"},
        {"0F\n", "t.csv: rank 0, cell 0: '0F' has no micro-batch"},
        {"0F0 \n", "t.csv: rank 0, cell 0: '0F0 ' goes on after its action; cells are separated by commas"},
        {"0F00\n", "t.csv: rank 0, cell 0: '0F00' has a number with a leading zero"},
        {"65535F0\n", "t.csv: rank 0, cell 0: '65535F0' has a stage above 65534"},
        {"0F10000000\n", "t.csv: rank 0, cell 0: '0F10000000' has a micro-batch above 9999999"},
        {"0F0\n1F0\r\n", "t.csv:2: the line does not end as those before it (LF, CR LF)"},
        {"(0F0;1B0)\n", "t.csv: rank 0, cell 0: '(0F0;1B0)' is not a pair: expected a forward and a backward "
                        "pass, such as (0F7;7B3)OVERLAP_F_B"},
        {"(0F0;1F1)OVERLAP_F_B\n", "t.csv: rank 0, cell 0: '(0F0;1F1)OVERLAP_F_B' is not a pair: expected a "
                                   "forward and a backward pass, such as (0F7;7B3)OVERLAP_F_B"},
        {"(0F0;1SEND_F0)OVERLAP_F_B\n",
         "t.csv: rank 0, cell 0: '(0F0;1SEND_F0)OVERLAP_F_B' is not a pair: expected a forward and a "
         "backward pass, such as (0F7;7B3)OVERLAP_F_B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(message_of(cases[i].text), cases[i].message);
}

static void wrong_orders_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"0F0,0B0\n", ""},
        {"0F0,0B0,0F1\n", "t.csv: rank 0: 0B1 is missing: the memory of the forward pass is never freed"},
        {"0F0,0I0\n", "t.csv: rank 0: 0W0 is missing: the memory of the forward pass is never freed"},
        {"0F0,0B0,1F0,1B0\n", "t.csv: rank 0, cell 1: 0B0 waits for 1B0, which comes later"},
        {"0F0,0W0,0I0\n", "t.csv: rank 0, cell 1: 0W0 waits for 0I0, which comes later"},
        {"0F0,0B0\n1F0,1B0,3B0,3F0\n2F0,2B0\n",
         "t.csv: rank 1, cell 2: 3B0 waits for 3F0, which comes later"},
        {"0F0,0B0\n1B0,1F0\n", "t.csv: rank 1, cell 0: 1B0 waits for 1F0, which comes later"},
        {"0F0,0B0\n0F1,0B1\n", "t.csv: rank 1, cell 0: 0F1: stage 0 is on rank 0"},
        {"0F0,0F0,0B0\n", "t.csv: rank 0, cell 1: 0F0 is listed twice, first in cell 0"},
        {"0F0,0B0,0W0,0I1\n",
         "t.csv: rank 0, cell 2: 0W0 is listed beside 0B0 in cell 1: expected B, or I and W"},
        {"0F0,0B0\n\n", "t.csv: rank 1 has no action"},
        {"0F0,0B0\n,0REDUCE_GRAD\n", "t.csv: rank 1, cell 1: 0REDUCE_GRAD: stage 0 is on rank 0"},
        {"0UNSHARD\n", "t.csv: no rank has a pass"},
        {"0F0,0B0,2F0,2B0\n", "t.csv: stage 1 has no pass"},
        {"0F0,0F2,0F9999999\n", "t.csv: 0F1 is missing, and the micro-batches go up to 9999999"},
        {"0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "t.csv: rank 0, cell 1: 0RECV_B0 waits for 1SEND_B0 (rank 1, cell 3), which comes after 1RECV_F0 "
         "(cell 0), "
         "which waits for 0SEND_F0 (rank 0, cell 2), which comes later"},
        {"0F9999999\n", "t.csv: 0F0 is missing, and the micro-batches go up to 9999999"},
        {"(0F0;0B0)OVERLAP_F_B\n", "t.csv: rank 0, cell 0: 0B0 waits for 0F0, with which it overlaps"},
        {"0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n",
         "t.csv: rank 1: 1RECV_F0 is missing, beside 0SEND_F0 of rank 0"},
        {"0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "t.csv: rank 0: 0SEND_F0 is missing, beside 1RECV_F0 of rank 1"},
        {"0F0,0SEND_F0,0B0\n", "t.csv: rank 0, cell 1: 0SEND_F0 has no stage at its other end"},
        {"0F0,0SEND_F0,1F0,1B0,0B0\n",
         "t.csv: rank 0, cell 1: 0SEND_F0 has the stage at its other end on the same rank"},
        {"0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
         "t.csv: rank 0, cell 2: 0B0 waits for 0RECV_B0, which comes later"},
        {"0F0,0F1,0B0,0B1\n1F1,1B1,1F0,1B0\n", ""},
        {"0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n",
         "t.csv: rank 0, cell 1: 0B0 waits for 1B0 (rank 1, cell 3), which comes after 1F1 (cell 0), which "
         "waits for "
         "0F1 (rank 0, cell 2), which comes later"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *message = message_of(cases[i].text);
        if (strcmp(message, cases[i].message) != 0)
            fail_msg("%s: '%s', expected '%s'", cases[i].text, message, cases[i].message);
    }
}

/* ---- a slow second checker ---- */

static bool is_there(const struct schedule_csv *csv, const bool *done, int kind, int stage,
                     uint32_t microbatch)
{
    for (size_t i = 0; i < csv->count; i++)
        if (done[i] && csv->actions[i].kind == kind && csv->actions[i].stage == stage &&
            csv->actions[i].microbatch == microbatch)
            return true;
    return false;
}

static bool communicates(const struct schedule_csv *csv)
{
    for (size_t i = 0; i < csv->count; i++)
        if (!action_is_pass(&csv->actions[i]))
            return true;
    return false;
}

/* The rules, written as sentences: all actions that were done are searched for each input. Every stage has a rank of its own. */
static bool can_be_done(const struct schedule_csv *csv, const bool *done, const struct pass *action,
                        int stages)
{
    int stage = action->stage;
    uint32_t batch = action->microbatch;
    bool sends = communicates(csv);
    switch (action->kind) {
    case ACTION_FORWARD:
        return stage == 0 || (sends ? is_there(csv, done, ACTION_RECEIVE_FORWARD, stage, batch)
                                    : is_there(csv, done, ACTION_FORWARD, stage - 1, batch));
    case ACTION_WEIGHT:
        return is_there(csv, done, ACTION_INPUT, stage, batch);
    case ACTION_SEND_FORWARD:
        return is_there(csv, done, ACTION_FORWARD, stage, batch);
    case ACTION_SEND_BACKWARD:
        return is_there(csv, done, ACTION_INPUT, stage, batch) ||
               is_there(csv, done, ACTION_BACKWARD, stage, batch);
    case ACTION_RECEIVE_FORWARD:
        return is_there(csv, done, ACTION_SEND_FORWARD, stage - 1, batch);
    case ACTION_RECEIVE_BACKWARD:
        return is_there(csv, done, ACTION_SEND_BACKWARD, stage + 1, batch);
    default:
        return is_there(csv, done, ACTION_FORWARD, stage, batch) &&
               (stage == stages - 1 || (sends ? is_there(csv, done, ACTION_RECEIVE_BACKWARD, stage, batch)
                                              : is_there(csv, done, ACTION_INPUT, stage + 1, batch) ||
                                                    is_there(csv, done, ACTION_BACKWARD, stage + 1, batch)));
    }
}

static bool slow_check(const struct schedule_csv *csv, int stages, int microbatches)
{
    bool *done = calloc(csv->count, sizeof *done);
    size_t *next = calloc((size_t)csv->ranks, sizeof *next), finished = 0;
    assert_non_null(done);
    assert_non_null(next);
    for (bool progress = true; progress;) {
        progress = false;
        for (int rank = 0; rank < csv->ranks; rank++) {
            size_t at = csv->first[rank] + next[rank];
            if (at == csv->first[rank + 1] || !can_be_done(csv, done, &csv->actions[at], stages))
                continue;
            done[at] = progress = true;
            next[rank]++;
            finished++;
        }
    }
    bool ok = finished == csv->count;
    for (int stage = 0; ok && stage < stages; stage++)
        for (uint32_t i = 0; i < (uint32_t)microbatches; i++) {
            int count[ACTION_UNSHARD] = {0}, ranks = 0;
            for (int rank = 0; rank < csv->ranks; rank++) {
                int here = 0;
                for (size_t a = csv->first[rank]; a < csv->first[rank + 1]; a++)
                    if (csv->actions[a].stage == stage) {
                        here = 1;
                        count[csv->actions[a].kind] += csv->actions[a].microbatch == i;
                    }
                ranks += here;
            }
            ok = ok && ranks == 1 && count[ACTION_FORWARD] == 1 &&
                 count[ACTION_INPUT] == count[ACTION_WEIGHT] &&
                 count[ACTION_INPUT] + count[ACTION_BACKWARD] == 1;
            int later = communicates(csv) && stage < stages - 1, earlier = communicates(csv) && stage > 0;
            ok = ok && count[ACTION_SEND_FORWARD] == later && count[ACTION_RECEIVE_BACKWARD] == later &&
                 count[ACTION_RECEIVE_FORWARD] == earlier && count[ACTION_SEND_BACKWARD] == earlier;
        }
    free(done);
    free(next);
    return ok;
}

static uint64_t random_below(uint64_t *random, uint64_t limit)
{
    return random_next(random) % limit;
}

static void swap_actions(struct schedule_csv *csv, size_t a, size_t b)
{
    struct pass keep = csv->actions[a];
    csv->actions[a] = csv->actions[b];
    csv->actions[b] = keep;
}

static void damage(struct schedule_csv *csv, uint64_t *random)
{
    size_t at = (size_t)random_below(random, csv->count), other = (size_t)random_below(random, csv->count);
    switch (random_below(random, 4)) {
    case 0:
        if (at + 1 < csv->count && schedule_csv_rank_of(csv, at) == schedule_csv_rank_of(csv, at + 1))
            swap_actions(csv, at, at + 1);
        break;
    case 1:
        if (schedule_csv_rank_of(csv, at) == schedule_csv_rank_of(csv, other))
            swap_actions(csv, at, other);
        break;
    case 2:
        csv->actions[at].kind =
            (uint8_t)random_below(random, communicates(csv) ? ACTION_UNSHARD : PASS_KINDS);
        break;
    default:
        if (csv->actions[at].microbatch > 0)
            csv->actions[at].microbatch--;
        break;
    }
}

static void damaged_orders_are_found_as_by_a_slow_checker(void **state)
{
    (void)state;
    uint64_t random = 7;
    int good = 0, bad = 0;
    for (int round = 0; round < 4000; round++) {
        struct schedule_shape shape = {.devices = 1 + (int)random_below(&random, 4),
                                       .microbatches = 1 + (int)random_below(&random, 5)};
        struct pass_order order;
        struct schedule_csv csv;
        struct error err;
        int chunks = 0;
        const struct schedule *schedule = schedule_find(round % 2 ? "1f1b" : "gpipe", &chunks, &err);
        const struct schedule_csv_form form = {.letters = LETTERS_NEWER, .with_sends = round % 4 < 2};
        assert_true(schedule_make(schedule, &shape, &order, &err));
        assert_true(schedule_csv_of_order(&csv, &order, &form, &err));
        for (uint64_t i = random_below(&random, 3); i > 0; i--)
            damage(&csv, &random);
        bool expected = slow_check(&csv, shape.devices, shape.microbatches);
        if (schedule_csv_check(&csv, &err) != expected)
            fail_msg("round %d: expected %d", round, expected);
        good += expected;
        bad += !expected;
        schedule_csv_release(&csv);
        pass_order_release(&order);
    }
    assert_true(good > 500 && bad > 500);
}

/* ---- orders of our own ---- */

static void orders_are_written_and_read_back(void **state)
{
    (void)state;
    for (const struct schedule *schedule = schedules; schedule->name != NULL; schedule++)
        for (int sends = 0; sends < 2; sends++) {
            struct schedule_shape shape = {.devices = 4, .microbatches = 8};
            struct pass_order order, again;
            struct schedule_csv csv, read;
            struct text text = {0};
            struct error err;
            const struct schedule_csv_form form = {.letters = sends ? LETTERS_OLDER : LETTERS_NEWER,
                                                   .with_sends = sends};
            if (!schedule_make(schedule, &shape, &order, &err))
                fail_msg("%s: %s", schedule->name, err.text);
            if (order.chains > 1 || order.slices > 1) {
                assert_false(schedule_csv_of_order(&csv, &order, &form, &err));
                pass_order_release(&order);
                continue;
            }
            if (!schedule_csv_of_order(&csv, &order, &form, &err))
                fail_msg("%s: %s", schedule->name, err.text);
            schedule_csv_write(&csv, &text);
            parse(&read, text.data);
            if (!schedule_csv_order(&read, &again, &err))
                fail_msg("%s: %s", schedule->name, err.text);
            assert_int_equal(again.stages, order.stages);
            assert_memory_equal(again.device_of, order.device_of,
                                (size_t)order.stages * sizeof *order.device_of);
            if (!sends)
                assert_memory_equal(again.passes, order.passes,
                                    pass_order_count(&order) * sizeof *order.passes);
            text_release(&text);
            pass_order_release(&again);
            schedule_csv_release(&read);
            schedule_csv_release(&csv);
            pass_order_release(&order);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_pytorch_are_written_back_byte_for_byte),
        cmocka_unit_test(communication_is_placed_as_by_pytorch),
        cmocka_unit_test(cells_and_line_ends_are_kept),
        cmocka_unit_test(letters_follow_from_bw_i_and_w),
        cmocka_unit_test(wrong_cells_are_named),
        cmocka_unit_test(wrong_orders_are_named),
        cmocka_unit_test(damaged_orders_are_found_as_by_a_slow_checker),
        cmocka_unit_test(orders_are_written_and_read_back),
    };
    return cmocka_run_group_tests_name("schedule_csv", tests, NULL, NULL);
}
