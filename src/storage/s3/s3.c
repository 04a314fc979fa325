/* Objects of S3 as files: reading them in ranges, many at once. */
#include "storage/s3/s3.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST     ((int64_t)8 << 20) /* bytes: the time of one then is mostly transfer */
#define QUEUE_DEPTH 16

struct s3_reader {
    struct s3_client *client;
    struct s3_call *calls;
    int depth;
};

struct s3_file {
    struct s3_place place;
    pthread_mutex_t lock; /* of what follows: files may be read by several threads */
    int64_t size;         /* -1: not known yet */
    char etag[S3_MAX_ETAG];
};

static bool reader_start(struct storage_reader *reader, struct error *err)
{
    const struct storage_options *options = &reader->storage->options;
    struct s3_reader *s3 = calloc(1, sizeof *s3);
    if (!s3)
        return error_memory(err);
    s3->depth = options->queue_depth ? options->queue_depth : QUEUE_DEPTH;
    s3->calls = calloc((size_t)s3->depth, sizeof *s3->calls);
    s3->client = s3->calls ? s3_client_take(reader->storage->state, err) : NULL;
    if (!s3->client) {
        bool memory = !s3->calls;
        free(s3->calls);
        free(s3);
        return memory ? error_memory(err) : false;
    }
    reader->state = s3;
    return true;
}

static void reader_stop(struct storage_reader *reader)
{
    struct s3_reader *s3 = reader->state;
    s3_client_give(s3->client);
    for (int i = 0; i < s3->depth; i++)
        s3_call_release(&s3->calls[i]);
    free(s3->calls);
    free(s3);
}

/* Opens without a request: the first read, or the question for the size, asks the server. */
static bool s3_open(struct storage_reader *reader, struct storage_file *file, struct error *err)
{
    (void)reader;
    struct s3_file *s3 = calloc(1, sizeof *s3);
    if (!s3)
        return error_memory(err);
    if (!s3_object_init(&s3->place, file->path, err)) {
        free(s3);
        return false;
    }
    s3->size = -1;
    pthread_mutex_init(&s3->lock, NULL);
    file->state = s3;
    return true;
}

static void s3_close(struct storage_file *file)
{
    struct s3_file *s3 = file->state;
    pthread_mutex_destroy(&s3->lock);
    s3_place_release(&s3->place);
    free(s3);
}

/* Checks that an answer is about the same object as the first answer. */
static bool same_object(struct s3_file *s3, const struct s3_call *call, struct error *err)
{
    pthread_mutex_lock(&s3->lock);
    bool same = !*s3->etag || !*call->etag || strcmp(s3->etag, call->etag) == 0;
    if (same && !*s3->etag)
        memcpy(s3->etag, call->etag, sizeof s3->etag);
    if (same && s3->size < 0)
        s3->size = call->size;
    pthread_mutex_unlock(&s3->lock);
    return same || error_set(err, ERROR_FAILED, "%s: replaced while it was being read", call->place->name);
}

/* Returns whether a failure needs words: the answer to HEAD has only a status. A 404 needs them if no earlier
 * answer has shown that the bucket exists. */
static bool lacks_words(const struct s3_config *config, const struct s3_call *call)
{
    return call->status / 100 == 3 || (call->status / 100 == 4 && (call->status != 404 || !config->answered));
}

/* Repeats the question with GET, whose failure has words; if it succeeds nothing is learnt. */
static void ask_for_words(struct s3_client *client, const struct s3_place *place, struct error *err)
{
    struct error words;
    struct s3_call call = {.verb = "GET", .place = place, .doing = "cannot read its size", .length = 1};
    if (!s3_run(client, &call, &words) && call.status > 0 && call.status != 416)
        *err = words;
    s3_call_release(&call);
}

static bool s3_size(struct storage_reader *reader, struct storage_file *file, int64_t *size,
                    struct error *err)
{
    struct s3_file *s3 = file->state;
    struct s3_reader *of = reader->state;
    pthread_mutex_lock(&s3->lock);
    *size = s3->size;
    pthread_mutex_unlock(&s3->lock);
    if (*size >= 0)
        return true;
    struct s3_call call = {.verb = "HEAD", .place = &s3->place, .doing = "cannot read its size"};
    bool ok = s3_run(of->client, &call, err);
    if (!ok && lacks_words(reader->storage->state, &call))
        ask_for_words(of->client, &s3->place, err);
    ok = ok && same_object(s3, &call, err);
    s3_call_release(&call);
    if (ok && call.size < 0)
        return error_set(err, ERROR_FAILED, "%s: the server's response has no size", s3->place.name);
    *size = call.size;
    return ok;
}

/* The place in a list of extents at which the next request begins. */
struct cursor {
    struct storage_extent *extents;
    int count, index;
    int64_t next; /* byte of extent `index` */
};

static bool is_more(struct cursor *cursor)
{
    while (cursor->index < cursor->count && cursor->next == cursor->extents[cursor->index].length) {
        cursor->index++;
        cursor->next = 0;
    }
    return cursor->index < cursor->count;
}

static void start_next(struct s3_reader *s3, struct s3_call *call, const struct s3_file *file,
                       struct cursor *cursor, int64_t request)
{
    const struct storage_extent *extent = &cursor->extents[cursor->index];
    int64_t left = extent->length - cursor->next;
    s3_call_release(call);
    *call = (struct s3_call){
        .verb = "GET",
        .place = &file->place,
        .first = extent->offset + cursor->next,
        .length = left < request ? left : request,
        .to = extent->to ? extent->to + cursor->next : NULL,
    };
    cursor->next += call->length;
    s3_start(s3->client, call);
}

static bool take_finished(struct storage_reader *reader, struct s3_file *file, struct s3_call *call,
                          struct error *err)
{
    reader->counts.read += call->received;
    reader->counts.copied += call->to ? call->received : 0;
    reader->counts.requests += call->attempts;
    if (!call->ok) {
        *err = call->err;
        return false;
    }
    return same_object(file, call, err);
}

static bool s3_read(struct storage_reader *reader, struct storage_file *file, struct storage_extent *extents,
                    int count, struct error *err)
{
    struct s3_reader *s3 = reader->state;
    int64_t request = reader->storage->options.request ? reader->storage->options.request : REQUEST;
    struct cursor cursor = {.extents = extents, .count = count};
    int used = 0;
    bool ok = true;
    while (used < s3->depth && is_more(&cursor))
        start_next(s3, &s3->calls[used++], file->state, &cursor, request);
    for (struct s3_call *call; ok && (call = s3_wait(s3->client));) {
        ok = take_finished(reader, file->state, call, err);
        if (ok && is_more(&cursor))
            start_next(s3, call, file->state, &cursor, request);
    }
    if (!ok)
        s3_abandon(s3->client);
    return ok;
}

const struct storage_method storage_s3 = {
    .start = s3_config_start,
    .stop = s3_config_stop,
    .reader_start = reader_start,
    .reader_stop = reader_stop,
    .open = s3_open,
    .size = s3_size,
    .read = s3_read,
    .close = s3_close,
    .create = s3_create,
    .write = s3_write,
    .commit = s3_commit,
    .discard = s3_discard,
    .list = s3_list,
    .remove = s3_remove,
};
