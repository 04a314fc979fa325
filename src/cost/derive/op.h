/* What an instruction is to a fusion, and what it computes.
 *
 * Custom calls of our own stand for what HLO has no instruction for:
 *     rehearse.product    attributes->sizes is batch, m, n, k
 *     rehearse.attention  attributes->sizes is batch, queries, keys, width of a head, 1 if causal
 * and two for their backward passes: that of attention, and that of a loop, whose kernels are counted elsewhere. */
#ifndef REHEARSE_COST_DERIVE_OP_H
#define REHEARSE_COST_DERIVE_OP_H

#include "devices/device.h"
#include "hlo/module.h"

#define OP_TARGET_PRODUCT            "rehearse.product"
#define OP_TARGET_ATTENTION          "rehearse.attention"
#define OP_TARGET_ATTENTION_BACKWARD "rehearse.attention-backward"
#define OP_TARGET_LOOP_BACKWARD      "rehearse.loop-backward"

#define OP_DEPTH 100 /* of calls in calls */

enum op_class op_class(const struct hlo_instruction *instruction);

/* Elements it runs over: of the result, of a reduction its operand. */
int64_t op_elements(const struct hlo_instruction *instruction);

/* Arithmetic outside of the matrix units in fp32 operations: elements times what one takes. */
double op_lane_flops(const struct hlo_instruction *instruction);

/* Bytes that an instruction which is a kernel of its own moves. */
double op_bytes(const struct hlo_instruction *instruction);

struct op_product {
    int64_t batch, m, n, k;
    enum cost_type type; /* COST_FP32 of fp32 numbers: whether that means tf32 is decided at timing */
};

/* A dot or convolution as matrix products; false when it multiplies nothing (an empty dimension). */
bool op_product(const struct hlo_instruction *instruction, struct op_product *product);

/* What a reduction combines two elements with. */
enum hlo_opcode op_reducer(const struct hlo_instruction *reduce);

/* A constant whose elements are all alike. */
bool op_is_splat(const struct hlo_instruction *instruction);

bool op_is_target(const struct hlo_instruction *instruction, const char *target);

#endif
