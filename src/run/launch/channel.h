/* Frames between launcher, nodes and ranks: a kind, a rank, and some bytes. Private to run/launch. */
#ifndef REHEARSE_RUN_LAUNCH_CHANNEL_H
#define REHEARSE_RUN_LAUNCH_CHANNEL_H

#include "core/error.h"
#include "run/launch/launch.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#define LAUNCH_VARIABLE  "REHEARSE_RANK" /* environment variable of a rank: LAUNCH_CONTROL */
#define LAUNCH_CONTROL   3               /* file descriptor of a rank: its node */
#define LAUNCH_LISTENING 4               /* file descriptor of a rank: its listening socket */
#define LAUNCH_BEAT      1.0             /* seconds between heartbeats */
#define LAUNCH_SILENCE   30.0            /* seconds of silence after which the other side is lost */
#define LAUNCH_MAX_FRAME (64 << 20)
#define LAUNCH_MAX_WORDS 1024
#define LAUNCH_KEY       16 /* bytes: nobody guesses 2^128 */

enum frame_kind {
    FRAME_JOB = 1, /* launcher to node: struct job_head, ranks, texts */
    FRAME_ADDRESS, /* node to launcher: where a rank listens */
    FRAME_SEAT,    /* to a rank: struct seat_card */
    FRAME_READY,   /* of a rank: it is connected */
    FRAME_GO,      /* to all ranks */
    FRAME_OUT,     /* a rank has printed, to standard output or error */
    FRAME_ERR,
    FRAME_RESULT,
    FRAME_FAILED, /* of a rank, or (-1) of the node: the error's kind and text */
    FRAME_ENDED,  /* of a rank: its exit status */
    FRAME_KILL,   /* to a node */
    FRAME_START,  /* to a node: a rank for later is to listen now */
    FRAME_COMER,  /* to a rank: where one that comes later listens, struct seat_comer */
    FRAME_BEAT,
    FRAME_KINDS
};

struct launch_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un here; /* without a file: its name begins with a NUL, and the system chooses it */
    } as;
};

#define LAUNCH_HERE "(here)" /* the network of ranks that are all on one host */

socklen_t launch_address_length(const struct launch_address *address);
bool launch_address_is_loopback(const struct launch_address *address);

/* Finds the address that the ranks of this host have: in `network`, or (empty) that of the host's name. */
bool launch_address_find(struct launch_address *address, const char *host, const char *network,
                         struct error *err);

struct job_head {
    char version[32];
    uint32_t sizes; /* of the structs here: other builds may have others */
    int32_t
        ranks; /* of this host; struct job_rank follow, then texts that end in NUL: host, network, folder, words */
    int32_t words;
};
struct job_rank {
    int32_t rank, later;
};
#define JOB_SIZES ((uint32_t)(sizeof(struct job_head) + 1000 * sizeof(struct seat_card) + 1000000))

struct seat_key {
    unsigned char hello[LAUNCH_KEY], answer[LAUNCH_KEY];
};

/* Followed, for each rank, by its host, its address, and the keys of this rank with it; by the names of the hosts, and by the note. */
struct seat_card {
    int32_t rank, size, number, hosts, note;
    int32_t later; /* this rank comes later: the others connect to it */
};
struct seat_other {
    int32_t host, there;
    struct launch_address address;
    struct seat_key key;
};

struct seat_comer {
    int32_t rank;
    struct launch_address address;
    struct seat_key key;
};

struct frame {
    enum frame_kind kind;
    int rank;
    const char *bytes; /* until the next call */
    size_t length;
};

struct channel {
    int in, out;
    char *got, *queue;
    size_t got_count, got_first, got_capacity;
    size_t queue_count, queue_first, queue_capacity;
    double heard, told;
    bool ended; /* end of input */
};

void channel_init(struct channel *channel, int in, int out);
void channel_release(struct channel *channel); /* closes both */

/* Queues a frame. */
bool channel_send(struct channel *channel, enum frame_kind kind, int rank, const void *bytes, size_t length,
                  struct error *err);
void channel_tell_failure(struct channel *channel, const struct error *why, struct error *err);
/* Sends as much as possible without blocking. A closed other side is not an error here: channel_pull reports it. */
bool channel_push(struct channel *channel, struct error *err);
/* Reads the available bytes without blocking. */
bool channel_pull(struct channel *channel, struct error *err);
/* Takes the next frame. *there is false if none is complete; false, with *err, if the bytes are not a frame. */
bool channel_next(struct channel *channel, struct frame *frame, bool *there, struct error *err);

/* Sends a sign of life if it is time; returns whether the other side has been heard lately. */
bool channel_beat(struct channel *channel, double now);

#endif
