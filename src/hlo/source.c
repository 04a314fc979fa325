#include "hlo/source.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The pages that lie wholly in this part. */
static void give_back(const char *from, const char *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)from + page - 1) / page * page, last = (uintptr_t)to / page * page;
    if (first < last)
        (void)madvise((void *)first, last - first, MADV_DONTNEED);
}

const char *hlo_seek(const struct hlo_source *source, const char *from, const char *end, char c)
{
    while (from < end) {
        size_t length = (size_t)(end - from) < HLO_WINDOW ? (size_t)(end - from) : HLO_WINDOW;
        const char *found = memchr(from, c, length);
        if (found)
            return found;
        if (source->mapped && length == HLO_WINDOW)
            give_back(from, from + length);
        from += length;
    }
    return NULL;
}

void hlo_give_back(struct hlo_source *source, const char *at)
{
    if (!source->mapped || at < source->kept || (size_t)(at - source->kept) < HLO_WINDOW)
        return;
    give_back(source->kept, at);
    source->kept = at;
}
