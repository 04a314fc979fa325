/* Text that grows, and small helpers on text. */
#ifndef REHEARSE_CORE_TEXT_H
#define REHEARSE_CORE_TEXT_H

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* Returns a part's text ("" if empty) for a whole, which fails if the part has. */
const char *text_within(const struct text *part, struct text *whole);

void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vformat(struct text *text, const char *format, va_list args);

/* Adds a quoted YAML scalar that reads back as `value`; as text_utf8 if it is not UTF-8. */
void text_add_quoted(struct text *text, const char *value);

/* Adds one word of a shell's line, whatever is in it. */
void text_add_word(struct text *text, const char *word);

/* Returns the candidate nearest to `word` (Damerau-Levenshtein, case ignored), or NULL if none is near
 * enough. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);

/* Likewise one by one: of a word, which lives as long as *nearest. */
struct text_nearest {
    const char *word, *best; /* best NULL: none is near enough */
    size_t length, distance;
    uint64_t places[256]; /* of each letter in the word: a bit each */
};

struct text_nearest text_nearest_to(const char *word);
void text_try(struct text_nearest *nearest, const char *candidate);

struct text_hint {
    char text[160];
};

/* Returns the end of a message about an unknown name: ", did you mean 'NEAREST'?", or `otherwise` where nothing
 * is near (NULL). It lives as long as *hint. */
const char *text_suggest(struct text_hint *hint, const char *nearest, const char *otherwise);

/* Returns the first byte that is not UTF-8, or `length`. Overlong forms and surrogates are invalid. */
size_t text_valid_utf8(const char *text, size_t length);

/* File names and other outside text need not be UTF-8, but all output must be. An invalid byte is written as
 * \xff: four characters, so that different names stay different. */

/* Returns `value` if it is UTF-8; else an escaped copy in *room ("" if it failed), which the caller
 * releases. */
const char *text_utf8(const char *value, struct text *room);

/* Returns the first byte that is not UTF-8 or, with `kept`, is of a control character not in it; else
 * `length`. */
size_t text_printable(const char *text, size_t length, const char *kept);

/* Returns a text of several lines as it can be shown: the text itself, or a copy in *room, which the caller releases,
 * with bytes that are not UTF-8 and control characters escaped. Forms with an escape of their own, such as JSON, stay
 * as they are. */
const struct text *text_shown(const struct text *text, struct text *room);

/* Adds the bytes, escaping those at which text_printable stops. */
void text_add_printable(struct text *text, const char *bytes, size_t length, const char *kept);

/* Writes a code point up to 0x10ffff as UTF-8, without a NUL; returns its 1 to 4 bytes. */
size_t text_encode(char to[static 4], uint32_t code);

/* Returns the value of a hexadecimal digit, -1: it is none. */
int text_hex_digit(char c);

/* Returns whether this byte of UTF-8 continues a character. */
static inline bool text_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Returns whether a control character, ASCII or U+0080 to U+009F, begins here in valid UTF-8. */
static inline bool text_is_control(const char *at)
{
    unsigned char c = (unsigned char)*at;
    return c < ' ' || c == 0x7f || (c == 0xc2 && (unsigned char)at[1] < 0xa0);
}

/* strtod with a decimal point in any locale. */
double text_number(const char *text, char **end);

/* Sets *value to the whole number at the start of a text, behind which stands one of `ends` or nothing. False: there is
 * none, or one beyond int64_t; *value stays. The second: to the number that is all of a text. */
bool text_whole(const char *text, const char *ends, int64_t *value);
bool text_real(const char *text, double *value);

/* Converts decimal microseconds to whole nanoseconds, without a detour over a double but for an exponent. False: no
 * number, or beyond 2^61 ns. */
bool text_microseconds(const char *text, int64_t *ns);

/* Gives this thread the C locale, whatever the program's is, so that printf and strtod have decimal points. Returns the
 * thread's locale before, for uselocale(). */
locale_t text_use_plain_locale(void);

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *ending);
bool text_ends_like(const char *text, const char *ending); /* ignores case */

#endif
