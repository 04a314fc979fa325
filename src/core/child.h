/* Child programs start with the signals, limits and open files that this program was started with. */
#ifndef REHEARSE_CORE_CHILD_H
#define REHEARSE_CORE_CHILD_H

#include "core/error.h"

#include <sys/types.h>

/* Call first in main: saves the state to restore. SIGCHLD, if it is ignored, is so no more. Closed standard files are
 * replaced by ones that can be neither read nor written, so that no file opened later takes their place and is printed
 * into. */
void child_note_start(void);

/* Returns whether main has called that: this process is rehearse's own program. */
bool child_start_is_noted(void);

/* The user that runs a program: everything needed before the fork, as little may be done after it. */
struct child_user {
    uid_t user;
    gid_t group;
    gid_t *groups; /* `count` entries */
    int count;
    char **environment; /* this program's, with HOME, USER, LOGNAME and SHELL of the user; ends with NULL */
};

/* Finds a user by name or number. Fails if there is none, or if this program may not become that user. */
bool child_user_find(struct child_user *user, const char *name, struct error *err);
void child_user_release(struct child_user *user);

/* As fork(), with the child in this program's initial state: handlers and masks are restored before a signal
 * can reach it, limits too, and files that this program has opened are closed on exec. */
pid_t child_fork(void);

/* In the child: becomes the user (NULL: no change) and executes the program found in PATH. Returns errno on
 * failure. */
int child_execute(char *const *words, const struct child_user *user);

/* Forks and executes with standard input, output and error from these files, and waits; a caller who wishes an end
 * (core/stop.h) has it killed. True: *status is waitpid's. False: errno says why the program could not be run. */
bool child_run(char *const *words, const int files[static 3], int *status);

/* Returns the signal with which processes of this program that are the children of another one end: SIGTERM, at which
 * they leave nothing half-written, or SIGKILL where they would not hear it. */
int child_signal_of_end(void);

#endif
