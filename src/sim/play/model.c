/* From a plan to numbers that can be played.
 *
 * A plan lists the stages of a micro-batch's way (which are on the same device: plan_next_chunk). A schedule
 * with the same stages on the same devices takes their numbers as they are. Any other schedule (another number of
 * chunks, another placement, two chains) gets the work of each device in equal parts: the planner would have cut the
 * layers so. */
#include "sim/play/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double known(double value)
{
    return isfinite(value) ? value : 0.0;
}

/* ---- transfers ---- */

double play_link_speed(int link, const struct play_change *change)
{
    double speed = change->link_speeds && link >= 0 ? change->link_speeds[link] : 1.0;
    return change->faster_link >= 0 && link == change->faster_link ? (1.0 + change->more) * speed : speed;
}

/* Returns the seconds of `seconds` over a link that may be faster; its latency stays. */
static double over_link(const struct plan *plan, int link, double seconds, const struct play_change *change)
{
    double latency = link >= 0 ? known(plan->links[link].latency) : 0.0;
    latency = latency < seconds ? latency : seconds;
    return latency + (seconds - latency) / play_link_speed(link, change);
}

/* A ring for collectives (2 (n - 1) / n bytes for an all-reduce, (n - 1) / n for others), bytes over the bandwidth for
 * messages: only for plans written by hand. */
static double guess_seconds(const struct plan_link *link, const struct plan_transfer *transfer)
{
    double n = transfer->group, rounds = transfer->kind == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0;
    double bandwidth = link->bandwidth / (link->shared_by > 1 ? link->shared_by : 1);
    double through = transfer->kind == COLLECTIVE_SEND ? 1.0 : rounds * (n - 1.0) / n;
    double steps = transfer->kind == COLLECTIVE_SEND ? 1.0 : rounds * (n - 1.0);
    return bandwidth > 0.0 ? through * transfer->bytes / bandwidth + steps * known(link->latency) : 0.0;
}

double play_transfer_seconds(const struct plan *plan, const struct plan_transfer *transfer,
                             const struct play_change *change)
{
    double seconds = transfer->seconds;
    if (!isfinite(seconds))
        seconds = transfer->link >= 0 && isfinite(transfer->bytes)
                      ? guess_seconds(&plan->links[transfer->link], transfer)
                      : 0.0;
    return over_link(plan, transfer->link, seconds, change);
}

static bool has_purpose(const struct plan_stage *stage, enum plan_purpose purpose, enum plan_when when)
{
    for (int i = 0; i < stage->transfer_count; i++)
        if (stage->transfers[i].purpose == purpose && stage->transfers[i].when == when)
            return true;
    return false;
}

/* ---- one stage of the plan ---- */

/* Returns the speed of the kernels of a device type. */
static double type_speed(int type, const struct play_change *change)
{
    return type == change->faster_type ? 1.0 + change->more : 1.0;
}

/* Adds the exposed collectives of a stage's passes. Where the plan has only their sum, half goes to each pass; of full
 * recomputation two of three parts go backwards. */
static void add_moved(const struct plan *plan, const struct plan_stage *from, struct play_stage *to,
                      const struct play_change *change)
{
    bool any = false;
    for (int i = 0; i < from->transfer_count; i++) {
        const struct plan_transfer *transfer = &from->transfers[i];
        if (transfer->when == WHEN_AFTER || transfer->purpose == PURPOSE_STAGE)
            continue;
        any |= transfer->purpose != PURPOSE_SHARDS && transfer->purpose != PURPOSE_GRADIENTS &&
               transfer->purpose != PURPOSE_EXPERT_GRADIENTS;
        double shown = isfinite(transfer->shown) ? transfer->shown : 1.0;
        to->moved[transfer->when == WHEN_BACKWARD][transfer->purpose] +=
            to->share * transfer->count * shown * play_transfer_seconds(plan, transfer, change);
    }
    if (any || known(from->seconds.collectives) == 0.0)
        return;
    enum recompute recompute = RECOMPUTE_NONE;
    if (plan->recompute)
        recompute_find(plan->recompute, &recompute);
    double back = recompute == RECOMPUTE_FULL ? 2.0 / 3.0 : 0.5;
    int link = plan->types[from->type].inside;
    double seconds = to->share * over_link(plan, link, from->seconds.collectives, change);
    to->moved[0][PURPOSE_TENSOR] += (1.0 - back) * seconds;
    to->moved[1][PURPOSE_TENSOR] += back * seconds;
}

/* Some planners count collectives in the passes (`collectives` unknown): those are taken out. */
static void take_out(const struct plan_stage *from, struct play_stage *to, double *forward, double *backward)
{
    if (isfinite(from->seconds.collectives))
        return;
    for (int purpose = PURPOSE_TENSOR; purpose <= PURPOSE_EXPERT; purpose++) {
        to->moved[0][purpose] = fmin(to->moved[0][purpose], *forward);
        to->moved[1][purpose] = fmin(to->moved[1][purpose], *backward);
        *forward -= to->moved[0][purpose];
        *backward -= to->moved[1][purpose];
    }
}

static void add_stage(const struct plan *plan, const struct plan_stage *from, struct play_stage *to,
                      const struct play_change *change)
{
    struct play_stage part = {.share = to->share};
    double speed = type_speed(from->type, change);
    double forward = to->share * known(from->seconds.forward),
           backward = to->share * known(from->seconds.backward);
    double weight = to->share * from->seconds.backward_weight;
    add_moved(plan, from, &part, change);
    take_out(from, &part, &forward, &backward);
    if (!isfinite(weight) || weight > backward) /* products for inputs and for weights are as large */
        weight = backward / 2.0;
    to->forward += forward / speed;
    to->input += (backward - weight) / speed;
    to->weight += weight / speed;
    to->recompute += to->share * known(from->seconds.recompute) / speed;
    to->kept += to->share * known(from->bytes.activations);
    for (int purpose = 0; purpose < PLAN_PURPOSES; purpose++) {
        to->moved[0][purpose] += part.moved[0][purpose];
        to->moved[1][purpose] += part.moved[1][purpose];
    }
}

/* ---- messages ---- */

static int link_between(const struct plan *plan, const struct plan_stage *a, const struct plan_stage *b)
{
    bool together = a->run_count > 0 && b->run_count > 0 && a->runs[0].node == b->runs[0].node;
    const struct plan_device_type *type = &plan->types[a->type];
    return together ? type->inside : type->across >= 0 ? type->across : type->inside;
}

/* Sets the seconds of a message from stage s to the next one (back: from the next one to it), and its link. */
static double message(const struct plan *plan, const struct plan_pipeline *pipeline, int s, bool back,
                      const struct play_change *change, int *link)
{
    const struct plan_stage *stage = &pipeline->stages[s], *next = stage + 1, *sender = back ? next : stage;
    *link = link_between(plan, stage, next);
    for (int i = 0; i < sender->transfer_count; i++) {
        const struct plan_transfer *transfer = &sender->transfers[i];
        if (transfer->purpose == PURPOSE_STAGE && (transfer->when == WHEN_BACKWARD) == back) {
            *link = transfer->link;
            return transfer->count * play_transfer_seconds(plan, transfer, change);
        }
    }
    if (isfinite(stage->seconds.send))
        return over_link(plan, *link, stage->seconds.send / 2.0, change);
    if (*link < 0 || !isfinite(stage->bytes.sent) || !(plan->links[*link].bandwidth > 0.0))
        return 0.0;
    const struct plan_transfer guess = {
        .kind = COLLECTIVE_SEND, .group = 2, .link = *link, .bytes = stage->bytes.sent, .seconds = NAN};
    return play_transfer_seconds(plan, &guess, change);
}

/* Where the schedule cuts other stages than the plan, all messages are like the plan's first that takes time. */
static void set_messages(const struct plan *plan, struct play_pipeline *to, bool exact,
                         const struct play_change *change)
{
    const struct plan_pipeline *from = to->from;
    double first[2] = {0.0, 0.0};
    int links[2] = {-1, -1};
    for (int s = from->stage_count - 2; s >= 0; s--)
        for (int back = 0; back < 2; back++) {
            int link;
            double seconds = message(plan, from, s, back, change, &link);
            if (exact) {
                to->stages[s + back].send[back] = seconds;
                to->stages[s + back].link[back] = link;
            } else if (seconds > 0.0) {
                first[back] = seconds;
                links[back] = link;
            }
        }
    for (int s = 0; !exact && s < to->order.stages; s++) {
        memcpy(to->stages[s].send, first, sizeof first);
        memcpy(to->stages[s].link, links, sizeof links);
    }
}

/* ---- after the passes, and memory ---- */

static void add_after(const struct plan *plan, const struct plan_stage *from, double share,
                      struct play_device *to, const struct play_change *change)
{
    bool listed = has_purpose(from, PURPOSE_SHARDS, WHEN_FORWARD);
    for (int i = 0; i < from->transfer_count; i++) {
        const struct plan_transfer *transfer = &from->transfers[i];
        if (transfer->when != WHEN_AFTER)
            continue;
        listed |= transfer->purpose == PURPOSE_GRADIENTS || transfer->purpose == PURPOSE_EXPERT_GRADIENTS;
        to->gradients += share * transfer->count * (isfinite(transfer->shown) ? transfer->shown : 1.0) *
                         play_transfer_seconds(plan, transfer, change);
        if (to->gradients_link < 0)
            to->gradients_link = transfer->link;
    }
    if (!listed && known(from->seconds.gradients) > 0.0) {
        to->gradients_link = plan->types[from->type].across;
        to->gradients += share * over_link(plan, to->gradients_link, from->seconds.gradients, change);
    }
    to->optimizer += share * known(from->seconds.optimizer) / type_speed(from->type, change);
}

static void add_state(const struct plan_stage *from, double share, struct play_device *to)
{
    const struct plan_bytes *bytes = &from->bytes;
    to->state.parameters += share * known(bytes->parameters);
    to->state.gradients += share * known(bytes->gradients);
    to->state.optimizer += share * known(bytes->optimizer);
    to->state.working = fmax(to->state.working, known(bytes->working));
    to->total = fmax(to->total, known(bytes->total));
}

/* ---- all of a pipeline ---- */

static bool is_exact(const struct plan *plan, const struct play_pipeline *pipeline)
{
    if (pipeline->order.chains != 1 || pipeline->order.stages != pipeline->from->stage_count)
        return false;
    for (int device = 0; device < pipeline->order.devices; device++)
        for (int s = device; s < pipeline->order.stages; s = plan_next_chunk(plan, pipeline->from, s))
            if (pipeline->order.device_of[s] != device)
                return false;
    return true;
}

/* Returns the device of the plan whose work a stage of the schedule has a share of. */
static int source_of(const struct pass_order *order, int stage, double *share)
{
    int depth = pass_order_depth(order), count = 0;
    if (order->chains > 1) {
        *share = (double)order->devices / depth;
        return (int)((int64_t)(stage % depth) * order->devices / depth);
    }
    for (int s = 0; s < order->stages; s++)
        count += order->device_of[s] == order->device_of[stage];
    *share = 1.0 / count;
    return order->device_of[stage];
}

static void price_stage(const struct plan *plan, struct play_pipeline *to, int stage, bool exact,
                        const struct play_change *change)
{
    const struct plan_pipeline *from = to->from;
    struct play_stage *own = &to->stages[stage];
    struct play_device *device = &to->devices[to->order.device_of[stage]];
    double share = 1.0;
    int source = exact ? stage : source_of(&to->order, stage, &share);
    *own = (struct play_stage){.of = source, .alone = exact, .share = share, .link = {-1, -1}};
    for (int s = source; s < from->stage_count; s = play_next_stage(plan, from, own, s)) {
        add_stage(plan, &from->stages[s], own, change);
        add_after(plan, &from->stages[s], share, device, change);
        add_state(&from->stages[s], share, device);
    }
}

static double all_moved(const double moved[PLAN_PURPOSES])
{
    double seconds = 0.0;
    for (int purpose = 0; purpose < PLAN_PURPOSES; purpose++)
        seconds += moved[purpose];
    return seconds;
}

static void set_costs(struct play_pipeline *pipeline, const struct play_change *change)
{
    for (int s = 0; s < pipeline->order.stages; s++) {
        struct play_stage *stage = &pipeline->stages[s];
        if (change->no_sends)
            stage->send[0] = stage->send[1] = 0.0;
        if (change->no_gradients)
            stage->moved[0][PURPOSE_SHARDS] = stage->moved[1][PURPOSE_SHARDS] = 0.0;
        pipeline->costs[s] = (struct pass_cost){
            .forward = stage->forward + all_moved(stage->moved[0]),
            .input = stage->recompute + stage->input + all_moved(stage->moved[1]),
            .weight = stage->weight,
            .send_forward = stage->send[0],
            .send_backward = stage->send[1],
            .kept = stage->kept,
            .kept_for_weight = stage->kept,
        };
        if (!change->no_pairs)
            pipeline->costs[s].hidden = play_hidden_share(stage, &pipeline->costs[s]);
    }
}

static void price_pipeline(const struct plan *plan, struct play_pipeline *pipeline,
                           const struct play_change *change)
{
    bool exact = is_exact(plan, pipeline);
    for (int d = 0; d < pipeline->order.devices; d++) {
        const struct plan_stage *stage = &pipeline->from->stages[d];
        pipeline->devices[d] = (struct play_device){
            .type = stage->type,
            .layers = stage->layers,
            .members = (int64_t)plan_stage_devices(stage) * pipeline->from->copies,
            .gradients_link = -1,
        };
    }
    for (int s = 0; s < pipeline->order.stages; s++)
        price_stage(plan, pipeline, s, exact, change);
    set_messages(plan, pipeline, exact, change);
    set_costs(pipeline, change);
    for (int d = 0; change->no_gradients && d < pipeline->order.devices; d++)
        pipeline->devices[d].gradients = 0.0;
}

void play_model_price(struct play_model *model, const struct play_change *change)
{
    struct play_change priced = *change;
    priced.link_speeds = model->options->link_speeds;
    model->change = priced;
    for (int p = 0; p < model->pipeline_count; p++)
        price_pipeline(model->plan, &model->pipelines[p], &priced);
}

/* ---- making ---- */

static bool splits_backward(const struct pass_order *order)
{
    for (size_t i = 0; i < pass_order_count(order); i++)
        if (order->passes[i].kind == PASS_WEIGHT)
            return true;
    return false;
}

static bool is_set(enum sim_answer answer, bool planned)
{
    return answer == SIM_AS_PLANNED ? planned : answer == SIM_YES;
}

/* Takes an order that is given, if it has the devices and the micro-batches of the pipeline. */
static bool take_order(struct play_model *model, struct play_pipeline *pipeline, int p, struct error *err)
{
    const struct pass_order *given = model->options->given;
    int devices = pipeline->from->stage_count / model->plan->chunks;
    model->given = (struct schedule){.name = model->options->schedule ? model->options->schedule : "given"};
    model->schedule = &model->given;
    if (given->devices != devices || given->microbatches != pipeline->from->microbatches)
        return error_set(
            err, ERROR_INPUT,
            "%s: %d devices and %d micro-batches, but pipelines[%d] of the plan has %d and %" PRId64,
            model->given.name, given->devices, given->microbatches, p, devices, pipeline->from->microbatches);
    return pass_order_copy(given, &pipeline->order, err);
}

/* Makes the order of a pipeline. A schedule of one device with one chunk is any plain one. */
static bool make_order(struct play_model *model, struct play_pipeline *pipeline, int p, struct error *err)
{
    const struct plan *plan = model->plan;
    const struct plan_pipeline *from = pipeline->from;
    if (model->options->given)
        return take_order(model, pipeline, p, err);
    const char *name = model->options->schedule ? model->options->schedule
                       : plan->schedule         ? plan->schedule
                                                : "1f1b";
    int chunks = model->options->chunks > 0 ? model->options->chunks
                 : model->options->schedule ? 0
                                            : plan->chunks;
    struct error unknown;
    model->schedule = schedule_find(name, &chunks, &unknown);
    if (!model->schedule && !model->options->schedule && plan->path)
        return error_set(err, ERROR_INPUT, "%s: schedule.kind: %s", plan->path, unknown.text);
    if (!model->schedule)
        return error_set(err, unknown.kind, "%s", unknown.text);
    if (model->schedule->cuts_sequence || model->schedule->moves)
        return error_set(err, ERROR_USAGE, "schedule %s: a plan has no times and memory of %s", name,
                         model->schedule->cuts_sequence ? "slices of a sequence"
                                                        : "activations that leave their device");
    if (model->schedule->chunks == 0 && chunks == 0 && plan->chunks > 1 && !model->schedule->fills_memory)
        chunks = plan->chunks;
    if (model->schedule->chunks == 0 && chunks == 1 &&
        !model->schedule->single_too) /* a plan without chunks, interleaved in name only */
        model->schedule = schedule_find("1f1b", &chunks, err);
    if (from->microbatches < 1 || from->microbatches > ORDER_MAX_MICROBATCHES)
        return error_set(err, ERROR_INPUT, "%s%spipelines[%d].microbatches: expected 1 to %d, found %" PRId64,
                         plan->path ? plan->path : "", plan->path ? ": " : "", p, ORDER_MAX_MICROBATCHES,
                         from->microbatches);
    pipeline->shape =
        (struct schedule_shape){.devices = from->stage_count / plan->chunks,
                                .chunks = model->schedule->chunks > 0 && !model->options->chunks ? 0 : chunks,
                                .microbatches = (int)from->microbatches,
                                .memory = model->options->memory};
    return schedule_make(model->schedule, &pipeline->shape, &pipeline->order, err);
}

struct timing_options play_timing(const struct play_model *model, const struct play_pipeline *pipeline)
{
    bool chunks = pipeline->order.stages > pipeline->order.devices * pipeline->order.chains;
    return (struct timing_options){
        .costs = pipeline->costs,
        .send_blocks = model->send_blocks,
        .fusion = chunks ? FUSION_ALL : FUSION_OPPOSITE,
        .receive_blocks = model->receive_blocks,
        .send_in_turn = true,
    };
}

/* Returns the bytes that the tightest device has for activations; 0: no device has a limit that leaves any. */
static double room_for_activations(const struct plan *plan, const struct play_pipeline *pipeline)
{
    double room = 0.0;
    for (int d = 0; d < pipeline->order.devices; d++) {
        const struct play_device *device = &pipeline->devices[d];
        const struct sim_memory *state = &device->state;
        double left = (double)plan->types[device->type].nodes.memory - state->parameters - state->gradients -
                      state->optimizer - state->working;
        if (plan->types[device->type].nodes.memory > 0 && left > 0.0 && (room <= 0.0 || left < room))
            room = left;
    }
    return room;
}

/* The pipeline whose stages a schedule moves to other devices. */
struct moving {
    const struct plan *plan;
    const struct play_pipeline *pipeline;
};

/* Prices the stages of a pipeline on other devices. */
static bool costs_at(const void *context, const uint16_t *device_of, int stages, struct pass_cost *costs,
                     struct error *err)
{
    const struct moving *moving = context;
    struct play_pipeline moved = *moving->pipeline;
    size_t count = (size_t)stages, devices = (size_t)moved.order.devices;
    uint16_t *places = malloc(count * sizeof *places);
    moved.order.device_of = places;
    moved.stages = calloc(count, sizeof *moved.stages);
    moved.devices = calloc(devices, sizeof *moved.devices);
    moved.costs = costs;
    bool ok = places != NULL && moved.stages != NULL && moved.devices != NULL;
    if (ok) {
        memcpy(places, device_of, count * sizeof *places);
        price_pipeline(moving->plan, &moved, &PLAY_NO_CHANGE);
    }
    free(places);
    free(moved.stages);
    free(moved.devices);
    return ok || error_memory(err);
}

/* Makes the order again, for schedules that look at times: these are known once each stage has its device. */
static bool make_priced_order(struct play_model *model, struct play_pipeline *pipeline, struct error *err)
{
    struct pass_order priced;
    const struct timing_options timing = play_timing(model, pipeline);
    const struct moving moving = {model->plan, pipeline};
    struct schedule_shape *shape = &pipeline->shape;
    shape->timing = &timing;
    shape->by_span = is_set(model->options->post_validate, splits_backward(&pipeline->order));
    price_pipeline(model->plan, pipeline, &PLAY_NO_CHANGE);
    if (model->options->given)
        return true;
    if (model->schedule->fills_memory) {
        if (shape->memory <= 0.0)
            shape->memory = room_for_activations(model->plan, pipeline);
        shape->costs_at = costs_at;
        shape->context = &moving;
    }
    bool ok = schedule_make(model->schedule, shape, &priced, err);
    shape->timing = NULL;
    shape->costs_at = NULL;
    if (ok) {
        pass_order_release(&pipeline->order);
        pipeline->order = priced;
    } else {
        pass_order_release(&priced);
    }
    return ok;
}

static bool make_pipeline(struct play_model *model, int p, struct error *err)
{
    struct play_pipeline *pipeline = &model->pipelines[p];
    pipeline->from = &model->plan->pipelines[p];
    for (int s = 0; s < pipeline->from->stage_count; s++)
        if (!play_check_stage(model->plan, p, s, err))
            return false;
    if (!make_order(model, pipeline, p, err))
        return false;
    pipeline->stages = ARENA_ARRAY(model->arena, (size_t)pipeline->order.stages, struct play_stage);
    pipeline->costs = ARENA_ARRAY(model->arena, (size_t)pipeline->order.stages, struct pass_cost);
    pipeline->devices = ARENA_ARRAY(model->arena, (size_t)pipeline->order.devices, struct play_device);
    return pipeline->stages && pipeline->costs && pipeline->devices ? make_priced_order(model, pipeline, err)
                                                                    : error_memory(err);
}

static double part_named(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[i].name, name) == 0)
            return plan->parts[i].value;
    return NAN;
}

static struct play_shards shards_of(const struct plan *plan, const struct sim_options *options)
{
    const struct technique *technique = &plan->technique;
    struct play_shards shards = {.reshard = options->reshard, .share = known(plan->shards_share)};
    shards.prefetch = options->prefetch > 0     ? options->prefetch
                      : options->prefetch < 0   ? 0
                      : technique->prefetch > 0 ? technique->prefetch
                      : plan->prefetch >= 0     ? plan->prefetch
                                                : 1;
    if (shards.reshard == SIM_RESHARD_AS_PLANNED)
        shards.reshard = technique->reshard == SWITCH_OFF  ? SIM_RESHARD_BACKWARD
                         : technique->reshard == SWITCH_ON ? SIM_RESHARD_PASS
                         : plan->keeps_gathered == 1       ? SIM_RESHARD_ITERATION
                                                           : SIM_RESHARD_PASS;
    if (options->collective_share > 0.0)
        shards.share = options->collective_share;
    shards.share = fmin(shards.share, 0.99);
    return shards;
}

/* Returns an option that only layers can obey; NULL: there is none. */
static const char *needs_layers(const struct sim_options *options)
{
    return options->no_symmetry                         ? "no-symmetry"
           : options->jitter > 0                        ? "jitter"
           : options->straggler_count > 0               ? "straggler"
           : options->collective_share > 0              ? "collective-share"
           : options->load_rate > 0                     ? "storage"
           : options->save_every > 0                    ? "save-every"
           : options->prefetch != 0                     ? "prefetch"
           : options->reshard != SIM_RESHARD_AS_PLANNED ? "reshard"
                                                        : NULL;
}

static bool gathers_shards(const struct plan *plan)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            for (int i = 0; i < plan->pipelines[p].stages[s].transfer_count; i++)
                if (plan->pipelines[p].stages[s].transfers[i].purpose == PURPOSE_SHARDS)
                    return true;
    return false;
}

bool play_model_make(struct play_model *model, const struct plan *plan, const struct sim_options *options,
                     struct arena *arena, struct error *err)
{
    *model = (struct play_model){.arena = arena, .plan = plan, .options = options, .host = PLAY_ALONE};
    if (!plan_check_layout(plan, err))
        return false;
    model->pipelines = ARENA_ARRAY(arena, (size_t)plan->pipeline_count, struct play_pipeline);
    if (!model->pipelines)
        return error_memory(err);
    int rank = 0;
    bool splits = false;
    model->send_blocks = is_set(options->send_blocks, plan->send_blocks == 1);
    for (int p = 0; p < plan->pipeline_count; p++) {
        model->pipeline_count = p + 1;
        if (!make_pipeline(model, p, err))
            return false;
        model->pipelines[p].first_device = rank;
        rank += model->pipelines[p].order.devices;
        splits |= splits_backward(&model->pipelines[p].order) || !model->pipelines[p].order.flushes;
    }
    /* runtimes of schedules with split backward passes send beside the passes, and wait for what they receive */
    model->receive_blocks = splits && model->send_blocks && options->send_blocks == SIM_AS_PLANNED;
    model->send_blocks &= !model->receive_blocks;
    model->post_validate = is_set(options->post_validate, splits);
    const char *needs = needs_layers(options);
    model->layers = options->level == SIM_LAYERS || needs;
    if (options->level == SIM_PASSES && needs)
        return error_set(err, ERROR_USAGE, "--%s needs --level layers", needs);
    if ((options->prefetch != 0 || options->reshard != SIM_RESHARD_AS_PLANNED) && !gathers_shards(plan))
        return error_set(
            err, ERROR_USAGE,
            "--prefetch and --reshard are for plans that gather sharded parameters (ZeRO-3, FSDP)");
    model->shards = shards_of(plan, options);
    for (int p = 0; model->layers && p < model->pipeline_count; p++)
        if (!model->pipelines[p].order.flushes)
            return error_set(err, ERROR_INPUT, "%s%sschedule '%s' never flushes: it is played by passes only",
                             plan->path ? plan->path : "", plan->path ? ": " : "", model->schedule->name);
    model->other = known(part_named(plan, "other"));
    play_model_price(model, &PLAY_NO_CHANGE);
    return true;
}

void play_model_release(struct play_model *model)
{
    for (int p = 0; p < model->pipeline_count; p++)
        pass_order_release(&model->pipelines[p].order);
}
