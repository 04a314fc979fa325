#include "hlo/mlir/mlir.h"

#include <stdarg.h>
#include <stdio.h>

/* Quick for places further on than the last one. Columns count characters, not bytes. */
struct mlir_place mlir_place_of(struct mlir_reader *r, const char *at)
{
    if (at < r->line_seen) {
        r->line_seen = r->text;
        r->place = (struct mlir_place){1, 1};
    }
    const char *c = r->line_seen, *newline;
    while ((newline = memchr(c, '\n', (size_t)(at - c)))) {
        c = newline + 1;
        r->place = (struct mlir_place){r->place.line + 1, 1};
    }
    for (; c < at; c++)
        r->place.column += ((unsigned char)*c & 0xc0) != 0x80;
    r->line_seen = at;
    return r->place;
}

bool(mlir_error)(struct mlir_reader *r, const char *at, const char *format, ...)
{
    char message[700];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct mlir_place place = mlir_place_of(r, at);
    return error_set(r->err, ERROR_INPUT, "%s:%u:%u: %s", r->module->path, place.line, place.column, message);
}

/* Returns the token at the place at hand, for a message. */
static struct mlir_span token_here(struct mlir_reader *r)
{
    const char *start = r->p, *c = start;
    if (c < r->end && strchr("%@#!^\"", *c))
        c++;
    while (c < r->end && mlir_is_word(*c) && c - start < 40)
        c++;
    if (c == start)
        c++;
    while (c < r->end && ((unsigned char)*c & 0xc0) == 0x80)
        c++;
    return (struct mlir_span){start, (size_t)(c - start)};
}

bool(mlir_expected)(struct mlir_reader *r, const char *what)
{
    mlir_space(r);
    if (r->p >= r->end)
        return mlir_error(r, r->end, "expected %s, found the end of the text", what);
    struct mlir_span found = token_here(r);
    return mlir_error(r, r->p, "expected %s, found '%.*s'", what, (int)found.length, found.at);
}

void mlir_space_slowly(struct mlir_reader *r)
{
    const char *p = r->p, *end = r->end;
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
            p++;
        if (end - p < 2 || p[0] != '/' || p[1] != '/')
            break;
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    r->p = p;
}

bool mlir_misses(struct mlir_reader *r, const char *token)
{
    char what[24];
    snprintf(what, sizeof what, "'%s'", token);
    return mlir_expected(r, what);
}

bool mlir_word(struct mlir_reader *r, struct mlir_span *word)
{
    mlir_space(r);
    const char *c = r->p;
    if (c >= r->end || !mlir_is_word(*c) || (*c >= '0' && *c <= '9') || *c == '.')
        return false;
    while (c < r->end && mlir_is_word(*c))
        c++;
    *word = (struct mlir_span){r->p, (size_t)(c - r->p)};
    r->p = c;
    return true;
}

bool mlir_take_word(struct mlir_reader *r, const char *word)
{
    struct mlir_span found;
    const char *start = (mlir_space(r), r->p);
    if (mlir_word(r, &found) && mlir_same(found, word))
        return true;
    r->p = start;
    return false;
}

bool mlir_need_word(struct mlir_reader *r, const char *word)
{
    return mlir_take_word(r, word) || mlir_misses(r, word);
}

/* The quote that ends the string whose text begins at `c`; NULL: none. */
static const char *string_end(const struct mlir_reader *r, const char *c)
{
    const char *start = c;
    while ((c = memchr(c, '"', (size_t)(r->end - c)))) {
        const char *before = c;
        while (before > start && before[-1] == '\\')
            before--;
        if ((c - before) % 2 == 0)
            return c;
        c++;
    }
    return NULL;
}

bool mlir_string(struct mlir_reader *r, struct mlir_span *text)
{
    if (mlir_peek(r) != '"')
        return mlir_expected(r, "a string");
    const char *end = string_end(r, r->p + 1);
    if (!end)
        return mlir_error(r, r->p, "unterminated string");
    *text = (struct mlir_span){r->p + 1, (size_t)(end - r->p - 1)};
    r->p = end + 1;
    return true;
}

bool mlir_symbol(struct mlir_reader *r, struct mlir_span *name)
{
    if (!mlir_take(r, '@'))
        return mlir_expected(r, "a symbol such as @main");
    if (r->p < r->end && *r->p == '"')
        return mlir_string(r, name);
    const char *c = r->p;
    while (c < r->end && (mlir_is_word(*c) || *c == '-'))
        c++;
    if (c == r->p)
        return mlir_expected(r, "a symbol's name");
    *name = (struct mlir_span){r->p, (size_t)(c - r->p)};
    r->p = c;
    return true;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Reads a decimal or hexadecimal number. A number over 64 bits is an error, one over 63 bits wraps. */
bool mlir_integer(struct mlir_reader *r, int64_t *value)
{
    bool negative = mlir_take(r, '-');
    uint64_t number = 0, base = 10;
    const char *c = r->p, *end = r->end;
    if (end - c > 2 && c[0] == '0' && c[1] == 'x' && digit_of(c[2]) < 16) {
        base = 16;
        c += 2;
    }
    if (c >= end || (uint64_t)digit_of(*c) >= base)
        return mlir_expected(r, "a whole number");
    for (; c < end && (uint64_t)digit_of(*c) < base; c++)
        if (__builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit_of(*c), &number))
            return mlir_error(r, r->p, "this number is too large");
    r->p = c;
    *value = (int64_t)(negative ? 0 - number : number);
    return true;
}

static bool has_no_end(struct mlir_reader *r, const char *start)
{
    return mlir_error(r, start, "unbalanced bracket");
}

/* Returns whether mlir_skip_balanced stops at a character: " ( ) - / < > [ ] { } */
static inline bool is_structure(char c)
{
    static const uint64_t structure[4] = {0x5000a30400000000, 0x2800000028000000, 0, 0};
    return structure[(unsigned char)c >> 6] >> (c & 63) & 1;
}

/* Past a string, a comment (it may hold brackets) or an arrow (its '>' closes nothing); NULL: it does not
 * end. */
static const char *past_piece(const struct mlir_reader *r, const char *p)
{
    const char *end = r->end;
    if (*p == '"') {
        p = string_end(r, p + 1);
        return p ? p + 1 : NULL;
    }
    if (*p == '/' && p + 1 < end && p[1] == '/')
        return memchr(p, '\n', (size_t)(end - p));
    return p + (*p == '-' && p + 1 < end && p[1] == '>' ? 2 : 1);
}

bool mlir_skip_balanced(struct mlir_reader *r)
{
    const char *start = r->p, *end = r->end;
    char closing[HLO_MAX_DEPTH];
    int depth = 0;
    for (const char *p = start; p && p < end;) {
        char c = *p;
        bool relation = (c == '<' || c == '>') && depth > 0 && p + 1 < end && p[1] == '=';
        if (!is_structure(c) || relation) {
            p++;
        } else if (c == '"' || c == '/' || c == '-') {
            p = past_piece(r, p);
        } else if (c == '<' || c == '(' || c == '[' || c == '{') {
            if (depth == HLO_MAX_DEPTH)
                return mlir_error(r, p, "nested deeper than the %d levels that are read", HLO_MAX_DEPTH);
            closing[depth++] = (char)(c == '(' ? ')' : c + 2);
            p++;
        } else if (c != closing[depth - 1]) {
            return mlir_error(r, p, "expected '%c', found '%c'", closing[depth - 1], c);
        } else {
            r->p = ++p;
            if (--depth == 0)
                return true;
        }
    }
    return has_no_end(r, start);
}

bool mlir_skip_location(struct mlir_reader *r)
{
    mlir_space(r);
    const char *p = r->p;
    if (r->end - p < 4 || memcmp(p, "loc", 3) != 0 || (p[3] != '(' && p[3] != ' '))
        return true;
    r->p += 3;
    if (mlir_peek(r) != '(')
        return mlir_expected(r, "'('");
    return mlir_skip_balanced(r);
}

/* dense<…>: no '>' but the last and those in strings. Megabytes of numbers pass at memory speed. */
static bool skip_dense(struct mlir_reader *r)
{
    const char *c = r->p, *close = NULL;
    for (;;) {
        if (!close || close < c)
            close = memchr(c, '>', (size_t)(r->end - c));
        const char *quote = close ? memchr(c, '"', (size_t)(close - c)) : NULL;
        if (!quote)
            break;
        c = string_end(r, quote + 1);
        if (!c)
            return has_no_end(r, r->p);
        c++;
    }
    if (!close)
        return has_no_end(r, r->p);
    r->p = close + 1;
    return true;
}

static bool skip_number(struct mlir_reader *r)
{
    const char *c = r->p;
    c += *c == '-';
    if (c >= r->end || *c < '0' || *c > '9')
        return mlir_expected(r, "a value");
    while (c < r->end && (mlir_is_word(*c) || ((*c == '-' || *c == '+') && (c[-1] == 'e' || c[-1] == 'E'))))
        c++;
    r->p = c;
    return true;
}

/* A word with what is attached to it: f32, tensor<…>, dense<…>, array<…>, loc(…), affine_map<…>. */
static bool skip_word(struct mlir_reader *r, bool *dense)
{
    struct mlir_span word;
    if (!mlir_word(r, &word))
        return mlir_expected(r, "a value");
    *dense = mlir_same(word, "dense") || mlir_same(word, "dense_resource") || mlir_same(word, "sparse");
    if (mlir_same(word, "dense") && r->p < r->end && *r->p == '<')
        return skip_dense(r);
    while (r->p < r->end && (*r->p == '<' || *r->p == '(' || *r->p == '['))
        if (!mlir_skip_balanced(r))
            return false;
    return true;
}

static bool skip_symbol(struct mlir_reader *r)
{
    struct mlir_span name;
    do {
        if (!mlir_symbol(r, &name))
            return false;
    } while (mlir_take_token(r, "::"));
    return true;
}

/* #name, #dialect.name<…>, #dialect<…>, and the same with '!'. */
static bool skip_named(struct mlir_reader *r)
{
    struct mlir_span name;
    r->p++;
    if (!mlir_word(r, &name))
        return mlir_expected(r, "a name");
    if (r->p < r->end && *r->p == '<')
        return mlir_skip_balanced(r);
    return true;
}

/* *typed: may ': type' follow? */
static bool skip_one(struct mlir_reader *r, bool *typed)
{
    struct mlir_span text;
    char c = mlir_peek(r);
    *typed = c == '"' || c == '#' || c == '-' || (c >= '0' && c <= '9');
    if (c == '"')
        return mlir_string(r, &text);
    if (c == '[' || c == '{' || c == '(' || c == '<')
        return mlir_skip_balanced(r);
    if (c == '@')
        return skip_symbol(r);
    if (c == '#' || c == '!')
        return skip_named(r);
    return *typed ? skip_number(r) : skip_word(r, typed);
}

bool mlir_skip_value(struct mlir_reader *r)
{
    bool typed;
    do {
        if (!skip_one(r, &typed))
            return false;
    } while (mlir_take_token(r, "->") || (typed && mlir_take(r, ':')));
    return true;
}

bool mlir_skip_untyped(struct mlir_reader *r)
{
    bool typed;
    return skip_one(r, &typed);
}

bool mlir_skip_plain_value(struct mlir_reader *r)
{
    mlir_space(r);
    bool list = r->p < r->end && *r->p == '[';
    bool dense = r->end - r->p > 5 && memcmp(r->p, "dense", 5) == 0;
    if (!mlir_skip_untyped(r))
        return false;
    if (dense)
        return !mlir_take(r, ':') || mlir_skip_value(r);
    while (list && (mlir_take_token(r, "x [") || mlir_take_token(r, "x[") || mlir_take_token(r, "->["))) {
        r->p--;
        if (!mlir_skip_balanced(r))
            return false;
    }
    return true;
}
