#include "plan/split/space.h"
#include "plan/split/rule.h"

#include <inttypes.h>

/* ---- names and values of dimensions ---- */

static const char *const names[] = {"tp", "pp", "dp", "cp", "ep", "mbs", "vp", "zero", "recompute"};

const char *job_dimension_name(enum job_dimension dimension)
{
    if (dimension >= JOB_TECHNIQUE)
        return technique_name((enum technique_kind)(dimension - JOB_TECHNIQUE));
    return names[dimension];
}

int64_t job_dimension_value(const struct job *job, enum job_dimension dimension)
{
    const int64_t values[] = {job->degrees.tensor,  job->degrees.pipeline, job->degrees.data,
                              job->degrees.context, job->degrees.expert,   job->microbatch,
                              job->chunks,          job->sharding,         job->recompute};
    if (dimension >= JOB_TECHNIQUE)
        return technique_get(&job->technique, (enum technique_kind)(dimension - JOB_TECHNIQUE));
    return values[dimension];
}

bool job_dimension_is_number(enum job_dimension dimension)
{
    if (dimension >= JOB_TECHNIQUE)
        return technique_is_number((enum technique_kind)(dimension - JOB_TECHNIQUE));
    return dimension != JOB_RECOMPUTE;
}

void job_dimension_write(struct text *out, enum job_dimension dimension, int64_t value)
{
    if (dimension >= JOB_TECHNIQUE)
        technique_write(out, (enum technique_kind)(dimension - JOB_TECHNIQUE), (int)value);
    else if (dimension == JOB_RECOMPUTE)
        text_add(out, recompute_name((enum recompute)value));
    else
        text_format(out, "%" PRId64, value);
}

/* ---- allowed values ---- */

static bool keeps_rules(const struct space *space, enum job_dimension dimension, int64_t value)
{
    return space_allows(space->question, dimension, value) && !job_rule_of(space->question, dimension, value);
}

static bool microbatch_allowed(const struct space *space, int64_t microbatch)
{
    const struct job_question *question = space->question;
    return space_allows(question, JOB_MICROBATCH, microbatch) &&
           (question->ranges[JOB_MICROBATCH].given || microbatch <= SPACE_MICROBATCHES);
}

bool space_check_techniques(const struct job_question *question, struct error *err)
{
    struct job job = question->job;
    for (int k = 0; k < TECHNIQUE_COUNT; k++) {
        const struct job_range *range = &question->ranges[JOB_TECHNIQUE + k];
        if (range->given)
            technique_set(&job.technique, (enum technique_kind)k, (int)range->max);
    }
    const struct job_rule *rule = job_rule_at(&job, RULE_AT_TECHNIQUES);
    return !rule || job_rule_refuse(&job, rule, err);
}

struct technique space_techniques(const struct job_question *question)
{
    struct technique technique = question->job.technique;
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (question->ranges[JOB_TECHNIQUE + k].given)
            technique_set(&technique, (enum technique_kind)k, (int)question->ranges[JOB_TECHNIQUE + k].min);
    return technique;
}

static bool list_divisors(struct space *space, struct arena *arena)
{
    int64_t batch = space->question->job.batch;
    int count = 0;
    for (int64_t d = 1; d <= batch / d; d++)
        if (batch % d == 0)
            count += d == batch / d ? 1 : 2;
    space->divisors = arena_alloc(arena, (size_t)count, sizeof *space->divisors);
    if (!space->divisors)
        return false;
    int low = 0, high = count;
    for (int64_t d = 1; d <= batch / d; d++)
        if (batch % d == 0) {
            space->divisors[low++] = d;
            if (d != batch / d)
                space->divisors[--high] = batch / d;
        }
    space->divisor_count = count;
    return true;
}

/* Lists the micro-batches of a cut; only counts them while there is no room yet. */
static void list_groups(struct space *space, struct space_cut *cut)
{
    int64_t model_parallel = (int64_t)cut->degrees.tensor * cut->degrees.context;
    cut->first_group = space->group_count;
    for (int i = 0; i < space->divisor_count && model_parallel <= space->question->job.devices; i++) {
        if (!microbatch_allowed(space, space->divisors[i]))
            continue;
        if (space->groups)
            space->groups[space->group_count] =
                (struct space_group){.cut = &space->cuts[space->cut_count], .microbatch = space->divisors[i]};
        space->group_count++;
    }
    cut->groups = space->group_count - cut->first_group;
}

static void list_cut(struct space *space, struct space_cut cut)
{
    list_groups(space, &cut);
    if (space->cuts)
        space->cuts[space->cut_count] = cut;
    space->cut_count++;
}

/* Experts are whole, or split over as many devices as all else, or as many as the question says. */
static void list_expert_cuts(struct space *space, int tensor, int context, int expert)
{
    const struct job *job = &space->question->job;
    const struct job_range *given = &space->question->ranges[JOB_TECHNIQUE + TECHNIQUE_EXPERT_TENSOR];
    struct space_cut cut = {.degrees = {tensor, context, expert, 1, 1}};
    struct job parted = *job;
    bool whole = expert == 1 || (given->given && given->max == 0) ||
                 !software_supports(job->software, TECHNIQUE_EXPERT_TENSOR);
    parted.degrees.tensor = tensor;
    parted.degrees.expert = expert;
    for (int split = 1; split <= (whole ? 1 : job->devices_per_node); split++) {
        bool tried = whole          ? !given->given || given->max <= 1
                     : given->given ? split >= given->min && split <= given->max
                                    : split == 1 || split == tensor;
        parted.technique.expert_tensor = split;
        cut.expert_tensor = split > 1 || (given->given && !whole) ? split : 0;
        if (tried && job_keeps(&parted, RULE_AT_SPLIT) && job->devices >= (int64_t)expert * split)
            list_cut(space, cut);
    }
}

static void list_cuts(struct space *space)
{
    const struct job *job = &space->question->job;
    int max_experts = job->model->experts > 0 ? (int)job->model->experts : 1;
    space->cut_count = space->group_count = 0;
    for (int tensor = 1; tensor <= job->devices; tensor++) {
        if (!keeps_rules(space, JOB_TENSOR, tensor))
            continue;
        for (int context = 1; context <= job->devices / tensor; context++) {
            if (!keeps_rules(space, JOB_CONTEXT, context))
                continue;
            for (int expert = 1; expert <= max_experts && expert <= job->devices; expert++) {
                if (keeps_rules(space, JOB_EXPERT, expert))
                    list_expert_cuts(space, tensor, context, expert);
            }
        }
    }
}

static unsigned list_schedules(const struct job_question *question)
{
    const struct job_range *given = &question->ranges[JOB_TECHNIQUE + TECHNIQUE_SCHEDULE];
    unsigned schedules = 1 | question->job.software->schedules, allowed = 0;
    for (int s = SCHEDULE_USUAL; s <= SCHEDULE_LAST && given->given; s++)
        allowed |= s >= given->min && s <= given->max ? 1u << (s == SCHEDULE_1F1B ? 0 : s) : 0;
    return given->given ? schedules & allowed : schedules;
}

/* Megatron-Core's usual recipe takes a tensor's factor from earlier steps: what is computed twice would be scaled
 * twice. */
static bool has_delayed_scaling(const struct job_question *question)
{
    int recipe = space_techniques(question).recipe;
    bool usual =
        recipe == RECIPE_USUAL && question->job.software->narrow_rate == 0.0; /* else by blocks of numbers */
    return question->job.type == COST_FP8 && (usual || recipe == RECIPE_DELAYED);
}

/* Returns the modules that a search may choose: those that free anything. */
static unsigned offered_modules(const struct job_question *question)
{
    const struct job *job = &question->job;
    const struct architecture *model = job->model;
    unsigned delayed = 1u << MODULE_NORMS | 1u << MODULE_EXPERT_ACTIVATION;
    unsigned modules = 0;
    if (!software_supports(job->software, TECHNIQUE_MODULES))
        return 0;
    if (software_attention(job->software, job->technique.attention) == ATTENTION_UNFUSED)
        modules |= 1u << MODULE_CORE_ATTENTION;
    modules |= 1u << MODULE_NORMS;
    if (model->kv_rank > 0)
        modules |= 1u << MODULE_LATENT_UP;
    if (architecture_expert_blocks(model) > 0)
        modules |= 1u << MODULE_EXPERTS | 1u << MODULE_EXPERT_ACTIVATION;
    if (model->shared_experts > 0 && architecture_expert_blocks(model) > 0)
        modules |= 1u << MODULE_SHARED_EXPERTS;
    if (architecture_expert_blocks(model) < model->layers)
        modules |= 1u << MODULE_MLP;
    return has_delayed_scaling(question) ? modules & ~delayed : modules;
}

/* The whole mixture of experts includes its parts. */
static bool repeats_itself(unsigned modules)
{
    unsigned parts = 1u << MODULE_EXPERT_ACTIVATION | 1u << MODULE_SHARED_EXPERTS;
    return (modules >> MODULE_EXPERTS & 1) && (modules & parts);
}

static void add_mode(struct space *space, enum recompute recompute, unsigned modules,
                     enum recompute_method some)
{
    struct space_mode mode = {.recompute = recompute, .modules = (int)modules, .some = some};
    struct job job = space->question->job;
    job.recompute = recompute;
    job.technique.modules = (int)modules;
    if (space_allows(space->question, JOB_RECOMPUTE, recompute) && job_keeps(&job, RULE_AT_MODE))
        space->modes[space->mode_count++] = mode;
}

/* Selective recomputation of activations that are never kept is the same as none. */
static void add_selective(struct space *space)
{
    const struct job_question *question = space->question;
    const struct software *software = question->job.software;
    const struct job_range *given = &question->ranges[JOB_TECHNIQUE + TECHNIQUE_MODULES];
    unsigned offered = offered_modules(question);
    bool same = software->attention != ATTENTION_UNFUSED && software->selective_kept >= 1.0;
    if (given->given && given->max > 0) {
        add_mode(space, RECOMPUTE_SELECTIVE, (unsigned)given->max, METHOD_ALL);
        return;
    }
    if (!same || (question->ranges[JOB_RECOMPUTE].given && offered == 0) || given->given)
        add_mode(space, RECOMPUTE_SELECTIVE, 0, METHOD_ALL);
    for (unsigned set = 1; set < 1u << RECOMPUTE_MODULES && !given->given; set++)
        if ((set & ~offered) == 0 && !repeats_itself(set))
            add_mode(space, RECOMPUTE_SELECTIVE, set, METHOD_ALL);
}

/* Exchanges of experts beside other kernels: not with recomputation of what exchanges. */
static void add_overlaps(struct space *space)
{
    const struct job *job = &space->question->job;
    const struct job_range *given = &space->question->ranges[JOB_TECHNIQUE + TECHNIQUE_EXPERT_OVERLAP];
    int count = space->mode_count;
    if (job->model->experts == 0 || !software_supports(job->software, TECHNIQUE_EXPERT_OVERLAP) ||
        (given->given && given->max < OVERLAP_PASSES))
        return;
    if (given->given && given->min >= OVERLAP_PASSES)
        space->mode_count = 0;
    for (int i = 0; i < count; i++) {
        struct space_mode mode = space->modes[i];
        mode.overlap = given->given ? (enum expert_overlap)given->max : OVERLAP_WEIGHTS;
        if (mode.recompute != RECOMPUTE_FULL && !((unsigned)mode.modules >> MODULE_EXPERTS & 1))
            space->modes[space->mode_count++] = mode;
    }
}

static void list_recompute_modes(struct space *space)
{
    const struct job_question *question = space->question;
    const struct software *software = question->job.software;
    const struct job_range *method = &question->ranges[JOB_TECHNIQUE + TECHNIQUE_METHOD];
    bool modules = question->ranges[JOB_TECHNIQUE + TECHNIQUE_MODULES].max > 0;
    bool layers = method->max > 0 || question->ranges[JOB_TECHNIQUE + TECHNIQUE_LAYERS].max > 0;
    if (!modules && !layers)
        add_mode(space, RECOMPUTE_NONE, 0, METHOD_ALL);
    if (!layers)
        add_selective(space);
    if (modules)
        return;
    if (!layers || method->max == METHOD_UNIFORM)
        add_mode(space, RECOMPUTE_FULL, 0, METHOD_ALL);
    enum recompute_method some = software->some_blocks;
    if (method->given)
        some = (enum recompute_method)method->max;
    /* fixed without a method, full means all blocks */
    const struct job_range *recompute = &question->ranges[JOB_RECOMPUTE];
    if (recompute->given && recompute->min == RECOMPUTE_FULL && !layers)
        return;
    if (software_supports(software, TECHNIQUE_LAYERS) && some != METHOD_ALL && some != METHOD_UNIFORM)
        add_mode(space, RECOMPUTE_FULL, 0, some);
}

/* Lists the ways of recomputation. */
static void space_list_modes(struct space *space)
{
    list_recompute_modes(space);
    add_overlaps(space);
}

bool space_init(struct space *space, const struct job_question *question, struct arena *arena,
                struct error *err)
{
    *space = (struct space){.question = question};
    if (!space_check_techniques(question, err))
        return false;
    const struct job_rule *rule = job_rule_at(&question->job, RULE_AT_QUESTION);
    if (rule)
        return job_rule_refuse(&question->job, rule, err);
    space->replicate = space_techniques(question).replicate;
    space->memory = (double)question->job.device->memory * (1.0 - question->headroom);
    if (!list_divisors(space, arena))
        return error_memory(err);
    space_list_modes(space);
    space->schedules = list_schedules(question);
    list_cuts(space);
    if (space->group_count == 0 || space->mode_count == 0)
        return space_does_not_fit(space, &question->job, 0.0, err);
    space->cuts = arena_alloc(arena, (size_t)space->cut_count, sizeof *space->cuts);
    struct space_group *groups = arena_alloc(arena, (size_t)space->group_count, sizeof *groups);
    if (!space->cuts || !groups)
        return error_memory(err);
    space->groups = groups;
    list_cuts(space);
    return true;
}

void space_set_mode(const struct space *space, const struct space_mode *mode, int layers, struct job *job)
{
    const struct job_range *given = &space->question->ranges[JOB_TECHNIQUE + TECHNIQUE_LAYERS];
    job->technique = space_techniques(space->question);
    job->recompute = mode->recompute;
    job->technique.modules = mode->modules;
    job->technique.expert_overlap = mode->overlap;
    job->technique.dispatch = mode->dispatch;
    job->technique.context_kind = mode->context_kind;
    if (mode->some != METHOD_ALL) {
        job->technique.method = mode->some;
        job->technique.layers = given->given ? (int)given->min : layers;
    }
}

struct job space_job(const struct space *space, const struct space_layers *layers)
{
    const struct space_cut *cut = layers->cut;
    struct job job = space->question->job;
    job.degrees = cut->degrees;
    job.microbatch = layers->microbatch;
    space_set_mode(space, &layers->mode, 1, &job);
    job.technique.expert_tensor = cut->expert_tensor;
    job.chunks = 1;
    job.stage_blocks = space->question->stage_blocks;
    return job;
}

/* Micro-batches come in groups as large as the pipeline. Chunks are equal unless the software takes any layout. */
bool space_has_chunks(const struct space *space, const struct job *job, int chunks)
{
    struct job cut = *job;
    cut.chunks = chunks;
    return space_allows(space->question, JOB_CHUNKS, chunks) && job_keeps(&cut, RULE_AT_CHUNKS);
}

int space_max_chunks(const struct space *space, int pipeline)
{
    const struct job *job = &space->question->job;
    int blocks = job_block_count(job);
    return pipeline > 1 && (job->software->offers & OFFERS_CHUNKS) ? (blocks + 2) / pipeline : 1;
}

unsigned space_shardings(const struct space *space, int pipeline)
{
    const struct software *software = space->question->job.software;
    unsigned offered = pipeline > 1 ? software->zero_staged : software->zero, allowed = 0;
    for (int z = 0; z <= 3; z++)
        if ((offered >> z & 1) && space_allows(space->question, JOB_SHARDING, z))
            allowed |= 1u << z;
    return allowed;
}

bool space_data_allowed(const struct space *space, const struct space_cut *cut, int pipeline, int64_t data)
{
    int64_t model_parallel = (int64_t)cut->degrees.tensor * cut->degrees.context * pipeline;
    if (data > space->question->job.devices / model_parallel ||
        !space_allows(space->question, JOB_DATA, data))
        return false;
    struct job job = {
        .software = space->question->job.software,
        .degrees = cut->degrees,
        .technique = {.expert_tensor = cut->expert_tensor, .replicate = space->replicate},
    };
    job.degrees.pipeline = pipeline;
    job.degrees.data = (int)data;
    return job_keeps(&job, RULE_AT_DEGREES);
}

/* Copies of the shards cost memory and save gathers between nodes; they only pay where parameters are gathered.
 * Parameters that stay gathered until the backward pass cost memory and save a gather. Software whose pipelines keep
 * them by themselves may free them, and calls it ZeRO-2 where it keeps them (torchtitan's "never"). */
int space_list_shards(const struct space *space, const struct job *job, struct space_shards *shards)
{
    const struct job_range *ranges = space->question->ranges + JOB_TECHNIQUE;
    const struct software *software = job->software;
    const struct technique given = space_techniques(space->question);
    bool copies = !ranges[TECHNIQUE_REPLICATE].given && software_supports(software, TECHNIQUE_REPLICATE);
    bool switches = !ranges[TECHNIQUE_RESHARD].given && software_supports(software, TECHNIQUE_RESHARD) &&
                    software->keeps_gathered <= (job->degrees.pipeline > 1);
    int count = 0;
    if (given.reshard == SWITCH_OFF && software->keeps_gathered)
        return 0;
    for (int replicate = 1; replicate == 1 || (copies && replicate < job->degrees.data); replicate++) {
        int own = replicate > 1 ? replicate : given.replicate;
        struct job sharded = *job;
        sharded.technique.replicate = own;
        if (job->degrees.data % replicate != 0 || count + 2 > SPACE_MAX_SHARDS ||
            !job_keeps(&sharded, RULE_AT_SHARDS))
            continue;
        shards[count++] = (struct space_shards){own, (enum technique_switch)given.reshard};
        if (switches)
            shards[count++] = (struct space_shards){own, software->keeps_gathered ? SWITCH_ON : SWITCH_OFF};
    }
    return count;
}
