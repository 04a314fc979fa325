/* Processes and threads of a Chrome trace, by the names that its metadata ("ph": "M") gives them: which are streams of a
 * device, where no category tells. Private to the reader of Kineto's JSON.
 *
 * A process is a device if its name is "/device:GPU:0", "/device:TPU:0" (JAX, TensorFlow), "GPU 0" or "GPU0" (rocmProfileData),
 * or "device 0". Of such a process threads named "Stream …", "XLA Ops" and "Async XLA Ops" are streams; if no thread of any
 * device has such a name, all are. Without such a process, threads named "stream …" are. */
#ifndef REHEARSE_SIM_REPLAY_TRACKS_H
#define REHEARSE_SIM_REPLAY_TRACKS_H

#include "sim/replay/replay.h"

struct replay_track {
    int64_t device; /* of a process; -1: a host */
    bool tpu;       /* so is the process */
    bool stream;    /* so is the thread */
};

struct replay_tracks {
    struct hash_names names;   /* of "PID" and "PID TID" */
    struct replay_track *list; /* by id - 1 */
    size_t count, capacity;
    bool devices, streams, device_streams; /* there are any; streams of devices */
};

void replay_tracks_release(struct replay_tracks *tracks);

/* Names a process (`thread` NULL), or a thread. */
bool replay_tracks_name(struct replay_tracks *tracks, const char *process, const char *thread,
                        const char *name, struct error *err);

/* Returns the number by which a track is known, from 1; 0: out of memory. */
uint32_t replay_tracks_id(struct replay_tracks *tracks, const char *process, const char *thread,
                          struct error *err);

enum replay_track_kind { TRACK_HOST, TRACK_STREAM, TRACK_TPU };

/* What the events of a thread are, and of which device (-1: none). */
bool replay_tracks_find(struct replay_tracks *tracks, const char *process, const char *thread,
                        enum replay_track_kind *kind, int64_t *device, struct error *err);

/* Before replay_finish: of spans on a stream that hold others, each gets the time that none within it has. A span that
 * holds others may become several. */
bool replay_split_nested(struct replay *replay, struct error *err);

#endif
