/* To be preloaded: lets one system call of a program fail, or something happen just before it.
 *
 *     FAULT='pwrite img_3 1 error 28' LD_PRELOAD=./faults.so rehearse dataset generate …
 *
 * The call (pread, pwrite, write, fsync, rename), a part of the file's path, the how manieth such call (0: all), and
 * what is to happen:
 *
 *     error N     it fails with this errno
 *     half        it moves half of the bytes
 *     signal N    the process gets this signal, then the call goes on
 *     run COMMAND a shell runs it, then the call goes on */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum outcome { GO_ON, FAIL, HALF };

static struct fault {
    char call[16], path[256], action[16], argument[1024];
    int at;
} fault;
static atomic_int seen;

__attribute__((constructor)) static void read_fault(void)
{
    const char *text = getenv("FAULT");
    if (!text || sscanf(text, "%15s %255s %d %15s %1023[^\n]", fault.call, fault.path, &fault.at,
                        fault.action, fault.argument) < 4)
        fault.call[0] = 0;
    unsetenv("FAULT"); /* for what a fault runs */
}

static enum outcome happen(const char *call, const char *path)
{
    if (strcmp(call, fault.call) != 0 || !strstr(path, fault.path))
        return GO_ON;
    int number = atomic_fetch_add(&seen, 1) + 1;
    if (fault.at != 0 && number != fault.at)
        return GO_ON;
    if (strcmp(fault.action, "error") == 0) {
        errno = atoi(fault.argument);
        return FAIL;
    }
    if (strcmp(fault.action, "signal") == 0)
        raise(atoi(fault.argument));
    if (strcmp(fault.action, "run") == 0 && system(fault.argument) != 0)
        abort();
    return strcmp(fault.action, "half") == 0 ? HALF : GO_ON;
}

static enum outcome happen_to(const char *call, int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return happen(call, path);
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

static size_t moved(enum outcome outcome, size_t n)
{
    return outcome == HALF && n > 1 ? n / 2 : n;
}

ssize_t pread64(int fd, void *to, size_t n, off64_t offset)
{
    static ssize_t (*call)(int, void *, size_t, off64_t);
    if (!call)
        *(void **)&call = next("pread64");
    enum outcome outcome = happen_to("pread", fd);
    return outcome == FAIL ? -1 : call(fd, to, moved(outcome, n), offset);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t offset)
{
    static ssize_t (*call)(int, const void *, size_t, off64_t);
    if (!call)
        *(void **)&call = next("pwrite64");
    enum outcome outcome = happen_to("pwrite", fd);
    return outcome == FAIL ? -1 : call(fd, from, moved(outcome, n), offset);
}

ssize_t write(int fd, const void *from, size_t n)
{
    static ssize_t (*call)(int, const void *, size_t);
    if (!call)
        *(void **)&call = next("write");
    enum outcome outcome = happen_to("write", fd);
    return outcome == FAIL ? -1 : call(fd, from, moved(outcome, n));
}

int fsync(int fd)
{
    static int (*call)(int);
    if (!call)
        *(void **)&call = next("fsync");
    return happen_to("fsync", fd) == FAIL ? -1 : call(fd);
}

int rename(const char *from, const char *to)
{
    static int (*call)(const char *, const char *);
    if (!call)
        *(void **)&call = next("rename");
    return happen("rename", to) == FAIL ? -1 : call(from, to);
}
