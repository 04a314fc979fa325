/* Recorded runs for tests of the library. */
#ifndef REHEARSE_TESTS_LIBRARY_RECORDS_H
#define REHEARSE_TESTS_LIBRARY_RECORDS_H

#include "rehearse.h"

/* Makes a trace of 50 reads and a write, of which each took `microseconds`, and returns its path, which lives as long as the
 * program. NULL: the library is without traces. */
const char *records_trace(const char *name, int microseconds);

/* The log of three steps of 8 GPUs, with a batch of 4: its path, likewise. */
const char *records_log(void);

/* A file or folder of the test's own, which is not there yet. */
const char *records_path(const char *name);

#endif
