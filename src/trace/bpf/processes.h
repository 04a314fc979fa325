/* Processes that begin and end, and threads that leave the processor. */
#ifndef REHEARSE_TRACE_BPF_PROCESSES_H
#define REHEARSE_TRACE_BPF_PROCESSES_H

#include "trace/bpf/files.h"

static __always_inline void fill_process(struct capture_record *record, __u32 kind)
{
    __u64 id = bpf_get_current_pid_tgid();
    record->kind = kind;
    record->pid = id >> 32;
    record->tid = (__u32)id;
    record->start = bpf_ktime_get_ns();
    record->fd = -1;
}

/* Sends the name of a thread, with `tid` unless that is 0. */
static __always_inline void send_name(__u32 kind, struct task_struct *task, __u32 tid)
{
    struct scratch *scratch = new_scratch();
    if (!scratch)
        return;
    fill_process(&scratch->record, kind);
    if (tid)
        scratch->record.tid = tid;
    bpf_probe_read_kernel_str(scratch->text, 16, task->comm);
    scratch->record.texts[0] = 16;
    send_scratch(scratch, 16, CAPTURE_LOST_PROCESS);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
    __u32 pid = child->tgid;
    if (!traced(bpf_get_current_task_btf()))
        return 0;
    if (scope == CAPTURE_TREE && !bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
        count_lost(CAPTURE_LOST_PROCESS);
    if (parent->tgid == child->tgid)
        return 0;
    send_name(CAPTURE_FORK, child, pid);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, int old_pid, struct linux_binprm *program)
{
    struct thread *thread = traced(bpf_get_current_task_btf());
    if (!thread)
        return 0;
    finish_fault(thread); /* of the program before */
    struct scratch *scratch = new_scratch();
    if (!scratch)
        return 0;
    fill_process(&scratch->record, CAPTURE_EXEC);
    __u32 at = 0;
    long length = bpf_probe_read_kernel_str(scratch->text, MAX_PATH, BPF_CORE_READ(program, filename));
    if (length > 0)
        at = length;
    scratch->record.texts[0] = at;
    bpf_probe_read_kernel_str(place(scratch, at), 16, task->comm);
    at += 16;
    scratch->record.texts[1] = 16;
    __u64 from = BPF_CORE_READ(task, mm, arg_start), bytes = BPF_CORE_READ(task, mm, arg_end) - from;
    if (bytes >= MAX_PATH)
        bytes = MAX_PATH - 1;
    if (bpf_probe_read_user(place(scratch, at), bytes & (MAX_PATH - 1), (void *)from) == 0) {
        scratch->record.texts[2] = bytes;
        at += bytes;
    }
    send_scratch(scratch, at, CAPTURE_LOST_PROCESS);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
    struct thread *thread = traced(bpf_get_current_task_btf());
    if (!thread)
        return 0;
    finish_fault(thread);
    if (BPF_CORE_READ(task, signal, live.counter) != 0)
        return 0;
    struct capture_record *record = new_record(CAPTURE_LOST_PROCESS);
    if (!record)
        return 0;
    __builtin_memset(record, 0, sizeof *record);
    fill_process(record, CAPTURE_EXIT);
    int group = BPF_CORE_READ(task, signal, group_exit_code);
    record->result = group ? group : task->exit_code;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    return 0;
}

/* ---- on and off the processor ---- */

SEC("tp_btf/sched_switch")
int BPF_PROG(thread_switch, bool preempted, struct task_struct *previous, struct task_struct *next,
             unsigned int state)
{
    __u64 now = bpf_ktime_get_ns();
    struct thread *thread = previous->pid != 0 ? traced(bpf_get_current_task_btf()) : NULL;
    if (thread) {
        thread->left = now;
        thread->left_state = preempted ? 0 : state;
    }
    thread = bpf_task_storage_get(&threads, next, NULL, 0);
    if (!thread || !thread->left)
        return 0;
    struct capture_record *record = new_record(LOST_OFFCPU);
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
    }
    thread->left = 0;
    return 0;
}

#endif
