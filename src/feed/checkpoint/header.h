/* What the header of a checkpoint's file says: the tensors, and where their bytes are. The bytes are not read.
 *
 * A torch file holds a dict of tensors, each the whole of its storage, as state_dict() gives it. A pickle can ask its
 * reader to call any function: this one is read as text, in the one form that torch.save writes. What does not add up
 * is an error. */
#ifndef REHEARSE_FEED_CHECKPOINT_HEADER_H
#define REHEARSE_FEED_CHECKPOINT_HEADER_H

#include "dataset/format.h"
#include "feed/checkpoint/tensors.h"

/* Fills *tensors, which the caller releases in any case: in the order of the dict, or of a safetensors file's bytes.
 * `path` is for errors. */
bool checkpoint_header_read(struct checkpoint_tensors *tensors, enum workload_checkpoint_format format,
                            const char *path, const struct dataset_source *source, struct error *err);

/* How the formats name a type, in the order of the types; ended by NULL. */
extern const char *const checkpoint_torch_types[], *const checkpoint_safetensors_types[];

#endif
