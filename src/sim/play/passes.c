/* A plan by passes: each pipeline is one order (schedule/timing.h), and what follows it is a maximum.
 *
 *   begin_d, end_d   first and last pass of device d
 *   ready_d          the last pass of all devices, of any pipeline, that hold one of d's layers
 *   exchanged_d      ready_d + exposed exchange of gradients
 *
 *   with a barrier    max exchanged + max optimizer + other
 *   without           max over d of (exchanged_d + optimizer_d - begin_d) + other: each device begins its next
 *                     iteration when it is done. Shifting all passes by that time keeps every dependency, so it is a
 *                     period; no device can do with less.
 *   without flush     the schedule's own steady state (schedule_period), exchange and optimizer: iterations overlap
 *
 * Copies of a pipeline are alike and end together: one of them is played. */
#include "sim/play/path.h"
#include "sim/timeline_order.h"

#include <math.h>
#include <stdlib.h>

struct after {
    const struct play_model *model;
    struct timing *timings; /* of each pipeline */
    double *periods;        /* likewise: of schedules without flush, else NAN */
    double *ready;          /* of each layer */
    int layers;
    double iteration, makespan;
    int last_pipeline, last_device; /* whose exchange, or optimizer without barrier, ends last */
    double slowest_optimizer;
};

/* ---- after the passes ---- */

/* Returns the next stage of a device in the plan, from its first one on; NULL: it has no more. */
static const struct plan_stage *next_stage(const struct play_pipeline *pipeline, int *next)
{
    const struct plan_stage *stage =
        *next < pipeline->from->stage_count ? &pipeline->from->stages[*next] : NULL;
    *next += pipeline->order.devices;
    return stage;
}

/* Devices with two chains hold layers that the plan gives to others; their times are the same by symmetry. */
static void set_ready(struct after *after)
{
    const struct play_model *model = after->model;
    for (int p = 0; p < model->pipeline_count; p++) {
        const struct play_pipeline *pipeline = &model->pipelines[p];
        for (int d = 0; d < pipeline->order.devices; d++) {
            int next = d;
            double end = after->timings[p].devices[d].end;
            for (const struct plan_stage *s; (s = next_stage(pipeline, &next)) != NULL;)
                for (int l = s->layers.first; l <= s->layers.last && l < after->layers; l++)
                    after->ready[l] = fmax(after->ready[l], end);
        }
    }
}

static double ready_of(const struct after *after, int p, int d)
{
    const struct play_pipeline *pipeline = &after->model->pipelines[p];
    double ready = after->timings[p].devices[d].end;
    int next = d;
    for (const struct plan_stage *s; (s = next_stage(pipeline, &next)) != NULL;)
        for (int l = s->layers.first; l <= s->layers.last && l < after->layers; l++)
            ready = fmax(ready, after->ready[l]);
    return ready;
}

static void finish(struct after *after)
{
    const struct play_model *model = after->model;
    double exchanged = -1.0;
    for (int p = 0; p < model->pipeline_count; p++) {
        const struct play_pipeline *pipeline = &model->pipelines[p];
        for (int d = 0; d < pipeline->order.devices; d++) {
            const struct play_device *device = &pipeline->devices[d];
            double begin = after->timings[p].devices[d].begin;
            double end = ready_of(after, p, d) + device->gradients;
            double own = model->post_validate ? end + device->optimizer - begin : end;
            if (isfinite(after->periods[p]))
                own = after->periods[p] + device->gradients + device->optimizer;
            after->slowest_optimizer = fmax(after->slowest_optimizer, device->optimizer);
            after->makespan = fmax(after->makespan, end + device->optimizer);
            if (own > exchanged) {
                exchanged = own;
                after->last_pipeline = p;
                after->last_device = d;
            }
        }
    }
    after->iteration = exchanged + (model->post_validate ? 0.0 : after->slowest_optimizer) + model->other;
    after->makespan = fmax(after->makespan + model->other, model->post_validate ? 0.0 : after->iteration);
}

static int count_layers(const struct plan *plan)
{
    int layers = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        layers =
            (int)fmax(layers, plan->pipelines[p].stages[plan->pipelines[p].stage_count - 1].layers.last + 1);
    return layers;
}

/* ---- one device by cause ---- */

static void add_causes(const struct play_stage *stage, enum pass_kind kind, double *seconds)
{
    static const enum sim_cause causes[PLAN_PURPOSES] = {
        [PURPOSE_STAGE] = SIM_SEND,
        [PURPOSE_TENSOR] = SIM_TENSOR,
        [PURPOSE_CONTEXT] = SIM_CONTEXT,
        [PURPOSE_EXPERT] = SIM_EXPERT,
        [PURPOSE_SHARDS] = SIM_SHARDS,
        [PURPOSE_GRADIENTS] = SIM_GRADIENTS,
        [PURPOSE_EXPERT_GRADIENTS] = SIM_GRADIENTS,
        [PURPOSE_TIE] = SIM_GRADIENTS,
        [PURPOSE_NORM] = SIM_GRADIENTS,
    };
    bool forward = kind == PASS_FORWARD;
    if (forward)
        seconds[SIM_FORWARD] += stage->forward;
    if (kind == PASS_INPUT || kind == PASS_BACKWARD) {
        seconds[SIM_BACKWARD] += stage->input;
        seconds[SIM_RECOMPUTE] += stage->recompute;
    }
    if (kind == PASS_WEIGHT || kind == PASS_BACKWARD)
        seconds[SIM_BACKWARD] += stage->weight;
    for (int purpose = 0; kind != PASS_WEIGHT && purpose < PLAN_PURPOSES; purpose++)
        seconds[causes[purpose]] += stage->moved[!forward][purpose];
}

/* Returns the seconds that a device is occupied by the messages of a pass, if they occupy it at all. */
static double blocked(const struct play_model *model, const struct play_pipeline *pipeline,
                      const struct pass *pass, bool received)
{
    const struct pass_order *order = &pipeline->order;
    bool forward = pass->kind == PASS_FORWARD;
    if (!(model->send_blocks || (received && model->receive_blocks)) || pass->kind == PASS_WEIGHT)
        return 0.0;
    int from = pass->stage, to = forward ? pass_order_after(order, from) : pass_order_before(order, from);
    if (received) {
        to = from;
        from = forward ? pass_order_before(order, to) : pass_order_after(order, to);
    }
    if (from < 0 || to < 0 || order->device_of[from] == order->device_of[to])
        return 0.0;
    return pipeline->stages[from].send[!forward];
}

static void set_device(const struct after *after, int p, int d, struct sim_device *to)
{
    const struct play_model *model = after->model;
    const struct play_pipeline *pipeline = &model->pipelines[p];
    const struct pass_order *order = &pipeline->order;
    const struct play_device *device = &pipeline->devices[d];
    const struct timing_device *times = &after->timings[p].devices[d];
    const struct timing_options timing = play_timing(model, pipeline);
    double sent = 0.0; /* after the pass before */
    bool sent_forward = false;
    *to = (struct sim_device){.pipeline = p,
                              .place = d,
                              .type = device->type,
                              .members = device->members,
                              .begin = times->begin,
                              .end = times->end};
    for (size_t i = order->first[d]; i < order->first[d + 1]; i++) {
        const struct pass *pass = &order->passes[i];
        add_causes(&pipeline->stages[pass->stage], (enum pass_kind)pass->kind, to->seconds);
        if (pass->paired && i + 1 < order->first[d + 1])
            to->seconds[SIM_EXPERT] -= play_hidden_seconds(pipeline, pass);
        double received = blocked(model, pipeline, pass, true);
        bool together = timing.fusion == FUSION_ALL || (pass->kind == PASS_FORWARD) != sent_forward;
        to->seconds[SIM_SEND] += together ? fmax(sent, received) : sent + received;
        sent = blocked(model, pipeline, pass, false);
        sent_forward = pass->kind == PASS_FORWARD;
    }
    to->seconds[SIM_SEND] += sent;
    to->seconds[SIM_GRADIENTS] += device->gradients;
    to->seconds[SIM_OPTIMIZER] += device->optimizer;
    to->seconds[SIM_OTHER] = model->other;
    double sum = 0.0;
    for (int cause = 0; cause < SIM_CAUSES; cause++)
        sum += to->seconds[cause];
    /* A message that is received while another is sent is counted twice above. */
    double bubble = after->iteration - sum, twice = fmax(0.0, fmin(-bubble, to->seconds[SIM_SEND]));
    to->seconds[SIM_SEND] -= twice;
    to->seconds[SIM_BUBBLE] = bubble + twice;
}

/* ---- memory ---- */

static void set_peak(const struct after *after, int p, int d, struct sim_memory *peak)
{
    const struct play_pipeline *pipeline = &after->model->pipelines[p];
    const struct pass_order *order = &pipeline->order;
    const struct play_device *device = &pipeline->devices[d];
    double kept = 0.0, highest = 0.0, time = 0.0;
    for (size_t i = order->first[d]; i < order->first[d + 1]; i++) {
        const struct pass *pass = &order->passes[i];
        double own = pipeline->costs[pass->stage].kept, weight = pipeline->costs[pass->stage].kept_for_weight;
        if (pass->kind == PASS_FORWARD)
            kept += own;
        if (kept > highest) {
            highest = kept;
            time = after->timings[p].begin[i];
        }
        if (pass->kind == PASS_INPUT)
            kept -= own - weight;
        else if (pass->kind != PASS_FORWARD)
            kept -= pass->kind == PASS_WEIGHT ? weight : own;
    }
    *peak = device->state;
    peak->activations = highest;
    peak->time = time;
    double state = peak->parameters + peak->gradients + peak->optimizer;
    peak->total = state + highest + peak->working;
    if (highest == 0.0 || state == 0.0) /* the plan does not say them one by one */
        peak->total = device->total > 0.0 ? device->total : NAN;
}

/* ---- the critical path ---- */

struct path {
    const struct after *after;
    struct sim_result *result;
    int room;
    bool ok;
};

static void add_step(struct path *path, int p, int stage, const char *what, int link, double seconds)
{
    const struct sim_step step = {p, stage, what, link, seconds, 1, NULL};
    path->ok = path->ok && path_add_step(path->result, &path->room, &step);
}

/* Places of forward passes and of backward passes for inputs: [direction][stage][micro-batch]. */
static size_t *find_places(const struct pass_order *order)
{
    size_t each = (size_t)order->stages * (size_t)order->microbatches;
    size_t *places = calloc(2 * each + 1, sizeof *places);
    for (size_t i = 0; places && i < pass_order_count(order); i++) {
        const struct pass *pass = &order->passes[i];
        if (pass->kind != PASS_WEIGHT)
            places[(pass->kind == PASS_FORWARD ? 0 : each) +
                   (size_t)pass->stage * (size_t)order->microbatches + pass->microbatch] = i;
    }
    return places;
}

/* Returns the place of the pass whose message pass i waits for; -1: none. *link, *seconds: of the message. */
static ptrdiff_t sender_of(const struct play_pipeline *pipeline, const size_t *places, size_t i, int *link,
                           double *seconds)
{
    const struct pass_order *order = &pipeline->order;
    const struct pass *pass = &order->passes[i];
    bool forward = pass->kind == PASS_FORWARD;
    size_t each = (size_t)order->stages * (size_t)order->microbatches;
    int from = forward ? pass_order_before(order, pass->stage) : pass_order_after(order, pass->stage);
    if (pass->kind == PASS_WEIGHT || from < 0)
        return -1;
    bool here = order->device_of[from] == order->device_of[pass->stage];
    *link = here ? -1 : pipeline->stages[from].link[!forward];
    *seconds = here ? 0.0 : pipeline->stages[from].send[!forward];
    return (ptrdiff_t)
        places[(forward ? 0 : each) + (size_t)from * (size_t)order->microbatches + pass->microbatch];
}

static const char *pass_name(const struct pass *pass)
{
    static const char *const names[PASS_KINDS] = {"forward", "input gradient", "weight gradient", "backward"};
    return names[pass->kind];
}

/* Walks back from the last pass of a device: from each pass to the one that ended last before it. */
static bool walk(struct path *path, int p, int d)
{
    const struct play_pipeline *pipeline = &path->after->model->pipelines[p];
    const struct pass_order *order = &pipeline->order;
    const struct timing *timing = &path->after->timings[p];
    size_t *places = find_places(order);
    if (!places)
        return false;
    size_t i = order->first[d + 1] - 1;
    double until = path->after->model->post_validate ? timing->devices[d].begin : 0.0;
    for (;;) {
        const struct pass *pass = &order->passes[i];
        int device = order->device_of[pass->stage], link = -1;
        double send = 0.0;
        add_step(path, p, pass->stage, pass_name(pass), -1, timing->end[i] - fmax(timing->begin[i], until));
        if (timing->begin[i] <= until)
            break;
        ptrdiff_t sender = sender_of(pipeline, places, i, &link, &send);
        bool has_before = i > order->first[device];
        double before = has_before ? timing->end[i - 1] : 0.0;
        if (sender >= 0 && timing->end[sender] + send >= before) {
            add_step(path, p, order->passes[sender].stage, "send", link,
                     timing->begin[i] - timing->end[sender]);
            i = (size_t)sender;
        } else if (has_before) {
            add_step(path, p, pass->stage, "send", link,
                     timing->begin[i] - before); /* it blocked the device */
            i--;
        } else {
            break;
        }
    }
    free(places);
    return true;
}

static bool set_path(const struct after *after, struct sim_result *result)
{
    struct path path = {.after = after, .result = result, .ok = true};
    int p = after->last_pipeline, d = after->last_device;
    const struct play_device *device = &after->model->pipelines[p].devices[d];
    double ready = ready_of(after, p, d);
    for (int q = 0; after->timings[p].devices[d].end < ready && q < after->model->pipeline_count; q++)
        for (int e = 0; e < after->model->pipelines[q].order.devices; e++)
            if (after->timings[q].devices[e].end == ready) {
                p = q; /* the exchange waited for this device */
                d = e;
            }
    if (!walk(&path, p, d))
        return false;
    add_step(&path, after->last_pipeline, after->last_device, "gradients", device->gradients_link,
             device->gradients);
    add_step(&path, after->last_pipeline, after->last_device, "optimizer", -1,
             after->model->post_validate ? device->optimizer : after->slowest_optimizer);
    add_step(&path, -1, -1, "other", -1, after->model->other);
    path_end(result, after->model->plan);
    return path.ok;
}

/* ---- the timeline ---- */

/* Gives the exchange of gradients and the optimizer of a device to the sink. */
static bool show_end(const struct after *after, int p, int d, struct timeline_part *part, struct error *err)
{
    const struct play_model *model = after->model;
    const struct play_device *device = &model->pipelines[p].devices[d];
    const struct timeline_sink *sink = model->options->sink;
    double ready = ready_of(after, p, d), exchanged = ready + device->gradients;
    double updates =
        model->post_validate ? exchanged : after->iteration - model->other - after->slowest_optimizer;
    struct timeline_task task = {.cause = part->last[d],
                                 .device = part->device + d,
                                 .stage = -1,
                                 .layer = -1,
                                 .microbatch = -1,
                                 .begin = ready,
                                 .end = exchanged,
                                 .stream = STREAM_COLLECTIVE,
                                 .kind = TASK_COLLECTIVE,
                                 .name = "gradients"};
    if (device->gradients > 0.0) {
        task.id = part->next_id++;
        if (!sink->task(sink->context, &task, err))
            return false;
        task.cause = task.id;
    }
    task.begin = isfinite(after->periods[p]) ? exchanged : updates;
    task.end = task.begin + device->optimizer;
    task.stream = STREAM_COMPUTE;
    task.kind = TASK_OPTIMIZER;
    task.name = "optimizer";
    if (!(device->optimizer > 0.0))
        return true;
    task.id = part->next_id++;
    return sink->task(sink->context, &task, err);
}

bool play_show_other(const struct play_model *model, int device, double begin, int64_t id, struct error *err)
{
    const struct timeline_sink *sink = model->options->sink;
    const struct timeline_task task = {.id = id,
                                       .cause = -1,
                                       .device = device,
                                       .stage = -1,
                                       .layer = -1,
                                       .microbatch = -1,
                                       .begin = begin,
                                       .end = begin + model->other,
                                       .stream = STREAM_COMPUTE,
                                       .kind = TASK_OTHER,
                                       .name = "other"};
    return !(model->other > 0.0) || sink->task(sink->context, &task, err);
}

static bool show_pipeline(const struct after *after, int p, int64_t *next_id, struct error *err)
{
    const struct play_pipeline *pipeline = &after->model->pipelines[p];
    const struct timing_options timing = play_timing(after->model, pipeline);
    size_t devices = (size_t)pipeline->order.devices;
    struct timeline_memory *states = calloc(devices, sizeof *states);
    struct timeline_part part = {.device = pipeline->first_device,
                                 .states = states,
                                 .last = calloc(devices, sizeof *part.last),
                                 .next_id = *next_id};
    bool ok = states && part.last ? true : error_memory(err);
    for (size_t d = 0; ok && d < devices; d++) {
        const struct sim_memory *state = &pipeline->devices[d].state;
        states[d] = (struct timeline_memory){.parameters = state->parameters,
                                             .gradients = state->gradients,
                                             .optimizer = state->optimizer,
                                             .working = state->working};
    }
    ok = ok && timeline_of_order(&pipeline->order, &timing, &after->timings[p], &part,
                                 after->model->options->sink, err);
    for (int d = 0; ok && d < pipeline->order.devices; d++)
        ok = show_end(after, p, d, &part, err) &&
             play_show_other(after->model, part.device + d, after->makespan - after->model->other,
                             part.next_id++, err);
    *next_id = part.next_id;
    free(states);
    free(part.last);
    return ok;
}

/* ---- all of it ---- */

void play_summarise(struct sim_result *result)
{
    double waited = 0.0, all = 0.0, most = -1.0;
    result->fullest = -1;
    for (int rank = 0; rank < result->device_count; rank++) {
        const struct sim_device *device = &result->devices[rank];
        waited += device->seconds[SIM_BUBBLE] * (double)device->members;
        all += result->seconds * (double)device->members;
        double own = result->seconds - device->seconds[SIM_BUBBLE];
        if (own > most) {
            most = own;
            result->slowest = rank;
        }
        if (!isnan(device->peak.total) &&
            (result->fullest < 0 || device->peak.total > result->devices[result->fullest].peak.total))
            result->fullest = rank;
    }
    result->bubble = all > 0.0 ? waited / all : 0.0;
}

static bool keep_devices(const struct after *after, struct sim_result *result, struct error *err)
{
    const struct play_model *model = after->model;
    const struct play_pipeline *last = &model->pipelines[model->pipeline_count - 1];
    result->device_count = last->first_device + last->order.devices;
    result->devices = ARENA_ARRAY(&result->arena, (size_t)result->device_count, struct sim_device);
    if (!result->devices)
        return error_memory(err);
    for (int p = 0; p < model->pipeline_count; p++)
        for (int d = 0; d < model->pipelines[p].order.devices; d++) {
            struct sim_device *device = &result->devices[model->pipelines[p].first_device + d];
            set_device(after, p, d, device);
            set_peak(after, p, d, &device->peak);
        }
    play_summarise(result);
    return set_path(after, result) || error_memory(err);
}

/* An order that was given is played once: nobody knows how it goes on. */
static bool find_period(const struct play_model *model, const struct play_pipeline *pipeline,
                        const struct timing_options *options, double *period, struct error *err)
{
    struct schedule_shape shape = pipeline->shape;
    *period = NAN;
    shape.timing = options;
    return pipeline->order.flushes || model->options->given ||
           schedule_period(model->schedule, &shape, period, err);
}

bool play_passes(const struct play_model *model, bool keep, struct sim_result *result, struct error *err)
{
    struct after after = {.model = model, .layers = count_layers(model->plan)};
    int played = 0;
    int64_t next_id = 0;
    bool sinks = keep && model->options->sink && model->options->sink->task;
    after.timings = calloc((size_t)model->pipeline_count, sizeof *after.timings);
    after.periods = calloc((size_t)model->pipeline_count, sizeof *after.periods);
    after.ready = calloc((size_t)after.layers + 1, sizeof *after.ready);
    bool ok = after.timings && after.periods && after.ready ? true : error_memory(err);
    result->tasks = 0;
    for (; ok && played < model->pipeline_count; played++) {
        const struct play_pipeline *pipeline = &model->pipelines[played];
        const struct timing_options options = play_timing(model, pipeline);
        ok = timing_of_order(&pipeline->order, &options, keep, &after.timings[played], err) &&
             find_period(model, pipeline, &options, &after.periods[played], err);
        result->tasks += (int64_t)pass_order_count(&pipeline->order);
    }
    if (ok) {
        set_ready(&after);
        finish(&after);
        result->seconds = after.iteration;
        result->makespan = after.makespan;
        result->shown = after.makespan;
        result->iterations = 1;
        ok = !keep || keep_devices(&after, result, err);
    }
    for (int p = 0; ok && sinks && p < played; p++)
        ok = show_pipeline(&after, p, &next_id, err);
    for (int p = 0; after.timings && p < played; p++)
        timing_release(&after.timings[p]);
    free(after.timings);
    free(after.periods);
    free(after.ready);
    return ok;
}
