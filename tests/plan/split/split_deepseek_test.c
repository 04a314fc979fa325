/* DeepSeek-V3 as it was trained (arXiv:2412.19437): 2,048 H800, 16 stages, experts on 64 devices, DualPipe, ZeRO-1, fp8;
 * 14.8 T tokens took 2.664 M device hours, that is 19.9 s for each 15,360 sequences of 4,096 tokens. */
#include "core/csv.h"
#include "devices/tables.h"
#include "plan/split/search.h"
#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PUBLISHED 19.9 /* seconds */

static struct job_question question_of(const char *model)
{
    const struct tables tables = {0};
    struct job_question question = {.headroom = 0.05};
    struct job *job = &question.job;
    job->model = architecture_find(model);
    job->device = tables_device(&tables, "h800");
    job->calibration = tables_calibration(&tables, job->device);
    job->software = software_find("ideal");
    job->inside = tables_link(&tables, job->device->link);
    job->across = tables_link(&tables, usual_node(job->device).across);
    job->devices = 2048;
    job->devices_per_node = 8;
    job->batch = 15360;
    job->sequence = 4096;
    job->type = COST_FP8;
    return question;
}

static void fix(struct job_question *question, int dimension, int64_t value)
{
    question->ranges[dimension] = (struct job_range){value, value, true};
}

static void as_published(struct job_question *question)
{
    fix(question, JOB_TENSOR, 1);
    fix(question, JOB_CONTEXT, 1);
    fix(question, JOB_PIPELINE, 16);
    fix(question, JOB_EXPERT, 64);
    fix(question, JOB_SHARDING, 1);
    fix(question, JOB_MICROBATCH, 1);
    fix(question, JOB_TECHNIQUE + TECHNIQUE_SCHEDULE, SCHEDULE_DUALPIPE);
}

static struct job_choice best_of(const struct job_question *question)
{
    struct job_search search;
    struct error err;
    if (!job_search(&search, question, &(struct job_search_options){.top = 1}, &err))
        fail_msg("%s", err.text);
    struct job_choice best = search.plans[0];
    job_search_release(&search);
    return best;
}

/* Without and with the block for further tokens, which the published run had. */
static void the_published_plan_takes_the_published_time(void **state)
{
    static const char *const models[] = {"deepseek-v3", "deepseek-v3-mtp"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct job_question question = question_of(models[i]);
        as_published(&question);
        struct job_choice plan = best_of(&question);
        print_message("# %s: %.2f s, %.1f GiB\n", models[i], plan.time.seconds, plan.memory.total / 0x1p30);
        assert_true(fabs(plan.time.seconds / PUBLISHED - 1.0) <= 0.1);
        assert_true(plan.memory.total <= 0.95 * (double)plan.job.device->memory);
        assert_int_equal(plan.job.degrees.data, 128);
        assert_int_equal(plan.job.technique.dispatch, DISPATCH_DEEPEP);
    }
}

/* A part of the search's space that has the published plan in it. */
static void the_best_plan_is_at_least_as_fast(void **state)
{
    (void)state;
    struct job_question question = question_of("deepseek-v3");
    as_published(&question);
    double published = best_of(&question).time.seconds;
    question.ranges[JOB_PIPELINE] = (struct job_range){8, 32, true};
    question.ranges[JOB_EXPERT] = (struct job_range){16, 64, true};
    question.ranges[JOB_TECHNIQUE + TECHNIQUE_SCHEDULE].given = false;
    assert_true(best_of(&question).time.seconds <= published);
}

/* ---- the kernels of a pair of passes of four blocks ---- */

enum { ATTENTION, GROUPED, DISPATCH, COMBINE, CLASSES };

static void measure(double seconds[CLASSES], const char *path)
{
    struct csv csv;
    struct error err;
    int kernel, duration, stream, start;
    const char *before = "";
    double side_end = 0.0;
    if (!csv_load(&csv, path, &err) || !csv_need(&csv, "kernel", &kernel, &err) ||
        !csv_need(&csv, "duration_us", &duration, &err) || !csv_need(&csv, "stream", &stream, &err) ||
        !csv_need(&csv, "start_us", &start, &err))
        fail_msg("%s", err.text);
    for (int row = 0; row < csv.row_count; row++) {
        const char *name = csv_cell(&csv, row, kernel), *on = csv_cell(&csv, row, stream);
        double us = strtod(csv_cell(&csv, row, duration), NULL);
        double begin = strtod(csv_cell(&csv, row, start), NULL), s = 1e-6 * us;
        bool product = strstr(name, "cutlass::device_kernel") != NULL, main = strcmp(on, "7") == 0;
        /* products of groups follow the expansion of tokens or their activation, or are the longest of all but attention's
         * backward pass; gradients of their weights run on two streams in turn */
        bool follows = strstr(before, "expand_to_fused") || strstr(before, "swiglu_forward_with") ||
                       strstr(before, "batched_transpose");
        seconds[DISPATCH] += strstr(name, "internode::dispatch") ? s : 0.0;
        seconds[COMBINE] += strstr(name, "internode::combine") ? s : 0.0;
        seconds[ATTENTION] += strstr(name, "flash::") || (product && us > 3000.0) ? s : 0.0;
        if (product && us < 3000.0 && (us > 1600.0 || (follows && us > 800.0)))
            seconds[GROUPED] += s;
        if (product && strcmp(on, "23") == 0) {
            seconds[GROUPED] += s; /* and as much on the other stream */
            side_end = begin + us;
        } else if (product && main && begin < side_end && us > 300.0 && us < 1600.0 && !follows) {
            seconds[GROUPED] += s;
        }
        if (main && us > 50.0)
            before = name;
    }
    csv_release(&csv);
}

static void price(double seconds[CLASSES])
{
    struct job_question question = question_of("deepseek-v3");
    struct job job = question.job;
    job.degrees.tensor = job.degrees.context = job.chunks = 1;
    job.degrees.pipeline = 16, job.degrees.data = 128, job.degrees.expert = 64;
    job.microbatch = 1;
    job.technique.schedule = SCHEDULE_DUALPIPE;
    struct layer_split split = job_split(&job);
    struct layer_work work;
    double slowed = (double)job.device->units / (job.device->units - EXPERT_EXCHANGE_UNITS);
    const double nothing[2] = {0.0, 0.0};
    transformer_block(&work, job.model, 30, &split);
    for (int i = 0; i < work.count; i++) {
        double s = slowed * kernel_time(&work.kernels[i], job.device, job.calibration).seconds;
        seconds[ATTENTION] += work.kernels[i].kind == KERNEL_ATTENTION ? 4.0 * s : 0.0;
        seconds[GROUPED] += strncmp(work.kernels[i].name, "experts", 7) == 0 ? 4.0 * s : 0.0;
    }
    struct job_moved moved = job_moved_of(&job, &work, nothing);
    seconds[DISPATCH] = 8.0 * moved.experts.dispatch / EXPERT_BESIDE_RATE;
    seconds[COMBINE] = 8.0 * moved.experts.combine / EXPERT_BESIDE_RATE;
}

static void kernels_take_what_a_published_profile_has(void **state)
{
    static const char *const names[CLASSES] = {"attention", "grouped products", "dispatch", "combine"};
    double measured[CLASSES] = {0}, priced[CLASSES] = {0};
    (void)state;
    char *path = reference_path("training/simulate/deepseek_v3_dualpipe_chunk_h800.kernels.csv.gz");
    if (!path)
        skip();
    measure(measured, path);
    price(priced);
    for (int c = 0; c < CLASSES; c++)
        print_message("# %s: %.1f ms, priced %.1f ms\n", names[c], 1e3 * measured[c], 1e3 * priced[c]);
    for (int c = 0; c < CLASSES; c++)
        assert_true(fabs(priced[c] / measured[c] - 1.0) <= 0.15);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_plan_takes_the_published_time),
        cmocka_unit_test(the_best_plan_is_at_least_as_fast),
        cmocka_unit_test(kernels_take_what_a_published_profile_has),
    };
    return cmocka_run_group_tests_name("plan/split/deepseek", tests, NULL, NULL);
}
