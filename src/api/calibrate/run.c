/* rh_calibrate of one run of the user's own. */
#include "api/calibrate/calibrate.h"
#include "api/plan/launched.h"
#include "core/fields.h"
#include "core/unit.h"
#include "evidence/interval.h"
#include "evidence/own_run.h"
#include "evidence/own_run_score.h"
#include "launch/log/log.h"
#include "launch/price.h"

#include <inttypes.h>
#include <stdlib.h>

struct calibrate_run {
    struct run_log log;
    struct run_pace pace;
    struct launch_options read;
    struct plan_options asked;
    struct split split;
    struct launch_price price;
    struct estimate estimate;      /* of the known runs alone */
    struct plan_interval interval; /* by them */
    double expected;
    double silicon; /* time with the fit of --gemm, of that with the device as it is known; 1: no fit */
    struct own_run own;
    struct own_score score; /* what one run says, on the published ones */
    const char **sets;
};

void calibrate_run_release(struct calibrate_run *run)
{
    if (!run)
        return;
    split_release(&run->split);
    launch_options_release(&run->read);
    run_log_release(&run->log);
    free(run->sets);
    free(run);
}

/* ---- the job ---- */

/* What the launch description leaves open, the log may say. */
static void complete(struct calibrate_run *run)
{
    struct launch_options *read = &run->read;
    const struct run_log *log = &run->log;
    int64_t batch = log->count > 0 ? log->steps[log->count - 1].batch : 0;
    if (log->devices > 0)
        read->devices = (struct launch_value){true, log->devices_line, log->devices};
    if (batch > 0)
        read->batch = (struct launch_value){true, log->steps[log->count - 1].line, batch};
}

static bool read_job(struct calibrate_run *run, const struct rh_calibrate_request *given, struct error *err)
{
    const struct run_log *log = &run->log;
    for (size_t i = 0; i < given->set.count; i++)
        run->sets[i] = given->set.items[i];
    if (given->jobs.count > 0)
        return launched_read(&run->read, given->jobs.items, given->jobs.count, run->sets, given->root, err);
    if (!log->job)
        return error_set(
            err, ERROR_INPUT,
            "%s: the log does not hold %s's arguments: add --job FILE, the run's launch description",
            log->path, log->software);
    const struct launch_input input = {.path = log->path,
                                       .syntax = log->job_syntax,
                                       .data = log->job,
                                       .length = log->job_length,
                                       .given = run->sets,
                                       .is_alone = true};
    run->read.has_run = true;
    return launch_read(&run->read, &input, err);
}

static const char *device_of(const struct calibrate_run *run, const struct rh_calibrate_request *given)
{
    const struct cost_device *named = run->log.gpu ? tables_device(NULL, run->log.gpu) : NULL;
    return given->device ? given->device : named ? named->name : NULL;
}

static bool make_job(struct calibrate_run *run, const struct rh_calibrate_request *given, struct error *err)
{
    option_copy_common(&run->asked.asked, api_plan_options, given, api_calibrate_options);
    run->asked.asked.device = device_of(run, given);
    run->split.options = &run->asked;
    if (!tables_ready(err) || !read_job(run, given, err))
        return false;
    complete(run);
    if (!launched_job(&run->split, &run->asked, given->devices, &run->read, err))
        return false;
    run->price = (struct launch_price){.options = &run->read, .job = run->split.question.job};
    return launch_price_job(&run->price, err);
}

/* ---- the run beside its prediction ---- */

/* A fit of --gemm is the silicon; what is left between its prediction and the run is the lab. */
static void price(struct calibrate_run *run, const struct cost_device *fitted)
{
    struct job *job = &run->price.job;
    double known = run->price.time.seconds;
    run->silicon = 1.0;
    if (fitted->name) {
        job->device = fitted;
        run->price.time = job_time(job);
        run->silicon = run->price.time.seconds / known;
    }
    run->estimate = own_run_estimate(job, &run->price.time);
}

static bool judge(struct calibrate_run *run, struct calibrate_report *report, struct error *err)
{
    const struct job *job = &run->price.job;
    double tokens = (double)job->batch * (double)job->sequence / job->devices;
    if (!run_log_pace(&run->log, tokens, job->batch, &run->pace, err))
        return false;
    price(run, &report->fitted);
    run->own =
        own_run_of(job, &run->price.time, run->pace.seconds, run->estimate.factor * run->price.time.seconds);
    run->expected = run->pace.seconds / run->own.ratio;
    run->interval = interval_of(&run->estimate, run->price.time.seconds);
    run->own.title = arena_format(&report->arena, "%s on %d x %s, %s", job->model->name, job->devices,
                                  job->device->name, run->log.path);
    if (!run->own.title)
        return error_memory(err);
    if (!(run->own.ratio >= 0.02 && run->own.ratio <= 50))
        return error_set(
            err, ERROR_INPUT,
            "%s: measured %.4g s per iteration, expected %.4g s: the description is of another job",
            run->log.path, run->pace.seconds, run->expected);
    return own_run_score(&run->score, OWN_LABS_ALL, OWN_SHARE, OWN_REACH, err);
}

/* The generation keeps its known parameters. */
static bool add_file(struct calibrate_run *run, struct calibrate_report *report, struct error *err)
{
    struct calibration calibration = {.own = run->own};
    calibration.name = run->price.job.device->generation;
    calibration.fitted = arena_format(
        &report->arena, "%d lines of %s: %.4g s an iteration (%.4g to %.4g s), expected %.4g s",
        run->pace.lines, run->log.path, run->pace.seconds, run->pace.low, run->pace.high, run->expected);
    if (!calibration.fitted)
        return error_memory(err);
    struct text *out = calibrate_add_file(report, "calibration");
    text_add(out, "format: rehearse-calibration/1\ngenerations:\n");
    calibration_write(&calibration, out);
    return true;
}

bool calibrate_from(struct calibrate_report *report, struct error *err)
{
    const struct rh_calibrate_request *given = report->given;
    struct calibrate_run *run = calloc(1, sizeof *run);
    if (!run)
        return error_memory(err);
    report->run = run;
    run->sets = calloc(given->set.count + 1, sizeof *run->sets);
    if (!run->sets)
        return error_memory(err);
    return run_log_load(&run->log, given->log, err) && make_job(run, given, err) && judge(run, report, err) &&
           add_file(run, report, err);
}

/* ---- the report ---- */

static void print_log(const struct calibrate_run *run, struct text *out)
{
    const struct run_pace *pace = &run->pace;
    text_format(out, "%s: %s; %d lines of iterations, after %d of the warm-up", run->log.path,
                run->log.software, pace->lines, pace->warmup);
    if (pace->other_batch > 0)
        text_format(out, ", %d of a smaller batch", pace->other_batch);
    if (run->log.skipped > 0)
        text_format(out, ", %d skipped", run->log.skipped);
    text_format(out, "\n%s: %d arguments read, %d not modelled, %d not understood\n",
                run->log.job && run->read.path == run->log.path ? "its job" : run->read.path,
                launch_count(&run->read, LAUNCH_READ), launch_count(&run->read, LAUNCH_UNMODELLED),
                launch_count(&run->read, LAUNCH_UNKNOWN));
    for (int i = 0; i < run->read.note_count; i++)
        text_format(out, "note: %s\n", run->read.notes[i]);
}

static void print_job(const struct job *job, struct text *out)
{
    text_format(out,
                "%s on %d x %s: tensor %d x context %d x pipeline %d x data %d, micro-batch %" PRId64
                ", batch %" PRId64 " x %" PRId64 ", priced as %s\n\n",
                job->model->name, job->devices, job->device->name, job->degrees.tensor, job->degrees.context,
                job->degrees.pipeline, job->degrees.data, job->microbatch, job->batch, job->sequence,
                job->software->name);
}

static void print_times(const struct calibrate_run *run, struct text *out)
{
    struct unit_texts texts = {0};
    double formula = run->price.time.seconds;
    bool inside = interval_holds(&run->interval, run->pace.seconds);
    text_format(out, "measured   %s, median; %s to %s at 95 %%\n",
                unit_text(&texts, run->pace.seconds, UNIT_TIME), unit_text(&texts, run->pace.low, UNIT_TIME),
                unit_text(&texts, run->pace.high, UNIT_TIME));
    text_format(out, "expected   %s", unit_text(&texts, run->estimate.factor * formula, UNIT_TIME));
    estimate_print_factors(&run->estimate, formula, run->estimate.factor, out);
    text_add(out, "\n           ");
    plan_print_interval(&run->interval, out);
    text_add(out, "\n");
    if (run->silicon != 1.0)
        text_format(
            out,
            "silicon    x %.3f: the job's time with the products of --gemm over that with the known device\n",
            run->silicon);
    text_format(out, "%s x %.3f: measured over expected, %s the interval\n\n",
                run->silicon != 1.0 ? "the lab   " : "together  ", run->own.ratio,
                inside ? "within" : "outside");
}

void calibrate_run_print(const struct calibrate_report *report, struct text *out)
{
    const struct calibrate_run *run = report->run;
    const struct own_score *score = &run->score;
    print_log(run, out);
    print_job(&run->price.job, out);
    print_times(run, out);
    struct estimate same = {.factor = 1.0, .own = 1.0};
    struct likeness likeness = likeness_of(&run->price.job, &run->price.time);
    own_run_apply(&same, &run->own, &likeness, 0.0);
    text_format(
        out, "corrects   x %.3f the same job, x %.3f one that differs a little, less similar jobs by less\n",
        run->own.ratio, same.own);
    text_format(out,
                "worth      mean error of jobs near one known run of their lab %.1f %%, without it %.1f %%; "
                "%.0f %% within their "
                "80 %% intervals\n           (%d labs with %d published runs, each lab as if nothing else of "
                "it were known); "
                "other jobs %.1f %%, as without it\n%s",
                100 * score->after, 100 * score->before, 100 * score->inside, score->labs, score->runs,
                100 * score->far, report->line_count > 0 ? "\n" : "");
}

#define RUN(key, member, type) FIELD_OUT(struct calibrate_run, key, member, type)

static const struct field run_fields[] = {
    FIELD_OPEN("run", FIELD_MAP),
    RUN("log", log.path, FIELD_TEXT),
    RUN("software", log.software, FIELD_TEXT),
    RUN("job", own.title, FIELD_TEXT),
    RUN("lines", pace.lines, FIELD_INT),
    RUN("warmup_lines", pace.warmup, FIELD_INT),
    RUN("other_batch_lines", pace.other_batch, FIELD_INT),
    RUN("skipped", log.skipped, FIELD_INT),
    RUN("measured", pace.seconds, FIELD_DOUBLE),
    RUN("measured_low", pace.low, FIELD_DOUBLE),
    RUN("measured_high", pace.high, FIELD_DOUBLE),
    RUN("formula", price.time.seconds, FIELD_DOUBLE),
    RUN("expected", expected, FIELD_DOUBLE),
    RUN("expected_low", interval.low, FIELD_DOUBLE),
    RUN("expected_high", interval.high, FIELD_DOUBLE),
    RUN("silicon", silicon, FIELD_DOUBLE),
    RUN("lab", own.ratio, FIELD_DOUBLE),
    FIELD_OPEN("promise", FIELD_FLAT_MAP),
    RUN("labs", score.labs, FIELD_INT),
    RUN("runs", score.runs, FIELD_INT),
    RUN("mean_error_without", score.before, FIELD_DOUBLE),
    RUN("mean_error_near", score.after, FIELD_DOUBLE),
    RUN("mean_error_far", score.far, FIELD_DOUBLE),
    RUN("covered", score.inside, FIELD_DOUBLE),
    FIELD_CLOSE,
    FIELD_CLOSE,
};

void calibrate_run_write(const struct calibrate_report *report, struct json *json)
{
    FIELDS_WRITE(report->run, run_fields, json);
}
