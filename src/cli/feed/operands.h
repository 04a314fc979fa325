/* The words of commands that take a workload; `type` is the command's options struct, with a field struct rh_list words. */
#ifndef REHEARSE_CLI_FEED_OPERANDS_H
#define REHEARSE_CLI_FEED_OPERANDS_H

#define OPERANDS_WORKLOAD(type, count)                                                                       \
    {                                                                                                        \
        .name = "WORKLOAD",                                                                                  \
        .help = "a built-in workload or a YAML file; then overrides, KEY=VALUE or ++workload.KEY=VALUE",     \
        .min = (count), .max = 0, .at = offsetof(struct type, words)                                         \
    }

#endif
