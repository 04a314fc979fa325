#include "core/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_string(struct text *out, const char *value)
{
    text_add(out, "\"");
    for (const char *c = value; *c; c++) {
        const char *run = c;
        while (*c && (unsigned char)*c >= ' ' && *c != '"' && *c != '\\')
            c++;
        text_add_bytes(out, run, (size_t)(c - run));
        if (!*c)
            break;
        if (*c == '"' || *c == '\\')
            text_format(out, "\\%c", *c);
        else if (*c == '\n')
            text_add(out, "\\n");
        else if (*c == '\t')
            text_add(out, "\\t");
        else
            text_format(out, "\\u%04x", (unsigned)(unsigned char)*c);
    }
    text_add(out, "\"");
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

/* Comma, line and key before a value. */
static void begin_item(struct json *json, const char *key)
{
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
}

static void open_bracket(struct json *json, const char *key, char bracket, bool flat)
{
    begin_item(json, key);
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

void json_close(struct json *json)
{
    if (json->depth == 0)
        return;
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
    if (!value) {
        json_null(json, key);
        return;
    }
    begin_item(json, key);
    write_string(json->out, value);
}

void json_number(struct json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    begin_item(json, key);
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(json->out, digits);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    begin_item(json, key);
    text_format(json->out, "%lld", (long long)value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_item(json, key);
    text_add(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    begin_item(json, key);
    text_add(json->out, "null");
}
