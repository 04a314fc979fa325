#include "plan/fleet/classes.h"
#include "plan/fleet/nodes.h"
#include "plan/fleet/search.h"
#include "plan/fleet/small.h"

#define CASES 1000

/* ---- the slow way: all pipelines, all sets of them ---- */

struct slow {
    const struct fleet_problem *problem;
    struct small_list list;
    int left[FLEET_MAX_ROWS];
    const struct fleet_pipeline *chosen[16];
    int chosen_count;
    double best;
};

/* Micro-batches one by one to the pipeline that is done with it first: optimal for equal tasks. */
static double finish(const struct slow *slow)
{
    int64_t own[16] = {0};
    double last = 0.0, after = 0.0;
    for (int i = 0; i < slow->chosen_count; i++)
        after = fmax(after, slow->chosen[i]->after);
    for (int64_t m = 0; m < slow->problem->microbatches; m++) {
        int best = 0;
        double soonest = INFINITY;
        for (int i = 0; i < slow->chosen_count; i++) {
            double done = slow->chosen[i]->fill + (double)own[i] * slow->chosen[i]->cycle;
            if (done < soonest) {
                soonest = done;
                best = i;
            }
        }
        own[best]++;
        last = fmax(last, soonest);
    }
    return last + after;
}

static void every_set(struct slow *slow, int from)
{
    if (slow->chosen_count > 0)
        slow->best = fmin(slow->best, finish(slow));
    for (int i = from; i < slow->list.count; i++) {
        bool fits = true;
        for (int t = 0; t < fleet_rows(slow->problem); t++)
            fits &= slow->list.all[i].devices[t] <= slow->left[t];
        if (!fits)
            continue;
        for (int t = 0; t < fleet_rows(slow->problem); t++)
            slow->left[t] -= slow->list.all[i].devices[t];
        slow->chosen[slow->chosen_count++] = &slow->list.all[i];
        every_set(slow, i);
        slow->chosen_count--;
        for (int t = 0; t < fleet_rows(slow->problem); t++)
            slow->left[t] += slow->list.all[i].devices[t];
    }
}

/* Of pipelines with the same devices, one that is better than another in fill and cycle is better in any set. */
static void drop_worse(struct slow *slow)
{
    int kept = 0;
    for (int i = 0; i < slow->list.count; i++) {
        bool worse = false;
        const struct fleet_pipeline *a = &slow->list.all[i];
        for (int j = 0; j < slow->list.count && !worse; j++) {
            const struct fleet_pipeline *b = &slow->list.all[j];
            bool as_good = b->fill <= a->fill && b->cycle <= a->cycle && b->after <= a->after;
            for (int t = 0; t < fleet_rows(slow->problem); t++)
                as_good &= b->devices[t] <= a->devices[t];
            bool same = b->fill == a->fill && b->cycle == a->cycle && b->after == a->after &&
                        memcmp(a->devices, b->devices, sizeof a->devices) == 0;
            worse = as_good && (!same || j < i);
        }
        if (!worse)
            slow->list.all[kept++] = *a; /* those before it were looked at */
    }
    slow->list.count = kept;
}

static double slowly(const struct fleet_problem *problem)
{
    struct slow slow = {.problem = problem, .best = INFINITY};
    small_pipelines(&slow.list, problem);
    drop_worse(&slow);
    for (int t = 0; t < fleet_rows(problem); t++)
        slow.left[t] = fleet_limit(problem, t);
    every_set(&slow, 0);
    small_release(&slow.list);
    return slow.best;
}

static void check_plan(const struct fleet_problem *problem, const struct fleet_choice *plan)
{
    int used[FLEET_MAX_TYPES] = {0}, pipelines = 0;
    int64_t microbatches = 0;
    double slowest = 0.0;
    for (int k = 0; k < plan->pipeline_count; k++) {
        const struct fleet_pipeline *p = &plan->pipelines[k];
        int at = 0;
        for (int i = 0; i < p->stage_count; i++) {
            const struct fleet_stage *stage = &p->stages[i];
            const struct fleet_option *o = &problem->options[stage->option];
            assert_int_equal(stage->first, at);
            assert_true(stage->last > at);
            assert_true(fleet_stage_memory(problem, stage, p->stage_count - i) <=
                        problem->types[o->type].memory);
            used[o->type] += o->tensor * p->copies;
            at = stage->last;
        }
        assert_int_equal(at, problem->layer_count);
        microbatches += p->microbatches;
        pipelines += p->copies;
        slowest =
            fmax(slowest, p->fill + (double)((p->microbatches + p->copies - 1) / p->copies - 1) * p->cycle);
    }
    for (int t = 0; t < problem->type_count; t++)
        assert_true(used[t] <= problem->types[t].devices);
    assert_true(problem->max_pipelines == 0 || pipelines <= problem->max_pipelines);
    assert_int_equal(microbatches, problem->microbatches);
    assert_true(fabs((slowest + plan->after) / plan->seconds - 1.0) < 1e-9);
}

/* For any prices and deadline: the best of all pipelines that do a micro-batch by then, but for the tolerance, or one
 * that is better still. */
static void prices_find_the_best_pipeline(void **state)
{
    (void)state;
    int cases = random_cases(CASES), found = 0;
    for (int i = 0; i < cases; i++) {
        struct small small = {0};
        struct random_source source = {(uint64_t)i + 77};
        make_small(&small, (uint64_t)i + 1);
        struct fleet_problem *p = &small.problem;
        for (int t = 0; t < p->type_count; t++)
            p->types[t].devices = 1000;
        struct slow slow = {.problem = p};
        small_pipelines(&slow.list, p);
        double prices[FLEET_MAX_ROWS], deadline = 0.2 + 4.0 * random_unit(&source);
        double best = 0.0, max = 0.0; /* most: of those that do a part of a micro-batch, too */
        double after = 0.3 * random_range(&source, 1, 10);
        for (int t = 0; t < fleet_rows(p); t++)
            prices[t] = random_one_in(&source, 3) ? 0.0 : random_unit(&source);
        for (int k = 0; k < slow.list.count; k++) {
            double value = (deadline - slow.list.all[k].fill) / slow.list.all[k].cycle + 1.0;
            for (int t = 0; t < fleet_rows(p); t++)
                value -= prices[t] * slow.list.all[k].devices[t];
            if (slow.list.all[k].after > after)
                continue;
            max = fmax(max, value);
            if (slow.list.all[k].fill <= deadline)
                best = fmax(best, value);
        }
        int limits[FLEET_MAX_ROWS];
        for (int t = 0; t < fleet_rows(p); t++)
            limits[t] = fleet_limit(p, t);
        struct fleet_pricer *pricer = fleet_pricer_new(p);
        assert_non_null(pricer);
        fleet_pricer_limit(pricer, after);
        struct fleet_pipeline pipeline;
        double late;
        const struct fleet_price_query query = {deadline, 0.0, 1e-8, prices, limits, NULL, NULL};
        double value = fleet_price(pricer, &query, &pipeline, &late);
        for (int k = 0; k < slow.list.count; k++) {
            double then = (deadline - late - slow.list.all[k].fill) / slow.list.all[k].cycle + 1.0;
            for (int t = 0; t < fleet_rows(p); t++)
                then -= prices[t] * slow.list.all[k].devices[t];
            if (slow.list.all[k].after <= after && slow.list.all[k].fill <= deadline - late && then > 1e-9)
                fail_msg("case %d: %.9g s earlier a pipeline is worth %.9g more than its price", i, late,
                         then);
        }
        if (fmax(value, 0.0) < best - 1e-5 || value > max + 1e-9 || late < 0.0)
            fail_msg("case %d: %.9g, %.9g s late; of all pipelines %.9g", i, value, late, best);
        found += best > 0.0;
        fleet_pricer_free(pricer);
        small_release(&slow.list);
    }
    assert_in_range(found, cases / 10, cases);
}

static void bounds_hold_and_plans_are_near(void **state)
{
    (void)state;
    int cases = random_cases(CASES), found = 0, best = 0;
    double worst = 1.0, sum = 0.0, below = 0.0, columns = 0.0;
    for (int i = 0; i < cases; i++) {
        struct small small = {0};
        struct fleet_choice plan;
        struct error err;
        make_small(&small, (uint64_t)i + 1);
        double optimum = slowly(&small.problem);
        bool done = fleet_search(&plan, &small.problem, INFINITY, NULL, &err);
        if (done != (bool)isfinite(optimum))
            fail_msg("case %d: %s, but the slow way finds %g", i, done ? "a plan" : err.text, optimum);
        if (!done)
            continue;
        check_plan(&small.problem, &plan);
        if (plan.lower_bound > optimum * (1.0 + 1e-9) || plan.seconds < optimum * (1.0 - 1e-9))
            fail_msg("case %d: bound %.9g, optimum %.9g, plan %.9g", i, plan.lower_bound, optimum,
                     plan.seconds);
        found++;
        best += plan.seconds <= optimum * (1.0 + 1e-9);
        worst = fmax(worst, plan.seconds / optimum);
        below += 1.0 - plan.lower_bound / optimum;
        sum += plan.seconds / optimum - 1.0;
        columns += (double)plan.columns;
        fleet_choice_release(&plan);
    }
    print_message(
        "# %d of %d have the optimum, mean %.3f %% above it, at worst %.1f %%; the bound is %.1f %% below; "
        "%.1f columns\n",
        best, found, 100.0 * sum / found, 100.0 * (worst - 1.0), 100.0 * below / found, columns / found);
    assert_true(found > cases / 4);
    assert_true(best > found * 9 / 10);
    if (cases == CASES) { /* fleet.h says a little less: a search that becomes better moves these */
        assert_true(best >= 835);
        assert_true(sum / found <= 0.0034);
        assert_true(worst <= 1.26);
        assert_true(below / found <= 0.13);
    }
}

/* What a search proves of all devices, of which each is a node, bounds the plans on fewer of them, which wait less: those of the
 * slow way. It says more than that layers take a share of their seconds. */
static void proofs_hold_for_fewer_devices(void **state)
{
    (void)state;
    int cases = random_cases(CASES / 2), parts = 0, raised = 0;
    for (int i = 0; i < cases; i++) {
        struct random_source source = {(uint64_t)i + 77};
        struct small small = {0};
        struct arena arena = {0};
        struct fleet_problem all, few;
        struct fleet_choice plan;
        struct fleet_claim claim;
        struct error err;
        make_small(&small, (uint64_t)i + 1);
        small.waiting = random_one_in(&source, 2) ? 0.0 : 0.1 * random_unit(&source);
        small.problem.min_after = 0.0;
        for (int t = 0; t < small.problem.type_count; t++)
            small.problem.types[t].per_node = 1;
        const struct fleet_maker maker = {&small, small_spread, 0.0};
        struct fleet_spread spread = {2.0, 2, 1, small.problem.max_pipelines, fleet_devices(&small.problem)};
        assert_true(small_spread(&small, &spread, &all, &arena));
        bool found = fleet_search(&plan, &all, INFINITY, NULL, &err);
        struct fleet_nodes nodes = {.maker = &maker, .all = &all};
        assert_true(fleet_nodes_begin(&nodes, &err));
        assert_true(fleet_claim_make(&claim, &plan, &all, 1, &nodes.arena));
        const struct fleet_known known = {fleet_part_of_types(&all, 7), plan.lower_bound, 1, &claim};
        assert_true(fleet_nodes_know(&nodes, &known));
        for (int k = 0; k < 4 && found; k++) {
            struct fleet_part part = {.nodes = 0};
            for (int t = 0; t < all.type_count; t++) {
                part.devices[t] = random_range(&source, 0, all.types[t].devices);
                part.nodes += part.devices[t];
            }
            if (part.nodes == 0)
                continue;
            spread.nodes = part.nodes;
            assert_true(small_spread(&small, &spread, &few, &arena));
            for (int t = 0; t < all.type_count; t++)
                few.types[t].devices = part.devices[t];
            double optimum = slowly(&few), bound = fleet_nodes_bound(&nodes, &part);
            if (bound > optimum * (1.0 + 1e-9))
                fail_msg("case %d: bound %.17g of a part, which takes %.17g", i, bound, optimum);
            parts++;
            raised += bound > plan.lower_bound * (1.0 + 1e-3);
        }
        if (found)
            fleet_choice_release(&plan);
        fleet_nodes_end(&nodes);
        arena_release(&arena);
    }
    print_message("# of %d parts %d have a higher bound than all devices\n", parts, raised);
    assert_true(raised > parts / 4);
}

/* Pipelines seen in one search serve the next; one that has enough stops, and its bound holds. */
static void searches_go_on_from_others_and_stop_at_enough(void **state)
{
    (void)state;
    int found = 0, again_found = 0;
    for (int i = 0; i < 100; i++) {
        struct small small = {0};
        struct fleet_choice plan, again;
        struct fleet_columns columns = {0};
        struct error err;
        double bound;
        make_small(&small, (uint64_t)i + 1);
        if (i % 2)
            memset(small.after, 0, sizeof small.after);
        bool done = fleet_search(&plan, &small.problem, INFINITY, &columns, &err);
        assert_true(fleet_bound(&bound, &small.problem, &err));
        assert_true(!done || isfinite(bound));
        if (done) {
            found++;
            assert_true(columns.count > 0 && plan.columns == columns.count);
            assert_true(bound <= plan.seconds * (1.0 + 1e-9));
            assert_true(i % 2 == 0 || bound >= 0.97 * plan.lower_bound); /* it leaves `after` aside */
            int before = columns.count;
            double seconds = plan.seconds, min = plan.lower_bound;
            assert_true(fleet_search(&again, &small.problem, INFINITY, &columns, &err));
            assert_true(columns.count >= before);
            assert_true(again.seconds <= seconds * 1.05);
            fleet_choice_release(&again);
            if (fleet_search(&again, &small.problem, seconds * 1.05, NULL, &err)) {
                again_found++;
                assert_true(again.seconds < seconds * 1.05);
                fleet_choice_release(&again);
            }
            assert_false(fleet_search(&again, &small.problem, min * 0.999, NULL, &err));
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
            assert_true(again.too_slow && again.pipeline_count == 0);
            assert_true(again.lower_bound >= min * 0.995 && again.lower_bound <= seconds);
            fleet_choice_release(&plan);
        } else {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
            assert_false(plan.too_slow);
        }
        fleet_columns_release(&columns);
        assert_null(columns.pipelines);
    }
    print_message("# %d of %d found again\n", again_found, found);
    assert_true(found > 50);
    assert_true(again_found >= found * 9 / 10);
}

/* A chain of more layers than a pipeline has stages, on as many devices as it has layers: stages of one layer each, but for
 * those that share one so that there are 64. */
static void long_chains_have_as_many_stages_as_may_be(void **state)
{
    (void)state;
    enum { LONG = 70 };
    double sums[LONG + 1], none[LONG + 1] = {0};
    struct fleet_problem problem = {
        .layer_count = LONG, .type_count = 1, .option_count = 1, .microbatches = 1};
    struct fleet_choice plan;
    struct error err;
    for (int l = 0; l <= LONG; l++)
        sums[l] = l;
    problem.types[0] = (struct fleet_type){.devices = LONG, .memory = 2.0}; /* two layers a stage at most */
    problem.options[0] = (struct fleet_option){.tensor = 1,
                                               .sums.seconds = sums,
                                               .sums.kept = none,
                                               .sums.held = sums,
                                               .sums.after = none,
                                               .sums.send = none};
    problem.microbatches = 100;
    assert_true(fleet_search(&plan, &problem, INFINITY, NULL, &err));
    check_plan(&problem, &plan);
    for (int k = 0; k < plan.pipeline_count; k++)
        assert_in_range(plan.pipelines[k].stage_count, LONG / 2, LONG);
    assert_true(plan.lower_bound >= 100.0); /* all devices at work all the time */
    assert_true(plan.seconds <= LONG + 99 * 2.0);
    fleet_choice_release(&plan);
}

/* Of 100 layers no device holds two: a pipeline has 100 stages. */
static void chains_have_as_many_stages_as_layers(void **state)
{
    (void)state;
    enum { LONG = 100 };
    double sums[LONG + 1], none[LONG + 1] = {0};
    struct fleet_problem problem = {
        .layer_count = LONG, .type_count = 1, .option_count = 1, .microbatches = 10};
    struct fleet_choice plan;
    struct error err;
    for (int l = 0; l <= LONG; l++)
        sums[l] = l;
    problem.types[0] = (struct fleet_type){.devices = LONG, .memory = 1.0};
    problem.options[0] = (struct fleet_option){.tensor = 1,
                                               .sums.seconds = sums,
                                               .sums.kept = none,
                                               .sums.held = sums,
                                               .sums.after = none,
                                               .sums.send = none};
    assert_true(fleet_search(&plan, &problem, INFINITY, NULL, &err));
    assert_int_equal(plan.pipeline_count, 1);
    assert_int_equal(plan.pipelines[0].stage_count, LONG);
    assert_true(SMALL_SAME(plan.seconds, LONG + 9.0));
    fleet_choice_release(&plan);
    problem.types[0].devices--;
    assert_false(fleet_search(&plan, &problem, INFINITY, NULL, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
}

/* One band alone leaves the time after the pipelines out of the bound; further bands raise the bound. */
static void bands_raise_the_bound(void **state)
{
    (void)state;
    int found = 0, raised = 0;
    for (int i = 0; i < 100; i++) {
        struct small small = {0};
        struct fleet_choice plan;
        struct error err;
        double bounds[3] = {0};
        make_small(&small, (uint64_t)i + 1);
        for (int b = 0; b < 3; b++) {
            small.problem.bands = b == 2 ? FLEET_MAX_BANDS : b + 1;
            if (!fleet_search(&plan, &small.problem, INFINITY, NULL, &err))
                break;
            check_plan(&small.problem, &plan);
            bounds[b] = plan.lower_bound;
            fleet_choice_release(&plan);
        }
        assert_true(bounds[1] >= bounds[0] && bounds[2] >= bounds[1]);
        found += bounds[0] > 0.0;
        raised += bounds[1] > bounds[0] * 1.001;
    }
    assert_true(found > 50);
    assert_true(raised > found / 2);
}

/* Many devices and micro-batches: near the bound, as fleet.h says. */
static void large_fleets_are_near_their_bound(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct small small = {0};
        struct fleet_choice plan;
        struct error err;
        make_small(&small, (uint64_t)i + 11);
        struct fleet_problem *p = &small.problem;
        for (int t = 0; t < p->type_count; t++)
            p->types[t] = (struct fleet_type){.devices = 32 * (t + 1), .memory = 6.0};
        p->microbatches = 1000;
        p->max_pipelines = i % 2 ? 40 : 0;
        if (!fleet_search(&plan, p, INFINITY, NULL, &err))
            fail_msg("case %d: %s", i, err.text);
        check_plan(p, &plan);
        if (plan.seconds > (i == 4 ? 1.05 : 1.03) * plan.lower_bound)
            fail_msg("case %d: %g, bound %g", i, plan.seconds, plan.lower_bound);
        fleet_choice_release(&plan);
    }
}

/* ---- what depends on the number of pipelines ---- */

/* The nodes that hold the devices of a set of pipelines. */
static int nodes_of(const struct slow *slow)
{
    int nodes = 0;
    for (int t = 0; t < slow->problem->type_count; t++) {
        int used = 0, each = slow->problem->types[t].per_node;
        for (int i = 0; i < slow->chosen_count; i++)
            used += slow->chosen[i]->devices[t];
        nodes += each > 0 ? (used + each - 1) / each : 0;
    }
    return nodes > 0 ? nodes : 1;
}

/* A set of pipelines with what its number makes of it; INFINITY: it does not fit. */
static double finish_spread(const struct slow *slow, const struct small *small)
{
    struct arena arena = {0};
    struct fleet_problem problem;
    struct fleet_pipeline own[16];
    struct slow set = *slow;
    bool fits = true;
    for (int i = 0; i < slow->chosen_count; i++) {
        struct fleet_spread spread = {slow->chosen_count, slow->chosen_count, 0, 0, nodes_of(slow)};
        for (int j = 0; j < slow->chosen_count; j++)
            spread.alike += slow->chosen[j] == slow->chosen[i];
        assert_true(small_spread(small, &spread, &problem, &arena));
        own[i] = *slow->chosen[i];
        fits &= fleet_pipeline_fits(&problem, &own[i]);
        fleet_pipeline_score(&problem, &own[i]);
        set.chosen[i] = &own[i];
    }
    double seconds = fits ? finish(&set) : INFINITY;
    arena_release(&arena);
    return seconds;
}

static void every_spread_set(struct slow *slow, const struct small *small, int from)
{
    if (slow->chosen_count > small->problem.microbatches) /* a pipeline without work */
        return;
    if (slow->chosen_count > 0)
        slow->best = fmin(slow->best, finish_spread(slow, small));
    for (int i = from; i < slow->list.count; i++) {
        bool fits = true;
        for (int t = 0; t < slow->problem->type_count; t++)
            fits &= slow->list.all[i].devices[t] <= slow->left[t];
        if (!fits)
            continue;
        for (int t = 0; t < slow->problem->type_count; t++)
            slow->left[t] -= slow->list.all[i].devices[t];
        slow->chosen[slow->chosen_count++] = &slow->list.all[i];
        every_spread_set(slow, small, i);
        slow->chosen_count--;
        for (int t = 0; t < slow->problem->type_count; t++)
            slow->left[t] += slow->list.all[i].devices[t];
    }
}

/* Each kind of pipeline exchanges gradients with its own number of copies. */
static void check_gradients(const struct small *small, const struct fleet_choice *plan)
{
    int pipelines = fleet_pipelines(plan);
    double slowest = 0.0;
    for (int k = 0; k < plan->pipeline_count; k++) {
        const struct fleet_pipeline *p = &plan->pipelines[k];
        const struct fleet_spread spread = {pipelines, pipelines, p->copies, pipelines, 1};
        for (int i = 0; i < p->stage_count; i++) {
            const struct fleet_stage *stage = &p->stages[i];
            int tensor = small->problem.options[stage->option].tensor;
            double after =
                (small->after[stage->option][stage->last] - small->after[stage->option][stage->first]) *
                small_share(&spread, tensor);
            assert_true(SMALL_SAME(p->gradients[i], 0.75 * after));
            slowest = fmax(slowest, after);
        }
    }
    assert_true(SMALL_SAME(plan->after, slowest));
}

/* Also if stages take longer the more nodes are used: some of them may better stay idle. */
static void small_fleets_have_the_optimum(void **state)
{
    (void)state;
    int cases = random_cases(300), found = 0, several = 0, idle = 0;
    for (int i = 0; i < cases; i++) {
        struct small small = {0};
        struct fleet_choice plan;
        struct fleet_problem problem, any;
        struct arena arena = {0};
        struct error err;
        make_small(&small, (uint64_t)i + 1);
        for (int t = 0; t < small.problem.type_count; t++) /* few enough to list all sets */
            small.problem.types[t].devices =
                small.problem.types[t].devices > 2 ? 2 : small.problem.types[t].devices;
        if (i % 2) {
            struct random_source source = {(uint64_t)i};
            small.waiting = 0.4 * random_unit(&source);
            for (int t = 0; t < small.problem.type_count; t++)
                small.problem.types[t].per_node = random_range(&source, 1, 2);
        }
        const struct fleet_maker maker = {&small, small_spread, 1e9};
        assert_true(small_spread(&small, &FLEET_SPREAD_ANY, &any, &arena));
        struct slow slow = {.problem = &any, .best = INFINITY};
        small_pipelines(&slow.list, &any);
        for (int t = 0; t < any.type_count; t++)
            slow.left[t] = any.types[t].devices;
        if (slow.list.count > 300) { /* the slow way would take too long */
            small_release(&slow.list);
            arena_release(&arena);
            continue;
        }
        every_spread_set(&slow, &small, 0);
        bool done = fleet_search_classes(&plan, &problem, &maker, INFINITY, &err);
        if (done != (bool)isfinite(slow.best))
            fail_msg("case %d: %s, but the slow way finds %g", i, done ? "a plan" : err.text, slow.best);
        if (done && (!SMALL_SAME(plan.seconds, slow.best) || plan.lower_bound != plan.seconds))
            fail_msg("case %d: %.9g, bound %.9g, but the best is %.9g", i, plan.seconds, plan.lower_bound,
                     slow.best);
        if (done) {
            found++;
            int used = 0, devices = 0;
            for (int t = 0; t < problem.type_count; t++)
                devices += problem.types[t].devices;
            for (int k = 0; k < plan.pipeline_count; k++)
                for (int t = 0; t < problem.type_count; t++)
                    used += plan.pipelines[k].copies * plan.pipelines[k].devices[t];
            idle += small.waiting > 0.0 && used < devices;
            check_gradients(&small, &plan);
            several += fleet_pipelines(&plan) > 1;
            fleet_choice_release(&plan);
        }
        small_release(&slow.list);
        arena_release(&arena);
    }
    assert_in_range(several, found / 4, found);
    assert_in_range(idle, found / 20, found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_find_the_best_pipeline),
        cmocka_unit_test(bounds_hold_and_plans_are_near),
        cmocka_unit_test(proofs_hold_for_fewer_devices),
        cmocka_unit_test(searches_go_on_from_others_and_stop_at_enough),
        cmocka_unit_test(long_chains_have_as_many_stages_as_may_be),
        cmocka_unit_test(chains_have_as_many_stages_as_layers),
        cmocka_unit_test(bands_raise_the_bound),
        cmocka_unit_test(large_fleets_are_near_their_bound),
        cmocka_unit_test(small_fleets_have_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
