/* The files that each rank writes in a checkpoint, and their sizes: DLIO's layout (
 * checkpointing/base_checkpointing.py of argonne-lcf/dlio_benchmark).
 *
 * Ranks are numbered tensor first, then pipeline, then data. A model that is no transformer is one file of
 * model_size_bytes. A transformer's layers are 0 (embedding), 1 to L, L + 1 (head) and L + 2 (last norm),
 * dealt to the stages in order. Nothing is listed: each file follows from its rank and index.
 *
 *   ZeRO 0       ranks of the first replica write their part of the model and all of its optimizer's state
 *   ZeRO 1, 2    the first replica writes the model, every rank its part of the optimizer's state
 *   ZeRO 3       every rank writes its part of both
 *   experts      (DLIO has none) ZeRO 1, 2: the first of a stage's ranks that together hold them all
 *
 * Sizes are the content's, which is all of a raw file; the other formats add names and headers (image.h). */
#ifndef REHEARSE_FEED_CHECKPOINT_SHARDS_H
#define REHEARSE_FEED_CHECKPOINT_SHARDS_H

#include "core/error.h"
#include "feed/checkpoint/tensors.h"
#include "feed/workload/workload.h"

#include <stdbool.h>
#include <stdint.h>

enum checkpoint_kind { CHECKPOINT_MODEL, CHECKPOINT_OPTIMIZER };

/* The shards of a workload for a number of ranks. Plain data. */
struct checkpoint_shards {
    int64_t ranks; /* in the run; with mode subset the first of tensor x pipeline x data */
    struct workload_split split;
    int64_t layers;    /* blocks; 0: none */
    int64_t embedding; /* elements on one rank: of the embedding */
    int64_t head;      /* elements of the head; DLIO's has as many as the embedding */
    int64_t block;     /* of one block */
    int64_t norm;      /* of the last norm */
    int64_t experts;   /* of a block's experts, on one of `expert` ranks; ZeRO 1 and 2, plans only */
    int64_t expert;    /* ranks of a stage, in order, that hold all experts together; at most tensor x data */
    int64_t hidden, kv, ffn, vocab; /* widths of the transformer; 0: only sums are known, as of a plan */
    enum workload_datatype model_type, optimizer_type;
    int64_t model_element; /* bytes */
    int64_t whole_model;   /* bytes of a model other than a transformer; else 0 */
    int64_t given_layer;   /* bytes of a layer if layer_parameters is set; else 0 */
    int64_t optimizer;     /* bytes on one rank; 0: none */
    double parameters;     /* of the whole transformer */
    const char *ending;    /* of the files' names: "pt" */
};

struct checkpoint_shard {
    enum checkpoint_kind kind;
    int64_t bytes;
    char name[96]; /* in the checkpoint's folder */
};

bool checkpoint_shards_init(struct checkpoint_shards *shards, const struct workload *workload, int64_t ranks,
                            struct error *err);

/* Return the number of files of this rank, and the index-th of them. */
int checkpoint_shards_count(const struct checkpoint_shards *shards, int64_t rank);
void checkpoint_shards_get(const struct checkpoint_shards *shards, int64_t rank, int index,
                           struct checkpoint_shard *shard);

/* Adds the tensors that the index-th file of this rank has: as Megatron Core names and shapes them, where the widths
 * are known and a tensor is not cut across its rows (ZeRO 3 does that); else flat ones. Their bytes are the file's. */
bool checkpoint_shards_tensors(const struct checkpoint_shards *shards, int64_t rank, int index,
                               struct checkpoint_tensors *tensors, struct error *err);

/* Return the bytes of one rank, and of all ranks. Doubles, exact to 2^53. */
double checkpoint_shards_rank_bytes(const struct checkpoint_shards *shards, int64_t rank);
double checkpoint_shards_bytes(const struct checkpoint_shards *shards);

/* Writes "global_epoch1_step1", a checkpoint's folder below checkpoint_folder. */
#define CHECKPOINT_FOLDER_SIZE 64
char *checkpoint_shards_folder(char *buffer, int64_t epoch, int64_t step);

#endif
