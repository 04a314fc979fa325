/* Memory that is refused: malloc and its kin are the test program's, in the library, too. */
#ifndef REHEARSE_TESTS_LIBRARY_REFUSE_H
#define REHEARSE_TESTS_LIBRARY_REFUSE_H

#include "rehearse.h"

#include <stdbool.h>

/* Returns whether the call has done what it should. */
typedef bool attempt(const void *context, struct rh_error *error);

/* Repeats a call, and the first, the second, … allocation fails, until none does. The call either fails with a message, or
 * ends as it does otherwise. A search of many thousand allocations is tried at some of them; the step is odd, so that all
 * kinds have their turn. */
void refuse_each(attempt *run_it, const void *context, long step);

/* The same for a command by its name, done by one thread. */
void refuse_command(const char *command, const void *request, long step);

/* Likewise the first call of a process, which reads tables: each try is a process of its own, and only large allocations are
 * refused, as those of tables are. Comes before all other calls. */
void refuse_first(const char *command, const void *request);

#endif
