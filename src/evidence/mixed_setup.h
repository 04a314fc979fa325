/* Where measured plans ran, and with what: the facts that a table of plans does not hold (rehearse-mixed/1, YAML).
 *
 * Three lists: models (what their layers are), devices (host time of a layer), clusters (nodes in the order of ranks,
 * links, software). examples/mixed/ has two such files, which tell where each number comes from. */
#ifndef REHEARSE_EVIDENCE_MIXED_SETUP_H
#define REHEARSE_EVIDENCE_MIXED_SETUP_H

#include "core/doc.h"
#include "evidence/mixed.h"

#define MIXED_MAX_LAYERS   4096
#define MIXED_MAX_LAUNCHES 8

enum mixed_layer_kind {
    MIXED_EMBEDDING, /* table of words and of positions */
    MIXED_BLOCK,
    MIXED_HEAD, /* back to words; when tied it has the first stage's table */
    MIXED_OTHER /* nothing to speak of */
};

struct mixed_architecture {
    const char *name;  /* as plans call it */
    const char *table; /* as the table of layers does */
    double hidden, heads, sequence, vocabulary, positions;
    double element; /* bytes of an activation */
    bool tied;
    bool dropout; /* keeps its masks and what it made */
    int layer_count;
    enum mixed_layer_kind *kinds;
};

struct mixed_device {
    const char *name; /* the beginning of what tables call it */
    int launch_count; /* 0: not known */
    struct {
        int tensor;
        double seconds; /* host time of a block */
    } launches[MIXED_MAX_LAUNCHES];
    const char *like; /* kernels take `times` what they take on this other device; NULL: not known */
    double times;
    double update; /* optimizer seconds per parameter; 0: not known */
};

struct mixed_group {
    const char *device;
    int nodes, devices; /* of a node */
    struct mixed_node links;
};

struct mixed_cluster {
    const char *name; /* the beginning of what the table calls it */
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

/* On failure *setup holds nothing; on success the caller ends it with mixed_setup_release. */
bool mixed_setup_load(struct mixed_setup *setup, const char *path, struct error *err);
bool mixed_setup_parse(struct mixed_setup *setup, const char *path, const char *data, size_t length,
                       struct error *err);
void mixed_setup_release(struct mixed_setup *setup);

/* By what tables call them; NULL: not there. */
const struct mixed_architecture *mixed_architecture_find(const struct mixed_setup *setup, const char *name);
const struct mixed_device *mixed_device_find(const struct mixed_setup *setup, const char *name);
const struct mixed_cluster *mixed_cluster_find(const struct mixed_setup *setup, const char *name);

#endif
