#include "support/orders.h"

#include "core/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of a device: three of each stage and micro-batch. */
#define MAX_PASSES (3 * ORDERS_MAX_STAGES * ORDERS_MAX_MICROBATCHES)

static const char *add(struct pass_order *order, const char *text)
{
    static const enum pass_kind kinds[] = {
        ['F'] = PASS_FORWARD, ['I'] = PASS_INPUT, ['W'] = PASS_WEIGHT, ['B'] = PASS_BACKWARD};
    struct error err;
    char *end;
    int stage = (int)strtol(text, &end, 10);
    enum pass_kind kind = kinds[(unsigned char)*end];
    int microbatch = (int)strtol(end + 1, &end, 10);
    if (!pass_order_add(order, kind, stage, microbatch, *end == '+', &err))
        fail_msg("%s", err.text);
    return end + strspn(end, "+ ");
}

void orders_write(struct pass_order *order, int devices, int stages, int chains, int microbatches,
                  const int *device_of, const char *const *texts)
{
    struct error err;
    if (!pass_order_init(order, devices, stages, chains, microbatches, &err))
        fail_msg("%s", err.text);
    for (int stage = 0; device_of != NULL && stage < stages; stage++)
        order->device_of[stage] = (uint16_t)device_of[stage];
    for (int device = 0; device < devices; device++) {
        for (const char *at = texts[device]; *at != '\0';)
            at = add(order, at);
        pass_order_next_device(order);
    }
}

int orders_between(uint64_t *random, int least, int most)
{
    return least + (int)(random_next(random) % (uint64_t)(most - least + 1));
}

/* --- random orders --- */

enum progress { NOTHING, FORWARD_DONE, INPUT_DONE, ALL_DONE };

struct drawing {
    uint64_t *random;
    int devices, stages, chains, microbatches;
    int device_of[ORDERS_MAX_STAGES];
    bool split[ORDERS_MAX_STAGES];
    int chain_of[ORDERS_MAX_MICROBATCHES]; /* of each micro-batch */
    enum progress progress[ORDERS_MAX_STAGES][ORDERS_MAX_MICROBATCHES];
    struct pass lists[8][MAX_PASSES];
    int lengths[8];
};

/* Whether a pass can run now; fills in its kind. */
static bool is_possible(const struct drawing *d, int stage, int microbatch, struct pass *pass)
{
    int depth = d->stages / d->chains;
    if (stage / depth != d->chain_of[microbatch])
        return false;
    bool is_first = stage % depth == 0, is_last = stage % depth == depth - 1;
    enum progress progress = d->progress[stage][microbatch];
    *pass = (struct pass){.microbatch = (uint32_t)microbatch, .stage = (uint16_t)stage};
    if (progress == NOTHING) {
        pass->kind = PASS_FORWARD;
        return is_first || d->progress[stage - 1][microbatch] != NOTHING;
    }
    if (progress == FORWARD_DONE) {
        pass->kind = d->split[stage] ? PASS_INPUT : PASS_BACKWARD;
        return is_last || d->progress[stage + 1][microbatch] >= INPUT_DONE;
    }
    pass->kind = PASS_WEIGHT;
    return progress == INPUT_DONE;
}

static void run_pass(struct drawing *d, const struct pass *pass, bool paired)
{
    int device = d->device_of[pass->stage];
    enum progress *progress = &d->progress[pass->stage][pass->microbatch];
    *progress = pass->kind == PASS_FORWARD ? FORWARD_DONE : pass->kind == PASS_INPUT ? INPUT_DONE : ALL_DONE;
    d->lists[device][d->lengths[device]] = *pass;
    d->lists[device][d->lengths[device]++].paired = paired;
}

/* Draws one of the passes that are possible, on a device or (-1) anywhere. Returns false: there is none. */
static bool draw_pass(const struct drawing *d, int device, struct pass *drawn)
{
    int count = 0;
    for (int stage = 0; stage < d->stages; stage++)
        for (int i = 0; i < d->microbatches; i++) {
            struct pass pass;
            if ((device < 0 || d->device_of[stage] == device) && is_possible(d, stage, i, &pass) &&
                orders_between(d->random, 0, count++) == 0)
                *drawn = pass;
        }
    return count > 0;
}

static bool make_pair(const struct pass *a, const struct pass *b)
{
    return (a->kind == PASS_FORWARD && orders_is_back(b)) || (orders_is_back(a) && b->kind == PASS_FORWARD);
}

/* Draws an order by running passes that are possible until none is left, some of them two at a time. */
static void draw(uint64_t *random, struct drawing *d, struct pass_order *order)
{
    struct error err;
    d->random = random;
    d->devices = orders_between(random, 1, 5);
    d->chains = orders_between(random, 1, 2);
    d->stages = d->chains * orders_between(random, 1, 5);
    d->microbatches = orders_between(random, 1, 8);
    for (int stage = 0; stage < d->stages; stage++) {
        d->device_of[stage] = orders_between(random, 0, d->devices - 1);
        d->split[stage] = orders_between(random, 0, 1) == 1;
    }
    for (int i = 0; i < d->microbatches; i++)
        d->chain_of[i] = orders_between(random, 0, d->chains - 1);
    struct pass first, second;
    while (draw_pass(d, -1, &first)) {
        bool paired = orders_between(random, 0, 1) == 0 && draw_pass(d, d->device_of[first.stage], &second) &&
                      make_pair(&first, &second);
        run_pass(d, &first, paired);
        if (paired)
            run_pass(d, &second, false);
    }
    assert_true(pass_order_init(order, d->devices, d->stages, d->chains, d->microbatches, &err));
    for (int stage = 0; stage < d->stages; stage++)
        order->device_of[stage] = (uint16_t)d->device_of[stage];
    for (int device = 0; device < d->devices; device++) {
        for (int i = 0; i < d->lengths[device]; i++) {
            const struct pass *pass = &d->lists[device][i];
            assert_true(
                pass_order_add(order, pass->kind, pass->stage, (int)pass->microbatch, pass->paired, &err));
        }
        pass_order_next_device(order);
    }
}

void orders_draw(uint64_t *random, struct pass_order *order)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    assert_non_null(drawing);
    draw(random, drawing, order);
    free(drawing);
}
