/* Groups of instructions that become kernels; only for the files that fuse. */
#ifndef REHEARSE_COST_DERIVE_FUSE_GROUP_H
#define REHEARSE_COST_DERIVE_FUSE_GROUP_H

#include "cost/derive/op.h"
#include "cost/derive/op_graph.h"

/* An operand of an instruction: an array in memory or of another instruction, directly or through views. */
struct fuse_edge {
    int base;      /* instruction that computed it, not a view */
    int part;      /* the last view that takes a part of it, else the base; a kernel reads each part once */
    int64_t bytes; /* of that part */
    bool moved;    /* its elements are read in a different order */
};

struct fuse_node {
    enum op_class class; /* a view that must be in memory is OP_MOVE */
    int base, part;      /* of a view */
    int64_t bytes;
    bool moved;
    bool folded;  /* computed from constants, where it is used */
    bool escapes; /* a result, or kept */
    bool late;    /* depends on a reduction across rows */
    int group;    /* -1: none */
    int next;     /* in its group; -1: the last */
    int edge_first, edge_count;
    int reader_first, reader_count; /* readers of values based on it */
};

enum fuse_reduction { REDUCTION_NONE, REDUCTION_ROWS, REDUCTION_ACROSS };

/* The work of a group's main instruction. */
struct fuse_shape {
    enum op_class kind;            /* OP_ELEMENTWISE: may be joined with others, else as op_class returns */
    enum fuse_reduction reduction; /* of OP_ELEMENTWISE */
    int64_t outer, width, inner;   /* of a reduction along rows: [outer, width, inner] -> [outer, inner] */
    int hero;                      /* instruction */
};

struct fuse_group {
    struct fuse_shape shape;
    int64_t elements;      /* number of elements */
    int head, tail, count; /* its nodes */
    bool gathers;          /* has nodes that gather elements */
    int position;          /* greater than that of all groups it reads */
    unsigned seen;         /* last search that visited it */
};

struct fuse_reach {
    int position, group;
};

struct fuser {
    struct arena *arena;
    const struct op_graph *graph;
    int first; /* see fuse_options */
    const bool *kept;
    bool unfused;
    struct fuse_node *nodes;
    struct fuse_edge *edges;
    int edge_count, edge_room;
    int *readers; /* nodes, by base */
    struct fuse_group *groups;
    int group_count;
    struct fuse_reach *before, *after; /* found by the last search */
    int *at_position;                  /* the group at each position, -1: none */
    int before_count, after_count;
    unsigned search;
    struct error *err;
};

/* fuse_view.c: nodes and edges. */
bool fuse_find_edges(struct fuser *f);

/* fuse_group.c: groups. A group without nodes has been joined to another. */
bool fuse_find_groups(struct fuser *f);
int fuse_by_position(const void *a, const void *b); /* of struct fuse_reach, for qsort */

/* Returns whether operands of an instruction, from `first` on, are known when it is launched: the place of a slice. */
static inline bool fuse_is_placed(const struct fuser *f, const struct hlo_instruction *in, int first)
{
    bool known = true;
    for (int o = first; known && o < in->operand_count; o++)
        known = f->nodes[in->operands[o]->index].folded;
    return known;
}

/* Returns whether a product reads a narrower array and widens its numbers itself, as with weights of 4 or 8 bits. */
static inline bool fuse_widens(const struct fuser *f, const struct hlo_instruction *product)
{
    bool widens = false;
    for (int o = 0; o < product->operand_count; o++) {
        const struct hlo_instruction *at = product->operands[o];
        while (f->nodes[at->index].class == OP_VIEW && at->opcode != HLO_CONVERT && at->operand_count)
            at = at->operands[0];
        widens |=
            (at->opcode == HLO_CONVERT && f->nodes[at->index].class == OP_VIEW) ||
            (f->nodes[at->index].group >= 0 && f->nodes[at->index].group == f->nodes[product->index].group);
    }
    return widens;
}

static inline bool fuse_runs(const struct fuser *f, int index)
{
    const struct fuse_node *node = &f->nodes[index];
    return index >= f->first && !node->folded && node->class != OP_INPUT && node->class != OP_VIEW &&
           node->class != OP_NOTHING;
}

#endif
