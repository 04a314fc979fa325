/* Bytes of a parameter in its forms, the ranks that share it, and the states and activations that the host holds. */
#include "plan/split/job.h"

#include <math.h>
#include <string.h>

/* Bytes: for each 64 numbers a factor in 8 bits, and for each 256 of these one in fp32 (arXiv:2305.14314, section 3). */
#define FROZEN_SCALE (1.0 / 64.0 + 4.0 / (64.0 * 256.0))
/* The same without the second step: one in fp32 for each 64. */
#define SINGLE_SCALE (4.0 / 64.0)

struct job_formats job_formats_of(const struct job *job)
{
    const struct software *software = job->software;
    const struct technique *technique = &job->technique;
    double master = number_format_bytes(technique->master, 4.0) - 4.0,
           usual = fmin(software->state_bytes / 2.0,
                        4.0), /* of each moment: two of 16 bits, or fp32 with a copy */
        moments = 2.0 * (number_format_bytes(technique->moments, usual) - usual);
    struct job_formats formats = {
        .parameter = number_format_bytes(technique->parameters, software->parameter_bytes),
        .gradient = number_format_bytes(technique->gradients, software->stored_gradient_bytes),
        .wire = number_format_bytes(technique->gradients, software->gradient_bytes),
        .state = fmax(software->state_bytes + master + moments, 0.0),
        .gathered = fmin(number_format_bytes(technique->parameters, 2.0), 2.0),
    };
    /* a step reads and writes the states and reads the gradient; accumulation reads and writes a gradient */
    formats.step = fmax(software->optimizer + 2.0 * (master + moments), 0.0);
    formats.trained = formats.parameter;
    if (job->frozen && software->adapter_bytes > 0.0) { /* adapters' own format, with moments in it */
        formats.trained = formats.gradient = formats.wire = software->adapter_bytes;
        formats.state = 2.0 * number_format_bytes(technique->moments, software->adapter_bytes);
        formats.step = 3.0 * software->adapter_bytes + 2.0 * formats.state;
    }
    formats.added = software->accumulate * formats.gradient / fmax(software->stored_gradient_bytes, 1.0);
    if (job->frozen) /* weights that are not updated need no copy in fp32 */
        formats.parameter = fmin(formats.parameter, cost_type_bytes(job->type) > 2.0 ? 4.0 : 2.0);
    if (job->frozen && technique->parameters) /* nor one in 16 bits */
        formats.parameter = number_format_bytes(technique->parameters, formats.parameter) +
                            (technique->parameters != FORMAT_FP4 ? 0.0
                             : job->single_scale                 ? SINGLE_SCALE
                                                                 : FROZEN_SCALE);
    return formats;
}

/* Context parallel ranks share states and shards as data parallel ones do. Copies of the shards (HSDP) share nothing. */
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

/* Bytes/s between a device and its host's memory, each way: about 80 % of PCIe's 16 lanes (PCI-SIG: 3.0 15.75 GB/s, 4.0
 * 31.5, 5.0 63), and NVLink-C2C's 450 GB/s (NVIDIA's GH200 datasheet), where two devices share a processor half. */
static double host_rate(const struct cost_device *device)
{
    static const struct {
        const char *start;
        double rate;
    } rates[] = {
        {"gh200", 0.8 * 450e9}, {"gb200", 0.8 * 225e9}, {"gb300", 0.8 * 225e9}, {"volta", 12.5e9},
        {"turing", 12.5e9},     {"ampere", 25e9},       {"ada", 25e9},          {"cdna2", 25e9},
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strncmp(device->name, rates[i].start, strlen(rates[i].start)) == 0 ||
            strcmp(device->generation, rates[i].start) == 0)
            return rates[i].rate;
    return 50e9;
}

#define NVME_RATE 3e9 /* bytes/s of a device's share of a node's drives */

double job_offload_seconds(const struct job *job, double parameters)
{
    const struct technique *technique = &job->technique;
    if (technique->offload == 0)
        return 0.0;
    struct job_formats formats = job_formats_of(job);
    double held = parameters * technique->offload / 100.0, rate = host_rate(job->device);
    /* gradients go down and parameters come back, each way by itself, while the processor's step works on others; the
     * host's memory gives a device about as many bytes/s as its link */
    double moved = held * fmax(formats.wire, formats.parameter) / rate;
    double step = held * formats.step / rate;
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
    return fmax(kept / host_rate(job->device) - seconds, 0.0);
}
