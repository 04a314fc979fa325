#include "hlo/opcode.h"

#include <string.h>

const struct hlo_operation hlo_operations[HLO_OPCODE_COUNT] = {
#define X(enumerator, text, class, min, max, lanes, traits) {text, OP_##class, min, max, lanes, traits},
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
        int order = strncmp(name, text, length);
        if (order == 0 && name[length] == '\0')
            return (enum hlo_opcode)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return HLO_OPCODE_COUNT;
}
