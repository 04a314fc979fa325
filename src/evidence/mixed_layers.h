/* Tables of layer times, and the times of a device's layers in a plan. Part of mixed_read.h. */
#ifndef REHEARSE_EVIDENCE_MIXED_LAYERS_H
#define REHEARSE_EVIDENCE_MIXED_LAYERS_H

#include "core/csv.h"
#include "evidence/mixed_setup.h"

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
