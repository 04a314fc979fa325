#include "cost/count/fused_attention.h"

#include <stdlib.h>
#include <string.h>

#define SCORES 4 /* dimensions of the scores: sequences, heads, queries, keys */

/* Reads the numbers of `"dimensions":["4","16","1024","1024"]`. */
static bool read_dimensions(const char *at, int64_t dims[SCORES])
{
    at = strchr(at, '[');
    for (int i = 0; at && i < SCORES; i++) {
        at += strcspn(at, "0123456789]");
        char *end;
        dims[i] = strtoll(at, &end, 10);
        if (end == at || dims[i] < 1 || dims[i] > INT32_MAX)
            return false;
        at = end;
    }
    if (!at)
        return false;
    at += strspn(at, "\\\" ");
    return *at == ']' && dims[0] * dims[1] <= INT32_MAX;
}

static bool has_causal_mask(const char *config)
{
    const char *mask = strstr(config, "mask_type");
    if (!mask)
        return false;
    mask += strlen("mask_type");
    mask += strspn(mask, "\\\": ");
    return strncmp(mask, "CAUSAL", 6) == 0 || strncmp(mask, "PADDING_CAUSAL", 14) == 0;
}

bool fused_attention_read(const struct hlo_instruction *call, struct fused_attention *attention)
{
    const char *config = call->attributes->backend_config;
    const char *scores = config ? strstr(config, "intermediate_tensor_shape") : NULL;
    const char *dimensions = scores ? strstr(scores, "dimensions") : NULL;
    int64_t dims[SCORES];
    if (!dimensions || !read_dimensions(dimensions, dims) || !call->operand_count ||
        call->operands[0]->shape->rank != SCORES)
        return false;
    *attention = (struct fused_attention){
        .batch = dims[0] * dims[1],
        .queries = dims[2],
        .keys = dims[3],
        .width = call->operands[0]->shape->dims[SCORES - 1],
        .causal = has_causal_mask(config),
    };
    return attention->width > 0;
}
