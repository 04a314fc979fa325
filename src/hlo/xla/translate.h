/* What XLA counts of a lowered program is not StableHLO but the HLO that it is translated to, after a round of
 * simplifications: openxla/stablehlo's stablehlo-aggressive-simplification and -folder, and openxla/xla's
 * xla/hlo/translate/mhlo_to_hlo (2026; JAX 0.10.2). Here are those of their rules that change a count; private to
 * hlo/xla. */
#ifndef REHEARSE_HLO_XLA_TRANSLATE_H
#define REHEARSE_HLO_XLA_TRANSLATE_H

#include "hlo/module.h"
#include "hlo/table.h"

struct translator {
    struct hlo_module *module;
    struct arena scratch;
    struct hlo_computation *computation; /* that is translated */
    struct hlo_instruction **list;       /* its new instructions */
    int count, room;
    struct hlo_instruction **now; /* [old index]: what an old instruction has become */
    int *uses;                    /* [old index] */
    struct {
        int64_t *place; /* of each value that a loop carried: its new one; -1: it is captured */
        struct hlo_instruction **given; /* these values */
    } * loops;                          /* [old index]; NULL: nothing moved */
    struct hlo_table constants;         /* of the computation, by type and number */
    bool changed, failed;
};

extern const struct hlo_attributes xla_no_attributes;

const struct hlo_shape *xla_array(struct translator *t, enum hlo_type type, const int64_t *dims, int rank);
struct hlo_ints xla_ints(struct translator *t, const int64_t *numbers, int count);
const struct hlo_attributes *xla_attributes(struct translator *t, const struct hlo_attributes *like);
void xla_append(struct translator *t, struct hlo_instruction *in);
/* Adds an instruction before the one that is translated. NULL: memory is out. */
struct hlo_instruction *xla_insert(struct translator *t, const struct hlo_instruction *before,
                                   enum hlo_opcode opcode, const struct hlo_shape *shape,
                                   struct hlo_instruction *const *operands, int count);
/* Makes an instruction another one, of one operand. */
void xla_become(struct translator *t, struct hlo_instruction *in, enum hlo_opcode opcode,
                struct hlo_instruction *operand, const struct hlo_attributes *attributes);
bool xla_is_number(const struct hlo_instruction *in, double number);
bool xla_is_splat(const struct hlo_instruction *in);
/* Finds the first instruction of the computation with this shape and mark; if there is none, it is this one. */
struct hlo_instruction *xla_first(struct translator *t, struct hlo_instruction *in, const char *mark);
/* Finds the constant of the same type and number that the computation has already; else it is this one. */
struct hlo_instruction *xla_unique(struct translator *t, struct hlo_instruction *constant);
void xla_become_constant(struct translator *t, struct hlo_instruction *in, double number, bool splat);
bool xla_has_effect(const struct hlo_instruction *in, int depth);
void xla_keep_list(struct translator *t);
void xla_begin(struct translator *t, struct hlo_computation *computation);
/* StableHLO's broadcast_in_dim, whose operand may have dimensions of size 1 that become larger. The reader had made
 * two operations of it. */
void xla_join_broadcast(struct translator *t, struct hlo_instruction *in);
/* Returns what stands for an instruction, whose operands are translated. It may change, or others be inserted. */
struct hlo_instruction *xla_simplified(struct translator *t, struct hlo_instruction *in);
void xla_write(struct translator *t, struct hlo_computation *computation);

#endif
