/* Policies played a second time, second by second, with lists that are searched: the slow twin of elastic/policy/play.h.
 * All times and costs must be whole seconds. */
#ifndef REHEARSE_TESTS_POLICY_TWIN_H
#define REHEARSE_TESTS_POLICY_TWIN_H

#include "elastic/failures.h"
#include "elastic/policy/policy.h"

#define POLICY_TWIN_MAX_NODES 48

/* Fills in result->seconds and result->losses. The name is that of the policy. */
void policy_twin_play(const char *policy, const struct policy_setup *setup, const struct failure_trace *trace,
                      struct elastic_result *result);

#endif
