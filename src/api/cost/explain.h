/* Reports of `rehearse cost`: the time of a layer by kernels, counts of operations and bytes, the built-in tables. */
#ifndef REHEARSE_API_COST_EXPLAIN_H
#define REHEARSE_API_COST_EXPLAIN_H

#include "core/json.h"
#include "core/text.h"
#include "cost/count/count.h"
#include "cost/layer.h"

struct cost_explain {
    const char *path;
    const struct layer_cost *layer;
    const struct layer_options *options;
    const struct cost_device *const *devices;
    int device_count;
    bool wide;    /* print all columns */
    bool profile; /* print kernels as a profiler does */
};

/* Prints the memory, then a table per device: equal kernels in one row, by time. */
void cost_explain_print(const struct cost_explain *explain, struct text *out);

/* Writes the same as a map. */
void cost_explain_write(const struct cost_explain *explain, struct json *json);

/* Writes a module's totals and the instructions of its entry computation as a map. */
void cost_counts_write(const struct hlo_module *module, const struct module_count *count, struct json *json);

/* Prints the totals in one line, and the calls and loops that could not be counted. */
void cost_counts_print_header(struct text *out);
void cost_counts_print(const struct hlo_module *module, const struct module_count *count, struct text *out);

/* "rehearse", "xla", …, in the order of enum count_rules, ended by NULL. */
extern const char *const cost_rules[];

/* The built-in tables, for --list. */
void cost_list_print(struct text *out);
void cost_list_write(struct json *json); /* JSON */

#endif
