/* Chakra's execution traces (MLCommons, https://github.com/mlcommons/chakra): nodes of one device that wait for others.
 *
 * Two forms are read: protobuf (each message behind its length: one GlobalMetadata, then a Node each), as ASTRA-sim
 * takes it; and the JSON of PyTorch's execution trace observer (schema 1.0.2-chakra and its like), which has no times.
 * Both may be packed by gzip. Written is protobuf. Of a node's attributes those in struct chakra_node are kept. */
#ifndef REHEARSE_SIM_CHAKRA_CHAKRA_H
#define REHEARSE_SIM_CHAKRA_CHAKRA_H

#include "core/arena.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAKRA_MAX_NODES   ((size_t)1 << 23)
#define CHAKRA_MAX_DEPS    ((size_t)1 << 26)
#define CHAKRA_MAX_MESSAGE ((size_t)16 << 20)

/* The numbers of the format. */
enum chakra_type {
    CHAKRA_INVALID,
    CHAKRA_METADATA,
    CHAKRA_LOAD,
    CHAKRA_STORE,
    CHAKRA_COMPUTE,
    CHAKRA_SEND,
    CHAKRA_RECEIVE,
    CHAKRA_COLLECTIVE,
    CHAKRA_TYPES
};

struct chakra_node {
    uint64_t id;
    const char *name;
    int64_t start, duration; /* microseconds; start 0: not told */
    int64_t bytes;           /* comm_size; 0: none */
    int64_t thread;          /* tid of a node of the host */
    int32_t collective;      /* comm_type; -1: none */
    int32_t from, to;        /* comm_src, comm_dst; -1: none */
    int64_t tag;             /* comm_tag; -1: none */
    uint8_t type;            /* enum chakra_type */
    bool host;               /* is_cpu_op */
    size_t deps;             /* the first of its dependencies in chakra.deps: on data, then on control */
    uint32_t data_count, control_count;
};

struct chakra {
    struct arena arena;
    const char *path, *version; /* version: "" if not told */
    struct chakra_node *nodes;
    size_t count, capacity;
    uint64_t *deps; /* ids */
    size_t dep_count, dep_capacity;
    struct hash_names names; /* private */
    const char **texts;
    size_t text_count, text_capacity;
};

/* Reads a file, or `text` instead if it is not NULL. A file that begins with '{' is JSON. On failure *chakra holds
 * nothing. */
bool chakra_load(struct chakra *chakra, const char *path, const char *text, size_t length, struct error *err);

void chakra_release(struct chakra *chakra);

/* Appends the first message of a file, and the message of a node. `deps` are data_count + control_count ids. */
void chakra_add_head(struct text *out, const char *version);
void chakra_add_node(struct text *out, const struct chakra_node *node, const uint64_t *deps);

/* Returns the place of the node with an id; -1: none. */
struct chakra_ids {
    struct hash_map map;
};
bool chakra_ids_make(struct chakra_ids *ids, const struct chakra *chakra, struct error *err);
int64_t chakra_ids_find(const struct chakra_ids *ids, uint64_t id);
void chakra_ids_release(struct chakra_ids *ids);

#endif
