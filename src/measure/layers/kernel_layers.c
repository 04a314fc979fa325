/* Layers of models by name and of files, and lists of products, timed kernel by kernel. */
#include "cost/model_profile.h"
#include "measure/layers/inner.h"
#include "measure/layers/kernels.h"

#include <math.h>
#include <string.h>

#define NORM_WIDTH 1024       /* of rows of norms in files, which the cost model does not keep */
#define NO_LINK    "ib-400g"  /* nothing crosses it: groups have no sizes */
#define BYTES_OF   "h100-sxm" /* a device with all types: bytes are the same on any */

struct job {
    struct measured_layers *measured;
    struct kernel_timer timer;
    bool is_bf16;
    int64_t width;
    struct host_watch watch;
    struct error *err;
};

/* Adds a kernel's repeats to a pass. The interval of the sum is the sum of the intervals: what disturbs one kernel
 * disturbs the others. */
static void add_time(struct measured_pass *pass, const struct sample_result *time, double repeats)
{
    struct sample_result *sum = &pass->time;
    bool first = !pass->is_timed;
    sum->median += repeats * time->median;
    sum->low += repeats * time->low;
    sum->high += repeats * time->high;
    sum->fastest += repeats * time->fastest;
    sum->processor += repeats * time->processor;
    sum->count = first || time->count < sum->count ? time->count : sum->count;
    sum->warm_ups += time->warm_ups;
    sum->disturbed += time->disturbed;
    sum->batch = first || time->batch < sum->batch ? time->batch : sum->batch;
    sum->notes |= time->notes;
    sum->seconds += time->seconds;
    pass->is_there = pass->is_timed = true;
}

static bool add_kernel(struct job *job, struct measured_pass *pass, const struct kernel *kernel,
                       bool is_backward)
{
    struct kernel_task task;
    double flops = 2.0 * (double)kernel->batch * (double)kernel->m * (double)kernel->n * (double)kernel->k;
    if (kernel->repeats <= 0.0 ||
        (kernel->kind != KERNEL_GEMM && kernel->kind != KERNEL_ATTENTION && kernel->bytes <= 0.0))
        return true;
    if (!kernel_task_of(&task, kernel, is_backward, job->is_bf16, job->width, job->err))
        return false;
    const struct sample_result *time = kernel_timer_time(&job->timer, &task, job->err);
    if (!time)
        return false;
    if (kernel->kind == KERNEL_ATTENTION)
        flops *= kernel->backward ? 5.0 : 2.0;
    pass->flops +=
        kernel->repeats *
        (kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION ? flops : kernel->lane_flops);
    pass->bytes += kernel->repeats * kernel->bytes;
    add_time(pass, time, kernel->repeats);
    return true;
}

static bool end_pass(struct job *job, struct measured_pass *pass)
{
    static const struct {
        enum sample_note note;
        const char *text;
    } words[] = {
        {SAMPLE_LIMIT, "time limit"},      {SAMPLE_FEW, "too few samples for an interval"},
        {SAMPLE_BIMODAL, "bimodal"},       {SAMPLE_SLOWING, "slower towards the end"},
        {SAMPLE_UNSTEADY, "never steady"}, {SAMPLE_OTHER_LOAD, "other load"},
    };
    struct text text = {0};
    if (!pass->is_timed)
        return true;
    pass->seconds = pass->time.median;
    pass->time.precision =
        fmax(pass->time.high - pass->seconds, pass->seconds - pass->time.low) / pass->seconds;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pass->time.notes & words[i].note)
            text_format(&text, "%s%s", text.length > 0 ? "; " : "of some kernels: ", words[i].text);
    pass->notes = text.length > 0 ? arena_string(&job->measured->arena, text.data) : NULL;
    bool done = !text.failed && (text.length == 0 || pass->notes);
    text_release(&text);
    return done || error_memory(job->err);
}

/* Keeps the matrix products that were timed, for `rehearse calibrate`. */
static bool keep_products(struct job *job)
{
    struct measured_layers *measured = job->measured;
    measured->products = ARENA_ARRAY(&measured->arena, (size_t)job->timer.count + 1, struct measured_product);
    if (!measured->products)
        return error_memory(job->err);
    for (int i = 0; i < job->timer.count; i++) {
        const struct timed_task *timed = &job->timer.tasks[i];
        if (timed->task.kind != TASK_PRODUCT)
            continue;
        measured->products[measured->product_count++] = (struct measured_product){
            .type = timed->task.is_bf16 ? COST_BF16 : COST_FP32,
            .batch = timed->task.batch,
            .m = timed->task.m,
            .n = timed->task.n,
            .k = timed->task.k,
            .time = timed->time,
        };
    }
    return true;
}

/* ---- products ---- */

/* Matrix products of transformers from small to medium, some of which are no multiples of a tile. */
static bool time_products(struct job *job, bool is_bf16)
{
    static const int64_t rows[] = {32, 128, 500, 1024, 2048};
    static const int64_t sides[][2] = {{256, 256},   {768, 768},   {768, 2304},  {768, 3072}, {3072, 768},
                                       {1024, 4096}, {4096, 1024}, {1000, 1000}, {2048, 512}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
            const struct kernel_task task = {
                .kind = TASK_PRODUCT,
                .is_bf16 = is_bf16,
                .batch = 1,
                .m = rows[r],
                .n = sides[s][1],
                .k = sides[s][0],
            };
            if (!kernel_timer_time(&job->timer, &task, job->err))
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
    if (!kernel_timer_open(&job->timer, &measured->options, err))
        return false;
    measured->library = arena_string(&measured->arena, job->timer.calls->name());
    measured->device = "cpu";
    return measured->library || error_memory(err);
}

static bool end(struct job *job, const struct measure_products *products, bool done)
{
    done = done && (!products || time_products(job, products->is_bf16)) && keep_products(job);
    kernel_timer_release(&job->timer);
    if (done)
        measured_end(job->measured, &job->watch);
    else
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
        .across = NO_LINK,
    };
    return model_profile(bytes, model, &device, 1, &options, err);
}

static bool time_block(struct job *job, struct measured_layer *layer, const struct layer_work *work)
{
    for (int i = 0; i < work->count; i++) {
        bool backward = i >= work->forward_count;
        if (!add_kernel(job, backward ? &layer->backward : &layer->forward, &work->kernels[i], backward))
            return false;
    }
    return end_pass(job, &layer->forward) && end_pass(job, &layer->backward);
}

/* Kernels were timed once, so that layers with the same ones have the same sums. */
static bool is_same(const struct measured_layer *a, const struct measured_layer *b)
{
    return a->forward.seconds == b->forward.seconds && a->backward.seconds == b->backward.seconds &&
           a->parameter_bytes == b->parameter_bytes && a->activation_bytes == b->activation_bytes;
}

static bool time_model(struct job *job, const struct architecture *model, const struct measure_model *wanted,
                       const struct profile *bytes)
{
    struct measured_layers *measured = job->measured;
    const struct layer_split split = {
        .microbatch = wanted->microbatch,
        .sequence = wanted->sequence > 0 ? wanted->sequence : model->sequence,
        .tensor = 1,
        .context = 1,
        .expert = 1,
        .type = wanted->is_bf16 ? COST_BF16 : COST_FP32,
        .software = wanted->software,
    };
    for (int i = 0; i < measured->count; i++) {
        struct measured_layer *layer = &measured->layers[i];
        struct layer_work work;
        if (i == 0)
            transformer_embedding(&work, model, &split);
        else if (i == measured->count - 1)
            transformer_head(&work, model, &split);
        else
            transformer_block(&work, model, i - 1, &split);
        layer->path = model->name;
        layer->same = i;
        layer->name = arena_string(&measured->arena, bytes->layers[i].name);
        layer->parameter_bytes = bytes->layers[i].parameter_bytes;
        layer->activation_bytes = bytes->layers[i].activation_bytes;
        layer->output_bytes = bytes->layers[i].output_bytes;
        if (!layer->name)
            return error_memory(job->err);
        if (!time_block(job, layer, &work))
            return false;
        if (i > 0 && is_same(&measured->layers[i - 1], layer))
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
    done = done && time_model(&job, model, wanted, &bytes);
    profile_release(&bytes);
    if (done) {
        measured->microbatch_size = (int)wanted->microbatch;
        done = (measured->model = arena_string(&measured->arena, model->name)) || error_memory(err);
    }
    return end(&job, products, done);
}

/* ---- files ---- */

static bool time_fused(struct job *job, struct measured_pass *pass, const struct fused *fused,
                       bool is_backward, const char *path)
{
    if (fused->unknown_count > 0)
        return error_set(job->err, ERROR_INPUT, "%s: custom call '%s' is no kernel that could be measured",
                         path, fused->unknown[0]);
    if (fused->transfer_count > 0)
        return error_set(job->err, ERROR_INPUT, "%s: has collectives, which are no kernels of one device",
                         path);
    for (int i = 0; i < fused->kernel_count; i++)
        if (!add_kernel(job, pass, &fused->kernels[i].kernel, is_backward))
            return false;
    return end_pass(job, pass);
}

static bool time_file(struct job *job, struct measured_layer *layer, const struct layer_file *file,
                      const struct layer_options *options, const struct hlo_dims *dims)
{
    struct hlo_module forward = {0}, backward = {0};
    struct layer_cost cost = {0};
    bool done = hlo_load_sized(&forward, file->path, dims, job->err) &&
                (!file->backward || hlo_load_sized(&backward, file->backward, dims, job->err)) &&
                layer_cost(&cost, &forward, file->backward ? &backward : NULL, options, job->err);
    for (int i = 0; done && i < cost.forward.kernel_count; i++)
        job->is_bf16 = job->is_bf16 || (cost.forward.kernels[i].kernel.kind == KERNEL_GEMM &&
                                        cost.forward.kernels[i].kernel.type == COST_BF16);
    if (done) {
        layer->parameter_bytes = cost.parameter_bytes;
        layer->activation_bytes = cost.kept_bytes;
        layer->output_bytes = cost.output_bytes;
        layer->peak_bytes = cost.peak_bytes;
        done = time_fused(job, &layer->forward, &cost.forward, false, file->path) &&
               time_fused(job, &layer->backward, &cost.backward, true, file->path);
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
        done =
            measured_name(measured, i, files, err) &&
            (measured->layers[i].same < i || time_file(&job, &measured->layers[i], &files[i], options, dims));
        if (done)
            measured_copy(measured, i);
    }
    return end(&job, products, done);
}
