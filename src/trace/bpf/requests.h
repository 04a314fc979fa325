/* Requests that a program submits and that end later: io_uring, io_submit. */
#ifndef REHEARSE_TRACE_BPF_REQUESTS_H
#define REHEARSE_TRACE_BPF_REQUESTS_H

#include "trace/bpf/files.h"

/* A request has its arguments in a structure, as a call has them in registers. */
enum { MAX_ARGUMENTS = 8 };

static __always_inline const volatile struct capture_shape *shape_of(__u32 number)
{
    return &opcodes[number & (CAPTURE_OPCODES - 1)];
}

/* Begins a request. Its file is found later, or there is none. */
static __always_inline struct pending begin_pending(__u32 number, const __u64 *arguments)
{
    const volatile struct capture_shape *shape = shape_of(number);
    __u64 id = bpf_get_current_pid_tgid();
    struct pending pending = {
        .call = {.start = bpf_ktime_get_ns(),
                 .number = number,
                 .fd = shape->fd >= 0 ? (__s32)arguments[shape->fd & 7] : -1,
                 .offset = shape->offset >= 0 ? arguments[shape->offset & 7] : CAPTURE_NOWHERE,
                 .size = shape->size >= 0 ? arguments[shape->size & 7] : CAPTURE_NOWHERE},
        .pid = id >> 32,
        .tid = (__u32)id,
    };
    if (shape->flags & CAPTURE_VECTOR)
        pending.call.size = vector_size(arguments[(shape->size - 1) & 7], pending.call.size);
    return pending;
}

static __always_inline void find_file(struct call *call)
{
    struct file *file = call->fd >= 0 ? file_of(bpf_get_current_task_btf(), call->fd) : NULL;
    if (!file)
        return;
    look_at(call, file);
    if (call->offset == -1) /* at the position */
        call->offset = has_position(call->mode) ? position_of(file) : CAPTURE_NOWHERE;
}

static __always_inline void fill_request(struct capture_record *record, const struct pending *pending,
                                         __s64 result)
{
    const struct call *call = &pending->call;
    __u16 flags = shape_of(call->number)->flags;
    fill_record(record, CAPTURE_REQUEST, call, flags, bpf_ktime_get_ns(), result);
    record->pid = pending->pid;
    record->tid = pending->tid;
    if (record->offset == -1)
        record->offset = CAPTURE_NOWHERE;
    if (call->number >= CAPTURE_AIO && !(call->flags & direct_flag))
        record->cached = 2;
    if (flags & CAPTURE_WRITES)
        note_written(call, pending->pid, result);
}

/* Sends a request; named: its paths were sent before. */
static __always_inline void send_request(const struct pending *pending, __s64 result, bool named)
{
    struct capture_record *record = new_record(shape_of(pending->call.number)->lost);
    if (!record)
        return;
    fill_request(record, pending, result);
    record->part = named;
    if (named)
        record->fd = -1;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* ---- io_uring ---- */

/* Gets the ring entry that `request` was just made of, as arguments: fd, off, addr, len, file_index. */
static __always_inline bool entry_of(struct io_kiocb *request, __u64 *arguments, __u8 *flags)
{
    struct io_ring_ctx *ring = BPF_CORE_READ(request, ctx);
    __u32 at = (BPF_CORE_READ(ring, cached_sq_head) - 1) & (BPF_CORE_READ(ring, sq_entries) - 1);
    __u32 setup = BPF_CORE_READ(ring, flags);
    struct io_uring_sqe entry;
    if (!(setup & IORING_SETUP_NO_SQARRAY) &&
        bpf_probe_read_kernel(&at, sizeof at, BPF_CORE_READ(ring, sq_array) + at) != 0)
        return false;
    at <<= (setup & IORING_SETUP_SQE128) != 0;
    if (bpf_probe_read_kernel(&entry, sizeof entry, BPF_CORE_READ(ring, sq_sqes) + at) != 0 ||
        entry.opcode != BPF_CORE_READ(request, opcode))
        return false;
    arguments[0] = entry.fd;
    arguments[1] = entry.off;
    arguments[2] = entry.addr;
    arguments[3] = entry.len;
    arguments[4] = entry.file_index;
    *flags = entry.flags;
    return true;
}

/* Sends the paths before the request ends, since the process may be gone by then. */
static __always_inline void send_names(const struct pending *pending, const __u64 *arguments)
{
    const volatile struct capture_shape *shape = shape_of(pending->call.number);
    struct scratch *scratch = new_scratch();
    if (!scratch)
        return;
    scratch->record.kind = CAPTURE_NAMED;
    scratch->record.file = pending->call.file;
    send_scratch(scratch, add_paths(&scratch->record, shape, arguments), shape->lost);
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(uring_begin, struct io_kiocb *request)
{
    __u8 opcode = BPF_CORE_READ(request, opcode), flags = 0;
    const volatile struct capture_shape *shape = shape_of(opcode);
    __u64 arguments[MAX_ARGUMENTS] = {0};
    struct pending_key key = {.request = (__u64)request};
    struct thread *thread = traced(bpf_get_current_task_btf());
    if (opcode >= CAPTURE_AIO || !(shape->flags & CAPTURE_KNOWN) || !thread)
        return 0;
    if (!entry_of(request, arguments, &flags)) {
        count_lost(shape->lost);
        return 0;
    }
    struct pending pending = begin_pending(opcode, arguments);
    if (!(flags & IOSQE_FIXED_FILE))
        find_file(&pending.call);
    if (shape->path >= 0) {
        pending.call.file = key.request;
        send_names(&pending, arguments);
        /* with a file_index it has no descriptor in the end */
        pending.call.fd = (shape->flags & CAPTURE_OPENS) && arguments[4] == 0 ? 0 : -1;
    }
    if (bpf_map_update_elem(&pendings, &key, &pending, BPF_ANY) != 0) {
        count_lost(shape->lost);
        return 0;
    }
    thread->request = key.request;
    return 0;
}

/* Sends the request with the path under which the kernel knows the opened file. */
static __always_inline bool send_opened(struct pending *pending, __s64 result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    bool here = pending->call.fd >= 0 && result >= 0 && (bpf_get_current_pid_tgid() >> 32) == pending->pid;
    struct file *file = here ? file_of(task, (int)result) : NULL;
    struct scratch *scratch = file ? new_scratch() : NULL;
    if (!scratch)
        return false;
    look_at(&pending->call, file);
    pending->call.fd = result;
    fill_request(&scratch->record, pending, result);
    __u32 at = add_names(0, (__u64)__builtin_preserve_access_index(&file->f_path));
    scratch->record.texts[1] = at;
    send_scratch(scratch, at, shape_of(pending->call.number)->lost);
    return true;
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring_end, struct io_ring_ctx *context, void *pointer)
{
    struct io_kiocb *request = pointer;
    struct pending_key key = {.request = (__u64)request};
    struct pending *pending = bpf_map_lookup_elem(&pendings, &key);
    if (!pending)
        return 0;
    struct file *file = BPF_CORE_READ(request, file);
    __s64 result = BPF_CORE_READ(request, cqe.res);
    if (shape_of(pending->call.number)->path >= 0) {
        if (!send_opened(pending, result))
            send_request(pending, result, true);
    } else {
        if (file)
            look_at(&pending->call, file);
        send_request(pending, result, false);
    }
    bpf_map_delete_elem(&pendings, &key);
    return 0;
}

/* ---- io_submit ----
 *
 * It has no tracepoints of its own: a request begins with the call that hands it over, and ends with the one
 * that fetches its result. */

static __always_inline void begin_submitted(const struct pending_key *key)
{
    struct iocb iocb;
    if (bpf_probe_read_user(&iocb, sizeof iocb, (void *)key->request) != 0)
        return;
    __u32 number = CAPTURE_AIO + (iocb.aio_lio_opcode & (CAPTURE_AIO - 1));
    const volatile struct capture_shape *shape = shape_of(number);
    if (!(shape->flags & CAPTURE_KNOWN))
        return;
    const __u64 arguments[MAX_ARGUMENTS] = {iocb.aio_fildes, iocb.aio_offset, iocb.aio_buf, iocb.aio_nbytes};
    struct pending pending = begin_pending(number, arguments);
    find_file(&pending.call);
    /* an older one has ended, and its result was fetched from memory without a call */
    if (bpf_map_update_elem(&pendings, key, &pending, BPF_NOEXIST) == 0)
        return;
    count_lost(shape->lost);
    bpf_map_update_elem(&pendings, key, &pending, BPF_EXIST);
}

/* Begins or forgets the request whose address is at `address`. */
__noinline int submit_one(__u64 address, bool begin)
{
    struct pending_key key = {.pid = bpf_get_current_pid_tgid() >> 32};
    if (bpf_probe_read_user(&key.request, sizeof key.request, (void *)address) != 0)
        return 0;
    if (begin)
        begin_submitted(&key);
    else
        bpf_map_delete_elem(&pendings, &key);
    return 0;
}

__noinline int each_submitted(__u64 list, __u64 count, bool begin)
{
    for (__u64 i = 0; i < MAX_EVENTS && i < count; i++)
        submit_one(list + 8 * i, begin);
    return 0;
}

__noinline int end_submitted(__u64 address)
{
    struct io_event event;
    if (bpf_probe_read_user(&event, sizeof event, (void *)address) != 0)
        return 0;
    struct pending_key key = {event.obj, bpf_get_current_pid_tgid() >> 32};
    struct pending *pending = bpf_map_lookup_elem(&pendings, &key);
    if (pending) {
        send_request(pending, event.res, false);
        bpf_map_delete_elem(&pendings, &key);
    }
    return 0;
}

__noinline int each_ended(__u64 list, __u64 count)
{
    for (__u64 i = 0; i < MAX_EVENTS && i < count; i++)
        end_submitted(list + i * sizeof(struct io_event));
    return 0;
}

static __always_inline void end_requests(struct thread *thread, __u16 flags, __s64 result)
{
    __u64 taken = result > 0 ? result : 0; /* the kernel takes the first ones */
    if (flags & CAPTURE_REAPS)
        each_ended(thread->arguments[3], taken);
    else if (taken < thread->arguments[1])
        each_submitted(thread->arguments[2] + 8 * taken, thread->arguments[1] - taken, false);
}

#endif
