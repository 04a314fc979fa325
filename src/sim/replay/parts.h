/* Shared by the readers of recorded runs. */
#ifndef REHEARSE_SIM_REPLAY_PARTS_H
#define REHEARSE_SIM_REPLAY_PARTS_H

#include "sim/replay/replay.h"

/* Add to a replay; times are in the recording's clock until replay_finish. A false call leaves *err set. */
bool replay_add_text(struct replay *replay, const char *text, size_t length, uint32_t *id, struct error *err);
bool replay_add_stream(struct replay *replay, int64_t device, int64_t number, int32_t *stream,
                       struct error *err);
/* The same for a process that "pid" names: a text. */
bool replay_add_process_stream(struct replay *replay, int64_t device, int64_t number, uint32_t process,
                               int32_t *stream, struct error *err);
/* `process` and `thread` are texts, or numbers of the reader's own. */
bool replay_add_thread(struct replay *replay, int64_t process, int64_t thread, int32_t *id,
                       struct error *err);
bool replay_add_activity(struct replay *replay, const struct replay_activity *activity, struct error *err);
bool replay_add_collective(struct replay *replay, const struct replay_collective *collective, uint32_t *id,
                           struct error *err);
bool replay_add_mark(struct replay *replay, const struct replay_mark *mark, struct error *err);
bool replay_add_sync(struct replay *replay, const struct replay_sync *sync, uint32_t *id, struct error *err);
/* Adds the name of an activity that XLA ran: of a TPU with its category, "fusion.12 (convolution fusion)". *id 0: none, or
 * an operation that spans those that it holds. */
bool replay_add_operation(struct replay *replay, const char *name, size_t length, const char *category,
                          size_t category_length, bool tpu, uint32_t *id, struct error *err);

/* Sets what a call does, by its name; its correlation is set. False: neither a launch nor a wait. */
bool replay_name_call(struct replay *replay, const char *name, struct replay_call *call);
bool replay_add_call(struct replay *replay, const struct replay_call *call, struct error *err);

/* Finds the processes that were merged into one file, and numbers their correlations apart. */
bool replay_find_parts(struct replay *replay, struct error *err);

/* Returns the number by which a part's correlation is told from that of others. */
int64_t replay_part_correlation(const struct replay *replay, int32_t part, int64_t correlation);

/* Copies one part of a whole replay. On failure *part holds nothing. */
bool replay_take_part(const struct replay *whole, int32_t index, struct replay *part, struct error *err);

/* Sorts, ties activities to their launches, and checks; `what` names an item of the file ("traceEvents"). */
bool replay_finish(struct replay *replay, const char *what, struct error *err);

/* One end of an arrow of chrome.c, with a time in the recording's clock. */
struct replay_flow {
    int64_t id, device, number, time; /* number: of the stream */
    bool target;
};

/* After replay_finish: makes arrows dependencies, and leaves out launches that are only a form, as chrome.c writes
 * them: each takes no time, and is when its activity starts. Sorts the arrows. */
bool replay_apply_flows(struct replay *replay, struct replay_flow *flows, size_t count, struct error *err);

struct json_stream;

/* After a key beside the events: reads its value, if it is known, or passes over it. */
bool replay_read_described(struct replay *replay, struct json_stream *json, struct error *err);

bool replay_read_kineto(struct replay *replay, const char *text, size_t length, struct error *err);
bool replay_read_chakra(struct replay *replay, const char *text, size_t length, struct error *err);
bool replay_read_xplane(struct replay *replay, const char *text, size_t length, struct error *err);
/* Does a text begin with the columns of a table of kernels? */
bool replay_is_table(const char *start);
bool replay_read_table(struct replay *replay, const char *text, size_t length, struct error *err);

#endif
