/* S3 inside this room: who we are and where, the connections, one request after the other or many at once. */
#ifndef REHEARSE_STORAGE_S3_S3_H
#define REHEARSE_STORAGE_S3_S3_H

#include "core/text.h"
#include "storage/method.h"
#include "storage/s3/sign.h"

#include <pthread.h>
#include <stdatomic.h>

#define S3_MAX_KEY  1024 /* bytes of UTF-8, as S3 has it */
#define S3_MAX_ETAG 128

/* ---- Who and where (s3_config.c) ---- */

struct s3_client;

struct s3_config {
    char *access_key, *secret_key;
    char *session_token; /* NULL: none */
    char *region;
    char *endpoint;    /* "http://localhost:9000", without the port where it is the scheme's */
    char *host;        /* of the endpoint: "localhost:9000" */
    char *authorities; /* a file of certificates in PEM that are trusted; NULL: the system's */
    bool tls;
    bool path_style; /* http://host/bucket/key, not http://bucket.host/key */
    int attempts;
    double patience;         /* seconds that a request may stand still */
    const atomic_bool *stop; /* NULL: never */
    pthread_mutex_t lock;    /* of what follows */
    struct s3_client *idle;
    atomic_bool answered; /* the server has spoken of an object: it is one of S3, and the bucket is there */
};

bool s3_config_start(struct storage *storage, struct error *err);
void s3_config_stop(struct storage *storage);

/* ---- Buckets and keys (s3_place.c) ---- */

struct s3_place {
    char *name; /* for messages: "s3://bucket/key", shortened in the middle where that is long */
    char *bucket;
    char *key; /* "": the bucket itself; never "./a", "a//b", "a/" */
};

/* From "s3://bucket/key" or "/bucket/key". The only place where keys are made: what paths may have, "." and empty parts,
 * is left out; ".." is an error. */
bool s3_place_init(struct s3_place *place, const char *path, struct error *err);
void s3_place_release(struct s3_place *place);

/* The same, but of an object. */
bool s3_object_init(struct s3_place *place, const char *path, struct error *err);

/* Writes stars over our secrets. */
void s3_redact(const struct s3_config *config, char *text);

/* ---- Requests (s3_client.c) ---- */

/* One request. What is asked is set by the caller, the rest is zero. It stays where it is until it is finished. */
struct s3_call {
    const char *verb; /* "GET", "HEAD", "PUT", "POST", "DELETE" */
    const struct s3_place *place;
    const char *doing; /* "cannot write"; NULL: "cannot read N bytes at byte M" */
    struct text query; /* from s3_query; the call's own */
    const char *body;  /* NULL: none */
    size_t body_length;
    int64_t first, length; /* a range of the object; length 0: all that is answered goes to `answer` */
    char *to;              /* of a range: NULL lets the bytes go */
    double patience;       /* 0: the configuration's */

    /* When it is finished. */
    bool ok;
    long status;
    char code[64];       /* of a failure: "NoSuchKey" */
    char elsewhere[128]; /* of one that sends us to another place: "region eu-west-1", "https://…" */
    struct error err;
    struct text answer;
    char etag[S3_MAX_ETAG];
    int64_t size; /* of the whole object; -1: not said */
    int attempts;
    int64_t received; /* bytes of ranges, with those of attempts that failed */

    /* While it runs. */
    void *easy, *headers;
    int64_t done, expected;
    const char *refused; /* why the answer was not read to its end; NULL: it was */
    double retry_at;
    double end_at; /* we were asked to stop: it has so long; 0: we were not, or have not seen it */
    struct s3_call *next;
    char curl_error[256];
};

/* A client keeps its connections and serves one thread at a time. Giving it back ends what is under way. */
struct s3_client *s3_client_take(struct s3_config *config, struct error *err);
void s3_client_give(struct s3_client *client);
void s3_client_free_idle(struct s3_config *config);
const struct s3_config *s3_client_config(const struct s3_client *client);

/* Sends a request, several times where that may help. It is finished when s3_wait returns it. */
void s3_start(struct s3_client *client, struct s3_call *call);

/* Moves what can be moved without waiting. */
void s3_pump(struct s3_client *client);

/* The next request that is finished, well or not; NULL when none is under way. */
struct s3_call *s3_wait(struct s3_client *client);

/* Ends all that is under way. */
void s3_abandon(struct s3_client *client);

/* One request, from start to end, while nothing else is under way. */
bool s3_run(struct s3_client *client, struct s3_call *call, struct error *err);

void s3_call_release(struct s3_call *call);

/* ---- What is said (s3_request.c) and answered (s3_answer.c) ---- */

/* Address, headers and body of an attempt, for call->easy. False when memory runs out. */
bool s3_prepare(const struct s3_config *config, struct s3_call *call);

/* The text of one element, or an error: the caller frees it. */
char *s3_element(const struct s3_call *call, const char *path, struct error *err);

/* A callback of curl; `context` is the call. */
size_t s3_take_bytes(char *bytes, size_t size, size_t count, void *context);

/* A call that we stop waiting for, as if it had failed. */
bool s3_judge_stopped(const struct s3_config *config, struct s3_call *call);

/* An attempt has ended with this CURLcode: was it well? If not, *again says whether another may help. */
bool s3_judge(const struct s3_config *config, struct s3_call *call, int code, bool *again);

/* ---- Writing, and folders (s3_write.c, s3_list.c) ---- */

bool s3_create(struct storage_writer *writer, struct error *err);
bool s3_write(struct storage_writer *writer, const void *from, size_t length, struct error *err);
bool s3_commit(struct storage_writer *writer, struct error *err);
void s3_discard(struct storage_writer *writer);
bool s3_list(struct storage *storage, const char *path, storage_visit *visit, void *context,
             struct error *err);
bool s3_remove(struct storage *storage, const char *path, struct error *err);

#endif
