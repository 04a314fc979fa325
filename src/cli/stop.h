/* Ctrl-C, and a polite kill: the command is asked to end, and ends in order. A second time it is killed. */
#ifndef REHEARSE_CLI_STOP_H
#define REHEARSE_CLI_STOP_H

#include <stdatomic.h>

/* From now on a signal that ends the program takes its temporary files with it. */
void clean_on_signals(void);

/* Returns a flag that SIGINT and SIGTERM set from now on. */
const atomic_bool *stop_on_signals(void);

#endif
