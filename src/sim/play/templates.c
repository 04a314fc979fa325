/* Passes as tasks of the engine.
 *
 * A pass of a stage with L layers does, for each of them: kernels, then the collectives of tensor, context and expert
 * parallelism, each on the stream of kernels for the share of its seconds that the plan does not hide.
 *
 * Sharded parameters (ZeRO-3, FSDP) of a layer are gathered before it on a stream of their own, `prefetch` layers
 * ahead, and their gradients are scattered after it on another one. Nothing of that is hidden by decree: kernels wait
 * for a gather that is late, the optimizer for the last scatter, and kernels beside either lose a share of its seconds.
 * Parameters are freed after each pass, after the backward pass, or at the iteration's end; then they are gathered in
 * the first forward pass only, and gradients are scattered in the last backward pass.
 *
 * In the last backward pass of a stage, the hidden share of the exchange of gradients follows each layer; the rest
 * comes after all passes. Messages follow the rules of schedule/timing.h: a blocking one occupies the device from the
 * end of the pass before it, beside the one that is sent then if the library fuses them.
 *
 * Layers are numbered from the end of a pass, so that the last one always sets the same mark, 0. The gather of layer j
 * waits for the kernels of layer j + prefetch + 1; of the pass before, where this one has not as many. */
#include "sim/play/layers.h"
#include "sim/play/writer.h"

#include <math.h>

#define MAX_LAYER_TASKS 16 /* of one layer in one pass */

/* ---- one layer ---- */

struct engine_task *writer_add(struct template_writer *to, int stream, int label, double seconds)
{
    struct engine_task *task = &to->tasks[to->count++];
    *task = (struct engine_task){
        .seconds = seconds, .stream = (uint8_t)stream, .label = (uint8_t)label, .layer = -1};
    if (stream == STREAM_COLLECTIVE || stream == STREAM_SCATTER)
        task->share = to->model->options->collective_share;
    return task;
}

void writer_wait(struct engine_task *task, int mark)
{
    for (int i = 0; i < ENGINE_WAITS; i++)
        if (task->waits[i] == 0) {
            task->waits[i] = (uint16_t)mark;
            return;
        }
}

/* Makes a task a flow like the load, at the rate that it has when it is alone; nothing if a part of the load is
 * unknown. */
static void layer_let_flow(const struct layer_load *load, struct engine_task *task)
{
    double moving = load->seconds - load->latency;
    if (load->unknown || !(load->bytes > 0.0) || !(moving > 0.0) || !(task->seconds > 0.0))
        return;
    task->rate = load->bytes / moving;
    task->latency = task->seconds * (load->latency / load->seconds);
    task->bytes = task->rate * (task->seconds - task->latency);
}

void writer_let_flow(struct engine_task *task, int group, const struct layer_load *load)
{
    task->group = group;
    layer_let_flow(load, task);
}

/* Returns the seconds of a stage's transfers that the plan hides, in all its layers. */
static double add_hidden(const struct template_writer *to, struct layer_load *load, enum plan_purpose purpose,
                         enum plan_when when, bool gathers)
{
    layer_load_stage(load, to->model, to->p, to->stage, purpose, when, gathers, false);
    return load->seconds;
}

static int writer_layers(const struct template_writer *to)
{
    const struct play_stage *stage = &to->pipeline->stages[to->stage];
    const struct plan_stage *from = &to->pipeline->from->stages[stage->of];
    int layers = (int)lround((from->layers.last - from->layers.first + 1) * fmin(stage->share, 1.0));
    return layers > 0 ? layers : 1;
}

static struct engine_change *add_change(struct template_writer *to, struct engine_task *task, int64_t bytes)
{
    struct engine_change *change = ARENA_NEW(&to->orders->arena, struct engine_change);
    if (change) {
        *change = (struct engine_change){MEMORY_ACTIVATIONS, bytes < 0, bytes};
        task->changes = change;
        task->change_count = 1;
    }
    return change;
}

static struct engine_task *writer_moved(struct template_writer *to, bool back, int layers,
                                        struct engine_task *last, bool experts)
{
    static const struct {
        enum plan_purpose purpose;
        enum layer_group group;
        enum sim_cause cause;
    } kinds[] = {
        {PURPOSE_TENSOR, GROUP_TENSOR, SIM_TENSOR},
        {PURPOSE_CONTEXT, GROUP_CONTEXT, SIM_CONTEXT},
        {PURPOSE_EXPERT, GROUP_EXPERT, SIM_EXPERT},
        {PURPOSE_GRADIENTS, GROUP_SHOWN, SIM_GRADIENTS},
        {PURPOSE_EXPERT_GRADIENTS, GROUP_SHOWN, SIM_GRADIENTS},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double seconds = to->pipeline->stages[to->stage].moved[back][kinds[i].purpose];
        if (seconds > 0.0 && (experts || kinds[i].purpose != PURPOSE_EXPERT)) {
            struct layer_load load = {.seconds = 0.0};
            layer_load_stage(&load, to->model, to->p, to->stage, kinds[i].purpose,
                             back ? WHEN_BACKWARD : WHEN_FORWARD, -1, true);
            last = writer_add(to, STREAM_COMPUTE, (int)kinds[i].cause, seconds / layers);
            writer_let_flow(last, (int)kinds[i].group, &load);
        }
    }
    return last;
}

/* Returns the seconds of a stage's collectives of shards of a kind in all its layers, whatever the plan's formula
 * hides. */
static double add_shards(const struct template_writer *to, struct layer_load *load, enum plan_when when,
                         enum collective_kind kind)
{
    const struct play_stage *own = &to->pipeline->stages[to->stage];
    const struct plan_pipeline *from = to->pipeline->from;
    for (int s = own->of; s < from->stage_count && !to->model->change.no_gradients;
         s = play_next_stage(to->model->plan, from, own, s))
        for (int i = 0; i < from->stages[s].transfer_count; i++) {
            const struct plan_transfer *transfer = &from->stages[s].transfers[i];
            if (transfer->purpose == PURPOSE_SHARDS && transfer->when == when && transfer->kind == kind)
                layer_load_add(load, to->model, transfer, own->share * transfer->count);
        }
    return load->seconds;
}

/* Returns whether a pass gathers its shards, and whether it scatters their gradients. */
static bool gathers(const struct template_writer *to, const struct pass_shape *shape)
{
    enum sim_reshard reshard = to->model->shards.reshard;
    if (shape->kind == PASS_FORWARD)
        return reshard != SIM_RESHARD_ITERATION || shape->first;
    return shape->kind != PASS_WEIGHT && reshard == SIM_RESHARD_PASS;
}

static bool scatters(const struct template_writer *to, const struct pass_shape *shape)
{
    return to->model->shards.reshard != SIM_RESHARD_ITERATION || shape->last;
}

/* Add the parts of layer `from_end` of `layers`, counted from the end of a pass of to->stage: the gather of its shards,
 * with marks from `base` on (NULL: none); the activations that its kernels keep or free (false: out of memory); the
 * collectives that its kernels wait for, of which the last task is returned; and the exchange of its gradients. */
static struct engine_task *writer_gather(struct template_writer *to, const struct pass_shape *shape,
                                         int layers, int from_end, int base)
{
    enum plan_when when = shape->kind == PASS_FORWARD ? WHEN_FORWARD : WHEN_BACKWARD;
    int ahead =
        (from_end + to->model->shards.prefetch + 1) % (layers < MAX_LAYER_MARKS ? layers : MAX_LAYER_MARKS);
    struct layer_load load = {.seconds = 0.0};
    double gather = gathers(to, shape) ? add_shards(to, &load, when, COLLECTIVE_ALL_GATHER) / layers : 0.0;
    if (gathers(to, shape) && gather <= 0.0) /* a plan that does not gather again says what it takes, too */
        gather = add_shards(to, &load, WHEN_FORWARD, COLLECTIVE_ALL_GATHER) / layers;
    if (gather <= 0.0)
        return NULL;
    struct engine_task *task = writer_add(to, STREAM_COLLECTIVE, SIM_SHARDS, gather);
    writer_let_flow(task, GROUP_GATHER, &load);
    task->share = to->model->shards.share;
    task->mark = (uint16_t)(base + from_end % MAX_LAYER_MARKS);
    writer_wait(task, MARK_LAYERS + ahead);
    writer_wait(task, MARK_OPTIMIZED); /* of the iteration before, if there is one */
    return task;
}

/* Returns the seconds of a pass's kernels; *label: theirs. */
static double writer_kernels(const struct play_stage *stage, const struct pass_shape *shape, int *label)
{
    static const int labels[PASS_KINDS] = {[PASS_FORWARD] = SIM_FORWARD,
                                           [PASS_INPUT] = LABEL_INPUT,
                                           [PASS_WEIGHT] = LABEL_WEIGHT,
                                           [PASS_BACKWARD] = SIM_BACKWARD};
    const double seconds[PASS_KINDS] = {[PASS_FORWARD] = stage->forward,
                                        [PASS_INPUT] = stage->input,
                                        [PASS_WEIGHT] = stage->weight,
                                        [PASS_BACKWARD] = stage->input + stage->weight};
    *label = labels[shape->kind];
    return seconds[shape->kind];
}

static bool writer_activations(struct template_writer *to, const struct pass_shape *shape, int layers,
                               struct engine_task *task)
{
    int64_t kept = llround(to->pipeline->stages[to->stage].kept / layers);
    return kept <= 0 || shape->kind == PASS_INPUT ||
           add_change(to, task, shape->kind != PASS_FORWARD ? -kept : kept);
}

/* Adds a layer. Returns its first task on the stream of kernels; NULL: out of memory. */
static struct engine_task *add_layer(struct template_writer *to, const struct pass_shape *shape, int layers,
                                     int from_end)
{
    const struct play_stage *stage = &to->pipeline->stages[to->stage];
    bool back = shape->kind != PASS_FORWARD, weight_only = shape->kind == PASS_WEIGHT;
    int mark = from_end % MAX_LAYER_MARKS, label;
    const struct engine_task *gather = writer_gather(to, shape, layers, from_end, MARK_GATHERED);
    int first = to->count;
    if (back && !weight_only && stage->recompute > 0.0)
        writer_add(to, STREAM_COMPUTE, SIM_RECOMPUTE, stage->recompute / layers);
    double seconds = writer_kernels(stage, shape, &label) / layers;
    struct engine_task *kernels = writer_add(to, STREAM_COMPUTE, label, seconds);
    kernels->layer = (int16_t)(layers - 1 - from_end < INT16_MAX ? layers - 1 - from_end : -1);
    if (!writer_activations(to, shape, layers, kernels))
        return NULL;
    struct engine_task *last = weight_only ? kernels : writer_moved(to, back, layers, kernels, true);
    last->mark = (uint16_t)(MARK_LAYERS + mark);
    if (gather)
        writer_wait(&to->tasks[first], MARK_GATHERED + mark);
    return &to->tasks[first];
}

static void add_scatter(struct template_writer *to, int cause, int group, const struct layer_load *load,
                        int layers, double share, int mark)
{
    if (load->seconds <= 0.0)
        return;
    struct engine_task *task = writer_add(to, STREAM_SCATTER, cause, load->seconds / layers);
    writer_let_flow(task, group, load);
    task->share = share;
    task->mark = MARK_SCATTERED;
    writer_wait(task, mark);
}

static void writer_gradients(struct template_writer *to, const struct pass_shape *shape, int layers,
                             int from_end)
{
    int mark = MARK_LAYERS + from_end % MAX_LAYER_MARKS;
    struct layer_load shards = {.seconds = 0.0}, sums = {.seconds = 0.0}, scattered = {.seconds = 0.0},
                      buckets = {.seconds = 0.0};
    if (scatters(to, shape)) {
        add_shards(to, &shards, WHEN_BACKWARD, COLLECTIVE_REDUCE_SCATTER);
        add_shards(to, &sums, WHEN_BACKWARD, COLLECTIVE_ALL_REDUCE); /* of their copies (HSDP) */
    }
    add_hidden(to, &scattered, PURPOSE_GRADIENTS, WHEN_BACKWARD, false);
    add_hidden(to, &scattered, PURPOSE_EXPERT_GRADIENTS, WHEN_BACKWARD, false);
    add_hidden(to, &buckets, PURPOSE_GRADIENTS, WHEN_AFTER, false);
    add_hidden(to, &buckets, PURPOSE_EXPERT_GRADIENTS, WHEN_AFTER, false);
    add_scatter(to, SIM_SHARDS, GROUP_SCATTER, &shards, layers, to->model->shards.share, mark);
    add_scatter(to, SIM_SHARDS, GROUP_COPIES, &sums, layers, to->model->shards.share, mark);
    add_scatter(to, SIM_GRADIENTS, GROUP_SCATTER, &scattered, layers, to->model->options->collective_share,
                mark);
    if (shape->last && buckets.seconds > 0.0) {
        struct engine_task *task = writer_add(to, STREAM_COLLECTIVE, SIM_GRADIENTS, buckets.seconds / layers);
        writer_let_flow(task, GROUP_GRADIENTS, &buckets);
        task->mark = MARK_EXCHANGED;
        writer_wait(task, mark);
    }
}

/* ---- one pass ---- */

int writer_neighbour(const struct play_pipeline *pipeline, int stage, bool forward, bool out)
{
    const struct pass_order *order = &pipeline->order;
    int other = forward == out ? pass_order_after(order, stage) : pass_order_before(order, stage);
    return other >= 0 && order->device_of[other] != order->device_of[stage] ? other : -1;
}

static const struct layer_ports *ports_of(const struct template_writer *to)
{
    return &to->orders->ports[to->orders->first_stage[to->p] + to->stage];
}

/* Adds the message that a pass waits for, if it takes the device's time. Returns the mark that it sets; 0: none. Of
 * parts from several devices, the last one stands for all. */
static int writer_receive(struct template_writer *to, const struct pass_shape *shape)
{
    bool forward = shape->kind == PASS_FORWARD;
    int from = shape->kind == PASS_WEIGHT ? -1 : writer_neighbour(to->pipeline, to->stage, forward, false);
    enum layer_port kind = forward ? PORT_RECEIVE_FORWARD : PORT_RECEIVE_BACK;
    const struct layer_ports *ports = ports_of(to);
    if (from < 0 || !(to->model->send_blocks || to->model->receive_blocks))
        return 0;
    for (int i = 0; i < ports->count[kind]; i++) {
        double seconds = to->pipeline->stages[from].send[!forward];
        bool last = i == ports->count[kind] - 1;
        struct engine_task *task = writer_add(to, STREAM_RECEIVE, LABEL_RECEIVE, last ? seconds : 0.0);
        task->receive = ports->first[kind] + i;
        task->mark = last ? MARK_RECEIVED : 0;
        writer_wait(task, MARK_LAYERS);
        if (shape->unfused)
            writer_wait(task, MARK_SENT);
    }
    return MARK_RECEIVED;
}

/* Adds what a pass waits for where messages take no time of the device: all parts but the last. Returns the port of
 * that. */
static int writer_parts(struct template_writer *to, const struct pass_shape *shape)
{
    bool forward = shape->kind == PASS_FORWARD;
    enum layer_port kind = forward ? PORT_RECEIVE_FORWARD : PORT_RECEIVE_BACK;
    const struct layer_ports *ports = ports_of(to);
    if (shape->kind == PASS_WEIGHT || writer_neighbour(to->pipeline, to->stage, forward, false) < 0)
        return 0;
    for (int i = 0; i < ports->count[kind] - 1; i++)
        writer_add(to, STREAM_COMPUTE, LABEL_RECEIVE, 0.0)->receive = ports->first[kind] + i;
    return ports->first[kind] + ports->count[kind] - 1;
}

/* Returns the bytes of a message where the plan has no transfers: what the stage before the cut sends to the next
 * one. */
static double sent_bytes(const struct template_writer *to, bool back)
{
    const struct play_pipeline *pipeline = to->pipeline;
    int before = back ? pass_order_before(&pipeline->order, to->stage) : to->stage;
    const struct play_stage *stage = before >= 0 ? &pipeline->stages[before] : NULL;
    const struct plan_stage *from = stage && stage->alone ? &pipeline->from->stages[stage->of] : NULL;
    return from && from->bytes.sent > 0.0 ? from->bytes.sent / from->degrees.data : 0.0;
}

/* The first transfer of that kind in the stage, or else in the pipeline, says how fast messages are. Devices that split
 * a micro-batch send a part each. */
static void let_message_flow(const struct template_writer *to, bool back, int route, struct engine_task *task)
{
    struct layer_load load = {.seconds = 0.0};
    enum plan_when when = back ? WHEN_BACKWARD : WHEN_FORWARD;
    layer_load_stage(&load, to->model, to->p, to->stage, PURPOSE_STAGE, when, -1, true);
    for (int s = 0; s < to->pipeline->order.stages && load.seconds <= 0.0; s++)
        layer_load_stage(&load, to->model, to->p, s, PURPOSE_STAGE, when, -1, true);
    load.bytes /= to->pipeline->from->stages[to->pipeline->order.device_of[to->stage]].degrees.data;
    layer_let_flow(&load, task);
    task->route = task->rate > 0.0 ? route : 0;
}

/* Adds the message of a pass, which waits for the mark `done`. One to several devices is one flow; each of them gets a
 * part when it ends, or begins. */
static void writer_send(struct template_writer *to, const struct pass_shape *shape, int done)
{
    bool forward = shape->kind == PASS_FORWARD;
    const struct pass_order *order = &to->pipeline->order;
    const struct layer_ports *ports = ports_of(to);
    enum layer_port kind = forward ? PORT_SEND_FORWARD : PORT_SEND_BACK;
    int next = writer_neighbour(to->pipeline, to->stage, forward, true);
    if (shape->kind == PASS_WEIGHT || next < 0)
        return;
    bool at_begin = to->model->send_blocks || to->model->receive_blocks;
    bool up = pass_order_next(order, order->device_of[to->stage], order->device_of[next]);
    int whole = at_begin ? ports->count[kind] - 1 : 0;
    for (int i = 0; i < ports->count[kind]; i++) {
        double seconds = i == whole ? to->pipeline->stages[to->stage].send[!forward] : 0.0;
        struct engine_task *task = writer_add(to, up ? STREAM_SEND : STREAM_SEND_BACK, SIM_SEND, seconds);
        if (i == whole && to->pipeline->stages[to->stage].link[!forward] >= 0)
            let_message_flow(to, !forward, ports->route[!forward], task);
        if (i == whole && !(task->bytes > 0.0))
            task->bytes = sent_bytes(to, !forward);
        task->send = ports->first[kind] + i;
        task->send_at_begin = at_begin;
        task->mark = MARK_SENT;
        writer_wait(task, done);
    }
}

int writer_keep(struct template_writer *to, int stage, int second)
{
    struct engine_template *grown =
        arena_grow(&to->orders->arena, to->orders->templates, to->orders->template_count,
                   &to->orders->template_room, sizeof *grown);
    if (!grown)
        return -1;
    to->orders->templates = grown;
    to->orders->templates[to->orders->template_count] =
        (struct engine_template){.tasks = to->tasks, .count = to->count, .stage = {stage, second}};
    return to->orders->template_count++;
}

/* Returns a number of tasks that a pass of to->stage does not exceed. */
static size_t writer_room(const struct template_writer *to)
{
    const struct layer_ports *ports = ports_of(to);
    size_t messages = 0;
    for (int kind = 0; kind < LAYER_PORTS; kind++)
        messages += (size_t)ports->count[kind];
    return (size_t)writer_layers(to) * MAX_LAYER_TASKS + messages;
}

int writer_pass(struct template_writer *to, const struct pass_shape *shape)
{
    int layers = writer_layers(to);
    to->tasks = ARENA_ARRAY(&to->orders->arena, writer_room(to), struct engine_task);
    to->count = 0;
    if (!to->tasks)
        return -1;
    int received = writer_receive(to, shape), port = received > 0 ? 0 : writer_parts(to, shape);
    for (int from_end = layers - 1; from_end >= 0; from_end--) {
        struct engine_task *first = add_layer(to, shape, layers, from_end);
        if (!first)
            return -1;
        if (from_end == layers - 1) {
            if (received > 0)
                writer_wait(first, received);
            first->receive = port;
            if (to->model->send_blocks)
                writer_wait(first, MARK_SENT);
        }
        if (shape->kind == PASS_BACKWARD || shape->kind == PASS_WEIGHT)
            writer_gradients(to, shape, layers, from_end);
    }
    writer_send(to, shape, MARK_LAYERS);
    return writer_keep(to, to->stage, -1);
}

/* Pairs of passes: each exchanges tokens of experts beside the kernels of the other (DualPipe: arXiv 2412.19437,
 * section 3.2.1).
 *
 * By passes, a pair hides as much of the exchanges as there are kernels beside them. By layers, each layer of a pass
 * falls into two halves, as attention and experts do: half of its kernels, then half of its exchange, the dispatch or
 * the combine. The stream of kernels does the halves of both passes in turn, the stream of collectives their exchanges,
 * and a half waits for the exchange before it in its own pass. Both passes begin when both inputs are there. The last
 * exchanges of a pair go on beside what follows; only its messages wait for them. */

double play_hidden_share(const struct play_stage *stage, const struct pass_cost *cost)
{
    double exchange = stage->moved[0][PURPOSE_EXPERT] + stage->moved[1][PURPOSE_EXPERT];
    double kernels = stage->forward + stage->recompute + stage->input + stage->weight;
    double shorter = fmin(cost->forward, cost->input + cost->weight);
    return shorter > 0.0 ? fmin(fmin(exchange, kernels) / shorter, 1.0) : 0.0;
}

double play_hidden_seconds(const struct play_pipeline *pipeline, const struct pass *pass)
{
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        const struct pass_cost *cost = &pipeline->costs[pass[i].stage];
        const double of[PASS_KINDS] = {[PASS_FORWARD] = cost->forward,
                                       [PASS_INPUT] = cost->input,
                                       [PASS_WEIGHT] = cost->weight,
                                       [PASS_BACKWARD] = cost->input + cost->weight};
        seconds[i] = of[pass[i].kind];
    }
    return pipeline->costs[pass[0].stage].hidden * fmin(seconds[0], seconds[1]);
}

/* ---- by layers ---- */

/* A pass of a pair while its halves are written. */
struct half_writer {
    const struct pass_shape *shape;
    int stage, second; /* second: 0 or 1 */
    int layers, next;  /* next: half, from 0 */
    double exchange;   /* seconds of a half's */
    struct layer_load load;
};

static void add_exchange(struct template_writer *to, const struct half_writer *pass, int waits)
{
    if (pass->exchange <= 0.0)
        return;
    struct engine_task *task = writer_add(to, STREAM_COLLECTIVE, SIM_EXPERT, pass->exchange);
    writer_let_flow(task, GROUP_PAIR, &pass->load);
    task->mark = (uint16_t)(MARK_PAIRED + pass->second);
    writer_wait(task, waits);
}

/* Adds half a layer. */
static bool add_half(struct template_writer *to, struct half_writer *pass)
{
    const struct play_stage *stage = &to->pipeline->stages[pass->stage];
    int from_end = pass->layers - 1 - pass->next / 2, label, begin = to->count;
    bool back = pass->shape->kind != PASS_FORWARD, ends = pass->next % 2 == 1;
    int gathered = pass->second ? MARK_GATHERED_TOO : MARK_GATHERED;
    to->stage = pass->stage;
    bool gathers = !ends && writer_gather(to, pass->shape, pass->layers, from_end, gathered);
    int first = to->count;
    if (back && !ends && stage->recompute > 0.0)
        writer_add(to, STREAM_COMPUTE, SIM_RECOMPUTE, stage->recompute / pass->layers);
    double seconds = writer_kernels(stage, pass->shape, &label) / pass->layers / 2.0;
    struct engine_task *kernels = writer_add(to, STREAM_COMPUTE, label, seconds);
    kernels->layer = (int16_t)(pass->next / 2 < INT16_MAX ? pass->next / 2 : -1);
    if (back == ends && !writer_activations(to, pass->shape, pass->layers, kernels))
        return false;
    if (gathers)
        writer_wait(&to->tasks[first], gathered + from_end % MAX_LAYER_MARKS);
    if (pass->next > 0 && pass->exchange > 0.0)
        writer_wait(&to->tasks[first], MARK_PAIRED + pass->second);
    int done = MARK_HALF + pass->second;
    if (ends) {
        kernels = writer_moved(to, back, pass->layers, kernels, false);
        done = MARK_LAYERS + from_end % MAX_LAYER_MARKS;
    }
    kernels->mark = (uint16_t)done;
    add_exchange(to, pass, done);
    if (ends && (pass->shape->kind == PASS_BACKWARD || pass->shape->kind == PASS_WEIGHT))
        writer_gradients(to, pass->shape, pass->layers, from_end);
    for (int i = begin; i < to->count; i++)
        to->tasks[i].second = (uint8_t)pass->second;
    pass->next++;
    return true;
}

/* Adds what both passes wait for. Returns the mark of messages that take the device's time; 0: none. */
static int add_inputs(struct template_writer *to, const struct half_writer *passes)
{
    int received = 0;
    for (int i = 0; i < 2; i++) {
        int begin = to->count;
        to->stage = passes[i].stage;
        int mark = writer_receive(to, passes[i].shape),
            port = mark > 0 ? 0 : writer_parts(to, passes[i].shape);
        if (port > 0)
            writer_add(to, STREAM_COMPUTE, LABEL_RECEIVE, 0.0)->receive = port;
        received = mark > 0 ? mark : received;
        for (int t = begin; t < to->count; t++)
            to->tasks[t].second = (uint8_t)i;
    }
    return received;
}

int writer_pair(struct template_writer *to, const struct pass_shape shapes[2], const int stages[2])
{
    struct half_writer passes[2];
    size_t room = 8;
    for (int i = 0; i < 2; i++) {
        struct half_writer *pass = &passes[i];
        bool back = shapes[i].kind != PASS_FORWARD;
        *pass = (struct half_writer){.shape = &shapes[i], .stage = stages[i], .second = i};
        to->stage = stages[i];
        pass->layers = writer_layers(to);
        room += writer_room(to);
        if (shapes[i].kind == PASS_WEIGHT)
            continue;
        pass->exchange = to->pipeline->stages[stages[i]].moved[back][PURPOSE_EXPERT] / pass->layers / 2.0;
        layer_load_stage(&pass->load, to->model, to->p, stages[i], PURPOSE_EXPERT,
                         back ? WHEN_BACKWARD : WHEN_FORWARD, -1, true);
    }
    to->tasks = ARENA_ARRAY(&to->orders->arena, room, struct engine_task);
    to->count = 0;
    if (!to->tasks)
        return -1;
    int received = add_inputs(to, passes), first = to->count;
    while (passes[0].next < 2 * passes[0].layers || passes[1].next < 2 * passes[1].layers) {
        /* the one that has done a smaller part */
        bool second = (int64_t)passes[1].next * passes[0].layers < (int64_t)passes[0].next * passes[1].layers;
        if (!add_half(to, &passes[second]))
            return -1;
    }
    while (to->tasks[first].stream != STREAM_COMPUTE)
        first++;
    if (received > 0)
        writer_wait(&to->tasks[first], received);
    if (to->model->send_blocks)
        writer_wait(&to->tasks[first], MARK_SENT);
    for (int i = 0; i < 2; i++) {
        int begin = to->count, last = MARK_LAYERS;
        to->stage = stages[i];
        writer_send(to, &shapes[i], passes[i].exchange > 0.0 ? MARK_PAIRED + i : last);
        for (int t = begin; t < to->count; t++)
            to->tasks[t].second = (uint8_t)i;
    }
    return writer_keep(to, stages[0], stages[1]);
}
