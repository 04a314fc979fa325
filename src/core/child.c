#include "core/child.h"
#include "core/caller.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_INHERITED 256 /* open files that the starter has left to programs that are started */

extern char **environ;

static struct {
    bool noted;
    bool ignored[NSIG];
    sigset_t mask;
    struct rlimit limits[RLIM_NLIMITS];
    int inherited[MAX_INHERITED]; /* by number */
    int count;                    /* MAX_INHERITED: there may be more */
} start;

/* ---- how this program was started ---- */

static void note_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        start.count = MAX_INHERITED;
        return;
    }
    for (const struct dirent *entry; start.count < MAX_INHERITED && (entry = readdir(folder));) {
        int64_t number;
        int fd = text_whole(entry->d_name, "", &number) ? (int)number : 0;
        if (entry->d_name[0] != '.' && fd > STDERR_FILENO && fd != dirfd(folder))
            start.inherited[start.count++] = fd;
    }
    closedir(folder);
    qsort(start.inherited, (size_t)start.count, sizeof *start.inherited, order_ints);
}

/* Reading a closed standard input, and writing to a closed output, stays the error that it is. A program that
 * is executed finds them closed. */
static void hold_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

void child_note_start(void)
{
    hold_standard_files();
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        start.ignored[i] = sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
    sigprocmask(SIG_SETMASK, NULL, &start.mask);
    for (int i = 0; i < (int)RLIM_NLIMITS; i++)
        if (getrlimit((__rlimit_resource_t)i, &start.limits[i]) != 0)
            start.limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    note_files();
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, waitpid does not return the child and its status */
    start.noted = true;
}

bool child_start_is_noted(void)
{
    return start.noted;
}

/* ---- a user ---- */

static bool in_list(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* This program's environment with four variables of the user's own. */
static char **make_environment(const struct passwd *entry)
{
    const char *const own[4][2] = {{"HOME", entry->pw_dir},
                                   {"USER", entry->pw_name},
                                   {"LOGNAME", entry->pw_name},
                                   {"SHELL", *entry->pw_shell ? entry->pw_shell : "/bin/sh"}};
    size_t count = 0, made = 0;
    while (environ[count])
        count++;
    char **list = calloc(count + 5, sizeof *list);
    bool failed = !list;
    for (size_t i = 0; !failed && i < count; i++) {
        bool replaced = false;
        for (int k = 0; k < 4; k++)
            replaced |= in_list(environ[i], own[k][0]);
        if (!replaced && !(list[made++] = strdup(environ[i])))
            failed = true;
    }
    for (int k = 0; !failed && k < 4; k++)
        failed = asprintf(&list[made++], "%s=%s", own[k][0], own[k][1]) < 0;
    if (!failed)
        return list;
    for (size_t i = 0; i + 1 < made; i++) /* the last was not made */
        free(list[i]);
    free(list);
    return NULL;
}

static bool find_groups(struct child_user *user, const char *name, struct error *err)
{
    int count = 16;
    for (int had = 0; had < count;) {
        gid_t *larger = realloc(user->groups, (size_t)count * sizeof *larger);
        if (!larger)
            return error_memory(err);
        user->groups = larger;
        had = count;
        if (getgrouplist(name, user->group, user->groups, &count) >= 0)
            break;
    }
    user->count = count;
    return true;
}

bool child_user_find(struct child_user *user, const char *name, struct error *err)
{
    *user = (struct child_user){0};
    char *end;
    errno = 0;
    const struct passwd *entry = getpwnam(name);
    unsigned long number = strtoul(name, &end, 10);
    if (!entry && name[0] >= '0' && name[0] <= '9' && !*end && number < UINT_MAX)
        entry = getpwuid((uid_t)number);
    if (!entry)
        return error_set(err, ERROR_USAGE, "there is no user '%s'", name);
    if (geteuid() != 0 && geteuid() != entry->pw_uid)
        return error_set(err, ERROR_FAILED, "only root may run a command as '%s'", name);
    user->user = entry->pw_uid;
    user->group = entry->pw_gid;
    user->environment = make_environment(entry);
    char *named = strdup(entry->pw_name); /* the entry is the library's, and used again */
    bool found = user->environment && named ? find_groups(user, named, err) : error_memory(err);
    free(named);
    if (!found)
        child_user_release(user);
    return found;
}

void child_user_release(struct child_user *user)
{
    for (char **variable = user->environment; variable && *variable; variable++)
        free(*variable);
    free(user->environment);
    free(user->groups);
    *user = (struct child_user){0};
}

/* Groups first: a user who is not root cannot choose them. */
static bool become(const struct child_user *user)
{
    if (geteuid() != 0 && geteuid() == user->user)
        return true;
    return setgroups((size_t)user->count, user->groups) == 0 &&
           setresgid(user->group, user->group, user->group) == 0 &&
           setresuid(user->user, user->user, user->user) == 0;
}

/* ---- in the child: only what is safe after a fork of a program with threads ---- */

static void close_at_exec(int first, int last)
{
#if defined(SYS_close_range)
    if (first <= last)
        (void)syscall(SYS_close_range, first, last, 4U /* CLOSE_RANGE_CLOEXEC */);
#else
    (void)first;
    (void)last;
#endif
}

static void restore(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    for (int i = 1; i < NSIG; i++) {
        action.sa_handler = start.noted && start.ignored[i] ? SIG_IGN : SIG_DFL;
        sigaction(i, &action, NULL); /* some cannot be set, and never were */
    }
    if (!start.noted)
        return;
    for (int i = 0; i < (int)RLIM_NLIMITS; i++)
        setrlimit((__rlimit_resource_t)i, &start.limits[i]);
    if (start.count == MAX_INHERITED)
        return; /* files of ours close at exec by themselves */
    int next = STDERR_FILENO + 1;
    for (int i = 0; i < start.count; next = start.inherited[i++] + 1)
        close_at_exec(next, start.inherited[i] - 1);
    close_at_exec(next, INT_MAX);
}

pid_t child_fork(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int code = errno;
    if (pid == 0) {
        restore();
        if (start.noted)
            before = start.mask;
        else
            sigemptyset(&before); /* that of a thread of some caller of the library means nothing to others */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = code;
    return pid;
}

int child_execute(char *const *words, const struct child_user *user)
{
    if (user && !become(user))
        return errno;
    execvpe(words[0], words, user ? user->environment : environ);
    return errno;
}

/* Returns the flag that says so, for work that has one of its own; NULL: nobody ever wants it. */
static const atomic_bool *stop_watched(void)
{
    const struct caller *caller = caller_now();
    return caller ? caller->stop : NULL;
}

/* Waits for the end of a child, which is killed if the caller of this thread wishes an end. */
static void await(pid_t pid, int *status)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    bool watched = stop_watched() != NULL;
    for (pid_t got = 0; got == 0 || (got < 0 && errno == EINTR);) {
        got = waitpid(pid, status, watched ? WNOHANG : 0);
        if (got == 0 && stop_wanted()) {
            kill(pid, SIGKILL);
            watched = false;
        } else if (got == 0) {
            nanosleep(&pause, NULL);
        }
    }
}

bool child_run(char *const *words, const int files[static 3], int *status)
{
    int failure[2], code = 0;
    ssize_t got = 0;
    if (pipe2(failure, O_CLOEXEC) != 0)
        return false;
    pid_t pid = child_fork();
    if (pid == 0) {
        for (int i = 0; i < 3; i++)
            if (dup2(files[i], i) < 0)
                _exit(127);
        code = child_execute(words, NULL);
        got = write(failure[1], &code, sizeof code);
        _exit(got > 0 ? 127 : 126);
    }
    code = pid < 0 ? errno : 0;
    close(failure[1]);
    if (pid > 0)
        do
            got = read(failure[0], &code, sizeof code);
        while (got < 0 && errno == EINTR);
    close(failure[0]);
    if (pid > 0)
        await(pid, status);
    errno = code;
    return code == 0;
}

int child_signal_of_end(void)
{
    struct sigaction polite;
    return sigaction(SIGTERM, NULL, &polite) == 0 && polite.sa_handler != SIG_IGN ? SIGTERM : SIGKILL;
}
