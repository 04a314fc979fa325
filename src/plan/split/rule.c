#include "plan/split/rule.h"

#include <inttypes.h>
#include <string.h>

#define BIT(dimension) (1u << JOB_##dimension)
#define DEGREES        (BIT(TENSOR) | BIT(PIPELINE) | BIT(DATA) | BIT(CONTEXT))

/* ---- parts of rules ---- */

static void say_uneven(struct text *out, const char *what, int64_t whole, const char *owner, int64_t part)
{
    text_format(out, "the %" PRId64 " %s%s%s%s are not a multiple of %" PRId64, whole, what,
                owner ? " of '" : "", owner ? owner : "", owner ? "'" : "", part);
}

/* The software that keeps a rule which says what software has. */
static void say_missing(const struct job *job, const char *what, bool (*keeps)(const struct job *job),
                        struct text *out)
{
    struct job other = *job;
    const char *separator = " (";
    text_format(out, "%s has no %s", job->software->name, what);
    for (int i = 0; i < software_count(true); i++) {
        other.software = software_at(i);
        if (keeps(&other)) {
            text_format(out, "%s%s", separator, software_at(i)->name);
            separator = ", ";
        }
    }
    if (*separator == ',')
        text_add(out, " would)");
}

static bool has(const struct job *job, unsigned what)
{
    return (job->software->offers & what) != 0;
}

/* Of a stage; those that hold an expert; those that hold the same part of one; and of what is no expert. */
static int64_t stage_ranks(const struct job *job)
{
    return (int64_t)job->degrees.tensor * job->degrees.context * job->degrees.data;
}

static int64_t expert_holders(const struct job *job)
{
    int split = job->technique.expert_tensor;
    return (int64_t)job->degrees.expert * (split > 1 ? split : 1);
}

static int64_t expert_copies(const struct job *job)
{
    return stage_ranks(job) / expert_holders(job);
}

static int64_t other_copies(const struct job *job)
{
    return (int64_t)job->degrees.data *
           (text_starts_with(software_family(job->software), "megatron") ? job->degrees.context : 1);
}

static bool grid_keeps(const struct job *job);

static bool copies_divide(const struct job *job)
{
    int groups = job->technique.replicate;
    bool experts = job->degrees.expert > 1 && grid_keeps(job);
    return groups <= 1 || (other_copies(job) % groups == 0 && (!experts || expert_copies(job) % groups == 0));
}

static void say_copies(const struct job *job, struct text *out)
{
    int groups = job->technique.replicate;
    int64_t ranks = expert_copies(job);
    if (other_copies(job) % groups != 0)
        text_format(out, "%d copies of the shards do not divide %" PRId64 " data parallel ranks", groups,
                    other_copies(job));
    else
        text_format(out,
                    "%d copies of the shards do not divide the %" PRId64
                    " data parallel rank%s of experts (%" PRId64
                    " devices of a stage / expert %d / expert tensor %d)",
                    groups, ranks, ranks == 1 ? "" : "s", stage_ranks(job), job->degrees.expert,
                    (int)(expert_holders(job) / job->degrees.expert));
}

static bool is_interleaved(const struct job *job)
{
    return job->chunks > 1 && job->degrees.pipeline > 1 && !job_is_timed(job);
}

static void say_schedule(const struct job *job, struct text *out)
{
    const char *name = job_schedule_name(job);
    bool folded = job_is_folded(job);
    if (job_is_frozen(job))
        text_format(out, "%s needs gradients of all weights", name);
    else if (job->chunks != (folded ? 2 : 1))
        text_format(out, "%s has %s for a stage, not %d", name, folded ? "2 chunks" : "1 chunk", job->chunks);
    else if (job_depth(job) > job_block_count(job))
        text_format(out, "%s cuts '%s' into %d parts, and it has %d blocks", name, job->model->name,
                    job_depth(job), job_block_count(job));
    else
        text_format(out, "%s needs at least %d micro-batches%s, there are %" PRId64 " on %d stages", name,
                    2 * job->degrees.pipeline, folded ? "" : ", and even numbers of them and of stages",
                    job_microbatches(job), job->degrees.pipeline);
}

static bool repeats_exchanges(const struct job *job)
{
    return job->recompute == RECOMPUTE_FULL ||
           (job->recompute == RECOMPUTE_SELECTIVE && (job->technique.modules >> MODULE_EXPERTS & 1));
}

static bool overlaps_well(const struct job *job)
{
    bool asks = job->technique.expert_overlap >= OVERLAP_PASSES && job->model->experts > 0;
    bool room = job->degrees.pipeline == 1 ? job_microbatches(job) > 1
                                           : job->chunks > 1 || job->technique.schedule > SCHEDULE_1F1B;
    return !asks || (job->degrees.expert > 1 && !repeats_exchanges(job) && room);
}

static void say_overlap(const struct job *job, struct text *out)
{
    text_format(out, "exchanges of experts overlap with another micro-batch %s",
                job->degrees.expert <= 1 ? "where experts are on several devices: expert parallel is 1"
                : repeats_exchanges(job) ? "unless they are recomputed, too: recompute fewer parts, or none"
                : job->degrees.pipeline == 1 ? "where there are several of them: a rank has one"
                                             : "in a pipeline of several chunks: give vp of at least 2");
}

static bool host_holds(const struct job *job)
{
    int blocks = job->technique.offload_activations;
    return blocks == 0 ||
           (job->degrees.pipeline == 1 && job->recompute == RECOMPUTE_NONE && blocks < job_block_count(job));
}

static void say_host(const struct job *job, struct text *out)
{
    if (job->degrees.pipeline > 1)
        text_add(out, "activations wait on the host without a pipeline only: give pp=1");
    else if (job->recompute != RECOMPUTE_NONE)
        text_add(out, "activations wait on the host or are recomputed, not both: give recompute=none");
    else
        text_format(out, "activations of at most %d of %d blocks can wait on the host",
                    job_block_count(job) - 1, job_block_count(job));
}

/* Plain all-to-alls, rings, 1F1B, whole experts and no overlap are what all software has. */
static int technique_missing(const struct job *job)
{
    for (int k = 0; k < TECHNIQUE_COUNT; k++) {
        int value = technique_get(&job->technique, (enum technique_kind)k);
        bool plain = k >= TECHNIQUE_DISPATCH && k <= TECHNIQUE_SCHEDULE && value <= 1;
        if (value != 0 && !plain && k != TECHNIQUE_IMBALANCE &&
            !software_supports(job->software, (enum technique_kind)k))
            return k;
    }
    return TECHNIQUE_COUNT;
}

static void say_techniques(const struct job *job, struct text *out)
{
    enum technique_kind kind = (enum technique_kind)technique_missing(job);
    const char *separator = "; these have: ";
    bool order = kind == TECHNIQUE_SCHEDULE;
    text_format(out, "'%s' has no '%s", job->software->name, technique_name(kind));
    if (order) {
        text_add(out, "=");
        technique_write(out, kind, job->technique.schedule);
    }
    text_format(out, "' (%s)", technique_text(kind));
    if (order && has(job, OFFERS_PIPELINE))
        text_format(out, ", only 1f1b%s", has(job, OFFERS_CHUNKS) ? " and interleaved-1f1b" : "");
    for (int s = 0; s < software_count(false); s++)
        if (software_supports(software_at(s), kind) &&
            (!order || (software_at(s)->schedules >> job->technique.schedule & 1))) {
            text_format(out, "%s%s", separator, software_at(s)->name);
            separator = ", ";
        }
}

/* Scales of small groups of numbers are in matrix units that have products in 4 bits, NVIDIA's own groups in Blackwell's
 * (NVIDIA's and AMD's architecture papers); an 8-bit recipe needs products in 8 bits. */
static bool device_has_recipe(const struct cost_device *device, int recipe)
{
    if (recipe == RECIPE_NVFP4)
        return text_starts_with(device->generation, "blackwell");
    if (recipe == RECIPE_MXFP8)
        return device->peak[COST_FP4] > 0.0;
    return recipe == RECIPE_USUAL || device->peak[COST_FP8] > 0.0;
}

/* Transformer Engine has no factors of rows, torchao does. */
static bool software_has_recipe(const struct software *software, int recipe)
{
    return recipe != RECIPE_ROWWISE || software->fully_sharded;
}

/* Does the job's type go with it? */
static bool recipe_fits(const struct job *job)
{
    int recipe = job->technique.recipe;
    bool narrow = job->type == COST_FP8 || job->type == COST_FP4;
    return recipe == RECIPE_USUAL || (narrow && (recipe == RECIPE_NVFP4) == (job->type == COST_FP4));
}

static void say_recipe(const struct job *job, struct text *out)
{
    int recipe = job->technique.recipe;
    bool has = device_has_recipe(job->device, recipe);
    if (!has || !software_has_recipe(job->software, recipe)) {
        text_format(out, "'%s' has no ", has ? job->software->name : job->device->name);
        technique_write(out, TECHNIQUE_RECIPE, recipe);
        return;
    }
    text_add(out, "recipe ");
    technique_write(out, TECHNIQUE_RECIPE, recipe);
    text_format(out, " is for --precision %s, not %s", recipe == RECIPE_NVFP4 ? "fp4" : "fp8",
                cost_type_name(job->type));
}

/* Modules that selective recomputation names and the model has not. */
static unsigned modules_missing(const struct job *job)
{
    unsigned expert = 1u << MODULE_EXPERTS | 1u << MODULE_EXPERT_ACTIVATION | 1u << MODULE_SHARED_EXPERTS;
    unsigned missing =
        (job->model->experts > 0 ? 0 : expert) | (job->model->kv_rank > 0 ? 0 : 1u << MODULE_LATENT_UP);
    return job->recompute == RECOMPUTE_SELECTIVE ? (unsigned)job->technique.modules & missing : 0;
}

static void say_modules(const struct job *job, struct text *out)
{
    text_format(out, "'%s' has no ", job->model->name);
    technique_write(out, TECHNIQUE_MODULES, (int)modules_missing(job));
    text_add(out, " to recompute");
}

static const char *stage_name(const struct job *job)
{
    static const char *const names[] = {"ZeRO stage 0", "ZeRO stage 1", "ZeRO stage 2", "ZeRO stage 3"};
    return job->sharding >= 0 && job->sharding <= 3 ? names[job->sharding] : "such ZeRO stage";
}

/* ---- the rules ---- */

#define RULE(name, kept, said)                                                                               \
    static bool name##_keeps(const struct job *job)                                                          \
    {                                                                                                        \
        return kept;                                                                                         \
    }                                                                                                        \
    static void name##_say(const struct job *job, struct text *out)                                          \
    {                                                                                                        \
        (void)job;                                                                                           \
        said;                                                                                                \
    }

/* what the software has */
RULE(tensor, job->degrees.tensor == 1 || has(job, OFFERS_TENSOR),
     say_missing(job, "tensor parallelism", tensor_keeps, out))
RULE(pipeline, job->degrees.pipeline == 1 || has(job, OFFERS_PIPELINE),
     say_missing(job, "pipelines", pipeline_keeps, out))
RULE(context, job->degrees.context == 1 || has(job, OFFERS_CONTEXT),
     say_missing(job, "context parallelism", context_keeps, out))
RULE(expert, job->degrees.expert <= 1 || has(job, OFFERS_EXPERT),
     say_missing(job, "expert parallelism", expert_keeps, out))
RULE(chunks, job->chunks == 1 || job_is_folded(job) || has(job, OFFERS_CHUNKS),
     say_missing(job, "interleaved pipelines", chunks_keeps, out))
RULE(stage, job->sharding >= 0 && job->sharding <= 3,
     text_format(out, "expected a ZeRO stage from 0 to 3, found %d", job->sharding))
RULE(zero,
     (job->degrees.pipeline > 1 ? job->software->zero_staged : job->software->zero) >> job->sharding & 1,
     say_missing(job, stage_name(job), zero_keeps, out))
RULE(order, !job_is_timed(job) || (job->software->schedules >> job->technique.schedule & 1),
     say_missing(job, job_schedule_name(job), order_keeps, out))
RULE(recipe,
     device_has_recipe(job->device, job->technique.recipe) &&
         software_has_recipe(job->software, job->technique.recipe) && recipe_fits(job),
     say_recipe(job, out))
RULE(techniques, technique_missing(job) == TECHNIQUE_COUNT, say_techniques(job, out))

/* what the devices hold */
RULE(devices,
     job->degrees.tensor <= job->devices && job->degrees.pipeline <= job->devices &&
         job->degrees.data <= job->devices && job->degrees.context <= job->devices &&
         job->degrees.expert <= job->devices,
     text_format(out, job->devices == 1 ? "there is %d device" : "there are %d devices", job->devices))
RULE(product, stage_ranks(job) * job->degrees.pipeline == job->devices,
     text_format(out, "tensor %d x pipeline %d x context %d x data %d parallel is not %d devices",
                 job->degrees.tensor, job->degrees.pipeline, job->degrees.context, job->degrees.data,
                 job->devices))
RULE(grid, job->degrees.expert <= 1 || stage_ranks(job) % expert_holders(job) == 0,
     text_format(out,
                 "expert %d x expert tensor %d x pipeline %d parallel does not divide %" PRId64 " devices",
                 job->degrees.expert, (int)(expert_holders(job) / job->degrees.expert), job->degrees.pipeline,
                 stage_ranks(job) * job->degrees.pipeline))
RULE(split, job->technique.expert_tensor <= 1 || job->model->expert_ffn % job->technique.expert_tensor == 0,
     say_uneven(out, "columns of an expert", job->model->expert_ffn, job->model->name,
                job->technique.expert_tensor))
RULE(split_node,
     job->technique.expert_tensor <= 1 || job->devices_per_node % job->technique.expert_tensor == 0,
     say_uneven(out, "devices of a node", job->devices_per_node, NULL, job->technique.expert_tensor))
RULE(expert_bias,
     job->model->experts == 0 || !(job->model->biased || job->model->mlp_biased) ||
         (job->degrees.expert > 1 ? job->technique.expert_tensor : job->degrees.tensor) <= 1,
     text_format(out,
                 "experts of '%s' have biases, and are not split: give ep of at least 2 with etp=1, or tp=1",
                 job->model->name))
RULE(copies, copies_divide(job), say_copies(job, out))
/* a group lies within a node, or consists of whole nodes */
RULE(node,
     job->degrees.tensor <= job->devices_per_node ? job->devices_per_node % job->degrees.tensor == 0
                                                  : job->degrees.tensor % job->devices_per_node == 0,
     job->degrees.tensor <= job->devices_per_node
         ? say_uneven(out, "devices of a node", job->devices_per_node, NULL, job->degrees.tensor)
         : text_format(out, "a group of %d is not made of whole nodes of %d", job->degrees.tensor,
                       job->devices_per_node))
/* where nodes have a device each, no group lies within one */
RULE(within, job->devices_per_node == 1 || job->degrees.tensor <= job->devices_per_node, node_say(job, out))

/* what the model divides into; context parallel ranks have two pieces each, one from either end, so that all attend to
 * equally many tokens */
RULE(dense, job->degrees.expert <= 1 || job->model->experts > 0,
     text_format(out, "'%s' has no experts", job->model->name))
RULE(experts, job->degrees.expert <= 1 || job->model->experts % job->degrees.expert == 0,
     say_uneven(out, "experts", job->model->experts, job->model->name, job->degrees.expert))
RULE(heads, job->model->heads % job->degrees.tensor == 0,
     say_uneven(out, "heads", job->model->heads, job->model->name, job->degrees.tensor))
RULE(kv_heads, job->model->kv_heads % job->degrees.tensor == 0,
     say_uneven(out, "key and value heads", job->model->kv_heads, job->model->name, job->degrees.tensor))
RULE(kv_copies, kv_heads_keeps(job) || job->degrees.tensor % job->model->kv_heads == 0,
     kv_heads_say(job, out))
RULE(ffn, job->model->ffn % job->degrees.tensor == 0,
     say_uneven(out, "columns of the MLP", job->model->ffn, job->model->name, job->degrees.tensor))
RULE(sequence, job->degrees.context == 1 || job->sequence % (2 * (int64_t)job->degrees.context) == 0,
     say_uneven(out, "tokens of a sequence", job->sequence, NULL, 2 * (int64_t)job->degrees.context))
RULE(positions, job->model->positions == 0 || job->sequence <= job->model->positions,
     text_format(out, "the sequence (%" PRId64 ") is longer than the %" PRId64 " positions of '%s'",
                 job->sequence, job->model->positions, job->model->name))
RULE(batch, job->batch % (job->degrees.data * job->microbatch) == 0,
     text_format(out,
                 job->degrees.data == 1 || job->microbatch == 1
                     ? "the %" PRId64 " sequences of the global batch are not a multiple of %" PRId64
                     : "the %" PRId64 " sequences of the global batch are not a multiple of %" PRId64
                       " = micro-batch %" PRId64 " x data parallel %d",
                 job->batch, job->degrees.data * job->microbatch, job->microbatch, job->degrees.data))

/* pipelines; embedding and head may each take the place of a block in an interleaved one (Megatron-Core:
 * account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split) */
RULE(blocks, job->degrees.pipeline <= job_block_count(job),
     text_format(out, "'%s' has %d blocks", job->model->name, job_block_count(job)))
RULE(places, job->chunks == 1 || job_block_count(job) + 2 >= (int64_t)job->degrees.pipeline * job->chunks,
     text_format(out, "%d stages of %d chunks are more than %d blocks", job->degrees.pipeline, job->chunks,
                 job_block_count(job)))
RULE(one_stage, job->chunks == 1 || job->degrees.pipeline > 1,
     text_format(out, "%d chunks interleave the stages of a pipeline, and there is one stage", job->chunks))
RULE(turns, !is_interleaved(job) || job_microbatches(job) % job->degrees.pipeline == 0,
     text_format(out,
                 "an interleaved pipeline takes micro-batches in groups as large as itself, and %" PRId64
                 " are not a multiple of %d",
                 job_microbatches(job), job->degrees.pipeline))
RULE(alike,
     !is_interleaved(job) || job->stage_blocks || has(job, OFFERS_LAYOUTS) ||
         job_chunks_alike(job_block_count(job), job->degrees.pipeline * job->chunks),
     text_format(out, "%d blocks do not make %d equal chunks, and %s takes no others", job_block_count(job),
                 job->degrees.pipeline * job->chunks, job->software->name))
RULE(schedule, job_schedule_allowed(job), say_schedule(job, out))

/* what runs beside, or waits */
RULE(overlap, overlaps_well(job), say_overlap(job, out))
RULE(narrow, job->technique.parameters != FORMAT_FP8 || (job->type == COST_FP8 && job->sharding > 0),
     text_add(out, job->type != COST_FP8 ? "parameters in fp8 need products in fp8: give --precision fp8"
                                         : "parameters in fp8 need shared states: give zero of at least 1"))
RULE(narrow_host,
     job->technique.parameters != FORMAT_FP8 || job->technique.offload == 0 ||
         job->technique.recipe <= RECIPE_DELAYED,
     text_add(
         out,
         "parameters in fp8 with states on the host need the recipe of earlier steps: give recipe=delayed"))
RULE(modules, modules_missing(job) == 0, say_modules(job, out))
RULE(host, host_holds(job), say_host(job, out))

/* ---- the table ---- */

#define ROW(id, name, reach, about, alone, at, of, source)                                                   \
    {                                                                                                        \
        id, RULE_##reach, about, alone, at, of, source, name##_keeps, name##_say                             \
    }
#define OURS   "src/devices/software.c"
#define PRICED "docs/job.md"
#define STATE  "megatron/core/parallel_state.py"
#define CONFIG "megatron/core/transformer/transformer_config.py"
#define CORE   "megatron/core/"
#define READ   "megatron/training/arguments.py"
#define DP     BIT(DATA)
#define EP     BIT(EXPERT)
#define TP     BIT(TENSOR)
#define PP     BIT(PIPELINE)
#define VP     BIT(CHUNKS)
#define MBS    BIT(MICROBATCH)

/* Lines are those of Megatron-LM d98e8a64 (August 2026). */
/* clang-format off */
const struct job_rule job_rules[] = {
    ROW("product", product, ALL, DEGREES, 0, 0, NULL, STATE ":822"),
    ROW("tensor", tensor, PLANNED, TP, TP, 0, NULL, OURS),
    ROW("pipeline", pipeline, PLANNED, PP, PP, RULE_AT_STAGES, NULL, OURS),
    ROW("context", context, PLANNED, BIT(CONTEXT), BIT(CONTEXT), 0, NULL, OURS),
    ROW("expert", expert, PLANNED, EP, EP, 0, NULL, OURS),
    ROW("chunks", chunks, PLANNED, VP, VP, RULE_AT_CHUNKS, NULL, OURS),
    ROW("zero-stage", stage, ALL, BIT(SHARDING), BIT(SHARDING), 0, NULL, "arXiv:1910.02054"),
    ROW("zero", zero, PLANNED, BIT(SHARDING), BIT(SHARDING), 0, NULL, OURS),
    ROW("devices", devices, ALL, DEGREES | EP, DEGREES | EP, 0, NULL, STATE ":822"),
    ROW("dense", dense, ALL, EP, EP, 0, NULL, READ ":1656"),
    ROW("heads", heads, ALL, TP, TP, 0, NULL, CONFIG ":1446"),
    ROW("kv-copies", kv_copies, ALL, TP, TP, 0, NULL, CONFIG ":1461"),
    ROW("kv-heads", kv_heads, PLANNED, TP, TP, 0, NULL, PRICED),
    ROW("ffn", ffn, WHOLE, TP, TP, 0, NULL, CORE "tensor_parallel/layers.py:1038"),
    ROW("node", node, PLANNED, TP, TP, 0, NULL, PRICED),
    ROW("node-within", within, TRIED, TP, TP, 0, NULL, PRICED),
    ROW("sequence", sequence, ALL, BIT(CONTEXT), BIT(CONTEXT), 0, NULL, READ ":1336"),
    ROW("positions", positions, WHOLE, 0, 0, RULE_AT_QUESTION, NULL, READ ":1354"),
    ROW("experts", experts, ALL, EP, EP, 0, NULL, READ ":1657"),
    ROW("batch", batch, WHOLE, DP | MBS, DP | MBS, 0, NULL, READ ":715"),
    ROW("blocks", blocks, WHOLE, PP, PP, 0, NULL, PRICED),
    ROW("expert-grid", grid, ALL, DEGREES | EP, 0, RULE_AT_DEGREES, NULL, STATE ":881"),
    ROW("expert-split", split, WHOLE, EP, 0, RULE_AT_SPLIT, NULL, CORE "tensor_parallel/layers.py:1038"),
    ROW("expert-node", split_node, PLANNED, EP, 0, RULE_AT_SPLIT, NULL, PRICED),
    ROW("expert-bias", expert_bias, WHOLE, EP | TP, 0, RULE_AT_SPLIT, "megatron-core", CONFIG ":2613"),
    ROW("copies", copies, ALL, DP | EP, 0, RULE_AT_DEGREES | RULE_AT_SHARDS, NULL, STATE ":922, 1447"),
    ROW("one-stage", one_stage, WHOLE, PP | VP, 0, RULE_AT_CHUNKS, NULL, STATE ":828"),
    ROW("places", places, ALL, PP | VP, 0, RULE_AT_CHUNKS, NULL, PRICED),
    ROW("turns", turns, PLANNED, PP | VP | MBS, 0, RULE_AT_CHUNKS, NULL, CORE "pipeline_parallel/schedules.py:1172"),
    ROW("alike", alike, PLANNED, PP | VP, 0, RULE_AT_CHUNKS, NULL, OURS),
    ROW("order", order, PLANNED, 0, 0, RULE_AT_SCHEDULE, NULL, OURS),
    ROW("schedule", schedule, PLANNED, PP | MBS, 0, RULE_AT_SCHEDULE, NULL, "arXiv:2412.19437, 2405.15362"),
    ROW("techniques", techniques, PLANNED, 0, 0, RULE_AT_TECHNIQUES, NULL, OURS),
    ROW("recipe", recipe, PLANNED, 0, 0, RULE_AT_TECHNIQUES, NULL, "architecture papers; Transformer Engine; torchao"),
    ROW("overlap", overlap, WHOLE, EP | PP | VP | BIT(RECOMPUTE), 0, RULE_AT_CHUNKS, NULL, CONFIG ":3006"),
    ROW("fp8-parameters", narrow, WHOLE, 0, 0, RULE_AT_OFFLOAD, "megatron-core", READ ":1095, " CONFIG ":1566"),
    ROW("fp8-host", narrow_host, WHOLE, 0, 0, RULE_AT_OFFLOAD, "megatron-core", READ ":1889"),
    ROW("modules", modules, WHOLE, BIT(RECOMPUTE), 0, RULE_AT_MODE, NULL, CONFIG ":1964"),
    ROW("host", host, WHOLE, PP | BIT(RECOMPUTE), 0, RULE_AT_OFFLOAD, "megatron-core", CONFIG ":1891"),
};
/* clang-format on */

const int job_rule_count = sizeof job_rules / sizeof *job_rules;

static bool counts(const struct job_rule *rule, const struct job *job)
{
    return !rule->of || text_starts_with(software_family(job->software), rule->of);
}

void job_dimension_set(struct job *job, enum job_dimension dimension, int64_t value)
{
    struct degrees *degrees = &job->degrees;
    int *const places[] = {&degrees->tensor,  &degrees->pipeline, &degrees->data,
                           &degrees->context, &degrees->expert,   NULL,
                           &job->chunks,      &job->sharding};
    if (dimension == JOB_MICROBATCH)
        job->microbatch = value;
    else if (dimension <= JOB_SHARDING)
        *places[dimension] = value > INT32_MAX ? INT32_MAX : (int)value;
}

/* A job of which nothing is decided but a dimension. */
static struct job alone(const struct job_question *question, enum job_dimension dimension, int64_t value,
                        int pipeline)
{
    struct job job = question->job;
    job.degrees = DEGREES_ONE;
    job.chunks = 1;
    job.degrees.pipeline = pipeline;
    job.microbatch = 1;
    job_dimension_set(&job, dimension, value);
    return job;
}

const struct job_rule *job_rule_of(const struct job_question *question, enum job_dimension dimension,
                                   int64_t value)
{
    if (dimension >= JOB_RECOMPUTE)
        return NULL;
    const struct job_range *pipeline = &question->ranges[JOB_PIPELINE];
    struct job job = alone(question, dimension, value, 1), staged = alone(question, dimension, value, 2);
    bool one = !pipeline->given || pipeline->min <= 1, several = !pipeline->given || pipeline->max > 1;
    for (int i = 0; i < job_rule_count; i++) {
        const struct job_rule *rule = &job_rules[i];
        if (!(rule->alone >> dimension & 1) || !counts(rule, &job) ||
            (rule->reach == RULE_TRIED && question->ranges[dimension].given))
            continue;
        if (dimension == JOB_SHARDING ? !(one && rule->keeps(&job)) && !(several && rule->keeps(&staged))
                                      : !rule->keeps(&job))
            return rule;
    }
    return NULL;
}

void job_rule_say(const struct job_question *question, enum job_dimension dimension, int64_t value,
                  const struct job_rule *rule, struct text *out)
{
    const struct job_range *pipeline = &question->ranges[JOB_PIPELINE];
    struct job job = alone(question, dimension, value, pipeline->given && pipeline->min > 1 ? 2 : 1);
    rule->say(&job, out);
}

const struct job_rule *job_rule_at(const struct job *job, unsigned at)
{
    for (int i = 0; i < job_rule_count; i++)
        if ((job_rules[i].at & at) && counts(&job_rules[i], job) && !job_rules[i].keeps(job))
            return &job_rules[i];
    return NULL;
}

int job_rule_count_broken(const struct job *job, const struct job_rule **first)
{
    int broken = 0;
    for (int i = job_rule_count - 1; i >= 0; i--)
        if (job_rules[i].reach <= RULE_PLANNED && counts(&job_rules[i], job) && !job_rules[i].keeps(job)) {
            *first = &job_rules[i];
            broken++;
        }
    return broken;
}

const struct job_rule *job_rule_broken(const struct job *job, enum job_rule_reach reach)
{
    for (int i = 0; i < job_rule_count; i++)
        if (job_rules[i].reach <= reach && counts(&job_rules[i], job) && !job_rules[i].keeps(job))
            return &job_rules[i];
    return NULL;
}

bool job_rule_refuse(const struct job *job, const struct job_rule *rule, struct error *err)
{
    const struct job_question question = {.job = *job};
    struct text text = {0};
    for (int d = 0; d < JOB_TECHNIQUE; d++) {
        int64_t value = job_dimension_value(job, (enum job_dimension)d);
        struct job one = alone(&question, (enum job_dimension)d, value, job->degrees.pipeline);
        if ((rule->about == 1u << d && d != JOB_RECOMPUTE) ||
            ((rule->alone >> d & 1) && !rule->keeps(&one) && text.length == 0))
            text_format(&text, "%s=%" PRId64 ": ", job_dimension_name((enum job_dimension)d), value);
    }
    rule->say(job, &text);
    error_set(err, ERROR_INFEASIBLE, "%s", text.data ? text.data : rule->id);
    text_release(&text);
    return false;
}

/* ---- whole jobs ---- */

bool job_check_degrees(const struct job *job, struct error *err)
{
    const struct job_rule *rule = job_rule_broken(job, RULE_ALL);
    return !rule || job_rule_refuse(job, rule, err);
}

bool job_check(const struct job *job, struct error *err)
{
    const struct job_rule *rule = job_rule_broken(job, RULE_PLANNED);
    return !rule || job_rule_refuse(job, rule, err);
}
