#include "cost/experts.h"

#include <math.h>

/* ---- where a token goes ---- */

/* Returns the chance that none of `active` experts, drawn from `all`, is among `here` of them. */
static double chance_of_none(double all, double here, double active)
{
    double chance = 1.0;
    for (int i = 0; i < active; i++)
        chance *= fmax(all - here - i, 0.0) / (all - i);
    return chance;
}

/* Returns the chance that `chosen` of `all` groups include exactly `hits` of `here` of them. */
static double chance_of_hits(double all, double here, double chosen, double hits)
{
    double logarithm = lgamma(here + 1) - lgamma(hits + 1) - lgamma(here - hits + 1) +
                       lgamma(all - here + 1) - lgamma(chosen - hits + 1) -
                       lgamma(all - here - chosen + hits + 1) - lgamma(all + 1) + lgamma(chosen + 1) +
                       lgamma(all - chosen + 1);
    return exp(logarithm);
}

double expert_places(const struct architecture *model, double places)
{
    double all = (double)model->experts, active = (double)model->active_experts;
    double groups = (double)model->route_groups, chosen = (double)model->route_active_groups;
    if (places <= 1.0)
        return 1.0;
    if (places >= all)
        return active;
    if (groups <= 1.0 || chosen >= groups)
        return places * (1.0 - chance_of_none(all, all / places, active));
    double size = all / groups, drawn_from = chosen * size;
    if (places >= groups) /* a part of one group: reached if the group is chosen, and an expert there */
        return places * chosen / groups * (1.0 - chance_of_none(drawn_from, all / places, active));
    double here = round(groups / places), reached = 0.0;
    int first = (int)fmax(1.0, chosen + here - groups), last = (int)fmin(here, chosen);
    for (int hits = first; hits <= last; hits++)
        reached += chance_of_hits(groups, here, chosen, hits) *
                   (1.0 - chance_of_none(drawn_from, hits * size, active));
    return places * reached;
}

double expert_places_in_turn(const struct architecture *model, double places)
{
    int all = model->experts, active = model->active_experts, starts = 0;
    double size = all / fmax(places, 1.0), reached = 0.0;
    /* after `all` tokens they begin again; the first expert of each is a multiple of what both have in common */
    int common = active, rest = all;
    while (rest != 0) {
        int next = common % rest;
        common = rest;
        rest = next;
    }
    for (int first = 0; first < all; first += common, starts++) {
        int before = -1, own = 0;
        for (int i = 0; i < active; i++) {
            int place = (int)((first + i) % all / size);
            own += place != before;
            before = place;
        }
        reached += fmin(own, fmax(places, 1.0)); /* the last may be the first again */
    }
    return reached / starts;
}

static double places_of(const struct expert_exchange *exchange, double places)
{
    return exchange->in_turn ? expert_places_in_turn(exchange->model, places)
                             : expert_places(exchange->model, places);
}

/* ---- DeepEP ---- */

#define FORWARD_RATE 0.77 /* of NVLink */
#define ACROSS_RATE  0.8  /* of the network */

/* Bytes of the expert's number, its weight, and of a scale for each 128 numbers of 8 bits. */
#define ROUTE_BYTES 12.0
#define SCALED      128.0
#define SCALE_BYTES 4.0

static double deepep_seconds(const struct expert_exchange *exchange, double width, double *bytes)
{
    const struct collective_group *group = &exchange->group;
    const struct architecture *model = exchange->model;
    double hidden = (double)model->hidden, nodes = (double)group->devices / group->devices_per_node;
    double copy = hidden * width + ROUTE_BYTES * (double)model->active_experts +
                  (width < 2.0 ? hidden / SCALED * SCALE_BYTES : 0.0);
    double sent = exchange->tokens * copy * exchange->imbalance, slowest = 0.0, latency = 0.0;
    *bytes = sent * places_of(exchange, group->devices);
    if (group->inside && group->devices_per_node > 1) {
        const struct link_protocol *link =
            &group->inside->transfers[COLLECTIVE_ALL_TO_ALL].protocols[LINK_SIMPLE];
        slowest = *bytes / (FORWARD_RATE * group->inside->bandwidth);
        latency = fmax(0.0, link->base + link->hop + group->inside->later);
    }
    if (group->across && nodes > 1.0) {
        const struct link_protocol *link =
            &group->across->transfers[COLLECTIVE_ALL_TO_ALL].protocols[LINK_SIMPLE];
        double crossing = sent * places_of(exchange, nodes) * (nodes - 1.0) / nodes;
        slowest = fmax(slowest, crossing / (ACROSS_RATE * group->across->bandwidth));
        latency = fmax(0.0, fmax(latency, link->base) + link->hop + group->across->later);
    }
    return latency + slowest / exchange->calibration->exchange;
}

/* ---- */

struct expert_seconds expert_seconds_of(const struct expert_exchange *exchange)
{
    struct expert_seconds seconds = {0};
    if (exchange->group.devices <= 1 || exchange->tokens <= 0.0)
        return seconds;
    if (exchange->dispatcher == DISPATCH_DEEPEP) {
        seconds.dispatch = deepep_seconds(exchange, exchange->out_width, &seconds.bytes[0]);
        seconds.combine = deepep_seconds(exchange, exchange->width, &seconds.bytes[1]);
        return seconds;
    }
    if (exchange->dispatcher ==
        DISPATCH_ALLGATHER) { /* all tokens to all devices, and sums of all outputs back */
        seconds.bytes[0] = seconds.bytes[1] =
            exchange->tokens * exchange->group.devices * (double)exchange->model->hidden * exchange->width;
        seconds.dispatch = transfer_seconds(COLLECTIVE_ALL_GATHER, &exchange->group, seconds.bytes[0],
                                            exchange->calibration);
        seconds.combine = transfer_seconds(COLLECTIVE_REDUCE_SCATTER, &exchange->group, seconds.bytes[1],
                                           exchange->calibration);
        return seconds;
    }
    double copies = exchange->tokens * (double)exchange->model->active_experts * exchange->imbalance;
    seconds.bytes[0] = seconds.bytes[1] = copies * (double)exchange->model->hidden * exchange->width;
    seconds.dispatch = seconds.combine =
        transfer_seconds(COLLECTIVE_ALL_TO_ALL, &exchange->group, seconds.bytes[0], exchange->calibration);
    return seconds;
}

/* What the kernels of a pair wait for each other: a published profile of such pairs spans 129 ms, with 118 ms of
 * kernels beside 115 ms of exchanges (github.com/deepseek-ai/profile-data). */
#define PAIR_WAIT 0.1

double expert_pair_seconds(double kernels, double alone, double exchange, int units)
{
    double held = units > EXPERT_EXCHANGE_UNITS ? (double)EXPERT_EXCHANGE_UNITS / units : 0.0;
    double beside = fmax(kernels - alone, 0.0), sum = kernels + exchange;
    exchange /= EXPERT_BESIDE_RATE;
    double slowed = beside + held * fmin(exchange, beside / (1.0 - held));
    double pair = fmax(slowed, exchange) + PAIR_WAIT * fmin(slowed, exchange);
    return fmin(kernels - beside + pair, sum);
}
