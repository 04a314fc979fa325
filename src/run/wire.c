/* What all wires have in common, and the wire of a rank that is alone. */
#include "run/wire.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>

#define MAGIC       UINT32_C(0x52485031) /* "RHP1" */
#define SPIN        50e-6                /* seconds before a time, in which nobody sleeps any more */
#define CLOCK_SLACK 60e-6

_Static_assert(sizeof(struct wire_head) % sizeof(uint64_t) == 0, "a head is checked word by word");

bool wire_send(struct wire *wire, struct wire_head *head, const void *bytes, int *pending, struct error *err)
{
    head->magic = MAGIC;
    head->from = wire->rank;
    head->check = wire_check_of(head);
    if (head->length > WIRE_MAX_BYTES)
        return error_set(
            err, ERROR_INPUT,
            "a message of %lld bytes: at most %lld can be sent at once (--byte-share 0.1 sends a tenth)",
            (long long)head->length, (long long)WIRE_MAX_BYTES);
    wire->sent_bytes += head->length;
    wire->sent_messages++;
    return wire->calls->send(wire, head, bytes, pending, err);
}

bool wire_head_is_right(const struct wire *wire, const struct wire_head *head, int from, struct error *err)
{
    bool right = head->magic == MAGIC && head->check == wire_check_of(head) && head->from == from &&
                 head->to == wire->rank && head->kind > 0 && head->kind < WIRE_KINDS && head->length >= 0 &&
                 head->length <= WIRE_MAX_BYTES;
    return right || error_set(err, ERROR_FAILED,
                              "a message from rank %d is corrupted: its head does not add up", from);
}

void wire_wait_until(double until)
{
    double left = until - clock_now();
    if (left > SPIN + CLOCK_SLACK)
        clock_sleep((int64_t)((left - SPIN) * 1e9));
    while (clock_now() < until)
        ;
}

bool wire_poll(struct wire *wire, double until, struct error *err)
{
    return wire->calls->poll(wire, until, err);
}

bool wire_is_empty(const struct wire *wire)
{
    return wire->calls->is_empty(wire);
}

void wire_forget(struct wire *wire)
{
    wire->calls->forget(wire);
}

void wire_close(struct wire *wire)
{
    if (wire)
        wire->calls->close(wire);
}

/* ---- a rank alone ---- */

static bool send_to_nobody(struct wire *wire, const struct wire_head *head, const void *bytes, int *pending,
                           struct error *err)
{
    (void)wire, (void)bytes, (void)pending;
    return error_set(err, ERROR_FAILED, "a message to rank %d, which is not there", head->to);
}

static bool wait_alone(struct wire *wire, double until, struct error *err)
{
    (void)err;
    if (isfinite(until))
        wire_wait_until(until);
    else
        return error_set(err, ERROR_FAILED, "rank %d waits for nothing", wire->rank);
    return true;
}

static bool always_empty(const struct wire *wire)
{
    (void)wire;
    return true;
}

static void forget_nothing(struct wire *wire)
{
    (void)wire;
}

static void close_alone(struct wire *wire)
{
    free(wire);
}

struct wire *wire_alone(struct error *err)
{
    static const struct wire_calls calls = {send_to_nobody, wait_alone, always_empty, forget_nothing,
                                            close_alone};
    struct wire *wire = calloc(1, sizeof *wire);
    if (!wire) {
        error_memory(err);
        return NULL;
    }
    wire->calls = &calls;
    wire->size = 1;
    return wire;
}
