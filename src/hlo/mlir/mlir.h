/* The parts that the reader of StableHLO and MHLO text shares; private to hlo/mlir.
 *
 * One pass: an operation is read, checked and becomes an instruction before the next one is read. Types
 * are looked up by their text, names in one table whose entries are hidden and uncovered as regions open
 * and close. Attributes are noted by place, and read only by the operation that needs them.
 *
 * A text that leaves sizes open (`?`) is read a second time, `sized`: functions are first only listed. The entry's
 * sizes are given by the user; each operation infers those of its results, and small whole numbers are computed
 * (fold.c), as sizes are values of others. A function is read at each call with new sizes or values
 * (specialise.c). Until an operation is built, an open size is -1. */
#ifndef REHEARSE_HLO_MLIR_MLIR_H
#define REHEARSE_HLO_MLIR_MLIR_H

#include "core/vector.h"
#include "hlo/infer.h"
#include "hlo/module.h"
#include "hlo/table.h"

#include <string.h>

#define MLIR_TYPE_SLOTS 4096       /* a power of two */
#define MLIR_NUMBERED   (1u << 22) /* maximum of the names %0, %1, … that are looked up without a hash */
#define MLIR_SEEN_OPS   256        /* a power of two */
#define MLIR_KEPT       1024       /* a power of two */
#define MLIR_MAX_KNOWN  64         /* elements of a value that is computed */

struct mlir_list { /* of anything, grows */
    void *items;
    size_t count, capacity;
};

struct mlir_span {
    const char *at;
    size_t length;
};

struct mlir_place {
    uint32_t line, column;
};

struct mlir_attribute {
    struct mlir_span key;
    const char *value; /* where it begins; NULL: unit */
};

/* The value of a name in one computation. The bindings of a name form a list, the innermost computation
 * first. */
struct mlir_binding {
    uint32_t name, outer, next; /* its name; the name's binding further out; next of the same computation */
    int depth;
    int64_t part;                  /* of a tuple that has not been taken out of it yet; -1: all of it */
    struct hlo_instruction *value; /* of the computation at `depth`: the tuple, or the value itself */
};

/* A computation that is being read. It is kept when it closes, so that its lists are used again. */
struct mlir_block {
    struct mlir_list instructions, parameters; /* of struct hlo_instruction * */
    uint32_t first_binding;
    int captured;
    size_t returned; /* values, which lie in `results` */
    struct mlir_list results;
    const char *terminator; /* where it stands; NULL: none yet */
};

struct mlir_type_slot {
    struct mlir_span text;
    uint64_t hash;
    const struct hlo_shape *shape;
};

struct mlir_function {
    struct mlir_span name;
    const char *at;
    int module;
    bool public, visited, open;
    bool generic, has_body;              /* sized: of a function that is listed, */
    const char *body;                    /* and what follows its keyword */
    struct hlo_computation *computation; /* NULL: only declared */
    size_t first, count;                 /* in `computations`: of its regions, then itself */
    size_t first_call, call_count;       /* in `calls` */
};

struct mlir_call {
    struct hlo_instruction *instruction;
    int slot; /* of its callees */
    int module;
    bool required; /* else the callee may be missing */
    struct mlir_span name;
    const char *at;
};

/* The arguments that a region or a function is read with. */
struct mlir_signature {
    int depth; /* of its block */
    size_t count;
    const struct hlo_shape **shapes;
    struct hlo_ints *known; /* values; none where not known. NULL: none of all */
};

/* A function that was read for a signature. */
struct mlir_version {
    size_t function;
    struct mlir_signature signature;
    struct hlo_computation *computation;
};

struct mlir_alias {
    struct mlir_span name; /* with '#' or '!'; of a mesh, '@' */
    const char *value;
};

struct mlir_op;
struct mlir_reader;

typedef bool mlir_build(struct mlir_reader *r, struct mlir_op *op);

struct mlir_op_slot {
    struct mlir_span name; /* with its dialect */
    const struct mlir_info *info;
};

enum mlir_form {
    MLIR_PLAIN,
    MLIR_CONSTANT,
    MLIR_REDUCE,
    MLIR_WHILE,
    MLIR_RETURN,
    MLIR_IGNORED,
    MLIR_MANUAL,
    MLIR_SCAN,
};

enum mlir_dialect {
    MLIR_HLO = 1,
    MLIR_CHLO = 2,
    MLIR_FUNC = 4,
    MLIR_SDY = 8,
    MLIR_CCL = 16,
    MLIR_ARITH = 32,
    MLIR_TENSOR = 64,
};

struct mlir_info {
    const char *name; /* without its dialect */
    enum hlo_opcode opcode;
    mlir_build *build;
    unsigned dialects; /* 0: MLIR_HLO */
    int regions;       /* -1: at least one; -2: any number */
    enum mlir_form form;
    int min, max; /* operands; max 0: as many as HLO's operation, -1: none */
};

static inline int mlir_min_operands(const struct mlir_info *info)
{
    return info->max ? info->min : hlo_operations[info->opcode].min;
}

static inline int mlir_max_operands(const struct mlir_info *info)
{
    return info->max < 0 ? 0 : info->max ? info->max : hlo_operations[info->opcode].max;
}

/* An operation that is being read. Its parts lie on the reader's stacks. */
struct mlir_op {
    const struct mlir_info *info;
    struct mlir_span name; /* with its dialect */
    const char *at;        /* its first character */
    struct mlir_place place;
    size_t first_result, result_names;
    size_t first_operand, operands;
    size_t inputs; /* of scan: the operands that are not initial values */
    size_t first_attribute, attributes;
    size_t first_callee, callees;
    size_t first_type, operand_types, result_types;
    bool arrow; /* the types were given as operands -> results */
    struct hlo_instruction *instruction;
    struct hlo_attributes *set; /* of the instruction; NULL until asked for */
};

struct mlir_result {
    struct mlir_span name;
    int64_t count; /* `%name:count` */
    const char *at;
};

struct mlir_reader {
    struct hlo_module *module;
    struct error *err;
    const char *text, *p, *end;
    size_t operations; /* so far */

    const char *line_seen; /* the last place that was asked for, */
    struct mlir_place place;

    struct mlir_type_slot types[MLIR_TYPE_SLOTS];
    const struct hlo_shape *scalars[HLO_TYPE_COUNT];

    uint32_t *numbered; /* the innermost bindings of %0, %1, … below `numbered_room` */
    uint32_t numbered_room;
    struct hlo_table names;    /* of all other names: their innermost bindings */
    struct mlir_list bindings; /* number 0 is none */
    uint32_t free_binding;

    struct mlir_block blocks[HLO_MAX_DEPTH + 1];
    int depth; /* of the open block; 0: none */

    struct mlir_list results, operands, attributes, callees, shapes, numbers;
    struct mlir_list computations, functions, calls, aliases;
    bool aliases_sought;
    int alias_depth, alias_types;
    int region_number, modules, module_number, module_depth;
    bool quantized; /* a quantized type was read */
    bool is_open;   /* an open size was read */

    bool sized;                         /* open sizes are inferred: */
    const struct hlo_dims *dims;        /* those of the entry; may be NULL */
    const struct mlir_signature *given; /* of the region or function that is being read; NULL: the entry's */
    int base;                           /* depth of the function: names further out are not its own */
    int call_depth;
    size_t listed;             /* functions */
    size_t read_again;         /* bytes of versions */
    size_t open_arguments;     /* of the entry, read so far */
    struct mlir_list versions; /* of functions */
    struct mlir_list known;    /* struct hlo_ints: values of constants that were computed */
    struct mlir_info elementwise[2][HLO_OPCODE_COUNT]; /* plain, and with operands broadcast */
    struct mlir_op_slot seen_ops[MLIR_SEEN_OPS];
    struct hlo_attributes scratch; /* of the operation that is being built */
    const struct hlo_attributes *kept[MLIR_KEPT];
};

/* lex.c: characters. Reading functions skip white space and comments first. */
bool mlir_error(struct mlir_reader *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool mlir_expected(struct mlir_reader *r, const char *what);
/* As in core/error.h: the static analyser reads one file at a time. */
#ifdef __clang_analyzer__
#define mlir_error(...)        ((mlir_error)(__VA_ARGS__), false)
#define mlir_expected(r, what) ((mlir_expected)(r, what), false)
#endif

struct mlir_place mlir_place_of(struct mlir_reader *r, const char *at);

/* Adds an item, for the caller to fill; NULL if memory is out. */
static inline void *mlir_push(struct mlir_reader *r, struct mlir_list *list, size_t size)
{
    if (!vector_room(&list->items, &list->capacity, list->count + 1, size))
        return error_memory_null(r->err);
    return (char *)list->items + list->count++ * size;
}

/* Adds a pointer to a list. */
static inline bool mlir_push_value(struct mlir_reader *r, struct mlir_list *list, const void *value)
{
    const void **slot = mlir_push(r, list, sizeof *slot);
    if (slot)
        *slot = value;
    return slot != NULL;
}

void mlir_space_slowly(struct mlir_reader *r);

static inline void mlir_space(struct mlir_reader *r)
{
    if (r->p < r->end && *r->p == ' ')
        r->p++;
    if (r->p < r->end && (*r->p <= ' ' || *r->p == '/'))
        mlir_space_slowly(r);
}

/* Skips white space and returns the next character; 0 at the end. */
static inline char mlir_peek(struct mlir_reader *r)
{
    mlir_space(r);
    return r->p < r->end ? *r->p : '\0';
}

static inline bool mlir_take(struct mlir_reader *r, char c)
{
    if (mlir_peek(r) != c || r->p == r->end)
        return false;
    r->p++;
    return true;
}

static inline bool mlir_same(struct mlir_span a, const char *text)
{
    return a.length == strlen(text) && memcmp(a.at, text, a.length) == 0;
}

/* Returns whether the text at this place begins with `text`. */
static inline bool mlir_begins(const struct mlir_reader *r, const char *at, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(r->end - at) >= length && memcmp(at, text, length) == 0;
}

static inline bool mlir_take_token(struct mlir_reader *r, const char *token)
{
    mlir_space(r);
    if (!mlir_begins(r, r->p, token))
        return false;
    r->p += strlen(token);
    return true;
}

bool mlir_misses(struct mlir_reader *r, const char *token); /* "expected 'TOKEN', found …" */

static inline bool mlir_need(struct mlir_reader *r, const char *token)
{
    return mlir_take_token(r, token) || mlir_misses(r, token);
}

/* Returns whether a character belongs to a word: letters, digits, '$', '.', '_'. The table has a bit for
 * each character. */
static inline bool mlir_is_word(char c)
{
    static const uint64_t bits[4] = {0x03ff401000000000, 0x07fffffe87fffffe, 0, 0};
    return bits[(unsigned char)c >> 6] >> (c & 63) & 1;
}

/* Reads a bare word. Returns false, without an error, if there is none. */
bool mlir_word(struct mlir_reader *r, struct mlir_span *word);
bool mlir_take_word(struct mlir_reader *r, const char *word);
bool mlir_need_word(struct mlir_reader *r, const char *word);

/* Reads a string: the text between the quotes, as written. */
bool mlir_string(struct mlir_reader *r, struct mlir_span *text);
bool mlir_symbol(struct mlir_reader *r, struct mlir_span *name); /* @name or @"name" */
bool mlir_integer(struct mlir_reader *r, int64_t *value);

/* Skips to the end of the bracket that opens here. */
bool mlir_skip_balanced(struct mlir_reader *r);
bool mlir_skip_location(struct mlir_reader *r); /* loc(…), if there is one */
bool mlir_skip_value(struct mlir_reader *r);    /* an attribute or a type, `1 : i64` */
/* Skips a value before a `:` that does not belong to it: `1`, `[0] x [1]`, `[b, f]x[o, i]->[b, f]`. */
bool mlir_skip_plain_value(struct mlir_reader *r);
bool mlir_skip_untyped(struct mlir_reader *r); /* without any ': type' */

/* type.c */
bool mlir_type(struct mlir_reader *r, const struct hlo_shape **shape);
bool mlir_push_type(struct mlir_reader *r);
/* Reads `(a, b)` or one type, and sets their number. */
bool mlir_push_types(struct mlir_reader *r, size_t *count);
const struct hlo_shape *mlir_tuple_shape(struct mlir_reader *r, const struct hlo_shape *const *parts,
                                         size_t count);
const struct hlo_shape *mlir_array_shape(struct mlir_reader *r, enum hlo_type type, const int64_t *dims,
                                         int rank);
const struct hlo_shape *mlir_scalar_shape(struct mlir_reader *r, enum hlo_type type);

/* attribute.c. Functions that read a value leave the reader behind it; mlir_operation puts it back. */
bool mlir_dictionary(struct mlir_reader *r, struct mlir_op *op, char end); /* after its '{' */
bool mlir_note(struct mlir_reader *r, struct mlir_op *op, struct mlir_span key, const char *value);
bool mlir_has(const struct mlir_reader *r, const struct mlir_op *op, const char *key);
/* Returns where the value of an attribute begins; NULL if it is not there or has none. `keys` are its names,
 * separated by '|'. */
const char *mlir_find(const struct mlir_reader *r, const struct mlir_op *op, const char *keys);
const char *mlir_alias(struct mlir_reader *r, struct mlir_span name); /* its value; NULL: unknown */
bool mlir_add_alias(struct mlir_reader *r, struct mlir_span name);    /* after its '=' */

/* Reads a list of whole numbers into the arena: [..], array<..>, dense<..>, nested ones flattened. *rows
 * (may be NULL) is the first dimension of a nested one. value NULL: the list is empty. */
bool mlir_read_ints(struct mlir_reader *r, const char *value, struct hlo_ints *values, int64_t *rows);

bool mlir_find_ints(struct mlir_reader *r, const struct mlir_op *op, const char *keys, bool required,
                    struct hlo_ints *values);
bool mlir_find_integer(struct mlir_reader *r, const struct mlir_op *op, const char *keys, bool required,
                       int64_t *value);
/* Finds the last word of an enumeration: LT of `LT`, "LT", #stablehlo<comparison_direction LT>. */
bool mlir_find_enum(struct mlir_reader *r, const struct mlir_op *op, const char *keys,
                    struct mlir_span *word);
bool mlir_find_text(struct mlir_reader *r, const struct mlir_op *op, const char *keys, const char **text);

/* Find the value of `key` in #dialect.name<key = value, …>: where it begins (NULL: it is left out), its
 * numbers (none if it is left out), or its one number (else 0). */
bool mlir_find_field(struct mlir_reader *r, const char *fields, const char *key, const char **field);
bool mlir_read_field(struct mlir_reader *r, const char *fields, const char *key, struct hlo_ints *values);
bool mlir_read_number(struct mlir_reader *r, const char *fields, const char *key, int64_t *number);
/* Reads the scalar in dense<…> or a plain literal; *known is false if it is neither. */
bool mlir_read_scalar(struct mlir_reader *r, const char *value, bool *known, int64_t *number);

/* scope.c: computations and the names in them */
bool mlir_open_block(struct mlir_reader *r);
struct hlo_computation *mlir_close_block(struct mlir_reader *r, const char *name); /* NULL: error */
struct hlo_instruction *mlir_add(struct mlir_reader *r, enum hlo_opcode opcode, struct mlir_place place,
                                 const char *name, const struct hlo_shape *shape,
                                 struct hlo_instruction *const *operands, size_t count);
/* attributes: those of the argument, for sizes; may be NULL */
bool mlir_parameter(struct mlir_reader *r, const struct mlir_op *attributes, struct mlir_span name,
                    const char *at, const struct hlo_shape *shape);
bool mlir_define(struct mlir_reader *r, struct mlir_span name, uint32_t number, const char *at,
                 struct hlo_instruction *source, int64_t part);
bool mlir_value_name(struct mlir_reader *r, struct mlir_span *name);    /* after '%' */
void mlir_prefetch(const struct mlir_reader *r, struct mlir_span name); /* it is defined soon */
bool mlir_use(struct mlir_reader *r, struct hlo_instruction **value);   /* %name or %name#1 */

void mlir_drop_block(struct mlir_reader *r); /* of a function without a body */

/* link.c: puts functions in order, resolves calls, and finds the entry. */
bool mlir_link(struct mlir_reader *r);

/* region.c */
bool mlir_region(struct mlir_reader *r, struct mlir_op *op); /* '{' … '}' */
bool mlir_block_body(struct mlir_reader *r);                 /* operations up to '}' */
bool mlir_block_arguments(struct mlir_reader *r);            /* (%a: type, …) */
bool mlir_block_label(struct mlir_reader *r);                /* ^name(arguments):, if there is one */
struct hlo_computation *mlir_end_body(struct mlir_reader *r, const char *name); /* NULL: error */
bool mlir_reduce_form(struct mlir_reader *r, struct mlir_op *op);
bool mlir_while_form(struct mlir_reader *r, struct mlir_op *op);
bool mlir_scan_form(struct mlir_reader *r, struct mlir_op *op);

bool mlir_manual_form(struct mlir_reader *r, struct mlir_op *op);

/* op.c */
bool mlir_operation(struct mlir_reader *r);
bool mlir_signature(struct mlir_reader *r, struct mlir_op *op);       /* after ':' */
bool mlir_operand_list(struct mlir_reader *r, struct mlir_op *op);    /* (%a, %b) */
bool mlir_take_dictionary(struct mlir_reader *r, struct mlir_op *op); /* {…}, if there is one */
bool mlir_properties(struct mlir_reader *r, struct mlir_op *op);      /* <{…}>, if there are any */
bool mlir_push_operand(struct mlir_reader *r, struct mlir_op *op);
const struct mlir_info *mlir_find_op(struct mlir_reader *r, struct mlir_span name);
bool mlir_unknown_op(struct mlir_reader *r, struct mlir_span name, const char *at);

static inline struct mlir_result mlir_result_name(const struct mlir_reader *r, size_t index)
{
    return ((const struct mlir_result *)r->results.items)[index];
}

static inline struct hlo_instruction *mlir_operand(const struct mlir_reader *r, const struct mlir_op *op,
                                                   size_t index)
{
    return ((struct hlo_instruction **)r->operands.items)[op->first_operand + index];
}

static inline struct hlo_instruction **mlir_operands(const struct mlir_reader *r, const struct mlir_op *op)
{
    return (struct hlo_instruction **)r->operands.items + op->first_operand;
}

static inline const struct hlo_shape *mlir_operand_type(const struct mlir_reader *r, const struct mlir_op *op,
                                                        size_t index)
{
    return mlir_operand(r, op, index)->shape;
}

static inline const struct hlo_shape *mlir_result_type(const struct mlir_reader *r, const struct mlir_op *op,
                                                       size_t index)
{
    return ((const struct hlo_shape **)r->shapes.items)[op->first_type + op->operand_types + index];
}

static inline struct hlo_computation *mlir_callee(const struct mlir_reader *r, const struct mlir_op *op,
                                                  size_t index)
{
    return ((struct hlo_computation **)r->callees.items)[op->first_callee + index];
}

/* specialise.c */
/* Returns whether all sizes are known. */
bool mlir_is_sized(const struct hlo_shape *shape);
/* Gives the open dimensions of a result these sizes; -1 leaves one open. */
bool mlir_fill(struct mlir_reader *r, const struct mlir_op *op, size_t index, const int64_t *dims, int rank);
/* Gives open dimensions of the results those of `shape`: one array, or a tuple of as many as there are results. */
bool mlir_fill_from(struct mlir_reader *r, const struct mlir_op *op, const struct hlo_shape *shape);
/* Gives open dimensions of each result those of the operand at its place. */
bool mlir_fill_alike(struct mlir_reader *r, const struct mlir_op *op);
/* Gives the argument that is read next its sizes and, if it is known, its value. */
bool mlir_size_argument(struct mlir_reader *r, const struct mlir_op *attributes, const char *at,
                        const struct hlo_shape **shape, struct hlo_ints *known);
/* Reads the function that is called with these operands, or finds it if it was read for them before. */
bool mlir_specialise(struct mlir_reader *r, const struct mlir_op *op, struct mlir_span name,
                     bool with_operands, struct hlo_computation **computation);
bool mlir_link_sized(struct mlir_reader *r);

/* fold.c: computes small whole numbers. */
/* Finds the value of a constant of whole numbers; count 0: it is not known. */
bool mlir_known(struct mlir_reader *r, const struct hlo_instruction *instruction, struct hlo_ints *value);
/* Makes the operation's instruction a constant if its value can be computed. */
bool mlir_fold(struct mlir_reader *r, const struct mlir_op *op);
/* Adds a constant of this value to the open block. */
struct hlo_instruction *mlir_add_known(struct mlir_reader *r, struct mlir_place place, const char *name,
                                       const struct hlo_shape *shape, struct hlo_ints value);

/* mlir.c: reads a function; after its keyword, which stands at `at`. */
bool mlir_read_function(struct mlir_reader *r, const char *at, bool generic);
/* link.c: @main, else the only public function, else the first. NULL: none has a body. */
struct mlir_function *mlir_find_entry(const struct mlir_reader *r);

/* check.c */
bool mlir_check_elements(struct mlir_reader *r, const struct mlir_op *op);
bool mlir_check_value_type(struct mlir_reader *r, const struct mlir_op *op, const char *value,
                           const struct hlo_shape *wanted);

/* build_array.c: notes where the text of a constant stands that may be a list of sizes. Until the end of
 * reading, its `value` holds the place (of a computed one: -1 - its number in `known`) and `has_value` is false. */
void mlir_note_sizes(struct mlir_reader *r, struct hlo_instruction *constant, const char *value);
/* Checks that the operand, if it is known, gives the result's dimensions. */
bool mlir_check_sizes(struct mlir_reader *r, const struct mlir_op *op, size_t operand);

/* build_dot.c */
bool mlir_verify_accuracy(struct mlir_reader *r, const struct mlir_op *op);
bool mlir_verify_precision(struct mlir_reader *r, const struct mlir_op *op); /* of reduce_precision */
/* Reads the precision and the algorithm of a product into op->set. */
bool mlir_verify_dot(struct mlir_reader *r, const struct mlir_op *op);
bool mlir_verify_composite(struct mlir_reader *r, const struct mlir_op *op);

/* verify_custom.c */
bool mlir_verify_custom(struct mlir_reader *r, const struct mlir_op *op);

/* build*.c: turn operations into instructions. */
struct hlo_attributes *mlir_set(struct mlir_reader *r, struct mlir_op *op);
/* Returns equal attributes in the arena, which instructions share; NULL if memory is out. */
const struct hlo_attributes *mlir_keep(struct mlir_reader *r, const struct hlo_attributes *attributes);
bool mlir_op_error(struct mlir_reader *r, const struct mlir_op *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__
#define mlir_op_error(...) ((mlir_op_error)(__VA_ARGS__), false)
#endif
bool mlir_result_dims(struct mlir_reader *r, const struct mlir_op *op, size_t index, const int64_t *dims,
                      int rank);
bool mlir_in_range(struct mlir_reader *r, const struct mlir_op *op, const char *what, struct hlo_ints values,
                   int rank);
/* Makes the instruction from the operation's operands, result types, regions and attributes. */
bool mlir_finish(struct mlir_reader *r, struct mlir_op *op, enum hlo_opcode opcode);
/* Adds an instruction of one operand before the operation. */
struct hlo_instruction *mlir_before(struct mlir_reader *r, const struct mlir_op *op, enum hlo_opcode opcode,
                                    const char *suffix, const struct hlo_shape *shape,
                                    struct hlo_instruction *operand, struct hlo_ints dimensions);
struct hlo_ints mlir_copy_ints(struct mlir_reader *r, const int64_t *values, int count);
/* Calls mlir_finish, then checks the shape by HLO's rules. */
bool mlir_infer(struct mlir_reader *r, struct mlir_op *op, enum hlo_opcode opcode);
/* Reads the attributes that become fields of the instruction's as they are. */
bool mlir_read_fields(struct mlir_reader *r, struct mlir_op *op);
bool mlir_need_results(struct mlir_reader *r, const struct mlir_op *op, size_t count);
bool mlir_need_arrays(struct mlir_reader *r, const struct mlir_op *op); /* no tuples or tokens */
bool mlir_one_array(struct mlir_reader *r, const struct mlir_op *op);   /* one result, only arrays */
/* The custom call stablehlo.dynamic_reduce_window, its region already among the callees: inputs, initial values, and
 * five values that hold the window: sizes, strides, dilations of input and window, padding. */
bool mlir_build_dynamic_window(struct mlir_reader *r, struct mlir_op *op);
/* Checks that the region's parameter is a scalar of this type. */
bool mlir_check_region(struct mlir_reader *r, const struct mlir_op *op, size_t index, size_t parameters,
                       size_t results);
bool mlir_check_reducer(struct mlir_reader *r, const struct mlir_op *op, size_t inputs);

mlir_build mlir_build_plain, mlir_build_inferred, mlir_build_move, mlir_build_elementwise, mlir_build_compare,
    mlir_build_constant, mlir_build_constant_like, mlir_build_call, mlir_build_custom, mlir_build_foreign,
    mlir_build_high_product, mlir_build_identity, mlir_build_rng, mlir_build_square, mlir_build_broadcasting,
    mlir_build_receive, mlir_build_bit_generator, mlir_build_broadcast, mlir_build_broadcast_in_dim,
    mlir_build_reshape, mlir_build_slice, mlir_build_dynamic_slice, mlir_build_real_dynamic_slice,
    mlir_build_insert_slice, mlir_build_iota, mlir_build_dynamic_pad, mlir_build_gather,
    mlir_build_index_select, mlir_build_dimension_size, mlir_build_bitcast, mlir_build_dot,
    mlir_build_dot_general, mlir_build_ragged_dot, mlir_build_convolution, mlir_build_einsum, mlir_build_fft,
    mlir_build_solve, mlir_build_cholesky, mlir_build_batch_norm, mlir_build_reduce, mlir_build_reduce_window,
    mlir_build_select_and_scatter, mlir_build_scatter, mlir_build_sort, mlir_build_map, mlir_build_while,
    mlir_build_scan, mlir_build_conditional, mlir_build_collective, mlir_build_permute,
    mlir_build_ragged_exchange, mlir_build_topk;

#endif
