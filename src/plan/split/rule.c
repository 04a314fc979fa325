#include "plan/split/rule.h"

#include <inttypes.h>

/* ---- rules ---- */

static bool lacks(const struct job_question *question, unsigned what)
{
    return (question->job.software->offers & what) == 0;
}

static enum job_rule tensor_rule(const struct job_question *question, int64_t tensor)
{
    const struct job *job = &question->job;
    if (tensor > 1) {
        if (lacks(question, OFFERS_TENSOR))
            return RULE_SOFTWARE;
        if (job->model->heads % tensor)
            return RULE_HEADS;
        if (job->model->kv_heads % tensor)
            return RULE_KV_HEADS;
        if (job->model->ffn % tensor)
            return RULE_FFN;
    }
    /* A group lies within a node, or consists of whole nodes if the question gives its degree. */
    bool even = tensor <= job->devices_per_node
                    ? job->devices_per_node % tensor == 0
                    : question->ranges[JOB_TENSOR].given && tensor % job->devices_per_node == 0;
    return even ? RULE_KEPT : RULE_NODE;
}

static enum job_rule expert_rule(const struct job_question *question, int64_t expert)
{
    const struct architecture *model = question->job.model;
    if (expert == 1)
        return RULE_KEPT;
    if (model->experts == 0)
        return RULE_DENSE;
    if (lacks(question, OFFERS_EXPERT))
        return RULE_SOFTWARE;
    return model->experts % expert ? RULE_EXPERTS : expert > question->job.devices ? RULE_DEVICES : RULE_KEPT;
}

static enum job_rule sharding_rule(const struct job_question *question, int64_t stage)
{
    const struct software *software = question->job.software;
    const struct job_range *pipeline = &question->ranges[JOB_PIPELINE];
    unsigned offered = (pipeline->given && pipeline->min > 1 ? 0 : software->zero) |
                       (pipeline->given && pipeline->max == 1 ? 0 : software->zero_staged);
    return stage >= 0 && stage <= 3 && (offered >> stage & 1) ? RULE_KEPT : RULE_SOFTWARE;
}

enum job_rule job_rule_of(const struct job_question *question, enum job_dimension dimension, int64_t value)
{
    const struct job *job = &question->job;
    switch (dimension) {
    case JOB_TENSOR:
        if (value > job->devices)
            return RULE_DEVICES;
        return tensor_rule(question, value);
    case JOB_PIPELINE:
        if (value > 1 && lacks(question, OFFERS_PIPELINE))
            return RULE_SOFTWARE;
        return value > job_block_count(job) ? RULE_BLOCKS : value > job->devices ? RULE_DEVICES : RULE_KEPT;
    case JOB_DATA:
        return value > job->devices ? RULE_DEVICES : job->batch % value ? RULE_BATCH : RULE_KEPT;
    case JOB_CONTEXT:
        if (value == 1)
            return RULE_KEPT;
        if (lacks(question, OFFERS_CONTEXT))
            return RULE_SOFTWARE;
        /* Each rank has two pieces, one from either end, so that all ranks attend to equally many tokens
         * (Megatron-Core). */
        return job->sequence % (2 * value) ? RULE_SEQUENCE : value > job->devices ? RULE_DEVICES : RULE_KEPT;
    case JOB_EXPERT:
        return expert_rule(question, value);
    case JOB_MICROBATCH:
        return job->batch % value ? RULE_BATCH : RULE_KEPT;
    case JOB_CHUNKS:
        return value > 1 && lacks(question, OFFERS_CHUNKS) ? RULE_SOFTWARE : RULE_KEPT;
    case JOB_SHARDING:
        return sharding_rule(question, value);
    default:
        return RULE_KEPT;
    }
}

/* ---- rules in words ---- */

static void say_uneven(struct text *out, const char *what, int64_t whole, const char *owner, int64_t part)
{
    text_format(out, "the %" PRId64 " %s%s%s%s are not a multiple of %" PRId64, whole, what,
                owner ? " of '" : "", owner ? owner : "", owner ? "'" : "", part);
}

static void say_missing(const struct job_question *question, enum job_dimension dimension, int64_t value,
                        struct text *out)
{
    static const char *const parts[] = {[JOB_TENSOR] = "tensor parallelism",
                                        [JOB_PIPELINE] = "pipelines",
                                        [JOB_CONTEXT] = "context parallelism",
                                        [JOB_EXPERT] = "expert parallelism",
                                        [JOB_CHUNKS] = "interleaved pipelines"};
    struct job_question other = *question;
    const char *separator = " (";
    if (dimension == JOB_SHARDING)
        text_format(out, "%s has no ZeRO stage %" PRId64, question->job.software->name, value);
    else
        text_format(out, "%s has no %s", question->job.software->name, parts[dimension]);
    for (int i = 0; i < SOFTWARE_REAL_COUNT; i++) {
        other.job.software = &software_all[i];
        if (job_rule_of(&other, dimension, value) == RULE_KEPT) {
            text_format(out, "%s%s", separator, software_all[i].name);
            separator = ", ";
        }
    }
    if (*separator == ',')
        text_add(out, " would)");
}

void job_rule_say(const struct job_question *question, enum job_dimension dimension, int64_t value,
                  enum job_rule rule, struct text *out)
{
    const struct job *job = &question->job;
    const struct architecture *model = job->model;
    switch (rule) {
    case RULE_KEPT:
        return;
    case RULE_SOFTWARE:
        say_missing(question, dimension, value, out);
        return;
    case RULE_HEADS:
        say_uneven(out, "heads", model->heads, model->name, value);
        return;
    case RULE_KV_HEADS:
        say_uneven(out, "key and value heads", model->kv_heads, model->name, value);
        return;
    case RULE_FFN:
        say_uneven(out, "columns of the MLP", model->ffn, model->name, value);
        return;
    case RULE_NODE:
        if (value <= job->devices_per_node)
            say_uneven(out, "devices of a node", job->devices_per_node, NULL, value);
        else
            text_format(out, "a group of %" PRId64 " is not made of whole nodes of %d", value,
                        job->devices_per_node);
        return;
    case RULE_SEQUENCE:
        say_uneven(out, "tokens of a sequence", job->sequence, NULL, 2 * value);
        return;
    case RULE_EXPERTS:
        say_uneven(out, "experts", model->experts, model->name, value);
        return;
    case RULE_BATCH:
        say_uneven(out, "sequences of the global batch", job->batch, NULL, value);
        return;
    case RULE_DENSE:
        text_format(out, "'%s' has no experts", model->name);
        return;
    case RULE_BLOCKS:
        text_format(out, "'%s' has %d blocks", model->name, job_block_count(job));
        return;
    case RULE_DEVICES:
        text_format(out, job->devices == 1 ? "there is %d device" : "there are %d devices", job->devices);
        return;
    }
}
