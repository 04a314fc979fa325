/* Files, their paths, and records with texts. */
#ifndef REHEARSE_TRACE_BPF_FILES_H
#define REHEARSE_TRACE_BPF_FILES_H

#include "trace/bpf/state.h"

static __always_inline struct file *file_of(struct task_struct *task, int fd)
{
    struct file *file = NULL;
    struct fdtable *table = task->files->fdt; /* typed pointers can be read without a helper */
    if (fd < 0 || (__u32)fd >= table->max_fds)
        return NULL;
    struct file **list = table->fd;
    bpf_probe_read_kernel(&file, sizeof file, list + fd);
    return file;
}

/* Since Linux 6.2 a pointer can be cast to its type and read by plain loads; before, each field takes a
 * call. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;
#define TYPED(type, object) ((type *)bpf_rdonly_cast(object, bpf_core_type_id_kernel(type)))

static __always_inline void look_at(struct call *call, struct file *file)
{
    call->file = (__u64)file;
    if (bpf_rdonly_cast) {
        struct file *of = TYPED(struct file, file);
        struct inode *inode = of->f_inode;
        call->inode = inode->i_ino;
        call->device = inode->i_sb->s_dev;
        call->mode = inode->i_mode;
        call->flags = of->f_flags;
    } else {
        struct inode *inode = BPF_CORE_READ(file, f_inode);
        call->inode = BPF_CORE_READ(inode, i_ino);
        call->device = BPF_CORE_READ(inode, i_sb, s_dev);
        call->mode = BPF_CORE_READ(inode, i_mode);
        call->flags = BPF_CORE_READ(file, f_flags);
    }
}

static __always_inline __s64 position_of(struct file *file)
{
    return bpf_rdonly_cast ? TYPED(struct file, file)->f_pos : BPF_CORE_READ(file, f_pos);
}

static __always_inline bool has_position(__u32 mode)
{
    return (mode & TYPE_MASK) == TYPE_REGULAR || (mode & TYPE_MASK) == TYPE_BLOCK;
}

/* The verifier checks functions that are not static once, not at each call. */

/* Returns the sum of the lengths of `count` struct iovec. */
__noinline __u64 vector_size(__u64 address, __u64 count)
{
    struct {
        __u64 base, length;
    } vector;
    __u64 sum = 0;
    for (__u64 i = 0; i < MAX_VECTORS && i < count; i++)
        if (bpf_probe_read_user(&vector, sizeof vector, (void *)(address + i * sizeof vector)) == 0)
            sum += vector.length;
    return sum;
}

/* Returns an offset that is given by its address; 0: the file's position. */
static __always_inline __s64 offset_at(__u64 address, __s64 position)
{
    __s64 offset = position;
    if (address && position != CAPTURE_NOWHERE)
        bpf_probe_read_user(&offset, sizeof offset, (void *)address);
    return offset;
}

/* ---- paths ---- */

static __always_inline struct scratch *scratch_here(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&scratches, &zero);
}

/* Returns the place for more text. The compiler may not reuse an older comparison, which the verifier
 * would not connect. */
static __always_inline char *place(struct scratch *scratch, __u64 at)
{
    asm volatile("" : "+r"(at));
    return scratch->text + (at & (MAX_TEXT - 1));
}

/* Adds the names from a struct path up to the root, nearest first, to the text from `at`, and returns its
 * end. */
__noinline __u32 add_names(__u32 at, __u64 of)
{
    struct scratch *scratch = scratch_here();
    struct vfsmount *mounted = BPF_CORE_READ((struct path *)of, mnt);
    struct dentry *entry = BPF_CORE_READ((struct path *)of, dentry);
    if (!scratch)
        return at;
    for (int i = 0; i < MAX_DEPTH; i++) {
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
        if (parent == entry || at >= MAX_TEXT)
            break;
        long length =
            bpf_probe_read_kernel_str(place(scratch, at), MAX_NAME, BPF_CORE_READ(entry, d_name.name));
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
    if (!scratch || at >= MAX_TEXT)
        return at;
    long length = bpf_probe_read_user_str(place(scratch, at), MAX_PATH, (void *)address);
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

/* Adds a path and the folder it is relative to, as texts `first` and the next. */
static __always_inline __u32 add_path(struct capture_record *record, int first, __u32 at, __u64 path, int fd)
{
    __u32 end = add_given(at, path);
    record->texts[first] = end - at;
    __u32 last = add_folder(end, at, fd);
    record->texts[first + 1] = last - end;
    return last;
}

/* One path, or two. */
static __always_inline __u32 add_paths(struct capture_record *record,
                                       const volatile struct capture_shape *shape, const __u64 *arguments)
{
    int folder = shape->dir >= 0 ? (int)arguments[shape->dir & 7] : AT_FDCWD;
    __u32 at = add_path(record, 0, 0, arguments[shape->path & 7], folder);
    if (shape->path2 < 0)
        return at;
    folder = shape->dir2 >= 0 ? (int)arguments[shape->dir2 & 7] : AT_FDCWD;
    return add_path(record, 2, at, arguments[shape->path2 & 7], folder);
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
    if (text > MAX_TEXT + MAX_PATH ||
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

/* Notes the process as the last writer if the call wrote to a regular file. */
static __always_inline void note_written(const struct call *call, __u32 pid, __s64 result)
{
    if (result > 0 && (call->mode & TYPE_MASK) == TYPE_REGULAR)
        note_writer(call->inode, call->device, pid);
}

/* Fills in all but the process and the texts. */
static __always_inline void fill_record(struct capture_record *record, __u32 kind, const struct call *call,
                                        __u16 flags, __u64 now, __s64 result)
{
    __builtin_memset(record, 0, sizeof *record);
    record->kind = kind;
    record->number = call->number;
    record->cached = 2;
    if ((flags & CAPTURE_READS) && has_position(call->mode) && result >= 0)
        record->cached = !(call->flags & direct_flag) && !call->missed;
    record->start = call->start;
    record->latency = now - call->start;
    record->file = call->file;
    record->inode = call->inode;
    record->device = call->device;
    record->mode = call->mode;
    record->fd = call->fd;
    record->offset = call->offset;
    record->size = call->size;
    record->result = result;
}

static __always_inline void send_fault(struct thread *thread, __u64 offset, __u64 size, __u64 end)
{
    __u64 id = bpf_get_current_pid_tgid();
    __u64 start = thread->fault_start ? thread->fault_start : end;
    struct capture_record *record = new_record(LOST_FAULT);
    if (thread->fault_writes)
        note_writer(thread->fault_inode, thread->fault_device, id >> 32);
    thread->fault_last = thread->fault_mapped = thread->fault_start = 0;
    if (!record)
        return;
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
    else if (thread->fault_mapped)
        send_fault(thread, thread->fault_offset, thread->fault_size, thread->fault_mapped);
}

#endif
