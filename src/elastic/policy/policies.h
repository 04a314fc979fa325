/* The policies, one table each; policies.c lists them. */
#ifndef REHEARSE_ELASTIC_POLICY_POLICIES_H
#define REHEARSE_ELASTIC_POLICY_POLICIES_H

#include "elastic/policy/policy.h"

extern const struct elastic_policy policy_restart, policy_restart_async, policy_restart_memory,
    policy_spares;                                               /* restart.c */
extern const struct elastic_policy policy_varuna, policy_parcae; /* morph.c */
extern const struct elastic_policy policy_oobleck, policy_bamboo, policy_recycle, policy_torchft;

#endif
