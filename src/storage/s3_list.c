/* Listing and removing objects of S3. */
#include "storage/s3.h"

#ifdef REHEARSE_HAVE_CURL

#include "storage/s3_xml.h"

#include <stdlib.h>
#include <string.h>

struct list {
    const char *prefix; /* what all keys of the folder begin with: "" or "folder/" */
    size_t prefix_length;
    storage_visit *visit;
    void *context;
    struct text key;   /* of the object that is being read, encoded; "": not there yet */
    int64_t size;      /* of it; -1: not there yet */
    struct text name;  /* decoded */
    struct text token; /* of the next page */
    bool truncated;    /* there is one */
    bool ended;        /* visit wants no more */
};

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *digit = c ? strchr(digits, c) : NULL;
    return digit ? (int)(digit - digits) % 16 : -1;
}

static void set_text(struct text *text, const char *value)
{
    text->length = 0;
    text_add(text, value);
}

/* Keys are asked for in the encoding of forms, for XML cannot hold every character of a key. */
static bool decode(struct text *out, const char *text)
{
    set_text(out, "");
    for (; *text; text++) {
        char c = *text == '+' ? ' ' : *text;
        if (*text == '%') {
            int high = hex_value(text[1]), low = high < 0 ? -1 : hex_value(text[2]);
            if (low < 0 || (high == 0 && low == 0))
                return false;
            c = (char)(high * 16 + low);
            text += 2;
        }
        text_add_bytes(out, &c, 1);
    }
    return true;
}

static bool is_size(const char *text, int64_t *size)
{
    char *end;
    *size = strtoll(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end;
}

/* One key or folder. The folder itself may be an object, too: it is not in itself. */
static bool visit_name(struct list *list, const char *text, int64_t size, struct error *err)
{
    bool valid = decode(&list->name, text);
    if (list->name.failed)
        return error_memory(err);
    if (!valid || !text_starts_with(list->name.data, list->prefix))
        return error_set(err, ERROR_FAILED, "a name that was not asked for");
    char *name = list->name.data + list->prefix_length;
    size_t length = strlen(name);
    if (size < 0 && length > 0)
        name[length - 1] = 0; /* a folder's '/' */
    if (*name && !list->ended)
        list->ended = !list->visit(list->context, name, size);
    return true;
}

static bool visit_object(struct list *list, struct error *err)
{
    if (list->key.failed)
        return error_memory(err);
    if (list->key.length == 0 || list->size < 0)
        return error_set(err, ERROR_FAILED, "an object without name or size");
    bool ok = visit_name(list, list->key.data, list->size, err);
    set_text(&list->key, "");
    list->size = -1;
    return ok;
}

static bool visit_element(void *context, const char *path, const char *text, struct error *err)
{
    struct list *list = context;
    const char *root = "ListBucketResult/";
    if (!text_starts_with(path, root))
        return true;
    path += strlen(root);
    if (strcmp(path, "Contents/Key") == 0)
        set_text(&list->key, text);
    else if (strcmp(path, "Contents/Size") == 0 && !is_size(text, &list->size))
        return error_set(err, ERROR_FAILED, "a size that is no number");
    else if (strcmp(path, "Contents") == 0)
        return visit_object(list, err);
    else if (strcmp(path, "CommonPrefixes/Prefix") == 0)
        return visit_name(list, text, -1, err);
    else if (strcmp(path, "IsTruncated") == 0)
        list->truncated = strcmp(text, "true") == 0;
    else if (strcmp(path, "NextContinuationToken") == 0)
        set_text(&list->token, text);
    return true;
}

bool s3_list_read(const char *prefix, const char *data, size_t length, storage_visit *visit, void *context,
                  struct text *token, bool *ended, struct error *err)
{
    struct list list = {
        .prefix = prefix, .prefix_length = strlen(prefix), .visit = visit, .context = context, .size = -1};
    bool ok = s3_xml_read(data, length, visit_element, &list, err);
    set_text(token, ok && list.truncated && list.token.length > 0 ? list.token.data : "");
    if (ok && (list.token.failed || token->failed))
        ok = error_memory(err);
    if (ok && list.truncated && list.token.length == 0)
        ok = error_set(err, ERROR_FAILED, "a list that goes on, but not where");
    *ended = list.ended;
    text_release(&list.key);
    text_release(&list.name);
    text_release(&list.token);
    return ok;
}

static void add_query(struct text *query, const char *prefix, const char *token)
{
    struct s3_pair pairs[5] = {
        {"list-type", "2"},
        {"delimiter", "/"},
        {"encoding-type", "url"},
        {"prefix", prefix},
        {"continuation-token", token},
    };
    query->length = 0;
    s3_query(query, pairs, *token ? 5 : 4);
}

/* One page; `token` says where it begins and then where the next does, "": there is none. */
static bool list_page(struct s3_client *client, const struct s3_place *place, const char *prefix,
                      storage_visit *visit, void *context, struct text *token, bool *ended, struct error *err)
{
    struct s3_place bucket = *place;
    bucket.key = (char[]){""};
    struct text query = {0}, next = {0};
    struct error why;
    add_query(&query, prefix, token->data ? token->data : "");
    struct s3_call call = {.verb = "GET", .place = &bucket, .doing = "cannot list", .query = query.data};
    bool ok = query.failed ? error_memory(err) : s3_run(client, &call, err);
    if (ok && !s3_list_read(prefix, call.answer.data, call.answer.length, visit, context, &next, ended, &why))
        ok = error_set(err, ERROR_FAILED, "%s: cannot list: the server sends %s", place->name, why.text);
    if (ok && next.length > 0 && token->length > 0 && strcmp(next.data, token->data) == 0)
        ok = error_set(err, ERROR_FAILED, "%s: cannot list: the server repeats a page", place->name);
    s3_call_release(&call);
    text_release(&query);
    text_release(token);
    *token = next;
    return ok;
}

bool s3_list(struct storage *storage, const char *path, storage_visit *visit, void *context,
             struct error *err)
{
    struct s3_place place;
    struct text prefix = {0}, token = {0};
    bool ended = false;
    if (!s3_place_init(&place, path, err))
        return false;
    size_t length = strlen(place.key);
    text_add(&prefix, place.key);
    text_add(&prefix, length > 0 && place.key[length - 1] != '/' ? "/" : "");
    struct s3_client *client = prefix.failed ? NULL : s3_client_take(storage->state, err);
    bool ok = client || error_memory(err);
    do
        ok = ok && list_page(client, &place, prefix.data, visit, context, &token, &ended, err);
    while (ok && !ended && token.length > 0);
    if (client)
        s3_client_give(client);
    text_release(&prefix);
    text_release(&token);
    s3_place_release(&place);
    return ok;
}

bool s3_remove(struct storage *storage, const char *path, struct error *err)
{
    struct s3_place place;
    if (!s3_object_init(&place, path, err))
        return false;
    struct s3_client *client = s3_client_take(storage->state, err);
    bool ok = false;
    if (client) {
        struct s3_call call = {.verb = "DELETE", .place = &place, .doing = "cannot remove"};
        ok = s3_run(client, &call, err) || strcmp(call.code, "NoSuchKey") == 0;
        s3_call_release(&call);
        s3_client_give(client);
    }
    s3_place_release(&place);
    return ok;
}

#endif
