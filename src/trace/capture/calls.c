#include "trace/capture/calls.h"

#include "trace/store/store.h"

#include <sys/syscall.h>

#define NO CAPTURE_NO

/* Arguments are counted from 0: fd, size, offset, path, folder of it, second path, folder of that. */
#define CALL(name, class, flags, fd, size, offset, path, dir, path2, dir2)                                   \
    {                                                                                                        \
#name, SYS_##name,                                                                                   \
        {                                                                                                    \
            CAPTURE_KNOWN | (flags), class, fd, size, offset, NO, NO, path, dir, path2, dir2                 \
        }                                                                                                    \
    }
/* A call that copies: file and offset of the source, file and offset of the target, size. */
#define COPY(name, fd, offset, fd2, offset2, size)                                                           \
    {                                                                                                        \
#name, SYS_##name,                                                                                   \
        {                                                                                                    \
            CAPTURE_KNOWN | CAPTURE_READS | CAPTURE_COPIES, TRACE_READ, fd, size, offset, fd2, offset2, NO,  \
                NO, NO, NO                                                                                   \
        }                                                                                                    \
    }
#define ON_FD(name, class, flags, size, offset) CALL(name, class, flags, 0, size, offset, NO, NO, NO, NO)
#define ON_PATH(name, class, size)              CALL(name, class, 0, NO, size, NO, 0, NO, NO, NO)
#define ON_PATH_AT(name, class)                 CALL(name, class, 0, NO, NO, NO, 1, 0, NO, NO)

static const struct capture_call calls[] = {
    ON_FD(read, TRACE_READ, CAPTURE_READS | CAPTURE_POSITION, 2, NO),
    ON_FD(pread64, TRACE_READ, CAPTURE_READS, 2, 3),
    ON_FD(readv, TRACE_READ, CAPTURE_READS | CAPTURE_POSITION | CAPTURE_VECTOR, 2, NO),
    ON_FD(preadv, TRACE_READ, CAPTURE_READS | CAPTURE_VECTOR, 2, 3),
    ON_FD(preadv2, TRACE_READ, CAPTURE_READS | CAPTURE_VECTOR, 2, 3),
    ON_FD(write, TRACE_WRITE, CAPTURE_WRITES | CAPTURE_POSITION, 2, NO),
    ON_FD(pwrite64, TRACE_WRITE, CAPTURE_WRITES, 2, 3),
    ON_FD(writev, TRACE_WRITE, CAPTURE_WRITES | CAPTURE_POSITION | CAPTURE_VECTOR, 2, NO),
    ON_FD(pwritev, TRACE_WRITE, CAPTURE_WRITES | CAPTURE_VECTOR, 2, 3),
    ON_FD(pwritev2, TRACE_WRITE, CAPTURE_WRITES | CAPTURE_VECTOR, 2, 3),
    COPY(sendfile, 1, 2, 0, NO, 3),
    COPY(splice, 0, 1, 2, 3, 4),
    COPY(copy_file_range, 0, 1, 2, 3, 4),
    CALL(io_submit, TRACE_OTHER, CAPTURE_SUBMITS, NO, NO, NO, NO, NO, NO, NO),
    CALL(io_getevents, TRACE_OTHER, CAPTURE_REAPS, NO, NO, NO, NO, NO, NO, NO),
    CALL(io_pgetevents, TRACE_OTHER, CAPTURE_REAPS, NO, NO, NO, NO, NO, NO, NO),
    CALL(prctl, TRACE_OTHER, CAPTURE_NAMES, NO, NO, NO, NO, NO, NO, NO),
    CALL(process_vm_readv, TRACE_OTHER, CAPTURE_VECTOR, NO, 2, NO, NO, NO, NO, NO),
    CALL(process_vm_writev, TRACE_OTHER, CAPTURE_VECTOR, NO, 2, NO, NO, NO, NO, NO),
    CALL(openat, TRACE_OPEN, CAPTURE_OPENS, NO, NO, NO, 1, 0, NO, NO),
    CALL(openat2, TRACE_OPEN, CAPTURE_OPENS, NO, NO, NO, 1, 0, NO, NO),
    ON_FD(close, TRACE_CLOSE, 0, NO, NO),
    ON_FD(fsync, TRACE_SYNC, 0, NO, NO),
    ON_FD(fdatasync, TRACE_SYNC, 0, NO, NO),
    ON_FD(syncfs, TRACE_SYNC, 0, NO, NO),
    ON_FD(sync_file_range, TRACE_SYNC, 0, 2, 1),
    CALL(msync, TRACE_SYNC, 0, NO, 1, NO, NO, NO, NO, NO),
    CALL(mmap, TRACE_MMAP, CAPTURE_MAPS, 4, 1, 5, NO, NO, NO, NO),
    ON_FD(lseek, TRACE_SEEK, 0, NO, 1),
    ON_FD(ftruncate, TRACE_TRUNCATE, 0, 1, NO),
    ON_PATH(truncate, TRACE_TRUNCATE, 1),
    ON_FD(fallocate, TRACE_OTHER, 0, 3, 2),
    ON_FD(fadvise64, TRACE_OTHER, 0, 2, 1),
    ON_FD(readahead, TRACE_OTHER, 0, 2, 1),
    ON_FD(getdents64, TRACE_OTHER, 0, 2, NO),
    ON_FD(fstat, TRACE_STAT, 0, NO, NO),
    ON_PATH_AT(newfstatat, TRACE_STAT),
    ON_PATH_AT(statx, TRACE_STAT),
    ON_PATH_AT(faccessat, TRACE_STAT),
    ON_PATH_AT(faccessat2, TRACE_STAT),
    ON_PATH_AT(unlinkat, TRACE_UNLINK),
    ON_PATH_AT(mkdirat, TRACE_MKDIR),
    ON_PATH_AT(readlinkat, TRACE_OTHER),
    CALL(renameat2, TRACE_RENAME, 0, NO, NO, NO, 1, 0, 3, 2),
    CALL(linkat, TRACE_CREATE, 0, NO, NO, NO, 1, 0, 3, 2),
    CALL(symlinkat, TRACE_CREATE, 0, NO, NO, NO, 2, 1, NO, NO),
#ifdef SYS_open /* not on processors younger than the calls with …at */
    CALL(open, TRACE_OPEN, CAPTURE_OPENS, NO, NO, NO, 0, NO, NO, NO),
    CALL(creat, TRACE_CREATE, CAPTURE_OPENS, NO, NO, NO, 0, NO, NO, NO),
    ON_PATH(stat, TRACE_STAT, NO),
    ON_PATH(lstat, TRACE_STAT, NO),
    ON_PATH(access, TRACE_STAT, NO),
    ON_PATH(unlink, TRACE_UNLINK, NO),
    ON_PATH(mkdir, TRACE_MKDIR, NO),
    ON_PATH(rmdir, TRACE_RMDIR, NO),
    ON_PATH(readlink, TRACE_OTHER, NO),
    CALL(rename, TRACE_RENAME, 0, NO, NO, NO, 0, NO, 1, NO),
    CALL(link, TRACE_CREATE, 0, NO, NO, NO, 0, NO, 1, NO),
    CALL(symlink, TRACE_CREATE, 0, NO, NO, NO, 1, NO, NO, NO),
#endif
#ifdef SYS_renameat
    CALL(renameat, TRACE_RENAME, 0, NO, NO, NO, 1, 0, 3, 2),
#endif
};

const struct capture_call *capture_calls(size_t *count)
{
    *count = sizeof calls / sizeof *calls;
    return calls;
}

/* linux/io_uring.h; numbers never change. Arguments: 0 fd, 1 off, 2 addr, 3 len. */
#define OPCODE(number, name, class, flags, fd, size, offset, path, dir, path2, dir2)                         \
    {                                                                                                        \
        name, number,                                                                                        \
        {                                                                                                    \
            CAPTURE_KNOWN | (flags), class, fd, size, offset, NO, NO, path, dir, path2, dir2                 \
        }                                                                                                    \
    }
#define URING(number, name, class, flags, size, offset)                                                      \
    OPCODE(number, "io_uring:" name, class, flags, 0, size, offset, NO, NO, NO, NO)
#define URING_AT(number, name, class, flags)                                                                 \
    OPCODE(number, "io_uring:" name, class, flags, NO, NO, NO, 2, 0, NO, NO)
#define URING_TWO(number, name, class) OPCODE(number, "io_uring:" name, class, 0, NO, NO, NO, 2, 0, 1, 3)

/* linux/aio_abi.h. Arguments: 0 aio_fildes, 1 aio_offset, 2 aio_buf, 3 aio_nbytes. */
#define AIO(number, name, class, flags, size, offset)                                                        \
    OPCODE(CAPTURE_AIO + (number), "io_submit:" name, class, flags, 0, size, offset, NO, NO, NO, NO)

static const struct capture_call opcodes[] = {
    URING(1, "readv", TRACE_READ, CAPTURE_READS | CAPTURE_VECTOR, 3, 1),
    URING(2, "writev", TRACE_WRITE, CAPTURE_WRITES | CAPTURE_VECTOR, 3, 1),
    URING(3, "fsync", TRACE_SYNC, 0, NO, NO),
    URING(4, "read_fixed", TRACE_READ, CAPTURE_READS, 3, 1),
    URING(5, "write_fixed", TRACE_WRITE, CAPTURE_WRITES, 3, 1),
    URING(8, "sync_file_range", TRACE_SYNC, 0, 3, 1),
    URING(17, "fallocate", TRACE_OTHER, 0, 2, 1),
    URING_AT(18, "openat", TRACE_OPEN, CAPTURE_OPENS),
    URING(19, "close", TRACE_CLOSE, 0, NO, NO),
    URING_AT(21, "statx", TRACE_STAT, 0),
    URING(22, "read", TRACE_READ, CAPTURE_READS, 3, 1),
    URING(23, "write", TRACE_WRITE, CAPTURE_WRITES, 3, 1),
    URING(24, "fadvise", TRACE_OTHER, 0, 3, 1),
    URING_AT(28, "openat2", TRACE_OPEN, CAPTURE_OPENS),
    URING_TWO(35, "renameat", TRACE_RENAME),
    URING_AT(36, "unlinkat", TRACE_UNLINK, 0),
    URING_AT(37, "mkdirat", TRACE_MKDIR, 0),
    OPCODE(38, "io_uring:symlinkat", TRACE_CREATE, 0, NO, NO, NO, 1, 0, NO, NO),
    URING_TWO(39, "linkat", TRACE_CREATE),
    URING(55, "ftruncate", TRACE_TRUNCATE, 0, 1, NO),
    URING(60, "readv_fixed", TRACE_READ, CAPTURE_READS | CAPTURE_VECTOR, 3, 1),
    URING(61, "writev_fixed", TRACE_WRITE, CAPTURE_WRITES | CAPTURE_VECTOR, 3, 1),
    AIO(0, "read", TRACE_READ, CAPTURE_READS, 3, 1),
    AIO(1, "write", TRACE_WRITE, CAPTURE_WRITES, 3, 1),
    AIO(2, "fsync", TRACE_SYNC, 0, NO, NO),
    AIO(3, "fdatasync", TRACE_SYNC, 0, NO, NO),
    AIO(7, "readv", TRACE_READ, CAPTURE_READS | CAPTURE_VECTOR, 3, 1),
    AIO(8, "writev", TRACE_WRITE, CAPTURE_WRITES | CAPTURE_VECTOR, 3, 1),
};

const struct capture_call *capture_opcodes(size_t *count)
{
    *count = sizeof opcodes / sizeof *opcodes;
    return opcodes;
}
