/* Options that choose rows of a trace: fields struct rh_list kinds and const char *path of a request. */
#ifndef REHEARSE_API_TRACE_SELECT_H
#define REHEARSE_API_TRACE_SELECT_H

#include "api/option.h"
#include "core/error.h"
#include "trace/store/store.h"

#define OPTIONS_SELECT(request, otherwise)                                                                   \
    OPTION(request, kinds, OPTION_TEXT, "kind", .repeats = true, .argument = "KIND",                         \
           .help = "only calls on this kind of file: file, pipe, socket, device, other (eventfd, "           \
                   "terminal, ...) or all; by default " otherwise),                                          \
        OPTION_SHARED(request, path, OPTION_TEXT, "path")

/* `otherwise`: the kinds where a caller asks for none, and for no path; 0: all. */
bool select_read(const struct rh_list *kinds, const char *path, unsigned otherwise,
                 struct trace_selection *selection, struct error *err);

#endif
