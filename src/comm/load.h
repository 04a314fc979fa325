/* Modules: shared libraries of rehearse that are loaded when they are needed, so that the program runs without the
 * software that they are linked with. */
#ifndef REHEARSE_COMM_LOAD_H
#define REHEARSE_COMM_LOAD_H

#include "core/error.h"

#include <limits.h>
#include <stddef.h>

struct module_place {
    const char *file;     /* "rehearse-mpi.so" */
    const char *variable; /* of the environment, which may name another file */
    const char *from_bin; /* where it is installed, from the program's folder */
    int flags;            /* of dlopen */
};

/* Loads the file that the variable names; else that beside the program, else the installed one, from the program or
 * from the library that another program has loaded. NULL: *why (at most
 * `size` bytes) says why. */
void *module_load(const struct module_place *place, char *why, size_t size);

/* Where the files of rehearse are: its program, and the library that another program has loaded. */

/* Finds the program rehearse: this one, or for other callers of the library what REHEARSE_PROGRAM names, that of the
 * library's installation, or the one in PATH. */
bool program_find(char path[PATH_MAX], struct error *err);

#endif
