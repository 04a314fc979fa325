/* A careful, limited reader of shell scripts: it finds what a script would run, and runs nothing.
 *
 * Followed are assignments, export, arrays, `source`, if and case with [ ], [[ ]] and (( )), && and ||, functions, here
 * documents, $NAME with defaults, patterns and case, and arithmetic. Every command is kept with its expanded words. A
 * loop is followed once, with its first value; tests of files succeed.
 *
 * What a script does not say stays visible. An unset variable and the output of a command become a mark inside the text
 * that they would be part of, and marks are copied with the text: SHELL_MARK, the number of the unknown, SHELL_END. If
 * a condition has a mark, all that its branches set becomes that mark. A reader of options that meets a mark thus knows
 * which variable it lacks, and lacks nothing for marks that it does not meet. `--set` replaces what the script sets. */
#ifndef REHEARSE_LAUNCH_READ_SHELL_H
#define REHEARSE_LAUNCH_READ_SHELL_H

#include "core/arena.h"
#include "core/error.h"
#include "launch/budget.h"

#include <stdbool.h>
#include <stddef.h>

#define SHELL_MARK '\001'
#define SHELL_END  '\002'
/* The number of a line follows, up to SHELL_END: the text behind it is from there. Only inside the reader. */
#define SHELL_LINE '\003'

#define SHELL_MAX_BYTES    ((size_t)1 << 20) /* of a script */
#define SHELL_MAX_EXPANDED ((size_t)8 << 20) /* of all expanded texts */
#define SHELL_MAX_DEPTH    40                /* of nested commands, and of files that are sourced */
#define SHELL_STEP         12                /* steps of the budget for a command */
#define SHELL_MAX_NAMES    4000 /* of variables that are set, and of others; each is compared with all */

struct shell_word {
    const char *text;
    const char *path;
    int line;
};

struct shell_words {
    struct shell_word *items;
    int count, room;
};

struct shell_variable {
    const char *name;
    struct shell_words values; /* of an array; else one */
    bool is_array;
    bool is_used;  /* in another text */
    bool is_given; /* by --set */
    bool is_asked; /* it is given, and a text names it */
    const char *path;
    int line;
    int next; /* of the same place in `places`: its number and 1; 0: none */
};

/* A variable that is not set, or a command whose output is not known. */
struct shell_unknown {
    const char *name;    /* "MBS"; NULL: a command's output that no variable holds */
    const char *text;    /* "$(nvidia-smi -L | wc -l)"; NULL: a variable */
    const char *through; /* the first variable that it went into; NULL: none */
    const char *path;
    int line;
    bool is_required; /* ${MBS:?}: the script stops without it */
};

/* A here document. */
struct shell_document {
    const char *text, *path;
    int line;
};

struct shell {
    struct arena arena;
    const char *const *given; /* "NAME=VALUE", ended by NULL */
    struct launch_budget *budget;
    struct shell_variable *variables;
    int places[256]; /* the last variable whose name has this hash: its number and 1 */
    int variable_count, variable_room;
    struct shell_unknown *unknowns;
    int unknown_count, unknown_room;
    struct shell_words *commands; /* without echo and the like */
    int command_count, command_room;
    struct shell_document *documents;
    int document_count, document_room;
    struct shell_words absent;  /* files that are sourced and were not found */
    struct shell_words files;   /* that were sourced */
    struct shell_words batch;   /* words of #SBATCH lines */
    struct shell_words skipped; /* variables that are set in branches not taken only */
    bool is_open;               /* it uses arguments of its own: $1, $@ */
};

/* Reads a script; `path` is for errors and the place of sourced files. `given`, `path` and `budget` must outlive
 * *shell. On failure *shell is empty; on success the caller releases it with shell_release. */
bool shell_read(struct shell *shell, const char *path, const char *data, size_t length,
                const char *const *given, struct launch_budget *budget, struct error *err);
void shell_release(struct shell *shell);

/* Returns a variable, or NULL. */
const struct shell_variable *shell_find(const struct shell *shell, const char *name);

/* Returns the value of an option of #SBATCH lines, "--nodes=4", "--nodes 4", "-N 4" or "-N4"; NULL: it is not there. */
const char *shell_batch_value(const struct shell *shell, const char *name, const char *letter);

/* Returns the unknown of the first mark in a text, or NULL. */
struct shell_unknown *shell_unknown_in(const struct shell *shell, const char *text);

/* Splits a text at blanks as a shell splits options in a variable, and adds the words without quotes. False: out of
 * memory. */
bool shell_split(struct arena *arena, const struct shell_word *word, struct shell_words *words);

#endif
