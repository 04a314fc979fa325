/* The origin of delivered bytes: the storage, or this host's memory.
 *
 * Kinds of evidence, the best first:
 *   objects   they come over the network, whatever the server remembers
 *   direct    O_DIRECT goes around the page cache
 *   process   on a block device: the kernel's count of this process's device reads, without other processes'
 *            reads or page-cache hits
 *   cache     elsewhere (networks, FUSE, overlays, compressing file systems): the bytes outside the page
 *            cache before the read, or the process's own count if larger
 *   memory    the file system is memory
 *   unknown   the file system has a cache that cannot be inspected (ZFS), or this user may not inspect it
 *
 * None of them sees the cache of a server, of a virtual machine's host or of a disk. */
#ifndef REHEARSE_FEED_ORIGIN_H
#define REHEARSE_FEED_ORIGIN_H

#include "storage/facts.h"
#include "storage/storage.h"

enum origin_evidence {
    ORIGIN_UNKNOWN,
    ORIGIN_OBJECTS,
    ORIGIN_DIRECT,
    ORIGIN_PROCESS,
    ORIGIN_CACHE,
    ORIGIN_MEMORY,
};

/* Return the name in results ("process"), and words for people ("as this program made the device read"). */
extern const char *const origin_names[];
const char *origin_words(enum origin_evidence evidence);

/* Returns the evidence. `counts`: the kernel counts a process's reads (storage_process_read). */
enum origin_evidence origin_evidence_of(const struct storage_options *storage, enum storage_backing backing,
                                        bool counts);

/* Does the same for a storage's root, or its nearest existing parent. False: no memory. */
bool origin_evidence_for(const struct storage *storage, enum origin_evidence *evidence, struct error *err);

/* One reading of files, by one process or all processes of a host. */
struct origin_count {
    int64_t delivered; /* bytes, counted once per read */
    int64_t read;      /* by the device for these processes meanwhile; -1: unknown */
    int64_t size;      /* of the files; 0: unknown */
    int64_t resident;  /* bytes of `size` in the page cache at the beginning; -1: unknown */
};

/* Adds the count of another process of the host; an unknown value makes the sum unknown. */
void origin_add(struct origin_count *sum, const struct origin_count *count);

/* Returns the distinct bytes that were read; a repeated read counts once. */
int64_t origin_needed(const struct origin_count *count);

/* Returns the part of them that came from the storage; -1: unknown. */
int64_t origin_from_storage(enum origin_evidence evidence, const struct origin_count *count);

/* The sum over all readings and hosts. */
struct origin {
    enum origin_evidence evidence;
    int64_t delivered, needed;
    int64_t from_storage; /* part of `needed`; -1: unknown */
};

/* Adds one reading of one host, and keeps the weaker evidence. */
void origin_sum(struct origin *origin, enum origin_evidence evidence, const struct origin_count *count);

/* Returns 0..1; NaN: unknown, or nothing was needed. */
double origin_share(const struct origin *origin);

/* Below this share the run measured memory. Files read only in part lie above it. */
#define ORIGIN_COLD 0.95

/* Returns true if the share is at least ORIGIN_COLD or no bytes were needed; false if unknown. */
bool origin_is_cold(const struct origin *origin);

#endif
