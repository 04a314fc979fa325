#include "trace/capture/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs the command in the child. A byte opens the gate, not its closing: another command that another
 * thread starts meanwhile may hold it open. Its closing means that the tracer has ended, and the command
 * does not run. */
static _Noreturn void run(char *const *words, const struct child_user *user, int gate, int failure)
{
    char byte;
    ssize_t got;
    do
        got = read(gate, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127);
    int code = child_execute(words, user);
    ssize_t written = write(failure, &code, sizeof code);
    (void)written;
    _exit(127);
}

bool capture_command_start(struct capture_command *command, char *const *words, const struct child_user *user,
                           struct error *err)
{
    int gate[2], failure[2];
    *command = (struct capture_command){.gate = -1, .failure = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0)
        return error_set(err, ERROR_FAILED, "cannot start '%s': %s", words[0], strerror(errno));
    if (pipe2(failure, O_CLOEXEC) != 0) {
        close(gate[0]);
        close(gate[1]);
        return error_set(err, ERROR_FAILED, "cannot start '%s': %s", words[0], strerror(errno));
    }
    pid_t pid = child_fork();
    if (pid == 0) {
        close(gate[1]);
        close(failure[0]);
        run(words, user, gate[0], failure[1]);
    }
    int code = errno;
    close(gate[0]);
    close(failure[1]);
    command->gate = gate[1];
    command->failure = failure[0];
    if (pid < 0) {
        capture_command_drop(command);
        return error_set(err, ERROR_FAILED, "cannot start '%s': %s", words[0], strerror(code));
    }
    command->pid = pid;
    return true;
}

bool capture_command_go(struct capture_command *command, const char *name, struct error *err)
{
    int code = 0;
    ssize_t got;
    send(command->gate, "", 1,
         MSG_NOSIGNAL); /* the process may have been killed; it is waited for all the same */
    close(command->gate);
    command->gate = -1;
    do
        got = read(command->failure, &code, sizeof code);
    while (got < 0 && errno == EINTR);
    close(command->failure);
    command->failure = -1;
    return got != (ssize_t)sizeof code || error_set(err, code == ENOENT ? ERROR_NOT_THERE : ERROR_NOT_RUN,
                                                    "cannot run '%s': %s", name, strerror(code));
}

bool capture_command_ended(struct capture_command *command)
{
    if (!command->ended && command->pid > 0 && waitpid(command->pid, &command->status, WNOHANG) != 0)
        command->ended = true;
    return command->ended;
}

void capture_command_drop(struct capture_command *command)
{
    if (command->pid > 0 && !command->ended && command->gate >= 0)
        kill(command->pid, SIGKILL);
    if (command->gate >= 0)
        close(command->gate);
    if (command->failure >= 0)
        close(command->failure);
    command->gate = command->failure = -1;
    if (command->pid > 0 && !command->ended && waitpid(command->pid, &command->status, 0) == command->pid)
        command->ended = true;
}

int capture_command_status(const struct capture_command *command)
{
    if (WIFEXITED(command->status))
        return WEXITSTATUS(command->status);
    return WIFSIGNALED(command->status) ? 128 + WTERMSIG(command->status) : 1;
}
