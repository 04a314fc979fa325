#include "schedule/check.h"

#include "core/stop.h"
#include "schedule/check_parts.h"

#include <stdlib.h>
#include <string.h>

/* --- stages, devices, pairs --- */

static bool check_pass(const struct checked *checked, int device, size_t index, struct error *err)
{
    const struct pass_order *order = checked->order;
    const struct pass *pass = &order->passes[index], *next = pass + 1;
    bool ordered = checked->source->path == NULL || action_is_ordered(pass);
    if (!ordered && pass->kind == ACTION_NONE)
        return true;
    if (pass->stage >= order->stages || (ordered && pass->microbatch >= (uint32_t)order->microbatches) ||
        (checked->source->path == NULL && pass->kind >= PASS_KINDS))
        return check_fault(checked, index, err, ": the order has stages 0 to %d and micro-batches 0 to %d",
                           order->stages - 1, order->microbatches - 1);
    if (order->device_of[pass->stage] != device)
        return check_fault(checked, index, err, ": stage %u is on rank %u", (unsigned)pass->stage,
                           (unsigned)order->device_of[pass->stage]);
    if (!ordered || !pass->paired)
        return true;
    if (index + 1 == order->first[device + 1])
        return check_fault(checked, index, err, " overlaps with the next pass, but is the last one");
    if (next->paired || pass->kind == PASS_WEIGHT || next->kind == PASS_WEIGHT || pass->kind >= PASS_KINDS ||
        next->kind >= PASS_KINDS || (pass->kind == PASS_FORWARD) == (next->kind == PASS_FORWARD))
        return check_fault(checked, index, err,
                           " overlaps with %s: expected a pair of one forward and one backward pass",
                           check_name(checked, index + 1).text);
    return true;
}

static bool check_places(const struct checked *checked, struct error *err)
{
    const struct pass_order *order = checked->order;
    for (int stage = 0; stage < order->stages; stage++)
        if (order->device_of[stage] >= order->devices)
            return check_fail(checked, err, "stage %d is on rank %u, but there are ranks 0 to %d", stage,
                              (unsigned)order->device_of[stage], order->devices - 1);
    for (int device = 0; device < order->devices; device++)
        for (size_t i = order->first[device]; i < order->first[device + 1]; i++)
            if (!check_pass(checked, device, i, err))
                return false;
    return true;
}

/* --- counts --- */

static bool count_twice(const struct checked *checked, uint32_t index, uint32_t twin, struct error *err)
{
    return check_fault(checked, index, err, " is listed twice, first in cell %u",
                       check_cell_number(checked, twin));
}

static bool count_pass(const struct checked *checked, uint32_t index, struct error *err)
{
    const struct pass *passes = checked->order->passes, *pass = &passes[index];
    struct check_triple *triple = check_triple_of(checked, pass->stage, pass->microbatch);
    uint32_t *own = pass->kind == PASS_FORWARD  ? &triple->forward
                    : pass->kind == PASS_WEIGHT ? &triple->weight
                                                : &triple->backward;
    uint32_t twin = *own;
    if (twin != CHECK_NONE && passes[twin].kind == pass->kind)
        return count_twice(checked, index, twin, err);
    if (pass->kind == PASS_WEIGHT || pass->kind == PASS_INPUT)
        twin = triple->backward != CHECK_NONE && passes[triple->backward].kind == PASS_BACKWARD
                   ? triple->backward
                   : CHECK_NONE;
    else if (pass->kind == PASS_BACKWARD && triple->weight != CHECK_NONE)
        twin = triple->weight;
    if (twin != CHECK_NONE)
        return check_fault(checked, index, err, " is listed beside %s in cell %u: expected %s",
                           check_name(checked, twin).text, check_cell_number(checked, twin),
                           checked->source->letters == LETTERS_OLDER ? "BW, or B and W" : "B, or I and W");
    *own = index;
    return true;
}

static bool count_message(const struct checked *checked, uint32_t index, struct error *err)
{
    const struct pass *message = &checked->order->passes[index];
    uint32_t *own = check_message_of(checked, message->stage, message->microbatch, message->kind);
    if (*own != CHECK_NONE)
        return count_twice(checked, index, *own, err);
    *own = index;
    return true;
}

static struct action_name name_of(const struct checked *checked, int kind, int stage, int microbatch)
{
    const struct pass pass = {
        .stage = (uint16_t)stage, .microbatch = (uint32_t)microbatch, .kind = (uint8_t)kind};
    return action_name(&pass, checked->source->letters);
}

static bool missing(const struct checked *checked, int stage, int microbatch, enum pass_kind kind,
                    const char *why, struct error *err)
{
    return check_fail(checked, err, "rank %u: %s is missing%s", (unsigned)checked->order->device_of[stage],
                      name_of(checked, kind, stage, microbatch).text, why);
}

/* Returns whether a stage has all passes for a micro-batch, or none of them if `chosen` is false. */
static bool check_passes(const struct checked *checked, int stage, int microbatch, bool chosen,
                         struct error *err)
{
    const struct check_triple *triple = check_triple_of(checked, stage, (uint32_t)microbatch);
    bool any =
        triple->forward != CHECK_NONE || triple->backward != CHECK_NONE || triple->weight != CHECK_NONE;
    if (!chosen && any)
        return check_fail(checked, err,
                          "micro-batch %d goes through several chains of stages, one by stage %d", microbatch,
                          stage);
    if (!chosen)
        return true;
    if (triple->forward == CHECK_NONE)
        return missing(checked, stage, microbatch, PASS_FORWARD, "", err);
    if (triple->backward == CHECK_NONE && triple->weight == CHECK_NONE)
        return missing(checked, stage, microbatch, PASS_BACKWARD,
                       ": the memory of the forward pass is never freed", err);
    if (triple->backward == CHECK_NONE)
        return missing(checked, stage, microbatch, PASS_INPUT, "", err);
    if (checked->order->passes[triple->backward].kind == PASS_INPUT && triple->weight == CHECK_NONE)
        return missing(checked, stage, microbatch, PASS_WEIGHT,
                       ": the memory of the forward pass is never freed", err);
    return true;
}

/* A stage has SEND and RECV for a neighbour on another rank, and only then. */
static bool check_message(const struct checked *checked, int stage, int microbatch, int kind,
                          struct error *err)
{
    static const int other_kind[CHECK_MESSAGES] = {ACTION_RECEIVE_FORWARD, ACTION_SEND_FORWARD,
                                                   ACTION_RECEIVE_BACKWARD, ACTION_SEND_BACKWARD};
    const uint16_t *rank_of = checked->order->device_of;
    bool later = kind == ACTION_SEND_FORWARD || kind == ACTION_RECEIVE_BACKWARD;
    int neighbour =
        later ? pass_order_after(checked->order, stage) : pass_order_before(checked->order, stage);
    uint32_t place = *check_message_of(checked, stage, (uint32_t)microbatch, kind);
    bool wanted = neighbour >= 0 && rank_of[neighbour] != rank_of[stage];
    if (wanted == (place != CHECK_NONE))
        return true;
    if (!wanted)
        return check_fault(checked, place, err,
                           neighbour < 0 ? " has no stage at its other end"
                                         : " has the stage at its other end on the same rank");
    return check_fail(checked, err, "rank %u: %s is missing, beside %s of rank %u", (unsigned)rank_of[stage],
                      name_of(checked, kind, stage, microbatch).text,
                      name_of(checked, other_kind[kind - ACTION_SEND_FORWARD], neighbour, microbatch).text,
                      (unsigned)rank_of[neighbour]);
}

static bool check_microbatch(const struct checked *checked, int microbatch, struct error *err)
{
    const struct pass_order *order = checked->order;
    int depth = pass_order_depth(order), chosen = 0;
    for (int chain = order->chains - 1; chain > 0 && chosen == 0; chain--)
        if (check_triple_of(checked, chain * depth, (uint32_t)microbatch)->forward != CHECK_NONE)
            chosen = chain;
    for (int stage = 0; stage < order->stages; stage++)
        if (!check_passes(checked, stage, microbatch, stage / depth == chosen, err))
            return false;
    for (int stage = 0; checked->messages != NULL && stage < order->stages; stage++)
        for (int kind = ACTION_SEND_FORWARD; kind <= ACTION_RECEIVE_BACKWARD; kind++)
            if (!check_message(checked, stage, microbatch, kind, err))
                return false;
    return true;
}

static bool check_counts(const struct checked *checked, struct error *err)
{
    const struct pass_order *order = checked->order;
    uint32_t count = (uint32_t)pass_order_count(order);
    for (uint32_t i = 0; i < count; i++) {
        const struct pass *pass = &order->passes[i];
        if (stop_obeyed_at(i, err))
            return false;
        if (action_is_pass(pass) ? !count_pass(checked, i, err)
                                 : action_is_ordered(pass) && !count_message(checked, i, err))
            return false;
    }
    for (int i = 0; i < order->microbatches; i++)
        if (stop_obeyed(err) || !check_microbatch(checked, i, err))
            return false;
    return true;
}

/* --- versions of weights --- */

/* What a stage has while its device's passes go by. */
struct stage_versions {
    uint32_t current, finished; /* version; micro-batches whose gradients of weights are there */
    int in_use;                 /* versions that micro-batches in flight need */
};

static bool check_versions_of(const struct checked *checked, int device, struct stage_versions *stages,
                              uint32_t *users, size_t versions, struct error *err)
{
    const struct pass_order *order = checked->order;
    for (size_t i = order->first[device]; i < order->first[device + 1]; i++) {
        const struct pass *pass = &order->passes[i];
        struct stage_versions *stage = &stages[pass->stage];
        uint32_t *of_stage = &users[pass->stage * versions];
        uint32_t *version = &check_triple_of(checked, pass->stage, pass->microbatch)->forward;
        if (pass->kind == PASS_FORWARD) {
            *version = stage->current; /* the place of the pass is not needed any more */
            stage->in_use += of_stage[stage->current]++ == 0;
        } else if (pass->kind != PASS_WEIGHT) {
            stage->in_use -= --of_stage[*version] == 0;
        }
        if ((pass->kind == PASS_WEIGHT || pass->kind == PASS_BACKWARD) &&
            ++stage->finished % (uint32_t)order->step == 0)
            stage->current++;
        int held = stage->in_use + (of_stage[stage->current] == 0);
        if (held > order->weight_versions)
            return check_fault(checked, i, err, ": stage %u needs %d versions of its weights, not %d",
                               (unsigned)pass->stage, held, order->weight_versions);
    }
    return true;
}

static bool check_versions(const struct checked *checked, struct error *err)
{
    const struct pass_order *order = checked->order;
    if (order->step >= order->microbatches)
        return true;
    size_t versions = (size_t)order->microbatches / (size_t)order->step + 1, count = (size_t)order->stages;
    struct stage_versions *stages = calloc(count, sizeof *stages);
    uint32_t *users = calloc(count * versions, sizeof *users);
    bool right = stages != NULL && users != NULL;
    if (!right)
        error_memory(err);
    for (int device = 0; right && device < order->devices; device++)
        right = check_versions_of(checked, device, stages, users, versions, err);
    free(stages);
    free(users);
    return right;
}

/* A complete order has at least two passes of each micro-batch at each stage of a chain. The tables are as large as a
 * complete order, so they are made only for an order that is about that large. */
static bool check_size(const struct checked *checked, struct error *err)
{
    const struct pass_order *order = checked->order;
    size_t count = pass_order_count(order);
    size_t needed = (size_t)pass_order_depth(order) * (size_t)order->microbatches;
    if (count >= needed || needed <= 1 << 20)
        return true;
    return check_fail(checked, err, "%zu passes: %d micro-batches on %d stages have at least %zu", count,
                      order->microbatches, pass_order_depth(order), 2 * needed);
}

static bool make_tables(struct checked *checked, struct error *err)
{
    size_t count = (size_t)checked->order->stages * (size_t)checked->order->microbatches;
    checked->triples = malloc(count * sizeof *checked->triples);
    if (checked->source->communicates)
        checked->messages = malloc(count * sizeof *checked->messages);
    if (checked->triples == NULL || (checked->source->communicates && checked->messages == NULL))
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (stop_obeyed_at(i, err))
            return false;
        checked->triples[i] = (struct check_triple){CHECK_NONE, CHECK_NONE, CHECK_NONE};
    }
    if (checked->messages != NULL)
        memset(checked->messages, 0xff, count * sizeof *checked->messages);
    return true;
}

bool pass_order_check(const struct pass_order *order, const struct action_source *source, struct error *err)
{
    static const struct action_source passes = {.letters = LETTERS_NEWER};
    struct checked checked = {.order = order, .source = source != NULL ? source : &passes};
    if (!check_places(&checked, err) || !check_size(&checked, err))
        return false;
    bool right = make_tables(&checked, err) && check_counts(&checked, err) && check_circles(&checked, err) &&
                 check_versions(&checked, err);
    free(checked.triples);
    free(checked.messages);
    return right;
}
