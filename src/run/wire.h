/* Messages between the ranks of a run. Only this module knows the transport: MPI, or sockets between processes that
 * rehearse has started.
 *
 * A message has a head and bytes. `send` queues it and returns; the caller keeps the bytes until its counter of pending
 * messages is decremented. Messages from one rank to another arrive in the order of sending. A receiver gets them:
 * `place` returns the memory for the bytes of a head, `arrived` gets both once they are complete. Nothing happens
 * outside wire_poll.
 *
 * A wire is used by one thread. */
#ifndef REHEARSE_RUN_WIRE_H
#define REHEARSE_RUN_WIRE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAX_RANKS 1024
#define WIRE_MAX_BYTES (INT64_C(1) << 30) /* of one message */

enum wire_kind {
    WIRE_MESSAGE = 1, /* between devices: `number` is a channel */
    WIRE_PIECE,       /* of a collective: `number` is a group */
    WIRE_CONTROL,     /* between ranks: blobs that are gathered or broadcast */
    WIRE_FAILED,      /* the sender has failed; the bytes have its message */
    WIRE_BEAT,        /* the sender lives */
    WIRE_DRILL,       /* of drills: `number` is an enum drill_message (drill/rank.h) */
    WIRE_KINDS
};

#define WIRE_ALIVE 1 /* the instance of a WIRE_BEAT that is not the last one */

struct wire_head {
    uint32_t magic, kind;
    int32_t from, to;        /* ranks */
    uint32_t number;         /* by kind */
    uint32_t microbatch;     /* of a message */
    uint32_t instance, step; /* of a piece: the how manieth collective of its group, and step of it */
    int64_t length;          /* of the bytes */
    double time; /* seconds of the run: when a message is there at the earliest; when a piece's sender came */
    uint64_t origin; /* the task that sent it, for the timeline */
    uint64_t check;  /* of the other fields */
};

struct wire_receiver {
    void *context;
    /* Returns the memory for the bytes; NULL, with *err: the message is invalid. */
    void *(*place)(void *context, const struct wire_head *head, struct error *err);
    bool (*arrived)(void *context, const struct wire_head *head, void *bytes, struct error *err);
    /* A rank is lost: it ended, or was silent for too long. False ends the run with *err. */
    bool (*lost)(void *context, int rank, const char *why, struct error *err);
};

struct wire;

struct wire_calls {
    bool (*send)(struct wire *wire, const struct wire_head *head, const void *bytes, int *pending,
                 struct error *err);
    bool (*poll)(struct wire *wire, double until, struct error *err);
    bool (*is_empty)(const struct wire *wire);               /* NULL: always */
    void (*forget)(struct wire *wire);                       /* NULL: nothing */
    bool (*attach)(struct wire *wire, int rank, int socket); /* NULL: nobody comes later */
    void (*close)(struct wire *wire);                        /* NULL: it is freed */
};

/* What a wire knows of another rank. */
struct wire_peer {
    double heard, told; /* when something last came from it, and went to it */
    bool lost, cut;     /* cut: nothing that comes from it counts, and nothing goes to it */
    bool late;          /* it need not have begun: its silence means nothing */
};

struct wire {
    const struct wire_calls *calls;
    int rank, size;
    struct wire_peer *peers; /* of each rank, freed by the wire's kind; NULL: this one is alone */
    double silence;          /* seconds after which a silent rank is lost */
    double listened;         /* when this rank last looked */
    struct wire_receiver receiver;
    int wake; /* a file descriptor that ends wire_poll when it can be read; -1: none */
    int64_t sent_bytes, received_bytes, received_messages; /* between ranks; without heads */
};

static inline uint64_t wire_check_of(const struct wire_head *head)
{
    const uint64_t *words = (const uint64_t *)head;
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < offsetof(struct wire_head, check) / sizeof *words; i++)
        sum = (sum ^ words[i]) * UINT64_C(0xff51afd7ed558ccd), sum ^= sum >> 32;
    return sum;
}

/* Sends. *pending is incremented, and decremented once the bytes are no longer needed; NULL: the bytes are copied. */
bool wire_send(struct wire *wire, struct wire_head *head, const void *bytes, int *pending, struct error *err);

/* Sends and receives, and waits for messages until `until` (clock_now) at the latest. */
bool wire_poll(struct wire *wire, double until, struct error *err);
/* Returns whether all messages have left this process. */
bool wire_is_empty(const struct wire *wire);

/* After a failure: drops unsent messages, so that their bytes can be freed. Nothing can be sent afterwards. */
void wire_forget(struct wire *wire);
void wire_close(struct wire *wire); /* NULL is allowed */

/* Ends a rank's process, which belongs to the run: never returns. */
_Noreturn void wire_leave(struct wire *wire, int status);

/* Ranks that have said nothing for a fifth of the silence say that they live: so every one is heard while its process
 * polls, whatever it waits for. Calls `lose` for those that have been silent for too long; time in which this one did
 * other work, or had no processor, does not count. For wires: call it in each poll. */
typedef bool wire_lose(struct wire *wire, int rank, const char *why, struct error *err);
bool wire_beat(struct wire *wire, wire_lose *lose, struct error *err);

/* Makes the peers, all heard now. */
bool wire_add_peers(struct wire *wire, struct error *err);

/* Sleeps for so long, or until `wake` can be read, which it returns. For wires. */
bool wire_sleep(const struct wire *wire, double seconds);

/* Checks a head that has come; false: the message is corrupted, and the text names its sender. */
bool wire_head_is_right(const struct wire *wire, const struct wire_head *head, int from, struct error *err);

/* ---- a rank alone ---- */

struct wire *wire_alone(struct error *err);

/* ---- sockets (mesh.c) ---- */

/* Makes a wire over connected stream sockets, one to each other rank (own, and of ranks that come later: -1), which it
 * closes. A rank whose socket closes, or that is silent for `silence` seconds, is lost. */
struct wire *wire_over_sockets(int rank, int size, const int *sockets, double silence, struct error *err);

/* ---- MPI (mpi_wire.c) ---- */

struct comm;

/* Makes a wire over the ranks of `comm`, which must stay longer. A rank is lost when MPI says so, or nothing has come
 * from it for `silence` seconds. `survives`: others go on without it, and end by wire_leave, which lets them agree on
 * that. */
struct wire *wire_over_mpi(struct comm *comm, double silence, bool survives, struct error *err);

/* ---- a wire that fails ---- */

/* Makes the rank deaf and mute from now on, as if its host's cable had been pulled. */
void wire_cut(struct wire *wire);

/* ---- ranks that come later ---- */

/* Late: the rank's process need not be there yet, and its silence means nothing until it has said something. Else it is
 * lost as any other one if nothing comes from it from now on. */
void wire_await(struct wire *wire, int rank, bool late);

/* Gives the wire, which closes it, a connected socket to a rank that had none. False: it is not wanted, and stays the
 * caller's. */
bool wire_attach(struct wire *wire, int rank, int socket);

/* ---- between ranks: all call these in the same order, and wait as long as the others are heard (game.c) ---- */

struct talk;

/* Call repeatedly during long work of this rank, so that others hear it. */
bool talk_work(struct talk *talk, struct error *err);

/* Gathers the bytes of all ranks: rank 0 calls `visit` for each, in the order of ranks. */
typedef bool talk_visit(void *context, int rank, const void *bytes, size_t length, struct error *err);
bool talk_gather(struct talk *talk, const void *bytes, size_t length, talk_visit *visit, void *context,
                 struct error *err);

#endif
