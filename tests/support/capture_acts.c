#include "support/capture_acts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

static struct act acts[MAX_ACTS];
static int act_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[200];
char act_bytes[1 << 20] __attribute__((aligned(4096)));

int64_t act_note(const char *call, const char *name, int64_t fd, int64_t offset, int64_t size, int64_t result)
{
    pthread_mutex_lock(&lock);
    if (act_count == MAX_ACTS)
        abort();
    struct act *act = &acts[act_count++];
    snprintf(act->call, sizeof act->call, "%s", call);
    snprintf(act->path, sizeof act->path, "%s/%s", folder, name);
    act->pid = getpid();
    act->tid = gettid();
    act->fd = fd;
    act->offset = offset;
    act->size = size;
    act->result = result;
    pthread_mutex_unlock(&lock);
    return result;
}

const char *act_path(const char *name)
{
    static _Thread_local char full[256];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    return full;
}

int act_open(const char *name, int flags)
{
    long fd = syscall(SYS_openat, AT_FDCWD, act_path(name), flags, 0644);
    act_note("openat", name, fd < 0 ? UNKNOWN : fd, UNKNOWN, UNKNOWN, act_result(fd));
    return (int)fd;
}

void act_close(const char *name, int fd)
{
    act_note("close", name, fd, UNKNOWN, UNKNOWN, act_result(syscall(SYS_close, fd)));
}

static void read_and_write(void)
{
    struct iovec three[3] = {{act_bytes, 10}, {act_bytes + 10, 20}, {act_bytes + 30, 3000}};
    int fd = act_open("a", O_CREAT | O_TRUNC | O_RDWR);
    ON(write, "a", fd, 0, 1000, fd, act_bytes, 1000);
    ON(write, "a", fd, 1000, 24, fd, act_bytes, 24);
    ON(pwrite64, "a", fd, 100000, 500, fd, act_bytes, 500, 100000L);
    ON(writev, "a", fd, 1024, 3030, fd, three, 3);
    ON(pwritev, "a", fd, 7, 30, fd, three, 2, 7L, 0L);
    ON(pwritev2, "a", fd, 11, 10, fd, three, 1, 11L, 0L, 0);
    ON(pwritev2, "a", fd, 4054, 30, fd, three, 2, -1L, -1L, 0); /* at the position */
    ON(fsync, "a", fd, UNKNOWN, UNKNOWN, fd);
    ON(fdatasync, "a", fd, UNKNOWN, UNKNOWN, fd);
    ON(sync_file_range, "a", fd, 4096, 8192, fd, 4096L, 8192L, SYNC_FILE_RANGE_WRITE);
    ON(lseek, "a", fd, 5, UNKNOWN, fd, 5L, SEEK_SET);
    ON(read, "a", fd, 5, 400, fd, act_bytes, 400);
    ON(pread64, "a", fd, 50, 300, fd, act_bytes, 300, 50L);
    ON(readv, "a", fd, 405, 3030, fd, three, 3);
    ON(preadv, "a", fd, 99990, 3030, fd, three, 3, 99990L, 0L); /* to the end of the file */
    ON(preadv2, "a", fd, 64, 30, fd, three, 2, 64L, 0L, 0);
    ON(preadv2, "a", fd, 3435, 30, fd, three, 2, -1L, -1L, 0);
    ON(pread64, "a", fd, 5000000, 10, fd, act_bytes, 10, 5000000L); /* nothing there */
    ON(pread64, "a", fd, -5, 10, fd, act_bytes, 10, -5L);           /* refused */
    ON(ftruncate, "a", fd, UNKNOWN, 6000, fd, 6000L);
    ON(fstat, "a", fd, UNKNOWN, UNKNOWN, fd, act_bytes);
    int twin = dup(fd);
    ON(pread64, "a", twin, 1, 2, twin, act_bytes, 2, 1L);
    act_close("a", twin);
    act_close("a", fd);
    fd = act_open("a", O_WRONLY | O_APPEND);
    ON(write, "a", fd, 6000, 77, fd, act_bytes, 77);
    act_close("a", fd);
}

static void open_and_name(void)
{
    struct open_how how = {.flags = O_RDONLY};
    struct stat info;
    act_open("missing", O_RDONLY);
    ON(mkdir, "d", UNKNOWN, UNKNOWN, UNKNOWN, act_path("d"), 0755);
    int at = act_open("d", O_RDONLY | O_DIRECTORY);
    long fd = syscall(SYS_openat, at, "inside", O_CREAT | O_RDWR, 0644);
    act_note("openat", "d/inside", fd, UNKNOWN, UNKNOWN, fd);
    act_close("d/inside", (int)fd);
    fd = syscall(SYS_openat2, at, "inside", &how, sizeof how);
    act_note("openat2", "d/inside", fd, UNKNOWN, UNKNOWN, fd);
    act_close("d/inside", (int)fd);
    if (chdir(act_path("d")) != 0)
        abort();
    fd = syscall(SYS_open, "./inside", O_RDONLY);
    act_note("open", "d/inside", fd, UNKNOWN, UNKNOWN, fd);
    act_close("d/inside", (int)fd);
    fd = syscall(SYS_creat, "new", 0644);
    act_note("creat", "d/new", fd, UNKNOWN, UNKNOWN, fd);
    act_close("d/new", (int)fd);
    ON(stat, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, "inside", &info);
    ON(lstat, "d/missing", UNKNOWN, UNKNOWN, UNKNOWN, "missing", &info);
    ON(access, "d/new", UNKNOWN, UNKNOWN, UNKNOWN, "new", R_OK);
    ON(newfstatat, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, at, "inside", &info, 0);
    ON(statx, "d/new", UNKNOWN, UNKNOWN, UNKNOWN, at, "new", 0, STATX_SIZE, act_bytes);
    ON(symlink, "d/link", UNKNOWN, UNKNOWN, UNKNOWN, "inside", "link");
    fd = syscall(SYS_openat, AT_FDCWD, "link", O_RDONLY);
    act_note("openat", "d/inside", fd, UNKNOWN, UNKNOWN, fd); /* where it leads to */
    act_close("d/inside", (int)fd);
    ON(rename, "d/new", UNKNOWN, UNKNOWN, UNKNOWN, "new", act_path("d/newer"));
    act_note("new_name", "d/newer", UNKNOWN, UNKNOWN, UNKNOWN, 0);
    ON(link, "d/newer", UNKNOWN, UNKNOWN, UNKNOWN, "newer", "hard");
    act_note("new_name", "d/hard", UNKNOWN, UNKNOWN, UNKNOWN, 0);
    ON(renameat2, "d/hard", UNKNOWN, UNKNOWN, UNKNOWN, at, "hard", at, "harder", 0);
    act_note("new_name", "d/harder", UNKNOWN, UNKNOWN, UNKNOWN, 0);
    ON(truncate, "d/newer", UNKNOWN, UNKNOWN, 123, "newer", 123L);
    ON(unlink, "d/harder", UNKNOWN, UNKNOWN, UNKNOWN, "harder");
    ON(unlinkat, "d/newer", UNKNOWN, UNKNOWN, UNKNOWN, at, "newer", 0);
    ON(unlink, "d/link", UNKNOWN, UNKNOWN, UNKNOWN, "link");
    ON(unlink, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, "inside");
    ON(unlink, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, "inside"); /* gone already */
    act_close("d", at);
    if (chdir("/") != 0)
        abort();
    ON(rmdir, "d", UNKNOWN, UNKNOWN, UNKNOWN, act_path("d"));
    ON(mkdirat, "e", UNKNOWN, UNKNOWN, UNKNOWN, AT_FDCWD, act_path("e"), 0755);
    ON(unlinkat, "e", UNKNOWN, UNKNOWN, UNKNOWN, AT_FDCWD, act_path("e"), AT_REMOVEDIR);
}

static void *thread_main(void *context)
{
    char name[16];
    snprintf(name, sizeof name, "thread%ld", (long)(intptr_t)context);
    int fd = act_open(name, O_CREAT | O_RDWR);
    for (int i = 0; i < 500; i++) {
        ON(pwrite64, name, fd, 100L * i, 100, fd, act_bytes, 100, 100L * i);
        ON(pread64, name, fd, 10L * i, 10, fd, act_bytes, 10, 10L * i);
    }
    act_close(name, fd);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thread_main, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* A child that is forked, and one that executes this program again; both leave a log of their own. */
static void run_children(char **argv)
{
    char log[256];
    int fd = act_open("shared", O_CREAT | O_RDWR);
    ON(write, "shared", fd, 0, 50, fd, act_bytes, 50);
    pid_t child = fork();
    if (child == 0) {
        act_count = 0;
        ON(write, "shared", fd, 50, 60, fd, act_bytes, 60); /* the position is shared */
        pid_t grandchild = fork();
        snprintf(log, sizeof log, "%s.2", argv[4]);
        if (grandchild == 0) {
            execl("/proc/self/exe", argv[0], "act", "read", folder, log, NULL);
            _exit(127);
        }
        waitpid(grandchild, NULL, 0);
        snprintf(log, sizeof log, "%s.1", argv[4]);
        FILE *file = fopen(log, "w");
        fwrite(acts, sizeof *acts, (size_t)act_count, file);
        fclose(file);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    ON(read, "shared", fd, 110, 10, fd, act_bytes, 10);
    act_close("shared", fd);
}

static void *named_main(void *context)
{
    (void)context;
    prctl(PR_SET_NAME, "renamed-thread");
    int fd = act_open("thread", O_CREAT | O_RDWR);
    act_close("thread", fd);
    return NULL;
}

/* Who calls himself what: a thread and a process by prctl, a child by prctl, another by what it executes. */
static void run_names(char **argv)
{
    pthread_t thread;
    char log[256];
    act_close("first", act_open("first", O_CREAT | O_RDWR));
    prctl(PR_SET_NAME, "renamed-main");
    pthread_create(&thread, NULL, named_main, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            snprintf(log, sizeof log, "%s.%d", argv[4], i);
            prctl(PR_SET_NAME, "renamed-child");
            close(act_open(i ? "shared" : "child", O_CREAT | O_RDWR));
            if (i)
                execl("/proc/self/exe", argv[0], "act", "read", folder, log, NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

/* From file to file, to and from a pipe, with and without offsets of its own. */
static void run_copies(void)
{
    int64_t from_at = 700, to_at = 20000;
    int ends[2];
    int from = act_open("from", O_CREAT | O_RDWR), to = act_open("to", O_CREAT | O_RDWR);
    ON(pwrite64, "from", from, 0, 100000, from, act_bytes, 100000, 0L);
    int64_t moved = act_result(syscall(SYS_sendfile, to, from, NULL, 5000));
    act_note("sendfile", "from", from, 0, 5000, moved);
    act_note("sendfile", "to", to, 0, 5000, moved);
    moved = act_result(syscall(SYS_sendfile, to, from, &from_at, 6000));
    act_note("sendfile", "from", from, 700, 6000, moved);
    act_note("sendfile", "to", to, 5000, 6000, moved);
    if (pipe(ends) != 0)
        abort();
    ON(splice, "from", from, 5000, 3000, from, NULL, ends[1], NULL, 3000, 0); /* at the position */
    ON(splice, "to", to, 20000, 3000, ends[0], NULL, to, &to_at, 3000, 0);
    from_at = 99000;
    to_at = 50000;
    moved = act_result(syscall(SYS_copy_file_range, from, &from_at, to, &to_at, 40000, 0));
    act_note("copy_file_range", "from", from, 99000, 40000, moved); /* 1000 are left */
    act_note("copy_file_range", "to", to, 50000, 40000, moved);
    ON(copy_file_range, "from", from, 8000, 10, from, NULL, -1, NULL, 10, 0); /* refused */
    ON(readahead, "from", from, 4096, 8192, from, 4096L, 8192L);
    act_close("from", from);
    act_close("to", to);
}

/* From memory to memory. */
static void run_memory(void)
{
    struct iovec two[2] = {{act_bytes, 100}, {act_bytes + 4096, 223}}, from = {act_bytes + 65536, 1000};
    if (syscall(SYS_process_vm_readv, getpid(), two, 2L, &from, 1L, 0L) != 323 ||
        syscall(SYS_process_vm_writev, getpid(), two, 1L, &from, 1L, 0L) != 100)
        exit(77);
}

/* Reads one byte of each of 64 pages, not in memory before. */
static void run_faults(void)
{
    const size_t size = 64 * 4096;
    int fd = act_open("mapped", O_CREAT | O_RDWR);
    ON(write, "mapped", fd, 0, 262144, fd, act_bytes, size);
    ON(fsync, "mapped", fd, UNKNOWN, UNKNOWN, fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    act_note("mmap", "mapped", fd, 0, 262144, (int64_t)(intptr_t)map);
    madvise(map, size, MADV_RANDOM); /* no read-ahead: each page is read by itself */
    volatile char sum = 0;
    for (size_t i = 0; i < 64; i++)
        sum = (char)(sum + map[i * 4096]);
    munmap(map, size);
    act_close("mapped", fd);
}

static long faults_so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* Without the sanitizers' own memory, whose pages would be faults as well. */
__attribute__((no_sanitize("address"), no_sanitize("thread"))) static long touch(const char *map, size_t size)
{
    volatile char sum = 0;
    long before = faults_so_far();
    for (size_t at = 0; at < size; at += 4096)
        sum = (char)(sum + map[at]);
    return faults_so_far() - before;
}

/* Reads one byte of each of 256 pages of which every third is in memory, so that faults on some map others around them.
 * Writes as many bytes to "count" as there were faults, by the kernel's own account. */
static void run_around(void)
{
    const size_t size = 256 * 4096;
    int fd = act_open("around", O_CREAT | O_RDWR), count = act_open("count", O_CREAT | O_RDWR);
    ON(write, "around", fd, 0, 1048576, fd, act_bytes, size);
    ON(fsync, "around", fd, UNKNOWN, UNKNOWN, fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (long i = 0; i < 256; i += 3)
        ON(pread64, "around", fd, i * 4096, 1, fd, act_bytes, 1, i * 4096);
    char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    act_note("mmap", "around", fd, 0, 1048576, (int64_t)(intptr_t)map);
    madvise(map, size, MADV_RANDOM);
    long faults = touch(map, size);
    ON(write, "count", count, 0, faults, count, act_bytes, faults);
    munmap(map, size);
    act_close("count", count);
    act_close("around", fd);
}

/* First from storage, then from memory, then past it. */
static void run_cached(void)
{
    int fd = act_open("cold", O_CREAT | O_RDWR);
    ON(write, "cold", fd, 0, 1048576, fd, act_bytes, sizeof act_bytes);
    ON(fsync, "cold", fd, UNKNOWN, UNKNOWN, fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    ON(pread64, "cold", fd, 524288, 65536, fd, act_bytes, 65536, 524288L);
    ON(pread64, "cold", fd, 524288, 65536, fd, act_bytes, 65536, 524288L);
    ON(pread64, "cold", fd, 0, 4096, fd, act_bytes, 4096, 0L);
    act_close("cold", fd);
    fd = act_open("cold", O_RDONLY | O_DIRECT);
    ON(pread64, "cold", fd, 524288, 65536, fd, act_bytes, 65536, 524288L);
    act_close("cold", fd);
}

/* Until all of a file is in memory, and can be read. */
static void wait_until_there(int fd, size_t size)
{
    unsigned char there[64];
    size_t pages = size / 4096, count = 0;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    while (map != MAP_FAILED && count < pages && pages <= sizeof there && mincore(map, size, there) == 0) {
        count = 0;
        for (size_t i = 0; i < pages; i++)
            count += there[i] & 1;
        posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED); /* somebody may have dropped the page cache meanwhile */
        sched_yield();
    }
    munmap(map, size);
}

/* Reads what read-ahead has asked for: of every second file at once, of the others when it is there. */
static void run_ahead(void)
{
    for (int i = 0; i < 32; i++) {
        char name[16];
        snprintf(name, sizeof name, "ahead-%d", i);
        int fd = act_open(name, O_CREAT | O_RDWR);
        ON(write, name, fd, 0, 262144, fd, act_bytes, 262144);
        ON(fsync, name, fd, UNKNOWN, UNKNOWN, fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
        if (i % 2 == 1)
            wait_until_there(fd, 262144);
        ON(pread64, name, fd, 0, 262144, fd, act_bytes, 262144, 0L);
        act_close(name, fd);
    }
}

/* Says on standard output that all is done that is not to be traced, and waits for a byte of standard input. */
static void wait_for_trace(void)
{
    char byte = 'x';
    if (write(STDOUT_FILENO, &byte, 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
        abort();
}

/* Waits with a file open. */
static void run_waiting(void)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, act_path("before"), O_CREAT | O_RDWR, 0644);
    if (write(fd, act_bytes, 10) != 10)
        abort();
    wait_for_trace();
    ON(write, "before", fd, 10, 30, fd, act_bytes, 30);
    ON(pread64, "before", fd, 0, 40, fd, act_bytes, 40, 0L);
    act_close("before", fd);
}

/* The same, with a file that is opened only then. */
static void *later_main(void *context)
{
    (void)context;
    wait_for_trace();
    int fd = act_open("after", O_CREAT | O_RDWR);
    ON(write, "after", fd, 0, 30, fd, act_bytes, 30);
    act_close("after", fd);
    return NULL;
}

static void run_thread_later(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, later_main, NULL);
    pthread_join(thread, NULL);
}

/* More than can be noted. */
static void run_plenty(void)
{
    int fd = act_open("plenty", O_CREAT | O_RDWR);
    ON(write, "plenty", fd, 0, 1000, fd, act_bytes, 1000);
    for (int i = 0; i < ACTS_PLENTY; i++)
        if (syscall(SYS_pread64, fd, act_bytes, 1L, (long)i % 1000) != 1)
            abort();
    act_close("plenty", fd);
}

static void run_many(int count)
{
    int fd = act_open("many", O_CREAT | O_RDWR);
    ON(write, "many", fd, 0, 1000, fd, act_bytes, 1000);
    for (int i = 0; i < count; i++)
        ON(pread64, "many", fd, i % 1000, 1, fd, act_bytes, 1, (long)i % 1000);
    act_close("many", fd);
}

int acts_main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    const char *what = argv[2];
    snprintf(folder, sizeof folder, "%s", argv[3]);
    memset(act_bytes, 1, sizeof act_bytes);
    if (strcmp(what, "calls") == 0) {
        read_and_write();
        open_and_name();
    } else if (strcmp(what, "threads") == 0)
        run_threads();
    else if (strcmp(what, "children") == 0)
        run_children(argv);
    else if (strcmp(what, "names") == 0)
        run_names(argv);
    else if (strcmp(what, "read") == 0) {
        int fd = act_open("shared", O_RDONLY);
        ON(read, "shared", fd, 0, 1000, fd, act_bytes, 1000);
        act_close("shared", fd);
    } else if (strcmp(what, "copies") == 0)
        run_copies();
    else if (strcmp(what, "memory") == 0)
        run_memory();
    else if (strcmp(what, "faults") == 0)
        run_faults();
    else if (strcmp(what, "around") == 0)
        run_around();
    else if (strcmp(what, "cached") == 0)
        run_cached();
    else if (strcmp(what, "ahead") == 0)
        run_ahead();
    else if (strcmp(what, "waiting") == 0)
        run_waiting();
    else if (strcmp(what, "later") == 0)
        later_main(NULL);
    else if (strcmp(what, "thread later") == 0)
        run_thread_later();
    else if (strcmp(what, "many") == 0)
        run_many(20000);
    else if (strcmp(what, "plenty") == 0)
        run_plenty();
    else if (strcmp(what, "seven") == 0)
        return 7;
    else if ((strcmp(what, "uring") != 0 || !act_uring()) && (strcmp(what, "aio") != 0 || !act_aio()) &&
             (strcmp(what, "direct") != 0 || !act_direct()))
        return 77;
    FILE *log = fopen(argv[4], "w");
    bool written = log && fwrite(acts, sizeof *acts, (size_t)act_count, log) == (size_t)act_count;
    return log && fclose(log) == 0 && written ? 0 : 1;
}
