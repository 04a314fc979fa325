/* Plans of every planner are played. The simulation is near their formulas, and where it is not, it says why. */
#include "core/text.h"
#include "devices/tables.h"
#include "elastic/templates.h"
#include "plan/dapple/report.h"
#include "plan/fleet/plan.h"
#include "plan/pipeline_plan.h"
#include "plan/search.h"
#include "plan/split/plan.h"
#include "sim/play.h"
#include "support/dapple_golden.h"
#include "support/golden.h"
#include "support/jobs.h"
#include "support/random_problem.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEDIAN_LIMIT    0.02
#define EXPLAINED_FROM  0.02 /* larger differences have reasons */
#define MAX_DIFFERENCES 20000

/* Shares by which simulations differ from formulas, of one kind of plans. */
struct spread {
    const char *name;
    int count, explained;
    double *shares, *by_layers;
    double *rests; /* of the shares, those of no thing by name: filling, draining and the pivot */
};

static int compare_shares(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return x < y ? -1 : x > y;
}

static void check_causes(const struct sim_result *result)
{
    for (int d = 0; d < result->device_count; d++) {
        double sum = 0;
        for (int cause = 0; cause < SIM_CAUSES; cause++)
            sum += result->devices[d].seconds[cause];
        if (fabs(sum / result->seconds - 1) > 1e-9)
            fail_msg("device %d: causes add up to %g of %g", d, sum, result->seconds);
    }
}

static double play_by_layers(struct plan *plan, const char *label)
{
    struct error err;
    struct sim_result result;
    const struct sim_options options = {.level = SIM_LAYERS, .plain = true};
    if (!sim_play(plan, &options, &result, &err))
        fail_msg("%s, by layers: %s", label, err.text);
    check_causes(&result);
    double share = result.seconds / result.formula - 1;
    sim_result_release(&result);
    return share;
}

/* Differences of more than EXPLAINED_FROM have reasons, the first one in their direction; those not told are small. Returns
 * the share of what has no name of a thing. */
static double check_reasons(const struct sim_result *result, double share, const char *label)
{
    double sum = 0, rest = 0;
    if (fabs(share) <= EXPLAINED_FROM) {
        assert_int_equal(result->reason_count, 0);
        return share;
    }
    if (result->reason_count == 0 || result->reasons[0].seconds * share <= 0)
        fail_msg("%s: %+.1f %% from the formula, without a reason", label, 100 * share);
    for (int i = 0; i < result->reason_count; i++) {
        double own = result->reasons[i].seconds / result->formula;
        bool named = !strstr(result->reasons[i].name, "filling") && !strstr(result->reasons[i].name, "pivot");
        sum += own;
        rest += named ? 0 : own;
    }
    if (fabs(sum - share) > SIM_MAX_REASONS * 0.005)
        fail_msg("%s: %+.1f %% from the formula, of which reasons are %+.1f %%", label, 100 * share,
                 100 * sum);
    return rest;
}

static void play(struct spread *spread, struct plan *plan, const char *label)
{
    struct error err;
    struct sim_result result;
    const struct sim_options options = {0};
    if (!sim_play(plan, &options, &result, &err))
        fail_msg("%s: %s", label, err.text);
    double share = result.seconds / result.formula - 1;
    check_causes(&result);
    if (!isfinite(share))
        fail_msg("%s: %g, the formula says %g", label, result.seconds, result.formula);
    double rest = check_reasons(&result, share, label);
    spread->explained += result.reason_count > 0;
    if (!spread->shares) {
        spread->shares = calloc(MAX_DIFFERENCES, sizeof *spread->shares);
        spread->rests = calloc(MAX_DIFFERENCES, sizeof *spread->rests);
        spread->by_layers = calloc(MAX_DIFFERENCES, sizeof *spread->by_layers);
    }
    assert_true(spread->shares && spread->by_layers && spread->rests && spread->count < MAX_DIFFERENCES);
    spread->by_layers[spread->count] = play_by_layers(plan, label);
    spread->rests[spread->count] = rest;
    spread->shares[spread->count++] = share;
    sim_result_release(&result);
    plan_release(plan);
}

static void judge(struct spread *spread, double limit)
{
    if (spread->count == 0) {
        skip();
        return;
    }
    qsort(spread->shares, (size_t)spread->count, sizeof *spread->shares, compare_shares);
    qsort(spread->rests, (size_t)spread->count, sizeof *spread->rests, compare_shares);
    qsort(spread->by_layers, (size_t)spread->count, sizeof *spread->by_layers, compare_shares);
    double median = fabs(spread->shares[spread->count / 2]),
           by_layers = fabs(spread->by_layers[spread->count / 2]),
           rest = fabs(spread->rests[spread->count / 2]);
    print_message(
        "%s: %d plans, median difference to the formula %.2f %%, 90 of 100 below %.1f %%, %d explained; "
        "by layers %.2f %%, %.1f %%; without named things %.2f %%, %.1f %%\n",
        spread->name, spread->count, 100 * median, 100 * fabs(spread->shares[spread->count * 9 / 10]),
        spread->explained, 100 * by_layers, 100 * fabs(spread->by_layers[spread->count * 9 / 10]), 100 * rest,
        100 * fabs(spread->rests[spread->count * 9 / 10]));
    free(spread->rests);
    free(spread->by_layers);
    free(spread->shares);
    assert_true(median <= limit && by_layers <= limit && rest <= MEDIAN_LIMIT);
}

/* ---- training jobs ---- */

static void play_job(struct spread *spread, struct job *job, int devices)
{
    struct plan plan;
    struct error err;
    char label[128];
    job_spread(job, devices);
    if (!job_check(job, &err))
        return;
    snprintf(label, sizeof label, "%s on %d %s, tp %d pp %d cp %d ep %d v %d zero %d", job->model->name,
             devices, job->device->name, job->degrees.tensor, job->degrees.pipeline, job->degrees.context,
             job->degrees.expert, job->chunks, job->sharding);
    plan_init(&plan);
    assert_true(plan_of_one_job(&plan, job, devices, &err));
    play(spread, &plan, label);
}

static struct job job_on(const char *device, const char *across, const char *model, const char *software)
{
    struct job job = job_example();
    job.device = tables_device(NULL, device);
    job.calibration = tables_calibration(NULL, job.device);
    job.inside = tables_link(NULL, job.device->link);
    job.across = tables_link(NULL, across);
    job.model = architecture_find(model);
    job.software = software_find(software);
    assert_true(job.device && job.inside && job.across && job.model && job.software);
    job.sequence = job.model->sequence < 4096 ? job.model->sequence : 4096;
    return job;
}

static void jobs_by_name(void **state)
{
    (void)state;
    static const char *const clusters[][2] = {{"h100", "ib-400g"}, {"a100-80gb", "ib-200g"}};
    static const char *const models[] = {"llama-3-8b",   "llama-3-70b", "llama-3.1-405b", "gpt3-175b",
                                         "mixtral-8x7b", "bert-large",  "t5-11b",         "gpt2-xl"};
    static const char *const software[] = {"megatron-core", "megatron-2022", "torchtitan", "fsdp"};
    struct spread spread = {.name = "jobs"};
    for (size_t c = 0; c < sizeof clusters / sizeof *clusters; c++)
        for (size_t m = 0; m < sizeof models / sizeof *models; m += GOLDEN_STEP)
            for (int tensor = 1; tensor <= 8; tensor *= 4)
                for (int stages = 1; stages <= 16; stages *= 4)
                    for (int devices = 64; devices <= 512; devices *= 8)
                        for (int chunks = 1; chunks <= 3; chunks++) {
                            struct job job = job_on(clusters[c][0], clusters[c][1], models[m],
                                                    software[(m + (size_t)stages) % 4]);
                            job.degrees.tensor = tensor, job.degrees.pipeline = stages, job.chunks = chunks;
                            job.batch = 2048;
                            job.degrees.expert = job.model->experts > 0 ? 8 : 1;
                            job.sharding = chunks == 3 ? 3 : chunks == 2 ? 2 : 1;
                            job.recompute = (enum recompute)(devices / 64 % 3);
                            play_job(&spread, &job, devices);
                        }
    judge(&spread, MEDIAN_LIMIT);
}

/* ---- pipelines ---- */

static void play_pipeline(struct spread *spread, const struct plan_problem *problem,
                          const struct pipeline *pipeline, const char *label)
{
    struct plan plan;
    struct error err;
    plan_init(&plan);
    if (!plan_of_pipeline(&plan, pipeline, problem, NULL, NULL, &err))
        fail_msg("%s: %s", label, err.text);
    play(spread, &plan, label);
}

static void recorded_pipelines(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct spread spread = {.name = "recorded pipelines"};
    int count = 0;
    const char **names = golden_folder() ? golden_list(&arena, "", ".json", &count) : NULL;
    for (int i = 0; i < count; i += GOLDEN_STEP) {
        struct golden golden;
        struct error err;
        if (!golden_load(&golden, names[i], &err))
            fail_msg("%s", err.text);
        for (int k = 0; k < golden.plan_count; k++) {
            const struct golden_plan *from = &golden.plans[k];
            struct plan_problem problem;
            struct pipeline pipeline = {.stage_count = from->stage_count,
                                        .stages = from->stages,
                                        .microbatches = golden.microbatches};
            if (!from->found)
                continue;
            assert_true(golden_problem(&golden, k, OBJECTIVE_PIPELINE, &problem, &err));
            problem.memory = MEMORY_REFERENCE;
            if (pipeline_score(&problem, &pipeline, &err))
                play_pipeline(&spread, &problem, &pipeline, names[i]);
            plan_problem_release(&problem);
        }
        golden_release(&golden);
    }
    arena_release(&arena);
    judge(&spread, MEDIAN_LIMIT);
}

static void best_pipelines_of_random_problems(void **state)
{
    (void)state;
    struct spread spread = {.name = "best pipelines of random problems"};
    const struct plan_search_options options = {.method = SEARCH_EXACT};
    int cases = random_cases(300);
    for (int seed = 0; seed < cases; seed++) {
        struct plan_problem problem;
        struct pipeline pipeline;
        struct error err;
        char label[64];
        assert_true(random_problem_init(&problem, &random_medium, (uint64_t)seed));
        problem.objective = OBJECTIVE_PIPELINE;
        snprintf(label, sizeof label, "seed %d", seed);
        if (plan_search(&problem, &options, &pipeline, &err)) {
            play_pipeline(&spread, &problem, &pipeline, label);
            pipeline_release(&pipeline);
        }
        plan_problem_release(&problem);
    }
    judge(&spread, MEDIAN_LIMIT);
}

static void templates_of_random_problems(void **state)
{
    (void)state;
    struct spread spread = {.name = "templates of random problems"};
    const struct plan_search_options options = {.method = SEARCH_EXACT};
    int cases = random_cases(100);
    for (int seed = 0; seed < cases; seed++) {
        struct plan_problem problem;
        struct template_set set;
        struct error err;
        assert_true(random_problem_init(&problem, &random_medium, (uint64_t)seed));
        problem.objective = OBJECTIVE_PIPELINE;
        if (templates_make(&set, &problem, 1, plan_problem_nodes(&problem), &options, &err)) {
            for (int i = 0; i < set.count; i++) {
                char label[64];
                snprintf(label, sizeof label, "seed %d, %d nodes", seed, set.templates[i].nodes);
                if (set.templates[i].feasible)
                    play_pipeline(&spread, &set.templates[i].problem, &set.templates[i].plan, label);
            }
            templates_release(&set);
        }
        plan_problem_release(&problem);
    }
    judge(&spread, MEDIAN_LIMIT);
}

/* ---- DAPPLE ---- */

static void play_split(struct spread *spread, const struct dapple_golden *golden)
{
    struct dapple_split split;
    struct plan plan;
    struct error err;
    if (!dapple_search_hpgo(&golden->problem, &split, &err))
        return;
    const struct dapple_report report = {.problem = &golden->problem, .plan = &split, .import = "hpgo"};
    plan_init(&plan);
    if (isfinite(split.latency)) {
        if (!plan_of_dapple(&plan, &report, &err))
            fail_msg("%s", err.text);
        play(spread, &plan, golden->profile);
    }
    dapple_split_release(&split);
}

static void splits(enum dapple_rules rules, const char *name, double limit)
{
    struct spread spread = {.name = name};
    int count = 0;
    char **names = dapple_golden_list(&count);
    for (int i = 0; names && i < count; i++) {
        struct dapple_golden golden;
        assert_true(dapple_golden_open(&golden, names[i]));
        for (int taken = 0; golden.record && taken < 40; golden.record = golden.record->next, taken++) {
            struct chain chain;
            if (taken % GOLDEN_STEP != 0)
                continue;
            dapple_golden_problem(&golden);
            if (!dapple_golden_chain(&chain, golden.profile))
                continue;
            golden.problem.chain = &chain;
            golden.problem.rules = rules;
            play_split(&spread, &golden);
            chain_release(&chain);
        }
        doc_release(&golden.doc);
        free(names[i]);
    }
    free(names);
    judge(&spread, limit);
}

static void splits_by_the_original_rules(void **state)
{
    (void)state;
    /* they count messages and the exchange of gradients otherwise than any schedule does (docs/dapple.md) */
    splits(DAPPLE_ORIGINAL, "DAPPLE's splits", 2.5 * MEDIAN_LIMIT);
}

static void splits_by_the_corrected_rules(void **state)
{
    (void)state;
    splits(DAPPLE_FIXED, "DAPPLE's splits, corrected", MEDIAN_LIMIT);
}

/* ---- fleets ---- */

static const struct architecture small_model = {
    .name = "small",
    .layers = 8,
    .hidden = 1024,
    .heads = 16,
    .kv_heads = 16,
    .head_width = 64,
    .ffn = 4096,
    .vocabulary = 8192,
    .sequence = 1024,
    .causal = true,
};

static void unlike_pipelines(void **state)
{
    (void)state;
    static const char *const types[] = {"a100-80gb", "v100-16gb", "t4"};
    struct spread spread = {.name = "unlike pipelines"};
    for (int64_t batch = 32; batch <= 512; batch *= SEARCH_STEP > 1 ? 64 : 4)
        for (int groups = 1; groups <= 3; groups++) {
            struct fleet_question question = {.job = job_example(), .precision = MODEL_MIXED};
            struct fleet_answer answer;
            struct plan plan;
            struct error err;
            question.job.model = &small_model;
            question.job.batch = batch;
            question.job.sequence = 1024;
            question.ranges[JOB_MICROBATCH] = (struct job_range){2, 2, true};
            for (int g = 0; g < groups; g++) {
                const struct cost_device *device = tables_device(NULL, types[g]);
                question.groups[question.group_count++] = (struct cluster_group){
                    .type = device,
                    .calibration = tables_calibration(NULL, device),
                    .inside = tables_link(NULL, device->link),
                    .across = tables_link(NULL, "ib-200g"),
                    .nodes = {1 + g, 4, device->memory},
                };
            }
            if (!fleet_plan_job(&answer, &question, INFINITY, NULL, NULL, &err))
                fail_msg("%s", err.text);
            plan_init(&plan);
            if (!plan_of_fleet_job(&plan, &answer, &question, &err))
                fail_msg("%s", err.text);
            play(&spread, &plan, types[groups - 1]);
            fleet_answer_release(&answer);
        }
    judge(&spread, MEDIAN_LIMIT);
}

/* ---- by hand ---- */

static void refuses(const char *numbers, const char *message)
{
    struct plan plan;
    struct error err;
    struct sim_result result;
    const struct sim_options options = {0};
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"format\": \"rehearse-plan/2\", \"pipelines\": [{\"microbatches\": 2, \"stages\": [{\"layers\": "
        "[0, 1], \"device_type\": \"a\", \"seconds\": {\"forward\": 1, \"backward\": 2}}, {\"layers\": [2, "
        "3], \"device_type\": \"a\", %s}]}]}",
        numbers);
    assert_true(plan_parse(&plan, "plan.json", text, strlen(text), &err));
    if (sim_play(&plan, &options, &result, &err))
        fail_msg("played: %s", numbers);
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INPUT);
    plan_release(&plan);
}

static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    refuses("\"seconds\": {\"forward\": -1, \"backward\": 2}",
            "plan.json: pipelines[0].stages[1].seconds.forward: expected a time of at least 0");
    refuses("\"seconds\": {\"forward\": 1, \"backward\": 2, \"optimizer\": -1}",
            "plan.json: pipelines[0].stages[1].seconds.optimizer: expected a time of at least 0");
    refuses("\"seconds\": {\"forward\": 1, \"backward\": 2}, \"bytes\": {\"activations\": -5}",
            "plan.json: pipelines[0].stages[1].bytes.activations: expected at least 0 bytes");
    refuses("\"seconds\": {\"forward\": 1, \"backward\": 2, \"backward_weight\": -2}",
            "plan.json: pipelines[0].stages[1].seconds.backward_weight: expected a time of at least 0");
}

static void unpriced_plans_say_what_is_missing(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\": \"rehearse-plan/2\", \"pipelines\": [{\"microbatches\": 2, \"stages\": "
        "[{\"layers\": [0, 1], \"device_type\": \"a\"}]}]}";
    struct plan plan;
    struct error err;
    struct sim_result result;
    const struct sim_options options = {0};
    assert_true(plan_parse(&plan, "plan.json", text, strlen(text), &err));
    assert_false(sim_play(&plan, &options, &result, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "plan.json: pipelines[0].stages[0].seconds.forward: unknown"));
    assert_non_null(strstr(err.text, "check-plan plan.json -p PROFILE -c CLUSTER -o"));
    plan_release(&plan);

    static const char named[] =
        "{\"format\": \"rehearse-plan/2\", \"model\": {\"name\": \"small\"}, \"pipelines\": "
        "[{\"microbatches\": "
        "2, \"stages\": [{\"layers\": [0, 1], \"device_type\": \"a\", \"seconds\": {\"forward\": 1}}]}]}";
    assert_true(plan_parse(&plan, "plan.json", named, strlen(named), &err));
    assert_false(sim_play(&plan, &options, &result, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(
        strstr(err.text, "pipelines[0].stages[0].seconds.backward: unknown, and the model 'small' is not"));
    assert_non_null(strstr(err.text, "check-plan plan.json -m MODEL -c CLUSTER -o PRICED"));
    plan_release(&plan);
}

static void answers_are_printed(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    struct error err;
    struct sim_result result;
    struct text text = {0}, document = {0};
    struct json json = {.out = &document};
    const struct sim_options options = {.schedule = "zb-h1"};
    job.degrees.tensor = 2, job.degrees.pipeline = 4;
    job_spread(&job, 16);
    plan_init(&plan);
    assert_true(plan_of_one_job(&plan, &job, 16, &err));
    if (!sim_play(&plan, &options, &result, &err))
        fail_msg("%s", err.text);
    assert_true(result.makespan >
                result.seconds); /* the next iteration begins before the last stage is done */
    assert_int_equal(result.device_count, 4);
    assert_true(result.devices[0].peak.total > 0 && result.step_count > 4 && result.more_count == 3);
    for (int i = 0; i < result.more_count; i++)
        assert_true(result.more[i].seconds <= result.seconds);
    sim_print(&result, &plan, &text);
    assert_non_null(strstr(text.data, "schedule zb-h1, played by passes"));
    sim_write_json(&result, &plan, &json);
    assert_non_null(strstr(document.data, "\"format\": \"rehearse-played-plan/1\""));
    text_release(&text);
    text_release(&document);
    sim_result_release(&result);
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_by_name),
        cmocka_unit_test(recorded_pipelines),
        cmocka_unit_test(best_pipelines_of_random_problems),
        cmocka_unit_test(templates_of_random_problems),
        cmocka_unit_test(splits_by_the_original_rules),
        cmocka_unit_test(splits_by_the_corrected_rules),
        cmocka_unit_test(unlike_pipelines),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(unpriced_plans_say_what_is_missing),
        cmocka_unit_test(answers_are_printed),
    };
    return cmocka_run_group_tests_name("sim/play_plans", tests, NULL, NULL);
}
