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

/* Recomputation only adds kernels and transfers, and kernels that are added never shorten the rest: without any, and
 * with each overlap that a mode has, layers take least. */
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
