/* The traced command: started, and held back until the trace has begun. */
#ifndef REHEARSE_TRACE_CAPTURE_COMMAND_H
#define REHEARSE_TRACE_CAPTURE_COMMAND_H

#include "core/child.h"
#include "core/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct capture_command {
    pid_t pid;   /* 0: none */
    int gate;    /* closing it lets the command begin */
    int failure; /* delivers errno if the command cannot be executed */
    int status;  /* waitpid's status after the end */
    bool ended;
};

/* Starts the command, held back. `user` runs it; NULL: the current user. */
bool capture_command_start(struct capture_command *command, char *const *words, const struct child_user *user,
                           struct error *err);

/* Releases it; fails if the command cannot be executed. */
bool capture_command_go(struct capture_command *command, const char *name, struct error *err);

/* Kills a command that was not released, and waits for it. */
void capture_command_drop(struct capture_command *command);

/* Returns the exit status as a shell does: or 128 + the signal. */
int capture_command_status(const struct capture_command *command);

#endif
