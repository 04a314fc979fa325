/* All that a command line changes in a workload, for the record and for the rules: words, --set, and options that have a
 * key of their own. */
#ifndef REHEARSE_CLI_FEED_OVERRIDES_H
#define REHEARSE_CLI_FEED_OVERRIDES_H

#include "cli/feed/workload_given.h"

struct feed_overrides {
    char **items; /* "reader.read_threads=8" */
    int count;
    size_t capacity;
};

/* Those of a plan, of words and of --set, in this order. */
bool feed_overrides_init(struct feed_overrides *overrides, const struct workload_given *given,
                         struct error *err);
void feed_overrides_release(struct feed_overrides *overrides);

bool feed_overrides_add(struct feed_overrides *overrides, struct error *err, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
