#include "storage/s3/parse.h"

#include "storage/s3/xml.h"

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

static void set_text(struct text *text, const char *value)
{
    text->length = 0;
    text_add(text, value);
}

/* Decodes a name. Names are requested in the encoding of forms, because XML cannot hold every character of a
 * key. */
static bool decode(struct text *out, const char *text)
{
    set_text(out, "");
    for (; *text; text++) {
        char c = *text == '+' ? ' ' : *text;
        if (*text == '%') {
            int high = text_hex_digit(text[1]), low = high < 0 ? -1 : text_hex_digit(text[2]);
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

/* Visits one key or folder. The folder itself may be an object, too; it is not in itself. */
static bool visit_name(struct list *list, const char *text, int64_t size, struct error *err)
{
    bool valid = decode(&list->name, text);
    if (list->name.failed)
        return error_memory(err);
    if (!valid || !text_starts_with(list->name.data, list->prefix))
        return error_set(err, ERROR_FAILED, "a name outside the requested prefix");
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
        return error_set(err, ERROR_FAILED, "a size that is not a number");
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

bool s3_parse_list(const char *prefix, const char *data, size_t length, storage_visit *visit, void *context,
                   struct text *token, bool *ended, struct error *err)
{
    struct list list = {
        .prefix = prefix, .prefix_length = strlen(prefix), .visit = visit, .context = context, .size = -1};
    bool ok = s3_xml_read(data, length, visit_element, &list, err);
    set_text(token, ok && list.truncated && list.token.length > 0 ? list.token.data : "");
    if (ok && (list.token.failed || token->failed))
        ok = error_memory(err);
    if (ok && list.truncated && list.token.length == 0)
        ok = error_set(err, ERROR_FAILED, "a truncated list without a continuation token");
    *ended = list.ended;
    text_release(&list.key);
    text_release(&list.name);
    text_release(&list.token);
    return ok;
}

struct failure {
    struct text *code, *message;
};

static bool visit_failure(void *context, const char *path, const char *text, struct error *err)
{
    struct failure *failure = context;
    (void)err;
    if (strcmp(path, "Error/Code") == 0)
        set_text(failure->code, text);
    else if (strcmp(path, "Error/Message") == 0)
        set_text(failure->message, text);
    return true;
}

void s3_parse_failure(const char *data, size_t length, struct text *code, struct text *message)
{
    struct failure failure = {code, message};
    struct error ignored; /* the status says enough */
    if (length > 0)
        (void)s3_xml_read(data, length, visit_failure, &failure, &ignored);
}
