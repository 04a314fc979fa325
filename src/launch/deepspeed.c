/* A job as DeepSpeed's configuration (deepspeed.ai/docs/config-json). What it has no key for lies under "rehearse", which
 * DeepSpeed does not look at. */
#include "launch/part.h"

static bool is_fp8_or_less(const struct job *job)
{
    return job->type == COST_FP8 || job->type == COST_FP4;
}

static bool is_tf32(const struct job *job)
{
    return job->type == COST_TF32;
}

static bool is_pipeline(const struct job *job)
{
    return job->pipeline > 1;
}

static bool is_even(const struct job *job)
{
    for (int i = 1; i < job->pipeline; i++)
        if (job_stage_blocks(job, i) != job_stage_blocks(job, 0))
            return false;
    return true;
}

static bool is_uneven(const struct job *job)
{
    return is_pipeline(job) && !is_even(job);
}

static bool is_selective(const struct job *job)
{
    return job->recompute == RECOMPUTE_SELECTIVE;
}

static bool is_plain_full(const struct job *job)
{
    return job->recompute == RECOMPUTE_FULL && !is_pipeline(job);
}

static const struct launch_note notes[] = {
    {launch_always, "the model's sizes and the sequence: the model's own code"},
    {launch_is_tensor_parallel,
     "tensor parallel: a model parallel unit (mpu), or the topology of PipelineModule"},
    {launch_is_context_parallel, "context parallel: the model's own code (DeepSpeed-Ulysses)"},
    {launch_is_expert_parallel, "expert parallel: ep_size of deepspeed.moe.layer.MoE"},
    {is_pipeline,
     "the pipeline: a PipelineModule of the arguments below; parts are the first block of each stage"},
    {is_uneven, "uneven stages: PipelineModule takes no parts; override its _partition_layers"},
    {is_selective, "selective recomputation: the model's own code"},
    {is_plain_full,
     "full recomputation: the model calls deepspeed.checkpointing.checkpoint around each block"},
    {is_fp8_or_less, "products of 8 bits or fewer: the model's own layers (Transformer Engine)"},
    {is_tf32, "TF32: PyTorch's own setting"},
    {launch_is_packed, "sequences packed from documents: the data loader and the attention mask"},
};

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
    json_integer(json, "number_checkpoints", job_block_count(job));
    json_close(json);
    if (!is_pipeline(job))
        return;
    json_open(json, "pipeline", '{');
    json_integer(json, "activation_checkpoint_interval", 1);
    json_close(json);
}

static void write_parts(struct json *json, const struct job *job)
{
    int count = job_block_count(job);
    json_open(json, "pipeline_module", '{');
    json_integer(json, "num_stages", job->pipeline);
    if (is_even(job))
        json_string(json, "partition_method", "type:transformer");
    if (job->recompute == RECOMPUTE_FULL)
        json_integer(json, "activation_checkpoint_interval", 1);
    json_open_flat(json, "parts", '[');
    for (int i = 0; i <= job->pipeline; i++)
        json_integer(json, NULL, job_stage_first(job, count, i));
    json_close(json);
    json_close(json);
}

static void write_rest(struct json *json, const struct job *job)
{
    launch_open_rest(json, notes, sizeof notes / sizeof *notes, job);
    if (is_pipeline(job))
        write_parts(json, job);
    json_close(json);
}

static bool check(const struct job *job, struct error *err)
{
    if (job->chunks > 1)
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed's pipeline is not interleaved: %d chunks",
                         job->chunks);
    if (job->pipeline > 1 && job->sharding >= 2) /* PipelineEngine.__init__ asserts it */
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed's pipeline goes with ZeRO stage 0 or 1, not %d",
                         job->sharding);
    if (job->type == COST_FP64 || job->type == COST_INT8)
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed does not train in %s", cost_type_name(job->type));
    if (job->frozen)
        return error_set(err, ERROR_INFEASIBLE, "DeepSpeed's configuration has no frozen weights (LoRA)");
    return true;
}

bool launch_write_deepspeed(const struct job *job, struct text *out, struct error *err)
{
    struct json json = {.out = out};
    if (!check(job, err))
        return false;
    json_open(&json, NULL, '{');
    json_integer(&json, "train_batch_size", job->batch);
    json_integer(&json, "train_micro_batch_size_per_gpu", job->microbatch);
    json_integer(&json, "gradient_accumulation_steps", job_microbatches(job));
    json_open(&json, "zero_optimization", '{');
    json_integer(&json, "stage", job->sharding);
    json_bool(&json, "overlap_comm", job->sharding >= 1);
    json_close(&json);
    write_switch(&json, "bf16", job->type == COST_BF16 || is_fp8_or_less(job));
    write_switch(&json, "fp16", job->type == COST_FP16);
    write_recompute(&json, job);
    write_rest(&json, job);
    json_close(&json);
    return true;
}
