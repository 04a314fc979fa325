/* Questions to the library, as lists of options, and their answers. */
#ifndef REHEARSE_TESTS_LAWS_ASK_H
#define REHEARSE_TESTS_LAWS_ASK_H

#include "rehearse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define QUESTION_MAX_OPTIONS 24
#define QUESTION_MAX_VALUE   256

struct question {
    const char *command;
    int count;
    struct {
        const char *name; /* as on the command line, without dashes */
        char value[QUESTION_MAX_VALUE];
    } options[QUESTION_MAX_OPTIONS];
};

/* Sets an option, or replaces its value. NULL: leaves it out. */
void question_set(struct question *question, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *question_value(const struct question *question, const char *name); /* NULL: not given */

struct answer {
    int code;          /* enum rh_code */
    char error[1024];  /* of a code beside RH_DONE */
    rh_handle *handle; /* NULL: none */
    double time;       /* iteration_time; NAN: none */
    double bound;      /* lower_bound; 0: none */
    bool proven;
};

/* Asks with so many threads (0: one). The caller frees the answer. */
struct answer ask(const struct question *question, int threads);
void answer_free(struct answer *answer);

/* Appends the question as a command line. */
void question_print(const struct question *question, FILE *out);

#endif
