/* The workload of a command line: `unet3d_h100 ++workload.reader.read_threads=8`, `workload=unet3d_h100`,
 * `--set reader.read_threads=8`. */
#ifndef REHEARSE_CLI_FEED_WORKLOAD_GIVEN_H
#define REHEARSE_CLI_FEED_WORKLOAD_GIVEN_H

#include "api/option.h"
#include "core/arena.h"
#include "feed/workload/workload.h"

struct workload_given {
    struct rh_list words; /* operands: the workload, and overrides in Hydra's form */
    struct rh_list set;
    bool strict;
};

#define OPTION_WORKLOAD_SET(type)                                                                            \
    {                                                                                                        \
        .name = "set", .kind = OPTION_TEXT, .repeats = true, .at = offsetof(type, workload.set),             \
        .argument = "KEY=VALUE", .help = "set a key of the workload, such as reader.read_threads=8"          \
    }
#define OPTION_WORKLOAD_STRICT(type)                                                                         \
    {                                                                                                        \
        .name = "strict", .kind = OPTION_FLAG, .at = offsetof(type, workload.strict),                        \
        .help = "an unknown key in the workload is an error, not a warning"                                  \
    }
#define OPERANDS_WORKLOAD(type, count)                                                                       \
    {                                                                                                        \
        .name = "WORKLOAD",                                                                                  \
        .help = "a built-in workload or a YAML file; then overrides, KEY=VALUE or ++workload.KEY=VALUE",     \
        .min = (count), .max = 0, .at = offsetof(type, workload.words)                                       \
    }

/* All changes to a workload, for opening it, for the record and for the rules. */
struct workload_overrides {
    const char **items; /* "reader.read_threads=8" */
    int count;
    size_t capacity;
    struct arena arena;
};

bool workload_overrides_add(struct workload_overrides *overrides, struct error *err, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Adds those of words, then those of --set. *name is the workload's. */
bool workload_overrides_of(struct workload_overrides *overrides, const struct workload_given *given,
                           const char **name, struct error *err);
void workload_overrides_release(struct workload_overrides *overrides);

/* workload_open that prints the workload's warnings to stderr if `warn`. */
bool workload_given_open(struct workload *workload, const char *name, const struct workload_options *options,
                         bool warn, struct error *err);

#endif
