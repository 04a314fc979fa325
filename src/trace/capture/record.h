/* Records that the programs in the kernel send to capture.c through the ring buffer. Both sides include
 * this file, so it has no other include: the programs have their integer types from bpf/kernel.h, the rest
 * from linux/types.h. */
#ifndef REHEARSE_TRACE_CAPTURE_RECORD_H
#define REHEARSE_TRACE_CAPTURE_RECORD_H

enum capture_scope { CAPTURE_TREE, CAPTURE_CGROUP, CAPTURE_SYSTEM };

enum capture_kind {
    CAPTURE_CALL,    /* a system call ended */
    CAPTURE_FAULT,   /* a page fault on a file ended */
    CAPTURE_REQUEST, /* a request to io_uring or io_submit ended */
    CAPTURE_NAMED,   /* the paths of a request to io_uring that begins; file: the request */
    CAPTURE_BLOCK,   /* a request to a disk ended: struct capture_block */
    CAPTURE_FORK,    /* process `tid` was forked from `pid`; text: its name */
    CAPTURE_EXEC,    /* text: file, name, command line with a NUL after each word */
    CAPTURE_EXIT,    /* a process ended; result: as wait() has it */
    CAPTURE_NAME,    /* a thread gave itself a name, which is the text */
    CAPTURE_OFFCPU   /* a thread was off the processor; result: its state, 0: it could have run */
};

/* The arguments of a system call are given by their numbers, or CAPTURE_NO. */
#define CAPTURE_NO (-1)

enum {
    CAPTURE_POSITION = 1,  /* offset is the file's position */
    CAPTURE_READS = 2,     /* may hit the page cache */
    CAPTURE_WRITES = 4,    /* makes pages dirty */
    CAPTURE_OPENS = 8,     /* the result is a file descriptor */
    CAPTURE_MAPS = 16,     /* is nothing without a file */
    CAPTURE_VECTOR = 32,   /* size is the number of struct iovec, and they are the argument before it */
    CAPTURE_COPIES = 64,   /* from `fd` to `fd2`; offsets are addresses of them, 0: the position */
    CAPTURE_KNOWN = 128,   /* this entry of the table is used */
    CAPTURE_SUBMITS = 256, /* io_submit */
    CAPTURE_REAPS = 512,   /* io_getevents */
    CAPTURE_NAMES = 1024   /* prctl */
};

struct capture_shape {
    __u16 flags;
    __u8 lost; /* which counter, if there is no room */
    __s8 fd, size, offset;
    __s8 fd2, offset2; /* where data is copied to */
    __s8 path, dir;    /* a path, and the descriptor of the folder that it is relative to */
    __s8 path2, dir2;  /* rename and link have two */
};

#define CAPTURE_CALLS   512 /* numbers of system calls below this */
#define CAPTURE_OPCODES 128 /* of io_uring, and from CAPTURE_AIO on of io_submit */
#define CAPTURE_AIO     64
#define CAPTURE_TEXTS   4

/* Counters of lost events: 0…23 are enum trace_class. */
enum { CAPTURE_LOST_BLOCK = 24, CAPTURE_LOST_PROCESS, CAPTURE_LOST_STATE, CAPTURE_LOST_KINDS = 32 };

#define CAPTURE_NOWHERE (-0x7fffffffffffffffLL - 1) /* TRACE_NONE of store.h */

/* A path consists of the text as given and the names from its folder up to the root, each with a NUL.
 * texts: given, folder, second given, second folder. */
struct capture_record {
    __u32 kind;
    __u16 number; /* of the system call; opcode of io_uring; of a fault: 1 when it writes */
    __u8 cached;  /* 0, 1, 2: not known */
    __u8 part;    /* 1: the copy's target; of a request: CAPTURE_NAMED had its paths */
    __u32 pid, tid;
    __u64 start, latency; /* ns of CLOCK_MONOTONIC */
    __u64
        file; /* address of the kernel's struct file, which identifies an open file; or of a named request */
    __u64 inode;
    __u32 device, mode; /* dev_t of the kernel; st_mode */
    __s32 fd;
    __s32 unused2;
    __s64 offset, size, result;
    __u16 texts[CAPTURE_TEXTS]; /* bytes of each; they follow the record */
};

struct capture_block {
    __u32 kind;
    __u32 operation; /* REQ_OP_… */
    __u32 pid, tid;  /* the process that submitted it */
    __u64 start, queue, service;
    __u64 sector, bytes;
    __u64 inode; /* of the file whose pages it moves; 0: not known */
    __u32 device, disk;
    __u32 cause; /* pid of the process behind it; 0: unknown */
    __s32 result;
};

#endif
