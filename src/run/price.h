/* Private to run. */
#ifndef REHEARSE_RUN_PRICE_H
#define REHEARSE_RUN_PRICE_H

#include "run/run.h"
#include "sim/tasks.h"

/* Makes the simulated system, whose transfers take the time of the link. Changed parts are in the arena. */
bool run_price_link(const struct engine_system *system, const struct run_link *link, struct arena *arena,
                    struct engine_system *priced, struct error *err);

/* Makes the system that is played: where only the hosts' network counts, transfers take no seconds of their own. */
bool run_free_link(const struct engine_system *system, const struct run_link *link, struct arena *arena,
                   struct engine_system *played, struct error *err);

#endif
