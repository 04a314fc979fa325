/* What the search for fleets is made of: its linear program, cycles, deadlines and pipelines that are made to fit. */
#include "plan/fleet/classes.h"
#include "plan/fleet/search.h"
#include "plan/fleet/small.h"

/* ---- the linear program ---- */

#define MAX_COLUMNS 400

struct linear {
    int columns, rows;
    double values[MAX_COLUMNS], limits[FLEET_MAX_ROWS], x[MAX_COLUMNS], prices[FLEET_MAX_ROWS];
    int uses[MAX_COLUMNS][FLEET_MAX_ROWS];
};

static double solve(struct linear *linear)
{
    return fleet_program(linear->columns, linear->rows, linear->values, linear->uses, linear->limits,
                         linear->x, linear->prices);
}

/* Amounts that keep the limits, prices at which no column gains, and the same value of both: no proof needs more. */
static void check_optimal(struct linear *linear)
{
    double value = solve(linear), sum = 0.0, dual = 0.0;
    for (int c = 0; c < linear->columns; c++) {
        double price = 0.0;
        assert_true(linear->x[c] >= 0.0);
        sum += linear->x[c] * linear->values[c];
        for (int row = 0; row < linear->rows; row++)
            price += linear->prices[row] * linear->uses[c][row];
        assert_true(price >= linear->values[c] - 1e-6);
    }
    for (int row = 0; row < linear->rows; row++) {
        double used = 0.0;
        for (int c = 0; c < linear->columns; c++)
            used += linear->x[c] * linear->uses[c][row];
        assert_true(used <= linear->limits[row] * (1.0 + 1e-9) + 1e-9);
        assert_true(linear->prices[row] >= 0.0);
        dual += linear->prices[row] * linear->limits[row];
    }
    assert_true(SMALL_SAME(sum, value));
    assert_true(fabs(dual - value) <= 1e-6 * (1.0 + value));
}

static void programs_are_solved_to_the_optimum(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        static struct linear linear;
        struct random_source source = {(uint64_t)i};
        linear.rows = random_range(&source, 1, FLEET_MAX_ROWS);
        linear.columns = random_range(&source, 0, i % 20 ? 30 : MAX_COLUMNS);
        bool ties = i % 3 == 0;
        for (int row = 0; row < linear.rows; row++)
            linear.limits[row] = random_range(&source, i % 4 ? 1 : 0, 40);
        for (int c = 0; c < linear.columns; c++) {
            linear.values[c] = ties ? random_range(&source, 0, 4) : 100.0 * random_unit(&source);
            for (int row = 0; row < linear.rows; row++)
                linear.uses[c][row] = random_range(&source, 0, ties ? 2 : 5);
            linear.uses[c][random_range(&source, 0, linear.rows - 1)] += 1;
        }
        check_optimal(&linear);
    }
}

/* 3 x + 5 y with x <= 4, 2 y <= 12, 3 x + 2 y <= 18: the textbook's 36 at (2, 6), prices 0, 3/2, 1. */
static void a_textbooks_program_has_its_solution(void **state)
{
    (void)state;
    struct linear linear = {
        .columns = 2,
        .rows = 3,
        .values = {3, 5},
        .limits = {4, 12, 18},
        .uses = {{1, 0, 3}, {0, 2, 2}},
    };
    assert_true(SMALL_SAME(solve(&linear), 36.0));
    assert_true(SMALL_SAME(linear.x[0], 2.0) && SMALL_SAME(linear.x[1], 6.0));
    assert_true(SMALL_SAME(linear.prices[0], 0.0) && SMALL_SAME(linear.prices[1], 1.5) &&
                SMALL_SAME(linear.prices[2], 1.0));
}

/* ---- pipelines ---- */

static void pipelines_are_scored_as_their_layers_add_up(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct small small = {0};
        struct small_list list;
        make_small(&small, (uint64_t)i + 1);
        small_pipelines(&list, &small.problem);
        for (int k = 0; k < list.count; k++) {
            struct fleet_pipeline pipeline = list.all[k];
            pipeline.fill = pipeline.cycle = pipeline.after = 99.0;
            memset(pipeline.devices, 1, sizeof pipeline.devices);
            fleet_pipeline_score(&small.problem, &pipeline);
            assert_true(SMALL_SAME(pipeline.fill, list.all[k].fill));
            assert_true(SMALL_SAME(pipeline.cycle, list.all[k].cycle));
            assert_true(SMALL_SAME(pipeline.after, list.all[k].after));
            assert_memory_equal(pipeline.devices, list.all[k].devices, sizeof pipeline.devices);
        }
        small_release(&list);
    }
}

/* Two stages of two layers each, 1 byte held and 10 bytes kept a layer; 5 bytes of work, 7 in the last stage. */
static void stages_hold_the_micro_batches_behind_them(void **state)
{
    (void)state;
    static double sums[] = {0, 1, 2, 3, 4}, kept[] = {0, 10, 20, 30, 40}, none[5] = {0};
    struct fleet_problem problem = {.layer_count = 4, .type_count = 1, .option_count = 1, .microbatches = 2};
    struct fleet_pipeline pipeline = {.stage_count = 2,
                                      .stages = (struct fleet_stage[]){{0, 0, 2}, {0, 2, 4}}};
    problem.options[0] = (struct fleet_option){.tensor = 1,
                                               .sums.seconds = sums,
                                               .sums.kept = kept,
                                               .sums.held = sums,
                                               .sums.after = none,
                                               .sums.send = none,
                                               .working = 5.0,
                                               .last_working = 7.0};
    problem.types[0].devices = 2;
    assert_true(fleet_stage_memory(&problem, &pipeline.stages[0], 2) == 2 + 2 * 20 + 5);
    assert_true(fleet_stage_memory(&problem, &pipeline.stages[1], 1) == 2 + 20 + 7);
    problem.types[0].memory = 47.0;
    assert_true(fleet_pipeline_fits(&problem, &pipeline));
    problem.types[0].memory = 46.0;
    assert_false(fleet_pipeline_fits(&problem, &pipeline));
    pipeline =
        (struct fleet_pipeline){.stage_count = 2, .stages = (struct fleet_stage[]){{0, 0, 1}, {0, 1, 4}}};
    problem.types[0].memory = 40.0; /* 1 + 20 + 5 and 3 + 30 + 7 */
    assert_true(fleet_pipeline_fits(&problem, &pipeline));
    problem.types[0].memory = 39.0;
    assert_false(fleet_pipeline_fits(&problem, &pipeline));
    /* a batch of one micro-batch has no second one in flight */
    problem.microbatches = 1;
    pipeline =
        (struct fleet_pipeline){.stage_count = 2, .stages = (struct fleet_stage[]){{0, 0, 2}, {0, 2, 4}}};
    assert_true(fleet_stage_memory(&problem, &pipeline.stages[0], 2) == 2 + 20 + 5);
    problem.types[0].memory = 29.0;
    assert_true(fleet_pipeline_fits(&problem, &pipeline));
}

/* A pipeline of fill 3 and cycle 2 is done with its micro-batches at 3, 5, 7 … */
static void micro_batches_are_done_one_after_the_other(void **state)
{
    (void)state;
    const struct fleet_pipeline pipeline = {.fill = 3.0, .cycle = 2.0};
    static const struct {
        double deadline, whole, parts;
    } cases[] = {
        {0.0, 0, 0},   {1.5, 0, 0}, {2.0, 0, 0.5},  {2.9, 0, 0.95}, {3.0, 1, 1},
        {4.0, 1, 1.5}, {5.0, 2, 2}, {6.9, 2, 2.95}, {7.0, 3, 3},    {203.0, 101, 101},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(fleet_done_by(&pipeline, cases[i].deadline, true) == cases[i].whole);
        assert_true(SMALL_SAME(fleet_done_by(&pipeline, cases[i].deadline, false), cases[i].parts));
    }
}

/* A column's value is its micro-batches, or 0 if its slowest update takes longer than the limit. */
static void columns_have_the_values_of_their_pipelines(void **state)
{
    (void)state;
    struct fleet_pipeline columns[] = {{.fill = 3.0, .cycle = 2.0, .after = 1.0},
                                       {.fill = 1.0, .cycle = 1.0, .after = 1.5},
                                       {.fill = 2.0, .cycle = 2.0, .after = 2.0},
                                       {.fill = 1.0, .cycle = 1.0, .after = 0.0}};
    double values[] = {-1.0, -1.0, -1.0, -1.0};
    struct fleet_searcher s = {.columns = columns, .values = values, .column_count = 3, .after = 1.5};
    fleet_value_columns(&s, 6.0, false);
    assert_true(values[0] == 2.5 && values[1] == 6.0 && values[2] == 0.0);
    fleet_value_columns(&s, 6.0, true);
    assert_true(values[0] == 2.0 && values[1] == 6.0 && values[2] == 0.0);
    assert_true(values[3] == -1.0); /* not a column yet */
    s.after = INFINITY;
    fleet_value_columns(&s, 6.0, true);
    assert_true(values[2] == 3.0);
}

static void replicas_share_a_node_as_far_as_it_goes(void **state)
{
    (void)state;
    static const struct {
        int alike, devices, tensor, together;
    } cases[] = {{1, 8, 1, 1}, {4, 8, 1, 4}, {8, 8, 1, 8}, {9, 8, 1, 8},
                 {4, 8, 4, 2}, {4, 8, 8, 1}, {3, 8, 2, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct fleet_spread spread = {1, 16, cases[i].alike, 0, 1};
        assert_int_equal(fleet_together(&spread, cases[i].devices, cases[i].tensor), cases[i].together);
    }
}

/* No pipeline takes fewer device seconds for a micro-batch, and where nothing is sent one takes just as many. */
static void no_pipeline_works_less(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        struct small small = {0};
        struct small_list list;
        make_small(&small, (uint64_t)i + 1);
        for (int t = 0; t < small.problem.type_count; t++)
            small.problem.types[t] = (struct fleet_type){.devices = 100, .memory = 1e9};
        memset(small.send, 0, sizeof small.send);
        small_pipelines(&list, &small.problem);
        double min = INFINITY;
        for (int k = 0; k < list.count; k++) {
            double work = 0.0;
            for (int j = 0; j < list.all[k].stage_count; j++)
                work += fleet_stage_seconds(&small.problem, &list.all[k].stages[j]) *
                        small.problem.options[list.all[k].stages[j].option].tensor;
            min = fmin(min, work);
        }
        assert_true(SMALL_SAME(fleet_min_work(&small.problem), min));
        small_release(&list);
    }
}

/* ---- cycles ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Seconds of all stages from `min` to `deadline` that are not faster than the slowest layer has to be. */
static int list_cycles(const struct fleet_problem *p, double min, double deadline, double *all)
{
    double slowest = 0.0;
    int count = 0;
    for (int l = 0; l < p->layer_count; l++) {
        double fastest = INFINITY;
        for (int o = 0; o < p->option_count; o++)
            if (fleet_offers(p, &p->options[o]))
                fastest = fmin(fastest, p->options[o].sums.seconds[l + 1] - p->options[o].sums.seconds[l]);
        slowest = fmax(slowest, fastest);
    }
    for (int o = 0; o < p->option_count; o++)
        for (int first = 0; first < p->layer_count && fleet_offers(p, &p->options[o]); first++)
            for (int last = first + 1; last <= p->layer_count; last++) {
                double seconds = fleet_stage_seconds(p, &(struct fleet_stage){o, first, last});
                if (seconds >= fmax(min, slowest) * (1.0 - 1e-12) && seconds <= deadline)
                    all[count++] = seconds;
            }
    qsort(all, (size_t)count, sizeof *all, compare);
    return count;
}

static void cycles_are_the_seconds_of_stages(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct small small = {0};
        struct random_source source = {(uint64_t)i + 5};
        double all[200], some[200], min = 2.0 * random_unit(&source);
        double deadline = min + 4.0 * random_unit(&source);
        make_small(&small, (uint64_t)i + 1);
        int count = list_cycles(&small.problem, min, deadline, all), few = random_range(&source, 1, 8);
        struct fleet_pricer *pricer = fleet_pricer_new(&small.problem);
        assert_non_null(pricer);
        assert_int_equal(fleet_cycles(pricer, min, deadline, 200, some), count);
        for (int k = 0; k < count; k++)
            assert_true(SMALL_SAME(some[k], all[k]));
        int chosen = fleet_cycles(pricer, min, deadline, few, some);
        assert_int_equal(chosen, count < few ? count : few);
        for (int k = 0; k < chosen; k++) /* as many of all up to each as it is of the chosen ones */
            assert_true(SMALL_SAME(some[k], all[(k + 1) * count / chosen - 1]));
        fleet_pricer_free(pricer);
    }
}

/* ---- the best pipeline within limits ---- */

struct limited {
    struct small small;
    struct small_list list;
    struct fleet_pricer *pricer;
    int limits[FLEET_MAX_ROWS];
    double prices[FLEET_MAX_ROWS], deadline, after;
};

static void make_limited(struct limited *limited, uint64_t seed)
{
    struct random_source source = {seed + 1000};
    struct fleet_problem *p = &limited->small.problem;
    *limited = (struct limited){0};
    make_small(&limited->small, seed);
    for (int t = 0; t < p->type_count; t++)
        p->types[t].devices = random_range(&source, 0, 4);
    for (int row = 0; row < fleet_rows(p); row++) {
        limited->limits[row] = fleet_limit(p, row);
        limited->prices[row] = random_one_in(&source, 3) ? 0.0 : 0.5 * random_unit(&source);
    }
    limited->deadline = 0.5 + 8.0 * random_unit(&source);
    limited->after = random_one_in(&source, 4) ? INFINITY : 0.3 * random_range(&source, 1, 10);
    small_pipelines(&limited->list, p);
    limited->pricer = fleet_pricer_new(p);
    assert_non_null(limited->pricer);
    fleet_pricer_limit(limited->pricer, limited->after);
}

static void release_limited(struct limited *limited)
{
    fleet_pricer_free(limited->pricer);
    small_release(&limited->list);
}

static double value_of(const struct limited *limited, const struct fleet_pipeline *pipeline, double deadline)
{
    double value = (deadline - pipeline->fill) / pipeline->cycle + 1.0;
    for (int row = 0; row < fleet_rows(&limited->small.problem); row++)
        value -= limited->prices[row] * pipeline->devices[row];
    return value;
}

/* Is it one of those that there are, with the seconds it has there? */
static bool in_list(const struct small_list *list, const struct fleet_pipeline *pipeline)
{
    for (int k = 0; k < list->count; k++) {
        const struct fleet_pipeline *other = &list->all[k];
        if (other->stage_count == pipeline->stage_count &&
            memcmp(other->stages, pipeline->stages, (size_t)other->stage_count * sizeof *other->stages) == 0)
            return SMALL_SAME(pipeline->fill, other->fill) && SMALL_SAME(pipeline->cycle, other->cycle);
    }
    return false;
}

struct offers {
    const struct limited *limited;
    double best;
    int count;
};

static void take_offer(void *context, const struct fleet_pipeline *pipeline)
{
    struct offers *offers = context;
    assert_true(in_list(&offers->limited->list, pipeline));
    offers->best = fmax(offers->best, value_of(offers->limited, pipeline, offers->limited->deadline));
    offers->count++;
}

static void prices_within_limits_find_the_best_pipeline(void **state)
{
    (void)state;
    int found = 0, best_of_all = 0;
    for (int i = 0; i < 600; i++) {
        struct limited limited;
        make_limited(&limited, (uint64_t)i + 1);
        struct offers offers = {&limited, -INFINITY, 0};
        double best = -INFINITY, late = -1.0, above = i % 3 ? 0.0 : 1.0;
        for (int k = 0; k < limited.list.count; k++)
            if (limited.list.all[k].after <= limited.after && limited.list.all[k].cycle <= limited.deadline)
                best = fmax(best, value_of(&limited, &limited.list.all[k], limited.deadline));
        struct fleet_pipeline pipeline;
        const struct fleet_price_query query = {limited.deadline, above,      1e-8,   limited.prices,
                                                limited.limits,   take_offer, &offers};
        double value = fleet_price(limited.pricer, &query, &pipeline, &late);
        assert_true(late >= 0.0);
        if (isfinite(value)) {
            assert_true(value > above && value <= best + 1e-9);
            assert_true(in_list(&limited.list, &pipeline));
            assert_true(pipeline.after <= limited.after);
            assert_true(SMALL_SAME(value, value_of(&limited, &pipeline, limited.deadline)));
            assert_true(offers.count > 0 && SMALL_SAME(offers.best, value));
        }
        for (int k = 0; k < limited.list.count; k++)
            if (limited.list.all[k].after <= limited.after &&
                limited.list.all[k].fill <= limited.deadline - late)
                assert_true(value_of(&limited, &limited.list.all[k], limited.deadline - late) <=
                            above + 1e-9);
        if (best > above + 1e-6) {
            found++;
            best_of_all += isfinite(value) && value >= best - 1e-6;
        }
        release_limited(&limited);
    }
    print_message("# %d of %d are the best\n", best_of_all, found);
    assert_true(found > 200);
    assert_true(best_of_all >= found * 93 / 100);
}

static void pipelines_made_to_fit_do_the_most(void **state)
{
    (void)state;
    int found = 0, best_of_all = 0;
    for (int i = 0; i < 600; i++) {
        struct limited limited;
        struct fleet_pipeline pipeline = {0};
        make_limited(&limited, (uint64_t)i + 1);
        double best = 0.0, above = i % 3 == 0 ? 2.0 : 0.0;
        for (int k = 0; k < limited.list.count; k++)
            if (limited.list.all[k].after <= limited.after)
                best = fmax(best, fleet_done_by(&limited.list.all[k], limited.deadline, true));
        const struct fleet_fit_query query = {limited.limits, limited.deadline, limited.after, above};
        double done = fleet_fit(&limited.small.problem, limited.pricer, &query, &pipeline);
        assert_true(done <= best);
        if (best <= above)
            assert_true(done == 0.0);
        if (done > 0.0) {
            assert_true(done > above);
            assert_true(in_list(&limited.list, &pipeline));
            assert_true(pipeline.after <= limited.after);
            assert_true(fleet_done_by(&pipeline, limited.deadline, true) == done);
            for (int t = 0; t < limited.small.problem.type_count; t++)
                assert_true(pipeline.devices[t] <= limited.limits[t]);
        }
        found += best > above;
        best_of_all += best > above && done == best;
        release_limited(&limited);
    }
    print_message("# %d of %d are the best\n", best_of_all, found);
    assert_true(found > 150);
    assert_true(best_of_all >= found * 99 / 100);
}

/* A layer of 1 s on one device, 1.5 s on the other: by 2.2 s two micro-batches, or one. The limit need not be whole. */
static void a_lone_stage_fits_into_the_device_that_is_there(void **state)
{
    (void)state;
    static double fast[] = {0, 1}, slow[] = {0, 1.5}, none[2] = {0};
    struct fleet_problem problem = {.layer_count = 1,
                                    .type_count = 2,
                                    .option_count = 2,
                                    .microbatches = 9,
                                    .types = {{.devices = 1, .memory = 1}, {.devices = 1, .memory = 1}}};
    struct fleet_pipeline found;
    for (int t = 0; t < 2; t++)
        problem.options[t] = (struct fleet_option){.type = t,
                                                   .tensor = 1,
                                                   .sums.seconds = t ? slow : fast,
                                                   .sums.kept = none,
                                                   .sums.held = none,
                                                   .sums.after = none,
                                                   .sums.send = none};
    struct fleet_pricer *pricer = fleet_pricer_new(&problem);
    assert_non_null(pricer);
    static const struct {
        int limits[2], option;
        double above, done;
    } cases[] = {
        {{1, 1}, 0, 0.0, 2}, {{1, 1}, 0, 1.0, 2}, {{1, 1}, 0, 1.5, 2}, {{1, 1}, 0, 2.0, 0},
        {{0, 1}, 1, 0.0, 1}, {{0, 1}, 1, 0.5, 1}, {{0, 1}, 1, 1.0, 0}, {{1, 0}, 0, 1.9, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct fleet_fit_query query = {cases[i].limits, 2.2, INFINITY, cases[i].above};
        assert_true(fleet_fit(&problem, pricer, &query, &found) == cases[i].done);
        if (cases[i].done > 0.0) {
            assert_int_equal(found.stage_count, 1);
            assert_int_equal(found.stages[0].option, cases[i].option);
        }
    }
    fleet_pricer_free(pricer);
}

/* ---- whole pipelines ---- */

/* 64 layers of 1 s on 70 devices: for 100 micro-batches a pipeline of 64 stages takes 64 + 99 s, two of 32 stages take
 * 64 + 49 x 2 s. No pipeline is known before, and so many devices are too many to make pipelines fit. */
static void whole_pipelines_are_chosen_for_a_deadline(void **state)
{
    (void)state;
    enum { LONG = 64, DEVICES = 70 };
    double sums[LONG + 1], none[LONG + 1] = {0}, after;
    struct fleet_problem problem = {.layer_count = LONG,
                                    .type_count = 1,
                                    .option_count = 1,
                                    .microbatches = 100,
                                    .types = {{.devices = DEVICES, .memory = 3.0}}};
    struct fleet_choice plan = {0};
    struct error err;
    for (int l = 0; l <= LONG; l++)
        sums[l] = l;
    problem.options[0] = (struct fleet_option){.tensor = 1,
                                               .sums.seconds = sums,
                                               .sums.kept = none,
                                               .sums.held = sums,
                                               .sums.after = none,
                                               .sums.send = none};
    struct fleet_searcher s = {
        .problem = &problem, .after = INFINITY, .pricings_left = 60, .fits_left = 1e4, .limits = {DEVICES}};
    s.pricer = fleet_pricer_new(&problem);
    s.columns = arena_alloc(&s.arena, FLEET_MAX_COLUMNS, sizeof *s.columns);
    s.column_capacity = FLEET_MAX_COLUMNS;
    s.uses = arena_alloc(&s.arena, FLEET_MAX_COLUMNS, sizeof *s.uses);
    s.rest_uses = arena_alloc(&s.arena, FLEET_MAX_COLUMNS, sizeof *s.rest_uses);
    s.copies = ARENA_ARRAY(&s.arena, FLEET_MAX_COLUMNS, int);
    s.rest_columns = ARENA_ARRAY(&s.arena, FLEET_MAX_COLUMNS, int);
    double **arrays[] = {&s.values, &s.amounts, &s.rest_values, &s.rest_amounts};
    for (int i = 0; i < 4; i++)
        *arrays[i] = ARENA_ARRAY(&s.arena, FLEET_MAX_COLUMNS, double);
    assert_true(fleet_choose(&s, 162.001, 0.0, &plan, &after, &err));
    assert_int_equal(fleet_pipelines(&plan), 2);
    assert_int_equal(plan.pipelines[0].stage_count, 32);
    assert_true(SMALL_SAME(plan.seconds, 162.0));
    assert_true(after == 0.0);
    assert_int_equal(s.pricings_left, 45); /* a quarter for this deadline */
    assert_int_equal(s.pricings, 13);      /* for one part of all devices, and two */
    fleet_choice_release(&plan);
    fleet_pricer_free(s.pricer);
    arena_release(&s.stages);
    arena_release(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_solved_to_the_optimum),
        cmocka_unit_test(a_textbooks_program_has_its_solution),
        cmocka_unit_test(pipelines_are_scored_as_their_layers_add_up),
        cmocka_unit_test(stages_hold_the_micro_batches_behind_them),
        cmocka_unit_test(micro_batches_are_done_one_after_the_other),
        cmocka_unit_test(columns_have_the_values_of_their_pipelines),
        cmocka_unit_test(replicas_share_a_node_as_far_as_it_goes),
        cmocka_unit_test(no_pipeline_works_less),
        cmocka_unit_test(cycles_are_the_seconds_of_stages),
        cmocka_unit_test(prices_within_limits_find_the_best_pipeline),
        cmocka_unit_test(pipelines_made_to_fit_do_the_most),
        cmocka_unit_test(a_lone_stage_fits_into_the_device_that_is_there),
        cmocka_unit_test(whole_pipelines_are_chosen_for_a_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
