/* Errors: cause, place and exit code.
 *
 * A function that can fail returns bool (or a pointer) and takes `struct error *err` last. The text is set
 * once, at the fault, in the user's terms (file, line, path, expected and found value); callers only pass it
 * on. The library never prints and never exits. */
#ifndef REHEARSE_CORE_ERROR_H
#define REHEARSE_CORE_ERROR_H

#include <stdbool.h>

/* The value is the exit code of the command line. */
enum error_kind {
    ERROR_FAILED = 1,     /* the machine's fault: cannot write, out of memory, tool missing */
    ERROR_USAGE = 2,      /* wrong options */
    ERROR_INPUT = 3,      /* a wrong input file */
    ERROR_INFEASIBLE = 4, /* a valid question without an answer */
    ERROR_STOPPED = 5,    /* the caller asked to end; only callers of the library can */
    /* a shell's exit codes for a command that it could not run */
    ERROR_NOT_RUN = 126,
    ERROR_NOT_THERE = 127,
};

struct error {
    enum error_kind kind;
    char text[1024];
};

#if defined(__GNUC__)
#define PRINTF_LIKE(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define PRINTF_LIKE(format_at, args_at)
#endif

/* Fills *err and returns false, for `return error_set(err, …)`. Control characters and bytes of inputs that
 * are not UTF-8 are shown as \x1b. */
bool error_set(struct error *err, enum error_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);

/* The same for memory that could not be allocated. */
bool error_memory(struct error *err);
bool error_is_memory(const struct error *err); /* also if a system call reported it */

/* Returns the kind of an errno from opening or reading an input: ERROR_INPUT for the user's fault (no such
 * file, a folder, forbidden), else the machine's. */
enum error_kind error_of_input(int number);

/* The static analyser reads one file at a time: tell it that these never return true. */
#ifdef __clang_analyzer__
#define error_set(...)    ((error_set)(__VA_ARGS__), false)
#define error_memory(err) ((error_memory)(err), false)
#endif

/* As error_set and error_memory, where a pointer is returned. */
#define error_null(...)        ((error_set)(__VA_ARGS__), NULL)
#define error_memory_null(err) ((error_memory)(err), NULL)

#endif
