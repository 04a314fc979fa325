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

/* detect + restart + load is the 5 minutes u0 that arXiv 2410.21680 takes for a restart. The others are
 * assumptions to be replaced by measurements: seconds of new communicators and of copying a stage's state
 * over the network. */
void elastic_costs_init(struct elastic_costs *costs)
{
    *costs = (struct elastic_costs){.detect = 30,
                                    .restart = 210,
                                    .load = 60,
                                    .swap = 60,
                                    .reconfigure = 30,
                                    .migrate = 20,
                                    .reroute = 10,
                                    .notice = 0,
                                    .save_block = 30,
                                    .copy_block = 2,
                                    .save_write = 120,
                                    .interval = INFINITY};
}
