/* Transfers as flows. A flow's rate is that of its transfer when it is alone, by cost/collective.h: the bytes that a
 * device sends over the seconds in which bytes go. The other seconds are latency, which no link changes: that of the
 * steps of a ring or a tree, whichever has fewer; and more where the rate would be above that of the link. */
#include "sim/play/layers.h"

#include <math.h>

static double steps_of(const struct plan_transfer *transfer)
{
    double n = transfer->group, rounds = transfer->kind == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0;
    if (transfer->kind == COLLECTIVE_SEND)
        return 1.0;
    return fmin(rounds * (n - 1.0), 2.0 * ceil(log2(n)));
}

/* Returns the bytes that a device of a transfer sends. */
static double sent_by(const struct plan_transfer *transfer)
{
    double n = transfer->group, rounds = transfer->kind == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0;
    return transfer->kind == COLLECTIVE_SEND ? transfer->bytes : rounds * (n - 1.0) / n * transfer->bytes;
}

/* Returns the highest rate of a device's flow: those of a node together use all its cards for a ring, and each its own
 * one for what it sends itself. */
static double limit_of(const struct play_model *model, const struct plan_transfer *transfer)
{
    double limit =
        model->plan->links[transfer->link].bandwidth * play_link_speed(transfer->link, &model->change);
    double n = transfer->group, here = fmax(1.0, transfer->per_node);
    if (transfer->kind == COLLECTIVE_SEND || here >= n)
        return limit;
    return transfer->kind == COLLECTIVE_ALL_TO_ALL ? limit * (n - 1.0) / (n - here) : limit * here;
}

void layer_load_add(struct layer_load *load, const struct play_model *model,
                    const struct plan_transfer *transfer, double weight)
{
    double seconds = play_transfer_seconds(model->plan, transfer, &model->change), bytes = sent_by(transfer);
    if (seconds <= 0.0 || weight <= 0.0)
        return;
    load->seconds += weight * seconds;
    if (transfer->link < 0 || !(model->plan->links[transfer->link].bandwidth > 0.0) || !isfinite(bytes)) {
        load->unknown = true;
        return;
    }
    double latency = model->plan->links[transfer->link].latency;
    latency = isfinite(latency) ? fmin(latency * steps_of(transfer), seconds) : 0.0;
    double moving = fmin(seconds, fmax(seconds - latency, bytes / limit_of(model, transfer)));
    load->latency += weight * (seconds - moving);
    load->bytes += weight * bytes;
}

void layer_load_stage(struct layer_load *load, const struct play_model *model, int p, int stage,
                      enum plan_purpose purpose, enum plan_when when, int gathers, bool shown)
{
    const struct play_pipeline *pipeline = &model->pipelines[p];
    const struct play_stage *own = &pipeline->stages[stage];
    for (int s = own->of; s < pipeline->from->stage_count;
         s = play_next_stage(model->plan, pipeline->from, own, s))
        for (int i = 0; i < pipeline->from->stages[s].transfer_count; i++) {
            const struct plan_transfer *transfer = &pipeline->from->stages[s].transfers[i];
            double part = isfinite(transfer->shown) ? fmin(1.0, transfer->shown) : 1.0;
            if (transfer->purpose == purpose && transfer->when == when &&
                (gathers < 0 || (transfer->kind == COLLECTIVE_ALL_GATHER) == gathers))
                layer_load_add(load, model, transfer,
                               own->share * transfer->count * (shown ? part : 1.0 - part));
        }
}
