#include "cost/count/tables.h"

#include "cost/count/custom_calls.h"

#include <stdlib.h>

bool count_tables(struct error *err)
{
    return op_cycles_read(err) && custom_calls_read(err);
}

void count_tables_needed(void)
{
    struct error err;
    if (!count_tables(&err))
        abort();
}
