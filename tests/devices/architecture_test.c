/* Architectures: their numbers of parameters against the published ones, their names, their file. */
#include "devices/architecture.h"
#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "format: rehearse-architecture/1\n"
#define ONE  "{format: rehearse-architecture/1, "

struct published {
    const char *name;
    double parameters;
    double within; /* of the published number, by its last digit; 0: it is exact */
};

static const struct architecture *known(const char *name)
{
    const struct architecture *model = architecture_find(name);
    if (!model)
        fail_msg("there is no '%s'", name);
    return model;
}

static void assert_published(const struct published *row, double parameters)
{
    if (fabs(parameters - row->parameters) > row->within)
        fail_msg("%s: %.0f parameters, published are %.0f", row->name, parameters, row->parameters);
}

/* The number of elements of the released weights. */
static void totals_are_those_of_the_released_weights(void **state)
{
    static const struct published rows[] = {
        {"gpt2", 124439808, 0},
        {"gpt2-medium", 354823168, 0},
        {"gpt2-large", 774030080, 0},
        {"gpt2-xl", 1557611200, 0},
        {"gpt-neo-2.7b", 2651307520, 0},
        {"opt-125m", 125239296, 0},
        {"opt-350m", 331196416, 0},
        {"opt-1.3b", 1315758080, 0},
        {"opt-6.7b", 6658473984, 0},
        {"opt-13b", 12853473280, 0},
        {"opt-30b", 29974540288, 0},
        {"bloom-176b", 176247271424, 0},
        {"bert-base", 109514298, 0},
        {"bert-large", 335174458, 0},
        {"t5-small", 60506624, 0},
        {"t5-base", 222903552, 0},
        {"t5-large", 737668096, 0},
        {"t5-3b", 2851598336, 0},
        {"t5-11b", 11307321344, 0},
        {"llama-7b", 6738415616, 0},
        {"llama-13b", 13015864320, 0},
        {"llama-30b", 32528943616, 0},
        {"llama-65b", 65285660672, 0},
        {"llama-2-7b", 6738415616, 0},
        {"llama-2-13b", 13015864320, 0},
        {"code-llama-34b", 33743970304, 0},
        {"llama-2-70b", 68976648192, 0},
        {"llama-3-8b", 8030261248, 0},
        {"llama-3-70b", 70553706496, 0},
        {"llama-3.1-405b", 405853388800, 0},
        {"llama-3.2-1b", 1235814400, 0},
        {"llama-3.2-3b", 3212749824, 0},
        {"mistral-7b", 7241732096, 0},
        {"mixtral-8x7b", 46702792704, 0},
        {"mixtral-8x22b", 140620634112, 0},
        {"grok-1", 314e9, 3e9},
        {"llama-4-scout", 109e9, 2e9},
        {"gemma-2b", 2506172416, 0},
        {"gemma-7b", 8537680896, 0},
        {"qwen2.5-7b", 7615616512, 0},
        {"qwen2.5-14b", 14770033664, 0},
        {"qwen2.5-32b", 32763876352, 0},
        {"qwen2.5-72b", 72706203648, 0},
        {"qwen3-8b", 8190735360, 0},
        {"qwen3-14b", 14768307200, 0},
        {"qwen3-32b", 32762123264, 0},
        {"qwen3-30b-a3b", 30532122624, 0},
        {"qwen3-235b-a22b", 235093634560, 0},
        {"deepseek-v2", 235741434880, 0},
        {"deepseek-v2-lite", 15706484224, 0},
        {"deepseek-v3", 671026419200, 0},
        {"kimi-k2", 1026408232448, 0},
        {"gpt-oss-20b", 20914757184, 0},
        {"gpt-oss-120b", 116829156672, 0},
        {"mpt-7b", 6649286656, 0},
        {"vit-base", 86567656, 0},
        {"vit-large", 304326632, 0},
        {"vit-huge", 632045800, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_published(&rows[i], architecture_parameters(known(rows[i].name)));
}

/* Models that papers alone tell of, to the digits that they print. */
static void totals_are_those_of_the_papers(void **state)
{
    static const struct published rows[] = {
        /* GPT-3, arXiv:2005.14165, table D.1 */
        {"gpt3-125m", 125e6, 0.5e6},
        {"gpt3-350m", 356e6, 0.5e6},
        {"gpt3-760m", 760e6, 0.5e6},
        {"gpt3-1.3b", 1320e6, 5e6},
        {"gpt3-2.7b", 2650e6, 5e6},
        {"gpt3-6.7b", 6660e6, 5e6},
        {"gpt3-13b", 12850e6, 5e6},
        {"gpt3-175b", 174600e6, 50e6},
        /* Megatron-LM, arXiv:2104.04473, table 1 */
        {"megatron-1.7b", 1.7e9, 0.05e9},
        {"megatron-3.6b", 3.6e9, 0.05e9},
        {"megatron-7.5b", 7.5e9, 0.05e9},
        {"megatron-18b", 18.4e9, 0.05e9},
        {"megatron-39b", 39.1e9, 0.05e9},
        {"megatron-76b", 76.1e9, 0.05e9},
        {"megatron-145b", 145.6e9, 0.05e9},
        {"megatron-310b", 310.1e9, 0.05e9},
        {"megatron-530b", 529.6e9, 0.05e9},
        {"megatron-1t", 1008.0e9, 0.05e9},
        {"turing-530b", 530e9, 0.5e9},
        /* llm-foundry, scripts/train/benchmarking/README.md, sequence 2048 */
        {"mpt-125m", 0.125e9, 0.0005e9},
        {"mpt-350m", 0.356e9, 0.0005e9},
        {"mpt-760m", 0.760e9, 0.0005e9},
        {"mpt-1b", 1.316e9, 0.0005e9},
        {"mpt-3b", 2.652e9, 0.0005e9},
        {"mpt-13b", 12.854e9, 0.0005e9},
        {"mpt-70b", 64.862e9, 0.0005e9},
        {"mpt-30b", 30e9, 0.5e9},
        {"opt-2.7b", 2.7e9, 0.05e9},
        {"opt-66b", 66e9, 0.5e9},
        {"opt-175b", 175e9, 0.5e9},
        /* Nemotron-4, arXiv:2402.16819 and 2406.11704, section 2.1: embedding and the rest */
        {"nemotron-4-15b", 15.7e9, 0.1e9},
        {"nemotron-4-340b", 341.0e9, 0.1e9},
        {"nemotron-8b", 8.5e9, 0.5e9},
        {"nemotron-22b", 21.5e9, 0.5e9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_published(&rows[i], architecture_parameters(known(rows[i].name)));
}

static void active_parameters_are_the_published_ones(void **state)
{
    static const struct published rows[] = {
        {"mixtral-8x7b", 12.9e9, 0.05e9}, {"mixtral-8x22b", 39e9, 0.5e9}, {"qwen3-30b-a3b", 3.3e9, 0.06e9},
        {"qwen3-235b-a22b", 22e9, 0.5e9}, {"deepseek-v2", 21e9, 0.5e9},   {"kimi-k2", 32.6e9, 0.3e9},
        {"llama-3-8b", 8030261248, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_published(&rows[i], architecture_active_parameters(known(rows[i].name)));
}

/* Here the publishers leave out the embedding, of which a token takes one row. */
static void active_parameters_without_the_embedding_are_the_published_ones(void **state)
{
    static const struct published rows[] = {
        {"gpt-oss-20b", 3.61e9, 0.005e9},
        {"gpt-oss-120b", 5.13e9, 0.005e9},
        {"deepseek-v3", 36.6e9, 0.05e9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct architecture *model = known(rows[i].name);
        assert_published(&rows[i],
                         architecture_active_parameters(model) - architecture_embedding_parameters(model));
    }
}

static void parts_add_up_to_the_whole(void **state)
{
    const struct table *table = tables_known(TABLE_MODELS);
    (void)state;
    assert_non_null(table);
    for (int i = 0; i < table->count; i++) {
        const struct architecture *model = &table->models[i];
        double sum = architecture_embedding_parameters(model) + architecture_encoder_parameters(model) +
                     architecture_vision_parameters(model) + architecture_head_parameters(model);
        for (int block = 0; block < model->layers; block++)
            sum += architecture_block_parameters(model, block);
        assert_true(sum == architecture_parameters(model));
    }
}

static void dense_blocks_come_before_those_with_experts(void **state)
{
    const struct architecture *model = known("deepseek-v3");
    double dense = architecture_block_parameters(model, 2);
    double mixture = architecture_block_parameters(model, 3);
    (void)state;
    assert_true(dense == architecture_block_parameters(model, 0));
    assert_true(mixture == architecture_block_parameters(model, 60));
    assert_true(mixture - dense ==
                257 * architecture_expert_parameters(model) + 256 * 7168 + 256 - 3.0 * 7168 * 18432);
}

/* Names. */

static void every_model_is_found_by_all_its_names(void **state)
{
    const struct table *table = tables_known(TABLE_MODELS);
    (void)state;
    for (int i = 0; i < table->count; i++) {
        const struct architecture *model = &table->models[i];
        assert_ptr_equal(architecture_find(model->name), model);
        for (int j = 0; j < model->alias_count; j++)
            assert_ptr_equal(architecture_find(model->aliases[j]), model);
    }
}

static void every_model_names_its_source(void **state)
{
    const struct table *table = tables_known(TABLE_MODELS);
    (void)state;
    for (int i = 0; i < table->count; i++)
        assert_non_null(table->models[i].source);
}

static void case_and_separators_do_not_matter(void **state)
{
    static const char *const names[][2] = {
        {"LLAMA3.1_405B", "llama-3.1-405b"},
        {"Llama-3.1 8B", "llama-3-8b"},
        {"Qwen3_30B_a3B", "qwen3-30b-a3b"},
        {"Qwen3_235B_a22B", "qwen3-235b-a22b"},
        {"DeepSeekV3", "deepseek-v3"},
        {"LLAMA3_70B", "llama-3-70b"},
        {"GPT OSS 120B", "gpt-oss-120b"},
        {"GPT3-175B", "gpt3-175b"},
        {"Kimi_K2", "kimi-k2"},
        {"MT-NLG 530B", "turing-530b"},
        {"Llama2-34b", "llama-2-34b"},
        {"Nemotron-340B", "nemotron-4-340b"},
        {"megatron-1T", "megatron-1t"},
        {"GPT-2", "gpt2"},
        {"MPT-7b", "mpt-7b"},
        {"ViT-B/16", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct architecture *model = architecture_find(names[i][0]);
        if (!names[i][1])
            assert_null(model);
        else if (!model || strcmp(model->name, names[i][1]) != 0)
            fail_msg("'%s' does not find %s", names[i][0], names[i][1]);
    }
}

/* Without separators, opt-1.3b and opt-13b would be the same. */
static void separators_between_digits_matter(void **state)
{
    (void)state;
    assert_string_equal(known("OPT 1.3b")->name, "opt-1.3b");
    assert_string_equal(known("OPT 13b")->name, "opt-13b");
    assert_string_equal(known("gpt3 1.3b")->name, "gpt3-1.3b");
    assert_string_equal(known("gpt3_13b")->name, "gpt3-13b");
    assert_null(architecture_find("opt-1-3b"));
}

static void unknown_names_are_not_found(void **state)
{
    static const char *const names[] = {"", "-", "gpt2-xxl", "gpt", "llama", "llama-3-8b (SFT)", "llama-3-8"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(architecture_find(names[i]));
}

/* The file. */

static void read_text(struct table *table, const char *text)
{
    struct error err;
    if (!tables_parse(table, TABLE_MODELS, "a.yaml", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

static void assert_refused(const char *text, const char *message)
{
    struct table table;
    struct error err;
    assert_false(tables_parse(&table, TABLE_MODELS, "a.yaml", text, strlen(text), &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_null(table.models);
    if (!strstr(err.text, message))
        fail_msg("expected '%s', found '%s'", message, err.text);
}

static void sizes_left_out_are_derived(void **state)
{
    struct table table;
    (void)state;
    read_text(&table, ONE "name: a, layers: 2, hidden: 64, heads: 4, vocabulary: 100, sequence: 16}");
    assert_int_equal(table.count, 1);
    assert_int_equal(table.models[0].kv_heads, 4);
    assert_int_equal(table.models[0].head_width, 16);
    assert_int_equal(table.models[0].ffn, 256);
    assert_int_equal(table.models[0].embedding_width, 64);
    table_release(&table);
}

static void latent_heads_are_as_wide_as_their_two_parts(void **state)
{
    (void)state;
    assert_int_equal(known("deepseek-v3")->head_width, 192);
}

static void experts_are_as_wide_as_the_mlp_unless_said(void **state)
{
    (void)state;
    assert_int_equal(known("mixtral-8x7b")->expert_ffn, 14336);
    assert_int_equal(known("qwen3-30b-a3b")->expert_ffn, 768);
}

static void biases_go_together_unless_said(void **state)
{
    const struct architecture *gpt2 = known("gpt2");
    const struct architecture *llama = known("llama-3-8b");
    const struct architecture *qwen = known("qwen2.5-7b");
    const struct architecture *mpt = known("mpt-7b");
    (void)state;
    assert_true(gpt2->biased && gpt2->qkv_biased && gpt2->norm_biased && !gpt2->rms_norm);
    assert_true(!llama->biased && !llama->qkv_biased && !llama->norm_biased && llama->rms_norm);
    assert_true(!qwen->biased && qwen->qkv_biased && qwen->rms_norm);
    assert_true(!mpt->biased && !mpt->norm_biased && !mpt->rms_norm);
    assert_true(gpt2->causal && !known("bert-base")->causal);
}

static void a_checked_model_passes_again_unchanged(void **state)
{
    const struct table *table = tables_known(TABLE_MODELS);
    (void)state;
    for (int i = 0; i < table->count; i++) {
        struct architecture model = table->models[i];
        double before = architecture_parameters(&model);
        struct error err;
        if (!architecture_check(&model, "again", &err))
            fail_msg("%s", err.text);
        assert_true(architecture_parameters(&model) == before);
        assert_int_equal(model.head_width, table->models[i].head_width);
        assert_int_equal(model.expert_ffn, table->models[i].expert_ffn);
    }
}

static void a_file_may_hold_several(void **state)
{
    struct table table;
    (void)state;
    read_text(&table, HEAD "models:\n"
                           "- {name: a, layers: 2, hidden: 64, heads: 4, vocabulary: 100, sequence: 16}\n"
                           "- {name: b, aliases: [c, d], layers: 3, hidden: 64, heads: 4, patch: 8,"
                           " sequence: 16, source: here}\n");
    assert_int_equal(table.count, 2);
    assert_string_equal(table.models[1].name, "b");
    assert_int_equal(table.models[1].alias_count, 2);
    assert_string_equal(table.models[1].aliases[1], "d");
    assert_string_equal(table.models[1].source, "here");
    assert_null(table.models[0].source);
    table_release(&table);
}

static void the_table_is_a_file_like_any_other(void **state)
{
    struct table table;
    struct error err;
    (void)state;
    if (!tables_read(&table, TABLE_MODELS, "data/models.yaml", &err))
        fail_msg("%s", err.text);
    assert_int_equal(table.count, tables_known(TABLE_MODELS)->count);
    table_release(&table);
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
    struct table table;
    struct error err;
    (void)state;
    assert_false(tables_read(&table, TABLE_MODELS, "no-such-architecture.yaml", &err));
    assert_non_null(strstr(err.text, "no-such-architecture.yaml"));
    assert_null(table.models);
}

#define SIZES "layers: 2, hidden: 64, heads: 4, sequence: 16"
#define MODEL SIZES ", vocabulary: 100"

static void other_forms_are_refused(void **state)
{
    (void)state;
    assert_refused("[1, 2]", "a.yaml:1:1");
    assert_refused("{name: a, " MODEL "}", "format");
    assert_refused("{format: rehearse-cluster/1, name: a, " MODEL "}", "expected 'rehearse-architecture/1'");
    assert_refused(HEAD "models: 3", "models");
    assert_refused(HEAD "models: []", "expected from 1 to 1000 models, found 0");
    assert_refused(HEAD "models: [1]", "models[0]");
    assert_refused(HEAD "models: [{name: a, " MODEL "}]\nlayers: 2", "layers: unknown key");
}

static void unknown_keys_are_refused_with_the_nearest(void **state)
{
    (void)state;
    assert_refused(ONE "name: a, " MODEL ", kv_head: 2}", "did you mean 'kv_heads'?");
    assert_refused(HEAD "models: [{name: a, format: b, " MODEL "}]", "models[0].format: unknown key");
}

static void missing_sizes_are_refused(void **state)
{
    (void)state;
    assert_refused(ONE "" MODEL "}", "name");
    assert_refused(ONE "name: a, hidden: 64, heads: 4, sequence: 16, vocabulary: 9}", "layers");
    assert_refused(ONE "name: a, layers: 2, heads: 4, sequence: 16, vocabulary: 9}", "hidden");
    assert_refused(ONE "name: a, layers: 2, hidden: 64, sequence: 16, vocabulary: 9}", "heads");
    assert_refused(ONE "name: a, layers: 2, hidden: 64, heads: 4, vocabulary: 9}", "sequence");
    assert_refused(ONE "name: a, " SIZES "}", "expected a vocabulary, or for images a patch");
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    assert_refused(ONE "name: a, " MODEL ", ffn: wide}", "a.yaml:1:113: ffn: expected a whole number");
    assert_refused(ONE "name: a, " MODEL ", ffn: 1.5}", "ffn");
    assert_refused(ONE "name: a, " MODEL ", ffn: [1]}", "ffn");
    assert_refused(ONE "name: a, " MODEL ", gated: 1}", "gated: expected true or false");
    assert_refused(ONE "name: a, " MODEL ", gated: {}}", "gated: expected true or false");
    assert_refused(ONE "name: [a], " MODEL "}", "name");
    assert_refused(ONE "name: a, aliases: b, " MODEL "}", "aliases");
    assert_refused(ONE "name: a, aliases: [[b]], " MODEL "}", "aliases[0]");
    assert_refused(ONE "name: a, source: {}, " MODEL "}", "source");
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    assert_refused(ONE "name: a, " MODEL ", ffn: 1e30}", "ffn: expected a whole number from 0 to 16777216");
    assert_refused(ONE "name: a, " MODEL ", ffn: -1}", "ffn");
    assert_refused(ONE "name: a, " MODEL ", ffn: 99999999999999999999999}", "ffn");
    assert_refused(ONE "name: a, layers: 100001, hidden: 4, heads: 4, sequence: 1, vocabulary: 9}", "layers");
    assert_refused(ONE "name: a, layers: 1, hidden: 16777216, heads: 4, sequence: 1, vocabulary: 9}", "ffn");
    assert_refused(ONE "name: a, " MODEL ", head_width: 16777216}", "all heads together are wider");
    assert_refused(ONE "name: a, layers: 100000, hidden: 4194304, heads: 4, sequence: 1, vocabulary: 9}",
                   "parameters are more than 9.01e+15");
    assert_refused(ONE "name: a, " MODEL ", experts: 65536, active_experts: 1, expert_ffn: 16777216,"
                       " shared_experts: 65536, kv_rank: 16777216, rope_width: 16777216,"
                       " nope_width: 16777216, value_width: 16777216}",
                   "all heads together are wider");
}

static void sizes_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    assert_refused(ONE "name: a, layers: 2, hidden: 64, heads: 3, sequence: 1, vocabulary: 9}",
                   "a: heads (3) do not divide hidden (64)");
    assert_refused(ONE "name: a, " MODEL ", kv_heads: 3}", "kv_heads (3) do not divide heads (4)");
    assert_refused(ONE "name: a, " MODEL ", experts: 4, active_experts: 5}",
                   "active_experts: expected from 1");
    assert_refused(ONE "name: a, " MODEL ", experts: 4}", "active_experts: expected from 1");
    assert_refused(ONE "name: a, " MODEL ", expert_ffn: 4}", "need experts");
    assert_refused(ONE "name: a, " MODEL ", experts: 4, active_experts: 1, dense_layers: 3}",
                   "dense_layers (3) are more than layers (2)");
    assert_refused(ONE "name: a, " MODEL ", experts: 4, active_experts: 1, encoder_layers: 1}", "encoder");
    assert_refused(ONE "name: a, " MODEL ", query_rank: 4}", "need a kv_rank");
    assert_refused(ONE "name: a, " MODEL ", kv_rank: 4}", "kv_rank needs rope_width");
    assert_refused(ONE "name: a, " MODEL ", kv_rank: 4, rope_width: 2, nope_width: 2, value_width: 4,"
                       " head_width: 5}",
                   "head_width is nope_width + rope_width");
    assert_refused(ONE "name: a, " MODEL ", patch: 16}", "found both");
    assert_refused(ONE "name: a, " MODEL ", classes: 10}", "classes need a patch");
    assert_refused(ONE "name: a, " SIZES ", patch: 16, tied: true}", "need a vocabulary");
    assert_refused(ONE "name: a, " MODEL ", window_every: 2}", "window_every needs a window");
}

static void names_are_of_one_model_each(void **state)
{
    (void)state;
    assert_refused(HEAD "models: [{name: gpt-x, " MODEL "}, {name: GPTX, " MODEL "}]",
                   "models[1].name: 'GPTX' is the name of another model above");
    assert_refused(HEAD "models: [{name: a, aliases: [b], " MODEL "}, {name: c, aliases: [d, B], " MODEL "}]",
                   "models[1].aliases[1]: 'B' is the name of another model above");
    assert_refused(ONE "name: '-_.', " MODEL "}", "expected a name");
    assert_refused(ONE "name: a, aliases: [b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r], " MODEL "}",
                   "at most 16 aliases");
}

/* Every beginning of the table, and the table with one byte another, is read or refused, and nothing else. */
static void damaged_files_do_no_harm(void **state)
{
    FILE *file = fopen("data/models.yaml", "rb");
    char *text = calloc(1, 1 << 16);
    (void)state;
    assert_non_null(file);
    assert_non_null(text);
    size_t length = fread(text, 1, 1 << 16, file);
    fclose(file);
    for (size_t at = 0; at < length; at += 251) {
        struct table table;
        struct error err;
        if (tables_parse(&table, TABLE_MODELS, "a.yaml", text, at, &err))
            table_release(&table);
        char byte = text[at];
        text[at] = at % 2 ? '9' : '-';
        if (tables_parse(&table, TABLE_MODELS, "a.yaml", text, length, &err))
            table_release(&table);
        text[at] = byte;
        assert_null(table.models);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_those_of_the_released_weights),
        cmocka_unit_test(totals_are_those_of_the_papers),
        cmocka_unit_test(active_parameters_are_the_published_ones),
        cmocka_unit_test(active_parameters_without_the_embedding_are_the_published_ones),
        cmocka_unit_test(parts_add_up_to_the_whole),
        cmocka_unit_test(dense_blocks_come_before_those_with_experts),
        cmocka_unit_test(every_model_is_found_by_all_its_names),
        cmocka_unit_test(every_model_names_its_source),
        cmocka_unit_test(case_and_separators_do_not_matter),
        cmocka_unit_test(separators_between_digits_matter),
        cmocka_unit_test(unknown_names_are_not_found),
        cmocka_unit_test(sizes_left_out_are_derived),
        cmocka_unit_test(latent_heads_are_as_wide_as_their_two_parts),
        cmocka_unit_test(experts_are_as_wide_as_the_mlp_unless_said),
        cmocka_unit_test(biases_go_together_unless_said),
        cmocka_unit_test(a_checked_model_passes_again_unchanged),
        cmocka_unit_test(a_file_may_hold_several),
        cmocka_unit_test(the_table_is_a_file_like_any_other),
        cmocka_unit_test(a_file_that_is_not_there_is_an_error),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(unknown_keys_are_refused_with_the_nearest),
        cmocka_unit_test(missing_sizes_are_refused),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(sizes_that_do_not_fit_together_are_refused),
        cmocka_unit_test(names_are_of_one_model_each),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
