/* `rehearse launch` runs another command, whose ranks are on the hosts. */
#ifndef REHEARSE_CLI_RUN_LAUNCHED_H
#define REHEARSE_CLI_RUN_LAUNCHED_H

#include "run/launch/launch.h"

/* The hosts on which this command starts its ranks; NULL: it was not called by `rehearse launch`. */
const struct launch *launched_hosts(void);

#endif
