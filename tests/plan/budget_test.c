#include "plan/budget.h"
#include "plan/split/advice/deadline.h"
#include "plan/split/plan.h"
#include "plan/storage.h"

#include "support/folder.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct error err;

/* Two stages on unlike devices, two copies, four micro-batches of eight samples of 1,000 tokens: 64,000 tokens an
 * iteration of 10 s. */
static void make_plan(struct plan *plan)
{
    plan_init(plan);
    assert_true(plan_add_types(plan, 2, &err) && plan_add_pipelines(plan, 1, &err));
    plan->types[0] = (struct plan_device_type){.name = "h100-sxm", .nodes = {1, 8, 0}, .inside = -1};
    plan->types[1] = (struct plan_device_type){.name = "a100-80gb", .nodes = {1, 8, 0}, .inside = -1};
    plan->sequence = 1000;
    plan->microbatch = 8;
    plan->global_batch = 64;
    plan->iteration_time = 10.0;
    struct plan_pipeline *pipeline = &plan->pipelines[0];
    pipeline->copies = 2;
    pipeline->microbatches = 4;
    assert_true(plan_add_stages(plan, pipeline, 2, &err));
    for (int s = 0; s < 2; s++) {
        pipeline->stages[s].type = s;
        pipeline->stages[s].degrees.tensor = s == 0 ? 2 : 4;
        pipeline->stages[s].seconds =
            (struct plan_seconds){.forward = 0.5, .backward = 1.0, .optimizer = 1.0};
    }
}

static void days_money_and_energy_are_those_of_a_pocket_calculator(void **state)
{
    struct budget_prices prices;
    struct plan plan;
    (void)state;
    make_plan(&plan);
    assert_true(budget_read_prices("h100=2/h,$1", NULL, &prices, &err));
    assert_true(budget_of(&plan, 64e6 - 1, &prices, NULL, &err));
    const struct plan_budget *budget = &plan.budget;
    assert_float_equal(budget->seconds, 1000 * 10.0, 1e-9); /* the last iteration is a whole one */
    double hours = 1e4 / 3600.0;
    assert_float_equal(budget->device_hours, 12 * hours, 1e-9); /* 4 h100 and 8 a100 */
    assert_float_equal(budget->dollars_per_hour, 4 * 2.0 + 8 * 1.0, 1e-9);
    assert_float_equal(budget->dollars, 16.0 * hours, 1e-9);
    assert_float_equal(budget->dollars_per_million_tokens, 16.0 / 3600.0 * 10.0 / 0.064, 1e-9);
    double watts = 4 * 700.0 + 8 * 400.0;
    assert_float_equal(budget->watt_hours, watts * hours, 1e-6);
    /* 4 x 1.5 s + 1 s of 10 s */
    assert_float_equal(budget->watt_hours_computing, 0.7 * watts * hours, 1e-6);
    plan_release(&plan);
}

static void chunks_of_a_device_are_paid_for_once(void **state)
{
    struct budget_prices prices;
    struct plan plan;
    (void)state;
    make_plan(&plan);
    plan.chunks = 2;
    struct plan_stage *stages = plan.pipelines[0].stages;
    stages[1] = stages[0];
    stages[1].chunk = 1;
    assert_true(budget_read_prices("3", NULL, &prices, &err) && budget_of(&plan, 0.0, &prices, NULL, &err));
    assert_float_equal(plan.budget.dollars_per_hour, 4 * 3.0, 1e-9);
    assert_true(isnan(plan.budget.seconds) && isnan(plan.budget.dollars) && isnan(plan.budget.watt_hours));
    plan_release(&plan);
}

static bool table(const char *text, struct budget_prices *prices)
{
    return budget_parse_prices("prices.yaml", text, strlen(text), NULL, prices, &err);
}

static void prices_come_from_a_file(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"h100: 2/d\n",
         "prices.yaml:1:7: h100: expected dollars per device and hour such as 2.10/h, found '2/d'"},
        {"h100: 1\nH100-SXM5-80GB: 2\n", "prices.yaml:2:17: H100-SXM5-80GB: 'h100-sxm' has two prices"},
        {"h100: {hour: 2}\n", "prices.yaml:1:7: h100: expected a string, found a map"},
        {"[2]\n", "prices.yaml:1:1: expected a map, found a list"},
        {"{}\n", "prices.yaml:1:1: no prices"},
    };
    struct budget_prices prices;
    struct plan plan;
    (void)state;
    make_plan(&plan);
    assert_true(table("h100: $2.50/h\ndefault: 0.5  # all others\n", &prices));
    assert_true(budget_of(&plan, 0.0, &prices, NULL, &err));
    double dollars = plan.budget.dollars_per_hour;
    assert_true(budget_read_prices("h100=2.5,0.5", NULL, &prices, &err) &&
                budget_of(&plan, 0.0, &prices, NULL, &err));
    assert_float_equal(dollars, plan.budget.dollars_per_hour, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(table(cases[i].text, &prices));
        assert_string_equal(err.text, cases[i].error);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
    assert_false(budget_read_prices("no-such.yaml", NULL, &prices, &err));
    assert_non_null(strstr(err.text, "no-such.yaml: "));
    plan_release(&plan);
}

static void a_missing_price_is_named(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "--price: expected dollars per device and hour such as 2.10/h, found ''; a file of prices ends "
             "in .yaml or .json"},
        {"h100=", "--price: expected dollars per device and hour such as 2.10/h, found ''; a file of prices "
                  "ends in .yaml or .json"},
        {"=2", "--price: expected a device before '=' in '=2'"},
        {"h100=x", "--price: expected dollars per device and hour such as 2.10/h, found 'x'; a file of "
                   "prices ends in .yaml or .json"},
        {"-1", "--price: expected dollars per device and hour such as 2.10/h, found '-1'; a file of prices "
               "ends in .yaml or .json"},
        {"nan", "--price: expected dollars per device and hour such as 2.10/h, found 'nan'; a file of prices "
                "ends in .yaml or .json"},
        {"1,", "--price: expected dollars per device and hour such as 2.10/h, found ''; a file of prices "
               "ends in .yaml or .json"},
        {"1,2", "--price: '1,2' has two prices; a decimal point is a '.', as in 2.10/h"},
        {"h100=1,H100-SXM5-80GB=2", "--price: 'h100-sxm' has two prices"},
    };
    struct budget_prices prices;
    struct plan plan;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_false(budget_read_prices(cases[i].text, NULL, &prices, &err));
        assert_string_equal(err.text, cases[i].error);
    }
    make_plan(&plan);
    assert_true(budget_read_prices("h100=2", NULL, &prices, &err));
    assert_false(budget_of(&plan, 1e6, &prices, NULL, &err));
    assert_string_equal(err.text, "--price: 'a100-80gb' has no price, only: h100-sxm");
    plan.sequence = 0;
    assert_false(budget_of(&plan, 1e6, &prices, NULL, &err));
    assert_string_equal(err.text, "--tokens: the plan does not say how many tokens an iteration has");
    plan_release(&plan);
}

/* ---- a deadline ---- */

static const int64_t batches[] = {64, 96, 128};

static struct job_question ask(int devices)
{
    struct job_question question = {.job = job_example(), .headroom = 0.05};
    question.job.model = architecture_find("llama-3-8b");
    question.job.devices = devices;
    return question;
}

/* All plans that no other beats in time, money and devices, of all batches: the cheapest in time is one of them. */
static void the_cheapest_in_time_is_on_the_front(void **state)
{
    struct job_search fronts[3];
    const double tokens = 1e11;
    double longest = 0.0;
    (void)state;
    for (int b = 0; b < 3; b++) {
        struct job_question question = ask(48);
        const struct job_search_options options = {.top = 2000, .front = true, .money = true};
        question.job.batch = batches[b];
        assert_true(job_search(&fronts[b], &question, &options, &err));
    }
    int in_time = 0, idle = 0;
    for (double limit = 3e8; limit > 1e5; limit /= 1.31) {
        const struct job_deadline deadline = {tokens, limit, 3, batches};
        const struct job_search_options options = {.top = 1};
        struct job_question question = ask(48);
        struct job_search found;
        double best = INFINITY;
        for (int b = 0; b < 3; b++)
            for (int i = 0; i < fronts[b].plan_count; i++) {
                const struct job_choice *plan = &fronts[b].plans[i];
                double iterations = ceil(tokens / ((double)batches[b] * (double)question.job.sequence));
                if (iterations * plan->time.seconds <= limit)
                    best = fmin(best, iterations * plan->time.seconds * plan->job.devices);
            }
        bool ok = job_cheapest_in_time(&found, &question, &deadline, &options, &err);
        assert_int_equal(ok, isfinite(best));
        if (!ok) {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
            assert_non_null(strstr(err.text, "--deadline: no plan trains within "));
            continue;
        }
        const struct job_choice *plan = &found.plans[0];
        double iterations = ceil(tokens / ((double)question.job.batch * (double)question.job.sequence));
        double seconds = iterations * plan->time.seconds;
        assert_true(seconds <= limit * (1.0 + 1e-12));
        assert_true(fabs(seconds * plan->job.devices / best - 1.0) < 1e-9);
        assert_int_equal(question.job.devices, plan->job.devices);
        longest = fmax(longest, seconds);
        in_time++;
        idle += plan->job.devices < 48;
        job_search_release(&found);
    }
    assert_true(in_time > 5 && idle > 2);
    for (int b = 0; b < 3; b++)
        job_search_release(&fronts[b]);
}

/* The number of devices that a refusal names is enough, and with a node less there is no plan in time. */
static void a_refused_deadline_names_enough_devices(void **state)
{
    const int64_t batch = 256;
    const struct job_search_options options = {.top = 1};
    (void)state;
    for (double days = 2.0; days < 40.0; days *= 2.3) {
        const struct job_deadline deadline = {1e11, days * 86400.0, 1, &batch};
        struct job_question question = ask(8);
        struct job_search found;
        int enough;
        if (job_cheapest_in_time(&found, &question, &deadline, &options, &err)) {
            job_search_release(&found);
            continue;
        }
        const char *text = strstr(err.text, "; ");
        assert_non_null(text);
        assert_int_equal(sscanf(text, "; %d devices would be enough", &enough), 1);
        question = ask(enough);
        assert_true(job_cheapest_in_time(&found, &question, &deadline, &options, &err));
        job_search_release(&found);
        question = ask(enough - 8);
        assert_false(job_cheapest_in_time(&found, &question, &deadline, &options, &err));
    }
}

/* ---- on a storage ---- */

static const char *result(const char *training, const char *save, const char *every)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/result.json", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"format\": \"rehearse-feed-result/1\", \"accelerators\": 4, \"training\": %s, "
            "\"checkpoints\": {\"save\": %s}, \"configuration\": {\"checkpoint\": "
            "{\"steps_between_checkpoints\": %s}}}",
            training, save, every);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Two copies of 2 and of 4 devices: parameters of 2 x 10 + 4 x 5 bytes, and states of six times that. */
static void make_saved(struct plan *plan, int sharding)
{
    make_plan(plan);
    plan->sharding = sharding;
    for (int s = 0; s < 2; s++) {
        double parameters = s == 0 ? 10e9 : 5e9;
        plan->pipelines[0].stages[s].bytes.parameters = sharding >= 3 ? parameters / 2.0 : parameters;
        plan->pipelines[0].stages[s].bytes.optimizer = 6.0 * (sharding >= 1 ? parameters / 2.0 : parameters);
    }
}

static void an_iteration_is_the_longer_of_computing_and_loading_and_its_share_of_a_save(void **state)
{
    struct plan plan;
    (void)state;
    for (int sharding = 0; sharding <= 3; sharding++) {
        make_saved(&plan, sharding);
        /* 64 samples in 16 s beside 10 s; 280 GB in 140 s, every 70 iterations */
        assert_true(storage_of(&plan,
                               result("{\"samples_per_second\": 4, \"bytes_per_second\": 8}",
                                      "{\"bytes_per_second_mean\": 2e9}", "70"),
                               0.0, &err));
        const struct plan_storage *storage = &plan.storage;
        assert_float_equal(storage->sample_bytes, 2.0, 1e-12);
        assert_float_equal(storage->checkpoint_bytes, 280e9, 1.0);
        assert_float_equal(storage->compute, 10.0, 1e-12);
        assert_float_equal(storage->loading, 6.0, 1e-12);
        assert_float_equal(storage->checkpoints, 2.0, 1e-9);
        assert_float_equal(storage->seconds, 18.0, 1e-9);
        assert_string_equal(storage->limit, "loading");
        plan_release(&plan);
    }
    make_saved(&plan, 1);
    plan.expected = 20.0; /* all loading is hidden */
    assert_true(storage_of(
        &plan, result("{\"samples_per_second\": 4}", "{\"bytes_per_second_mean\": 2e9}", "-1"), 5.0, &err));
    assert_float_equal(plan.storage.loading, 0.0, 0.0);
    assert_float_equal(plan.storage.seconds, 20.0 + 140.0 / 5.0, 1e-9);
    assert_string_equal(plan.storage.limit, "checkpoints");
    plan_release(&plan);
}

/* What was not measured, or cannot be known, is no 0. */
static void what_a_run_does_not_have_is_not_known(void **state)
{
    struct plan plan;
    (void)state;
    make_saved(&plan, 1);
    assert_true(storage_of(&plan, result("null", "{\"bytes_per_second_mean\": 2e9}", "-1"), 0.0, &err));
    assert_true(isnan(plan.storage.loading) && isnan(plan.storage.checkpoints));
    assert_float_equal(plan.storage.seconds, 10.0, 0.0);
    assert_string_equal(plan.storage.limit, "compute");
    plan.pipelines[0].stages[0].degrees.expert = 2;
    assert_true(storage_of(&plan, result("null", "{\"bytes_per_second_mean\": 2e9}", "70"), 0.0, &err));
    assert_true(isnan(plan.storage.checkpoint_bytes) && isnan(plan.storage.checkpoints));
    assert_false(storage_of(&plan, result("{\"samples_per_second\": 4}", "null", "70"), 3.0, &err));
    assert_non_null(strstr(err.text, "saved no checkpoint"));
    assert_false(storage_of(&plan, result("{\"samples_per_second\": 0}", "null", "70"), 0.0, &err));
    assert_non_null(strstr(err.text, "samples_per_second: expected a positive number"));
    assert_false(storage_of(&plan, result("null", "null", "70"), 0.0, &err));
    assert_non_null(strstr(err.text, "give a run that trains or saves checkpoints"));
    plan.iteration_time = 0.0;
    assert_false(storage_of(&plan, result("{\"samples_per_second\": 4}", "null", "70"), 0.0, &err));
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_money_and_energy_are_those_of_a_pocket_calculator),
        cmocka_unit_test(chunks_of_a_device_are_paid_for_once),
        cmocka_unit_test(prices_come_from_a_file),
        cmocka_unit_test(a_missing_price_is_named),
        cmocka_unit_test(the_cheapest_in_time_is_on_the_front),
        cmocka_unit_test(a_refused_deadline_names_enough_devices),
        cmocka_unit_test(an_iteration_is_the_longer_of_computing_and_loading_and_its_share_of_a_save),
        cmocka_unit_test(what_a_run_does_not_have_is_not_known),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
