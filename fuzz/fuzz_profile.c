/* rehearse-profile/1: what reads must also write, and read back as the same text. */
#include "model/profile.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct profile *profile)
{
    struct text first = {0};
    struct text second = {0};
    struct profile again;
    struct error err;
    profile_write_json(profile, &(struct json){.out = &first});
    if (!profile_parse(&again, "again.json", first.data, first.length, &err))
        abort();
    profile_write_json(&again, &(struct json){.out = &second});
    if (first.length != second.length || memcmp(first.data, second.data, first.length) != 0)
        abort();
    profile_release(&again);
    text_release(&first);
    text_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile profile;
    struct text table = {0};
    struct error err;
    if (!profile_parse(&profile, "fuzz.json", (const char *)data, size, &err))
        return 0;
    check_round_trip(&profile);
    profile_print(&profile, &table);
    text_release(&table);
    profile_release(&profile);
    return 0;
}
