#include "plan/split/search.h"

#include "core/clock.h"
#include "core/unit.h"
#include "plan/split/space.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* All combinations of a cut and a length of the pipeline. */
struct task {
    const struct space_cut *cut;
    int pipeline;
    double bound; /* minimum seconds of its combinations */
};

struct searcher {
    struct space *space;
    const struct job_search_options *options;
    int task_count;
    struct task *tasks;
    double started;
    pthread_mutex_t lock; /* of all below */
    struct job_choice *plans;
    int plan_count;
    int *blocks; /* [top][max_stages]: layouts of the plans */
    int max_stages;
    double combinations;
    struct job_choice smallest; /* the combination with the minimum memory, while none fits */
    double left;                /* minimum bound of the tasks not decided in time */
    int done;
    _Atomic double
        worst; /* seconds of the last of the plans; INFINITY while there are too few, and for a front */
    _Atomic double fastest; /* seconds of the first of them */
    atomic_bool late, no_memory;
};

/* A thread's own. */
struct worker {
    struct searcher *searcher;
    int *blocks;
    double combinations;
    struct job_choice smallest;
};

/* Looks at the clock. */
static bool is_late(struct searcher *s)
{
    double limit = s->options->time_limit;
    if (limit > 0.0 && clock_now() - s->started > limit)
        atomic_store(&s->late, true);
    return atomic_load(&s->late);
}

/* ---- which plan is better ---- */

/* A total order; also for qsort. */
static int compare_plans(const void *first, const void *second)
{
    const struct job_choice *a = first, *b = second;
    if (a->time.seconds != b->time.seconds)
        return a->time.seconds < b->time.seconds ? -1 : 1;
    if (a->job.devices != b->job.devices)
        return a->job.devices < b->job.devices ? -1 : 1;
    if (a->memory.total != b->memory.total)
        return a->memory.total < b->memory.total ? -1 : 1;
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        int64_t x = job_dimension_value(&a->job, (enum job_dimension)d);
        int64_t y = job_dimension_value(&b->job, (enum job_dimension)d);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static bool same_split(const struct job *a, const struct job *b)
{
    return a->tensor == b->tensor && a->pipeline == b->pipeline && a->data == b->data &&
           a->context == b->context && a->expert == b->expert;
}

static void put_plan(struct searcher *s, int at, const struct job_choice *plan, const int *blocks)
{
    s->plans[at] = *plan;
    if (blocks) {
        int *own = s->blocks + (size_t)at * (size_t)s->max_stages;
        memcpy(own, blocks, (size_t)plan->job.pipeline * sizeof *own);
        s->plans[at].job.stage_blocks = own;
    }
}

/* Is `a` no worse than `b` in time, memory and devices, and before it in the total order? */
static bool beats(const struct job_choice *a, const struct job_choice *b)
{
    return a->time.seconds <= b->time.seconds && a->memory.total <= b->memory.total &&
           a->job.devices <= b->job.devices && compare_plans(a, b) < 0;
}

/* Keeps the plans that no other beats; if there is no room for all, the fastest. */
static void offer_to_front(struct searcher *s, const struct job_choice *plan)
{
    int kept = 0, slowest = 0;
    for (int i = 0; i < s->plan_count; i++)
        if (beats(&s->plans[i], plan))
            return;
    for (int i = 0; i < s->plan_count; i++)
        if (!beats(plan, &s->plans[i])) {
            if (kept != i)
                put_plan(s, kept, &s->plans[i], s->plans[i].job.stage_blocks);
            kept++;
        }
    s->plan_count = kept;
    if (kept < s->options->top) {
        put_plan(s, s->plan_count++, plan, plan->job.stage_blocks);
        return;
    }
    for (int i = 1; i < kept; i++)
        if (compare_plans(&s->plans[i], &s->plans[slowest]) > 0)
            slowest = i;
    if (compare_plans(plan, &s->plans[slowest]) < 0)
        put_plan(s, slowest, plan, plan->job.stage_blocks);
}

/* Keeps the best plan of each of the fastest splits. */
static void offer_to_top(struct searcher *s, const struct job_choice *plan)
{
    int at = 0;
    while (at < s->plan_count && !same_split(&s->plans[at].job, &plan->job))
        at++;
    bool better = at == s->plan_count || compare_plans(plan, &s->plans[at]) < 0;
    if (better && at == s->options->top) { /* no room: replace the worst */
        at = 0;
        for (int i = 1; i < s->plan_count; i++)
            if (compare_plans(&s->plans[i], &s->plans[at]) > 0)
                at = i;
        better = compare_plans(plan, &s->plans[at]) < 0;
    }
    if (better) {
        put_plan(s, at, plan, plan->job.stage_blocks);
        if (at == s->plan_count)
            s->plan_count++;
        double worst = s->plan_count < s->options->top ? INFINITY : 0.0;
        for (int i = 0; i < s->plan_count; i++)
            worst = fmax(worst, s->plans[i].time.seconds);
        atomic_store(&s->worst, worst);
    }
}

static void offer(struct searcher *s, const struct job_choice *plan)
{
    pthread_mutex_lock(&s->lock);
    if (s->options->front)
        offer_to_front(s, plan);
    else
        offer_to_top(s, plan);
    if (plan->time.seconds < atomic_load(&s->fastest))
        atomic_store(&s->fastest, plan->time.seconds);
    pthread_mutex_unlock(&s->lock);
}

static void keep_smaller(struct job_choice *smallest, const struct job_choice *plan)
{
    double was = smallest->memory.total, is = plan->memory.total;
    if (is > 0.0 && (was == 0.0 || is < was || (is == was && compare_plans(plan, smallest) < 0)))
        *smallest = *plan;
}

/* ---- one combination ---- */

static void weigh(struct worker *w, struct job_choice *plan, const struct job_layers *layers,
                  const struct job_exchange *exchange)
{
    plan->time = job_time_of(&plan->job, layers, exchange);
    if (plan->time.seconds > atomic_load(&w->searcher->worst))
        return;
    plan->memory = job_memory_of(&plan->job, layers);
    if (plan->memory.total <= w->searcher->space->memory)
        offer(w->searcher, plan);
    else
        keep_smaller(&w->smallest, plan);
}

/* Tries the fastest layout of the blocks if the even one is too slow or too large, and a better one could count. */
static void lay_out_anew(struct worker *w, struct job_choice *plan, const struct space_layers *layers,
                         const struct job_exchange *exchange)
{
    struct searcher *s = w->searcher;
    double count = (double)job_microbatches(&plan->job);
    double pace = (plan->time.compute + plan->time.tensor) / count;
    double mean = (layers->blocks + layers->ends) / plan->job.pipeline;
    bool fits = plan->memory.total > 0.0 && plan->memory.total <= s->space->memory;
    double waiting = (plan->time.other - plan->job.calibration->step) / plan->time.compute;
    double worst = atomic_load(s->options->front ? &s->fastest : &s->worst);
    if (s->space->question->stage_blocks)
        return;
    if (plan->time.seconds - count * (pace - mean) * (1.0 + waiting) > worst ||
        (fits && pace <= mean * (1.0 + 1e-9)))
        return;
    if (!job_layout(&plan->job, &layers->priced, s->space->memory, w->blocks))
        return;
    plan->job.stage_blocks = w->blocks;
    weigh(w, plan, &layers->priced, exchange);
    plan->job.stage_blocks = NULL;
}

/* Decides the chunks and shardings of a split whose bound is good enough. */
static void decide_rest(struct worker *w, struct job job, const struct space_layers *layers,
                        const struct job_exchange *exchanges, unsigned shardings)
{
    const struct space *space = w->searcher->space;
    int max = space_max_chunks(space, job.pipeline);
    for (job.chunks = 1; job.chunks <= max; job.chunks++) {
        if (!space_has_chunks(space, &job, job.chunks))
            continue;
        for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
            if (!(shardings >> job.sharding & 1))
                continue;
            struct job_choice plan = {.job = job};
            weigh(w, &plan, &layers->priced, &exchanges[job.sharding]);
            if (job.chunks == 1 && job.pipeline > 1)
                lay_out_anew(w, &plan, layers, &exchanges[job.sharding]);
        }
    }
}

/* ---- bounds ---- */

/* Returns the minimum seconds of plans with these layers, pipeline and data parallel degree. */
static double bound_of(const struct space *space, const struct job *job, const struct space_layers *layers,
                       double exchange)
{
    double stages = job->pipeline, count = (double)job_microbatches(job);
    double seconds = count * (layers->blocks + layers->ends) / stages + exchange + job->calibration->step;
    if (job->pipeline > 1)
        seconds += (stages - 1.0) * layers->blocks / stages / space_max_chunks(space, job->pipeline);
    return seconds * (1.0 - 1e-12); /* sums are rounded */
}

/* ---- a task ---- */

/* Is this data parallel degree allowed with this cut and pipeline? */
static bool data_allowed(const struct space *space, const struct space_cut *cut, int pipeline, int64_t data)
{
    int64_t model_parallel = (int64_t)cut->tensor * cut->context * pipeline;
    return data <= space->question->job.devices / model_parallel &&
           space_allows(space->question, JOB_DATA, data) &&
           ((int64_t)cut->tensor * cut->context * data) % cut->expert == 0;
}

static void exchanges_of(struct job job, const struct job_layers *layers, unsigned shardings,
                         struct job_exchange exchanges[4], double *min)
{
    *min = INFINITY;
    for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
        if (!(shardings >> job.sharding & 1))
            continue;
        bool same = job.sharding == 1 && (shardings & 1);
        exchanges[job.sharding] = same ? exchanges[0] : job_exchange_of(&job, layers);
        *min = fmin(*min, job.frozen ? 0.0 : exchanges[job.sharding].gradients);
    }
}

static void decide_task(struct worker *w, const struct task *task)
{
    const struct space *space = w->searcher->space;
    const struct space_cut *cut = task->cut;
    const struct space_layers *first = &space->layers[cut->first_layers];
    unsigned shardings = space_shardings(space, task->pipeline);
    for (int d = space->divisor_count - 1; d >= 0; d--) {
        int64_t data = space->divisors[d];
        if (!data_allowed(space, cut, task->pipeline, data))
            continue;
        struct job job = space_job(space, first);
        struct job_exchange exchanges[4];
        double min;
        job.pipeline = task->pipeline;
        job.data = (int)data;
        job.devices = (int)((int64_t)cut->tensor * cut->context * task->pipeline * data);
        exchanges_of(job, &first->priced, shardings, exchanges, &min);
        for (int i = 0; i < cut->layers; i++) {
            const struct space_layers *layers = &first[i];
            if ((space->question->job.batch / data) % layers->microbatch != 0)
                continue;
            job.microbatch = layers->microbatch;
            job.recompute = layers->recompute;
            w->combinations += (double)__builtin_popcount(shardings) * space_max_chunks(space, job.pipeline);
            if (bound_of(space, &job, layers, min) <= atomic_load(&w->searcher->worst))
                decide_rest(w, job, layers, exchanges, shardings);
        }
    }
}

static void run_task(void *context, size_t first, size_t last, int thread)
{
    struct searcher *s = context;
    (void)thread;
    struct worker w = {.searcher = s, .blocks = malloc((size_t)s->max_stages * sizeof *w.blocks)};
    double left = INFINITY;
    if (!w.blocks)
        atomic_store(&s->no_memory, true);
    for (size_t i = first; i < last && w.blocks; i++) {
        if (is_late(s))
            left = fmin(left, s->tasks[i].bound);
        else
            decide_task(&w, &s->tasks[i]);
    }
    pthread_mutex_lock(&s->lock);
    s->combinations += w.combinations;
    s->left = fmin(s->left, left);
    keep_smaller(&s->smallest, &w.smallest);
    s->done += (int)(last - first);
    if (s->options->progress)
        progress_show(s->options->progress, "%d of %d splits", s->done, s->task_count);
    pthread_mutex_unlock(&s->lock);
    free(w.blocks);
}

/* ---- all of it ---- */

static void price(void *context, size_t first, size_t last, int thread)
{
    struct searcher *s = context;
    (void)thread;
    for (size_t i = first; i < last && !is_late(s); i++)
        space_price(s->space, &s->space->layers[i]);
}

static double task_bound(const struct space *space, const struct space_cut *cut, int pipeline)
{
    double min = INFINITY;
    for (int d = 0; d < space->divisor_count; d++) {
        int64_t data = space->divisors[d];
        if (!data_allowed(space, cut, pipeline, data))
            continue;
        for (int i = 0; i < cut->layers; i++) {
            const struct space_layers *layers = &space->layers[cut->first_layers + i];
            if ((space->question->job.batch / data) % layers->microbatch != 0)
                continue;
            struct job job = space_job(space, layers);
            job.pipeline = pipeline;
            job.data = (int)data;
            min = fmin(min, bound_of(space, &job, layers, 0.0));
        }
    }
    return min;
}

static int compare_tasks(const void *a, const void *b)
{
    const struct task *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    if (x->cut != y->cut)
        return x->cut < y->cut ? -1 : 1;
    return x->pipeline - y->pipeline;
}

/* The best bounds first: good plans early dismiss the rest. */
static bool list_tasks(struct searcher *s, struct arena *arena)
{
    const struct space *space = s->space;
    const struct job *job = &space->question->job;
    int blocks = job_block_count(job);
    int max = (job->software->offers & OFFERS_PIPELINE) ? blocks : 1;
    s->max_stages = blocks;
    s->tasks = arena_alloc(arena, (size_t)space->cut_count * (size_t)max, sizeof *s->tasks);
    if (!s->tasks)
        return false;
    for (int c = 0; c < space->cut_count; c++)
        for (int pipeline = 1; pipeline <= max; pipeline++) {
            struct task task = {&space->cuts[c], pipeline, 0.0};
            if (!space_allows(space->question, JOB_PIPELINE, pipeline) || !space_shardings(space, pipeline) ||
                (space->question->stage_blocks && pipeline != space->question->stage_count))
                continue;
            if (is_late(s))
                return true; /* without a bound on all tasks the search has none */
            task.bound = task_bound(space, task.cut, pipeline);
            if (isfinite(task.bound))
                s->tasks[s->task_count++] = task;
        }
    qsort(s->tasks, (size_t)s->task_count, sizeof *s->tasks, compare_tasks);
    return true;
}

static bool nothing_fits(const struct searcher *s, struct error *err)
{
    const struct job *job = &s->space->question->job, *min = &s->smallest.job;
    char needed[32], there[32];
    if (atomic_load(&s->late))
        return error_set(err, ERROR_INFEASIBLE, "no plan was found within the time limit");
    if (s->smallest.memory.total == 0.0)
        return error_set(err, ERROR_INFEASIBLE, "no split of '%s' over %d devices is allowed",
                         job->model->name, job->devices);
    unit_format(needed, sizeof needed, s->smallest.memory.total, UNIT_BYTES, 4);
    unit_format(there, sizeof there, s->space->memory, UNIT_BYTES, 4);
    return error_set(
        err, ERROR_INFEASIBLE,
        "'%s' does not fit: the smallest of all splits (tp %d, pp %d, dp %d, cp %d, ep %d, mbs %" PRId64
        ", zero %d) needs %s on its fullest device, of which %s may be used",
        job->model->name, min->tensor, min->pipeline, min->data, min->context, min->expert, min->microbatch,
        min->sharding, needed, there);
}

/* Marks the plans that no other plan beats in one of time, memory and devices without being worse in another. */
static void mark_front(struct job_choice *plans, int count)
{
    for (int i = 0; i < count; i++) {
        plans[i].on_front = true;
        for (int j = 0; j < count; j++) {
            const struct job_choice *a = &plans[i], *b = &plans[j];
            bool as_good = b->time.seconds <= a->time.seconds && b->memory.total <= a->memory.total &&
                           b->job.devices <= a->job.devices;
            bool better = b->time.seconds < a->time.seconds || b->memory.total < a->memory.total ||
                          b->job.devices < a->job.devices;
            plans[i].on_front &= !(as_good && better);
        }
    }
}

static bool search_all(struct searcher *s, struct job_search *search, struct error *err)
{
    struct parallel *pool = s->options->pool;
    size_t top = (size_t)s->options->top;
    parallel_for(pool, (size_t)s->space->layers_count, 1, price, s);
    if (!atomic_load(&s->late) && !list_tasks(s, &search->arena))
        return error_memory(err);
    if (atomic_load(&s->late)) /* without bounds there is neither a plan nor a bound */
        return nothing_fits(s, err);
    s->plans = arena_alloc(&search->arena, top, sizeof *s->plans);
    s->blocks = arena_alloc(&search->arena, top * (size_t)s->max_stages, sizeof *s->blocks);
    if (!s->plans || !s->blocks)
        return error_memory(err);
    parallel_for(pool, (size_t)s->task_count, 1, run_task, s);
    if (atomic_load(&s->no_memory))
        return error_memory(err);
    if (s->plan_count == 0)
        return nothing_fits(s, err);
    qsort(s->plans, (size_t)s->plan_count, sizeof *s->plans, compare_plans);
    mark_front(s->plans, s->plan_count);
    search->plans = s->plans;
    search->plan_count = s->plan_count;
    search->combinations = s->combinations;
    search->complete = !atomic_load(&s->late);
    search->lower_bound = fmin(s->plans[0].time.seconds, s->left);
    return true;
}

bool job_search(struct job_search *search, const struct job_question *question,
                const struct job_search_options *options, struct error *err)
{
    struct space space;
    struct searcher s = {.space = &space, .options = options, .started = clock_now(), .left = INFINITY};
    *search = (struct job_search){0};
    atomic_store(&s.worst, INFINITY);
    atomic_store(&s.fastest, INFINITY);
    bool ok = space_init(&space, question, &search->arena, err);
    if (ok) {
        pthread_mutex_init(&s.lock, NULL);
        ok = search_all(&s, search, err);
        pthread_mutex_destroy(&s.lock);
    }
    if (!ok)
        job_search_release(search);
    return ok;
}

void job_search_release(struct job_search *search)
{
    arena_release(&search->arena);
    *search = (struct job_search){0};
}
