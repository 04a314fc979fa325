#include "measure/layers/kernels.h"

#include "comm/load.h"
#include "core/clock.h"
#include "core/features.h"
#include "core/vector.h"
#include "measure/host.h"
#include "measure/layers/fill.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "rehearse-dnnl.so"
#define SEED   1

/* Passes over its numbers that a kernel of this kind makes, forwards and backwards. */
#define PASSES_FORWARD  2.0
#define PASSES_BACKWARD 3.0
#define PASSES_SUM      3.0

#define MAX_NUMBERS (INT64_C(1) << 40)

#define VISITS 40.0 /* to a task, in the time limit */
#define KEEP_BYTES                                                                                           \
    2e9 /* of all tasks, at most, that are kept between visits; else they are made again for each */

/* ---- the module ---- */

#ifdef REHEARSE_HAVE_DNNL

const struct kernel_calls *kernel_calls_load(struct error *err)
{
    static const struct module_place place = {
        .file = MODULE,
        .variable = "REHEARSE_DNNL_MODULE",
        .from_bin = REHEARSE_DNNL_MODULE_FROM_BIN,
        .flags = RTLD_NOW | RTLD_LOCAL,
    };
    char why[800];
    void *module = module_load(&place, why, sizeof why);
    const struct kernel_calls *calls = module ? dlsym(module, KERNEL_MODULE_SYMBOL) : NULL;
    if (!module)
        error_set(err, ERROR_FAILED, "cannot load oneDNN: %s", why);
    else if (!calls || calls->version != KERNEL_MODULE_VERSION)
        error_set(err, ERROR_FAILED, "%s belongs to another version of rehearse", MODULE);
    return calls && calls->version == KERNEL_MODULE_VERSION ? calls : NULL;
}

#else

const struct kernel_calls *kernel_calls_load(struct error *err)
{
    error_set(err, ERROR_FAILED,
              "this rehearse was built without oneDNN (libdnnl-dev): give a plugin with --pjrt");
    return NULL;
}

#endif

/* ---- tasks ---- */

bool kernel_does_work(const struct kernel *kernel)
{
    return kernel->repeats > 0.0 &&
           (kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION || kernel->bytes > 0.0);
}

static bool has_word(const char *name, const char *word)
{
    return name && strstr(name, word);
}

static int64_t rows_of(double numbers, int64_t width)
{
    return (int64_t)fmax(1.0, nearbyint(numbers / (double)width));
}

/* A stream of bytes is the operation of its name with as many bytes; without such a name it is a sum. */
static void set_stream(struct kernel_task *task, const struct kernel *kernel, int64_t width)
{
    double numbers = kernel->bytes / (task->is_bf16 ? 2.0 : 4.0);
    double passes = task->is_backward ? PASSES_BACKWARD : PASSES_FORWARD;
    task->batch = task->n = task->k = 1;
    if (has_word(kernel->name, "norm") || has_word(kernel->name, "softmax")) {
        task->kind = has_word(kernel->name, "norm") ? TASK_NORM : TASK_SOFTMAX;
        task->n = width;
        task->m = rows_of(numbers / passes, width);
    } else if (has_word(kernel->name, "activation")) {
        task->kind = TASK_ACTIVATION;
        task->m = rows_of(numbers / passes, 1);
    } else {
        task->kind = TASK_POINTWISE;
        task->is_backward = 0;
        task->m = rows_of(numbers / PASSES_SUM, 1);
    }
}

bool kernel_task_of(struct kernel_task *task, const struct kernel *kernel, bool is_backward, bool is_bf16,
                    int64_t width, struct error *err)
{
    bool has_type = kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION;
    const char *name = kernel->name ? kernel->name : "kernel";
    memset(task, 0, sizeof *task);
    if (has_type && kernel->type != COST_FP32 && kernel->type != COST_TF32 && kernel->type != COST_BF16)
        return error_set(err, ERROR_INPUT, "'%s' is in %s: oneDNN measures fp32 and bf16", name,
                         cost_type_name(kernel->type));
    task->is_bf16 = has_type ? kernel->type == COST_BF16 : is_bf16;
    task->is_backward = kernel->kind == KERNEL_ATTENTION ? kernel->backward : is_backward;
    if (kernel->kind == KERNEL_GEMM) {
        task->kind = TASK_PRODUCT;
        task->is_backward = 0;
    } else if (kernel->kind == KERNEL_ATTENTION) {
        task->kind = TASK_ATTENTION;
    } else {
        set_stream(task, kernel, width);
    }
    if (has_type) {
        task->batch = kernel->batch;
        task->m = kernel->m;
        task->n = kernel->n;
        task->k = kernel->k;
    }
    double largest = fmax(fmax((double)task->m * (double)task->k, (double)task->k * (double)task->n),
                          (double)task->m * (double)task->n) *
                     (double)task->batch;
    bool fits = task->batch <= INT32_MAX && task->n <= INT32_MAX && task->k <= INT32_MAX;
    return (fits && task->batch >= 1 && task->m >= 1 && task->n >= 1 && task->k >= 1 &&
            largest <= (double)MAX_NUMBERS) ||
           error_set(err, ERROR_INPUT, "'%s' has %.3g numbers in an array, expected from 1 to %.3g", name,
                     largest, (double)MAX_NUMBERS);
}

const char *kernel_task_text(const struct kernel_task *task, char *text, size_t size)
{
    static const char *const kinds[] = {"product", "attention", "norm", "softmax", "activation", "sum"};
    snprintf(text, size, "%s%s %" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64 ", %s", kinds[task->kind],
             task->is_backward ? " (backward)" : "", task->batch, task->m, task->n, task->k,
             task->is_bf16 ? "bf16" : "fp32");
    return text;
}

/* ---- timing ---- */

/* Fills arrays of tasks, as `make` wants it. */
static void kernel_fill(void *data, int64_t count, bool is_bf16)
{
    const struct hlo_shape shape = {
        .type = is_bf16 ? HLO_TYPE_BF16 : HLO_TYPE_F32, .rank = 1, .dims = &count};
    fill_random(data, &shape, SEED);
}

void *kernel_make(const struct kernel_calls *calls, const struct kernel_task *task, struct error *err)
{
    char why[128], text[128];
    void *made = calls->make(task, kernel_fill, why, sizeof why);
    if (!made)
        error_set(err, ERROR_FAILED, "%s: oneDNN %s", kernel_task_text(task, text, sizeof text), why);
    return made;
}

struct kernel_clock kernel_clock_start(void)
{
    return (struct kernel_clock){
        .switches = host_switches(), .processor = clock_processor(), .start = clock_now()};
}

void kernel_clock_stop(const struct kernel_clock *clock, struct sample_batch *batch)
{
    batch->wall = clock_now() - clock->start;
    batch->processor = clock_processor() - clock->processor;
    batch->disturbed = host_switches() > clock->switches;
}

/* What is timed in a visit. */
struct running {
    struct kernel_timer *timer;
    struct sample_series **series; /* of each task */
    const struct kernel_task *task;
    void *made, **kept; /* kept: of each task, between visits; NULL: not now */
    bool keeps;
    double began, making; /* making: seconds since then that it took to make tasks */
};

static bool run_batch(void *context, int64_t count, struct sample_batch *batch, struct error *err)
{
    const struct running *running = context;
    char text[128];
    const struct kernel_clock clock = kernel_clock_start();
    if (!running->timer->calls->run(running->made, count))
        return error_set(err, ERROR_FAILED, "%s: oneDNN could not run it",
                         kernel_task_text(running->task, text, sizeof text));
    kernel_clock_stop(&clock, batch);
    return true;
}

void kernel_timer_init(struct kernel_timer *timer, const struct kernel_calls *calls,
                       const struct sample_options *options)
{
    *timer = (struct kernel_timer){.calls = calls, .options = options};
}

void kernel_timer_release(struct kernel_timer *timer)
{
    free(timer->tasks);
    *timer = (struct kernel_timer){0};
}

bool kernel_timer_add(struct kernel_timer *timer, const struct kernel_task *task, struct error *err)
{
    const struct timed_task timed = {.task = *task};
    for (int i = 0; i < timer->count; i++)
        if (memcmp(&timer->tasks[i].task, task, sizeof *task) == 0)
            return true;
    return VECTOR_ADD(timer->tasks, timer->count, timer->room, timed) || error_memory(err);
}

static double bytes_of(const struct kernel_task *task)
{
    double m = (double)task->m, n = (double)task->n, k = (double)task->k;
    return 4.0 * (double)task->batch * (m * k + k * n + m * n);
}

/* Makes the task again, unless that has taken more than its share of the time: its arrays lie elsewhere then, as they do in another process. */
static void *remake(struct running *running, void *kept, struct error *err)
{
    const struct kernel_calls *calls = running->timer->calls;
    double begin = clock_now();
    if (kept && running->making > KERNEL_MAKING_SHARE * (begin - running->began))
        return kept;
    if (kept)
        calls->end(kept);
    void *made = kernel_make(calls, running->task, err);
    running->making += clock_now() - begin;
    return made;
}

static bool visit_tasks(void *context, int round, struct error *err)
{
    struct running *running = context;
    const struct kernel_timer *timer = running->timer;
    struct sample_batch first; /* fetches the arrays into the caches again */
    bool ok = true;
    for (int i = 0; ok && i < timer->count; i++) {
        running->task = &timer->tasks[i].task;
        running->made = remake(running, running->kept[i], err);
        ok = running->made && run_batch(running, 1, &first, err) &&
             sample_visit(running->series[i], round, timer->options->limit / VISITS, err);
        if (running->made && !running->keeps)
            timer->calls->end(running->made);
        running->kept[i] = running->keeps ? running->made : NULL;
    }
    return ok;
}

bool kernel_timer_run(struct kernel_timer *timer, struct error *err)
{
    struct running running = {.timer = timer, .began = clock_now()};
    double bytes = 0.0;
    running.series = calloc((size_t)timer->count + 1, sizeof *running.series);
    running.kept = calloc((size_t)timer->count + 1, sizeof *running.kept);
    bool ok = (running.series && running.kept) || error_memory(err);
    for (int i = 0; i < timer->count; i++)
        bytes += bytes_of(&timer->tasks[i].task);
    running.keeps = bytes <= KEEP_BYTES;
    for (int i = 0; ok && i < timer->count; i++)
        ok = (running.series[i] = sample_new(timer->options, run_batch, &running, err)) != NULL;
    ok = ok && sample_rounds(running.series, timer->count, timer->options, visit_tasks, &running, err);
    for (int i = 0; ok && i < timer->count; i++) {
        const struct sample_result *time = sample_sum(running.series[i], err);
        if ((ok = time != NULL))
            timer->tasks[i].time = *time;
    }
    for (int i = 0; running.series && i < timer->count; i++)
        sample_free(running.series[i]);
    for (int i = 0; running.kept && i < timer->count; i++)
        if (running.kept[i])
            timer->calls->end(running.kept[i]);
    free(running.series);
    free(running.kept);
    return ok;
}
