#include "launch/launch.h"
#include "launch/part.h"
#include "plan/split/rule.h"

static bool (*const writers[LAUNCH_FORMAT_COUNT])(const struct launch_subject *of, struct text *out,
                                                  struct error *err) = {
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
