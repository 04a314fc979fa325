/* The files of an Oobleck folder, one after the other with a NUL between them: mb1.json,
 * allreduce_in_node.json, allreduce_across_nodes.json, model_args.json. Files that are missing at the end are
 * not there. */
#include "model/oobleck.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oobleck_text texts[OOBLECK_FILE_COUNT] = {{NULL, 0}};
    struct profile profile;
    struct error err;
    const char *rest = (const char *)data;
    size_t left = size;
    texts[OOBLECK_TIMES] = (struct oobleck_text){"", 0};
    for (int file = 0; file < OOBLECK_FILE_COUNT && left > 0; file++) {
        size_t length = strnlen(rest, left);
        texts[file] = (struct oobleck_text){rest, length};
        length += length < left; /* the NUL */
        rest += length;
        left -= length;
    }
    if (oobleck_parse(&profile, "fuzz", texts, 1, &err))
        profile_release(&profile);
    return 0;
}
