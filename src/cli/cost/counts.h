/* What `rehearse cost` prints of a module's counts. */
#ifndef REHEARSE_CLI_COST_COUNTS_H
#define REHEARSE_CLI_COST_COUNTS_H

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "cost/count/count.h"

/* Totals and the entry computation's instructions, into a map that is open. */
void cost_counts_write(const struct hlo_module *module, const struct module_count *count, struct json *json);

/* The totals in one line for people, and what could not be counted. */
void cost_counts_print_header(struct text *out);
void cost_counts_print(const struct hlo_module *module, const struct module_count *count, struct text *out);

/* "rehearse", "xla", …, in the order of enum count_rules, ended by NULL. */
extern const char *const cost_rules[];

#endif
