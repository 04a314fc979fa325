/* The present event of Kineto's JSON, and of Chrome's in general. Private to its readers. */
#ifndef REHEARSE_SIM_REPLAY_KINETO_EVENT_H
#define REHEARSE_SIM_REPLAY_KINETO_EVENT_H

#include "core/doc/stream.h"
#include "sim/replay/parts.h"
#include "sim/replay/tracks.h"

/* One field of an event that is kept as text until the event's category is known. */
enum field {
    FIELD_PHASE,
    FIELD_CATEGORY,
    FIELD_NAME,
    FIELD_PROCESS,
    FIELD_THREAD,
    FIELD_START,
    FIELD_DURATION,
    FIELD_STREAM,
    FIELD_DEVICE,
    FIELD_CORRELATION,
    FIELD_COLLECTIVE,
    FIELD_ELEMENTS,
    FIELD_OUT_ELEMENTS,
    FIELD_DTYPE,
    FIELD_GROUP,
    FIELD_GROUP_SIZE,
    FIELD_GROUP_RANKS,
    FIELD_DESCRIPTION,
    FIELD_SEQUENCE,
    FIELD_SOURCE,
    FIELD_DESTINATION,
    FIELD_AWAITED,
    FIELD_RECORDED_BY,
    FIELD_ID,
    FIELD_LABEL,
    FIELD_OPERATION,
    FIELD_OPERATION_KIND,
    FIELD_XLA_CORRELATION,
    FIELD_DIMS,
    FIELD_TYPES,
    FIELD_COUNT
};

/* What an event of cuda_sync tells of a call. */
struct sync {
    int64_t correlation;
    uint32_t id; /* in replay->syncs */
    int32_t stream;
};

/* Begun ("B") by a thread, and not ended. */
struct open_span {
    uint32_t track, name;
    int64_t start;
};

#define MAX_OPEN 4096 /* of all threads together */

struct kineto {
    struct replay *replay;
    struct json_stream json;
    struct text values[FIELD_COUNT]; /* of the present event */
    bool given[FIELD_COUNT];
    struct sync *syncs;
    size_t sync_count, sync_capacity;
    struct replay_flow *flows;
    size_t flow_count, flow_capacity;
    struct replay_tracks tracks;
    bool by_track;              /* no event is an activity by its category */
    size_t cpu_ops, operations; /* events of the category cpu_op; with an operation of XLA */
    struct open_span *open;
    size_t open_count, open_capacity;
};

/* The keys of the fields, some of which stand in "args". */
struct kineto_field {
    const char *key;
    bool in_args;
};
extern const struct kineto_field kineto_fields[FIELD_COUNT];

/* Sets an error at the present event. Returns false. */
bool kineto_error(const struct kineto *kineto, const char *problem, struct error *err);

/* The text of a field of the present event; "" where it has none. */
const char *kineto_value(const struct kineto *kineto, enum field field);

/* A whole number, which some versions write as a text; `missing` where there is none. */
int64_t kineto_whole(const struct kineto *kineto, enum field field, int64_t missing);

bool kineto_time(const struct kineto *kineto, enum field field, int64_t *ns, struct error *err);
bool kineto_span(const struct kineto *kineto, int64_t *start, int64_t *duration, struct error *err);

/* Add a field's text, and the thread of the present event. */
bool kineto_text(struct kineto *kineto, enum field field, uint32_t *id, struct error *err);
bool kineto_thread(struct kineto *kineto, int32_t *thread, struct error *err);

/* Takes the present event as a span that the program named. */
bool kineto_mark(struct kineto *kineto, bool device, struct error *err);

#endif
