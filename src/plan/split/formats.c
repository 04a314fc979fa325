/* Bytes of a parameter in its forms, the ranks that share it, and the states and activations that the host holds. */
#include "plan/split/job.h"

#include <math.h>
#include <string.h>

/* Bytes: for each 64 numbers a factor in 8 bits, and for each 256 of these one in fp32 (arXiv:2305.14314, section
 * 3). */
#define FROZEN_SCALE (1.0 / 64.0 + 4.0 / (64.0 * 256.0))
/* The same without the second step: one in fp32 for each 64. */
#define SINGLE_SCALE (4.0 / 64.0)

/* Bytes of a moment: two of 16 bits, or fp32, with a copy of the parameters or without. */
static double usual_moment(const struct software *software)
{
    return fmin(software->state_bytes / 2.0, 4.0);
}

static double moment_bytes(const struct job *job)
{
    return number_format_bytes(job->technique.moments, usual_moment(job->software));
}

static double moment_count(const struct job *job)
{
    static const double counts[] = {
        [OPTIMIZER_USUAL] = 2.0,    [OPTIMIZER_ADAM] = 2.0, [OPTIMIZER_MOMENTUM] = 1.0,
        [OPTIMIZER_FACTORED] = 0.0, [OPTIMIZER_NONE] = 0.0, [OPTIMIZER_GALORE] = 2.0,
        [OPTIMIZER_APOLLO] = 2.0,
    };
    return counts[job->technique.optimizer];
}

double job_low_bytes(const struct job *job, const struct layer_low *low)
{
    double projectors = job->technique.optimizer == OPTIMIZER_GALORE ? low->projectors : 0.0;
    return moment_bytes(job) * (moment_count(job) * low->fewer - projectors);
}

struct job_formats job_formats_of(const struct job *job)
{
    const struct software *software = job->software;
    const struct technique *technique = &job->technique;
    double usual = usual_moment(software), held = software->state_bytes > 2.0 * usual ? 4.0 : 0.0;
    /* no copy of parameters beside them in its own format */
    bool copied = technique->master != FORMAT_BF16 && technique->parameters != FORMAT_FP32;
    double master = held > 0.0 ? (copied ? number_format_bytes(technique->master, 4.0) : 0.0) - held : 0.0,
           moments = moment_count(job) * moment_bytes(job) - 2.0 * usual;
    struct job_formats formats = {
        .parameter = number_format_bytes(technique->parameters, software->parameter_bytes),
        .gradient = number_format_bytes(technique->gradients, software->stored_gradient_bytes),
        .wire = technique->wire > 0 ? technique->wire / 8.0
                                    : number_format_bytes(technique->gradients, software->gradient_bytes),
        .state = fmax(software->state_bytes + master + moments, 0.0),
        .gathered = fmin(number_format_bytes(technique->parameters, 2.0), 2.0),
    };
    /* a step reads and writes the states and reads the gradient; accumulation reads and writes a gradient */
    formats.step = fmax(software->optimizer + 2.0 * (master + moments), 0.0);
    formats.trained = formats.parameter;
    if (job_is_frozen(job) && software->adapter_bytes > 0.0) { /* adapters' own format, with moments in it */
        formats.trained = formats.gradient = software->adapter_bytes;
        formats.wire = technique->wire > 0 ? technique->wire / 8.0 : software->adapter_bytes;
        formats.state = moment_count(job) * number_format_bytes(technique->moments, software->adapter_bytes);
        formats.step = 3.0 * software->adapter_bytes + 2.0 * formats.state;
    }
    formats.added = software->accumulate * formats.gradient / fmax(software->stored_gradient_bytes, 1.0);
    if (job_is_frozen(job)) /* weights that are not updated need no copy in fp32 */
        formats.parameter = fmin(formats.parameter, cost_type_bytes(job->type) > 2.0 ? 4.0 : 2.0);
    if (job_is_frozen(job) && technique->parameters) /* nor one in 16 bits */
        formats.parameter = number_format_bytes(technique->parameters, formats.parameter) +
                            (technique->parameters != FORMAT_FP4  ? 0.0
                             : job->technique.scales == SWITCH_ON ? SINGLE_SCALE
                                                                  : FROZEN_SCALE);
    return formats;
}

/* Context parallel ranks share states and shards as data parallel ones do. Copies of the shards (HSDP) share
 * nothing. */
double job_shard_ranks(const struct job *job)
{
    double ranks = job_copies(job);
    return job->technique.replicate > 1 ? fmax(ranks / job->technique.replicate, 1.0) : ranks;
}

/* Experts that lie on one device each are not shared at all. */
double job_expert_shard_ranks(const struct job *job)
{
    return fmax((double)job_expert_copies(job) * job_shard_ranks(job) / job_copies(job), 1.0);
}

#define NVME_RATE 3e9 /* bytes/s of a device's share of a node's drives */

double job_offload_seconds(const struct job *job, double parameters)
{
    const struct technique *technique = &job->technique;
    if (technique->offload == 0)
        return 0.0;
    struct job_formats formats = job_formats_of(job);
    double held = parameters * technique->offload / 100.0, rate = job->device->host_bandwidth;
    /* gradients go down and parameters come back, each way by itself, while the processor's step works on others; the
     * host's memory gives a device about as many bytes/s as its link, one thread of a framework fewer */
    double moved = held * fmax(formats.wire, formats.parameter) / rate;
    double step =
        held * formats.step / (job->software->offload_rate > 0.0 ? job->software->offload_rate : rate);
    double drives = technique->offload_to == PLACE_NVME ? 2.0 * held * formats.state / NVME_RATE : 0.0;
    return fmax(fmax(moved, step), drives);
}

double job_offload_share(const struct job *job, double blocks)
{
    double away = (double)job->technique.offload_activations * (job_is_folded(job) ? 1 : job->chunks);
    return blocks > 0.0 ? fmin(away / blocks, 1.0) : 0.0;
}

double job_offload_shown(const struct job *job, double kept, double seconds)
{
    return fmax(kept / job->device->host_bandwidth - seconds, 0.0);
}
