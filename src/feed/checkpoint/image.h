/* What a writer puts into a file of a checkpoint: headers, made beforehand, and content between them.
 *
 *   raw            the content alone
 *   torch          as torch.save writes a dict of tensors: a zip archive, nothing packed, each member's data at a
 *                  multiple of 64 bytes; data.pkl has names, types and shapes, data/0, data/1, ... the content; a
 *                  member's CRC-32 follows its data (caffe2/serialize/inline_container.cc of PyTorch; pickle's protocol 2)
 *   safetensors    the header's length in 8 bytes, the header as JSON, the content; tensors by name
 *                  (github.com/huggingface/safetensors, "Format") */
#ifndef REHEARSE_FEED_CHECKPOINT_IMAGE_H
#define REHEARSE_FEED_CHECKPOINT_IMAGE_H

#include "core/text.h"
#include "feed/checkpoint/tensors.h"

/* Bytes in a row: of a header, or of the content. */
struct checkpoint_piece {
    int64_t length;
    bool content; /* the next bytes of it */
    size_t at;    /* of a header: in the image's text */
    size_t sums
        [2]; /* of content: where in the text its CRC-32 is to be put, before what follows is written; 0: nowhere */
};

/* {0} is empty; the caller ends it with checkpoint_image_release. */
struct checkpoint_image {
    struct text text;
    struct checkpoint_piece *pieces;
    size_t count, capacity;
    size_t ended;  /* bytes of the text that are pieces already */
    int64_t bytes; /* of all pieces: the file's */
};

/* Makes the image of a file with these tensors, which it puts into the order of the format. `name` is the file's;
 * `number` tells contents apart (torch's serialization_id). */
bool checkpoint_image_make(struct checkpoint_image *image, enum workload_checkpoint_format format,
                           const char *name, struct checkpoint_tensors *tensors, uint64_t number,
                           struct error *err);
void checkpoint_image_release(struct checkpoint_image *image);

/* Notes the CRC-32 of a piece of content. */
void checkpoint_image_sum(struct checkpoint_image *image, const struct checkpoint_piece *piece, uint32_t sum);

#endif
