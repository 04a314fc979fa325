#include "core/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns what comes after the character. */
static const char *write_escape(struct text *out, const char *at)
{
    if (*at == '"' || *at == '\\')
        text_format(out, "\\%c", *at);
    else if (*at == '\n')
        text_add(out, "\\n");
    else if (*at == '\t')
        text_add(out, "\\t");
    else if (text_continues(at[1]))
        text_format(out, "\\u%04x", (unsigned)(unsigned char)*++at); /* U+0080 to U+009F: the same number */
    else
        text_format(out, "\\u%04x", (unsigned)(unsigned char)*at);
    return at + 1;
}

static void write_string(struct text *out, const char *value)
{
    struct text room = {0};
    text_add(out, "\"");
    for (const char *at = text_utf8(value, &room); *at;) {
        const char *run = at;
        while (!text_is_control(at) && *at != '"' && *at != '\\') /* NUL is one */
            at++;
        text_add_bytes(out, run, (size_t)(at - run));
        if (*at)
            at = write_escape(out, at);
    }
    text_add(out, "\"");
    out->failed = out->failed || room.failed;
    text_release(&room);
}

static bool is_flat(const struct json *json)
{
    return json->depth > 0 && json->flat[json->depth - 1];
}

static void new_line(struct json *json)
{
    text_add(json->out, "\n");
    for (int i = 0; i < json->depth; i++)
        text_add(json->out, "  ");
}

static void tell(const struct json *json, struct json_item item)
{
    if (json->listener)
        json->listener->hear(json->listener->context, &item);
}

/* Comma, line and key before a value. Returns false for one that is left out. */
static bool begin_item(struct json *json, const char *key)
{
    bool out = json->left_out > 0;
    for (const char *const *one = json->without; one && *one && key; one++)
        out = out || strcmp(*one, key) == 0;
    if (out)
        return false;
    if (json->depth > 0) {
        bool *has_items = &json->has_items[json->depth - 1];
        if (*has_items)
            text_add(json->out, is_flat(json) ? ", " : ",");
        if (!is_flat(json))
            new_line(json);
        *has_items = true;
    }
    if (key) {
        write_string(json->out, key);
        text_add(json->out, ": ");
    }
    return true;
}

static void open_bracket(struct json *json, const char *key, char bracket, bool flat)
{
    tell(json, (struct json_item){bracket == '{' ? JSON_MAP : JSON_LIST, key, {NULL}});
    if (!begin_item(json, key)) {
        json->left_out++;
        return;
    }
    text_format(json->out, "%c", bracket);
    if (json->depth == JSON_MAX_DEPTH) {
        json->out->failed = true;
        return;
    }
    flat = flat || is_flat(json);
    json->closing[json->depth] = bracket == '{' ? '}' : ']';
    json->flat[json->depth] = flat;
    json->has_items[json->depth] = false;
    json->depth++;
}

void json_open(struct json *json, const char *key, char bracket)
{
    open_bracket(json, key, bracket, false);
}

void json_open_flat(struct json *json, const char *key, char bracket)
{
    open_bracket(json, key, bracket, true);
}

void json_open_document(struct json *json, const char *format)
{
    json_open(json, NULL, '{');
    json_document(json, format);
}

/* The address is no value of an answer: the listener is not told. */
void json_document(struct json *json, const char *format)
{
    char address[128];
    const char *name = format + strcspn(format, "-") + 1; /* "plan/2" of "rehearse-plan/2" */
    snprintf(address, sizeof address, JSON_SCHEMAS "%s.json", name);
    char *slash = strchr(address + strlen(JSON_SCHEMAS), '/');
    if (slash)
        *slash = '-';
    json_string(json, "format", format);
    if (begin_item(json, "$schema"))
        write_string(json->out, address);
}

void json_close(struct json *json)
{
    if (json->depth == 0)
        return;
    tell(json, (struct json_item){JSON_END, NULL, {NULL}});
    if (json->left_out > 0) {
        json->left_out--;
        return;
    }
    bool on_own_line = !is_flat(json) && json->has_items[json->depth - 1];
    json->depth--;
    if (on_own_line)
        new_line(json);
    text_format(json->out, "%c", json->closing[json->depth]);
    if (json->depth == 0)
        text_add(json->out, "\n");
}

void json_string(struct json *json, const char *key, const char *value)
{
    tell(json, (struct json_item){JSON_STRING, key, {.string = value}});
    if (!begin_item(json, key))
        return;
    if (value)
        write_string(json->out, value);
    else
        text_add(json->out, "null");
}

/* The locale of the program may write a decimal comma, or something longer. */
static void use_point(char *digits)
{
    char *out = digits;
    bool pointed = false;
    for (const char *c = digits; *c; c++) {
        bool kept = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (kept || !pointed)
            *out++ = kept ? *c : '.';
        pointed = pointed || !kept;
    }
    *out = 0;
}

void json_number(struct json *json, const char *key, double value)
{
    tell(json, (struct json_item){JSON_NUMBER, key, {.number = value}});
    if (!begin_item(json, key))
        return;
    if (!isfinite(value)) {
        text_add(json->out, "null");
        return;
    }
    char digits[40];
    /* 15 digits are always kept, but those of the smallest numbers are not */
    for (int precision = fabs(value) < DBL_MIN ? 1 : DBL_DIG; precision <= DBL_DECIMAL_DIG; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        char *end;
        if (strtod(digits, &end) == value && *end == '\0')
            break;
    }
    use_point(digits);
    text_add(json->out, digits);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    tell(json, (struct json_item){JSON_INTEGER, key, {.integer = value}});
    if (begin_item(json, key))
        text_format(json->out, "%lld", (long long)value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    tell(json, (struct json_item){JSON_BOOL, key, {.boolean = value}});
    if (begin_item(json, key))
        text_add(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    tell(json, (struct json_item){JSON_NULL, key, {NULL}});
    if (begin_item(json, key))
        text_add(json->out, "null");
}

void json_lines(struct json *json, const char *key, const char *lines)
{
    struct text line = {0};
    json_open(json, key, '[');
    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
        text_add_bytes(&line, lines, strcspn(lines, "\n"));
        json_string(json, NULL, text_within(&line, json->out));
        text_release(&line);
    }
    json_close(json);
}
