/* Traces of losses and returns: read, refused, drawn; facts and closed forms. */
#include "elastic/failures.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool parse(struct failure_trace *trace, const char *text, int nodes, struct error *err)
{
    return failures_parse(trace, "t.csv", text, strlen(text), nodes, 1, err);
}

/* ---- reading ---- */

static void events_take_the_lowest_free_number(void **unused)
{
    struct failure_trace trace = {0};
    struct error err;
    (void)unused;
    assert_true(parse(&trace,
                      "t_s,event,node\n0,add,a\n0,add,b\n5,remove,a\n7,add,c\n7.5,lost,b\n9,returned,a\n", 0,
                      &err));
    assert_int_equal(trace.nodes, 2);
    assert_int_equal(trace.present, 0);
    assert_int_equal(trace.count, 6);
    const int nodes[] = {0, 1, 0, 0, 1, 1}, returned[] = {1, 1, 0, 1, 0, 1};
    for (int i = 0; i < trace.count; i++) {
        assert_int_equal(trace.events[i].node, nodes[i]);
        assert_int_equal(trace.events[i].returned, returned[i]);
    }
    assert_true(trace.horizon >= 9 && trace.horizon <= 9);
    assert_int_equal(failures_end_of_change(&trace, 0), 2);
    assert_int_equal(failures_end_of_change(&trace, 2), 3);
    failures_release(&trace);
}

static void a_loss_first_means_that_all_nodes_are_there(void **unused)
{
    struct failure_trace trace = {0};
    struct error err;
    (void)unused;
    assert_true(parse(&trace, "t_s,event,node\n3,remove,x\n4,remove,y\n9,add,x\n", 4, &err));
    assert_int_equal(trace.present, 4);
    assert_int_equal(trace.nodes, 4);
    assert_int_equal(trace.events[1].node, 1);
    assert_int_equal(trace.events[2].node, 0);
    failures_release(&trace);
}

static void counts_become_losses_and_returns(void **unused)
{
    struct failure_trace trace = {0};
    struct error err;
    int there = 0, most = 0;
    (void)unused;
    assert_true(parse(&trace, "t_s,available\n0,0\n10,0\n10,4\n20,4\n20,1\n30,5\n", 0, &err));
    assert_int_equal(trace.present, 0);
    assert_int_equal(trace.nodes, 5);
    assert_int_equal(trace.count, 4 + 3 + 4);
    for (int i = 0; i < trace.count; i++) {
        there += trace.events[i].returned ? 1 : -1;
        most = there > most ? there : most;
    }
    assert_int_equal(there, 5);
    assert_int_equal(most, 5);
    assert_true(trace.counted);
    failures_release(&trace);
}

static void bad_tables_are_refused_with_their_place(void **unused)
{
    static const struct {
        const char *text, *message;
        int nodes;
    } cases[] = {
        {"", "t.csv: expected a line of column names", 0},
        {"t_s,event,node\n", "t.csv: no events", 0},
        {"t_s,node\n1,a\n", "t.csv:1: no column 'event'", 0},
        {"time,available\n1,2\n", "t.csv:1: no column 't_s'", 0},
        {"t_s,event,node\n5,add,a\n4,add,b\n", "t.csv:3: t_s: time goes backwards, from 5 s to 4 s", 0},
        {"t_s,event,node\n5,add,a\n6,add,a\n", "t.csv:3: node: node 'a' is added, but it is there already",
         0},
        {"t_s,event,node\n5,add,a\n6,remove,b\n", "t.csv:3: node: node 'b' is removed, but it is not there",
         0},
        {"t_s,event,node\n5,add,a\n6,remove,a\n7,remove,a\n",
         "t.csv:4: node: node 'a' is removed, but it is not there", 0},
        {"t_s,event,node\n5,add,a\n6,add,b\n", "t.csv:3: node: more nodes than the cluster's 1", 1},
        {"t_s,event,node\n5,remove,a\n", "t.csv:2: event: the first event is of a node that is there: give",
         0},
        {"t_s,event,node\n5,lost,a\n6,lost,b\n", "t.csv:3: node: node 'b' is removed, but all 1 nodes", 1},
        {"t_s,event,node\n5,gone,a\n",
         "t.csv:2: event: expected add, remove, returned, lost, slow or recovered, found 'gone'", 0},
        {"t_s,event,node\n5,add,\n", "t.csv:2: node: expected a node's name", 0},
        {"t_s,event,node\nnan,add,a\n", "t.csv:2: t_s: expected a number", 0},
        {"t_s,event,node\n-1,add,a\n", "t.csv:2: t_s: expected a number", 0},
        {"t_s,event,node\n1,add,a\n2,rem", "t.csv:3: expected 3 cells", 0},
        {"t_s,event,node\n0,add,a\n", "t.csv: all events are at 0 s", 0},
        {"t_s,event,node\n5,slow,a\n", "t.csv:1: no column 'speed'", 4},
        {"t_s,event,node,speed\n5,slow,a,2\n", "t.csv:2: speed: expected a number from 0.001 to 1", 4},
        {"t_s,event,node,speed\n5,slow,a,0\n", "t.csv:2: speed: expected a number from 0.001 to 1", 4},
        {"t_s,event,node,speed\n5,slow,a,0.5\n", "t.csv:2: event: the first event is of a node that is there",
         0},
        {"t_s,event,node,speed\n5,add,a,\n6,slow,b,0.5\n",
         "t.csv:3: node: node 'b' is slow or recovers, but it is not there", 0},
        {"t_s,available\n0,5\n4,6\n", "t.csv:3: available: more nodes than the cluster's 5", 5},
        {"t_s,available\n0,5\n4,-1\n", "t.csv:3: available: expected a number from 0", 0},
        {"t_s,available\n0,5\n4,1.5\n", "t.csv:3: available: expected a whole number of nodes, found 1.5", 0},
        {"t_s,available\n0,5\n4,\n", "t.csv:3: available: expected a number", 0},
        {"t_s,available\n4,5\n0,3\n", "t.csv:3: t_s: time goes backwards", 0},
        {"t_s,available\n0,0\n4,0\n", "t.csv: no node is ever available", 0},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct failure_trace trace = {0};
        struct error err = {0};
        if (parse(&trace, cases[i].text, cases[i].nodes, &err))
            fail_msg("case %zu was read", i);
        assert_int_equal(err.kind, ERROR_INPUT);
        if (strncmp(err.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("expected '%s', found '%s'", cases[i].message, err.text);
        failures_release(&trace);
    }
}

static void slow_nodes_are_read(void **unused)
{
    struct failure_trace trace = {0};
    struct error err;
    (void)unused;
    assert_true(
        parse(&trace,
              "t_s,event,node,speed\n5,slow,a,0.5\n6,lost,b,\n7,slow,c,0.25\n7,recovered,a,\n9,returned,b,\n",
              3, &err));
    assert_int_equal(trace.present, 3);
    assert_int_equal(trace.count, 2);
    assert_int_equal(trace.events[0].node, 1);
    assert_int_equal(trace.slow_count, 3);
    const struct failure_slowdown expected[] = {{5, 0, 0.5}, {7, 2, 0.25}, {7, 0, 1}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(trace.slow[i].node, expected[i].node);
        assert_true(fabs(trace.slow[i].time - expected[i].time) <= 0);
        assert_true(fabs(trace.slow[i].speed - expected[i].speed) <= 0);
    }
    failures_release(&trace);
}

/* ---- drawing ---- */

static const struct failure_model plain = {.nodes = 300, .rate = 1e-6, .repair = 3600, .batch = 1};

static int losses_of(const struct failure_trace *trace)
{
    int count = 0;
    for (int i = 0; i < trace->count; i++)
        count += !trace->events[i].returned;
    return count;
}

/* Times ascend, and a node's losses and returns alternate, of those that are there. */
static void check_order(const struct failure_trace *trace)
{
    char *there = malloc((size_t)trace->nodes);
    assert_non_null(there);
    memset(there, 1, (size_t)trace->nodes);
    for (int i = 0; i < trace->count; i++) {
        const struct failure_event *event = &trace->events[i];
        assert_true(i == 0 || event->time >= trace->events[i - 1].time);
        assert_true(event->time >= 0 && event->time <= trace->horizon);
        assert_in_range(event->node, 0, trace->nodes - 1);
        assert_int_equal(there[event->node], !event->returned);
        there[event->node] = (char)event->returned;
    }
    free(there);
}

/* The share of its time that a node is slow is r t / (1 + r t), and losses are as without slow nodes. */
static void slow_nodes_come_at_the_rate_of_the_model(void **unused)
{
    struct failure_model model = plain;
    struct failure_trace trace = {0}, without = {0};
    struct error err;
    double horizon = 200 * SECONDS_PER_DAY, slow = 0;
    int count = 0;
    (void)unused;
    assert_true(failures_draw(&without, &model, horizon, 7, &err));
    assert_int_equal(without.slow_count, 0);
    model.slow_rate = 1 / (2 * SECONDS_PER_DAY);
    model.slow_speed = 0.5;
    model.slow_time = 6 * 3600;
    assert_true(failures_draw(&trace, &model, horizon, 7, &err));
    assert_int_equal(trace.count, without.count);
    assert_memory_equal(trace.events, without.events, (size_t)trace.count * sizeof *trace.events);
    double *since = calloc((size_t)model.nodes, sizeof *since);
    assert_non_null(since);
    for (int i = 0; i < trace.slow_count; i++) {
        const struct failure_slowdown *event = &trace.slow[i];
        assert_true(i == 0 || event->time >= trace.slow[i - 1].time);
        assert_in_range(event->node, 0, model.nodes - 1);
        assert_true((since[event->node] > 0) == (event->speed >= 1)); /* in turns */
        if (event->speed >= 1)
            slow += event->time - since[event->node];
        count += event->speed < 1;
        since[event->node] = event->speed < 1 ? event->time : 0;
    }
    double share = model.slow_rate * model.slow_time / (1 + model.slow_rate * model.slow_time);
    double found = slow / horizon / model.nodes, often = count / horizon / model.nodes * model.slow_time;
    if (!(fabs(found / share - 1) < 0.03 && fabs(often / share - 1) < 0.03))
        fail_msg("slow for %.4g of the time, by their number %.4g; expected %.4g", found, often, share);
    free(since);
    failures_release(&trace);
    failures_release(&without);
}

static void losses_come_at_the_rate_of_the_model(void **unused)
{
    static const enum failure_distribution lives[] = {FAILURE_EXPONENTIAL, FAILURE_WEIBULL, FAILURE_FIXED};
    static const double batches[] = {1, 2.1, 6};
    (void)unused;
    for (int life = 0; life < 3; life++)
        for (int b = 0; b < 3; b++) {
            struct failure_model model = plain;
            struct failure_trace trace = {0};
            struct error err;
            if (life > 0 && b > 0)
                continue; /* nodes that fall with a neighbour begin a new life: only exponential ones do not mind */
            model.life = lives[life];
            model.shape = 1.5;
            model.batch = batches[b];
            double horizon = 400 * FAILURES_YEAR / model.nodes;
            assert_true(failures_draw(&trace, &model, horizon * 10, 5, &err));
            check_order(&trace);
            /* every node spends repair / (1 / rate + repair) of the time away; batches widen the spread */
            double expected = model.nodes * horizon * 10 / (1 / model.rate + model.repair);
            double spread = sqrt(expected * (2 * model.batch - 1));
            if (fabs(losses_of(&trace) - expected) > 4 * spread + 0.01 * expected)
                fail_msg("life %d, batch %g: %d losses, expected %g +- %g", life, model.batch,
                         losses_of(&trace), expected, spread);
            failures_release(&trace);
        }
}

static void lives_have_the_shape_of_the_model(void **unused)
{
    struct failure_model model = {.nodes = 20000,
                                  .rate = 1e-6,
                                  .life = FAILURE_WEIBULL,
                                  .shape = 0.7,
                                  .repair = 1e9,
                                  .repair_time = FAILURE_FIXED,
                                  .batch = 1};
    struct failure_trace trace = {0};
    struct error err;
    (void)unused;
    /* the first lives, of which a share 1 - exp(-(t / scale)^shape) has ended at t */
    assert_true(failures_draw(&trace, &model, 3e6, 9, &err));
    for (int time = 100000; time <= 3000000; time *= 2) {
        double t = time;
        int ended = 0;
        double share = 1 - exp(-pow(t * tgamma(1 + 1 / model.shape) * model.rate, model.shape));
        while (ended < trace.count && trace.events[ended].time <= t)
            ended++;
        assert_true(fabs(ended - share * model.nodes) < 4 * sqrt(share * (1 - share) * model.nodes));
    }
    failures_release(&trace);
}

static void repairs_take_their_time(void **unused)
{
    (void)unused;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct failure_model model = plain;
        struct failure_trace trace = {0};
        struct error err;
        double away = 0;
        int returns = 0;
        model.repair_time = fixed ? FAILURE_FIXED : FAILURE_EXPONENTIAL;
        assert_true(failures_draw(&trace, &model, FAILURES_YEAR, 3, &err));
        double *since = calloc((size_t)trace.nodes, sizeof *since);
        assert_non_null(since);
        for (int i = 0; i < trace.count; i++) {
            const struct failure_event *event = &trace.events[i];
            if (event->returned) {
                double time = event->time - since[event->node];
                assert_true(!fixed || fabs(time - 3600) < 1e-6);
                away += time;
                returns++;
            }
            since[event->node] = event->time;
        }
        assert_true(fabs(away / returns - 3600) < 4 * 3600 / sqrt(returns));
        free(since);
        failures_release(&trace);
    }
}

static void nodes_without_repair_are_replaced_at_once(void **unused)
{
    struct failure_model model = plain;
    struct failure_trace trace = {0};
    struct error err;
    (void)unused;
    model.repair = 0;
    model.batch = 3;
    assert_true(failures_draw(&trace, &model, FAILURES_YEAR, 3, &err));
    check_order(&trace);
    for (int i = 0; i < trace.count;) {
        int end = failures_end_of_change(&trace, i), lost = 0;
        for (int k = i; k < end; k++)
            lost += trace.events[k].returned ? -1 : 1;
        assert_int_equal(lost, 0);
        i = end;
    }
    failures_release(&trace);
}

static void a_seed_gives_the_same_trace_and_another_one_does_not(void **unused)
{
    struct failure_trace a = {0}, b = {0}, c = {0};
    struct error err;
    (void)unused;
    assert_true(failures_draw(&a, &plain, FAILURES_YEAR, 1, &err));
    assert_true(failures_draw(&b, &plain, FAILURES_YEAR, 1, &err));
    assert_true(failures_draw(&c, &plain, FAILURES_YEAR, 2, &err));
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.events, b.events, (size_t)a.count * sizeof *a.events);
    assert_true(a.count != c.count || memcmp(a.events, c.events, (size_t)a.count * sizeof *a.events) != 0);
    failures_release(&a);
    failures_release(&b);
    failures_release(&c);
}

static void impossible_models_are_refused(void **unused)
{
    struct error err;
    struct failure_trace trace = {0};
    (void)unused;
    for (int i = 0; i < 8; i++) {
        struct failure_model model = plain;
        double horizon = FAILURES_YEAR;
        switch (i) {
        case 0:
            model.nodes = 0;
            break;
        case 1:
            model.rate = -1;
            break;
        case 2:
            model.rate = NAN;
            break;
        case 3:
            model.repair = -1;
            break;
        case 4:
            model.batch = 0.5;
            break;
        case 5:
            model.batch = 301;
            break;
        case 6:
            model.rate = 1, model.repair = 0;
            break;
        default:
            model.life = FAILURE_WEIBULL, model.shape = 0;
            break;
        }
        assert_false(failures_draw(&trace, &model, horizon, 1, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
    }
    failures_release(&trace);
}

/* ---- facts ---- */

static void mttf_is_as_published(void **unused)
{
    (void)unused;
    double rate = failure_rate_of_node_days(failure_fact_named("rsc-1")->rate);
    assert_true(fabs(failure_mttf(16384 / 8.0, rate) / 3600 - 1.8) < 0.05);
    assert_true(fabs(failure_mttf(131072 / 8.0, rate) / 3600 - 0.23) < 0.005);
    assert_true(fabs(failure_fact_named("llama-3")->rate - 3.79) < 0.005);
    assert_true(fabs(failure_fact_named("rsc-2")->rate - 2.34) < 1e-9);
    assert_null(failure_fact_named("rsc-3"));
}

static void expected_ettr_holds_where_it_says_so(void **unused)
{
    static const double spans[] = {1, 5, 30, 60, 120, 300, 600, 1800, 3600};
    int holding = 0, off = 0;
    (void)unused;
    for (int mttf = 500; mttf < 1000000; mttf *= 2)
        for (size_t u = 0; u < 9; u++)
            for (size_t w = 0; w < 9; w++)
                for (size_t dt = 0; dt < 9; dt++) {
                    bool holds;
                    double formula =
                        failure_expected_ettr(1, 1.0 / mttf, spans[u], spans[dt], spans[w], &holds);
                    double exact = failure_exact_ettr(1, 1.0 / mttf, spans[u], spans[dt], spans[w]);
                    bool near = fabs(formula / exact - 1) <= 0.02;
                    holding += holds;
                    off += !near;
                    assert_true(near || !holds);
                }
    assert_true(holding > 1000 && off > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_take_the_lowest_free_number),
        cmocka_unit_test(a_loss_first_means_that_all_nodes_are_there),
        cmocka_unit_test(counts_become_losses_and_returns),
        cmocka_unit_test(bad_tables_are_refused_with_their_place),
        cmocka_unit_test(slow_nodes_are_read),
        cmocka_unit_test(slow_nodes_come_at_the_rate_of_the_model),
        cmocka_unit_test(losses_come_at_the_rate_of_the_model),
        cmocka_unit_test(lives_have_the_shape_of_the_model),
        cmocka_unit_test(repairs_take_their_time),
        cmocka_unit_test(nodes_without_repair_are_replaced_at_once),
        cmocka_unit_test(a_seed_gives_the_same_trace_and_another_one_does_not),
        cmocka_unit_test(impossible_models_are_refused),
        cmocka_unit_test(mttf_is_as_published),
        cmocka_unit_test(expected_ettr_holds_where_it_says_so),
    };
    return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
