/* The transfers of a job's stages one by one, priced as the formulas of time.c and layers.c price their sums. */
#include "plan/split/plan.h"

#include <math.h>

struct transfer_writer {
    struct plan *plan;
    struct plan_stage *stage;
    const struct job *job;
    bool ok;
};

/* Adds `count` transfers of given seconds between ranks that are `apart` ranks apart. */
static void add_priced(struct transfer_writer *to, struct plan_transfer transfer, int devices, int apart,
                       double count)
{
    struct collective_group group = job_group(to->job, devices, apart);
    const struct plan_device_type *type = &to->plan->types[to->stage->type];
    transfer.group = devices;
    transfer.per_node = group.devices_per_node;
    transfer.link = group.devices_per_node < devices ? type->across : type->inside;
    transfer.count = count;
    to->ok = to->ok && plan_add_transfer(to->plan, to->stage, transfer);
}

/* The same for a collective, whose seconds follow from its bytes. */
static void add(struct transfer_writer *to, struct plan_transfer transfer, int devices, int apart,
                double count)
{
    bool gradients = transfer.purpose == PURPOSE_GRADIENTS || transfer.purpose == PURPOSE_EXPERT_GRADIENTS;
    transfer.seconds = (gradients ? job_gradient_transfer : job_transfer)(to->job, transfer.kind, devices,
                                                                          apart, transfer.bytes);
    add_priced(to, transfer, devices, apart, count);
}

/* The transfers of a layer, and the share of its experts' exchanges that no kernel hides. */
struct layer_transfers {
    const struct layer_work *work;
    struct job_moved moved;
    double shown;
};

static void add_pass(struct transfer_writer *to, const struct layer_transfers *layer, enum plan_when when,
                     int reduces, int exchanges, int rings, double times)
{
    const struct job *job = to->job;
    const struct job_moved *moved = &layer->moved;
    int back = when == WHEN_BACKWARD && rings > 1;
    double ring = moved->context.whole[back],
           ring_shown = back ? moved->context.backward : moved->context.forward;
    struct plan_transfer reduce = {.kind = COLLECTIVE_ALL_REDUCE,
                                   .purpose = PURPOSE_TENSOR,
                                   .when = when,
                                   .bytes = layer->work->tensor_bytes,
                                   .shown = moved->reduce_shown},
                         exchange = {.kind = COLLECTIVE_ALL_TO_ALL,
                                     .purpose = PURPOSE_EXPERT,
                                     .when = when,
                                     .shown = layer->shown},
                         context = {.kind = moved->context_kind,
                                    .purpose = PURPOSE_CONTEXT,
                                    .when = when,
                                    .bytes = moved->context.moved[back],
                                    .seconds = ring,
                                    .shown = ring > 0.0 ? ring_shown / ring : 1.0};
    add(to, reduce, job->degrees.tensor, 1, reduces * times);
    const double ways[2] = {moved->experts.dispatch, moved->experts.combine};
    for (int way = 0; way < 2 && exchanges > 0 && layer->work->expert_bytes > 0.0; way++) {
        exchange.bytes = moved->experts.bytes[way];
        exchange.seconds = ways[way];
        add_priced(to, exchange, job->degrees.expert, 1, exchanges / 2.0 * times);
    }
    if (rings > 0)
        add_priced(to, context, job->degrees.context, job->degrees.tensor, times);
}

/* `again`: blocks that are recomputed as a whole. */
static void add_work(struct transfer_writer *to, const struct layer_work *work, double shown, double times,
                     double again)
{
    const struct job *job = to->job;
    double attention[2] = {0.0, 0.0};
    for (int i = 0; i < work->count && job->degrees.context > 1; i++)
        if (work->kernels[i].kind == KERNEL_ATTENTION)
            attention[i >= work->forward_count] +=
                kernel_time(&work->kernels[i], job->device, job->calibration).seconds;
    const struct layer_transfers layer = {work, job_moved_of(job, work, attention), shown};
    int reduces, exchanges;
    add_pass(to, &layer, WHEN_FORWARD, work->tensor_forward, 2, 1, times);
    add_pass(to, &layer, WHEN_BACKWARD, work->tensor_backward, 2, 2, times);
    add_pass(to, &layer, WHEN_BACKWARD, work->tensor_forward, 2, 1, again);
    job_again_transfers(job, work, &reduces, &exchanges);
    add_pass(to, &layer, WHEN_BACKWARD, reduces, exchanges, 0, times);
}

/* Returns the share of a block's exchanges that no kernel hides. */
static double shown_of(const struct job_pass *pass, const struct job *job, const struct layer_work *work)
{
    const double nothing[2] = {0.0, 0.0};
    struct job_moved moved = job_moved_of(job, work, nothing);
    int reduces, exchanges;
    job_again_transfers(job, work, &reduces, &exchanges);
    double ways = 4.0 + (job->recompute == RECOMPUTE_FULL ? 2.0 : exchanges);
    double whole = ways * (moved.experts.dispatch + moved.experts.combine) / 2.0;
    return whole > 0.0 ? fmax(1.0 - pass->hidden / whole, 0.0) : 1.0;
}

bool plan_add_passes_of_job(struct plan *plan, struct plan_stage *stage, const struct job *job,
                            const struct job_layers *layers, const struct job_part *part)
{
    struct transfer_writer to = {plan, stage, job, true};
    struct layer_split split = job_split(job);
    struct job chunk = *job;
    chunk.chunks = 1;
    struct layer_work work;
    for (int i = 0; i < layers->kind_count; i++) {
        const struct job_kind *kind = &layers->kinds[i];
        int before = job_kind_before(kind, part->first), count = job_kind_before(kind, part->last) - before;
        int example = part->first;
        while (count > 0 && example < part->last && job_kind_before(kind, example + 1) == before)
            example++;
        if (count < 1)
            continue;
        transformer_block(&work, job->model, example, &split);
        add_work(&to, &work, shown_of(&kind->layer.pass, job, &work), count,
                 job_again_count(&chunk, kind, part->first, part->last));
    }
    if (part->embedding) {
        transformer_embedding(&work, job->model, &split);
        add_work(&to, &work, 1.0, 1.0, 0.0);
    }
    if (part->head) {
        transformer_head(&work, job->model, &split);
        add_work(&to, &work, 1.0, 1.0, 0.0);
    }
    return to.ok;
}

/* ---- data parallel copies ---- */

/* Parameters that are gathered together: `number` in each of `pieces`, shared by `ranks` that are `apart`. */
struct shards {
    int ranks, apart, copies;
    double number, trained, pieces, shown;
};

static void add_shard(struct transfer_writer *to, const struct shards *shards)
{
    const struct job *job = to->job;
    struct job_formats formats = job_formats_of(job);
    int ranks = shards->ranks, apart = shards->apart;
    double number = shards->number, trained = shards->trained, pieces = shards->pieces, shown = shards->shown;
    struct plan_transfer gather = {.kind = COLLECTIVE_ALL_GATHER,
                                   .purpose = PURPOSE_SHARDS,
                                   .when = WHEN_FORWARD,
                                   .bytes = formats.gathered * number,
                                   .shown = shown},
                         scatter = {.kind = COLLECTIVE_REDUCE_SCATTER,
                                    .purpose = PURPOSE_SHARDS,
                                    .when = WHEN_BACKWARD,
                                    .bytes = formats.wire * trained,
                                    .shown = shown},
                         sum = {.kind = COLLECTIVE_ALL_REDUCE,
                                .purpose = PURPOSE_SHARDS,
                                .when = WHEN_BACKWARD,
                                .bytes = formats.wire * trained / ranks,
                                .shown = shown};
    add(to, gather, ranks, apart, pieces);
    gather.when = WHEN_BACKWARD;
    if (job->technique.reshard != SWITCH_OFF && !job_keeps_gathered(job))
        add(to, gather, ranks, apart, pieces);
    if (trained > 0.0)
        add(to, scatter, ranks, apart, pieces);
    if (shards->copies > 1 && trained > 0.0)
        add(to, sum, shards->copies, apart * ranks, pieces);
}

/* ZeRO-3 and FSDP gather a block's parameters for each of its passes, and scatter its gradients: `layer` in
 * pieces of that size. */
static void add_shards(struct transfer_writer *to, const struct job_layer *layer, int blocks, double shown)
{
    const struct job *job = to->job;
    int all = job->degrees.data * job->degrees.context, ranks = (int)job_shard_ranks(job);
    int expert_ranks = (int)job_expert_shard_ranks(job);
    bool spread = layer->experts > 0.0 && expert_ranks < ranks;
    double pieces = blocks + 1.0, experts = job_is_frozen(job) ? 0.0 : layer->experts;
    struct shards shards = {ranks,
                            job->degrees.tensor,
                            ranks < all ? all / ranks : 1,
                            (layer->parameters + (spread ? 0.0 : layer->experts)) / pieces,
                            (job_trained(job, layer) + (spread ? 0.0 : experts)) / pieces,
                            pieces,
                            shown};
    add_shard(to, &shards);
    shards.apart = all * job->degrees.tensor / (expert_ranks * shards.copies);
    shards.ranks = expert_ranks;
    shards.number = layer->experts / pieces;
    shards.trained = experts / pieces;
    if (spread && expert_ranks > 1)
        add_shard(to, &shards);
}

static void add_gradients(struct transfer_writer *to, const struct job_layer *layer,
                          enum collective_kind kind, enum plan_when when, double count, double shown)
{
    const struct job *job = to->job;
    int ranks = job_copies(job);
    int expert_ranks = job_expert_copies(job);
    struct plan_transfer exchange = {.kind = kind,
                                     .purpose = PURPOSE_GRADIENTS,
                                     .when = when,
                                     .bytes = job_trained(job, layer) * job_formats_of(job).wire,
                                     .shown = shown};
    if (exchange.bytes > 0.0)
        add(to, exchange, ranks, job->degrees.tensor, count);
    exchange.purpose = PURPOSE_EXPERT_GRADIENTS;
    exchange.bytes = job_is_frozen(job) ? 0.0 : layer->experts * job_formats_of(job).wire;
    if (exchange.bytes > 0.0)
        add(to, exchange, expert_ranks, ranks * job->degrees.tensor / expert_ranks, count);
}

static void add_data(struct transfer_writer *to, const struct job_layers *layers,
                     const struct job_layer *layer, int blocks, const struct job_time *time)
{
    const struct job *job = to->job;
    double count = (double)job_microbatches(job);
    struct job_exchange exchange = job_exchange_of(job, layers);
    if (job->sharding == 3) {
        double moved = (exchange.shards + exchange.expert_shards) * count;
        add_shards(to, layer, blocks, moved > 0.0 ? time->data / moved : 0.0);
        return;
    }
    double whole = exchange.gradients + (job->sharding == 2 ? (count - 1.0) * exchange.scatter : 0.0);
    double shown = job_data_shown(job) * (whole > 0.0 ? time->data / whole : 1.0);
    if (job->sharding == 2) /* after each micro-batch but the last */
        add_gradients(to, layer, COLLECTIVE_REDUCE_SCATTER, WHEN_BACKWARD, (count - 1.0) / count, shown);
    add_gradients(to, layer, COLLECTIVE_ALL_REDUCE, WHEN_AFTER, 1.0, shown);
}

/* The formulas leave these out: both ends of the pipeline add up the gradients of an embedding that they share, and all
 * devices of a copy the squares of their gradients. */
static void add_model(struct transfer_writer *to, bool end)
{
    const struct job *job = to->job;
    int apart = job->degrees.tensor * job->degrees.context * job->degrees.data,
        devices = job->degrees.pipeline * job->degrees.tensor;
    struct plan_transfer sum = {.kind = COLLECTIVE_ALL_REDUCE, .when = WHEN_AFTER};
    if (end && job->model->tied && job->degrees.pipeline > 1 &&
        !job_is_folded(job)) { /* else one device holds both */
        sum.purpose = PURPOSE_TIE;
        sum.bytes = (double)job->model->hidden * (double)job->model->vocabulary / job->degrees.tensor *
                    job_formats_of(job).wire;
        add(to, sum, 2, apart, 1.0);
    }
    sum.purpose = PURPOSE_NORM;
    sum.bytes = sizeof(float);
    add(to, sum, devices, job->degrees.pipeline > 1 ? apart : 1, 1.0);
}

/* ---- all of a stage ---- */

bool plan_add_transfers_of_job(struct plan *plan, const struct job *job, const struct job_layers *layers,
                               const struct job_time *time)
{
    struct plan_pipeline *pipeline = &plan->pipelines[0];
    int count = pipeline->stage_count;
    for (int chunk = 0; chunk < count; chunk++) {
        struct plan_stage *stage = &pipeline->stages[chunk];
        struct transfer_writer to = {plan, stage, job, true};
        const struct job_part part = {
            .first = chunk == 0 ? 0 : stage->layers.first - 1,
            .last = chunk == count - 1 ? stage->layers.last - 1 : stage->layers.last,
            .embedding = chunk == 0,
            .head = chunk == count - 1,
        };
        struct job_layer layer = job_part_layer(job, layers, &part);
        const struct plan_device_type *type = &plan->types[stage->type];
        bool inside =
            job->devices_per_node / (job->degrees.tensor * job->degrees.context * job->degrees.data) >= 2;
        if (!plan_add_passes_of_job(plan, stage, job, layers, &part))
            return false;
        add_data(&to, layers, &layer, part.last - part.first, time);
        if (stage->chunk == 0 || (part.head && !job_is_folded(job)))
            add_model(&to, part.embedding || part.head);
        if (chunk + 1 < count && stage->bytes.sent > 0)
            to.ok =
                to.ok && plan_add_sends(plan, stage, stage + 1, inside ? type->inside : type->across,
                                        stage->bytes.sent, stage->seconds.send / 2, stage->seconds.send / 2);
        if (!to.ok)
            return false;
    }
    return true;
}
