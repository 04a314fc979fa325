/* Names of software in published runs: a name, a version and a date. */
#include "devices/software.h"

#include "core/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A generation of software, since a month. */
struct generation {
    const char *since, *name;
};

/* Newest first. Megatron-LM's core is a library of its own since 2023; NeMo and Megatron-Bridge train with it. */
static const struct generation megatron[] = {
    {"2026-05", "megatron-core"}, {"2025", "megatron-core-2025"}, {"2023", "megatron-core-2024"},
    {"2022-06", "megatron-2022"}, {"", "megatron-2021"},
};

/* Megatron-Bridge took NeMo's place; MLPerf's rounds still call it by that name. */
static const struct generation nemo[] = {{"2026", "megatron-core"}, {"", "megatron-core-2024"}};

/* GPTQ's kernels in Triton came in 2023, and those of Marlin after them; before, PyTorch unpacked weights. */
static const struct generation trainer[] = {{"2024", "hf-trainer"}, {"", "hf-trainer-2023"}};

/* nanoGPT took the attention of PyTorch 2 at the end of January 2023. */
static const struct generation nanogpt[] = {{"2023-02", "nanogpt"}, {"", "nanogpt-2022"}};

/* The first word that a name contains counts. */
static const struct known {
    const char *word, *name;
    const struct generation *generations; /* instead of the name */
} known[] = {
    {"AutoModel", "automodel", NULL},
    {"Megatron-DeepSpeed", "megatron-deepspeed", NULL},
    {"Megatron + Deepspeed 3D", "megatron-deepspeed", NULL},
    {"Megatron + Deepspeed ZeRO", "megatron-2021", NULL},
    {"Neuron", "neuron", NULL},
    {"Megatron", NULL, megatron},
    {"NeMo", NULL, nemo},
    {"Primus", NULL, megatron},
    {"nanotron", "nanotron", NULL},
    {"torchtune", "torchtune", NULL},
    {"torchtitan", "torchtitan", NULL},
    {"XTuner", "xtuner", NULL},
    {"InternEvo", "internevo", NULL},
    {"InternLM", "internevo", NULL},
    {"MaxText", "maxtext", NULL},
    {"Paxml", "paxml", NULL},
    {"JAX", "maxtext", NULL},
    {"LitGPT", "litgpt", NULL},
    {"nanoGPT", NULL, nanogpt},
    {"TinyLlama", "nanogpt", NULL},
    {"Unsloth", "hf-trainer-fused", NULL},
    {"Liger", "hf-trainer-fused", NULL},
    {"DeepSpeed", "deepspeed", NULL},
    {"ms-swift", "deepspeed", NULL},
    {"LLaMA-Factory", "deepspeed", NULL},
    {"LLaMAFactory", "deepspeed", NULL},
    {"axolotl", "hf-trainer", NULL},
    {"HF", NULL, trainer},
    {"Hugging", NULL, trainer},
    {"Accelerate", "hf-trainer", NULL},
    {"Transformers", "hf-trainer", NULL},
    {"TRL", "hf-trainer", NULL},
    {"FSDP2", "torchtitan-eager", NULL},
    {"PyTorch FSDP", "fsdp", NULL},
    {"llm-foundry", "fsdp", NULL},
    {"ColossalAI", "fsdp", NULL},
};

const char *const software_mixture[] = {"megatron-core",      "torchtitan", "fsdp",          "hf-trainer",
                                        "deepspeed",          "nanogpt",    "megatron-2022", "nanogpt-2022",
                                        "nanogpt-2022-eager", NULL};

/* Reads a month, "2024-07", out of a release's number or a date: "NeMo 24.07", "main 2025-10-06". False: there is
 * none. */
static bool month_in(const char *text, char month[8])
{
    for (; *text != '\0'; text++) {
        unsigned year, number;
        int end = 0;
        if (!isdigit((unsigned char)*text))
            continue;
        bool read = sscanf(text, "20%2u-%2u%n", &year, &number, &end) == 2 && end == 7;
        read = read || (sscanf(text, "%2u.%2u%n", &year, &number, &end) == 2 && end == 5 && year >= 20);
        if (read && number >= 1 && number <= 12) {
            snprintf(month, 8, "20%02u-%02u", year % 100, number % 100);
            return true;
        }
        text += strspn(text, "0123456789.-") - 1;
    }
    return false;
}

/* Megatron-Core's releases are numbers below 1: 0.9 is of October 2024, 0.10 of February 2025. */
static bool core_month(const char *text, char month[8])
{
    const char *at = strcasestr(text, "core");
    int minor;
    while (at && *at != '\0' && strncmp(at, "0.", 2) != 0)
        at++;
    if (!at || sscanf(at, "0.%2d", &minor) != 1)
        return false;
    snprintf(month, 8, "%s", minor < 10 ? "2024-07" : "2025-02");
    return true;
}

struct software_named software_named(const char *name, const char *version, const char *date)
{
    struct software_named named = {.software = NULL};
    char month[8] = "";
    /* "Megatron-Core" is a name of several generations, "megatron-core" one of ours */
    for (int i = 0; i < software_count(false); i++)
        if (strcmp(name, software_at(i)->name) == 0)
            named.software = software_at(i);
    for (size_t i = 0; i < sizeof known / sizeof *known && !named.software; i++) {
        if (!strcasestr(name, known[i].word))
            continue;
        const struct generation *generation = known[i].generations;
        if (!month_in(name, month) && !core_month(name, month) && !month_in(version, month) &&
            !core_month(version, month))
            snprintf(month, sizeof month, "%.7s", date);
        named.newest = generation && month[0] == '\0';
        while (generation && !named.newest && strcmp(month, generation->since) < 0)
            generation++;
        named.software = software_find(generation ? generation->name : known[i].name);
    }
    return named;
}
