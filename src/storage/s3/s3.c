/* Objects of S3 as files: reading them in ranges, many at once. */
#include "storage/s3/s3.h"
#include "core/clock.h"
#include "core/vector.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* Writing an object: at once when it fits into one part, else as an upload of several, which the server shows
 * only when it is complete. */

#define PART ((int64_t)8 << 20)
#define MIN_PART                                                                                             \
    ((int64_t)5                                                                                              \
     << 20) /* of all but the last: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
#define MAX_PARTS     10000
#define DOUBLE_AT     1000 /* parts of one size; then twice that, so that 10000 are enough for terabytes */
#define IN_FLIGHT     4
#define MAX_IN_FLIGHT 16 /* parts in flight */
#define PATIENCE      10 /* times as long as others: completing an upload takes S3 up to minutes */

struct part {
    char *buffer;
    int64_t capacity;
    int number;
    bool flying;
    struct s3_call call;
};

struct upload {
    struct s3_place place;
    struct s3_client *client;
    char *id; /* of the upload of several parts; NULL: none has begun */
    int in_flight;
    struct part parts[MAX_IN_FLIGHT + 1];
    struct part *filling; /* NULL: none */
    int64_t filled;
    int sent;                   /* parts that were started */
    char (*etags)[S3_MAX_ETAG]; /* of these */
    size_t etag_room;
};

static const struct s3_config *config_of(const struct storage_writer *writer)
{
    return writer->storage->state;
}

/* Returns the size of the part that is being filled. */
static int64_t part_size(const struct storage_writer *writer)
{
    const struct upload *upload = writer->state;
    int64_t asked = writer->storage->options.request;
    int64_t size = asked == 0 ? PART : asked < MIN_PART ? MIN_PART : asked;
    for (int i = 0; i < upload->sent / DOUBLE_AT && size < STORAGE_MAX_REQUEST; i++)
        size *= 2;
    return size < STORAGE_MAX_REQUEST ? size : STORAGE_MAX_REQUEST;
}

static void upload_free(struct upload *upload)
{
    if (upload->client)
        s3_client_give(upload->client);
    for (int i = 0; i <= MAX_IN_FLIGHT; i++) {
        storage_buffer_free(upload->parts[i].buffer, upload->parts[i].capacity);
        s3_call_release(&upload->parts[i].call);
    }
    s3_place_release(&upload->place);
    free(upload->etags);
    free(upload->id);
    free(upload);
}

static bool s3_create(struct storage_writer *writer, struct error *err)
{
    int depth = writer->storage->options.queue_depth;
    struct upload *upload = calloc(1, sizeof *upload);
    if (!upload)
        return error_memory(err);
    upload->in_flight = depth == 0 ? IN_FLIGHT : depth < MAX_IN_FLIGHT ? depth : MAX_IN_FLIGHT;
    if (!s3_object_init(&upload->place, writer->path, err) ||
        !(upload->client = s3_client_take(writer->storage->state, err))) {
        upload_free(upload);
        return false;
    }
    writer->state = upload;
    return true;
}

/* ---- Requests of an upload ---- */

static bool begin_upload(struct upload *upload, struct error *err)
{
    struct s3_call call = {.verb = "POST", .place = &upload->place, .doing = "cannot write", .body = ""};
    text_add(&call.query, "uploads=");
    if (s3_run(upload->client, &call, err))
        upload->id = s3_element(&call, "InitiateMultipartUploadResult/UploadId", err);
    s3_call_release(&call);
    return upload->id;
}

/* Gives an upload up. A failure has no remedy here; a rule of the bucket may remove uploads that nobody
 * completes. */
static void abort_upload(struct upload *upload)
{
    struct error ignored;
    struct s3_pair pair = {"uploadId", upload->id};
    struct s3_call call = {.verb = "DELETE", .place = &upload->place, .doing = "cannot abort the upload"};
    s3_abandon(upload->client);
    s3_query(&call.query, &pair, 1);
    (void)s3_run(upload->client, &call, &ignored);
    s3_call_release(&call);
}

static bool send_part(struct upload *upload, struct error *err)
{
    struct part *part = upload->filling;
    char number[16];
    if (!upload->id && !begin_upload(upload, err))
        return false;
    if (upload->sent == MAX_PARTS)
        return error_set(err, ERROR_FAILED, "%s: cannot write: more than %d parts", upload->place.name,
                         MAX_PARTS);
    if (!VECTOR_ROOM(upload->etags, upload->etag_room, (size_t)upload->sent + 1))
        return error_memory(err);
    part->number = ++upload->sent;
    snprintf(number, sizeof number, "%d", part->number);
    struct s3_pair pairs[] = {{"partNumber", number}, {"uploadId", upload->id}};
    s3_call_release(&part->call);
    part->call = (struct s3_call){
        .verb = "PUT",
        .place = &upload->place,
        .doing = "cannot write",
        .body = part->buffer,
        .body_length = (size_t)upload->filled,
    };
    s3_query(&part->call.query, pairs, 2);
    part->flying = true;
    upload->filling = NULL;
    upload->filled = 0;
    s3_start(upload->client, &part->call);
    return true;
}

/* Waits until a part has been sent. */
static bool take_part(struct upload *upload, struct error *err)
{
    const struct s3_call *call = s3_wait(upload->client);
    struct part *part = upload->parts;
    while (&part->call != call)
        part++;
    part->flying = false;
    if (!call->ok) {
        *err = call->err;
        return false;
    }
    if (!*call->etag)
        return error_set(err, ERROR_FAILED, "%s: cannot write: the server's response for part %d has no ETag",
                         upload->place.name, part->number);
    memcpy(upload->etags[part->number - 1], call->etag, S3_MAX_ETAG);
    return true;
}

static int count_flying(const struct upload *upload)
{
    int count = 0;
    for (int i = 0; i <= MAX_IN_FLIGHT; i++)
        count += upload->parts[i].flying;
    return count;
}

/* Returns a part that can be filled; NULL on failure. */
static struct part *find_free_part(struct storage_writer *writer, struct error *err)
{
    struct upload *upload = writer->state;
    int64_t size = part_size(writer);
    while (count_flying(upload) >= upload->in_flight)
        if (!take_part(upload, err))
            return NULL;
    struct part *part = upload->parts;
    while (part->flying)
        part++;
    if (part->capacity < size) {
        storage_buffer_free(part->buffer, part->capacity);
        part->capacity = 0;
        part->buffer = storage_buffer_new(size, err);
        if (!part->buffer)
            return NULL;
        part->capacity = size;
    }
    return part;
}

/* ---- The writer ---- */

static bool append(struct storage_writer *writer, const char *from, size_t length, struct error *err)
{
    struct upload *upload = writer->state;
    while (length > 0) {
        if (upload->filling && upload->filled == part_size(writer) && !send_part(upload, err))
            return false;
        if (!upload->filling)
            upload->filling = find_free_part(writer, err);
        if (!upload->filling)
            return false;
        size_t room = (size_t)(part_size(writer) - upload->filled), n = length < room ? length : room;
        memcpy(upload->filling->buffer + upload->filled, from, n);
        upload->filled += (int64_t)n;
        from += n;
        length -= n;
    }
    s3_pump(upload->client);
    return true;
}

static bool s3_write(struct storage_writer *writer, const void *from, size_t length, struct error *err)
{
    double start = clock_now();
    bool ok = append(writer, from, length, err);
    writer->written.write += clock_now() - start;
    return ok;
}

static bool put_whole(struct upload *upload, struct error *err)
{
    struct s3_call call = {
        .verb = "PUT",
        .place = &upload->place,
        .doing = "cannot write",
        .body = upload->filling ? upload->filling->buffer : "",
        .body_length = (size_t)upload->filled,
    };
    bool ok = s3_run(upload->client, &call, err);
    s3_call_release(&call);
    return ok;
}

static bool send_rest(struct upload *upload, struct error *err)
{
    bool ok = !upload->filling || send_part(upload, err);
    while (ok && count_flying(upload) > 0)
        ok = take_part(upload, err);
    return ok;
}

/* Adds XML text. ETags have quotes in headers. */
static void add_escaped(struct text *out, const char *value)
{
    for (; *value; value++) {
        if (strchr("&<>\"'", *value))
            text_format(out, "&#%d;", *value);
        else
            text_add_bytes(out, value, 1);
    }
}

static void add_parts(const struct upload *upload, struct text *out)
{
    text_add(out, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (int i = 0; i < upload->sent; i++) {
        text_format(out, "<Part><PartNumber>%d</PartNumber><ETag>", i + 1);
        add_escaped(out, upload->etags[i]);
        text_add(out, "</ETag></Part>");
    }
    text_add(out, "</CompleteMultipartUpload>");
}

/* Reads an ETag that is the quoted MD5 of a part. */
static bool read_md5(const char *etag, unsigned char md5[16])
{
    unsigned int byte;
    int quote = *etag == '"', end = 0;
    for (int i = 0; i < 16; i++, end = 0) {
        if (sscanf(etag + quote + 2 * (size_t)i, "%2x%n", &byte, &end) != 1 || end != 2)
            return false;
        md5[i] = (unsigned char)byte;
    }
    return true;
}

/* Makes the object's ETag from those of its parts, as AWS, Ceph and MinIO do: the MD5 of MD5s and the number
 * of parts. */
static bool expected_etag(const struct upload *upload, char etag[S3_MAX_ETAG])
{
    unsigned char md5[16];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool ok = hash && EVP_DigestInit_ex(hash, EVP_md5(), NULL);
    for (int i = 0; ok && i < upload->sent; i++)
        ok = read_md5(upload->etags[i], md5) && EVP_DigestUpdate(hash, md5, sizeof md5);
    ok = ok && EVP_DigestFinal_ex(hash, md5, NULL);
    EVP_MD_CTX_free(hash);
    int length = 0;
    for (int i = 0; ok && i < 16; i++)
        length += snprintf(etag + length, S3_MAX_ETAG - (size_t)length, "%s%02x", i ? "" : "\"", md5[i]);
    snprintf(etag + length, S3_MAX_ETAG - (size_t)length, "-%d\"", upload->sent);
    return ok;
}

/* Returns whether the object is already complete though its upload is gone: an earlier request may have
 * completed it and its answer was lost. We need not have seen that request, for curl itself repeats requests
 * on connections that were reset. */
static bool is_complete(struct upload *upload)
{
    struct error ignored;
    char etag[S3_MAX_ETAG];
    struct s3_call call = {.verb = "HEAD", .place = &upload->place, .doing = "cannot read its size"};
    bool complete = expected_etag(upload, etag) && s3_run(upload->client, &call, &ignored) &&
                    strcmp(call.etag, etag) == 0;
    s3_call_release(&call);
    return complete;
}

static bool complete_upload(const struct s3_config *config, struct upload *upload, struct error *err)
{
    struct text body = {0};
    struct s3_pair pair = {"uploadId", upload->id};
    add_parts(upload, &body);
    struct s3_call call = {
        .verb = "POST",
        .place = &upload->place,
        .doing = "cannot complete",
        .body = body.data,
        .body_length = body.length,
        .patience = PATIENCE * config->patience,
    };
    s3_query(&call.query, &pair, 1);
    bool ok = body.failed ? error_memory(err) : s3_run(upload->client, &call, err);
    if (!ok && strcmp(call.code, "NoSuchUpload") == 0)
        ok = is_complete(upload);
    s3_call_release(&call);
    text_release(&body);
    return ok;
}

static bool s3_commit(struct storage_writer *writer, struct error *err)
{
    struct upload *upload = writer->state;
    double start = clock_now();
    bool ok = upload->id ? send_rest(upload, err) : put_whole(upload, err);
    double sent = clock_now();
    ok = ok && (!upload->id || complete_upload(config_of(writer), upload, err));
    writer->written.write += sent - start;
    writer->written.rename += clock_now() - sent;
    if (!ok && upload->id)
        abort_upload(upload);
    upload_free(upload);
    return ok;
}

static void s3_discard(struct storage_writer *writer)
{
    struct upload *upload = writer->state;
    if (upload->id)
        abort_upload(upload);
    upload_free(upload);
}

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
