/* The ways of recomputation that a search tries.
 *
 * Selective recomputation takes any set of the modules that the software and the model have. Most sets are worse than
 * another one in seconds and in bytes, for every kind of block: those are left out before any split is tried, which is
 * exact, as seconds and bytes of a stage only grow with those of its blocks. Full recomputation covers all blocks, or
 * the fewest of each chunk that make it fit (search.c). */
#include "plan/split/rule.h"
#include "plan/split/space.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Megatron-Core's usual recipe takes a tensor's factor from earlier steps: what is computed twice would be scaled twice. */
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

void space_list_modes(struct space *space)
{
    list_recompute_modes(space);
    add_overlaps(space);
}

/* Is `a` no worse than `b` for every kind of block? What overlaps holds one micro-batch more, and needs chunks. */
static bool no_worse(const struct space_layers *a, const struct space_layers *b)
{
    if (a->mode.overlap > b->mode.overlap)
        return false;
    for (int i = 0; i < a->priced.kind_count; i++) {
        const struct job_layer *x = &a->priced.kinds[i].layer, *y = &b->priced.kinds[i].layer;
        double kernels_x = job_pass_seconds(&x->pass) - x->pass.host, /* nodes wait for each other's */
            kernels_y = job_pass_seconds(&y->pass) - y->pass.host;
        if (job_pass_seconds(&x->pass) > job_pass_seconds(&y->pass) || kernels_x > kernels_y ||
            job_pass_alone(&x->pass) > job_pass_alone(&y->pass) || x->kept > y->kept ||
            x->working > y->working)
            return false;
    }
    return true;
}

/* Moves the layers that are worth trying to the front, and returns their number. */
static int keep_useful(struct space_layers *layers, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool useful = true;
        for (int j = 0; j < count && useful && layers[i].mode.some == METHOD_ALL; j++)
            if (j != i && layers[j].mode.some == METHOD_ALL && no_worse(&layers[j], &layers[i]))
                useful = j > i && no_worse(&layers[i], &layers[j]); /* of equal ones the first */
        layers[i].useful = useful;
    }
    for (int i = 0; i < count; i++)
        if (layers[i].useful)
            layers[kept++] = layers[i];
    return kept;
}

/* Modes with overlaps need experts on several devices. */
static bool mode_allowed(const struct space_group *group, const struct space_mode *mode)
{
    return mode->overlap < OVERLAP_PASSES || group->cut->degrees.expert > 1;
}

static struct space_layers layers_with(const struct space_group *group, struct space_mode mode)
{
    mode.dispatch = group->dispatch;
    mode.context_kind = group->context_kind;
    return (struct space_layers){.cut = group->cut, .microbatch = group->microbatch, .mode = mode};
}

static void choose_transfers(const struct space *space, struct space_group *group, struct kernel_memo *memo)
{
    const struct technique fixed = space_techniques(space->question);
    const struct job_range *ranges = space->question->ranges + JOB_TECHNIQUE;
    group->dispatch = (enum dispatcher)fixed.dispatch;
    group->context_kind = (enum context_kind)fixed.context_kind;
    struct space_layers first = layers_with(group, space->modes[0]);
    struct job chosen = space_job(space, &first);
    job_choose_transfers(&chosen, memo, !ranges[TECHNIQUE_DISPATCH].given,
                         !ranges[TECHNIQUE_CONTEXT_KIND].given);
    group->dispatch = (enum dispatcher)chosen.technique.dispatch;
    group->context_kind = (enum context_kind)chosen.technique.context_kind;
}

static double ends_of(const struct job_layers *layers)
{
    return job_pass_seconds(&layers->embedding.pass) + job_pass_seconds(&layers->head.pass) +
           job_pass_seconds(&layers->further.pass);
}

/* Recomputation only adds kernels and transfers, and kernels that are added never shorten the rest: without any, and with each
 * overlap that a mode has, layers take least. */
bool space_price_floor(const struct space *space, struct space_group *group, struct kernel_memo *memo)
{
    struct job jobs[OVERLAP_WEIGHTS + 1];
    struct job_layers priced[OVERLAP_WEIGHTS + 1];
    unsigned seen = 0;
    int count = 0;
    choose_transfers(space, group, memo);
    group->modes = 0;
    for (int i = 0; i < space->mode_count; i++) {
        struct space_mode mode = {.overlap = space->modes[i].overlap};
        if (!mode_allowed(group, &mode))
            continue;
        group->modes++;
        if (seen >> mode.overlap & 1)
            continue;
        seen |= 1u << mode.overlap;
        struct space_layers layers = layers_with(group, mode);
        jobs[count++] = space_job(space, &layers);
    }
    group->least_blocks = group->least = INFINITY;
    if (count == 0)
        return true;
    job_layers_each(jobs, count, memo, priced);
    for (int i = 0; i < count; i++) {
        double blocks = job_pass_seconds(&priced[i].blocks.pass);
        group->least_blocks = fmin(group->least_blocks, blocks);
        group->least = fmin(group->least, blocks + ends_of(&priced[i]));
    }
    group->send_inside = priced[0].send_inside;
    group->send_across = priced[0].send_across;
    if (group == &space->groups[group->cut->first_group]) {
        group->cut->layers = malloc(sizeof *group->cut->layers);
        if (!group->cut->layers)
            return false;
        *group->cut->layers = priced[0];
    }
    return true;
}

/* Returns the bytes that layers keep at least, however many of them are recomputed as a whole or wait on the host. */
static double least_kept(const struct space *space, const struct space_layers *layers)
{
    const struct job_layers *priced = &layers->priced;
    bool open = layers->mode.some != METHOD_ALL ||
                space->question->ranges[JOB_TECHNIQUE + TECHNIQUE_OFFLOAD_ACTIVATIONS].given;
    return open ? 0.0 : priced->blocks.kept + priced->embedding.kept + priced->head.kept;
}

bool space_price(const struct space *space, struct space_group *group)
{
    size_t modes = (size_t)group->modes + 1;
    struct space_layers *all = calloc(modes, sizeof *all);
    struct job_layers *priced = calloc(modes, sizeof *priced);
    struct job *jobs = calloc(modes, sizeof *jobs);
    bool ok = all && priced && jobs;
    int count = 0;
    for (int i = 0; ok && i < space->mode_count; i++)
        if (mode_allowed(group, &space->modes[i])) {
            all[count] = layers_with(group, space->modes[i]);
            jobs[count] = space_job(space, &all[count]);
            count++;
        }
    if (ok && count > 0)
        job_layers_each(jobs, count, NULL, priced);
    for (int i = 0; ok && i < count; i++) {
        all[i].priced = priced[i];
        all[i].ends = ends_of(&priced[i]);
        all[i].blocks = job_pass_seconds(&priced[i].blocks.pass);
    }
    count = ok ? keep_useful(all, count) : 0;
    group->least_kept = INFINITY;
    for (int i = 0; i < count; i++)
        group->least_kept = fmin(group->least_kept, least_kept(space, &all[i]));
    group->layers = ok ? realloc(all, (size_t)(count + 1) * sizeof *all) : NULL;
    if (ok && !group->layers)
        group->layers = all; /* as large as before */
    if (!ok)
        free(all);
    free(priced);
    free(jobs);
    atomic_store(&group->count, count);
    return ok;
}

void space_release(struct space *space)
{
    for (int i = 0; i < space->group_count; i++)
        free(space->groups[i].layers);
    for (int i = 0; i < space->cut_count; i++)
        free(space->cuts[i].layers);
}

int space_blocks_of_step(const struct job *job, enum recompute_method some, int step)
{
    int chunks = job->degrees.pipeline * job->chunks, blocks = job_block_count(job);
    int most = (blocks + chunks - 1) / chunks + (job->degrees.pipeline > 1); /* of one chunk */
    if (some == METHOD_EVERY)
        return most - step >= 2 ? most - step : 0;
    return step + 1 < most ? step + 1 : 0;
}

int space_steps(const struct job *job, enum recompute_method some)
{
    int steps = 0;
    while (space_blocks_of_step(job, some, steps) > 0)
        steps++;
    return steps;
}

int space_least_step(const struct space *space, const struct job *job, const struct space_layers *layers,
                     int steps)
{
    struct job tried = *job;
    int low = -1, high = steps; /* low does not fit, high does */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        tried.technique.layers = space_blocks_of_step(&tried, layers->mode.some, middle);
        if (job_memory_of(&tried, &layers->priced).total <= space->memory)
            high = middle;
        else
            low = middle;
    }
    return high < steps ? high : steps - 1;
}

bool space_offload_least(const struct space *space, struct job *job, struct job_memory *memory,
                         const struct job_layers *layers, enum technique_kind kind)
{
    const struct job_range *range = &space->question->ranges[JOB_TECHNIQUE + kind];
    int low = (int)range->min, high = (int)range->max; /* low does not fit, high does */
    if (kind == TECHNIQUE_OFFLOAD_ACTIVATIONS && high > job_block_count(job))
        high = job_block_count(job);
    if (!range->given || high <= low)
        return false;
    technique_set(&job->technique, kind, high);
    if (!job_keeps(job, RULE_AT_OFFLOAD) && kind == TECHNIQUE_OFFLOAD_ACTIVATIONS)
        technique_set(&job->technique, kind, --high);
    *memory = job_memory_of(job, layers);
    if (memory->total > space->memory || !job_keeps(job, RULE_AT_OFFLOAD))
        return false;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        technique_set(&job->technique, kind, middle);
        if (job_memory_of(job, layers).total <= space->memory)
            high = middle;
        else
            low = middle;
    }
    technique_set(&job->technique, kind, high);
    *memory = job_memory_of(job, layers);
    return true;
}
