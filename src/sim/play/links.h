/* What links of a system carry: for people, and for the result. Private to sim/play. */
#ifndef REHEARSE_SIM_PLAY_LINKS_H
#define REHEARSE_SIM_PLAY_LINKS_H

#include "sim/play/system.h"

#define LINKS_KEPT 16 /* of a result */

/* Names the system's links, and gives each a device that uses it. */
bool play_links_name(struct play_system *system, struct error *err);

/* Adds the links that carried most to the result. */
bool play_links_keep(const struct play_system *system, const struct engine_result *played,
                     struct sim_result *result, struct error *err);

#endif
