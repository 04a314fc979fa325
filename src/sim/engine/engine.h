/* The engine of the simulator: devices with streams that do tasks, meet in collectives, send messages, share links and
 * hold memory. It knows nothing of models or plans; sim/play turns a plan into an engine_system.
 *
 * A device goes through an order of passes. A pass is a template, a list of tasks, for a micro-batch (or for two of
 * them, where two passes overlap). Templates and orders are shared by all devices that are alike, so that a system of
 * many devices is small.
 *
 * Each task belongs to a stream. A stream does its tasks one after the other, in the order of passes and, within a
 * pass, of the template; streams of a device know each other only through marks, as CUDA streams do through events. A
 * task
 *
 *   1. begins when its stream is free, all marks in `waits` are set, and its message has come (`receive`). To wait for
 *      a mark is to wait for the latest task before this one in the order of passes and tasks that sets it; if there is
 *      none, there is nothing to wait for.
 *   2. with `group`: waits until all members of the group are there, then begins for all of them at once. The k-th task
 *      of each member with this group is the same collective; should its members disagree, the most seconds count. One
 *      stream of a member does all tasks of a group.
 *   3. takes `seconds`. Without a route that is all. With one (its own, or its group's) it is a flow: `latency` of its
 *      seconds pass anyhow, the others while bytes go at `rate` over the links of the route, and they take longer where
 *      flows share a link. Alone, it takes exactly `seconds`.
 *   4. when it ends: sets `mark`, and sends a message (`send`) that comes `delay` seconds later.
 *
 * Flows share links by max-min fairness: all rates grow alike until a flow has its own `rate`, or a link is full; a
 * flow at rate r takes r * weight / ENGINE_WEIGHT of a link's capacity. Two transfers that never meet on a link should
 * not be flows: plain tasks are faster. A link that one flow cannot fill, and that no other uses, need not be in a
 * route.
 *
 * Kernels beside collectives: a task on another stream with `share` (of the multiprocessors) slows the plain tasks of
 * stream 0 while it runs: these progress at 1 minus the sum of the shares of the running ones, and at least at 1/64.
 * Tasks of stream 0 that are transfers by their label's kind are not slowed, by shares, `factor` or jitter.
 *
 * Typical uses:
 *   - Pass with a send that only delays: one task, `receive` from the stage before, `send` with `delay`.
 *   - Sending blocks the compute stream (Megatron's default): a task on stream 0 with seconds and `send`,
 *     `send_at_begin`, and at the other end a task on stream 0 with seconds and `receive`.
 *   - Sending overlaps: the compute task sets a mark, a task on STREAM_SEND waits for it, takes its seconds, and sends.
 *     A pair that waits for each other (rendezvous) is a group of two.
 *   - FSDP: the gather of layer k on STREAM_COLLECTIVE waits for the mark of the compute task of layer k - depth, and
 *     sets a mark that the compute task of layer k waits for. Marks hold across passes.
 *
 * Devices that cannot differ are played once: a device may stand for several `members`, a group of 64 devices that are
 * alike has one member that comes, a link stands for all links like it, and the weight in a route is the sum over all
 * flows of the kind that cross one such link. Times are then the same bits as those of the whole system, because every
 * sum over flows is one of integers.
 *
 * Numbers of marks, ports, groups and routes in a task count from 1, and 0 is none, so that fields left out are right.
 * The arrays are the caller's and must stay until engine_run returns. The same system gives the same bits, always: the
 * engine uses one thread; callers run many systems at the same time. */
#ifndef REHEARSE_SIM_ENGINE_H
#define REHEARSE_SIM_ENGINE_H

#include "core/error.h"
#include "sim/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENGINE_STREAMS 8 /* of a device; the first are enum timeline_stream */
#define ENGINE_WAITS   4 /* marks that a task can wait for */
#define ENGINE_WEIGHT  1024
#define ENGINE_MARKS   4096 /* the highest mark */
#define ENGINE_LABELS  256

enum engine_memory {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_OPTIMIZER,
    MEMORY_ACTIVATIONS, /* must all be freed at the end */
    MEMORY_WORKING,     /* must all be freed at the end */
    MEMORY_KINDS
};

/* A change of a device's memory when a task begins or ends. */
struct engine_change {
    enum engine_memory memory;
    bool at_end;
    int64_t bytes; /* less than 0: freed */
};

struct engine_task {
    double seconds;
    double latency; /* of a flow: the part of `seconds` that no link changes */
    double rate;    /* of a flow, bytes/s, while the other part of `seconds` passes undisturbed; above 0 */
    double delay;   /* from the end (or begin) of the task to the coming of its message */
    double share;   /* of the multiprocessors, taken from stream 0; 0 to 0.99 */
    double bytes;   /* moved; for the timeline and for the bytes of links */
    const struct engine_change *changes; /* of memory; NULL: none */
    int change_count;
    int receive, send; /* ports of the device */
    int group, route;  /* of the device's groups and routes; not both */
    uint16_t waits[ENGINE_WAITS];
    uint16_t mark;
    int16_t layer;      /* for the timeline; -1: none */
    uint8_t stream;     /* 0 to ENGINE_STREAMS - 1 */
    uint8_t label;      /* index into the system's labels */
    uint8_t second;     /* 1: belongs to the second micro-batch of a pair */
    bool send_at_begin; /* the message leaves when the task begins */
};

struct engine_template {
    const struct engine_task *tasks;
    int count;
    int stage[2]; /* for the timeline: of the first and of the second micro-batch; -1: none */
};

struct engine_pass {
    uint32_t template;
    uint32_t
        microbatch[2]; /* the second is that of a pair's second pass. A message has its task's micro-batch */
};

struct engine_order {
    const struct engine_pass *passes;
    size_t count;
};

/* A name for a kind of task: what tables and timelines call it. */
struct engine_label {
    const char *name;
    enum timeline_kind kind;
};

struct engine_device {
    int rank;    /* shown in messages and timelines */
    int members; /* devices for which this one stands; at least 1; only counted */
    int order;   /* index into the system's orders */
    const int
        *ports; /* port p is the channel ports[p - 1], from 0. A channel has one sender and one receiver,
                        * and one message of a micro-batch at a time */
    const int *groups, *routes; /* in the same way, indices into the system's groups and routes */
    int port_count, group_count, route_count;
    double factor; /* plain tasks of stream 0 take this many times their seconds (a straggler); 0 means 1 */
    double slow_from, slow_until; /* seconds between which the factor holds; until 0: always */
    uint64_t key;                 /* of the device's jitter */
    int64_t memory[MEMORY_KINDS]; /* at the beginning */
};

struct engine_group {
    int members; /* devices of the system that come: at least 1 */
    int route;   /* index into the system's routes, from 0; -1: its collectives are no flows */
};

struct engine_link {
    const char *name; /* for people; may be NULL */
    double capacity;  /* bytes/s in one direction; above 0 */
    double unit;      /* for timelines: bytes/s of one unit of the capacity; 0: 1 */
    int rank;         /* in the same way: a device that uses it */
};

struct engine_use {
    uint32_t link;
    uint32_t weight; /* ENGINE_WEIGHT: the link carries each byte of the flow once; above 0 */
};

struct engine_route {
    const struct engine_use *uses; /* each link once */
    int count;
};

struct engine_system {
    const struct engine_label *labels;
    const struct engine_template *templates;
    const struct engine_order *orders;
    const struct engine_device *devices;
    const struct engine_group *groups;
    const struct engine_route *routes;
    const struct engine_link *links;
    const char *const
        *collectives; /* what a task with group k does, as NCCL's traces write it, for sinks; may be NULL */
    int label_count, template_count, order_count, device_count, group_count, route_count, link_count;
    int channel_count;
    uint64_t seed;
    double jitter; /* standard deviation of the factor of each plain task of stream 0; 0: none */
    int region;    /* devices of one region at most, as far as groups decide (regions.c); 0: 1024 */
};

/* The time of stream 0 that belongs to a label. The seconds of all labels, and those after the device's last task on
 * stream 0, add up to the makespan. */
struct engine_seconds {
    double busy; /* tasks of this label on stream 0 */
    double
        exposed; /* stream 0 waited while a task of this label ran elsewhere: on another stream, or on its way */
    double
        waited; /* stream 0 waited for a task of this label that had not begun: its input was not there (the bubble),
                     * or members of its group were not */
};

struct engine_figures {
    double begin, end;                   /* of the first and last task on stream 0 */
    int64_t peak, peak_of[MEMORY_KINDS]; /* bytes at the fullest moment */
    double peak_time;                    /* the first such moment */
};

struct engine_result {
    double makespan;
    struct engine_figures *devices;
    struct engine_seconds *seconds; /* [device][label]: seconds[device * label_count + label] */
    int64_t *carried;               /* bytes, of each link */
    double *full;                   /* seconds of each link in which it held some flow back */
    int64_t tasks, flow_changes;    /* tasks done; beginnings and ends of flows on links */
};

/* Plays the system; *sink may be NULL. The caller ends *result with engine_result_release, also after a failure.
 * ERROR_INPUT: the system is wrong (a number is beyond its limit or not finite; tasks wait for each other; memory is
 * freed twice or never); the text names device, pass and task. */
bool engine_run(const struct engine_system *system, const struct timeline_sink *sink,
                struct engine_result *result, struct error *err);
void engine_result_release(struct engine_result *result);

/* Returns the seconds of a plain task of stream 0 that begins at `begin`, with the device's factor: `seconds` is without
 * it, `jitter` its other factor. */
double engine_slowed(const struct engine_device *device, double begin, double seconds, double jitter);

/* Returns the factor of a task: log-normal with mean 1. `pass` is its place in the device's order, `task` its place in
 * the template. */
double engine_jitter(uint64_t seed, uint64_t key, size_t pass, int task, double deviation);

#endif
