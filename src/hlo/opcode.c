#include "hlo/opcode.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned traits;
} opcodes[] = {
#define X(enumerator, text, traits) {text, traits},
    HLO_OPCODES(X)
#undef X
};

const char *hlo_opcode_name(enum hlo_opcode opcode)
{
    return opcodes[opcode].name;
}

unsigned hlo_opcode_traits(enum hlo_opcode opcode)
{
    return opcodes[opcode].traits;
}

/* The list is in alphabetical order. */
enum hlo_opcode hlo_opcode_find(const char *text, size_t length)
{
    int low = 0, high = HLO_OPCODE_COUNT;
    while (low < high) {
        int middle = (low + high) / 2;
        const char *name = opcodes[middle].name;
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
