#include "core/vector.h"
#include "trace/phase/internal.h"

#include <stdlib.h>

#define MIN_WRITE  ((int64_t)16 << 10)
#define MIN_BYTES  ((int64_t)64 << 10)
#define NEAR_NS    ((int64_t)1000000000)
#define AT_ONCE_NS ((int64_t)10000000)

/* The writes to a file between its opening and its closing. */
struct written_file {
    int64_t bytes, writes;
    int64_t opened_ns; /* TRACE_NONE: not seen */
    int64_t start_ns, end_ns;
};

struct save_search {
    struct written_file *files; /* by id */
    struct phase_saves *saves;
};

/* Ends the writes to a file; keeps them if they look like a checkpoint. */
static bool settle(struct save_search *search, struct written_file *file, struct error *err)
{
    struct phase_saves *saves = search->saves;
    bool large = file->bytes >= MIN_BYTES && file->bytes >= MIN_WRITE * file->writes;
    if (large && !VECTOR_ADD(saves->list, saves->count, saves->capacity,
                             (struct phase_save){file->start_ns, file->end_ns, false}))
        return error_memory(err);
    *file = (struct written_file){.opened_ns = TRACE_NONE};
    return true;
}

static bool take(struct save_search *search, const struct trace_event *event, struct error *err)
{
    struct written_file *file = &search->files[event->file];
    int64_t end_ns = event->start_ns + (event->latency_ns > 0 ? event->latency_ns : 0);
    if (event->class == TRACE_OPEN && file->writes == 0) {
        file->opened_ns = event->start_ns;
    } else if (event->class == TRACE_WRITE && event->result > 0) {
        if (file->writes > 0 && event->start_ns - file->end_ns > NEAR_NS && !settle(search, file, err))
            return false;
        if (file->writes++ == 0)
            file->start_ns = file->opened_ns != TRACE_NONE && event->start_ns - file->opened_ns < NEAR_NS
                                 ? file->opened_ns
                                 : event->start_ns;
        file->bytes += event->result;
        file->end_ns = end_ns > file->end_ns ? end_ns : file->end_ns;
    } else if (file->writes > 0 && (event->class == TRACE_SYNC || event->class == TRACE_CLOSE)) {
        file->end_ns = end_ns > file->end_ns ? end_ns : file->end_ns;
        return event->class == TRACE_SYNC || settle(search, file, err);
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct phase_save *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Joins checkpoints if the next begins in less than `near_ns`, or half of the longer one's time; with
 * `unread`, not if data were read between them. */
static void join(struct phase_saves *saves, int64_t near_ns, bool unread)
{
    size_t count = 0;
    for (size_t i = 0; i < saves->count; i++) {
        struct phase_save next = saves->list[i], *last = count > 0 ? &saves->list[count - 1] : NULL;
        int64_t longer = next.end_ns - next.start_ns;
        if (last && last->end_ns - last->start_ns > longer)
            longer = last->end_ns - last->start_ns;
        int64_t near = longer / 2 > near_ns ? longer / 2 : near_ns;
        if (last && next.start_ns - last->end_ns < near && !(unread && last->read_after)) {
            last->end_ns = next.end_ns > last->end_ns ? next.end_ns : last->end_ns;
            last->read_after = next.read_after;
        } else {
            saves->list[count++] = next;
        }
    }
    saves->count = count;
}

void phase_saves_note_reading(struct phase_saves *saves, int64_t time_ns)
{
    size_t low = 0, high = saves->count; /* the first one that begins later */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (saves->list[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && saves->list[low - 1].end_ns < time_ns)
        saves->list[low - 1].read_after = true;
}

void phase_saves_join(struct phase_saves *saves)
{
    join(saves, NEAR_NS, true);
}

static bool read_all(struct save_search *search, struct trace_reader *reader, const struct phase_data *data,
                     struct error *err)
{
    struct trace_event event;
    struct error later;
    bool done = true;
    char name[1024];
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, err);
    while (done && trace_next_event(cursor, &event)) {
        bool counts = event.class == TRACE_OPEN || event.class == TRACE_WRITE || event.class == TRACE_SYNC ||
                      event.class == TRACE_CLOSE;
        if (!counts || event.file < 1 || event.file > data->files || data->kinds[event.file] != PHASE_NO_DATA)
            continue;
        if (event.class == TRACE_WRITE && search->files[event.file].writes == 0 &&
            !phase_group_name(trace_file_info(reader, event.file)->path, name, sizeof name))
            continue;
        done = take(search, &event, err);
    }
    for (int64_t id = 1; done && id <= data->files; id++)
        done = settle(search, &search->files[id], err);
    return trace_cursor_close(cursor, done ? err : &later) && done;
}

bool phase_saves_find(struct phase_saves *saves, struct trace_reader *reader, const struct phase_data *data,
                      struct error *err)
{
    struct save_search search = {.files = calloc((size_t)data->files + 1, sizeof *search.files),
                                 .saves = saves};
    if (!search.files)
        return error_memory(err);
    for (int64_t id = 0; id <= data->files; id++)
        search.files[id].opened_ns = TRACE_NONE;
    bool done = read_all(&search, reader, data, err);
    free(search.files);
    if (saves->count > 0)
        qsort(saves->list, saves->count, sizeof *saves->list, by_start);
    join(saves, AT_ONCE_NS, false);
    return done;
}
