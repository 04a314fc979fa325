#include "trace/export/tracks.h"

#include "core/vector.h"

#include <stdlib.h>

void export_tracks_release(struct export_tracks *tracks)
{
    for (size_t i = 0; i < tracks->capacity; i++)
        free(tracks->tracks[i].ends);
    free(tracks->tracks);
    hash_names_release(&tracks->names);
    *tracks = (struct export_tracks){0};
}

/* NULL without memory. */
static struct export_track *track_of(struct export_tracks *tracks, int64_t pid, int64_t tid)
{
    const int64_t key[2] = {pid, tid};
    bool added;
    size_t id = hash_names_id(&tracks->names, key, sizeof key, &added);
    if (id == 0)
        return NULL;
    if (!VECTOR_ROOM_ZEROED(tracks->tracks, tracks->capacity, id + 1))
        return NULL;
    return &tracks->tracks[id];
}

bool export_nests(struct export_tracks *tracks, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns,
                  bool *nests, struct error *err)
{
    struct export_track *track = track_of(tracks, pid, tid);
    *nests = false;
    if (!track)
        return error_memory(err);
    while (track->count > 0 && track->ends[track->count - 1] <= start_ns)
        track->count--;
    if (track->count > 0 && track->ends[track->count - 1] < end_ns)
        return true;
    if (!VECTOR_ADD(track->ends, track->count, track->capacity, end_ns))
        return error_memory(err);
    *nests = true;
    return true;
}
