/* The parts that the reader of HLO text shares.
 *
 * One pass over the text, which need not end in a NUL. Shapes, lists of numbers and attributes that
 * repeat are read once and found again by their text. */
#ifndef REHEARSE_HLO_TEXT_TEXT_H
#define REHEARSE_HLO_TEXT_TEXT_H

#include "hlo/infer.h"
#include "hlo/module.h"
#include "hlo/table.h"

/* A list that grows while a computation or a list of operands is read. Inner items lie above outer ones. */
struct hlo_stack {
    void **at;
    size_t count, capacity;
};

struct hlo_word {
    const char *at;
    size_t length;
};

struct hlo_begin { /* on the stacks of instructions and parameters */
    size_t instruction, parameter;
};

/* How many computations are read at the same time, one inside the other. An instruction on its own begins
 * with one, and number 0 is not used. */
#define HLO_MAX_SCOPES (HLO_MAX_DEPTH + 2)

struct hlo_reader {
    struct hlo_module *module;
    struct error *err;
    const char *begin, *at, *end;
    size_t read; /* instructions so far */

    const char *counted; /* where the count of lines stands */
    const char *line_start;
    uint32_t line;

    int depth;    /* of nested operands, tuples and bodies */
    bool is_lone; /* one instruction only: operands that nobody defined are its parameters */
    int64_t made; /* of those */
    struct hlo_table shapes, lists, attributes, computations;
    struct hlo_table words;   /* opcodes and names of attributes that were looked up before */
    struct hlo_table starts;  /* async-start by its place: the thread it names */
    struct hlo_table wrapped; /* computations that an async-start calls, by where they name themselves */
    struct hlo_table names[HLO_MAX_SCOPES];    /* of the instructions of each computation being read */
    int scope;                                 /* which of them is in use */
    struct hlo_stack instructions, parameters; /* of the computations being read */
    struct hlo_stack operands;
    struct hlo_stack finished; /* computations */
    struct hlo_begin begins;   /* where instructions and parameters of the current computation begin */
};

/* An instruction that is being read. */
struct hlo_draft {
    struct hlo_instruction *instruction;
    struct hlo_attributes attributes; /* undefined until one is set: most instructions have none */
    bool set;                         /* anything in `attributes` */
    bool is_nested;                   /* an operand without a name, which has no attributes */
    const char *name_at;              /* for messages */
    size_t operands, callees;         /* on the stack of operands, from here on */
    enum hlo_opcode wrapped; /* of add-start, add-update and add-done: add; HLO_OPCODE_COUNT: nothing */
    const char *thread;      /* async_execution_thread; NULL: not given */
};

/* Returns the opcode that the attributes belong to. */
static inline enum hlo_opcode hlo_draft_opcode(const struct hlo_draft *draft)
{
    return draft->wrapped != HLO_OPCODE_COUNT ? draft->wrapped : draft->instruction->opcode;
}

/* lexer.c: sets the error "FILE:LINE:COLUMN: …" for a place in the text and returns false. */
bool hlo_fail(struct hlo_reader *r, const char *at, const char *format, ...) PRINTF_LIKE(3, 4);

/* Sets the error "expected WHAT, found …" for the place at hand and returns false. */
bool hlo_expected(struct hlo_reader *r, const char *what);

void hlo_place(struct hlo_reader *r, const char *at, uint32_t *line, uint32_t *column);
void hlo_skip_comment(struct hlo_reader *r);

/* As in core/error.h: the static analyser reads one file at a time. */
#ifdef __clang_analyzer__
#define hlo_fail(...)         ((hlo_fail)(__VA_ARGS__), false)
#define hlo_expected(r, what) ((hlo_expected)(r, what), false)
#endif

/* Returns whether a byte belongs to a name: letters, digits, '_', '.' and '-'. */
static inline bool hlo_is_name_byte(char c)
{
    static const uint64_t names[4] = {UINT64_C(0x03ff600000000000), UINT64_C(0x07fffffe87fffffe)};
    unsigned char byte = (unsigned char)c;
    return (names[byte >> 6] >> (byte & 63)) & 1;
}

/* Returns the byte that the reader stands at; NUL at the end. */
static inline char hlo_peek(const struct hlo_reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static inline void hlo_skip_blank(struct hlo_reader *r)
{
    for (;;) {
        char c = hlo_peek(r);
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
            r->at++;
        else if (c == '/') {
            const char *before = r->at;
            hlo_skip_comment(r);
            if (r->at == before)
                return;
        } else
            return;
    }
}

/* Goes past this byte, and blanks before it; returns false if another byte follows. */
static inline bool hlo_takes(struct hlo_reader *r, char c)
{
    hlo_skip_blank(r);
    if (hlo_peek(r) != c)
        return false;
    r->at++;
    return true;
}

bool hlo_expect(struct hlo_reader *r, char c);

/* Reads the word at this very place; empty if there is none. */
static inline struct hlo_word hlo_read_bytes(struct hlo_reader *r)
{
    const char *begin = r->at, *at = begin, *end = r->end;
    while (at < end && hlo_is_name_byte(*at))
        at++;
    r->at = at;
    return (struct hlo_word){begin, (size_t)(at - begin)};
}

/* Skips blanks and reads a word; empty if there is none. */
static inline struct hlo_word hlo_read_word(struct hlo_reader *r)
{
    hlo_skip_blank(r);
    return hlo_read_bytes(r);
}

bool hlo_word_is(struct hlo_word word, const char *text);

/* Reads a name, with or without '%'. */
bool hlo_read_name(struct hlo_reader *r, const char *what, struct hlo_word *name);
bool hlo_read_integer(struct hlo_reader *r, int64_t *value);
bool hlo_read_string(struct hlo_reader *r, const char **text); /* unescaped, in the arena */

/* Skips a value of any kind: up to a ',' or a closing bracket around it, or the end of the line. */
bool hlo_skip_value(struct hlo_reader *r);

/* Skips to the end of the bracket that opens here. */
bool hlo_skip_brackets(struct hlo_reader *r);

/* Increases the depth, or sets an error at the limit. The caller decreases it again. */
bool hlo_enter(struct hlo_reader *r);

bool hlo_push(struct hlo_reader *r, struct hlo_stack *stack, void *item);

/* Returns a copy in the arena; NULL, with an error, if memory is out. */
void *hlo_keep(struct hlo_reader *r, const void *items, size_t bytes);
bool hlo_keep_ints(struct hlo_reader *r, const int64_t *numbers, int count, struct hlo_ints *list);

/* Moves the items from `begin` on from the stack to the arena. NULL if there are none or memory is out. */
void *hlo_pop_all(struct hlo_reader *r, struct hlo_stack *stack, size_t begin);

/* shape.c */
const struct hlo_shape *hlo_read_shape(struct hlo_reader *r);

/* Returns whether a shape begins here. The reader must not stand at a blank. */
bool hlo_at_shape(struct hlo_reader *r);

/* literal.c: reads a literal and the ')' behind it. */
bool hlo_read_literal(struct hlo_reader *r, struct hlo_instruction *constant);

/* attributes.c, window.c and groups.c */
bool hlo_read_attributes(struct hlo_reader *r, struct hlo_draft *draft);
typedef bool hlo_read_fields(struct hlo_reader *r, struct hlo_attributes *attributes);
hlo_read_fields hlo_read_window, hlo_read_labels, hlo_read_padding, hlo_read_slice, hlo_read_groups,
    hlo_read_pairs;

/* Reads [2,4] and returns the product. */
bool hlo_read_product(struct hlo_reader *r, int64_t *product);

/* attributes.c: those that cost has no use for */
bool hlo_read_buffers(struct hlo_reader *r, bool of_outputs);
bool hlo_read_debug(struct hlo_reader *r);

/* text.c: reads a body in braces, as a computation of the module. */
struct hlo_computation *hlo_read_body(struct hlo_reader *r, const char *name);

/* instruction.c: reads `[ROOT] name = shape opcode(operands), attributes`; NULL on failure. */
struct hlo_instruction *hlo_read_instruction(struct hlo_reader *r, bool *is_root);

/* Reads `shape opcode(operands), attributes` of this name. */
struct hlo_instruction *hlo_read_operation(struct hlo_reader *r, struct hlo_word name,
                                           const struct hlo_shape *shape);

/* Begins a computation. The caller keeps the result, and puts it back at the end. */
struct hlo_begin hlo_begin_computation(struct hlo_reader *r);

/* Sets a draft's attributes to the defaults, the first time it is called. */
void hlo_begin_attributes(struct hlo_draft *draft);

/* Appends an instruction to the computation that is being read. */
bool hlo_append(struct hlo_reader *r, struct hlo_instruction *instruction);

/* Ends the computation that is being read, whose instructions lie on the stack from its begin on. */
struct hlo_computation *hlo_finish_computation(struct hlo_reader *r, const char *name,
                                               struct hlo_instruction *root);

/* Checks or infers the shape of a draft's instruction. */
bool hlo_settle_shape(struct hlo_reader *r, struct hlo_draft *draft);

/* Gives `add-start` a computation with the add in it, and checks that the operations of a chain fit. */
bool hlo_settle_async(struct hlo_reader *r, struct hlo_draft *draft);

/* Returns false if a start at the root never gets operands. */
bool hlo_chains_end(struct hlo_reader *r, const struct hlo_computation *computation);

#endif
