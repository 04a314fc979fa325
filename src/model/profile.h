/* A profile: the time of each layer of a model on each device type.
 *
 * In memory, times are seconds and sizes bytes in any format. A profile is read once and never changed. All
 * device types have the same layers and the same bytes; files that disagree on bytes are an error.
 *
 * Formats read: the Oobleck folder, a folder of such folders named by device type, rehearse-profile/1 (JSON),
 * a graph of operations (graph.h). Formats written: the first three. See docs/profile.md. */
#ifndef REHEARSE_MODEL_PROFILE_H
#define REHEARSE_MODEL_PROFILE_H

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>

#define PROFILE_MAX_LAYERS     100000
#define PROFILE_MAX_DEVICES    64
#define PROFILE_MAX_GROUP      65536   /* devices in an all-reduce */
#define PROFILE_MAX_MICROBATCH 1000000 /* samples */

/* The bytes of a layer, on any device, for one micro-batch. */
struct profile_layer {
    const char *name;         /* "block 7"; NULL if the format has none */
    int64_t parameter_bytes;  /* its parameters, once */
    int64_t activation_bytes; /* kept for the backward pass, as the reference counts it */
    int64_t output_bytes;     /* sent to the next layer; 0: unknown */
};

/* All-reduce seconds of one layer's gradients for some group sizes, ascending in `devices`. */
struct profile_allreduce {
    int count;
    int *devices;
    double *seconds;
};

/* One device type: arrays of profile.layer_count. */
struct profile_device {
    const char *name; /* NULL: a single Oobleck folder */
    const char *path; /* file of its times, for messages */
    double *forward;  /* seconds, one device, one micro-batch; > 0 */
    double *backward;
    /* The same as written in a file of milliseconds, else NULL: rounded seconds do not always lead back to
     * them, and the reference's methods break ties by the last bit. */
    double *forward_ms, *backward_ms;
    struct profile_allreduce *in_node;      /* NULL: unknown */
    struct profile_allreduce *across_nodes; /* NULL: unknown; group size counts nodes */
    struct profile_measured *measured;      /* model/profile_measured.h; NULL: not said */
};

struct profile {
    struct arena arena;  /* owns everything below */
    const char *path;    /* as given by the user */
    const char *model;   /* NULL: unknown */
    const char *source;  /* origin ("roofline of …"); NULL: unknown */
    int microbatch_size; /* samples per micro-batch; 0: unknown */
    int layer_count;
    struct profile_layer *layers;
    int device_count;
    struct profile_device *devices;
};

/* Reads any format. `microbatch_size` chooses among mb{N}.json files; 0: there must be only one. On failure
 * *profile holds nothing; on success the caller releases it with profile_release. */
bool profile_load(struct profile *profile, const char *path, int microbatch_size, struct error *err);

/* Reads rehearse-profile/1 from text; `path` is for messages. */
bool profile_parse(struct profile *profile, const char *path, const char *data, size_t length,
                   struct error *err);

void profile_release(struct profile *profile);

/* Returns the device type of this name, or NULL. */
const struct profile_device *profile_find_device(const struct profile *profile, const char *name);

/* Sets the seconds of the all-reduce for a group size; false: not known. */
bool profile_allreduce_find(const struct profile_allreduce *allreduce, int devices, double *seconds);

/* Appends the profile as rehearse-profile/1. */
void profile_write_json(const struct profile *profile, struct json *json);

/* Writes Oobleck's files into folder `path` (made if missing): mb{N}.json, both all-reduce files,
 * model_args.json, in milliseconds; one folder each below `path` for several device types. Every all-reduce
 * entry has the key "1". */
bool profile_save_oobleck(const struct profile *profile, const char *path, struct error *err);

/* Appends a readable table: per device type the sums, and the layers, with equal neighbours in one row. */
void profile_print(const struct profile *profile, struct text *out);

#endif
