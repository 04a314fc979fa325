/* What `rehearse launch --node` is: the node of a host, which starts ranks there and obeys the launcher until it ends. */
#ifndef REHEARSE_API_RUN_NODE_H
#define REHEARSE_API_RUN_NODE_H

#include "core/error.h"

bool api_be_node(struct error *err);

#endif
