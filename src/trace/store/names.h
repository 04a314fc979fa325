/* Names and the ids they got: a hash table from bytes to 1, 2, 3, … */
#ifndef REHEARSE_TRACE_STORE_NAMES_H
#define REHEARSE_TRACE_STORE_NAMES_H

#include "core/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_name {
    uint64_t hash;
    const char *bytes;
    uint32_t length, id; /* id 0: the place is free */
};

/* Set to zero it is ready for use. */
struct trace_names {
    struct arena arena;
    struct trace_name *places;
    size_t capacity; /* a power of two, or 0 */
    uint32_t count;
};

void trace_names_release(struct trace_names *names);

/* The id of these bytes; *added when they are new. 0 when there is no memory for them. */
uint32_t trace_names_id(struct trace_names *names, const void *bytes, size_t length, bool *added);

#endif
