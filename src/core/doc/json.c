/* JSON as RFC 8259 has it, nothing more. */
#include "core/doc/reader.h"
#include "core/text.h"

#include <math.h>
#include <string.h>

struct reader {
    struct doc_builder *builder;
    char *at, *end;         /* *end is a NUL */
    const char *line_start; /* moved on by bytes that are no characters, so that columns count characters */
    uint32_t line;
};

static struct doc_place place(const struct reader *r)
{
    return (struct doc_place){r->line, (uint32_t)(r->at - r->line_start) + 1};
}

static bool unexpected(const struct reader *r, const char *wanted)
{
    if (r->at == r->end)
        return doc_syntax_error(r->builder, place(r), "expected %s, found the end of the file", wanted);
    int length = 1; /* a whole character */
    while (text_continues(r->at[length]))
        length++;
    return doc_syntax_error(r->builder, place(r), "expected %s, found '%.*s'", wanted, length, r->at);
}

static void skip_space(struct reader *r)
{
    for (;; r->at++) {
        if (*r->at == '\n') {
            r->line++;
            r->line_start = r->at + 1;
        } else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            return;
    }
}

/* Four hexadecimal digits at `text`; -1 if they are none. */
static long hex4(const char *text)
{
    long value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = text_hex_digit(text[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* After "\u": one code point, of one or two escapes. */
static bool read_unicode(struct reader *r, char *out, size_t *length)
{
    long code = hex4(r->at);
    if (code < 0)
        return doc_syntax_error(r->builder, place(r), "expected four hexadecimal digits after \\u");
    r->at += 4;
    if (code >= 0xd800 && code < 0xe000) {
        long low = r->at[0] == '\\' && r->at[1] == 'u' ? hex4(r->at + 2) : -1;
        if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff)
            return doc_syntax_error(r->builder, place(r), "an unpaired surrogate");
        r->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *length += text_encode(out + *length, (uint32_t)code);
    return true;
}

static bool read_escape(struct reader *r, char *out, size_t *length)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    r->at++; /* the backslash */
    if (*r->at == 'u') {
        r->at++;
        return read_unicode(r, out, length);
    }
    const char *name = *r->at ? strchr(names, *r->at) : NULL;
    if (!name)
        return doc_syntax_error(r->builder, place(r), "unknown escape in a string");
    out[(*length)++] = values[name - names];
    r->at++;
    return true;
}

/* Moves to the next character of a text that is not plain: a quote, a backslash, a control character. */
static void skip_plain(struct reader *r)
{
    for (; (unsigned char)*r->at >= ' ' && *r->at != '"' && *r->at != '\\'; r->at++)
        r->line_start += text_continues(*r->at);
}

/* At the opening quote. The text stays where it is: escapes only make it shorter, and its NUL takes the place
 * of the closing quote or of what was left free. */
static bool read_string(struct reader *r, const char **text, size_t *length)
{
    char *start = ++r->at;
    skip_plain(r);
    *length = (size_t)(r->at - start);
    while (*r->at != '"') {
        if (r->at == r->end)
            return doc_syntax_error(r->builder, place(r), "the file ends within a string");
        if ((unsigned char)*r->at < ' ')
            return doc_syntax_error(r->builder, place(r), "a control character within a string");
        if (*r->at == '\\' && !read_escape(r, start, length))
            return false;
        char *run = r->at;
        skip_plain(r);
        memmove(start + *length, run, (size_t)(r->at - run));
        *length += (size_t)(r->at - run);
    }
    r->at++;
    start[*length] = 0;
    *text = start;
    return true;
}

static bool is_word(const struct reader *r, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0;
}

static bool add_scalar(struct reader *r, enum doc_type type, const char *text, size_t length,
                       struct doc_place at, struct doc_node **node)
{
    *node = doc_add(r->builder, type, at);
    if (!*node)
        return false;
    (*node)->text = text;
    (*node)->length = length;
    return true;
}

static bool read_word(struct reader *r)
{
    static const struct {
        const char *word;
        enum doc_type type;
    } words[] = {{"true", DOC_BOOL},
                 {"false", DOC_BOOL},
                 {"null", DOC_NULL},
                 /* as Python writes them; only of other software */
                 {"NaN", DOC_NULL},
                 {"Infinity", DOC_NULL},
                 {"-Infinity", DOC_NULL}};
    struct doc_node *node;
    for (size_t i = 0; i < (r->builder->keeps_twins ? sizeof words / sizeof *words : 3); i++) {
        if (!is_word(r, words[i].word))
            continue;
        size_t length = strlen(words[i].word);
        const char *text = words[i].type == DOC_NULL ? "null" : words[i].word;
        if (!add_scalar(r, words[i].type, text, strlen(text), place(r), &node))
            return false;
        node->boolean = i == 0;
        r->at += length;
        return true;
    }
    if (is_word(r, "NaN") || is_word(r, "Infinity") || is_word(r, "-Infinity") || is_word(r, "nan") ||
        is_word(r, "inf"))
        return doc_syntax_error(r->builder, place(r), "NaN and Infinity are not numbers in JSON");
    return unexpected(r, "a value");
}

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

static bool read_number(struct reader *r)
{
    if (is_word(r, "-Infinity"))
        return read_word(r);
    char *start = r->at;
    struct doc_place at = place(r);
    while (in_number(*r->at))
        r->at++;
    size_t length = (size_t)(r->at - start), sign = *start == '-';
    bool leading_zero =
        length > sign + 1 && start[sign] == '0' && start[sign + 1] >= '0' && start[sign + 1] <= '9';
    const char *point = memchr(start, '.', length);
    bool bare_point = point && (point == start + sign || point[1] < '0' || point[1] > '9');
    double number;
    if (leading_zero || bare_point || !doc_scan_number(start, length, &number))
        return doc_syntax_error(r->builder, at, "'%.*s' is not a number", length > 60 ? 60 : (int)length,
                                start);
    if (!isfinite(number))
        return doc_syntax_error(r->builder, at, "'%.*s' is too large a number",
                                length > 60 ? 60 : (int)length, start);
    /* The byte behind the number is not read yet, so the number moves into the byte before it, which has been
     * read, to make room for the NUL. */
    memmove(start - 1, start, length);
    start[length - 1] = 0;
    struct doc_node *node;
    if (!add_scalar(r, DOC_NUMBER, start - 1, length, at, &node))
        return false;
    node->number = number;
    return true;
}

static bool read_value(struct reader *r);

static bool read_key(struct reader *r)
{
    size_t length;
    struct doc_place at = place(r);
    if (*r->at != '"')
        return unexpected(r, "a key in double quotes");
    if (!read_string(r, &r->builder->key, &length))
        return false;
    if (strlen(r->builder->key) != length)
        return doc_syntax_error(r->builder, at, "a key with a NUL in it");
    skip_space(r);
    if (*r->at != ':')
        return unexpected(r, "':' after a key");
    r->at++;
    skip_space(r);
    return true;
}

static bool read_container(struct reader *r, enum doc_type type, char closing)
{
    if (!doc_open(r->builder, type, place(r)))
        return false;
    r->at++;
    skip_space(r);
    for (bool first = true; *r->at != closing; first = false) {
        if (!first) {
            if (*r->at != ',')
                return unexpected(r, type == DOC_MAP ? "',' or '}'" : "',' or ']'");
            r->at++;
            skip_space(r);
        }
        if ((type == DOC_MAP && !read_key(r)) || !read_value(r))
            return false;
        skip_space(r);
    }
    r->at++;
    return doc_close(r->builder);
}

/* Recursion is limited by doc_open. */
static bool read_value(struct reader *r)
{
    if (*r->at == '{')
        return read_container(r, DOC_MAP, '}');
    if (*r->at == '[')
        return read_container(r, DOC_LIST, ']');
    if (*r->at == '"') {
        struct doc_place at = place(r);
        const char *text = NULL;
        size_t length = 0;
        struct doc_node *node;
        return read_string(r, &text, &length) && add_scalar(r, DOC_STRING, text, length, at, &node);
    }
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'))
        return read_number(r);
    return read_word(r);
}

bool doc_read_json(struct doc_builder *builder, char *text, size_t length)
{
    struct reader r = {.builder = builder, .at = text, .end = text + length, .line_start = text, .line = 1};
    skip_space(&r);
    if (!read_value(&r))
        return false;
    skip_space(&r);
    return r.at == r.end || unexpected(&r, "the end of the file");
}
