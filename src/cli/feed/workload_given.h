/* The workload of a command line: `unet3d_h100 ++workload.reader.read_threads=8`, `workload=unet3d_h100`,
 * `--set reader.read_threads=8`. */
#ifndef REHEARSE_CLI_FEED_WORKLOAD_GIVEN_H
#define REHEARSE_CLI_FEED_WORKLOAD_GIVEN_H

#include "cli/option.h"
#include "feed/workload/workload.h"

struct workload_given {
    struct option_list words; /* operands: the workload, and overrides as Hydra writes them */
    struct option_list set;
    const char *const *planned; /* overrides of a plan: all others come after them */
    int planned_count;
    bool strict;
};

#define OPTION_WORKLOAD_SET(type)                                                                            \
    {                                                                                                        \
        .name = "set", .kind = OPTION_TEXT, .repeats = true, .at = offsetof(type, workload.set),             \
        .argument = "KEY=VALUE",                                                                             \
        .help = "a key of the workload, such as reader.read_threads=8; may be repeated"                      \
    }
#define OPTION_WORKLOAD_STRICT(type)                                                                         \
    {                                                                                                        \
        .name = "strict", .kind = OPTION_FLAG, .at = offsetof(type, workload.strict),                        \
        .help = "an unknown key in the workload is an error, not a warning"                                  \
    }
#define OPERANDS_WORKLOAD(type)                                                                              \
    {                                                                                                        \
        .name = "WORKLOAD",                                                                                  \
        .help = "a built-in workload or a YAML file; then overrides, KEY=VALUE or ++workload.KEY=VALUE",     \
        .least = 1, .most = 0, .at = offsetof(type, workload.words)                                          \
    }

/* Is this operand an override, and not the workload's name? */
bool workload_given_is_override(const char *word);

/* Warnings go to stderr, if `warn`. The caller ends the workload with workload_release. */
bool workload_given_open(struct workload *workload, const struct workload_given *given, int64_t ranks,
                         bool warn, struct error *err);

#endif
