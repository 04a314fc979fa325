#include "plan/split/search.h"

#include "core/clock.h"
#include "core/stop.h"
#include "plan/split/bound.h"
#include "plan/split/kept.h"
#include "plan/split/rule.h"
#include "plan/split/space.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PRICING_LOCKS   61
#define PRICED_TOGETHER 1000 /* groups, which share the prices of kernels */

struct searcher {
    struct space *space;
    const struct job_search_options *options;
    int task_count;
    struct space_task *tasks;
    double started;
    pthread_mutex_t lock; /* of all below */
    struct kept kept;
    double combinations;
    struct job_choice smallest; /* the combination with the minimum memory, while none fits */
    double left;                /* minimum bound of the tasks not decided in time */
    int done;
    _Atomic double
        worst; /* value of the last of the plans; INFINITY while there are too few, and for a front */
    _Atomic double fastest; /* seconds of the first of them */
    bool sizing;            /* nothing fits: only the smallest combination is sought */
    _Atomic double least;   /* its bytes so far */
    atomic_bool left_out;   /* combinations that cannot fit were not weighed */
    atomic_bool late, no_memory;
    pthread_mutex_t pricing[PRICING_LOCKS]; /* of a group's modes, by its number */
};

/* The ways to shard parameters (ZeRO-3) of a cut, a pipeline and a data parallel degree, with their exchanges, which
 * are the same in all groups and modes. */
struct sharded {
    int count; /* -1: not listed yet */
    struct space_shards shards[SPACE_MAX_SHARDS];
    struct job_exchange exchanges[SPACE_MAX_SHARDS];
};

/* A thread's own. */
struct worker {
    struct searcher *searcher;
    int *blocks;
    struct sharded *sharded;
    struct job_choice smallest;
};

/* Looks at the clock. */
static bool is_late(struct searcher *s)
{
    double limit = s->options->time_limit;
    if (stop_is_late(limit > 0.0 ? s->started + limit : 0.0))
        atomic_store(&s->late, true);
    return atomic_load(&s->late);
}

static double ceiling_of(const struct job_search_options *options)
{
    return options->ceiling > 0.0 ? options->ceiling : INFINITY;
}

static void offer(struct searcher *s, const struct job_choice *plan)
{
    pthread_mutex_lock(&s->lock);
    kept_offer(&s->kept, plan);
    atomic_store(&s->worst, fmin(kept_worst(&s->kept), ceiling_of(s->options)));
    if (plan->time.seconds < atomic_load(&s->fastest))
        atomic_store(&s->fastest, plan->time.seconds);
    pthread_mutex_unlock(&s->lock);
}

/* Returns the seconds beyond which a plan on so many devices does not count. */
static double longest(struct searcher *s, int devices)
{
    if (s->sizing)
        return INFINITY;
    double worst = atomic_load(&s->worst), within = s->options->within;
    return within > 0.0 ? fmin(within, worst / devices * (1.0 + 1e-12)) : worst;
}

static void keep_smaller(struct job_choice *smallest, const struct job_choice *plan)
{
    double was = smallest->memory.total, is = plan->memory.total;
    if (is > 0.0 && (was == 0.0 || is < was || (is == was && job_choice_compare(plan, smallest) < 0)))
        *smallest = *plan;
}

static void note_smaller(struct worker *w, const struct job_choice *plan)
{
    struct searcher *s = w->searcher;
    double least = atomic_load(&s->least);
    keep_smaller(&w->smallest, plan);
    while (plan->memory.total > 0.0 && plan->memory.total < least &&
           !atomic_compare_exchange_weak(&s->least, &least, plan->memory.total))
        ;
}

/* ---- one combination ---- */

/* Tries the least of a technique that makes a plan fit. */
static void offload_least(struct worker *w, const struct job_choice *tried, const struct job_layers *layers,
                          const struct job_exchange *exchange, enum technique_kind kind)
{
    struct job_choice plan = *tried;
    bool fits = space_offload_least(w->searcher->space, &plan.job, &plan.memory, layers, kind);
    note_smaller(w, &plan);
    if (!fits)
        return;
    plan.time = job_time_of(&plan.job, layers, exchange);
    if (isnan(plan.time.seconds))
        atomic_store(&w->searcher->no_memory, true);
    else if (plan.time.seconds <= longest(w->searcher, plan.job.devices))
        offer(w->searcher, &plan);
}

/* Returns whether a stage in the middle, one of the fullest, does not fit, which is soon found; while nothing fits, the
 * fullest stage counts. */
static bool overflows(struct worker *w, const struct job *job, const struct job_layers *layers)
{
    const struct space *space = w->searcher->space;
    int stage = job->degrees.pipeline / 2, first = job_stage_first(job, layers->block_count, stage);
    if (isinf(atomic_load(&w->searcher->fastest)) || space_opens_offload(space))
        return false;
    struct job_layer layer =
        job_stage(job, layers, stage, first, job_stage_first(job, layers->block_count, stage + 1));
    return job_stage_memory(job, layers, stage, &layer).total > space->memory;
}

static void weigh(struct worker *w, struct job_choice *plan, const struct job_layers *layers,
                  const struct job_exchange *exchange)
{
    bool timed = job_is_timed(&plan->job);
    if (!job_keeps(&plan->job, RULE_AT_OFFLOAD))
        return;
    if (w->searcher->sizing) {
        plan->memory = job_memory_of(&plan->job, layers);
        note_smaller(w, plan);
        offload_least(w, plan, layers, exchange, TECHNIQUE_OFFLOAD);
        offload_least(w, plan, layers, exchange, TECHNIQUE_OFFLOAD_ACTIVATIONS);
        return;
    }
    double worst = longest(w->searcher, plan->job.devices);
    if (timed && (overflows(w, &plan->job, layers) || job_time_floor(&plan->job, layers, exchange) > worst))
        return;
    if (!timed && (plan->time = job_time_of(&plan->job, layers, exchange)).seconds > worst)
        return;
    plan->memory = job_memory_of(&plan->job, layers);
    if (plan->memory.total > w->searcher->space->memory) {
        note_smaller(w, plan);
        if (plan->job.stage_blocks)
            return;
        offload_least(w, plan, layers, exchange, TECHNIQUE_OFFLOAD);
        offload_least(w, plan, layers, exchange, TECHNIQUE_OFFLOAD_ACTIVATIONS);
        return;
    }
    if (timed)
        plan->time = job_time_of(&plan->job, layers, exchange);
    if (isnan(plan->time.seconds))
        atomic_store(&w->searcher->no_memory, true);
    else if (plan->time.seconds <= worst)
        offer(w->searcher, plan);
}

/* Tries the fastest layout of the blocks if the even one is too slow or too large, and a better one could count. */
static void lay_out_anew(struct worker *w, struct job_choice *plan, const struct space_layers *layers,
                         const struct job_exchange *exchange)
{
    struct searcher *s = w->searcher;
    double pace = (plan->time.compute + plan->time.tensor) / (double)job_microbatches(&plan->job);
    double mean = (layers->blocks + layers->ends) / plan->job.degrees.pipeline;
    bool fits = plan->memory.total > 0.0 && plan->memory.total <= s->space->memory;
    double most = s->options->front ? INFINITY : space_longest_pace(plan, longest(s, plan->job.devices));
    if (s->space->question->stage_blocks || s->sizing || mean > most || (fits && pace <= mean * (1.0 + 1e-9)))
        return;
    if (!job_layout(&plan->job, &layers->priced, s->space->memory, most, w->blocks))
        return;
    plan->job.stage_blocks = w->blocks;
    weigh(w, plan, &layers->priced, exchange);
    plan->job.stage_blocks = NULL;
}

/* Tries the fewest blocks that make an even split fit. More of them take longer and hold less, except that every n-th
 * block need not be among every m-th, and fewer may fit with more on the host: then all numbers are tried. */
static void recompute_some(struct worker *w, struct job_choice *plan, const struct space_layers *layers,
                           const struct job_exchange *exchange)
{
    const struct space *space = w->searcher->space;
    enum recompute_method some = layers->mode.some;
    bool given = space->question->ranges[JOB_TECHNIQUE + TECHNIQUE_LAYERS].given;
    bool nested = some == METHOD_BLOCK && !w->searcher->options->front && !space_opens_offload(space);
    int steps = given ? 0 : space_steps(&plan->job, some);
    for (int step = 0; !nested && step < steps; step++) {
        plan->job.technique.layers = space_blocks_of_step(&plan->job, some, step);
        weigh(w, plan, &layers->priced, exchange);
    }
    if (nested && steps > 0) {
        plan->job.technique.layers = space_blocks_of_step(&plan->job, some, 0);
        if (job_time_of(&plan->job, &layers->priced, exchange).seconds >
            longest(w->searcher, plan->job.devices))
            return; /* more of them take longer */
        int least = space_least_step(space, &plan->job, layers, steps);
        plan->job.technique.layers = space_blocks_of_step(&plan->job, some, least);
    }
    if (given || (nested && steps > 0))
        weigh(w, plan, &layers->priced, exchange);
}

/* Returns whether a job fits with some number of chunks, more than one. */
static bool fits_in_chunks(struct worker *w, const struct job *job, const struct space_layers *layers,
                           int chunks)
{
    const struct space *space = w->searcher->space;
    if (space_opens_offload(space) || layers->mode.some != METHOD_ALL)
        return true;
    struct job_choice plan = {.job = *job};
    plan.job.chunks = chunks;
    plan.memory = job_memory_of(&plan.job, &layers->priced);
    if (plan.memory.total <= space->memory)
        return true;
    note_smaller(w, &plan);
    return false;
}

/* Tries the schedules that are timed, with an even layout. */
static void decide_schedules(struct worker *w, struct job job, const struct space_layers *layers,
                             unsigned shardings)
{
    const struct space *space = w->searcher->space;
    if (layers->mode.some != METHOD_ALL)
        return;
    for (int s = SCHEDULE_ZB_H1; s <= SCHEDULE_LAST; s++) {
        job.technique.schedule = s;
        job.chunks = job_is_folded(&job) ? 2 : 1;
        bool pairs = job_has_pairs(&job) && job.degrees.expert > 1; /* hide exchanges */
        if (!(space->schedules >> s & 1) || !space_allows(space->question, JOB_CHUNKS, job.chunks) ||
            (space->question->stage_blocks && job_is_folded(&job)) || !job_keeps(&job, RULE_AT_SCHEDULE) ||
            pairs != (layers->mode.overlap >= OVERLAP_PASSES))
            continue;
        for (job.sharding = 0; job.sharding <= 2; job.sharding++) {
            if (!(shardings >> job.sharding & 1))
                continue;
            struct job_choice plan = {.job = job};
            struct job_exchange exchange = job_exchange_of(&job, &layers->priced);
            weigh(w, &plan, &layers->priced, &exchange);
        }
    }
}

/* Decides the chunks of a split with one sharding. */
static void decide_chunks(struct worker *w, struct job job, const struct space_layers *layers,
                          const struct job_exchange *exchange)
{
    const struct space *space = w->searcher->space;
    int max = space_max_chunks(space, job.degrees.pipeline);
    bool weighed = false; /* the smallest number of bytes with more than one chunk */
    for (job.chunks = 1; job.chunks <= max; job.chunks++) {
        if (!space_has_chunks(space, &job, job.chunks))
            continue;
        if (job.chunks > 1 && !weighed && !fits_in_chunks(w, &job, layers, space_smallest_chunks(space, job)))
            return;
        weighed = job.chunks > 1;
        struct job_choice plan = {.job = job};
        if (layers->mode.some != METHOD_ALL) {
            recompute_some(w, &plan, layers, exchange);
            continue;
        }
        weigh(w, &plan, &layers->priced, exchange);
        if (job.chunks == 1 && job.degrees.pipeline > 1)
            lay_out_anew(w, &plan, layers, exchange);
    }
}

static void set_shards(struct job *job, const struct space_shards *shards)
{
    job->technique.replicate = shards->replicate;
    job->technique.reshard = shards->reshard;
}

static void list_sharded(struct worker *w, struct job job, const struct job_layers *layers)
{
    struct sharded *sharded = w->sharded;
    sharded->count = space_list_shards(w->searcher->space, &job, sharded->shards);
    for (int i = 0; i < sharded->count; i++) {
        set_shards(&job, &sharded->shards[i]);
        sharded->exchanges[i] = job_exchange_of(&job, layers);
    }
}

/* Decides the chunks and shardings of a split with the schedules that have formulas. */
static void decide_rest(struct worker *w, struct job job, const struct space_layers *layers,
                        const struct job_exchange *exchanges, unsigned shardings)
{
    for (job.sharding = 0; job.sharding <= 2; job.sharding++)
        if (shardings >> job.sharding & 1)
            decide_chunks(w, job, layers, &exchanges[job.sharding]);
    if (!(shardings >> 3 & 1))
        return;
    if (w->sharded->count < 0)
        list_sharded(w, job, &layers->priced);
    for (int i = 0; i < w->sharded->count; i++) {
        set_shards(&job, &w->sharded->shards[i]);
        decide_chunks(w, job, layers, &w->sharded->exchanges[i]);
    }
}

static void exchanges_of(struct job job, const struct job_layers *layers, unsigned shardings,
                         struct job_exchange exchanges[4])
{
    for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
        if (!(shardings >> job.sharding & 1))
            continue;
        bool same = job.sharding == 1 && (shardings & 1);
        exchanges[job.sharding] = same ? exchanges[0] : job_exchange_of(&job, layers);
    }
}

/* Prices a group once, whichever of its tasks is first. */
static bool price_modes(struct searcher *s, struct space_group *group)
{
    bool ok = true;
    if (atomic_load(&group->count) > 0)
        return true;
    pthread_mutex_t *lock = &s->pricing[(size_t)(group - s->space->groups) % PRICING_LOCKS];
    pthread_mutex_lock(lock);
    if (atomic_load(&group->count) == 0)
        ok = space_price(s->space, group);
    pthread_mutex_unlock(lock);
    if (!ok)
        atomic_store(&s->no_memory, true);
    return ok;
}

/* Returns whether no combination of a group fits, or is the smallest where that is sought. Without this, a search in
 * which nothing fits would weigh everything. */
static bool is_too_large(struct searcher *s, const struct space_cut *cut, const struct job *job,
                         unsigned shardings, double kept)
{
    double room = s->sizing ? atomic_load(&s->least) : s->space->memory;
    if (space_least_memory(s->space, cut, *job, shardings, kept) <= room)
        return false;
    atomic_store(&s->left_out, true);
    return true;
}

/* Tries every way of recomputation of a split. */
static void decide_group(struct worker *w, struct space_group *group, struct job *job,
                         const struct job_exchange *exchanges, unsigned shardings)
{
    const struct space *space = w->searcher->space;
    if (group->modes == 0 || (space->question->job.batch / job->degrees.data) % group->microbatch != 0)
        return;
    job->microbatch = group->microbatch;
    double count = (double)job_microbatches(job), worst = longest(w->searcher, job->devices);
    struct space_bounds bounds = space_bounds_of(space, job->degrees.pipeline, count, group->least,
                                                 group->least_blocks, (struct space_bounds){0.0, 0.0});
    if (space_exceeds(&bounds, worst))
        return;
    struct space_bounds rest = space_rest_of(space, *job, group, shardings, exchanges);
    bounds = space_bounds_of(space, job->degrees.pipeline, count, group->least, group->least_blocks, rest);
    if (space_exceeds(&bounds, worst) || !price_modes(w->searcher, group) ||
        is_too_large(w->searcher, group->cut, job, shardings, group->least_kept))
        return;
    int modes = atomic_load(&group->count);
    for (int i = 0; i < modes; i++) {
        const struct space_layers *layers = &group->layers[i];
        double all = layers->blocks + layers->ends;
        bounds = space_bounds_of(space, job->degrees.pipeline, count, all, layers->blocks, rest);
        space_set_mode(space, &layers->mode, 1, job);
        job->technique.expert_tensor = group->cut->expert_tensor;
        if (bounds.timed <= longest(w->searcher, job->devices))
            decide_schedules(w, *job, layers, shardings);
        if (((space->schedules & 1) || job->degrees.pipeline == 1) &&
            bounds.formula <= longest(w->searcher, job->devices))
            decide_rest(w, *job, layers, exchanges, shardings);
    }
}

static void decide_task(struct worker *w, const struct space_task *task)
{
    const struct space *space = w->searcher->space;
    const struct space_cut *cut = task->cut;
    struct space_group *groups = &space->groups[cut->first_group];
    unsigned shardings = space_shardings(space, task->pipeline);
    for (int d = space->divisor_count - 1; d >= 0 && !stop_wanted(); d--) {
        int64_t data = space->divisors[d];
        if (!space_data_allowed(space, cut, task->pipeline, data))
            continue;
        const struct space_layers first = {.cut = cut, .microbatch = groups[0].microbatch};
        struct job job = space_job(space, &first);
        struct job_exchange exchanges[4];
        job.degrees.pipeline = task->pipeline;
        job.degrees.data = (int)data;
        job.devices = (int)((int64_t)cut->degrees.tensor * cut->degrees.context * task->pipeline * data);
        if (is_too_large(w->searcher, cut, &job, shardings, 0.0))
            continue;
        exchanges_of(job, cut->layers, shardings, exchanges);
        w->sharded->count = -1;
        for (int g = 0; g < cut->groups; g++)
            decide_group(w, &groups[g], &job, exchanges, shardings);
    }
}

static void run_task(void *context, size_t first, size_t last, int thread)
{
    struct searcher *s = context;
    (void)thread;
    struct worker w = {.searcher = s,
                       .blocks = malloc((size_t)s->kept.max_stages * sizeof *w.blocks),
                       .sharded = malloc(sizeof *w.sharded)};
    bool ok = w.blocks && w.sharded;
    double left = INFINITY, combinations = 0.0;
    if (!ok)
        atomic_store(&s->no_memory, true);
    for (size_t i = first; i < last && ok; i++) {
        const struct space_task *task = &s->tasks[i];
        if (is_late(s)) {
            left = fmin(left, task->bound);
            continue;
        }
        combinations += s->sizing ? 0.0 : task->combinations;
        if (task->bound <= atomic_load(s->sizing ? &s->least : &s->worst))
            decide_task(&w, task);
    }
    pthread_mutex_lock(&s->lock);
    s->combinations += combinations;
    s->left = fmin(s->left, left);
    keep_smaller(&s->smallest, &w.smallest);
    s->done += (int)(last - first);
    if (s->options->progress)
        progress_show(s->options->progress, "%d of %d splits", s->done, s->task_count);
    pthread_mutex_unlock(&s->lock);
    free(w.blocks);
    free(w.sharded);
}

/* ---- all of it ---- */

static void price_floors(void *context, size_t first, size_t last, int thread)
{
    struct searcher *s = context;
    (void)thread;
    struct kernel_memo *memo =
        kernel_memo_new(s->space->question->job.device, s->space->question->job.calibration);
    bool ok = memo != NULL;
    for (size_t i = first; i < last && ok && !is_late(s); i++)
        ok = space_price_floor(s->space, &s->space->groups[i], memo);
    if (!ok)
        atomic_store(&s->no_memory, true);
    kernel_memo_free(memo);
}

/* The best bounds first: good plans early dismiss the rest. */
static bool list_tasks(struct searcher *s, struct arena *arena)
{
    const struct space *space = s->space;
    const struct job *job = &space->question->job;
    int blocks = job_block_count(job);
    int max = (job->software->offers & OFFERS_PIPELINE) ? blocks : 1;
    s->kept.max_stages = blocks;
    s->tasks = arena_alloc(arena, (size_t)space->cut_count * (size_t)max, sizeof *s->tasks);
    if (!s->tasks)
        return false;
    for (int c = 0; c < space->cut_count; c++) {
        const struct degrees *degrees = &space->cuts[c].degrees;
        bool allowed = space_allows(space->question, JOB_TENSOR, degrees->tensor) &&
                       space_allows(space->question, JOB_CONTEXT, degrees->context);
        for (int pipeline = 1; pipeline <= max && allowed; pipeline++) {
            struct space_task task = {.cut = &space->cuts[c], .pipeline = pipeline};
            if (!space_allows(space->question, JOB_PIPELINE, pipeline) || !space_shardings(space, pipeline) ||
                (space->question->stage_blocks && pipeline != space->question->stage_count))
                continue;
            if (is_late(s))
                return true; /* without a bound on all tasks the search has none */
            space_weigh_task(space, s->options->within, &task);
            if (isfinite(task.bound))
                s->tasks[s->task_count++] = task;
        }
    }
    qsort(s->tasks, (size_t)s->task_count, sizeof *s->tasks, space_compare_tasks);
    return true;
}

static bool nothing_fits(const struct searcher *s, struct error *err)
{
    if (atomic_load(&s->late))
        return error_set(err, ERROR_INFEASIBLE,
                         "no plan found within the time limit: try a longer --time-limit");
    return space_does_not_fit(s->space, &s->smallest.job, s->smallest.memory.total, err);
}

/* The bounds are bytes now: the smallest combinations first. */
static void find_smallest(struct searcher *s)
{
    const struct space *space = s->space;
    for (int i = 0; i < s->task_count; i++) {
        struct space_task *task = &s->tasks[i];
        task->bound = space_least_of(space, task->cut, task->pipeline);
    }
    qsort(s->tasks, (size_t)s->task_count, sizeof *s->tasks, space_compare_tasks);
    s->sizing = true;
    s->done = 0;
    parallel_for(s->options->pool, (size_t)s->task_count, 1, run_task, s);
}

static bool search_all(struct searcher *s, struct job_search *search, struct error *err)
{
    struct parallel *pool = s->options->pool;
    if (!s->space->has_floors)
        parallel_for(pool, (size_t)s->space->group_count, PRICED_TOGETHER, price_floors, s);
    if (atomic_load(&s->no_memory))
        return error_memory(err);
    if (!atomic_load(&s->late) && !list_tasks(s, &search->arena))
        return error_memory(err);
    if (atomic_load(&s->late)) /* without bounds there is neither a plan nor a bound */
        return nothing_fits(s, err);
    s->space->has_floors = true;
    if (!kept_init(&s->kept, s->options, &search->arena))
        return error_memory(err);
    parallel_while(pool, (size_t)s->task_count, 1, run_task, stop_unwanted, s);
    if (atomic_load(&s->no_memory))
        return error_memory(err);
    if (s->kept.count == 0 && s->options->ceiling > 0.0)
        return error_set(err, ERROR_INFEASIBLE, "no plan met the `enough` limit");
    if (s->kept.count == 0 && atomic_load(&s->left_out) && !atomic_load(&s->late))
        find_smallest(s);
    if (s->kept.count == 0)
        return nothing_fits(s, err);
    kept_sort(&s->kept);
    search->plans = s->kept.plans;
    search->plan_count = s->kept.count;
    search->combinations = s->combinations;
    search->complete = !atomic_load(&s->late);
    search->lower_bound = fmin(kept_value(s->options, &s->kept.plans[0]), s->left);
    return true;
}

static bool search_space(struct job_search *search, struct space *space,
                         const struct job_search_options *options, struct error *err)
{
    struct searcher s = {.space = space, .options = options, .started = clock_now(), .left = INFINITY};
    atomic_store(&s.worst, ceiling_of(options));
    atomic_store(&s.fastest, INFINITY);
    atomic_store(&s.least, INFINITY);
    pthread_mutex_init(&s.lock, NULL);
    for (int i = 0; i < PRICING_LOCKS; i++)
        pthread_mutex_init(&s.pricing[i], NULL);
    bool ok = search_all(&s, search, err);
    for (int i = 0; i < PRICING_LOCKS; i++)
        pthread_mutex_destroy(&s.pricing[i]);
    pthread_mutex_destroy(&s.lock);
    if (!ok)
        job_search_release(search);
    return ok;
}

bool job_search(struct job_search *search, const struct job_question *question,
                const struct job_search_options *options, struct error *err)
{
    if (job_has_choices(question))
        return job_search_choices(search, question, options, err);
    *search = (struct job_search){0};
    struct space *space = arena_alloc(&search->arena, 1, sizeof *space);
    bool ok = space ? space_init(space, question, &search->arena, err) : error_memory(err);
    if (!ok) {
        job_search_release(search);
        return false;
    }
    search->space = space;
    return search_space(search, space, options, err);
}

bool job_search_again(struct job_search *search, const struct job_search *before,
                      const struct job_question *question, const struct job_search_options *options,
                      struct error *err)
{
    if (!before->space)
        return job_search(search, question, options, err);
    struct space space = *before->space; /* its groups keep what has been priced */
    space.question = question;
    *search = (struct job_search){0};
    return search_space(search, &space, options, err);
}

void job_search_release(struct job_search *search)
{
    if (search->space)
        space_release(search->space);
    arena_release(&search->arena);
    *search = (struct job_search){0};
}
