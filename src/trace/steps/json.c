/* Values out of one object of JSON, which is read where it lies. */
#include "trace/steps/internal.h"

#include <string.h>

#define DEPTH 64

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && *++at == '\0')
            return NULL;
    return *at ? at + 1 : NULL;
}

/* A bracket and all in it; whether commas and colons are where they should be is not looked at. */
static const char *skip_nested(const char *at)
{
    char closing[DEPTH];
    int depth = 0;
    do {
        if (*at == '{' || *at == '[') {
            if (depth == DEPTH)
                return NULL;
            closing[depth++] = *at == '{' ? '}' : ']';
        } else if (*at == '}' || *at == ']') {
            if (depth == 0 || *at != closing[--depth])
                return NULL;
        } else if (*at == '"') {
            at = skip_string(at);
            if (!at)
                return NULL;
            continue;
        } else if (*at == '\0') {
            return NULL;
        }
        at++;
    } while (depth > 0);
    return at;
}

const char *steps_json_skip(const char *at)
{
    if (*at == '"')
        return skip_string(at);
    if (*at == '{' || *at == '[')
        return skip_nested(at);
    size_t length = strcspn(at, ",}] \t\r\n");
    return length > 0 ? at + length : NULL;
}

const char *steps_json_member(const char *object, const char *key)
{
    size_t length = strlen(key);
    const char *at = *object == '{' ? skip_space(object + 1) : "";
    while (*at == '"') {
        const char *name = at + 1, *end = skip_string(at);
        if (!end || *(at = skip_space(end)) != ':')
            return NULL;
        at = skip_space(at + 1);
        if ((size_t)(end - 1 - name) == length && memcmp(name, key, length) == 0)
            return at;
        at = steps_json_skip(at);
        if (!at || *(at = skip_space(at)) != ',')
            return NULL;
        at = skip_space(at + 1);
    }
    return NULL;
}
