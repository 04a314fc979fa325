/* Runs that leave settings open: does any value that they could have had fit?
 *
 * A published table rarely says how a job was recomputed, which ZeRO stage it had, or the formats of its states. A run
 * that worked is predicted wrongly only if it fits with none of the values that its software offers. Of formats and
 * offload only all together are tried: each of them only saves memory. */
#include "evidence/validate.h"

#include <string.h>

bool run_job_fits(const struct job *job)
{
    return job_needed(job, job_memory(job).total) <= (double)job->device->memory;
}

/* Formats and offload that the software has and tables do not mention. */
static void save_all(const struct run *run, struct job *job)
{
    const struct software *software = job->software;
    if (software_supports(software, TECHNIQUE_GRADIENTS))
        job->technique.gradients = FORMAT_BF16;
    if (software_supports(software, TECHNIQUE_MOMENTS))
        job->technique.moments = FORMAT_BF16;
    if (software_supports(software, TECHNIQUE_PARAMETERS) && cost_type_bytes(job->type) <= 1.0)
        job->technique.parameters = FORMAT_FP8;
    /* DeepSpeed keeps checkpoints of activations on the host in any version of Megatron-LM */
    if (software_supports(software, TECHNIQUE_OFFLOAD_ACTIVATIONS) || strstr(run->framework, "Deepspeed"))
        job->technique.offload_activations = job_block_count(job);
    if (software_supports(software, TECHNIQUE_OFFLOAD))
        job->technique.offload = 100;
}

static bool fits_saving(const struct run *run, struct job job)
{
    if (run_job_fits(&job))
        return true;
    save_all(run, &job);
    return run_job_fits(&job);
}

/* Selective recomputation without named modules may be that of all of them. */
static bool fits_recomputed(const struct run *run, struct job job)
{
    bool modules = software_supports(job.software, TECHNIQUE_MODULES);
    if (fits_saving(run, job))
        return true;
    if ((run->open & OPEN_MODULES) && modules) {
        job.recompute = RECOMPUTE_SELECTIVE;
        job.technique.modules = (1 << RECOMPUTE_MODULES) - 1;
        if (fits_saving(run, job))
            return true;
        job.technique.modules = 0;
    }
    for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL && (run->open & OPEN_RECOMPUTE); r++) {
        job.recompute = (enum recompute)r;
        if (fits_saving(run, job))
            return true;
    }
    return false;
}

static bool fits_sharded(const struct run *run, struct job job)
{
    unsigned shardings = job.degrees.pipeline > 1 ? job.software->zero_staged : job.software->zero;
    if (fits_recomputed(run, job))
        return true;
    for (job.sharding = 0; job.sharding <= 3 && (run->open & OPEN_SHARDING); job.sharding++)
        if ((shardings >> job.sharding & 1) && fits_recomputed(run, job))
            return true;
    return false;
}

bool run_fits_somehow(const struct run *run)
{
    struct job job = run->job;
    if (fits_sharded(run, job))
        return true;
    job.chunks = 1;
    return (run->open & OPEN_CHUNKS) && run->job.chunks > 1 && fits_sharded(run, job);
}
