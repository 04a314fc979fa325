/* Plays a policy over a trace of losses and returns: where the time of a year goes, in closed form from
 * change to change.
 *
 * Between two changes the job first stops (detection, restart), then trains at one speed with a save after
 * each `interval` seconds of training; the number of saves and the work at the last one follow from a
 * division. So a run takes time proportional to its changes, however many iterations and saves it has.
 *
 * Check: tests/elastic/policy_play_test.c plays random cases a second time, second by second. */
#ifndef REHEARSE_ELASTIC_POLICY_PLAY_H
#define REHEARSE_ELASTIC_POLICY_PLAY_H

#include "elastic/failures.h"
#include "elastic/policy/policy.h"
#include "elastic/policy/state.h"

/* Called for every interval of a run, in order of time: from `from` to `to` the job is in one state. `cause` is
 * ELASTIC_TRAINED for training at `speed` (saves included), or the cause of a stop, with speed 0. */
struct elastic_watch {
    void *context;
    void (*piece)(void *context, double from, double to, double speed, enum elastic_cause cause);
};

/* Plays a policy over a trace whose nodes are those of setup->rates. `state` is memory made for as many
 * nodes; watch may be NULL. The same input gives the same result. */
void elastic_play(const struct elastic_policy *policy, const struct policy_setup *setup,
                  const struct failure_trace *trace, struct policy_state *state,
                  const struct elastic_watch *watch, struct elastic_result *result);

/* Sets ERROR_INPUT for costs that are negative, not finite, or of no use. */
bool elastic_setup_check(const struct policy_setup *setup, struct error *err);

#endif
