/* Ctrl-C, and a polite kill: the command is asked to end, and ends in order. A second time it is killed. */
#ifndef REHEARSE_CLI_STOP_H
#define REHEARSE_CLI_STOP_H

#include "core/error.h"
#include "rehearse.h"

/* From now on a signal that ends the program takes its temporary files with it. */
void clean_on_signals(void);

/* Returns what SIGINT, SIGTERM and SIGHUP request from now on: a call that has it ends in order. It lives as long as
 * the program. NULL: out of memory. */
rh_stop *stop_on_signals(struct error *err);

/* Ends the program by the signal that has stopped it; nothing happens where none has. */
void stop_die(void);

#endif
