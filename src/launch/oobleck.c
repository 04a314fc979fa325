/* Pipelines as Oobleck's cache of pipeline templates (save_templates in oobleck/planning/cache.py, PipelineTemplate and
 * CompatibilityFingerprint in oobleck/types.py of SymbioticLab/Oobleck): one template for each kind of pipeline.
 * Oobleck ignores other keys of the outermost map; under "plan" it has the plan of one template, with more detail. */
#include "core/fields.h"
#include "launch/part.h"

#include <math.h>
#include <stdlib.h>

#define SCHEMA 1 /* of Oobleck's cache, a template and a fingerprint */

static double known(double value)
{
    return isnan(value) ? 0.0 : value;
}

static double time_of(const struct plan_stage *stage)
{
    const struct plan_seconds *seconds = &stage->seconds;
    return known(seconds->forward) + known(seconds->backward) + known(seconds->recompute) +
           known(seconds->collectives);
}

/* Returns the slowest stage; the last of equals, as in Oobleck. */
static int slowest_of(const struct plan_pipeline *pipeline)
{
    int slowest = 0;
    for (int s = 0; s < pipeline->stage_count; s++)
        if (time_of(&pipeline->stages[s]) >= time_of(&pipeline->stages[slowest]))
            slowest = s;
    return slowest;
}

/* ---- plans that Oobleck cannot express ---- */

/* OobleckParallelizationPlan.parallelize wants context and expert parallel degrees of 1; a stage is a node's, with
 * tensor_parallel_size devices, of one hardware; pipelines exchange gradients and hold all the rest themselves. */
static bool check_stage(const struct launch_subject *of, int p, int s, struct error *err)
{
    const struct plan_stage *stage = &of->plan->pipelines[p].stages[s],
                            *first = &of->plan->pipelines[0].stages[0];
    const struct plan_device_type *type = &of->plan->types[stage->type];
    int begin, end;
    if (stage->type != first->type)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck's templates are for one hardware: '%s' and '%s'",
                         of->plan->types[first->type].name, type->name);
    if (stage->degrees.tensor != first->degrees.tensor)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck's stages have one tensor parallel degree: %d and %d",
                         first->degrees.tensor, stage->degrees.tensor);
    if (stage->degrees.data > 1)
        return error_set(err, ERROR_INFEASIBLE,
                         "Oobleck copies whole pipelines, not stages: stage %d has data parallel %d", s,
                         stage->degrees.data);
    if (type->nodes.devices > 0 && stage->degrees.tensor > type->nodes.devices)
        return error_set(err, ERROR_INFEASIBLE,
                         "a stage of Oobleck's is on one node: tensor parallel %d, nodes of %d devices",
                         stage->degrees.tensor, type->nodes.devices);
    launch_blocks(of, stage, &begin, &end);
    return begin < end || error_set(err, ERROR_INFEASIBLE, "stage %d has no block, which Oobleck refuses", s);
}

static bool check_degrees(const struct job *job, struct error *err)
{
    if (job->chunks > 1)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck's pipelines are not interleaved: %d chunks",
                         job->chunks);
    if (job->degrees.context > 1 || job->degrees.expert > 1)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck has no %s parallelism: degree %d",
                         job->degrees.context > 1 ? "context" : "expert",
                         job->degrees.context > 1 ? job->degrees.context : job->degrees.expert);
    return true;
}

static bool check(const struct launch_subject *of, struct error *err)
{
    const struct job *job = of->job;
    const struct architecture *model = of->is_job ? job->model : NULL;
    if (!check_degrees(job, err))
        return false;
    if (of->is_job && job->degrees.tensor > job->devices_per_node)
        return error_set(err, ERROR_INFEASIBLE,
                         "a stage of Oobleck's is on one node: tensor parallel %d, nodes of %d devices",
                         job->degrees.tensor, job->devices_per_node);
    if (job->sharding > 0 && job->degrees.data > 1)
        return error_set(err, ERROR_INFEASIBLE, "Oobleck's pipelines share no states: ZeRO stage 0, not %d",
                         job->sharding);
    if (model && architecture_first_block(model) > 0)
        return error_set(err, ERROR_INFEASIBLE, "'%s' is not a single list of blocks", model->name);
    if (job->type == COST_INT8)
        return error_set(err, ERROR_INFEASIBLE, "PyTorch does not train in %s", cost_type_name(job->type));
    for (int p = 0; p < of->plan->pipeline_count; p++)
        for (int s = 0; s < of->plan->pipelines[p].stage_count; s++)
            if (!check_stage(of, p, s, err))
                return false;
    return true;
}

/* ---- Oobleck's part ---- */

/* Returns PyTorch's name for the type of parameters and activations. */
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

static const char *model_of(const struct launch_subject *of)
{
    return of->is_job ? of->job->model->name : of->plan->model ? of->plan->model : "model";
}

/* clang-format off */
#define FINGERPRINT_FIELDS(X, of) \
    X(of, TEXT, model) X(of, TEXT, dtype) X(of, INT, tensor_parallel_size) X(of, TEXT, hardware) \
    X(of, TEXT, cornstarch_version) X(of, INT, schema_version)
#define TIMES_FIELDS(X, of) \
    X(of, DOUBLE, forward_time) X(of, DOUBLE, backward_time) X(of, DOUBLE, communication_time) \
    X(of, INT64, activation_memory) X(of, INT64, persistent_memory) X(of, INT64, max_microbatches)
#define PAPER_FIELDS(X, of) \
    X(of, INT, schema_version) X(of, DOUBLE, paper_t1) X(of, DOUBLE, paper_t3) X(of, INT, paper_bottleneck_stage)
/* clang-format on */
FIELDS_RECORD(fingerprint, FINGERPRINT_FIELDS);
FIELDS_RECORD(times, TIMES_FIELDS);
FIELDS_RECORD(paper, PAPER_FIELDS);

static void write_fingerprint(const struct launch_subject *of, struct json *json)
{
    const struct plan_stage *first = &of->plan->pipelines[0].stages[0];
    /* Oobleck's word for a version that is not installed */
    const struct fingerprint fingerprint = {model_of(of),          dtype_of(of->job),
                                            first->degrees.tensor, of->plan->types[first->type].name,
                                            "source-tree",         SCHEMA};
    FIELDS_LONG_MAP(&fingerprint, fingerprint_fields, json, "fingerprint");
}

static void write_ranges(const struct launch_subject *of, const struct plan_pipeline *pipeline,
                         struct json *json)
{
    json_open(json, "layer_ranges", '[');
    for (int s = 0; s < pipeline->stage_count; s++) {
        int first, last;
        launch_blocks(of, &pipeline->stages[s], &first, &last);
        json_open_flat(json, NULL, '[');
        json_integer(json, NULL, first);
        json_integer(json, NULL, last);
        json_close(json);
    }
    json_close(json);
}

/* Writes the times of a template. Memory is the maximum over all stages. The micro-batches have no limit: the plan's
 * fit, and 1F1B never holds more of them than there are stages. */
static void write_times(const struct launch_subject *of, const struct plan_pipeline *pipeline,
                        struct json *json)
{
    const struct plan_stage *slowest = &pipeline->stages[slowest_of(pipeline)];
    /* both passes transfer equally much (transformer.h: tensor_forward, tensor_backward), full recomputation once
     * more */
    double passes = of->job->recompute == RECOMPUTE_FULL ? 3.0 : 2.0;
    double ahead = known(slowest->seconds.forward) + known(slowest->seconds.collectives) / passes;
    double activations = 0.0, persistent = 0.0;
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_bytes *bytes = &pipeline->stages[s].bytes;
        activations = fmax(activations, known(bytes->activations));
        persistent =
            fmax(persistent, known(bytes->parameters) + known(bytes->gradients) + known(bytes->optimizer));
    }
    const struct times times = {ahead,
                                time_of(slowest) - ahead,
                                known(pipeline->stages[0].seconds.gradients),
                                (int64_t)activations,
                                (int64_t)persistent,
                                INT64_MIN};
    FIELDS_WRITE(&times, times_fields, json);
}

static void write_template(const struct launch_subject *of, int index, struct json *json)
{
    const struct plan_pipeline *pipeline = &of->plan->pipelines[index];
    struct paper paper = {.schema_version = SCHEMA, .paper_bottleneck_stage = slowest_of(pipeline)};
    struct text id = {0};
    for (int s = 0; s < pipeline->stage_count; s++) {
        paper.paper_t1 += time_of(&pipeline->stages[s]);
        paper.paper_t3 += s >= paper.paper_bottleneck_stage ? time_of(&pipeline->stages[s]) : 0.0;
    }
    text_format(&id, "%s-stages-%d", model_of(of), pipeline->stage_count);
    if (of->plan->pipeline_count > 1)
        text_format(&id, "-%d", index);
    json_open(json, NULL, '{');
    json_string(json, "template_id", text_within(&id, json->out));
    write_ranges(of, pipeline, json);
    json_integer(json, "tensor_parallel_size", pipeline->stages[0].degrees.tensor);
    write_times(of, pipeline, json);
    write_fingerprint(of, json);
    FIELDS_WRITE(&paper, paper_fields, json);
    json_close(json);
    json->out->failed = json->out->failed || id.failed;
    text_release(&id);
}

/* ---- ours ---- */

/* A template is one pipeline, on devices that Oobleck chooses. */
static bool write_plan(const struct plan *plan, struct json *json, struct error *err)
{
    const struct plan_pipeline *all = &plan->pipelines[0];
    struct plan_device_type type = plan->types[all->stages[0].type];
    struct plan_pipeline one = *all;
    struct plan part;
    plan_init(&part);
    part.version = plan->version;
    part.model = plan->model;
    part.layer_count = plan->layer_count;
    part.layers_digest = plan->layers_digest;
    part.asked_microbatches = all->microbatches;
    part.global_batch = plan->microbatch * all->microbatches;
    part.microbatch = plan->microbatch;
    part.sequence = plan->sequence;
    part.precision = plan->precision;
    part.software = plan->software;
    part.recompute = plan->recompute;
    part.technique = plan->technique;
    part.sharding = plan->sharding;
    part.headroom = plan->headroom;
    part.send_blocks = plan->send_blocks;
    part.prefetch = plan->prefetch;
    part.keeps_gathered = plan->keeps_gathered;
    part.shards_share = plan->shards_share;
    part.schedule = plan->schedule;
    part.type_count = part.pipeline_count = 1;
    part.types = &type;
    part.link_count = plan->link_count;
    part.links = plan->links;
    part.pipelines = &one;
    part.iteration_time = part.lower_bound = NAN; /* of the whole plan only */
    part.memory = plan->memory;
    part.bottleneck_pipeline = 0;
    part.bottleneck_stage = slowest_of(all);
    type.nodes.count = 0;
    one.copies = 1;
    one.stages = calloc((size_t)all->stage_count, sizeof *one.stages);
    if (!one.stages)
        return error_memory(err);
    for (int s = 0; s < all->stage_count; s++) {
        one.stages[s] = all->stages[s];
        one.stages[s].type = one.stages[s].run_count = 0;
    }
    plan_write_json(&part, json, "plan");
    free(one.stages);
    return true;
}

struct unknown {
    bool times, memory, exchange;
};

static struct unknown find_unknown(const struct plan *plan)
{
    struct unknown no = {0};
    for (int p = 0; p < plan->pipeline_count; p++) {
        no.exchange = no.exchange || isnan(plan->pipelines[p].stages[0].seconds.gradients);
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            const struct plan_stage *stage = &plan->pipelines[p].stages[s];
            const struct plan_bytes *bytes = &stage->bytes;
            no.times = no.times || isnan(stage->seconds.forward + stage->seconds.backward);
            no.memory = no.memory ||
                        isnan(bytes->activations + bytes->parameters + bytes->gradients + bytes->optimizer);
        }
    }
    return no;
}

bool launch_write_oobleck(const struct launch_subject *of, struct text *out, struct error *err)
{
    const struct job *job = of->job;
    struct json json = {.out = out};
    if (!check(of, err))
        return false;
    const struct unknown no = find_unknown(of->plan);
    if (no.times) /* templates are chosen by them: zeros would win */
        return error_set(
            err, ERROR_INFEASIBLE,
            "Oobleck chooses templates by the times of their stages, which this plan does not say");
    const struct launch_note notes[] = {
        {true,
         "fingerprint: hardware and cornstarch_version are the job's own, else load_templates refuses them"},
        {true, "global_batch_size and microbatch_size: OobleckConfig"},
        {!of->is_job, "fingerprint: model and dtype, which the plan does not know; layers are the profile's"},
        {no.memory, "activation_memory and persistent_memory: 0 where the plan does not know them"},
        {no.exchange, "communication_time: 0, as the plan does not know it"},
        {job->recompute != RECOMPUTE_NONE, "recomputation: the model's own code"},
        {job->document > 0 || job_is_frozen(job),
         "packed sequences and frozen weights (LoRA): the model's own code"},
        {job->type == COST_FP8 || job->type == COST_FP4 || job->type == COST_TF32,
         "products of another type than dtype: the model's own layers, PyTorch's own settings"},
    };
    json_open(&json, NULL, '{');
    json_integer(&json, "schema_version", SCHEMA);
    write_fingerprint(of, &json);
    json_open(&json, "templates", '[');
    for (int p = 0; p < of->plan->pipeline_count; p++)
        write_template(of, p, &json);
    json_close(&json);
    if (!write_plan(of->plan, &json, err))
        return false;
    launch_open_rest(&json, notes, sizeof notes / sizeof *notes, of);
    json_close(&json);
    json_close(&json);
    return true;
}
