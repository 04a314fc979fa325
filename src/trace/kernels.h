/* What kernels do, by their names: data/kernel-classes.yaml, and files of users in its form. A caller looks a name up once,
 * whatever the number of its activities. */
#ifndef REHEARSE_TRACE_KERNELS_H
#define REHEARSE_TRACE_KERNELS_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernel_class {
    CLASS_UNKNOWN, /* no rule knows the name: counts as computation */
    CLASS_MATMUL,
    CLASS_CONVOLUTION,
    CLASS_ATTENTION,
    CLASS_RECURRENCE,
    CLASS_NORM,
    CLASS_SOFTMAX,
    CLASS_LOSS,
    CLASS_EMBEDDING,
    CLASS_ROUTING, /* of tokens to experts */
    CLASS_OPTIMIZER,
    CLASS_QUANTIZATION,
    CLASS_ELEMENTWISE,
    CLASS_REDUCTION,
    CLASS_SORT,
    CLASS_INDEX,
    CLASS_LAYOUT, /* transposes, concatenations, copies by kernels */
    CLASS_RANDOM,
    CLASS_PASS, /* a whole pass of a stage, in traces of plans */
    CLASS_OTHER,
    CLASS_ALL_REDUCE, /* the first one that is communication */
    CLASS_REDUCE_SCATTER,
    CLASS_ALL_GATHER,
    CLASS_ALL_TO_ALL,
    CLASS_BROADCAST,
    CLASS_REDUCE,
    CLASS_SEND_RECV,
    CLASS_BARRIER,
    CLASS_EXCHANGE, /* the name does not tell which one */
    CLASS_COPY,     /* the first one that is memory */
    CLASS_FILL,
    KERNEL_CLASSES
};

extern const char *const kernel_class_names[KERNEL_CLASSES];

/* Is a class computation, communication or memory? */
enum kernel_group { KERNEL_COMPUTE, KERNEL_COMMUNICATION, KERNEL_MEMORY, KERNEL_GROUPS };
enum kernel_group kernel_class_group(enum kernel_class class);

struct kernel_rule {
    const char *pieces; /* texts between the stars of a pattern, each with its NUL */
    uint32_t piece_count;
    enum kernel_class class;
    const char *library; /* "": the name does not tell */
};

struct kernel_classes {
    struct arena arena;
    struct kernel_rule *rules;
    int count, room;
};

/* Reads a user's file or text; `path` is for messages. On failure *classes holds nothing; on success the caller
 * releases it with kernel_classes_release. */
bool kernel_classes_load(struct kernel_classes *classes, const char *path, struct error *err);
bool kernel_classes_parse(struct kernel_classes *classes, const char *path, const char *data, size_t length,
                          struct error *err);
void kernel_classes_release(struct kernel_classes *classes);

/* Reads the built-in table once; lookups cannot fail afterwards. */
bool kernel_classes_read(struct error *err);

/* Returns the first rule that knows a name: of the user's (NULL: none), else of the built-in ones; else a rule of
 * CLASS_UNKNOWN. The built-in table has been read by kernel_classes_read, or else is read now. */
const struct kernel_rule *kernel_class_of(const struct kernel_classes *added, const char *name);

#endif
