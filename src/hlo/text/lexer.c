#include "core/vector.h"
#include "hlo/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef hlo_fail /* these are for the static analyser */
#undef hlo_expected

void hlo_place(struct hlo_reader *r, const char *at, uint32_t *line, uint32_t *column)
{
    if (at < r->line_start) {
        r->counted = r->line_start = r->begin;
        r->line = 1;
    }
    const char *newline;
    while (r->counted < at && (newline = memchr(r->counted, '\n', (size_t)(at - r->counted)))) {
        r->counted = r->line_start = newline + 1;
        r->line++;
    }
    if (r->counted < at)
        r->counted = at;
    *line = r->line;
    *column = (uint32_t)(at - r->line_start) + 1;
}

bool hlo_fail(struct hlo_reader *r, const char *at, const char *format, ...)
{
    char message[768];
    uint32_t line, column;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    hlo_place(r, at, &line, &column);
    return error_set(r->err, ERROR_INPUT, "%s:%u:%u: %s", r->module->path, line, column, message);
}

bool hlo_expected(struct hlo_reader *r, const char *what)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    size_t left = (size_t)(r->end - at), length = 0;
    if (left == 0)
        return hlo_fail(r, at, "expected %s, found the end of the text", what);
    if (left >= 2 && at[0] == '/' && at[1] == '*')
        return hlo_fail(r, at, "expected %s, found an unterminated comment", what);
    while (length < left && length < 40 && hlo_is_name_byte(at[length]))
        length++;
    return hlo_fail(r, at, "expected %s, found '%.*s'", what, (int)(length ? length : 1), at);
}

void hlo_skip_comment(struct hlo_reader *r)
{
    const char *at = r->at;
    size_t left = (size_t)(r->end - at);
    if (left < 2)
        return;
    if (at[1] == '/') {
        while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
            r->at++;
    } else if (at[1] == '*') {
        const char *close = memmem(at + 2, left - 2, "*/", 2);
        if (close)
            r->at = close + 2;
    }
}

bool hlo_expect(struct hlo_reader *r, char c)
{
    if (hlo_takes(r, c))
        return true;
    char what[] = {'\'', c, '\'', '\0'};
    return hlo_expected(r, what);
}

bool hlo_word_is(struct hlo_word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

bool hlo_read_name(struct hlo_reader *r, const char *what, struct hlo_word *name)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    if (hlo_peek(r) == '%')
        r->at++;
    *name = hlo_read_bytes(r);
    if (name->length > 0)
        return true;
    r->at = at;
    return hlo_expected(r, what);
}

bool hlo_read_integer(struct hlo_reader *r, int64_t *value)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    bool negative = hlo_peek(r) == '-';
    const char *digits = at + negative;
    int64_t number = 0;
    for (r->at = digits; hlo_peek(r) >= '0' && hlo_peek(r) <= '9'; r->at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, *r->at - '0', &number))
            return hlo_fail(r, at, "a number that does not fit into 64 bits");
    if (r->at == digits) {
        r->at = at;
        return hlo_expected(r, "a number");
    }
    /* gathered below zero, where there is room for one more */
    if (!negative && __builtin_sub_overflow(0, number, &number))
        return hlo_fail(r, at, "a number that does not fit into 64 bits");
    *value = number;
    return true;
}

/* The quote that ends the string that begins at `at`; NULL when none does. */
static const char *string_end(const struct hlo_reader *r, const char *at)
{
    char quote = *at;
    const char *from = at + 1;
    for (;;) {
        const char *end = memchr(from, quote, (size_t)(r->end - from));
        if (!end)
            return NULL;
        size_t slashes = 0;
        while (end - slashes > at + 1 && end[-1 - (ptrdiff_t)slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return end;
        from = end + 1;
    }
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 16;
}

/* The byte that \ddd (octal) or \xhh stands for; *at is left behind it. */
static char numbered(const char **at, const char *end, int base, int digits)
{
    int value = 0;
    for (; digits > 0 && *at < end && digit_of(**at) < base; digits--)
        value = value * base + digit_of(*(*at)++);
    return (char)value;
}

static char escaped(const char **at, const char *end)
{
    char c = **at;
    if (c >= '0' && c <= '7')
        return numbered(at, end, 8, 3);
    ++*at;
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'x':
        return numbered(at, end, 16, 2);
    default:
        return c;
    }
}

bool hlo_read_string(struct hlo_reader *r, const char **text)
{
    hlo_skip_blank(r);
    char quote = hlo_peek(r);
    if (quote != '"' && quote != '\'')
        return hlo_expected(r, "a string");
    const char *end = string_end(r, r->at);
    if (!end)
        return hlo_fail(r, r->at, "an unterminated string");
    char *copy = arena_alloc(&r->module->arena, (size_t)(end - r->at), 1);
    if (!copy)
        return error_memory(r->err);
    char *out = copy;
    for (const char *at = r->at + 1; at < end;)
        if (*at == '\\') {
            at++;
            *out++ = escaped(&at, end);
        } else
            *out++ = *at++;
    *out = '\0';
    *text = copy;
    r->at = end + 1;
    return true;
}

/* Past a string. An apostrophe that no other one follows on its line is only that. */
static bool skip_string(struct hlo_reader *r)
{
    const char *at = r->at, *end = string_end(r, at);
    if (*at == '\'' && (!end || memchr(at, '\n', (size_t)(end - at)))) {
        r->at++;
        return true;
    }
    if (!end)
        return hlo_fail(r, at, "an unterminated string");
    r->at = end + 1;
    return true;
}

/* Returns whether hlo_skip_brackets stops at a byte: " ' ( ) / [ ] { } */
static inline bool is_structure(char c)
{
    static const uint64_t structure[4] = {UINT64_C(0x0000838400000000), UINT64_C(0x2800000028000000)};
    unsigned char byte = (unsigned char)c;
    return (structure[byte >> 6] >> (byte & 63)) & 1;
}

bool hlo_skip_brackets(struct hlo_reader *r)
{
    char closing[HLO_MAX_DEPTH];
    const char *begin = r->at;
    int depth = 0;
    while (r->at < r->end) {
        char c = *r->at;
        if (!is_structure(c)) {
            r->at++;
        } else if (c == '"' || c == '\'') {
            if (!skip_string(r))
                return false;
        } else if (c == '/') {
            const char *before = r->at;
            hlo_skip_comment(r);
            r->at += r->at == before;
        } else if (c == '{' || c == '[' || c == '(') {
            if (depth == HLO_MAX_DEPTH)
                return hlo_fail(r, r->at, "nested deeper than the %d levels that are read", HLO_MAX_DEPTH);
            closing[depth++] = (char)(c == '(' ? ')' : c + 2);
            r->at++;
        } else if (c != closing[depth - 1]) {
            return hlo_fail(r, r->at, "expected '%c', found '%c'", closing[depth - 1], c);
        } else {
            r->at++;
            if (--depth == 0)
                return true;
        }
    }
    return hlo_fail(r, begin, "an unbalanced bracket");
}

bool hlo_skip_value(struct hlo_reader *r)
{
    hlo_skip_blank(r);
    const char *begin = r->at;
    while (r->at < r->end) {
        char c = *r->at;
        if (c == '{' || c == '[' || c == '(') {
            if (!hlo_skip_brackets(r))
                return false;
        } else if (c == '"' || c == '\'') {
            if (!skip_string(r))
                return false;
        } else if (c == ',' || c == '}' || c == ']' || c == ')' || c == '\n' || c == '/')
            break;
        else
            r->at++;
    }
    return r->at > begin || hlo_expected(r, "a value");
}

bool hlo_enter(struct hlo_reader *r)
{
    if (r->depth == HLO_MAX_DEPTH)
        return hlo_fail(r, r->at, "nested deeper than the %d levels that are read", HLO_MAX_DEPTH);
    r->depth++;
    return true;
}

bool hlo_push(struct hlo_reader *r, struct hlo_stack *stack, void *item)
{
    return VECTOR_ADD(stack->at, stack->count, stack->capacity, item) || error_memory(r->err);
}

void *hlo_keep(struct hlo_reader *r, const void *items, size_t bytes)
{
    void *copy = arena_alloc(&r->module->arena, bytes, 1);
    if (!copy)
        return error_memory_null(r->err);
    return memcpy(copy, items, bytes);
}

void *hlo_pop_all(struct hlo_reader *r, struct hlo_stack *stack, size_t begin)
{
    size_t count = stack->count - begin;
    void **items = count ? ARENA_ARRAY(&r->module->arena, count, void *) : NULL;
    if (items)
        memcpy(items, stack->at + begin, count * sizeof *items);
    stack->count = begin;
    return items;
}
