/* Shared by the files that read Hugging Face's configurations. Private to src/devices. */
#ifndef REHEARSE_DEVICES_CONFIG_PART_H
#define REHEARSE_DEVICES_CONFIG_PART_H

#include "core/doc.h"
#include "core/text.h"
#include "devices/blocks.h"

struct config_kind {
    const char *type;
    unsigned habits;
    const char *refused;            /* why */
    const struct doc_node *besides; /* what it has by keys of its own; NULL: nothing */
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
    struct arena *arena; /* of the model's texts */
    struct text wrong;   /* one line each */
};

/* Adds a complaint. Returns false. */
bool config_complain(struct config_reader *r, const char *text);

/* Complains at a key of the map that is there, or at the map. Returns false. */
bool config_complain_at(struct config_reader *r, const char *key, const char *why);

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

/* Reads how each block of a kind mixes tokens, where they differ in more than a window. */
void config_read_mixers(struct config_reader *r, struct architecture *model, const char *type);

/* Reads the tower of a model that sees; r->map: the outer one. */
void config_read_vision(struct config_reader *r, struct architecture *model, const struct doc_node *vision);

/* Reads what only this kind has, once all else is read. */
void config_read_kind(struct config_reader *r, struct architecture *model, const struct config_kind *kind);

#endif
