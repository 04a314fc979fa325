/* A careful, limited reader of Python configurations: it finds what a function assigns, and runs nothing.
 *
 * Followed are literals, arithmetic and comparisons of them, assignments to names and attributes, if with a condition
 * that is known, and calls of functions in the file or in a file that it imports, if that is there. Any other call is
 * an object that keeps the name of what was called and its arguments. All else is unknown, and so is what branches and
 * loops set about which something unknown decides: it keeps its text, so that a reader can say what it lacks. */
#ifndef REHEARSE_LAUNCH_PYTHON_PYTHON_H
#define REHEARSE_LAUNCH_PYTHON_PYTHON_H

#include "core/arena.h"
#include "core/error.h"
#include "launch/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PYTHON_MAX_TOKENS  500000 /* of all modules */
#define PYTHON_SKIPPED     32     /* tokens that are passed over for a step of the budget */
#define PYTHON_MAX_DEPTH   150    /* of calls, and of brackets */
#define PYTHON_MAX_MODULES 60
#define PYTHON_MAX_BYTES   ((size_t)2 << 20) /* of a file */

enum python_kind {
    PYTHON_UNKNOWN,
    PYTHON_NONE,
    PYTHON_BOOL,
    PYTHON_NUMBER,
    PYTHON_TEXT,
    PYTHON_LIST,
    PYTHON_OBJECT
};

/* A value. Objects and lists are shared by those who hold them, as in Python. */
struct python_value {
    enum python_kind kind;
    const char *
        text; /* of a text, a number or what is unknown; what made an object, NULL: only its fields are known */
    double number; /* PYTHON_NUMBER; PYTHON_BOOL: 0 or 1 */
    struct python_field
        *fields; /* in the order in which they were set; places of lists and calls are "0", "1", … */
    const char *path;
    int line;
    struct python_index *index; /* of the fields, once they are many; NULL: none */
};

/* Finds fields and names, which begin with their name, by it. */
struct python_index {
    const char *const **places;
    size_t capacity, count;
    struct python_field **last; /* where the next field is linked */
};

struct python_field {
    const char *name;
    struct python_value *value;
    const char *path;
    int line;
    struct python_field *next;
};

enum python_token_kind {
    PYTHON_END,
    PYTHON_LINE,
    PYTHON_INDENT,
    PYTHON_DEDENT,
    PYTHON_NAME,
    PYTHON_DIGITS,
    PYTHON_STRING,
    PYTHON_SIGN
};

struct python_token {
    enum python_token_kind kind;
    const char *text; /* of a string: without its quotes */
    int line;
    bool is_open; /* a string that is formatted: its value is not known */
};

struct python_name {
    const char *name;
    int params, body;             /* a function's tokens; 0: none */
    const char *from, *own;       /* an import's module and the name there; own NULL: the module itself */
    struct python_module *module; /* `from`, once it was sought; NULL: it is not there */
    bool sought;
    struct python_value *value;
    struct python_name *next, *next_star;
};

struct python_module {
    struct python *python;
    const char *path, *name;
    struct python_token *tokens;
    int count;
    struct python_name *names, **last, *stars; /* stars: imports of all that a module has */
    struct python_index index;                 /* of the names: the last of those that are equal */
    int visit;                                 /* the last search that was here */
    struct python_module *next;
};

struct python {
    struct arena arena;
    struct python_module *first, *modules;
    struct launch_budget *budget;
    int module_count, token_count, visits, depth;
    const char *doubt; /* the condition that is not known; NULL: none */
    bool failed;       /* for lack of memory, or as the budget is spent */
    struct python_field
        *unfollowed; /* functions that are not here and got an object, which they may have changed */
};

/* A function that is followed: its names, and the next token. Private, as all below. */
struct python_frame {
    struct python_module *module;
    struct python_value *locals;
    struct python_value *result; /* NULL: it has not returned */
    struct python_value *maybe;  /* what it returns if something unknown is true; NULL: nothing */
    int at;
};

/* Reads a file. On failure *python holds nothing; on success the caller releases it. */
bool python_read(struct python *python, const char *path, const char *data, size_t length,
                 struct launch_budget *budget, struct error *err);
void python_release(struct python *python);

/* Follows a function of the file without arguments, or with their defaults. Returns what it returns; NULL: failed. */
struct python_value *python_call(struct python *python, const char *function, struct error *err);

/* Splits a text into tokens. Private. */
bool python_tokens(struct python *python, struct python_module *module, const char *data, size_t length,
                   struct error *err);

/* Takes steps of the budget. False: it is spent, and *python has failed. */
static inline bool python_spend(struct python *python, size_t steps)
{
    python->failed |= !launch_budget_take(python->budget, (int64_t)steps);
    return !python->failed;
}

/* Adds an entry that begins with its name, in place of one of the same name. False: out of memory. */
bool python_index_add(struct python *python, struct python_index *index, const void *entry);

const struct python_field *python_field(const struct python_value *object, const char *name);
bool python_set(struct python *python, struct python_value *object, const char *name,
                struct python_value *value, const char *path, int line);
struct python_value *python_make(struct python *python, const struct python_frame *frame,
                                 enum python_kind kind, const char *text, double number);

static inline const struct python_token *python_peek(const struct python_frame *frame)
{
    return &frame->module->tokens[frame->at];
}

/* Is the next token this name or sign? The second passes over it then. */
static inline bool python_is(const struct python_frame *frame, const char *text)
{
    const struct python_token *token = python_peek(frame);
    return (token->kind == PYTHON_SIGN || token->kind == PYTHON_NAME) && strcmp(token->text, text) == 0;
}

static inline bool python_take(struct python_frame *frame, const char *text)
{
    bool there = python_is(frame, text);
    frame->at += there;
    return there;
}

/* Reads a module's tokens and names. NULL: failed. */
struct python_module *python_add_module(struct python *python, const char *path, const char *data,
                                        size_t length, struct error *err);

/* Returns what a name means in a module, through what it imports, and sets *home to its module; NULL: it is not
 * there. */
struct python_name *python_look_up(struct python *python, struct python_module *module, const char *name,
                                   struct python_module **home);

/* Reads an expression at the frame's token; passes over tokens up to a sign outside of brackets. NULL: failed. */
struct python_value *python_expression(struct python *python, struct python_frame *frame);
int python_truth(const struct python_value *value); /* -1: not known */

/* Follows the function of this name with arguments; NULL without python->failed: there is none. */
struct python_value *python_invoke(struct python *python, struct python_module *module, const char *name,
                                   const struct python_value *arguments);

#endif
