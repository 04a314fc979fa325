/* Requests to disks. */
#ifndef REHEARSE_TRACE_BPF_DISKS_H
#define REHEARSE_TRACE_BPF_DISKS_H

#include "trace/bpf/state.h"

static __always_inline bool take_inode(struct block *block, struct inode *inode)
{
    block->inode = BPF_CORE_READ(inode, i_ino);
    block->device = BPF_CORE_READ(inode, i_sb, s_dev);
    return block->inode != 0;
}

/* Finds the file whose cached pages a request moves; false: the pages belong to no file (some metadata). */
static __always_inline bool file_of_pages(struct request *request, struct block *block)
{
    struct page *page = BPF_CORE_READ(request, bio, bi_io_vec, bv_page);
    unsigned long head = BPF_CORE_READ(page, compound_head);
    if (head & 1)
        page = (struct page *)(head - 1);
    struct address_space *mapping = BPF_CORE_READ(page, mapping);
    if (!mapping || ((unsigned long)mapping & MAPPING_FLAGS))
        return false;
    return take_inode(block, BPF_CORE_READ(mapping, host));
}

/* Finds the file of direct I/O, whose pages are the program's. In most file systems (iomap: ext4, xfs, …)
 * a request leads to the open file, whoever submits it. The kernel does not say where a request leads, so
 * it is believed only if it looks like an open file in every respect. */
static __always_inline bool file_of_direct(struct request *request, struct block *block)
{
    struct iomap_dio *direct = BPF_CORE_READ(request, bio, bi_private);
    if (!direct || !bpf_core_type_exists(struct iomap_dio))
        return false;
    struct file *file = BPF_CORE_READ(direct, iocb, ki_filp);
    struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
    struct address_space *mapping = inode ? BPF_CORE_READ(inode, i_mapping) : NULL;
    const struct file_operations *operations = inode ? BPF_CORE_READ(inode, i_fop) : NULL;
    if (!mapping || !operations || !(BPF_CORE_READ(file, f_flags) & direct_flag) ||
        BPF_CORE_READ(file, f_mapping) != mapping || BPF_CORE_READ(file, f_op) != operations ||
        (BPF_CORE_READ(inode, i_mode) & TYPE_MASK) != TYPE_REGULAR)
        return false;
    return take_inode(block, inode);
}

/* Else takes the file of the thread's present direct I/O: a call, or the io_uring request that it began. */
static __always_inline bool file_of_call(const struct thread *thread, struct block *block)
{
    const struct call *call = &thread->call;
    if (!call->start || !call->inode || !(call->flags & direct_flag)) {
        struct pending_key key = {.request = thread->request};
        struct pending *pending = key.request ? bpf_map_lookup_elem(&pendings, &key) : NULL;
        if (!pending || !pending->call.inode || !(pending->call.flags & direct_flag))
            return false;
        call = &pending->call;
    }
    block->inode = call->inode;
    block->device = call->device;
    return true;
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
    struct thread *thread = traced(bpf_get_current_task_btf());
    bool direct = file_of_direct(request, &block);
    bool known = direct || file_of_pages(request, &block);
    if (!known && thread && block.bytes && file_of_call(thread, &block))
        known = direct = true;
    if (block.operation == REQ_OP_WRITE && known && !(direct && thread)) {
        struct inode_key of = {block.inode, block.device};
        __u32 *writer = bpf_map_lookup_elem(&writers, &of);
        if (writer)
            block.cause = *writer;
    }
    if (thread && !block.cause)
        block.cause = block.pid;
    if (!thread && !block.cause)
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

#endif
