/* What the readers of all profile formats share. Private to this room. */
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

/* A layer's time in seconds; positive. */
bool profile_read_time(const struct profile_reader *r, const struct doc_node *node, double *seconds);

/* A size in whole bytes, also when written as a float. */
bool profile_read_bytes(const struct profile_reader *r, const struct doc_node *node, int64_t *bytes);

/* One all-reduce map of group sizes per layer ("2": time) into an array of profile.layer_count. `list` holds
 * a value per layer: the map itself, or where `key` is given a map that may have it under this key. The group
 * size "0" is left out: it means nothing, and some files have it. */
bool profile_read_allreduce(const struct profile_reader *r, const struct doc_node *list, const char *key,
                            struct profile_allreduce **allreduce);

/* rehearse-profile/1. On failure *profile holds nothing. */
bool profile_from_doc(struct profile *profile, const struct doc *doc, struct error *err);

#endif
