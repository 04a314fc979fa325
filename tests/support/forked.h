/* Ranks that are processes of a test: forked, and connected by sockets. */
#ifndef REHEARSE_TESTS_SUPPORT_FORKED_H
#define REHEARSE_TESTS_SUPPORT_FORKED_H

#include "run/wire.h"

/* Calls `be` in so many processes, each with its wire, on which a rank is lost after so many seconds of silence, and which ends with what it returns. Returns the first status that is not 0. */
int forked_run(int count, double silence, int (*be)(struct wire *wire, void *context), void *context);

#endif
