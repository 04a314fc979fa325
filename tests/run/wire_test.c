/* Messages between ranks: what arrives is what was sent; what is corrupted, and who is lost, is named. */
#include "core/clock.h"
#include "run/report.h"
#include "run/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct inbox {
    char *bytes;
    int64_t length;
    int count, lost;
    struct wire_head last;
};

static void *place(void *context, const struct wire_head *head, struct error *err)
{
    struct inbox *inbox = context;
    (void)err;
    free(inbox->bytes);
    return inbox->bytes = malloc((size_t)head->length);
}

static bool arrived(void *context, const struct wire_head *head, void *bytes, struct error *err)
{
    struct inbox *inbox = context;
    (void)bytes, (void)err;
    inbox->length = head->length;
    inbox->last = *head;
    inbox->count++;
    return true;
}

static bool lost(void *context, int rank, const char *why, struct error *err)
{
    struct inbox *inbox = context;
    inbox->lost = rank;
    return error_set(err, ERROR_FAILED, "rank %d: %s", rank, why);
}

struct pair {
    struct wire *wires[2];
    struct inbox boxes[2];
    int raw; /* of a pair whose second end is no wire */
};

static struct pair connected(double silence)
{
    struct pair pair = {.boxes = {{.lost = -1}, {.lost = -1}}};
    struct error err;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int i = 0; i < 2; i++) {
        const int sockets[2] = {i == 0 ? -1 : ends[i], i == 0 ? ends[i] : -1};
        pair.wires[i] = wire_over_sockets(i, 2, sockets, silence, &err);
        assert_non_null(pair.wires[i]);
    }
    return pair;
}

static void listen_to(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        pair->wires[i]->receiver = (struct wire_receiver){&pair->boxes[i], place, arrived, lost};
}

static void end(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        wire_close(pair->wires[i]);
        free(pair->boxes[i].bytes);
    }
}

static void long_messages_arrive_whole(void **state)
{
    (void)state;
    struct pair pair = connected(60);
    struct error err;
    size_t length = 5000003;
    char *bytes = malloc(length);
    int pending = 0;
    listen_to(&pair);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    for (int turn = 0; turn < 3; turn++) {
        struct wire_head head = {.kind = WIRE_MESSAGE,
                                 .to = 1,
                                 .number = 7,
                                 .microbatch = (uint32_t)turn,
                                 .length = (int64_t)length};
        assert_true(wire_send(pair.wires[0], &head, bytes, &pending, &err));
    }
    struct wire_head empty = {.kind = WIRE_PIECE, .to = 1, .number = 9};
    assert_true(wire_send(pair.wires[0], &empty, NULL, NULL, &err));
    assert_true(pending > 0);
    for (double until = clock_now() + 30; pair.boxes[1].count < 4 && clock_now() < until;) {
        assert_true(wire_poll(pair.wires[0], clock_now(), &err));
        assert_true(wire_poll(pair.wires[1], clock_now() + 0.01, &err));
    }
    assert_int_equal(pair.boxes[1].count, 4);
    assert_int_equal(pair.boxes[1].last.number, 9);
    assert_int_equal(pending, 0);
    assert_memory_equal(pair.boxes[1].bytes, bytes, length);
    free(bytes);
    end(&pair);
}

static void a_corrupted_head_is_named(void **state)
{
    (void)state;
    struct pair pair = connected(60);
    struct error err;
    struct wire_head head = {.kind = WIRE_MESSAGE, .to = 1};
    listen_to(&pair);
    head.magic = 0x52485031;
    head.check = wire_check_of(&head);
    assert_true(wire_head_is_right(pair.wires[1], &head, 0, &err));
    const size_t bits = 8 * offsetof(struct wire_head, check);
    for (size_t bit = 0; bit < bits; bit += 5) {
        struct wire_head wrong = head;
        ((unsigned char *)&wrong)[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_false(wire_head_is_right(pair.wires[1], &wrong, 0, &err));
    }
    assert_string_equal(err.text, "a message from rank 0 is corrupted: inconsistent header");
    head.to = 0; /* a right one for another rank */
    head.check = wire_check_of(&head);
    assert_false(wire_head_is_right(pair.wires[1], &head, 0, &err));
    end(&pair);
}

static void an_ended_rank_is_lost(void **state)
{
    (void)state;
    struct pair pair = connected(60);
    struct error err;
    listen_to(&pair);
    wire_close(pair.wires[0]);
    pair.wires[0] = NULL;
    assert_false(wire_poll(pair.wires[1], clock_now() + 10, &err));
    assert_int_equal(pair.boxes[1].lost, 0);
    assert_string_equal(err.text, "rank 0: its process has ended");
    wire_close(pair.wires[1]);
    free(pair.boxes[1].bytes);
}

static void a_silent_rank_is_lost(void **state)
{
    (void)state;
    struct pair pair = connected(0.2);
    struct error err;
    bool ok = true;
    listen_to(&pair);
    wire_cut(pair.wires[0]);
    for (double until = clock_now() + 20; ok && clock_now() < until;) {
        (void)wire_poll(pair.wires[0], clock_now(), &err);
        ok = wire_poll(pair.wires[1], clock_now() + 0.05, &err);
    }
    assert_false(ok);
    assert_string_equal(err.text, "rank 0: nothing has come from it");
    end(&pair);
}

/* Clocks are compared before and after a run: what could be chance is no drift. */
static void a_drift_is_more_than_chance(void **state)
{
    (void)state;
    assert_true(run_drift(2e-6, 5e-6, 10.0) == 0.0);
    assert_true(run_drift(-5e-6, 5e-6, 10.0) == 0.0);
    assert_true(run_drift(1e-4, 5e-6, 10.0) == 1e-5);
    assert_true(run_drift(-1e-4, 5e-6, 10.0) == -1e-5);
    assert_true(run_drift(1e-4, 5e-6, 0.0) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_messages_arrive_whole),  cmocka_unit_test(a_corrupted_head_is_named),
        cmocka_unit_test(an_ended_rank_is_lost),       cmocka_unit_test(a_silent_rank_is_lost),
        cmocka_unit_test(a_drift_is_more_than_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
