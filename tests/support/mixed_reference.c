#include "support/mixed_reference.h"

#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static bool load_reference(struct mixed_table *table, const char *plans, const char *layers, const char *file)
{
    char *plans_path = reference_path(plans), *layers_path = plans_path ? reference_path(layers) : NULL;
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[4096];
    struct error err = {0};
    bool present = layers_path != NULL, loaded = false;
    snprintf(path, sizeof path, "%s/examples/mixed/%s", root ? root : ".", file);
    if (present)
        loaded = mixed_table_load(table, plans_path, layers_path, path, &err);
    free(plans_path);
    free(layers_path);
    if (present && !loaded)
        fail_msg("%s", err.text);
    return present;
}

bool mixed_reference_amp(struct mixed_table *table)
{
    return load_reference(table, "training/amp_predicted_vs_real.csv", "training/amp_layer_cost.csv",
                          "amp.yaml");
}

bool mixed_reference_sailor(struct mixed_table *table)
{
    return load_reference(table, "training/sailor_measured_plans.csv", "training/sailor_layer_profiles.csv",
                          "sailor.yaml");
}
