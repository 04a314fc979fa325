/* The time of a schedule CSV whose SEND and RECV stand on communication streams.
 *
 * A rank's passes run one after the other, and so do the messages of a stream. A message begins when the passes before
 * it in its row are done, the one before it on its stream too, and the same holds at its other end: it occupies both
 * streams for the time of the send. A pass waits for its RECV, never for a SEND. So a RECV that is placed early holds
 * up what comes after it on its stream though that is ready (PyTorch issue 188833).
 *
 * Two ranks whose streams have their messages in different sequences would wait for each other. Then a SEND occupies
 * its own stream alone, as through a buffer that never fills, and the RECV ends when the message has come: no file that
 * passes the check locks (check.h), since there each action waits for all before it on its rank. */
#ifndef REHEARSE_SCHEDULE_STREAMS_H
#define REHEARSE_SCHEDULE_STREAMS_H

#include "schedule/csv.h"
#include "schedule/timing.h"

enum comm_streams {
    COMM_STREAMS_RANK, /* one of each rank: batch_isend_irecv of one process group, as PyTorch's runtime sends */
    COMM_STREAMS_PEER, /* one for each other rank: isend and irecv by themselves */
    COMM_STREAMS_NONE, /* messages do not wait for each other */
};
extern const char *const comm_stream_names[]; /* ends with NULL */

/* A SEND that never begins without buffers: its index, and that of a message at the head of the other rank's stream. */
struct streams_lock {
    bool locked;
    size_t send, other;
};

/* Times the passes of a file that was checked and has messages. `timing` is that of its order, with the times of
 * passes; begins and ends are replaced. */
bool streams_time(const struct schedule_csv *csv, const struct pass_order *order,
                  const struct pass_cost *costs, enum comm_streams streams, struct timing *timing,
                  struct streams_lock *lock, struct error *err);

#endif
