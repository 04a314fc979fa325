/* Goodput over seeds against closed forms, brute force and orders that must hold; policies on published traces. */
#include "elastic/goodput.h"
#include "elastic/policy/play.h"
#include "elastic/series.h"
#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct elastic_rates rates_of(int nodes, int stages, int microbatches)
{
    struct elastic_rates rates;
    struct error err;
    assert_true(elastic_rates_make(&rates, nodes, stages, (int64_t)microbatches * (nodes / stages), 10, NULL,
                                   NULL, &err));
    return rates;
}

static struct elastic_variant variant_of(const char *name, const struct elastic_rates *rates)
{
    struct elastic_variant variant = {.policy = elastic_policy_named(name), .setup = {.rates = rates}};
    assert_non_null(variant.policy);
    variant.setup.costs = (struct elastic_costs){.detect = 30,
                                                 .restart = 210,
                                                 .load = 60,
                                                 .swap = 60,
                                                 .reconfigure = 30,
                                                 .migrate = 20,
                                                 .reroute = 10,
                                                 .save_block = 30,
                                                 .copy_block = 2,
                                                 .save_write = 120,
                                                 .interval = INFINITY};
    return variant;
}

/* ---- E[ETTR] of arXiv 2410.21680 ---- */

/* A job that waits for slow nodes has their speed whenever one of its N nodes is slow, which each is for a share q of the
 * time: 1 - (1 - s) (1 - (1 - q)^N). */
static void a_job_waits_for_its_slow_nodes(void **unused)
{
    struct elastic_rates rates = rates_of(24, 4, 16);
    struct elastic_variant variants[2] = {variant_of("restart", &rates), variant_of("restart", &rates)};
    struct failure_model model = {
        .nodes = 24, .batch = 1, .slow_rate = 1e-6, .slow_speed = 0.7, .slow_time = 30000};
    struct failure_source source = {.model = &model, .horizon = 3e7, .seed = 1, .seeds = 200};
    struct goodput results[2];
    struct error err;
    double q = model.slow_rate * model.slow_time / (1 + model.slow_rate * model.slow_time);
    double expected = 1 - (1 - model.slow_speed) * (1 - pow(1 - q, model.nodes));
    (void)unused;
    variants[1].setup.slow_answer = SLOW_MOVED;
    variants[1].setup.slow_detect = 1e9;
    assert_true(goodput_measure(variants, 2, &source, NULL, results, &err));
    if (!(fabs(results[0].mean - expected) < 0.002))
        fail_msg("%.5f of full speed, expected %.5f", results[0].mean, expected);
    assert_true(fabs(results[0].share[ELASTIC_SLOW] + results[0].mean - 1) < 1e-9);
    assert_true(fabs(results[1].mean - results[0].mean) < 1e-12); /* what nobody knows of is ignored */
    elastic_rates_release(&rates);
}

/* Answers are compared run by run: each of the runs, played alone, has its own difference. */
static void answers_are_compared_on_the_same_runs(void **unused)
{
    struct elastic_rates rates = rates_of(24, 4, 16);
    struct elastic_variant variants[2] = {variant_of("restart", &rates), variant_of("restart", &rates)};
    struct failure_model model = {
        .nodes = 24, .batch = 1, .slow_rate = 1e-6, .slow_speed = 0.7, .slow_time = 30000};
    struct failure_source source = {.model = &model, .horizon = 3e6, .seed = 5, .seeds = 20};
    struct goodput results[2], alone[2];
    struct error err;
    double least = HUGE_VAL, most = -HUGE_VAL;
    (void)unused;
    variants[1].setup.slow_answer = SLOW_MOVED;
    variants[1].setup.slow_detect = 60;
    assert_true(goodput_measure(variants, 2, &source, NULL, results, &err));
    assert_true(results[0].behind > 0 && results[1].behind == 0 && results[1].behind_high == 0);
    assert_true(fabs(results[1].mean - results[0].mean - results[0].behind) < 1e-12);
    source.seeds = 1;
    for (; source.seed < 25; source.seed++) {
        assert_true(goodput_measure(variants, 2, &source, NULL, alone, &err));
        least = fmin(least, alone[1].mean - alone[0].mean);
        most = fmax(most, alone[1].mean - alone[0].mean);
    }
    assert_true(least <= results[0].behind_low && results[0].behind_low < results[0].behind);
    assert_true(results[0].behind < results[0].behind_high && results[0].behind_high <= most);
    elastic_rates_release(&rates);
}

struct job {
    int gpus;
    const char *system;
    double restart, save;
};

/* A lost node is replaced at once, as the formula assumes: restart seconds hold all of its cost. */
static struct failure_model replaced_at_once(const struct job *job)
{
    return (struct failure_model){.nodes = job->gpus / 8,
                                  .rate = failure_rate_of_node_days(failure_fact_named(job->system)->rate),
                                  .batch = 1};
}

static void goodput_is_the_expected_ettr_where_it_holds(void **unused)
{
    static const struct job jobs[] = {
        {2048, "rsc-1", 300, 60},   {2048, "rsc-2", 600, 300}, {4096, "rsc-1", 300, 60},
        {8192, "llama-3", 300, 60}, {16384, "rsc-1", 300, 60}, {16384, "llama-3", 300, 5},
        {32768, "rsc-1", 120, 20},  {65536, "rsc-1", 60, 5},   {131072, "rsc-1", 60, 1},
        {131072, "rsc-2", 120, 10}, {65536, "rsc-1", 900, 60}, {131072, "rsc-1", 300, 60},
        {131072, "rsc-1", 600, 30},
    };
    static const double times[] = {0.5, 1, 2};
    int held = 0, not_held = 0;
    (void)unused;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        for (size_t k = 0; k < 3; k++) {
            struct failure_model model = replaced_at_once(&jobs[i]);
            struct elastic_rates rates = rates_of(model.nodes, 1, 1);
            struct elastic_variant variant = variant_of("restart", &rates);
            double failures_a_year = model.nodes * model.rate * FAILURES_YEAR;
            struct failure_source source = {.model = &model, .horizon = FAILURES_YEAR, .seed = 7};
            struct goodput goodput;
            struct error err;
            bool holds;
            source.seeds = (int)ceil(20000 / failures_a_year);
            variant.setup.costs.detect = 0;
            variant.setup.costs.restart = jobs[i].restart;
            variant.setup.costs.load = 0;
            variant.setup.costs.save_block = jobs[i].save;
            variant.setup.costs.interval =
                times[k] * failure_best_interval(model.nodes, model.rate, jobs[i].save);
            assert_true(goodput_measure(&variant, 1, &source, NULL, &goodput, &err));
            double expected = failure_expected_ettr(model.nodes, model.rate, jobs[i].restart,
                                                    variant.setup.costs.interval, jobs[i].save, &holds);
            double exact = failure_exact_ettr(model.nodes, model.rate, jobs[i].restart,
                                              variant.setup.costs.interval, jobs[i].save);
            held += holds;
            not_held += !holds;
            if (holds && fabs(goodput.mean / expected - 1) > 0.02)
                fail_msg("%d GPUs: goodput %g, E[ETTR] %g", jobs[i].gpus, goodput.mean, expected);
            if (fabs(goodput.mean / exact - 1) > 0.01)
                fail_msg("%d GPUs: goodput %g, exactly %g", jobs[i].gpus, goodput.mean, exact);
            elastic_rates_release(&rates);
        }
    assert_true(held >= 20 && not_held >= 5);
}

static void best_interval_is_the_square_root(void **unused)
{
    static const struct job jobs[] = {{2048, "rsc-1", 300, 60},    {8192, "rsc-2", 300, 60},
                                      {16384, "llama-3", 300, 30}, {16384, "rsc-1", 300, 20},
                                      {65536, "rsc-1", 60, 5},     {131072, "rsc-1", 60, 2}};
    (void)unused;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct failure_model model = replaced_at_once(&jobs[i]);
        struct elastic_rates rates = rates_of(model.nodes, 1, 1);
        struct elastic_variant variant = variant_of("restart", &rates);
        struct failure_source source = {.model = &model, .horizon = FAILURES_YEAR, .seed = 1};
        struct goodput best;
        struct error err;
        double interval, root = failure_best_interval(model.nodes, model.rate, jobs[i].save);
        source.seeds = (int)ceil(10000 / (model.nodes * model.rate * FAILURES_YEAR));
        variant.setup.costs.detect = variant.setup.costs.load = 0;
        variant.setup.costs.restart = jobs[i].restart;
        variant.setup.costs.save_block = jobs[i].save;
        assert_true(goodput_best_interval(&variant, &source, NULL, &interval, &best, &err));
        if (fabs(interval / root - 1) > 0.05)
            fail_msg("%d GPUs: best interval %g s, square root %g s", jobs[i].gpus, interval, root);
        /* and no other one is better by more than luck */
        for (int half = 0; half < 2; half++) {
            struct goodput other;
            variant.setup.costs.interval = half ? interval / 2 : interval * 2;
            assert_true(goodput_measure(&variant, 1, &source, NULL, &other, &err));
            assert_true(best.mean > other.mean - 5e-4);
        }
        elastic_rates_release(&rates);
    }
}

static void nothing_lost_needs_no_saves(void **unused)
{
    struct elastic_rates rates = rates_of(16, 1, 1);
    struct elastic_variant variant = variant_of("restart", &rates);
    struct failure_model model = {.nodes = 16, .batch = 1};
    struct failure_source source = {.model = &model, .horizon = 1e6, .seeds = 2};
    struct goodput best;
    struct error err;
    double interval;
    (void)unused;
    assert_true(goodput_best_interval(&variant, &source, NULL, &interval, &best, &err));
    assert_true(isinf(interval) && best.mean >= 1);
    elastic_rates_release(&rates);
}

/* ---- orders ---- */

static const struct failure_model spot = {.nodes = 64, .rate = 2e-6, .repair = 7200, .batch = 1.5};

static struct goodput measured(const struct elastic_variant *variant, const struct failure_model *model)
{
    struct failure_source source = {.model = model, .horizon = FAILURES_YEAR / 4, .seed = 11, .seeds = 16};
    struct goodput goodput;
    struct error err;
    assert_true(goodput_measure(variant, 1, &source, NULL, &goodput, &err));
    return goodput;
}

static void shares_add_up_and_intervals_hold_the_mean(void **unused)
{
    struct elastic_rates rates = rates_of(64, 8, 16);
    int count;
    const struct elastic_policy *const *policies = elastic_policies(&count);
    (void)unused;
    assert_int_equal(count, 10);
    for (int i = 0; i < count; i++) {
        struct elastic_variant variant = variant_of(policies[i]->name, &rates);
        double sum = 0;
        variant.setup.costs.interval = 600;
        variant.setup.spares = 4;
        struct goodput goodput = measured(&variant, &spot);
        for (int cause = 0; cause < ELASTIC_CAUSE_COUNT; cause++)
            sum += goodput.share[cause];
        assert_true(fabs(sum - 1) < 1e-9);
        assert_true(goodput.low <= goodput.mean && goodput.mean <= goodput.high && goodput.low > 0 &&
                    goodput.high <= 1);
        assert_true(goodput.low < goodput.high);
    }
    elastic_rates_release(&rates);
}

static void a_copy_in_memory_is_never_worse_than_the_disk(void **unused)
{
    struct elastic_rates rates = rates_of(64, 8, 16);
    (void)unused;
    for (int interval = 300; interval < 10000; interval *= 3)
        for (int block = 1; block < 200; block *= 10) {
            struct elastic_variant disk = variant_of("restart", &rates),
                                   async = variant_of("restart-async", &rates),
                                   memory = variant_of("restart-memory", &rates);
            struct elastic_variant *all[] = {&disk, &async, &memory};
            for (int i = 0; i < 3; i++) {
                all[i]->setup.costs.interval = interval;
                all[i]->setup.costs.save_block = all[i]->setup.costs.copy_block = block;
                all[i]->setup.costs.migrate = all[i]->setup.costs.load;
                all[i]->setup.costs.save_write = 0;
                all[i]->setup.spares = 8;
            }
            double by_disk = measured(&disk, &spot).mean;
            assert_true(measured(&memory, &spot).mean >= by_disk - 1e-12);
            assert_true(fabs(measured(&async, &spot).mean - by_disk) < 1e-12);
            /* while writing takes time, a copy in memory is of use before one on disk */
            async.setup.costs.save_write = memory.setup.costs.save_write = fmin(interval, 250);
            assert_true(measured(&memory, &spot).mean >= measured(&async, &spot).mean);
        }
    elastic_rates_release(&rates);
}

static void more_of_any_cost_is_never_better(void **unused)
{
    struct elastic_rates rates = rates_of(64, 8, 16);
    int count;
    const struct elastic_policy *const *policies = elastic_policies(&count);
    (void)unused;
    for (int i = 0; i < count; i++) {
        struct elastic_variant variant = variant_of(policies[i]->name, &rates), slow;
        variant.setup.costs.interval = 900;
        variant.setup.spares = 4;
        double base = measured(&variant, &spot).mean;
        slow = variant;
        slow.setup.costs.detect = 300;
        assert_true(measured(&slow, &spot).mean < base);
        slow = variant;
        slow.setup.costs.restart = slow.setup.costs.swap = slow.setup.costs.reconfigure =
            slow.setup.costs.migrate = slow.setup.costs.reroute = 1200;
        assert_true(measured(&slow, &spot).mean < base);
    }
    elastic_rates_release(&rates);
}

static void threads_change_nothing(void **unused)
{
    struct elastic_rates rates = rates_of(64, 8, 16);
    struct elastic_variant variants[] = {variant_of("oobleck", &rates), variant_of("torchft", &rates)};
    struct failure_source source = {.model = &spot, .horizon = FAILURES_YEAR / 8, .seed = 3, .seeds = 40};
    struct goodput one[2], three[2];
    struct error err;
    struct parallel *pool = parallel_new(3, &err);
    (void)unused;
    assert_non_null(pool);
    assert_true(goodput_measure(variants, 2, &source, NULL, one, &err));
    assert_true(goodput_measure(variants, 2, &source, pool, three, &err));
    for (int i = 0; i < 2; i++) {
        assert_true(one[i].mean >= three[i].mean && one[i].mean <= three[i].mean);
        assert_memory_equal(one[i].share, three[i].share, sizeof one[i].share);
    }
    parallel_free(pool);
    elastic_rates_release(&rates);
}

static void best_spares_are_those_of_a_search_of_all(void **unused)
{
    (void)unused;
    for (int repair = 1; repair <= 40; repair *= 6) {
        struct failure_model model = {.nodes = 40, .rate = 3e-6, .repair = 3600.0 * repair, .batch = 1};
        struct elastic_rates rates = rates_of(model.nodes, 1, 40);
        struct elastic_variant variant = variant_of("spares", &rates);
        struct failure_source source = {.model = &model, .horizon = FAILURES_YEAR / 2, .seed = 2, .seeds = 8};
        struct goodput best, one;
        struct error err;
        int spares, expected = -1;
        double most = -1;
        variant.setup.costs.interval = 1200;
        assert_true(goodput_best_spares(&variant, &source, NULL, &spares, &best, &err));
        for (int s = 0; s < model.nodes; s++) {
            variant.setup.spares = s;
            assert_true(goodput_measure(&variant, 1, &source, NULL, &one, &err));
            if (one.mean > most) {
                most = one.mean;
                expected = s;
            }
        }
        assert_int_equal(spares, expected);
        assert_true(best.mean >= most);
        elastic_rates_release(&rates);
    }
}

/* ---- speed over time ---- */

static void a_series_holds_all_of_a_run(void **unused)
{
    struct elastic_rates rates = rates_of(64, 8, 16);
    struct failure_trace trace = {0};
    struct error err;
    int count;
    const struct elastic_policy *const *policies = elastic_policies(&count);
    (void)unused;
    assert_true(failures_draw(&trace, &spot, 10 * SECONDS_PER_DAY, 1, &err));
    for (int i = 0; i < count; i++) {
        struct elastic_variant variant = variant_of(policies[i]->name, &rates);
        struct elastic_series series;
        double seconds[ELASTIC_CAUSE_COUNT] = {0}, until = 0, work = 0, bins[77], binned = 0;
        variant.setup.costs.interval = 1000;
        assert_true(elastic_series_make(&series, &variant, &trace, &err));
        for (int k = 0; k < series.count; k++) {
            const struct elastic_piece *piece = &series.pieces[k];
            assert_true(fabs(piece->from - until) < 1e-6 && piece->to > piece->from);
            until = piece->to;
            seconds[piece->cause] += piece->to - piece->from;
            work += (piece->to - piece->from) * piece->speed;
        }
        assert_true(fabs(until - trace.horizon) < 1e-6);
        assert_true(fabs(seconds[ELASTIC_DETECT] - series.result.seconds[ELASTIC_DETECT]) < 1e-6);
        assert_true(fabs(seconds[ELASTIC_RESTART] - series.result.seconds[ELASTIC_RESTART]) < 1e-6);
        assert_true(fabs(seconds[ELASTIC_WAIT] - series.result.seconds[ELASTIC_WAIT]) < 1e-6);
        elastic_series_bins(&series, trace.horizon, bins, 77);
        for (int bin = 0; bin < 77; bin++)
            binned += bins[bin] * trace.horizon / 77;
        assert_true(fabs(binned - work) < 1e-3);
        elastic_series_release(&series);
    }
    failures_release(&trace);
    elastic_rates_release(&rates);
}

/* ---- published traces ---- */

static struct goodput on_trace(const char *policy, const struct failure_trace *trace)
{
    struct elastic_rates rates = rates_of(trace->nodes, 4, 16);
    struct elastic_variant variant = variant_of(policy, &rates);
    struct failure_source source = {.trace = trace};
    struct goodput goodput;
    struct error err;
    variant.setup.costs.interval = 300;
    assert_true(goodput_measure(&variant, 1, &source, NULL, &goodput, &err));
    elastic_rates_release(&rates);
    return goodput;
}

static void on_published_traces_live_recovery_beats_restarts(void **unused)
{
    static const char *const names[] = {"bamboo_aws_p3.events.csv", "bamboo_aws_g4dn.events.csv",
                                        "parcae_hh_55_65.events.csv", "parcae_p3_availability.avail.csv"};
    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char relative[128];
        struct failure_trace trace = {0};
        struct error err;
        snprintf(relative, sizeof relative, "training/traces/%s", names[i]);
        char *path = reference_path(relative);
        if (!path)
            skip();
        if (!failures_load(&trace, path, 0, 1, &err))
            fail_msg("%s", err.text);
        free(path);
        double varuna = on_trace("varuna", &trace).mean, restart = on_trace("restart", &trace).mean;
        double oobleck = on_trace("oobleck", &trace).mean, parcae = on_trace("parcae", &trace).mean;
        printf("# %s: restart %.3f, varuna %.3f, bamboo %.3f, oobleck %.3f, parcae %.3f, recycle %.3f, "
               "torchft %.3f\n",
               names[i], restart, varuna, on_trace("bamboo", &trace).mean, oobleck, parcae,
               on_trace("recycle", &trace).mean, on_trace("torchft", &trace).mean);
        /* a job that needs all nodes waits nearly always; Varuna restarts at every loss */
        assert_true(restart < 0.2 && varuna > restart);
        assert_true(oobleck > 1.1 * varuna && parcae > 1.1 * varuna);
        failures_release(&trace);
    }
}

/* Nodes and changes of the published traces as their statistics say. */
static void published_traces_are_read_whole(void **unused)
{
    static const struct {
        const char *name;
        int nodes, adds, removes;
        double mean;
    } facts[] = {{"bamboo_aws_p3.events.csv", 32, 177, 167, 24.03},
                 {"bamboo_aws_g4dn.events.csv", 24, 79, 74, 12.76},
                 {"parcae_hh_55_65.events.csv", 32, 48, 19, 27.48},
                 {"bamboo_gcp_a100_east1b.avail.csv", 64, 163, 154, 57.29},
                 {"sailor_gcp_a100_trace_16.avail.csv", 14, 19, 21, 11.63}};
    (void)unused;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        char relative[128];
        struct failure_trace trace = {0};
        struct error err;
        int losses = 0;
        snprintf(relative, sizeof relative, "training/traces/%s", facts[i].name);
        char *path = reference_path(relative);
        if (!path)
            skip();
        assert_true(failures_load(&trace, path, 0, 1, &err));
        free(path);
        double area = 0, since = 0;
        int there = trace.present;
        for (int k = 0; k < trace.count; k++) {
            area += there * (trace.events[k].time - since);
            since = trace.events[k].time;
            there += trace.events[k].returned ? 1 : -1;
            losses += !trace.events[k].returned;
        }
        area += there * (trace.horizon - since);
        assert_int_equal(trace.nodes, facts[i].nodes);
        assert_int_equal(losses, facts[i].removes);
        assert_int_equal(trace.count - losses, facts[i].adds);
        if (fabs(area / trace.horizon - facts[i].mean) > 0.6)
            fail_msg("%s: on average %g nodes, expected %g", facts[i].name, area / trace.horizon,
                     facts[i].mean);
        failures_release(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_its_slow_nodes),
        cmocka_unit_test(answers_are_compared_on_the_same_runs),
        cmocka_unit_test(goodput_is_the_expected_ettr_where_it_holds),
        cmocka_unit_test(best_interval_is_the_square_root),
        cmocka_unit_test(nothing_lost_needs_no_saves),
        cmocka_unit_test(shares_add_up_and_intervals_hold_the_mean),
        cmocka_unit_test(a_copy_in_memory_is_never_worse_than_the_disk),
        cmocka_unit_test(more_of_any_cost_is_never_better),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(best_spares_are_those_of_a_search_of_all),
        cmocka_unit_test(a_series_holds_all_of_a_run),
        cmocka_unit_test(on_published_traces_live_recovery_beats_restarts),
        cmocka_unit_test(published_traces_are_read_whole),
    };
    return cmocka_run_group_tests_name("goodput", tests, NULL, NULL);
}
