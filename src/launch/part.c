#include "launch/part.h"
#include "launch/launch.h"
#include "plan/split/rule.h"

#include <inttypes.h>
#include <string.h>

void launch_add_head(struct text *out, const char *version, const struct launch_note *notes, size_t count,
                     const struct launch_subject *of)
{
    text_format(out, "# %s: ", version);
    launch_add_title(out, of);
    text_add(out, "\n");
    for (size_t i = 0; i < count; i++)
        if (notes[i].applies)
            text_format(out, "# %s\n", notes[i].text);
    for (int i = 0; i < of->note_count; i++)
        text_format(out, "# %s\n", of->notes[i]);
}

void launch_open_rest(struct json *json, const struct launch_note *notes, size_t count,
                      const struct launch_subject *of)
{
    struct text title = {0};
    launch_add_title(&title, of);
    json_open(json, "rehearse", '{');
    json_string(json, "job", text_within(&title, json->out));
    json_open(json, "set_elsewhere", '[');
    for (size_t i = 0; i < count; i++)
        if (notes[i].applies)
            json_string(json, NULL, notes[i].text);
    for (int i = 0; i < of->note_count; i++)
        json_string(json, NULL, of->notes[i]);
    json_close(json);
    json->out->failed = json->out->failed || title.failed;
    text_release(&title);
}

void launch_add_name(struct text *out, const char *name)
{
    for (; *name; name++)
        text_add_bytes(out, (unsigned char)*name < ' ' || strchr("\"\\", *name) ? "?" : name, 1);
}

static void add_job(struct text *out, const struct job *job)
{
    text_format(out, " on %d device%s: tensor %d x pipeline %d", job->devices, job->devices == 1 ? "" : "s",
                job->degrees.tensor, job->degrees.pipeline);
    if (job->chunks > 1)
        text_format(out, " (%d chunks)", job->chunks);
    int64_t count = job_microbatches(job);
    text_format(out, " x context %d x data %d, %" PRId64 " micro-batch%s", job->degrees.context,
                job->degrees.data, count, count == 1 ? "" : "es");
}

static void add_pipelines(struct text *out, const struct plan *plan)
{
    int64_t copies = plan_copies(plan);
    text_format(out, " on %" PRId64 " devices: %" PRId64 " pipeline%s", plan_devices_used(plan), copies,
                copies == 1 ? "" : "s");
    if (plan->pipeline_count > 1)
        text_format(out, " of %d kinds", plan->pipeline_count);
    if (plan->objective)
        text_format(out, ", by the %s objective", plan->objective);
}

void launch_add_title(struct text *out, const struct launch_subject *of)
{
    const char *name = of->is_job ? of->job->model->name : of->plan->model;
    launch_add_name(out, name ? name : "the profile's model");
    if (of->is_job)
        add_job(out, of->job);
    else
        add_pipelines(out, of->plan);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Returns the maximum degrees, micro-batch, recomputation and sharding over all stages. */
static struct job launch_outline(const struct plan *plan)
{
    struct job job = {.degrees = DEGREES_ONE,
                      .chunks = plan->chunks,
                      .microbatch = plan->microbatch,
                      .batch = plan->global_batch,
                      .sharding = plan->sharding > 0 ? plan->sharding : 0,
                      .type = COST_BF16,
                      .recompute = RECOMPUTE_NONE};
    int64_t copies = 0;
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        copies += pipeline->copies;
        job.degrees.pipeline = larger(job.degrees.pipeline, pipeline->stage_count / plan->chunks);
        for (int s = 0; s < pipeline->stage_count; s++) {
            const struct plan_stage *stage = &pipeline->stages[s];
            job.degrees.tensor = larger(job.degrees.tensor, stage->degrees.tensor);
            job.degrees.context = larger(job.degrees.context, stage->degrees.context);
            job.degrees.expert = larger(job.degrees.expert, stage->degrees.expert);
            job.degrees.data = larger(job.degrees.data, stage->degrees.data);
        }
    }
    job.degrees.data = larger(job.degrees.data, copies > 1 ? 2 : 1);
    if (plan->recompute && !recompute_find(plan->recompute, &job.recompute))
        job.recompute = RECOMPUTE_SELECTIVE;
    return job;
}

void launch_blocks(const struct launch_subject *of, const struct plan_stage *stage, int *first, int *last)
{
    *first = stage->layers.first;
    *last = stage->layers.last + 1;
    if (!of->is_job && !of->plan->software)
        return;
    *first = *first > 0 ? *first - 1 : 0;
    *last -= 1 + (stage->layers.last + 1 == of->plan->layer_count);
}

bool launch_check_job(const struct launch_subject *of, const char *software, struct error *err)
{
    if (of->is_job && strcmp(software_family(of->job->software), "ideal") == 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "'ideal' is not real software: plan with --software NAME, to write it for %s",
                         software);
    return of->is_job || error_set(err, ERROR_INFEASIBLE,
                                   "%s needs a training job whose stages all have the same degrees on one "
                                   "device type: this plan has not",
                                   software);
}

bool launch_check_techniques(enum launch_format format, const struct job *job, uint64_t can,
                             const char *title, struct error *err)
{
    const char *own = launch_format_software[format];
    bool planned = !job->software || text_starts_with(software_family(job->software), own);
    for (int k = 0; k < TECHNIQUE_COUNT; k++) {
        int value = technique_get(&job->technique, (enum technique_kind)k);
        if (value == 0 || k == TECHNIQUE_IMBALANCE || (can >> k & 1))
            continue;
        struct text text = {0};
        technique_write(&text, (enum technique_kind)k, value);
        error_set(err, ERROR_INFEASIBLE, "%s has no option for %s %s (%s)%s%s", title,
                  technique_name((enum technique_kind)k), text.data ? text.data : "",
                  technique_text((enum technique_kind)k),
                  planned || k >= TECHNIQUE_OPTIMIZER ? "" : "; plan for it with --software ",
                  planned || k >= TECHNIQUE_OPTIMIZER ? "" : own);
        text_release(&text);
        return false;
    }
    return true;
}

bool launch_check_rounds(const struct job *job, struct error *err)
{
    int64_t count = job_microbatches(job), rounds = count / job->degrees.pipeline;
    if (job->chunks == 1 || job_is_folded(job) || count % (rounds > 1 ? rounds : 1) == 0)
        return true;
    return error_set(err, ERROR_INFEASIBLE,
                     "%" PRId64
                     " micro-batches cannot be divided into equal groups for %d interleaved stages",
                     count, job->degrees.pipeline);
}

static launch_writer *const writers[LAUNCH_FORMAT_COUNT] = {
    [LAUNCH_MEGATRON] = launch_write_megatron,
    [LAUNCH_DEEPSPEED] = launch_write_deepspeed,
    [LAUNCH_TORCHTITAN] = launch_write_torchtitan,
    [LAUNCH_PIPELINING] = launch_write_pipelining,
    [LAUNCH_OOBLECK] = launch_write_oobleck,
    [LAUNCH_TORCHTITAN_PYTHON] = launch_write_torchtitan_python,
};

const char *const launch_format_names[LAUNCH_FORMAT_COUNT + 1] = {
    [LAUNCH_MEGATRON] = "megatron",     [LAUNCH_DEEPSPEED] = "deepspeed",
    [LAUNCH_TORCHTITAN] = "torchtitan", [LAUNCH_TORCHTITAN_PYTHON] = "torchtitan-python",
    [LAUNCH_PIPELINING] = "pipelining", [LAUNCH_OOBLECK] = "oobleck",
};

const char *const launch_format_software[LAUNCH_FORMAT_COUNT] = {
    [LAUNCH_MEGATRON] = "megatron-core",
    [LAUNCH_DEEPSPEED] = "deepspeed",
    [LAUNCH_TORCHTITAN] = "torchtitan",
    [LAUNCH_TORCHTITAN_PYTHON] = "torchtitan",
};

bool launch_write_subject(enum launch_format format, const struct launch_subject *of, struct text *out,
                          struct error *err)
{
    const struct job_rule *rule = of->is_job ? job_rule_broken(of->job, RULE_WHOLE) : NULL;
    return rule ? job_rule_refuse(of->job, rule, err) : writers[format](of, out, err);
}

bool launch_write(enum launch_format format, const struct plan *plan, const struct job *job, struct text *out,
                  struct error *err)
{
    struct job outline = launch_outline(plan);
    const struct launch_subject of = {.plan = plan, .job = job ? job : &outline, .is_job = job != NULL};
    struct text written = {0};
    bool ok = launch_write_subject(format, &of, &written, err);
    if (ok && !written.failed && written.data)
        text_add_bytes(out, written.data, written.length);
    ok = ok && ((!written.failed && !out->failed) || error_memory(err));
    text_release(&written);
    return ok;
}
