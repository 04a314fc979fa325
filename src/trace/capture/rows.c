#include "trace/capture/rows.h"
#include "core/vector.h"
#include "trace/capture/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

void capture_rows_init(struct capture_rows *rows, struct trace_writer *writer,
                       struct capture_clients *clients, int64_t to_utc)
{
    size_t count;
    *rows = (struct capture_rows){.writer = writer, .clients = clients, .to_utc = to_utc};
    capture_files_init(&rows->files, writer);
    const struct capture_call *calls = capture_calls(&count);
    for (size_t i = 0; i < count; i++) {
        rows->call_ids[calls[i].number] = trace_call(writer, calls[i].name, strlen(calls[i].name));
        rows->classes[calls[i].number] = (enum trace_class)calls[i].shape.lost;
    }
    calls = capture_opcodes(&count);
    for (size_t i = 0; i < count; i++) {
        rows->opcode_ids[calls[i].number] = trace_call(writer, calls[i].name, strlen(calls[i].name));
        rows->opcode_classes[calls[i].number] = (enum trace_class)calls[i].shape.lost;
    }
    rows->fault_ids[0] = trace_call(writer, "fault", 5);
    rows->fault_ids[1] = trace_call(writer, "fault:write", 11);
    rows->off_cpu_id = trace_call(writer, "offcpu", 6);
    rows->second_id = trace_call(writer, "new_name", 8);
}

void capture_rows_release(struct capture_rows *rows)
{
    capture_files_release(&rows->files);
    hash_map_release(&rows->threads);
    hash_map_release(&rows->names);
    hash_map_release(&rows->alive);
    hash_map_release(&rows->named[0]);
    hash_map_release(&rows->named[1]);
    free(rows->name);
    *rows = (struct capture_rows){0};
}

/* ---- processes ---- */

/* Maps have no key 0, but idle processors have the process number 0. */
static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
    uint64_t key = (uint64_t)pid << 32 | tid;
    return key ? key : UINT64_MAX;
}

/* Returns the key of a thread's name. That of a main thread is its pid, so that other threads find it. */
static uint64_t name_key(uint32_t pid, uint32_t tid)
{
    return pid == tid && pid ? pid : thread_key(pid, tid);
}

static void set_name(struct capture_rows *rows, uint64_t key, const char *name, size_t bytes)
{
    int64_t *known = hash_map_find(&rows->names, key);
    size_t at = known ? (size_t)*known : rows->name_count;
    if (!VECTOR_ROOM(rows->name, rows->name_capacity, at + 1))
        return;
    if (!known && !hash_map_set(&rows->names, key, (int64_t)at))
        return;
    rows->name_count += !known;
    snprintf(rows->name[at], sizeof *rows->name, "%.*s", (int)strnlen(name, bytes), name);
}

/* Reads the name of a process that began before the trace; a thread of it may have its own. */
static void name_from_proc(struct capture_rows *rows, uint32_t pid, uint32_t tid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, name, sizeof name - 1) : 0;
    if (file >= 0)
        close(file);
    if (length > 0)
        name[strcspn(name, "\n")] = '\0';
    if (*name || pid == tid)
        set_name(rows, name_key(pid, tid), name, sizeof name);
}

static int64_t process_of(struct capture_rows *rows, uint32_t pid, uint32_t tid)
{
    uint64_t key = thread_key(pid, tid);
    const int64_t *known = hash_map_find(&rows->threads, key);
    if (known)
        return *known;
    if (!hash_map_find(&rows->names, name_key(pid, pid))) {
        name_from_proc(rows, pid, pid);
        if (pid != tid)
            name_from_proc(rows, pid, tid);
    }
    const int64_t *at = hash_map_find(&rows->names, name_key(pid, tid));
    at = at ? at : hash_map_find(&rows->names, name_key(pid, pid));
    const char *name = at ? rows->name[*at] : "";
    int64_t id = trace_process(rows->writer, pid, tid, name, strlen(name));
    hash_map_set(&rows->threads, key, id);
    return id;
}

static bool fork_row(struct capture_rows *rows, const struct capture_record *record, const char *name)
{
    uint32_t child = record->tid;
    set_name(rows, child, name, record->texts[0]);
    hash_map_set(&rows->threads, thread_key(child, child), 0); /* ids are given out again */
    int64_t id = trace_process(rows->writer, child, child, name, strnlen(name, record->texts[0]));
    hash_map_set(&rows->threads, thread_key(child, child), id);
    hash_map_set(&rows->alive, child, 1);
    return trace_process_set(rows->writer, id, record->pid, (int64_t)record->start + rows->to_utc, TRACE_NONE,
                             NULL, &rows->err);
}

static bool exec_row(struct capture_rows *rows, const struct capture_record *record, const char *text)
{
    char command[4096];
    const char *name = text + record->texts[0], *words = name + record->texts[1];
    size_t bytes = record->texts[2];
    capture_files_know(&rows->files, text); /* it is never opened by a call, but mapped */
    set_name(rows, record->pid, name, record->texts[1]);
    while (bytes > 0 && words[bytes - 1] == '\0')
        bytes--;
    for (size_t i = 0; i < bytes; i++)
        command[i] = words[i];
    for (size_t i = 0; i < bytes; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    command[bytes < sizeof command ? bytes : sizeof command - 1] = '\0';
    capture_clients_note(rows->clients, record->pid, text, command, (int64_t)record->start);
    int64_t before = process_of(rows, record->pid, record->pid);
    int64_t id = trace_process(rows->writer, record->pid, record->pid, name, strnlen(name, record->texts[1]));
    hash_map_set(&rows->threads, thread_key(record->pid, record->pid), id);
    int64_t now = (int64_t)record->start + rows->to_utc;
    if (rows->starting == record->pid)
        rows->starting = 0;
    /* a row that it had under this name may have got another one */
    if (!trace_process_rename(rows->writer, id, name, strnlen(name, record->texts[1]), &rows->err))
        return false;
    if (before != id &&
        !trace_process_set(rows->writer, before, TRACE_NONE, TRACE_NONE, now, NULL, &rows->err))
        return false;
    return trace_process_set(rows->writer, id, TRACE_NONE, now, TRACE_NONE, command, &rows->err);
}

static bool name_row(struct capture_rows *rows, const struct capture_record *record, const char *name)
{
    uint64_t key = thread_key(record->pid, record->tid);
    set_name(rows, name_key(record->pid, record->tid), name, record->texts[0]);
    const int64_t *id = hash_map_find(&rows->threads, key);
    return !id || trace_process_rename(rows->writer, *id, name, strnlen(name, record->texts[0]), &rows->err);
}

static bool exit_row(struct capture_rows *rows, const struct capture_record *record)
{
    int64_t id = process_of(rows, record->pid, record->pid);
    hash_map_set(&rows->alive, record->pid, 0);
    return trace_process_set(rows->writer, id, TRACE_NONE, TRACE_NONE, (int64_t)record->start + rows->to_utc,
                             NULL, &rows->err);
}

void capture_rows_command(struct capture_rows *rows, int pid, const char *program)
{
    const char *name = basename(program); /* as the kernel will name it */
    set_name(rows, (uint32_t)pid, name, strlen(name));
    rows->starting = (uint32_t)pid;
}

void capture_rows_started(struct capture_rows *rows, int64_t now)
{
    rows->started = (uint64_t)now;
}

/* Registers the open and mapped files of a running process. */
static void capture_files_scan(struct capture_files *files, int pid)
{
    char name[64], line[CAPTURE_MAX_PATH];
    snprintf(name, sizeof name, "/proc/%d/fd", pid);
    DIR *folder = opendir(name);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, line, sizeof line - 1);
        if (length <= 0)
            continue;
        line[length] = '\0';
        capture_files_know(files, line);
    }
    if (folder)
        closedir(folder);
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *maps = fopen(name, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        const char *path = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (path)
            capture_files_know(files, path);
    }
    if (maps)
        fclose(maps);
}

void capture_rows_process(struct capture_rows *rows, int pid)
{
    hash_map_set(&rows->alive, (uint64_t)pid, 1);
    capture_files_scan(&rows->files, pid);
    process_of(rows, (uint32_t)pid, (uint32_t)pid);
}

size_t capture_rows_alive(const struct capture_rows *rows, int **pids)
{
    size_t count = 0;
    *pids = calloc(rows->alive.count ? rows->alive.count : 1, sizeof **pids);
    for (size_t i = 0; *pids && i < rows->alive.capacity; i++)
        if (rows->alive.places[i].key != 0 && rows->alive.places[i].value != 0)
            (*pids)[count++] = (int)rows->alive.places[i].key;
    return count;
}

/* ---- events ---- */

static struct trace_event event_of(struct capture_rows *rows, const struct capture_record *record)
{
    return (struct trace_event){
        .cached = record->cached == 2 ? -1 : record->cached,
        .start_ns = (int64_t)record->start + rows->to_utc,
        .latency_ns = (int64_t)record->latency,
        .process = process_of(rows, record->pid, record->tid),
        .fd = record->fd < 0 ? TRACE_NONE : record->fd,
        .offset = record->offset,
        .size = record->size,
        .result = record->result,
    };
}

static struct capture_open open_of(const struct capture_record *record)
{
    return (struct capture_open){
        .file = record->file,
        .inode = record->inode,
        .device = record->device,
        .mode = record->mode,
        .pid = (int)record->pid,
        .fd = record->fd,
    };
}

static bool add(struct capture_rows *rows, const struct trace_event *event)
{
    return trace_add_event(rows->writer, event, &rows->err);
}

/* Adds the second path of rename and link: a row of class "other" that takes no time. */
static bool add_second(struct capture_rows *rows, struct trace_event event, int64_t file)
{
    event.class = TRACE_OTHER;
    event.call = rows->second_id;
    event.latency_ns = 0;
    event.file = file;
    return add(rows, &event);
}

/* Returns the file of path `first` and of the next text, its folder, which begin at `text`; 0: there is
 * none. */
static int64_t named_file(struct capture_rows *rows, const struct capture_record *record, int first,
                          const char *text)
{
    char path[CAPTURE_MAX_PATH];
    size_t given = record->texts[first], folder = record->texts[first + 1];
    if (given + folder == 0)
        return 0;
    capture_path(text, given, text + given, folder, path);
    return trace_file(rows->writer, TRACE_NONE, TRACE_NONE, path, strlen(path));
}

static int64_t second_file(struct capture_rows *rows, const struct capture_record *record, const char *text)
{
    return record->texts[2] ? named_file(rows, record, 2, text + record->texts[0] + record->texts[1]) : 0;
}

/* Returns an open file whose path the kernel sent. */
static int64_t opened_file(struct capture_rows *rows, const struct capture_record *record, const char *text)
{
    char path[CAPTURE_MAX_PATH];
    const struct capture_open open = open_of(record);
    capture_path(text, record->texts[0], text + record->texts[0], record->texts[1], path);
    return capture_files_open(&rows->files, &open, path);
}

static int64_t file_of(struct capture_rows *rows, const struct capture_record *record, const char *text)
{
    const struct capture_open open = open_of(record);
    if (record->texts[0] + record->texts[1] == 0)
        return capture_files_find(&rows->files, &open);
    return record->inode ? opened_file(rows, record, text) : named_file(rows, record, 0, text);
}

static bool call_row(struct capture_rows *rows, const struct capture_record *record, const char *text)
{
    struct trace_event event = event_of(rows, record);
    event.class = record->part ? TRACE_WRITE : rows->classes[record->number % CAPTURE_CALLS];
    event.call = rows->call_ids[record->number % CAPTURE_CALLS];
    event.file = file_of(rows, record, text);
    int64_t second = second_file(rows, record, text);
    return add(rows, &event) && (second == 0 || add_second(rows, event, second));
}

/* Keeps the paths of an io_uring request, which come before it. */
static bool named_row(struct capture_rows *rows, const struct capture_record *record, const char *text)
{
    hash_map_set(&rows->named[0], record->file, named_file(rows, record, 0, text));
    hash_map_set(&rows->named[1], record->file, second_file(rows, record, text));
    return true;
}

static bool request_row(struct capture_rows *rows, const struct capture_record *record, const char *text)
{
    struct trace_event event = event_of(rows, record);
    event.class = rows->opcode_classes[record->number % CAPTURE_OPCODES];
    event.call = rows->opcode_ids[record->number % CAPTURE_OPCODES];
    if (!record->part) {
        event.file = file_of(rows, record, text);
        return add(rows, &event);
    }
    const int64_t *first = hash_map_find(&rows->named[0], record->file);
    const int64_t *second = hash_map_find(&rows->named[1], record->file);
    event.file = first ? *first : 0;
    return add(rows, &event) && (!second || *second == 0 || add_second(rows, event, *second));
}

static bool other_row(struct capture_rows *rows, const struct capture_record *record)
{
    struct trace_event event = event_of(rows, record);
    const struct capture_open open = open_of(record);
    event.file = capture_files_find(&rows->files, &open);
    event.class = record->kind == CAPTURE_FAULT ? TRACE_FAULT : TRACE_OFFCPU;
    event.call = record->kind == CAPTURE_FAULT ? rows->fault_ids[record->number != 0] : rows->off_cpu_id;
    return add(rows, &event);
}

/* ---- disks ---- */

static int64_t disk_of(struct capture_rows *rows, uint32_t device)
{
    char link[64], target[256];
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", device >> 20, device & 0xfffff);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0) {
        int bytes = snprintf(target, sizeof target, "%u:%u", device >> 20, device & 0xfffff);
        return trace_disk(rows->writer, target, (size_t)bytes);
    }
    target[length] = '\0';
    const char *name = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
    return trace_disk(rows->writer, name, strlen(name));
}

/* REQ_OP_…: 0 read, 1 write, 2 flush, 3 discard, 5 secure erase, 9 write zeroes (linux/blk_types.h). A
 * flush for fsync is an empty write (blkdev_issue_flush). */
static enum trace_op operation_of(const struct capture_block *record)
{
    switch (record->operation) {
    case 0:
        return TRACE_OP_READ;
    case 2:
        return TRACE_OP_FLUSH;
    case 3:
    case 5:
        return TRACE_OP_DISCARD;
    default:
        return record->bytes > 0 ? TRACE_OP_WRITE : TRACE_OP_FLUSH;
    }
}

static bool block_row(struct capture_rows *rows, const struct capture_block *record)
{
    struct capture_open open = {.inode = record->inode,
                                .device = record->device,
                                .mode = S_IFREG,
                                .pid = (int)record->cause,
                                .fd = -1};
    enum trace_op operation = operation_of(record);
    struct trace_block block = {
        .op = operation,
        .start_ns = (int64_t)record->start + rows->to_utc,
        .queue_ns = (int64_t)record->queue,
        .service_ns = (int64_t)record->service,
        .sector = operation == TRACE_OP_FLUSH ? TRACE_NONE : (int64_t)record->sector,
        .bytes = (int64_t)record->bytes,
        .disk = disk_of(rows, record->disk),
        .process = process_of(rows, record->pid, record->tid),
        .file = capture_files_find(&rows->files, &open),
        .cause = record->cause ? process_of(rows, record->cause, record->cause) : 0,
    };
    return trace_add_block(rows->writer, &block, &rows->err);
}

/* Returns whether the command's process did this before it executed the command. */
static bool is_before_command(struct capture_rows *rows, const struct capture_record *record)
{
    if (!rows->starting || record->pid != rows->starting || record->kind == CAPTURE_EXEC)
        return false;
    if (record->start >= rows->started)
        rows->starting = 0;
    return rows->starting != 0;
}

bool capture_rows_add(void *context, const void *bytes_of, size_t bytes)
{
    struct capture_rows *rows = context;
    const struct capture_record *record = bytes_of;
    const char *text = (const char *)bytes_of + sizeof *record;
    bool added = true;
    if (rows->failed)
        return false;
    if (record->kind == CAPTURE_BLOCK)
        added = bytes < sizeof(struct capture_block) || block_row(rows, bytes_of);
    else if (bytes < sizeof *record || is_before_command(rows, record))
        return true;
    else if (record->kind == CAPTURE_CALL)
        added = call_row(rows, record, text);
    else if (record->kind == CAPTURE_REQUEST)
        added = request_row(rows, record, text);
    else if (record->kind == CAPTURE_NAMED)
        added = named_row(rows, record, text);
    else if (record->kind == CAPTURE_FORK)
        added = fork_row(rows, record, text);
    else if (record->kind == CAPTURE_EXEC)
        added = exec_row(rows, record, text);
    else if (record->kind == CAPTURE_NAME)
        added = name_row(rows, record, text);
    else if (record->kind == CAPTURE_EXIT)
        added = exit_row(rows, record);
    else
        added = other_row(rows, record);
    rows->failed = !added;
    return added;
}
