#include "schedule/trial.h"

#include "schedule/search/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-9

/* The share of a device's micro-batch that each stage takes. */
static double *shares_of(const struct pass_order *order)
{
    double *shares = malloc((size_t)order->stages * sizeof *shares);
    int *held = calloc((size_t)order->devices, sizeof *held);
    if (shares != NULL && held != NULL) {
        for (int stage = 0; stage < order->stages; stage++)
            held[order->device_of[stage]]++;
        for (int stage = 0; stage < order->stages; stage++)
            shares[stage] = (double)order->chains / held[order->device_of[stage]];
    } else {
        free(shares);
        shares = NULL;
    }
    free(held);
    return shares;
}

static bool check_times(const struct trial_times *times, const char *what, const struct pass_order *order,
                        struct error *err)
{
    if (times->count == 1 || times->count == order->devices || times->count == order->stages)
        return true;
    if (order->devices == order->stages)
        return error_set(err, ERROR_USAGE, "%d %s: expected 1, or one for each of the %d devices",
                         times->count, what, order->devices);
    return error_set(err, ERROR_USAGE,
                     "%d %s: expected 1, or one for each of the %d devices or the %d stages", times->count,
                     what, order->devices, order->stages);
}

static double seconds_of(const struct trial_times *times, const struct pass_order *order, int stage,
                         double share)
{
    if (times->count == order->stages && times->count > order->devices)
        return times->seconds[stage];
    return share * times->seconds[times->count == 1 ? 0 : order->device_of[stage]];
}

/* Fills in the costs of the stages, which are where the order has them. */
static bool fill_costs(const struct pass_order *order, const struct trial_options *options,
                       struct pass_cost *costs, struct error *err)
{
    double *shares = shares_of(order);
    if (shares == NULL)
        return error_memory(err);
    const double slice = order->slices > 1 ? 1.0 / order->slices : 1.0;
    for (int stage = 0; stage < order->stages; stage++) {
        shares[stage] *= slice;
        double send = seconds_of(&options->send, order, stage, slice);
        costs[stage] =
            (struct pass_cost){.forward = seconds_of(&options->forward, order, stage, shares[stage]),
                               .input = seconds_of(&options->input, order, stage, shares[stage]),
                               .weight = seconds_of(&options->weight, order, stage, shares[stage]),
                               .send_forward = send,
                               .send_backward = send,
                               .hidden = options->hidden,
                               .kept = shares[stage],
                               .kept_for_weight = shares[stage]};
    }
    free(shares);
    return true;
}

static bool set_costs(struct trial *trial, const struct trial_options *options, struct error *err)
{
    const struct pass_order *order = &trial->order;
    if (!check_times(&options->forward, "forward times", order, err) ||
        !check_times(&options->input, "backward times", order, err) ||
        !check_times(&options->weight, "weight times", order, err) ||
        !check_times(&options->send, "times of sends", order, err))
        return false;
    free(trial->costs);
    trial->costs = calloc((size_t)order->stages, sizeof *trial->costs);
    trial->options = (struct timing_options){.costs = trial->costs, .send_blocks = options->send_blocks};
    return trial->costs != NULL ? fill_costs(order, options, trial->costs, err) : error_memory(err);
}

static double work_of(const struct trial *trial, int device)
{
    double work = 0.0;
    for (size_t i = trial->order.first[device]; i < trial->order.first[device + 1]; i++) {
        const struct pass *pass = &trial->order.passes[i];
        const struct pass_cost *cost = &trial->costs[pass->stage];
        work += pass->kind == PASS_FORWARD  ? cost->forward
                : pass->kind == PASS_INPUT  ? cost->input
                : pass->kind == PASS_WEIGHT ? cost->weight
                                            : cost->input + cost->weight;
    }
    return work;
}

static void compare_formula(struct trial *trial, const struct trial_options *options)
{
    struct formula_case numbers = {.p = trial->devices,
                                   .m = trial->microbatches,
                                   .v = trial->chunks,
                                   .f = options->forward.seconds[0],
                                   .b = options->input.seconds[0],
                                   .w = options->weight.seconds[0]};
    double both = numbers.b + numbers.w;
    numbers.x = numbers.f + both - options->hidden * fmin(numbers.f, both);
    trial->formula = (struct formula){.makespan = NAN, .memory = NAN};
    if (trial->schedule != NULL && options->forward.count == 1 && options->input.count == 1 &&
        options->weight.count == 1 && options->send.count == 1 && options->send.seconds[0] <= 0.0)
        trial->formula = schedule_formula(trial->schedule, &numbers);
}

/* Finds the lower bound; a problem that is too large for it has none. */
static bool find_bound(struct trial *trial, const struct trial_options *options, struct error *err)
{
    const struct pass_order *order = &trial->order;
    struct search_problem problem;
    struct search_bound bound;
    struct error failure;
    trial->bound = NAN;
    if (order->chains > 1 || options->hidden > 0.0 || order->stages > SEARCH_MAX_STAGES ||
        pass_order_count(order) > SEARCH_MAX_PASSES)
        return true;
    bool ok = search_problem_init(&problem, order->devices, order->stages, order->microbatches,
                                  order->device_of, &trial->options, trial->own_peak, &failure);
    if (ok) {
        ok = search_bound_init(&bound, &problem, &failure);
        if (ok)
            trial->bound = fabs(bound.makespan - trial->timing.extent.makespan) <
                                   ROUNDING * trial->timing.extent.makespan
                               ? trial->timing.extent.makespan
                               : bound.makespan;
        search_bound_release(&bound);
    }
    search_problem_release(&problem);
    if (ok || !error_is_memory(&failure))
        return true;
    *err = failure;
    return false;
}

/* Plays the order, whose costs are set. */
static bool time_order(struct trial *trial, struct error *err)
{
    const struct pass_order *order = &trial->order;
    trial->devices = order->devices;
    const int slices = order->slices > 1 ? order->slices : 1;
    trial->microbatches = order->microbatches / slices;
    trial->chunks = slices > 1 ? slices : order->stages / order->devices;
    if (!timing_of_order(order, &trial->options, true, &trial->timing, err))
        return false;
    trial->own_peak = trial->timing.peak;
    return trial->schedule == NULL || trial->schedule->moves == NULL ||
           trial->schedule->moves(order, trial->options.costs, &trial->timing, err);
}

/* Puts the messages of a file on streams. One that takes no time holds nothing up. */
static bool time_streams(struct trial *trial, const struct schedule_csv *csv,
                         const struct trial_options *options, struct error *err)
{
    bool messages = false, takes_time = false;
    for (size_t i = 0; i < csv->count && !messages; i++)
        messages = action_is_message(&csv->actions[i]);
    for (int i = 0; i < options->send.count; i++)
        takes_time |= options->send.seconds[i] > 0.0;
    trial->on_streams =
        messages && takes_time && !options->send_blocks && options->streams != COMM_STREAMS_NONE;
    if (!trial->on_streams)
        return true;
    trial->unordered = trial->timing.extent.makespan;
    return streams_time(csv, &trial->order, trial->costs, options->streams, &trial->timing, &trial->lock,
                        err);
}

/* Fills in what follows from the times. */
static bool weigh(struct trial *trial, const struct trial_options *options, struct error *err)
{
    const struct pass_order *order = &trial->order;
    double makespan = trial->timing.extent.makespan;
    for (int device = 0; device < order->devices; device++) {
        trial->ideal = fmax(trial->ideal, work_of(trial, device));
        struct timing_device *figures = &trial->timing.devices[device];
        figures->span = figures->end - figures->begin;
        figures->bubble = makespan > 0.0 ? 1.0 - figures->busy / makespan : 0.0;
        trial->bubble += figures->bubble / order->devices;
    }
    trial->steady = makespan;
    trial->more = makespan / trial->ideal - 1;
    trial->span_more = trial->timing.extent.span / trial->ideal - 1;
    trial->passes = pass_order_count(order);
    compare_formula(trial, options);
    bool ok = find_bound(trial, options, err);
    trial->gap = 1 - trial->bound / makespan;
    return ok;
}

/* Returns whether costs depend on the devices of stages. */
static bool needs_places(const struct trial_options *options)
{
    return options->forward.count > 1 || options->input.count > 1 || options->weight.count > 1 ||
           options->send.count > 1;
}

/* What the costs of stages on other devices follow from. */
struct moving {
    const struct trial_options *options;
    const struct pass_order *order; /* for its shape */
};

static bool costs_at(const void *context, const uint16_t *device_of, int stages, struct pass_cost *costs,
                     struct error *err)
{
    const struct moving *moving = context;
    struct pass_order moved = *moving->order;
    uint16_t *places = malloc((size_t)stages * sizeof *places);
    if (places == NULL)
        return error_memory(err);
    memcpy(places, device_of, (size_t)stages * sizeof *places);
    moved.stages = stages;
    moved.device_of = places;
    bool ok = fill_costs(&moved, moving->options, costs, err);
    free(places);
    return ok;
}

bool trial_by_name(const struct schedule *schedule, const struct trial_options *options, struct trial *trial,
                   struct error *err)
{
    *trial = (struct trial){.schedule = schedule, .period = NAN, .unordered = NAN};
    struct schedule_shape shape = {
        .devices = options->devices, .chunks = options->chunks, .microbatches = options->microbatches};
    /* The first order says where the stages are, so that their costs are known; the second one may depend on these. A
     * schedule that chooses the places asks for the costs itself. */
    bool needs = needs_places(options);
    bool placed = needs && !schedule->fills_memory
                      ? schedule_make(schedule, &shape, &trial->order, err)
                      : pass_order_init(&trial->order, shape.devices, schedule_stages(schedule, &shape),
                                        schedule->two_chains ? 2 : 1, shape.microbatches, err);
    trial->order.slices = schedule_slices(schedule, &shape);
    if (!placed || !set_costs(trial, options, err))
        return false;
    struct pass_order first = trial->order;
    const struct moving moving = {options, &first};
    trial->order = (struct pass_order){.devices = 0};
    shape.timing = &trial->options;
    shape.memory = options->memory;
    if (needs && schedule->fills_memory) {
        shape.costs_at = costs_at;
        shape.context = &moving;
    }
    bool made = schedule_make(schedule, &shape, &trial->order, err);
    pass_order_release(&first);
    bool ok = made && (shape.costs_at == NULL || set_costs(trial, options, err)) && time_order(trial, err) &&
              weigh(trial, options, err) && schedule_period(schedule, &shape, &trial->period, err);
    if (isfinite(trial->period))
        trial->steady = trial->period;
    return ok;
}

bool trial_by_csv(const struct schedule_csv *csv, const struct trial_options *options, struct trial *trial,
                  struct error *err)
{
    *trial = (struct trial){.schedule = NULL, .period = NAN, .unordered = NAN};
    return schedule_csv_order(csv, &trial->order, err) && set_costs(trial, options, err) &&
           time_order(trial, err) && time_streams(trial, csv, options, err) && weigh(trial, options, err);
}

void trial_drop_passes(struct trial *trial)
{
    free(trial->order.passes);
    free(trial->timing.begin);
    free(trial->timing.end);
    trial->order.passes = NULL;
    trial->timing.begin = trial->timing.end = NULL;
}

void trial_release(struct trial *trial)
{
    pass_order_release(&trial->order);
    timing_release(&trial->timing);
    free(trial->costs);
    *trial = (struct trial){.schedule = NULL};
}
