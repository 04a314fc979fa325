/* Tasks of a system as steps: what streams need of a task lies together, stream by stream, and waits for marks are
 * numbers of events. The engine and those who do the tasks for real (run/player.h) go through the same steps. */
#ifndef REHEARSE_SIM_ENGINE_STEPS_H
#define REHEARSE_SIM_ENGINE_STEPS_H

#include "sim/engine/engine.h"

/* How a wait is stored: the number of the event within its pass, or that of an entry of `earlier`, which holds the
 * event's number in the order. The lowest bit says that stream 0 sets the mark. */
#define WAIT_BY_KERNEL UINT32_C(1)
#define WAIT_EARLIER   UINT32_C(0x80000000)
#define WAIT_NOTHING   UINT32_MAX

enum step_flags {
    STEP_MEETS = 1,    /* has a group */
    STEP_FLOWS = 2,    /* is a flow of its own */
    STEP_RECEIVES = 4, /* a message */
    STEP_SENDS = 8,
    STEP_SENDS_AT_BEGIN = 16, /* besides STEP_SENDS */
    STEP_CHANGES = 32,        /* memory */
    STEP_SHARE = 64,          /* slows kernels */
    STEP_KERNEL = 128, /* on stream 0, neither a meeting, a flow nor a transfer: has jitter, is slowed */
};

/* A task as the streams read it. */
struct step {
    double seconds;
    const struct engine_task *task;
    uint32_t waits[ENGINE_WAITS];
    int32_t event; /* that it makes, within its pass; -1: none */
    int32_t place; /* in its template */
    uint8_t wait_count, flags, label, second;
};

struct track {
    uint32_t first, last; /* steps of a stream */
};

/* The last task of a template that sets a mark. */
struct setter {
    uint16_t mark;
    uint8_t stream;
    uint32_t event;
};

/* A wait for a mark of an earlier pass. */
struct look_back {
    uint16_t mark;
    uint8_t stream;
};

struct plan_of_pass {
    struct track tracks[ENGINE_STREAMS];
    uint32_t events;
    uint32_t setters, setter_count, looks, look_count; /* in the lists of `compiled` */
    int ports, groups, routes;                         /* the highest numbers */
    uint8_t streams, share_streams, memory_streams;    /* bits */
};

struct place_in_order {
    uint32_t base;    /* the number of its first event */
    uint32_t lowest;  /* the lowest event for which this pass or a later one waits */
    uint32_t earlier; /* its first entry of `earlier` */
};

struct plan_of_order {
    const struct engine_pass *passes;
    uint32_t count;
    struct place_in_order *places; /* and one more */
    uint32_t *earlier;
    size_t earlier_count, earlier_capacity;
    bool *uses_group; /* by the number in its devices' lists, from 1 */
    uint32_t room;    /* for events at first: a power of two */
    int ports, groups, routes;
    uint8_t streams, share_streams, memory_streams;
    bool has_marks;
};

struct compiled {
    struct step *steps;
    struct plan_of_pass *templates;
    struct plan_of_order *orders;
    struct setter *setters;
    struct look_back *looks;
    size_t step_count, setter_count, look_count, step_capacity, setter_capacity, look_capacity;
    int order_count;
};

/* Makes the steps of a system, which must stay as long; the caller ends them with engine_compiled_release. On failure
 * there is nothing to end. */
bool engine_compile(const struct engine_system *system, struct compiled *compiled, struct error *err);
void engine_compiled_release(struct compiled *compiled);

#endif
