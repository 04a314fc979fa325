/* Which activity awaits which one of another stream: recorded waits, and conventions of PyTorch. Private to graph.c. */
#ifndef REHEARSE_SIM_REPLAY_WAITS_H
#define REHEARSE_SIM_REPLAY_WAITS_H

#include "sim/replay/replay.h"

/* Activities of each stream in order of start, and calls of each thread in order of begin. */
struct replay_order {
    uint32_t *by_stream, *first_of_stream; /* stream_count + 1 */
    int32_t *next_of_thread,
        *before_of_thread;                /* of a call: the next call of its thread, and the one before; -1 */
    int32_t *next_launch, *launch_before; /* the same among launches */
    int32_t *last_of_call;                /* the last activity that it launched; -1 */
};

bool replay_order_make(struct replay_order *order, const struct replay *replay, struct error *err);
void replay_order_release(struct replay_order *order);

/* Returns the time at which an activity was launched: its own start where no launch was recorded. */
int64_t replay_launched(const struct replay *replay, uint32_t activity);

/* Returns the last activity of a stream that was launched before a time; -1: none. */
int64_t replay_last_launched(const struct replay *replay, const struct replay_order *order, int32_t stream,
                             int64_t before);

/* Returns a cause from CAUSE_STALL on: why an activity began later than all known causes tell (graph.h). `before`
 * is the activity before on its stream, or -1. */
enum replay_cause replay_stall_of(const struct replay *replay, const struct replay_order *order,
                                  uint32_t activity, int32_t before);

/* The activity `target` awaits `source`. */
struct replay_wait {
    uint32_t target, source;
    bool inferred; /* by the convention; else by a recorded wait */
    bool start;    /* only for its start */
};

/* Finds all waits, in order of target; the caller frees *waits. */
bool replay_waits_find(const struct replay *replay, const struct replay_order *order,
                       struct replay_wait **waits, size_t *count, struct error *err);

#endif
