#include "trace/capture/kernel.h"

#include "core/file.h"
#include "core/system/cgroup.h"
#include "trace/capture.skel.h"
#include "trace/capture/calls.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_MOUNTS ((size_t)16 << 20) /* bytes of /proc/self/mountinfo */

struct capture_kernel {
    struct capture_bpf *programs;
    struct ring_buffer *ring;
    capture_handler *handler;
    void *context;
    int cgroup;
    int read, max; /* in the present capture_kernel_read */
};

const char *capture_kernel_version(void)
{
    return libbpf_version_string();
}

/* libbpf explains a refused program in many lines, to one function for the whole process; only the first
 * warning helps a user. It comes on the thread that called libbpf, so each thread has its own. */
static _Thread_local char first_warning[256];

static int keep_warning(enum libbpf_print_level level, const char *format, va_list args)
{
    if (level != LIBBPF_WARN || *first_warning)
        return 0;
    vsnprintf(first_warning, sizeof first_warning, format, args);
    first_warning[strcspn(first_warning, "\n")] = '\0';
    return 0;
}

static bool refused(struct error *err, const char *what, int code)
{
    if (code == -EPERM || code == -EACCES)
        return error_set(
            err, ERROR_FAILED,
            "%s: not permitted; it needs root, or CAP_BPF and CAP_PERFMON, and a kernel that allows "
            "BPF. With --no-bpf it records processors, processes, disks, network and GPUs",
            what);
    return error_set(err, ERROR_FAILED, "%s: %s%s%s", what, strerror(-code), *first_warning ? ": " : "",
                     first_warning);
}

/* ---- features of this kernel ---- */

/* Tracepoints that some kernels lack, and the data that are then missing. */
static const struct {
    const char *point, *program, *without;
} optional[] = {
    {"page_fault_user", "fault_user", "start times of page faults"},
    {"page_fault_kernel", "fault_kernel", NULL},
    {"mm_filemap_fault", "fault_page", "page faults that copy or write"},
    {"mm_filemap_map_pages", "fault_mapped", "page faults on files"},
    {"io_uring_submit_req", "uring_begin", "io_uring"},
    {"io_uring_complete", "uring_end", NULL},
    {"mm_filemap_add_to_page_cache", "page_added", "page-cache hits"},
};

static bool has_point(const struct btf *btf, const char *point)
{
    char name[64];
    snprintf(name, sizeof name, "btf_trace_%s", point);
    return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
}

static void choose(struct capture_bpf *programs, const struct btf *btf, bool off_cpu, struct text *missing)
{
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        if (has_point(btf, optional[i].point))
            continue;
        bpf_program__set_autoload(bpf_object__find_program_by_name(programs->obj, optional[i].program),
                                  false);
        if (optional[i].without)
            text_format(missing, "%s\n", optional[i].without);
    }
    bool start =
        has_point(btf, "block_io_start"); /* Linux 6.5; before, requests are seen when they are queued */
    bpf_program__set_autoload(programs->progs.block_start, start);
    bpf_program__set_autoload(programs->progs.block_insert, !start);
    bpf_program__set_autoload(programs->progs.thread_switch, off_cpu);
}

static int enumerator(const struct btf *btf, const char *type, const char *name)
{
    int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
    const struct btf_type *of = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
    const struct btf_enum *list = of ? btf_enum(of) : NULL;
    for (int i = 0; of && i < btf_vlen(of); i++)
        if (strcmp(btf__name_by_offset(btf, list[i].name_off), name) == 0)
            return list[i].val;
    return -1;
}

static void fill_shapes(struct capture_shape *shapes, size_t max, const struct capture_call *calls,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((size_t)calls[i].number < max)
            shapes[calls[i].number] = calls[i].shape;
}

static void configure(struct capture_bpf *programs, const struct btf *btf,
                      const struct capture_kernel_options *options)
{
    size_t count;
    const struct capture_call *calls = capture_calls(&count);
    int head = enumerator(btf, "pageflags", "PG_head");
    uint64_t bytes = 4096; /* of the ring: pages, a power of two */
    while (bytes < (uint64_t)options->buffer_bytes && bytes < 1u << 31)
        bytes *= 2;
    bpf_map__set_max_entries(programs->maps.records, (__u32)bytes);
    programs->rodata->scope = options->scope;
    programs->rodata->own_pid = (__u32)getpid();
    programs->rodata->page_bits = (__u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
    programs->rodata->direct_flag = O_DIRECT;
    programs->rodata->head_flag = head >= 0 && head < 32 ? 1u << head : 0;
    fill_shapes(programs->rodata->shapes, CAPTURE_CALLS, calls, count);
    calls = capture_opcodes(&count);
    fill_shapes(programs->rodata->opcodes, CAPTURE_OPCODES, calls, count);
}

/* ---- the ring ---- */

static int handle(void *context, void *record, size_t bytes)
{
    struct capture_kernel *kernel = context;
    kernel->read++;
    return kernel->handler(kernel->context, record, bytes) && kernel->read < kernel->max ? 0 : -EAGAIN;
}

int capture_kernel_read(struct capture_kernel *kernel, int max)
{
    kernel->read = 0;
    kernel->max = max;
    (void)ring_buffer__consume(kernel->ring); /* -EAGAIN: stopped by handle() */
    return kernel->read;
}

/* ---- life ---- */

/* Finds the number of a controller of the hierarchy that a file of this device lies in, of version 1. The kernel calls
 * blkio "io". -1: the hierarchy has none (systemd's own). */
static int old_controller_of(const struct btf *btf, dev_t device)
{
    struct cgroup_mount mount;
    struct error ignored;
    char *mounts, name[64], *at = mount.options;
    size_t length;
    int found = -1;
    if (!file_read("/proc/self/mountinfo", MAX_MOUNTS, &mounts, &length, &ignored))
        return -1;
    if (!cgroup_mount_on(mounts, major(device), minor(device), &mount))
        at = NULL;
    for (char *word = at ? strtok_r(at, ",", &at) : NULL; word && found < 0;
         word = strtok_r(NULL, ",", &at)) {
        snprintf(name, sizeof name, "%.40s_cgrp_id", strcmp(word, "blkio") == 0 ? "io" : word);
        found = enumerator(btf, "cgroup_subsys_id", name);
    }
    free(mounts);
    return found;
}

/* Opens the folder; before the programs are loaded, as those for version 1 are others. */
static bool open_cgroup(struct capture_kernel *kernel, const struct btf *btf, const char *folder,
                        struct error *err)
{
    struct statfs info;
    struct stat status;
    kernel->cgroup = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (kernel->cgroup < 0)
        return error_set(err, ERROR_INPUT, "%s: %s", folder, strerror(errno));
    if (fstatfs(kernel->cgroup, &info) != 0 || fstat(kernel->cgroup, &status) != 0 ||
        (info.f_type != CGROUP2_SUPER_MAGIC && info.f_type != CGROUP_SUPER_MAGIC))
        return error_set(err, ERROR_INPUT, "%s: not the folder of a control group", folder);
    if (info.f_type == CGROUP2_SUPER_MAGIC)
        return true;
    int controller = old_controller_of(btf, status.st_dev);
    if (controller < 0)
        return error_set(
            err, ERROR_INPUT,
            "%s: no controller in this hierarchy of version 1: give the group's folder in another, such as "
            "/sys/fs/cgroup/pids/…",
            folder);
    kernel->programs->rodata->old_group = status.st_ino;
    kernel->programs->rodata->old_controller = (__u32)controller;
    return true;
}

static bool set_cgroup(struct capture_kernel *kernel, const char *folder, struct error *err)
{
    uint32_t zero = 0;
    if (kernel->programs->rodata->old_group)
        return true;
    int code =
        bpf_map_update_elem(bpf_map__fd(kernel->programs->maps.cgroups), &zero, &kernel->cgroup, BPF_ANY);
    return code == 0 || refused(err, folder, code);
}

static bool load(struct capture_kernel *kernel, const struct capture_kernel_options *options,
                 struct text *missing, struct error *err)
{
    struct btf *btf = btf__load_vmlinux_btf();
    if (!btf)
        return error_set(
            err, ERROR_FAILED,
            "this kernel does not describe its types (no /sys/kernel/btf/vmlinux), so eBPF programs "
            "cannot be loaded; use --no-bpf");
    kernel->programs = capture_bpf__open();
    if (!kernel->programs) {
        btf__free(btf);
        return refused(err, "cannot open the eBPF programs", -errno);
    }
    choose(kernel->programs, btf, options->off_cpu, missing);
    configure(kernel->programs, btf, options);
    bool opened = options->scope != CAPTURE_CGROUP || open_cgroup(kernel, btf, options->cgroup, err);
    btf__free(btf);
    if (!opened)
        return false;
    int code = capture_bpf__load(kernel->programs);
    if (code != 0)
        return refused(err, "cannot load the eBPF programs", code);
    if (options->scope == CAPTURE_CGROUP && !set_cgroup(kernel, options->cgroup, err))
        return false;
    kernel->ring = ring_buffer__new(bpf_map__fd(kernel->programs->maps.records), handle, kernel, NULL);
    return kernel->ring || refused(err, "cannot map the ring buffer", -errno);
}

struct capture_kernel *capture_kernel_new(const struct capture_kernel_options *options,
                                          capture_handler *handler, void *context, struct text *missing,
                                          struct error *err)
{
    struct capture_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return error_memory_null(err);
    *kernel = (struct capture_kernel){.handler = handler, .context = context, .cgroup = -1};
    *first_warning = '\0';
    libbpf_set_print(keep_warning);
    if (load(kernel, options, missing, err))
        return kernel;
    capture_kernel_free(kernel);
    return NULL;
}

bool capture_kernel_add(struct capture_kernel *kernel, int pid, struct error *err)
{
    const struct bpf_map *threads = kernel->programs->maps.threads;
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0 || pid == getpid())
        return process < 0 || close(process) == 0; /* it has ended meanwhile, or is the tracer */
    void *nothing = calloc(1, bpf_map__value_size(threads));
    int code = nothing ? bpf_map_update_elem(bpf_map__fd(threads), &process, nothing, BPF_ANY) : -ENOMEM;
    free(nothing);
    close(process);
    return code == 0 || code == -ESRCH || refused(err, "cannot add a process", code);
}

bool capture_kernel_attach(struct capture_kernel *kernel, struct error *err)
{
    int code = capture_bpf__attach(kernel->programs);
    return code == 0 || refused(err, "cannot attach the eBPF programs", code);
}

void capture_kernel_detach(struct capture_kernel *kernel)
{
    capture_bpf__detach(kernel->programs);
}

static int64_t missed_by_recursion(struct capture_kernel *kernel)
{
    struct bpf_program *program = NULL;
    int64_t sum = 0;
    bpf_object__for_each_program(program, kernel->programs->obj)
    {
        struct bpf_prog_info info = {0};
        __u32 size = sizeof info;
        if (bpf_program__fd(program) >= 0 &&
            bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
            sum += (int64_t)info.recursion_misses;
    }
    return sum;
}

void capture_kernel_lost(struct capture_kernel *kernel, int64_t lost[CAPTURE_LOST_KINDS], int64_t *recursion)
{
    int processors = libbpf_num_possible_cpus();
    uint64_t *values = calloc(processors > 0 ? (size_t)processors : 1, sizeof *values);
    for (uint32_t kind = 0; kind < CAPTURE_LOST_KINDS; kind++) {
        lost[kind] = 0;
        if (!values || bpf_map_lookup_elem(bpf_map__fd(kernel->programs->maps.lost), &kind, values) != 0)
            continue;
        for (int i = 0; i < processors; i++)
            lost[kind] += (int64_t)values[i];
    }
    free(values);
    *recursion = missed_by_recursion(kernel);
}

void capture_kernel_free(struct capture_kernel *kernel)
{
    if (!kernel)
        return;
    ring_buffer__free(kernel->ring);
    capture_bpf__destroy(kernel->programs);
    if (kernel->cgroup >= 0)
        close(kernel->cgroup);
    free(kernel);
}
