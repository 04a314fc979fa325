#include "api/trace/select.h"

#include <string.h>

#define ALL ((1u << TRACE_KINDS) - 1)

/* Returns 0 for an unknown kind. */
static unsigned kinds_of(const char *word)
{
    unsigned kinds = strcmp(word, "all") == 0 ? ALL : 0;
    for (int i = 0; i < TRACE_KINDS; i++)
        kinds |= strcmp(word, trace_kind_name((enum trace_kind)i)) == 0 ? 1u << i : 0;
    return kinds;
}

bool select_read(const struct rh_list *given, const char *path, unsigned otherwise,
                 struct trace_selection *selection, struct error *err)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < given->count; i++) {
        unsigned more = kinds_of(given->items[i]);
        if (!more)
            return error_set(err, ERROR_USAGE,
                             "--kind: expected file, pipe, socket, device, other or all, found '%s'",
                             given->items[i]);
        kinds |= more;
    }
    if (!kinds)
        kinds = path ? ALL : otherwise;
    *selection = (struct trace_selection){.kinds = kinds, .path = path};
    return true;
}
