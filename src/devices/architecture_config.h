/* A model as Hugging Face's config.json describes it.
 *
 * Of each known kind (`model_type`) the keys, and what its class does by itself, are in one table. Sizes that are
 * missing are refused: the class would silently take those of some other model. Kinds whose blocks are no attention and
 * MLP (Mamba, linear attention, hybrids) or differ in a way that cannot be said here are refused by name. */
#ifndef REHEARSE_DEVICES_ARCHITECTURE_CONFIG_H
#define REHEARSE_DEVICES_ARCHITECTURE_CONFIG_H

#include "core/arena.h"
#include "core/doc.h"
#include "devices/architecture.h"

/* Returns whether a document describes a model in this way. */
bool architecture_is_config(const struct doc *doc);

/* Reads a document. The model's texts live in the arena. All that is wrong is named at once. */
bool architecture_of_config(struct architecture *model, const struct doc *doc, struct arena *arena,
                            struct error *err);

/* Reads a file; one whose name does not say JSON, too. *is_config: false: it holds something else, and nothing was
 * read. */
bool architecture_load_config(struct architecture *model, const char *path, struct arena *arena,
                              bool *is_config, struct error *err);

/* Finds a model by the name of a checkpoint: "meta-llama/Llama-3.1-8B-Instruct". NULL: it is not known. */
const struct architecture *architecture_of_checkpoint(const char *name);

#endif
