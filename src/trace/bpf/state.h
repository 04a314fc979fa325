/* The state of the programs: the settings, the present call of each thread, and requests in flight. */
#ifndef REHEARSE_TRACE_BPF_STATE_H
#define REHEARSE_TRACE_BPF_STATE_H

#include "trace/bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "trace/capture/record.h"

#define AT_FDCWD      (-100)
#define TYPE_MASK     0170000
#define TYPE_BLOCK    0060000
#define TYPE_REGULAR  0100000
#define FAULT_WRITE   2  /* X86_PF_WRITE */
#define PR_SET_NAME   15 /* linux/prctl.h */
#define LOST_WRITE    1  /* TRACE_WRITE */
#define LOST_FAULT    6  /* TRACE_FAULT */
#define LOST_OFFCPU   16 /* TRACE_OFFCPU */
#define MAPPING_FLAGS 3  /* low bits of page->mapping: not a file's */
#define MAX_PATH      4096
#define MAX_NAME      256
#define MAX_DEPTH     48 /* names of a path */
#define MAX_TEXT      16384
#define REQUESTS      65536
#define REQ_OP_MASK   255
#define REQ_OP_WRITE  1
#define MAX_VECTORS   1024 /* UIO_MAXIOV */
#define MAX_EVENTS    1024 /* of one io_submit or io_getevents */
#define MAX_GROUPS    64   /* a control group and those above it */

/* Set before the programs are loaded. */
const volatile int scope;
const volatile __u64 old_group; /* id of a control group of version 1; 0: `cgroups` has one of version 2 */
const volatile __u32 old_controller; /* number of a controller of its hierarchy */
const volatile __u32 own_pid;        /* the tracer's, never traced */
const volatile __u32 page_bits = 12;
const volatile __u32 direct_flag; /* O_DIRECT */
const volatile __u32 head_flag;   /* 1 << PG_head */
const volatile struct capture_shape shapes[CAPTURE_CALLS];
const volatile struct capture_shape opcodes[CAPTURE_OPCODES];

/* A system call or a request in progress. */
struct call {
    __u64 start; /* 0: no call that is recorded */
    __u64 file, inode;
    __u32 device, mode, flags; /* 0: the file is not known yet */
    __u32 number;
    __u32 missed; /* a page that is read had to be added to the page cache */
    __s32 fd;     /* of a request */
    __s64 offset, size;
};

/* The state of a thread. */
struct thread {
    struct call call;
    __u64 arguments[8]; /* six; a power of two for the verifier */
    __s64 position;     /* of the file, when the call began */
    __u64 request;      /* the last io_uring request it began */
    __u64 left;         /* when it left the processor; 0: it has not */
    __u32 left_state;
    __u32 fault_writes, fault_missed;
    __u32 fault_device;
    __u64 fault_start;
    __u64 fault_last;   /* time of the last page-cache lookup of its page; 0: none */
    __u64 fault_mapped; /* when pages were mapped without that; 0: they were not */
    __u64 fault_inode, fault_offset, fault_size;
};

/* A submitted request that has not ended. */
struct pending {
    struct call call;
    __u32 pid, tid;
};

struct pending_key {
    __u64 request; /* of io_uring: in the kernel; of io_submit: the process's struct iocb */
    __u64 pid;     /* of io_uring: 0 */
};

struct inode_key {
    __u64 inode;
    __u64 device;
};

struct block {
    __u64 start, issue;
    __u64 inode, sector, bytes;
    __u32 device, operation, pid, tid, cause, unused;
};

struct scratch {
    struct capture_record record;
    char text[MAX_TEXT + MAX_PATH];
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 26); /* set by user space */
} records SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} cgroups SEC(".maps");

/* With CAPTURE_TREE, a thread is traced if it has an entry. Children inherit it. */
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, REQUESTS);
    __type(key, struct pending_key);
    __type(value, struct pending);
} pendings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, REQUESTS);
    __type(key, __u64);
    __type(value, struct block);
} blocks SEC(".maps");

/* The last writer of each file: write-back is attributed to it. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct inode_key);
    __type(value, __u32);
} writers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, CAPTURE_LOST_KINDS);
    __type(key, __u32);
    __type(value, __u64);
} lost SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline void count_lost(__u32 what)
{
    __u64 *count = bpf_map_lookup_elem(&lost, &what);
    if (count)
        *count += 1;
}

/* Returns room for a record; NULL and a lost record if there is none. */
static __always_inline struct capture_record *new_record(__u32 counter)
{
    struct capture_record *record = bpf_ringbuf_reserve(&records, sizeof(struct capture_record), 0);
    if (!record)
        count_lost(counter);
    return record;
}

static __always_inline struct thread *new_thread(struct task_struct *task)
{
    struct thread *thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread)
        count_lost(CAPTURE_LOST_STATE);
    return thread;
}

/* Returns whether this thread is in the control group of version 1 or in one below it. */
__noinline int in_old_group(void)
{
    if (!bpf_core_field_exists(struct task_struct, cgroups))
        return 0; /* a kernel without control groups, which checks this function all the same */
    struct css_set *set = BPF_CORE_READ(bpf_get_current_task_btf(), cgroups);
    struct cgroup_subsys_state *at = NULL;
    bpf_probe_read_kernel(&at, sizeof at,
                          (void **)((char *)set + bpf_core_field_offset(struct css_set, subsys)) +
                              old_controller);
    for (int i = 0; i < MAX_GROUPS && at; i++) {
        if (BPF_CORE_READ(at, cgroup, kn, id) == old_group)
            return 1;
        at = BPF_CORE_READ(at, parent);
    }
    return 0;
}

static __always_inline bool in_group(void)
{
    return old_group ? in_old_group() : bpf_current_task_under_cgroup(&cgroups, 0) == 1;
}

/* Returns the state of this thread; NULL if it is not traced. Each program calls it first, for all
 * processes of the machine, so it must be quick for those that are not traced. */
static __always_inline struct thread *traced(struct task_struct *task)
{
    struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (scope == CAPTURE_TREE) {
        /* a thread that was there before the trace began belongs to its process */
        if (thread || !bpf_task_storage_get(&threads, task->group_leader, NULL, 0))
            return thread;
    } else {
        if (task->tgid == own_pid || (scope == CAPTURE_CGROUP && !in_group()))
            return NULL;
        if (thread)
            return thread;
    }
    return new_thread(task);
}

#endif
