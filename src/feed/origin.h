/* Where delivered bytes came from: the storage, or this host's memory.
 *
 * What can be believed, the best first:
 *   objects   they come over the network, whatever the server remembers
 *   direct    O_DIRECT goes around the page cache
 *   process   on a block device: what the kernel says that this process has made devices read; nobody else's reads
 *             are in it, and nothing that was in memory
 *   cache     elsewhere (networks, FUSE, overlays, file systems that compress): what of the files was not in the page
 *             cache before they were read, or the process's own count where that says more
 *   memory    the file system is memory
 *   unknown   the file system has a cache that cannot be looked at (ZFS), or this user may not look
 *
 * The cache of a server, of the machine below a virtual one or of a disk is not seen by any of them. */
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

/* As results say it: "process"; and for people: "as this program made the device read". */
const char *origin_name(enum origin_evidence evidence);
const char *origin_words(enum origin_evidence evidence);

/* `counts`: the kernel counts what a process reads (storage_process_read). */
enum origin_evidence origin_evidence_of(const struct storage_options *storage, enum storage_backing backing,
                                        bool counts);

/* The same for a storage below its root, or the nearest folder above it that is there. False: no memory. */
bool origin_evidence_for(const struct storage *storage, enum origin_evidence *evidence, struct error *err);

/* One reading of files, by one process or by those of a host together. */
struct origin_count {
    int64_t delivered; /* bytes, again and again where they are read so */
    int64_t read;      /* by the device for these processes meanwhile; -1: not known */
    int64_t size;      /* of the files; 0: not known */
    int64_t resident;  /* of these bytes, in the page cache when it began; -1: not known */
};

/* Adds what another process of the host did. What one does not know, both do not. */
void origin_add(struct origin_count *sum, const struct origin_count *count);

/* Bytes that had to come from somewhere: what a reading asks for twice counts once. */
int64_t origin_needed(const struct origin_count *count);

/* Of these, those that came from the storage; -1: not known. */
int64_t origin_from_storage(enum origin_evidence evidence, const struct origin_count *count);

/* Of all readings, all hosts. */
struct origin {
    enum origin_evidence evidence;
    int64_t delivered, needed;
    int64_t from_storage; /* of the needed; -1: not known */
};

/* Adds one reading of one host. Where evidence differs, that which proves least is named. */
void origin_sum(struct origin *origin, enum origin_evidence evidence, const struct origin_count *count);

/* 0..1; NaN: not known, or nothing was needed. */
double origin_share(const struct origin *origin);

/* Below this share what was measured is memory. Above it lie the files that are read in part only. */
#define ORIGIN_COLD 0.95

/* Cold enough? What is not known is not; of no bytes there is nothing to say against. */
bool origin_is_cold(const struct origin *origin);

#endif
