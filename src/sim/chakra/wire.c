#include "sim/chakra/wire.h"

bool wire_varint(const char **at, const char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint64_t byte = (unsigned char)*(*at)++;
        *value |= (byte & 127) << shift;
        if (byte < 128)
            return shift < 63 || byte < 2; /* 64 bits are nine times seven, and one */
    }
    return false;
}

static bool take_fixed(const char **at, const char *end, int size, uint64_t *value)
{
    *value = 0;
    if (end - *at < size)
        return false;
    for (int i = 0; i < size; i++)
        *value |= (uint64_t)(unsigned char)*(*at)++ << (8 * i);
    return true;
}

bool wire_next(const char **at, const char *end, struct wire_field *field)
{
    uint64_t key, length;
    if (!wire_varint(at, end, &key) || key >> 3 == 0 || key >> 3 > 536870911)
        return false;
    *field = (struct wire_field){.number = (uint32_t)(key >> 3), .type = (enum wire_type)(key & 7)};
    switch (key & 7) {
    case WIRE_VARINT:
        return wire_varint(at, end, &field->value);
    case WIRE_FIXED64:
        return take_fixed(at, end, 8, &field->value);
    case WIRE_FIXED32:
        return take_fixed(at, end, 4, &field->value);
    case WIRE_BYTES:
        if (!wire_varint(at, end, &length) || length > (uint64_t)(end - *at))
            return false;
        field->bytes = *at;
        field->length = (size_t)length;
        *at += length;
        return true;
    default:
        return false; /* groups, which no version of the format has */
    }
}

void wire_add_varint(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    for (; value >= 128; value >>= 7)
        bytes[count++] = (char)(value | 128);
    bytes[count++] = (char)value;
    text_add_bytes(out, bytes, count);
}

void wire_add_number(struct text *out, uint32_t number, uint64_t value)
{
    wire_add_varint(out, (uint64_t)number << 3 | WIRE_VARINT);
    wire_add_varint(out, value);
}

void wire_add_bytes(struct text *out, uint32_t number, const char *bytes, size_t length)
{
    wire_add_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
    wire_add_varint(out, length);
    text_add_bytes(out, bytes, length);
}
