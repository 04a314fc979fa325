/* Pages of Parquet (Encodings.md of apache/parquet-format): of version 1 and 2, plain, or indices of a dictionary. */
#include "dataset/parquet/parquet.h"

#include "core/clock.h"
#include "core/vector.h"
#include "dataset/codec.h"
#include "dataset/parquet/thrift.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NEAR       ((int64_t)64 << 10) /* chunks with a smaller gap are read as one */
#define WINDOW     ((int64_t)8 << 20)  /* bytes that are read at once */
#define MAX_PAGE   ((int64_t)1 << 30)  /* bytes of a page, also decoded */
#define MAX_VALUES ((int64_t)1 << 26)  /* of a page */
#define SOME       1024

/* ---- runs of levels and indices ---- */

/* The hybrid of runs of equal values and of packed bits. */
struct runs {
    const unsigned char *at, *end;
    int width; /* bits of a value, at most 32 */
    bool packed, broken;
    uint64_t left;  /* values in this run */
    uint32_t value; /* of all of them */
    uint64_t bit;   /* packed: where the next begins, from `at` on */
};

static void next_run(struct runs *runs)
{
    uint64_t head = 0;
    unsigned shift = 0;
    if (runs->packed)
        runs->at += runs->bit / 8; /* all of a run lies before `end` */
    runs->bit = 0;
    do {
        if (runs->at == runs->end || shift > 28) {
            runs->broken = true;
            return;
        }
        head |= (uint64_t)(*runs->at & 127) << shift;
        shift += 7;
    } while (*runs->at++ & 128);
    runs->packed = head & 1;
    size_t room = (size_t)(runs->end - runs->at), bytes = (size_t)(runs->width + 7) / 8;
    runs->left = runs->packed ? head >> 1 << 3 : head >> 1;
    if (runs->packed && runs->width > 0 && runs->left > room * 8 / (unsigned)runs->width)
        runs->left = room * 8 / (unsigned)runs->width; /* a page may leave out the padding of its last run */
    if (runs->left == 0 || (!runs->packed && bytes > room)) {
        runs->broken = true;
        return;
    }
    if (!runs->packed) {
        runs->value = (uint32_t)dataset_little(runs->at, (int)bytes);
        runs->at += bytes;
    }
}

static uint32_t packed_value(struct runs *runs)
{
    const unsigned char *from = runs->at + runs->bit / 8;
    int bytes = ((int)(runs->bit % 8) + runs->width + 7) / 8;
    uint64_t value = dataset_little(from, bytes) >> (runs->bit % 8);
    runs->bit += (unsigned)runs->width;
    return (uint32_t)(value & ((UINT64_C(1) << runs->width) - 1));
}

/* Gets the next values, 1 to SOME; 0: no more. `equal`: they are all to[0]. */
static int64_t some_values(struct runs *runs, int64_t wanted, uint32_t to[SOME], bool *equal)
{
    while (runs->left == 0 && !runs->broken)
        next_run(runs);
    int64_t limit = runs->packed && wanted > SOME ? SOME : wanted;
    int64_t count = runs->broken ? 0 : (uint64_t)limit < runs->left ? limit : (int64_t)runs->left;
    *equal = !runs->packed;
    to[0] = runs->value;
    if (runs->packed && runs->width == 8) {
        for (int64_t i = 0; i < count; i++)
            to[i] = runs->at[runs->bit / 8 + (uint64_t)i];
        runs->bit += 8 * (uint64_t)count;
    } else if (runs->packed) {
        for (int64_t i = 0; i < count; i++)
            to[i] = packed_value(runs);
    }
    runs->left -= (uint64_t)count;
    return count;
}

/* Counts how many of `count` levels are `wanted`; -1: there are fewer, or some are above it. */
static int64_t count_levels(const unsigned char *at, size_t length, int64_t count, int wanted)
{
    struct runs runs = {.at = at, .end = at + length};
    uint32_t values[SOME];
    int64_t found = 0;
    while (wanted >> runs.width)
        runs.width++;
    for (int64_t done = 0, n; done < count; done += n) {
        bool equal;
        n = some_values(&runs, count - done, values, &equal);
        if (n == 0)
            return -1;
        for (int64_t i = 0; i < (equal ? 1 : n); i++) {
            if (values[i] > (uint32_t)wanted)
                return -1;
            found += values[i] == (uint32_t)wanted ? (equal ? n : 1) : 0;
        }
    }
    return found;
}

/* ---- a scan ---- */

struct memory {
    unsigned char *bytes;
    size_t room;
};

struct scanning {
    const struct parquet *parquet;
    struct dataset_scan *scan;
    struct error *err;
    int64_t group;
    int column;
    const struct parquet_leaf *leaf;
    const struct parquet_chunk *chunk;
    struct memory window, unpacked, decoded, dictionary;
    int64_t window_at, window_end, limit; /* what the window holds, and up to where reading ahead may go */
    int64_t at;                           /* of the page, for messages */
    int64_t entries;                      /* of the dictionary; -1: there is none */
    size_t *entry_at;                     /* [entries + 1] of values of varying length */
    size_t length;                        /* of the decoded values */
    int64_t first;                        /* values of the chunk decoded before */
};

static bool wrong(const struct scanning *s, const char *what)
{
    return error_set(s->err, ERROR_INPUT,
                     "%s: column '%s', row group %" PRId64 ", page at byte %" PRId64
                     ": %s: write the file again",
                     s->scan->path, s->leaf->name, s->group, s->at, what);
}

/* Words of parquet.thrift. */
static const char *const codec_names[10] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                            "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
static const char *const encoding_names[10] = {[0] = "PLAIN",
                                               [2] = "PLAIN_DICTIONARY",
                                               [3] = "RLE",
                                               [4] = "BIT_PACKED",
                                               [5] = "DELTA_BINARY_PACKED",
                                               [6] = "DELTA_LENGTH_BYTE_ARRAY",
                                               [7] = "DELTA_BYTE_ARRAY",
                                               [8] = "RLE_DICTIONARY",
                                               [9] = "BYTE_STREAM_SPLIT"};

static const char *name_of(const char *const names[10], int64_t number)
{
    return number >= 0 && number < 10 && names[number] ? names[number] : "of no name";
}

static bool have_room(struct scanning *s, struct memory *memory, size_t wanted)
{
    return VECTOR_ROOM(memory->bytes, memory->room, wanted + 1) || error_memory(s->err);
}

/* Gets n bytes at `offset`, reading ahead. */
static bool view(struct scanning *s, int64_t offset, int64_t n, const unsigned char **at)
{
    if (offset < s->window_at || offset + n > s->window_end) {
        int64_t ahead = s->limit - offset < WINDOW ? s->limit - offset : WINDOW;
        int64_t kept = offset >= s->window_at && offset < s->window_end ? s->window_end - offset : 0;
        int64_t bytes = ahead > n ? ahead : n;
        if (!have_room(s, &s->window, (size_t)bytes))
            return false;
        if (kept > 0)
            memmove(s->window.bytes, s->window.bytes + (offset - s->window_at), (size_t)kept);
        s->window_at = offset;
        s->window_end = offset + kept;
        if (!dataset_read(s->scan->source, s->scan->path, offset + kept, s->window.bytes + kept,
                          (size_t)(bytes - kept), "a page", s->err))
            return false;
        s->window_end = offset + bytes;
    }
    *at = s->window.bytes + (offset - s->window_at);
    return true;
}

/* ---- values ---- */

static bool add_value(struct scanning *s, const unsigned char *bytes, size_t n)
{
    if (s->length + n > (size_t)MAX_PAGE)
        return wrong(s, "its values take more than 1 GiB");
    if (!have_room(s, &s->decoded, s->length + n))
        return false;
    memcpy(s->decoded.bytes + s->length, bytes, n);
    s->length += n;
    return true;
}

/* Returns the bytes of `count` plain values at the beginning of from..from+n; -1: they are not there. */
static int64_t plain_bytes(const struct parquet_leaf *leaf, const unsigned char *from, size_t n,
                           int64_t count)
{
    if (leaf->type == PARQUET_BOOLEAN)
        return (size_t)(count + 7) / 8 <= n ? (count + 7) / 8 : -1;
    if (leaf->width > 0)
        return count <= (int64_t)n / leaf->width ? count * leaf->width : -1;
    size_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        if (n - at < 4 || n - at - 4 < dataset_little(from + at, 4))
            return -1;
        at += 4 + (size_t)dataset_little(from + at, 4);
    }
    return (int64_t)at;
}

static bool decode_plain(struct scanning *s, const unsigned char *from, size_t n, int64_t count)
{
    int64_t bytes = plain_bytes(s->leaf, from, n, count);
    if (bytes < 0)
        return wrong(s, "it ends within its values");
    if (s->leaf->type != PARQUET_BOOLEAN)
        return add_value(s, from, (size_t)bytes);
    if (!have_room(s, &s->decoded, (size_t)count))
        return false;
    for (int64_t i = 0; i < count; i++)
        s->decoded.bytes[i] = from[i / 8] >> (i % 8) & 1;
    s->length = (size_t)count;
    return true;
}

/* Adds the entry, n times. */
static bool add_entry(struct scanning *s, uint32_t index, int64_t n)
{
    if (index >= (uint64_t)s->entries)
        return wrong(s, "an index beyond its dictionary");
    size_t width = (size_t)s->leaf->width, at = width > 0 ? index * width : s->entry_at[index];
    size_t bytes = width > 0 ? width : s->entry_at[index + 1] - at;
    for (int64_t i = 0; i < n; i++)
        if (!add_value(s, s->dictionary.bytes + at, bytes))
            return false;
    return true;
}

/* Adds entries of four and eight bytes, which most columns have. */
static bool add_entries(struct scanning *s, const uint32_t *indices, int64_t n)
{
    size_t width = (size_t)s->leaf->width, bytes = (size_t)n * width;
    if (width != 4 && width != 8) {
        for (int64_t i = 0; i < n; i++)
            if (!add_entry(s, indices[i], 1))
                return false;
        return true;
    }
    if (s->length + bytes > (size_t)MAX_PAGE || !have_room(s, &s->decoded, s->length + bytes))
        return s->length + bytes > (size_t)MAX_PAGE ? wrong(s, "its values take more than 1 GiB") : false;
    unsigned char *to = s->decoded.bytes + s->length;
    for (int64_t i = 0; i < n; i++) {
        if (indices[i] >= (uint64_t)s->entries)
            return wrong(s, "an index beyond its dictionary");
        if (width == 4)
            memcpy(to + 4 * i, s->dictionary.bytes + 4 * (size_t)indices[i], 4);
        else
            memcpy(to + 8 * i, s->dictionary.bytes + 8 * (size_t)indices[i], 8);
    }
    s->length += bytes;
    return true;
}

static bool decode_indices(struct scanning *s, const unsigned char *from, size_t n, int64_t count)
{
    struct runs runs = {.at = from + 1, .end = from + n};
    uint32_t indices[SOME];
    if (count == 0)
        return true;
    if (s->entries < 0)
        return wrong(s, "it has no dictionary");
    if (n < 1 || from[0] > 32)
        return wrong(s, "its indices have no width");
    runs.width = from[0];
    for (int64_t done = 0, some; done < count; done += some) {
        bool equal;
        some = some_values(&runs, count - done, indices, &equal);
        if (some == 0)
            return wrong(s, "it ends within its indices");
        if (!(equal ? add_entry(s, indices[0], some) : add_entries(s, indices, some)))
            return false;
    }
    return true;
}

/* Booleans of version 2: runs behind their length. */
static bool decode_bits(struct scanning *s, const unsigned char *from, size_t n, int64_t count)
{
    struct runs runs = {.at = from + 4, .end = from + n, .width = 1};
    uint32_t bits[SOME];
    if (n < 4 || !have_room(s, &s->decoded, (size_t)count))
        return n < 4 ? wrong(s, "it ends within its values") : false;
    for (int64_t some; (int64_t)s->length < count; s->length += (size_t)some) {
        bool equal;
        some = some_values(&runs, count - (int64_t)s->length, bits, &equal);
        if (some == 0)
            return wrong(s, "it ends within its values");
        for (int64_t i = 0; i < some; i++)
            s->decoded.bytes[s->length + (size_t)i] = (unsigned char)bits[equal ? 0 : i];
    }
    return true;
}

static bool keep_dictionary(struct scanning *s, const unsigned char *from, size_t n, int64_t count)
{
    int64_t bytes = plain_bytes(s->leaf, from, n, count);
    if (bytes < 0 || s->leaf->type == PARQUET_BOOLEAN)
        return wrong(s, "its dictionary is not one of its values");
    if (!have_room(s, &s->dictionary, (size_t)bytes))
        return false;
    memcpy(s->dictionary.bytes, from, (size_t)bytes);
    s->entries = count;
    free(s->entry_at);
    s->entry_at = s->leaf->width > 0 ? NULL : calloc((size_t)count + 1, sizeof *s->entry_at);
    if (s->leaf->width > 0 || !s->entry_at)
        return s->leaf->width > 0 || error_memory(s->err);
    for (int64_t i = 0; i < count; i++)
        s->entry_at[i + 1] = s->entry_at[i] + 4 + (size_t)dataset_little(from + s->entry_at[i], 4);
    return true;
}

/* ---- pages ---- */

struct page {
    int64_t type, plain, packed;          /* bytes of its data, of which `packed` lie in the file */
    int64_t values, encoding;             /* of its inner header */
    int64_t nulls;                        /* version 2 */
    int64_t definitions, repetitions;     /* version 2: bytes of levels */
    int64_t definition_as, repetition_as; /* version 1: encodings */
    bool is_packed;
};

static void read_inner(struct thrift *in, struct page *page)
{
    struct thrift_field field = {0};
    bool second = page->type == PARQUET_DATA_2;
    int64_t *const fields[] = {NULL,
                               &page->values,
                               second ? &page->nulls : &page->encoding,
                               second ? NULL : &page->definition_as,
                               second ? &page->encoding : &page->repetition_as,
                               second ? &page->definitions : NULL,
                               second ? &page->repetitions : NULL};
    while (thrift_next(in, &field)) {
        if (second && field.id == 7)
            page->is_packed = thrift_number(in, field.type);
        else if (field.type >= THRIFT_I16 && field.type <= THRIFT_I64)
            thrift_take(in, &field, fields, (int)(sizeof fields / sizeof *fields));
        else
            thrift_skip(in, field.type);
    }
}

/* Reads the head of the page at s->at; returns its bytes, 0 on failure. */
static int64_t read_head(struct scanning *s, int64_t left, struct page *page)
{
    const unsigned char *at;
    int64_t *const places[] = {NULL, &page->type, &page->plain, &page->packed};
    /* Most heads are short; those with long statistics are read a second time. */
    for (int64_t n = left < 4096 ? left : 4096;; n = left) {
        if (!view(s, s->at, n, &at))
            return 0;
        struct thrift in = {at, at + n, false};
        struct thrift_field field = {0};
        *page = (struct page){.type = -1,
                              .plain = -1,
                              .packed = -1,
                              .values = -1,
                              .encoding = -1,
                              .is_packed = true,
                              .definition_as = PARQUET_RLE,
                              .repetition_as = PARQUET_RLE};
        while (thrift_next(&in, &field))
            if (field.id >= 5 && field.id <= 8 && field.type == THRIFT_STRUCT)
                read_inner(&in, page);
            else
                thrift_take(&in, &field, places, 4);
        if (!in.broken && page->packed >= 0 && page->packed <= left - (in.at - at) && page->plain >= 0)
            return in.at - at;
        if (!in.broken || n == left) {
            wrong(s, "its head is damaged, or it is longer than its column");
            return 0;
        }
    }
}

/* Unpacks from..from+n into exactly `size` bytes; *at gets where they are. */
static bool unpack(struct scanning *s, const unsigned char *from, size_t n, int64_t size, bool packed,
                   const unsigned char **at)
{
    static const enum dataset_compression codecs[] = {
        [PARQUET_SNAPPY] = DATASET_SNAPPY, [PARQUET_GZIP] = DATASET_GZIP, [PARQUET_ZSTD] = DATASET_ZSTD};
    int codec = packed ? s->chunk->codec : PARQUET_PLAIN_CODEC;
    struct error why;
    *at = from;
    if (codec == PARQUET_PLAIN_CODEC)
        return (int64_t)n == size || wrong(s, "its plain and its stored bytes differ in number");
    if (codec < 0 || codec > PARQUET_ZSTD || codecs[codec] == DATASET_NONE)
        return error_set(
            s->err, ERROR_INPUT,
            "%s: column '%s': codec %s (%d) of Parquet is not read: write it with none, snappy, gzip or zstd",
            s->scan->path, s->leaf->name, name_of(codec_names, codec), codec);
    if (size > MAX_PAGE)
        return wrong(s, "it has more than 1 GiB");
    if (!have_room(s, &s->unpacked, (size_t)size))
        return false;
    *at = s->unpacked.bytes;
    if (size == 0 || dataset_codec_unpack(codecs[codec], from, n, s->unpacked.bytes, (size_t)size, &why))
        return true;
    return why.kind == ERROR_INPUT
               ? wrong(s, why.text)
               : error_set(s->err, why.kind, "%s: column '%s': %s", s->scan->path, s->leaf->name, why.text);
}

/* Takes levels with their length in front from *from..*from+*n. */
static bool take_levels(const unsigned char **from, size_t *n, const unsigned char **levels, size_t *length)
{
    if (*n < 4 || *n - 4 < dataset_little(*from, 4))
        return false;
    *length = (size_t)dataset_little(*from, 4);
    *levels = *from + 4;
    *from += 4 + *length;
    *n -= 4 + *length;
    return true;
}

/* Finds the values of a data page, and how many are not null (*present). */
static bool open_page(struct scanning *s, const struct page *page, const unsigned char *raw,
                      const unsigned char **from, size_t *n, int64_t *present)
{
    const struct parquet_leaf *leaf = s->leaf;
    const unsigned char *levels = raw;
    size_t length = 0;
    if (page->type == PARQUET_DATA_2) {
        int64_t skip = page->repetitions + page->definitions;
        if (page->repetitions < 0 || page->definitions < 0 || skip > page->packed || skip > page->plain)
            return wrong(s, "levels longer than it");
        if (!unpack(s, raw + skip, (size_t)(page->packed - skip), page->plain - skip, page->is_packed, from))
            return false;
        *n = (size_t)(page->plain - skip);
        levels = raw + page->repetitions;
        length = (size_t)page->definitions;
    } else {
        if (!unpack(s, raw, (size_t)page->packed, page->plain, true, from))
            return false;
        *n = (size_t)page->plain;
        if ((leaf->repetition > 0 && page->repetition_as != PARQUET_RLE) ||
            (leaf->definition > 0 && page->definition_as != PARQUET_RLE))
            return wrong(s, "levels in the old packed encoding, which is not read");
        if ((leaf->repetition > 0 && !take_levels(from, n, &levels, &length)) ||
            (leaf->definition > 0 && !take_levels(from, n, &levels, &length)))
            return wrong(s, "levels longer than it");
    }
    *present =
        leaf->definition > 0 ? count_levels(levels, length, page->values, leaf->definition) : page->values;
    return *present >= 0 || wrong(s, "it ends within its levels");
}

static bool decode_page(struct scanning *s, const struct page *page, const unsigned char *raw,
                        int64_t *present)
{
    const unsigned char *from;
    size_t n = 0;
    s->length = 0;
    if (page->type == PARQUET_DICTIONARY) {
        *present = -1;
        return unpack(s, raw, (size_t)page->packed, page->plain, true, &from) &&
               keep_dictionary(s, from, (size_t)page->plain, page->values);
    }
    if (!open_page(s, page, raw, &from, &n, present))
        return false;
    if (page->encoding == PARQUET_PLAIN)
        return decode_plain(s, from, n, *present);
    if (page->encoding == PARQUET_PLAIN_DICTIONARY || page->encoding == PARQUET_RLE_DICTIONARY)
        return decode_indices(s, from, n, *present);
    if (page->encoding == PARQUET_RLE && s->leaf->type == PARQUET_BOOLEAN)
        return decode_bits(s, from, n, *present);
    return error_set(s->err, ERROR_INPUT,
                     "%s: column '%s': encoding %s (%" PRId64
                     ") of Parquet is not read: write it plain or with a dictionary",
                     s->scan->path, s->leaf->name, name_of(encoding_names, page->encoding), page->encoding);
}

static bool take_page(struct scanning *s, int64_t present)
{
    const struct dataset_values values = {.unit = s->group,
                                          .column = s->column,
                                          .name = s->leaf->name,
                                          .first = s->first,
                                          .count = present,
                                          .bytes = s->decoded.bytes,
                                          .length = s->length};
    s->first += present;
    return present == 0 || !s->scan->take || s->scan->take(s->scan->context, &values, s->err);
}

static bool scan_chunk(struct scanning *s)
{
    int64_t end = s->chunk->offset + s->chunk->bytes, values = 0;
    struct page page;
    s->entries = -1;
    s->first = 0;
    for (s->at = s->chunk->offset; s->at < end && values < s->chunk->values;) {
        const unsigned char *raw;
        int64_t present = -1, head = read_head(s, end - s->at, &page);
        if (head == 0 || !view(s, s->at + head, page.packed, &raw))
            return false;
        if (page.type != PARQUET_INDEX_PAGE) {
            bool known =
                page.type == PARQUET_DATA || page.type == PARQUET_DATA_2 || page.type == PARQUET_DICTIONARY;
            if (!known || page.values < 0 || page.values > MAX_VALUES)
                return wrong(s, known ? "more than 67 million values" : "of no known kind");
            int64_t start = clock_read(CLOCK_THREAD_CPUTIME_ID);
            bool decoded = decode_page(s, &page, raw, &present);
            s->scan->cpu += clock_read(CLOCK_THREAD_CPUTIME_ID) - start;
            if (!decoded || (present >= 0 && !take_page(s, present)))
                return false;
            values += present >= 0 ? page.values : 0;
        }
        s->at += head + page.packed;
    }
    return values == s->chunk->values ||
           wrong(s, "its pages have other numbers of values than its footer says");
}

/* Returns how far the chunks that are read reach from this one on, without a larger gap. */
static int64_t reach(const struct scanning *s)
{
    int64_t end = s->chunk->offset + s->chunk->bytes;
    for (int i = s->column + 1; i < s->parquet->leaf_count; i++) {
        const struct parquet_chunk *next = s->chunk + (i - s->column);
        if (!s->parquet->leaves[i].read)
            continue;
        if (next->offset < end || next->offset > end + NEAR)
            break;
        end = next->offset + next->bytes;
    }
    return end;
}

bool parquet_scan(const struct dataset_index *index, int64_t unit, struct dataset_scan *scan,
                  struct error *err)
{
    struct scanning s = {.parquet = index->detail, .scan = scan, .err = err, .group = unit};
    bool done = true;
    for (int i = 0; i < s.parquet->leaf_count && done; i++) {
        s.column = i;
        s.leaf = &s.parquet->leaves[i];
        s.chunk = &s.parquet->chunks[unit * s.parquet->leaf_count + i];
        if (!s.leaf->read)
            continue;
        s.limit = reach(&s);
        done = scan_chunk(&s);
    }
    free(s.window.bytes);
    free(s.unpacked.bytes);
    free(s.decoded.bytes);
    free(s.dictionary.bytes);
    free(s.entry_at);
    return done;
}
