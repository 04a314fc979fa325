#include "launch/price.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the job ---- */

/* The text of an error has an end: long lists are shortened to names. */
static bool refuse_missing(struct launch_options *options, struct error *err)
{
    const char *all = launch_missing_text(options);
    if (!all)
        return error_memory(err);
    int count = options->missing_count;
    if (strlen(all) + strlen(options->path) < 900)
        return error_set(err, ERROR_USAGE, "%s: %s", options->path, all);
    struct text names = {0};
    for (int i = 0; i < count; i++)
        text_format(&names, "%s%s", i > 0 ? ", " : "", options->missing[i].name);
    error_set(err, ERROR_USAGE,
              "%s: %d values are missing: add --set NAME=VALUE for each ($1 is 1=VALUE): %s", options->path,
              count, names.data ? names.data : "");
    if (names.failed)
        error_memory(err);
    text_release(&names);
    return false;
}

static void miss_job(struct launch_options *options)
{
    const struct {
        bool known;
        const char *name, *give;
    } facts[] = {
        {options->microbatch.given || (options->batch.given && options->accumulation.given),
         "the micro-batch size", "--set NAME=VALUE, with the software's name for it"},
        {options->batch.given || options->rank_batch.given || options->accumulation.given,
         "the global batch size", "--set NAME=VALUE, with the software's name for it"},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!facts[i].known)
            launch_miss(options, facts[i].name, "is not in the files", facts[i].give);
}

/* The micro-batch of a batch and an accumulation, which DeepSpeed takes too. */
static bool settle_microbatch(struct launch_price *price, struct error *err)
{
    struct launch_options *options = price->options;
    int64_t model = options->tensor.value * options->pipeline.value * options->context.value;
    if (options->microbatch.given || !options->batch.given || !options->accumulation.given)
        return true;
    int64_t data = model > 0 && price->job.devices >= model ? price->job.devices / model : 1;
    int64_t passes = data * options->accumulation.value;
    if (passes <= 0 || options->batch.value % passes != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "%s: the global batch %" PRId64 " is not a multiple of %" PRId64
                         " data ranks x %" PRId64 " accumulation steps",
                         options->path, options->batch.value, data, options->accumulation.value);
    options->microbatch = (struct launch_value){true, options->batch.line, options->batch.value / passes};
    return true;
}

static bool check_batch(const struct launch_price *price, struct error *err)
{
    const struct job *job = &price->job;
    int64_t pass = job->microbatch * job->degrees.data;
    return job->batch % pass == 0 ||
           error_set(err, ERROR_INFEASIBLE,
                     "%s: the global batch %" PRId64 " is not a multiple of %" PRId64
                     " = micro-batch %" PRId64 " x data parallel %d",
                     price->options->path, job->batch, pass, job->microbatch, job->degrees.data);
}

bool launch_price_job(struct launch_price *price, struct error *err)
{
    struct launch_options *options = price->options;
    struct job *job = &price->job;
    miss_job(options);
    if (options->no_memory)
        return error_memory(err);
    if (options->missing_count > 0)
        return refuse_missing(options, err);
    if (!settle_microbatch(price, err))
        return false;
    if (!launch_check(options, job->devices, err))
        return false;
    job->degrees = DEGREES_ONE;
    job->chunks = 1;
    struct launch_options plain = *options; /* the model's numbers are the job's own */
#define X(name) plain.name.given = false;
    LAUNCH_MODEL_VALUES(X)
#undef X
    struct error why;
    bool ok = launch_apply(&plain, job, &why);
    options->arena = plain.arena;
    if (!ok)
        return error_set(err, why.kind, "%s: %.900s%s", options->path, why.text,
                         options->devices.given && options->devices.line > 0 &&
                                 job->devices == options->devices.value
                             ? " (number of devices from the file; change it with --devices N)"
                             : "");
    if (job->degrees.pipeline == 1)
        job->chunks = 1;
    if (options->data.given && options->data.value != job->degrees.data)
        return error_set(
            err, ERROR_INFEASIBLE, "%s: line %d gives data parallel %" PRId64 ", but %d devices leave %d",
            options->path, options->data.line, options->data.value, job->devices, job->degrees.data);
    if (!job_check_degrees(job, &why))
        return error_set(err, why.kind, "%s: %.900s", options->path, why.text);
    if (!check_batch(price, err))
        return false;
    /* Transformer Engine, and PyTorch where it is told so, multiply fp32 numbers in tf32; so does --precision fp32 */
    if (job->type == COST_FP32 && !(options->plain_fp32.given && options->plain_fp32.value))
        job->type = cost_device_type(job->device, COST_TF32);
    price->time = job_time(job);
    price->memory = job_memory(job);
    return true;
}

#define MAX_KINDS 64

double launch_price_wider(const struct launch_options *options, int *kinds)
{
    const char *notes[MAX_KINDS];
    int count = 0;
    for (int i = 0; i < options->argument_count && count < MAX_KINDS; i++) {
        const char *note = options->arguments[i].use == LAUNCH_UNMODELLED ? options->arguments[i].note : NULL;
        int j = 0;
        while (note && j < count && notes[j] != note && strcmp(notes[j], note) != 0)
            j++;
        if (note && j == count)
            notes[count++] = note;
    }
    *kinds = count;
    return 1.0 + 0.05 * sqrt(count);
}
