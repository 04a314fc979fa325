/* The command that is traced: started, and held back until the trace has begun. */
#ifndef REHEARSE_TRACE_CAPTURE_COMMAND_H
#define REHEARSE_TRACE_CAPTURE_COMMAND_H

#include "core/child.h"
#include "core/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct capture_command {
    pid_t pid;   /* 0: none */
    int gate;    /* closing it lets the command begin */
    int failure; /* where errno comes when there is no such command */
    int status;  /* as waitpid has it, when it has ended */
    bool ended;
};

/* `user`: who runs it; NULL: whoever runs this program. */
bool capture_command_start(struct capture_command *command, char *const *words, const struct child_user *user,
                           struct error *err);

/* Lets it begin; an error when the command cannot be executed. */
bool capture_command_go(struct capture_command *command, const char *name, struct error *err);

/* Has it ended? Does not wait. */
bool capture_command_ended(struct capture_command *command);

/* Ends one that has not begun, and waits for it. */
void capture_command_drop(struct capture_command *command);

/* What a shell would report: the exit status, or 128 and the signal. */
int capture_command_status(const struct capture_command *command);

#endif
