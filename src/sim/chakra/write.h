/* A timeline as Chakra's execution traces: PREFIX.N.et for device N, in protobuf, as ASTRA-sim takes them.
 *
 * A node waits for the task before it on its stream and, on the same device, for its cause. Sends and receives name
 * their peer, and a tag of their own: a send is held back until its receive comes. Durations are whole microseconds, at
 * least 1 of what takes time at all. */
#ifndef REHEARSE_SIM_CHAKRA_WRITE_H
#define REHEARSE_SIM_CHAKRA_WRITE_H

#include "sim/timeline.h"

struct chakra_out;

/* Opens traces; files are opened as devices come. `prefix` has to live as long. Returns NULL on failure. */
struct chakra_out *chakra_open(const char *prefix, struct error *err);

struct timeline_sink chakra_sink(struct chakra_out *out);

/* Ends and frees the traces: written if `done`, else removed. Returns `done`, or false if writing failed. NULL is
 * allowed. */
bool chakra_close(struct chakra_out *out, bool done, struct error *err);

#endif
