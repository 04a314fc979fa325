/* The processes that the launcher starts: `rehearse launch --node` on each host, which starts ranks there and obeys the launcher until it
 * ends, and these ranks. */
#ifndef REHEARSE_API_RUN_NODE_H
#define REHEARSE_API_RUN_NODE_H

#include "core/error.h"

bool api_be_node(struct error *err);

/* Returns whether this process is a rank that a node has started: it ends on request and prints nothing. */
bool api_is_rank(void);

#endif
