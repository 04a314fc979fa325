/* What a comparison says of kernels of GPUs, beside similarities: their time by class and by name. */
#ifndef REHEARSE_API_TRACE_COMPARE_KERNELS_H
#define REHEARSE_API_TRACE_COMPARE_KERNELS_H

#include "core/json.h"
#include "trace/similarity/similarity.h"

/* Append tables, or lists of a document; nothing where neither trace has kernels. */
void compare_print_kernels(const struct similarity_trace *a, const struct similarity_trace *b,
                           struct text *out);
void compare_add_kernels(const struct similarity_trace *a, const struct similarity_trace *b,
                         struct json *json);

#endif
