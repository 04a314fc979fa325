/* YAML into a document. */
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse_and_walk(DOC_YAML, "fuzz.yaml", (const char *)data, size);
    return 0;
}
