/* Files for tests that call the library as another program does. */
#ifndef REHEARSE_TESTS_LIBRARY_CALLER_H
#define REHEARSE_TESTS_LIBRARY_CALLER_H

#include <stdlib.h>

/* The path of a file of the project; the texts of all calls live as long as the program. */
const char *caller_file(const char *name);

/* Writes a file into a new folder of the test, and returns its path, which lives likewise. */
const char *caller_write(const char *name, const char *text);

extern const char caller_profile[]; /* three layers on 'gpu', rehearse-profile/1 */

#endif
