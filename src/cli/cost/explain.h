/* What `rehearse cost --explain` shows: where the time of a layer goes. */
#ifndef REHEARSE_CLI_COST_EXPLAIN_H
#define REHEARSE_CLI_COST_EXPLAIN_H

#include "core/json.h"
#include "core/text.h"
#include "cost/layer.h"

struct cost_explain {
    const char *path;
    const struct layer_cost *layer;
    const struct layer_options *options;
    const struct cost_device *const *devices;
    int device_count;
};

/* Memory, then a table per device: kernels that are alike in one row, by time. */
void cost_explain_print(const struct cost_explain *explain, struct text *out);

/* The same as a map. */
void cost_explain_write(const struct cost_explain *explain, struct json *json);

#endif
