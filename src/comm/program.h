/* Where the files of rehearse are: its program, and the library that another program has loaded. */
#ifndef REHEARSE_COMM_PROGRAM_H
#define REHEARSE_COMM_PROGRAM_H

#include "core/error.h"

#include <limits.h>

/* Finds the program rehearse: this one, or for other callers of the library what REHEARSE_PROGRAM names, that of the
 * library's installation, or the one in PATH. */
bool program_find(char path[PATH_MAX], struct error *err);

#endif
