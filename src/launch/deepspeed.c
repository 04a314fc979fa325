/* A job as DeepSpeed's configuration (deepspeed.ai/docs/config-json). Settings without a key are listed under
 * "rehearse", which DeepSpeed ignores. */
#include "core/fields.h"
#include "launch/part.h"

#include <inttypes.h>

static bool is_fp8_or_less(const struct job *job)
{
    return job->type == COST_FP8 || job->type == COST_FP4;
}

static bool is_pipeline(const struct job *job)
{
    return job->degrees.pipeline > 1;
}

static bool is_even(const struct job *job)
{
    if (!job->model)
        return false; /* an outline */
    for (int i = 1; i < job->degrees.pipeline; i++)
        if (job_stage_blocks(job, i) != job_stage_blocks(job, 0))
            return false;
    return true;
}

static void write_switch(struct json *json, const char *key, bool on)
{
    if (!on)
        return;
    json_open(json, key, '{');
    json_bool(json, "enabled", true);
    json_close(json);
}

static void write_recompute(struct json *json, const struct job *job)
{
    if (job->recompute != RECOMPUTE_FULL)
        return;
    json_open(json, "activation_checkpointing", '{');
    json_bool(json, "partition_activations", false);
    if (job->technique.offload_activations > 0)
        json_bool(json, "cpu_checkpointing", true);
    json_integer(json, "number_checkpoints", job_block_count(job));
    json_close(json);
    if (!is_pipeline(job))
        return;
    json_open(json, "pipeline", '{');
    json_integer(json, "activation_checkpoint_interval", 1);
    json_close(json);
}

/* Writes the stages of a job, or of a plan that is not a job: the first block of each, and the end of the last. */
static void write_parts(struct json *json, const struct launch_subject *of)
{
    const struct plan_pipeline *pipeline = &of->plan->pipelines[0];
    const struct job *job = of->job;
    int first = 0, last = 0;
    json_open(json, "pipeline_module", '{');
    json_integer(json, "num_stages", job->degrees.pipeline);
    if (is_even(job))
        json_string(json, "partition_method", "type:transformer");
    if (of->is_job && job->recompute == RECOMPUTE_FULL)
        json_integer(json, "activation_checkpoint_interval", 1);
    json_open_flat(json, "parts", '[');
    for (int s = 0; s < pipeline->stage_count; s++) {
        launch_blocks(of, &pipeline->stages[s], &first, &last);
        json_integer(json, NULL, first);
    }
    json_integer(json, NULL, last);
    json_close(json);
    json_close(json);
}

/* Returns whether DeepSpeed itself splits matrices (AutoTP, which knows neither pipelines nor ZeRO 3). */
static bool splits_tensors(const struct job *job)
{
    return job->degrees.tensor > 1 && !is_pipeline(job) && job->sharding <= 2;
}

/* clang-format off */
#define BATCH_FIELDS(X, of) \
    X(of, INT64, train_batch_size) X(of, INT64, train_micro_batch_size_per_gpu) \
    X(of, INT64, gradient_accumulation_steps)
#define SETTINGS_FIELDS(X, of) \
    X(of, INT64, sequence) X(of, SOME_INT, tensor) X(of, SOME_INT, context) X(of, SOME_INT, expert) \
    X(of, SOME_TEXT, recompute) X(of, SOME_TEXT, precision)
#define OFFLOAD_FIELDS(X, of) X(of, TEXT, device) X(of, SOME_DOUBLE, ratio)
/* clang-format on */
FIELDS_RECORD(batch, BATCH_FIELDS);
FIELDS_RECORD(settings, SETTINGS_FIELDS);
FIELDS_RECORD(offload, OFFLOAD_FIELDS);

/* Writes the settings of a job that no key of DeepSpeed has, so that `rehearse price` finds them again. */
static void write_settings(struct json *json, const struct job *job)
{
    const struct settings settings = {
        job->sequence,
        job->degrees.tensor > 1 ? job->degrees.tensor : -1,
        job->degrees.context > 1 ? job->degrees.context : -1,
        job->degrees.expert > 1 ? job->degrees.expert : -1,
        job->recompute == RECOMPUTE_SELECTIVE ? recompute_name(job->recompute) : NULL,
        is_fp8_or_less(job) ? cost_type_name(job->type) : NULL,
    };
    FIELDS_WRITE(&settings, settings_fields, json);
}

static void write_rest(struct json *json, const struct launch_subject *of)
{
    const struct job *job = of->job;
    const struct launch_note notes[] = {
        {true, "the model's sizes and the sequence: the model's own code"},
        {of->plan->microbatch <= 0,
         "batch sizes: as for micro-batches of one sample, since the plan does not know how many they have"},
        {job->degrees.tensor > 1 && !splits_tensors(job),
         "tensor parallel: a model parallel unit (mpu), or the topology of PipelineModule"},
        {job->degrees.context > 1, "context parallel: the model's own code (DeepSpeed-Ulysses)"},
        {job->degrees.expert > 1, "expert parallel: ep_size of deepspeed.moe.layer.MoE"},
        {is_pipeline(job),
         "the pipeline: a PipelineModule of the arguments below; parts are the first block of each stage"},
        {is_pipeline(job) && !is_even(job),
         "uneven stages: PipelineModule takes no parts; override its _partition_layers"},
        {job->recompute == RECOMPUTE_SELECTIVE, "selective recomputation: the model's own code"},
        {job->recompute == RECOMPUTE_FULL && !is_pipeline(job),
         "full recomputation: the model calls deepspeed.checkpointing.checkpoint around each block"},
        {is_fp8_or_less(job), "products of 8 bits or fewer: the model's own layers (Transformer Engine)"},
        {job->type == COST_TF32, "TF32: PyTorch's own setting"},
        {job->document > 0, "sequences packed from documents: the data loader and the attention mask"},
    };
    launch_open_rest(json, notes, sizeof notes / sizeof *notes, of);
    if (of->is_job)
        write_settings(json, job);
    if (is_pipeline(job))
        write_parts(json, of);
    json_close(json);
}

/* DeepSpeed's pipelines are copies of one, and all stages have equally many devices. */
static bool check_alike(const struct plan *plan, struct error *err)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    if (plan->pipeline_count > 1)
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed's pipelines are all alike: the plan has %d kinds",
                         plan->pipeline_count);
    for (int s = 1; s < pipeline->stage_count; s++)
        if (pipeline->stages[s].degrees.tensor != pipeline->stages[0].degrees.tensor ||
            pipeline->stages[s].degrees.data != pipeline->stages[0].degrees.data)
            return error_set(err, ERROR_INFEASIBLE,
                             "DeepSpeed's stages have as many devices each: stage 0 has %d, stage %d has %d",
                             plan_stage_devices(&pipeline->stages[0]), s,
                             plan_stage_devices(&pipeline->stages[s]));
    return true;
}

static bool check(const struct job *job, struct error *err)
{
    uint64_t can = UINT64_C(1) << TECHNIQUE_OFFLOAD | UINT64_C(1) << TECHNIQUE_OFFLOAD_TO |
                   UINT64_C(1) << TECHNIQUE_DATA_OVERLAP | UINT64_C(1) << TECHNIQUE_OFFLOAD_ACTIVATIONS;
    if (!launch_check_techniques(LAUNCH_DEEPSPEED, job, can, "DeepSpeed", err))
        return false;
    if (job->technique.offload > 0 && job->sharding == 0)
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed offloads states of ZeRO stage 1 or more");
    if (job->technique.offload_activations > 0 &&
        (job->recompute != RECOMPUTE_FULL || job->technique.offload_activations < job_block_count(job)))
        return error_set(
            err, ERROR_INFEASIBLE,
            "DeepSpeed keeps the checkpoints of all blocks on the host (cpu_checkpointing), with full "
            "recomputation");
    if (job->chunks > 1)
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed's pipeline is not interleaved: %d chunks",
                         job->chunks);
    if (job->degrees.pipeline > 1 && job->sharding >= 2) /* PipelineEngine.__init__ asserts it */
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed's pipeline goes with ZeRO stage 0 or 1, not %d",
                         job->sharding);
    return (job->type != COST_FP64 && job->type != COST_INT8) ||
           error_set(err, ERROR_INFEASIBLE, "DeepSpeed does not train in %s", cost_type_name(job->type));
}

static void write_offload(struct json *json, const struct technique *technique)
{
    const struct offload offload = {technique->offload_to == PLACE_NVME ? "nvme" : "cpu",
                                    technique->offload < 100 ? technique->offload / 100.0 : -1};
    if (technique->offload > 0)
        FIELDS_LONG_MAP(&offload, offload_fields, json, "offload_optimizer");
}

/* Writes the settings that only a job has: precision, sharding and recomputation. */
static void write_job(struct json *json, const struct job *job)
{
    json_open(json, "zero_optimization", '{');
    json_integer(json, "stage", job->sharding);
    json_bool(json, "overlap_comm", job->sharding >= 1 && job->technique.data_overlap != SWITCH_OFF);
    write_offload(json, &job->technique);
    json_close(json);
    if (splits_tensors(job)) {
        json_open(json, "tensor_parallel", '{');
        json_integer(json, "autotp_size", job->degrees.tensor);
        json_close(json);
    }
    write_switch(json, "bf16", job->type == COST_BF16 || is_fp8_or_less(job));
    write_switch(json, "fp16", job->type == COST_FP16);
    write_recompute(json, job);
}

bool launch_write_deepspeed(const struct launch_subject *of, struct text *out, struct error *err)
{
    struct json json = {.out = out};
    const struct plan_pipeline *pipeline = &of->plan->pipelines[0];
    int64_t microbatch = of->plan->microbatch > 0 ? of->plan->microbatch : 1;
    int ranks = pipeline->stages[0].degrees.data; /* of each copy: they share its micro-batches */
    if (!check_alike(of->plan, err) || !check(of->job, err))
        return false;
    if (microbatch % ranks != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "the micro-batch (%" PRId64 ") is not a multiple of the %d devices of a stage",
                         microbatch, ranks);
    const struct batch batch = {of->is_job ? of->job->batch
                                           : microbatch * pipeline->microbatches * pipeline->copies,
                                microbatch / ranks, pipeline->microbatches};
    json_open(&json, NULL, '{');
    FIELDS_WRITE(&batch, batch_fields, &json);
    if (of->is_job)
        write_job(&json, of->job);
    write_rest(&json, of);
    json_close(&json);
    return true;
}
