#include "evidence/mixed.h"

#include <math.h>
#include <string.h>

/* ---- the plan ---- */

static const struct mixed_replica *replica_at(const struct mixed_plan *plan, int stage, int pipeline)
{
    return &plan->replicas[stage * plan->pipelines + pipeline];
}

static double of_stage(const struct mixed_plan *plan, const double *sums, int stage)
{
    return sums ? sums[plan->first[stage + 1]] - sums[plan->first[stage]] : 0.0;
}

static const struct mixed_node *node_of(const struct mixed_plan *plan, const struct mixed_replica *replica)
{
    return &plan->nodes[replica->node];
}

static bool check_stages(const struct mixed_plan *plan, struct error *err)
{
    if (plan->first[0] != 0 || plan->first[plan->stages] != plan->model->layer_count)
        return error_set(err, ERROR_INPUT, "stages: expected layers 0 to %d, found %d to %d",
                         plan->model->layer_count, plan->first[0], plan->first[plan->stages]);
    for (int i = 0; i < plan->stages; i++)
        if (plan->first[i + 1] <= plan->first[i])
            return error_set(err, ERROR_INPUT, "stage %d: has no layers", i);
    return true;
}

bool mixed_check(const struct mixed_plan *plan, struct error *err)
{
    if (plan->stages < 1 || plan->stages > MIXED_MAX_STAGES)
        return error_set(err, ERROR_INPUT, "expected 1 to %d stages, found %d", MIXED_MAX_STAGES,
                         plan->stages);
    if (plan->pipelines < 1 || plan->pipelines > MIXED_MAX_PIPELINES)
        return error_set(err, ERROR_INPUT, "expected 1 to %d pipelines, found %d", MIXED_MAX_PIPELINES,
                         plan->pipelines);
    if (plan->node_count < 1 || plan->node_count > MIXED_MAX_NODES)
        return error_set(err, ERROR_INPUT, "expected 1 to %d nodes, found %d", MIXED_MAX_NODES,
                         plan->node_count);
    if (!check_stages(plan, err))
        return false;
    for (int i = 0; i < plan->stages * plan->pipelines; i++)
        if (plan->replicas[i].node < 0 || plan->replicas[i].node >= plan->node_count ||
            plan->replicas[i].tensor < 1)
            return error_set(err, ERROR_INPUT, "stage %d, pipeline %d: no such node, or no devices",
                             i / plan->pipelines, i % plan->pipelines);
    return true;
}

/* ---- pipelines ---- */

/* One pipeline, stage by stage. */
struct lane {
    double fill;            /* one micro-batch through all stages and back */
    double cycle;           /* from one micro-batch to the next at the slowest stage: of that, */
    double compute, waited; /* its layers, and its neighbours */
    int slowest;
    double before; /* a message from the stage before, or to it */
};

/* Bytes that nodes have to send into the network. */
struct traffic {
    double bytes[MIXED_MAX_NODES];
};

static double message_bytes(const struct mixed_plan *plan, int stage)
{
    return plan->model->outputs[plan->first[stage + 1] - 1];
}

/* All pipelines send between two stages at the same time, over the same ports. */
static void load_boundary(const struct mixed_plan *plan, int stage, struct traffic *traffic)
{
    for (int d = 0; d < plan->pipelines; d++) {
        traffic->bytes[replica_at(plan, stage, d)->node] = 0.0;
        traffic->bytes[replica_at(plan, stage + 1, d)->node] = 0.0;
    }
    for (int d = 0; d < plan->pipelines; d++) {
        int from = replica_at(plan, stage, d)->node, to = replica_at(plan, stage + 1, d)->node;
        if (from == to)
            continue;
        traffic->bytes[from] += message_bytes(plan, stage);
        traffic->bytes[to] += message_bytes(plan, stage);
    }
}

/* The seconds of sending one micro-batch from a stage to the next, or its gradient back. */
static double send_seconds(const struct mixed_plan *plan, int stage, int pipeline,
                           const struct traffic *traffic)
{
    const struct mixed_replica *from = replica_at(plan, stage, pipeline);
    const struct mixed_replica *to = replica_at(plan, stage + 1, pipeline);
    const struct mixed_node *a = node_of(plan, from), *b = node_of(plan, to);
    if (from->node == to->node)
        return message_bytes(plan, stage) / from->tensor / a->inside.bandwidth + a->inside.latency;
    return fmax(traffic->bytes[from->node] / a->network.bandwidth,
                traffic->bytes[to->node] / b->network.bandwidth) +
           fmax(a->network.latency, b->network.latency);
}

/* Adds the forward and backward pass of a stage, and its waiting. A stage that has ended a backward pass sends the gradient, and only
 * then is sent the next activation (deepspeed/runtime/pipe/schedule.py, TrainSchedule.steps: RecvGrad comes before
 * SendActivation): it waits for both. Its own message to the next stage and that one's gradient keep it waiting only
 * where they do not fit the communication library's buffer, which takes and delivers messages while kernels run. */
static void add_stage(const struct mixed_plan *plan, int stage, int pipeline, double after, struct lane *lane)
{
    const struct mixed_replica *replica = replica_at(plan, stage, pipeline);
    double compute = of_stage(plan, replica->times->seconds, stage) + plan->software->stage_seconds;
    double waited = 2.0 * lane->before;
    if (stage + 1 < plan->stages &&
        message_bytes(plan, stage) / replica->tensor > plan->software->buffer_bytes)
        waited += 2.0 * after;
    if (stage == 0 || compute + waited > lane->cycle) {
        lane->cycle = compute + waited;
        lane->compute = compute;
        lane->waited = waited;
        lane->slowest = stage;
    }
    lane->fill += compute + 2.0 * after;
    lane->before = after;
}

static void find_lanes(const struct mixed_plan *plan, struct lane *lanes)
{
    struct traffic traffic;
    memset(lanes, 0, (size_t)plan->pipelines * sizeof *lanes);
    for (int i = 0; i < plan->stages; i++) {
        bool last = i + 1 == plan->stages;
        if (!last)
            load_boundary(plan, i, &traffic);
        for (int d = 0; d < plan->pipelines; d++)
            add_stage(plan, i, d, last ? 0.0 : send_seconds(plan, i, d, &traffic), &lanes[d]);
    }
}

static double lane_seconds(const struct lane *lane, int64_t microbatches)
{
    return microbatches > 0 ? lane->fill + (double)(microbatches - 1) * lane->cycle : 0.0;
}

/* ---- all-reduces ---- */

static double drain(const struct mixed_plan *plan, const struct traffic *traffic)
{
    double slowest = 0.0;
    for (int n = 0; n < plan->node_count; n++)
        if (traffic->bytes[n] > 0.0)
            slowest = fmax(slowest, traffic->bytes[n] / plan->nodes[n].network.bandwidth +
                                        plan->nodes[n].network.latency);
    return slowest;
}

static bool leaves_node(const struct mixed_plan *plan, int stage)
{
    for (int d = 1; d < plan->pipelines; d++)
        if (replica_at(plan, stage, d)->node != replica_at(plan, stage, 0)->node)
            return true;
    return false;
}

/* Rings pass a node once, whatever the number of its devices: each node that holds some of a stage sends
 * 2 (r - 1) / r of the stage's gradient. All stages reduce at the same time. */
static double gradient_seconds(const struct mixed_plan *plan)
{
    struct traffic traffic;
    int counted[MIXED_MAX_NODES];
    double inside = 0.0;
    if (plan->pipelines == 1)
        return 0.0;
    for (int n = 0; n < plan->node_count; n++) {
        traffic.bytes[n] = 0.0;
        counted[n] = -1;
    }
    for (int i = 0; i < plan->stages; i++) {
        double bytes = 2.0 * (plan->pipelines - 1) / plan->pipelines *
                       of_stage(plan, plan->model->parameters, i) * plan->software->gradient_bytes;
        bool leaves = leaves_node(plan, i);
        for (int d = 0; d < plan->pipelines; d++) {
            const struct mixed_replica *replica = replica_at(plan, i, d);
            if (!leaves)
                inside = fmax(inside, bytes / replica->tensor / node_of(plan, replica)->inside.bandwidth);
            else if (counted[replica->node] != i)
                traffic.bytes[replica->node] += bytes;
            counted[replica->node] = i;
        }
    }
    return fmax(inside, drain(plan, &traffic));
}

/* Between the first and the last stage of each pipeline. */
static double tied_seconds(const struct mixed_plan *plan)
{
    struct traffic traffic;
    double inside = 0.0, bytes = plan->model->tied * plan->software->tied_bytes;
    if (plan->stages == 1 || bytes <= 0.0)
        return 0.0;
    for (int n = 0; n < plan->node_count; n++)
        traffic.bytes[n] = 0.0;
    for (int d = 0; d < plan->pipelines; d++) {
        const struct mixed_replica *first = replica_at(plan, 0, d),
                                   *last = replica_at(plan, plan->stages - 1, d);
        if (first->node == last->node) {
            inside = fmax(inside, bytes / first->tensor / node_of(plan, first)->inside.bandwidth);
            continue;
        }
        traffic.bytes[first->node] += bytes;
        traffic.bytes[last->node] += bytes;
    }
    return fmax(inside, drain(plan, &traffic));
}

static double update_seconds(const struct mixed_plan *plan)
{
    double slowest = 0.0;
    for (int i = 0; i < plan->stages; i++)
        for (int d = 0; d < plan->pipelines; d++)
            slowest = fmax(slowest, of_stage(plan, replica_at(plan, i, d)->times->update, i));
    return slowest;
}

/* ---- the whole ---- */

/* Launching a forward and a backward pass takes twice the host time of a forward pass alone. */
static bool launch_bound(const struct mixed_plan *plan)
{
    if (plan->stages == 1)
        return false;
    for (int i = 0; i < plan->stages; i++)
        for (int d = 0; d < plan->pipelines; d++) {
            const struct mixed_replica *replica = replica_at(plan, i, d);
            double launch = of_stage(plan, replica->times->launch, i);
            if (replica->tensor > 1 && of_stage(plan, replica->times->seconds, i) - launch < 2.0 * launch)
                return true;
        }
    return false;
}

struct mixed_time mixed_time(const struct mixed_plan *plan)
{
    struct lane lanes[MIXED_MAX_PIPELINES];
    find_lanes(plan, lanes);
    int slowest = 0;
    for (int d = 1; d < plan->pipelines; d++)
        if (lane_seconds(&lanes[d], plan->microbatches[d]) >
            lane_seconds(&lanes[slowest], plan->microbatches[slowest]))
            slowest = d;
    const struct lane *lane = &lanes[slowest];
    double count = (double)plan->microbatches[slowest];
    struct mixed_time time = {
        .compute = count * lane->compute,
        .send = count * lane->waited,
        .gradients = gradient_seconds(plan),
        .tied = tied_seconds(plan),
        .optimizer = update_seconds(plan),
        .other = plan->software->step_seconds,
        .pipeline = slowest,
        .stage = lane->slowest,
        .launch_bound = launch_bound(plan),
    };
    /* A stage that waits on both sides waits for less while the pipeline fills. */
    time.bubble = lane_seconds(lane, plan->microbatches[slowest]) - time.compute - time.send;
    if (time.bubble < 0.0) {
        time.send += time.bubble;
        time.bubble = 0.0;
    }
    time.seconds =
        time.compute + time.send + time.bubble + time.gradients + time.tied + time.optimizer + time.other;
    return time;
}

double mixed_memory(const struct mixed_plan *plan, int stage, int pipeline)
{
    const struct mixed_replica *replica = replica_at(plan, stage, pipeline);
    double in_flight = fmin((double)plan->microbatches[pipeline], plan->stages - stage);
    return of_stage(plan, plan->model->parameters, stage) * plan->software->state_bytes / replica->tensor +
           in_flight * of_stage(plan, replica->times->activations, stage) + plan->software->runtime_bytes;
}

/* ---- times from elsewhere ---- */

void mixed_sums_of_forward(const double *forward, const double *launch, int layer_count, int64_t microbatch,
                           double *sums, double *launches)
{
    sums[0] = 0.0;
    if (launches)
        launches[0] = 0.0;
    for (int l = 0; l < layer_count; l++) {
        double host = fmin(launch[l], forward[l]);
        sums[l + 1] = sums[l] + host + 3.0 * (forward[l] - host) * (double)microbatch;
        if (launches)
            launches[l + 1] = launches[l] + host;
    }
}
