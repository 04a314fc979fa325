/* Speeds and seconds of copies that policies take from a kit, against the searches that they come from. */
#include "elastic/kit_rates.h"
#include "elastic/rate.h"
#include "elastic/reconfigure.h"
#include "support/random_kit.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define CASES 400

/* On nodes of one kind: no slower than the best set of as many or fewer nodes, and not faster than all of them. */
static void speeds_are_those_of_the_best_sets(void **unused)
{
    int cases = random_cases(CASES), compared = 0;
    (void)unused;
    for (int i = 0; i < cases; i++) {
        struct elastic_kit kit;
        struct elastic_rates rates;
        struct error err;
        random_kit(&kit, &(struct random_kit_spec){1, 8, 5, 40, true}, (uint64_t)i);
        struct elastic_rate *rate = elastic_rate_new(&kit, 0, &err);
        assert_non_null(rate);
        bool made = elastic_rates_of_kit(&rates, &kit, 0, &err);
        double least = INFINITY;
        for (int n = 0; made && n <= rates.nodes; n++) {
            double seconds;
            assert_true(elastic_rate_seconds(rate, &n, &seconds, &err));
            least = fmin(least, seconds);
            assert_true(isinf(least) ? rates.best[n] <= 0 : fabs(rates.best[n] - least) <= 1e-12 * least);
            compared += !isinf(least);
        }
        for (int d = 1; made && d <= rates.pipelines; d++)
            assert_true(rates.equal[d] >= rates.best[(size_t)d * (size_t)rates.stages]);
        assert_true(made || err.kind == ERROR_INFEASIBLE);
        if (made)
            elastic_rates_release(&rates);
        elastic_rate_free(rate);
        elastic_kit_release(&kit);
    }
    assert_true(compared > cases);
}

/* Every loss of one node by itself, without the table of losses that are alike. */
static void copies_are_the_mean_of_all_single_losses(void **unused)
{
    int cases = random_cases(CASES), compared = 0;
    (void)unused;
    for (int i = 0; i < cases; i++) {
        struct elastic_kit kit;
        struct elastic_set set;
        struct elastic_state state;
        struct error err;
        int nodes[ELASTIC_MAX_KINDS], answered = 0, asked = 0;
        double seconds, checkpoints, sum = 0;
        random_kit(&kit, &(struct random_kit_spec){2, 5, 5, 40, true}, 1000 + (uint64_t)i);
        for (int k = 0; k < kit.kind_count; k++)
            nodes[k] = kit.kinds[k].nodes.count;
        bool found = elastic_copy_seconds(&kit, &seconds, &checkpoints, &err);
        if (!found || !elastic_instances(&set, &kit, nodes, 0, &err)) {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
            elastic_kit_release(&kit);
            continue;
        }
        assert_true(elastic_state_start(&state, &kit, &set, &err));
        for (int node = 0; node < elastic_kit_nodes(&kit); node++) {
            struct elastic_transition way;
            const struct elastic_change change = {.lost = &node, .lost_count = 1};
            asked++;
            if (!elastic_reconfigure(&way, &state, &change, &err))
                continue; /* too few nodes are left */
            if (!way.outcome.checkpoint) {
                answered++;
                sum += way.outcome.seconds;
            }
            elastic_transition_release(&way);
        }
        assert_true(fabs(checkpoints - (1 - (double)answered / asked)) < 1e-9);
        assert_true(fabs(seconds - (answered > 0 ? sum / answered : 0)) <= 1e-9 * (1 + seconds));
        compared += answered > 0;
        elastic_state_release(&state);
        elastic_set_release(&set);
        elastic_kit_release(&kit);
    }
    assert_true(compared > cases / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speeds_are_those_of_the_best_sets),
        cmocka_unit_test(copies_are_the_mean_of_all_single_losses),
    };
    return cmocka_run_group_tests_name("kit_rates", tests, NULL, NULL);
}
