/* A module of HLO, read from HLO text or StableHLO / MHLO text.
 *
 * Only data needed for cost are kept: shapes, operations, operands, called computations and the attributes
 * below. Constants keep their shape, not their values (except a scalar integer's, for trip counts).
 * Everything lives in the module's arena and is read-only after reading.
 *
 * A StableHLO operation with a region (reduce, while, sort, …) becomes an instruction that calls a
 * computation, as in HLO. Outside values used in a region become parameters of its computation after the
 * region's own (`captured` of them); the instruction has no operand for them. */
#ifndef REHEARSE_HLO_MODULE_H
#define REHEARSE_HLO_MODULE_H

#include "core/arena.h"
#include "core/error.h"
#include "hlo/opcode.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HLO_MAX_BYTES    ((size_t)1 << 30)  /* per file: 1 GiB */
#define HLO_MAX_DEPTH    200                /* of nested regions, tuples, operands */
#define HLO_MAX_RANK     64                 /* dimensions of an array */
#define HLO_MAX_ELEMENTS ((int64_t)1 << 53) /* per array: counts stay exact as double */

/* X(enumerator, "name in HLO", "name in MLIR" or NULL, bits) */
#define HLO_TYPES(X)                                                                                         \
    X(PRED, "pred", "i1", 8)                                                                                 \
    X(S1, "s1", NULL, 1)                                                                                     \
    X(S2, "s2", "i2", 2)                                                                                     \
    X(S4, "s4", "i4", 4)                                                                                     \
    X(S8, "s8", "i8", 8)                                                                                     \
    X(S16, "s16", "i16", 16)                                                                                 \
    X(S32, "s32", "i32", 32)                                                                                 \
    X(S64, "s64", "i64", 64)                                                                                 \
    X(U1, "u1", "ui1", 1)                                                                                    \
    X(U2, "u2", "ui2", 2)                                                                                    \
    X(U4, "u4", "ui4", 4)                                                                                    \
    X(U8, "u8", "ui8", 8)                                                                                    \
    X(U16, "u16", "ui16", 16)                                                                                \
    X(U32, "u32", "ui32", 32)                                                                                \
    X(U64, "u64", "ui64", 64)                                                                                \
    X(F4E2M1FN, "f4e2m1fn", "f4E2M1FN", 4)                                                                   \
    X(F6E2M3FN, "f6e2m3fn", "f6E2M3FN", 6)                                                                   \
    X(F6E3M2FN, "f6e3m2fn", "f6E3M2FN", 6)                                                                   \
    X(F8E3M4, "f8e3m4", "f8E3M4", 8)                                                                         \
    X(F8E4M3, "f8e4m3", "f8E4M3", 8)                                                                         \
    X(F8E4M3FN, "f8e4m3fn", "f8E4M3FN", 8)                                                                   \
    X(F8E4M3B11FNUZ, "f8e4m3b11fnuz", "f8E4M3B11FNUZ", 8)                                                    \
    X(F8E4M3FNUZ, "f8e4m3fnuz", "f8E4M3FNUZ", 8)                                                             \
    X(F8E5M2, "f8e5m2", "f8E5M2", 8)                                                                         \
    X(F8E5M2FNUZ, "f8e5m2fnuz", "f8E5M2FNUZ", 8)                                                             \
    X(F8E8M0FNU, "f8e8m0fnu", "f8E8M0FNU", 8)                                                                \
    X(F16, "f16", "f16", 16)                                                                                 \
    X(BF16, "bf16", "bf16", 16)                                                                              \
    X(F32, "f32", "f32", 32)                                                                                 \
    X(F64, "f64", "f64", 64)                                                                                 \
    X(C64, "c64", NULL, 64)                                                                                  \
    X(C128, "c128", NULL, 128)                                                                               \
    X(TOKEN, "token", NULL, 0)                                                                               \
    X(OPAQUE, "opaque", NULL, 0)                                                                             \
    X(TUPLE, "tuple", NULL, 0)

enum hlo_type {
#define X(enumerator, hlo, mlir, bits) HLO_TYPE_##enumerator,
    HLO_TYPES(X)
#undef X
        HLO_TYPE_COUNT
};

struct hlo_shape {
    enum hlo_type type;
    int rank;              /* of an array; 0: a scalar */
    const int64_t *dims;   /* rank of them, major first; a bounded dynamic one (`<=8`) is its bound */
    const int32_t *layout; /* minor to major; NULL: the last dimension is the minor one */
    int bits;              /* of an element, as the layout says (E(4)); 0: those of its type */
    int part_count;        /* of a tuple */
    const struct hlo_shape *const *parts;
};

struct hlo_ints {
    int count;
    const int64_t *at;
};
bool hlo_ints_have(struct hlo_ints list, int64_t number);

struct hlo_window_dim {
    int64_t size, stride, pad_low, pad_high, base_dilation, window_dilation;
    bool reversal;
};

enum hlo_fusion_kind { HLO_FUSION_LOOP, HLO_FUSION_INPUT, HLO_FUSION_OUTPUT, HLO_FUSION_CUSTOM };

/* What a product is computed in, if not in the types of its operands. */
enum hlo_algorithm { HLO_OF_TYPES, HLO_IN_F32, HLO_IN_TF32, HLO_IN_BF16, HLO_IN_F16 };

enum hlo_direction { HLO_EQ, HLO_NE, HLO_GE, HLO_GT, HLO_LE, HLO_LT };

/* Attributes that an opcode does not use are zero. */
struct hlo_attributes {
    struct hlo_ints lhs_contracting, rhs_contracting, lhs_batch, rhs_batch; /* dot, ragged-dot, scaled-dot */
    struct hlo_ints lhs_ragged, rhs_group;                                  /* ragged-dot */
    struct hlo_ints dimensions; /* reduce, map, broadcast, concatenate, transpose, reverse, sort, iota, … */
    struct hlo_ints low, high, interior;  /* pad */
    struct hlo_ints start, limit, stride; /* slice */
    struct hlo_ints
        sizes; /* dynamic-slice and gather: the slice's; fft: its length; broadcast: StableHLO's dimensions */
    struct hlo_ints input_labels, kernel_labels, output_labels;
    /* convolution: the roles of the dimensions of input, kernel and output: spatial number or HLO_LABEL_… */
    int window_rank; /* convolution, reduce-window, select-and-scatter */
    const struct hlo_window_dim *window;
    int64_t feature_groups, batch_groups; /* convolution; at least 1 */
    int64_t index;                        /* get-tuple-element; topk: k */
    int64_t group_count;          /* collectives: replica groups; 0: not given, all devices form one */
    int64_t group_size;           /* of the largest group */
    int64_t pair_count;           /* collective-permute */
    int64_t trip_count;           /* while: known_trip_count of its backend_config; -1: not given */
    enum hlo_direction direction; /* compare */
    enum hlo_algorithm algorithm; /* dot, convolution: that of its precision HIGHEST or of its algorithm= */
    int products;                 /* of the algorithm, in each product: 3 of BF16_BF16_F32_X3; 0: one */
    enum hlo_fusion_kind fusion_kind;
    const char *target;         /* custom-call */
    const char *backend_config; /* as written, unescaped; kept for custom-call, fusion and while */
};

#define HLO_LABEL_BATCH   (-1) /* of input and output; for the kernel: input features */
#define HLO_LABEL_FEATURE (-2) /* of input and output; for the kernel: output features */

struct hlo_computation;

struct hlo_instruction {
    enum hlo_opcode opcode;
    int index;             /* in its computation */
    uint32_t line, column; /* of its name in the text */
    const char *name;      /* without '%' */
    const struct hlo_shape *shape;
    int operand_count, callee_count;
    struct hlo_instruction **operands;       /* of the same computation, each with a smaller index */
    struct hlo_computation **callees;        /* while: condition, body; select-and-scatter: select, scatter */
    const struct hlo_attributes *attributes; /* never NULL; shared when nothing is set */
    int64_t parameter;                       /* of a parameter: its number */
    struct hlo_instruction *outside;         /* of a captured parameter: the value that it stands for */
    bool splat;                              /* a constant written as one number for all its elements */
    bool has_value;                          /* a scalar integer or predicate constant: `value` is known */
    int shared; /* hlo_as_xla: constants of a special function that others have written; HLO_ANY: all */
    int64_t value;
    double number; /* of a splat constant: what all elements are; NAN: not known */
};

struct hlo_computation {
    const char *name;
    int index; /* in the module */
    int count;
    struct hlo_instruction **instructions; /* operands before their users */
    struct hlo_instruction *root;
    int parameter_count;
    struct hlo_instruction **parameters; /* by number */
    int captured;                        /* number of trailing parameters that are outside values */
};

struct hlo_module {
    struct arena arena;
    const char *path; /* as the user wrote it */
    const char *name;
    int count;
    struct hlo_computation **computations; /* callees before their callers */
    struct hlo_computation *entry;
    int64_t replica_count, partition_count; /* at least 1 */
    bool is_stablehlo;                      /* or MHLO */
};

/* The size of a dimension that StableHLO leaves open (`?`). `name` is a symbol of jax.export ("b"), or an argument of
 * the entry and its dimension, both counted from 0 ("2.0"). */
struct hlo_dim {
    const char *name;
    size_t length; /* of the name */
    int64_t size;
    atomic_bool used; /* set when a module is read that has this dimension */
};

struct hlo_dims {
    size_t count;
    struct hlo_dim *at;
};

/* Reads a file, HLO or StableHLO / MHLO text by its beginning. On failure *module is empty and the error
 * names file, line and column; on success the caller ends it with hlo_release. */
bool hlo_load(struct hlo_module *module, const char *path, struct error *err);

/* As hlo_load; `dims` (may be NULL) are the sizes of open dimensions, from which all others are inferred. */
bool hlo_load_sized(struct hlo_module *module, const char *path, const struct hlo_dims *dims,
                    struct error *err);

/* Read text of either kind; `path` is only for errors. */
bool hlo_parse(struct hlo_module *module, const char *path, const char *text, size_t length,
               struct error *err);
bool hlo_parse_text(struct hlo_module *module, const char *path, const char *text, size_t length,
                    struct error *err);
bool hlo_parse_mlir_sized(struct hlo_module *module, const char *path, const char *text, size_t length,
                          const struct hlo_dims *dims, struct error *err);

void hlo_release(struct hlo_module *module);

/* Makes of a module that was read from StableHLO the HLO that XLA's own translation makes of it, which is what XLA
 * counts (hlo/xla); another module stays as it is. */
bool hlo_as_xla(struct hlo_module *module, struct error *err);

/* Gives an element of 4 bits or less a byte, as XLA does, unless its layout says how many bits it has. */
void hlo_unpack(struct hlo_module *module);

/* Returns whether text begins as MLIR does, which StableHLO is written in; else it is read as HLO. */
bool hlo_is_mlir(const char *text, size_t length);

/* Return "f32", …; and the type of a name, HLO_TYPE_COUNT if unknown. */
const char *hlo_type_name(enum hlo_type type);
enum hlo_type hlo_type_find(const char *text, size_t length);
enum hlo_type hlo_type_find_mlir(const char *text, size_t length);
int hlo_type_bits(enum hlo_type type);
bool hlo_type_is_float(enum hlo_type type);
bool hlo_type_is_signed(enum hlo_type type); /* of whole numbers */
bool hlo_type_is_whole(enum hlo_type type);
bool hlo_type_is_complex(enum hlo_type type);
enum hlo_type hlo_type_real(enum hlo_type type); /* of the parts of a complex type; else the type */

/* Returns the i-th dimension from the minor one on. */
static inline int64_t hlo_minor(const struct hlo_shape *shape, int i)
{
    return shape->layout ? shape->layout[i] : shape->rank - 1 - i;
}

/* Returns the elements of an array (1 for a scalar, 0 if it is no array). */
int64_t hlo_elements(const struct hlo_shape *shape);

/* Returns bytes as XLA's ShapeSize: arrays elements x bits, in whole bytes, tuples 8 per part (a table of pointers),
 * a token 0, opaque 8. */
int64_t hlo_bytes(const struct hlo_shape *shape);

/* Returns the bytes of all arrays in the shape, also inside tuples. */
int64_t hlo_leaf_bytes(const struct hlo_shape *shape);

/* Writes "f32[2,3]" into `text`, truncated to `size`. Returns `text`. */
const char *hlo_shape_text(const struct hlo_shape *shape, char *text, size_t size);

bool hlo_shape_equal(const struct hlo_shape *a, const struct hlo_shape *b);

/* Returns whether two shapes have the same dimensions, apart from the one numbered `except` (-1: none). A size of -1,
 * which only the reader of StableHLO has for a while, is not known yet and matches any. */
bool hlo_dims_match(const struct hlo_shape *a, const struct hlo_shape *b, int64_t except);

/* Copy an array's shape, a tuple's of its values' shapes, and numbers; NULL, or no numbers at all: memory is out. */
const struct hlo_shape *hlo_make_array(struct arena *arena, enum hlo_type type, const int64_t *dims,
                                       int rank);
const struct hlo_shape *hlo_make_tuple(struct arena *arena, struct hlo_instruction *const *values, int count);
struct hlo_ints hlo_make_ints(struct arena *arena, const int64_t *numbers, int count);

/* Returns the size of a convolution's dimension with this label; 0 if there is none. */
int64_t hlo_labelled_size(const struct hlo_shape *shape, struct hlo_ints labels, int64_t label);

/* The users of each instruction of a list: of instruction i they are at[start[i]] to at[start[i + 1]], each once, in
 * order. */
struct hlo_users {
    int *start;
    const struct hlo_instruction **at;
};

/* Finds the users of instructions whose index is their place in the list. Returns false if memory is out. */
bool hlo_find_users(struct hlo_users *users, struct hlo_instruction *const *list, int count,
                    struct arena *arena);

/* Computes an operation of numbers, one of each of its at most three operands. Returns false if it has no value, or
 * is not one that XLA's folder computes. */
bool hlo_compute(const struct hlo_instruction *in, const double x[3], double *number);

/* Returns a while loop's iterations: known_trip_count, else derived from its condition (an induction variable
 * with constant start and step, compared with a constant); -1 if unknown. */
int64_t hlo_trip_count(const struct hlo_instruction *loop);

#endif
