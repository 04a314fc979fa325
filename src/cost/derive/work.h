/* Internals of deriving the backward pass. */
#ifndef REHEARSE_COST_DERIVE_WORK_H
#define REHEARSE_COST_DERIVE_WORK_H

#include "cost/derive/op.h"
#include "cost/derive/op_graph.h"

struct derived;
struct derive_options;

struct deriver {
    struct op_graph *graph; /* the forward pass, then new instructions */
    int forward;            /* instructions of the forward pass */
    bool *needs;            /* by index: has a gradient */
    struct hlo_instruction **gradient;
    struct hlo_instruction ***parts; /* gradients of a tuple's parts */
    struct hlo_instruction **given;  /* of a loop's body, by number: the gradient that the turn is given */
    struct derived *derived;
    struct arena *arena;
    int loop_room, gap_room;
    const struct derive_options *options;
    const char *opcode; /* of the instruction that is being derived */
    struct error *err;
};

/* Adds to the gradient of a forward value, if it has one. */
void derive_give(struct deriver *d, struct hlo_instruction *to, struct hlo_instruction *gradient);

/* rules.c: gives the operands of an instruction their share of its gradient (NULL for a tuple, whose
 * parts' gradients are in d->parts). */
bool derive_instruction(struct deriver *d, struct hlo_instruction *in, struct hlo_instruction *gradient);

/* loop.c: the body backwards, as often as it ran forwards; the operands of the loop get their gradients. */
bool derive_loop(struct deriver *d, struct hlo_instruction *loop, struct hlo_instruction *gradient);
/* loop.c: a turn of the backward pass of a body ends with what would be the next one's first operation. */
void derive_turn(struct deriver *d);

/* Notes that an operation has no rule for its gradient. */
void derive_gap(struct deriver *d, const char *name);
bool derive_has_float(const struct hlo_shape *shape);

/* product.c: gradients of dots, convolutions, attention; of factorizations of a matrix, and of systems with it */
void derive_solver(struct deriver *d, struct hlo_instruction *solver, struct hlo_instruction *gradient,
                   bool solves);
void derive_product(struct deriver *d, struct hlo_instruction *product, struct hlo_instruction *gradient);
void derive_attention(struct deriver *d, struct hlo_instruction *attention, struct hlo_instruction *gradient);

#endif
