#include "trace/import/json.h"

#include "core/text.h"
#include "trace/import/scan.h"

#include <math.h>
#include <string.h>

#define DEPTH 32

static char *skip_space(char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

static int hex(const char *at)
{
    int value = 0;
    for (int i = 0; i < 4 && value >= 0; i++) {
        int digit = text_hex_digit(at[i]);
        value = digit < 0 ? -1 : value * 16 + digit;
    }
    return value;
}

/* Writes a \uXXXX as UTF-8; half of a pair, and NUL, as U+FFFD. */
static char *put_code(char *to, int code)
{
    bool none = code == 0 || (code >= 0xd800 && code < 0xe000);
    return to + text_encode(to, none ? 0xfffd : (uint32_t)code);
}

/* Decodes a string in place: the result is never longer. Returns the rest of the text, NULL on failure. */
static char *take_string(char *at, const char **value)
{
    static const char from[] = "\"\\/bfnrt", becomes[] = "\"\\/\b\f\n\r\t";
    if (*at != '"')
        return NULL;
    char *to = ++at;
    *value = to;
    while (*at != '"') {
        if (*at == '\0')
            return NULL;
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        const char *which = at[1] ? strchr(from, at[1]) : NULL;
        if (which) {
            *to++ = becomes[which - from];
            at += 2;
        } else {
            int code = at[1] == 'u' ? hex(at + 2) : -1;
            if (code < 0)
                return NULL;
            to = put_code(to, code);
            at += 6;
        }
    }
    *to = '\0';
    return at + 1;
}

/* Skips a list or an object. */
static char *skip_nested(char *at)
{
    const char *ignored;
    int depth = 0;
    do {
        if (*at == '"') {
            at = take_string(at, &ignored);
            if (!at)
                return NULL;
            continue;
        }
        if (*at == '\0')
            return NULL;
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
    } while (depth > 0 && depth < DEPTH);
    return depth == 0 ? at : NULL;
}

static char *take_members(struct import_object *object, char *at, const char *within);

static bool is_word(const char *at, size_t length)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncmp(at, words[i], length) == 0)
            return true;
    return false;
}

/* Takes the value of a member. Its end may be overwritten by NUL, so *after is the character there. */
static char *take_value(struct import_object *object, struct import_member *member, char *at, char *after)
{
    char *end;
    member->string = *at == '"';
    if (*at == '{' || *at == '[') {
        object->count -= object->count > 0 && &object->members[object->count - 1] == member;
        bool kept = *at == '{' && !member->within;
        end = kept ? take_members(object, at, member->key) : skip_nested(at);
    } else if (member->string) {
        end = take_string(at, &member->value);
    } else {
        member->value = at;
        end = at + strcspn(at, ",}] \t\r\n");
        if (end == at ||
            (strspn(at, "+-.0123456789eE") != (size_t)(end - at) && !is_word(at, (size_t)(end - at))))
            return NULL;
    }
    if (!end)
        return NULL;
    char *next = skip_space(end);
    *after = *next;
    if (member->value == at)
        *end = '\0';
    return next;
}

static char *take_members(struct import_object *object, char *at, const char *within)
{
    struct import_member spare;
    at = skip_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        char after;
        struct import_member *member =
            object->count < IMPORT_MEMBERS ? &object->members[object->count++] : &spare;
        *member = (struct import_member){.within = within, .value = ""};
        at = take_string(at, &member->key);
        if (!at || *(at = skip_space(at)) != ':')
            return NULL;
        at = take_value(object, member, skip_space(at + 1), &after);
        if (!at || (after != ',' && after != '}'))
            return NULL;
        at++;
        if (after == '}')
            return at;
        at = skip_space(at);
    }
}

bool import_object_parse(struct import_object *object, char *text)
{
    object->count = 0;
    text = skip_space(text);
    return *text == '{' && take_members(object, text, NULL) != NULL;
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
    if (!member)
        return false;
    const char *at = member->value;
    int64_t whole;
    if (scan_digits(&at, &whole) && whole >= 0 && whole < INT64_MAX / 4000 && (*at == '\0' || *at == '.')) {
        *ns = whole * 1000 + scan_fraction(&at) / 1000000;
        return true;
    }
    char *end;
    double value = text_number(member->value, &end); /* negative, or with an exponent */
    if (!(fabs(value) < 2.3e15) || end == member->value || *end)
        return false;
    *ns = (int64_t)(value * 1e3);
    return true;
}
