#include "launch/launch.h"

#include "launch/part.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *version;
    bool (*write)(const struct job *job, struct text *out, struct error *err);
} formats[LAUNCH_FORMAT_COUNT] = {
    [LAUNCH_MEGATRON] = {"Megatron-Core 0.15", launch_write_megatron},
    [LAUNCH_DEEPSPEED] = {"DeepSpeed 0.16", launch_write_deepspeed},
    [LAUNCH_TORCHTITAN] = {"torchtitan 0.2", launch_write_torchtitan},
    [LAUNCH_PIPELINING] = {"PyTorch 2.6", launch_write_pipelining},
    [LAUNCH_OOBLECK] = {NULL, launch_write_oobleck},
    [LAUNCH_DOT] = {NULL, launch_write_dot},
};

const char *const launch_format_names[LAUNCH_FORMAT_COUNT] = {
    [LAUNCH_MEGATRON] = "megatron",     [LAUNCH_DEEPSPEED] = "deepspeed", [LAUNCH_TORCHTITAN] = "torchtitan",
    [LAUNCH_PIPELINING] = "pipelining", [LAUNCH_OOBLECK] = "oobleck",     [LAUNCH_DOT] = NULL,
};

bool launch_write(enum launch_format format, const struct job *job, struct text *out, struct error *err)
{
    if (!job_check(job, err))
        return false;
    if (job->pipeline == 1 && job->chunks > 1)
        return error_set(err, ERROR_INFEASIBLE, "one stage cannot be interleaved in %d chunks", job->chunks);
    struct text written = {0};
    bool ok = formats[format].write(job, &written, err);
    if (ok && !written.failed && written.data)
        text_add_bytes(out, written.data, written.length);
    ok = ok && ((!written.failed && !out->failed) || error_memory(err));
    text_release(&written);
    return ok;
}

/* ---- what the formats share ---- */

void launch_add_head(struct text *out, enum launch_format format, const struct launch_note *notes,
                     size_t count, const struct job *job)
{
    text_format(out, "# %s: ", formats[format].version);
    launch_add_title(out, job);
    text_add(out, "\n");
    for (size_t i = 0; i < count; i++)
        if (notes[i].holds(job))
            text_format(out, "# %s\n", notes[i].text);
}

void launch_open_rest(struct json *json, const struct launch_note *notes, size_t count, const struct job *job)
{
    struct text title = {0};
    launch_add_title(&title, job);
    json_open(json, "rehearse", '{');
    json_string(json, "job", text_within(&title, json->out));
    json_open(json, "set_elsewhere", '[');
    for (size_t i = 0; i < count; i++)
        if (notes[i].holds(job))
            json_string(json, NULL, notes[i].text);
    json_close(json);
    json->out->failed = json->out->failed || title.failed;
    text_release(&title);
}

void launch_add_name(struct text *out, const char *name)
{
    for (; *name; name++)
        text_add_bytes(out, (unsigned char)*name < ' ' || strchr("\"\\", *name) ? "?" : name, 1);
}

void launch_add_title(struct text *out, const struct job *job)
{
    launch_add_name(out, job->model->name);
    text_format(out, " on %d device%s: tensor %d x pipeline %d", job->devices, job->devices == 1 ? "" : "s",
                job->tensor, job->pipeline);
    if (job->chunks > 1)
        text_format(out, " (%d chunks)", job->chunks);
    int64_t count = job_microbatches(job);
    text_format(out, " x context %d x data %d, %" PRId64 " micro-batch%s", job->context, job->data, count,
                count == 1 ? "" : "es");
}

bool launch_always(const struct job *job)
{
    (void)job;
    return true;
}

bool launch_recomputes(const struct job *job)
{
    return job->recompute != RECOMPUTE_NONE;
}

bool launch_is_packed(const struct job *job)
{
    return job->document > 0;
}

bool launch_is_tensor_parallel(const struct job *job)
{
    return job->tensor > 1;
}

bool launch_is_context_parallel(const struct job *job)
{
    return job->context > 1;
}

bool launch_is_expert_parallel(const struct job *job)
{
    return job->expert > 1;
}

bool launch_is_data_parallel(const struct job *job)
{
    return job->data > 1;
}

bool launch_check_rounds(const struct job *job, struct error *err)
{
    int64_t count = job_microbatches(job), rounds = count / job->pipeline;
    if (job->chunks == 1 || count % (rounds > 1 ? rounds : 1) == 0)
        return true;
    return error_set(err, ERROR_INFEASIBLE,
                     "%" PRId64 " micro-batches do not go round %d interleaved stages in groups of one size",
                     count, job->pipeline);
}
