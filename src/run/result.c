/* The result of a run as bytes: its numbers, then the ends of iterations, then its texts. */
#include "run/run.h"

#include <string.h>

void run_result_pack(const struct run_result *result, struct text *out)
{
    const char *const texts[] = {result->model, result->schedule, result->computed};
    struct run_result bare = *result; /* no address means anything in another process */
    memset(&bare.arena, 0, sizeof bare.arena);
    bare.model = bare.schedule = bare.computed = NULL;
    bare.ends[0] = bare.ends[1] = NULL;
    text_add_bytes(out, (const char *)&bare, sizeof bare);
    for (int i = 0; i < 2; i++)
        text_add_bytes(out, (const char *)result->ends[i],
                       (size_t)result->iterations * sizeof *result->ends[i]);
    for (int i = 0; i < 3; i++) { /* none is an empty one */
        text_add(out, texts[i] ? texts[i] : "");
        text_add_bytes(out, "", 1);
    }
}

static bool take_text(const char **text, struct arena *arena, const char **at, const char *end,
                      struct error *err)
{
    const char *nul = memchr(*at, 0, (size_t)(end - *at));
    if (!nul)
        return false;
    if (nul > *at && !(*text = arena_string(arena, *at)))
        return error_memory(err);
    *at = nul + 1;
    return true;
}

static bool unpack(struct run_result *result, const char *at, const char *end, struct error *err)
{
    struct arena own = {0};
    error_set(err, ERROR_FAILED, "the results of rank 0 are incomplete");
    if ((size_t)(end - at) < sizeof *result)
        return false;
    memcpy(result, at, sizeof *result);
    at += sizeof *result;
    result->arena = own;
    if (result->iterations < 0 || (size_t)(end - at) / 2 / sizeof(double) < (size_t)result->iterations)
        return false;
    for (int i = 0; i < 2; i++) {
        size_t size = (size_t)result->iterations * sizeof(double);
        result->ends[i] = ARENA_ARRAY(&result->arena, (size_t)result->iterations + 1, double);
        if (!result->ends[i])
            return error_memory(err);
        memcpy(result->ends[i], at, size);
        at += size;
    }
    return take_text(&result->model, &result->arena, &at, end, err) &&
           take_text(&result->schedule, &result->arena, &at, end, err) &&
           take_text(&result->computed, &result->arena, &at, end, err);
}

bool run_result_unpack(struct run_result *result, const void *bytes, size_t length, struct error *err)
{
    *result = (struct run_result){.ranks = 0};
    if (unpack(result, bytes, (const char *)bytes + length, err))
        return true;
    run_result_release(result);
    return false;
}
