/* Events of Chrome's JSON by the names of their processes and threads (tracks.h). Private to the reader of Kineto's JSON. */
#ifndef REHEARSE_SIM_REPLAY_TRACKED_H
#define REHEARSE_SIM_REPLAY_TRACKED_H

#include "sim/replay/kineto_event.h"

/* Is this the category of an operation of PyTorch on a host, in any version? */
bool kineto_is_operation(const char *category);

/* Take the present event: metadata that names a process or thread; and a span, by these names. */
bool kineto_name(struct kineto *kineto, struct error *err);
bool kineto_tracked(struct kineto *kineto, const char *phase, struct error *err);

#endif
