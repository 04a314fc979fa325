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

#define LONGEST_WORD 64

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. More than `limit` is not told apart: only
 * cells so near to the diagonal are computed. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length, size_t limit)
{
    size_t rows[3][LONGEST_WORD + 2];
    size_t *two_ago = rows[0], *before = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_length + 1; j++)
        before[j] = two_ago[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t from = i > limit ? i - limit : 1, to = min(b_length, i + limit), least = SIZE_MAX;
        int ca = tolower((unsigned char)a[i - 1]);
        now[from - 1] = from == 1 ? i : limit + 1;
        for (size_t j = from; j <= to; j++) {
            int cb = tolower((unsigned char)b[j - 1]);
            now[j] = min(min(before[j] + 1, now[j - 1] + 1), before[j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                tolower((unsigned char)a[i - 2]) == cb)
                now[j] = min(now[j], two_ago[j - 2] + 1);
            least = min(least, now[j]);
        }
        if (least > limit + 1) /* a swap may be one less than the row before */
            return limit + 1;
        now[to + 1] = limit + 1;
        size_t *row = two_ago;
        two_ago = before;
        before = now;
        now = row;
    }
    return before[b_length];
}

struct text_word text_word(const char *text)
{
    struct text_word word = {.text = text, .length = strlen(text)};
    for (size_t i = 0; i < word.length; i++) {
        uint64_t letter = UINT64_C(1) << (tolower((unsigned char)text[i]) & 63);
        word.letters[2] |= word.letters[1] & letter;
        word.letters[1] |= word.letters[0] & letter;
        word.letters[0] |= letter;
    }
    return word;
}

/* Returns how many letters one word has that another lacks, at least. */
static size_t lacking(const struct text_word *a, const struct text_word *b)
{
    size_t count = 0;
    for (int i = 0; i < 3; i++)
        count += (size_t)__builtin_popcountll(a->letters[i] & ~b->letters[i]);
    return count;
}

/* Returns what the distance of two words is at least. */
static size_t distance_at_least(const struct text_word *a, const struct text_word *b)
{
    size_t more = lacking(a, b), less = lacking(b, a);
    size_t longer = a->length > b->length ? a->length - b->length : b->length - a->length;
    more = more > less ? more : less;
    return more > longer ? more : longer;
}

void text_try(struct text_nearest *nearest, const struct text_word *candidate)
{
    const struct text_word *word = &nearest->word;
    size_t least = distance_at_least(word, candidate), longer = word->length;
    longer = longer > candidate->length ? longer : candidate->length;
    /* a typing error in every third letter or so is still the same word; so is an abbreviation of it */
    size_t limit = (longer + 2) / 4 + (longer > 2), best = nearest->best ? nearest->distance : SIZE_MAX;
    if (least > limit && (word->letters[0] & ~candidate->letters[0] || word->length < 3 ||
                          strncasecmp(word->text, candidate->text, word->length) != 0))
        return;
    limit = min(least > limit ? LONGEST_WORD : limit, best - 1);
    if (longer > LONGEST_WORD || least >= best || least > limit)
        return;
    size_t d = distance(word->text, word->length, candidate->text, candidate->length, limit);
    if (d <= limit) {
        nearest->distance = d;
        nearest->best = candidate->text;
    }
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count)
{
    struct text_nearest nearest = {.word = text_word(word)};
    for (size_t i = 0; i < count; i++) {
        const struct text_word candidate = text_word(candidates[i]);
        text_try(&nearest, &candidate);
    }
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
