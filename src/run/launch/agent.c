/* Agents: the programs that run words on a host, as ssh does. */
#include "comm/program.h"
#include "core/child.h"
#include "run/launch/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A word that reaches a shell on the other side as it is. */
static bool is_plain(const char *word)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+,@%:=-";
    return word[0] && word[0] != '-' && word[strspn(word, allowed)] == 0;
}

static bool find_program(const struct launch *launch, char path[PATH_MAX], struct error *err)
{
    if (launch->program)
        snprintf(path, PATH_MAX, "%s", launch->program);
    else if (!program_find(path, err))
        return false;
    return launch->local || is_plain(path) ||
           error_set(err, ERROR_USAGE, "--program: '%s' has characters that are special to a shell", path);
}

/* Nodes are started without an agent. */
static bool is_direct(const struct launch *launch)
{
    return launch->local || (launch->agent && strcmp(launch->agent, "none") == 0);
}

static void list_words(const struct launch *launch, int host, char *program, char **words)
{
    static char node[] = "--node", command[] = "launch", ssh[] = "ssh", quiet[] = "-xoBatchMode=yes",
                dashes[] = "--";
    int count = 0;
    if (!is_direct(launch)) {
        words[count++] = launch->agent ? (char *)launch->agent : ssh;
        if (!launch->agent) {
            words[count++] = quiet;
            words[count++] = dashes;
        }
        words[count++] = launch->hosts.hosts[host].name;
    }
    words[count++] = program;
    words[count++] = command;
    words[count++] = node;
    words[count] = NULL;
}

static bool is_in_path(const char *program)
{
    char name[PATH_MAX];
    const char *path = getenv("PATH");
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    for (const char *at = path ? path : "/usr/bin:/bin", *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, ":");
        snprintf(name, sizeof name, "%.*s/%s", (int)(end - at), end > at ? at : ".", program);
        if (access(name, X_OK) == 0)
            return true;
    }
    return false;
}

bool launch_agent_check(const struct launch *launch, char path[PATH_MAX], struct error *err)
{
    if (!find_program(launch, path, err))
        return false;
    const char *agent = launch->agent ? launch->agent : "ssh";
    if (launch->local || strcmp(agent, "none") == 0 || is_in_path(agent))
        return true;
    return error_set(err, ERROR_USAGE,
                     "--agent: no program '%.200s'%s: expected one that is called like ssh ('%.200s HOST "
                     "WORD...'), or 'none' to run all on this host",
                     agent, strchr(agent, '/') ? "" : " in PATH", agent);
}

/* Shells say 126 and 127 for a program that cannot be run, ssh says 255 for a host that it does not reach. */
void launch_agent_ending(const struct launch *launch, int code, char *text, size_t size)
{
    const char *agent = launch->agent ? launch->agent : "ssh";
    if (launch->local)
        snprintf(text, size, "it ended with exit code %d", code);
    else if (code == 126 || code == 127)
        snprintf(text, size,
                 "its agent '%.100s' ended with exit code %d, so rehearse was not found there: give its path "
                 "on the hosts with --program",
                 agent, code);
    else if (code == 255)
        snprintf(text, size,
                 "its agent '%.100s' ended with exit code 255, as ssh does when it cannot log in: check that "
                 "'%.100s HOST true' runs without a prompt",
                 agent, agent);
    else
        snprintf(text, size, "its agent '%.100s' ended with exit code %d", agent, code);
}

bool launch_agent_start(const struct launch *launch, int host, char *program, pid_t *agent,
                        struct channel *channel, struct error *err)
{
    char *words[8];
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    pid_t parent = getpid(), pid = -1;
    list_words(launch, host, program, words);
    if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0)
        pid = child_fork();
    if (pid == 0) {
        /* A node sees that its input has ended, and ends its ranks, also one that is stopped: it has to live, and to go on. */
        prctl(PR_SET_PDEATHSIG, is_direct(launch) ? SIGCONT : SIGKILL);
        if (getppid() != parent || dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
            _exit(ERROR_FAILED);
        child_execute(words, NULL);
        _exit(ERROR_NOT_THERE);
    }
    int why = errno;
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    if (pid > 0) {
        *agent = pid;
        channel_init(channel, out[0], in[1]);
        return true;
    }
    if (in[1] >= 0)
        close(in[1]);
    if (out[0] >= 0)
        close(out[0]);
    return error_set(err, ERROR_FAILED, "cannot start the agent of host '%s': %s",
                     launch->hosts.hosts[host].name, strerror(why));
}
