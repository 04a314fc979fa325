/* Buckets and keys. */
#include "storage/s3/s3.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHOWN  320 /* bytes of a name in a message */
#define SHOWN_TAIL 80

static bool is_bucket(const char *name, size_t length)
{
    if (length < 3 || length > 63 || !isalnum((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr(".-_", name[i]))
            return false;
    return true;
}

/* Adds a key that every server takes: without parts that are empty or ".", which MinIO refuses and others
 * take for other objects. False if a part is "..": nothing is above a bucket, and there are no folders in
 * it. */
static bool add_key(struct text *key, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        bool dot = length == 1 && *path == '.';
        if (length == 2 && memcmp(path, "..", 2) == 0)
            return false;
        if (length > 0 && !dot) {
            text_add(key, key->length > 0 ? "/" : "");
            text_add_bytes(key, path, length);
        }
        path += length + (path[length] == '/');
    }
    return true;
}

/* Adds a name without its middle if it is long, so that a message has room for the fault. */
static void add_shortened(struct text *out, const char *text)
{
    size_t length = strlen(text), head = MAX_SHOWN - SHOWN_TAIL;
    if (length <= MAX_SHOWN) {
        text_add(out, text);
        return;
    }
    size_t tail = length - SHOWN_TAIL;
    while (text_continues(text[head]))
        head--;
    while (text_continues(text[tail]))
        tail++;
    text_add_bytes(out, text, head);
    text_format(out, "…%s", text + tail);
}

static bool is_key(const struct text *key)
{
    return key->length <= S3_MAX_KEY && text_valid_utf8(key->data, key->length) == key->length;
}

bool s3_place_init(struct s3_place *place, const char *path, struct error *err)
{
    const char *bucket = text_starts_with(path, STORAGE_S3_SCHEME) ? path + strlen(STORAGE_S3_SCHEME)
                         : *path == '/'                            ? path + 1
                                                                   : path;
    size_t length = strcspn(bucket, "/");
    struct text key = {0}, whole = {0}, name = {0};
    *place = (struct s3_place){0};
    if (!is_bucket(bucket, length))
        return error_set(
            err, ERROR_USAGE,
            "%.*s: '%.*s' is not a bucket name: expected 3 to 63 letters, digits, '-', '.' and '_'",
            MAX_SHOWN, path, length > 80 ? 80 : (int)length, bucket);
    text_add(&key, "");
    bool climbs = !add_key(&key, bucket + length);
    text_format(&whole, STORAGE_S3_SCHEME "%.*s%s%s", (int)length, bucket, key.length > 0 ? "/" : "",
                key.data ? key.data : "");
    bool failed = key.failed || whole.failed;
    const char *fault = failed         ? NULL
                        : climbs       ? "it has '..'"
                        : is_key(&key) ? NULL
                                       : "expected at most 1024 bytes of UTF-8";
    add_shortened(&name, fault || failed ? path : whole.data);
    *place = (struct s3_place){.name = name.data, .bucket = strndup(bucket, length), .key = key.data};
    text_release(&whole);
    if (failed || name.failed || !place->bucket)
        error_memory(err);
    else if (fault)
        error_set(err, ERROR_USAGE, "%s: not an S3 object name: %s", name.data, fault);
    else
        return true;
    s3_place_release(place);
    return false;
}

bool s3_object_init(struct s3_place *place, const char *path, struct error *err)
{
    if (!s3_place_init(place, path, err))
        return false;
    if (*place->key)
        return true;
    s3_place_release(place);
    return error_set(err, ERROR_USAGE, "%s: a bucket, not an object", path);
}

void s3_place_release(struct s3_place *place)
{
    free(place->name);
    free(place->bucket);
    free(place->key);
    *place = (struct s3_place){0};
}
