#include "evidence/run_words.h"

#include "core/text.h"
#include "evidence/cells.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

/* ---- software ---- */

/* When sources that give no date were measured: the month of the software, not of the page. */
static const struct {
    const char *source, *framework, *date;
} dated[] = {
    {"bigscience-workshop/bigscience", "Megatron", "2021-10"},
    {"calculon-ai/calculon", "Megatron", "2021-10"}, /* the runs of arXiv:2104.04473 and arXiv:2205.05198 */
    {"NVIDIA/Megatron-LM", "Megatron-LM", "2021-10"},
    {"pytorch/torchtitan", "torchtitan", "2024-12"},
    {"NVIDIA/NeMo", "NeMo", "2024-03"}, /* and NVIDIA/NeMo-Framework-Launcher */
};

static const char *date_of(const struct run *run, const struct run_words *words)
{
    for (size_t i = 0; i < sizeof dated / sizeof *dated && *words->date == '\0'; i++)
        if (strncmp(run->source, dated[i].source, strlen(dated[i].source)) == 0 &&
            strncmp(words->framework, dated[i].framework, strlen(dated[i].framework)) == 0)
            return dated[i].date;
    return words->date;
}

static bool is(const struct run *run, const char *name)
{
    return strcmp(run->job.software->name, name) == 0;
}

/* What the other cells say about the kernels of the software. */
static const char *variant_of(const struct run *run, const struct run_words *words)
{
    if (is(run, "torchtitan") && contains(words->precision, "eager"))
        return "torchtitan-eager";
    if (is(run, "nanogpt-2022") && contains(words->precision, "eager"))
        return "nanogpt-2022-eager";
    const char *date = date_of(run, words);
    if (is(run, "torchtitan") && *date != '\0' && strcmp(date, "2025") < 0)
        return "torchtitan-2024"; /* its loss has been compiled since 2025 */
    if (is(run, "hf-trainer") && (contains(words->notes, "foak") || contains(words->notes, "liger")))
        return "hf-trainer-fused";
    if (is(run, "megatron-2021") && contains(words->recompute, "SP"))
        return "megatron-2022";
    if (is(run, "paxml") && contains(words->precision, "TE"))
        return "maxtext"; /* Transformer Engine's attention is cuDNN's */
    /* BigScience's 176B trials went over to bf16 on 28 February 2022; earlier rows are fp16 */
    if (is(run, "megatron-deepspeed") && contains(words->notes, "; 02-28"))
        return "megatron-deepspeed-bf16";
    return run->job.software->name;
}

/* "LoRA rank 64", "LoRA dim 16", "LoRA r 8.0"; *rank stays where no rank is said. Returns what is no rank: "rank
 * 8x2z". */
static const char *read_rank(const char *text, int *rank)
{
    static const char *const starts[] = {"LoRA rank", "LoRA dim", "LoRA r ", "rank ", "dim ", "r="};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        const char *at = strcasestr(text, starts[i]);
        if (!at)
            continue;
        char *end;
        double number = text_number(at + strlen(starts[i]) + strspn(at + strlen(starts[i]), " =:"), &end);
        bool whole = number >= 1 && number < 100000 && number == (double)(int)number &&
                     !isalnum((unsigned char)*end) && *end != '_';
        if (!whole && i < 3)
            return at;
        if (whole) {
            *rank = (int)number;
            return NULL;
        }
    }
    return NULL;
}

/* Formats that the recipes of Megatron-Bridge set where a row gives none: gradients in 16 bits, added up and exchanged
 * (grad_reduce_in_fp32, scripts/performance/configs, 2025-12), as MLPerf's runs since 5.1 (llama31_8b, pretrain.py);
 * for models of DeepSeek's kind moments, too (recipes/deepseek and recipes/moonlight, exp_avg_dtype, 2026-01). */
static void set_recipe(struct run *run, const struct run_words *words)
{
    struct technique *technique = &run->job.technique;
    static const char *const narrow[] = {"deepseek", "moonlight", "kimi"};
    bool mlperf = contains(run->source, "training_results") && contains(words->framework, "NeMo") &&
                  strcmp(date_of(run, words), "2025-11") >= 0;
    if ((!contains(words->framework, "Bridge") && !mlperf) ||
        !software_supports(run->job.software, TECHNIQUE_GRADIENTS))
        return;
    technique->gradients = FORMAT_BF16;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (contains(run->model_name, narrow[i]))
            technique->moments = FORMAT_BF16;
}

const char *run_read_software(struct run *run, const struct run_words *words)
{
    static const char *const eight_bits[] = {"AdamW8bit", "8-bit Adam", "8bit Adam", "8-bit optim",
                                             "Adam8bit"};
    static const char *const in_backward[] = {"in_bwd", "in backward", "in bwd"};
    for (size_t i = 0; i < sizeof eight_bits / sizeof *eight_bits; i++)
        if (contains(words->notes, eight_bits[i]))
            run->job.technique.moments = FORMAT_FP8;
    for (size_t i = 0; i < sizeof in_backward / sizeof *in_backward; i++)
        if (contains(words->notes, in_backward[i]))
            run->job.technique.step = SWITCH_ON;
    int rank = 0;
    const char *odd = read_rank(words->notes, &rank);
    if (rank == 0 && !odd)
        odd = read_rank(words->assumed, &rank);
    if (job_is_frozen(&run->job) && rank > 0)
        run->job.technique.rank = rank;
    /* BigScience's chronicles (train/tr11-176B-ml, experiments/tr8-104B.md, …) are all of one software */
    bool chronicle =
        strncmp(words->place, "train/tr", 8) == 0 || strncmp(words->place, "experiments/", 12) == 0;
    const char *name = words->given ? words->framework : chronicle ? "megatron-deepspeed" : "megatron-core";
    struct software_named named = software_named(name, words->version, date_of(run, words));
    run->mixed = !named.software;
    run->undated = named.newest;
    run->job.software = run->mixed ? software_find(software_mixture[0]) : named.software;
    if (!run->mixed)
        run->job.software = software_find(variant_of(run, words));
    set_recipe(run, words);
    return job_is_frozen(&run->job) ? odd : NULL;
}

/* Tokens of a document of Tulu 3, in the mean of what was packed into 2,048 to 32,768 (Megatron-Bridge's model
 * verification cards fine-tune on it; huggingface.co/datasets/allenai/tulu-3-sft-mixture, 2024). */
#define TULU_TOKENS 600

/* Does a performance recipe of Megatron-Bridge launch whole iterations, with exchanges of experts beside all kernels?
 * Those of experts in mxfp8 do from June 2026 on, on Blackwell, which alone has mxfp8 (perf_recipes/qwen/common.py,
 * deepseek/common.py, gpt_oss/common.py). */
static bool launches_iterations(const struct run *run)
{
    return is(run, "megatron-core") && run->job.model->experts > 0 &&
           run->job.technique.recipe == RECIPE_MXFP8;
}

/* MLPerf's runs of NVIDIA in nvfp4, and of experts in mxfp8, have Transformer Engine's fused operations and attention in
 * 8 bits, but for Llama 3.1 405B; LoRA's from 6.0 on (USE_TE_OPS, FP8_DPA, NVTE_DPA_FP8_RECIPE of their configurations). */
static bool fuses_more(const struct run *run)
{
    const struct technique *technique = &run->job.technique;
    bool experts = run->job.model->experts > 0 && technique->recipe == RECIPE_MXFP8,
         known = !job_is_frozen(&run->job) || is(run, "megatron-core");
    return contains(run->framework ? run->framework : "", "NeMo") && run->job.model->hidden < 16384 &&
           known && (experts || run->job.type == COST_FP4);
}

/* Do graphs launch its layers? Hosts of Grace are slower: recipes of experts have such graphs with them since November
 * 2025 (scripts/performance/configs, QWEN3_…_GB200 and GB300, DEEPSEEK_V3_GB200, cuda_graph_scope). */
static bool launches_layers(const struct run *run)
{
    bool grace = run->job.model->experts > 0 && text_starts_with(run->job.device->name, "gb");
    return grace || is(run, "megatron-core");
}

/* MLPerf's runs launch graphs of iterations, NVIDIA's performance recipes of layers. Megatron-Bridge's other recipes
 * launch each kernel (cuda_graph_impl: none), and embed the positions of one packed document after another in all models
 * but Llama and those of latent attention (apply_rope_fusion); context parallel ranks exchange heads (cp_comm_type:
 * a2a), but experts' models keys. */
void run_read_habits(struct run *run, const char *kind, const char *place, const char *notes)
{
    struct job *job = &run->job;
    bool bridge = contains(run->framework ? run->framework : "", "Bridge"),
         tuned = strcmp(kind, "sft") == 0 || strcmp(kind, "lora") == 0,
         perf = strcmp(kind, "perf") == 0 || contains(place, "performance-summary") ||
                cells_has_item(notes, "balanced");
    if (!text_starts_with(job->software->name, "megatron-core"))
        return;
    if (contains(notes, "no CUDA graphs"))
        job->technique.graphs = GRAPHS_NONE;
    else if (contains(run->source, "training_results")) {
        job->technique.graphs = GRAPHS_ITERATION;
        if (fuses_more(run))
            job->technique.fused_mlp = job->technique.narrow_attention = SWITCH_ON;
    } else if (perf && bridge && launches_iterations(run)) {
        job->technique.graphs = GRAPHS_ITERATION;
        job->technique.fused_mlp = SWITCH_ON;
        job->technique.narrow_attention = contains(notes, "bf16 attention") ? SWITCH_OFF : SWITCH_ON;
        if (job->technique.expert_overlap == OVERLAP_USUAL && !contains(notes, "no A2A overlap"))
            job->technique.expert_overlap = OVERLAP_WEIGHTS;
    } else if (contains(notes, "CUDA graphs") || (perf && bridge && launches_layers(run)))
        job->technique.graphs = GRAPHS_LAYERS;
    if (!bridge || !tuned || !contains(place, "verification_cards"))
        return;
    bool fused =
        contains(run->model_name, "llama") || job->model->kv_rank > 0 || contains(notes, "fused rope");
    job->document = TULU_TOKENS;
    job->technique.rope = fused ? SWITCH_ON : SWITCH_OFF;
    if (job->degrees.context > 1 && job->model->experts == 0)
        job->technique.context_kind = CONTEXT_ULYSSES;
}

/* ---- precision ---- */

bool run_type_named(const char *text, enum cost_type *type)
{
    static const struct {
        const char *part;
        enum cost_type type;
    } names[] = {
        {"fp4", COST_FP4},   {"fp8", COST_FP8},   {"float8", COST_FP8},
        {"int8", COST_INT8}, {"bf16", COST_BF16}, {"fp16", COST_FP16},
        {"tf32", COST_TF32}, {"fp32", COST_FP32}, {"half", COST_FP16},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (contains(text, names[i].part)) {
            *type = names[i].type;
            return true;
        }
    return false;
}

/* "float8 rowwise", "MXFP8", "FP8-MX"; not "FP8-CS (FP8-MX)", whose number is that of current scaling */
static enum number_recipe recipe_of(const char *text)
{
    bool blocks = contains(text, "MXFP8") || contains(text, "MX-FP8") || contains(text, "MX_FP8") ||
                  contains(text, "FP8_MX") || (contains(text, "FP8-MX") && !contains(text, "FP8-CS"));
    return contains(text, "rowwise") ? RECIPE_ROWWISE : blocks ? RECIPE_MXFP8 : RECIPE_USUAL;
}

/* Is each word with a digit, which says a format, one that is known? "fp88" is not fp8. */
static bool formats_are_known(const char *text)
{
    static const char *const words[] = {"bf16",  "bfloat16", "fp16",    "float16", "fp8",   "float8",
                                        "mxfp8", "e4m3",     "e5m2",    "fp4",     "nvfp4", "mxfp4",
                                        "tf32",  "fp32",     "float32", "int8",    "int4",  "nf4",
                                        "4bit",  "8bit",     "4",       "8",       "16",    "32"};
    static const char alnum[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (size_t length; *(text += strcspn(text, alnum)); text += length) {
        size_t i = 0, count = sizeof words / sizeof *words;
        length = strspn(text, alnum);
        while (i < count && (strlen(words[i]) != length || strncasecmp(text, words[i], length) != 0))
            i++;
        if (i == count && strcspn(text, "0123456789") < length)
            return false;
    }
    return true;
}

bool run_read_precision(struct run *run, const char *text)
{
    if (!formats_are_known(text))
        return false;
    /* frozen weights in 4 or 8 bits are turned into 16 before each product (arXiv:2305.14314) */
    bool four =
        contains(text, "4-bit") || contains(text, "4bit") || contains(text, "nf4") || contains(text, "int4");
    if (software_supports(run->job.software, TECHNIQUE_RECIPE))
        run->job.technique.recipe = recipe_of(text);
    bool eight = contains(text, "8-bit") || contains(text, "8bit") || contains(text, "int8");
    if (!job_is_frozen(&run->job) || (!four && !eight))
        return run_type_named(text, &run->job.type);
    run->job.technique.parameters = four ? FORMAT_FP4 : FORMAT_FP8;
    /* LitGPT's names: "bnb.nf4" and, with double quantisation, "bnb.nf4-dq" */
    if (contains(text, "bnb.nf4") && !contains(text, "-dq"))
        run->job.technique.scales = SWITCH_ON;
    run->job.type = contains(text, "half") || contains(text, "fp16") ? COST_FP16 : COST_BF16;
    return true;
}

/* ---- recomputation ---- */

bool run_recompute_named(const char *text, enum recompute *recompute)
{
    static const struct {
        const char *start;
        enum recompute recompute;
    } names[] = {
        {"full", RECOMPUTE_FULL}, {"selective", RECOMPUTE_SELECTIVE},
        {"none", RECOMPUTE_NONE}, {"policy", RECOMPUTE_SELECTIVE}, /* XLA's: what is kept is chosen by name */
        {"no", RECOMPUTE_NONE},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].start);
        if (strncasecmp(text, names[i].start, length) == 0 && !isalnum((unsigned char)text[length])) {
            *recompute = names[i].recompute;
            return true;
        }
    }
    return false;
}

/* "selective (norm, moe)" names the modules by words that begin theirs, or are in them. */
static int modules_named(const char *text)
{
    static const struct {
        const char *word;
        enum recompute_module module;
    } words[] = {
        {"core_attn", MODULE_CORE_ATTENTION},  {"norm", MODULE_NORMS}, {"mla_up", MODULE_LATENT_UP},
        {"moe_act", MODULE_EXPERT_ACTIVATION}, {"mlp", MODULE_MLP},    {"shared", MODULE_SHARED_EXPERTS},
    };
    int modules = 0;
    const char *bracket = strchr(text, '(');
    for (size_t i = 0; bracket && i < sizeof words / sizeof *words; i++)
        if (contains(bracket, words[i].word))
            modules |= 1 << words[i].module;
    for (const char *moe = bracket; moe && (moe = strcasestr(moe, "moe")); moe += 3)
        if (moe[3] != '_')
            modules |= 1 << MODULE_EXPERTS;
    return modules;
}

bool run_read_recompute(struct run *run, const char *text)
{
    struct job *job = &run->job;
    int some, all, end = 0;
    if (sscanf(text, "%5d of %5d layers%n", &some, &all, &end) == 2 && end > 0 && some > 0) {
        job->recompute = RECOMPUTE_FULL;
        job->technique.method = METHOD_BLOCK;
        job->technique.layers = some;
        return true;
    }
    if (!run_recompute_named(text, &job->recompute))
        return false;
    if (job->recompute == RECOMPUTE_SELECTIVE && software_supports(job->software, TECHNIQUE_MODULES))
        job->technique.modules = modules_named(text);
    return true;
}
