/* Options that choose rows of a trace: fields struct rh_list kinds and const char *path of a request. */
#ifndef REHEARSE_API_TRACE_SELECT_H
#define REHEARSE_API_TRACE_SELECT_H

#include "api/option.h"
#include "core/error.h"
#include "trace/store/store.h"

/* `otherwise`: the kinds where a caller asks for none, and for no path; 0: all. */
bool select_read(const struct rh_list *kinds, const char *path, unsigned otherwise,
                 struct trace_selection *selection, struct error *err);

#endif
