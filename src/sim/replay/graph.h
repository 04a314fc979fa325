/* Causes in a recorded run.
 *
 * Problem. A trace tells when activities of GPUs began, not why. To play it with other durations, every begin needs its
 * causes: events that had to happen first, each with a lag that is a duration (a launch latency, a gap between kernels,
 * work of the host).
 *
 * Events are: an activity starts; a call of the host begins; it ends. An event's time is the maximum over its causes of
 * (time of the cause, or end of its activity, + lag). Causes are those recorded, and those inferred where a recording
 * is known to leave them out:
 *   start of an activity: the end of the one before on its stream; the begin of its launch; an activity of another
 *   stream
 *     that its stream awaits, by a recorded cudaStreamWaitEvent (whose streams are inferred from the launches of the
 *     thread around it where the trace does not name them), by the convention that a collective awaits the kernel that
 *     its thread launched before it, or, where neither tells why it began so late, because that activity ended right
 *     before;
 *   begin of a call: the end of the thread's call before it, and the host's work in between; or another thread that
 *   fell silent
 *     when this one went on (a backward pass runs on a thread of its own);
 *   end of a call: its begin; activities that it awaits.
 * A cause that did not happen in time is none: inferred ones are dropped where the recorded times refute them.
 *
 * Lags. A cause that did not decide has the typical lag of its kind in this trace, or less where there was less time.
 * The one that decided, the latest by typical lags, has its measured lag. A rest that is longer than activities usually
 * lie apart is a stall: a wait for something that the trace does not tell. Where the trace shows that it is incomplete
 * there, the stall has a name, by the first of these facts (replay_stall_of, waits.h):
 *   a launched graph    the activity, or the one before on its stream, comes from a launch of a graph, of whose
 *                       activities profilers record only some
 *   calls left out      the trace is a sample of its calls, by their numbers
 *   launch left out     no launch was recorded for the activity
 *   event of other work its stream awaits an event after whose recorded work nothing ended in that time
 * All stalls are counted and told. With measured lags the recorded run is
 * played exactly, by construction; with typical lags only durations, host work, stalls and the causes remain, so that
 * the difference to the recorded run shows whether they are right.
 *
 * Checks in tests/sim/replay_test.c: recorded runs with both kinds of lags; and runs of a small GPU whose dependencies
 * are known, with kernels that take another time: what is predicted from the trace against what that GPU does. */
#ifndef REHEARSE_SIM_REPLAY_GRAPH_H
#define REHEARSE_SIM_REPLAY_GRAPH_H

#include "sim/replay/replay.h"

enum replay_part { PART_START, PART_BEGIN, PART_END };

struct replay_edge {
    int64_t lag;           /* ns: the typical one; of a stall: that and the stall */
    int32_t more;          /* ns of the measured lag beyond `lag`; of a stall: ns that are no stall */
    unsigned source : 25;  /* event; of CAUSE_ROOT: none */
    unsigned cause : 3;    /* up to CAUSE_THREAD */
    unsigned from_end : 1; /* of the source's activity, rather than from its start */
    unsigned stall : 3;    /* 0: none; else 1 + cause - CAUSE_STALL */
};

/* The end of a call without an edge comes its duration after its begin. */
struct replay_event {
    unsigned item : 30; /* activity or call */
    unsigned part : 2;
    uint32_t edges; /* the first one; they end where those of the next event begin */
};

struct replay_graph {
    const struct replay *replay;
    struct replay_event *events; /* in an order in which causes come first; one more ends the list */
    struct replay_edge *edges;
    size_t count, edge_count, edge_capacity;
    uint32_t *starts, *begins, *ends;     /* events of activities and calls */
    int64_t launch_lag, stream_lag, near; /* typical ones; the longest lag that is not a stall */
    size_t causes[CAUSE_KINDS];           /* edges; from CAUSE_STALL on: stalls */
    int64_t stalled[CAUSE_KINDS];         /* sums of stalls, ns */
};

/* When an event was recorded, ns. */
int64_t replay_event_time(const struct replay *replay, const struct replay_event *event);

/* Lists the events in an order in which causes come first, and where those of activities and calls are. Private to
 * graph.c, which has made room for all lists. */
bool replay_list_events(struct replay_graph *graph, struct error *err);

/* The stall in an edge, ns. */
static inline int64_t replay_edge_stall(const struct replay_edge *edge)
{
    return edge->stall > 0 ? edge->lag - edge->more : 0;
}

/* Makes the graph of a run, which has to live as long. On failure *graph holds nothing. */
bool replay_graph_make(struct replay_graph *graph, const struct replay *replay, struct error *err);

void replay_graph_release(struct replay_graph *graph);

extern const char *const replay_cause_names[CAUSE_KINDS];

#endif
