/* A job as torchtitan's configuration (torchtitan/config/job_config.py). */
#include "devices/tables.h"
#include "launch/part.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* torchtitan's models with the same sizes (torchtitan/models, __init__.py of each). */
static const struct {
    const char *model, *name, *flavor;
} flavors[] = {
    {"llama-3-8b", "llama3", "8B"},         {"llama-3-70b", "llama3", "70B"},
    {"llama-3.1-405b", "llama3", "405B"},   {"llama-4-scout", "llama4", "17bx16e"},
    {"deepseek-v3", "deepseek_v3", "671B"},
};

const char *launch_flavor_model(const char *name, const char *flavor)
{
    for (size_t i = 0; i < sizeof flavors / sizeof *flavors; i++)
        if (strcasecmp(flavors[i].name, name) == 0 && strcasecmp(flavors[i].flavor, flavor) == 0)
            return flavors[i].model;
    return NULL;
}

static int flavor_of(const struct job *job)
{
    for (int i = 0; i < (int)(sizeof flavors / sizeof *flavors); i++) {
        const struct architecture *known = architecture_find(flavors[i].model);
        if (known && architecture_same(known, job->model))
            return i;
    }
    return -1;
}

void torchtitan_parts(const struct job *job, const char *indent, const char *head, struct text *out)
{
    int count = job->degrees.pipeline * job->chunks, block = 0;
    text_add(out, "module_fqns_per_model_part = [\n");
    for (int i = 0; i < count; i++) {
        const char *between = "";
        text_format(out, "%s    [", indent);
        if (i == 0) {
            text_add(out, "\"tok_embeddings\"");
            between = ", ";
        }
        for (int blocks = job_chunk_blocks(job, i); blocks > 0; blocks--, block++, between = ", ")
            text_format(out, "%s\"layers.%d\"", between, block);
        if (i == count - 1)
            text_format(out, "%s%s", between, head);
        text_add(out, "],\n");
    }
    text_format(out, "%s]\n", indent);
}

const char *torchtitan_schedule(const struct job *job)
{
    return job_is_folded(job) ? "ZBVZeroBubble" : job->chunks > 1 ? "Interleaved1F1B" : "1F1B";
}

static void write_pipeline(const struct job *job, struct text *out)
{
    text_format(out, "pipeline_parallel_degree = %d\n", job->degrees.pipeline);
    if (job->degrees.pipeline == 1)
        return;
    text_format(out, "pipeline_parallel_schedule = \"%s\"\n", torchtitan_schedule(job));
    text_format(out, "pipeline_parallel_microbatch_size = %" PRId64 "\n", job->microbatch);
    torchtitan_parts(job, "", "\"norm\", \"output\"", out);
}

/* A pipeline's stages keep their parameters gathered unless they are told otherwise. */
const char *torchtitan_reshard(const struct job *job)
{
    if (job->sharding < 3)
        return "never";
    return job->degrees.pipeline == 1 || job->technique.reshard == SWITCH_ON ? "always" : "default";
}

static void write_parallelism(const struct job *job, struct text *out)
{
    bool sharded = job->sharding >= 1;
    text_add(out, "\n[parallelism]\n");
    int copies = job->technique.replicate > 1 ? job->technique.replicate : 1;
    text_format(out, "data_parallel_replicate_degree = %d\n", sharded ? copies : job->degrees.data);
    text_format(out, "data_parallel_shard_degree = %d\n", sharded ? job->degrees.data / copies : 1);
    if (sharded)
        text_format(out, "fsdp_reshard_after_forward = \"%s\"\n", torchtitan_reshard(job));
    text_format(out, "tensor_parallel_degree = %d\n", job->degrees.tensor);
    if (job->degrees.tensor > 1 && job->technique.tensor_overlap == SWITCH_ON)
        text_add(out, "enable_async_tensor_parallel = true\n");
    text_format(out, "context_parallel_degree = %d\n", job->degrees.context);
    if (job->degrees.context > 1 && job->technique.context_kind != CONTEXT_USUAL)
        text_format(out, "context_parallel_rotate_method = \"%s\"\n",
                    job->technique.context_kind == CONTEXT_GATHER ? "allgather" : "alltoall");
    if (job->model->experts > 0)
        text_format(out, "expert_parallel_degree = %d\nexpert_tensor_parallel_degree = %d\n",
                    job->degrees.expert,
                    job->degrees.expert == 1           ? job->degrees.tensor
                    : job->technique.expert_tensor > 1 ? job->technique.expert_tensor
                                                       : 1);
    write_pipeline(job, out);
}

/* A pipeline splits the local batch into micro-batches; without a pipeline gradients are accumulated. */
static void write_training(const struct job *job, struct text *out)
{
    bool whole = job->type == COST_FP32 || job->type == COST_TF32;
    int64_t local = job->degrees.pipeline > 1 ? job->batch / job->degrees.data : job->microbatch;
    text_format(out, "\n[training]\nlocal_batch_size = %" PRId64 "\nglobal_batch_size = %" PRId64 "\n", local,
                job->batch);
    text_format(out, "seq_len = %" PRId64 "\nmixed_precision_param = \"%s\"\n", job->sequence,
                whole ? "float32" : "bfloat16");
}

bool torchtitan_has_model(const struct job *job)
{
    return flavor_of(job) >= 0;
}

static void write_model(const struct job *job, struct text *out)
{
    int flavor = flavor_of(job);
    bool fp8 = job->type == COST_FP8;
    if (flavor < 0 && !fp8)
        return;
    text_add(out, "\n[model]\n");
    if (flavor >= 0)
        text_format(out, "name = \"%s\"\nflavor = \"%s\"\n", flavors[flavor].name, flavors[flavor].flavor);
    if (fp8)
        text_add(out, "converters = [\"quantize.linear.float8\"]\n");
}

bool torchtitan_check(const struct job *job, struct error *err)
{
    int64_t ranks =
        (int64_t)(job->sharding >= 1 ? job->degrees.data : 1) * job->degrees.context * job->degrees.tensor;
    if (architecture_first_block(job->model) > 0 || job->model->masked || job->model->patch > 0)
        return error_set(err, ERROR_INFEASIBLE, "torchtitan trains only decoders, not '%s'",
                         job->model->name);
    if (job->sharding == 0 && job->degrees.context > 1)
        return error_set(err, ERROR_INFEASIBLE,
                         "torchtitan shards parameters over context parallel ranks: zero=2 or zero=3, not 0");
    uint64_t can = UINT64_C(1) << TECHNIQUE_METHOD | UINT64_C(1) << TECHNIQUE_LAYERS |
                   UINT64_C(1) << TECHNIQUE_REPLICATE | UINT64_C(1) << TECHNIQUE_RESHARD |
                   UINT64_C(1) << TECHNIQUE_RECIPE | UINT64_C(1) << TECHNIQUE_EXPERT_TENSOR |
                   UINT64_C(1) << TECHNIQUE_CONTEXT_KIND | UINT64_C(1) << TECHNIQUE_SCHEDULE |
                   UINT64_C(1) << TECHNIQUE_TENSOR_OVERLAP;
    if (!launch_check_techniques(LAUNCH_TORCHTITAN, job, can, "torchtitan", err))
        return false;
    if (job_is_timed(job) && job->technique.schedule != SCHEDULE_ZB_V)
        return error_set(err, ERROR_INFEASIBLE, "nothing is written for torchtitan's schedule '%s'",
                         job_schedule_name(job));
    if (job->technique.context_kind > CONTEXT_GATHER)
        return error_set(
            err, ERROR_INFEASIBLE,
            "torchtitan's context parallel ranks rotate keys and values by alltoall (cp-comm=p2p) or "
            "allgather (cp-comm=all_gather)");
    if (job->technique.reshard == SWITCH_OFF)
        return error_set(err, ERROR_INFEASIBLE,
                         "torchtitan's fsdp_reshard_after_forward = \"never\" is ZeRO 2: zero=2 in place of "
                         "zero=3 with reshard=no");
    if (job->technique.recipe != RECIPE_USUAL && job->technique.recipe != RECIPE_TENSORWISE &&
        job->technique.recipe != RECIPE_ROWWISE)
        return error_set(err, ERROR_INFEASIBLE,
                         "torchtitan's float8 layers are written with recipes tensorwise and rowwise only");
    if (job->technique.replicate > 1 &&
        (job->degrees.data % job->technique.replicate != 0 || job->sharding < 2))
        return error_set(
            err, ERROR_INFEASIBLE,
            "torchtitan replicates shards of data parallel ranks: %d copies of %d ranks, ZeRO %d",
            job->technique.replicate, job->degrees.data, job->sharding);
    if (job->technique.method != METHOD_ALL && job->technique.method != METHOD_EVERY)
        return error_set(err, ERROR_INFEASIBLE,
                         "torchtitan does not recompute the first blocks of a chunk, only every n-th one");
    if (job->type == COST_FP64 || job->type == COST_FP16 || job->type == COST_INT8 || job->type == COST_FP4)
        return error_set(err, ERROR_INFEASIBLE, "torchtitan does not train in %s", cost_type_name(job->type));
    if (job->degrees.expert > 1 &&
        ranks % job->degrees.expert != 0) /* experts live on shards (torchtitan, parallel_dims.py) */
        return error_set(err, ERROR_INFEASIBLE,
                         "torchtitan spreads experts over sharded ranks: %" PRId64
                         " are not a multiple of expert parallel %d",
                         ranks, job->degrees.expert);
    return launch_check_rounds(job, err);
}

void torchtitan_notes(const struct job *job, struct launch_note notes[TORCHTITAN_NOTES])
{
    const struct launch_note all[TORCHTITAN_NOTES] = {
        {job->sharding == 1 && job->degrees.data > 1,
         "no option: ZeRO 1; here gradients are sharded too, and parameters gathered once (ZeRO 2)"},
        {job->sharding == 2 && job->degrees.data > 1,
         "ZeRO 2: fsdp_reshard_after_forward = \"never\" keeps parameters gathered until the step's end"},
        {job->sharding < 3 && job->degrees.context > 1,
         "parameters are sharded over context parallel ranks, too"},
        {job->type == COST_TF32, "no option: TF32, which is PyTorch's own setting"},
        {job->document > 0, "not written: sequences packed from documents"},
    };
    memcpy(notes, all, sizeof all);
}

bool launch_write_torchtitan(const struct launch_subject *of, struct text *out, struct error *err)
{
    const struct job *job = of->job;
    if (!launch_check_job(of, "torchtitan", err) || !torchtitan_check(job, err))
        return false;
    struct launch_note notes[1 + TORCHTITAN_NOTES] = {
        {flavor_of(job) < 0, "not written: model.name and model.flavor, as torchtitan has no model of these "
                             "numbers by itself"},
    };
    torchtitan_notes(job, notes + 1);
    launch_add_head(out, "torchtitan 0.2", notes, sizeof notes / sizeof *notes, of);
    write_model(job, out);
    write_training(job, out);
    write_parallelism(job, out);
    bool some = job->recompute == RECOMPUTE_FULL && job->technique.method == METHOD_EVERY;
    text_format(out, "\n[activation_checkpoint]\nmode = \"%s\"\n",
                some ? "selective" : recompute_name(job->recompute));
    if (some)
        text_format(out, "selective_ac_option = \"%d\"\n", job->technique.layers);
    else if (job->recompute == RECOMPUTE_SELECTIVE)
        text_add(out, "selective_ac_option = \"op\"\n");
    text_add(out, "\n[compile]\nenable = ");
    text_add(out, strcmp(software_family(job->software), "torchtitan-eager") == 0 ? "false\n" : "true\n");
    /* what is gathered in 8 bits has one factor */
    bool rows = job->technique.recipe == RECIPE_ROWWISE;
    if (job->type == COST_FP8)
        text_format(out, "\n[quantize.linear.float8]\n%s%s",
                    rows                                         ? "recipe_name = \"rowwise\"\n"
                    : job->technique.recipe == RECIPE_TENSORWISE ? "recipe_name = \"tensorwise\"\n"
                                                                 : "",
                    rows ? "" : "enable_fsdp_float8_all_gather = true\n");
    return true;
}
