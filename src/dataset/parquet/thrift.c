#include "dataset/parquet/thrift.h"

#include <string.h>

void thrift_put_varint(struct text *to, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    for (; value >= 128; value >>= 7)
        bytes[n++] = (char)(value | 128);
    bytes[n++] = (char)value;
    text_add_bytes(to, bytes, n);
}

void thrift_put_item(struct text *to, int64_t value)
{
    thrift_put_varint(to, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void thrift_put_field(struct text *to, int *last, int field, enum thrift_type type)
{
    /* Parquet's fields are at most 15 after one another, so that the long form is never written. */
    char head = (char)((field - *last) << 4 | (int)type);
    text_add_bytes(to, &head, 1);
    *last = field;
}

void thrift_put_number(struct text *to, int *last, int field, enum thrift_type type, int64_t value)
{
    thrift_put_field(to, last, field, type);
    thrift_put_item(to, value);
}

void thrift_put_item_text(struct text *to, const char *text)
{
    thrift_put_varint(to, strlen(text));
    text_add(to, text);
}

void thrift_put_text(struct text *to, int *last, int field, const char *value)
{
    thrift_put_field(to, last, field, THRIFT_BINARY);
    thrift_put_item_text(to, value);
}

void thrift_put_list(struct text *to, int *last, int field, enum thrift_type type, size_t count)
{
    thrift_put_field(to, last, field, THRIFT_LIST);
    char head = (char)((count < 15 ? count : 15) << 4 | (unsigned)type);
    text_add_bytes(to, &head, 1);
    if (count >= 15)
        thrift_put_varint(to, count);
}

void thrift_put_stop(struct text *to)
{
    text_add_bytes(to, "", 1);
}

static unsigned take(struct thrift *in)
{
    if (in->at < in->end && !in->broken)
        return *in->at++;
    in->broken = true;
    return 0;
}

static uint64_t varint(struct thrift *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned byte = take(in);
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return in->broken ? 0 : value;
    }
    in->broken = true;
    return 0;
}

static int64_t zigzag(struct thrift *in)
{
    uint64_t value = varint(in);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

bool thrift_next(struct thrift *in, struct thrift_field *field)
{
    unsigned head = take(in), delta = head >> 4;
    if (in->broken || head == THRIFT_STOP)
        return false;
    int64_t id = delta > 0 ? field->id + (int64_t)delta : zigzag(in);
    field->type = head & 15;
    if (id < 1 || id > INT16_MAX || field->type == THRIFT_STOP || field->type > THRIFT_STRUCT)
        in->broken = true;
    field->id = in->broken ? 0 : (int)id;
    return !in->broken;
}

int64_t thrift_number(struct thrift *in, enum thrift_type type)
{
    if (type == THRIFT_TRUE || type == THRIFT_FALSE)
        return type == THRIFT_TRUE;
    if (type == THRIFT_I8)
        return (int8_t)take(in);
    if (type < THRIFT_I16 || type > THRIFT_I64)
        in->broken = true;
    return in->broken ? 0 : zigzag(in);
}

const unsigned char *thrift_bytes(struct thrift *in, enum thrift_type type, size_t *length)
{
    uint64_t n = type == THRIFT_BINARY ? varint(in) : 0;
    const unsigned char *bytes = in->at;
    if (type != THRIFT_BINARY || n > (size_t)(in->end - in->at))
        in->broken = true;
    *length = in->broken ? 0 : (size_t)n;
    in->at += *length;
    return bytes;
}

size_t thrift_list(struct thrift *in, enum thrift_type type, enum thrift_type *item)
{
    unsigned head = type == THRIFT_LIST || type == THRIFT_SET ? take(in) : 0;
    uint64_t count = head >> 4 == 15 ? varint(in) : head >> 4;
    *item = head & 15;
    if (head == 0 || *item == THRIFT_STOP || *item > THRIFT_STRUCT || count > (size_t)(in->end - in->at))
        in->broken = true;
    return in->broken ? 0 : (size_t)count;
}

static void skip(struct thrift *in, enum thrift_type type, bool item, int depth)
{
    struct thrift_field field = {0};
    enum thrift_type inner;
    size_t n;
    if (depth == THRIFT_DEPTH)
        in->broken = true;
    if (in->broken)
        return;
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE: /* of a field, the value is in its head */
        if (item)
            take(in);
        break;
    case THRIFT_I8:
        take(in);
        break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        varint(in);
        break;
    case THRIFT_DOUBLE:
        for (int i = 0; i < 8; i++)
            take(in);
        break;
    case THRIFT_BINARY:
        thrift_bytes(in, type, &n);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
        n = thrift_list(in, type, &inner);
        while (n-- > 0 && !in->broken)
            skip(in, inner, true, depth + 1);
        break;
    case THRIFT_STRUCT:
        while (thrift_next(in, &field))
            skip(in, field.type, false, depth + 1);
        break;
    default: /* Parquet has no maps */
        in->broken = true;
    }
}

void thrift_skip(struct thrift *in, enum thrift_type type)
{
    skip(in, type, false, 0);
}

void thrift_take(struct thrift *in, const struct thrift_field *field, int64_t *const *places, int count)
{
    int64_t *place = field->id < count ? places[field->id] : NULL;
    if (place)
        *place = thrift_number(in, field->type);
    else
        thrift_skip(in, field->type);
}
