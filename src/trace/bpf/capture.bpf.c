/* The programs in the kernel: they send one record for each file or disk operation of the traced processes.
 *
 * They attach to tracepoints with BTF only: some kernels are built without kprobes and fentry. User space
 * describes each call in a table (struct capture_shape), so that no number of a system call is needed here.
 * The state of a call lies in storage of its thread until it ends. Records go through one ring buffer;
 * records that find no room there are counted. */
#include "trace/bpf/disks.h"
#include "trace/bpf/files.h"
#include "trace/bpf/processes.h"
#include "trace/bpf/requests.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL"; /* for the helpers that are GPL only */

/* ---- system calls ---- */

SEC("tp_btf/sys_enter")
int BPF_PROG(call_enter, struct pt_regs *regs, long number)
{
    if ((unsigned long)number >= CAPTURE_CALLS)
        return 0;
    const volatile struct capture_shape *shape = &shapes[number];
    __u16 flags = shape->flags;
    if (!(flags & CAPTURE_KNOWN))
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    struct thread *thread = traced(task);
    if (!thread)
        return 0;
    __u64 arguments[6] = ARGUMENTS(regs);
    for (int i = 0; i < 6; i++)
        thread->arguments[i] = arguments[i];
    finish_fault(thread);
    struct call *call = &thread->call;
    call->number = number;
    call->file = call->inode = 0;
    call->device = call->mode = call->flags = call->missed = 0;
    call->fd = shape->fd >= 0 ? (__s32)thread->arguments[shape->fd & 7] : -1;
    call->offset = shape->offset >= 0 ? (__s64)thread->arguments[shape->offset & 7] : CAPTURE_NOWHERE;
    call->size = shape->size >= 0 ? (__s64)thread->arguments[shape->size & 7] : CAPTURE_NOWHERE;
    thread->position = CAPTURE_NOWHERE;
    if (shape->fd >= 0) {
        struct file *file = file_of(task, call->fd);
        if (file) {
            look_at(call, file);
            if (has_position(call->mode) && (flags & (CAPTURE_READS | CAPTURE_WRITES)))
                thread->position = position_of(file);
        } else if (flags & CAPTURE_MAPS)
            return 0; /* start stays 0: memory without a file */
    }
    if (flags & CAPTURE_VECTOR)
        call->size = vector_size(thread->arguments[(shape->size - 1) & 7], call->size);
    if (flags & CAPTURE_COPIES)
        call->offset = offset_at(call->offset, thread->position);
    if (flags & CAPTURE_SUBMITS)
        each_submitted(thread->arguments[2], thread->arguments[1], true);
    /* preadv2 with -1 uses the position, as read does */
    if ((flags & CAPTURE_POSITION) || ((flags & (CAPTURE_READS | CAPTURE_WRITES)) && call->offset == -1))
        call->offset = thread->position;
    call->start = bpf_ktime_get_ns();
    return 0;
}

/* Corrects the offset of a write with O_APPEND, which begins at the end, and of one that waited for
 * another thread's. */
static __always_inline void settle_offset(struct thread *thread, __s64 result)
{
    struct call *call = &thread->call;
    if (!call->file || thread->position == CAPTURE_NOWHERE || call->offset != thread->position || result <= 0)
        return;
    __s64 after = position_of((struct file *)call->file);
    if (after != thread->position && after - result != thread->position)
        call->offset = after - result;
}

static __always_inline void fill_call(struct capture_record *record, const struct call *call, __u16 flags,
                                      __u64 now, __s64 result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    fill_record(record, CAPTURE_CALL, call, flags, now, result);
    record->pid = task->tgid;
    record->tid = task->pid;
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
        look_at(&thread->call, opened);
    fill_call(&scratch->record, &thread->call, shape->flags, now, result);
    if (opened) {
        scratch->record.fd = (__s32)result;
        at = add_names(0, (__u64)__builtin_preserve_access_index(&opened->f_path));
        scratch->record.texts[1] = at;
        send_scratch(scratch, at, shape->lost);
        return;
    }
    at = add_paths(&scratch->record, shape, thread->arguments);
    send_scratch(scratch, at, shape->lost);
}

/* Sends a record of its own for the file that was written to. */
static __always_inline void send_copied(struct task_struct *task, struct thread *thread,
                                        const volatile struct capture_shape *shape, __u64 now, __s64 result)
{
    struct call *call = &thread->call;
    struct capture_record *record = new_record(LOST_WRITE);
    if (!record)
        return;
    call->fd = (__s32)thread->arguments[shape->fd2 & 7];
    struct file *file = file_of(task, call->fd);
    call->file = call->inode = call->device = call->mode = 0;
    call->offset = CAPTURE_NOWHERE;
    if (file)
        look_at(call, file);
    if (file && has_position(call->mode)) {
        __s64 after = BPF_CORE_READ(file, f_pos);
        __u64 given = shape->offset2 >= 0 ? thread->arguments[shape->offset2 & 7] : 0;
        call->offset = offset_at(given, after) - (result > 0 ? result : 0);
    }
    fill_call(record, call, 0, now, result);
    record->part = 1;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    note_written(call, bpf_get_current_pid_tgid() >> 32, result);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_exit, struct pt_regs *regs, long result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (!thread || !thread->call.start || thread->call.number >= CAPTURE_CALLS)
        return 0;
    __u64 now = bpf_ktime_get_ns();
    const volatile struct capture_shape *shape = &shapes[thread->call.number & (CAPTURE_CALLS - 1)];
    settle_offset(thread, result);
    if (shape->flags & (CAPTURE_SUBMITS | CAPTURE_REAPS)) {
        end_requests(thread, shape->flags, result);
    } else if (shape->flags & CAPTURE_NAMES) {
        if (thread->arguments[0] == PR_SET_NAME && result == 0)
            send_name(CAPTURE_NAME, task, 0);
    } else if (shape->path >= 0) {
        send_paths(task, thread, shape, now, result);
    } else {
        struct capture_record *record = new_record(shape->lost);
        if (record) {
            fill_call(record, &thread->call, shape->flags, now, result);
            bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
        }
    }
    if (shape->flags & CAPTURE_COPIES)
        send_copied(task, thread, shape, now, result);
    if (shape->flags & CAPTURE_WRITES)
        note_written(&thread->call, bpf_get_current_pid_tgid() >> 32, result);
    thread->call.start = 0;
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
    } else if (thread->call.start && thread->call.inode == inode) {
        if (overlaps(folio, thread->call.offset, thread->call.size))
            thread->call.missed = 1;
    } else if (thread->request) {
        struct pending_key key = {.request = thread->request};
        struct pending *pending = bpf_map_lookup_elem(&pendings, &key);
        if (pending && overlaps(folio, pending->call.offset, pending->call.size))
            pending->call.missed = 1;
    }
    return 0;
}

/* A page that read-ahead requested is in the page cache before its data are: a thread that sleeps until
 * the data arrive had no hit. */
SEC("tp_btf/sched_switch")
int BPF_PROG(page_awaited, bool preempted, struct task_struct *previous)
{
    if (!BPF_CORE_READ_BITFIELD(previous, in_iowait))
        return 0;
    struct thread *thread = bpf_task_storage_get(&threads, previous, NULL, 0);
    if (thread && thread->fault_last)
        thread->fault_missed = 1;
    else if (thread)
        thread->call.missed = 1;
    return 0;
}

/* ---- page faults on files ----
 *
 * There is an event when a page fault begins, when pages around it that are in the page cache were mapped,
 * and when the page cache is asked for the page itself (again, after the fault waited for it). There is
 * none when a fault ends. Only the next event tells if the page was among the mapped ones: if it is asked
 * for, it was not, and the neighbours that were mapped are no fault of their own. So a fault is known with
 * the next event of its thread. It ended with the mapping or, if the page is copied or written to, with
 * the last question to the page cache. */

static __always_inline int begin_fault(unsigned long error)
{
    struct thread *thread = traced(bpf_get_current_task_btf());
    if (!thread)
        return 0;
    finish_fault(thread);
    thread->fault_start = bpf_ktime_get_ns();
    thread->fault_mapped = 0;
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
    struct thread *thread = traced(bpf_get_current_task_btf());
    if (!thread)
        return 0;
    if (thread->fault_last && (thread->fault_inode != number || thread->fault_offset != offset))
        finish_fault(thread);
    if (thread->fault_mapped && (thread->fault_inode != number || offset < thread->fault_offset ||
                                 offset >= thread->fault_offset + thread->fault_size))
        finish_fault(thread);
    thread->fault_mapped = 0; /* those around it */
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
    struct thread *thread = traced(bpf_get_current_task_btf());
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
    thread->fault_offset = from;
    thread->fault_size = to - from;
    thread->fault_mapped = now;
    return 0;
}
