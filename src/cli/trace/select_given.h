/* Options that choose rows of a trace; `type` is the command's options struct, with a field struct
 * select_given selected. */
#ifndef REHEARSE_CLI_TRACE_SELECT_GIVEN_H
#define REHEARSE_CLI_TRACE_SELECT_GIVEN_H

#include "api/option.h"
#include "core/error.h"
#include "trace/store/store.h"

struct select_given {
    struct rh_list kinds;
    const char *path;
};

#define OPTIONS_SELECT(type, otherwise)                                                                      \
    {.name = "kind",                                                                                         \
     .kind = OPTION_TEXT,                                                                                    \
     .repeats = true,                                                                                        \
     .at = offsetof(type, selected) + offsetof(struct select_given, kinds),                                  \
     .argument = "KIND",                                                                                     \
     .help = "only calls on this kind of file: file, pipe, socket, device, other (eventfd, terminal, ...) "  \
             "or all; by default " otherwise},                                                               \
    {                                                                                                        \
        .name = "path", .kind = OPTION_TEXT,                                                                 \
        .at = offsetof(type, selected) + offsetof(struct select_given, path), .argument = "PATTERN",         \
        .help = "only calls and disk requests of files whose path matches, of any kind: '/data/*'"           \
    }

/* `otherwise`: the kinds where the options ask for none, and for no path; 0: all. */
bool select_read(const struct select_given *given, unsigned otherwise, struct trace_selection *selection,
                 struct error *err);

#endif
