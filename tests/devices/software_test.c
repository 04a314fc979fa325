/* Software by its name, its version and its date. */
#include "devices/software.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_versions_and_dates_tell_generations),
        cmocka_unit_test(the_mixture_is_of_known_software),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
