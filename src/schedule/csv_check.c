/* Checks the actions of a schedule CSV: finds the shape of the order, and hands it to the checker of orders. */
#include "core/stop.h"
#include "schedule/check.h"
#include "schedule/csv.h"

#include <stdlib.h>

/* The order of a file as it stands there, with empty cells and communication; it borrows the actions. */
struct view {
    const struct schedule_csv *csv;
    struct pass_order order;
    struct action_source source;
    struct error *err;
};

static bool measure(struct view *view)
{
    const struct schedule_csv *csv = view->csv;
    uint32_t microbatches = 0;
    for (int rank = 0; rank < csv->ranks; rank++) {
        bool any = false;
        for (size_t i = csv->first[rank]; i < csv->first[rank + 1]; i++) {
            const struct pass *action = &csv->actions[i];
            if (action->kind == ACTION_NONE)
                continue;
            any = true;
            if (action->stage >= view->order.stages)
                view->order.stages = action->stage + 1;
            if (action_is_ordered(action) && action->microbatch >= microbatches)
                microbatches = action->microbatch + 1;
            view->source.communicates |= action_is_message(action);
        }
        if (!any)
            return error_set(view->err, ERROR_INPUT, "%s: rank %d has no action", csv->path, rank);
    }
    if (microbatches == 0)
        return error_set(view->err, ERROR_INPUT, "%s: no rank has a pass", csv->path);
    view->order.microbatches = view->order.step = (int)microbatches;
    return true;
}

/* Each micro-batch has a forward pass, so a number above that of all actions means a gap; it is found without an array
 * for the numbers. */
static bool check_range(const struct view *view)
{
    const struct schedule_csv *csv = view->csv;
    uint32_t last = (uint32_t)view->order.microbatches - 1;
    uint16_t stage = 0;
    if (last < csv->count)
        return true;
    bool *there = calloc(csv->count + 1, sizeof *there);
    if (there == NULL)
        return error_memory(view->err);
    for (size_t i = 0; i < csv->count; i++)
        if (action_is_ordered(&csv->actions[i]) && csv->actions[i].microbatch == last)
            stage = csv->actions[i].stage;
    for (size_t i = 0; i < csv->count; i++) {
        const struct pass *action = &csv->actions[i];
        if (action->kind == ACTION_FORWARD && action->stage == stage && action->microbatch <= csv->count)
            there[action->microbatch] = true;
    }
    struct pass gap = {.kind = ACTION_FORWARD, .stage = stage};
    while (there[gap.microbatch])
        gap.microbatch++;
    free(there);
    return error_set(view->err, ERROR_INPUT, "%s: %s is missing, and the micro-batches go up to %u",
                     csv->path, action_name(&gap, csv->letters).text, last);
}

/* A stage is on the rank of its first pass. */
static bool place_stages(struct view *view)
{
    const struct schedule_csv *csv = view->csv;
    int stages = view->order.stages;
    uint16_t *rank_of = malloc((size_t)stages * sizeof *rank_of);
    view->order.device_of = rank_of;
    if (rank_of == NULL)
        return error_memory(view->err);
    for (int stage = 0; stage < stages; stage++)
        rank_of[stage] = UINT16_MAX;
    for (int rank = 0; rank < csv->ranks; rank++)
        for (size_t i = csv->first[rank]; i < csv->first[rank + 1]; i++) {
            const struct pass *action = &csv->actions[i];
            if (stop_obeyed_at(i, view->err))
                return false;
            if (action_is_pass(action) && rank_of[action->stage] == UINT16_MAX)
                rank_of[action->stage] = (uint16_t)rank;
        }
    for (int stage = 0; stage < stages; stage++)
        if (rank_of[stage] == UINT16_MAX)
            return error_set(view->err, ERROR_INPUT, "%s: stage %d has no pass", csv->path, stage);
    return true;
}

bool schedule_csv_check(const struct schedule_csv *csv, struct error *err)
{
    struct view view = {.csv = csv,
                        .order = {.devices = csv->ranks,
                                  .chains = 1,
                                  .weight_versions = 1,
                                  .flushes = true,
                                  .first = csv->first,
                                  .passes = csv->actions},
                        .source = {.path = csv->path, .letters = csv->letters},
                        .err = err};
    bool right = measure(&view) && check_range(&view) && place_stages(&view) &&
                 pass_order_check(&view.order, &view.source, err);
    free(view.order.device_of);
    return right;
}
