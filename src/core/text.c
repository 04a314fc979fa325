#include "core/text.h"

#include "core/vector.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_release(struct text *text)
{
    free(text->data);
    memset(text, 0, sizeof *text);
}

#define SMALLEST 256 /* bytes */

/* Room for `more` bytes and a NUL. */
static bool reserve(struct text *text, size_t more)
{
    size_t wanted = text->length + more + 1;
    text->failed = text->failed || more > SIZE_MAX / 4 - text->length ||
                   !VECTOR_ROOM(text->data, text->capacity, wanted > SMALLEST ? wanted : SMALLEST);
    return !text->failed;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_vformat(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

const char *text_within(const struct text *part, struct text *whole)
{
    whole->failed = whole->failed || part->failed;
    return part->data ? part->data : "";
}

void text_format(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vformat(text, format, args);
    va_end(args);
}

#define LONGEST_WORD 64 /* bits of a number */

struct text_nearest text_nearest_to(const char *word)
{
    struct text_nearest nearest = {.word = word, .length = strlen(word)};
    for (size_t i = 0; i < nearest.length && i < LONGEST_WORD; i++) {
        nearest.places[tolower((unsigned char)word[i])] |= UINT64_C(1) << i;
        nearest.places[toupper((unsigned char)word[i])] |= UINT64_C(1) << i;
    }
    return nearest;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. A bit is a letter of the
 * word: one more or one less than beside it (H. Hyyrö, A Bit-Vector Algorithm for Computing Levenshtein and Damerau
 * Edit Distances, 2003). */
static size_t distance(const struct text_nearest *nearest, const char *to)
{
    size_t d = nearest->length, last = d - 1;
    uint64_t more = UINT64_MAX, less = 0, same = 0, before = 0;
    for (; *to; to++) {
        uint64_t here = nearest->places[(unsigned char)*to], swapped = ((~same & here) << 1) & before;
        same = (((here & more) + more) ^ more) | here | less | swapped;
        uint64_t longer = less | ~(same | more), shorter = same & more;
        d += (longer >> last & 1) - (shorter >> last & 1);
        longer = longer << 1 | 1;
        more = shorter << 1 | ~(same | longer);
        less = longer & same;
        before = here;
    }
    return d;
}

void text_try(struct text_nearest *nearest, const char *candidate)
{
    size_t length = nearest->length, other = strlen(candidate);
    size_t longer = length > other ? length : other, least = longer - (length + other - longer);
    /* a typing error in every third letter or so is still the same word; so is an abbreviation of it */
    size_t limit = (longer + 2) / 4 + (longer > 2);
    if (length == 0 || longer > LONGEST_WORD || (nearest->best && least >= nearest->distance) ||
        (least > limit && (length < 3 || strncasecmp(nearest->word, candidate, length) != 0)))
        return;
    size_t d = distance(nearest, candidate);
    if ((d <= limit || least > limit) && (!nearest->best || d < nearest->distance)) {
        nearest->distance = d;
        nearest->best = candidate;
    }
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count)
{
    struct text_nearest nearest = text_nearest_to(word);
    for (size_t i = 0; i < count; i++)
        text_try(&nearest, candidates[i]);
    return nearest.best;
}

const char *text_suggest(struct text_hint *hint, const char *nearest, const char *otherwise)
{
    if (!nearest)
        return otherwise;
    snprintf(hint->text, sizeof hint->text, ", did you mean '%s'?", nearest);
    return hint->text;
}

static size_t ascii_length(const char *text, size_t length)
{
    size_t i = 0;
    for (uint64_t eight; i + sizeof eight <= length; i += sizeof eight) {
        memcpy(&eight, text + i, sizeof eight);
        if (eight & UINT64_C(0x8080808080808080))
            break;
    }
    return i;
}

size_t text_valid_utf8(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = ascii_length(text, length); i < length;) {
        if (s[i] < 0x80) {
            i++;
            continue;
        }
        size_t more = s[i] >= 0xc2 && s[i] < 0xe0   ? 1
                      : (s[i] & 0xf0) == 0xe0       ? 2
                      : s[i] >= 0xf0 && s[i] < 0xf5 ? 3
                                                    : length;
        if (more >= length - i)
            return i;
        for (size_t k = 1; k <= more; k++)
            if (!text_continues(text[i + k]))
                return i;
        if ((s[i] == 0xe0 && s[i + 1] < 0xa0) || (s[i] == 0xed && s[i + 1] > 0x9f) ||
            (s[i] == 0xf0 && s[i + 1] < 0x90) || (s[i] == 0xf4 && s[i + 1] > 0x8f))
            return i;
        i += more + 1;
    }
    return length;
}

size_t text_encode(char to[static 4], uint32_t code)
{
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(length == 1 ? code : (0xf00u >> length & 0xff) | code);
    return length;
}

int text_hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *digit = c ? strchr(digits, c) : NULL;
    return digit ? (int)(digit - digits) % 16 : -1;
}

size_t text_printable(const char *text, size_t length, const char *kept)
{
    size_t valid = text_valid_utf8(text, length);
    for (size_t i = 0; kept && i < valid; i++)
        if (text_is_control(text + i) && !(text[i] && strchr(kept, text[i])))
            return i;
    return valid;
}

void text_add_printable(struct text *text, const char *bytes, size_t length, const char *kept)
{
    while (length > 0) {
        size_t good = text_printable(bytes, length, kept);
        text_add_bytes(text, bytes, good);
        if (good < length)
            text_format(text, "\\x%02x", (unsigned)(unsigned char)bytes[good++]);
        bytes += good;
        length -= good;
    }
}

const char *text_utf8(const char *value, struct text *room)
{
    size_t length = strlen(value);
    if (text_valid_utf8(value, length) == length)
        return value;
    text_add_printable(room, value, length, NULL);
    return room->failed ? "" : room->data;
}

static locale_t plain_locale; /* 0: could not be had */

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t plain(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain_locale);
    return plain_locale;
}

double text_number(const char *text, char **end)
{
    locale_t locale = plain();
    return locale ? strtod_l(text, end, locale) : strtod(text, end);
}

bool text_whole(const char *text, const char *ends, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || errno != 0 || (*end && !strchr(ends, *end)))
        return false;
    *value = number;
    return true;
}

bool text_real(const char *text, double *value)
{
    char *end;
    double number = text_number(text, &end);
    if (end == text || *end || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool text_microseconds(const char *text, int64_t *ns)
{
    static const char digits[] = "0123456789";
    const int64_t most = INT64_C(1) << 61;
    const char *at = text + (*text == '-'), *point = at + strspn(at, digits), *end = point;
    int64_t whole = 0, fraction = 0, unit = 100;
    if (*point == '.')
        end += 1 + strspn(point + 1, digits);
    if (point == at)
        return false;
    if (point - at <= 16 && *end == '\0') {
        for (; at < point; at++)
            whole = whole * 10 + (*at - '0');
        for (at = point + (*point == '.'); *at && unit > 0; at++, unit /= 10)
            fraction += (*at - '0') * unit;
        fraction += *at >= '5'; /* the fourth digit rounds */
        if (whole > most / 1000)
            return false;
        *ns = whole * 1000 + fraction;
    } else {
        double value;
        if (!text_real(text, &value) || !(fabs(value) < (double)most / 1000))
            return false;
        *ns = llround(fabs(value) * 1000);
    }
    *ns = *text == '-' ? -*ns : *ns;
    return true;
}

locale_t text_use_plain_locale(void)
{
    return uselocale(plain()); /* 0 changes nothing */
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- YAML ---- */

/* The character that begins here, of UTF-8 that is valid. */
static uint32_t code_point(const char *at, size_t *length)
{
    unsigned char first = (unsigned char)*at;
    *length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t code = *length == 1 ? first : first & (0xffu >> (*length + 1));
    for (size_t i = 1; i < *length; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

/* Read in quotes as it is written: what YAML 1.1 (section 4.1) calls printable, without breaks of lines,
 * which it folds, and the byte order mark. */
static bool is_plain(uint32_t code)
{
    if (code < 0xa0)
        return code >= ' ' && code < 0x7f;
    return code != 0x2028 && code != 0x2029 && code != 0xfeff && code != 0xfffe && code != 0xffff;
}

void text_add_quoted(struct text *text, const char *value)
{
    struct text room = {0};
    text_add(text, "\"");
    size_t bytes;
    for (const char *at = text_utf8(value, &room); *at; at += bytes) {
        uint32_t code = code_point(at, &bytes);
        if (code == '"' || code == '\\')
            text_add(text, "\\");
        if (is_plain(code))
            text_add_bytes(text, at, bytes);
        else
            text_format(text, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
    }
    text_add(text, "\"");
    text->failed = text->failed || room.failed;
    text_release(&room);
}

bool text_ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && memcmp(text + length - tail, ending, tail) == 0;
}

bool text_ends_like(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

#define LAYOUT "\n\t" /* control characters that texts are laid out with */

const struct text *text_shown(const struct text *text, struct text *room)
{
    if (text->failed || text->length == 0 || text_printable(text->data, text->length, LAYOUT) == text->length)
        return text;
    text_add_printable(room, text->data, text->length, LAYOUT);
    return room;
}

void text_add_word(struct text *text, const char *word)
{
    bool plain =
        *word && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-") ==
                     strlen(word);
    if (plain) {
        text_add(text, word);
        return;
    }
    text_add(text, "'");
    for (; *word; word++)
        if (*word == '\'')
            text_add(text, "'\\''");
        else
            text_add_bytes(text, word, 1);
    text_add(text, "'");
}
