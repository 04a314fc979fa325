/* Megatron-LM's arguments that are written, a table of data/names.yaml; those that are read:
 * data/software/megatron-lm.yaml. Private to src/launch. */
#ifndef REHEARSE_LAUNCH_MEGATRON_H
#define REHEARSE_LAUNCH_MEGATRON_H

#include "launch/launch.h"
#include "names.h"

/* EACH_megatron_option(X): X(identifier, name, kind), in the order of writing. */
enum megatron_option {
#define X(id, name, kind) MEGATRON_##id,
    EACH_megatron_option(X)
#undef X
        MEGATRON_COUNT
};

/* Modules are words behind one another. */
enum megatron_kind { MEGATRON_FLAG, MEGATRON_NUMBER, MEGATRON_WORD, MEGATRON_MODULES };

struct megatron_value {
    bool given;
    int64_t number;
    const char *word;
};

struct megatron_arguments {
    struct arena arena; /* of the words */
    struct megatron_value values[MEGATRON_COUNT];
};

const char *megatron_name(enum megatron_option option);

/* Gives the facts of a model that take no time: positions, activation, router. False: out of memory. */
bool megatron_facts(struct megatron_arguments *arguments, const struct architecture *model);

/* Gives the blocks that have experts, unless all have. False: out of memory. */
bool megatron_expert_layers(struct megatron_arguments *arguments, const struct architecture *model);

/* How a model's blocks of several kinds are said: of attention that has variants, or of a pattern of blocks without an
 * attention or an MLP, which also says the stages. */
enum megatron_blocks { BLOCKS_ALIKE, BLOCKS_DELTA, BLOCKS_INDEXED, BLOCKS_PATTERN };
enum megatron_blocks megatron_blocks_of(const struct architecture *model);

/* Returns the program that trains it. */
const char *megatron_program(const struct architecture *model);

/* Gives them. False: out of memory. */
bool megatron_blocks(struct megatron_arguments *arguments, const struct job *job);

/* Returns what of a model's blocks Megatron-LM does not have, NULL: nothing. */
const char *megatron_blocks_lack(const struct architecture *model);

/* ERROR_INFEASIBLE: a fact of the model that no argument states. */
bool megatron_check_facts(const struct architecture *model, struct error *err);

/* "Et*3|(t*2|)*29|L": the blocks of every chunk, stages next to each other (megatron/core/transformer/
 * pipeline_parallel_layer_layout.py). The words live in `arena`. *mtp: layers of multi-token prediction. */
const char *megatron_layout_write(const struct job *job, struct arena *arena);
bool megatron_layout_read(const char *layout, struct arena *arena, int **blocks, int *count, int *mtp);

#endif
