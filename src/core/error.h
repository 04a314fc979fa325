/* Errors: what went wrong, where, and which exit code it means.
 *
 * A function that can fail returns bool (or a pointer) and takes `struct error *err` last. The text is set
 * once, where the fault is found, in the user's terms (file, line, path, what was expected and what was
 * found); callers only pass it on. The library never prints and never exits. */
#ifndef REHEARSE_CORE_ERROR_H
#define REHEARSE_CORE_ERROR_H

#include <stdbool.h>

/* The value is the exit code of the command line. */
enum error_kind {
    ERROR_FAILED = 1,     /* the machine's fault: cannot write, out of memory, tool missing */
    ERROR_USAGE = 2,      /* wrong options */
    ERROR_INPUT = 3,      /* a file that is not what it should be */
    ERROR_INFEASIBLE = 4, /* the question is well put and has no answer */
    /* as a shell tells of a command that it was to run */
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

/* Fills *err and returns false, so that `return error_set(err, …)` ends the failing function. Control
 * characters and bytes that are not UTF-8, which come in through input, are shown as \x1b. */
bool error_set(struct error *err, enum error_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);

/* The same for memory that could not be had. */
bool error_memory(struct error *err);
bool error_is_memory(const struct error *err); /* also where the system says so of a call */

/* What an errno of opening, looking at or reading an input means: that it is not what the user said (there is no such file,
 * it is a folder, or forbidden), or that the machine could not. */
enum error_kind error_of_input(int number);

/* The static analyser reads one file at a time: tell it that these never return true. */
#ifdef __clang_analyzer__
#define error_set(...)    ((error_set)(__VA_ARGS__), false)
#define error_memory(err) ((error_memory)(err), false)
#endif

#endif
