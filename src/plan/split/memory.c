#include "plan/score/memory.h"
#include "plan/split/job.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- terms, where they are asked for ---- */

static const char always[] = "always", in_backward[] = "in a block's backward pass",
                  gathering[] = "while a block is computed";

__attribute__((format(printf, 6, 7))) static void note_term(struct job_memory_terms *terms, const char *part,
                                                            const char *name, const char *when, double bytes,
                                                            const char *format, ...)
{
    if (bytes == 0.0 || terms->count == JOB_MEMORY_TERMS)
        return;
    struct job_memory_term *term = &terms->items[terms->count++];
    va_list args;
    *term = (struct job_memory_term){.part = part, .name = name, .when = when, .bytes = bytes};
    va_start(args, format);
    vsnprintf(term->formula, sizeof term->formula, format, args);
    va_end(args);
}

#define NOTE(terms, ...)                                                                                     \
    do {                                                                                                     \
        if (terms)                                                                                           \
            note_term(terms, __VA_ARGS__);                                                                   \
    } while (0)

/* Of a part that adds up, or beside all of them. */
static void note_beside(struct job_memory_terms *terms, const char *part, const struct job *job)
{
    const struct cost_device *device = job->device;
    struct job_beside beside;
    job_beside(job, &beside);
    NOTE(terms, part, "context of the process", always, beside.context,
         "%.4g B of the device, %.4g B of kernels loaded at once", (double)device->context,
         job->software->loaded);
    for (int i = 0; i < beside.count; i++)
        NOTE(terms, part, "buffers of a communicator", "from its first message on", beside.items[i].bytes,
             "%s, %d devices", beside.items[i].name, beside.items[i].devices);
}

/* What is not there when memory is fullest. */
static void drop_terms(struct job_memory_terms *terms, const char *part)
{
    int kept = 0;
    for (int i = 0; terms && i < terms->count; i++)
        if (strcmp(terms->items[i].part, part) != 0)
            terms->items[kept++] = terms->items[i];
    if (terms)
        terms->count = kept;
}

/* ---- bytes ---- */

/* Returns the micro-batches whose activations a stage holds at once under 1F1B; an interleaved pipeline holds more
 * (Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.3). */
static double in_flight(const struct job *job, int stage)
{
    double stages = job->degrees.pipeline, from_end = stages - stage, chunks = job->chunks;
    if (chunks > 1.0)
        from_end += (stages - 1.0) / chunks;
    /* the pass beside which it exchanges is one ahead; without a pipeline it keeps a layer as soon as the other frees
     * one */
    if (job_overlap(job) >= OVERLAP_PASSES && job->degrees.pipeline > 1)
        from_end += 1.0 / chunks;
    return memory_in_flight(MEMORY_IN_FLIGHT, (double)job_microbatches(job), from_end);
}

/* Ranks that share states, gradients and parameters, without and of experts. */
struct sharers {
    double ranks, expert_ranks;
};

static struct sharers sharers_of(const struct job *job)
{
    return (struct sharers){job_shard_ranks(job), job_expert_shard_ranks(job)};
}

/* Returns the bytes of all parameters of a stage at `bytes` each, sharded over data parallel ranks from ZeRO stage
 * `from` on. */
static double held(const struct job *job, const struct job_layer *stage, const struct sharers *sharers,
                   double bytes, int from)
{
    bool shared = job->sharding >= from;
    return bytes * (stage->parameters / (shared ? sharers->ranks : 1.0) +
                    stage->experts / (shared ? sharers->expert_ranks : 1.0));
}

/* Notes the two terms of that: of experts, and of all others. */
static void note_held(struct job_memory_terms *terms, const char *part, const char *name,
                      const char *of_experts, const struct job *job, const struct job_layer *stage,
                      const struct sharers *sharers, double bytes, int from)
{
    bool shared = job->sharding >= from;
    double ranks = shared ? sharers->ranks : 1.0, expert_ranks = shared ? sharers->expert_ranks : 1.0;
    NOTE(terms, part, name, always, bytes * stage->parameters / ranks, "%.3g B x %.4g / %g", bytes,
         stage->parameters, ranks);
    NOTE(terms, part, of_experts, always, bytes * stage->experts / expert_ranks, "%.3g B x %.4g / %g", bytes,
         stage->experts, expert_ranks);
}

/* Returns the further bytes: of a block in its backward pass or the loss, and of gathered shards. */
static double working(const struct job *job, const struct job_layers *layers,
                      const struct job_formats *formats, bool last, const struct job_layer *stage,
                      struct job_memory_terms *terms)
{
    const struct software *software = job->software;
    double each = software->matrix_working * (last ? 1.0 : 0.5), matrix = each * stage->largest_matrix;
    double bytes = stage->working + matrix;
    if (last && layers->head.activations > bytes) {
        bytes = layers->head.activations;
        NOTE(terms, "working", "logits and loss", "in the loss", bytes, "of %.4g x %.4g logits",
             (double)job->microbatch * (double)job->sequence / job->degrees.context,
             (double)job->model->vocabulary / job->degrees.tensor);
    } else {
        NOTE(terms, "working", "a block's results and gradients", in_backward, stage->working,
             "%g x the widest tensors", software->backward_working);
        NOTE(terms, "working", "largest matrix", in_backward, matrix, "%g B x %.4g", each,
             stage->largest_matrix);
    }
    bool keeps = job_keeps_gathered(job), stays = keeps || job->technique.reshard == SWITCH_OFF;
    bool experts = job_expert_shard_ranks(job) > 1.0; /* else they are here anyway */
    if (job_shard_ranks(job) <= 1.0)                  /* nothing to gather */
        return bytes;
    /* gathered: this block, those that are fetched ahead, and the gradients of one if it has any */
    double ahead = job->technique.prefetch > 0 ? job->technique.prefetch : 1.0;
    double others = job_is_frozen(job) ? 1.0 : 2.0;
    if (job->sharding < 3)
        return bytes;
    double width = formats->gathered, of = experts ? stage->gathered : stage->gathered_alone;
    if (stays) {
        width += job->degrees.pipeline > 1 || keeps ? formats->gradient : 0.0;
        of = stage->parameters + (experts ? stage->experts : 0.0);
        NOTE(terms, "working", "gathered weights and gradients", "during the iteration", width * of,
             "%.3g B x %.4g", width, of);
    } else {
        width *= others + ahead;
        of = software->gathers_matrices ? stage->largest_matrix : of;
        NOTE(terms, "working", "gathered weights", gathering, width * of, "%.3g B x %g blocks x %.4g",
             formats->gathered, others + ahead, of);
    }
    bytes += width * of;
    if (!stays && software->keeps_root) {
        double root = layers->embedding.parameters + layers->head.parameters;
        double rest = 1.0 - 1.0 / job_shard_ranks(job);
        width = fmax(formats->gathered, 2.0);
        NOTE(terms, "working", "gathered embedding and head", "during the iteration", width * root * rest,
             "%.3g B x %.4g x %.3g", width, root, rest);
        bytes += width * root * rest;
    }
    return bytes;
}

/* Beside frozen weights: adapters, and what embedding and head hold beyond: theirs stay in 16 bits, and may be
 * trained. */
struct trained {
    double parameters, gradients, optimizer;
};

/* Returns the bytes that moments of low rank save. */
static double saved(const struct job *job, const struct job_layer *stage, const struct sharers *sharers)
{
    const struct job_layer bytes = {.parameters = job_low_bytes(job, &stage->low),
                                    .experts = job_low_bytes(job, &stage->expert_low)};
    return job_low_rank(job) > 0 ? held(job, &bytes, sharers, 1.0, 1) : 0.0;
}

static struct trained trained_of(const struct job *job, const struct job_layer *stage,
                                 const struct sharers *sharers, const struct job_formats *formats)
{
    const struct job_layer end = {.parameters = stage->ends}, adapters = {.parameters = stage->adapters};
    struct trained trained = {.parameters = held(job, &end, sharers, fmax(2.0 - formats->parameter, 0.0), 3)};
    if (!job_is_frozen(job))
        return (struct trained){0};
    if (job->software->adapter_in > 0.0) { /* PEFT's are on each device whole */
        trained.optimizer = (formats->trained + formats->gradient + formats->state) * stage->adapters;
    } else {
        trained.parameters += held(job, &adapters, sharers, formats->trained, 3);
        trained.gradients = held(job, &adapters, sharers, formats->gradient, 2);
        trained.optimizer = held(job, &adapters, sharers, formats->state, 1);
    }
    if (job->technique.ends == SWITCH_ON) { /* a copy beside the frozen one, with moments in fp32 */
        trained.parameters += held(job, &end, sharers, 2.0, 3);
        trained.gradients += held(job, &end, sharers, job->software->stored_gradient_bytes, 2);
        trained.optimizer += held(job, &end, sharers, 8.0, 1);
    }
    return trained;
}

static struct job_memory stage_memory(const struct job *job, const struct job_layers *layers, int stage,
                                      const struct job_layer *layer, struct job_memory_terms *terms)
{
    const struct software *software = job->software;
    struct job_formats formats = job_formats_of(job);
    struct sharers sharers = sharers_of(job);
    double flying = in_flight(job, stage), on_device = 1.0 - job->technique.offload / 100.0;
    /* activations on the host: one block's come and one block's go */
    double away = job_offload_share(job, layer->blocks), kept = layer->kept * (1.0 - away);
    double buffers = away > 0.0 ? 2.0 * layer->kept / layer->blocks : 0.0;
    struct job_layer both = *layer;
    if (job_is_double(job) || job_is_folded(job)) {
        struct job_layer other = job_other_stage(job, layers, stage);
        int64_t half = job_microbatches(job) / 2;
        double each = (double)half;
        if (job_is_double(job)) {
            flying = fmin(job->degrees.pipeline - stage, each);
            /* of the other, for each of these */
            kept += other.kept * (1.0 - away) * fmin(stage + 1.0, each) / flying;
        } else {
            flying =
                fmin(job->degrees.pipeline + (job_has_pairs(job) ? 0.5 : 0.0), (double)job_microbatches(job));
            kept = 2.0 * fmax(kept, other.kept * (1.0 - job_offload_share(job, other.blocks)));
        }
        both.parameters += other.parameters;
        both.experts += other.experts;
        both.ends += other.ends;
        both.adapters += other.adapters;
        both.low.fewer += other.low.fewer, both.low.projectors += other.low.projectors;
        both.expert_low.fewer += other.expert_low.fewer,
            both.expert_low.projectors += other.expert_low.projectors;
        both.working = fmax(layer->working, other.working);
        both.largest_matrix = fmax(layer->largest_matrix, other.largest_matrix);
    }
    layer = &both;
    struct trained trained = trained_of(job, layer, &sharers, &formats);
    bool loss = stage == job_depth(job) - 1 || ((job_is_double(job) || job_is_folded(job)) && stage == 0);
    double unsharded = job->sharding == 0 ? software->unsharded_bytes : 0.0;
    double state = formats.state + unsharded;
    double bucket = job->sharding == 1 || job->sharding == 2 ? software->bucket : 0.0;
    if (job->sharding == 0 && job_copies(job) > 1)
        bucket =
            software->ddp_bytes * (job_is_frozen(job) ? layer->adapters : layer->parameters + layer->experts);
    double low = job_is_frozen(job) ? 0.0 : saved(job, layer, &sharers);
    struct job_memory memory = {
        .parameters = held(job, layer, &sharers, formats.parameter, 3) + trained.parameters,
        .gradients = job_is_frozen(job) ? trained.gradients : held(job, layer, &sharers, formats.gradient, 2),
        .optimizer =
            (job_is_frozen(job) ? trained.optimizer : held(job, layer, &sharers, state, 1) - low) * on_device,
        .activations = kept * flying,
        .working = working(job, layers, &formats, loss, layer, terms) + buffers + bucket,
        .runtime = job_runtime(job),
    };
    if (terms) {
        note_held(terms, "parameters", "weights", "experts' weights", job, layer, &sharers, formats.parameter,
                  3);
        NOTE(terms, "parameters", "adapters, embedding and head", always, trained.parameters,
             "of %.4g and %.4g numbers", layer->adapters, layer->ends);
        if (job_is_frozen(job)) {
            NOTE(terms, "gradients", "of adapters", always, trained.gradients, "%.3g B x %.4g",
                 formats.gradient, layer->adapters);
            NOTE(terms, "optimizer", "adapters' states", always, trained.optimizer * on_device,
                 "of %.4g numbers", layer->adapters);
        } else {
            note_held(terms, "gradients", "gradients", "experts' gradients", job, layer, &sharers,
                      formats.gradient, 2);
            note_held(terms, "optimizer", "states", "experts' states", job, layer, &sharers,
                      state * on_device, 1);
            NOTE(terms, "optimizer", "moments of low rank", always, -low * on_device, "rank %d",
                 job_low_rank(job));
        }
        NOTE(terms, "activations", "kept for backward passes", "from a pass to its backward pass",
             memory.activations, "%.4g B x %.4g micro-batches in flight", kept, flying);
        NOTE(terms, "working", "on their way to the host", gathering, buffers, "those of 2 blocks of %.4g",
             layer->blocks);
        NOTE(terms, "working", "buckets of gradients", "while gradients are exchanged", bucket,
             job->sharding > 0 ? "of ZeRO, %.3g B" : "of DDP, %.3g B of a gradient",
             job->sharding > 0 ? software->bucket : software->ddp_bytes);
        NOTE(terms, "runtime", "context, buffers, fragmentation", always,
             software->runtime_share * (double)job->device->memory, "%.3g x %.4g B", software->runtime_share,
             (double)job->device->memory);
        NOTE(terms, "runtime", "workspace of products", always,
             JOB_WORKSPACES * (double)job->device->workspace, "%g x %.4g B", JOB_WORKSPACES,
             (double)job->device->workspace);
        if (software->prints_device)
            note_beside(terms, "runtime", job);
    }
    if (job->technique.step == SWITCH_ON) {
        memory.gradients = 0.0;
        drop_terms(terms, "gradients");
    }
    /* the peak is in the last layer's backward pass, or in the step */
    if (software->late_gradients && job->degrees.pipeline == 1 && job_microbatches(job) == 1) {
        double step = job_is_frozen(job) ? 0.0
                      : job->technique.step == SWITCH_ON
                          ? software->step_bytes * layer->largest_matrix
                          : held(job, layer, &sharers, software->step_bytes, 1);
        if (memory.activations + memory.working > memory.gradients + step) {
            memory.gradients = 0.0;
            drop_terms(terms, "gradients");
        } else {
            kept = memory.activations = 0.0;
            memory.working = step;
            drop_terms(terms, "activations");
            drop_terms(terms, "working");
            NOTE(terms, "working", "the step's copies", "in the optimizer's step", step, "%.3g B of a number",
                 software->step_bytes);
        }
    }
    double state_bytes = memory.parameters + memory.gradients + memory.optimizer;
    double used = state_bytes + memory.activations + memory.working;
    memory.runtime += software->reserved_share * used;
    NOTE(terms, "runtime", "reserved and not in use", always, software->reserved_share * used,
         "%.3g x the rest of it", software->reserved_share);
    const struct memory_stage bytes = {
        .state = state_bytes,
        .kept = kept,
        .working = memory.working,
        .runtime = memory.runtime,
    };
    memory.total = memory_of_stage(&bytes, flying);
    return memory;
}

struct job_memory job_stage_memory(const struct job *job, const struct job_layers *layers, int stage,
                                   const struct job_layer *layer)
{
    return stage_memory(job, layers, stage, layer, NULL);
}

void job_memory_explain(const struct job *job, struct job_memory_terms *terms)
{
    struct job_layers layers = job_layers_of(job);
    double most = 0.0;
    terms->count = 0;
    for (int stage = 0; stage < job->degrees.pipeline; stage++) {
        if (!job_stage_tells(job, &layers, stage))
            continue;
        struct job_layer layer =
            job_stage(job, &layers, stage, job_stage_first(job, layers.block_count, stage),
                      job_stage_first(job, layers.block_count, stage + 1));
        struct job_memory_terms tried = {.stage = stage};
        double total = stage_memory(job, &layers, stage, &layer, &tried).total;
        if (total > most) {
            most = total;
            *terms = tried;
        }
    }
    const struct software *software = job->software;
    double memory = (double)job->device->memory;
    if (!software->prints_device)
        note_beside(terms, JOB_MEMORY_BESIDE, job);
    if (software->reserved_share == 0.0)
        NOTE(terms, JOB_MEMORY_BESIDE, "cached blocks, at least", always, software->cached_share * most,
             "%.3g x the sum", software->cached_share);
    NOTE(terms, JOB_MEMORY_BESIDE, "kept by the driver", always, job->device->withheld * memory,
         "%.3g x %.4g B", job->device->withheld, memory);
}

struct job_memory job_memory_of(const struct job *job, const struct job_layers *layers)
{
    struct job_memory fullest = {0};
    for (int stage = 0; stage < job->degrees.pipeline; stage++) {
        if (!job_stage_tells(job, layers, stage))
            continue;
        int first = job_stage_first(job, layers->block_count, stage);
        int last = job_stage_first(job, layers->block_count, stage + 1);
        struct job_layer layer = job_stage(job, layers, stage, first, last);
        struct job_memory memory = job_stage_memory(job, layers, stage, &layer);
        if (memory.total > fullest.total)
            fullest = memory;
    }
    return fullest;
}

/* The fullest stage holds no less than the mean of all, and each stage holds one micro-batch at least. */
double job_memory_floor(const struct job *job, const struct job_layers *layers, double kept)
{
    struct job_formats formats = job_formats_of(job);
    struct sharers sharers = sharers_of(job);
    const struct job_layer *parts[] = {&layers->blocks, &layers->embedding, &layers->head, &layers->further};
    double on_device = 1.0 - job->technique.offload / 100.0, state = kept;
    bool late =
        job->technique.step == SWITCH_ON || (job->software->late_gradients && job->degrees.pipeline == 1);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        state += held(job, parts[i], &sharers, formats.parameter, 3);
        if (!job_is_frozen(job))
            state += (late ? 0.0 : held(job, parts[i], &sharers, formats.gradient, 2)) +
                     (held(job, parts[i], &sharers, formats.state, 1) - saved(job, parts[i], &sharers)) *
                         on_device;
    }
    return (state / job->degrees.pipeline + job_runtime(job)) * (1.0 - 1e-9);
}

struct job_memory job_memory(const struct job *job)
{
    struct job_layers layers = job_layers_of(job);
    return job_memory_of(job, &layers);
}
