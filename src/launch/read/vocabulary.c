/* The words of known tokenizers. A launch description names its tokenizer more often than the number of its words.
 *
 * Sources: vocab_size of the published configurations of the models; defaults of Megatron-LM's tokenizers
 * (megatron/training/tokenizer/tokenizer.py) and of GPT-NeoX's (megatron/tokenizer/tokenizer.py). */
#include "launch/read/read.h"

#include "devices/architecture_config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct vocabulary {
    const char *name;
    int64_t words;
};

/* Parts of a tokenizer's or checkpoint's name; the first that is found counts. */
static const struct vocabulary families[] = {
    {"llama-4", 202048},
    {"llama4", 202048},
    {"llama-3", 128256},
    {"llama3", 128256},
    {"codellama", 32016},
    {"llama-2", 32000},
    {"llama2", 32000},
    {"llama_tokenizer", 32000},
    {"open_llama", 32000},
    {"mistral-nemo", 131072},
    {"mixtral", 32000},
    {"v0.3", 32768},
    {"mistral", 32000},
    {"qwen3", 151936},
    {"qwen2", 151936},
    {"qwen", 151936},
    {"deepseek-v3", 129280},
    {"deepseek-r1", 129280},
    {"deepseek", 102400},
    {"kimi", 163840},
    {"gpt-oss", 201088},
    {"gpt-neox", 50277},
    {"gpt_neox", 50277},
    {"20b_tokenizer", 50277},
    {"pythia", 50277},
    {"gpt2", 50257},
    {"gemma-3", 262208},
    {"gemma", 256000},
    {"minitron", 256000},
    {"nemotron", 256000},
    {"falcon", 65024},
    {"bloom", 250880},
    {"bigscience/tokenizer", 250680},
    {"oscar_13", 250680},
    {"mt5", 250112},
    {"t5", 32128},
    {"bert", 30522},
    {"opt-", 50272},
    {"yi-", 64000},
    {"baichuan2", 125696},
    {"starcoder", 49152},
    {"phi-3", 32064},
    {"glm-4", 151552},
    {"llava-1.5", 32064},
};

/* Classes of tokenizers, whatever their file is called. */
static const struct vocabulary types[] = {
    {"GPT2BPETokenizer", 50257},  {"HFGPT2Tokenizer", 50257},       {"BertWordPieceLowerCase", 30522},
    {"BertWordPieceCase", 28996}, {"Llama2Tokenizer", 32000},       {"LLamaTokenizer", 32000},
    {"SPMTokenizer", 32000},      {"MistralTokenizer", 32000},      {"LLama3Tokenizer", 128256},
    {"TikTokenizer", 131072},     {"QwenTokenizer", 151936},        {"Qwen2Tokenizer", 151936},
    {"Qwen2VLTokenizer", 151936}, {"Qwen3Tokenizer", 151936},       {"DeepSeekV2Tokenizer", 102400},
    {"FalconTokenizer", 65024},   {"BaichuanTokenizer", 64000},     {"StarcoderTokenizerFromHF", 49152},
    {"OPTTokenizer", 50272},      {"BloomTokenizerFromHF", 250880}, {"HFTokenizer", 50277},
    {"CharLevelTokenizer", 512},
};

static bool holds(const char *text, const char *part)
{
    for (size_t length = strlen(part); *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

static int64_t of_name(const char *name)
{
    const struct architecture *known = architecture_of_checkpoint(name);
    if (known)
        return known->vocabulary;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (holds(name, families[i].name))
            return families[i].words;
    for (const char *at = name; *at; at++) { /* "nemotron_2_256k.model" */
        int64_t thousands;
        bool number = strchr("_-./", *at) && text_whole(at + 1, "k", &thousands);
        if (number && thousands >= 8 && thousands <= 1024 && at[1 + strspn(at + 1, "0123456789")] == 'k')
            return thousands == 128 ? 131072 : thousands * 1000;
    }
    return 0;
}

void launch_settle_vocabulary(struct launch_options *options, const char *tokenizer)
{
    static const char *const files[] = {"tokenizer-name-or-path", "vocab-file", "tokenizer.model"};
    const struct launch_argument *by = launch_argument(options, tokenizer);
    const char *name = launch_text(options, tokenizer), *type = launch_text(options, "tokenizer-type");
    int64_t words = name ? of_name(name) : 0;
    if (options->vocabulary.given)
        return;
    for (size_t i = 0; !words && i < sizeof files / sizeof *files; i++)
        if ((name = launch_text(options, files[i])) != NULL) {
            words = of_name(name);
            by = launch_argument(options, files[i]);
        }
    for (size_t i = 0; !words && type && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i].name, type) == 0) {
            words = types[i].words;
            by = launch_argument(options, "tokenizer-type");
        }
    if (!words && !type && (launch_argument(options, "vocab-file") || launch_argument(options, "merge-file")))
        words = 50257;
    if (!words)
        return;
    launch_set(&options->vocabulary, by, words);
    launch_default(&options->padding, 128);
}
