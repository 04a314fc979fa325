/* A job as a function for torchtitan's registry of configurations (torchtitan/models/.../config_registry.py), which
 * took the place of TOML in February 2026. */
#include "devices/tables.h"
#include "launch/part.h"

#include <inttypes.h>
#include <string.h>

/* Functions of the registry, and flavors, of models with the same sizes. */
static const struct {
    const char *model, *package, *function, *flavor;
} registry[] = {
    {"llama-3-8b", "llama3", "llama3_8b", "8B"},
    {"llama-3-70b", "llama3", "llama3_70b", "70B"},
    {"llama-3.1-405b", "llama3", "llama3_405b", "405B"},
    {"deepseek-v3", "deepseek_v3", "deepseek_v3_671b", "671B"},
    {"qwen3-14b", "qwen3", "qwen3_14b", "14B"},
    {"qwen3-32b", "qwen3", "qwen3_32b", "32B"},
    {"qwen3-30b-a3b", "qwen3", "qwen3_30b_a3b", "30B-A3B"},
    {"gpt-oss-20b", "gpt_oss", "gpt_oss_20b", "20b"},
    {"gpt-oss-120b", "gpt_oss", "gpt_oss_120b", "120b"},
};

static int find(const struct job *job)
{
    for (int i = 0; i < (int)(sizeof registry / sizeof *registry); i++) {
        const struct architecture *known = architecture_find(registry[i].model);
        if (known && architecture_same(known, job->model))
            return i;
    }
    return -1;
}

const char *launch_registry_model(const char *function)
{
    for (size_t i = 0; i < sizeof registry / sizeof *registry; i++)
        if (strcmp(registry[i].function, function) == 0)
            return registry[i].model;
    return NULL;
}

static bool check(const struct job *job, struct error *err)
{
    if (find(job) < 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "torchtitan's registry has no function for '%s': its sizes are Python there",
                         job->model->name);
    if (job->technique.recipe == RECIPE_TENSORWISE)
        return error_set(err, ERROR_INFEASIBLE,
                         "since v0.2.2, torchtitan scales fp8 by rows only, not by tensors");
    if (job->technique.context_kind != CONTEXT_USUAL || job->technique.expert_tensor > 1)
        return error_set(err, ERROR_INFEASIBLE,
                         "since v0.2.2, torchtitan chooses the context parallel exchange and the tensor "
                         "parallel degree of experts itself");
    if (job->recompute == RECOMPUTE_FULL && job->technique.method == METHOD_EVERY)
        return error_set(err, ERROR_INFEASIBLE,
                         "since v0.2.2, torchtitan does not recompute one of every %d blocks",
                         job->technique.layers);
    return true;
}

/* All imports come first; the function of the registry gives what a plan does not say: loss, optimizer, data. */
static void write_imports(const struct job *job, int entry, struct text *out)
{
    text_add(out, "\n");
    if (job->type == COST_FP8)
        text_add(out, "from torchtitan.components.quantization import Float8LinearConverter\n");
    if (job->recompute != RECOMPUTE_NONE)
        text_format(out, "from torchtitan.distributed.activation_checkpoint import %s\n",
                    job->recompute == RECOMPUTE_FULL ? "FullAC" : "SelectiveAC");
    text_format(out, "from torchtitan.models.%s import model_registry\n", registry[entry].package);
    text_format(out, "from torchtitan.models.%s.config_registry import %s\n", registry[entry].package,
                registry[entry].function);
    text_add(out, "from torchtitan.trainer import Trainer\n\n\n");
}

static void write_training(const struct job *job, struct text *out)
{
    text_format(out, "    training = config.training\n");
    text_format(out, "    training.num_tokens_per_microbatch_per_dp_rank = %" PRId64 " * %" PRId64 "\n",
                job->microbatch, job->sequence);
    text_format(out, "    training.num_tokens_per_train_step = %" PRId64 " * %" PRId64 "\n", job->batch,
                job->sequence);
    text_format(out, "    training.max_context_length = %" PRId64 "\n", job->sequence);
    text_format(out, "    training.mixed_precision_param = \"%s\"\n",
                job->type == COST_FP32 || job->type == COST_TF32 ? "float32" : "bfloat16");
}

static void write_parallelism(const struct job *job, struct text *out)
{
    bool sharded = job->sharding >= 1;
    int copies = job->technique.replicate > 1 ? job->technique.replicate : 1;
    text_add(out, "    parallelism = config.parallelism\n");
    text_format(out, "    parallelism.data_parallel_replicate_degree = %d\n",
                sharded ? copies : job->degrees.data);
    text_format(out, "    parallelism.data_parallel_shard_degree = %d\n",
                sharded ? job->degrees.data / copies : 1);
    if (sharded)
        text_format(out, "    parallelism.fsdp_reshard_after_forward = \"%s\"\n", torchtitan_reshard(job));
    text_format(out, "    parallelism.tensor_parallel_degree = %d\n", job->degrees.tensor);
    if (job->degrees.tensor > 1 && job->technique.tensor_overlap == SWITCH_ON)
        text_add(out, "    parallelism.enable_async_tensor_parallel = True\n");
    text_format(out, "    parallelism.context_parallel_degree = %d\n", job->degrees.context);
    if (job->model->experts > 0)
        text_format(out, "    parallelism.expert_parallel_degree = %d\n", job->degrees.expert);
    text_format(out, "    parallelism.pipeline_parallel_degree = %d\n", job->degrees.pipeline);
    if (job->degrees.pipeline == 1)
        return;
    text_format(out, "    parallelism.pipeline_parallel_schedule = \"%s\"\n", torchtitan_schedule(job));
    text_format(out, "    parallelism.num_pp_microbatches = %" PRId64 "\n", job_microbatches(job));
    text_add(out, "    parallelism.");
    torchtitan_parts(job, "    ", "\"norm\", \"lm_head\"", out);
}

static void write_rest(const struct job *job, int entry, struct text *out)
{
    text_format(out, "    config.model_spec = model_registry(\"%s\"", registry[entry].flavor);
    if (job->type == COST_FP8)
        text_add(out, ", converters=[Float8LinearConverter.Config(model_compile_enabled=True)]");
    text_add(out, ")\n    config.activation_checkpoint = ");
    text_add(out, job->recompute == RECOMPUTE_NONE   ? "None\n"
                  : job->recompute == RECOMPUTE_FULL ? "FullAC.Config()\n"
                                                     : "SelectiveAC.Config()\n");
    text_format(out, "    config.compile.enable = %s\n    return config\n",
                strcmp(software_family(job->software), "torchtitan-eager") == 0 ? "False" : "True");
}

bool launch_write_torchtitan_python(const struct launch_subject *of, struct text *out, struct error *err)
{
    const struct job *job = of->job;
    if (!launch_check_job(of, "torchtitan", err) || !torchtitan_check(job, err) || !check(job, err))
        return false;
    struct launch_note notes[TORCHTITAN_NOTES];
    torchtitan_notes(job, notes);
    int entry = find(job);
    launch_add_head(out, "torchtitan from February 2026 on (read at commit b5bcd76c6)", notes,
                    sizeof notes / sizeof *notes, of);
    write_imports(job, entry, out);
    text_format(out, "def %s_rehearsed() -> Trainer.Config:\n    config = %s()\n", registry[entry].function,
                registry[entry].function);
    write_training(job, out);
    write_parallelism(job, out);
    write_rest(job, entry, out);
    return true;
}
