#include "cost/model.h"

#include <string.h>

/* GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", table 2 and the released
 * hyper-parameters (github.com/openai/gpt-2). */
#define GPT2(its_name, its_blocks, its_hidden, its_heads)                                                    \
    {                                                                                                        \
        .name = (its_name), .blocks = (its_blocks), .hidden = (its_hidden), .heads = (its_heads),            \
        .kv_heads = (its_heads), .feed_forward = 4 * (its_hidden), .vocabulary = 50257, .sequence = 1024,    \
        .positions = 1024, .experts = 1, .active_experts = 1, .biased = true, .tied = true, .dropout = true, \
        .keeps_scores = true,                                                                                \
    }

/* BERT: Devlin et al. 2019, arXiv:1810.04805, section 3; vocabulary and positions of the released uncased
 * models. */
#define BERT(its_name, its_blocks, its_hidden, its_heads)                                                    \
    {                                                                                                        \
        .name = (its_name), .blocks = (its_blocks), .hidden = (its_hidden), .heads = (its_heads),            \
        .kv_heads = (its_heads), .feed_forward = 4 * (its_hidden), .vocabulary = 30522, .sequence = 512,     \
        .positions = 512, .token_types = 2, .experts = 1, .active_experts = 1, .biased = true, .tied = true, \
        .masked = true, .dropout = true, .keeps_scores = true,                                               \
    }

/* LLaMA and its kin: RMSNorm, rotary positions, SwiGLU, no biases, attention that does not keep its scores
 * (Touvron et al. 2023, arXiv:2302.13971, sections 2.2 and 2.4). */
#define LLAMA(its_name, its_blocks, its_hidden, its_heads, its_kv_heads, its_width, its_vocabulary,          \
              its_sequence, its_experts, its_active)                                                         \
    {                                                                                                        \
        .name = (its_name), .blocks = (its_blocks), .hidden = (its_hidden), .heads = (its_heads),            \
        .kv_heads = (its_kv_heads), .feed_forward = (its_width), .vocabulary = (its_vocabulary),             \
        .sequence = (its_sequence), .experts = (its_experts), .active_experts = (its_active), .gated = true, \
    }

static const struct cost_model models[] = {
    GPT2("gpt2", 12, 768, 12),
    GPT2("gpt2-medium", 24, 1024, 16),
    GPT2("gpt2-large", 36, 1280, 20),
    GPT2("gpt2-xl", 48, 1600, 25),
    BERT("bert-base", 12, 768, 12),
    BERT("bert-large", 24, 1024, 16),
    /* Llama 2: Touvron et al. 2023, arXiv:2307.09288, table 1; widths from the released params.json. */
    LLAMA("llama-2-7b", 32, 4096, 32, 32, 11008, 32000, 4096, 1, 1),
    LLAMA("llama-2-13b", 40, 5120, 40, 40, 13824, 32000, 4096, 1, 1),
    LLAMA("llama-2-70b", 80, 8192, 64, 8, 28672, 32000, 4096, 1, 1),
    /* Llama 3: Grattafiori et al. 2024, arXiv:2407.21783, table 3; vocabulary with the released special
     * tokens. */
    LLAMA("llama-3-8b", 32, 4096, 32, 8, 14336, 128256, 8192, 1, 1),
    LLAMA("llama-3-70b", 80, 8192, 64, 8, 28672, 128256, 8192, 1, 1),
    /* Mixtral: Jiang et al. 2024, arXiv:2401.04088, table 1. */
    LLAMA("mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000, 32768, 8, 2),
};

const struct cost_model *cost_models(int *count)
{
    *count = (int)(sizeof models / sizeof *models);
    return models;
}

const struct cost_model *cost_model_find(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

/* LayerNorm has a scale and a shift, RMSNorm only the scale. */
static double norm_parameters(const struct cost_model *model)
{
    return model->biased ? 2.0 * model->hidden : model->hidden;
}

static double matrix_parameters(const struct cost_model *model, double in, double out)
{
    return in * out + (model->biased ? out : 0);
}

double cost_embedding_parameters(const struct cost_model *model)
{
    double rows = (double)model->vocabulary + model->positions + model->token_types;
    return rows * model->hidden + (model->masked ? norm_parameters(model) : 0);
}

double cost_block_parameters(const struct cost_model *model)
{
    double h = model->hidden;
    double kv = h / model->heads * model->kv_heads;
    double attention = 2 * matrix_parameters(model, h, h) + 2 * matrix_parameters(model, h, kv);
    double expert = (model->gated ? 2 : 1) * matrix_parameters(model, h, model->feed_forward) +
                    matrix_parameters(model, model->feed_forward, h);
    double router = model->experts > 1 ? h * model->experts : 0;
    return attention + model->experts * expert + router + 2 * norm_parameters(model);
}

double cost_head_parameters(const struct cost_model *model)
{
    double h = model->hidden;
    double vocabulary = model->tied ? 0 : h * model->vocabulary;
    double before = model->masked ? matrix_parameters(model, h, h) + model->vocabulary : 0;
    return norm_parameters(model) + before + vocabulary;
}

double cost_model_parameters(const struct cost_model *model)
{
    return cost_embedding_parameters(model) + model->blocks * cost_block_parameters(model) +
           cost_head_parameters(model);
}
