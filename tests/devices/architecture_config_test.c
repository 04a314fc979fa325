/* Models as Hugging Face's config.json describes them. */
#include "core/doc.h"
#include "devices/architecture_config.h"
#include "devices/tables.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool reads(const char *text, struct architecture *model, struct error *err)
{
    static struct arena arena;
    struct doc doc;
    arena_release(&arena);
    if (!doc_parse_lax(&doc, DOC_JSON, "config.json", text, strlen(text), err))
        return false;
    bool ok = architecture_is_config(&doc) && architecture_of_config(model, &doc, &arena, err);
    doc_release(&doc);
    return ok;
}

static void refuses(const char *text, const char *message)
{
    struct architecture model;
    struct error err;
    assert_false(reads(text, &model, &err));
    assert_string_equal(err.text, message);
}

static void reads_a_model(void **state)
{
    (void)state;
    struct architecture model;
    struct error err;
    if (!reads("{\"model_type\": \"qwen3_moe\", \"hidden_size\": 2048, \"num_hidden_layers\": 48, "
               "\"num_attention_heads\": 32,"
               "\"num_key_value_heads\": 4, \"head_dim\": 128, \"intermediate_size\": 6144, "
               "\"moe_intermediate_size\": 768,"
               "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"vocab_size\": 151936, "
               "\"max_position_embeddings\": 40960}",
               &model, &err))
        fail_msg("%s", err.text);
    const struct architecture *known = architecture_find("qwen3-30b-a3b");
    assert_true(architecture_parameters(&model) == architecture_parameters(known));
    assert_true(architecture_active_parameters(&model) == architecture_active_parameters(known));
    assert_true(model.qk_norm && model.gated && model.rms_norm && !model.tied && !model.biased);
}

static void names_all_that_is_wrong(void **state)
{
    (void)state;
    refuses("{\"model_type\": \"llama\", \"hidden_size\": -8, \"num_hidden_layers\": \"80\",\n"
            "\"num_attention_heads\": 4, \"vocab_size\": 0, \"hidden_size\": 8}",
            "config.json:2:59: hidden_size: given twice, first in line 1; config.json:1:40: hidden_size: "
            "expected a whole number from 1 to 16777216, found '-8'; config.json:1:65: num_hidden_layers: "
            "expected a whole number from 1 to 100000, found '80'; config.json:2:41: vocab_size: expected a "
            "whole number from 1 to 16777216, found '0'; config.json: intermediate_size is missing: set it, "
            "there is no safe default; config.json: without num_key_value_heads, each of the 4 heads has its "
            "own keys");
    refuses("{\"model_type\": \"llama\", \"hidden_size\": 100, \"num_hidden_layers\": 2, "
            "\"num_attention_heads\": 63,\n"
            "\"num_key_value_heads\": 7, \"intermediate_size\": 64, \"vocab_size\": 100}",
            "config.json: 63 heads do not divide the hidden size 100, and there is no head_dim");
    refuses("{\"model_type\": \"mamba2\"}",
            "config.json:1:16: model_type: mamba2: Mamba-2 blocks are not modelled");
    refuses("{\"architectures\": [\"X\"]}", "config.json:1:1: model_type is missing");
}

static void finds_checkpoints(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"meta-llama/Llama-3.1-8B-Instruct", "llama-3-8b"},
        {"meta-llama/Meta-Llama-3-70B", "llama-3-70b"},
        {"meta-llama/Llama-2-7b-hf", "llama-2-7b"},
        {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
        {"Qwen/Qwen2.5-32B-Instruct", "qwen2.5-32b"},
        {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
        {"deepseek-ai/DeepSeek-V3-Base", "deepseek-v3"},
        {"openai/gpt-oss-20b", "gpt-oss-20b"},
        {"google/gemma-7b-it", "gemma-7b"},
        {"Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"},
        {"tiiuae/falcon-7b", "falcon-7b"},
        {"microsoft/phi-4", "phi-4"},
        {"openai-community/gpt2-xl", "gpt2-xl"},
    };
    struct error err;
    assert_true(tables_ready(&err));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct architecture *found = architecture_of_checkpoint(names[i][0]);
        if (!found)
            fail_msg("%s is not found", names[i][0]);
        assert_string_equal(found->name, names[i][1]);
    }
    assert_null(architecture_of_checkpoint("org/no-such-model"));
}

/* Configurations of the reference with the model that they describe; NULL: to be refused. */
static const struct {
    const char *folder, *model;
} configs[] = {
    {"bert-large", "bert-large"},
    {"falcon-40b", "falcon-40b"},
    {"deepseek-v3", "deepseek-v3-mtp"},
    {"deepseek-v3.2", "deepseek-v3.2"},
    {"gpt-oss-120b", "gpt-oss-120b"},
    {"gpt2-xl", "gpt2-xl"},
    {"kimi-k2", "kimi-k2"},
    {"llama-2-7b", "llama-2-7b"},
    {"llama-3-8b", "llama-3-8b"},
    {"llama-3.1-70b", "llama-3-70b"},
    {"llama-4-maverick", "llama-4-maverick"},
    {"llama-4-scout", "llama-4-scout"},
    {"mixtral-8x22b", "mixtral-8x22b"},
    {"mpt-7b", "mpt-7b"},
    {"nemotron-h-56b", "nemotron-h-56b"},
    {"opt-1.3b", "opt-1.3b"},
    {"phi4-multimodal-1layer", NULL},
    {"qwen2.5-7b", "qwen2.5-7b"},
    {"qwen3-32b", "qwen3-32b"},
    {"qwen3-next-80b", "qwen3-next-80b-a3b"},
    {"switch-xl4", NULL},
};

static void configurations_of_the_reference_are_the_named_models(void **state)
{
    (void)state;
    char *folder = reference_path("launch/hf");
    struct error err;
    if (!folder)
        skip();
    assert_true(tables_ready(&err));
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        char path[2048];
        struct architecture model;
        struct arena arena = {0};
        bool is_config;
        snprintf(path, sizeof path, "%s/%s/config.json", folder, configs[i].folder);
        bool ok = architecture_load_config(&model, path, &arena, &is_config, &err);
        if (ok != (configs[i].model != NULL))
            fail_msg("%s: %s", path, ok ? "is read" : err.text);
        if (ok) {
            const struct architecture *known = architecture_find(configs[i].model);
            double found = architecture_parameters(&model) - architecture_vision_parameters(&model),
                   expected = architecture_parameters(known) - architecture_vision_parameters(known);
            if (found < 0.9995 * expected || found > 1.0005 * expected)
                fail_msg("%s: %.0f parameters, %s has %.0f", path, found, known->name, expected);
        }
        arena_release(&arena);
    }
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_model),
        cmocka_unit_test(names_all_that_is_wrong),
        cmocka_unit_test(finds_checkpoints),
        cmocka_unit_test(configurations_of_the_reference_are_the_named_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
