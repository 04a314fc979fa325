/* The machines and models behind measured plans: facts missing from a table of plans (rehearse-mixed/1,
 * YAML).
 *
 * Three lists: models (their layers), devices (host time of a layer), clusters (nodes in the order of ranks,
 * links, software). examples/mixed/ has two such files, with the source of each number. */
#ifndef REHEARSE_EVIDENCE_MIXED_SETUP_H
#define REHEARSE_EVIDENCE_MIXED_SETUP_H

#include "core/csv.h"
#include "core/doc.h"
#include "evidence/mixed.h"

#define MIXED_MAX_LAYERS   4096
#define MIXED_MAX_LAUNCHES 8

enum mixed_layer_kind {
    MIXED_EMBEDDING, /* tables of words and positions */
    MIXED_BLOCK,
    MIXED_HEAD, /* back to words; when tied it has the first stage's table */
    MIXED_OTHER /* negligible */
};

struct mixed_architecture {
    const char *name;  /* name in plans */
    const char *table; /* name in the table of layers */
    double hidden, heads, sequence, vocabulary, positions;
    double element; /* bytes of an activation */
    bool tied;
    bool dropout; /* keeps its masks and its results */
    int layer_count;
    enum mixed_layer_kind *kinds;
};

struct mixed_launch {
    int tensor;
    double seconds; /* host time of a block */
};

struct mixed_device {
    const char *name; /* prefix of the name in tables */
    int launch_count; /* 0: unknown */
    struct mixed_launch launches[MIXED_MAX_LAUNCHES];
    const char *like; /* kernels take `times` as long as on this device; NULL: unknown */
    double times;
    double update; /* optimizer seconds per parameter; 0: unknown */
};

struct mixed_group {
    const char *device;
    int nodes, devices; /* per node */
    struct mixed_node links;
};

struct mixed_cluster {
    const char *name; /* prefix of the name in the table */
    int group_count;
    struct mixed_group *groups; /* in the order of ranks */
    struct mixed_software software;
};

struct mixed_setup {
    struct doc doc; /* owns everything */
    int architecture_count, device_count, cluster_count;
    struct mixed_architecture *architectures;
    struct mixed_device *devices;
    struct mixed_cluster *clusters;
};

/* Reads a setup. On failure *setup is empty; on success the caller ends it with mixed_setup_release. */
bool mixed_setup_load(struct mixed_setup *setup, const char *path, struct error *err);
bool mixed_setup_parse(struct mixed_setup *setup, const char *path, const char *data, size_t length,
                       struct error *err);
void mixed_setup_release(struct mixed_setup *setup);

/* Return the entry for a name in tables; NULL: none. */
const struct mixed_architecture *mixed_architecture_find(const struct mixed_setup *setup, const char *name);
const struct mixed_device *mixed_device_find(const struct mixed_setup *setup, const char *name);
const struct mixed_cluster *mixed_cluster_find(const struct mixed_setup *setup, const char *name);

/* The layers of a model on a device type. */
struct mixed_entry {
    const char *model, *device;
    int tensor;
    int64_t microbatch; /* samples */
    int layer_count;
    double *forward, *backward; /* seconds; backward NULL: not measured */
    double update;              /* optimizer, of all layers; 0: not measured */
};

struct mixed_entries {
    int count;
    struct mixed_entry *entries;
};

/* Rows of a model, device type, degree and micro-batch are adjacent, layers in order. */
bool mixed_entries_read(struct mixed_entries *entries, const struct csv *csv, struct arena *arena,
                        struct error *err);

/* The parameters of a replica's times. */
struct mixed_place {
    const struct mixed_setup *setup;
    const struct mixed_entries *entries;
    const struct mixed_architecture *model;
    const char *device;
    int tensor;
    int64_t microbatch;
};

/* NULL on failure: *reason says why (NULL if memory ran out). */
struct mixed_times *mixed_times_at(const struct mixed_place *place, struct arena *arena, const char **reason);

/* Parameters of a layer; the head of a model whose table is shared has none where the embedding is on the same
 * device. */
double mixed_layer_parameters(const struct mixed_architecture *model, enum mixed_layer_kind kind, bool alone);

#endif
