/* The programs in the kernel: what the chosen processes ask of files and disks, one record each.
 *
 * Tracepoints with BTF alone: no kprobes, no fentry, which some kernels are built without. A call is described by a table from
 * user space (struct capture_shape), so that nothing here knows a number of a system call. What a call needs until it
 * ends lies in storage of its thread; records go through one ring buffer, and what finds no room there is counted. */
#include "trace/bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "trace/capture_record.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL"; /* for the helpers that are GPL only */

#define AT_FDCWD      (-100)
#define TYPE_MASK     0170000
#define TYPE_BLOCK    0060000
#define TYPE_REGULAR  0100000
#define FAULT_WRITE   2  /* X86_PF_WRITE */
#define LOST_FAULT    6  /* TRACE_FAULT */
#define LOST_OFFCPU   16 /* TRACE_OFFCPU */
#define MAPPING_FLAGS 3  /* low bits of page->mapping: not a file's */
#define PATH_MOST     4096
#define NAME_MOST     256
#define DEPTH_MOST    48 /* names of a path */
#define TEXT_MOST     16384
#define PROCESSES     65536
#define REQUESTS      65536
#define REQ_OP_MASK   255
#define REQ_OP_WRITE  1
#define VECTORS_MOST  1024 /* UIO_MAXIOV */

/* Set before the programs are loaded. */
const volatile int scope;
const volatile __u32 own_pid; /* the tracer's, never traced */
const volatile __u32 page_bits = 12;
const volatile __u32 direct_flag; /* O_DIRECT */
const volatile __u32 head_flag;   /* 1 << PG_head */
const volatile struct capture_shape shapes[CAPTURE_CALLS];
const volatile struct capture_shape opcodes[CAPTURE_OPCODES];

/* What a thread is doing. */
struct thread {
    __u64 start; /* of the system call; 0: in none that counts */
    __u64 number;
    __u64 arguments[8]; /* six; a power of two for the verifier */
    __u64 file, inode;
    __u32 device, mode, flags;
    __u32 missed; /* a page of what is read had to be added to the page cache */
    __s64 position, offset, size;
    __u64 request; /* the last io_uring request it began */
    __u64 left;    /* when it left the processor; 0: it has not */
    __u32 left_state;
    __u32 fault_writes, fault_missed;
    __u32 fault_device;
    __u64 fault_start;
    __u64 fault_last; /* when the page cache was last asked for its page; 0: not yet */
    __u64 fault_inode, fault_offset;
};

struct uring {
    __u64 start;
    __u32 pid, tid;
    __s64 offset, size;
    __s32 fd;
    __u32 missed;
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
    char text[TEXT_MOST + PATH_MOST];
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 26); /* set by user space */
} records SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, PROCESSES);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, __u8);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} cgroups SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, REQUESTS);
    __type(key, __u64);
    __type(value, struct uring);
} urings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, REQUESTS);
    __type(key, __u64);
    __type(value, struct block);
} blocks SEC(".maps");

/* Who wrote to a file last: write-back is done for him. */
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

static __always_inline bool wanted(void)
{
    __u32 pid = bpf_get_current_pid_tgid() >> 32;
    if (pid == own_pid)
        return false;
    if (scope == CAPTURE_SYSTEM)
        return true;
    if (scope == CAPTURE_CGROUP)
        return bpf_current_task_under_cgroup(&cgroups, 0) == 1;
    return bpf_map_lookup_elem(&processes, &pid) != NULL;
}

static __always_inline struct thread *new_thread(struct task_struct *task)
{
    struct thread *thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread)
        count_lost(CAPTURE_LOST_STATE);
    return thread;
}

/* ---- files ---- */

static __always_inline struct file *file_of(struct task_struct *task, int fd)
{
    struct file *file = NULL;
    struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    if (fd < 0 || (__u32)fd >= BPF_CORE_READ(table, max_fds))
        return NULL;
    struct file **list = BPF_CORE_READ(table, fd);
    bpf_probe_read_kernel(&file, sizeof file, list + fd);
    return file;
}

static __always_inline void look_at(struct thread *thread, struct file *file)
{
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    thread->file = (__u64)file;
    thread->inode = BPF_CORE_READ(inode, i_ino);
    thread->device = BPF_CORE_READ(inode, i_sb, s_dev);
    thread->mode = BPF_CORE_READ(inode, i_mode);
}

static __always_inline bool has_position(__u32 mode)
{
    return (mode & TYPE_MASK) == TYPE_REGULAR || (mode & TYPE_MASK) == TYPE_BLOCK;
}

/* Functions that are not static are checked by the verifier once, not at each call. */

/* Sum of the lengths of `count` struct iovec. */
__noinline __u64 vector_size(__u64 address, __u64 count)
{
    struct {
        __u64 base, length;
    } vector;
    __u64 sum = 0;
    for (__u64 i = 0; i < VECTORS_MOST && i < count; i++)
        if (bpf_probe_read_user(&vector, sizeof vector, (void *)(address + i * sizeof vector)) == 0)
            sum += vector.length;
    return sum;
}

/* ---- paths ---- */

static __always_inline struct scratch *scratch_here(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&scratches, &zero);
}

/* Where text may go on: the compiler may not reuse an older comparison, which the verifier would not connect. */
static __always_inline char *place(struct scratch *scratch, __u64 at)
{
    asm volatile("" : "+r"(at));
    return scratch->text + (at & (TEXT_MOST - 1));
}

/* Adds the names from a struct path up to the root, nearest first, to the text from `at`, and returns its end. */
__noinline __u32 add_names(__u32 at, __u64 of)
{
    struct scratch *scratch = scratch_here();
    struct vfsmount *mounted = BPF_CORE_READ((struct path *)of, mnt);
    struct dentry *entry = BPF_CORE_READ((struct path *)of, dentry);
    if (!scratch)
        return at;
    for (int i = 0; i < DEPTH_MOST; i++) {
        if (entry == BPF_CORE_READ(mounted, mnt_root)) {
            struct mount *mount = (void *)mounted - bpf_core_field_offset(struct mount, mnt);
            struct mount *parent = BPF_CORE_READ(mount, mnt_parent);
            if (parent == mount)
                break;
            entry = BPF_CORE_READ(mount, mnt_mountpoint);
            mounted = (void *)parent + bpf_core_field_offset(struct mount, mnt);
            continue;
        }
        struct dentry *parent = BPF_CORE_READ(entry, d_parent);
        if (parent == entry || at >= TEXT_MOST)
            break;
        long length =
            bpf_probe_read_kernel_str(place(scratch, at), NAME_MOST, BPF_CORE_READ(entry, d_name.name));
        if (length > 0)
            at += length;
        entry = parent;
    }
    return at;
}

/* Adds a path as the program gave it. */
__noinline __u32 add_given(__u32 at, __u64 address)
{
    struct scratch *scratch = scratch_here();
    if (!scratch || at >= TEXT_MOST)
        return at;
    long length = bpf_probe_read_user_str(place(scratch, at), PATH_MOST, (void *)address);
    return length > 0 ? at + (__u32)length : at;
}

/* Adds the folder that the path which lies at `given` is relative to. */
__noinline __u32 add_folder(__u32 at, __u32 given, int fd)
{
    struct scratch *scratch = scratch_here();
    struct task_struct *task = bpf_get_current_task_btf();
    if (!scratch || (given < at && *place(scratch, given) == '/'))
        return at;
    if (fd == AT_FDCWD) {
        struct fs_struct *fs = BPF_CORE_READ(task, fs);
        return add_names(at, (__u64)__builtin_preserve_access_index(&fs->pwd));
    }
    struct file *file = file_of(task, fd);
    return file ? add_names(at, (__u64)__builtin_preserve_access_index(&file->f_path)) : at;
}

static __always_inline struct scratch *new_scratch(void)
{
    struct scratch *scratch = scratch_here();
    if (scratch)
        __builtin_memset(&scratch->record, 0, sizeof scratch->record);
    return scratch;
}

static __always_inline void send_scratch(struct scratch *scratch, __u64 text, __u32 counter)
{
    asm volatile("" : "+r"(text)); /* as in place() */
    if (text > TEXT_MOST + PATH_MOST ||
        bpf_ringbuf_output(&records, scratch, sizeof scratch->record + text, BPF_RB_NO_WAKEUP) != 0)
        count_lost(counter);
}

static __always_inline void note_writer(__u64 inode, __u32 device, __u32 pid)
{
    struct inode_key key = {inode, device};
    __u32 *writer = bpf_map_lookup_elem(&writers, &key);
    if (!writer || *writer != pid)
        bpf_map_update_elem(&writers, &key, &pid, BPF_ANY);
}

static __always_inline void send_fault(struct thread *thread, __u64 offset, __u64 size, __u64 end)
{
    __u64 id = bpf_get_current_pid_tgid();
    __u64 start = thread->fault_start ? thread->fault_start : end;
    struct capture_record *record = bpf_ringbuf_reserve(&records, sizeof(struct capture_record), 0);
    if (thread->fault_writes)
        note_writer(thread->fault_inode, thread->fault_device, id >> 32);
    thread->fault_last = 0;
    if (!record) {
        count_lost(LOST_FAULT);
        return;
    }
    __builtin_memset(record, 0, sizeof *record);
    record->kind = CAPTURE_FAULT;
    record->number = thread->fault_writes;
    record->cached = !thread->fault_missed;
    record->pid = id >> 32;
    record->tid = (__u32)id;
    record->start = start;
    record->latency = end - start;
    record->inode = thread->fault_inode;
    record->device = thread->fault_device;
    record->mode = TYPE_REGULAR;
    record->fd = -1;
    record->offset = offset;
    record->size = size;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void finish_fault(struct thread *thread)
{
    if (thread->fault_last)
        send_fault(thread, thread->fault_offset, 1ULL << page_bits, thread->fault_last);
}

/* ---- system calls ---- */

SEC("tp_btf/sys_enter")
int BPF_PROG(call_enter, struct pt_regs *regs, long number)
{
    if ((unsigned long)number >= CAPTURE_CALLS)
        return 0;
    const volatile struct capture_shape *shape = &shapes[number];
    __u8 flags = shape->flags;
    if (!(flags & CAPTURE_KNOWN) || !wanted())
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    struct thread *thread = new_thread(task);
    if (!thread)
        return 0;
    __u64 arguments[6] = ARGUMENTS(regs);
    for (int i = 0; i < 6; i++)
        thread->arguments[i] = arguments[i];
    finish_fault(thread);
    thread->number = number;
    thread->file = thread->inode = 0;
    thread->device = thread->mode = thread->flags = thread->missed = 0;
    thread->position = thread->offset = thread->size = CAPTURE_NOWHERE;
    if (shape->size >= 0)
        thread->size = thread->arguments[shape->size & 7];
    if (shape->offset >= 0)
        thread->offset = thread->arguments[shape->offset & 7];
    if (shape->fd >= 0) {
        struct file *file = file_of(task, (int)thread->arguments[shape->fd & 7]);
        if (file) {
            look_at(thread, file);
            thread->flags = BPF_CORE_READ(file, f_flags);
            if (has_position(thread->mode) && (flags & (CAPTURE_READS | CAPTURE_WRITES)))
                thread->position = BPF_CORE_READ(file, f_pos);
        } else if (flags & CAPTURE_MAPS)
            return 0; /* start stays 0: memory without a file */
    }
    if (flags & CAPTURE_VECTOR)
        thread->size = vector_size(thread->arguments[1], thread->size);
    /* preadv2 with -1 goes by the position, as read does */
    if ((flags & CAPTURE_POSITION) || ((flags & (CAPTURE_READS | CAPTURE_WRITES)) && thread->offset == -1))
        thread->offset = thread->position;
    thread->start = bpf_ktime_get_ns();
    return 0;
}

/* A write with O_APPEND begins elsewhere than the position said; so does one that waited for another thread's. */
static __always_inline void settle_offset(struct thread *thread, __u8 flags, __s64 result)
{
    if (!thread->file || thread->position == CAPTURE_NOWHERE || thread->offset != thread->position ||
        result <= 0)
        return;
    struct file *file = (struct file *)thread->file;
    __s64 after = BPF_CORE_READ(file, f_pos);
    if (after != thread->position && after - result != thread->position)
        thread->offset = after - result;
}

static __always_inline void fill_call(struct capture_record *record, struct thread *thread,
                                      const volatile struct capture_shape *shape, __u64 now, __s64 result)
{
    __u64 id = bpf_get_current_pid_tgid();
    record->kind = CAPTURE_CALL;
    record->number = thread->number;
    record->cached = 2;
    if ((shape->flags & CAPTURE_READS) && has_position(thread->mode) && result >= 0)
        record->cached = !(thread->flags & direct_flag) && !thread->missed;
    record->unused = 0;
    record->pid = id >> 32;
    record->tid = (__u32)id;
    record->start = thread->start;
    record->latency = now - thread->start;
    record->file = thread->file;
    record->inode = thread->inode;
    record->device = thread->device;
    record->mode = thread->mode;
    record->fd = shape->fd >= 0 ? (__s32)thread->arguments[shape->fd & 7] : -1;
    record->unused2 = 0;
    record->offset = thread->offset;
    record->size = thread->size;
    record->result = result;
    *(__u64 *)record->texts = 0;
}

/* Path and folder of it, as texts `first` and the next. */
static __always_inline __u32 add_path(struct capture_record *record, int first, __u32 at,
                                      struct thread *thread, __s8 path, __s8 dir)
{
    __u32 end = add_given(at, thread->arguments[path & 7]);
    record->texts[first] = end - at;
    __u32 last = add_folder(end, at, dir >= 0 ? (int)thread->arguments[dir & 7] : AT_FDCWD);
    record->texts[first + 1] = last - end;
    return last;
}

static __always_inline void send_paths(struct task_struct *task, struct thread *thread,
                                       const volatile struct capture_shape *shape, __u64 now, __s64 result)
{
    struct scratch *scratch = new_scratch();
    __u32 at = 0;
    struct file *opened = (shape->flags & CAPTURE_OPENS) && result >= 0 ? file_of(task, (int)result) : NULL;
    if (!scratch)
        return;
    if (opened)
        look_at(thread, opened);
    fill_call(&scratch->record, thread, shape, now, result);
    if (opened) {
        scratch->record.fd = (__s32)result;
        at = add_names(0, (__u64)__builtin_preserve_access_index(&opened->f_path));
        scratch->record.texts[1] = at;
        send_scratch(scratch, at, shape->lost);
        return;
    }
    at = add_path(&scratch->record, 0, at, thread, shape->path, shape->dir);
    if (shape->path2 >= 0)
        at = add_path(&scratch->record, 2, at, thread, shape->path2, shape->dir2);
    send_scratch(scratch, at, shape->lost);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_exit, struct pt_regs *regs, long result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (!thread || !thread->start || thread->number >= CAPTURE_CALLS)
        return 0;
    __u64 now = bpf_ktime_get_ns();
    const volatile struct capture_shape *shape = &shapes[thread->number & (CAPTURE_CALLS - 1)];
    settle_offset(thread, shape->flags, result);
    if (shape->path >= 0) {
        send_paths(task, thread, shape, now, result);
    } else {
        struct capture_record *record = bpf_ringbuf_reserve(&records, sizeof(struct capture_record), 0);
        if (record) {
            fill_call(record, thread, shape, now, result);
            bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
        } else
            count_lost(shape->lost);
    }
    if ((shape->flags & CAPTURE_WRITES) && result > 0 && (thread->mode & TYPE_MASK) == TYPE_REGULAR)
        note_writer(thread->inode, thread->device, bpf_get_current_pid_tgid() >> 32);
    thread->start = 0;
    return 0;
}

/* ---- the page cache ---- */

static __always_inline bool overlaps(struct folio *folio, __s64 offset, __s64 size)
{
    unsigned long flags = 0;
    __u64 pages = 1, index = BPF_CORE_READ(folio, index);
    bpf_probe_read_kernel(&flags, sizeof flags, folio); /* struct folio begins with its flags */
    if (flags & head_flag)
        pages = 1ULL << (BPF_CORE_READ(folio, _flags_1) & 63); /* folio_order() */
    return (__s64)(index << page_bits) < offset + size && (__s64)((index + pages) << page_bits) > offset;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(page_added, struct folio *folio)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (!thread)
        return 0;
    __u64 inode = BPF_CORE_READ(folio, mapping, host, i_ino);
    if (thread->fault_last && thread->fault_inode == inode &&
        overlaps(folio, thread->fault_offset, 1LL << page_bits)) {
        thread->fault_missed = 1;
    } else if (thread->start && thread->inode == inode) {
        if (overlaps(folio, thread->offset, thread->size))
            thread->missed = 1;
    } else if (thread->request) {
        struct uring *uring = bpf_map_lookup_elem(&urings, &thread->request);
        if (uring && overlaps(folio, uring->offset, uring->size))
            uring->missed = 1;
    }
    return 0;
}

/* ---- page faults on files ----
 *
 * There is an event when a page fault begins, one when the page cache is asked for the page (again, after it was
 * waited for), and one when pages found there were mapped; none when a fault ends. So a fault ends with the mapping,
 * or, where the page is copied or written to instead, with the last question to the page cache. */

static __always_inline int begin_fault(unsigned long error)
{
    if (!wanted())
        return 0;
    struct thread *thread = new_thread(bpf_get_current_task_btf());
    if (!thread)
        return 0;
    finish_fault(thread);
    thread->fault_start = bpf_ktime_get_ns();
    thread->fault_writes = (error & FAULT_WRITE) != 0;
    thread->fault_missed = 0;
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
    return begin_fault(error);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
    return begin_fault(error);
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(fault_page, struct address_space *mapping, unsigned long index)
{
    struct inode *inode = BPF_CORE_READ(mapping, host);
    __u64 number = BPF_CORE_READ(inode, i_ino), offset = (__u64)index << page_bits;
    struct thread *thread = wanted() ? new_thread(bpf_get_current_task_btf()) : NULL;
    if (!thread)
        return 0;
    if (thread->fault_last && (thread->fault_inode != number || thread->fault_offset != offset))
        finish_fault(thread);
    thread->fault_inode = number;
    thread->fault_device = BPF_CORE_READ(inode, i_sb, s_dev);
    thread->fault_offset = offset;
    thread->fault_last = bpf_ktime_get_ns();
    return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(fault_mapped, struct address_space *mapping, unsigned long first, unsigned long last)
{
    struct inode *inode = BPF_CORE_READ(mapping, host);
    __u64 number = BPF_CORE_READ(inode, i_ino), now = bpf_ktime_get_ns();
    __u64 from = (__u64)first << page_bits, to = ((__u64)last + 1) << page_bits;
    struct thread *thread = wanted() ? new_thread(bpf_get_current_task_btf()) : NULL;
    if (!thread)
        return 0;
    if (thread->fault_last && thread->fault_inode == number && thread->fault_offset >= from &&
        thread->fault_offset < to) {
        send_fault(thread, thread->fault_offset, 1ULL << page_bits, now);
        return 0;
    }
    finish_fault(thread);
    thread->fault_inode = number;
    thread->fault_device = BPF_CORE_READ(inode, i_sb, s_dev);
    send_fault(thread, from, to - from, now);
    return 0;
}

/* ---- io_uring ---- */

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(uring_begin, struct io_kiocb *request)
{
    __u8 opcode = BPF_CORE_READ(request, opcode);
    const volatile struct capture_shape *shape = &opcodes[opcode & (CAPTURE_OPCODES - 1)];
    if (opcode >= CAPTURE_OPCODES || !(shape->flags & CAPTURE_KNOWN) || !wanted())
        return 0;
    __u64 key = (__u64)request, id = bpf_get_current_pid_tgid();
    struct uring uring = {
        .start = bpf_ktime_get_ns(),
        .pid = id >> 32,
        .tid = (__u32)id,
        .offset = CAPTURE_NOWHERE,
        .size = CAPTURE_NOWHERE,
        .fd = BPF_CORE_READ(request, cqe.fd),
    };
    if (shape->flags & (CAPTURE_READS | CAPTURE_WRITES)) {
        struct io_rw *rw = (struct io_rw *)request; /* the command is the first thing in a request */
        uring.offset = BPF_CORE_READ(rw, kiocb.ki_pos);
        uring.size = BPF_CORE_READ(rw, len);
        if (shape->flags & CAPTURE_VECTOR)
            uring.size = vector_size(BPF_CORE_READ(rw, addr), uring.size);
        if (uring.offset < 0)
            uring.offset = CAPTURE_NOWHERE;
    }
    if (bpf_map_update_elem(&urings, &key, &uring, BPF_ANY) != 0) {
        count_lost(shape->lost);
        return 0;
    }
    struct thread *thread = new_thread(bpf_get_current_task_btf());
    if (thread)
        thread->request = key;
    return 0;
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring_end, struct io_ring_ctx *context, void *pointer)
{
    struct io_kiocb *request = pointer;
    __u64 key = (__u64)request;
    struct uring *uring = bpf_map_lookup_elem(&urings, &key);
    if (!uring)
        return 0;
    __u8 opcode = BPF_CORE_READ(request, opcode);
    const volatile struct capture_shape *shape = &opcodes[opcode & (CAPTURE_OPCODES - 1)];
    struct file *file = BPF_CORE_READ(request, file);
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    struct capture_record *record = bpf_ringbuf_reserve(&records, sizeof(struct capture_record), 0);
    if (record) {
        __builtin_memset(record, 0, sizeof *record);
        record->kind = CAPTURE_URING;
        record->number = opcode;
        record->pid = uring->pid;
        record->tid = uring->tid;
        record->start = uring->start;
        record->latency = bpf_ktime_get_ns() - uring->start;
        record->file = (__u64)file;
        record->inode = BPF_CORE_READ(inode, i_ino);
        record->device = BPF_CORE_READ(inode, i_sb, s_dev);
        record->mode = BPF_CORE_READ(inode, i_mode);
        record->fd = uring->fd;
        record->offset = uring->offset;
        record->size = uring->size;
        record->result = BPF_CORE_READ(request, cqe.res);
        record->cached = 2;
        if ((shape->flags & CAPTURE_READS) && has_position(record->mode) && record->result >= 0)
            record->cached = !(BPF_CORE_READ(file, f_flags) & direct_flag) && !uring->missed;
        if ((shape->flags & CAPTURE_WRITES) && record->result > 0)
            note_writer(record->inode, record->device, uring->pid);
        bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    } else
        count_lost(shape->lost);
    bpf_map_delete_elem(&urings, &key);
    return 0;
}

/* ---- disks ---- */

/* The file whose pages a request moves; false for pages that are no file's (direct I/O, metadata of some). */
static __always_inline bool file_of_request(struct request *request, struct block *block)
{
    struct page *page = BPF_CORE_READ(request, bio, bi_io_vec, bv_page);
    unsigned long head = BPF_CORE_READ(page, compound_head);
    if (head & 1)
        page = (struct page *)(head - 1);
    struct address_space *mapping = BPF_CORE_READ(page, mapping);
    if (!mapping || ((unsigned long)mapping & MAPPING_FLAGS))
        return false;
    struct inode *inode = BPF_CORE_READ(mapping, host);
    block->inode = BPF_CORE_READ(inode, i_ino);
    block->device = BPF_CORE_READ(inode, i_sb, s_dev);
    return block->inode != 0;
}

static __always_inline void begin_block(struct request *request)
{
    __u64 key = (__u64)request, id = bpf_get_current_pid_tgid();
    struct block block = {
        .start = bpf_ktime_get_ns(),
        .operation = BPF_CORE_READ(request, cmd_flags) & REQ_OP_MASK,
        .pid = id >> 32,
        .tid = (__u32)id,
        .sector = BPF_CORE_READ(request, __sector),
        .bytes = BPF_CORE_READ(request, __data_len),
    };
    bool known = file_of_request(request, &block);
    bool direct = wanted();
    if (block.operation == REQ_OP_WRITE && known) {
        struct inode_key of = {block.inode, block.device};
        __u32 *writer = bpf_map_lookup_elem(&writers, &of);
        if (writer)
            block.cause = *writer;
    }
    if (direct && !block.cause)
        block.cause = block.pid;
    if (!direct && !block.cause)
        return;
    if (bpf_map_update_elem(&blocks, &key, &block, BPF_ANY) != 0)
        count_lost(CAPTURE_LOST_BLOCK);
}

SEC("tp_btf/block_io_start")
int BPF_PROG(block_start, struct request *request)
{
    begin_block(request);
    return 0;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_insert, struct request *request)
{
    begin_block(request);
    return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_issue, struct request *request)
{
    __u64 key = (__u64)request;
    struct block *block = bpf_map_lookup_elem(&blocks, &key);
    if (!block)
        return 0;
    /* other requests may have been merged into it since it was queued */
    block->sector = BPF_CORE_READ(request, __sector);
    block->bytes = BPF_CORE_READ(request, __data_len);
    block->issue = bpf_ktime_get_ns();
    return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_end, struct request *request, int error)
{
    __u64 key = (__u64)request;
    struct block *block = bpf_map_lookup_elem(&blocks, &key);
    if (!block)
        return 0;
    __u64 now = bpf_ktime_get_ns();
    __u64 issue = block->issue ? block->issue : block->start;
    struct gendisk *disk = BPF_CORE_READ(request, q, disk);
    struct capture_block *record = bpf_ringbuf_reserve(&records, sizeof *record, 0);
    if (record) {
        record->kind = CAPTURE_BLOCK;
        record->operation = block->operation;
        record->pid = block->pid;
        record->tid = block->tid;
        record->start = block->start;
        record->queue = issue - block->start;
        record->service = now - issue;
        record->sector = block->sector;
        record->bytes = block->bytes;
        record->inode = block->inode;
        record->device = block->device;
        record->disk = (__u32)BPF_CORE_READ(disk, major) << 20 | (__u32)BPF_CORE_READ(disk, first_minor);
        record->cause = block->cause;
        record->result = -error;
        bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    } else
        count_lost(CAPTURE_LOST_BLOCK);
    bpf_map_delete_elem(&blocks, &key);
    return 0;
}

/* ---- processes ---- */

static __always_inline void fill_process(struct capture_record *record, __u32 kind)
{
    __u64 id = bpf_get_current_pid_tgid();
    record->kind = kind;
    record->pid = id >> 32;
    record->tid = (__u32)id;
    record->start = bpf_ktime_get_ns();
    record->fd = -1;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
    __u32 pid = child->tgid;
    __u8 one = 1;
    if (parent->tgid == child->tgid || !wanted())
        return 0;
    if (scope == CAPTURE_TREE && bpf_map_update_elem(&processes, &pid, &one, BPF_ANY) != 0)
        count_lost(CAPTURE_LOST_PROCESS);
    struct scratch *scratch = new_scratch();
    if (!scratch)
        return 0;
    fill_process(&scratch->record, CAPTURE_FORK);
    scratch->record.tid = pid;
    bpf_probe_read_kernel_str(scratch->text, 16, child->comm);
    scratch->record.texts[0] = 16;
    send_scratch(scratch, 16, CAPTURE_LOST_PROCESS);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, int old_pid, struct linux_binprm *program)
{
    struct scratch *scratch = wanted() ? new_scratch() : NULL;
    if (!scratch)
        return 0;
    fill_process(&scratch->record, CAPTURE_EXEC);
    __u32 at = 0;
    long length = bpf_probe_read_kernel_str(scratch->text, PATH_MOST, BPF_CORE_READ(program, filename));
    if (length > 0)
        at = length;
    scratch->record.texts[0] = at;
    bpf_probe_read_kernel_str(place(scratch, at), 16, task->comm);
    at += 16;
    scratch->record.texts[1] = 16;
    __u64 from = BPF_CORE_READ(task, mm, arg_start), bytes = BPF_CORE_READ(task, mm, arg_end) - from;
    if (bytes >= PATH_MOST)
        bytes = PATH_MOST - 1;
    if (bpf_probe_read_user(place(scratch, at), bytes & (PATH_MOST - 1), (void *)from) == 0) {
        scratch->record.texts[2] = bytes;
        at += bytes;
    }
    send_scratch(scratch, at, CAPTURE_LOST_PROCESS);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
    __u32 pid = task->tgid;
    struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (thread)
        finish_fault(thread);
    if (BPF_CORE_READ(task, signal, live.counter) != 0 || !wanted())
        return 0;
    struct capture_record *record = bpf_ringbuf_reserve(&records, sizeof(struct capture_record), 0);
    if (record) {
        __builtin_memset(record, 0, sizeof *record);
        fill_process(record, CAPTURE_EXIT);
        int group = BPF_CORE_READ(task, signal, group_exit_code);
        record->result = group ? group : task->exit_code;
        bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    } else
        count_lost(CAPTURE_LOST_PROCESS);
    bpf_map_delete_elem(&processes, &pid);
    return 0;
}

/* ---- on and off the processor ---- */

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switch, bool preempted, struct task_struct *previous, struct task_struct *next,
             unsigned int state)
{
    __u64 now = bpf_ktime_get_ns();
    struct thread *thread;
    if (previous->pid != 0 && wanted()) {
        thread = new_thread(previous);
        if (thread) {
            thread->left = now;
            thread->left_state = preempted ? 0 : state;
        }
    }
    thread = bpf_task_storage_get(&threads, next, NULL, 0);
    if (!thread || !thread->left)
        return 0;
    struct capture_record *record = bpf_ringbuf_reserve(&records, sizeof(struct capture_record), 0);
    if (record) {
        __builtin_memset(record, 0, sizeof *record);
        record->kind = CAPTURE_OFFCPU;
        record->cached = 2;
        record->pid = next->tgid;
        record->tid = next->pid;
        record->start = thread->left;
        record->latency = now - thread->left;
        record->fd = -1;
        record->offset = record->size = CAPTURE_NOWHERE;
        record->result = thread->left_state;
        bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    } else
        count_lost(LOST_OFFCPU);
    thread->left = 0;
    return 0;
}
