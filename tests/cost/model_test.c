/* The tables of models and devices. */
#include "cost/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Totals as the published checkpoints have them (number of elements in the released weights). */
static void parameters_equal_published_totals(void **state)
{
    static const struct {
        const char *name;
        double parameters;
    } published[] = {
        {"gpt2", 124439808},        {"gpt2-medium", 354823168},   {"gpt2-large", 774030080},
        {"gpt2-xl", 1557611200},    {"bert-base", 109514298},     {"bert-large", 335174458},
        {"llama-2-7b", 6738415616}, {"llama-2-13b", 13015864320}, {"llama-2-70b", 68976648192},
        {"llama-3-8b", 8030261248}, {"llama-3-70b", 70553706496}, {"mixtral-8x7b", 46702792704},
    };
    int count;
    (void)state;
    cost_models(&count);
    assert_int_equal(count, sizeof published / sizeof *published);
    for (int i = 0; i < count; i++) {
        const struct cost_model *model = cost_model_find(published[i].name);
        assert_non_null(model);
        assert_true(cost_model_parameters(model) == published[i].parameters);
    }
}

static void heads_divide_the_hidden_size(void **state)
{
    int count;
    const struct cost_model *models = cost_models(&count);
    (void)state;
    for (int i = 0; i < count; i++) {
        assert_int_equal(models[i].hidden % models[i].heads, 0);
        assert_int_equal(models[i].heads % models[i].kv_heads, 0);
        assert_true(models[i].active_experts <= models[i].experts);
    }
}

static void unknown_names_are_not_found(void **state)
{
    (void)state;
    assert_null(cost_model_find("gpt2-xxl"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_equal_published_totals),
        cmocka_unit_test(heads_divide_the_hidden_size),
        cmocka_unit_test(unknown_names_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
