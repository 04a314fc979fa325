/* PyTorch's memory snapshots (torch.cuda.memory._snapshot, as JSON), played again by the model of its allocator: what
 * it reserves, against what was reserved, and with other settings.
 *
 * A snapshot has the segments and blocks at its end, and the last events of each device. What was there before these is
 * what is there at the end, without what was allocated and with what was freed since. */
#ifndef REHEARSE_SIM_REPLAY_SNAPSHOT_H
#define REHEARSE_SIM_REPLAY_SNAPSHOT_H

#include "core/doc.h"
#include "cost/allocator.h"

#define SNAPSHOT_MAX_EVENTS (INT64_C(1) << 20) /* of a device */

/* Bytes of a device over its events. */
struct snapshot_bytes {
    int64_t start, most, end;     /* reserved */
    int64_t requested, allocated; /* the most: by programs, and in blocks */
};

struct snapshot_device {
    int64_t device, events, taken, freed;
    struct snapshot_bytes recorded; /* allocated: 0 */
    struct snapshot_bytes played, changed;
    double error; /* of the most that is reserved */
};

struct snapshot {
    struct doc doc;
    const char *path;
    struct allocator_settings settings; /* as recorded */
    struct snapshot_device *devices;    /* those with events */
    size_t count, capacity;
    bool private_pools,
        collects; /* it has what the model has not: pools of CUDA graphs, garbage collection */
    bool is_changed;
};

/* Does a file look like a snapshot, as JSON or as a pickle? */
bool snapshot_is(const char *path);

/* Reads a snapshot, and plays it. `changes`: settings by name, "expandable_segments=1"; none: NULL, 0. On failure
 * *snapshot holds nothing; else the caller releases it. */
bool snapshot_load(struct snapshot *snapshot, const char *path, const char *const *changes, size_t count,
                   struct error *err);
bool snapshot_parse(struct snapshot *snapshot, const char *path, const char *text, size_t length,
                    const char *const *changes, size_t count, struct error *err);
void snapshot_release(struct snapshot *snapshot);

#endif
