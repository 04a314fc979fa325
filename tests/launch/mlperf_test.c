/* Published runs of MLPerf Training: their job as flags, read back, and as flags again. */
#include "evidence/validate.h"
#include "launch/launch.h"
#include "support/reference.h"
#include "support/written_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What the table has no column for: the submissions with parallel degrees are NVIDIA's software. */
static const struct validation_defaults defaults = {
    .framework = "NeMo", .precision = "bf16", .recompute = "none"};

static const char *const columns[] = {"tp",       "pp",  "vp",    "cp",     "mbs",    "gbs",
                                      "gpus",     "gpu", "model", "layers", "hidden", "heads",
                                      "kv_heads", "ffn", "vocab", "seq"};

static const char *cell(const struct csv *csv, int row, const char *column)
{
    const char *text = csv_cell(csv, row, csv_column(csv, column));
    return text ? text : "";
}

/* "null" is a variable of the submission that is switched off. */
static bool gives_all(const struct csv *csv, int row)
{
    static const char *const degrees[] = {"tp", "pp", "mbs", "gbs", "gpus"};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        if (strtoll(cell(csv, row, degrees[i]), NULL, 10) < 1)
            return false;
    return true;
}

/* A table of the rows that give all; some leave out the precision, which is none of the degrees: bf16 there. */
static int write_rows(const struct csv *csv, FILE *file)
{
    int count = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        fprintf(file, "%s,", columns[i]);
    fprintf(file, "precision\n");
    for (int row = 0; row < csv->row_count; row++) {
        if (!gives_all(csv, row))
            continue;
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            fprintf(file, "%s,", cell(csv, row, columns[i]));
        const char *precision = cell(csv, row, "precision");
        fprintf(file, "%s\n", precision[0] ? precision : "bf16");
        count++;
    }
    return count;
}

static int load(struct validation *validation, const char *path)
{
    char copy[] = "/tmp/rehearse-mlperf-XXXXXX";
    struct csv csv;
    struct error err;
    FILE *file = fdopen(mkstemp(copy), "w");
    assert_non_null(file);
    if (!csv_load(&csv, path, &err))
        fail_msg("%s", err.text);
    int count = write_rows(&csv, file);
    csv_release(&csv);
    assert_int_equal(fclose(file), 0);
    bool loaded = validation_load(validation, copy, &defaults, &err);
    unlink(copy);
    if (!loaded)
        fail_msg("%s", err.text);
    assert_int_equal(validation->count, count);
    return count;
}

/* The job of a planner that is asked for just these flags: of the run it knows the model and the devices. */
static struct job planned(const struct run *run)
{
    struct job job = run->job;
    job.degrees.tensor = job.degrees.pipeline = job.degrees.context = job.degrees.expert = job.chunks = 1;
    job.degrees.data = job.devices;
    job.sharding = 0;
    job.microbatch = job.batch = job.sequence = 1;
    job.stage_blocks = NULL;
    job.type = COST_FP32;
    return job;
}

static void compare(const struct run *run, const struct job *back)
{
    const struct job *job = &run->job;
    if (job->degrees.tensor != back->degrees.tensor || job->degrees.pipeline != back->degrees.pipeline ||
        job->degrees.context != back->degrees.context || job->degrees.data != back->degrees.data ||
        job->chunks != back->chunks || job->microbatch != back->microbatch || job->batch != back->batch ||
        job->sequence != back->sequence || job->sharding != back->sharding || job->type != back->type ||
        job->recompute != back->recompute)
        fail_msg("line %d: the flags of %s read back as another job", run->line, run->model_name);
}

static bool read_flags(const struct text *flags, struct launch_options *options, struct error *err)
{
    const struct launch_input input = {
        .path = "flags", .data = flags->data, .length = flags->length, .is_alone = true};
    *options = (struct launch_options){0};
    return launch_read(options, &input, err);
}

/* Their flags, our plan, the same flags: a search that may choose nothing finds what was run. */
static void plan_trip(const struct run *run, const struct text *flags)
{
    struct launch_options options;
    struct error err;
    struct job_question question = {.job = planned(run), .headroom = -1000.0}; /* it ran */
    struct job_search search;
    struct text again = {0};
    if (!read_flags(flags, &options, &err))
        fail_msg("line %d: %s", run->line, err.text);
    launch_complete(&options);
    if (!launch_fix(&options, &question, &err) ||
        !job_search(&search, &question, &(struct job_search_options){.top = 1}, &err) ||
        !job_launch(LAUNCH_MEGATRON, &search.plans[0].job, &again, &err))
        fail_msg("line %d: %s", run->line, err.text);
    compare(run, &search.plans[0].job);
    assert_string_equal(flags->data, again.data);
    text_release(&again);
    job_search_release(&search);
    launch_options_release(&options);
}

static void round_trip(const struct run *run)
{
    struct text first = {0}, second = {0};
    struct launch_options options;
    struct error err;
    if (!job_launch(LAUNCH_MEGATRON, &run->job, &first, &err) || !read_flags(&first, &options, &err))
        fail_msg("line %d: %s", run->line, err.text);
    struct job job = planned(run);
    launch_complete(&options);
    if (!launch_apply(&options, &job, &err) || !job_launch(LAUNCH_MEGATRON, &job, &second, &err))
        fail_msg("line %d: %s", run->line, err.text);
    compare(run, &job);
    assert_string_equal(first.data, second.data);
    assert_int_equal(launch_count(&options, LAUNCH_UNKNOWN), 0);
    plan_trip(run, &first);
    launch_options_release(&options);
    text_release(&first);
    text_release(&second);
}

static void flags_of_published_runs_come_back(void **state)
{
    (void)state;
    char *path = reference_path("training/mlperf_training_llm.csv");
    struct validation validation;
    if (!path)
        skip();
    int count = load(&validation, path);
    for (int i = 0; i < count; i++) {
        if (validation.runs[i].reason)
            fail_msg("run %d: %s", i, validation.runs[i].reason);
        round_trip(&validation.runs[i]);
    }
    print_message("# flags of %d runs come back\n", count);
    assert_true(count >= 30);
    validation_release(&validation);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_of_published_runs_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
