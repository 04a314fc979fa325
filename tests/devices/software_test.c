/* Software by its name, its version and its date. */
#include "devices/software.h"

#include "devices/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <string.h>

#include <cmocka.h>

static void names_versions_and_dates_tell_generations(void **state)
{
    (void)state;
    static const struct {
        const char *name, *version, *date, *software;
        bool newest;
    } cases[] = {
        {"Megatron-LM", "", "2021-04", "megatron-2021", false},
        {"Megatron-LM", "", "2022-11", "megatron-2022", false},
        {"Megatron-LM", "", "2025-06-14", "megatron-core-2025", false},
        {"Megatron-LM", "", "", "megatron-core", true},
        {"Megatron-LM", "core r0.8.0", "", "megatron-core-2024", false},
        {"Megatron-Core r0.8.0", "", "", "megatron-core-2024", false},
        {"Megatron-Core", "", "2025-10", "megatron-core-2025", false},
        {"megatron-core", "", "2021-04", "megatron-core", false},
        {"Megatron-Bridge 26.02.01 NeMo Container", "", "", "megatron-core-2025", false},
        {"Megatron-Bridge", "26.08", "2026-01", "megatron-core", false},
        {"Pai-Megatron-Patch", "", "2025-02", "megatron-core-2025", false},
        {"Megatron-DeepSpeed", "", "2022", "megatron-deepspeed", false},
        {"NeMo 24.07", "", "", "megatron-core-2024", false},
        {"PyTorch FSDP2 (NeMo AutoModel)", "", "2025-10-06", "automodel", false},
        {"Neuron NeMo Megatron", "Neuron 2.18.0", "2024-04-11", "neuron", false},
        {"PyTorch FSDP (HF Trainer, fms-acceleration)", "torch 2.4.1", "2024-10-18", "hf-trainer", false},
        {"HF Trainer (PyTorch)", "PyTorch 2.0, CUDA 11.8", "2023-11-30", "hf-trainer-2023", false},
        {"HF Trainer", "", "", "hf-trainer", true},
        {"HF Accelerate (DeepSpeed ZeRO-3)", "", "", "deepspeed", false},
        {"PyTorch FSDP (llm-foundry)", "", "", "fsdp", false},
        {"xtuner v1", "", "", "xtuner", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct software_named named = software_named(cases[i].name, cases[i].version, cases[i].date);
        if (!named.software)
            fail_msg("'%s' is not known", cases[i].name);
        assert_string_equal(named.software->name, cases[i].software);
        assert_int_equal(named.newest, cases[i].newest);
    }
    static const char *const strangers[] = {"", "PyTorch", "24.07", "my own loop"};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (software_named(strangers[i], "24.07", "2024-07").software)
            fail_msg("'%s' is known", strangers[i]);
}

static void the_mixture_is_of_known_software(void **state)
{
    (void)state;
    int count = 0;
    for (; software_mixture[count]; count++)
        assert_non_null(software_find(software_mixture[count]));
    assert_int_equal(count % 2, 1); /* one of them is in the middle */
}

/* Reads one more software: like another, with `rest`. */
static bool read(struct table *table, const char *rest, struct error *err)
{
    char text[512];
    snprintf(text, sizeof text, "name: mine\n%s", rest);
    return tables_parse(table, TABLE_SOFTWARE, "mine.yaml", text, strlen(text), err);
}

static void what_a_file_does_not_say_is_the_like_ones(void **state)
{
    (void)state;
    struct table table;
    struct error err;
    assert_true(read(&table,
                     "like: torchtitan-eager\nloss: 20\nsharded: false\nzero: [1, 3]\n"
                     "schedules: [1f1b, dualpipev]\nattention: unfused\ntechniques: [lora-rank, modules]\n",
                     &err));
    const struct software *mine = table.software, *base = software_find("torchtitan-eager");
    assert_string_equal(software_family(mine), "torchtitan-eager");
    assert_string_equal(software_family(base), "torchtitan-eager");
    assert_true(mine->loss == 20 && base->loss != 20 && mine->block_forward == base->block_forward);
    assert_true(!mine->sharded && base->sharded && mine->fully_sharded);
    assert_int_equal(mine->zero, 1 << 1 | 1 << 3);
    assert_int_equal(mine->schedules, 1 << SCHEDULE_1F1B | 1 << SCHEDULE_DUALPIPEV);
    assert_int_equal(mine->attention, ATTENTION_UNFUSED);
    assert_true(mine->techniques == (UINT64_C(1) << TECHNIQUE_RANK | UINT64_C(1) << TECHNIQUE_MODULES));
    assert_true(mine->zero_staged == base->zero_staged && mine->offers == base->offers);
    table_release(&table);
}

static void a_wrong_value_is_refused_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "mine.yaml:1:1: 'block_forward' is missing"},
        {"like: fsdp\nattention: flash4",
         "mine.yaml:3:12: attention: expected unfused, flash2, flash3, found 'flash4'"},
        {"like: fsdp\nzero: [2, 4]", "mine.yaml:3:11: zero[1]: expected 0, 1, 2, 3, found '4'"},
        {"like: fsdp\nzero: []", "mine.yaml:3:7: zero: expected at least one stage"},
        {"like: fsdp\nzero: 3", "mine.yaml:3:7: zero: expected a list, found '3'"},
        {"like: fsdp\ndispatch: mail",
         "mine.yaml:3:11: dispatch: expected alltoall, deepep or allgather, found 'mail'"},
        {"like: fsdp\ntechniques: [modules, tricks]",
         "mine.yaml:3:23: techniques[1]: expected the name of a technique, as of --fix, found 'tricks'"},
        {"like: fsdp\ntensor_shown: 2",
         "mine.yaml:3:15: tensor_shown: expected a number from 0 to 1, found '2'"},
        {"like: fsdp\nstate_bytes: 0",
         "mine.yaml:3:14: state_bytes: expected a number from 0.01 to 1000, found '0'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table table;
        struct error err;
        assert_false(read(&table, cases[i].text, &err));
        assert_string_equal(err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_versions_and_dates_tell_generations),
        cmocka_unit_test(the_mixture_is_of_known_software),
        cmocka_unit_test(what_a_file_does_not_say_is_the_like_ones),
        cmocka_unit_test(a_wrong_value_is_refused_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
