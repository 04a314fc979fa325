/* Options: each is described once, in data/texts.yaml, and everything else follows from the description: reading it from the
 * command line, help, the man page, shell completion, the tables in docs/, "did you mean". scripts/texts.c makes texts.h of
 * texts.yaml: OPTIONS_rh_weigh_request is the rows of a request's table. Tables that need more of C than words and limits
 * have rows of their own (OPTION_OF), and only what is said of them there. */
#ifndef REHEARSE_API_OPTION_H
#define REHEARSE_API_OPTION_H

#include "core/error.h"
#include "core/text.h"
#include "core/unit.h"
#include "core/unit/dimension.h"
#include "rehearse.h"
#include "texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of an option, and the type of its field in the command's options struct. */
enum option_kind {
    OPTION_FLAG,     /* nothing                             bool */
    OPTION_TEXT,     /* any words                           const char * */
    OPTION_FILE,     /* a file or folder; not empty         const char * */
    OPTION_INTEGER,  /* a whole number in [least, most]     int64_t */
    OPTION_NUMBER,   /* a finite number in [least, most]    double */
    OPTION_QUANTITY, /* a number with a unit, the same      double, in the base unit of core/unit.h */
    OPTION_RANGE,    /* "3..8", or "5" for "5..5"           struct option_range */
    OPTION_CHOICE,   /* one of `words`                      int, its index */
    OPTION_WORD,     /* one of `words`                      const char *; NULL: the default */
    OPTION_HANDLE,   /* none: set by callers of the library const rh_handle * */
};

struct option_range {
    int64_t first, last; /* both included; first <= last */
};

#define OPTION_POSITIVE 4.9406564584124654e-324 /* `min` of a number that may not be 0 */

struct option_spec {
    const char *name;  /* without the dashes */
    const char *field; /* its name in the struct; NULL: nobody asks */
    const char *was;   /* its name in the version before, still taken; NULL: none */
    char letter;       /* 0: none */
    enum option_kind kind;
    bool required;
    bool repeats;         /* text and file: the field is a struct rh_list; a handle: struct rh_handles */
    bool is_operand;      /* of a request: the command line has it among the operands */
    bool of_callers;      /* of a request: only callers of the library set it */
    bool of_commands;     /* of a required one: callers of the library may leave it out */
    size_t at;            /* offsetof(struct …_options, field) */
    const char *argument; /* name of the value: "FILE", "N" */
    const char *help;     /* its purpose: lower case, no full stop, may run over several lines */
    const char *needs;    /* "plan search=hpgo": options of which one has to be given, too; NULL: none */
    unsigned takers;      /* parts of the command that take it, by its own bits; 0: all of them */
    unsigned needers;     /* parts of the command that cannot do without it */
    const char *topic;    /* the command's topic that help lists it under; NULL: the first page of its help */
    const char *initial;  /* the default, written as a user would; NULL: the field is zero */
    const char *const *words; /* OPTION_CHOICE: the choices, ended by NULL */
    double min, max;          /* most 0: no upper limit */
    enum unit_kind unit;      /* OPTION_QUANTITY */
    enum dimension dimension; /* of a quantity, a number, and a text that is one */
};

/* Tables of options end with OPTION_END. */
#define OPTION_END                                                                                           \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

/* A row of a table of options: struct TYPE is the command's options struct, the rest are members of struct
 * option_spec. */
#define OPTION(type, member, its_kind, its_name, ...)                                                        \
    {                                                                                                        \
        .name = its_name, .field = #member, .kind = its_kind, .at = offsetof(struct type, member),           \
        __VA_ARGS__                                                                                          \
    }

/* The same with what texts.yaml says of an option of this request. */
#define OPTION_OF(request, member, ...) OPTION(request, member, __VA_ARGS__, SAYS_##request##_##member)

/* Options that several commands share; `type` is the command's options struct. */
#define OPTION_OUTPUT(type)                                                                                  \
    {                                                                                                        \
        .name = "output", .letter = 'o', .kind = OPTION_FILE, .at = offsetof(type, output),                  \
        .argument = "FILE", .help = "write the result to FILE instead of standard output"                    \
    }
#define OPTION_JSON(type)                                                                                    \
    {                                                                                                        \
        .name = "json", .kind = OPTION_FLAG, .at = offsetof(type, json),                                     \
        .help = "print JSON for programs instead of a table for people"                                      \
    }
#define OPTION_TIME_LIMIT(type, member)                                                                      \
    {                                                                                                        \
        .name = "time-limit", .kind = OPTION_QUANTITY, .at = offsetof(type, member), .argument = "TIME",     \
        .initial = "0", .unit = UNIT_TIME, .dimension = DIMENSION_WAIT,                                      \
        .help = "stop a search after this long (60, 500 ms) with the best plan so far, a lower bound and "   \
                "the gap; 0 is no limit"                                                                     \
    }
#define OPTION_THREADS(type)                                                                                 \
    {                                                                                                        \
        .name = "threads", .kind = OPTION_INTEGER, .at = offsetof(type, threads), .argument = "N",           \
        .initial = "0", .max = 1024,                                                                         \
        .help = "threads to use; 0: one per processor; the result does not depend on it"                     \
    }

/* Goes through a table, after that of a request where there is one, and leaves out rows that a command line does not
 * have:
 *
 *     for (struct option_walk walk = option_begin(table); option_next(&walk);)
 *         use(walk.spec); */
struct option_walk {
    const struct option_spec *spec;
    size_t index;    /* of the row, over all tables */
    bool of_request; /* zero is the default of its field, see RH_ZERO */
    const struct option_spec *request, *own;
};
struct option_walk option_begin(const struct option_spec *table);
bool option_next(struct option_walk *walk);

/* Reads `value` into the option's field of a request: a 0 that is not the default becomes RH_ZERO. */
bool option_read_request(const struct option_spec *spec, const char *value, void *request, struct error *err);

/* Returns whether a caller has set the field of a request: it is not zero. */
bool option_is_given(const struct option_spec *spec, const void *request);

/* Puts the default where a field of a request is zero, and checks it where not: `request` has then all that is
 * asked. */
bool option_complete(const struct option_spec *spec, void *request, struct error *err);

/* Copies the values of the options that both tables have by the same name and kind: what two requests have in
 * common. */
void option_copy_common(void *to, const struct option_spec *to_table, const void *from,
                        const struct option_spec *from_table);

/* Returns the bytes of an option's field. */
size_t option_width(const struct option_spec *spec);

/* Reads `value` into the option's field. The message begins with the option: "--nodes: expected …". */
bool option_read(const struct option_spec *spec, const char *value, void *options, struct error *err);

/* Returns whether a name of this length is the option's, or was. */
bool option_is_called(const struct option_spec *spec, const char *name, size_t length);

/* Reads "2%" or "0.02", what an interval may be of a median that is measured. */
bool option_tolerance(const char *text, double *share, struct error *err);

/* Finds the value among the words that an option takes. The message names them, and the nearest. */
bool option_choose(const char *option, const char *const *words, const char *value, int *choice,
                   struct error *err);

/* Returns the place of a word that is one of the words: an enum's value. */
int option_index(const char *const *words, const char *word);

/* "pipeline, oobleck" */
void option_write_words(const char *const *words, const char *separator, struct text *out);

#endif
