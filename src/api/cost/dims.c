#include "api/cost/dims.h"

#include <stdlib.h>
#include <string.h>

bool cost_dims_read(struct hlo_dims *dims, const struct rh_list *list, struct error *err)
{
    *dims = (struct hlo_dims){.at = calloc(list->count + 1, sizeof *dims->at)};
    if (!dims->at)
        return error_memory(err);
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->items[i], *equals = strchr(item, '=');
        char *end;
        struct hlo_dim *dim = &dims->at[dims->count++];
        dim->name = item;
        if (!equals || equals == item || !unit_whole(equals + 1, &end, &dim->size) || *end || dim->size < 0 ||
            dim->size > HLO_MAX_ELEMENTS)
            return error_set(
                err, ERROR_USAGE,
                "--dim: expected a name and a size such as b=8, or an argument and its dimension "
                "such as 2.0=8; found '%s'",
                item);
        dim->length = (size_t)(equals - item);
        for (size_t k = 0; k < i; k++)
            if (dim->length == dims->at[k].length && memcmp(dim->name, dims->at[k].name, dim->length) == 0)
                return error_set(err, ERROR_USAGE, "--dim: '%.*s' is given twice", (int)dim->length, item);
    }
    return true;
}

void cost_dims_release(struct hlo_dims *dims)
{
    free(dims->at);
    *dims = (struct hlo_dims){0};
}

bool cost_dims_check(const struct hlo_dims *dims, struct error *err)
{
    for (size_t i = 0; i < dims->count; i++)
        if (!atomic_load(&dims->at[i].used))
            return error_set(err, ERROR_USAGE, "--dim: no file has a dynamic size '%.*s'",
                             (int)dims->at[i].length, dims->at[i].name);
    return true;
}
