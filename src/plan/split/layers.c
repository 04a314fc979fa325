#include "plan/split/job.h"

#include <math.h>
#include <string.h>

/* With a scale for each 128 numbers of 8 bits. */
static double kept_width(const struct job *job)
{
    double width = cost_type_bytes(cost_device_type(job->device, job->type));
    double usual = job->software->narrow_kept && width <= 1.0 ? 1.0 : 0.0;
    double kept = number_format_bytes(job->technique.activations, usual);
    return kept == 1.0 ? kept + 4.0 / 128.0 : kept;
}

struct layer_split job_split(const struct job *job)
{
    double width = cost_type_bytes(cost_device_type(job->device, job->type));
    return (struct layer_split){
        .microbatch = job->microbatch,
        .sequence = job->sequence,
        .document = job->document,
        .degrees = job->degrees,
        .expert_tensor = job->technique.expert_tensor,
        .imbalance = job_imbalance(job),
        .frozen = job_is_frozen(job),
        .rank = job->technique.rank,
        .targets = (unsigned)job->technique.targets,
        .weight_bytes = job_is_frozen(job) && job->technique.parameters ? job_formats_of(job).parameter : 0.0,
        .kept_width = kept_width(job),
        .middle_width = number_format_bytes(job->technique.activations, 0.0),
        .type = cost_device_type(job->device, job->type),
        .recipe = job->technique.recipe,
        .low_rank = job_low_rank(job),
        .norms_split = job->technique.sequence,
        .expert_kernels = job->technique.expert_kernels,
        .attention = job->technique.attention,
        .fused_mlp = job->technique.fused_mlp == SWITCH_ON && width <= 1.0,
        .narrow_attention = job->technique.narrow_attention == SWITCH_ON && width <= 1.0,
        .software = job->software,
    };
}

/* A layer's prices for any way of recomputation. */
struct price {
    struct job_pass pass; /* without recomputation */
    double transfers;     /* of `tensor`: those of the forward pass */
    double reduce, exchange;
    double seconds[LAYER_MAX_KERNELS / 2]; /* of each forward kernel */
    double norms;
};

static double price_kernel(const struct job *job, struct kernel_memo *memo, const struct kernel *kernel,
                           double *flops)
{
    if (job_is_frozen(job) && kernel->weights && !(job->technique.ends == SWITCH_ON && kernel->end))
        return 0.0;
    struct kernel_time time =
        memo ? kernel_memo_time(memo, kernel) : kernel_time(kernel, job->device, job->calibration);
    if (kernel->kind != KERNEL_STREAM && kernel->kind != KERNEL_QUANTIZE)
        *flops += time.flops;
    return time.seconds;
}

/* Sets the seconds of transfers: tensor parallel all-reduces, keys and values between context parallel ranks, tokens to
 * their experts; and of the kernels that come with them. */
static void price_transfers(const struct job *job, const struct layer_work *work, const double attention[2],
                            struct price *price)
{
    struct job_moved moved = job_moved_of(job, work, attention);
    price->reduce = moved.reduce * moved.reduce_shown;
    price->exchange = (moved.experts.dispatch + moved.experts.combine) / 2.0;
    price->transfers = work->tensor_forward * price->reduce + 2.0 * price->exchange + moved.context.forward;
    price->pass.forward += moved.context.kernels[0];
    price->pass.backward += moved.context.kernels[1];
    price->pass.ahead = price->transfers;
    price->pass.tensor = price->transfers + (work->tensor_backward * price->reduce + 2.0 * price->exchange +
                                             moved.context.backward);
}

static struct price price_layer(const struct job *job, struct kernel_memo *memo,
                                const struct layer_work *work)
{
    struct price price = {0};
    double attention[2] = {0.0, 0.0};
    for (int i = 0; i < work->forward_count; i++) {
        price.seconds[i] = price_kernel(job, memo, &work->kernels[i], &price.pass.flops);
        price.pass.forward += price.seconds[i];
        attention[0] += work->kernels[i].kind == KERNEL_ATTENTION ? price.seconds[i] : 0.0;
    }
    for (int i = work->forward_count; i < work->count; i++) {
        double seconds = price_kernel(job, memo, &work->kernels[i], &price.pass.flops);
        price.pass.backward += seconds;
        price.pass.weight += work->kernels[i].weights ? seconds : 0.0;
        attention[1] += work->kernels[i].kind == KERNEL_ATTENTION ? seconds : 0.0;
    }
    double uncounted = 0.0;
    if (work->norms.bytes > 0.0)
        price.norms = price_kernel(job, memo, &work->norms, &uncounted);
    price_transfers(job, work, attention, &price);
    return price;
}

/* Returns the modules that selective recomputation covers; 0: the software's own share of everything, or none. */
static unsigned job_modules(const struct job *job)
{
    if (job->recompute != RECOMPUTE_SELECTIVE)
        return 0;
    if (job->technique.modules != 0)
        return (unsigned)job->technique.modules;
    return software_attention(job->software, job->technique.attention) == ATTENTION_UNFUSED
               ? 1u << MODULE_CORE_ATTENTION
               : 0;
}

void job_again_transfers(const struct job *job, const struct layer_work *work, int *reduces, int *exchanges)
{
    unsigned modules = job_modules(job);
    bool experts = work->expert_parameters > 0.0, sent = work->expert_bytes > 0.0;
    bool again = modules >> (experts ? MODULE_EXPERTS : MODULE_MLP) & 1;
    *exchanges = again && sent ? 2 : 0;
    *reduces = again && !sent && work->tensor_bytes > 0.0 ? 1 : 0;
}

/* Adds the forward kernels and transfers that run again in the backward pass of a block. */
static void add_again(struct job_pass *pass, const struct job *job, const struct layer_work *work,
                      const struct price *price, bool whole)
{
    unsigned modules = job_modules(job);
    if (whole) {
        pass->recompute = price->pass.forward;
        pass->tensor += price->transfers;
        return;
    }
    if (job->recompute == RECOMPUTE_SELECTIVE && modules == 0) {
        pass->recompute = job->software->selective * price->pass.forward;
        return;
    }
    for (int i = 0; i < work->forward_count; i++)
        if (work->modules[i] & modules)
            pass->recompute += price->seconds[i];
    if (modules >> MODULE_NORMS & 1)
        pass->recompute += price->norms;
    int reduces, exchanges;
    job_again_transfers(job, work, &reduces, &exchanges);
    pass->tensor += reduces * price->reduce + exchanges * price->exchange;
}

/* Blocks wait for the host when it launches their kernels more slowly than the device runs them: the more of them, the
 * more run again in the backward pass. */
static void wait_for_host(struct job_pass *pass, const struct job *job, const struct layer_work *work,
                          bool whole)
{
    const struct software *software = job->software;
    unsigned modules = job_modules(job);
    int again = whole ? work->forward_count : 0;
    for (int i = 0; i < work->forward_count && !whole; i++)
        again += (work->modules[i] & modules) != 0;
    double launches = job_launches(job, work);
    double host = software->launch * launches * (1.0 + (double)again / work->count);
    if (launches > 0.0)
        host +=
            software->launch * software->again_launches * (whole ? 1 : job_parts_again(job, work, modules));
    pass->host = host > 0.0 ? fmax(host - job_pass_seconds(pass), 0.0) : 0.0;
    pass->backward += pass->host;
}

/* Hides exchanges of experts beside the kernels of another micro-batch. */
static void hide_exchanges(struct job_pass *pass, const struct job *job, double exchange)
{
    enum expert_overlap overlap = job_overlap(job);
    if (overlap < OVERLAP_PASSES || exchange <= 0.0)
        return;
    double kernels = pass->forward + pass->backward + pass->recompute;
    double alone = overlap == OVERLAP_WEIGHTS ? 0.0 : pass->weight;
    double shown = expert_pair_seconds(kernels, alone, exchange, job->device->units) - kernels;
    pass->hidden = fmax(exchange - shown, 0.0);
    pass->tensor -= pass->hidden;
}

/* Returns a block that is recomputed as a whole, or as its modules say. */
static struct job_layer block_of(const struct job *job, const struct layer_work *work,
                                 const struct price *price, bool whole)
{
    struct job_layer layer = {
        .pass = price->pass,
        .parameters = work->parameters,
        .experts = work->expert_parameters,
        .adapters = work->adapters,
        .low = work->low,
        .expert_low = work->expert_low,
        .kept = work->activation_bytes,
        .activations = work->activation_bytes,
        .working = job->software->backward_working * work->working_bytes,
        .largest_matrix = work->largest_matrix,
        .blocks = 1.0,
        .gathered = work->parameters + work->expert_parameters,
        .gathered_alone = work->parameters,
    };
    int reduces, exchanges;
    add_again(&layer.pass, job, work, price, whole);
    job_again_transfers(job, work, &reduces, &exchanges);
    hide_exchanges(&layer.pass, job, (4.0 + (whole ? 2.0 : exchanges)) * price->exchange);
    wait_for_host(&layer.pass, job, work, whole);
    bool several = job->technique.method == METHOD_UNIFORM && job->technique.layers > 1;
    if (whole) {
        double together = several ? job->technique.layers : 1.0;
        layer.kept = work->input_bytes / together;
        layer.working += work->activation_bytes * together;
    } else if (job->recompute == RECOMPUTE_SELECTIVE && job->technique.modules == 0) {
        layer.kept = work->selective_bytes;
    } else {
        double again;
        layer.kept -= layer_freed(work, job_modules(job), &again);
        layer.working += again;
    }
    return layer;
}

static struct job_layer end_of(const struct job *job, struct kernel_memo *memo, const struct layer_work *work,
                               double kept)
{
    struct price price = price_layer(job, memo, work);
    wait_for_host(&price.pass, job, work, false);
    return (struct job_layer){
        .pass = price.pass,
        .parameters = work->parameters,
        .ends = work->parameters,
        .kept = kept,
        .activations = work->activation_bytes,
    };
}

static void add_pass(struct job_pass *sum, const struct job_pass *pass, double times)
{
    sum->forward += times * pass->forward;
    sum->backward += times * pass->backward;
    sum->recompute += times * pass->recompute;
    sum->tensor += times * pass->tensor;
    sum->flops += times * pass->flops;
    sum->weight += times * pass->weight;
    sum->ahead += times * pass->ahead;
    sum->hidden += times * pass->hidden;
    sum->host += times * pass->host;
}

static void add_low(struct layer_low *sum, const struct layer_low *low, double times)
{
    sum->numbers += times * low->numbers;
    sum->fewer += times * low->fewer;
    sum->projectors += times * low->projectors;
}

static void add_layer(struct job_layer *sum, const struct job_layer *layer, double times)
{
    add_pass(&sum->pass, &layer->pass, times);
    sum->parameters += times * layer->parameters;
    sum->experts += times * layer->experts;
    sum->ends += times * layer->ends;
    sum->adapters += times * layer->adapters;
    add_low(&sum->low, &layer->low, times);
    add_low(&sum->expert_low, &layer->expert_low, times);
    sum->kept += times * layer->kept;
    sum->blocks += times * layer->blocks;
    sum->activations += times * layer->activations;
    sum->working = fmax(sum->working, layer->working);
    sum->largest_matrix = fmax(sum->largest_matrix, layer->largest_matrix);
    sum->gathered = fmax(sum->gathered, layer->gathered);
    sum->gathered_alone = fmax(sum->gathered_alone, layer->gathered_alone);
}

/* Returns how many blocks from `first` to `end` are the last of each `every`. */
static int lasts_of(int first, int end, int64_t every)
{
    return (int)(end / every - first / every);
}

static int common_divisor(int a, int b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* As architecture_alike, which looks at every letter: a search asks for each stage that it tries. */
static int count_pattern(const struct job_kind *kind, int blocks)
{
    if (kind->period == 0)
        return architecture_alike(kind->pattern, kind->mixer, kind->mlp, blocks);
    int rest = blocks % kind->period, count = blocks / kind->period * kind->each;
    for (int word = 0; word < 2 && rest > 0; word++, rest -= 64)
        count += __builtin_popcountll(rest < 64 ? kind->alike[word] & ((UINT64_C(1) << rest) - 1)
                                                : kind->alike[word]);
    return count;
}

static void set_pattern(struct job_kind *kind)
{
    int period = (int)strlen(kind->pattern->mixers);
    kind->period = period <= JOB_PATTERN ? period : 0;
    kind->each = 0;
    kind->alike[0] = kind->alike[1] = 0;
    for (int i = 0; i < kind->period; i++)
        if (kind->pattern->mixers[i] == kind->mixer && kind->pattern->mlps[i] == kind->mlp) {
            kind->alike[i / 64] |= UINT64_C(1) << i % 64;
            kind->each++;
        }
}

/* Returns how many of the first `end` blocks are of a kind. Blocks that are last in one way are counted by division,
 * those that are in both ways by the least common multiple, all others by subtraction. */
int job_kind_before(const struct job_kind *kind, int end)
{
    end = end < kind->first ? kind->first : end > kind->last ? kind->last : end;
    if (kind->pattern)
        return count_pattern(kind, end - kind->first);
    int a = kind->every > 0 ? kind->every : 1, b = kind->experts_every > 0 ? kind->experts_every : 1;
    int all = end - kind->first, from = kind->first - kind->from;
    end -= kind->from;
    int both = lasts_of(from, end, (int64_t)a / common_divisor(a, b) * b);
    int first = lasts_of(from, end, a), second = lasts_of(from, end, b);
    bool is_first = kind->is_last || a == 1, is_second = kind->has_experts || b == 1;
    return is_first ? (is_second ? both : first - both)
                    : (is_second ? second - both : all - first - second + both);
}

/* Some blocks of a chunk are recomputed as a whole, the others not at all. */
static bool recomputes_some(const struct job *job)
{
    return job->recompute == RECOMPUTE_FULL && job->technique.layers > 0 &&
           (job->technique.method == METHOD_BLOCK || job->technique.method == METHOD_EVERY);
}

int job_again_count(const struct job *job, const struct job_kind *kind, int first, int last)
{
    int layers = job->technique.layers;
    if (job->recompute != RECOMPUTE_FULL)
        return 0;
    if (!recomputes_some(job))
        return job_kind_before(kind, last) - job_kind_before(kind, first);
    int count = 0;
    if (job->technique.method == METHOD_BLOCK) {
        int64_t end = first + (int64_t)layers * job->chunks;
        return job_kind_before(kind, end < last ? (int)end : last) - job_kind_before(kind, first);
    }
    for (int64_t i = (int64_t)first + layers - 1; i < last; i += layers)
        count += job_kind_before(kind, (int)i + 1) - job_kind_before(kind, (int)i);
    return count;
}

double job_again_share(const struct job *job, int block_count)
{
    if (!recomputes_some(job))
        return 1.0;
    double layers = job->technique.layers;
    return job->technique.method == METHOD_EVERY
               ? 1.0 / layers
               : fmin(layers * job->chunks * job->degrees.pipeline / block_count, 1.0);
}

/* Adds a kind of block to the layers of each job; they differ in recomputation alone. */
static void add_kind(struct job_layers *all, const struct job *jobs, int count, struct kernel_memo *memo,
                     struct job_kind kind)
{
    const struct job *job = &jobs[0];
    int example = kind.first;
    while (example < kind.last && job_kind_before(&kind, example + 1) == 0)
        example++;
    if (example >= kind.last)
        return;
    struct layer_work work;
    struct layer_split split = job_split(job);
    transformer_block(&work, job->model, example, &split);
    struct price price = price_layer(job, memo, &work);
    /* each rank sends its share of the tokens */
    double bytes = work.output_bytes / (job->technique.sequence == SWITCH_OFF ? 1 : job->degrees.tensor);
    double inside = job_transfer(job, COLLECTIVE_SEND, 2, 1, bytes),
           across = job_transfer(job, COLLECTIVE_SEND, 2, job->devices_per_node, bytes);
    for (int i = 0; i < count; i++) {
        struct job_layers *layers = &all[i];
        kind.again = block_of(&jobs[i], &work, &price, jobs[i].recompute == RECOMPUTE_FULL);
        kind.layer = recomputes_some(&jobs[i]) ? block_of(&jobs[i], &work, &price, false) : kind.again;
        layers->kinds[layers->kind_count++] = kind;
        add_layer(&layers->blocks, &kind.layer, job_kind_before(&kind, kind.last));
        add_pass(&layers->again, &kind.again.pass, job_kind_before(&kind, kind.last));
        layers->sent = bytes;
        layers->send_inside = 2.0 * inside * job->calibration->send;
        layers->send_across = 2.0 * across * job->calibration->send;
    }
}

/* Blocks out of first..last - 1, where every so many-th has full attention, and likewise experts; 0: all alike. */
static void add_periodic(struct job_layers *layers, const struct job *jobs, int count,
                         struct kernel_memo *memo, struct job_kind kind)
{
    for (int k = 0; k < 4; k++) {
        kind.has_experts = k >= 2, kind.is_last = k % 2;
        if ((!kind.has_experts || kind.experts_every > 0) && (!kind.is_last || kind.every > 0))
            add_kind(layers, jobs, count, memo, kind);
    }
}

/* Each pair of letters is a kind. */
static void add_patterns(struct job_layers *layers, const struct job *jobs, int count,
                         struct kernel_memo *memo)
{
    const struct architecture *model = jobs[0].model;
    struct job_kind kind = {
        .first = architecture_first_block(model), .last = layers->block_count, .pattern = model};
    for (int i = 0; model->mixers[i]; i++) {
        kind.mixer = model->mixers[i], kind.mlp = model->mlps[i];
        if (architecture_alike(model, kind.mixer, kind.mlp, i) > 0)
            continue;
        set_pattern(&kind);
        add_kind(layers, jobs, count, memo, kind);
    }
}

/* The kind of block changes at the first block of the decoder and at the first block with experts. The last kind is
 * that of further tokens' blocks. */
static void add_kinds(struct job_layers *layers, const struct job *jobs, int count, struct kernel_memo *memo)
{
    const struct job *job = &jobs[0];
    const struct architecture *model = job->model;
    int tower = model->vision_layers, decoder = tower + model->encoder_layers;
    int experts = tower + (model->experts > 0 ? model->dense_layers : 0);
    bool mixes = model->window > 0 && model->window < job->sequence && model->window_every > 0;
    int every = model->experts_every > 1 ? model->experts_every : 0;
    int starts[] = {tower, decoder < experts ? decoder : experts, decoder < experts ? experts : decoder,
                    layers->block_count};
    add_periodic(
        layers, jobs, count, memo,
        (struct job_kind){.last = tower, .every = model->vision_window ? model->vision_window_every : 0});
    if (model->mixers)
        add_patterns(layers, jobs, count, memo);
    for (int i = 0; i < 3 && !model->mixers; i++)
        add_periodic(layers, jobs, count, memo,
                     (struct job_kind){.first = starts[i],
                                       .last = starts[i + 1] < layers->block_count ? starts[i + 1]
                                                                                   : layers->block_count,
                                       .from = tower,
                                       .every = mixes ? model->window_every : 0,
                                       .experts_every = starts[i] >= experts ? every : 0});
}

/* Each block for further tokens is one like the last, with a head of its own that has the main one's matrix. */
static void add_further(struct job_layers *layers, const struct job *jobs, int count,
                        struct kernel_memo *memo)
{
    const struct job *job = &jobs[0];
    struct layer_split split = job_split(job);
    struct layer_work work;
    transformer_join(&work, job->model, &split);
    struct job_layer join = end_of(job, memo, &work, work.activation_bytes);
    for (int i = 0; i < count; i++) {
        const struct job_kind *last = &layers[i].kinds[layers[i].kind_count - 1];
        struct job_layer head = layers[i].head;
        head.parameters = 0.0;
        for (int m = 0; m < job->model->mtp_layers; m++) {
            add_layer(&layers[i].further, &last->again, 1.0);
            add_layer(&layers[i].further, &join, 1.0);
            add_layer(&layers[i].further, &head, 1.0);
        }
    }
}

void job_layers_each(const struct job *jobs, int count, struct kernel_memo *memo, struct job_layers *layers)
{
    const struct job *job = &jobs[0];
    struct layer_split split = job_split(job);
    struct layer_work work;
    for (int i = 0; i < count; i++)
        layers[i] = (struct job_layers){.block_count = job_block_count(job)};
    add_kinds(layers, jobs, count, memo);
    transformer_embedding(&work, job->model, &split);
    struct job_layer embedding = end_of(job, memo, &work, work.activation_bytes);
    transformer_head(&work, job->model, &split);
    /* the loss holds its activations for one micro-batch at a time */
    struct job_layer head = end_of(job, memo, &work, 0.0);
    for (int i = 0; i < count; i++) {
        layers[i].embedding = embedding;
        layers[i].head = head;
    }
    if (job->model->mtp_layers > 0)
        add_further(layers, jobs, count, memo);
}

struct job_layers job_layers_of(const struct job *job)
{
    struct job_layers layers;
    job_layers_each(job, 1, NULL, &layers);
    return layers;
}

/* A stage takes blocks until their matrices and its share of the head's pass its share of all (nanotron's
 * build_model and get_block_compute_costs, 2024-07). */
static int weighed_first(const struct job *job, int block_count, int stage)
{
    const struct architecture *model = job->model;
    double hidden = (double)model->hidden, width = (double)(model->heads * model->head_width);
    double block = 4.0 * width * hidden + 3.0 * (double)model->ffn * hidden;
    double all = block_count + (double)model->vocabulary * hidden / block;
    double first = floor(all * stage / job_depth(job)) + 1.0;
    return stage == 0 ? 0 : first < block_count ? (int)first : block_count;
}

int job_stage_first(const struct job *job, int block_count, int stage)
{
    int sum = 0;
    if (job->stage_blocks) {
        for (int i = 0; i < stage; i++)
            sum += job->stage_blocks[i];
        return sum;
    }
    if (job->software->weighs_stages && !job_is_folded(job))
        return weighed_first(job, block_count, stage);
    /* one device of a folded chain has both ends: each counts as a block */
    int depth = job_depth(job), ends = job_is_folded(job) && block_count + 2 >= 2 * depth;
    int each = (block_count + 2 * ends) / depth, more = (block_count + 2 * ends) % depth;
    int from = more == depth - 1 ? stage : stage - 1; /* without embedding or head first */
    return each * stage +
           (from < 0      ? 0
            : from > more ? more
                          : from) -
           ends * ((stage > 0) + (stage == depth));
}

int job_block_count(const struct job *job)
{
    return job->model->layers + architecture_first_block(job->model);
}

int job_stage_blocks(const struct job *job, int stage)
{
    int count = job_block_count(job);
    return job_stage_first(job, count, stage + 1) - job_stage_first(job, count, stage);
}

int job_chunk_blocks(const struct job *job, int chunk)
{
    if (job_is_folded(job))
        return job_stage_blocks(job, chunk);
    int stage = chunk % job->degrees.pipeline, at = chunk / job->degrees.pipeline, chunks = job->chunks;
    int64_t blocks = job_stage_blocks(job, stage), up = stage == job->degrees.pipeline - 1 ? chunks - 1 : 0;
    return (int)((blocks * (at + 1) + up) / chunks - (blocks * at + up) / chunks);
}

/* Adds the exposed transfers of activations to the host, and back, of the first blocks of each chunk. */
static void add_offload(struct job_layer *sum, const struct job *job)
{
    if (sum->blocks <= 0.0)
        return;
    double kept = sum->kept / sum->blocks, away = job_offload_share(job, sum->blocks) * sum->blocks;
    double back = sum->pass.backward + sum->pass.recompute;
    sum->pass.tensor += away * (job_offload_shown(job, kept, sum->pass.forward / sum->blocks) +
                                job_offload_shown(job, kept, back / sum->blocks));
}

struct job_layer job_stage(const struct job *job, const struct job_layers *layers, int stage, int first,
                           int last)
{
    struct job_layer sum = {0};
    for (int i = 0; i < layers->kind_count; i++) {
        const struct job_kind *kind = &layers->kinds[i];
        int count = job_kind_before(kind, last) - job_kind_before(kind, first);
        int again = job_again_count(job, kind, first, last);
        if (again > 0)
            add_layer(&sum, &kind->again, again);
        if (count > again)
            add_layer(&sum, &kind->layer, count - again);
    }
    if (job->technique.offload_activations > 0)
        add_offload(&sum, job);
    bool is_last = stage == job_depth(job) - 1;
    if (stage == 0)
        add_layer(&sum, &layers->embedding, 1.0);
    if (is_last)
        add_layer(&sum, &layers->head, 1.0);
    if (is_last && job->model->mtp_layers > 0)
        add_layer(&sum, &layers->further, 1.0);
    if (is_last && stage > 0 && job->model->tied && !job_is_folded(job)) /* the embedding's matrix, copied */
        sum.parameters += (double)job->model->hidden * (double)job->model->vocabulary / job->degrees.tensor;
    return sum;
}

struct job_layer job_part_layer(const struct job *job, const struct job_layers *layers,
                                const struct job_part *part)
{
    struct job one = *job;
    int last = job_depth(job) - 1;
    if (!job_is_folded(job)) { /* the middle stage of three has neither embedding nor head */
        one.chunks = 1;
        one.degrees.pipeline = part->embedding && part->head ? 1 : 3;
        last = one.degrees.pipeline - 1;
    }
    return job_stage(&one, layers, part->embedding ? 0 : part->head ? last : 1, part->first, part->last);
}
