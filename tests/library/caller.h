/* Files for tests that call the library as another program does. */
#ifndef REHEARSE_TESTS_LIBRARY_CALLER_H
#define REHEARSE_TESTS_LIBRARY_CALLER_H

#include "rehearse.h"

#include <stdlib.h>

/* The path of a file of the project; the texts of all calls live as long as the program. */
const char *caller_file(const char *name);

/* Writes a file into a new folder of the test, and returns its path, which lives likewise. */
const char *caller_write(const char *name, const char *text);

/* An element of a list. A list that is not there, or not that long, ends the test. */
double caller_value(const rh_handle *handle, const char *name, int64_t index);
const char *caller_word(const rh_handle *handle, const char *name, int64_t index);

/* Ends the test unless the handle has both texts, and its JSON holds `format`. */
void caller_check_forms(const rh_handle *handle, const char *format);

extern const char caller_schedules[]; /* two measured runs of schedules, CSV */
extern const char caller_layer[];     /* a product, StableHLO */
extern const char caller_profile[];   /* three layers on 'gpu', rehearse-profile/1 */

#endif
