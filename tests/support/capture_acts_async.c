/* Requests that end later: io_uring and io_submit, by their system calls. */
#include "support/capture_acts.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

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

/* One request, until it has ended. */
static int64_t ring_wait(struct ring *ring, struct io_uring_sqe entry)
{
    unsigned tail = *ring->sq_tail, at = tail & *ring->sq_mask;
    ring->entries[at] = entry;
    ring->sq_array[at] = at;
    __atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        abort();
    unsigned head = *ring->cq_head;
    int result = ring->done[head & *ring->cq_mask].res;
    __atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
    return result;
}

static void ring_do(struct ring *ring, const char *call, int opcode, int fd, const void *address,
                    unsigned length, int64_t offset, int64_t size)
{
    int64_t result = ring_wait(ring, (struct io_uring_sqe){
                                         .opcode = (uint8_t)opcode,
                                         .fd = fd,
                                         .off = offset == UNKNOWN ? 0 : (uint64_t)offset,
                                         .addr = (uint64_t)(uintptr_t)address,
                                         .len = length,
                                     });
    act_note(call, "ring", fd, offset, size, result);
}

/* Reading and writing, in every way there is. */
static void ring_data(struct ring *ring)
{
    struct iovec two[2] = {{act_bytes, 100}, {act_bytes + 4096, 200}}, all = {act_bytes, sizeof act_bytes};
    int fd = act_open("ring", O_CREAT | O_RDWR);
    ring_do(ring, "io_uring:write", IORING_OP_WRITE, fd, act_bytes, 70000, 0, 70000);
    ring_do(ring, "io_uring:writev", IORING_OP_WRITEV, fd, two, 2, 70000, 300);
    ring_do(ring, "io_uring:fsync", IORING_OP_FSYNC, fd, NULL, 0, UNKNOWN, UNKNOWN);
    ring_do(ring, "io_uring:read", IORING_OP_READ, fd, act_bytes, 5000, 300, 5000);
    ring_do(ring, "io_uring:readv", IORING_OP_READV, fd, two, 2, 70100, 300);       /* 200 are left */
    ring_do(ring, "io_uring:read", IORING_OP_READ, fd, act_bytes, 10, 1 << 20, 10); /* nothing there */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ring_do(ring, "io_uring:read", IORING_OP_READ, fd, act_bytes, 4096, 0, 4096); /* from storage */
    const struct io_uring_sqe at_position = {
        .opcode = IORING_OP_READ, .fd = fd, .off = UINT64_MAX, .addr = (uintptr_t)act_bytes, .len = 20};
    for (int i = 0; i < 2; i++)
        act_note("io_uring:read", "ring", fd, 20 * i, 20, ring_wait(ring, at_position));
    if (syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, &all, 1) == 0) {
        ring_do(ring, "io_uring:write_fixed", IORING_OP_WRITE_FIXED, fd, act_bytes, 900, 80000, 900);
        ring_do(ring, "io_uring:read_fixed", IORING_OP_READ_FIXED, fd, act_bytes, 800, 80000, 800);
    }
    if (syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_FILES, &fd, 1) == 0) {
        struct io_uring_sqe registered = at_position;
        registered.fd = 0; /* its place among the registered */
        registered.flags = IOSQE_FIXED_FILE;
        registered.off = 500;
        act_note("io_uring:read", "ring", 0, 500, 20, ring_wait(ring, registered));
    }
    ring_do(ring, "io_uring:fallocate", IORING_OP_FALLOCATE, fd, (void *)4096, 0, 90000, 4096);
    ring_do(ring, "io_uring:sync_file_range", IORING_OP_SYNC_FILE_RANGE, fd, NULL, 4096, 8192, 4096);
    ring_do(ring, "io_uring:fadvise", IORING_OP_FADVISE, fd, NULL, 1000, 3000, 1000);
    ring_do(ring, "io_uring:close", IORING_OP_CLOSE, fd, NULL, 0, UNKNOWN, UNKNOWN);
}

/* A request on paths: the second one, and what it is relative to, lie in `off` and `len`. */
static int64_t ring_path(struct ring *ring, int opcode, int at, const char *path, const void *second,
                         unsigned length, unsigned flags)
{
    return ring_wait(ring, (struct io_uring_sqe){
                               .opcode = (uint8_t)opcode,
                               .fd = at,
                               .addr = (uint64_t)(uintptr_t)path,
                               .off = (uint64_t)(uintptr_t)second,
                               .len = length,
                               .open_flags = flags,
                           });
}

static void ring_names(struct ring *ring)
{
    struct open_how how = {.flags = O_RDONLY};
    struct statx info;
    const unsigned here = (unsigned)AT_FDCWD;
    int64_t result = ring_path(ring, IORING_OP_MKDIRAT, AT_FDCWD, act_path("r"), NULL, 0755, 0);
    act_note("io_uring:mkdirat", "r", UNKNOWN, UNKNOWN, UNKNOWN, result);
    int at = act_open("r", O_RDONLY | O_DIRECTORY);
    int fd = (int)ring_path(ring, IORING_OP_OPENAT, at, "one", NULL, 0644, O_CREAT | O_RDWR);
    act_note("io_uring:openat", "r/one", fd, UNKNOWN, UNKNOWN, fd);
    ON(pwrite64, "r/one", fd, 3, 30, fd, act_bytes, 30, 3L); /* its path is known from then on */
    result = ring_path(ring, IORING_OP_OPENAT, at, "none", NULL, 0, O_RDONLY);
    act_note("io_uring:openat", "r/none", UNKNOWN, UNKNOWN, UNKNOWN, result);
    act_note("io_uring:close", "r/one", fd, UNKNOWN, UNKNOWN,
             ring_path(ring, IORING_OP_CLOSE, fd, NULL, NULL, 0, 0));
    fd = (int)ring_path(ring, IORING_OP_OPENAT2, at, "one", &how, sizeof how, 0);
    act_note("io_uring:openat2", "r/one", fd, UNKNOWN, UNKNOWN, fd);
    act_close("r/one", fd);
    result = ring_path(ring, IORING_OP_STATX, at, "one", &info, STATX_SIZE, 0);
    act_note("io_uring:statx", "r/one", UNKNOWN, UNKNOWN, UNKNOWN, result);
    result = ring_path(ring, IORING_OP_RENAMEAT, at, "one", act_path("r/two"), here, 0);
    act_note("io_uring:renameat", "r/one", UNKNOWN, UNKNOWN, UNKNOWN, result);
    act_note("new_name", "r/two", UNKNOWN, UNKNOWN, UNKNOWN, result);
    result = ring_path(ring, IORING_OP_LINKAT, at, "two", "three", (unsigned)at, 0);
    act_note("io_uring:linkat", "r/two", UNKNOWN, UNKNOWN, UNKNOWN, result);
    act_note("new_name", "r/three", UNKNOWN, UNKNOWN, UNKNOWN, result);
    result = ring_path(ring, IORING_OP_SYMLINKAT, at, "anywhere", "four", 0, 0);
    act_note("io_uring:symlinkat", "r/four", UNKNOWN, UNKNOWN, UNKNOWN, result);
    static const char *const names[] = {"two", "three", "four", "four"}; /* the last is gone already */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[16];
        snprintf(name, sizeof name, "r/%s", names[i]);
        result = ring_path(ring, IORING_OP_UNLINKAT, at, names[i], NULL, 0, 0);
        act_note("io_uring:unlinkat", name, UNKNOWN, UNKNOWN, UNKNOWN, result);
    }
    act_close("r", at);
    result = ring_path(ring, IORING_OP_UNLINKAT, AT_FDCWD, act_path("r"), NULL, 0, AT_REMOVEDIR);
    act_note("io_uring:unlinkat", "r", UNKNOWN, UNKNOWN, UNKNOWN, result);
}

bool act_uring(void)
{
    struct ring ring;
    if (!ring_open(&ring))
        return false;
    ring_data(&ring);
    ring_names(&ring);
    return true;
}

/* ---- io_submit ---- */

static struct iocb request_of(int opcode, int fd, const void *address, int64_t length, int64_t offset)
{
    return (struct iocb){
        .aio_lio_opcode = (uint16_t)opcode,
        .aio_fildes = (uint32_t)fd,
        .aio_buf = (uint64_t)(uintptr_t)address,
        .aio_nbytes = (uint64_t)length,
        .aio_offset = offset,
    };
}

static int64_t aio_wait(aio_context_t context, struct iocb *request)
{
    struct io_event event;
    long submitted = syscall(SYS_io_submit, context, 1L, &request);
    if (submitted != 1)
        return act_result(submitted);
    if (syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL) != 1)
        abort();
    return event.res;
}

/* Both together, and the kernel takes only the first: the second has no such file. */
static void aio_half(aio_context_t context, int fd)
{
    struct iocb good = request_of(IOCB_CMD_PREAD, fd, act_bytes, 512, 1024), bad = good;
    struct iocb *list[] = {&good, &bad};
    struct io_event event;
    bad.aio_fildes = 9999;
    if (syscall(SYS_io_submit, context, 2L, list) != 1 ||
        syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL) != 1)
        abort();
    act_note("io_submit:read", "aio", fd, 1024, 512, event.res);
    bad.aio_fildes = (uint32_t)fd; /* its place in memory is not taken for the other one's */
    act_note("io_submit:read", "aio", fd, 1024, 512, aio_wait(context, &bad));
}

/* Past the page cache, in every way there is: 65536 bytes are written to and read from each of five files. */
bool act_direct(void)
{
    static const char *const names[] = {"plain", "ring", "aio", "both-1", "both-2"};
    enum { SIZE = 65536, PLAIN = 0, RING, AIO, BOTH, FILES = 5 };
    struct ring ring;
    aio_context_t context = 0;
    int fds[FILES];
    if (!ring_open(&ring) || syscall(SYS_io_setup, 8L, &context) != 0)
        return false;
    for (int i = 0; i < FILES; i++) {
        fds[i] = act_open(names[i], O_CREAT | O_RDWR | O_DIRECT);
        if (fds[i] < 0 || fallocate(fds[i], 0, 0, SIZE) != 0)
            return false;
    }
    for (int reads = 0; reads < 2; reads++) {
        struct iocb requests[3], *list[3];
        struct io_event events[3];
        if (syscall(reads ? SYS_pread64 : SYS_pwrite64, fds[PLAIN], act_bytes, (long)SIZE, 0L) != SIZE)
            return false;
        ring_do(&ring, "io_uring", reads ? IORING_OP_READ : IORING_OP_WRITE, fds[RING], act_bytes, SIZE, 0,
                SIZE);
        for (int i = 0; i < 3; i++) {
            requests[i] =
                request_of(reads ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE, fds[AIO + i], act_bytes, SIZE, 0);
            list[i] = &requests[i];
        }
        if (aio_wait(context, list[0]) != SIZE || syscall(SYS_io_submit, context, 2L, list + 1) != 2 ||
            syscall(SYS_io_getevents, context, 2L, 2L, events, NULL) != 2)
            return false;
    }
    syscall(SYS_io_destroy, context);
    return true;
}

bool act_aio(void)
{
    aio_context_t context = 0;
    struct iovec two[2] = {{act_bytes, 100}, {act_bytes + 4096, 200}};
    if (syscall(SYS_io_setup, 8L, &context) != 0)
        return false;
    int fd = act_open("aio", O_CREAT | O_RDWR);
    struct iocb request = request_of(IOCB_CMD_PWRITE, fd, act_bytes, 65536, 0);
    act_note("io_submit:write", "aio", fd, 0, 65536, aio_wait(context, &request));
    request = request_of(IOCB_CMD_PWRITEV, fd, two, 2, 65536);
    act_note("io_submit:writev", "aio", fd, 65536, 300, aio_wait(context, &request));
    request = request_of(IOCB_CMD_FSYNC, fd, NULL, 0, 0);
    act_note("io_submit:fsync", "aio", fd, UNKNOWN, UNKNOWN, aio_wait(context, &request));
    request = request_of(IOCB_CMD_FDSYNC, fd, NULL, 0, 0);
    act_note("io_submit:fdatasync", "aio", fd, UNKNOWN, UNKNOWN, aio_wait(context, &request));
    request = request_of(IOCB_CMD_PREAD, fd, act_bytes, 4096, 61440 + 4000);
    act_note("io_submit:read", "aio", fd, 61440 + 4000, 4096, aio_wait(context, &request)); /* to the end */
    request = request_of(IOCB_CMD_PREADV, fd, two, 2, 50);
    act_note("io_submit:readv", "aio", fd, 50, 300, aio_wait(context, &request));
    aio_half(context, fd);
    act_close("aio", fd);
    fd = act_open("aio", O_RDWR | O_DIRECT);
    if (fd >= 0) {
        request = request_of(IOCB_CMD_PREAD, fd, act_bytes, 8192, 4096);
        act_note("io_submit:read", "aio", fd, 4096, 8192, aio_wait(context, &request));
        act_close("aio", fd);
    }
    syscall(SYS_io_destroy, context);
    return true;
}
