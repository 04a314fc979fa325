/* Programs that this one starts find the world as this one found it: signals, limits and open files are what they were
 * when it was started itself, whatever it has changed for its own use. */
#ifndef REHEARSE_CORE_CHILD_H
#define REHEARSE_CORE_CHILD_H

#include "core/error.h"

#include <sys/types.h>

/* First thing in main: keeps what will be given back. Standard files that are closed are held by ones that cannot be read
 * or written, so that no file that is opened later takes their place and is printed into. */
void child_note_start(void);

/* Who is to run a program: everything that must be known before the fork, since little may be done after it. */
struct child_user {
    uid_t user;
    gid_t group;
    gid_t *groups; /* `count` of them */
    int count;
    char **environment; /* ended by NULL: this program's, with HOME, USER, LOGNAME and SHELL of the user */
};

/* Finds a user by name or number; an error where there is none, or where this program may not become that user. */
bool child_user_find(struct child_user *user, const char *name, struct error *err);
void child_user_release(struct child_user *user);

/* fork(), in which the child is as this program was started: handlers and masks are back before a signal can find it, its
 * limits are, and files that this program has opened are closed when it executes. */
pid_t child_fork(void);

/* In the child: becomes the user (NULL: stays who it is) and executes what is found in PATH. Returns errno when it fails. */
int child_execute(char *const *words, const struct child_user *user);

/* fork and execute with standard input, output and error from these files, and wait. True: *status is as waitpid has it.
 * False: errno is why the program could not be run. */
bool child_run(char *const *words, const int files[static 3], int *status);

#endif
