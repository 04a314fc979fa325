/* Fields of protobuf messages: the wire format of https://protobuf.dev/programming-guides/encoding, as far as execution
 * traces and XLA's profiles need it. */
#ifndef REHEARSE_SIM_CHAKRA_WIRE_H
#define REHEARSE_SIM_CHAKRA_WIRE_H

#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;    /* of a number; the bits of a fixed one */
    const char *bytes; /* of WIRE_BYTES */
    size_t length;
};

/* Reads a number of at most ten bytes from [*at, end). False: it is cut off, or too long. */
bool wire_varint(const char **at, const char *end, uint64_t *value);

/* Reads the next field and moves *at behind it. False: the message is damaged. Call it while *at < end. */
bool wire_next(const char **at, const char *end, struct wire_field *field);

#endif
