/* A computation as one flat list of instructions, for fusion and the backward pass.
 *
 * Calls are inlined, tuples are taken apart, a conditional is represented by its costliest branch, and
 * compositions of simple operations (batch normalisation, softmax, layer normalisation, GELU) are expanded.
 * Instructions that no result needs are dropped. The instructions are HLO's (hlo/module.h), with their index
 * in the list. Loops stay one instruction; their bodies are graphs of their own. */
#ifndef REHEARSE_COST_DERIVE_OP_GRAPH_H
#define REHEARSE_COST_DERIVE_OP_GRAPH_H

#include "core/arena.h"
#include "core/error.h"
#include "cost/count/count.h"
#include "hlo/module.h"

#define OP_GRAPH_MAX ((size_t)4 << 20) /* instructions */

struct op_graph {
    struct arena *arena; /* owns instructions and lists */
    int count, room;
    struct hlo_instruction **at;             /* operands before their users; at[i]->index is i */
    const struct instruction_count **counts; /* of custom calls and fusions of the module; else NULL */
    int parameter_count;
    struct hlo_instruction **parameters; /* by number; NULL if unused */
    int root_count;
    struct hlo_instruction **roots; /* the results; a tuple's parts */
    const char *name;               /* of new instructions; NULL: the first operand's */
    bool failed;                    /* out of memory, or too large: nothing more is added */
    bool too_large;
};

/* Flattens a computation. `counts` (by the rules `rehearse`) belong to its module. `fusions`: keep the
 * module's own fusions instead of inlining them. */
bool op_graph_flatten(struct op_graph *g, struct arena *arena, const struct hlo_computation *computation,
                      const struct module_count *counts, bool fusions, struct error *err);

/* Flattens the body of a loop of a flat graph, whose operands are the arrays that it carries and then the values from
 * outside that its body uses. Parameter i is operand i; result i is carried into parameter i. Whole numbers that the
 * host counts are constants. */
bool op_graph_flatten_body(struct op_graph *g, struct arena *arena, const struct hlo_instruction *loop,
                           const struct module_count *counts, bool fusions, struct error *err);

/* Returns whether operand i of the loop is the same in all turns. */
static inline bool op_graph_is_same(const struct op_graph *body, int i)
{
    return i >= body->root_count || body->roots[i] == body->parameters[i];
}

/* Keeps only the instructions below `first` and those whose entry is true. */
void op_graph_keep(struct op_graph *g, int first, const bool *used);

/* Drops instructions that no result needs. */
void op_graph_drop_unused(struct op_graph *g);

/* Sets ERROR_FAILED for memory or ERROR_INPUT for size if the graph failed; else returns true. */
bool op_graph_check(const struct op_graph *g, struct error *err);

/* ---- making instructions; each returns NULL if the graph failed, and then accepts NULL operands ---- */

struct hlo_instruction *op_graph_add(struct op_graph *g, const struct hlo_instruction *like);
bool op_graph_put(struct op_graph *g, struct hlo_instruction *in); /* itself, not a copy */
struct hlo_instruction *op_graph_make(struct op_graph *g, enum hlo_opcode opcode,
                                      const struct hlo_shape *shape, int count,
                                      struct hlo_instruction *const *operands,
                                      const struct hlo_attributes *attributes);
const struct hlo_shape *op_graph_shape(struct op_graph *g, enum hlo_type type, int rank, const int64_t *dims);
const struct hlo_shape *op_graph_like(struct op_graph *g, const struct hlo_shape *shape, enum hlo_type type);

struct hlo_instruction *op_graph_splat(struct op_graph *g, const struct hlo_shape *shape); /* one number */
struct hlo_instruction *op_graph_unary(struct op_graph *g, enum hlo_opcode opcode, struct hlo_instruction *a);
struct hlo_instruction *op_graph_binary(struct op_graph *g, enum hlo_opcode opcode, struct hlo_instruction *a,
                                        struct hlo_instruction *b);
/* Multiply by a number, or add one. For cost one number is as good as another. */
struct hlo_instruction *op_graph_scale(struct op_graph *g, struct hlo_instruction *a);
struct hlo_instruction *op_graph_shift(struct op_graph *g, struct hlo_instruction *a);
struct hlo_instruction *op_graph_select(struct op_graph *g, struct hlo_instruction *predicate,
                                        struct hlo_instruction *a, struct hlo_instruction *b);
struct hlo_instruction *op_graph_convert(struct op_graph *g, struct hlo_instruction *a, enum hlo_type type);
struct hlo_instruction *op_graph_reshape(struct op_graph *g, struct hlo_instruction *a,
                                         const struct hlo_shape *shape);
/* Dimension i of the result is dimension order[i] of the operand. */
struct hlo_instruction *op_graph_transpose(struct op_graph *g, struct hlo_instruction *a,
                                           const int64_t *order);
/* Dimension i of the operand becomes dimension dims[i] of the shape. */
struct hlo_instruction *op_graph_broadcast(struct op_graph *g, struct hlo_instruction *a,
                                           const struct hlo_shape *shape, struct hlo_ints dims);
/* opcode: HLO_ADD or HLO_MAXIMUM */
struct hlo_instruction *op_graph_reduce(struct op_graph *g, enum hlo_opcode opcode, struct hlo_instruction *a,
                                        struct hlo_ints dims);
struct hlo_instruction *op_graph_tuple_part(struct op_graph *g, struct hlo_instruction *a, int64_t index);
/* A tuple of values, and its shape. */
const struct hlo_shape *op_graph_tuple_shape(struct op_graph *g, int count,
                                             struct hlo_instruction *const *parts);
/* Lists the dimensions of a shape, without some. */
struct hlo_ints op_graph_other_dims(struct op_graph *g, const struct hlo_shape *shape,
                                    struct hlo_ints without);
struct hlo_ints op_graph_ints(struct op_graph *g, int count, const int64_t *at);
struct hlo_attributes *op_graph_attributes(struct op_graph *g); /* of a new instruction; never NULL */

/* Expands an instruction composed of simple operations into *value (a tuple for several results); NULL for
 * other instructions. */
void op_graph_expand(struct op_graph *g, const struct hlo_instruction *in,
                     struct hlo_instruction *const *operands, struct hlo_instruction **value);

#endif
