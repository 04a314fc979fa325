/* One line of a log. Private to src/launch/log. */
#ifndef REHEARSE_LAUNCH_LOG_LINE_H
#define REHEARSE_LAUNCH_LOG_LINE_H

#include "launch/log/log.h"

#define LOG_MAX_LINE 4096 /* bytes of a line about an iteration; longer lines are something else */

struct log_line {
    int number;
    char text[LOG_MAX_LINE]; /* without colours and what launchers put before it; a longer line is cut */
    size_t length;
};

/* The line of an iteration, of one software's kind. */
struct log_found {
    const char *software;
    enum run_measure measure;
    int rank; /* of what one software says in several ways, and of several software: the highest counts */
    double value;
    int64_t number, batch;
    bool skipped; /* it has no time */
};

/* What a log says of its job; one is kept while the lines pass. */
struct log_job {
    struct run_log *log;
    struct text text; /* of the job that is being read */
    int lines;        /* newlines in it */
    int state;        /* 0: none is being read */
    size_t prefix;    /* bytes before the first line of arguments */
    int depth;        /* of brackets */
    bool is_python, in_text, escaped;
    char quote;
    bool has_vocabulary, is_whole;
    enum launch_syntax syntax;
};

#endif
