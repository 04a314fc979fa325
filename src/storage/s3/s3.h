/* Declarations shared by the files of this folder: the configuration, the connections, and requests, one
 * after the other or many at once. */
#ifndef REHEARSE_STORAGE_S3_S3_H
#define REHEARSE_STORAGE_S3_S3_H

#include "core/text.h"
#include "storage/method.h"
#include "storage/s3/sign.h"

#include <pthread.h>
#include <stdatomic.h>

#define S3_MAX_KEY  1024 /* bytes of UTF-8, as S3 has it */
#define S3_MAX_ETAG 128

/* ---- Configuration (config.c) ---- */

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
    pthread_mutex_t lock;    /* protects the fields below */
    struct s3_client *idle;
    atomic_bool answered; /* the server has answered for an object, so it speaks S3 and the bucket exists */
};

bool s3_config_start(struct storage *storage, struct error *err);
void s3_config_stop(struct storage *storage);

/* ---- Buckets and keys (place.c) ---- */

struct s3_place {
    char *name; /* for messages: "s3://bucket/key", shortened in the middle where that is long */
    char *bucket;
    char *key; /* "": the bucket itself; never "./a", "a//b", "a/" */
};

/* Makes a place from "s3://bucket/key" or "/bucket/key". Keys are made only here: "." and empty parts of a
 * path are left out; ".." is an error. The caller releases it. */
bool s3_place_init(struct s3_place *place, const char *path, struct error *err);
void s3_place_release(struct s3_place *place);

/* The same, but the place must be an object. */
bool s3_object_init(struct s3_place *place, const char *path, struct error *err);

/* Overwrites our secrets in a text with stars. */
void s3_redact(const struct s3_config *config, char *text);

/* ---- Requests (client.c) ---- */

/* A request. The caller sets its first members, the rest is zero. It must not move until it is finished. */
struct s3_call {
    const char *verb; /* "GET", "HEAD", "PUT", "POST", "DELETE" */
    const struct s3_place *place;
    const char *doing; /* "cannot write"; NULL: "cannot read N bytes at byte M" */
    struct text query; /* from s3_query; the call's own */
    const char *body;  /* NULL: none */
    size_t body_length;
    int64_t first, length; /* a range of the object; length 0: the whole answer goes to `answer` */
    char *to;              /* destination of a range; NULL drops the bytes */
    double patience;       /* 0: the configuration's */

    /* Set when it is finished. */
    bool ok;
    long status;
    char code[64];       /* of a failure: "NoSuchKey" */
    char elsewhere[128]; /* the place that a redirecting answer names: "region eu-west-1", "https://…" */
    struct error err;
    struct text answer;
    char etag[S3_MAX_ETAG];
    int64_t size; /* of the whole object; -1: not said */
    int attempts;
    int64_t received; /* bytes of ranges, with those of attempts that failed */

    /* Used while it runs. */
    void *easy, *headers;
    int64_t done, expected;
    const char *refused; /* the reason for not reading the answer to its end; NULL: it was read */
    double retry_at;
    double end_at; /* the time at which a call ends after `stop` was seen; 0: it was not */
    struct s3_call *next;
    char curl_error[256];
};

/* A client keeps its connections and serves one thread at a time. Giving it back ends its requests. */
struct s3_client *s3_client_take(struct s3_config *config, struct error *err);
void s3_client_give(struct s3_client *client);
void s3_client_free_idle(struct s3_config *config);
const struct s3_config *s3_client_config(const struct s3_client *client);

/* Starts a request, which is repeated if that may help. s3_wait returns it when it is finished. */
void s3_start(struct s3_client *client, struct s3_call *call);

/* Moves all transfers that can be moved without waiting. */
void s3_pump(struct s3_client *client);

/* Returns the next request that is finished, successful or not; NULL when none is under way. */
struct s3_call *s3_wait(struct s3_client *client);

/* Ends all requests that are under way. */
void s3_abandon(struct s3_client *client);

/* Runs one request from start to end; nothing else may be under way. On failure *err is the call's. */
bool s3_run(struct s3_client *client, struct s3_call *call, struct error *err);

void s3_call_release(struct s3_call *call);

/* ---- Sending (request.c) and answers (answer.c) ---- */

/* Sets address, headers and body of an attempt on call->easy. False: out of memory. */
bool s3_prepare(const struct s3_config *config, struct s3_call *call);

/* Returns the text of one element of the answer, which the caller frees; NULL with an error if it is
 * missing. */
char *s3_element(const struct s3_call *call, const char *path, struct error *err);

/* A callback of curl; `context` is the call. */
size_t s3_take_bytes(char *bytes, size_t size, size_t count, void *context);

/* Fails a call that is no longer waited for. */
bool s3_judge_stopped(const struct s3_config *config, struct s3_call *call);

/* Judges an attempt that ended with this CURLcode. Returns true on success; else *again says whether another
 * attempt may help. */
bool s3_judge(const struct s3_config *config, struct s3_call *call, int code, bool *again);

/* ---- Writing, and folders (s3.c, list.c) ---- */

bool s3_list(struct storage *storage, const char *path, storage_visit *visit, void *context,
             struct error *err);
bool s3_remove(struct storage *storage, const char *path, struct error *err);

#endif
