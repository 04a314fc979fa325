#include "evidence/validate.h"

#include "core/stop.h"
#include "evidence/likeness.h"

#define PART(member) FIELD(struct job_time, member, FIELD_DOUBLE, 0, 0)

const struct field job_time_parts[JOB_TIME_PARTS] = {
    PART(compute), PART(bubble), PART(tensor), PART(send), PART(data), PART(optimizer), PART(other),
};

/* Predicts a run by each software that it may have been, and keeps the median. */
static void predict_mixture(struct run *run, const struct calibration *calibration)
{
    double seconds[LIKENESS_OTHERS];
    struct job job = run->job;
    if (calibration)
        job.calibration = calibration;
    struct job_time time = job_time(&job);
    struct likeness likeness = likeness_of(&job, &time);
    likeness.released = likeness_date(run->date);
    int which[LIKENESS_OTHERS], count = likeness_mixture(&likeness, NULL, which);
    for (int i = 0; i < count; i++) {
        job.software = software_find(software_mixture[which[i]]);
        seconds[i] = job_time(&job).seconds;
    }
    for (int i = 0; i < count; i++) {
        int below = 0;
        for (int j = 0; j < count; j++)
            below += seconds[j] < seconds[i] || (seconds[j] == seconds[i] && j < i);
        if (below == count / 2)
            run->job.software = software_find(software_mixture[which[i]]);
    }
}

static struct job with_layers(struct job job, int layers)
{
    job.recompute = RECOMPUTE_FULL;
    job.technique.method = METHOD_BLOCK;
    job.technique.layers = layers;
    return job;
}

/* Recomputes as few blocks of each chunk as fit, if any number does. */
static void settle_layers(struct job *job)
{
    int least = 0, enough = job_block_count(job) / (job->degrees.pipeline * job->chunks);
    struct job other = with_layers(*job, enough);
    if (enough < 1 || !run_job_fits(&other))
        return;
    while (enough - least > 1) {
        int middle = (least + enough) / 2;
        other = with_layers(*job, middle);
        *(run_job_fits(&other) ? &enough : &least) = middle;
    }
    *job = with_layers(*job, enough);
}

/* A run that leaves its recomputation open ran, and so with one that fits: the least of them, if any does. Software
 * that accumulates no gradients has no other way to save memory, nor have frozen weights. */
static void settle_recompute(const struct run *run, struct job *job)
{
    static const enum recompute more[] = {RECOMPUTE_SELECTIVE, RECOMPUTE_FULL};
    if (!(run->open & OPEN_RECOMPUTE) || job->recompute != RECOMPUTE_NONE || run->ran_out ||
        run_job_fits(job))
        return;
    if (job_is_frozen(job) && job->software->some_blocks == METHOD_BLOCK)
        settle_layers(job);
    if (!job->software->one_pass)
        return;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        struct job other = *job;
        other.recompute = more[i];
        if (run_job_fits(&other)) {
            *job = other;
            return;
        }
    }
}

void validation_predict(struct validation *validation, const struct calibration *calibration)
{
    for (int i = 0; i < validation->count && !stop_wanted(); i++) {
        struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        if (run->mixed)
            predict_mixture(run, calibration);
        struct job job = run->job;
        if (calibration)
            job.calibration = calibration;
        settle_recompute(run, &job);
        run->predicted = job_time(&job);
        run->predicted_memory = job_memory(&job);
        run->fits = run_job_fits(&job);
        run->fits_open = run->fits || (run->open && !run->ran_out && run_fits_somehow(run));
        run->memory_error = run->memory > 0.0 ? run->predicted_memory.total / run->memory - 1.0 : 0.0;
        run_expect(run, run->predicted.seconds);
    }
}

void run_expect(struct run *run, double seconds)
{
    run->expected = seconds;
    run->error = run->seconds > 0.0 ? seconds / run->seconds - 1.0 : 0.0;
}

struct error_score validation_score(const struct validation *validation,
                                    bool (*matches)(const struct run *run, const void *context),
                                    const void *context)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (!run->reason && run->scored && (!matches || matches(run, context)))
            validation->errors[count++] = run->error;
    }
    return error_score_of(validation->errors, count);
}

struct memory_score validation_memory(const struct validation *validation)
{
    struct memory_score score = {0};
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        if (run->memory > 0.0)
            validation->errors[count++] = run->memory_error;
        if (run->ran_out) {
            score.ran_out++;
            score.caught += !run->fits;
        } else if (run->seconds > 0.0 || run->memory > 0.0) {
            score.ran += run->open == 0;
            score.wrongly_refused += run->open == 0 && !run->fits;
            score.open += run->open != 0;
            score.open_refused += run->open != 0 && !run->fits_open;
        }
    }
    score.errors = error_score_of(validation->errors, count);
    return score;
}
