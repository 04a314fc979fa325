/* Kinds of models by their configurations: the parameters of published weights.
 *
 * The sizes are those of each model's published config.json, cut to the keys that count; the numbers of parameters those of
 * its weights (the sum that the hub's page of each model says), the active ones those of its report, rounded there. */
#include "core/doc.h"
#include "devices/architecture_config.h"
#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;

static bool reads(const char *keys, struct architecture *model, struct error *err)
{
    struct text text = {0};
    struct doc doc;
    text_format(&text, "{%s}", keys);
    for (size_t i = 0; i < text.length; i++) /* keys without quotes are easier to read here */
        text.data[i] = text.data[i] == '\'' ? '"' : text.data[i];
    bool ok = doc_parse_lax(&doc, DOC_JSON, "config.json", text.data, text.length, err);
    if (ok) {
        ok = architecture_of_config(model, &doc, &arena, err);
        doc_release(&doc);
    }
    text_release(&text);
    return ok;
}

/* hidden, layers, heads, groups, MLP, vocabulary, positions */
#define SIZES(h, l, a, g, f, v, p)                                                                           \
    "'hidden_size': " #h ", 'num_hidden_layers': " #l ", 'num_attention_heads': " #a                         \
    ", 'num_key_value_heads': " #g ", 'intermediate_size': " #f ", 'vocab_size': " #v                        \
    ", 'max_position_embeddings': " #p

#define GPT(h, l, a, v, p)                                                                                   \
    "'n_embd': " #h ", 'n_layer': " #l ", 'n_head': " #a ", 'vocab_size': " #v ", 'n_positions': " #p

static const struct {
    const char *name, *keys;
    double parameters; /* exact */
    double active;     /* in units of 1e9, rounded; 0: dense */
} models[] = {
    {"Mistral 7B",
     "'model_type': 'mistral', 'sliding_window': 4096, " SIZES(4096, 32, 32, 8, 14336, 32000, 32768),
     7241732096, 0},
    {"Qwen2.5 0.5B",
     "'model_type': 'qwen2', 'tie_word_embeddings': true, " SIZES(896, 24, 14, 2, 4864, 151936, 32768),
     494032768, 0},
    {"Qwen1.5 MoE A2.7B",
     "'model_type': 'qwen2_moe', 'moe_intermediate_size': 1408, 'shared_expert_intermediate_size': 5632, "
     "'num_experts': 60, "
     "'num_experts_per_tok': 4, " SIZES(2048, 24, 16, 16, 5632, 151936, 8192),
     14315784192, 2.7},
    {"Qwen3 0.6B",
     "'model_type': 'qwen3', 'tie_word_embeddings': true, 'head_dim': 128, " SIZES(1024, 28, 16, 8, 3072,
                                                                                   151936, 40960),
     596049920, 0},
    {"Qwen2-VL 7B", "'model_type': 'qwen2_vl_text', " SIZES(3584, 28, 28, 4, 18944, 152064, 32768),
     7615616512, 0},
    {"Gemma 2 2B",
     "'model_type': 'gemma2', 'head_dim': 256, 'sliding_window': 4096, 'attn_logit_softcapping': "
     "50.0, " SIZES(2304, 26, 8, 4, 9216, 256000, 8192),
     2614341888, 0},
    {"Gemma 2 9B",
     "'model_type': 'gemma2', 'head_dim': 256, 'sliding_window': 4096, " SIZES(3584, 42, 16, 8, 14336, 256000,
                                                                               8192),
     9241705984, 0},
    {"Gemma 2 27B",
     "'model_type': 'gemma2', 'head_dim': 128, 'sliding_window': 4096, " SIZES(4608, 46, 32, 16, 36864,
                                                                               256000, 8192),
     27227128320, 0},
    {"Gemma 3 1B",
     "'model_type': 'gemma3_text', 'head_dim': 256, 'sliding_window': 512, " SIZES(1152, 26, 4, 1, 6912,
                                                                                   262144, 32768),
     999885952, 0},
    {"GPT-2", "'model_type': 'gpt2', " GPT(768, 12, 12, 50257, 1024), 124439808, 0},
    {"GPT-J 6B",
     "'model_type': 'gptj', 'rotary_dim': 64, 'tie_word_embeddings': false, " GPT(4096, 28, 16, 50400, 2048),
     6050882784, 0},
    {"GPT-NeoX 20B",
     "'model_type': 'gpt_neox', 'hidden_size': 6144, 'num_hidden_layers': 44, 'num_attention_heads': 64, "
     "'intermediate_size': 24576, 'vocab_size': 50432, 'max_position_embeddings': 2048, 'rotary_pct': 0.25",
     20554567680, 0},
    {"Pythia 6.9B",
     "'model_type': 'gpt_neox', 'hidden_size': 4096, 'num_hidden_layers': 32, 'num_attention_heads': 32, "
     "'intermediate_size': 16384, 'vocab_size': 50432, 'max_position_embeddings': 2048, 'rotary_pct': 0.25",
     6857302016, 0},
    {"BLOOM 560M",
     "'model_type': 'bloom', 'n_embed': 1024, 'n_layer': 24, 'num_attention_heads': 16, 'vocab_size': 250880",
     559214592, 0},
    {"BLOOM 7.1B",
     "'model_type': 'bloom', 'hidden_size': 4096, 'n_layer': 30, 'n_head': 32, 'vocab_size': 250880",
     7069016064, 0},
    {"OPT 125M",
     "'model_type': 'opt', 'ffn_dim': 3072, 'hidden_size': 768, 'num_hidden_layers': 12, "
     "'num_attention_heads': 12, "
     "'vocab_size': 50272, 'max_position_embeddings': 2048, 'word_embed_proj_dim': 768",
     125239296, 0},
    {"Falcon 7B",
     "'model_type': 'falcon', 'hidden_size': 4544, 'num_hidden_layers': 32, 'num_attention_heads': 71, "
     "'vocab_size': 65024, "
     "'multi_query': true, 'parallel_attn': true",
     6921720704, 0},
    {"Phi-2",
     "'model_type': 'phi', 'partial_rotary_factor': 0.4, 'tie_word_embeddings': false, " SIZES(
         2560, 32, 32, 32, 10240, 51200, 2048),
     2779683840, 0},
    {"Phi-3.5 MoE",
     "'model_type': 'phimoe', 'attention_bias': true, 'lm_head_bias': true, 'num_local_experts': 16, "
     "'num_experts_per_tok': 2, " SIZES(4096, 32, 32, 8, 6400, 32064, 131072),
     41873153344, 6.6},
    {"StarCoder", "'model_type': 'gpt_bigcode', 'n_inner': 24576, " GPT(6144, 40, 48, 49152, 8192),
     15517456384, 0},
    {"StarCoder2 3B",
     "'model_type': 'starcoder2', 'use_bias': true, 'sliding_window': 4096, " SIZES(3072, 30, 24, 2, 12288,
                                                                                    49152, 16384),
     3030371328, 0},
    {"StarCoder2 15B",
     "'model_type': 'starcoder2', 'use_bias': true, 'tie_word_embeddings': false, 'sliding_window': "
     "4096, " SIZES(6144, 40, 48, 4, 24576, 49152, 16384),
     15957889024, 0},
    {"Command R",
     "'model_type': 'cohere', 'use_qk_norm': false, " SIZES(8192, 40, 64, 64, 22528, 256000, 131072),
     34980831232, 0},
    {"Command R+",
     "'model_type': 'cohere', 'use_qk_norm': true, " SIZES(12288, 64, 96, 8, 33792, 256000, 131072),
     103810674688, 0},
    {"OLMo 1B",
     "'model_type': 'olmo', 'tie_word_embeddings': true, " SIZES(2048, 16, 16, 16, 8192, 50304, 2048),
     1176764416, 0},
    {"OLMo 2 7B", "'model_type': 'olmo2', " SIZES(4096, 32, 32, 32, 11008, 100352, 4096), 7298617344, 0},
    {"OLMoE",
     "'model_type': 'olmoe', 'num_experts': 64, 'num_experts_per_tok': 8, 'norm_topk_prob': false, " SIZES(
         2048, 16, 16, 16, 1024, 50304, 4096),
     6919161856, 1.28},
    {"GLM-4 9B",
     "'model_type': 'glm', 'attention_bias': true, 'partial_rotary_factor': 0.5, 'head_dim': 128, " SIZES(
         4096, 40, 32, 2, 13696, 151552, 131072),
     9399951360, 0},
    {"GLM-4 9B 0414",
     "'model_type': 'glm4', 'attention_bias': true, 'partial_rotary_factor': 0.5, 'head_dim': 128, " SIZES(
         4096, 40, 32, 2, 13696, 151552, 32768),
     9400279040, 0},
    {"DBRX",
     "'model_type': 'dbrx', 'd_model': 6144, 'n_layers': 40, 'n_heads': 48, 'vocab_size': 100352, "
     "'max_seq_len': 32768, "
     "'attn_config': {'clip_qkv': 8, 'kv_n_heads': 8, 'rope_theta': 500000}, "
     "'ffn_config': {'ffn_hidden_size': 10752, 'moe_num_experts': 16, 'moe_top_k': 4}",
     131596523520, 36.5},
    {"Granite 3.1 8B",
     "'model_type': 'granite', 'tie_word_embeddings': true, " SIZES(4096, 40, 32, 8, 12800, 49155, 131072),
     8170848256, 0},
    {"SmolLM3 3B",
     "'model_type': 'smollm3', 'no_rope_layer_interval': 4, " SIZES(2048, 36, 16, 4, 11008, 128256, 65536),
     3075098624, 0},
    {"MiMo 7B",
     "'model_type': 'mimo', 'head_dim': 128, 'num_nextn_predict_layers': 1, " SIZES(4096, 36, 32, 8, 11008,
                                                                                    151680, 32768),
     7622619136, 0}, /* and 210790400 of its layer that predicts a further token */
    {"ERNIE 4.5 0.3B",
     "'model_type': 'ernie4_5', 'head_dim': 128, 'use_bias': false, 'tie_word_embeddings': true, " SIZES(
         1024, 18, 16, 2, 3072, 103424, 131072),
     360748032, 0},
    {"Hunyuan 7B",
     "'model_type': 'hunyuan_v1_dense', 'head_dim': 128, 'tie_word_embeddings': true, " SIZES(
         4096, 32, 32, 8, 14336, 128167, 32768),
     7504568320, 0},
    {"Seed-OSS 36B",
     "'model_type': 'seed_oss', 'attention_bias': true, 'attention_out_bias': false, 'head_dim': 128, " SIZES(
         5120, 64, 80, 8, 27648, 155136, 524288),
     36151104512, 0},
    {"InternLM2 7B", "'model_type': 'internlm2', 'bias': false, " SIZES(4096, 32, 32, 8, 14336, 92544, 32768),
     7737708544, 0},
    {"Baichuan 2 7B", "'model_type': 'baichuan', " SIZES(4096, 32, 32, 32, 11008, 125696, 4096), 7505973248,
     0},
    {"Yi 34B", "'model_type': 'llama', " SIZES(7168, 60, 56, 8, 20480, 64000, 4096), 34388917248, 0},
    {"StableLM 2 1.6B",
     "'model_type': 'stablelm', 'use_qkv_bias': true, 'partial_rotary_factor': 0.25, " SIZES(
         2048, 24, 32, 32, 5632, 100352, 4096),
     1644515328, 0},
    {"DeepSeek-V2 Lite",
     "'model_type': 'deepseek_v2', 'moe_intermediate_size': 1408, 'n_routed_experts': 64, "
     "'n_shared_experts': 2, 'num_experts_per_tok': 6, "
     "'first_k_dense_replace': 1, 'kv_lora_rank': 512, 'q_lora_rank': null, 'qk_rope_head_dim': 64, "
     "'qk_nope_head_dim': 128, 'v_head_dim': 128, "
     "'topk_method': 'greedy', 'scoring_func': 'softmax', 'norm_topk_prob': false, " SIZES(
         2048, 27, 16, 16, 10944, 102400, 163840),
     15706484224, 2.66},
    {"GLM-4.5 Air",
     "'model_type': 'glm4_moe', 'attention_bias': true, 'use_qk_norm': false, 'head_dim': 128, "
     "'moe_intermediate_size': 1408, 'n_routed_experts': 128, "
     "'n_shared_experts': 1, 'num_experts_per_tok': 8, 'first_k_dense_replace': 1, 'n_group': 1, "
     "'topk_group': 1, 'num_nextn_predict_layers': 1, "
     "'partial_rotary_factor': 0.5, " SIZES(4096, 46, 96, 8, 10944, 151552, 131072),
     106852251264, 13.3},
    {"GLM-4.5",
     "'model_type': 'glm4_moe', 'attention_bias': true, 'use_qk_norm': true, 'head_dim': 128, "
     "'moe_intermediate_size': 1536, 'n_routed_experts': 160, "
     "'n_shared_experts': 1, 'num_experts_per_tok': 8, 'first_k_dense_replace': 3, 'n_group': 1, "
     "'topk_group': 1, 'num_nextn_predict_layers': 1, "
     "'partial_rotary_factor': 0.5, " SIZES(5120, 92, 96, 8, 12288, 151552, 131072),
     352797829024, 33.6},
    {"MiniMax-M2",
     "'model_type': 'minimax_m2', 'head_dim': 128, 'num_local_experts': 256, 'num_experts_per_tok': 8, "
     "'rotary_dim': 64, 'scoring_func': 'sigmoid', "
     "'use_qk_norm': true, 'qk_norm_type': 'per_layer', " SIZES(3072, 62, 48, 8, 1536, 200064, 196608),
     228689764864, 0},
    {"dots.llm1",
     "'model_type': 'dots1', 'head_dim': 128, 'moe_intermediate_size': 1408, 'n_routed_experts': 128, "
     "'n_shared_experts': 2, "
     "'num_experts_per_tok': 6, 'first_k_dense_replace': 1, 'scoring_func': 'noaux_tc', " SIZES(
         4096, 62, 32, 32, 10944, 152064, 32768),
     142774381696, 14.2},
    {"Llama 4 Maverick",
     "'model_type': 'llama4_text', 'head_dim': "
     "128, 'intermediate_size_mlp': 16384, "
     "'interleave_moe_layer_step': 2, 'num_local_experts': 128, 'num_experts_per_tok': 1, "
     "'attention_chunk_size': 8192, " SIZES(5120, 48, 40, 8, 8192, 202048, 1048576),
     400711848960, 17.2},
    {"T5 small",
     "'model_type': 't5', 'd_model': 512, 'd_ff': 2048, 'd_kv': 64, 'num_layers': 6, 'num_heads': 8, "
     "'vocab_size': 32128, "
     "'relative_attention_num_buckets': 32, 'n_positions': 512",
     60506624, 0},
};

static void parameters_are_those_of_the_weights(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct architecture model;
        struct error err;
        if (!reads(models[i].keys, &model, &err)) {
            print_error("%s: %s\n", models[i].name, err.text);
            wrong++;
            continue;
        }
        double found = architecture_parameters(&model), active = architecture_active_parameters(&model);
        if (found != models[i].parameters) {
            print_error("%s: %.0f parameters, published %.0f (%+.4f %%)\n", models[i].name, found,
                        models[i].parameters, 100 * (found / models[i].parameters - 1));
            wrong++;
        }
        if (models[i].active > 0 && fabs(active / 1e9 / models[i].active - 1) > 0.02) {
            print_error("%s: %.0f active parameters, published %.1fe9\n", models[i].name, active,
                        models[i].active);
            wrong++;
        }
    }
    arena_release(&arena);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_of_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
