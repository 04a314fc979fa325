/* Infers an instruction's shape from its operands, attributes and callees (XLA's shape_inference.cc). */
#ifndef REHEARSE_HLO_INFER_H
#define REHEARSE_HLO_INFER_H

#include "hlo/module.h"

#define HLO_MAX_PARTS 65536 /* leaves of a tuple */

struct hlo_inference {
    struct arena *arena;
    const struct hlo_instruction *in; /* its shape is the written one, or NULL */
    bool is_lone;                     /* the text is one instruction: a loop's operand may have any shape */
    bool is_exact; /* as in StableHLO: operands and result have one element type, to the letter */
    const struct hlo_shape *same; /* the inferred shape is this one, */
    struct hlo_shape array;       /* or this one, if its type is not HLO_TYPE_COUNT; its dims are `dims` */
    int64_t dims[HLO_MAX_RANK];
    bool any_type;     /* the dimensions are inferred, the element type is not */
    char message[512]; /* the error */
};

/* Compares the written shape with the inferred one, or sets the shape if none was written. The caller sets
 * `arena`, `is_lone` and `is_exact`. Returns false if the operands, attributes or shapes contradict each
 * other; inference->message then says why. */
bool hlo_infer_shape(struct hlo_inference *t, struct hlo_instruction *in);

/* Returns whether a tuple has at most HLO_MAX_PARTS leaves, HLO_MAX_DEPTH levels and HLO_MAX_ELEMENTS
 * elements. Inferred shapes share parts, so that a short text can make a huge one. */
bool hlo_tuple_is_small(const struct hlo_shape *tuple);

/* Sets the error; returns false. */
bool hlo_contradicts(struct hlo_inference *t, const char *format, ...) PRINTF_LIKE(2, 3);

/* Starts an array of this type without dimensions. */
void hlo_infer_array(struct hlo_inference *t, enum hlo_type type);
bool hlo_infer_dim(struct hlo_inference *t, int64_t dim);

/* Returns true if these are distinct dimensions of a shape. */
bool hlo_infer_dims_exist(struct hlo_inference *t, const char *what, const struct hlo_ints *dims,
                          const struct hlo_shape *shape);

/* Returns the positions of a window along a dimension; -1 when the sizes are out of bounds. */
int64_t hlo_window_positions(const struct hlo_window_dim *window, int64_t size);

/* The rules: each checks the operands and infers the shape. */
typedef bool hlo_rule(struct hlo_inference *t);

/* infer_contract.c */
hlo_rule hlo_infer_dot, hlo_infer_ragged_dot, hlo_infer_convolution, hlo_infer_reduce,
    hlo_infer_reduce_window;

/* infer_move.c */
hlo_rule hlo_infer_broadcast, hlo_infer_reshape, hlo_infer_transpose, hlo_infer_slice,
    hlo_infer_dynamic_slice, hlo_infer_update_slice, hlo_infer_pad, hlo_infer_concatenate, hlo_infer_gather,
    hlo_infer_element, hlo_infer_tuple, hlo_infer_dimension_size, hlo_infer_gathered;

/* infer.c: `count` shapes of the operands: the one, or a tuple of them. */
bool hlo_infer_variadic(struct hlo_inference *t, int count);

/* Returns whether the instruction calls one computation, of `count` parameters besides captured values. */
bool hlo_infer_calls(struct hlo_inference *t, int count);

static inline const struct hlo_shape *hlo_operand_shape(const struct hlo_inference *t, int operand)
{
    return t->in->operands[operand]->shape;
}

#endif
