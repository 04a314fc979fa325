/* A job's pipeline as Oobleck's cache of pipeline templates (save_templates in oobleck/planning/cache.py, PipelineTemplate
 * and CompatibilityFingerprint in oobleck/types.py of SymbioticLab/Oobleck), with one template. Oobleck looks at no other
 * keys of the outermost map; there stands the same pipeline as rehearse-plan/1, which says more: each stage's own time and
 * memory. */
#include "launch/part.h"

#include <stdlib.h>

/* The version of its cache, of a template and of a fingerprint. */
#define SCHEMA 1

struct stage {
    int first, blocks;
    double forward, backward; /* seconds of a micro-batch, with transfers between tensor parallel ranks */
    double activations;       /* bytes on a device that a micro-batch keeps, */
    double persistent;        /* and of parameters, gradients and optimizer states; */
    double total;             /* and of all there is, with the micro-batches in flight */
};

struct pipeline {
    const struct job *job;
    int count, slowest; /* the last one of equally slow ones, as in Oobleck */
    struct stage *stages;
};

static double stage_time(const struct stage *stage)
{
    return stage->forward + stage->backward;
}

/* Both passes transfer as much (transformer.h: tensor_forward, tensor_backward); full recomputation once more. */
static struct stage stage_of(const struct job *job, const struct job_layers *layers, int index)
{
    int first = job_stage_first(job, layers->block_count, index);
    int last = job_stage_first(job, layers->block_count, index + 1);
    struct job_layer layer = job_stage(job, layers, index, first, last);
    struct job_memory memory = job_stage_memory(job, layers, index, &layer);
    double ahead = layer.pass.tensor / (job->recompute == RECOMPUTE_FULL ? 3.0 : 2.0);
    return (struct stage){
        .first = first,
        .blocks = last - first,
        .forward = layer.pass.forward + ahead,
        .backward = layer.pass.backward + layer.pass.recompute + layer.pass.tensor - ahead,
        .activations = layer.kept,
        .persistent = memory.parameters + memory.gradients + memory.optimizer,
        .total = memory.total,
    };
}

/* On success the caller frees the stages. */
static bool make_stages(struct pipeline *pipeline, const struct job *job, struct error *err)
{
    struct job_layers layers = job_layers_of(job);
    *pipeline = (struct pipeline){.job = job, .count = job->pipeline};
    pipeline->stages = calloc((size_t)job->pipeline, sizeof *pipeline->stages);
    if (!pipeline->stages)
        return error_memory(err);
    for (int i = 0; i < pipeline->count; i++) {
        pipeline->stages[i] = stage_of(job, &layers, i);
        if (stage_time(&pipeline->stages[i]) >= stage_time(&pipeline->stages[pipeline->slowest]))
            pipeline->slowest = i;
    }
    return true;
}

/* ---- what is said elsewhere ---- */

static bool is_packed_or_frozen(const struct job *job)
{
    return launch_is_packed(job) || job->frozen;
}

static bool is_reduced(const struct job *job)
{
    return job->type == COST_FP8 || job->type == COST_FP4 || job->type == COST_TF32;
}

static const struct launch_note notes[] = {
    {launch_always,
     "fingerprint: hardware and cornstarch_version are the job's own, else load_templates refuses them"},
    {launch_always, "global_batch_size and microbatch_size: OobleckConfig"},
    {launch_recomputes, "recomputation: the model's own code"},
    {is_packed_or_frozen, "packed sequences and frozen weights (LoRA): the model's own code"},
    {is_reduced, "products of another type than dtype: the model's own layers, PyTorch's own settings"},
};

/* ---- what cannot be said ---- */

/* OobleckParallelizationPlan.parallelize wants context and expert parallel degrees of 1; a stage is a node's, with
 * tensor_parallel_size devices; pipelines exchange gradients and hold all the rest themselves. */
static bool check(const struct job *job, struct error *err)
{
    if (job->chunks > 1)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck's pipelines are not interleaved: %d chunks",
                         job->chunks);
    if (job->context > 1 || job->expert > 1)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck has no %s parallelism: degree %d",
                         job->context > 1 ? "context" : "expert",
                         job->context > 1 ? job->context : job->expert);
    if (job->tensor > job->devices_per_node)
        return error_set(err, ERROR_INFEASIBLE,
                         "a stage of Oobleck's is on one node: tensor parallel %d, nodes of %d devices",
                         job->tensor, job->devices_per_node);
    if (job->sharding > 0 && job->data > 1)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck's pipelines share no states: ZeRO stage 0, not %d",
                         job->sharding);
    if (job->model->encoder_layers > 0)
        return error_set(err, ERROR_INFEASIBLE, "'%s' is not one list of blocks", job->model->name);
    if (job->type == COST_INT8)
        return error_set(err, ERROR_INFEASIBLE, "PyTorch does not train in %s", cost_type_name(job->type));
    for (int i = 0; i < job->pipeline; i++)
        if (job_stage_blocks(job, i) == 0)
            return error_set(err, ERROR_INFEASIBLE, "stage %d has no block, which Oobleck refuses", i);
    return true;
}

/* ---- Oobleck's part ---- */

/* Of parameters and activations, as PyTorch calls it. */
static const char *dtype_of(const struct job *job)
{
    switch (job->type) {
    case COST_FP64:
        return "float64";
    case COST_FP32:
    case COST_TF32:
        return "float32";
    case COST_FP16:
        return "float16";
    default:
        return "bfloat16";
    }
}

static void write_fingerprint(const struct job *job, const char *model, struct json *json)
{
    json_open(json, "fingerprint", '{');
    json_string(json, "model", model);
    json_string(json, "dtype", dtype_of(job));
    json_integer(json, "tensor_parallel_size", job->tensor);
    json_string(json, "hardware", job->device->name);
    json_string(json, "cornstarch_version", "source-tree"); /* Oobleck's word for one that is not installed */
    json_integer(json, "schema_version", SCHEMA);
    json_close(json);
}

static void write_ranges(const struct pipeline *pipeline, struct json *json)
{
    json_open(json, "layer_ranges", '[');
    for (int i = 0; i < pipeline->count; i++) {
        const struct stage *stage = &pipeline->stages[i];
        json_open_flat(json, NULL, '[');
        json_integer(json, NULL, stage->first);
        json_integer(json, NULL, stage->first + stage->blocks);
        json_close(json);
    }
    json_close(json);
}

/* T1 and T3 of Oobleck's paper (SOSP'23, section 4.1.2): all stages; the slowest and those behind it. Memory is the most of
 * any stage. No limit to the micro-batches: the job's fit, however many, since 1F1B holds as many as there are stages. */
static void write_template(const struct pipeline *pipeline, const char *model, struct json *json)
{
    const struct stage *slowest = &pipeline->stages[pipeline->slowest];
    double t1 = 0.0, t3 = 0.0, activations = 0.0, persistent = 0.0;
    for (int i = 0; i < pipeline->count; i++) {
        const struct stage *stage = &pipeline->stages[i];
        t1 += stage_time(stage);
        t3 += i >= pipeline->slowest ? stage_time(stage) : 0.0;
        activations = stage->activations > activations ? stage->activations : activations;
        persistent = stage->persistent > persistent ? stage->persistent : persistent;
    }
    struct text id = {0};
    text_format(&id, "%s-stages-%d", model, pipeline->count);
    json_open(json, NULL, '{');
    json_string(json, "template_id", text_within(&id, json->out));
    write_ranges(pipeline, json);
    json_integer(json, "tensor_parallel_size", pipeline->job->tensor);
    json_number(json, "forward_time", slowest->forward);
    json_number(json, "backward_time", slowest->backward);
    json_number(json, "communication_time", job_time(pipeline->job).data);
    json_integer(json, "activation_memory", (int64_t)activations);
    json_integer(json, "persistent_memory", (int64_t)persistent);
    json_null(json, "max_microbatches");
    write_fingerprint(pipeline->job, model, json);
    json_integer(json, "schema_version", SCHEMA);
    json_number(json, "paper_t1", t1);
    json_number(json, "paper_t3", t3);
    json_integer(json, "paper_bottleneck_stage", pipeline->slowest);
    json_close(json);
    json->out->failed = json->out->failed || id.failed;
    text_release(&id);
}

/* ---- ours ---- */

/* Layers as in a profile of the model: the embedding is the first, the head the last. Memory of all the stage's devices. */
static void write_stages(const struct pipeline *pipeline, struct json *json)
{
    const struct job *job = pipeline->job;
    json_open(json, "stages", '[');
    for (int i = 0; i < pipeline->count; i++) {
        const struct stage *stage = &pipeline->stages[i];
        json_open_flat(json, NULL, '{');
        json_integer(json, "first_layer", i == 0 ? 0 : stage->first + 1);
        json_integer(json, "last_layer", stage->first + stage->blocks + (i == pipeline->count - 1));
        json_string(json, "device_type", job->device->name);
        json_integer(json, "devices", job->tensor);
        json_number(json, "forward", stage->forward);
        json_number(json, "backward", stage->backward);
        json_integer(json, "memory", (int64_t)(stage->total * job->tensor));
        json_close(json);
    }
    json_close(json);
}

static void write_plan(const struct pipeline *pipeline, struct json *json)
{
    json_string(json, "format", "rehearse-plan/1");
    json_integer(json, "microbatches", job_microbatches(pipeline->job));
    json_number(json, "iteration_time", job_time(pipeline->job).seconds);
    write_stages(pipeline, json);
}

bool launch_write_oobleck(const struct job *job, struct text *out, struct error *err)
{
    struct json json = {.out = out};
    struct pipeline pipeline;
    const char *model = job->model->name;
    if (!check(job, err) || !make_stages(&pipeline, job, err))
        return false;
    json_open(&json, NULL, '{');
    json_integer(&json, "schema_version", SCHEMA);
    write_fingerprint(job, model, &json);
    json_open(&json, "templates", '[');
    write_template(&pipeline, model, &json);
    json_close(&json);
    write_plan(&pipeline, &json);
    launch_open_rest(&json, notes, sizeof notes / sizeof *notes, job);
    json_close(&json);
    json_close(&json);
    free(pipeline.stages);
    return true;
}
