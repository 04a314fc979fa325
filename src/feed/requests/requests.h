/* Streams of requests to a storage: to the key-value cache of servers of language models, to the index of a vector
 * database.
 *
 * Problem: a training run reads as fast as it computes, a server reads when it is asked. Its storage is judged by
 * the time from a request's arrival to its end, at a load that does not wait for slow answers. Stream: the seed
 * gives all requests before the run: arrival, user, tokens, and what each reads, writes and removes of the cache,
 * in the order of arrivals, so that bytes and hits do not depend on the storage. Play: threads take the requests
 * in that order. A read waits for the write of its entry, a removal for the reads, each of an earlier request, so
 * that none waits in a circle. Latency counts from the arrival, also where no thread was free; that of what did
 * not end counts until the end.
 *
 * Files lie in a folder, or under a prefix of S3, that this room marked. */
#ifndef REHEARSE_FEED_REQUESTS_REQUESTS_H
#define REHEARSE_FEED_REQUESTS_REQUESTS_H

#include "core/doc.h"
#include "core/histogram.h"
#include "core/json.h"
#include "feed/origin.h"
#include "storage/storage.h"

#define REQUESTS_MARK    ".rehearse-requests" /* in a folder that is a cache or an index */
#define REQUESTS_MAX_MIX 16

/* A kind of user: ranges of tokens and seconds, from which each user draws its own. */
struct requests_user {
    const char *name;
    double share; /* of the users, relative to the other kinds */
    int64_t context_from, context_to, answer_from, answer_to;
    double think_from, think_to; /* seconds between a user's requests */
};

enum requests_arrival { REQUESTS_OPEN, REQUESTS_CLOSED, REQUESTS_POISSON };

struct requests_workload {
    const char *name, *about, *arrival_word;
    enum requests_arrival arrival;
    int64_t seed, requests;      /* requests: 0: as many as arrive */
    double duration;             /* seconds in which requests begin; 0: all of them */
    double rate;                 /* requests per second of arrival poisson */
    int users, workers, writers; /* writers: of the workers, at once; 0: all */
    /* a key-value cache */
    int64_t token_bytes, memory, capacity; /* token_bytes 0: none; capacity 0: 95 % of what is free */
    int64_t prefill_only;                  /* tokens of context from which nothing is decoded */
    int64_t decode_tokens;                 /* per read of the cache while decoding */
    int64_t turns;                         /* of a conversation, at most */
    double again;                          /* share of requests after which a conversation goes on */
    double memory_use, memory_largest;     /* shares of `memory`: of all entries, of one */
    bool sync;
    struct requests_user mix[REQUESTS_MAX_MIX];
    int mix_count;
    /* an index */
    int64_t vectors, dimensions, degree, align, search_list, beam, shards, batch; /* vectors 0: none */
    double cached;       /* share of the nodes that are in memory */
    struct doc texts[2]; /* the file, the settings */
};

/* Reads a built-in workload (data/request-streams.yaml) or a file, then "KEY=VALUE". The caller releases it, also on
 * failure. */
bool requests_open(struct requests_workload *workload, const char *name, const char *const *settings,
                   size_t setting_count, struct error *err);
void requests_release(struct requests_workload *workload);
void requests_write(const struct requests_workload *workload, struct json *json);

/* ---- the stream ---- */

enum request_action { REQUEST_WRITE, REQUEST_READ, REQUEST_REMOVE };

struct request_op {
    uint32_t entry, times;
    enum request_action action;
};

struct request {
    int64_t arrival_ns,
        think_ns;            /* arrival: if all were answered at once; think: since the user's one before */
    uint32_t user, next;     /* next: of the same user, + 1; 0: none */
    int32_t context, answer; /* tokens */
    uint32_t op, ops;
    uint32_t found, missed; /* turns of the conversation before */
};

enum request_tier { REQUEST_GONE, REQUEST_MEMORY, REQUEST_STORED, REQUEST_TIERS };

struct request_entry {
    int64_t bytes;
    uint64_t used;     /* number of the last use */
    uint32_t previous; /* turn of the conversation; 0: none */
    uint32_t reads;    /* ops that read it, before it is removed */
    enum request_tier tier;
};

struct requests_plan {
    struct request *requests; /* NULL: `count` searches, each of which arrives when it is taken */
    struct request_op *ops;
    struct request_entry *entries; /* from 1 */
    uint32_t *first;               /* request of each user, + 1; 0: none */
    size_t count, request_capacity, op_count, op_capacity, entry_count, entry_capacity;
    uint64_t digest;
};

/* Draws the requests, with a storage of `capacity` bytes. The caller releases the plan. */
bool requests_plan(struct requests_plan *plan, const struct requests_workload *workload, int64_t capacity,
                   struct error *err);
void requests_plan_release(struct requests_plan *plan);

/* ---- the run ---- */

struct request_done {
    size_t request;
    int64_t arrival_ns, start_ns, end_ns; /* since the start of the run */
    int64_t storage_ns;                   /* in reads, writes and removals */
};

struct requests_result {
    struct request_done *done;
    size_t done_count, done_capacity;
    int64_t prepared;          /* bytes of the index that were written before */
    double seconds, offered;   /* until the last end, or that of the duration; in which requests arrived */
    int64_t arrived, not_done; /* requests */
    int64_t read, written, removed;             /* bytes, bytes, entries */
    int64_t prefilled, answered, found, missed; /* tokens and turns of requests that ended */
    struct origin origin;                       /* of what was read */
    double in_service, in_storage;              /* seconds, sums over requests that ended */
    struct histogram latency, reads, writes;    /* nanoseconds; of entries, or of rounds of a search */
};

/* Returns the bytes that entries may take; -1: it is not known. */
int64_t requests_limit(const struct requests_workload *workload, const struct storage *storage,
                       struct error *err);

/* Plays the plan, and removes the entries. The caller frees result->done, also on failure. */
bool requests_play(const struct requests_workload *workload, const struct requests_plan *plan,
                   struct storage *storage, bool warm, const atomic_bool *stop,
                   struct requests_result *result, struct error *err);

#endif
