/* Functions shared by the readers of all profile formats. Private to this room. */
#ifndef REHEARSE_MODEL_READ_H
#define REHEARSE_MODEL_READ_H

#include "core/doc.h"
#include "core/error.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct profile_reader {
    struct profile *profile;
    const struct doc *doc;
    double per_second; /* the file's time unit: 1 for seconds, 1e3 for milliseconds */
    struct error *err;
};

/* Reads a layer's time in seconds; it must be positive. */
bool profile_read_time(const struct profile_reader *r, const struct doc_node *node, double *seconds);

/* Reads a size in whole bytes, also written as a float. */
bool profile_read_bytes(const struct profile_reader *r, const struct doc_node *node, int64_t *bytes);

/* Checks the number of items in a list: 1 to `max`. `item`: "layer". */
bool profile_check_count(const struct profile_reader *r, const struct doc_node *list, const char *item,
                         int max);

/* Makes as many layers as the list has items, 1 to PROFILE_MAX_LAYERS. */
bool profile_make_layers(const struct profile_reader *r, const struct doc_node *list);

/* Reads each layer's all-reduce map of group sizes ("2": time) into an array of profile.layer_count. `list`
 * holds a value per layer: the map itself, or with `key` a map that may have it under this key. The group
 * size "0" in some files is meaningless and skipped. */
bool profile_read_allreduce(const struct profile_reader *r, const struct doc_node *list, const char *key,
                            struct profile_allreduce **allreduce);

/* Reads rehearse-profile/1. On failure *profile holds nothing. */
bool profile_from_doc(struct profile *profile, const struct doc *doc, struct error *err);

#endif
