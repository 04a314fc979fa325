/* A profile: what each layer of a model takes on each device type.
 *
 * Inside, times are seconds and sizes bytes, whatever the file used. A profile is read once and then only
 * looked at. All device types of a profile have the same layers, and bytes belong to the layer, not to the
 * type: where files of different types disagree on them, reading fails.
 *
 * Formats read: the Oobleck folder, a folder of such folders named by device type, rehearse-profile/1 (JSON),
 * a graph of operations (graph.h).
 * Formats written: the first three. See docs/profile.md. */
#ifndef REHEARSE_MODEL_PROFILE_H
#define REHEARSE_MODEL_PROFILE_H

#include "core/arena.h"
#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>

#define PROFILE_MAX_LAYERS     100000
#define PROFILE_MAX_DEVICES    64
#define PROFILE_MAX_GROUP      65536   /* devices in an all-reduce */
#define PROFILE_MAX_MICROBATCH 1000000 /* samples */

/* What a layer weighs, on any device; one micro-batch. */
struct profile_layer {
    const char *name;         /* "block 7"; NULL where the format has none */
    int64_t parameter_bytes;  /* its parameters, once */
    int64_t activation_bytes; /* what is kept for the backward pass, as the reference counts it */
    int64_t output_bytes;     /* what goes to the next layer; 0 where it is not known */
};

/* All-reduce seconds of one layer's gradients for some group sizes, ascending in `devices`. */
struct profile_allreduce {
    int count;
    int *devices;
    double *seconds;
};

/* One device type: arrays of profile.layer_count. */
struct profile_device {
    const char *name; /* NULL: a lone Oobleck folder does not say */
    const char *path; /* the file its times came from, for messages */
    double *forward;  /* seconds, one device, one micro-batch; > 0 */
    double *backward;
    /* The same as written by a file in milliseconds, else NULL. Seconds are rounded and do not always lead back there,
     * and the reference's methods break ties by the last bit. */
    double *forward_ms, *backward_ms;
    struct profile_allreduce *in_node;      /* NULL: nothing known */
    struct profile_allreduce *across_nodes; /* NULL: nothing known; group size counts nodes */
};

struct profile {
    struct arena arena;  /* owns everything below */
    const char *path;    /* as the user wrote it */
    const char *model;   /* NULL: not known */
    const char *source;  /* how it was made ("roofline of …"); NULL: not known */
    int microbatch_size; /* samples per micro-batch; 0: not known */
    int layer_count;
    struct profile_layer *layers;
    int device_count;
    struct profile_device *devices;
};

/* Reads any of the formats. `microbatch_size` chooses among mb{N}.json files; 0: there must be only one. On
 * failure *profile holds nothing; on success the caller ends it with profile_release. */
bool profile_load(struct profile *profile, const char *path, int microbatch_size, struct error *err);

/* Reads rehearse-profile/1 from text; `path` is for messages. */
bool profile_parse(struct profile *profile, const char *path, const char *data, size_t length,
                   struct error *err);

void profile_release(struct profile *profile);

/* The device type of this name, or NULL. */
const struct profile_device *profile_find_device(const struct profile *profile, const char *name);

/* Seconds of the all-reduce for a group size; false when this size is not there. */
bool profile_allreduce_find(const struct profile_allreduce *allreduce, int devices, double *seconds);

/* rehearse-profile/1 as text. */
void profile_write_json(const struct profile *profile, struct text *out);

/* One file, rehearse-profile/1. */
bool profile_save(const struct profile *profile, const char *path, struct error *err);

/* Oobleck's files in folder `path` (made if missing): mb{N}.json, both all-reduce files, model_args.json.
 * With several device types, one folder each below `path`. Milliseconds. Every all-reduce entry has the key
 * "1". */
bool profile_save_oobleck(const struct profile *profile, const char *path, struct error *err);

/* A table for people: per device type the sums, and the layers, equal neighbours folded into one row. */
void profile_print(const struct profile *profile, struct text *out);

#endif
