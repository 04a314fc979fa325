/* Listing and removing objects of S3. */
#include "storage/s3/s3.h"

#include "storage/s3/parse.h"

#include <string.h>

static bool list_fails(const struct s3_client *client, const struct s3_place *place, const char *what,
                       struct error *err)
{
    return error_set(err, ERROR_FAILED, "%s: cannot list: the server sent %s (%s)", place->name, what,
                     s3_client_config(client)->endpoint);
}

/* Reads one page from `token` on, and sets it to that of the next page; "": there is none. */
static bool list_page(struct s3_client *client, const struct s3_place *place, const char *prefix,
                      storage_visit *visit, void *context, struct text *token, bool *ended, struct error *err)
{
    struct s3_place bucket = *place;
    bucket.key = (char[]){""};
    struct text next = {0};
    struct error why;
    struct s3_call call = {.verb = "GET", .place = &bucket, .doing = "cannot list"};
    struct s3_pair pairs[5] = {
        {"list-type", "2"},
        {"delimiter", "/"},
        {"encoding-type", "url"},
        {"prefix", prefix},
        {"continuation-token", token->data},
    };
    s3_query(&call.query, pairs, token->length > 0 ? 5 : 4);
    bool ok = s3_run(client, &call, err);
    if (ok &&
        !s3_parse_list(prefix, call.answer.data, call.answer.length, visit, context, &next, ended, &why))
        ok = list_fails(client, place, why.text, err);
    if (ok && next.length > 0 && token->data && strcmp(next.data, token->data) == 0)
        ok = list_fails(client, place, "the same page twice", err);
    s3_call_release(&call);
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
