/* Layers of models by name and of files, whose passes are timed in the order of an iteration, and products, each timed
 * alone. */
#include "core/clock.h"
#include "core/vector.h"
#include "cost/model_profile.h"
#include "measure/layers/inner.h"
#include "measure/layers/kernel_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int find(struct kernel_set *set, const struct kernel_task *task, struct error *err)
{
    for (size_t i = 0; i < set->count; i++)
        if (memcmp(&set->kernels[i].task, task, sizeof *task) == 0)
            return (int)i;
    const struct made_kernel made = {*task, kernel_make(set->calls, task, err)};
    if (!made.made)
        return -1;
    if (!VECTOR_ADD(set->kernels, set->count, set->room, made)) {
        set->calls->end(made.made);
        error_memory(err);
        return -1;
    }
    return (int)set->count - 1;
}

bool kernel_set_add(struct kernel_set *set, struct kernel_list *list, const struct kernel_task *task,
                    double repeats, struct error *err)
{
    const struct kernel_part part = {find(set, task, err), (int64_t)fmax(1.0, nearbyint(repeats))};
    return part.kernel >= 0 && (VECTOR_ADD(list->parts, list->count, list->room, part) || error_memory(err));
}

bool kernel_set_renew(struct kernel_set *set, struct error *err)
{
    for (size_t i = 0; i < set->count; i++) {
        struct made_kernel *kernel = &set->kernels[i];
        set->calls->end(kernel->made);
        kernel->made = kernel_make(set->calls, &kernel->task, err);
        if (!kernel->made)
            return false;
    }
    return true;
}

bool kernel_set_run(const struct kernel_set *set, const struct kernel_list *list, int64_t times,
                    struct error *err)
{
    char text[128];
    for (int64_t i = 0; i < times; i++)
        for (size_t p = 0; p < list->count; p++) {
            const struct made_kernel *kernel = &set->kernels[list->parts[p].kernel];
            if (!set->calls->run(kernel->made, list->parts[p].repeats))
                return error_set(err, ERROR_FAILED, "%s: %s could not run it",
                                 kernel_task_text(&kernel->task, text, sizeof text), set->calls->name());
        }
    return true;
}

static bool kernel_list_is_same(const struct kernel_list *a, const struct kernel_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (a->parts[i].kernel != b->parts[i].kernel || a->parts[i].repeats != b->parts[i].repeats)
            return false;
    return a->count == b->count;
}

void kernel_list_release(struct kernel_list *list)
{
    free(list->parts);
    *list = (struct kernel_list){.count = 0};
}

void kernel_set_release(struct kernel_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->kernels[i].made)
            set->calls->end(set->kernels[i].made);
    free(set->kernels);
    *set = (struct kernel_set){.calls = NULL};
}

#define MAKING_SHARE 0.2  /* of a measurement's time, at most, in which its kernels are made again */
#define VISITS       40.0 /* to a product, in the time limit */

#define NORM_WIDTH 1024       /* of rows of norms in files, which the cost model does not keep */
#define BYTES_OF   "h100-sxm" /* a device with all types: bytes are the same on any */

/* A pass of one or more layers: its kernels, one after the other. */
struct timed_pass {
    struct kernel_list list;
    struct sample_series *series;
    const struct job *job;
};

/* Passes of a layer, by number; -1: there is none. */
struct layer_passes {
    int forward, backward;
};

struct job {
    struct measured_layers *measured;
    struct kernel_set set;
    struct timed_pass **passes;
    size_t pass_count, pass_room;
    struct layer_passes *of;      /* each layer */
    struct kernel_task *products; /* that are timed alone, each distinct one once */
    size_t product_count, product_room;
    bool is_bf16;
    int64_t width;
    double began, making; /* of rounds; making: seconds since then in which kernels were made again */
    struct host_watch watch;
    struct error *err;
};

static bool add_product(struct job *job, const struct kernel_task *task)
{
    for (size_t i = 0; i < job->product_count; i++)
        if (memcmp(&job->products[i], task, sizeof *task) == 0)
            return true;
    return VECTOR_ADD(job->products, job->product_count, job->product_room, *task) || error_memory(job->err);
}

static bool add_kernel(struct job *job, struct measured_pass *pass, struct kernel_list *list,
                       const struct kernel *kernel, bool is_backward)
{
    struct kernel_task task;
    double flops = product_flops(&kernel->size);
    if (!kernel_does_work(kernel))
        return true;
    if (!kernel_task_of(&task, kernel, is_backward, job->is_bf16, job->width, job->err) ||
        !kernel_set_add(&job->set, list, &task, kernel->repeats, job->err) ||
        (task.kind == TASK_PRODUCT && !add_product(job, &task)))
        return false;
    if (kernel->kind == KERNEL_ATTENTION)
        flops *= kernel->backward ? 5.0 : 2.0;
    pass->flops +=
        kernel->repeats *
        (kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION ? flops : kernel->lane_flops);
    pass->bytes += kernel->repeats * kernel->bytes;
    return true;
}

/* ---- passes ---- */

static bool run_pass(void *context, int64_t count, struct sample_batch *batch, struct error *err)
{
    const struct timed_pass *pass = context;
    int64_t switches = host_switches();
    double processor = clock_processor(), start = clock_now();
    bool ok = kernel_set_run(&pass->job->set, &pass->list, count, err);
    batch->wall = clock_now() - start;
    batch->processor = clock_processor() - processor;
    batch->disturbed = host_switches() > switches;
    return ok;
}

static void free_pass(struct timed_pass *pass)
{
    if (!pass)
        return;
    kernel_list_release(&pass->list);
    sample_free(pass->series);
    free(pass);
}

/* Takes a list over, unless it is empty or there is one like it; *number gets that of its pass. */
static bool add_pass(struct job *job, struct kernel_list *list, int *number)
{
    size_t same = 0;
    *number = -1;
    if (list->count == 0)
        return true;
    while (same < job->pass_count && !kernel_list_is_same(&job->passes[same]->list, list))
        same++;
    *number = (int)same;
    if (same < job->pass_count) {
        kernel_list_release(list);
        return true;
    }
    struct timed_pass *pass = calloc(1, sizeof *pass);
    if (!pass)
        return error_memory(job->err);
    *pass = (struct timed_pass){.list = *list, .job = job};
    *list = (struct kernel_list){.count = 0};
    if ((pass->series = sample_new(&job->measured->options, run_pass, pass, job->err)) &&
        VECTOR_ADD(job->passes, job->pass_count, job->pass_room, pass))
        return true;
    free_pass(pass);
    return error_memory(job->err);
}

/* Makes the kernels again, unless that has taken more than its share of the time: a measurement is not to be of one
 * place of their arrays. */
static bool renew(struct job *job)
{
    double begin = clock_now();
    if (job->making > MAKING_SHARE * (begin - job->began))
        return true;
    bool ok = kernel_set_renew(&job->set, job->err);
    job->making += clock_now() - begin;
    return ok;
}

/* An iteration: all layers forwards, then all backwards, so that a pass finds in the caches what the pass before it has
 * left there. */
static bool iterate(void *context, int round, struct error *err)
{
    struct job *job = context;
    int count = job->measured->count;
    bool ok = round == 0 || renew(job);
    for (int i = 0; ok && i < count; i++)
        if (job->of[i].forward >= 0)
            ok = sample_visit(job->passes[job->of[i].forward]->series, round, 0.0, err);
    for (int i = count; ok && i-- > 0;)
        if (job->of[i].backward >= 0)
            ok = sample_visit(job->passes[job->of[i].backward]->series, round, 0.0, err);
    return ok;
}

static bool take(struct job *job, int number, struct measured_pass *pass)
{
    if (number < 0)
        return true;
    const struct sample_result *time = sample_sum(job->passes[number]->series, job->err);
    if (time)
        pass->time = *time;
    return time && measured_take(job->measured, pass, job->err);
}

static bool run_rounds(struct job *job, sample_round *visit)
{
    struct sample_series **series = malloc((job->pass_count + 1) * sizeof *series);
    bool ok = series || error_memory(job->err);
    job->began = clock_now();
    job->making = 0.0;
    for (size_t i = 0; ok && i < job->pass_count; i++)
        series[i] = job->passes[i]->series;
    ok = ok && sample_rounds(series, (int)job->pass_count, &job->measured->options, visit, job, job->err);
    free(series);
    return ok;
}

static bool time_passes(struct job *job)
{
    struct measured_layers *measured = job->measured;
    bool ok = run_rounds(job, iterate);
    for (int i = 0; ok && i < measured->count; i++)
        ok = take(job, job->of[i].forward, &measured->layers[i].forward) &&
             take(job, job->of[i].backward, &measured->layers[i].backward);
    return ok;
}

/* Frees the passes and their kernels, so that others can be made. */
static void release_passes(struct job *job)
{
    const struct kernel_calls *calls = job->set.calls;
    for (size_t i = 0; i < job->pass_count; i++)
        free_pass(job->passes[i]);
    job->pass_count = 0;
    kernel_set_release(&job->set);
    job->set.calls = calls;
}

/* ---- products ---- */

static bool visit_products(void *context, int round, struct error *err)
{
    struct job *job = context;
    struct sample_batch first; /* fetches the arrays into the caches again */
    bool ok = round == 0 || renew(job);
    for (size_t i = 0; ok && i < job->pass_count; i++)
        ok = run_pass(job->passes[i], 1, &first, err) &&
             sample_visit(job->passes[i]->series, round, job->measured->options.limit / VISITS, err);
    return ok;
}

/* Each product is a pass of one kernel. */
static bool time_products(struct job *job)
{
    bool ok = true;
    for (size_t i = 0; ok && i < job->product_count; i++) {
        struct kernel_list list = {.count = 0};
        int number;
        ok = kernel_set_add(&job->set, &list, &job->products[i], 1.0, job->err) &&
             add_pass(job, &list, &number);
        kernel_list_release(&list);
    }
    return ok && run_rounds(job, visit_products);
}

/* Keeps the times of products, for `rehearse calibrate`. */
static bool keep_products(struct job *job)
{
    struct measured_layers *measured = job->measured;
    measured->products = ARENA_ARRAY(&measured->arena, job->product_count + 1, struct measured_product);
    if (!measured->products)
        return error_memory(job->err);
    for (size_t i = 0; i < job->product_count; i++) {
        const struct kernel_task *task = &job->products[i];
        const struct sample_result *time = sample_sum(job->passes[i]->series, job->err);
        if (!time)
            return false;
        measured->products[measured->product_count++] = (struct measured_product){
            .row = {cost_type_name(task->is_bf16 ? COST_BF16 : COST_FP32), task->size, time->median,
                    time->low, time->high},
            .time = *time,
        };
    }
    return true;
}

/* Matrix products of transformers from small to medium, some of which are no multiples of a tile. */
static bool add_products(struct job *job, bool is_bf16)
{
    static const int64_t rows[] = {32, 128, 500, 1024, 2048};
    static const int64_t sides[][2] = {{256, 256},   {768, 768},   {768, 2304},  {768, 3072}, {3072, 768},
                                       {1024, 4096}, {4096, 1024}, {1000, 1000}, {2048, 512}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
            const struct kernel_task task = {
                .kind = TASK_PRODUCT,
                .is_bf16 = is_bf16,
                .size = {1, rows[r], sides[s][1], sides[s][0]},
            };
            if (!add_product(job, &task))
                return false;
        }
    return true;
}

static bool begin(struct job *job, struct measured_layers *measured, int count,
                  const struct sample_options *samples, struct error *err)
{
    *job = (struct job){.measured = measured, .err = err, .width = NORM_WIDTH};
    if (!measured_begin(measured, count, samples, &job->watch, err))
        return false;
    if (!(job->set.calls = kernel_calls_load(err)))
        return false;
    measured->about.library = arena_string(&measured->arena, job->set.calls->name());
    measured->device = "cpu";
    job->of = ARENA_ARRAY(&measured->arena, (size_t)count + 1, struct layer_passes);
    for (int i = 0; job->of && i < count; i++)
        job->of[i] = (struct layer_passes){-1, -1};
    return (measured->about.library && job->of) || error_memory(err);
}

static bool end(struct job *job, const struct measure_products *products, bool done)
{
    done = done && time_passes(job);
    release_passes(job); /* their memory, before products take theirs */
    done = done && (!products || add_products(job, products->is_bf16)) && time_products(job) &&
           keep_products(job);
    release_passes(job);
    free(job->passes);
    free(job->products);
    done = done && measured_end(job->measured, &job->watch, job->err);
    if (!done)
        measured_release(job->measured);
    return done;
}

/* ---- models by name ---- */

static bool model_layers(const struct architecture *model, const struct measure_model *wanted,
                         struct profile *bytes, struct error *err)
{
    const struct cost_device *device = tables_device(NULL, BYTES_OF);
    const struct model_options options = {
        .microbatch = wanted->microbatch,
        .sequence = wanted->sequence,
        .precision = wanted->is_bf16 ? MODEL_BF16 : MODEL_FP32,
        .tensor = 1,
        .software = wanted->software,
    };
    return model_profile(bytes, model, &device, 1, &options, err);
}

static bool list_block(struct job *job, int number, const struct layer_work *work)
{
    struct measured_layer *layer = &job->measured->layers[number];
    struct kernel_list lists[2] = {{.count = 0}, {.count = 0}};
    bool ok = true;
    for (int i = 0; ok && i < work->count; i++) {
        bool backward = i >= work->forward_count;
        ok = add_kernel(job, backward ? &layer->backward : &layer->forward, &lists[backward],
                        &work->kernels[i], backward);
    }
    ok = ok && add_pass(job, &lists[0], &job->of[number].forward) &&
         add_pass(job, &lists[1], &job->of[number].backward);
    kernel_list_release(&lists[0]);
    kernel_list_release(&lists[1]);
    return ok;
}

static bool is_same(const struct job *job, int a, int b)
{
    const struct measured_layer *layers = job->measured->layers;
    return job->of[a].forward == job->of[b].forward && job->of[a].backward == job->of[b].backward &&
           layers[a].row.parameter_bytes == layers[b].row.parameter_bytes &&
           layers[a].row.activation_bytes == layers[b].row.activation_bytes;
}

static bool list_model(struct job *job, const struct architecture *model, const struct measure_model *wanted,
                       const struct profile *bytes)
{
    struct measured_layers *measured = job->measured;
    const struct layer_split split = {
        .microbatch = wanted->microbatch,
        .sequence = wanted->sequence > 0 ? wanted->sequence : model->sequence,
        .degrees = DEGREES_ONE,
        .type = wanted->is_bf16 ? COST_BF16 : COST_FP32,
        .software = wanted->software,
    };
    for (int i = 0; i < measured->count; i++) {
        struct measured_layer *layer = &measured->layers[i];
        struct layer_work work;
        model_layer_work(&work, model, i, &split);
        layer->path = i > 0 ? measured->layers[0].path : arena_string(&measured->arena, model->name);
        layer->same = i;
        layer->row = bytes->layers[i];
        layer->row.name = arena_string(&measured->arena, layer->row.name);
        if (!layer->row.name || !layer->path)
            return error_memory(job->err);
        if (!list_block(job, i, &work))
            return false;
        if (i > 0 && is_same(job, i - 1, i))
            layer->same = measured->layers[i - 1].same;
    }
    return true;
}

bool measure_model(struct measured_layers *measured, const struct architecture *model,
                   const struct measure_model *wanted, const struct measure_products *products,
                   const struct sample_options *samples, struct error *err)
{
    struct profile bytes;
    struct job job;
    if (!model_layers(model, wanted, &bytes, err))
        return false;
    bool done = begin(&job, measured, bytes.layer_count, samples, err);
    job.is_bf16 = wanted->is_bf16;
    job.width = model->hidden;
    done = done && list_model(&job, model, wanted, &bytes);
    profile_release(&bytes);
    if (done) {
        measured->microbatch_size = (int)wanted->microbatch;
        done = (measured->model = arena_string(&measured->arena, model->name)) || error_memory(err);
    }
    return end(&job, products, done);
}

/* ---- files ---- */

static bool list_fused(struct job *job, struct measured_pass *pass, const struct fused *fused,
                       bool is_backward, const char *path, int *number)
{
    struct kernel_list list = {.count = 0};
    bool ok = true;
    if (fused->unknown_count > 0)
        return error_set(job->err, ERROR_INPUT, "%s: custom call '%s' cannot be measured", path,
                         fused->unknown[0]);
    if (fused->transfer_count > 0)
        return error_set(job->err, ERROR_INPUT, "%s: has collectives, which cannot be measured on one device",
                         path);
    for (int i = 0; ok && i < fused->kernel_count; i++)
        ok = add_kernel(job, pass, &list, &fused->kernels[i].kernel, is_backward);
    ok = ok && add_pass(job, &list, number);
    kernel_list_release(&list);
    return ok;
}

static bool list_file(struct job *job, int number, const struct layer_file *file,
                      const struct layer_options *options, const struct hlo_dims *dims)
{
    struct measured_layer *layer = &job->measured->layers[number];
    struct layer_passes *of = &job->of[number];
    struct hlo_module forward = {0}, backward = {0};
    struct layer_cost cost = {0};
    bool done = hlo_load_sized(&forward, file->path, dims, job->err) &&
                (!file->backward || hlo_load_sized(&backward, file->backward, dims, job->err)) &&
                layer_cost(&cost, &forward, file->backward ? &backward : NULL, options, job->err);
    for (int i = 0; done && i < cost.forward.kernel_count; i++)
        job->is_bf16 = job->is_bf16 || (cost.forward.kernels[i].kernel.kind == KERNEL_GEMM &&
                                        cost.forward.kernels[i].kernel.type == COST_BF16);
    if (done) {
        measured_size(layer, &cost);
        done = list_fused(job, &layer->forward, &cost.forward, false, file->path, &of->forward) &&
               list_fused(job, &layer->backward, &cost.backward, true, file->path, &of->backward);
    }
    layer_release(&cost);
    hlo_release(&backward);
    hlo_release(&forward);
    return done;
}

bool measure_files_kernels(struct measured_layers *measured, const struct layer_file *files, int count,
                           const struct layer_options *options, const struct hlo_dims *dims,
                           const struct measure_products *products, const struct sample_options *samples,
                           struct error *err)
{
    struct job job;
    bool done = begin(&job, measured, count, samples, err);
    for (int i = 0; done && i < count; i++) {
        job.is_bf16 = false;
        done = measured_name(measured, i, files, err) &&
               (measured->layers[i].same < i || list_file(&job, i, &files[i], options, dims));
    }
    done = end(&job, products, done);
    for (int i = 0; done && i < count; i++)
        measured_copy(measured, i);
    return done;
}
