#include "support/mixed_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void load(struct mixed_table *table, const char *planner)
{
    static const char *const names[] = {"-plans.csv", "-layers.csv", ".yaml"};
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char paths[3][4096];
    struct error err;
    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/examples/mixed/%s%s", root ? root : ".", planner, names[i]);
    if (!mixed_table_load(table, paths[0], paths[1], paths[2], &err))
        fail_msg("%s", err.text);
}

void mixed_reference_amp(struct mixed_table *table)
{
    load(table, "amp");
}

void mixed_reference_sailor(struct mixed_table *table)
{
    load(table, "sailor");
}
