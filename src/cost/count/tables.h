/* The built-in tables that HLO is counted with: cycles of operations, and what custom calls do. */
#ifndef REHEARSE_COST_COUNT_TABLES_H
#define REHEARSE_COST_COUNT_TABLES_H

#include "cost/count/count.h"
#include "cost/count/custom_calls.h"

/* Reads them, unless they are read; as cost_tables() (cost/tables.h), for op_cycles_find and custom_call_find. */
bool count_tables(struct error *err);
void count_tables_needed(void);

/* Each by its own file, for count_tables(). */
bool op_cycles_read(struct error *err);
bool custom_calls_read(struct error *err);

#endif
