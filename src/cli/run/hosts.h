/* `rehearse launch` runs another command, whose ranks are on its hosts. */
#ifndef REHEARSE_CLI_RUN_HOSTS_H
#define REHEARSE_CLI_RUN_HOSTS_H

#include "rehearse.h"

/* Sets the hosts of the request to those of the launch that this command is of, if it is of one. */
void hosts_of_launch(struct rh_play_request *request);

#endif
