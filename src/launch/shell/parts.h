/* Inside the reader of shell scripts. */
#ifndef REHEARSE_LAUNCH_READ_SHELL_PARTS_H
#define REHEARSE_LAUNCH_READ_SHELL_PARTS_H

#include "core/text.h"
#include "launch/shell/shell.h"

#include <stdint.h>

/* The answer of a condition. */
struct shell_answer {
    enum { SHELL_FALSE, SHELL_TRUE, SHELL_OPEN } is;
    int unknown; /* SHELL_OPEN: its number */
};

static const struct shell_answer shell_yes = {SHELL_TRUE, -1};

static inline struct shell_answer shell_failed(void)
{
    return (struct shell_answer){SHELL_FALSE, -1};
}

struct shell_command {
    struct shell_words words, raw; /* expanded, and as written */
    const char *delimiter;         /* of a here document */
    bool delimiter_quoted;
};

struct shell_function {
    const char *name, *at, *end, *path;
    int line;
};

/* A place in a script, and what is shared by all files of it. */
struct shell_run {
    struct shell *shell;
    const char *path, *at, *end;
    int line;
    struct shell_state *state;
};

struct shell_state {
    struct error *err;
    bool failed;
    int depth;
    size_t expanded;
    int passive;                /* above 0: commands are skipped, */
    int open;                   /* the unknown that decides about them, or -1, */
    int unsure;                 /* above 0: it is not known whether commands are run: none ends the script */
    struct shell_words touched; /* and what they set */
    bool is_over;               /* after exit */
    const char *said;           /* by the last echo */
    struct shell_function *functions;
    int function_count, function_room;
};

/* Returns the end of a raw word, quotes and substitutions included. */
const char *shell_word_end(const char *at, const char *end);

/* Returns the end of a quoted text, substitution or expansion that begins here, or `at` + 1. */
const char *shell_piece_end(const char *at, const char *end);

/* Pass over blanks, a comment, all that separates statements, and a piece, whose lines are counted. */
void shell_skip_blanks(struct shell_run *run);
void shell_skip_comment(struct shell_run *run);
bool shell_skip_lines(struct shell_run *run);
void shell_pass(struct shell_run *run, const char *to);

/* Returns whether this whole word begins here; the second passes over it, the third fails without it. */
bool shell_take_word(struct shell_run *run, const char *word);
bool shell_expect(struct shell_run *run, const char *word);

/* Follows statements up to one of the words that end the list; *stopped is that word, NULL: the end of the text.
 * Answers as the last statement does. */
struct shell_answer shell_run_list(struct shell_run *run, const char *const *stops, const char **stopped);

/* Follows a whole file: without a byte order mark, and with any line ends. */
bool shell_run_file(struct shell_run *run, const char *data, size_t length);

/* Follow a command, [[ ]], (( )), and what stands behind `if`, `case`, `for` and `while`. */
struct shell_answer shell_run_simple(struct shell_run *run);
bool shell_run_if(struct shell_run *run);
bool shell_run_case(struct shell_run *run);
bool shell_run_loop(struct shell_run *run, bool is_for);

/* After branches about which an unknown decides, sets all that they touched to that unknown. */
bool shell_settle_open(struct shell_run *run, int unknown, int from);

/* Reads "> file", "2>&1", "<<EOF" and "<<< word"; and the lines of a here document, from the next line on. */
bool shell_read_redirection(struct shell_run *run, struct shell_command *command);
bool shell_read_document(struct shell_run *run, struct shell_command *command);

/* Expands a raw word and adds its fields; `whole`: as exactly one. */
bool shell_expand(struct shell_run *run, const char *raw, size_t length, bool whole,
                  struct shell_words *words);

/* The same as one text, without marks of lines; NULL: failed. */
const char *shell_expand_text(struct shell_run *run, const char *raw, size_t length);

/* Computes an expression. False, and *unknown is set: it has a mark, or is none. */
bool shell_compute(struct shell_run *run, const char *text, int64_t *value, int *unknown);

/* Answers [ ], [[ ]] and test, whose words are expanded. */
struct shell_answer shell_test(struct shell_run *run, const struct shell_words *words);

/* Returns the variable, made if it is not there; NULL: out of memory. */
struct shell_variable *shell_variable_of(struct shell *shell, const char *name, size_t length);

/* Sets a variable unless it is given; `adds`: to what it holds. */
bool shell_assign(struct shell_run *run, const char *name, size_t length, const struct shell_words *values,
                  bool is_array, bool adds);

/* Returns the number of a new or known unknown, -1: out of memory. */
int shell_add_unknown(struct shell_run *run, const char *name, size_t length, const char *text);

bool shell_add_word(struct arena *arena, struct shell_words *words, const char *text, const char *path,
                    int line);

/* Returns "MARK number END". */
const char *shell_mark(struct shell *shell, int unknown);

/* Returns the number in the first mark of a text, or -1. */
int shell_mark_in(const char *text);

/* Returns a text without its marks of lines. */
const char *shell_plain(struct arena *arena, const char *text);

size_t shell_name_length(const char *at, const char *end);

/* Sets ERROR_INPUT with file and line. Returns false. */
bool shell_error(struct shell_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool shell_no_memory(struct shell_run *run);

/* Takes steps of the budget; false: it is spent, and *run has failed. */
bool shell_spend(struct shell_run *run, int64_t steps);

#endif
