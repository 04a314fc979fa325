/* Text that grows, and small helpers on text. */
#ifndef REHEARSE_CORE_TEXT_H
#define REHEARSE_CORE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A string that grows. Start with {0}; `data` is NULL until something is added, then always ends in NUL.
 * When memory runs out `failed` is set and later additions are ignored: check once, at the end. */
struct text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
};

void text_release(struct text *text);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
/* What a part says, "" where nothing was added, for a whole that it goes into: where the part has failed, so has the whole. */
const char *text_within(const struct text *part, struct text *whole);

void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vformat(struct text *text, const char *format, va_list args);

/* A scalar of YAML in double quotes that reads back as `value`; as text_utf8 where it is not UTF-8. */
void text_add_quoted(struct text *text, const char *value);

/* The candidate nearest to `word` (Damerau-Levenshtein, case ignored), or NULL if none is near enough to
 * be what was meant. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);

/* The first byte that is not UTF-8, or `length`. Overlong forms and surrogates are not. */
size_t text_valid_utf8(const char *text, size_t length);

/* Names of files and other text from outside need not be UTF-8, which everything that is written must be. A byte that is
 * not is written as \xff: four characters, so that names which differ stay different. */

/* `value`, if it is UTF-8; else a copy in *room, escaped, or "" and room->failed. The caller releases *room. */
const char *text_utf8(const char *value, struct text *room);

/* The first byte that is not UTF-8, or `length`; or, with `kept`, that is of a control character which is not in it. */
size_t text_printable(const char *text, size_t length, const char *kept);

/* Adds the bytes; each that text_printable stops at escaped. */
void text_add_printable(struct text *text, const char *bytes, size_t length, const char *kept);

/* Is this byte of UTF-8 one that does not begin a character? */
static inline bool text_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Does one begin here, in UTF-8 that is valid: of ASCII, or one of Unicode that terminals act on (U+0080 to U+009F)? */
static inline bool text_is_control(const char *at)
{
    unsigned char c = (unsigned char)*at;
    return c < ' ' || c == 0x7f || (c == 0xc2 && (unsigned char)at[1] < 0xa0);
}

/* strtod with a decimal point, whatever the program that uses this library has set as its locale. */
double text_number(const char *text, char **end);

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *ending);
bool text_ends_like(const char *text, const char *ending); /* whatever its capitals */

#endif
