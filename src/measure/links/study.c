#include "measure/links/study.h"

#include "core/clock.h"

#include <math.h>
#include <string.h>

/* A size whose median is longer than this share of the time limit is the last: the next would have too few samples. */
#define LONG_SHARE 0.03

#define SMALL_BYTES   8 /* of the message whose time is the latency */
#define STREAM_BYTES  (64 << 10)
#define OVERLAP_BYTES (1 << 20) /* of the message whose time computing hides, or the largest size below it */
#define POLL_SECONDS  50e-6     /* between two looks at it */

struct measuring {
    struct study *study;
    struct carrier *carrier;
    struct point_maker maker;
    const struct study_options *options;
    int place;
    void *group;
    struct error *err;
};

/* Adds a row; *longest is true if larger messages would take too long. */
static bool measure(struct measuring *m, const struct link_work *work, struct study_row **row, bool *longest)
{
    struct study *study = m->study;
    struct study_row *rows =
        arena_grow(&study->arena, study->rows, study->row_count, &study->row_room, sizeof *study->rows);
    if (!comm_agree(m->maker.comm, rows || error_memory(m->err), "the next measurement", m->err))
        return false;
    study->rows = rows;
    *row = &rows[study->row_count];
    **row = (struct study_row){.place = m->place, .work = *work};
    if (study->progress)
        study->progress(study->progress_context, study->places[m->place].name, work->bytes);
    if (!point_measure(&m->maker, m->group, work, &(*row)->time, m->err))
        return false;
    study->row_count++;
    double messages = work->task == LINK_STREAM || work->task == LINK_BOTH ? LINK_STREAMED : 2.0;
    *longest = messages * (*row)->time.median > LONG_SHARE * m->options->sample.limit;
    return true;
}

/* A gather of n ranks has n pieces, and sums are of floats. */
static int64_t round_bytes(int64_t bytes, enum link_task task, enum collective_kind kind, int devices)
{
    int64_t unit = task != LINK_COLLECTIVE || kind == COLLECTIVE_SEND ? 1
                   : kind == COLLECTIVE_ALL_REDUCE                    ? (int64_t)sizeof(float)
                                                                      : (int64_t)sizeof(float) * devices;
    int64_t rounded = bytes / unit * unit;
    return rounded > 0 ? rounded : unit;
}

static bool measure_sizes(struct measuring *m, enum link_task task, enum collective_kind kind, bool layers)
{
    const struct study_options *o = m->options;
    int count = layers ? o->layer_count : o->size_count;
    bool longest = false;
    for (int i = 0; i < count && (!longest || layers); i++) {
        int64_t bytes = layers ? o->layers[i] : o->sizes[i];
        /* Short streams are carried by what cards and switches hold: the largest is measured in any case. */
        if (task != LINK_COLLECTIVE && bytes < STREAM_BYTES && i + 1 < count)
            continue;
        struct study_row *row;
        struct link_work work = {.task = task, .kind = kind};
        work.bytes = round_bytes(bytes, task, kind, m->study->places[m->place].devices);
        if (study_find(m->study, m->place, task, kind, work.bytes))
            continue;
        if (!measure(m, &work, &row, &longest))
            return false;
    }
    return true;
}

/* ---- overlap with computing ---- */

/* Finds how many loops take so long, on rank 0, and tells the others. */
static bool find_loops(struct measuring *m, double seconds, int64_t *loops)
{
    int64_t tried = 1000;
    double took = 0.0;
    do {
        tried *= 2;
        double start = clock_now();
        link_compute(tried);
        took = clock_now() - start;
    } while (took < 2e-3);
    *loops = (int64_t)ceil((double)tried * seconds / took);
    return comm_broadcast(m->maker.comm, loops, sizeof *loops, "the next measurement", m->err);
}

/* Messages alone, computing alone, and both: without looks at the messages, and with. */
static bool measure_overlap(struct measuring *m)
{
    const struct study_options *o = m->options;
    struct study_row *row;
    bool longest;
    struct link_work work = {.task = LINK_OVERLAP, .bytes = o->sizes[0]};
    int64_t loops, poll;
    for (int i = 0; i < o->size_count && o->sizes[i] <= OVERLAP_BYTES; i++) {
        const struct study_row *stream =
            study_find(m->study, m->place, LINK_BOTH, COLLECTIVE_SEND, o->sizes[i]);
        if (stream)
            work.bytes = o->sizes[i];
    }
    if (!measure(m, &work, &row, &longest))
        return false;
    double alone = row->time.median;
    if (!find_loops(m, alone, &loops) || !find_loops(m, POLL_SECONDS, &poll))
        return false;
    for (int polls = 0; polls < 2; polls++) {
        struct link_work both = work, computing = work;
        both.loops = computing.loops = loops;
        both.poll = polls ? poll : 0;
        computing.bytes = 0;
        if (!measure(m, &computing, &row, &longest))
            return false;
        double computed = row->time.median;
        m->study->row_count--; /* only a part of the next */
        if (!measure(m, &both, &row, &longest))
            return false;
        row->computing = computed;
        row->alone = alone;
    }
    return true;
}

/* ---- all of it ---- */

static bool measure_pair(struct measuring *m)
{
    struct link_work small = {.task = LINK_COLLECTIVE, .kind = COLLECTIVE_SEND, .bytes = SMALL_BYTES};
    struct study_row *row;
    bool longest;
    return measure(m, &small, &row, &longest) && measure_sizes(m, LINK_COLLECTIVE, COLLECTIVE_SEND, false) &&
           measure_sizes(m, LINK_STREAM, COLLECTIVE_SEND, false) &&
           measure_sizes(m, LINK_BOTH, COLLECTIVE_SEND, false) &&
           (strcmp(m->carrier->name, "mpi") != 0 || measure_overlap(m));
}

static bool measure_group(struct measuring *m)
{
    const struct study_options *o = m->options;
    for (int kind = 0; kind < COLLECTIVE_SEND && m->study->places[m->place].kind == PLACE_GROUP; kind++)
        if (o->collectives && o->kinds[kind] &&
            !measure_sizes(m, LINK_COLLECTIVE, (enum collective_kind)kind, false))
            return false;
    return o->layer_count == 0 || measure_sizes(m, LINK_COLLECTIVE, COLLECTIVE_ALL_REDUCE, true);
}

bool study_measure(struct study *study, struct comm *comm, struct carrier *carrier,
                   const struct study_options *options, struct error *err)
{
    struct measuring m = {.study = study,
                          .carrier = carrier,
                          .maker = {comm, carrier, options->sample},
                          .options = options,
                          .err = err};
    bool ok = true;
    for (m.place = 0; m.place < study->place_count && ok; m.place++) {
        const struct study_place *place = &study->places[m.place];
        if (place->kind != PLACE_PAIR && !options->collectives && options->layer_count == 0)
            continue;
        int rank = comm_rank(comm);
        ok = carrier->open(carrier->context, place->colour[rank], rank, &m.group, err) &&
             (place->kind == PLACE_PAIR ? measure_pair(&m) : measure_group(&m));
        carrier->close(carrier->context, m.group);
        m.group = NULL;
    }
    return ok;
}

const struct study_row *study_find(const struct study *study, int place, enum link_task task,
                                   enum collective_kind kind, int64_t bytes)
{
    for (int i = 0; i < study->row_count; i++) {
        const struct study_row *row = &study->rows[i];
        if (row->place == place && row->work.task == task && row->work.kind == kind &&
            row->work.bytes == bytes)
            return row;
    }
    return NULL;
}

static double hidden_share(const struct study_row *row)
{
    double shorter = fmin(row->alone, row->computing);
    return fmax(0.0, fmin(1.0, (row->alone + row->computing - row->time.median) / shorter));
}

double study_seconds(const struct study_row *row, bool shortest)
{
    return shortest ? row->time.fastest : row->time.median;
}

bool study_link_of(const struct study *study, int host, bool shortest, struct study_link *link)
{
    int64_t stream = 0, both = 0;
    *link = (struct study_link){.latency = INFINITY, .hidden = -1.0, .polled = -1.0};
    for (int i = 0; i < study->row_count; i++) {
        const struct study_row *row = &study->rows[i];
        const struct study_place *place = &study->places[row->place];
        if (place->kind != PLACE_PAIR || place->host != host)
            continue;
        double seconds = study_seconds(row, shortest),
               rate = (double)row->work.bytes * place->pairs / seconds;
        if (row->work.task == LINK_STREAM && row->work.bytes > stream) {
            link->bandwidth = rate;
            stream = row->work.bytes;
        } else if (row->work.task == LINK_BOTH && row->work.bytes > both) {
            link->both = rate;
            both = row->work.bytes;
        }
        if (row->work.task == LINK_COLLECTIVE)
            link->latency = fmin(link->latency, seconds);
        else if (row->work.task == LINK_OVERLAP && row->work.loops > 0)
            *(row->work.poll > 0 ? &link->polled : &link->hidden) = hidden_share(row);
    }
    return link->bandwidth > 0.0;
}
