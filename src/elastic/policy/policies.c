#include "elastic/policy/policies.h"

#include <math.h>
#include <string.h>

static const struct elastic_policy *const policies[] = {
    &policy_restart, &policy_restart_async, &policy_restart_memory, &policy_spares,  &policy_varuna,
    &policy_bamboo,  &policy_oobleck,       &policy_parcae,         &policy_recycle, &policy_torchft,
};

const struct elastic_policy *const *elastic_policies(int *count)
{
    *count = (int)(sizeof policies / sizeof *policies);
    return policies;
}

const struct elastic_policy *elastic_policy_named(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}
