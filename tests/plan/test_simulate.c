/* The simulator that estimates are measured against, and what the estimates promise. */
#include "support/golden.h"
#include "support/random_problem.h"
#include "support/simulate.h"

#include "core/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka has only one for floats */
#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

#define MAX_STAGES  12
#define RANDOM_RUNS 3000

/* A random pipeline; stage times differ by up to a factor of 20. */
struct random_pipeline {
    int stages, microbatches;
    double forward[MAX_STAGES], backward[MAX_STAGES];
    double sum, slowest; /* of forward + backward */
};

/* Profiles have backward times of the same multiple of the forward time in all layers, or nearly so. Where
 * they do not, one stage may be the slowest forward and another one backward. */
enum backward { PROPORTIONAL, INDEPENDENT };

static struct random_pipeline random_pipeline(uint64_t seed, enum backward kind)
{
    struct random_source source = {seed};
    struct random_pipeline p = {.stages = random_range(&source, 1, MAX_STAGES),
                                .microbatches = random_range(&source, 1, 60)};
    double multiple = 1 + 2 * random_unit(&source);
    for (int i = 0; i < p.stages; i++) {
        p.forward[i] = 0.05 + random_unit(&source);
        p.backward[i] = kind == PROPORTIONAL ? multiple * p.forward[i] : 0.05 + random_unit(&source);
        p.sum += p.forward[i] + p.backward[i];
        p.slowest = fmax(p.slowest, p.forward[i] + p.backward[i]);
    }
    return p;
}

static double simulate(const struct random_pipeline *p)
{
    return simulate_1f1b(p->stages, p->forward, p->backward, p->microbatches);
}

/* The pipeline objective: the first micro-batch passes every stage, the others leave one period apart. */
static double estimate(const struct random_pipeline *p)
{
    return p->sum + (p->microbatches - 1) * p->slowest;
}

static void equal_stages_take_n_plus_s_minus_1_periods(void **state)
{
    (void)state;
    struct random_pipeline p = {0};
    for (int i = 0; i < MAX_STAGES; i++) {
        p.forward[i] = 1;
        p.backward[i] = 2;
    }
    for (p.stages = 1; p.stages <= MAX_STAGES; p.stages++)
        for (p.microbatches = 1; p.microbatches <= 40; p.microbatches++)
            assert_near(simulate(&p), (p.microbatches + p.stages - 1) * 3, 1e-9);
}

static void one_stage_is_busy_all_the_time(void **state)
{
    (void)state;
    struct random_pipeline p = {.stages = 1, .microbatches = 17, .forward = {0.25}, .backward = {0.5}};
    assert_near(simulate(&p), 17 * 0.75, 1e-12);
}

static void one_microbatch_passes_stage_after_stage(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct random_pipeline p = random_pipeline(seed, INDEPENDENT);
        p.microbatches = 1;
        assert_near(simulate(&p), p.sum, 1e-9);
    }
}

/* Two stages of 1 + 2 and 2 + 3 seconds and two micro-batches, drawn on paper:
 *   stage 0: F0 0-1, F1 1-2, B0 6-8, B1 11-13     stage 1: F0 1-3, B0 3-6, F1 6-8, B1 8-11 */
static void two_stages_by_hand(void **state)
{
    (void)state;
    struct random_pipeline p = {.stages = 2, .microbatches = 2, .forward = {1, 2}, .backward = {2, 3}};
    assert_near(simulate(&p), 13, 1e-12);
}

static void the_estimate_is_never_below_the_simulation(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_RUNS; seed++) {
        struct random_pipeline p = random_pipeline(seed, PROPORTIONAL);
        assert_true(estimate(&p) >= simulate(&p) * (1 - 1e-12));
    }
}

/* The period of 1F1B can then be longer than any one stage's time. It is, but rarely and by little. */
static void the_estimate_is_hardly_below_when_backward_is_independent(void **state)
{
    (void)state;
    int below = 0;
    for (uint64_t seed = 0; seed < RANDOM_RUNS; seed++) {
        struct random_pipeline p = random_pipeline(seed, INDEPENDENT);
        double ratio = estimate(&p) / simulate(&p);
        assert_true(ratio > 0.95);
        below += ratio < 1 - 1e-12;
    }
    assert_in_range(below, 1, RANDOM_RUNS / 100);
}

/* Random stages are worse than any planner would make them; a planner's plans stay within a few percent. */
static void the_estimate_is_near_the_simulation(void **state)
{
    (void)state;
    double ratios = 0;
    for (uint64_t seed = 0; seed < RANDOM_RUNS; seed++) {
        struct random_pipeline p = random_pipeline(seed, PROPORTIONAL);
        double ratio = estimate(&p) / simulate(&p);
        assert_true(ratio < 1.35);
        ratios += ratio;
    }
    assert_true(ratios / RANDOM_RUNS < 1.03);
}

/* Before a stage's first forward and after its last backward a micro-batch has to pass the stages before
 * it. */
static void the_simulation_is_never_below_what_any_stage_needs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_RUNS; seed++) {
        struct random_pipeline p = random_pipeline(seed, INDEPENDENT);
        double makespan = simulate(&p), before = 0;
        for (int i = 0; i < p.stages; i++) {
            double own = p.forward[i] + p.backward[i];
            assert_true(makespan >= (before + p.microbatches * own) * (1 - 1e-12));
            before += own;
        }
    }
}

static void a_slower_stage_or_one_more_microbatch_never_helps(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_RUNS; seed++) {
        struct random_pipeline p = random_pipeline(seed, INDEPENDENT);
        double makespan = simulate(&p);
        p.microbatches++;
        assert_true(simulate(&p) > makespan);
        p.microbatches--;
        p.forward[seed % (uint64_t)p.stages] *= 1.5;
        assert_true(simulate(&p) >= makespan);
    }
}

static void all_times_twice_as_long_take_twice_as_long(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random_pipeline p = random_pipeline(seed, INDEPENDENT);
        double makespan = simulate(&p);
        for (int i = 0; i < p.stages; i++) {
            p.forward[i] *= 2;
            p.backward[i] *= 2;
        }
        assert_true(simulate(&p) == 2 * makespan);
    }
}

/* Milliseconds that a recorded plan takes in the simulator. */
static double simulate_golden(const char *name)
{
    struct golden golden;
    struct error err;
    if (!golden_load(&golden, name, &err))
        fail_msg("%s", err.text);
    const struct golden_plan *plan = &golden.plans[0];
    assert_true(plan->found);
    struct random_pipeline p = {.stages = plan->stage_count, .microbatches = golden.microbatches};
    assert_in_range(p.stages, 1, 64);
    double seconds[2][64];
    for (int i = 0; i < p.stages; i++) {
        seconds[0][i] = plan->stages[i].forward;
        seconds[1][i] = plan->stages[i].backward;
    }
    golden_release(&golden);
    return 1e3 * simulate_1f1b(p.stages, seconds[0], seconds[1], p.microbatches);
}

/* A row of the table of simulated times in planning/NOTES.md, section 8.2: "| exp1 seed0 | folding | divide |
 * … |" in milliseconds. False when the line is something else or its plans are not recorded. */
static bool check_row(const char *line, const char *const *names, int name_count)
{
    int experiment;
    char variant[8], folded[64], divided[64];
    double folding_ms, divide_ms;
    if (sscanf(line, "| exp%d %7s | %lf | %lf |", &experiment, variant, &folding_ms, &divide_ms) != 4)
        return false;
    snprintf(folded, sizeof folded, "exp%d_%s_dp_emul.json", experiment, variant);
    snprintf(divided, sizeof divided, "exp%d_%s_dnc.json", experiment, variant);
    int recorded = 0;
    for (int i = 0; i < name_count; i++)
        recorded += strcmp(names[i], folded) == 0 || strcmp(names[i], divided) == 0;
    if (recorded != 2)
        return false;
    assert_near(simulate_golden(folded), folding_ms, 0.1);
    assert_near(simulate_golden(divided), divide_ms, 0.1);
    return true;
}

static void the_simulated_times_of_the_study(void **state)
{
    (void)state;
    const char *folder = golden_folder();
    if (!folder)
        skip();
    struct arena arena = {0};
    int name_count = 0;
    const char *const *names = (const char *const *)golden_list(&arena, "exp", ".json", &name_count);
    char path[4096], *text, *rest = NULL;
    size_t length;
    struct error err;
    snprintf(path, sizeof path, "%s/NOTES.md", folder);
    assert_true(file_read(path, 1 << 20, &text, &length, &err));
    int found = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        found += check_row(line, names, name_count);
    free(text);
    arena_release(&arena);
    assert_true(found >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stages_take_n_plus_s_minus_1_periods),
        cmocka_unit_test(one_stage_is_busy_all_the_time),
        cmocka_unit_test(one_microbatch_passes_stage_after_stage),
        cmocka_unit_test(two_stages_by_hand),
        cmocka_unit_test(the_estimate_is_never_below_the_simulation),
        cmocka_unit_test(the_estimate_is_hardly_below_when_backward_is_independent),
        cmocka_unit_test(the_estimate_is_near_the_simulation),
        cmocka_unit_test(the_simulation_is_never_below_what_any_stage_needs),
        cmocka_unit_test(a_slower_stage_or_one_more_microbatch_never_helps),
        cmocka_unit_test(all_times_twice_as_long_take_twice_as_long),
        cmocka_unit_test(the_simulated_times_of_the_study),
    };
    return cmocka_run_group_tests_name("plan/simulate", tests, NULL, NULL);
}
