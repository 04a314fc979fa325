/* The output of 'rehearse compare'. */
#ifndef REHEARSE_API_TRACE_COMPARE_REPORT_H
#define REHEARSE_API_TRACE_COMPARE_REPORT_H

#include "core/json.h"
#include "trace/similarity/similarity.h"

/* Two traces compared. */
struct comparison {
    const struct similarity_trace *a, *b;
    const struct similarity_options *options;
    const struct similarity *result;
    bool floor; /* against a baseline */
};

void comparison_print(const struct comparison *comparison, struct text *out);
void comparison_write_json(const struct comparison *comparison,
                           struct json *json); /* rehearse-comparison/1 */

/* All pairs of some traces. */
struct comparison_matrix {
    size_t count; /* of traces */
    const struct similarity_trace *traces;
    char *const *labels;
    const struct similarity_options *options;
    const struct similarity *pairs; /* (0, 1), (0, 2), …, (1, 2), … */
};

void comparison_print_matrix(const struct comparison_matrix *matrix, struct text *out);
void comparison_write_matrix_json(const struct comparison_matrix *matrix,
                                  struct json *json); /* rehearse-comparison-matrix/1 */

#endif
