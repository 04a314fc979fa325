/* A program of known content to be traced: it does what it is told and keeps a record of each call. It is the test
 * program itself, started with "act". */
#ifndef REHEARSE_TESTS_CAPTURE_ACTS_H
#define REHEARSE_TESTS_CAPTURE_ACTS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ACTS_MOST 65536
#define UNKNOWN   INT64_MIN /* TRACE_NONE */

struct act {
    char call[24], path[256]; /* path: as it is known in the end */
    int64_t pid, tid, fd, offset, size, result;
};

static struct act acts[ACTS_MOST];
static int act_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[200];
static char bytes[1 << 20] __attribute__((aligned(4096)));

/* The result as the kernel gave it. */
static int64_t raw(long result)
{
    return result == -1 ? -errno : result;
}

static int64_t note(const char *call, const char *name, int64_t fd, int64_t offset, int64_t size,
                    int64_t result)
{
    pthread_mutex_lock(&lock);
    if (act_count == ACTS_MOST)
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

static const char *path(const char *name)
{
    static _Thread_local char full[256];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    return full;
}

static int open_it(const char *name, int flags)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path(name), flags, 0644);
    note("openat", name, fd < 0 ? UNKNOWN : fd, UNKNOWN, UNKNOWN, raw(fd));
    return (int)fd;
}

static void close_it(const char *name, int fd)
{
    note("close", name, fd, UNKNOWN, UNKNOWN, raw(syscall(SYS_close, fd)));
}

#define ON(call, name, fd, offset, size, ...)                                                                \
    note(#call, name, fd, offset, size, raw(syscall(SYS_##call, __VA_ARGS__)))

static void read_and_write(void)
{
    struct iovec three[3] = {{bytes, 10}, {bytes + 10, 20}, {bytes + 30, 3000}};
    int fd = open_it("a", O_CREAT | O_TRUNC | O_RDWR);
    ON(write, "a", fd, 0, 1000, fd, bytes, 1000);
    ON(write, "a", fd, 1000, 24, fd, bytes, 24);
    ON(pwrite64, "a", fd, 100000, 500, fd, bytes, 500, 100000L);
    ON(writev, "a", fd, 1024, 3030, fd, three, 3);
    ON(pwritev, "a", fd, 7, 30, fd, three, 2, 7L, 0L);
    ON(pwritev2, "a", fd, 11, 10, fd, three, 1, 11L, 0L, 0);
    ON(pwritev2, "a", fd, 4054, 30, fd, three, 2, -1L, -1L, 0); /* at the position */
    ON(fsync, "a", fd, UNKNOWN, UNKNOWN, fd);
    ON(fdatasync, "a", fd, UNKNOWN, UNKNOWN, fd);
    ON(sync_file_range, "a", fd, 4096, 8192, fd, 4096L, 8192L, SYNC_FILE_RANGE_WRITE);
    ON(lseek, "a", fd, 5, UNKNOWN, fd, 5L, SEEK_SET);
    ON(read, "a", fd, 5, 400, fd, bytes, 400);
    ON(pread64, "a", fd, 50, 300, fd, bytes, 300, 50L);
    ON(readv, "a", fd, 405, 3030, fd, three, 3);
    ON(preadv, "a", fd, 99990, 3030, fd, three, 3, 99990L, 0L); /* to the end of the file */
    ON(preadv2, "a", fd, 64, 30, fd, three, 2, 64L, 0L, 0);
    ON(preadv2, "a", fd, 3435, 30, fd, three, 2, -1L, -1L, 0);
    ON(pread64, "a", fd, 5000000, 10, fd, bytes, 10, 5000000L); /* nothing there */
    ON(pread64, "a", fd, -5, 10, fd, bytes, 10, -5L);           /* refused */
    ON(ftruncate, "a", fd, UNKNOWN, 6000, fd, 6000L);
    ON(fstat, "a", fd, UNKNOWN, UNKNOWN, fd, bytes);
    int twin = dup(fd);
    ON(pread64, "a", twin, 1, 2, twin, bytes, 2, 1L);
    close_it("a", twin);
    close_it("a", fd);
    fd = open_it("a", O_WRONLY | O_APPEND);
    ON(write, "a", fd, 6000, 77, fd, bytes, 77);
    close_it("a", fd);
}

static void open_and_name(void)
{
    struct open_how how = {.flags = O_RDONLY};
    struct stat info;
    open_it("missing", O_RDONLY);
    ON(mkdir, "d", UNKNOWN, UNKNOWN, UNKNOWN, path("d"), 0755);
    int at = open_it("d", O_RDONLY | O_DIRECTORY);
    long fd = syscall(SYS_openat, at, "inside", O_CREAT | O_RDWR, 0644);
    note("openat", "d/inside", fd, UNKNOWN, UNKNOWN, fd);
    close_it("d/inside", (int)fd);
    fd = syscall(SYS_openat2, at, "inside", &how, sizeof how);
    note("openat2", "d/inside", fd, UNKNOWN, UNKNOWN, fd);
    close_it("d/inside", (int)fd);
    if (chdir(path("d")) != 0)
        abort();
    fd = syscall(SYS_open, "./inside", O_RDONLY);
    note("open", "d/inside", fd, UNKNOWN, UNKNOWN, fd);
    close_it("d/inside", (int)fd);
    fd = syscall(SYS_creat, "new", 0644);
    note("creat", "d/new", fd, UNKNOWN, UNKNOWN, fd);
    close_it("d/new", (int)fd);
    ON(stat, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, "inside", &info);
    ON(lstat, "d/missing", UNKNOWN, UNKNOWN, UNKNOWN, "missing", &info);
    ON(access, "d/new", UNKNOWN, UNKNOWN, UNKNOWN, "new", R_OK);
    ON(newfstatat, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, at, "inside", &info, 0);
    ON(statx, "d/new", UNKNOWN, UNKNOWN, UNKNOWN, at, "new", 0, STATX_SIZE, bytes);
    ON(symlink, "d/link", UNKNOWN, UNKNOWN, UNKNOWN, "inside", "link");
    fd = syscall(SYS_openat, AT_FDCWD, "link", O_RDONLY);
    note("openat", "d/inside", fd, UNKNOWN, UNKNOWN, fd); /* where it leads to */
    close_it("d/inside", (int)fd);
    ON(rename, "d/new", UNKNOWN, UNKNOWN, UNKNOWN, "new", path("d/newer"));
    note("new_name", "d/newer", UNKNOWN, UNKNOWN, UNKNOWN, 0);
    ON(link, "d/newer", UNKNOWN, UNKNOWN, UNKNOWN, "newer", "hard");
    note("new_name", "d/hard", UNKNOWN, UNKNOWN, UNKNOWN, 0);
    ON(renameat2, "d/hard", UNKNOWN, UNKNOWN, UNKNOWN, at, "hard", at, "harder", 0);
    note("new_name", "d/harder", UNKNOWN, UNKNOWN, UNKNOWN, 0);
    ON(truncate, "d/newer", UNKNOWN, UNKNOWN, 123, "newer", 123L);
    ON(unlink, "d/harder", UNKNOWN, UNKNOWN, UNKNOWN, "harder");
    ON(unlinkat, "d/newer", UNKNOWN, UNKNOWN, UNKNOWN, at, "newer", 0);
    ON(unlink, "d/link", UNKNOWN, UNKNOWN, UNKNOWN, "link");
    ON(unlink, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, "inside");
    ON(unlink, "d/inside", UNKNOWN, UNKNOWN, UNKNOWN, "inside"); /* gone already */
    close_it("d", at);
    if (chdir("/") != 0)
        abort();
    ON(rmdir, "d", UNKNOWN, UNKNOWN, UNKNOWN, path("d"));
    ON(mkdirat, "e", UNKNOWN, UNKNOWN, UNKNOWN, AT_FDCWD, path("e"), 0755);
    ON(unlinkat, "e", UNKNOWN, UNKNOWN, UNKNOWN, AT_FDCWD, path("e"), AT_REMOVEDIR);
}

static void *thread_main(void *context)
{
    char name[16];
    snprintf(name, sizeof name, "thread%ld", (long)(intptr_t)context);
    int fd = open_it(name, O_CREAT | O_RDWR);
    for (int i = 0; i < 500; i++) {
        ON(pwrite64, name, fd, 100L * i, 100, fd, bytes, 100, 100L * i);
        ON(pread64, name, fd, 10L * i, 10, fd, bytes, 10, 10L * i);
    }
    close_it(name, fd);
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
    int fd = open_it("shared", O_CREAT | O_RDWR);
    ON(write, "shared", fd, 0, 50, fd, bytes, 50);
    pid_t child = fork();
    if (child == 0) {
        act_count = 0;
        ON(write, "shared", fd, 50, 60, fd, bytes, 60); /* the position is shared */
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
    ON(read, "shared", fd, 110, 10, fd, bytes, 10);
    close_it("shared", fd);
}

/* io_uring by its system calls: one request at a time. */
struct ring {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_mask;
    struct io_uring_sqe *entries;
    struct io_uring_cqe *done;
};

static bool ring_open(struct ring *ring)
{
    struct io_uring_params params = {0};
    ring->fd = (int)syscall(SYS_io_uring_setup, 8, &params);
    if (ring->fd < 0)
        return false;
    size_t sq_size = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    size_t cq_size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    char *sq = mmap(NULL, sq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, cq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
    ring->entries = mmap(NULL, params.sq_entries * sizeof *ring->entries, PROT_READ | PROT_WRITE, MAP_SHARED,
                         ring->fd, IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || ring->entries == MAP_FAILED)
        return false;
    ring->sq_tail = (unsigned *)(void *)(sq + params.sq_off.tail);
    ring->sq_mask = (unsigned *)(void *)(sq + params.sq_off.ring_mask);
    ring->sq_array = (unsigned *)(void *)(sq + params.sq_off.array);
    ring->cq_head = (unsigned *)(void *)(cq + params.cq_off.head);
    ring->cq_mask = (unsigned *)(void *)(cq + params.cq_off.ring_mask);
    ring->done = (struct io_uring_cqe *)(void *)(cq + params.cq_off.cqes);
    return true;
}

static void ring_do(struct ring *ring, const char *call, int opcode, int fd, const void *address,
                    unsigned length, int64_t offset, int64_t size)
{
    unsigned tail = *ring->sq_tail, at = tail & *ring->sq_mask;
    ring->entries[at] = (struct io_uring_sqe){
        .opcode = (uint8_t)opcode,
        .fd = fd,
        .off = offset == UNKNOWN ? 0 : (uint64_t)offset,
        .addr = (uint64_t)(uintptr_t)address,
        .len = length,
    };
    ring->sq_array[at] = at;
    __atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        abort();
    unsigned head = *ring->cq_head;
    int result = ring->done[head & *ring->cq_mask].res;
    __atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
    note(call, "ring", fd, offset, size, result);
}

static void run_uring(void)
{
    struct ring ring;
    struct iovec two[2] = {{bytes, 100}, {bytes + 4096, 200}};
    int fd = open_it("ring", O_CREAT | O_RDWR);
    if (!ring_open(&ring))
        exit(77);
    ring_do(&ring, "io_uring:write", IORING_OP_WRITE, fd, bytes, 70000, 0, 70000);
    ring_do(&ring, "io_uring:writev", IORING_OP_WRITEV, fd, two, 2, 70000, 300);
    ring_do(&ring, "io_uring:fsync", IORING_OP_FSYNC, fd, NULL, 0, UNKNOWN, UNKNOWN);
    ring_do(&ring, "io_uring:read", IORING_OP_READ, fd, bytes, 5000, 300, 5000);
    ring_do(&ring, "io_uring:readv", IORING_OP_READV, fd, two, 2, 70100, 300);   /* 200 are left */
    ring_do(&ring, "io_uring:read", IORING_OP_READ, fd, bytes, 10, 1 << 20, 10); /* nothing there */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ring_do(&ring, "io_uring:read", IORING_OP_READ, fd, bytes, 4096, 0, 4096); /* from storage */
    close_it("ring", fd);
}

/* Reads one byte of each of 64 pages, not in memory before. */
static void run_faults(void)
{
    const size_t size = 64 * 4096;
    int fd = open_it("mapped", O_CREAT | O_RDWR);
    ON(write, "mapped", fd, 0, 262144, fd, bytes, size);
    ON(fsync, "mapped", fd, UNKNOWN, UNKNOWN, fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    note("mmap", "mapped", fd, 0, 262144, (int64_t)(intptr_t)map);
    madvise(map, size, MADV_RANDOM); /* no read-ahead: each page is read by itself */
    volatile char sum = 0;
    for (size_t i = 0; i < 64; i++)
        sum = (char)(sum + map[i * 4096]);
    munmap(map, size);
    close_it("mapped", fd);
}

/* First from storage, then from memory, then past it. */
static void run_cached(void)
{
    int fd = open_it("cold", O_CREAT | O_RDWR);
    ON(write, "cold", fd, 0, 1048576, fd, bytes, sizeof bytes);
    ON(fsync, "cold", fd, UNKNOWN, UNKNOWN, fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    ON(pread64, "cold", fd, 524288, 65536, fd, bytes, 65536, 524288L);
    ON(pread64, "cold", fd, 524288, 65536, fd, bytes, 65536, 524288L);
    ON(pread64, "cold", fd, 0, 4096, fd, bytes, 4096, 0L);
    close_it("cold", fd);
    fd = open_it("cold", O_RDONLY | O_DIRECT);
    ON(pread64, "cold", fd, 524288, 65536, fd, bytes, 65536, 524288L);
    close_it("cold", fd);
}

/* Waits for a byte of standard input with a file open, so that the trace can begin in between. */
static void run_waiting(void)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path("before"), O_CREAT | O_RDWR, 0644);
    char byte;
    if (write(fd, bytes, 10) != 10 || read(STDIN_FILENO, &byte, 1) != 1)
        abort();
    ON(write, "before", fd, 10, 30, fd, bytes, 30);
    ON(pread64, "before", fd, 0, 40, fd, bytes, 40, 0L);
    close_it("before", fd);
}

static void run_many(int count)
{
    int fd = open_it("many", O_CREAT | O_RDWR);
    ON(write, "many", fd, 0, 1000, fd, bytes, 1000);
    for (int i = 0; i < count; i++)
        ON(pread64, "many", fd, i % 1000, 1, fd, bytes, 1, (long)i % 1000);
    close_it("many", fd);
}

/* argv: program "act" WHAT FOLDER LOG. Files are made in FOLDER; the acts are written to LOG at the end. */
static int acts_main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    const char *what = argv[2];
    snprintf(folder, sizeof folder, "%s", argv[3]);
    memset(bytes, 1, sizeof bytes);
    if (strcmp(what, "calls") == 0) {
        read_and_write();
        open_and_name();
    } else if (strcmp(what, "threads") == 0)
        run_threads();
    else if (strcmp(what, "children") == 0)
        run_children(argv);
    else if (strcmp(what, "read") == 0) {
        int fd = open_it("shared", O_RDONLY);
        ON(read, "shared", fd, 0, 1000, fd, bytes, 1000);
        close_it("shared", fd);
    } else if (strcmp(what, "faults") == 0)
        run_faults();
    else if (strcmp(what, "cached") == 0)
        run_cached();
    else if (strcmp(what, "waiting") == 0)
        run_waiting();
    else if (strcmp(what, "many") == 0)
        run_many(20000);
    else if (strcmp(what, "seven") == 0)
        return 7;
    else if (strcmp(what, "uring") == 0)
        run_uring();
    else
        return 77;
    FILE *log = fopen(argv[4], "w");
    bool written = log && fwrite(acts, sizeof *acts, (size_t)act_count, log) == (size_t)act_count;
    return log && fclose(log) == 0 && written ? 0 : 1;
}

#endif
