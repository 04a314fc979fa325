/* The class of an instruction for fusion, and its work.
 *
 * Custom calls of our own stand for operations that HLO lacks:
 *     rehearse.product    attributes->sizes is batch, m, n, k
 *     rehearse.attention  attributes->sizes is batch, queries, keys, width of a head, 1 if causal
 * two for backward passes: of attention, and of a loop, whose kernels are counted elsewhere; and one for the step between
 * an array and the part of it that one of many devices has. */
#ifndef REHEARSE_COST_DERIVE_OP_H
#define REHEARSE_COST_DERIVE_OP_H

#include "core/unit/product_size.h"
#include "devices/device.h"
#include "hlo/module.h"

#define OP_TARGET_PRODUCT            "rehearse.product"
#define OP_TARGET_ATTENTION          "rehearse.attention"
#define OP_TARGET_ATTENTION_BACKWARD "rehearse.attention-backward"
#define OP_TARGET_LOOP_BACKWARD      "rehearse.loop-backward"
#define OP_TARGET_SHARD              "rehearse.shard" /* of a value, or a value of shards */

#define OP_DEPTH 100 /* of calls in calls */

enum op_class op_class(const struct hlo_instruction *in);

/* Returns the number of elements processed: of the result, for a reduction of its operand. */
int64_t op_elements(const struct hlo_instruction *in);

/* Returns the arithmetic outside of the matrix units in fp32 operations, over all elements. */
double op_lane_flops(const struct hlo_instruction *in);

/* Returns the bytes that an instruction moves as a kernel of its own. */
double op_bytes(const struct hlo_instruction *in);

struct op_product {
    struct product_size size;
    enum cost_type type; /* COST_FP32 for fp32 numbers: the timing decides on tf32, unless it is exact */
    bool exact;
    double groups; /* experts of a grouped product, of which `size.batch` have rows; 0: it is none */
    double unread; /* bytes of operands: weights of experts that have no rows */
};

/* Describes a dot or convolution as matrix products; false if it multiplies nothing (an empty dimension). */
bool op_product(const struct hlo_instruction *in, struct op_product *product);

/* The same without the algorithm and the precision that the operation asks for. */
bool op_product_sizes(const struct hlo_instruction *in, struct op_product *product);

/* Returns the operation that a reduction applies to two elements. */
enum hlo_opcode op_reducer(const struct hlo_instruction *reduce);

/* Returns whether it is a constant with equal elements. */
bool op_is_splat(const struct hlo_instruction *in);

bool op_is_target(const struct hlo_instruction *in, const char *target);

#endif
