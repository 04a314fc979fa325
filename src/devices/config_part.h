/* Shared by the files that read Hugging Face's configurations. Private to src/devices. */
#ifndef REHEARSE_DEVICES_CONFIG_PART_H
#define REHEARSE_DEVICES_CONFIG_PART_H

#include "core/doc.h"
#include "core/text.h"
#include "devices/architecture.h"

/* What a class does unless its configuration says otherwise. Sources: configuration_*.py and modeling_*.py of
 * huggingface/transformers 4.57 and 5. */
enum config_habit {
    GATED = 1,
    BIASED = 2,
    QKV_BIASED = 4,
    LAYER_NORM = 8, /* with biases; else RMSNorm */
    TIED = 16,
    QK_NORM = 32,
    LEARNED = 64, /* positions */
    DROPOUT = 128,
    FULL_FFN = 256, /* four times hidden if no key says it */
    MIXTURE = 512,
    LATENT = 1024,
    SINKS = 2048,
    MASKED = 4096,
    PLAIN_NORM = 8192, /* LayerNorm without biases */
    EMBEDDING_NORM = 16384,
    GELU = 32768,          /* unless a key says another activation */
    PARALLEL = 65536,      /* attention and MLP side by side */
    ONE_NORM = 131072,     /* which they share */
    FOUR_NORMS = 262144,   /* before and behind each */
    WIDE_NORM = 524288,    /* of all heads' queries and keys */
    OUTPUT_NORM = 1 << 20, /* behind attention and MLP, and none before */
    SCALED = 1 << 21,
    SIGMOID = 1 << 22, /* scores of experts, with a correction per expert */
    SOFTMAX_ALL =
        1 << 23,         /* the softmax of scores is over all experts unless norm_topk_prob says otherwise */
    TEXT_PART = 1 << 24, /* of a model that sees or hears, too */
};

struct config_kind {
    const char *type;
    unsigned habits;
    const char *refused; /* why */
};

/* Finds a kind by model_type. NULL: it is not known. */
const struct config_kind *config_kind_of(const char *type);

/* Appends the types that are read, with commas. */
void config_kinds_list(struct text *out);

/* Keys of the same fact, in the order in which they count. */
extern const char *const config_hidden[], *const config_kv_heads[], *const config_experts[];

#define CONFIG_MAX_SIZE   (INT64_C(1) << 24)
#define CONFIG_MAX_LAYERS 100000

struct config_reader {
    const struct doc *doc;
    const struct doc_node *map;
    struct text wrong; /* one line each */
};

/* Adds a complaint. Returns false. */
bool config_complain(struct config_reader *r, const char *text);

/* Returns the node of the first of these keys that is there and not null. */
const struct doc_node *config_find(const struct config_reader *r, const char *const *keys);

/* Reads a whole number; `needed`: without it the class takes that of another model. */
int64_t config_number(struct config_reader *r, const char *const *keys, int64_t max, bool needed);

/* The same of one key, which may be absent or 0. */
int64_t config_optional(struct config_reader *r, const char *key, int64_t max);

bool config_flag(const struct config_reader *r, const char *key, bool otherwise);
double config_real(const struct config_reader *r, const char *key);

/* Returns whether a text is there and is this one. */
bool config_says(const struct config_reader *r, const char *key, const char *text);

/* Reads all of a model but its name. */
void config_read(struct config_reader *r, struct architecture *model, const struct config_kind *kind);

/* Reads what only this kind has, once all else is read. */
void config_read_kind(struct config_reader *r, struct architecture *model, const struct config_kind *kind);

#endif
