#include "dataset/format/numpy.h"

#include "core/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALIGNMENT 64
#define GROWTH    21 /* digits for which room is left, so that the first dimension can grow in place */
#define PREFIX    10 /* magic, version, length of what follows */

static const char magic[6] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y'};

static const char *const descriptions[DATASET_ELEMENTS] = {
    [DATASET_UINT8] = "|u1",   [DATASET_INT8] = "|i1",    [DATASET_UINT16] = "<u2",  [DATASET_INT16] = "<i2",
    [DATASET_UINT32] = "<u4",  [DATASET_INT32] = "<i4",   [DATASET_UINT64] = "<u8",  [DATASET_INT64] = "<i8",
    [DATASET_FLOAT16] = "<f2", [DATASET_FLOAT32] = "<f4", [DATASET_FLOAT64] = "<f8",
};

void numpy_header_write(struct numpy_array *array)
{
    char *to = array->header, *text = to + PREFIX;
    size_t room = NUMPY_MAX_HEADER - PREFIX;
    size_t n = (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                descriptions[array->element]);
    for (int i = 0; i < array->dims_count; i++)
        n += (size_t)snprintf(text + n, room - n, i ? ", %" PRId64 : "%" PRId64, array->dims[i]);
    n += (size_t)snprintf(text + n, room - n, array->dims_count == 1 ? ",), }" : "), }");
    if (array->dims_count > 0)
        n += (size_t)(GROWTH - snprintf(NULL, 0, "%" PRId64, array->dims[0]));
    size_t used = PREFIX + strlen(text);
    size_t total = (PREFIX + n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(to + used, ' ', total - used);
    to[total - 1] = '\n';
    memcpy(to, magic, sizeof magic);
    to[6] = 1;
    to[7] = 0;
    to[8] = (char)((total - PREFIX) & 0xff);
    to[9] = (char)((total - PREFIX) >> 8);
    array->header_bytes = (int64_t)total;
}

/* The header's text: a literal of Python with three keys in any order. */
struct scan {
    const char *path;
    const char *at, *end;
    struct error *err;
};

static bool wrong(const struct scan *scan, const char *what)
{
    return error_set(scan->err, ERROR_INPUT, "%s: %s in the header of a numpy array", scan->path, what);
}

/* Returns whether Python takes it for a blank: a vertical tab is none. */
static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static char peek(struct scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool take(struct scan *scan, char c)
{
    if (peek(scan) != c)
        return false;
    scan->at++;
    return true;
}

/* Takes a string in quotes of either kind; false if there is none. */
static bool take_string(struct scan *scan, const char **text, size_t *length)
{
    char quote = peek(scan);
    if (quote != '\'' && quote != '"')
        return false;
    *text = scan->at + 1;
    const char *close = memchr(*text, quote, (size_t)(scan->end - *text));
    if (!close)
        return false;
    *length = (size_t)(close - *text);
    scan->at = close + 1;
    return true;
}

static bool take_word(struct scan *scan, const char *word)
{
    size_t length = strlen(word);
    peek(scan);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

static bool scan_description(struct scan *scan, struct numpy_array *array)
{
    const char *text;
    size_t length;
    if (!take_string(scan, &text, &length))
        return wrong(scan, "expected a plain type");
    for (int i = 0; i < DATASET_ELEMENTS; i++) {
        if (length == 3 && memcmp(text, descriptions[i], 3) == 0) {
            array->element = (enum dataset_element)i;
            return true;
        }
    }
    return error_set(scan->err, ERROR_INPUT, "%s: expected little-endian numbers, found type '%.*s'",
                     scan->path, (int)(length < 40 ? length : 40), text);
}

static bool scan_dimension(struct scan *scan, int64_t *value)
{
    *value = 0;
    if (!isdigit((unsigned char)peek(scan)))
        return wrong(scan, "expected a dimension");
    if (*scan->at == '0' && scan->end - scan->at > 1 && isdigit((unsigned char)scan->at[1]))
        return wrong(scan, "a dimension that begins with 0");
    for (; scan->at < scan->end && isdigit((unsigned char)*scan->at); scan->at++) {
        if (*value > INT64_MAX / 16)
            return wrong(scan, "a dimension over the limit");
        *value = 10 * *value + (*scan->at - '0');
    }
    return true;
}

static bool scan_shape(struct scan *scan, struct numpy_array *array)
{
    if (!take(scan, '('))
        return wrong(scan, "expected a shape");
    array->dims_count = 0;
    while (!take(scan, ')')) {
        if (array->dims_count > DATASET_MAX_DIMS)
            return wrong(scan, "more dimensions than are supported");
        if (!scan_dimension(scan, &array->dims[array->dims_count++]))
            return false;
        if (!take(scan, ',') && (peek(scan) != ')' || array->dims_count == 1))
            return wrong(scan, array->dims_count == 1 ? "expected ','" : "expected ')'");
    }
    return true;
}

static bool scan_value(struct scan *scan, const char *key, size_t length, struct numpy_array *array,
                       int *seen)
{
    if (length == 5 && memcmp(key, "descr", 5) == 0) {
        *seen |= 1;
        return scan_description(scan, array);
    }
    if (length == 5 && memcmp(key, "shape", 5) == 0) {
        *seen |= 2;
        return scan_shape(scan, array);
    }
    if (length == 13 && memcmp(key, "fortran_order", 13) == 0) {
        *seen |= 4;
        return take_word(scan, "False") || wrong(scan, "expected rows first ('fortran_order': False)");
    }
    return wrong(scan, "an unknown key");
}

static bool scan_map(struct scan *scan, struct numpy_array *array)
{
    int seen = 0;
    if (!take(scan, '{'))
        return wrong(scan, "expected '{'");
    while (!take(scan, '}')) {
        const char *key;
        size_t length;
        if (!take_string(scan, &key, &length) || !take(scan, ':'))
            return wrong(scan, "expected a key");
        if (!scan_value(scan, key, length, array, &seen))
            return false;
        if (!take(scan, ',') && peek(scan) != '}')
            return wrong(scan, "expected '}'");
    }
    if (peek(scan) != '\0' || scan->at < scan->end)
        return wrong(scan, "unexpected text after '}'");
    return seen == 7 ? true : wrong(scan, "missing keys");
}

static bool count_bytes(struct numpy_array *array, const struct scan *scan)
{
    array->bytes = dataset_element_bytes(array->element);
    for (int i = 0; i < array->dims_count; i++) {
        if (array->dims[i] > 0 && array->bytes > ((int64_t)1 << 56) / array->dims[i])
            return wrong(scan, "more elements than are supported");
        array->bytes *= array->dims[i];
    }
    return true;
}

bool numpy_header_read(struct numpy_array *array, const char *path, const char *bytes, size_t length,
                       struct error *err)
{
    struct scan scan = {.path = path, .at = bytes, .end = bytes, .err = err};
    const unsigned char *b = (const unsigned char *)bytes;
    *array = (struct numpy_array){0};
    if (length < PREFIX || memcmp(bytes, magic, sizeof magic) != 0)
        return error_set(err, ERROR_INPUT, "%s: not a numpy array: it does not begin with \\x93NUMPY", path);
    size_t prefix = b[6] == 1 ? PREFIX : 12;
    if (b[6] < 1 || b[6] > 3 || b[7] != 0 || length < prefix)
        return wrong(&scan, "expected version 1, 2 or 3");
    size_t text = b[8] | (size_t)b[9] << 8;
    if (prefix == 12)
        text |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (text > length - prefix)
        return wrong(&scan, "an end of the file");
    scan.at = bytes + prefix;
    scan.end = scan.at + text;
    array->header_bytes = (int64_t)(prefix + text);
    return scan_map(&scan, array) && count_bytes(array, &scan);
}
