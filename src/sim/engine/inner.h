/* The engine's state, shared by its files: compile.c makes steps of tasks, stream.c does them and lets streams meet,
 * flow.c shares links, slow.c slows kernels, run.c follows memory.
 *
 * Without flows and slowed kernels all times are longest paths: a stream runs ahead until it needs a mark, a message or
 * a meeting that is not there; it is parked, and whoever makes the missing thing makes it runnable. No order of
 * evaluation gives other times, and none is stuck where the real devices are not, because each stream is an actor of
 * its own.
 *
 * Things whose end depends on what else happens at that time have timers: flows, kernels beside collectives that may
 * yet begin, and streams that are too far ahead of others of their device (so that only what really is in flight is
 * stored). When nothing is runnable, the earliest timer fires. Whatever it releases happens at or after its time, so
 * that no earlier timer can come. All timers of one moment fire before flows get new rates: rates then depend only on
 * the set of flows, not on the order in which they came, and a compressed system has the bits of the whole one. */
#ifndef REHEARSE_SIM_ENGINE_INNER_H
#define REHEARSE_SIM_ENGINE_INNER_H

#include "sim/engine/steps.h"

#define NEVER  (-1.0)
#define NOBODY UINT32_MAX

/* A mark that was set. `origin` is the id of the task times 256, plus its label. `since`: its stream has been at work
 * without a pause since then. */
struct event {
    double since, end;
    int64_t origin;
};

struct message {
    double since, comes;
    int64_t origin;
    uint32_t microbatch;
    bool taken;
};

/* Messages that were sent and not yet taken: a ring, since they are mostly taken in the order of sending. */
struct channel {
    struct message *ring;
    uint32_t room, first, count;
    uint32_t waiter;    /* a device, of which a stream waits for a message */
    struct message one; /* the first ring */
};

enum actor_state {
    ACTOR_READY,   /* its next task has not begun */
    ACTOR_MEETING, /* in the list of a meeting, or of its flow */
    ACTOR_FLOWING,
    ACTOR_SLOWED, /* a kernel whose end is not certain yet */
    ACTOR_ENDING, /* begin and end of its task are known */
    ACTOR_AHEAD,  /* of the device's other streams */
    ACTOR_DONE
};

enum actor_missing { MISSING_NOTHING, MISSING_MARK, MISSING_MESSAGE };

/* A stream of a device. */
struct actor {
    double clock;      /* end of its last task */
    double since;      /* it has been at work without a pause since then */
    double begin, end; /* of its task; `begin` is the arrival while it waits in a meeting */
    union {
        double arrival; /* at its meeting */
        double work;    /* seconds of its kernel */
    };
    int64_t cause;    /* origin of the wait that held its task up; -1: none */
    int64_t previous; /* origin of its last task */
    uint32_t step, last, pass, base;
    union {
        uint32_t next; /* in a meeting's list */
        uint32_t flow;
    };
    uint8_t state, missing;
    bool by_kernel; /* the missing mark is set by stream 0 */
    bool may_grow;  /* it is the earliest of all, however far ahead */
};

/* A task with a share, from begin to end (INFINITY while it runs as a flow). */
struct interval {
    double begin, end;
    uint32_t share;  /* in parts of SHARE_ONE */
    uint32_t stream; /* of the open one */
};

#define SHARE_ONE 0x40000000

struct change {
    double time;
    int64_t bytes;
    uint32_t memory;
};

struct memory_track {
    double time;
    int64_t total, now[MEMORY_KINDS];
    struct change *changes; /* a heap by time: those that another stream may yet precede */
    size_t count, capacity, patience;
};

struct device {
    const struct engine_device *source;
    const struct plan_of_order *order;
    const int *ports;
    struct actor *actors;
    struct event *events; /* a ring */
    uint32_t room, head, tail;
    uint8_t runnable, unfinished, waiting; /* streams; waiting: for a mark */
    bool queued;
    uint32_t missing[ENGINE_STREAMS]; /* the number of the event that a stream waits for */
    struct interval *intervals;
    size_t interval_count, interval_capacity;
    struct memory_track memory;
    struct engine_figures *figures;
    struct engine_seconds *seconds;
};

struct meeting {
    double begin, seconds, latency, rate, bytes;
    int64_t cause;
    uint32_t first; /* of the members that are there */
    uint32_t flow;
    int there, members, route;
    bool crosses; /* its members are of several regions */
};

/* The use of a link by a flow. */
struct lane {
    uint32_t flow, link, weight;
    uint32_t place; /* in the link's list */
};

struct flow {
    double begin, seconds, latency, rate;
    double speed;       /* share of `rate` */
    double left, since; /* seconds at full speed that are left from `since` on, once it was slower */
    double level, fair; /* bytes/s: its rate now; the one being computed */
    int64_t bytes;
    uint32_t timer;
    uint32_t lanes, lane_count, counted; /* counted: of links that count, the first of its lanes */
    uint32_t stamp;
    bool on, throttled; /* throttled: now or before */
};

struct link_state {
    /* what every flow touches: a line of a cache */
    double capacity;
    double demand; /* of all flows at their own rates, as `capacity` counts */
    uint32_t *lanes, count, room;
    uint64_t weight;      /* of all flows */
    int64_t whole, parts; /* bytes carried: whole + parts / ENGINE_WEIGHT */
    uint32_t slow_flows;  /* flows below their rate */
    bool dirty;
    bool counts;             /* it may hold flows back, or is told */
    bool fills, full;        /* fills: being computed; full: since `since` it holds some flow back */
    double left, quotient;   /* being computed: capacity that nobody has yet; that for each unit of weight */
    uint64_t unfixed, taken; /* weight of flows without a level; of those that get one */
    double since, full_seconds;
    double used, told; /* bytes/s of all flows: being computed; told to the sink */
    uint32_t stamp;
};

struct timer {
    double time;
    uint32_t id;
};

struct network {
    struct flow *flows;
    size_t flow_count, flow_capacity;
    uint32_t *free_flows;
    size_t free_count, free_capacity;
    struct lane *lanes;
    size_t lane_count, lane_capacity;
    uint32_t free_lanes[32]; /* first lane of free blocks of 2^k, linked by `flow` */
    struct link_state *links;
    uint32_t *dirty, *part_links, *part_flows; /* a part: flows and links that depend on each other */
    size_t dirty_count, dirty_capacity, part_link_count, part_link_capacity, part_flow_count,
        part_flow_capacity;
    uint32_t stamp;
};

struct engine {
    const struct engine_system *system;
    const struct timeline_sink *sink;
    struct engine_result *result;
    struct error *err;
    bool failed;
    struct compiled compiled;
    struct device *devices;
    struct actor *actors; /* device * ENGINE_STREAMS + stream */
    struct channel *channels;
    struct meeting *meetings;
    uint32_t *work; /* devices with runnable streams */
    size_t work_count;
    uint32_t *region_first,
        *region_next; /* regions as lists of devices, at their lowest device; NOBODY: no more */
    bool alone, met;  /* a region is played alone; it has come to a group that crosses regions */
    struct network network;
    struct timer *timers; /* a heap; timer ids: actors, then meetings */
    uint32_t *timer_places;
    size_t timer_count, timer_capacity;
    double now;
    int64_t task_count;
    int *ends; /* of each channel: 1 + the rank of its sender, of its receiver; NULL: nobody is told */
};

/* stream.c */
void engine_run_device(struct engine *engine, uint32_t device);
void engine_fire_actor(struct engine *engine, uint32_t actor); /* its timer */
void engine_meeting_ends(struct engine *engine, uint32_t meeting, double end);

/* told.c. Tells the sink of groups, and finds the ends of channels; the engine's owner frees them. */
bool engine_tell(struct engine *engine);
/* Sets a task's group, message and peer. */
void engine_tell_ends(const struct engine *engine, const struct engine_device *device,
                      const struct engine_task *from, struct timeline_task *task);

/* flow.c */
bool engine_network_init(struct engine *engine);
void engine_network_release(struct engine *engine);
uint32_t engine_flow_start(struct engine *engine, uint32_t timer, uint32_t route, double begin,
                           double seconds, double latency, double rate, double bytes);
/* Returns the end of the flow, or NEVER: it goes on. */
double engine_flow_fire(struct engine *engine, uint32_t flow);
void engine_share_links(struct engine *engine);

/* regions.c */
bool engine_regions_find(struct engine *engine);

/* run.c */
bool engine_check_links(const struct engine_system *system, struct error *err); /* routes and groups, too */
void engine_timer_set(struct engine *engine, uint32_t id, double time);
struct timer engine_timer_pop(struct engine *engine); /* the earliest */

/* slow.c */
void engine_interval_add(struct engine *engine, uint32_t actor, double begin, double end, double share);
void engine_interval_close(struct engine *engine, uint32_t actor, double end);
/* Returns the end of a kernel; *certain: no share can begin before. */
double engine_kernel_end(struct device *device, double begin, double seconds, bool *certain);

/* run.c */
void engine_memory_change(struct engine *engine, struct device *device, double time,
                          const struct engine_change *change);

static inline bool engine_no_memory(struct engine *engine)
{
    if (!engine->failed)
        error_memory(engine->err);
    engine->failed = true;
    return false;
}

static inline uint32_t engine_device_of(uint32_t actor)
{
    return actor / ENGINE_STREAMS;
}

#endif
