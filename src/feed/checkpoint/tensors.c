#include "feed/checkpoint/tensors.h"

#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

bool checkpoint_tensors_add(struct checkpoint_tensors *tensors, const char *path,
                            struct checkpoint_tensor tensor, struct error *err)
{
    tensor.bytes = workload_datatype_bytes(tensor.type);
    for (int i = 0; i < tensor.dims; i++)
        if (__builtin_mul_overflow(tensor.bytes, tensor.shape[i], &tensor.bytes))
            return error_set(err, ERROR_INPUT, "%s: tensor '%s' has more than 2^63 bytes", path, tensor.name);
    if (tensors->count == CHECKPOINT_MAX_TENSORS)
        return error_set(err, ERROR_INPUT, "%s: more than %d tensors", path, CHECKPOINT_MAX_TENSORS);
    tensor.name = arena_string(&tensors->arena, tensor.name);
    return (tensor.name && VECTOR_ADD(tensors->items, tensors->count, tensors->capacity, tensor)) ||
           error_memory(err);
}

void checkpoint_tensors_release(struct checkpoint_tensors *tensors)
{
    arena_release(&tensors->arena);
    free(tensors->items);
    *tensors = (struct checkpoint_tensors){0};
}

static int by_name(const void *a, const void *b)
{
    const struct checkpoint_tensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

void checkpoint_tensors_sort(struct checkpoint_tensors *tensors)
{
    if (tensors->count > 0)
        qsort(tensors->items, tensors->count, sizeof *tensors->items, by_name);
}

bool checkpoint_tensors_check(const struct checkpoint_tensors *found,
                              const struct checkpoint_tensors *expected, const char *path, struct error *err)
{
    for (size_t i = 0; i < found->count || i < expected->count; i++) {
        const struct checkpoint_tensor *x = i < found->count ? &found->items[i] : NULL;
        const struct checkpoint_tensor *y = i < expected->count ? &expected->items[i] : NULL;
        bool same = x && y && strcmp(x->name, y->name) == 0;
        if (!same || x->type != y->type || x->dims != y->dims ||
            memcmp(x->shape, y->shape, sizeof x->shape) != 0)
            return error_set(
                err, ERROR_INPUT,
                "%s: tensor %zu is '%s', expected '%s'%s: a checkpoint of another model: restore it "
                "with the workload that saved it",
                path, i + 1, x ? x->name : "", y ? y->name : "", same ? " of another shape or type" : "");
    }
    return true;
}
