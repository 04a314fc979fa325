/* TOML 1.0, as far as configurations have it: tables, dotted keys, strings, numbers, booleans, arrays and inline
 * tables. Dates are texts; arrays of tables are refused. */
#include "core/doc/reader.h"

#include "core/text.h"

#include <math.h>
#include <string.h>

#define MAX_KEYS 20000 /* each is compared with those of its table */

struct toml {
    struct doc_builder *builder;
    int keys;
    const char *at, *end, *text;
    uint32_t line;
    const char *line_start;
    struct doc_node *table; /* of the header above */
};

static bool read_value(struct toml *t);

static struct doc_place here(const struct toml *t)
{
    return (struct doc_place){t->line, (uint32_t)(t->at - t->line_start) + 1};
}

static bool fail(struct toml *t, const char *message)
{
    return doc_syntax_error(t->builder, here(t), "%s", message);
}

static void next_line(struct toml *t)
{
    t->at++;
    t->line++;
    t->line_start = t->at;
}

static void skip_blanks(struct toml *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\r'))
        t->at++;
}

static void skip_comment(struct toml *t)
{
    skip_blanks(t);
    if (t->at < t->end && *t->at == '#')
        while (t->at < t->end && *t->at != '\n')
            t->at++;
}

static void skip_lines(struct toml *t)
{
    for (skip_comment(t); t->at < t->end && *t->at == '\n'; skip_comment(t))
        next_line(t);
}

/* ---- texts ---- */

static bool is_next(const struct toml *t, const char *what)
{
    size_t length = strlen(what);
    return (size_t)(t->end - t->at) >= length && memcmp(t->at, what, length) == 0;
}

static bool read_escape(struct toml *t, struct text *out)
{
    static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
    char c = t->at < t->end ? *t->at++ : 0;
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        text_add_bytes(out, &to[found - from], 1);
        return true;
    }
    int digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    for (int i = 0; i < digits; i++) {
        int digit = t->at < t->end ? text_hex_digit(*t->at++) : -1;
        if (digit < 0 || code > 0x10ffff)
            return fail(t, "expected hexadecimal digits");
        code = code * 16 + (uint32_t)digit;
    }
    if (digits == 0 || code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(t, "unknown escape");
    char bytes[4];
    text_add_bytes(out, bytes, text_encode(bytes, code));
    return true;
}

/* Reads a text in quotes of one or three characters. */
static bool read_quoted(struct toml *t, struct text *out)
{
    char quote = *t->at;
    const char triple[4] = {quote, quote, quote, 0};
    bool long_text = is_next(t, triple);
    t->at += long_text ? 3 : 1;
    if (long_text && t->at < t->end && *t->at == '\n')
        next_line(t);
    for (;;) {
        if (t->at == t->end || (!long_text && *t->at == '\n'))
            return fail(t, "unterminated string");
        if (long_text ? is_next(t, triple) : *t->at == quote) {
            t->at += long_text ? 3 : 1;
            return true;
        }
        if (*t->at == '\\' && quote == '"') {
            t->at++;
            if (long_text && t->at < t->end && (*t->at == '\n' || *t->at == '\r')) {
                skip_lines(t);
                continue;
            }
            if (!read_escape(t, out))
                return false;
            continue;
        }
        text_add_bytes(out, t->at, 1);
        if (*t->at == '\n')
            next_line(t);
        else
            t->at++;
    }
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Reads one part of a key; it lives in the document. */
static const char *read_key(struct toml *t)
{
    struct text out = {0};
    bool ok = true;
    skip_blanks(t);
    if (t->at < t->end && (*t->at == '"' || *t->at == '\''))
        ok = read_quoted(t, &out);
    else
        while (t->at < t->end && is_bare(*t->at))
            text_add_bytes(&out, t->at++, 1);
    const char *key = NULL;
    if (ok && out.failed)
        ok = error_memory(t->builder->err);
    if (ok && out.length == 0)
        fail(t, "expected a key");
    else if (ok && !out.failed)
        key = arena_string(&t->builder->doc->arena, out.data);
    if (ok && out.length > 0 && !key)
        error_memory(t->builder->err);
    text_release(&out);
    skip_blanks(t);
    return key;
}

/* ---- the tree ---- */

/* Goes on behind the last value of a map. */
static void enter(struct toml *t, struct doc_node *map)
{
    t->builder->open = map;
    t->builder->last = NULL;
    for (struct doc_node *node = map->first_child; node; node = node->next)
        t->builder->last = node;
}

static struct doc_node *child_of(struct doc_node *map, const char *key)
{
    for (struct doc_node *node = map->first_child; node; node = node->next)
        if (strcmp(node->key, key) == 0)
            return node;
    return NULL;
}

/* Enters the map of a key, made if it is not there. */
static bool enter_key(struct toml *t, const char *key)
{
    struct doc_node *known = child_of(t->builder->open, key);
    int depth = 0;
    for (const struct doc_node *node = t->builder->open; node; node = node->parent)
        depth++;
    if (depth > DOC_MAX_DEPTH)
        return fail(t, "nested too deeply");
    if (known && known->type != DOC_MAP)
        return fail(t, "this key has a value and is not a table");
    if (!known) {
        t->builder->key = key;
        known = doc_add(t->builder, DOC_MAP, here(t));
        if (!known)
            return false;
    }
    enter(t, known);
    return true;
}

/* Reads "a.b.c" and enters all but the last part, which is returned. */
static const char *read_path(struct toml *t)
{
    const char *key = read_key(t);
    while (key && t->at < t->end && *t->at == '.') {
        if (!enter_key(t, key))
            return NULL;
        t->at++;
        key = read_key(t);
    }
    return key;
}

static bool read_pair(struct toml *t)
{
    const char *key = read_path(t);
    if (!key)
        return false;
    if (++t->keys > MAX_KEYS)
        return fail(t, "too many keys");
    if (t->at == t->end || *t->at != '=')
        return fail(t, "expected '='");
    t->at++;
    skip_blanks(t);
    const struct doc_node *twin = child_of(t->builder->open, key);
    if (twin && !t->builder->keeps_twins)
        return doc_syntax_error(t->builder, here(t), "%s: given twice, first in line %u", key, twin->line);
    t->builder->key = key;
    return read_value(t);
}

static bool read_header(struct toml *t)
{
    t->at++;
    if (t->at < t->end && *t->at == '[')
        return fail(t, "arrays of tables are not supported here");
    enter(t, t->builder->doc->root);
    const char *key = read_path(t);
    if (!key || !enter_key(t, key))
        return false;
    if (++t->keys > MAX_KEYS)
        return fail(t, "too many keys");
    if (t->at == t->end || *t->at != ']')
        return fail(t, "expected ']'");
    t->at++;
    t->table = t->builder->open;
    return true;
}

/* ---- values ---- */

static bool add_scalar(struct toml *t, enum doc_type type, struct doc_place place, const char *text,
                       size_t length, double number)
{
    const char *copy = arena_copy(&t->builder->doc->arena, text, length);
    if (!copy)
        return error_memory(t->builder->err);
    struct doc_node *node = doc_add(t->builder, type, place);
    if (!node)
        return false;
    node->text = copy;
    node->length = length;
    node->number = number;
    node->boolean = type == DOC_BOOL && *text == 't';
    return true;
}

static bool read_list(struct toml *t)
{
    struct doc_place place = here(t);
    t->at++;
    if (!doc_open(t->builder, DOC_LIST, place))
        return false;
    for (;;) {
        skip_lines(t);
        if (t->at < t->end && *t->at == ']') {
            t->at++;
            return doc_close(t->builder);
        }
        if (t->at == t->end)
            return fail(t, "unterminated array");
        if (!read_value(t))
            return false;
        skip_lines(t);
        if (t->at < t->end && *t->at == ',')
            t->at++;
        else if (t->at < t->end && *t->at != ']')
            return fail(t, "expected ',' or ']'");
    }
}

static bool read_inline(struct toml *t)
{
    struct doc_place place = here(t);
    t->at++;
    if (!doc_open(t->builder, DOC_MAP, place))
        return false;
    struct doc_node *map = t->builder->open;
    for (;;) {
        skip_lines(t);
        if (t->at < t->end && *t->at == '}') {
            t->at++;
            return doc_close(t->builder);
        }
        if (!read_pair(t))
            return false;
        enter(t, map);
        skip_lines(t);
        if (t->at < t->end && *t->at == ',')
            t->at++;
        else if (t->at == t->end || *t->at != '}')
            return fail(t, "expected ',' or '}'");
    }
}

/* A number, a boolean, or a date, which stays a text. */
static bool read_word(struct toml *t)
{
    struct doc_place place = here(t);
    char word[64];
    size_t length = 0;
    const char *start = t->at;
    while (t->at < t->end && !strchr(" \t\r\n,]}#", *t->at))
        t->at++;
    size_t whole = (size_t)(t->at - start);
    if (whole == 0 || whole >= sizeof word)
        return fail(t, "expected a value");
    for (size_t i = 0; i < whole; i++)
        if (start[i] != '_')
            word[length++] = start[i];
    word[length] = '\0';
    double number = 0;
    const char *digits = word + (word[0] == '+');
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        return add_scalar(t, DOC_BOOL, place, word, length, 0);
    if (doc_scan_number(digits, strlen(digits), &number) && isfinite(number))
        return add_scalar(t, DOC_NUMBER, place, digits, strlen(digits), number);
    bool date = length >= 8 && (word[4] == '-' || word[2] == ':');
    bool base = word[0] == '0' && strchr("xob", word[1]);
    bool special = strstr(word, "inf") || strstr(word, "nan");
    if (!date && !base && !special)
        return doc_syntax_error(t->builder, place, "expected a value, found '%s'", word);
    return add_scalar(t, DOC_STRING, place, word, length, 0);
}

static bool read_value(struct toml *t)
{
    if (t->at == t->end)
        return fail(t, "expected a value");
    if (*t->at == '[')
        return read_list(t);
    if (*t->at == '{')
        return read_inline(t);
    if (*t->at != '"' && *t->at != '\'')
        return read_word(t);
    struct text out = {0};
    struct doc_place place = here(t);
    const char *key = t->builder->key;
    bool ok = read_quoted(t, &out);
    t->builder->key = key;
    ok = ok && (out.failed ? error_memory(t->builder->err)
                           : add_scalar(t, DOC_STRING, place, out.data ? out.data : "", out.length, 0));
    text_release(&out);
    return ok;
}

bool doc_read_toml(struct doc_builder *builder, const char *text, size_t length)
{
    struct toml t = {.builder = builder, .at = text, .end = text + length, .line = 1, .line_start = text};
    if (length > 0 && memchr(text, 0, length))
        return fail(&t, "a NUL in the text");
    if (!doc_open(builder, DOC_MAP, here(&t)))
        return false;
    t.table = builder->doc->root;
    for (skip_lines(&t); t.at < t.end; skip_lines(&t)) {
        enter(&t, t.table);
        if (!(*t.at == '[' ? read_header(&t) : read_pair(&t)))
            return false;
        skip_comment(&t);
        if (t.at < t.end && *t.at != '\n')
            return fail(&t, "expected the end of the line");
    }
    return true;
}
