#include "sim/replay/tracks.h"

#include "core/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void replay_tracks_release(struct replay_tracks *tracks)
{
    hash_names_release(&tracks->names);
    free(tracks->list);
    *tracks = (struct replay_tracks){0};
}

uint32_t replay_tracks_id(struct replay_tracks *tracks, const char *process, const char *thread,
                          struct error *err)
{
    char key[256];
    bool added;
    int length =
        snprintf(key, sizeof key, "%.120s%s%.120s", process, thread ? " " : "", thread ? thread : "");
    uint32_t id = hash_names_id(&tracks->names, key, (size_t)length, &added);
    if (id == 0 || (added && !VECTOR_ADD(tracks->list, tracks->count, tracks->capacity,
                                         (struct replay_track){.device = -1}))) {
        error_memory(err);
        return 0;
    }
    return id;
}

/* Gets the number behind a prefix: of "GPU 0" and the like. */
static bool number_behind(const char *name, const char *prefix, int64_t *number)
{
    size_t length = strlen(prefix);
    char digits[20] = "";
    if (strncasecmp(name, prefix, length) != 0)
        return false;
    name += length;
    length = strspn(name, "0123456789");
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, name, length);
    return text_whole(digits, "", number);
}

static void name_process(struct replay_tracks *tracks, struct replay_track *track, const char *name)
{
    static const char *const prefixes[] = {"/device:TPU:", "/device:GPU:", "GPU ", "GPU", "device "};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (number_behind(name, prefixes[i], &track->device)) {
            track->tpu = i == 0;
            tracks->devices = true;
            return;
        }
}

bool replay_tracks_name(struct replay_tracks *tracks, const char *process, const char *thread,
                        const char *name, struct error *err)
{
    uint32_t id = replay_tracks_id(tracks, process, thread, err);
    if (id == 0)
        return false;
    if (!thread) {
        name_process(tracks, &tracks->list[id - 1], name);
        return true;
    }
    bool stream = strncasecmp(name, "stream", 6) == 0 || strcmp(name, "XLA Ops") == 0 ||
                  strcmp(name, "Async XLA Ops") == 0;
    uint32_t of = stream ? replay_tracks_id(tracks, process, NULL, err) : 0;
    if (stream && of == 0)
        return false;
    tracks->list[id - 1].stream = stream;
    tracks->streams |= stream;
    tracks->device_streams |= stream && tracks->list[of - 1].device >= 0;
    return true;
}

bool replay_tracks_find(struct replay_tracks *tracks, const char *process, const char *thread,
                        enum replay_track_kind *kind, int64_t *device, struct error *err)
{
    uint32_t of = replay_tracks_id(tracks, process, NULL, err);
    uint32_t id = of > 0 ? replay_tracks_id(tracks, process, thread, err) : 0;
    if (id == 0)
        return false;
    const struct replay_track *owner = &tracks->list[of - 1], *track = &tracks->list[id - 1];
    bool stream =
        tracks->devices ? owner->device >= 0 && (track->stream || !tracks->device_streams) : track->stream;
    *kind = !stream ? TRACK_HOST : owner->tpu ? TRACK_TPU : TRACK_STREAM;
    *device = !stream ? -1 : owner->device >= 0 ? owner->device : 0;
    return true;
}

static int order_by(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_stream(const void *a, const void *b)
{
    const struct replay_activity *first = a, *second = b;
    int order = order_by(first->stream, second->stream);
    order = order ? order : order_by(first->start, second->start);
    order = order ? order : order_by(second->duration, first->duration);
    return order ? order : order_by(first->place, second->place);
}

struct pieces {
    struct replay_activity *list;
    size_t count, capacity;
    uint32_t *open; /* spans of the stream that have not ended, the innermost one last */
    size_t open_count, open_capacity;
    int64_t cursor; /* up to here the stream's time has been given out */
};

/* Gives the time from the cursor to `until` to a span. */
static bool give(struct pieces *pieces, const struct replay_activity *span, int64_t until)
{
    struct replay_activity piece = *span;
    piece.start = pieces->cursor > span->start ? pieces->cursor : span->start;
    piece.duration = until - piece.start;
    if (piece.duration < 0 || (piece.duration == 0 && span->duration > 0))
        return true;
    pieces->cursor = until;
    return VECTOR_ADD(pieces->list, pieces->count, pieces->capacity, piece);
}

/* Ends the spans that end until a time. */
static bool close_spans(const struct replay *replay, struct pieces *pieces, int64_t time)
{
    while (pieces->open_count > 0) {
        const struct replay_activity *inner = &replay->activities[pieces->open[pieces->open_count - 1]];
        int64_t end = inner->start + inner->duration;
        if (end > time)
            return true;
        if (!give(pieces, inner, end))
            return false;
        pieces->open_count--;
    }
    return true;
}

static bool split(const struct replay *replay, struct pieces *pieces)
{
    for (size_t i = 0; i <= replay->count; i++) {
        const struct replay_activity *span = &replay->activities[i];
        bool ends = i == replay->count || (i > 0 && span->stream != span[-1].stream);
        if (!close_spans(replay, pieces, ends ? INT64_MAX : span->start))
            return false;
        if (ends)
            pieces->cursor = INT64_MIN;
        if (i == replay->count)
            return true;
        if (pieces->open_count > 0 &&
            !give(pieces, &replay->activities[pieces->open[pieces->open_count - 1]], span->start))
            return false;
        if (!VECTOR_ADD(pieces->open, pieces->open_count, pieces->open_capacity, (uint32_t)i))
            return false;
    }
    return true;
}

bool replay_split_nested(struct replay *replay, struct error *err)
{
    struct pieces pieces = {.cursor = INT64_MIN};
    if (replay->count == 0)
        return true;
    qsort(replay->activities, replay->count, sizeof *replay->activities, by_stream);
    bool done = split(replay, &pieces);
    free(pieces.open);
    if (!done) {
        free(pieces.list);
        return error_memory(err);
    }
    free(replay->activities);
    replay->activities = pieces.list;
    replay->count = pieces.count;
    replay->capacity = pieces.capacity;
    return true;
}
