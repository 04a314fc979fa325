#include "schedule/streams.h"

#include "core/stop.h"

#include <stdlib.h>

#define NONE    UINT32_MAX
#define NOT_YET (-1.0)

const char *const comm_stream_names[] = {"rank", "peer", "none", NULL};

struct stream {
    uint32_t head, tail; /* actions; NONE: no more */
    double clock;        /* when its last message has ended */
};

struct player {
    const struct schedule_csv *csv;
    const struct pass_order *order;
    const struct pass_cost *costs;
    struct timing *timing;
    bool buffered;
    uint32_t *other;  /* of each message: the action at its other end */
    uint32_t *behind; /* of each message: the next one of its stream */
    uint32_t *stream_of;
    double *ready; /* of each message: when it may begin; NOT_YET: passes before it are not done */
    double *ended; /* of each message: when it has ended, or a SEND's data have come */
    struct stream *streams;
    uint32_t *first_stream; /* of each rank */
    uint32_t stream_count;
    uint32_t *messages[4]; /* [stage][micro-batch], by kind: the action; NONE: the result stays on the rank */
    double *forward, *input; /* [stage][micro-batch]: ends of passes */
    size_t *at, *pass;       /* of each rank: its next action, and that as a pass of the order */
    double *clock;
    int *queue, queue_count;
    bool *queued;
};

static bool is_send(const struct pass *action)
{
    return action->kind == ACTION_SEND_FORWARD || action->kind == ACTION_SEND_BACKWARD;
}

static size_t slot_of(const struct player *p, int stage, uint32_t microbatch)
{
    return (size_t)stage * (size_t)p->order->microbatches + microbatch;
}

static uint32_t *message_at(const struct player *p, int kind, int stage, uint32_t microbatch)
{
    return &p->messages[kind - ACTION_SEND_FORWARD][slot_of(p, stage, microbatch)];
}

static double send_seconds(const struct player *p, uint32_t message)
{
    const struct pass *action = &p->csv->actions[message];
    if (!is_send(action))
        action = &p->csv->actions[p->other[message]];
    const struct pass_cost *cost = &p->costs[action->stage];
    return action->kind == ACTION_SEND_FORWARD ? cost->send_forward : cost->send_backward;
}

/* ---- streams ---- */

static void find_others(const struct player *p)
{
    const struct schedule_csv *csv = p->csv;
    for (size_t i = 0; i < csv->count; i++)
        if (action_is_message(&csv->actions[i]))
            *message_at(p, csv->actions[i].kind, csv->actions[i].stage, csv->actions[i].microbatch) =
                (uint32_t)i;
    for (size_t i = 0; i < csv->count; i++) {
        const struct pass *action = &csv->actions[i];
        bool later = action->kind == ACTION_SEND_FORWARD || action->kind == ACTION_RECEIVE_BACKWARD;
        int stage = action->stage + (later ? 1 : -1);
        /* SEND and RECV of a direction are neighbours in the enumeration */
        int kind = ACTION_SEND_FORWARD + ((action->kind - ACTION_SEND_FORWARD) ^ 1);
        if (action_is_message(action))
            p->other[i] = *message_at(p, kind, stage, action->microbatch);
    }
}

/* Appends the messages of a rank to its streams; `seen`: of each rank the stream to it, or of an earlier rank. */
static void queue_messages(struct player *p, int rank, enum comm_streams streams, uint32_t *seen)
{
    const struct schedule_csv *csv = p->csv;
    p->first_stream[rank] = p->stream_count;
    for (size_t i = csv->first[rank]; i < csv->first[rank + 1]; i++) {
        if (!action_is_message(&csv->actions[i]))
            continue;
        int peer = streams == COMM_STREAMS_PEER ? p->order->device_of[csv->actions[p->other[i]].stage] : 0;
        if (seen[peer] == NONE || seen[peer] < p->first_stream[rank]) {
            seen[peer] = p->stream_count;
            p->streams[p->stream_count++] = (struct stream){.head = NONE, .tail = NONE};
        }
        struct stream *stream = &p->streams[seen[peer]];
        p->stream_of[i] = seen[peer];
        if (stream->head == NONE)
            stream->head = (uint32_t)i;
        else
            p->behind[stream->tail] = (uint32_t)i;
        stream->tail = (uint32_t)i;
    }
}

static void wake(struct player *p, int rank)
{
    if (!p->queued[rank])
        p->queue[p->queue_count++] = rank;
    p->queued[rank] = true;
}

/* Ends the message at the head of a stream. */
static void pop(struct player *p, struct stream *stream, double end)
{
    p->ended[stream->head] = end;
    stream->clock = end;
    stream->head = p->behind[stream->head];
}

/* Plays the message at the head of a stream. Returns false: it cannot begin yet. */
static bool play_message(struct player *p, struct stream *stream)
{
    uint32_t own = stream->head, other = own == NONE ? NONE : p->other[own];
    if (own == NONE || p->ready[own] < 0.0)
        return false;
    struct stream *beyond = &p->streams[p->stream_of[other]];
    const struct pass *action = &p->csv->actions[own];
    double start = later(p->ready[own], stream->clock);
    if (p->buffered && !is_send(action)) {
        if (p->ended[other] < 0.0)
            return false;
        pop(p, stream, later(start, p->ended[other]));
        return true;
    }
    if (!p->buffered && (beyond->head != other || p->ready[other] < 0.0))
        return false;
    if (!p->buffered)
        start = later(start, later(p->ready[other], beyond->clock));
    double end = start + send_seconds(p, own);
    pop(p, stream, end);
    if (!p->buffered)
        pop(p, beyond, end);
    wake(p, p->order->device_of[p->csv->actions[other].stage]);
    return true;
}

/* ---- passes ---- */

/* Moves *start to when the input of a pass is there. Returns false: it is not there yet. */
static bool begins(const struct player *p, const struct pass *pass, double *start)
{
    size_t slot = slot_of(p, pass->stage, pass->microbatch), row = (size_t)p->order->microbatches;
    bool forward = pass->kind == PASS_FORWARD;
    if (pass->kind == PASS_WEIGHT)
        return true;
    if (pass->stage == (forward ? 0 : p->order->stages - 1))
        return true;
    uint32_t message = *message_at(p, forward ? ACTION_RECEIVE_FORWARD : ACTION_RECEIVE_BACKWARD, pass->stage,
                                   pass->microbatch);
    double from = message != NONE ? p->ended[message]
                  : forward       ? p->forward[slot - row]
                                  : p->input[slot + row];
    *start = later(*start, from);
    return from >= 0.0;
}

/* Plays the pass, or the pair, that a rank has next. Returns false: it waits. */
static bool play_pass(struct player *p, int rank, struct timing_device *figures)
{
    const struct pass *pass = &p->order->passes[p->pass[rank]];
    int count = pass->paired ? 2 : 1;
    double start = p->clock[rank], seconds = 0.0, hidden = 0.0, shorter = 0.0;
    for (int i = 0; i < count; i++) {
        const struct pass_cost *cost = &p->costs[pass[i].stage];
        double own = pass[i].kind == PASS_FORWARD  ? cost->forward
                     : pass[i].kind == PASS_INPUT  ? cost->input
                     : pass[i].kind == PASS_WEIGHT ? cost->weight
                                                   : cost->input + cost->weight;
        if (!begins(p, &pass[i], &start))
            return false;
        shorter = i == 0 || own < shorter ? own : shorter;
        hidden = i == 0 ? cost->hidden : hidden;
        seconds += own;
    }
    double end = start + seconds - (count == 2 ? hidden * shorter : 0.0);
    if (p->pass[rank] == p->order->first[rank])
        figures->begin = start;
    figures->end = p->clock[rank] = end;
    for (int i = 0; i < count; i++) {
        size_t slot = slot_of(p, pass[i].stage, pass[i].microbatch);
        p->timing->begin[p->pass[rank]] = start;
        p->timing->end[p->pass[rank]++] = end;
        if (pass[i].kind != PASS_WEIGHT)
            (pass[i].kind == PASS_FORWARD ? p->forward : p->input)[slot] = end;
    }
    p->at[rank] += (size_t)count;
    return true;
}

/* Plays a rank until its passes and its streams wait. */
static void play_rank(struct player *p, int rank)
{
    const struct schedule_csv *csv = p->csv;
    bool moved = true;
    while (moved) {
        moved = false;
        while (p->at[rank] < csv->first[rank + 1]) {
            const struct pass *action = &csv->actions[p->at[rank]];
            if (action_is_pass(action)) {
                if (!play_pass(p, rank, &p->timing->devices[rank]))
                    break;
                continue;
            }
            if (action_is_message(action)) {
                p->ready[p->at[rank]] = p->clock[rank];
                wake(p, p->order->device_of[csv->actions[p->other[p->at[rank]]].stage]);
            }
            p->at[rank]++;
        }
        for (uint32_t s = p->first_stream[rank]; s < p->first_stream[rank + 1]; s++)
            while (play_message(p, &p->streams[s]))
                moved = true;
    }
}

/* Plays all ranks. Sets lock->locked where messages wait for each other. */
static bool play(struct player *p, enum comm_streams streams, struct streams_lock *lock, struct error *err)
{
    const struct schedule_csv *csv = p->csv;
    size_t slots = (size_t)p->order->stages * (size_t)p->order->microbatches;
    for (size_t i = 0; i < csv->count; i++) {
        p->behind[i] = NONE;
        p->ready[i] = p->ended[i] = NOT_YET;
    }
    for (size_t i = 0; i < slots; i++)
        p->forward[i] = p->input[i] = NOT_YET;
    uint32_t *seen = malloc((size_t)csv->ranks * sizeof *seen);
    if (seen == NULL)
        return error_memory(err);
    for (int rank = 0; rank < csv->ranks; rank++)
        seen[rank] = NONE;
    p->stream_count = 0;
    for (int rank = 0; rank < csv->ranks; rank++) {
        queue_messages(p, rank, streams, seen);
        p->at[rank] = csv->first[rank];
        p->pass[rank] = p->order->first[rank];
        p->clock[rank] = 0.0;
        wake(p, rank);
    }
    p->first_stream[csv->ranks] = p->stream_count;
    free(seen);
    for (size_t step = 0; p->queue_count > 0; step++) {
        int rank = p->queue[--p->queue_count];
        p->queued[rank] = false;
        play_rank(p, rank);
        if (stop_obeyed_at(step, err))
            return false;
    }
    for (uint32_t s = 0; s < p->stream_count; s++) {
        uint32_t head = p->streams[s].head;
        if (head == NONE || p->ready[head] < 0.0 || !is_send(&csv->actions[head]))
            continue;
        *lock = (struct streams_lock){true, head, p->streams[p->stream_of[p->other[head]]].head};
        break;
    }
    return true;
}

static void note_messages(const struct player *p)
{
    for (size_t i = 0; i < pass_order_count(p->order); i++) {
        const struct pass *pass = &p->order->passes[i];
        int kind = pass->kind == PASS_FORWARD ? ACTION_SEND_FORWARD : ACTION_SEND_BACKWARD;
        uint32_t message = *message_at(p, kind, pass->stage, pass->microbatch);
        if (pass->kind != PASS_WEIGHT && message != NONE)
            p->timing->came[i] = p->ended[message];
    }
}

static bool prepare(struct player *p, struct error *err)
{
    size_t count = p->csv->count + 1, ranks = (size_t)p->csv->ranks + 1;
    size_t slots = (size_t)p->order->stages * (size_t)p->order->microbatches;
    p->other = malloc(count * sizeof *p->other);
    p->behind = malloc(count * sizeof *p->behind);
    p->stream_of = malloc(count * sizeof *p->stream_of);
    p->ready = malloc(count * sizeof *p->ready);
    p->ended = malloc(count * sizeof *p->ended);
    p->streams = malloc(count * sizeof *p->streams);
    p->first_stream = malloc(ranks * sizeof *p->first_stream);
    p->forward = malloc(slots * sizeof *p->forward);
    p->input = malloc(slots * sizeof *p->input);
    p->at = malloc(ranks * sizeof *p->at);
    p->pass = malloc(ranks * sizeof *p->pass);
    p->clock = malloc(ranks * sizeof *p->clock);
    p->queue = malloc(ranks * sizeof *p->queue);
    p->queued = calloc(ranks, sizeof *p->queued);
    p->timing->came = calloc(pass_order_count(p->order) + 1, sizeof *p->timing->came);
    bool made = p->timing->came && p->other && p->behind && p->stream_of && p->ready && p->ended &&
                p->streams && p->first_stream && p->forward && p->input && p->at && p->pass && p->clock &&
                p->queue && p->queued;
    for (int kind = 0; kind < 4; kind++) {
        p->messages[kind] = malloc(slots * sizeof *p->messages[kind]);
        made = made && p->messages[kind];
        for (size_t i = 0; p->messages[kind] && i < slots; i++)
            p->messages[kind][i] = NONE;
    }
    return made || error_memory(err);
}

bool streams_time(const struct schedule_csv *csv, const struct pass_order *order,
                  const struct pass_cost *costs, enum comm_streams streams, struct timing *timing,
                  struct streams_lock *lock, struct error *err)
{
    struct player p = {.csv = csv, .order = order, .costs = costs, .timing = timing};
    *lock = (struct streams_lock){.locked = false};
    bool ok = prepare(&p, err);
    if (ok) {
        find_others(&p);
        ok = play(&p, streams, lock, err);
    }
    if (ok && lock->locked) {
        p.buffered = true;
        ok = play(&p, streams, &(struct streams_lock){.locked = false}, err);
    }
    if (ok)
        note_messages(&p);
    timing->extent = (struct order_extent){.makespan = 0.0};
    for (int rank = 0; ok && rank < csv->ranks; rank++) {
        const struct timing_device *figures = &timing->devices[rank];
        timing->extent.makespan = later(timing->extent.makespan, figures->end);
        timing->extent.span = later(timing->extent.span, figures->end - figures->begin);
    }
    free(p.other);
    free(p.behind);
    free(p.stream_of);
    free(p.ready);
    free(p.ended);
    free(p.streams);
    free(p.first_stream);
    for (int kind = 0; kind < 4; kind++)
        free(p.messages[kind]);
    free(p.forward);
    free(p.input);
    free(p.at);
    free(p.pass);
    free(p.clock);
    free(p.queue);
    free(p.queued);
    return ok;
}
