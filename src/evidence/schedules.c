#include "evidence/schedules.h"

#include "core/statistics.h"
#include "plan/split/plan.h"
#include "schedule/schedule.h"
#include "sim/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STAGES 1024

/* ---- reading ---- */

static bool read_whole(const struct csv *csv, int row, const char *name, double max, int64_t *value,
                       struct error *err)
{
    double number;
    int column;
    if (!csv_need(csv, name, &column, err) || !csv_number(csv, row, column, 1, max, &number, err))
        return false;
    *value = (int64_t)number;
    return (double)*value == number || csv_error(csv, row, column, err, "expected a whole number");
}

static bool read_times(const struct csv *csv, int row, struct schedule_run *run, struct error *err)
{
    struct {
        const char *name;
        double scale, *value;
    } cells[] = {
        {"forward_us", 1e-6, &run->forward},
        {"backward_input_us", 1e-6, &run->input},
        {"backward_weight_us", 1e-6, &run->weight},
        {"send_us", 1e-6, &run->send},
        {"measured_samples_per_s_per_gpu", 1.0, &run->rate},
        {"measured_memory_gb", 1e9, &run->memory},
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        int column;
        if (!csv_need(csv, cells[i].name, &column, err) ||
            !csv_number(csv, row, column, 0, 1e12, cells[i].value, err))
            return false;
        *cells[i].value *= cells[i].scale;
    }
    if (run->rate > 0.0)
        return true;
    return csv_error(csv, row, csv_column(csv, "measured_samples_per_s_per_gpu"), err,
                     "expected a rate above 0");
}

static bool read_row(const struct csv *csv, int row, struct schedule_run *run, struct error *err)
{
    int64_t stages, chunks;
    int schedule, model;
    *run = (struct schedule_run){.line = csv->lines[row], .played = NAN, .peak = NAN, .base = -1};
    if (!csv_need(csv, "schedule", &schedule, err) || !csv_need(csv, "model", &model, err) ||
        !read_whole(csv, row, "stages", MAX_STAGES, &stages, err) ||
        !read_whole(csv, row, "chunks_per_stage", MAX_STAGES, &chunks, err) ||
        !read_whole(csv, row, "microbatches", 1e6, &run->microbatches, err) ||
        !read_whole(csv, row, "microbatch_size", 1e6, &run->microbatch, err) ||
        !read_whole(csv, row, "sequence", 1e9, &run->sequence, err) ||
        !read_whole(csv, row, "hidden", 1e6, &run->hidden, err) ||
        !read_whole(csv, row, "heads", 1e4, &run->heads, err) ||
        !read_whole(csv, row, "layers", 1e5, &run->layers, err) || !read_times(csv, row, run, err))
        return false;
    run->schedule = csv_cell(csv, row, schedule);
    run->model = csv_cell(csv, row, model);
    run->source = csv_cell(csv, row, csv_column(csv, "source"));
    run->stages = (int)stages;
    run->chunks = (int)chunks;
    if (strcmp(csv_cell(csv, row, csv_column(csv, "times_of")), "chunk") == 0) {
        run->forward *= 2;
        run->input *= 2;
        run->weight *= 2;
    }
    if (run->layers < stages || (run->layers + 2) % stages != 0)
        return csv_error(csv, row, csv_column(csv, "layers"), err,
                         "expected a multiple of the stages, less one layer at each end");
    return true;
}

static int base_of(const struct schedule_runs *runs, int run)
{
    const struct schedule_run *of = &runs->runs[run];
    for (int i = 0; i < runs->count; i++) {
        const struct schedule_run *base = &runs->runs[i];
        if (i != run && base->schedule && strcmp(base->schedule, "1F1B") == 0 &&
            strcmp(base->model, of->model) == 0 && strcmp(base->source, of->source) == 0 &&
            base->stages == of->stages && base->microbatches == of->microbatches)
            return i;
    }
    return -1;
}

static bool read_runs(struct schedule_runs *runs, struct error *err)
{
    int count = runs->csv.row_count;
    bool good = (count > 0 && count <= SCHEDULES_MAX_ROWS) ||
                error_set(err, ERROR_INPUT, "%s: expected 1 to %d runs, found %d", runs->csv.path,
                          SCHEDULES_MAX_ROWS, count);
    runs->runs = good ? calloc((size_t)count + 1, sizeof *runs->runs) : NULL;
    if (good && !runs->runs)
        good = error_memory(err);
    for (int row = 0; good && row < count; row++)
        good = read_row(&runs->csv, row, &runs->runs[runs->count++], err);
    for (int i = 0; good && i < runs->count; i++)
        runs->runs[i].base = base_of(runs, i);
    if (!good)
        schedule_runs_release(runs);
    return good;
}

bool schedule_runs_load(struct schedule_runs *runs, const char *path, struct error *err)
{
    *runs = (struct schedule_runs){.count = 0};
    return csv_load(&runs->csv, path, err) && read_runs(runs, err);
}

extern const char data_schedules[];
extern const size_t data_schedules_size;

bool schedule_runs_load_known(struct schedule_runs *runs, struct error *err)
{
    *runs = (struct schedule_runs){.count = 0};
    return csv_parse(&runs->csv, "schedules.csv", data_schedules, data_schedules_size, err) &&
           read_runs(runs, err);
}

void schedule_runs_release(struct schedule_runs *runs)
{
    csv_release(&runs->csv);
    free(runs->runs);
    *runs = (struct schedule_runs){.count = 0};
}

/* ---- playing ---- */

static struct architecture model_of(const struct schedule_run *run)
{
    return (struct architecture){
        .name = run->model,
        .layers = (int)run->layers,
        .hidden = run->hidden,
        .heads = (int)run->heads,
        .kv_heads = (int)run->heads,
        .head_width = run->hidden / run->heads,
        .ffn = 4 * run->hidden,
        .vocabulary = 50304,
        .sequence = run->sequence,
        .positions = run->sequence,
        .causal = true,
        .tied = true,
    };
}

/* Puts the row's times into the plan, and takes the runtime out of its memory. Gradients are added up in the measured
 * passes, so that the optimizer does not. */
static void set_times(const struct schedule_run *run, const struct job *job, struct plan *plan)
{
    for (int s = 0; s < plan->pipelines[0].stage_count; s++) {
        struct plan_stage *stage = &plan->pipelines[0].stages[s];
        double parameters = stage->bytes.parameters / job->software->parameter_bytes;
        stage->seconds.forward = run->forward / job->chunks;
        stage->seconds.backward = (run->input + run->weight) / job->chunks;
        stage->seconds.backward_weight = run->weight / job->chunks;
        stage->seconds.optimizer =
            parameters * job->software->optimizer / (job->device->bandwidth * JOB_STREAM_RATE);
        stage->bytes.working -= job_runtime(job);
        for (int t = 0; t < stage->transfer_count; t++)
            if (stage->transfers[t].purpose == PURPOSE_STAGE)
                stage->transfers[t].seconds = run->send;
    }
}

static bool play_plan(struct schedule_run *run, const struct job *job, const char *schedule,
                      struct error *err)
{
    const struct sim_options options = {.schedule = schedule, .plain = true};
    struct sim_result result;
    struct plan plan;
    plan_init(&plan);
    if (!plan_of_one_job(&plan, job, run->stages, err))
        return false;
    set_times(run, job, &plan);
    bool played = sim_play(&plan, &options, &result, err);
    if (played) {
        run->played = result.samples / run->stages;
        run->peak = result.fullest >= 0 ? result.devices[result.fullest].peak.total : NAN;
        sim_result_release(&result);
    }
    plan_release(&plan);
    return played;
}

static bool play_run(struct schedule_run *run, const struct cost_device *device,
                     const struct cost_link *across, const struct software *software, struct error *err)
{
    /* The published names of interleaved 1F1B and of schedules that we know under others. */
    bool interleaved = strcmp(run->schedule, "1F1B-I") == 0;
    const char *schedule = interleaved ? "interleaved" : run->schedule;
    struct architecture model = model_of(run);
    struct error unknown;
    int blocks[MAX_STAGES], chunks;
    if (!schedule_find(schedule, &chunks, &unknown))
        return true;
    for (int s = 0; s < run->stages; s++)
        blocks[s] = (int)(run->layers + 2) / run->stages - (s == 0) - (s == run->stages - 1);
    const struct job job = {
        .model = &model,
        .device = device,
        .calibration = tables_calibration(NULL, device),
        .software = software,
        .inside = tables_link(NULL, device->link),
        .across = across,
        .devices = run->stages,
        .devices_per_node = 8,
        .degrees = {1, 1, 1, .pipeline = run->stages, .data = 1},
        .chunks = interleaved ? run->chunks : 1,
        .stage_blocks = blocks,
        .microbatch = run->microbatch,
        .batch = run->microbatch * run->microbatches,
        .sequence = run->sequence,
        .type = COST_BF16,
    };
    return play_plan(run, &job, schedule, err);
}

bool schedule_runs_play(struct schedule_runs *runs, const struct cost_device *device,
                        const struct cost_link *across, const struct software *software, struct error *err)
{
    for (int i = 0; i < runs->count; i++) {
        struct error reason;
        if (play_run(&runs->runs[i], device, across, software, &reason))
            continue;
        return error_set(err, reason.kind, "%s:%d: %s", runs->csv.path, runs->runs[i].line, reason.text);
    }
    return true;
}

/* ---- errors ---- */

double schedule_run_error(const struct schedule_runs *runs, int run, enum schedule_measure measure)
{
    const struct schedule_run *of = &runs->runs[run], *base = of->base >= 0 ? &runs->runs[of->base] : NULL;
    if (measure == SCHEDULE_RATE)
        return of->played / of->rate - 1.0;
    if (!base)
        return NAN;
    if (measure == SCHEDULE_RATIO)
        return of->played / base->played / (of->rate / base->rate) - 1.0;
    return of->memory > 0.0 && base->memory > 0.0 ? of->peak / base->peak / (of->memory / base->memory) - 1.0
                                                  : NAN;
}

bool schedule_runs_score(const struct schedule_runs *runs, const char *schedule,
                         enum schedule_measure measure, struct schedule_errors *errors, struct error *err)
{
    double *values = malloc(((size_t)runs->count + 1) * sizeof *values);
    *errors = (struct schedule_errors){.median = NAN, .worst = NAN};
    if (!values)
        return error_memory(err);
    for (int i = 0; i < runs->count; i++) {
        double error = schedule_run_error(runs, i, measure);
        if (isfinite(error) && (!schedule || strcmp(runs->runs[i].schedule, schedule) == 0))
            values[errors->count++] = fabs(error);
    }
    if (errors->count > 0) {
        sort_doubles(values, errors->count);
        errors->median = quantile_of(values, errors->count, 0.5);
        errors->worst = values[errors->count - 1];
    }
    free(values);
    return true;
}
