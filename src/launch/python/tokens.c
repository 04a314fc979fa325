/* Tokens of Python, with its indentation. */
#include "launch/python/python.h"

#include <ctype.h>
#include <string.h>

enum { MAX_INDENTS = 100 };

struct scanner {
    struct python *python;
    struct python_module *module;
    const char *at, *start, *end;
    char *own;              /* a copy of the file, in which the texts of tokens end with NULs */
    const char *signs[128]; /* of one character, once they are there */
    int line, brackets, room;
    int indents[MAX_INDENTS], indent_count;
    struct error *err;
};

static bool fails(struct scanner *s, const char *what)
{
    return error_set(s->err, ERROR_INPUT, "%s:%d: %s", s->module->path, s->line, what);
}

static bool add(struct scanner *s, enum python_token_kind kind, const char *text, bool is_open)
{
    if (++s->python->token_count > PYTHON_MAX_TOKENS)
        return error_set(s->err, ERROR_INPUT, "%s: more than %d words and signs of Python", s->module->path,
                         PYTHON_MAX_TOKENS);
    if (s->python->token_count % PYTHON_SKIPPED == 0 && !python_spend(s->python, 1)) {
        *s->err = s->python->budget->why;
        return false;
    }
    struct python_token *items =
        arena_grow(&s->python->arena, s->module->tokens, s->module->count, &s->room, sizeof *items);
    if (!items)
        return error_memory(s->err);
    s->module->tokens = items;
    items[s->module->count++] = (struct python_token){kind, text, s->line, is_open};
    return true;
}

/* At the beginning of a line: passes over empty ones, and compares its blanks with those before. */
static bool read_indent(struct scanner *s)
{
    int width = 0;
    while (s->at < s->end) {
        if (*s->at == ' ')
            width++;
        else if (*s->at == '\t')
            width = width / 8 * 8 + 8;
        else if (*s->at == '\n')
            width = 0, s->line++;
        else if (*s->at == '#') {
            while (s->at < s->end && *s->at != '\n')
                s->at++;
            continue;
        } else if (*s->at != '\r' && *s->at != '\f')
            break;
        s->at++;
    }
    if (s->at == s->end)
        width = 0;
    if (width > s->indents[s->indent_count]) {
        if (s->indent_count + 1 == MAX_INDENTS)
            return fails(s, "indented too deeply");
        s->indents[++s->indent_count] = width;
        return add(s, PYTHON_INDENT, "", false);
    }
    for (; width < s->indents[s->indent_count]; s->indent_count--)
        if (!add(s, PYTHON_DEDENT, "", false))
            return false;
    return true;
}

static bool read_string(struct scanner *s, const char *prefix)
{
    char quote = *s->at;
    bool raw = false, format = false;
    for (; prefix < s->at; prefix++) {
        raw |= tolower((unsigned char)*prefix) == 'r';
        format |= tolower((unsigned char)*prefix) == 'f';
    }
    size_t width = s->end - s->at >= 3 && s->at[1] == quote && s->at[2] == quote ? 3 : 1;
    s->at += width;
    char *text = s->own + (s->at - s->start); /* it is no longer than what is written */
    size_t length = 0;
    int first = s->line;
    for (;; s->at++) {
        if (s->at >= s->end || (width == 1 && *s->at == '\n'))
            return fails(s, "unterminated string");
        if (*s->at == quote &&
            (width == 1 || (s->end - s->at >= 3 && s->at[1] == quote && s->at[2] == quote)))
            break;
        if (*s->at == '\\' && s->at + 1 < s->end && !raw)
            s->at++;
        s->line += *s->at == '\n';
        if (length < 255) /* longer ones are documentation */
            text[length++] = *s->at;
    }
    s->at += width;
    int last = s->line;
    s->line = first;
    text[length] = '\0';
    bool ok = add(s, PYTHON_STRING, text, format && memchr(text, '{', length));
    s->line = last;
    return ok;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool read_sign(struct scanner *s)
{
    const char *at = s->at, next = s->end - at > 1 ? at[1] : '\0', third = s->end - at > 2 ? at[2] : '\0';
    size_t length = 1;
    if (next == *at && (*at == '*' || *at == '/')) /* ** **= // //= */
        length = third == '=' ? 3 : 2;
    else if (*at == '.' && next == '.' && third == '.')
        length = 3;
    else if ((next == '=' && strchr("=!<>+-*/:", *at)) || (*at == '-' && next == '>'))
        length = 2;
    if (*at == '(' || *at == '[' || *at == '{')
        s->brackets++;
    else if (s->brackets > 0 && (*at == ')' || *at == ']' || *at == '}'))
        s->brackets--;
    s->at += length;
    const char *text = length == 1 ? s->signs[(unsigned char)*at] : NULL;
    if (!text && !(text = arena_copy(&s->python->arena, at, length)))
        return error_memory(s->err);
    if (length == 1)
        s->signs[(unsigned char)*at] = text;
    return add(s, PYTHON_SIGN, text, false);
}

static bool read_one(struct scanner *s)
{
    const char *start = s->at;
    if (*start == '\n') {
        bool ends = s->brackets == 0;
        if (ends && !add(s, PYTHON_LINE, "", false))
            return false;
        s->at++;
        s->line++;
        return !ends || read_indent(s);
    }
    if (*start == '#') {
        while (s->at < s->end && *s->at != '\n')
            s->at++;
        return true;
    }
    if (*start == '\\' && s->end - start > 1 && (start[1] == '\n' || start[1] == '\r')) {
        s->at += start[1] == '\r' && s->end - start > 2 ? 3 : 2;
        s->line++;
        return true;
    }
    if (isspace((unsigned char)*start) || *start == '\0') {
        s->at++;
        return true;
    }
    if (*start == '"' || *start == '\'')
        return read_string(s, start);
    if (!is_name(*start) && !(*start == '.' && s->end - start > 1 && isdigit((unsigned char)start[1])))
        return read_sign(s);
    bool number = isdigit((unsigned char)*start) || *start == '.';
    while (s->at < s->end &&
           (is_name(*s->at) || (number && *s->at == '.') ||
            (number && (*s->at == '-' || *s->at == '+') && tolower((unsigned char)s->at[-1]) == 'e')))
        s->at++;
    if (!number && s->at < s->end && (*s->at == '"' || *s->at == '\'') && s->at - start <= 2)
        return read_string(s, start);
    s->own[s->at - s->start] = '\0';
    return add(s, number ? PYTHON_DIGITS : PYTHON_NAME, s->own + (start - s->start), false);
}

bool python_tokens(struct python *python, struct python_module *module, const char *data, size_t length,
                   struct error *err)
{
    struct scanner s = {.python = python,
                        .module = module,
                        .at = data,
                        .start = data,
                        .end = data + length,
                        .line = 1,
                        .err = err};
    if (length > PYTHON_MAX_BYTES)
        return error_set(err, ERROR_INPUT, "%s: more than %zu bytes of Python", module->path,
                         PYTHON_MAX_BYTES);
    s.room = (int)(length / 2 + 16); /* a page that is not needed is not there */
    module->tokens = ARENA_ARRAY(&python->arena, (size_t)s.room, struct python_token);
    s.own = arena_copy(&python->arena, data, length);
    if (!module->tokens || !s.own)
        return error_memory(err);
    if (length >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        s.at += 3;
    if (!read_indent(&s))
        return false;
    while (s.at < s.end)
        if (!read_one(&s))
            return false;
    if (!add(&s, PYTHON_LINE, "", false))
        return false;
    for (; s.indent_count > 0; s.indent_count--)
        if (!add(&s, PYTHON_DEDENT, "", false))
            return false;
    return add(&s, PYTHON_END, "", false) && add(&s, PYTHON_END, "", false);
}
