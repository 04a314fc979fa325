/* Executes the tasks of a rank's devices: the same tasks, order and rules as in the engine (sim/engine/engine.h, whose
 * steps it follows), but in real time and with real messages.
 *
 * Each device is a small state machine with eight streams; one thread serves all of them and the messages.
 *
 *   Kernels end at their begin plus their seconds, or when they have been computed (compute.h).
 *   A task that only waits for tasks of its own device begins when the last one was due,
 *   not when that was noticed: emulated devices do not become slower because they share a processor. How late a due
 *   task is noticed is measured.
 *   Messages carry the plan's bytes, and the time at which the emulated link delivers them. They count as received once
 *   the bytes have arrived and that time has come. Between devices of one rank, bytes are copied.
 *   Collectives. The devices of a rank first sum (or concatenate) their values; then the ranks execute the collective,
 *   around a ring or directly; each device gets a copy. Every piece carries the latest arrival of a member that its
 *   sender knows of. A collective ends when its bytes have arrived, but not before the arrival of the last member plus
 *   its seconds. The result is compared with the sum of all members.
 *
 * Private to run. */
#ifndef REHEARSE_RUN_PLAYER_H
#define REHEARSE_RUN_PLAYER_H

#include "run/compute.h"
#include "run/disk.h"
#include "run/wire.h"
#include "sim/engine/steps.h"
#include "sim/tasks.h"

#include "core/histogram.h"

enum stream_state {
    STREAM_READY,    /* its next task waits for marks or a message */
    STREAM_STARTING, /* its inputs have arrived, but its begin is in the future */
    STREAM_TIMED,    /* its end is known */
    STREAM_COMPUTES, /* its kernels are computed */
    STREAM_DISK,     /* samples are read, or a checkpoint is written */
    STREAM_MEETS,    /* in a collective */
    STREAM_DONE
};

struct player_stream {
    uint32_t pass, step, last, base;
    uint8_t state;
    bool late;         /* its message was not sent when it was due to end */
    int pending;       /* parts of its message that are being sent */
    double clock;      /* when its last task was due */
    double begin, end; /* of its task */
    double work, since,
        share;             /* of a kernel that can be slowed: seconds left at full speed from `since` on */
    int64_t number, cause; /* of its task's record, and of the record that it waited for; -1: none */
};

/* A task that was done. The number of a record is device << 32 | its place among the device's, which is that of its
 * begin. */
struct player_record {
    double begin, end;
    int64_t cause;
    uint32_t pass, step;
};

struct player_device {
    const struct engine_device *source;
    const struct plan_of_order *order;
    int number; /* of all devices */
    struct player_stream streams[ENGINE_STREAMS];
    struct player_event {
        double end; /* below 0: not yet */
        int64_t origin;
    } * events;
    uint8_t unfinished; /* streams */
    double share;       /* of its kernels' speed that others take */
    struct player_record *records;
    size_t record_capacity;
    int64_t task_count;
    int64_t activations, peak; /* bytes */
    double moment;             /* of the last change of them */
    int64_t kept, freed;       /* how often */
    int64_t sent, received;    /* messages */
    int64_t sent_bytes, received_bytes;
    double end;
    double *iteration_ends;
    int iterations;
};

/* A message that is there, and not yet taken. */
struct player_message {
    double comes;
    uint64_t origin;
    void *bytes;
    int64_t length;
    uint32_t microbatch;
};

struct player_channel {
    int from, to; /* devices */
    struct player_message *messages;
    size_t count, capacity;
    int64_t longest;        /* bytes of its longest message */
    int64_t sent, received; /* by devices of this rank */
};

/* The phase of a collective. */
enum group_phase { GROUP_FILLS, GROUP_MOVES, GROUP_COPIES };

/* A piece of a collective that arrived before its turn. */
struct player_piece {
    uint32_t instance, step;
    double time;
    float *values;
    int64_t cause, length;
};

struct player_member {
    int device;
    uint8_t stream;
};

struct player_group {
    int rank_count, own;     /* ranks with members; this rank's place among them; -1: it has none */
    int *ranks, *members_of; /* of each such rank */
    int members, local;      /* all, and those of this rank */
    double weight;           /* sum of their contributions: number % 16 + 1 for each device */
    /* the current collective */
    uint32_t instance, step, steps, received;
    struct player_member *there; /* [local] */
    int arrived;
    bool goes;
    enum sim_collective kind;
    double begin, seconds, bytes; /* begin: the last known arrival */
    int64_t cause;
    float *values, *copy;
    int64_t count, at; /* of values; those of the phase, or of a piece, that are done */
    enum group_phase phase;
    int pending;
    struct player_piece *pieces;
    size_t piece_count, piece_capacity;
};

struct player_options {
    int per_rank;      /* devices */
    double byte_share; /* of the plan's bytes that are moved */
    bool keep;         /* records, for a timeline */
};

/* Buffers that are used again. */
struct player_pool {
    struct pool_buffer {
        void *bytes;
        int64_t size;
    } * free_ones;
    size_t count, capacity;
    int64_t total, peak; /* bytes */
};

struct player {
    const struct sim_tasks *tasks;
    const struct engine_system *system;
    struct compiled compiled;
    struct player_options options;
    struct wire *wire;
    struct talk *talk;
    struct compute *compute; /* NULL: kernels end at a deadline */
    struct disk *disk;       /* NULL: so do loads and writes */
    int first, count;        /* devices of this rank */
    struct player_device *devices;
    struct player_channel *channels;
    struct player_group *groups;
    struct player_pool pool;
    uint64_t *outgoing;    /* payload of messages: as long as the longest one */
    struct histogram late; /* nanoseconds from the end of a task to when it was noticed */
    double drift;          /* of this rank's clock, seconds a second: see report.h */
    double start;          /* the run's second 0 by this rank's clock */
    bool busy;             /* a collective has more to do before anything is waited for */
    bool moved;            /* something came, or was sent */
    bool ending;           /* ranks may leave */
    int64_t copied_bytes;  /* between devices of this rank */
    int64_t checked;       /* sums of collectives that were compared */
    double computed;       /* seconds that the plan has for the kernels that were computed */
};

/* Prepares the devices of the wire's rank; the tasks must stay. The caller ends it with player_release, also after a
 * failure. */
bool player_init(struct player *player, const struct sim_tasks *tasks, const struct player_options *options,
                 struct wire *wire, struct talk *talk, struct error *err);
void player_release(struct player *player);

/* Plays from `start` (this rank's clock_now) on. */
bool player_play(struct player *player, double start, double timeout, struct error *err);

/* False, with an error that names the device and the numbers, if something was done otherwise than in the schedule;
 * `peaks`: bytes of activations of each device at its fullest moment, NULL: not compared. */
bool player_check(const struct player *player, const int64_t *peaks, struct error *err);

/* ---- parts of the player ---- */

static inline int player_rank_of(const struct player *player, int device)
{
    return device / player->options.per_rank;
}

int64_t player_share_of(double bytes, double share);             /* rounded up to a multiple of 8 */
int64_t player_bytes(const struct player *player, double bytes); /* bytes to send for the plan's `bytes` */

void *pool_take(struct player_pool *pool, int64_t size, struct error *err);
void pool_give(struct player_pool *pool, void *bytes); /* NULL is allowed */

/* message.c */
bool message_init(struct player *player, struct error *err);
/* Returns how many messages of a channel are in this rank's memory at one time, about: one that waits, and one that is
 * on its way. */
int message_ahead(const struct player *player, int channel);
/* Makes the buffers for these, so that no page is touched for the first time while the run's time counts. */
bool message_prepare(struct player *player, struct error *err);
bool message_send(struct player *player, struct player_device *device, unsigned stream, double comes,
                  struct error *err);
bool message_arrived(struct player *player, const struct wire_head *head, void *bytes, struct error *err);
/* Returns the message of a task that receives; NULL: it is not there. */
bool message_take(struct player *player, struct player_device *device, const struct step *step,
                  struct player_message *message, struct error *err);

/* collective.c */
bool collective_init(struct player *player, struct error *err);
void collective_release(struct player *player);
bool collective_join(struct player *player, struct player_device *device, unsigned stream, struct error *err);
bool collective_arrived(struct player *player, const struct wire_head *head, void *bytes, struct error *err);
/* Returns the bytes of this rank's buffers for a collective of a group. */
int64_t collective_bytes(const struct player *player, int number, enum sim_collective kind, double bytes);
/* Ends the collectives whose bytes have been sent. */
bool collective_advance(struct player *player, struct player_group *group, struct error *err);

/* player.c */
void player_share(struct player_device *device, double time, double change); /* of its kernels' speed */
double player_now(const struct player *player);
const struct step *player_step(const struct player *player, const struct player_stream *stream);
uint32_t player_microbatch(const struct player_device *device, const struct player_stream *stream,
                           const struct step *step);

#endif
