/* What the launcher starts: `rehearse launch --node`, the node of a host, which starts ranks there and obeys the launcher until it ends, and these ranks. */
#ifndef REHEARSE_API_RUN_NODE_H
#define REHEARSE_API_RUN_NODE_H

#include "core/error.h"

bool api_be_node(struct error *err);

/* Returns whether this process is a rank that a node has started: it ends when it is told to, and says nothing. */
bool api_is_rank(void);

#endif
