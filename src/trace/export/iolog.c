/* fio's iolog (import/iolog.c tells its lines): the calls on files whose bytes are known, as one job of fio.
 *
 * One job has one line of calls, so that calls of several threads follow each other; fio's --iodepth lets them overlap. A file is
 * opened where it is not open yet, and closed with its last descriptor. */
#include "core/hash.h"
#include "core/vector.h"
#include "trace/export/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 256 /* of a file: fio reads no more */

struct iolog_file {
    int64_t opens; /* descriptors */
    bool named;
};

struct iolog_out {
    struct trace_reader *reader;
    FILE *out;
    struct iolog_file *files; /* by id */
    struct hash_names descriptors;
    int64_t *next; /* of each descriptor: where a call begins whose offset is unknown */
    size_t next_capacity;
    int64_t first_ns, waited_ms;
    int version;
};

/* Begins a line. Version 2 waits first, where the time has gone on by a millisecond. */
static void begin_line(struct iolog_out *iolog, const struct trace_event *event, const char *path)
{
    int64_t ns = event->start_ns - iolog->first_ns;
    if (iolog->version == 3) {
        fprintf(iolog->out, "%" PRId64 " ", ns / 1000);
    } else if (ns / 1000000 > iolog->waited_ms) {
        iolog->waited_ms = ns / 1000000;
        fprintf(iolog->out, "%s wait %" PRId64 " 0\n", path, iolog->waited_ms);
    }
    fputs(path, iolog->out);
}

static void write_act(struct iolog_out *iolog, const struct trace_event *event, const char *path,
                      const char *word)
{
    begin_line(iolog, event, path);
    fprintf(iolog->out, " %s\n", word);
}

/* Returns where the descriptor of a process is in a file; NULL: out of memory. */
static int64_t *position_of(struct iolog_out *iolog, const struct trace_event *event)
{
    const struct trace_process_info *info = trace_process_info(iolog->reader, event->process);
    bool added;
    int64_t key[3] = {info->pid != TRACE_NONE ? info->pid : -event->process, event->file,
                      event->class == TRACE_OPEN ? event->result : event->fd};
    uint32_t id = hash_names_id(&iolog->descriptors, key, sizeof key, &added);
    if (id == 0 || !VECTOR_ROOM(iolog->next, iolog->next_capacity, (size_t)id + 1))
        return NULL;
    if (added || event->class == TRACE_OPEN)
        iolog->next[id] = 0;
    return &iolog->next[id];
}

static bool write_call(struct iolog_out *iolog, const struct trace_event *event, struct iolog_file *file,
                       const char *path)
{
    int64_t *next = position_of(iolog, event);
    if (!next)
        return false;
    const char *call = trace_call_name(iolog->reader, event->call);
    bool trim = event->class == TRACE_OTHER && strcmp(call, "trim") == 0, sync = event->class == TRACE_SYNC;
    int64_t bytes = trim ? event->size : trace_bytes_moved(event);
    if (event->class == TRACE_OPEN && event->result != TRACE_NONE && event->result >= 0 && file->opens++ == 0)
        write_act(iolog, event, path, "open");
    if (event->class == TRACE_CLOSE && file->opens > 0 && --file->opens == 0)
        write_act(iolog, event, path, "close");
    if (!sync && bytes <= 0)
        return true;
    if (file->opens == 0 && file->opens++ == 0)
        write_act(iolog, event, path, "open");
    begin_line(iolog, event, path);
    int64_t offset = event->offset == TRACE_NONE ? *next : event->offset;
    if (sync) {
        fprintf(iolog->out, " %s 0 0\n", strcmp(call, "fdatasync") == 0 ? "datasync" : "sync");
        return true;
    }
    fprintf(iolog->out, " %s %" PRId64 " %" PRId64 "\n",
            trim                          ? "trim"
            : event->class == TRACE_WRITE ? "write"
                                          : "read",
            offset, bytes);
    *next = offset + bytes;
    return true;
}

static bool add_name(struct iolog_out *iolog, const struct trace_event *event, struct iolog_file *file,
                     const char *path, struct error *err)
{
    if (strlen(path) >= MAX_NAME || strpbrk(path, " \t\r\n\v\f"))
        return error_set(
            err, ERROR_INPUT,
            "fio cannot read the name '%s': it has blanks or %d bytes and more; leave it out with --path",
            path, MAX_NAME);
    file->named = true;
    write_act(iolog, event, path, "add");
    return true;
}

static bool write_calls(struct iolog_out *iolog, const struct trace_filter *filter, struct error *err)
{
    struct trace_event event;
    struct trace_cursor *cursor = trace_events(iolog->reader, filter, err);
    struct error ignored;
    bool done = true;
    while (done && trace_next_event(cursor, &event)) {
        const struct trace_file_info *info = trace_file_info(iolog->reader, event.file);
        bool file = event.file > 0 && info->kind == TRACE_KIND_FILE && *info->path;
        bool moves = trace_bytes_moved(&event) > 0 ||
                     (event.class == TRACE_OTHER && event.size > 0 &&
                      strcmp(trace_call_name(iolog->reader, event.call), "trim") == 0);
        if (!file ||
            (!moves && event.class != TRACE_OPEN && event.class != TRACE_CLOSE &&
             event.class != TRACE_SYNC) ||
            (event.class == TRACE_OPEN && event.result < 0))
            continue;
        if (iolog->first_ns == TRACE_NONE)
            iolog->first_ns = event.start_ns;
        struct iolog_file *of = &iolog->files[event.file];
        done = of->named || add_name(iolog, &event, of, info->path, err);
        if (done)
            done = write_call(iolog, &event, of, info->path) || error_memory(err);
    }
    return trace_cursor_close(cursor, done ? err : &ignored) && done;
}

bool trace_export_iolog(struct trace_reader *reader, const char *path, int version,
                        const struct trace_export_options *options, struct error *err)
{
    struct file_output file;
    struct trace_filter filter = export_filter(options);
    struct iolog_out iolog = {.reader = reader, .first_ns = TRACE_NONE, .version = version};
    iolog.files = calloc((size_t)trace_file_count(reader) + 1, sizeof *iolog.files);
    if (!iolog.files)
        return error_memory(err);
    bool done = file_output_open(&file, path, err);
    if (done) {
        iolog.out = file.out;
        fprintf(file.out, "fio version %d iolog\n", version);
        done = write_calls(&iolog, &filter, err);
        done = file_output_close(&file, done, err);
    }
    free(iolog.files);
    free(iolog.next);
    hash_names_release(&iolog.descriptors);
    return done;
}
