/* Whole numbers as an option takes them:
 *
 *     64              one
 *     32..4096        32, doubled until 4096, which is the last in any case
 *     32..4096+64     32, 96, 160 … 4096, likewise
 *     8,16,48..96+16  several of these
 *     16k             16384, see core/unit.h
 *
 * They come out ascending, each once. */
#ifndef REHEARSE_API_PLAN_RANGE_H
#define REHEARSE_API_PLAN_RANGE_H

#include "core/error.h"
#include "core/unit/dimension.h"

#include <stdbool.h>
#include <stdint.h>

#define RANGE_MAX_VALUES 4096

struct range {
    int64_t *values; /* malloc'ed */
    int count;       /* at least 1 after range_parse */
};

/* The message begins with the option: "--devices: expected …". All values are in [least, most], 1 <= least. On failure
 * *range holds nothing; on success the caller ends it with range_release. */
bool range_parse(const char *option, const char *text, enum dimension dimension, int64_t min, int64_t max,
                 struct range *range, struct error *err);
void range_release(struct range *range);

#endif
