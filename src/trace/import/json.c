#include "trace/import/json.h"

#include "core/doc/stream.h"
#include "core/text.h"
#include "trace/import/scan.h"

#include <string.h>

/* The text is read and overwritten at once: what a piece becomes is shorter than what it is made of, by its quotes, or
 * the bracket, comma or colon before it. */
struct parse {
    struct json_stream json;
    struct import_object *object;
    char *to;   /* behind what has been overwritten */
    char *text; /* NULL: it has been handed out */
    size_t length;
};

static bool give_text(void *context, const char **bytes, size_t *length, struct error *err)
{
    struct parse *parse = context;
    (void)err;
    *bytes = parse->text;
    *length = parse->text ? parse->length : 0;
    parse->text = NULL;
    return true;
}

static const char *put(struct parse *parse)
{
    char *put = parse->to;
    memcpy(put, parse->json.text, parse->json.length + 1);
    parse->to += parse->json.length + 1;
    return put;
}

/* Takes the members of a map that was just opened, and of maps in it. */
static bool take_members(struct parse *parse, const char *within, struct error *err)
{
    struct import_object *object = parse->object;
    enum json_piece piece;
    while (json_stream_next(&parse->json, &piece, err) && piece != JSON_CLOSE) {
        struct import_member member = {.within = within, .key = put(parse), .value = ""};
        if (!json_stream_next(&parse->json, &piece, err))
            return false;
        bool inner = piece == JSON_OPEN_MAP && !within;
        if (inner || piece == JSON_OPEN_MAP || piece == JSON_OPEN_LIST) {
            if (inner ? !take_members(parse, member.key, err) : !json_stream_skip(&parse->json, piece, err))
                return false;
            continue;
        }
        member.string = piece == JSON_TEXT;
        member.value = put(parse);
        if (object->count < IMPORT_MEMBERS)
            object->members[object->count++] = member;
    }
    return piece == JSON_CLOSE;
}

bool import_object_parse(struct import_object *object, char *text, struct error *err)
{
    struct parse parse = {.object = object, .to = text, .text = text, .length = strlen(text)};
    enum json_piece piece;
    parse.json = (struct json_stream){.path = "", .more = give_text, .context = &parse};
    object->count = 0;
    *err = (struct error){.text = ""};
    bool done = json_stream_next(&parse.json, &piece, err) && piece == JSON_OPEN_MAP &&
                take_members(&parse, NULL, err);
    json_stream_release(&parse.json);
    return done;
}

const struct import_member *import_object_find(const struct import_object *object, const char *within,
                                               const char *key)
{
    for (int i = 0; i < object->count; i++) {
        const struct import_member *member = &object->members[i];
        if (*member->key != *key || strcmp(member->key, key) != 0)
            continue;
        if (within ? member->within && strcmp(member->within, within) == 0 : !member->within)
            return member;
    }
    return NULL;
}

bool import_object_integer(const struct import_object *object, const char *within, const char *key,
                           int64_t *value)
{
    const struct import_member *member = import_object_find(object, within, key);
    const char *at = member ? member->value : "";
    return *at && scan_number(&at, value) && *at == '\0';
}

bool import_object_micros(const struct import_object *object, const char *key, int64_t *ns)
{
    const struct import_member *member = import_object_find(object, NULL, key);
    return member && text_microseconds(member->value, ns);
}
