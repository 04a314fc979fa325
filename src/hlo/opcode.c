#include "hlo/opcode.h"

#include <string.h>

const struct hlo_operation hlo_operations[HLO_OPCODE_COUNT] = {
#define X(enumerator, text, class, min, max, lanes, traits, rule) {text, OP_##class, min, max, lanes, traits},
    HLO_OPCODES(X)
#undef X
};

/* The list is in alphabetical order. */
enum hlo_opcode hlo_opcode_find(const char *text, size_t length)
{
    int low = 0, high = HLO_OPCODE_COUNT;
    while (low < high) {
        int middle = (low + high) / 2;
        const char *name = hlo_operations[middle].name;
        size_t end = strlen(name); /* a text may hold zeros */
        int order = memcmp(name, text, end < length ? end : length);
        if (order == 0 && end == length)
            return (enum hlo_opcode)middle;
        if (order < 0 || (order == 0 && end < length))
            low = middle + 1;
        else
            high = middle;
    }
    return HLO_OPCODE_COUNT;
}
