/* Pairs of passes: each exchanges tokens of experts beside the kernels of the other (DualPipe: arXiv 2412.19437, section
 * 3.2.1).
 *
 * By passes, a pair hides as much of the exchanges as there are kernels beside them. By layers, each layer of a pass falls
 * into two halves, as attention and experts do: half of its kernels, then half of its exchange, the dispatch or the combine.
 * The stream of kernels does the halves of both passes in turn, the stream of collectives their exchanges, and a half waits for
 * the exchange before it in its own pass. Both passes begin when both inputs are there. The last exchanges of a pair go on
 * beside what follows; only its messages wait for them. */
#include "sim/play/writer.h"

#include <math.h>

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
