/* The words of commands that take a workload; `type` is the command's options struct, with a field struct rh_list words. */
#ifndef REHEARSE_CLI_FEED_OPERANDS_H
#define REHEARSE_CLI_FEED_OPERANDS_H

#include "api/data/workload.h"

#define OPERANDS_WORKLOAD(type, count, words_help)                                                           \
    {                                                                                                        \
        .name = "WORKLOAD", .help = (words_help), .min = (count), .max = 0,                                  \
        .at = offsetof(struct type, words)                                                                   \
    }

#endif
