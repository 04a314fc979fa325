/* The store of a program that was built without SQLite: none can be opened. The rest is never reached, and is here for
 * the linker. */
#include "trace/store/store.h"

#define UNUSED __attribute__((unused))

static bool refuse(struct error *err)
{
    return error_set(err, ERROR_FAILED, "this program was built without SQLite, which traces are kept in");
}

struct trace_writer *trace_writer_new(UNUSED const char *path, UNUSED enum trace_mode mode, struct error *err)
{
    refuse(err);
    return NULL;
}

bool trace_writer_publish(UNUSED struct trace_writer *writer, struct error *err)
{
    return refuse(err);
}

bool trace_writer_give(UNUSED struct trace_writer *writer, UNUSED uid_t user, UNUSED gid_t group,
                       struct error *err)
{
    return refuse(err);
}

bool trace_writer_close(UNUSED struct trace_writer *writer, struct error *err)
{
    return refuse(err);
}

void trace_writer_cut(UNUSED struct trace_writer *writer)
{
}

void trace_writer_drop(UNUSED struct trace_writer *writer)
{
}

bool trace_writer_commit(UNUSED struct trace_writer *writer, struct error *err)
{
    return refuse(err);
}

int64_t trace_process(UNUSED struct trace_writer *writer, UNUSED int64_t pid, UNUSED int64_t tid,
                      UNUSED const char *name, UNUSED size_t length)
{
    return 0;
}

int64_t trace_file(UNUSED struct trace_writer *writer, UNUSED int64_t device, UNUSED int64_t inode,
                   UNUSED const char *path, UNUSED size_t length)
{
    return 0;
}

int64_t trace_file_of_kind(UNUSED struct trace_writer *writer, UNUSED int64_t device, UNUSED int64_t inode,
                           UNUSED enum trace_kind kind, UNUSED const char *path, UNUSED size_t length)
{
    return 0;
}

int64_t trace_call(UNUSED struct trace_writer *writer, UNUSED const char *name, UNUSED size_t length)
{
    return 0;
}

int64_t trace_disk(UNUSED struct trace_writer *writer, UNUSED const char *name, UNUSED size_t length)
{
    return 0;
}

int64_t trace_series(UNUSED struct trace_writer *writer, UNUSED const char *kind, UNUSED const char *source)
{
    return 0;
}

bool trace_process_set(UNUSED struct trace_writer *writer, UNUSED int64_t process, UNUSED int64_t parent_pid,
                       UNUSED int64_t start_ns, UNUSED int64_t end_ns, UNUSED const char *command,
                       struct error *err)
{
    return refuse(err);
}

bool trace_process_rename(UNUSED struct trace_writer *writer, UNUSED int64_t process, UNUSED const char *name,
                          UNUSED size_t length, struct error *err)
{
    return refuse(err);
}

bool trace_add_event(UNUSED struct trace_writer *writer, UNUSED const struct trace_event *event,
                     struct error *err)
{
    return refuse(err);
}

bool trace_add_block(UNUSED struct trace_writer *writer, UNUSED const struct trace_block *block,
                     struct error *err)
{
    return refuse(err);
}

bool trace_add_sample(UNUSED struct trace_writer *writer, UNUSED const struct trace_sample *sample,
                      struct error *err)
{
    return refuse(err);
}

bool trace_add_phase(UNUSED struct trace_writer *writer, UNUSED const struct trace_phase *phase,
                     struct error *err)
{
    return refuse(err);
}

bool trace_drop_phases(UNUSED struct trace_writer *writer, UNUSED const char *source, struct error *err)
{
    return refuse(err);
}

bool trace_add_clock(UNUSED struct trace_writer *writer, UNUSED int64_t monotonic_ns,
                     UNUSED int64_t realtime_ns, struct error *err)
{
    return refuse(err);
}

bool trace_add_lost(UNUSED struct trace_writer *writer, UNUSED const char *class, UNUSED int64_t count,
                    UNUSED int64_t from_ns, UNUSED int64_t to_ns, struct error *err)
{
    return refuse(err);
}

bool trace_set_meta(UNUSED struct trace_writer *writer, UNUSED const char *key, UNUSED const char *value,
                    struct error *err)
{
    return refuse(err);
}

int64_t trace_writer_added(UNUSED const struct trace_writer *writer)
{
    return 0;
}

int64_t trace_writer_rows(UNUSED const struct trace_writer *writer)
{
    return 0;
}

struct trace_reader *trace_reader_new(UNUSED const char *path, struct error *err)
{
    refuse(err);
    return NULL;
}

struct trace_reader *trace_reader_of(UNUSED const char *path, UNUSED const struct trace_selection *selection,
                                     struct error *err)
{
    refuse(err);
    return NULL;
}

bool trace_is_selected(UNUSED const struct trace_reader *reader, UNUSED int64_t file)
{
    return false;
}

void trace_reader_free(UNUSED struct trace_reader *reader)
{
}

int trace_version(UNUSED const struct trace_reader *reader)
{
    return 0;
}

bool trace_unfinished(UNUSED const struct trace_reader *reader)
{
    return false;
}

bool trace_select(UNUSED struct trace_reader *reader, UNUSED const struct trace_selection *selection,
                  struct error *err)
{
    return refuse(err);
}

const struct trace_process_info *trace_process_info(UNUSED const struct trace_reader *reader,
                                                    UNUSED int64_t id)
{
    return NULL;
}

const struct trace_file_info *trace_file_info(UNUSED const struct trace_reader *reader, UNUSED int64_t id)
{
    return NULL;
}

const struct trace_series_info *trace_series_info(UNUSED const struct trace_reader *reader, UNUSED int64_t id)
{
    return NULL;
}

const char *trace_call_name(UNUSED const struct trace_reader *reader, UNUSED int64_t id)
{
    return NULL;
}

const char *trace_disk_name(UNUSED const struct trace_reader *reader, UNUSED int64_t id)
{
    return NULL;
}

int64_t trace_process_count(UNUSED const struct trace_reader *reader)
{
    return 0;
}

int64_t trace_file_count(UNUSED const struct trace_reader *reader)
{
    return 0;
}

int64_t trace_series_count(UNUSED const struct trace_reader *reader)
{
    return 0;
}

int64_t trace_disk_count(UNUSED const struct trace_reader *reader)
{
    return 0;
}

const char *trace_meta(UNUSED const struct trace_reader *reader, UNUSED const char *key)
{
    return NULL;
}

const struct trace_phase *trace_phases(UNUSED const struct trace_reader *reader, UNUSED int *count)
{
    return NULL;
}

const struct trace_loss *trace_losses(UNUSED const struct trace_reader *reader, int *count)
{
    *count = 0;
    return NULL;
}

int64_t trace_lost(UNUSED const struct trace_reader *reader)
{
    return 0;
}

bool trace_span(UNUSED struct trace_reader *reader, UNUSED int64_t *first_ns, UNUSED int64_t *last_ns,
                struct error *err)
{
    return refuse(err);
}

bool trace_span_when_short(UNUSED const struct trace_reader *reader, UNUSED int64_t *first_ns,
                           UNUSED int64_t *last_ns)
{
    return false;
}

bool trace_span_of_calls(UNUSED struct trace_reader *reader, UNUSED int64_t *first_ns,
                         UNUSED int64_t *last_ns, struct error *err)
{
    return refuse(err);
}

struct trace_cursor *trace_events(UNUSED struct trace_reader *reader,
                                  UNUSED const struct trace_filter *filter, struct error *err)
{
    refuse(err);
    return NULL;
}

struct trace_cursor *trace_blocks(UNUSED struct trace_reader *reader,
                                  UNUSED const struct trace_filter *filter, struct error *err)
{
    refuse(err);
    return NULL;
}

struct trace_cursor *trace_samples(UNUSED struct trace_reader *reader,
                                   UNUSED const struct trace_filter *filter, struct error *err)
{
    refuse(err);
    return NULL;
}

bool trace_next_event(UNUSED struct trace_cursor *cursor, UNUSED struct trace_event *event)
{
    return false;
}

bool trace_next_block(UNUSED struct trace_cursor *cursor, UNUSED struct trace_block *block)
{
    return false;
}

bool trace_next_sample(UNUSED struct trace_cursor *cursor, UNUSED struct trace_sample *sample)
{
    return false;
}

bool trace_cursor_close(UNUSED struct trace_cursor *cursor, struct error *err)
{
    return refuse(err);
}
