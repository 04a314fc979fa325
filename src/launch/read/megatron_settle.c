/* What Megatron-LM's names say together: conflicts, precision, sharding, recomputation, experts, windows. Other
 * software's readers end with it, too. */
#include "launch/megatron.h"
#include "launch/read/read.h"
#include "launch/shell/shell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_BLOCKS 100000

bool launch_read_layout(struct launch_options *options, const struct launch_argument *argument,
                        struct error *err)
{
    int *blocks, count;
    if (!argument->value ||
        !megatron_layout_read(argument->value, &options->arena, &blocks, &count, &options->stage_mtp))
        return launch_refuse(argument, err,
                             "expected stages as in 'Et*3|(tt|)*29,m|L', at most %d, found '%s'",
                             LAUNCH_MAX_STAGES, argument->value ? argument->value : "");
    int64_t pipeline = options->pipeline.given ? options->pipeline.value : 1;
    if (count % pipeline != 0)
        return error_set(err, ERROR_INPUT,
                         "%s:%d: %s has %d stages, not a multiple of the pipeline's %" PRId64, argument->path,
                         argument->line, argument->name, count, pipeline);
    for (int i = (int)pipeline; i < count; i++)
        blocks[i % pipeline] += blocks[i];
    launch_set(&options->chunks, argument, count / pipeline);
    options->stage_blocks = blocks;
    options->stage_count = (int)pipeline;
    return true;
}

static bool conflict(const struct launch_options *options, const char *one, const char *other,
                     struct error *err)
{
    const struct launch_argument *a = launch_argument(options, one), *b = launch_argument(options, other);
    if (!a || !b || !launch_is_on(options, one) || !launch_is_on(options, other))
        return false;
    error_set(err, ERROR_INPUT, "%s:%d: %s and %s (line %d) exclude each other", a->path, a->line, a->name,
              b->name, b->line);
    return true;
}

static bool conflicts(const struct launch_options *options, struct error *err)
{
    static const char *const pairs[][2] = {
        {"bf16", "fp16"},
        {"fp8-format", "fp4-format"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (conflict(options, pairs[i][0], pairs[i][1], err))
            return true;
    return false;
}

static void settle_type(struct launch_options *options)
{
    const struct {
        const struct launch_value *by;
        enum cost_type type;
    } types[] = {{&options->fp4, COST_FP4},
                 {&options->fp8, COST_FP8},
                 {&options->bf16, COST_BF16},
                 {&options->fp16, COST_FP16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].by->given && types[i].by->value && !options->type.given)
            options->type = (struct launch_value){true, types[i].by->line, types[i].type};
}

/* ZeRO stages belong to Megatron-FSDP; without it the strategy is ignored (megatron/training/training.py). */
static void settle_sharding(struct launch_options *options)
{
    static const char *const strategies[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    const struct launch_argument *strategy = launch_argument(options, "data-parallel-sharding-strategy");
    if (options->fsdp.given) {
        /* Megatron-Bridge's recipes and scripts, and MLPerf's submissions, shard all unless they say otherwise */
        bool shards = strcmp(options->reader ? options->reader : "", "Megatron-LM") != 0;
        int stage = strategy ? -1 : shards ? 3 : 0;
        for (int i = 0; strategy && strategy->value && i < 4; i++)
            if (strcasecmp(strategies[i], strategy->value) == 0)
                stage = i;
        options->sharding = (struct launch_value){true, options->fsdp.line, stage < 0 ? 0 : stage};
    } else if (options->distributed_optimizer.given && options->distributed_optimizer.value &&
               !options->sharding.given)
        options->sharding = (struct launch_value){true, options->distributed_optimizer.line, 1};
    if (options->replicate.given && !options->technique[TECHNIQUE_REPLICATE].given)
        options->technique[TECHNIQUE_REPLICATE] = options->replicate;
}

/* Appends blocks to a list: "([0]*3+[1]*58)", "[0,1,1]", "(([0]*1+[1])*24+[0]*0)". Returns what is behind them; NULL:
 * it is no such list. */
static const char *add_blocks(const char *at, struct text *blocks, int depth)
{
    for (bool more = true; more;) {
        size_t start = blocks->length;
        if (*at == '(' && depth < 8) {
            at = add_blocks(at + 1, blocks, depth + 1);
            if (!at || *at++ != ')')
                return NULL;
        } else if (*at == '[') {
            for (at++; *at == '0' || *at == '1'; at += at[1] == ',' ? 2 : 1)
                text_add_bytes(blocks, at, 1);
            if (*at++ != ']')
                return NULL;
        } else
            return NULL;
        size_t length = blocks->length - start;
        if (*at == '*') {
            char *end;
            long times = strtol(at + 1, &end, 10);
            if (end == at + 1 || times < 0 || times > MAX_BLOCKS || (size_t)times * length > MAX_BLOCKS)
                return NULL;
            at = end;
            char *copy = length > 0 && !blocks->failed ? strndup(blocks->data + start, length) : NULL;
            for (long i = 1; copy && i < times; i++)
                text_add_bytes(blocks, copy, length);
            if (times == 0)
                blocks->length = start;
            free(copy);
        }
        more = *at == '+';
        at += more;
    }
    return blocks->length <= MAX_BLOCKS ? at : NULL;
}

bool launch_pattern(const char *list, struct text *blocks)
{
    char bare[1024];
    size_t length = 0;
    for (; *list && length + 1 < sizeof bare; list++)
        if (*list != ' ')
            bare[length++] = *list;
    bare[length] = '\0';
    const char *end = *list ? NULL : add_blocks(bare, blocks, 0);
    return end && !*end && blocks->length > 0;
}

/* Sets the blocks with experts: all behind dense ones at the beginning, or the last of each so many. False: in another
 * order. */
static bool set_expert_blocks(struct launch_options *options, const struct launch_argument *argument,
                              const struct text *blocks)
{
    size_t first = 0, every = 0;
    while (first < blocks->length && blocks->data[first] == '0')
        first++;
    for (size_t i = first + 1; every == 0 && i < blocks->length; i++)
        if (blocks->data[i] == '1')
            every = i - first;
    if (every > 1 && (first + 1) % every != 0)
        return false;
    size_t dense = every > 1 ? first + 1 - every : first;
    for (size_t i = 0; every > 0 && i < blocks->length; i++)
        if ((blocks->data[i] == '1') != (i >= dense && (every == 1 || i % every == every - 1)))
            return false;
    launch_set(&options->dense_layers, argument, (int64_t)dense);
    if (every > 1)
        launch_set(&options->experts_every, argument, (int64_t)every);
    return true;
}

/* A list of all blocks, or N: the first of each N has experts, which costs as the last of each does. */
static void settle_expert_blocks(struct launch_options *options)
{
    struct launch_argument *layers = launch_argument(options, "moe-layer-freq");
    int64_t every;
    if (!layers || !layers->value)
        return;
    if (launch_number(layers->value, 1, &every)) {
        if (every > 1 && every <= MAX_BLOCKS)
            launch_set(&options->experts_every, layers, every);
        return;
    }
    struct text blocks = {0};
    const char *end = layers->value;
    for (; layers->shape == SHAPE_LIST && *end && strchr("01 ", *end) && blocks.length < MAX_BLOCKS; end++)
        text_add_bytes(&blocks, end, *end != ' ');
    bool is_list = layers->shape == SHAPE_LIST ? !*end && blocks.length > 0 : launch_pattern(end, &blocks);
    if (!is_list || !set_expert_blocks(options, layers, &blocks)) {
        layers->use = is_list ? LAUNCH_UNMODELLED : LAUNCH_UNKNOWN;
        layers->note = is_list ? "dense blocks at irregular places between expert blocks"
                               : "expected a number, or a list as '([0]*3+[1]*58)'";
    }
    options->no_memory |= blocks.failed;
    text_release(&blocks);
}

/* Tells of odd words that Megatron-LM does not look at. */
static void note_unused(struct launch_options *options, struct launch_argument *argument, const char *without)
{
    argument->use = LAUNCH_IDLE;
    launch_note(options, "%s '%s' is unknown, and has no effect without %s", argument->name, argument->value,
                without);
}

/* One kind for all layers, or one for each: the first is priced. Megatron-LM looks at them with context parallelism
 * only. */
static bool settle_context_kind(struct launch_options *options, struct error *err)
{
    static const char between[] = " ,[]'\"";
    struct launch_argument *by = launch_argument(options, "cp-comm-type");
    struct launch_value *set = &options->technique[TECHNIQUE_CONTEXT_KIND];
    bool used = options->context.given && options->context.value > 1;
    if (!by || !launch_is_on(options, by->name) || strchr(by->value, SHELL_MARK))
        return true;
    for (const char *at = by->value; *(at += strspn(at, between));) {
        char *word = arena_copy(&options->arena, at, strcspn(at, between));
        struct text expected = {0};
        int kind;
        if (!word)
            return error_memory(err);
        at += strlen(word);
        bool known = technique_read(strcasecmp(word, "allgather") == 0 ? "all_gather" : word,
                                    TECHNIQUE_CONTEXT_KIND, &kind, &expected);
        if (!known && used)
            launch_refuse(by, err, "expected %s, found '%s'", expected.data ? expected.data : "", word);
        text_release(&expected);
        if (!known && !used)
            note_unused(options, by, "context parallelism");
        if (!known)
            return !used;
        if (set->given && set->value != kind) {
            by->use = LAUNCH_UNMODELLED;
            by->note = "layers that exchange in different ways: the first one's is priced";
        } else
            launch_set(set, by, kind);
    }
    return true;
}

static void settle_experts(struct launch_options *options)
{
    settle_expert_blocks(options);
    struct launch_value *technique = options->technique;
    bool experts = options->expert.given && options->expert.value > 1;
    /* as all else where it is not said (arguments.py:587), and where there is no expert parallelism */
    if (experts)
        technique[TECHNIQUE_EXPERT_TENSOR] =
            options->expert_tensor.given ? options->expert_tensor : options->tensor;
    bool delayed = launch_is_on(options, "delay-wgrad-compute") ||
                   launch_is_on(options, "comm_overlap.delay_wgrad_compute");
    if (technique[TECHNIQUE_EXPERT_OVERLAP].given && delayed)
        technique[TECHNIQUE_EXPERT_OVERLAP].value = OVERLAP_WEIGHTS;
    if (!experts)
        technique[TECHNIQUE_DISPATCH].given = technique[TECHNIQUE_EXPERT_OVERLAP].given = false;
}

/* The modules of selective recomputation, and the number of layers of full recomputation. */
static bool settle_recompute(struct launch_options *options, struct error *err)
{
    /* of Megatron-LM, of NeMo 1 and Megatron-LM of 2021, and of AMD's submissions to MLPerf */
    static const char *const methods[] = {"recompute-method", "activations-checkpoint-method", "ACM",
                                          "ACT_CKPT_METHOD"};
    static const char *const counts[] = {"recompute-num-layers", "activations-checkpoint-num-layers", "ACL",
                                         "ACT_CKPT_NUM_LAYERS", "checkpoint-num-layers"};
    struct launch_argument *modules = launch_argument(options, "recompute-modules");
    const struct launch_argument *method = NULL;
    int64_t layers = 1;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        method = method ? method : launch_argument(options, methods[i]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !launch_whole(options, counts[i], &layers); i++)
        ;
    bool selects = options->recompute.value == RECOMPUTE_SELECTIVE;
    if (launch_is_on(options, "recompute-modules") ||
        (modules && modules->value && !*modules->value && selects)) {
        struct text words = {0}, expected = {0};
        int value;
        for (const char *at = modules->value; *at;
             at++) { /* "mlp moe_act", "[mlp moe_act]", "mlp, moe_act" */
            bool blank = strchr(" ,[]'\"", *at) != NULL,
                 more = words.length > 0 && words.data[words.length - 1] != '+';
            if (!blank)
                text_add_bytes(&words, at, 1);
            else if (more && at[strspn(at, " ,[]'\"")])
                text_add(&words, "+");
        }
        bool none = words.length == 0 && !words.failed; /* [] */
        if (none && selects)
            launch_set(&options->recompute, modules, RECOMPUTE_NONE);
        bool known = none || (!words.failed && technique_read(words.data ? words.data : "", TECHNIQUE_MODULES,
                                                              &value, &expected));
        if (known && !none && selects)
            launch_set(&options->technique[TECHNIQUE_MODULES], modules, value);
        else if (!known && !selects)
            note_unused(options, modules, "selective recomputation");
        else if (!known && options->missing_count == 0)
            launch_refuse(modules, err, "expected %s; found '%s'", expected.data ? expected.data : "",
                          modules->value);
        text_release(&words);
        text_release(&expected);
        if (!known && selects && options->missing_count == 0)
            return false;
    }
    if (!options->recompute.given || options->recompute.value != RECOMPUTE_FULL)
        return true;
    bool block = method && method->value && strcasecmp(method->value, "block") == 0;
    if (block || layers > 1) {
        launch_set(&options->technique[TECHNIQUE_METHOD], method, block ? METHOD_BLOCK : METHOD_UNIFORM);
        launch_set(&options->technique[TECHNIQUE_LAYERS], method, layers);
    }
    return true;
}

/* States of other formats need the precision-aware optimizer. */
static bool settle_offload(struct launch_options *options, struct error *err)
{
    const struct launch_argument *fraction = launch_argument(options, "optimizer-offload-fraction");
    double share = 1;
    int64_t count;
    if (!launch_is_on(options, "use-precision-aware-optimizer")) {
        options->technique[TECHNIQUE_MASTER].given = false;
        if (launch_argument(options, "exp-avg-dtype"))
            options->technique[TECHNIQUE_MOMENTS].given = false;
    }
    struct launch_argument *second = launch_argument(options, "exp-avg-sq-dtype");
    const char *first = launch_text(options, "exp-avg-dtype");
    if (second && second->value && strcmp(second->value, first ? first : "fp32") != 0) {
        second->use = LAUNCH_UNMODELLED;
        second->note = "a second moment in another format than the first; both are priced as the first";
    }
    if (launch_is_on(options, "optimizer-cpu-offload")) {
        if (fraction && fraction->value && !text_real(fraction->value, &share))
            share = 1; /* not known */
        if (!(share >= 0 && share <= 1))
            return launch_refuse(fraction, err, "expected a number from 0 to 1, found '%s'", fraction->value);
        launch_set(&options->technique[TECHNIQUE_OFFLOAD], fraction, (int64_t)(share * 100 + 0.5));
    }
    const struct launch_argument *offload = launch_argument(options, "cpu-offloading");
    bool off = offload && !launch_is_on(options, offload->name);
    if (!off && launch_whole(options, "cpu-offloading-num-layers", &count))
        launch_set(&options->technique[TECHNIQUE_OFFLOAD_ACTIVATIONS],
                   launch_argument(options, "cpu-offloading-num-layers"), count);
    return true;
}

/* BigScience gives the embedding and the head the place of a block each. */
static void settle_places(struct launch_options *options)
{
    const struct launch_argument *method = launch_argument(options, "pp-partition-method");
    if (!method || !method->value || !strstr(method->value, "embedding"))
        return;
    launch_set(&options->counts_embedding, method, 1);
    launch_set(&options->counts_head, method, 1);
}

/* Windows, dropouts, and a batch that a schedule gives: its last is the one that lasts. */
static void settle_rest(struct launch_options *options)
{
    const char *size = launch_text(options, "window-size");
    struct launch_argument *window = launch_argument(options, "window-size"),
                           *every = launch_argument(options, "window-attn-skip-freq"),
                           *schedule = launch_argument(options, "step-batch-size-schedule");
    int64_t number;
    if (size && !strchr(size, SHELL_MARK)) {
        size_t begin = strspn(size, "([");
        const char *tokens = arena_copy(&options->arena, size + begin, strcspn(size + begin, ",)] "));
        bool one = tokens && launch_number(tokens, 1, &number);
        options->no_memory |= !tokens;
        if (one)
            launch_set(&options->window, NULL, number);
        one |= tokens && strcmp(tokens, "-1") == 0; /* no limit */
        window->use = one && !size[strspn(size, "0123456789-,()[] ")] ? LAUNCH_READ : LAUNCH_UNKNOWN;
        window->note = window->use == LAUNCH_READ ? NULL : "expected tokens before and behind, as '1024,0'";
    }
    if (every && launch_whole(options, "window-attn-skip-freq", &number)) {
        if (options->window.given) /* else it says nothing */
            launch_set(&options->window_every, NULL, number);
    } else if (every && launch_is_on(options, every->name) && !strchr(every->value, SHELL_MARK)) {
        bool is_list = !every->value[strspn(every->value, "0123456789*+,()[] ")];
        every->use = is_list ? LAUNCH_UNMODELLED : LAUNCH_UNKNOWN;
        every->note = is_list ? "which blocks have windows" : "expected a number, or a list as '([1]*5+[0])'";
    }
    for (int i = 0; i < 2; i++) {
        const struct launch_argument *dropout =
            launch_argument(options, i ? "hidden-dropout" : "attention-dropout");
        double share;
        if (dropout && dropout->value && text_real(dropout->value, &share))
            launch_set(&options->dropout, dropout,
                       (options->dropout.given && options->dropout.value) || share > 0);
    }
    if (schedule && schedule->value) {
        const char *last = strrchr(schedule->value, ':');
        if (last && launch_number(last + 1, 1, &number)) {
            launch_set(&options->batch, schedule, number);
            schedule->use = LAUNCH_UNMODELLED;
            schedule->note = "the batch grows; its last value is priced";
        } else if (launch_is_on(options, schedule->name) && !strchr(schedule->value, SHELL_MARK)) {
            schedule->use = LAUNCH_UNKNOWN;
            schedule->note = "expected samples and batches, as '0:768 1000:1536'";
        }
    }
}

/* Is something off: switched off by one of its names, or, if `asked`, by none switched on? */
static bool is_habit_off(const struct launch_options *options, const char *const *names, bool asked)
{
    for (; *names; names++)
        if (launch_argument(options, *names))
            return !launch_is_on(options, *names);
    return asked;
}

/* Attention whose scores go through memory. "local" is Megatron-LM's own code, whose attention is fused by an
 * option. */
static bool is_unfused(const struct launch_options *options)
{
    const char *backend = launch_text(options, "attention-backend");
    const char *code = launch_text(options, "transformer-impl");
    static const char *const names[] = {"use-flash-attn", "use-flash-attn-v1", "use-flash-attn-v2",
                                        "use-flash-attn-triton", "use-flash-attn-builder"};
    bool flash = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        flash |= launch_is_on(options, names[i]);
    if (backend && strcasecmp(backend, "auto") != 0)
        return strcasecmp(backend, "unfused") == 0 || (strcasecmp(backend, "local") == 0 && !flash);
    return code && strcasecmp(code, "local") == 0 && !flash;
}

/* A graph of the whole iteration, by its own word of 2026, by its scope before, or by MLPerf's names. */
static void settle_graphs(struct launch_options *options)
{
    static const char *const names[] = {"cuda-graph-impl",  "CUDA_GRAPH_IMPLEMENTATION", "cuda-graph-scope",
                                        "CUDA_GRAPH_SCOPE", "cuda-graph-modules",        "FULL_CUDA_GRAPH",
                                        "MCORE_CUDA_GRAPH", "enable-cuda-graph"};
    enum { SCOPES = 5 };
    const char *kind = launch_text(options, names[0]);
    kind = kind ? kind : launch_text(options, names[1]);
    bool on = kind ? *kind && strcasecmp(kind, "none") != 0
                   : launch_is_on(options, "enable-cuda-graph") || launch_is_on(options, "MCORE_CUDA_GRAPH");
    struct launch_argument *by = NULL;
    if (launch_is_on(options, "FULL_CUDA_GRAPH"))
        by = launch_argument(options, "FULL_CUDA_GRAPH");
    for (size_t i = 0; i < SCOPES; i++) {
        struct launch_argument *scope = launch_argument(options, names[i]);
        if (scope && scope->value && strstr(scope->value, "full_iteration") &&
            !strstr(scope->value, "full_iteration_inference"))
            by = scope;
    }
    if (!on || !by)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (launch_is_on(options, names[i]))
            launch_argument(options, names[i])->use = LAUNCH_READ;
    launch_set(&options->technique[TECHNIQUE_GRAPHS], by, GRAPHS_ITERATION);
}

void launch_settle_habits(struct launch_options *options)
{
    static const char *const gradients[] = {"overlap-grad-reduce", "model.optim.overlap_grad_sync", NULL};
    static const char *const parameters[] = {"overlap-param-gather", "model.optim.overlap_param_sync", NULL};
    static const char *const kernels[] = {"moe-grouped-gemm", NULL};
    bool core = options->software && text_starts_with(options->software, "megatron-core");
    bool asked = core && options->reader && strcmp(options->reader, "Megatron-LM") == 0;
    struct launch_value *technique = options->technique;
    bool whole = options->sequence_parallel.given ? !options->sequence_parallel.value : asked;
    if (!core)
        return;
    settle_graphs(options);
    if (whole && options->tensor.given && options->tensor.value > 1)
        launch_default(&technique[TECHNIQUE_SEQUENCE], SWITCH_OFF);
    if (!options->fsdp.given && is_habit_off(options, gradients, asked))
        launch_default(&technique[TECHNIQUE_DATA_OVERLAP], SWITCH_OFF);
    if (!options->fsdp.given && options->sharding.given && options->sharding.value == 1 &&
        is_habit_off(options, parameters, asked))
        launch_default(&technique[TECHNIQUE_GATHER_OVERLAP], SWITCH_OFF);
    /* these products have no other type; of other types plan counts on them, too */
    bool narrow = (options->bf16.given && options->bf16.value) ||
                  (options->fp8.given && options->fp8.value) || (options->fp4.given && options->fp4.value);
    bool spread = options->experts.given && options->expert.given && options->expert.value > 1;
    if (spread && asked && !launch_argument(options, "moe-token-dispatcher-type"))
        launch_default(&technique[TECHNIQUE_DISPATCH], DISPATCH_ALLGATHER); /* its default */
    if (options->experts.given && is_habit_off(options, kernels, asked && narrow))
        launch_default(&technique[TECHNIQUE_EXPERT_KERNELS], SWITCH_OFF);
    if (is_unfused(options))
        launch_default(&technique[TECHNIQUE_ATTENTION], SWITCH_OFF);
}

bool launch_settle_megatron(struct launch_options *options, struct error *err)
{
    const struct launch_argument *layout = launch_argument(options, "pipeline-model-parallel-layout");
    if (conflicts(options, err))
        return false;
    const char *reader = options->reader ? options->reader : "";
    bool own = strcmp(reader, "Megatron-LM") == 0;
    if (!options->grouped.given && (own || strcmp(reader, "Primus") == 0) &&
        !launch_argument(options, "num-key-value-heads"))
        options->kv_heads.given = false; /* the number of groups counts with its flag only */
    if (own && !options->latent.given)   /* so do the ranks of latent attention */
        options->kv_rank.given = options->query_rank.given = false;
    if (own)
        launch_settle_deepspeed(options);
    /* one expert, Megatron-DeepSpeed's default, is none */
    if (options->experts.given && options->experts.value == 1 && !options->active_experts.given)
        options->experts.given = false;
    settle_type(options);
    settle_places(options);
    launch_settle_optimizer(options, "optimizer");
    settle_sharding(options);
    settle_experts(options);
    settle_rest(options);
    return launch_settle_blocks(options, err) && settle_offload(options, err) &&
           settle_context_kind(options, err) && settle_recompute(options, err) &&
           (!layout || (layout->value && strchr(layout->value, SHELL_MARK)) ||
            !launch_is_on(options, "pipeline-model-parallel-layout") ||
            launch_read_layout(options, layout, err));
}
