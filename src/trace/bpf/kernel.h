/* Types of the kernel, with only the fields that the programs use. The places of the fields are found when
 * a program is loaded (CO-RE), so these are not the layouts of any one kernel. */
#ifndef REHEARSE_TRACE_BPF_KERNEL_H
#define REHEARSE_TRACE_BPF_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

/* linux/bpf.h */
enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_CGROUP_ARRAY = 8,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
    BPF_ANY = 0,
    BPF_NOEXIST = 1,
    BPF_EXIST = 2,
    BPF_F_NO_PREALLOC = 1,
    BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
    BPF_RB_NO_WAKEUP = 1
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
    __u32 s_dev;
};

struct address_space;
struct file_operations;

struct inode {
    __u16 i_mode;
    struct super_block *i_sb;
    struct address_space *i_mapping;
    unsigned long i_ino;
    const struct file_operations *i_fop;
};

struct address_space {
    struct inode *host;
};

struct qstr {
    const unsigned char *name;
};

struct dentry {
    struct dentry *d_parent;
    struct qstr d_name;
};

struct vfsmount {
    struct dentry *mnt_root;
};

struct mount {
    struct mount *mnt_parent;
    struct dentry *mnt_mountpoint;
    struct vfsmount mnt;
};

struct path {
    struct vfsmount *mnt;
    struct dentry *dentry;
};

struct file {
    struct inode *f_inode;
    struct address_space *f_mapping;
    const struct file_operations *f_op;
    unsigned int f_flags;
    struct path f_path;
    long long f_pos;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

struct fs_struct {
    struct path pwd;
};

struct mm_struct {
    unsigned long arg_start, arg_end;
};

typedef struct {
    int counter;
} atomic_t;

struct signal_struct {
    atomic_t live;
    int group_exit_code;
};

struct kernfs_node {
    __u64 id;
};

struct cgroup {
    struct kernfs_node *kn;
};

struct cgroup_subsys_state {
    struct cgroup *cgroup;
    struct cgroup_subsys_state *parent;
};

struct css_set {
    struct cgroup_subsys_state *subsys[1]; /* more in the kernel */
};

struct task_struct {
    int pid, tgid;
    unsigned in_iowait : 1; /* it sleeps until a disk is done */
    int exit_code;
    char comm[16];
    struct task_struct *group_leader;
    struct mm_struct *mm;
    struct fs_struct *fs;
    struct files_struct *files;
    struct signal_struct *signal;
    struct css_set *cgroups;
};

struct linux_binprm {
    const char *filename;
};

struct page {
    unsigned long compound_head;
    struct address_space *mapping;
};

struct folio {
    struct address_space *mapping;
    unsigned long index;
    unsigned long _flags_1;
    struct page page;
};

struct bio_vec {
    struct page *bv_page;
};

struct bio {
    struct bio_vec *bi_io_vec;
    void *bi_private;
};

struct kiocb {
    struct file *ki_filp;
};

struct iomap_dio {
    struct kiocb *iocb;
};

struct gendisk {
    int major, first_minor;
};

struct request_queue {
    struct gendisk *disk;
};

struct request {
    struct request_queue *q;
    unsigned int cmd_flags;
    unsigned int __data_len;
    __u64 __sector;
    struct bio *bio;
};

struct io_ring_ctx {
    unsigned int flags;
    __u32 *sq_array;
    struct io_uring_sqe *sq_sqes;
    unsigned int cached_sq_head, sq_entries;
};

struct io_cqe {
    __s32 res;
};

struct io_kiocb {
    struct file *file;
    __u8 opcode;
    struct io_cqe cqe;
    struct io_ring_ctx *ctx;
};

#ifdef __TARGET_ARCH_x86
struct pt_regs {
    unsigned long di, si, dx, r10, r8, r9;
};
#define ARGUMENTS(regs)                                                                                      \
    {                                                                                                        \
        (regs)->di, (regs)->si, (regs)->dx, (regs)->r10, (regs)->r8, (regs)->r9                              \
    }
#else /* arm64 */
struct pt_regs {
    __u64 regs[31];
};
#define ARGUMENTS(regs)                                                                                      \
    {                                                                                                        \
        (regs)->regs[0], (regs)->regs[1], (regs)->regs[2], (regs)->regs[3], (regs)->regs[4], (regs)->regs[5] \
    }
#endif

#pragma clang attribute pop

/* These structs have the layout of programs that call the kernel: linux/io_uring.h and linux/aio_abi.h. */
struct io_uring_sqe {
    __u8 opcode, flags;
    __u16 ioprio;
    __s32 fd;
    __u64 off, addr;
    __u32 len, operation_flags;
    __u64 user_data;
    __u16 buf_index, personality;
    __s32 file_index;
    __u64 addr3, unused;
};
enum { IOSQE_FIXED_FILE = 1, IORING_SETUP_SQE128 = 1 << 10, IORING_SETUP_NO_SQARRAY = 1 << 16 };

struct iocb {
    __u64 aio_data;
    __u32 aio_key, aio_rw_flags;
    __u16 aio_lio_opcode, aio_reqprio;
    __u32 aio_fildes;
    __u64 aio_buf, aio_nbytes, aio_offset, aio_reserved2;
    __u32 aio_flags, aio_resfd;
};

struct io_event {
    __u64 data, obj;
    __s64 res, res2;
};

#endif
