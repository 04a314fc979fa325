/* The order of a device: the passes of an iteration, what follows them, and further iterations with the work of hosts
 * between them (host.h). */
#include "sim/play/host.h"
#include "sim/play/writer.h"

#include <math.h>
#include <string.h>

bool host_is_played(const struct sim_options *options)
{
    return options->load_rate > 0.0 || options->save_every > 0;
}

static bool host_saves_after(const struct play_host *host, int iteration)
{
    return host->save_every > 0 && iteration % host->save_every == 0 && iteration + 1 < host->iterations;
}

/* ---- amounts and rates ---- */

double host_bytes(const struct play_model *model, int p, int place)
{
    const struct sim_memory *state = &model->pipelines[p].devices[place].state;
    double copies = model->pipelines[p].from->copies;
    return state->parameters / copies + state->optimizer / (model->plan->sharding >= 1 ? 1.0 : copies);
}

static bool holds_first_stage(const struct pass_order *order, int place)
{
    for (int s = 0; s < order->stages; s++)
        if (order->device_of[s] == place && pass_order_before(order, s) < 0)
            return true;
    return false;
}

/* Returns the samples of an iteration that a device of a place loads; 0: it is no reader. */
static double samples_of(const struct play_model *model, int p, int place)
{
    const struct play_pipeline *pipeline = &model->pipelines[p];
    double readers = 0.0, all = 0.0;
    if (!holds_first_stage(&pipeline->order, place))
        return 0.0;
    for (int q = 0; q < model->pipeline_count; q++)
        all += (double)model->pipelines[q].from->copies * (double)model->pipelines[q].from->microbatches;
    for (int d = 0; d < pipeline->order.devices; d++)
        if (holds_first_stage(&pipeline->order, d))
            readers += (double)pipeline->devices[d].members;
    double own = (double)pipeline->from->copies * (double)pipeline->from->microbatches / all;
    return own * (double)plan_samples(model->plan) / readers;
}

/* Returns the bandwidth between nodes of a device; 0: unknown. */
static double across_of(const struct play_model *model, int p, int place)
{
    int across = model->plan->types[model->pipelines[p].devices[place].type].across;
    double bandwidth = across >= 0 ? model->plan->links[across].bandwidth : 0.0;
    return bandwidth > 0.0 ? bandwidth : 0.0;
}

/* Returns the lower of two rates, of which 0 is no limit. */
static double lower_rate(double a, double b)
{
    return a > 0.0 && b > 0.0 ? fmin(a, b) : fmax(a, b);
}

/* ---- tasks ---- */

/* Adds the moving of `bytes` by a route, `rate` bytes/s alone; at once if that is 0. */
static struct engine_task *add_move(struct template_writer *to, int d, int stream, int label, double bytes,
                                    double rate, enum host_route route)
{
    struct engine_task *task = writer_add(to, stream, label, rate > 0.0 ? bytes / rate : 0.0);
    task->bytes = bytes;
    task->rate = rate;
    if (task->seconds > 0.0)
        task->route = to->orders->devices[to->pipeline->first_device + d].host_routes + (int)route;
    return task;
}

/* Adds them to a device, if hosts have work. */
static void host_add_routes(const struct play_model *model, struct layer_device *device)
{
    device->host_routes = device->route_count;
    for (int i = 1; host_is_played(model->options) && i <= HOST_ROUTES; i++)
        device->leads_to[device->route_count++] = -1;
}

/* Make the templates before the passes of an iteration, and of a save after an iteration. `later`: not the first
 * iteration; `loads`: samples for the next one. *made is -1 if nothing is to be done. False, or -1: out of memory. */
static bool host_write_begin(struct template_writer *to, int d, bool later, bool loads, int *made)
{
    const struct play_model *model = to->model;
    const struct sim_options *options = model->options;
    double samples = model->host.loads ? samples_of(model, to->p, d) : 0.0;
    *made = -1;
    to->tasks = ARENA_ARRAY(&to->orders->arena, 3, struct engine_task);
    to->count = 0;
    if (!to->tasks)
        return false;
    if (later && model->other > 0.0)
        writer_add(to, STREAM_COMPUTE, SIM_OTHER, model->other);
    if (later && samples > 0.0)
        writer_wait(writer_add(to, STREAM_COMPUTE, SIM_LOAD, 0.0), MARK_LOADED);
    if (loads && samples > 0.0) {
        const struct host_storage storage = host_storage_of(model);
        double rate = storage.read;
        if (host_link_has_loads(options))
            rate = lower_rate(rate, options->host_rate);
        if (options->storage_network && options->load_bytes > 0.0)
            rate = lower_rate(rate, across_of(model, to->p, d));
        struct engine_task *task =
            add_move(to, d, STREAM_HOST, SIM_LOAD, samples * storage.sample, rate, HOST_LOAD);
        writer_wait(task, MARK_OPTIMIZED);
        task->mark = MARK_LOADED;
    }
    *made = to->count > 0 ? writer_keep(to, -1, -1) : -1;
    return to->count == 0 || *made >= 0;
}

static int host_write_save(struct template_writer *to, int d)
{
    const struct sim_options *options = to->model->options;
    double bytes = host_bytes(to->model, to->p, d);
    to->tasks = ARENA_ARRAY(&to->orders->arena, 4, struct engine_task);
    to->count = 0;
    if (!to->tasks)
        return -1;
    struct engine_task *copy = add_move(to, d, STREAM_SAVE, LABEL_COPY, bytes,
                                        lower_rate(options->copy_rate, options->host_rate), HOST_COPY);
    writer_wait(copy, MARK_OPTIMIZED);
    copy->mark = MARK_COPIED;
    if (options->save_rate > 0.0) {
        double rate = options->storage_network
                          ? lower_rate(options->save_rate, across_of(to->model, to->p, d))
                          : options->save_rate;
        /* its stream has copied before */
        add_move(to, d, STREAM_SAVE, SIM_SAVE, bytes * to->model->host.written, rate, HOST_WRITE);
        writer_add(to, STREAM_SAVE, SIM_SAVE, 0.0)->group = GROUP_SAVED;
        to->tasks[to->count - 1].mark = MARK_WRITTEN;
    }
    if (options->save_waits != SIM_WAITS_FOR_NOTHING) {
        bool written = options->save_waits == SIM_WAITS_FOR_WRITES;
        struct engine_task *all = writer_add(to, STREAM_COMPUTE, written ? SIM_SAVE : LABEL_COPY, 0.0);
        all->group = GROUP_ALL;
        writer_wait(all, MARK_COPIED);
        if (written)
            writer_wait(all, MARK_WRITTEN);
    }
    return writer_keep(to, -1, -1);
}

/* ---- what follows the passes ---- */

static void load_after(struct layer_load *load, const struct play_model *model,
                       const struct play_pipeline *pipeline, int d, enum plan_purpose purpose, bool whole)
{
    for (int s = d; s < pipeline->from->stage_count; s += pipeline->order.devices)
        for (int i = 0; i < pipeline->from->stages[s].transfer_count; i++) {
            const struct plan_transfer *transfer = &pipeline->from->stages[s].transfers[i];
            double shown = whole || !isfinite(transfer->shown) ? 1.0 : transfer->shown;
            if (transfer->purpose == purpose && transfer->when == WHEN_AFTER)
                layer_load_add(load, model, transfer, transfer->count * shown);
        }
}

/* All devices come to the norm: it takes as long as the slowest says. */
static double norm_of(const struct play_model *model)
{
    double norm = 0.0;
    for (int p = 0; p < model->pipeline_count; p++)
        for (int d = 0; d < model->pipelines[p].order.devices; d++) {
            struct layer_load load = {.seconds = 0.0};
            load_after(&load, model, &model->pipelines[p], d, PURPOSE_NORM, true);
            norm = fmax(norm, load.seconds);
        }
    return norm;
}

static int write_after(struct template_writer *to, int d)
{
    const struct play_device *device = &to->pipeline->devices[d];
    struct layer_load tie = {.seconds = 0.0}, gradients = {.seconds = 0.0};
    load_after(&tie, to->model, to->pipeline, d, PURPOSE_TIE, true);
    load_after(&gradients, to->model, to->pipeline, d, PURPOSE_GRADIENTS, false);
    load_after(&gradients, to->model, to->pipeline, d, PURPOSE_EXPERT_GRADIENTS, false);
    bool ends = to->pipeline->order.devices > 1 && (d == 0 || d == to->pipeline->order.devices - 1);
    to->tasks = ARENA_ARRAY(&to->orders->arena, 8, struct engine_task);
    to->count = 0;
    if (!to->tasks)
        return -1;
    if (to->model->pipeline_count >
        1) { /* pipelines that differ share layers: gradients wait for all of them */
        struct engine_task *all = writer_add(to, STREAM_COMPUTE, SIM_GRADIENTS, 0.0);
        all->group = GROUP_ALL;
        all->mark = MARK_LAYERS;
    }
    if (device->gradients > 0.0) {
        struct engine_task *task = writer_add(to, STREAM_COLLECTIVE, SIM_GRADIENTS, device->gradients);
        writer_let_flow(task, GROUP_GRADIENTS, &gradients);
        task->mark = MARK_EXCHANGED;
        writer_wait(task, MARK_LAYERS);
    }
    if (tie.seconds > 0.0 && ends) {
        struct engine_task *task = writer_add(to, STREAM_COLLECTIVE, SIM_GRADIENTS, tie.seconds);
        writer_let_flow(task, GROUP_TIE, &tie);
        task->mark = MARK_TIED;
        writer_wait(task, MARK_LAYERS);
    }
    struct engine_task *barrier =
        writer_add(to, STREAM_COMPUTE, SIM_GRADIENTS, to->model->post_validate ? 0.0 : norm_of(to->model));
    barrier->group = to->model->post_validate ? 0 : GROUP_ALL;
    writer_wait(barrier, MARK_EXCHANGED);
    writer_wait(barrier, MARK_SCATTERED);
    writer_wait(barrier, MARK_TIED);
    struct engine_task *optimizer = writer_add(to, STREAM_COMPUTE, SIM_OPTIMIZER, device->optimizer);
    writer_wait(optimizer, MARK_COPIED); /* it changes what is copied */
    optimizer->mark = MARK_OPTIMIZED;
    return writer_keep(to, -1, -1);
}

/* ---- orders ---- */

enum { VARIANTS = PASS_KINDS * 8 }; /* of a pass's shape */

/* The templates of a device that come before, after and between the passes of an iteration. */
struct frame {
    int begin[2]; /* of the first iteration, and of a later one; -1: none */
    int last;     /* of the last iteration, which has nothing to load for the next one */
    int after, save;
};

/* Templates of a device that were made. */
struct known_templates {
    int *
        /* [stage][variant]: plus 1; 0: none. The last variant says whether the stage's last pass has been met */
        passes;
    size_t *first;   /* of each stage: its first forward pass on its device */
    uint64_t *pairs; /* of this device */
    int *pair_templates;
    int pair_count, pair_room, template_room;
};

/* Returns the shape of the pass at k of a device. Called from the last pass to the first. */
static struct pass_shape shape_of(const struct template_writer *to, int d, size_t k,
                                  struct known_templates *known)
{
    const struct pass_order *order = &to->pipeline->order;
    const struct timing_options timing = play_timing(to->model, to->pipeline);
    const struct pass *pass = &order->passes[order->first[d] + k];
    enum pass_kind before = k > 0 ? (enum pass_kind)pass[-1].kind : PASS_WEIGHT;
    bool same = before != PASS_WEIGHT && pass->kind != PASS_WEIGHT &&
                (before == PASS_FORWARD) == (pass->kind == PASS_FORWARD);
    bool weights = pass->kind == PASS_WEIGHT || pass->kind == PASS_BACKWARD;
    int *ended = &known->passes[pass->stage * (VARIANTS + 1) + VARIANTS];
    const struct pass_shape shape = {
        .kind = (enum pass_kind)pass->kind,
        .unfused = to->model->send_blocks && same && timing.fusion != FUSION_ALL,
        .first = pass->kind == PASS_FORWARD && known->first[pass->stage] == k,
        .last = weights && *ended == 0,
    };
    *ended |= weights;
    return shape;
}

static int variant_of(const struct pass_shape *shape)
{
    return (int)shape->kind * 8 + 4 * shape->first + 2 * shape->last + shape->unfused;
}

/* Returns the template of a pass; -1: out of memory. */
static int find_pass(struct template_writer *to, const struct pass_shape *shape, int stage,
                     struct known_templates *known)
{
    int *template = &known->passes[(size_t)stage * (VARIANTS + 1) + (size_t)variant_of(shape)];
    to->stage = stage;
    if (*template == 0)
        *template = writer_pass(to, shape) + 1;
    return *template - 1;
}

static int find_pair(struct template_writer *to, const struct pass_shape shapes[2], const int stages[2],
                     struct known_templates *known)
{
    const uint64_t variants = VARIANTS, each = ORDER_MAX_STAGES + 1;
    uint64_t key = 0;
    for (int i = 0; i < 2; i++)
        key = (key * each + (uint64_t)stages[i]) * variants + (uint64_t)variant_of(&shapes[i]);
    for (int i = 0; i < known->pair_count; i++)
        if (known->pairs[i] == key)
            return known->pair_templates[i];
    struct arena *arena = &to->orders->arena;
    uint64_t *pairs = arena_grow(arena, known->pairs, known->pair_count, &known->pair_room, sizeof *pairs);
    int *templates =
        arena_grow(arena, known->pair_templates, known->pair_count, &known->template_room, sizeof *templates);
    int made = pairs && templates ? writer_pair(to, shapes, stages) : -1;
    if (made < 0)
        return -1;
    known->pairs = pairs;
    known->pair_templates = templates;
    pairs[known->pair_count] = key;
    templates[known->pair_count++] = made;
    return made;
}

/* Fills in the passes of one iteration, from the end: the first one met is the last of its stage. Returns how many they
 * are, of which two of a pair are one; 0: out of memory. */
static size_t write_passes(struct template_writer *to, int d, struct known_templates *known,
                           struct engine_pass *passes)
{
    const struct pass_order *order = &to->pipeline->order;
    const struct pass *from = &order->passes[order->first[d]];
    size_t count = order->first[d + 1] - order->first[d], at = count;
    for (size_t k = count; k-- > 0;)
        if (from[k].kind == PASS_FORWARD)
            known->first[from[k].stage] = k;
    for (size_t k = count; k-- > 0;) {
        bool pair = k > 0 && from[k - 1].paired && !to->model->change.no_pairs;
        const struct pass *pass = &from[pair ? k - 1 : k];
        struct pass_shape shapes[2];
        shapes[pair] = shape_of(to, d, k, known);
        if (pair)
            shapes[0] = shape_of(to, d, --k, known);
        const int stages[2] = {pass[0].stage, pair ? pass[1].stage : 0};
        int template =
            pair ? find_pair(to, shapes, stages, known) : find_pass(to, &shapes[0], stages[0], known);
        if (template <0)
            return 0;
        passes[--at] =
            (struct engine_pass){(uint32_t) template, {pass[0].microbatch, pair ? pass[1].microbatch : 0}};
    }
    memmove(passes, &passes[at], (count - at) * sizeof *passes);
    return count - at;
}

static bool write_frame(struct template_writer *to, int d, struct frame *frame)
{
    const struct play_host *host = &to->model->host;
    *frame = (struct frame){{-1, -1}, -1, -1, -1};
    frame->after = write_after(to, d);
    bool ok = frame->after >= 0;
    if (host->loads || host->iterations > 1)
        for (int later = 0; ok && later < 2; later++)
            ok = host_write_begin(to, d, later == 1, host->iterations > 1, &frame->begin[later]);
    ok = ok && (host->iterations < 2 || host_write_begin(to, d, true, false, &frame->last));
    return ok && (host->save_every < 1 || (frame->save = host_write_save(to, d)) >= 0);
}

static void add_pass(struct engine_order *order, struct engine_pass *passes, int template)
{
    if (template >= 0)
        passes[order->count++] = (struct engine_pass){(uint32_t) template, {0, 0}};
}

static bool write_device(struct template_writer *to, int d, struct known_templates *known,
                         struct engine_order *made)
{
    const struct pass_order *order = &to->pipeline->order;
    const struct play_host *host = &to->model->host;
    size_t count = order->first[d + 1] - order->first[d], iterations = (size_t)host->iterations;
    struct engine_pass *passes =
        ARENA_ARRAY(&to->orders->arena, (count + 3) * iterations, struct engine_pass);
    struct engine_pass *one = ARENA_ARRAY(&to->orders->arena, count + 1, struct engine_pass);
    struct frame frame;
    known->pair_count = 0;
    if (!passes || !one || (count > 0 && (count = write_passes(to, d, known, one)) == 0) ||
        !write_frame(to, d, &frame))
        return false;
    *made = (struct engine_order){passes, 0};
    for (int i = 0; i < host->iterations; i++) {
        add_pass(made, passes, i > 0 && i + 1 == host->iterations ? frame.last : frame.begin[i > 0]);
        for (size_t k = 0; k < count; k++) {
            passes[made->count] = one[k];
            for (int both = 0; both < 2; both++)
                passes[made->count].microbatch[both] += (uint32_t)(i * order->microbatches);
            made->count++;
        }
        add_pass(made, passes, frame.after);
        if (host_saves_after(host, i))
            add_pass(made, passes, frame.save);
    }
    return true;
}

int layer_blocks(int a, int b)
{
    while (b > 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int width_of(const struct play_pipeline *pipeline, int stage)
{
    return plan_stage_devices(&pipeline->from->stages[pipeline->order.device_of[stage]]);
}

/* Returns the route of a device's messages to another place. */
static int route_to(struct layer_device *device, int place)
{
    int r = 0;
    while (r < device->route_count && device->leads_to[r] != place)
        r++;
    if (r == device->route_count)
        device->leads_to[device->route_count++] = place;
    return r + 1;
}

/* Numbers the ports of a stage. A message has parts where places have other numbers of devices (layout.h). */
static void set_stage_ports(const struct play_pipeline *pipeline, int stage, struct layer_device *device,
                            struct layer_ports *ports)
{
    for (int kind = 0; kind < LAYER_PORTS; kind++) {
        bool forward = kind == PORT_SEND_FORWARD || kind == PORT_RECEIVE_FORWARD,
             out = kind == PORT_SEND_FORWARD || kind == PORT_SEND_BACK;
        int other = writer_neighbour(pipeline, stage, forward, out);
        if (out)
            ports->peer[!forward] = other;
        if (other < 0)
            continue;
        int own = width_of(pipeline, stage), theirs = width_of(pipeline, other);
        ports->first[kind] = device->port_count + 1;
        ports->count[kind] = theirs / layer_blocks(own, theirs);
        device->port_count += ports->count[kind];
        if (out)
            ports->route[!forward] = route_to(device, pipeline->order.device_of[other]);
    }
}

static bool set_ports(struct layer_orders *orders, const struct play_model *model)
{
    int stages = 0, devices = 0;
    for (int p = 0; p < model->pipeline_count; p++) {
        stages += model->pipelines[p].order.stages;
        devices += model->pipelines[p].order.devices;
    }
    orders->ports = ARENA_ARRAY(&orders->arena, (size_t)stages, struct layer_ports);
    orders->first_stage = ARENA_ARRAY(&orders->arena, (size_t)model->pipeline_count, int);
    orders->orders = ARENA_ARRAY(&orders->arena, (size_t)devices, struct engine_order);
    orders->devices = ARENA_ARRAY(&orders->arena, (size_t)devices, struct layer_device);
    int *places = ARENA_ARRAY(&orders->arena, 2 * (size_t)stages + HOST_ROUTES * (size_t)devices,
                              int); /* two for each stage */
    if (!orders->ports || !orders->first_stage || !orders->orders || !orders->devices || !places)
        return false;
    for (int p = 0, at = 0; p < model->pipeline_count; p++) {
        const struct play_pipeline *pipeline = &model->pipelines[p];
        orders->first_stage[p] = at;
        for (int s = 0; s < pipeline->order.stages; s++)
            orders->devices[pipeline->first_device + pipeline->order.device_of[s]].route_count += 2;
        for (int d = 0; d < pipeline->order.devices; d++) {
            struct layer_device *device = &orders->devices[pipeline->first_device + d];
            device->leads_to = places;
            places += device->route_count + HOST_ROUTES;
            device->route_count = 0;
        }
        for (int s = 0; s < pipeline->order.stages; s++)
            set_stage_ports(pipeline, s,
                            &orders->devices[pipeline->first_device + pipeline->order.device_of[s]],
                            &orders->ports[at++]);
        for (int d = 0; d < pipeline->order.devices; d++)
            host_add_routes(model, &orders->devices[pipeline->first_device + d]);
    }
    return true;
}

bool layer_orders_make(struct layer_orders *orders, const struct play_model *model, struct error *err)
{
    *orders = (struct layer_orders){.template_count = 0};
    if (!set_ports(orders, model))
        return error_memory(err);
    for (int p = 0; p < model->pipeline_count; p++) {
        const struct play_pipeline *pipeline = &model->pipelines[p];
        struct template_writer to = {.orders = orders, .model = model, .pipeline = pipeline, .p = p};
        struct known_templates known = {
            .passes = ARENA_ARRAY(&orders->arena, (size_t)pipeline->order.stages * (VARIANTS + 1), int)};
        known.first = ARENA_ARRAY(&orders->arena, (size_t)pipeline->order.stages, size_t);
        if (!known.passes || !known.first)
            return error_memory(err);
        for (int d = 0; d < pipeline->order.devices; d++)
            if (!write_device(&to, d, &known, &orders->orders[pipeline->first_device + d]))
                return error_memory(err);
    }
    return true;
}
