/* Schedules whose time no formula has: their orders are made and timed (schedule/timing.h) with the passes of the job's
 * own stages. Interleaved and plain 1F1B have formulas, in time.c.
 *
 * ZB-H1 has the stages of 1F1B, its memory, and weights' gradients apart. DualPipe has them twice: device i holds the
 * stages i and p - 1 - i, and half of the micro-batches goes each way. A device's pace is the mean of its two stages,
 * its parameters, gradients and states are those of both, and the copies of a stage exchange gradients, too. It keeps
 * activations of p - i micro-batches of the one and i + 1 of the other (arXiv:2412.19437, table 2: p + 1).
 *
 * ZB-V and DualPipeV fold one chain of 2 p stages: device i holds the stages i and 2 p - 1 - i, and every micro-batch
 * goes through both, so that a device's pace is their sum. It keeps activations of as many passes as p micro-batches
 * make (arXiv:2405.15362), DualPipeV of one more; they are counted as of the larger stage. */
#include "plan/split/job.h"
#include "schedule/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {[SCHEDULE_ZB_H1] = "zb-h1",
                                    [SCHEDULE_DUALPIPE] = "dualpipe",
                                    [SCHEDULE_ZB_V] = "zb-v",
                                    [SCHEDULE_DUALPIPEV] = "dualpipev"};

bool job_is_timed(const struct job *job)
{
    return job->technique.schedule > SCHEDULE_1F1B && job->degrees.pipeline > 1;
}

const char *job_schedule_name(const struct job *job)
{
    return job_is_timed(job) ? names[job->technique.schedule] : job->chunks > 1 ? "interleaved-1f1b" : "1f1b";
}

bool job_schedule_find(const char *name, enum pipeline_schedule *schedule)
{
    for (int s = SCHEDULE_ZB_H1; s <= SCHEDULE_LAST; s++)
        if (strcmp(names[s], name) == 0) {
            *schedule = (enum pipeline_schedule)s;
            return true;
        }
    return false;
}

bool job_is_double(const struct job *job)
{
    return job_is_timed(job) && job->technique.schedule == SCHEDULE_DUALPIPE;
}

bool job_is_folded(const struct job *job)
{
    return job_is_timed(job) && job->technique.schedule >= SCHEDULE_ZB_V;
}

bool job_has_pairs(const struct job *job)
{
    return job_is_double(job) || (job_is_folded(job) && job->technique.schedule == SCHEDULE_DUALPIPEV);
}

int job_depth(const struct job *job)
{
    return job_is_folded(job) ? 2 * job->degrees.pipeline : job->degrees.pipeline;
}

bool job_schedule_allowed(const struct job *job)
{
    int64_t count = job_microbatches(job);
    if (!job_is_timed(job))
        return true;
    if (job->chunks != (job_is_folded(job) ? 2 : 1) || job_is_frozen(job) ||
        job_depth(job) > job_block_count(job))
        return false;
    return !job_has_pairs(job) ||
           (count >= 2 * (int64_t)job->degrees.pipeline &&
            (job_is_folded(job) || (job->degrees.pipeline % 2 == 0 && count % 2 == 0)));
}

static struct job_layer stage_of(const struct job *job, const struct job_layers *layers, int stage)
{
    return job_stage(job, layers, stage, job_stage_first(job, layers->block_count, stage),
                     job_stage_first(job, layers->block_count, stage + 1));
}

struct job_layer job_other_stage(const struct job *job, const struct job_layers *layers, int stage)
{
    return stage_of(job, layers, job_depth(job) - 1 - stage);
}

struct job_pass job_device_pass(const struct job *job, const struct job_layers *layers, int stage)
{
    struct job_pass pass = stage_of(job, layers, stage).pass;
    if (!job_is_double(job) && !job_is_folded(job))
        return pass;
    struct job_pass other = job_other_stage(job, layers, stage).pass;
    double share = job_is_double(job) ? 0.5 : 1.0; /* of the micro-batches, that go through each of the two */
    return (struct job_pass){
        .forward = share * (pass.forward + other.forward),
        .backward = share * (pass.backward + other.backward),
        .recompute = share * (pass.recompute + other.recompute),
        .tensor = share * (pass.tensor + other.tensor),
        .hidden = share * (pass.hidden + other.hidden),
        .host = share * (pass.host + other.host),
    };
}

static struct pass_cost cost_of(const struct job *job, const struct job_layers *layers, int stage)
{
    struct job_pass pass = stage_of(job, layers, stage).pass;
    double send = (job_sends_inside(job) ? layers->send_inside : layers->send_across) / 2.0;
    double forward = pass.forward + pass.ahead;
    double back = job_pass_alone(&pass) - forward, shorter = fmin(forward, back);
    bool folded = job_is_folded(job);
    int depth = job_depth(job);
    return (struct pass_cost){
        .forward = forward,
        .input = back - pass.weight,
        .weight = pass.weight,
        .send_forward = stage + 1 < depth && !(folded && stage == job->degrees.pipeline - 1) ? send : 0.0,
        .send_backward = stage > 0 && !(folded && stage == job->degrees.pipeline) ? send : 0.0,
        .hidden = shorter > 0.0 ? fmin(pass.hidden / shorter, 1.0) : 0.0,
        .kept = 1.0,
    };
}

double job_makespan_floor(const struct job *job, const struct job_layers *layers)
{
    double count = (double)job_microbatches(job), filled = 0.0, floor = 0.0;
    for (int stage = 0; stage < (job_is_double(job) ? job->degrees.pipeline / 2 : job->degrees.pipeline);
         stage++) {
        struct job_pass device = job_device_pass(job, layers, stage);
        floor = fmax(floor, filled + count * job_pass_seconds(&device));
        filled += stage_of(job, layers, stage).pass.forward;
    }
    return floor * (1.0 - 1e-12);
}

double job_makespan(const struct job *job, const struct job_layers *layers)
{
    int depth = job_depth(job), stages = (job_is_double(job) ? 2 : 1) * depth, chunks;
    double seconds = NAN;
    struct error err;
    const struct schedule *schedule = schedule_find(names[job->technique.schedule], &chunks, &err);
    struct pass_cost *costs = calloc((size_t)stages, sizeof *costs);
    const struct timing_options options = {.costs = costs, .send_blocks = job->software->send_blocks};
    const struct schedule_shape shape = {
        .devices = job->degrees.pipeline, .microbatches = (int)job_microbatches(job), .timing = &options};
    struct pass_order order = {0};
    struct timing timing = {0};
    for (int s = 0; costs && s < stages; s++)
        costs[s] = cost_of(job, layers, s % depth);
    if (costs && schedule_make(schedule, &shape, &order, &err) &&
        timing_of_order(&order, &options, false, &timing, &err))
        seconds = timing.extent.makespan;
    timing_release(&timing);
    pass_order_release(&order);
    free(costs);
    return seconds;
}
