/* Techniques: every value is read back as it was written, what is none is refused with what may stand there, and what a plan keeps of
 * them is kept again. */
#include "devices/technique.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_value_is_read_back(void **state)
{
    (void)state;
    for (enum technique_kind kind = 0; kind < TECHNIQUE_COUNT; kind++) {
        int max = technique_max(kind), tried = max < 200 ? max : 200;
        for (int i = 0; i <= tried + 1; i++) {
            int value = i <= tried ? i : max, read = -1;
            struct text text = {0}, expected = {0};
            technique_write(&text, kind, value);
            if (!technique_read(text.data, kind, &read, &expected))
                fail_msg("%s: '%s' is not read: %s", technique_name(kind), text.data, expected.data);
            assert_int_equal(read, value);
            assert_int_equal(expected.length, 0);
            text_release(&text);
            text_release(&expected);
        }
    }
}

static void each_has_a_name_of_its_own(void **state)
{
    (void)state;
    struct technique technique = {0};
    assert_true(technique_is_usual(&technique));
    for (enum technique_kind kind = 0; kind < TECHNIQUE_COUNT; kind++) {
        enum technique_kind found = TECHNIQUE_COUNT;
        assert_true(technique_find(technique_name(kind), &found));
        assert_int_equal(found, kind);
        assert_true(strlen(technique_text(kind)) > 0);
        technique_set(&technique, kind, 1);
        assert_false(technique_is_usual(&technique));
        for (enum technique_kind other = 0; other < TECHNIQUE_COUNT; other++)
            assert_int_equal(technique_get(&technique, other), other == kind);
        technique_set(&technique, kind, 0);
    }
    assert_true(technique_is_usual(&technique));
    enum technique_kind none;
    assert_false(technique_find("", &none) || technique_find("grad", &none));
}

static void refused(enum technique_kind kind, const char *text, const char *expected)
{
    struct text said = {0};
    int value = 0;
    assert_false(technique_read(text, kind, &value, &said));
    assert_string_equal(said.data, expected);
    text_release(&said);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    refused(TECHNIQUE_GRADIENTS, "fp64", "fp32, fp16, bf16, fp8 or fp4");
    refused(TECHNIQUE_GRADIENTS, "fp32 ", "fp32, fp16, bf16, fp8 or fp4");
    refused(TECHNIQUE_GRADIENTS, "", "fp32, fp16, bf16, fp8 or fp4");
    refused(TECHNIQUE_RESHARD, "maybe", "no or yes");
    refused(TECHNIQUE_OFFLOAD, "101", "a whole number from 0 to 100");
    refused(TECHNIQUE_OFFLOAD, "-1", "a whole number from 0 to 100");
    refused(TECHNIQUE_OFFLOAD, "1.5", "a whole number from 0 to 100");
    refused(TECHNIQUE_OFFLOAD, "", "a whole number from 0 to 100");
    static const char targets[] =
        "query, key, value, output, gate, up or down, several joined by '+', all or attention";
    refused(TECHNIQUE_TARGETS, "query+", targets);
    refused(TECHNIQUE_TARGETS, "+query", targets);
    refused(TECHNIQUE_TARGETS, "quer", targets);
    refused(TECHNIQUE_TARGETS, "all+ends", targets);
}

/* A set in any order, twice, or by the word of many. */
static void sets_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int value;
        const char *written;
    } cases[] = {{"down+query", TARGET_DOWN | TARGET_QUERY, "query+down"},
                 {"up+up", TARGET_UP, "up"},
                 {"all", TARGETS_ALL, "all"},
                 {"attention", TARGETS_ATTENTION, "attention"},
                 {"attention+gate+up+down", TARGETS_ALL, "all"},
                 {"gate+attention", TARGETS_ATTENTION | TARGET_GATE, "query+key+value+output+gate"},
                 {"usual", 0, "usual"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0}, expected = {0};
        int value = -1;
        assert_true(technique_read(cases[i].text, TECHNIQUE_TARGETS, &value, &expected));
        assert_int_equal(value, cases[i].value);
        technique_write(&text, TECHNIQUE_TARGETS, value);
        assert_string_equal(text.data, cases[i].written);
        text_release(&text);
        text_release(&expected);
    }
    for (enum technique_kind kind = 0; kind < TECHNIQUE_COUNT; kind++) {
        struct text expected = {0};
        int value = -1;
        bool word = technique_read("usual", kind, &value, &expected);
        assert_int_equal(word, !technique_is_number(kind)); /* a number has no word, its 0 says so */
        text_release(&expected);
    }
}

/* What is kept is kept again, and is the training's own: with LoRA also the format of frozen parameters. */
static void what_is_asked_is_kept(void **state)
{
    (void)state;
    for (enum technique_kind kind = 0; kind < TECHNIQUE_COUNT; kind++)
        for (int lora = 0; lora <= 8; lora += 8) {
            struct technique technique = {.rank = lora};
            technique_set(&technique, kind, 1);
            struct technique asked = technique_asked(&technique), given = technique_given(&technique),
                             again = technique_asked(&asked), once_more = technique_given(&given),
                             both = technique_asked(&given);
            assert_memory_equal(&asked, &again, sizeof asked);
            assert_memory_equal(&given, &once_more, sizeof given);
            assert_memory_equal(&asked, &both, sizeof asked); /* no search chooses what is asked */
            for (enum technique_kind other = 0; other < TECHNIQUE_COUNT; other++) {
                assert_true(technique_get(&asked, other) == 0 ||
                            technique_get(&asked, other) == technique_get(&technique, other));
                assert_true(technique_get(&given, other) == 0 ||
                            technique_get(&given, other) == technique_get(&technique, other));
            }
            if (kind == TECHNIQUE_PARAMETERS)
                assert_int_equal(asked.parameters, lora > 0);
        }
    const struct technique all = {.optimizer = OPTIMIZER_ADAM, .gradients = FORMAT_BF16, .offload = 50};
    assert_int_equal(technique_asked(&all).optimizer, OPTIMIZER_ADAM);
    assert_int_equal(technique_asked(&all).gradients, 0);
    assert_int_equal(technique_given(&all).gradients, FORMAT_BF16);
    assert_int_equal(technique_given(&all).offload, 0);
}

static void recomputes(enum recompute recompute, struct technique technique, const char *expected)
{
    struct text text = {0};
    technique_write_recompute(&text, recompute, &technique);
    assert_string_equal(text.data, expected);
    text_release(&text);
}

static void recomputation_is_written(void **state)
{
    (void)state;
    const int both = 1 << MODULE_CORE_ATTENTION | 1 << MODULE_MLP;
    recomputes(RECOMPUTE_NONE, (struct technique){.modules = both, .layers = 2}, "none");
    recomputes(RECOMPUTE_SELECTIVE, (struct technique){.layers = 2}, "selective");
    recomputes(RECOMPUTE_SELECTIVE, (struct technique){.modules = both}, "selective (core_attn, mlp)");
    recomputes(RECOMPUTE_FULL, (struct technique){.modules = both}, "full");
    recomputes(RECOMPUTE_FULL, (struct technique){.method = METHOD_BLOCK}, "full");
    recomputes(RECOMPUTE_FULL, (struct technique){.method = METHOD_BLOCK, .layers = 1},
               "full (1 block of each chunk)");
    recomputes(RECOMPUTE_FULL, (struct technique){.method = METHOD_BLOCK, .layers = 2},
               "full (2 blocks of each chunk)");
    recomputes(RECOMPUTE_FULL, (struct technique){.method = METHOD_EVERY, .layers = 2},
               "full (every 2 blocks, one)");
    recomputes(RECOMPUTE_FULL, (struct technique){.method = METHOD_UNIFORM, .layers = 1}, "full");
    recomputes(RECOMPUTE_FULL, (struct technique){.method = METHOD_UNIFORM, .layers = 2},
               "full (2 blocks together)");
    for (enum recompute recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute++) {
        enum recompute found = RECOMPUTE_NONE;
        assert_true(recompute_find(recompute_name(recompute), &found) && found == recompute);
    }
    enum recompute none;
    assert_false(recompute_find("partial", &none));
}

/* Those of recomputation are said with it, all others by their names. */
static void others_are_written(void **state)
{
    (void)state;
    struct text text = {0};
    technique_write_others(&text,
                           &(struct technique){.modules = 1,
                                               .method = METHOD_BLOCK,
                                               .layers = 2,
                                               .gradients = FORMAT_BF16,
                                               .offload = 50,
                                               .imbalance = 120},
                           "; ");
    assert_string_equal(text.data, "; grads bf16; offload 50; imbalance 120");
    text_release(&text);
}

static void formats_have_bytes(void **state)
{
    (void)state;
    static const double bytes[] = {7, 4, 2, 2, 1, 0.5};
    for (int format = FORMAT_USUAL; format <= FORMAT_FP4; format++)
        assert_true(number_format_bytes(format, 7) == bytes[format]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_read_back), cmocka_unit_test(each_has_a_name_of_its_own),
        cmocka_unit_test(what_is_none_is_refused),  cmocka_unit_test(sets_are_read),
        cmocka_unit_test(what_is_asked_is_kept),    cmocka_unit_test(recomputation_is_written),
        cmocka_unit_test(others_are_written),       cmocka_unit_test(formats_have_bytes),
    };
    return cmocka_run_group_tests_name("devices/technique", tests, NULL, NULL);
}
