#include "feed/origin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const origin_names[] = {"unknown", "objects", "direct", "process", "cache", "memory"};

const char *origin_words(enum origin_evidence evidence)
{
    static const char *const words[] = {
        "this file system does not report where bytes come from",
        "objects over the network",
        "O_DIRECT bypasses the page cache",
        "device reads of this process",
        "page-cache misses",
        "an in-memory file system",
    };
    return words[evidence];
}

enum origin_evidence origin_evidence_of(const struct storage_options *storage, enum storage_backing backing,
                                        bool counts)
{
    if (storage->method == STORAGE_S3)
        return ORIGIN_OBJECTS;
    if (backing == STORAGE_BACKING_MEMORY)
        return ORIGIN_MEMORY;
    if (backing == STORAGE_BACKING_HIDDEN)
        return ORIGIN_UNKNOWN;
    if (backing == STORAGE_BACKING_DEVICE && counts)
        return ORIGIN_PROCESS;
    return storage->direct ? ORIGIN_DIRECT : ORIGIN_CACHE;
}

/* Finds the facts of the path, or of its nearest existing parent. */
static bool find_facts(char *path, struct storage_facts *facts, struct error *err)
{
    bool found = storage_facts(path, facts, err);
    for (char *slash; !found && !error_is_memory(err) && (slash = strrchr(path, '/')) && slash > path;) {
        *slash = '\0';
        found = storage_facts(path, facts, err);
    }
    if (!found && !error_is_memory(err))
        found = storage_facts(path[0] == '/' ? "/" : ".", facts, err);
    return found;
}

bool origin_evidence_for(const struct storage *storage, enum origin_evidence *evidence, struct error *err)
{
    const struct storage_options *options = storage_options(storage);
    struct storage_facts facts = {0};
    int64_t bytes;
    bool known = options->method == STORAGE_S3;
    if (!known) {
        char *path = storage_path(storage, ".", err);
        known = path && find_facts(path, &facts, err);
        free(path);
        if (!known && error_is_memory(err))
            return false;
    }
    *evidence = origin_evidence_of(options, known ? facts.backing : STORAGE_BACKING_HIDDEN,
                                   storage_process_read(&bytes));
    return true;
}

void origin_add(struct origin_count *sum, const struct origin_count *count)
{
    sum->delivered += count->delivered;
    sum->read = sum->read < 0 || count->read < 0 ? -1 : sum->read + count->read;
    sum->size += count->size;
    sum->resident = sum->resident < 0 || count->resident < 0 ? -1 : sum->resident + count->resident;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t origin_needed(const struct origin_count *count)
{
    return count->size > 0 ? smaller(count->delivered, count->size) : count->delivered;
}

/* Returns the needed bytes that were not in memory; -1: unknown. */
static int64_t not_resident(const struct origin_count *count)
{
    if (count->resident < 0 || count->size <= 0)
        return -1;
    double share = 1.0 - (double)smaller(count->resident, count->size) / (double)count->size;
    return (int64_t)llround((double)origin_needed(count) * share);
}

int64_t origin_from_storage(enum origin_evidence evidence, const struct origin_count *count)
{
    int64_t needed = origin_needed(count), read = smaller(count->read, needed), cold;
    switch (evidence) {
    case ORIGIN_OBJECTS:
    case ORIGIN_DIRECT:
        return needed;
    case ORIGIN_PROCESS:
        return read;
    case ORIGIN_CACHE:
        cold = not_resident(count);
        if (cold < 0 && read <= 0) /* a server's bytes need not be counted as a device's */
            return -1;
        return cold > read ? cold : read;
    case ORIGIN_MEMORY:
        return 0;
    default:
        return -1;
    }
}

/* Orders evidence from strong to weak, with unknown last. */
static int weight(enum origin_evidence evidence)
{
    return evidence == ORIGIN_UNKNOWN ? ORIGIN_MEMORY + 1 : (int)evidence;
}

void origin_sum(struct origin *origin, enum origin_evidence evidence, const struct origin_count *count)
{
    bool first = origin->needed == 0 && origin->delivered == 0;
    int64_t from = origin_from_storage(evidence, count);
    if (count->delivered == 0)
        return;
    if (first || weight(evidence) > weight(origin->evidence))
        origin->evidence = evidence;
    origin->delivered += count->delivered;
    origin->needed += origin_needed(count);
    origin->from_storage = origin->from_storage < 0 || from < 0 ? -1 : origin->from_storage + from;
}

double origin_share(const struct origin *origin)
{
    if (origin->needed <= 0 || origin->from_storage < 0)
        return (double)NAN;
    return (double)origin->from_storage / (double)origin->needed;
}

bool origin_is_cold(const struct origin *origin)
{
    return origin->needed == 0 || origin_share(origin) >= ORIGIN_COLD;
}
