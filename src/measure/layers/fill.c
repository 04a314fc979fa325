#include "measure/layers/fill.h"

#include "core/random.h"

#include <math.h>
#include <string.h>

/* Returns a number in [-1, 1) with at least `least` in size. */
static double number_of(uint64_t bits)
{
    double value = 2.0 * random_fraction(bits) - 1.0;
    return fabs(value) < 1e-3 ? copysign(1e-3, value) : value;
}

static uint16_t bf16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Of a number of at least 2^-14 and less than 2 in size. */
static uint16_t f16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
    return (uint16_t)((bits >> 16 & 0x8000) | (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff));
}

/* A number of 8 bits or fewer. Without its largest exponent bit a float is below 2 and no infinity; one that is nothing
 * but an exponent is a power of two from 1/8 to 1. */
static uint8_t narrow_of(enum hlo_type type, uint64_t bits)
{
    if (type == HLO_TYPE_F8E8M0FNU)
        return (uint8_t)(124 + bits % 4);
    if (type == HLO_TYPE_S8 || type == HLO_TYPE_U8)
        return (uint8_t)(bits & 0x7f);
    if (hlo_type_bits(type) == 8 && hlo_type_is_float(type))
        return (uint8_t)(bits & 0xbf);
    return (uint8_t)(bits & 1);
}

static void fill_one(void *at, enum hlo_type type, size_t size, uint64_t bits)
{
    double real = number_of(bits);
    float single = (float)real;
    uint64_t whole = bits >> 32 & (FILL_MAX_INDEX - 1);
    uint16_t half = type == HLO_TYPE_BF16 ? bf16_of(single) : type == HLO_TYPE_F16 ? f16_of(single) : 0;
    if (size == 1)
        *(uint8_t *)at = narrow_of(type, bits);
    else if (type == HLO_TYPE_F64)
        memcpy(at, &real, size);
    else if (type == HLO_TYPE_F32)
        memcpy(at, &single, size);
    else if (half != 0)
        memcpy(at, &half, size);
    else
        memcpy(at, &whole,
               size <= sizeof whole ? size : sizeof whole); /* little-endian, as all hosts of PJRT are */
}

void fill_random(void *data, const struct hlo_shape *shape, uint64_t seed)
{
    enum hlo_type type = hlo_type_real(shape->type);
    int64_t elements = hlo_elements(shape), bytes = hlo_leaf_bytes(shape);
    if (elements < 1)
        return;
    int64_t parts = type != shape->type ? 2 * elements : elements;
    size_t size = (size_t)(bytes / parts);
    for (int64_t i = 0; i < parts; i++)
        fill_one((char *)data + (size_t)i * size, type, size, random_mix(seed + (uint64_t)i * RANDOM_GOLDEN));
}
