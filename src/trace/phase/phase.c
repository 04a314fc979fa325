#include "trace/phase/phase.h"
#include "core/random.h"
#include "core/vector.h"
#include "trace/phase/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool take_save(struct save_search *search, const struct trace_event *event, struct error *err)
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

static int save_by_start(const void *a, const void *b)
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

/* Data are read at this time. */
static void phase_saves_note_reading(struct phase_saves *saves, int64_t time_ns)
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

/* After the reads were noted: joins checkpoints with little time and no reading between them. */
static void phase_saves_join(struct phase_saves *saves)
{
    join(saves, NEAR_NS, true);
}

static bool read_all(struct save_search *search, struct phase_events *events, const struct phase_data *data,
                     struct error *err)
{
    struct trace_event event;
    struct error later;
    bool done = true;
    char name[1024];
    phase_events_begin(events, err);
    while (done && phase_events_next(events, &event)) {
        bool counts = event.class == TRACE_OPEN || event.class == TRACE_WRITE || event.class == TRACE_SYNC ||
                      event.class == TRACE_CLOSE;
        if (!counts || event.file < 1 || event.file > data->files || data->kinds[event.file] != PHASE_NO_DATA)
            continue;
        if (event.class == TRACE_WRITE && search->files[event.file].writes == 0 &&
            !phase_group_name(trace_file_info(events->reader, event.file)->path, name, sizeof name))
            continue;
        done = take_save(search, &event, err);
    }
    for (int64_t id = 1; done && id <= data->files; id++)
        done = settle(search, &search->files[id], err);
    return phase_events_end(events, done ? err : &later) && done;
}

/* Finds them in order of time; checkpoints that directly follow each other are one. */
static bool phase_saves_find(struct phase_saves *saves, struct phase_events *events,
                             const struct phase_data *data, struct error *err)
{
    struct save_search search = {.files = calloc((size_t)data->files + 1, sizeof *search.files),
                                 .saves = saves};
    if (!search.files)
        return error_memory(err);
    for (int64_t id = 0; id <= data->files; id++)
        search.files[id].opened_ns = TRACE_NONE;
    bool done = read_all(&search, events, data, err);
    free(search.files);
    if (saves->count > 0)
        qsort(saves->list, saves->count, sizeof *saves->list, save_by_start);
    join(saves, AT_ONCE_NS, false);
    return done;
}

#define MAX_PLACES ((size_t)1 << 20) /* 32 MiB */
#define MIN_PLACES 8                 /* fewer are rewound, such as a header or a status: no epochs of data */

/* Returns a key of file and offset. */
static uint64_t key_of(const struct trace_event *event)
{
    uint64_t x = random_mix((uint64_t)event->file * RANDOM_GOLDEN + (uint64_t)event->offset);
    return x ? x : 1;
}

/* Leaves half of the sample. */
static bool drop_half(struct phase_rounds *rounds)
{
    struct hash_map kept = {0};
    bool room = true;
    rounds->mask = 2 * rounds->mask + 1;
    for (size_t i = 0; room && i < rounds->places.capacity; i++) {
        uint64_t key = rounds->places.places[i].key;
        room = !key || (key & rounds->mask) || hash_map_place(&kept, key);
    }
    hash_map_release(&rounds->places);
    rounds->places = kept;
    return room;
}

/* First pass: counts places. */
static bool phase_rounds_count(struct phase_rounds *rounds, const struct trace_event *event,
                               struct error *err)
{
    uint64_t key = key_of(event);
    if (key & rounds->mask)
        return true;
    bool room = hash_map_place(&rounds->places, key) != NULL;
    while (room && rounds->places.count >= MAX_PLACES)
        room = drop_half(rounds);
    return room || error_memory(err);
}

/* Between the passes. */
static void phase_rounds_begin(struct phase_rounds *rounds)
{
    rounds->all = (int64_t)rounds->places.count;
    for (size_t i = 0; i < rounds->places.capacity; i++)
        rounds->places.places[i].value = -1;
}

/* Second pass: returns whether another epoch has begun, at again_ns. */
static bool phase_rounds_turns(struct phase_rounds *rounds, const struct trace_event *event)
{
    uint64_t key = key_of(event);
    int64_t *place = key & rounds->mask ? NULL : hash_map_find(&rounds->places, key);
    if (!place)
        return false;
    int64_t last = *place, now = rounds->reads++;
    *place = now;
    if (last < rounds->start) {
        rounds->distinct++;
        rounds->again = 0;
        return false;
    }
    if (rounds->again++ == 0)
        rounds->again_ns = event->start_ns;
    if (rounds->all < MIN_PLACES || 4 * (now - last) < rounds->all || 5 * rounds->distinct < 4 * rounds->all)
        return false;
    rounds->start = now + 1 - rounds->again;
    rounds->distinct = rounds->again;
    rounds->again = 0;
    return true;
}

/* The beginning of a kind of reading; another mark of the same kind begins another epoch. */
struct mark {
    int64_t start_ns;
    enum phase_kind kind;
};

struct process_end {
    int64_t last_ns; /* end of the last event */
    size_t reads_in; /* number of the last mark in which it read data */
};

struct piece {
    int64_t start_ns, end_ns;
    enum phase_kind kind; /* PHASE_NO_DATA: INIT */
    bool first;           /* of the time between two marks */
    int64_t reads;        /* of its data */
};

struct search {
    struct trace_reader *reader;
    struct phase_events events;
    struct phase_data data;
    struct phase_rounds rounds[PHASE_EVAL + 1]; /* by kind */
    struct phase_saves saves;
    struct mark *marks;
    size_t mark_count, mark_capacity;
    int64_t reads; /* since the last mark */
    struct {       /* reading of the other kind */
        int64_t start_ns, other, same;
    } turn;
    struct process_end *processes; /* by id */
    int64_t first_ns;              /* of all events */
    struct piece *pieces;
    size_t piece_count;
};

/* ---- marks ---- */

typedef bool take_event(struct search *search, const struct trace_event *event, enum phase_kind kind,
                        struct error *err);

static bool each_event(struct search *search, take_event *take, struct error *err)
{
    struct trace_event event;
    struct error later;
    bool done = true;
    phase_events_begin(&search->events, err);
    while (done && phase_events_next(&search->events, &event))
        done = take(search, &event, phase_kind_of(&search->data, &event), err);
    return phase_events_end(&search->events, done ? err : &later) && done;
}

static bool count_places(struct search *search, const struct trace_event *event, enum phase_kind kind,
                         struct error *err)
{
    if (kind == PHASE_NO_DATA)
        return true;
    phase_saves_note_reading(&search->saves, event->start_ns);
    return phase_rounds_count(&search->rounds[kind], event, err);
}

static bool add_mark(struct search *search, int64_t start_ns, enum phase_kind kind, struct error *err)
{
    if (!VECTOR_ADD(search->marks, search->mark_count, search->mark_capacity, (struct mark){start_ns, kind}))
        return error_memory(err);
    search->reads = 0;
    search->turn.other = 0;
    return true;
}

/* Takes a read of the other kind: if enough follow in time, the phase changes at the first one. */
static bool take_other(struct search *search, int64_t start_ns, enum phase_kind kind, struct error *err)
{
    if (search->turn.other == 0) {
        search->turn.start_ns = start_ns;
        search->turn.same = 0;
    }
    search->turn.other++;
    return 20 * search->turn.other < search->rounds[kind].all ||
           add_mark(search, search->turn.start_ns, kind, err);
}

static bool take_data(struct search *search, const struct trace_event *event, enum phase_kind kind,
                      struct error *err)
{
    bool turns = phase_rounds_turns(&search->rounds[kind], event);
    enum phase_kind now = search->mark_count > 0 ? search->marks[search->mark_count - 1].kind : PHASE_NO_DATA;
    if (now == PHASE_NO_DATA && kind == PHASE_EVAL)
        return true; /* it reads older data: a look at them, a restored checkpoint */
    if (kind != now)
        return take_other(search, event->start_ns, kind, err);
    if (search->turn.other > 0 && ++search->turn.same >= search->turn.other)
        search->turn.other = 0;
    /* After an evaluation, the new round of data is noticed a little later than the change of kind. */
    int64_t begun_ns = search->rounds[kind].again_ns;
    if (turns && kind == PHASE_TRAINING && 5 * search->reads >= search->rounds[kind].all &&
        begun_ns > search->marks[search->mark_count - 1].start_ns)
        return add_mark(search, begun_ns, kind, err);
    search->reads++;
    return true;
}

static bool find_marks(struct search *search, const struct trace_event *event, enum phase_kind kind,
                       struct error *err)
{
    int64_t end_ns = event->start_ns + (event->latency_ns > 0 ? event->latency_ns : 0);
    search->first_ns = event->start_ns < search->first_ns ? event->start_ns : search->first_ns;
    bool known = event->process > 0 && event->process <= trace_process_count(search->reader);
    struct process_end *process = known ? &search->processes[event->process] : &search->processes[0];
    process->last_ns = end_ns > process->last_ns ? end_ns : process->last_ns;
    if (kind == PHASE_NO_DATA)
        return true;
    bool done = take_data(search, event, kind, err);
    process->reads_in = search->mark_count;
    return done;
}

/* Returns the end of the last event of the processes that read in the last phase, with their other
 * threads. */
static int64_t last_end(const struct search *search)
{
    int64_t all = trace_process_count(search->reader), end_ns = INT64_MIN;
    for (int64_t id = 0; id <= all; id++) {
        if (search->processes[id].reads_in != search->mark_count)
            continue;
        int64_t pid = trace_process_info(search->reader, id)->pid;
        for (int64_t other = 0; other <= all; other++)
            if (trace_process_info(search->reader, other)->pid == pid &&
                search->processes[other].last_ns > end_ns)
                end_ns = search->processes[other].last_ns;
    }
    return end_ns;
}

/* ---- pieces ---- */

static void add_piece(struct search *search, int64_t start_ns, int64_t end_ns, enum phase_kind kind,
                      bool first)
{
    if (end_ns > start_ns)
        search->pieces[search->piece_count++] = (struct piece){start_ns, end_ns, kind, first, 0};
}

/* Adds the time between checkpoints as pieces. */
static void cut(struct search *search, int64_t start_ns, int64_t end_ns, enum phase_kind kind)
{
    bool first = true;
    for (size_t i = 0; i < search->saves.count && start_ns < end_ns; i++) {
        const struct phase_save *save = &search->saves.list[i];
        if (save->end_ns <= start_ns || save->start_ns >= end_ns)
            continue;
        add_piece(search, start_ns, save->start_ns, kind, first);
        first = false;
        start_ns = save->end_ns;
    }
    add_piece(search, start_ns, end_ns, kind, first);
}

static bool cut_all(struct search *search, struct error *err)
{
    size_t marks = search->mark_count;
    search->pieces = calloc(marks + 1 + search->saves.count + 1, 2 * sizeof *search->pieces);
    if (!search->pieces)
        return error_memory(err);
    if (marks == 0) {
        if (search->saves.count > 0)
            add_piece(search, search->first_ns, search->saves.list[0].start_ns, PHASE_NO_DATA, true);
        return true;
    }
    int64_t end_ns = last_end(search);
    cut(search, search->first_ns, search->marks[0].start_ns, PHASE_NO_DATA);
    for (size_t i = 0; i < marks; i++)
        cut(search, search->marks[i].start_ns, i + 1 < marks ? search->marks[i + 1].start_ns : end_ns,
            search->marks[i].kind);
    return true;
}

static bool note_reading(struct search *search, const struct trace_event *event, enum phase_kind kind,
                         struct error *err)
{
    (void)err;
    size_t low = 0, high = search->piece_count; /* the first piece that begins later */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (search->pieces[middle].start_ns <= event->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (kind != PHASE_NO_DATA && low > 0 && search->pieces[low - 1].kind == kind &&
        event->start_ns < search->pieces[low - 1].end_ns)
        search->pieces[low - 1].reads++;
    return true;
}

/* ---- all ---- */

static int by_start(const void *a, const void *b)
{
    const struct trace_phase *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Drops pieces behind a checkpoint with hardly any reading of their data. If the next epoch follows
 * directly, its round was only noticed later: the piece is its beginning. */
static void drop_leftovers(struct search *search)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->piece_count; i++) {
        struct piece *piece = &search->pieces[i], *next = piece + 1;
        if (piece->first || piece->kind == PHASE_NO_DATA ||
            20 * piece->reads >= search->rounds[piece->kind].all) {
            search->pieces[kept++] = *piece;
            continue;
        }
        if (i + 1 < search->piece_count && next->start_ns == piece->end_ns && next->kind == piece->kind)
            next->start_ns = piece->start_ns;
    }
    search->piece_count = kept;
}

static bool put_together(const struct search *search, struct trace_phase **phases, size_t *number,
                         struct error *err)
{
    static const char *const names[] = {"INIT", "TRAINING", "EVAL"};
    *number = 0;
    *phases = NULL;
    if (search->piece_count + search->saves.count == 0)
        return true;
    *phases = calloc(search->piece_count + search->saves.count, sizeof **phases);
    if (!*phases)
        return error_memory(err);
    for (size_t i = 0; i < search->piece_count; i++) {
        const struct piece *piece = &search->pieces[i];
        (*phases)[(*number)++] =
            (struct trace_phase){names[piece->kind], piece->start_ns, piece->end_ns, "io"};
    }
    for (size_t i = 0; i < search->saves.count; i++)
        (*phases)[(*number)++] = (struct trace_phase){"CHECKPOINT", search->saves.list[i].start_ns,
                                                      search->saves.list[i].end_ns, "io"};
    qsort(*phases, *number, sizeof **phases, by_start);
    return true;
}

static bool search_phases(struct search *search, struct trace_phase **phases, size_t *number,
                          struct error *err)
{
    search->processes = calloc((size_t)trace_process_count(search->reader) + 1, sizeof *search->processes);
    if (!search->processes)
        return error_memory(err);
    for (int64_t id = 0; id <= trace_process_count(search->reader); id++)
        search->processes[id] = (struct process_end){.last_ns = INT64_MIN};
    if (!phase_data_find(&search->data, &search->events, err) ||
        !phase_saves_find(&search->saves, &search->events, &search->data, err) ||
        !each_event(search, count_places, err))
        return false;
    phase_saves_join(&search->saves);
    for (int kind = PHASE_TRAINING; kind <= PHASE_EVAL; kind++)
        phase_rounds_begin(&search->rounds[kind]);
    if (!each_event(search, find_marks, err) || !cut_all(search, err) ||
        !each_event(search, note_reading, err))
        return false;
    drop_leftovers(search);
    return put_together(search, phases, number, err);
}

/* Is anything read or written at all? Sets *found. */
static bool find_data(struct trace_reader *reader, bool *found, struct error *err)
{
    static const enum trace_class classes[] = {TRACE_READ, TRACE_WRITE, TRACE_FAULT};
    *found = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !*found; i++) {
        struct trace_event event;
        const struct trace_filter filter = {(int64_t)classes[i], INT64_MIN, INT64_MAX, true};
        struct trace_cursor *cursor = trace_events(reader, &filter, err);
        *found = trace_next_event(cursor, &event);
        if (!trace_cursor_close(cursor, err))
            return false;
    }
    return true;
}

bool trace_phases_find(struct trace_reader *reader, struct trace_phase **phases, size_t *number,
                       struct error *err)
{
    struct search search = {.reader = reader, .events = {.reader = reader}, .first_ns = INT64_MAX};
    bool data;
    *phases = NULL;
    *number = 0;
    if (!find_data(reader, &data, err))
        return false;
    bool done = !data || search_phases(&search, phases, number, err);
    for (int kind = 0; kind <= PHASE_EVAL; kind++)
        hash_map_release(&search.rounds[kind].places);
    phase_data_release(&search.data);
    free(search.events.kept);
    free(search.saves.list);
    free(search.marks);
    free(search.processes);
    free(search.pieces);
    return done;
}

/* ---- into the trace ---- */

bool trace_phases_store(const char *path, const struct trace_phase *phases, size_t count, struct error *err)
{
    struct trace_writer *writer = trace_writer_new(path, TRACE_STORE_APPEND, err);
    bool done = writer && trace_drop_phases(writer, "io", err);
    for (size_t i = 0; done && i < count; i++)
        done = trace_add_phase(writer, &phases[i], err);
    if (done)
        return trace_writer_close(writer, err);
    trace_writer_drop(writer);
    return false;
}

bool trace_phases_fill(const char *path, size_t *count, struct error *err)
{
    struct trace_phase *phases = NULL;
    int known = 0;
    struct trace_reader *reader = trace_reader_new(path, err);
    *count = 0;
    if (!reader)
        return false;
    trace_phases(reader, &known);
    bool done = known > 0 || trace_phases_find(reader, &phases, count, err);
    trace_reader_free(reader);
    if (done && *count > 0)
        done = trace_phases_store(path, phases, *count, err);
    free(phases);
    return done;
}

/* ---- overlap ---- */

/* Beginnings (+1) and ends (-1) of the phases of one name. */
struct edge {
    int64_t time_ns;
    int a, b;
};

static int by_time(const void *x, const void *y)
{
    const struct edge *p = x, *q = y;
    return (p->time_ns > q->time_ns) - (p->time_ns < q->time_ns);
}

static size_t add_edges(struct edge *edges, size_t count_now, const struct trace_phase *phases, size_t number,
                        const char *name, int a, int b)
{
    for (size_t i = 0; i < number; i++)
        if (strcmp(phases[i].name, name) == 0) {
            edges[count_now++] = (struct edge){phases[i].start_ns, a, b};
            edges[count_now++] = (struct edge){phases[i].end_ns, -a, -b};
        }
    return count_now;
}

double trace_phases_overlap(const struct trace_phase *a, size_t a_count, const struct trace_phase *b,
                            size_t b_count, const char *name)
{
    struct edge *edges = calloc(2 * (a_count + b_count) + 1, sizeof *edges);
    double both = 0, either = 0;
    int in_a = 0, in_b = 0;
    if (!edges)
        return NAN;
    size_t number = add_edges(edges, 0, a, a_count, name, 1, 0);
    number = add_edges(edges, number, b, b_count, name, 0, 1);
    qsort(edges, number, sizeof *edges, by_time);
    for (size_t i = 0; i < number; i++) {
        double time = i > 0 ? (double)(edges[i].time_ns - edges[i - 1].time_ns) : 0;
        both += in_a > 0 && in_b > 0 ? time : 0;
        either += in_a > 0 || in_b > 0 ? time : 0;
        in_a += edges[i].a;
        in_b += edges[i].b;
    }
    free(edges);
    return either > 0 ? both / either : NAN;
}
