#include "run/compute.h"
#include "core/clock.h"
#include "core/text.h"
#include "core/vector.h"
#include "cost/model_profile.h"
#include "measure/layers/kernel_set.h"
#include "run/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct worker {
    pthread_t thread;
    int wake;
    pthread_mutex_t lock; /* of all below, and of jobs that were asked for */
    pthread_cond_t asked;
    struct worker_job *first, *last;
    bool closes;
    struct worker_seconds seconds;
};

static double own_processor(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void do_first(struct worker *worker)
{
    const uint64_t one = 1;
    struct worker_job *job = worker->first;
    worker->first = job->next;
    pthread_mutex_unlock(&worker->lock);
    job->begin = clock_now();
    job->failed = !job->run(job->context, &job->error);
    job->end = clock_now();
    pthread_mutex_lock(&worker->lock);
    worker->seconds.processor = own_processor();
    worker->seconds.wall += job->end - job->begin;
    job->ended = true;
    while (write(worker->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void *work(void *context)
{
    struct worker *worker = context;
    text_use_plain_locale();
    pthread_mutex_lock(&worker->lock);
    while (!worker->closes)
        if (worker->first)
            do_first(worker);
        else
            pthread_cond_wait(&worker->asked, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* With the usual priority, also where the rank has a higher one: messages go on meanwhile. */
static int start(struct worker *worker)
{
    pthread_attr_t how;
    const struct sched_param usual = {.sched_priority = 0};
    int result = pthread_attr_init(&how);
    if (result != 0)
        return result;
    (void)pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
    (void)pthread_attr_setschedpolicy(&how, SCHED_OTHER);
    (void)pthread_attr_setschedparam(&how, &usual);
    result = pthread_create(&worker->thread, &how, work, worker);
    pthread_attr_destroy(&how);
    return result;
}

static void release(struct worker *worker)
{
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->asked);
    free(worker);
}

struct worker *worker_new(int wake, struct error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return error_memory_null(err);
    worker->wake = wake;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->asked, NULL);
    int result = start(worker);
    if (result == 0)
        return worker;
    error_set(err, ERROR_FAILED, "cannot start a thread: %s", strerror(result));
    release(worker);
    return NULL;
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->closes = true;
    pthread_cond_signal(&worker->asked);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    release(worker);
}

void worker_ask(struct worker *worker, struct worker_job *job)
{
    pthread_mutex_lock(&worker->lock);
    job->next = NULL;
    job->ended = job->failed = false;
    if (worker->first)
        worker->last->next = job;
    else
        worker->first = job;
    worker->last = job;
    pthread_cond_signal(&worker->asked);
    pthread_mutex_unlock(&worker->lock);
}

bool worker_ended(struct worker *worker, const struct worker_job *job)
{
    pthread_mutex_lock(&worker->lock);
    bool ended = job->ended;
    pthread_mutex_unlock(&worker->lock);
    return ended;
}

struct worker_seconds worker_seconds(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    const struct worker_seconds seconds = worker->seconds;
    pthread_mutex_unlock(&worker->lock);
    return seconds;
}

/* What a layer does in a pass: forwards, backwards, or one half of backwards. */
struct compute_list {
    int layer;
    const struct plan_stage *stage;
    enum timeline_kind kind;
    struct kernel_list kernels;
};

struct compute_job {
    struct worker_job job;
    const struct compute *compute;
    int list;
};

struct compute {
    struct run_kernels kernels;
    struct kernel_set set;
    struct compute_list *lists;
    size_t list_count, list_room;
    int **list_of; /* by template and place; -1: not computed. NULL: a template of other ranks */
    int template_count;
    struct worker *worker;
    struct compute_job *jobs; /* of each device */
};

/* ---- lists of kernels ---- */

static bool belongs(enum timeline_kind kind, const struct kernel *kernel, bool backward)
{
    switch (kind) {
    case TASK_FORWARD:
    case TASK_RECOMPUTE:
        return !backward;
    case TASK_INPUT:
        return backward && !kernel->weights;
    case TASK_WEIGHT:
        return backward && kernel->weights;
    default:
        return backward;
    }
}

static bool fill_list(struct compute *compute, struct compute_list *list, const struct plan *plan,
                      struct error *err)
{
    const struct architecture *model = compute->kernels.model;
    const struct plan_stage *stage = list->stage;
    int64_t samples = plan->microbatch > 0 ? plan->microbatch : 1;
    const struct layer_split split = {
        .microbatch =
            stage->degrees.data > 1 ? (samples + stage->degrees.data - 1) / stage->degrees.data : samples,
        .sequence = compute->kernels.sequence > 0 ? compute->kernels.sequence
                    : plan->sequence > 0          ? plan->sequence
                                                  : model->sequence,
        .degrees = stage->degrees,
        .type = compute->kernels.is_bf16 ? COST_BF16 : COST_FP32,
        .software = compute->kernels.software,
    };
    struct layer_work *work = malloc(sizeof *work);
    bool ok = work || error_memory(err);
    if (ok)
        model_layer_work(work, model, list->layer, &split);
    for (int i = 0; ok && i < work->count; i++) {
        bool backward = i >= work->forward_count;
        const struct kernel *kernel = &work->kernels[i];
        struct kernel_task task;
        if (!belongs(list->kind, kernel, backward) || !kernel_does_work(kernel))
            continue;
        ok = kernel_task_of(&task, kernel, backward, compute->kernels.is_bf16, model->hidden, err) &&
             kernel_set_add(&compute->set, &list->kernels, &task, kernel->repeats, err);
    }
    free(work);
    return ok;
}

/* Returns the number of the list, which is made if it is new; -1: *err. */
static int find_list(struct compute *compute, const struct sim_kernels *kernels, enum timeline_kind kind,
                     const struct plan *plan, struct error *err)
{
    for (size_t i = 0; i < compute->list_count; i++)
        if (compute->lists[i].layer == kernels->layer && compute->lists[i].stage == kernels->stage &&
            compute->lists[i].kind == kind)
            return (int)i;
    struct compute_list list = {.layer = kernels->layer, .stage = kernels->stage, .kind = kind};
    bool ok =
        fill_list(compute, &list, plan, err) &&
        (VECTOR_ADD(compute->lists, compute->list_count, compute->list_room, list) || error_memory(err));
    if (!ok)
        kernel_list_release(&list.kernels);
    return ok ? (int)compute->list_count - 1 : -1;
}

static bool add_template(struct compute *compute, const struct sim_tasks *tasks, const struct plan *plan,
                         int device, uint32_t number, struct error *err)
{
    const struct engine_template *template = &tasks->system->templates[number];
    int *lists = malloc(((size_t) template->count + 1) * sizeof *lists);
    if (!lists)
        return error_memory(err);
    compute->list_of[number] = lists;
    for (int place = 0; place < template->count; place++) {
        struct sim_kernels kernels;
        lists[place] = -1;
        if (!sim_task_kernels(tasks, device, number, place, &kernels))
            continue;
        if (kernels.layer < 0)
            return error_set(err, ERROR_INPUT,
                             "--compute kernels: schedule %s splits layers differently from the plan, whose "
                             "stages' whole layers can be computed",
                             tasks->schedule);
        lists[place] =
            find_list(compute, &kernels, tasks->system->labels[template->tasks[place].label].kind, plan, err);
        if (lists[place] < 0)
            return false;
    }
    return true;
}

static bool add_device(struct compute *compute, const struct sim_tasks *tasks, const struct plan *plan,
                       int device, struct error *err)
{
    const struct engine_order *order = &tasks->system->orders[tasks->system->devices[device].order];
    for (size_t pass = 0; pass < order->count; pass++)
        if (!compute->list_of[order->passes[pass].template] &&
            !add_template(compute, tasks, plan, device, order->passes[pass].template, err))
            return false;
    return true;
}

static bool check_model(const struct run_kernels *kernels, const struct plan *plan, struct error *err)
{
    int layers = model_layer_count(kernels->model), last = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            last = plan->pipelines[p].stages[s].layers.last > last ? plan->pipelines[p].stages[s].layers.last
                                                                   : last;
    return last + 1 == layers ||
           error_set(err, ERROR_INPUT,
                     "--compute kernels: the plan has %d layers, but %s has %d (embedding, blocks, head): "
                     "plan with a profile of 'rehearse measure layers'",
                     last + 1, kernels->model->name, layers);
}

/* ---- what is computed ---- */

static bool run_list(void *context, struct error *err)
{
    const struct compute_job *job = context;
    const struct compute *compute = job->compute;
    return kernel_set_run(&compute->set, &compute->lists[job->list].kernels, 1, err);
}

/* ---- all of it ---- */

/* Memory and code are touched before it counts. */
static bool warm_up(struct compute *compute, struct error *err)
{
    for (size_t i = 0; i < compute->list_count; i++) {
        struct compute_job job = {.compute = compute, .list = (int)i};
        if (!run_list(&job, err))
            return false;
    }
    return true;
}

struct compute *compute_open(const struct run_kernels *kernels, const struct sim_tasks *tasks,
                             const struct plan *plan, int first, int count, int wake, struct error *err)
{
    struct compute *compute = calloc(1, sizeof *compute);
    if (!compute)
        return error_memory_null(err);
    compute->kernels = *kernels;
    compute->template_count = tasks->system->template_count;
    compute->list_of = calloc((size_t)compute->template_count + 1, sizeof *compute->list_of);
    compute->jobs = calloc((size_t)count + 1, sizeof *compute->jobs);
    bool ok = (compute->list_of && compute->jobs) || error_memory(err);
    ok = ok && check_model(kernels, plan, err) && (compute->set.calls = kernel_calls_load(err));
    for (int d = first; ok && d < first + count; d++)
        ok = add_device(compute, tasks, plan, d, err);
    if (ok && warm_up(compute, err) && (compute->worker = worker_new(wake, err)))
        return compute;
    compute_close(compute);
    return NULL;
}

void compute_close(struct compute *compute)
{
    if (!compute)
        return;
    worker_free(compute->worker);
    kernel_set_release(&compute->set);
    for (size_t i = 0; i < compute->list_count; i++)
        kernel_list_release(&compute->lists[i].kernels);
    for (int i = 0; compute->list_of && i < compute->template_count; i++)
        free(compute->list_of[i]);
    free(compute->lists);
    free(compute->list_of);
    free(compute->jobs);
    free(compute);
}

bool compute_has(const struct compute *compute, uint32_t template, int place)
{
    return compute->list_of[template] && compute->list_of[template][place] >= 0;
}

void compute_begin(struct compute *compute, int device, uint32_t template, int place)
{
    struct compute_job *job = &compute->jobs[device];
    *job = (struct compute_job){.job = {.run = run_list, .context = job},
                                .compute = compute,
                                .list = compute->list_of[template][place]};
    worker_ask(compute->worker, &job->job);
}

const struct worker_job *compute_ended(struct compute *compute, int device)
{
    const struct worker_job *job = &compute->jobs[device].job;
    return worker_ended(compute->worker, job) ? job : NULL;
}

struct worker_seconds compute_seconds(struct compute *compute)
{
    return worker_seconds(compute->worker);
}

const char *compute_library(const struct compute *compute)
{
    return compute->set.calls->name();
}
