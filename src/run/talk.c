/* What ranks tell each other before and after a run. Every call has a number, by which its messages are known; a rank can be one call
 * ahead of another. */
#include "core/clock.h"
#include "core/stop.h"
#include "core/vector.h"
#include "run/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 16   /* of the clocks */
#define NAP    0.03 /* seconds of one wait */
#define LOOKS  0.2  /* of the wire's silence: between two looks at the wire during other work */

struct blob {
    int from;
    uint32_t number;
    void *bytes;
    size_t length;
};

struct talk {
    struct wire *wire;
    struct blob *blobs;
    size_t count, capacity;
    uint32_t number;
    bool failed;
    const char *gone[WIRE_MAX_RANKS]; /* why it is lost, though what it has said may still be heard */
    double looked;                    /* when talk_work last did so */
};

struct talk *talk_new(struct wire *wire, struct error *err)
{
    struct talk *talk = calloc(1, sizeof *talk);
    if (talk)
        talk->wire = wire;
    else
        error_memory(err);
    return talk;
}

void talk_free(struct talk *talk)
{
    for (size_t i = 0; talk && i < talk->count; i++)
        free(talk->blobs[i].bytes);
    if (talk)
        free(talk->blobs);
    free(talk);
}

bool talk_place(struct talk *talk, const struct wire_head *head, void **bytes, struct error *err)
{
    (void)talk;
    *bytes = malloc((size_t)head->length + 1);
    return *bytes || error_memory(err);
}

bool talk_arrived(struct talk *talk, const struct wire_head *head, void *bytes, struct error *err)
{
    if (head->kind == WIRE_FAILED) {
        const char *text = bytes;
        size_t length = (size_t)head->length;
        enum error_kind kind =
            head->number > 0 && head->number < 5 ? (enum error_kind)head->number : ERROR_FAILED;
        error_set(err, kind, "%.*s", (int)length, length > 0 ? text : "");
        free(bytes);
        talk->failed = true; /* all know of it */
        return false;
    }
    const struct blob blob = {head->from, head->number, bytes, (size_t)head->length};
    if (VECTOR_ADD(talk->blobs, talk->count, talk->capacity, blob))
        return true;
    free(bytes);
    return error_memory(err);
}

void talk_lost(struct talk *talk, int rank, const char *why)
{
    talk->gone[rank] = why;
}

static bool say(struct talk *talk, int to, const void *bytes, size_t length, struct error *err)
{
    struct wire_head head = {
        .kind = WIRE_CONTROL, .to = to, .number = talk->number, .length = (int64_t)length};
    return wire_send(talk->wire, &head, bytes, NULL, err);
}

/* Waits for what `from` says in this call; the caller frees blob->bytes. */
static bool hear(struct talk *talk, int from, double nap, struct blob *blob, struct error *err)
{
    for (;;) {
        for (size_t i = 0; i < talk->count; i++)
            if (talk->blobs[i].from == from && talk->blobs[i].number == talk->number) {
                *blob = talk->blobs[i];
                talk->blobs[i] = talk->blobs[--talk->count];
                talk->blobs[talk->count].bytes = NULL; /* its owner is another now */
                return true;
            }
        if (talk->gone[from])
            return error_set(err, ERROR_FAILED, "rank %d is lost: %s", from, talk->gone[from]);
        if (stop_obeyed(err) || !wire_poll(talk->wire, clock_now() + nap, err))
            return false;
    }
}

bool talk_work(struct talk *talk, struct error *err)
{
    double now = clock_now();
    if (stop_obeyed(err))
        return false;
    if (now - talk->looked < LOOKS * talk->wire->silence)
        return true;
    talk->looked = now;
    return wire_poll(talk->wire, now, err);
}

bool talk_gather(struct talk *talk, const void *bytes, size_t length, talk_visit *visit, void *context,
                 struct error *err)
{
    talk->number++;
    if (talk->wire->rank != 0)
        return say(talk, 0, bytes, length, err);
    bool ok = visit(context, 0, bytes, length, err);
    for (int rank = 1; ok && rank < talk->wire->size; rank++) {
        struct blob blob;
        if (!hear(talk, rank, NAP, &blob, err))
            return false;
        ok = visit(context, rank, blob.bytes, blob.length, err);
        free(blob.bytes);
    }
    return ok;
}

bool talk_tell(struct talk *talk, void *bytes, size_t length, struct error *err)
{
    struct blob blob;
    talk->number++;
    if (talk->wire->rank == 0) {
        for (int rank = 1; rank < talk->wire->size; rank++)
            if (!say(talk, rank, bytes, length, err))
                return false;
        return true;
    }
    if (!hear(talk, 0, NAP, &blob, err))
        return false;
    bool right = blob.length == length;
    if (right)
        memcpy(bytes, blob.bytes, length);
    free(blob.bytes);
    return right ||
           error_set(err, ERROR_FAILED, "rank 0 sent another message than rank %d expects", talk->wire->rank);
}

/* Rank 0 asks each rank some times what its clock says; the answer that came soonest counts. */
static bool ask_clock(struct talk *talk, int rank, double answer[2], struct error *err)
{
    answer[1] = INFINITY;
    for (int i = 0; i < ROUNDS; i++) {
        struct blob blob;
        double before = clock_now(), theirs = 0.0;
        if (!say(talk, rank, &before, sizeof before, err) || !hear(talk, rank, i > 0 ? 0.0 : NAP, &blob, err))
            return false;
        double after = clock_now();
        if (blob.length == sizeof theirs)
            memcpy(&theirs, blob.bytes, sizeof theirs);
        free(blob.bytes);
        if (0.5 * (after - before) < answer[1]) {
            answer[1] = 0.5 * (after - before);
            answer[0] = 0.5 * (before + after) - theirs;
        }
    }
    return say(talk, rank, answer, 2 * sizeof *answer, err);
}

static bool answer_clock(struct talk *talk, double answer[2], struct error *err)
{
    for (int i = 0; i <= ROUNDS; i++) {
        struct blob blob;
        if (!hear(talk, 0, i > 0 ? 0.0 : NAP, &blob, err))
            return false;
        double now = clock_now();
        if (i == ROUNDS && blob.length == 2 * sizeof *answer)
            memcpy(answer, blob.bytes, blob.length);
        free(blob.bytes);
        if (i < ROUNDS && !say(talk, 0, &now, sizeof now, err))
            return false;
    }
    return true;
}

bool talk_clock(struct talk *talk, double *offset, double *error_of_it, struct error *err)
{
    double answer[2] = {0.0, 0.0}, worst = 0.0;
    talk->number++;
    if (talk->wire->rank > 0) {
        if (!answer_clock(talk, answer, err))
            return false;
        worst = answer[1];
    }
    for (int rank = 1; talk->wire->rank == 0 && rank < talk->wire->size; rank++) {
        if (!ask_clock(talk, rank, answer, err))
            return false;
        worst = fmax(worst, answer[1]);
    }
    *offset = talk->wire->rank == 0 ? 0.0 : answer[0];
    *error_of_it = worst;
    return true;
}

void talk_give_up(struct talk *talk, const struct error *why)
{
    struct error ignored;
    if (talk->failed)
        return;
    for (int rank = 0; rank < talk->wire->size; rank++) {
        struct wire_head head = {.kind = WIRE_FAILED,
                                 .to = rank,
                                 .number = (uint32_t)why->kind,
                                 .length = (int64_t)strlen(why->text)};
        if (rank != talk->wire->rank)
            (void)wire_send(talk->wire, &head, why->text, NULL, &ignored);
    }
    double end = clock_now() + 0.2; /* for those whose sockets are full */
    while (clock_now() < end && wire_poll(talk->wire, clock_now() + 0.02, &ignored))
        ;
}
