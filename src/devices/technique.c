#include "devices/technique.h"

#include <string.h>

#define MAX_NUMBER 1000000

/* The words of values 1, 2, …; a set's words are those of its bits. */
static const char *const modules[] = {
    "core_attn", "layernorm", "mla_up_proj", "moe", "moe_act", "mlp", "shared_experts", NULL,
};
static const char *const methods[] = {"block", "uniform", "every", NULL};
static const char *const formats[] = {"fp32", "fp16", "bf16", "fp8", "fp4", NULL};
static const char *const recipes[] = {"delayed", "tensorwise", "blockwise", "mxfp8",
                                      "nvfp4",   "rowwise",    NULL};
static const char *const switches[] = {"no", "yes", NULL};
static const char *const graphs[] = {"no", "yes", "layers", NULL};
static const char *const places[] = {"host", "nvme", NULL};
static const char *const dispatchers[] = {"alltoall", "deepep", "allgather", NULL};
static const char *const optimizers[] = {"adam", "momentum", "factored", "none", "galore", "apollo", NULL};
static const char *const targets[] = {"query", "key", "value", "output", "gate", "up", "down", NULL};
static const char *const overlaps[] = {"no", "yes", "wgrad", NULL};
static const char *const context_kinds[] = {"p2p", "all_gather", "a2a", "a2a+p2p", NULL};
static const char *const schedule_names[] = {"1f1b", "zb-h1", "dualpipe", "zb-v", "dualpipev", NULL};

static const struct {
    const char *name, *text;
} described[TECHNIQUE_COUNT] = {
#define X(id, member, name, text) [TECHNIQUE_##id] = {name, text},
    TECHNIQUES(X)
#undef X
};

/* Words; NULL: a number. */
static const char *const *const words_of[TECHNIQUE_COUNT] = {
    [TECHNIQUE_MODULES] = modules,
    [TECHNIQUE_METHOD] = methods,
    [TECHNIQUE_GRADIENTS] = formats,
    [TECHNIQUE_MASTER] = formats,
    [TECHNIQUE_MOMENTS] = formats,
    [TECHNIQUE_PARAMETERS] = formats,
    [TECHNIQUE_ACTIVATIONS] = formats,
    [TECHNIQUE_RECIPE] = recipes,
    [TECHNIQUE_RESHARD] = switches,
    [TECHNIQUE_OFFLOAD_TO] = places,
    [TECHNIQUE_DISPATCH] = dispatchers,
    [TECHNIQUE_EXPERT_OVERLAP] = overlaps,
    [TECHNIQUE_TENSOR_OVERLAP] = switches,
    [TECHNIQUE_CONTEXT_KIND] = context_kinds,
    [TECHNIQUE_SCHEDULE] = schedule_names,
    [TECHNIQUE_OPTIMIZER] = optimizers,
    [TECHNIQUE_STEP] = switches,
    [TECHNIQUE_DATA_OVERLAP] = switches,
    [TECHNIQUE_GATHER_OVERLAP] = switches,
    [TECHNIQUE_SEQUENCE] = switches,
    [TECHNIQUE_EXPERT_KERNELS] = switches,
    [TECHNIQUE_ATTENTION] = switches,
    [TECHNIQUE_TARGETS] = targets,
    [TECHNIQUE_ENDS] = switches,
    [TECHNIQUE_SCALES] = switches,
    [TECHNIQUE_GRAPHS] = graphs,
    [TECHNIQUE_ROPE] = switches,
    [TECHNIQUE_FUSED_MLP] = switches,
    [TECHNIQUE_NARROW_ATTENTION] = switches,
};

static int count_words(enum technique_kind kind)
{
    int count = 0;
    while (words_of[kind][count])
        count++;
    return count;
}

static bool is_set(enum technique_kind kind)
{
    return kind == TECHNIQUE_MODULES || kind == TECHNIQUE_TARGETS;
}

const char *technique_name(enum technique_kind kind)
{
    return described[kind].name;
}

const char *technique_text(enum technique_kind kind)
{
    return described[kind].text;
}

bool technique_find(const char *name, enum technique_kind *kind)
{
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (strcmp(described[k].name, name) == 0) {
            *kind = (enum technique_kind)k;
            return true;
        }
    return false;
}

int technique_get(const struct technique *technique, enum technique_kind kind)
{
    switch (kind) {
#define X(id, member, name, text)                                                                            \
    case TECHNIQUE_##id:                                                                                     \
        return technique->member;
        TECHNIQUES(X)
#undef X
    case TECHNIQUE_COUNT:
        break;
    }
    return 0;
}

void technique_set(struct technique *technique, enum technique_kind kind, int value)
{
    switch (kind) {
#define X(id, member, name, text)                                                                            \
    case TECHNIQUE_##id:                                                                                     \
        technique->member = value;                                                                           \
        break;
        TECHNIQUES(X)
#undef X
    case TECHNIQUE_COUNT:
        break;
    }
}

struct technique technique_asked(const struct technique *technique)
{
    static const enum technique_kind asked[] = {
        TECHNIQUE_TENSOR_OVERLAP,
        TECHNIQUE_OPTIMIZER,
        TECHNIQUE_OPTIMIZER_RANK,
        TECHNIQUE_STEP,
        TECHNIQUE_RANK,
        TECHNIQUE_TARGETS,
        TECHNIQUE_ENDS,
        TECHNIQUE_SCALES,
        TECHNIQUE_PARAMETERS,
        TECHNIQUE_GRAPHS,
        TECHNIQUE_ROPE,
        TECHNIQUE_FUSED_MLP,
        TECHNIQUE_NARROW_ATTENTION,
    };
    struct technique kept = {.modules = 0};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (asked[i] != TECHNIQUE_PARAMETERS || technique->rank > 0)
            technique_set(&kept, asked[i], technique_get(technique, asked[i]));
    return kept;
}

struct technique technique_given(const struct technique *technique)
{
    static const enum technique_kind chosen[] = {
        TECHNIQUE_MODULES,        TECHNIQUE_METHOD,
        TECHNIQUE_LAYERS,         TECHNIQUE_REPLICATE,
        TECHNIQUE_RESHARD,        TECHNIQUE_DISPATCH,
        TECHNIQUE_OFFLOAD,        TECHNIQUE_OFFLOAD_ACTIVATIONS,
        TECHNIQUE_EXPERT_TENSOR,  TECHNIQUE_CONTEXT_KIND,
        TECHNIQUE_EXPERT_OVERLAP, TECHNIQUE_SCHEDULE,
    };
    struct technique kept = *technique;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        technique_set(&kept, chosen[i], 0);
    return kept;
}

bool technique_is_usual(const struct technique *technique)
{
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (technique_get(technique, (enum technique_kind)k) != 0)
            return false;
    return true;
}

bool technique_is_number(enum technique_kind kind)
{
    return !words_of[kind];
}

int technique_max(enum technique_kind kind)
{
    if (is_set(kind))
        return (1 << count_words(kind)) - 1;
    if (kind == TECHNIQUE_OFFLOAD)
        return 100;
    return words_of[kind] ? count_words(kind) : MAX_NUMBER;
}

void technique_write(struct text *out, enum technique_kind kind, int value)
{
    const char *between = "";
    if (!words_of[kind]) {
        text_format(out, "%d", value);
    } else if (value <= 0) {
        text_add(out, "usual");
    } else if (!is_set(kind)) {
        text_add(out, words_of[kind][value - 1]);
    } else if (kind == TECHNIQUE_TARGETS && (value == TARGETS_ALL || value == TARGETS_ATTENTION)) {
        text_add(out, value == TARGETS_ALL ? "all" : "attention");
    } else {
        for (int m = 0; words_of[kind][m]; m++)
            if (value >> m & 1) {
                text_format(out, "%s%s", between, words_of[kind][m]);
                between = "+";
            }
    }
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

/* A word of `length` bytes. */
static bool find_word(enum technique_kind kind, const char *word, size_t length, int *index)
{
    const char *const *words = words_of[kind];
    for (*index = 0; words[*index]; (*index)++)
        if (is_word(words[*index], word, length))
            return true;
    return false;
}

static bool read_set(enum technique_kind kind, const char *text, int *value)
{
    *value = 0;
    for (;;) {
        size_t length = strcspn(text, "+");
        int bit;
        if (kind == TECHNIQUE_TARGETS && is_word("all", text, length))
            *value |= TARGETS_ALL;
        else if (kind == TECHNIQUE_TARGETS && is_word("attention", text, length))
            *value |= TARGETS_ATTENTION;
        else if (find_word(kind, text, length, &bit))
            *value |= 1 << bit;
        else
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

static bool read_number(const char *text, enum technique_kind kind, int *value)
{
    int64_t number;
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0' || !text_whole(text, "", &number) ||
        number > technique_max(kind))
        return false;
    *value = (int)number;
    return true;
}

static void list_words(struct text *expected, enum technique_kind kind)
{
    int count = count_words(kind);
    for (int i = 0; i < count; i++)
        text_format(expected, "%s%s", i == 0 ? "" : i < count - 1 ? ", " : " or ", words_of[kind][i]);
    if (is_set(kind))
        text_add(expected, ", several joined by '+'");
    if (kind == TECHNIQUE_TARGETS)
        text_add(expected, ", all or attention");
}

bool technique_read(const char *text, enum technique_kind kind, int *value, struct text *expected)
{
    int index;
    if (words_of[kind] && strcmp(text, "usual") == 0) {
        *value = 0;
        return true;
    }
    if (!words_of[kind]) {
        if (read_number(text, kind, value))
            return true;
        text_format(expected, "a whole number from 0 to %d", technique_max(kind));
        return false;
    }
    if (is_set(kind)) {
        if (read_set(kind, text, value))
            return true;
    } else if (find_word(kind, text, strlen(text), &index)) {
        *value = index + 1;
        return true;
    }
    list_words(expected, kind);
    return false;
}

void technique_write_recompute(struct text *out, enum recompute recompute, const struct technique *technique)
{
    const char *between = "";
    text_add(out, recompute_name(recompute));
    if (recompute == RECOMPUTE_SELECTIVE && technique->modules != 0) {
        text_add(out, " (");
        for (int m = 0; m < RECOMPUTE_MODULES; m++)
            if (technique->modules >> m & 1) {
                text_format(out, "%s%s", between, modules[m]);
                between = ", ";
            }
        text_add(out, ")");
    }
    int layers = technique->layers;
    if (recompute != RECOMPUTE_FULL || layers == 0)
        return;
    if (technique->method == METHOD_BLOCK)
        text_format(out, " (%d block%s of each chunk)", layers, layers == 1 ? "" : "s");
    else if (technique->method == METHOD_EVERY)
        text_format(out, " (every %d blocks, one)", layers);
    else if (layers > 1)
        text_format(out, " (%d blocks together)", layers);
}

void technique_write_others(struct text *out, const struct technique *technique, const char *before)
{
    for (int k = TECHNIQUE_GRADIENTS; k < TECHNIQUE_COUNT; k++) {
        int value = technique_get(technique, (enum technique_kind)k);
        if (value == 0)
            continue;
        text_format(out, "%s%s ", before, described[k].name);
        technique_write(out, (enum technique_kind)k, value);
    }
}

double number_format_bytes(int format, double usual)
{
    static const double bytes[] = {[FORMAT_FP32] = 4.0,
                                   [FORMAT_FP16] = 2.0,
                                   [FORMAT_BF16] = 2.0,
                                   [FORMAT_FP8] = 1.0,
                                   [FORMAT_FP4] = 0.5};
    return format == FORMAT_USUAL ? usual : bytes[format];
}

const char *recompute_name(enum recompute recompute)
{
    static const char *const names[] = {"none", "selective", "full"};
    return names[recompute];
}

bool recompute_find(const char *name, enum recompute *recompute)
{
    for (int i = RECOMPUTE_NONE; i <= RECOMPUTE_FULL; i++)
        if (strcmp(name, recompute_name((enum recompute)i)) == 0) {
            *recompute = (enum recompute)i;
            return true;
        }
    return false;
}
