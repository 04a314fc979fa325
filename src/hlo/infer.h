/* Infers an instruction's shape from its operands, attributes and callees (XLA's shape_inference.cc). */
#ifndef REHEARSE_HLO_INFER_H
#define REHEARSE_HLO_INFER_H

#include "hlo/text/text.h"

struct hlo_inference {
    struct hlo_reader *reader;
    const struct hlo_instruction *in; /* its shape is the written one, or NULL */
    const struct hlo_attributes *attributes;
    const struct hlo_shape *same; /* the inferred shape is this one, */
    struct hlo_shape array;       /* or this one, if its type is not HLO_TYPE_COUNT; its dims are `dims` */
    int64_t dims[HLO_MAX_RANK];
    bool any_type;     /* the dimensions are inferred, the element type is not */
    char message[512]; /* the error */
};

/* Sets the error; returns false. */
bool hlo_contradicts(struct hlo_inference *inference, const char *format, ...) PRINTF_LIKE(2, 3);

/* Starts an array of this type without dimensions. */
void hlo_infer_array(struct hlo_inference *inference, enum hlo_type type);
bool hlo_infer_dim(struct hlo_inference *inference, int64_t dim);

/* Returns true if these are distinct dimensions of a shape. */
bool hlo_infer_dims_exist(struct hlo_inference *inference, const char *what, const struct hlo_ints *dims,
                          const struct hlo_shape *shape);

/* infer_contract.c */
bool hlo_infer_dot(struct hlo_inference *inference);
bool hlo_infer_ragged_dot(struct hlo_inference *inference);
bool hlo_infer_convolution(struct hlo_inference *inference);
bool hlo_infer_reduce(struct hlo_inference *inference);
bool hlo_infer_reduce_window(struct hlo_inference *inference);
bool hlo_infer_variadic(struct hlo_inference *inference, int count);

/* infer_move.c */
bool hlo_infer_broadcast(struct hlo_inference *inference);
bool hlo_infer_reshape(struct hlo_inference *inference);
bool hlo_infer_transpose(struct hlo_inference *inference);
bool hlo_infer_slice(struct hlo_inference *inference);
bool hlo_infer_dynamic_slice(struct hlo_inference *inference);
bool hlo_infer_update_slice(struct hlo_inference *inference);
bool hlo_infer_pad(struct hlo_inference *inference);
bool hlo_infer_concatenate(struct hlo_inference *inference);
bool hlo_infer_gather(struct hlo_inference *inference);
bool hlo_infer_element(struct hlo_inference *inference);
bool hlo_infer_tuple(struct hlo_inference *inference);

#endif
