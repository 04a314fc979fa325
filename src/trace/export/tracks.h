/* Spans on lines of time as in viewers of Chrome's format: two spans of a line either nest or do not
 * overlap. (Perfetto's trace processor drops others, "slice_drop_overlapping_complete_event".) */
#ifndef REHEARSE_TRACE_EXPORT_TRACKS_H
#define REHEARSE_TRACE_EXPORT_TRACKS_H

#include "core/error.h"
#include "core/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialise with zero. */
struct export_tracks {
    struct hash_names names; /* of process and line */
    struct export_track {
        int64_t *ends; /* of the open spans, each within the one before */
        size_t count, capacity;
    } * tracks; /* by their ids in `names` */
    size_t capacity;
};

void export_tracks_release(struct export_tracks *tracks);

/* Sets *nests if a span nests with those before it on its line, and adds it there. Spans of each line come
 * in order of their start and, of those that start together, the longest first. False: out of memory. */
bool export_nests(struct export_tracks *tracks, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns,
                  bool *nests, struct error *err);

#endif
