/* From a trace to the ops of each thread, their descriptors, their order, and the files that they need. */
#include "core/hash.h"
#include "core/stop.h"
#include "core/vector.h"
#include "feed/replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE  UINT32_MAX
#define BLOCK INT64_C(4096) /* of O_DIRECT, where a file system has no larger one */

/* The last op of a thread on a file or a descriptor. */
struct last {
    uint32_t thread;
    uint64_t count; /* of the steps of the thread's ops, to the end of it: io_wait */
    int64_t end_ns;
};

struct lasts {
    struct last *items;
    size_t count, capacity;
};

/* What is known of a file, or of a descriptor, while the trace is read. */
struct order {
    struct lasts all;
    struct last change, write, open; /* count 0: none yet */
    bool moved;                      /* it was read or written */
};

/* Calls of a class are replayed if they worked, if they failed; use a descriptor; change names or lengths. */
enum { WORKED = 1, FAILED = 2, DESCRIPTOR = 4, NAMES = 8 };
static const unsigned char kinds[TRACE_CLASSES] = {
    [TRACE_READ] = WORKED | DESCRIPTOR,
    [TRACE_WRITE] = WORKED | DESCRIPTOR,
    [TRACE_FAULT] = WORKED | DESCRIPTOR,
    [TRACE_OPEN] = WORKED | FAILED | DESCRIPTOR,
    [TRACE_CLOSE] = WORKED | DESCRIPTOR,
    [TRACE_SYNC] = WORKED | DESCRIPTOR,
    [TRACE_SEEK] = WORKED | DESCRIPTOR,
    [TRACE_STAT] = WORKED | FAILED | DESCRIPTOR,
    [TRACE_OTHER] = DESCRIPTOR,
    [TRACE_TRUNCATE] = WORKED | NAMES,
    [TRACE_CREATE] = NAMES,
    [TRACE_UNLINK] = WORKED | FAILED | NAMES,
    [TRACE_RENAME] = WORKED | FAILED | NAMES,
    [TRACE_MKDIR] = WORKED | FAILED | NAMES,
    [TRACE_RMDIR] = WORKED | FAILED | NAMES,
};

struct loading {
    struct io_plan *plan;
    struct hash_names threads, descriptors, calls;
    struct last *advised;   /* by file: the last advice, behind which nothing was read yet */
    uint32_t *open_handles; /* by id of descriptors; NONE */
    size_t open_capacity;
    struct order *files, *handles;
    struct last began; /* the begin of the last op that was the first to read or write its file */
    size_t order_capacity;
};

/* ---- names ---- */

/* Returns the path below a folder: no dots, and never above it. */
static char *name_below(struct arena *arena, const char *path)
{
    char *name = arena_alloc(arena, strlen(path) + 2, 1), *end = name;
    if (!name)
        return NULL;
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (end > name && *--end != '/')
                ;
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            if (end > name)
                *end++ = '/';
            memcpy(end, path, length);
            end += length;
        }
        path += length + (path[length] == '/');
    }
    *end = '\0';
    return name;
}

/* Finds the nearest folder above a file, which is a folder then. */
static bool find_parent(struct io_plan *plan, struct hash_names *names, struct io_file *file)
{
    bool added;
    for (size_t length = strlen(file->name); length > 0 && file->parent == 0;) {
        while (length > 0 && file->name[length - 1] != '/')
            length--;
        length -= length > 0;
        uint32_t id = length > 0 ? hash_names_id(names, file->name, length, &added) : 0;
        if (length > 0 && id == 0)
            return false;
        if (id > 0 && id <= plan->file_count)
            file->parent = id;
    }
    if (file->parent)
        plan->files[file->parent].folder = true;
    file->folder |= !*file->name;
    return true;
}

static bool name_files(struct io_plan *plan, struct error *err)
{
    plan->file_count = (size_t)trace_file_count(plan->reader);
    plan->files = calloc(plan->file_count + 1, sizeof *plan->files);
    if (!plan->files)
        return error_memory(err);
    struct hash_names names = {0};
    bool done = true, added;
    for (size_t i = 1; done && i <= plan->file_count; i++) {
        const struct trace_file_info *info = trace_file_info(plan->reader, (int64_t)i);
        if (info->kind != TRACE_KIND_FILE || !*info->path)
            continue;
        char *name = name_below(&plan->arena, info->path);
        uint32_t id = name ? hash_names_id(&names, name, strlen(name), &added) : 0;
        done = id != 0;
        if (done && added) {
            plan->files[id].path = info->path;
            plan->files[id].name = name;
        }
        plan->files[i].place = id;
    }
    plan->file_count = names.count;
    for (size_t i = 1; done && i <= plan->file_count; i++)
        done = find_parent(plan, &names, &plan->files[i]);
    hash_names_release(&names);
    return done || error_memory(err);
}

/* ---- threads and descriptors ---- */

static bool thread_of(struct loading *loading, int64_t process, uint32_t *thread, struct error *err)
{
    struct io_plan *plan = loading->plan;
    const struct trace_process_info *info = trace_process_info(plan->reader, process);
    bool added, known = info->pid != TRACE_NONE;
    int64_t key[3] = {info->pid, info->tid, known ? 0 : process};
    uint32_t id = hash_names_id(&loading->threads, key, sizeof key, &added);
    if (id == 0)
        return error_memory(err);
    if (id > IO_MAX_THREADS)
        return error_set(err, ERROR_INPUT,
                         "the trace has more than %d threads; choose some of its files with --path",
                         IO_MAX_THREADS);
    *thread = id - 1;
    return !added ||
           VECTOR_ADD(plan->threads, plan->thread_count, plan->thread_capacity,
                      (struct io_thread){.process = process}) ||
           error_memory(err);
}

/* Returns the place of the handle that a process has open under a descriptor of a file; NULL: out of memory. */
static uint32_t *place_of(struct loading *loading, int64_t pid, uint32_t file, int64_t fd)
{
    bool added;
    int64_t key[3] = {pid, file, fd};
    uint32_t id = hash_names_id(&loading->descriptors, key, sizeof key, &added);
    if (id == 0 || !VECTOR_ROOM(loading->open_handles, loading->open_capacity, (size_t)id + 1))
        return NULL;
    if (added)
        loading->open_handles[id] = NONE;
    return &loading->open_handles[id];
}

static bool new_handle(struct loading *loading, uint32_t file, bool implied, uint32_t *handle)
{
    struct io_plan *plan = loading->plan;
    if (!VECTOR_ROOM_ZEROED(loading->handles, loading->order_capacity, plan->handle_count + 1) ||
        !VECTOR_ADD(plan->handles, plan->handle_count, plan->handle_capacity,
                    (struct io_handle){.file = file, .aligned = true, .implied = implied}))
        return false;
    *handle = (uint32_t)plan->handle_count - 1;
    return true;
}

/* Sets op->handle: a new one for an open, else the one that is open. */
static bool find_handle(struct loading *loading, struct io_op *op, struct error *err)
{
    const struct trace_event *event = &op->event;
    bool asks = event->class == TRACE_STAT; /* by descriptor, if that is open, else by name */
    const struct trace_process_info *info = trace_process_info(loading->plan->reader, event->process);
    int64_t pid = info->pid != TRACE_NONE ? info->pid : -event->process;
    bool opens = event->class == TRACE_OPEN;
    int64_t fd = opens ? (event->result > 2 ? event->result : TRACE_NONE) : event->fd;
    uint32_t *bare = place_of(loading, pid, op->file, TRACE_NONE), before = bare ? *bare : NONE;
    uint32_t *place = bare ? place_of(loading, pid, op->file, fd) : NULL;
    if (!place)
        return error_memory(err);
    if (asks) {
        op->handle = *place;
        return true;
    }
    if (!opens && *place == NONE && before != NONE && loading->plan->handles[before].implied)
        *place = before;
    if ((opens || *place == NONE) && !new_handle(loading, op->file, !opens, place))
        return error_memory(err);
    op->handle = *place;
    if (event->class == TRACE_CLOSE)
        *place = NONE;
    bare = place_of(loading, pid, op->file, TRACE_NONE); /* it may have moved */
    if (event->class != TRACE_CLOSE)
        *bare = op->handle;
    else if (*bare == op->handle)
        *bare = NONE;
    return true;
}

/* ---- order ---- */

static bool wait_for(struct loading *loading, struct io_op *op, uint32_t thread, const struct last *last)
{
    struct io_plan *plan = loading->plan;
    if (last->count == 0 || last->thread == thread)
        return true;
    for (uint32_t i = op->wait; i < op->wait + op->waits; i++)
        if (plan->waits[i].thread == last->thread && plan->waits[i].count % 2 == last->count % 2) {
            if (plan->waits[i].count < last->count)
                plan->waits[i].count = last->count;
            return true;
        }
    op->waits++;
    return plan->wait_count < UINT32_MAX && VECTOR_ADD(plan->waits, plan->wait_count, plan->wait_capacity,
                                                       (struct io_wait){last->thread, last->count});
}

static bool wait_for_all(struct loading *loading, struct io_op *op, uint32_t thread,
                         const struct lasts *lasts, int64_t before_ns)
{
    for (size_t i = 0; i < lasts->count; i++)
        if (lasts->items[i].end_ns <= before_ns && !wait_for(loading, op, thread, &lasts->items[i]))
            return false;
    return true;
}

static bool note_last(struct lasts *lasts, const struct last *last)
{
    for (size_t i = 0; i < lasts->count; i++)
        if (lasts->items[i].thread == last->thread) {
            lasts->items[i] = *last;
            return true;
        }
    return VECTOR_ADD(lasts->items, lasts->count, lasts->capacity, *last);
}

static bool order_on_file(struct loading *loading, struct io_op *op, uint32_t file, const struct last *self)
{
    struct order *order = &loading->files[file], *parent = &loading->files[loading->plan->files[file].parent];
    bool change = kinds[op->event.class] & NAMES, opens = op->event.class == TRACE_OPEN && !op->fails;
    if ((order->change.end_ns <= op->start_ns && !wait_for(loading, op, self->thread, &order->change)) ||
        (parent->change.end_ns <= op->start_ns && !wait_for(loading, op, self->thread, &parent->change)) ||
        (op->event.class == TRACE_READ && order->write.end_ns <= op->start_ns &&
         !wait_for(loading, op, self->thread, &order->write)) ||
        (change && !wait_for_all(loading, op, self->thread, &order->all, op->start_ns)) ||
        !note_last(&order->all, self) || (change && !note_last(&parent->all, self)))
        return false;
    if (change || (opens && order->change.count == 0)) /* the first open may make the file */
        order->change = *self;
    if (op->event.class == TRACE_WRITE)
        order->write = *self;
    return true;
}

static bool order_op(struct loading *loading, struct io_op *op, uint32_t thread, struct error *err)
{
    int64_t took = op->event.latency_ns > 0 ? op->event.latency_ns : 0;
    const struct last self = {thread, 2 * (loading->plan->threads[thread].count + 1), op->start_ns + took};
    struct order *of = &loading->files[op->file];
    op->wait = (uint32_t)loading->plan->wait_count;
    op->first = !of->moved && (op->event.class == TRACE_READ || op->event.class == TRACE_WRITE);
    of->moved |= op->first;
    bool done = (!op->first || wait_for(loading, op, thread, &loading->began)) &&
                order_on_file(loading, op, op->file, &self) &&
                (op->second == 0 || order_on_file(loading, op, op->second, &self));
    if (done && op->handle != NONE) {
        struct order *order = &loading->handles[op->handle];
        done =
            wait_for(loading, op, thread, &order->open) &&
            (op->event.class != TRACE_CLOSE || wait_for_all(loading, op, thread, &order->all, INT64_MAX)) &&
            note_last(&order->all, &self);
        if (op->event.class == TRACE_OPEN)
            order->open = self;
    }
    if (op->first)
        loading->began = (struct last){thread, self.count - 1, op->start_ns};
    return done || error_memory(err);
}

/* ---- files ---- */

/* Learns from an op what its file was at first. */
static void learn(struct io_plan *plan, const struct io_op *op)
{
    struct io_file *file = &plan->files[op->file];
    enum trace_class class = op->event.class;
    bool first = !file->exists, moves = class == TRACE_READ || class == TRACE_FAULT;
    if (op->fails && op->event.result != -EEXIST) {
        file->fails |= !file->exists && (op->event.result == -ENOENT || op->event.result == -1);
        return;
    }
    if (first)
        file->bytes = file->fails || (class == TRACE_MKDIR && !op->fails) ? -1 : 0;
    file->exists = true;
    file->folder |= class == TRACE_MKDIR || class == TRACE_RMDIR;
    bool changes = (kinds[class] & NAMES) || class == TRACE_WRITE;
    file->changes |= changes;
    plan->changes |= changes;
    if (class == TRACE_WRITE && op->offset + op->bytes > file->written)
        file->written = op->offset + op->bytes;
    /* a file that was not there, and got a length, is read as it was made */
    if (class == TRACE_TRUNCATE && file->bytes < 0 && op->bytes > file->written)
        file->written = op->bytes;
    if (moves && op->bytes > 0 && op->offset + op->bytes > file->written &&
        op->offset + op->bytes > file->bytes)
        file->bytes = op->offset + op->bytes;
    if (op->second != 0) {
        struct io_file *to = &plan->files[op->second];
        to->bytes = to->exists ? to->bytes : -1;
        to->written = file->written > file->bytes ? file->written : file->bytes;
        to->exists = to->changes = true;
    }
}

/* A file that was written, and of which nothing was read that had not been written, is the job's. */
static void find_new_files(struct io_plan *plan)
{
    for (size_t i = 1; i <= plan->file_count; i++) {
        struct io_file *file = &plan->files[i];
        if (!file->exists || (file->bytes == 0 && file->written > 0))
            file->bytes = -1;
    }
}

/* ---- events ---- */

static bool add_gap(struct loading *loading, const char *call, struct error *err)
{
    struct io_plan *plan = loading->plan;
    bool added;
    uint32_t id = hash_names_id(&loading->calls, call, strlen(call), &added);
    if (id == 0 ||
        (added && !VECTOR_ADD(plan->gaps, plan->gap_count, plan->gap_capacity, (struct io_gap){call, 0})))
        return error_memory(err);
    plan->gaps[id - 1].count++;
    return true;
}

/* fadvise64, whose advice no trace tells: the reads behind it do. */
static bool is_advice(const struct io_plan *plan, const struct io_op *op)
{
    return op->event.class == TRACE_OTHER && !op->fails &&
           strncmp(trace_call_name(plan->reader, op->event.call), "fadvise", 7) == 0;
}

/* Learns from a read whether its file was in the page cache, and what the advice before it was. */
static void learn_cached(struct loading *loading, const struct io_op *op)
{
    struct io_file *file = &loading->plan->files[op->file];
    struct last *advised = &loading->advised[op->file];
    file->warm |= !file->is_read && op->event.cached == 1;
    file->is_read = true;
    if (advised->count > 0 && op->event.cached == 0)
        loading->plan->threads[advised->thread].ops[advised->count - 1].drops = true;
    advised->count = 0;
}

static bool is_replayed(const struct io_op *op)
{
    return (kinds[op->event.class] & (op->fails ? FAILED : WORKED)) &&
           (op->event.class != TRACE_RENAME || op->second != 0);
}

/* Fills in place and length, of which a trace may lack the place: then a call goes on where the one before ended. */
static void place_op(struct io_plan *plan, struct io_op *op)
{
    const struct trace_event *event = &op->event;
    struct io_handle none = {.file = 0}, *handle = op->handle == NONE ? &none : &plan->handles[op->handle];
    op->bytes =
        event->class == TRACE_TRUNCATE ? (event->size > 0 ? event->size : 0) : trace_bytes_moved(event);
    op->offset = event->offset >= 0 ? event->offset : handle->next;
    int64_t next = handle->next;
    if (event->class == TRACE_READ || event->class == TRACE_WRITE)
        handle->next = op->offset + op->bytes;
    if (op->bytes > plan->largest && event->class != TRACE_TRUNCATE)
        plan->largest = op->bytes;
    handle->reads += event->class == TRACE_READ;
    handle->jumps += event->class == TRACE_READ && op->offset != next;
    handle->hits += event->class == TRACE_READ && event->cached == 1;
    handle->writes |= event->class == TRACE_WRITE;
    handle->aligned &= op->bytes == 0 || (op->offset % BLOCK == 0 && op->bytes % BLOCK == 0);
}

static bool add_op(struct loading *loading, struct io_op *op, struct error *err)
{
    struct io_plan *plan = loading->plan;
    struct io_thread *thread;
    uint32_t which = 0;
    if (!is_replayed(op) && !is_advice(plan, op))
        return add_gap(loading,
                       op->event.call ? trace_call_name(plan->reader, op->event.call)
                                      : trace_class_name(op->event.class),
                       err);
    if (!thread_of(loading, op->event.process, &which, err) ||
        ((kinds[op->event.class] & DESCRIPTOR) && !op->fails && !find_handle(loading, op, err)))
        return false;
    place_op(plan, op);
    if (!order_op(loading, op, which, err))
        return false;
    learn(plan, op);
    if (op->event.class == TRACE_READ)
        learn_cached(loading, op);
    else if (op->event.class == TRACE_OTHER)
        loading->advised[op->file] = (struct last){which, plan->threads[which].count + 1, 0};
    thread = &plan->threads[which];
    int64_t end = op->start_ns + (op->event.latency_ns > 0 ? op->event.latency_ns : 0);
    plan->end_ns = end > plan->end_ns ? end : plan->end_ns;
    plan->ops++;
    plan->read += op->event.class == TRACE_WRITE || op->event.class == TRACE_TRUNCATE ? 0 : op->bytes;
    plan->written += op->event.class == TRACE_WRITE ? op->bytes : 0;
    return VECTOR_ADD(thread->ops, thread->count, thread->capacity, *op) || error_memory(err);
}

/* The new name of a rename is the row behind it. */
static bool is_new_name(const struct io_plan *plan, const struct io_op *op, const struct trace_event *event)
{
    return op->event.class == TRACE_RENAME && event->process == op->event.process &&
           event->start_ns == op->event.start_ns &&
           strcmp(trace_call_name(plan->reader, event->call), "new_name") == 0;
}

static bool read_events(struct loading *loading, struct error *err)
{
    struct io_plan *plan = loading->plan;
    struct io_op held = {.file = 0}; /* a row behind it may tell more */
    struct trace_filter filter = TRACE_ALL;
    struct trace_event event;
    bool done = true;
    size_t step = 0;
    struct trace_cursor *cursor = trace_events(plan->reader, &filter, err);
    while (done && trace_next_event(cursor, &event)) {
        if (stop_obeyed_at(step++, err)) {
            done = false;
            break;
        }
        if (event.class == TRACE_REGION || event.class == TRACE_OFFCPU || event.file <= 0 ||
            plan->files[event.file].place == 0)
            continue;
        if (held.file && is_new_name(plan, &held, &event)) {
            held.second = plan->files[event.file].place;
            continue;
        }
        done = !held.file || add_op(loading, &held, err);
        if (plan->first_ns == TRACE_NONE)
            plan->first_ns = event.start_ns;
        held = (struct io_op){.start_ns = event.start_ns - plan->first_ns,
                              .event = event,
                              .file = plan->files[event.file].place,
                              .second = 0,
                              .handle = NONE,
                              .fails = event.result != TRACE_NONE && event.result < 0};
    }
    done = done && (!held.file || add_op(loading, &held, err));
    struct error ignored;
    return trace_cursor_close(cursor, done ? err : &ignored) && done;
}

static void free_orders(struct order *orders, size_t count)
{
    for (size_t i = 0; orders && i < count; i++)
        free(orders[i].all.items);
    free(orders);
}

bool io_plan_read(struct io_plan *plan, struct trace_reader *reader, const char *trace, struct error *err)
{
    *plan = (struct io_plan){.reader = reader, .first_ns = TRACE_NONE};
    struct loading loading = {.plan = plan};
    int64_t first_ns, last_ns;
    bool done = trace_span_of_run(reader, trace, &first_ns, &last_ns, err) && name_files(plan, err);
    loading.advised = done ? calloc(plan->file_count + 1, sizeof *loading.advised) : NULL;
    loading.files = done ? calloc(plan->file_count + 1, sizeof *loading.files) : NULL;
    done = done && ((loading.files && loading.advised) || error_memory(err)) && read_events(&loading, err);
    free_orders(loading.files, plan->file_count + 1);
    free_orders(loading.handles, plan->handle_count);
    free(loading.advised);
    free(loading.open_handles);
    hash_names_release(&loading.threads);
    hash_names_release(&loading.descriptors);
    hash_names_release(&loading.calls);
    if (done && plan->ops > 0) {
        plan->before_ns = plan->first_ns - first_ns;
        plan->after_ns =
            last_ns - plan->first_ns > plan->end_ns ? last_ns - plan->first_ns - plan->end_ns : 0;
        find_new_files(plan);
    }
    return done && (plan->ops > 0 ||
                    error_set(err, ERROR_INPUT, "the trace has no calls on files that can be replayed"));
}

void io_plan_release(struct io_plan *plan)
{
    for (size_t i = 0; i < plan->thread_count; i++)
        free(plan->threads[i].ops);
    free(plan->threads);
    free(plan->files);
    free(plan->handles);
    free(plan->waits);
    free(plan->gaps);
    arena_release(&plan->arena);
    *plan = (struct io_plan){0};
}
