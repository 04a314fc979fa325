#include "schedule/csv.h"

#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

/* ---- from actions to passes ---- */

bool schedule_csv_order(const struct schedule_csv *csv, struct pass_order *order, struct error *err)
{
    int stages = 0;
    uint32_t microbatches = 0;
    *order = (struct pass_order){.devices = 0};
    if (!schedule_csv_check(csv, err))
        return false;
    for (size_t i = 0; i < csv->count; i++)
        if (action_is_pass(&csv->actions[i])) {
            stages = csv->actions[i].stage >= stages ? csv->actions[i].stage + 1 : stages;
            microbatches =
                csv->actions[i].microbatch >= microbatches ? csv->actions[i].microbatch + 1 : microbatches;
        }
    if (!pass_order_init(order, csv->ranks, stages, 1, (int)microbatches, err))
        return false;
    for (int rank = 0; rank < csv->ranks; rank++) {
        for (size_t i = csv->first[rank]; i < csv->first[rank + 1]; i++) {
            const struct pass *action = &csv->actions[i];
            if (!action_is_pass(action))
                continue;
            order->device_of[action->stage] = (uint16_t)rank;
            if (!pass_order_add(order, (enum pass_kind)action->kind, action->stage, (int)action->microbatch,
                                action->paired, err))
                return false;
        }
        pass_order_next_device(order);
    }
    return true;
}

/* ---- from passes to actions ---- */

static bool add_passes(struct schedule_csv *csv, const struct pass_order *order, struct error *err)
{
    for (int device = 0; device < order->devices; device++) {
        if (!schedule_csv_add_rank(csv, err))
            return false;
        for (size_t i = order->first[device]; i < order->first[device + 1]; i++)
            if (!schedule_csv_add(csv, &order->passes[i], err))
                return false;
    }
    return true;
}

/* Communication is placed as PyTorch places it: in rounds, in which every rank whose next cell has its inputs takes it and
 * sends at once; the RECV goes to the end of what the other rank has so far. Two ranks then have their messages in the same
 * sequence. */
struct sender {
    const struct pass_order *order;
    struct pass *passes; /* joined: those of device d are passes[next[d]] .. passes[end[d] - 1] */
    size_t *next, *end;
    uint8_t *arrived; /* of each stage and micro-batch: ARRIVED_… */
    struct pass *made;
    uint16_t *made_for; /* the rank of each action made */
    size_t made_count, made_capacity, for_count, for_capacity;
    struct error *err;
};

enum { ARRIVED_FORWARD = 1, ARRIVED_BACKWARD = 2 };

static uint8_t *arrived_at(const struct sender *s, int stage, uint32_t microbatch)
{
    return &s->arrived[(size_t)stage * (size_t)s->order->microbatches + microbatch];
}

/* Joins an input gradient and the weight gradient after it. */
static void join_passes(struct sender *s)
{
    const struct pass_order *order = s->order;
    size_t count = 0;
    for (int device = 0; device < order->devices; device++) {
        s->next[device] = count;
        for (size_t i = order->first[device]; i < order->first[device + 1]; i++) {
            struct pass *last = &s->passes[count - (count > s->next[device])];
            const struct pass *pass = &order->passes[i];
            bool joins = pass->kind == PASS_WEIGHT && count > s->next[device] && last->kind == PASS_INPUT &&
                         last->stage == pass->stage && last->microbatch == pass->microbatch &&
                         !pass->paired && (count < s->next[device] + 2 || !last[-1].paired);
            if (joins)
                last->kind = PASS_BACKWARD;
            else
                s->passes[count++] = *pass;
        }
        s->end[device] = count;
    }
}

static bool make_action(struct sender *s, int rank, const struct pass *action)
{
    return (VECTOR_ADD(s->made, s->made_count, s->made_capacity, *action) &&
            VECTOR_ADD(s->made_for, s->for_count, s->for_capacity, (uint16_t)rank)) ||
           error_memory(s->err);
}

static bool has_input(const struct sender *s, const struct pass *pass)
{
    if (pass->kind == PASS_WEIGHT)
        return true;
    bool forward = pass->kind == PASS_FORWARD;
    int from = forward ? pass_order_before(s->order, pass->stage) : pass_order_after(s->order, pass->stage);
    return from < 0 ||
           (*arrived_at(s, pass->stage, pass->microbatch) & (forward ? ARRIVED_FORWARD : ARRIVED_BACKWARD));
}

/* Hands the result of a pass on, with SEND and RECV if it goes to another device. */
static bool send_result(struct sender *s, int device, const struct pass *pass)
{
    bool forward = pass->kind == PASS_FORWARD;
    int to = forward ? pass_order_after(s->order, pass->stage) : pass_order_before(s->order, pass->stage);
    if (pass->kind == PASS_WEIGHT || to < 0)
        return true;
    *arrived_at(s, to, pass->microbatch) |= forward ? ARRIVED_FORWARD : ARRIVED_BACKWARD;
    if (s->order->device_of[to] == device)
        return true;
    const struct pass send = {.kind = forward ? ACTION_SEND_FORWARD : ACTION_SEND_BACKWARD,
                              .stage = pass->stage,
                              .microbatch = pass->microbatch};
    const struct pass receive = {.kind = forward ? ACTION_RECEIVE_FORWARD : ACTION_RECEIVE_BACKWARD,
                                 .stage = (uint16_t)to,
                                 .microbatch = pass->microbatch};
    return make_action(s, device, &send) && make_action(s, s->order->device_of[to], &receive);
}

/* Takes the next cell of a device if its inputs are there. */
static bool take_cell(struct sender *s, int device, bool *taken)
{
    const struct pass *passes = &s->passes[s->next[device]];
    int count = passes[0].paired && s->next[device] + 1 < s->end[device] ? 2 : 1;
    *taken = has_input(s, &passes[0]) && (count == 1 || has_input(s, &passes[1]));
    for (int i = 0; *taken && i < count; i++)
        if (!make_action(s, device, &passes[i]))
            return false;
    for (int i = 0; *taken && i < count; i++)
        if (!send_result(s, device, &passes[i]))
            return false;
    s->next[device] += *taken ? (size_t)count : 0;
    return true;
}

static bool take_rounds(struct sender *s)
{
    bool progress = true, left = true;
    while (left) {
        if (!progress)
            return error_set(s->err, ERROR_INPUT, "the passes of this order wait for each other");
        progress = left = false;
        for (int device = 0; device < s->order->devices; device++) {
            bool taken = false;
            if (s->next[device] < s->end[device] && !take_cell(s, device, &taken))
                return false;
            progress |= taken;
            left |= s->next[device] < s->end[device];
        }
    }
    return true;
}

/* Sorts what was made by rank. */
static bool collect(const struct sender *s, struct schedule_csv *csv)
{
    size_t ranks = (size_t)s->order->devices;
    for (size_t rank = 0; rank < ranks; rank++)
        if (!schedule_csv_add_rank(csv, s->err))
            return false;
    for (size_t i = 0; i < s->made_count; i++)
        if (!schedule_csv_add(csv, &s->made[i], s->err))
            return false;
    memset(csv->first, 0, (ranks + 1) * sizeof *csv->first);
    for (size_t i = 0; i < s->made_count; i++)
        csv->first[s->made_for[i] + 1]++;
    for (size_t rank = 0; rank < ranks; rank++)
        csv->first[rank + 1] += csv->first[rank];
    for (size_t i = 0; i < s->made_count; i++)
        csv->actions[csv->first[s->made_for[i]]++] = s->made[i];
    for (size_t rank = ranks; rank > 0; rank--)
        csv->first[rank] = csv->first[rank - 1];
    csv->first[0] = 0;
    return true;
}

static bool add_with_sends(struct schedule_csv *csv, const struct pass_order *order, struct error *err)
{
    size_t devices = (size_t)order->devices;
    struct sender sender = {.order = order, .err = err};
    sender.passes = malloc((pass_order_count(order) + 1) * sizeof *sender.passes);
    sender.next = malloc(devices * sizeof *sender.next);
    sender.end = malloc(devices * sizeof *sender.end);
    sender.arrived = calloc((size_t)order->stages, (size_t)order->microbatches);
    bool ok = sender.passes != NULL && sender.next != NULL && sender.end != NULL && sender.arrived != NULL;
    if (ok) {
        join_passes(&sender);
        ok = take_rounds(&sender) && collect(&sender, csv);
    } else {
        error_memory(err);
    }
    free(sender.passes);
    free(sender.next);
    free(sender.end);
    free(sender.arrived);
    free(sender.made);
    free(sender.made_for);
    return ok;
}

bool schedule_csv_of_order(struct schedule_csv *csv, const struct pass_order *order,
                           const struct schedule_csv_form *form, struct error *err)
{
    *csv = (struct schedule_csv){.path = "schedule", .letters = form->letters};
    if (order->chains != 1)
        return error_set(
            err, ERROR_INPUT,
            "a schedule with %d chains of stages cannot be written: PyTorch's schedules have one",
            order->chains);
    bool ok = add_passes(csv, order, err) && schedule_csv_check(csv, err);
    if (ok && form->with_sends) {
        schedule_csv_release(csv);
        *csv = (struct schedule_csv){.path = "schedule", .letters = form->letters};
        ok = add_with_sends(csv, order, err);
    }
    if (!ok)
        schedule_csv_release(csv);
    return ok;
}
