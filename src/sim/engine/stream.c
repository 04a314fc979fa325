/* Streams do their tasks. See inner.h for the order in which they do. */
#include "core/random.h"
#include "sim/engine/inner.h"

#include <math.h>
#include <stdlib.h>

static void engine_wake(struct engine *engine, uint32_t number);

/* Collectives: all members come, begin at once, and end at once. */

/* All members are there: they begin. */
static void meeting_begins(struct engine *engine, struct meeting *meeting, double end)
{
    for (uint32_t member = meeting->first; member != NOBODY; member = engine->actors[member].next) {
        struct actor *actor = &engine->actors[member];
        const struct step *step = &engine->compiled.steps[actor->step];
        if (actor->arrival < meeting->begin)
            actor->cause = meeting->cause;
        actor->begin = meeting->begin;
        if (step->flags & STEP_SHARE)
            engine_interval_add(engine, member, meeting->begin, end, step->task->share);
    }
}

static void engine_meet(struct engine *engine, uint32_t number, uint32_t which, const struct step *step)
{
    struct meeting *meeting = &engine->meetings[which];
    struct actor *actor = &engine->actors[number];
    const struct engine_task *task = step->task;
    if (meeting->there == 0) {
        meeting->begin = NEVER;
        meeting->seconds = meeting->latency = meeting->rate = meeting->bytes = 0.0;
        meeting->first = NOBODY;
    }
    actor->arrival = actor->begin;
    actor->state = ACTOR_MEETING;
    actor->next = meeting->first;
    meeting->first = number;
    meeting->there++;
    engine->met |= meeting->crosses;
    if (actor->begin > meeting->begin) {
        meeting->begin = actor->begin;
        meeting->cause = actor->cause >= 0 ? actor->cause : actor->previous;
    }
    /* These are the same for all members of a well-made system. */
    meeting->seconds = fmax(meeting->seconds, task->seconds);
    meeting->latency = fmax(meeting->latency, task->latency);
    meeting->rate = fmax(meeting->rate, task->rate);
    meeting->bytes = fmax(meeting->bytes, task->bytes);
    if (meeting->there < meeting->members)
        return;
    double end = meeting->begin + meeting->seconds;
    if (meeting->route < 0 || meeting->latency >= meeting->seconds || meeting->rate <= 0.0) {
        meeting_begins(engine, meeting, end);
        engine_meeting_ends(engine, which, end);
        return;
    }
    meeting_begins(engine, meeting, INFINITY);
    uint32_t timer = (uint32_t)engine->system->device_count * ENGINE_STREAMS + which;
    meeting->flow = engine_flow_start(engine, timer, (uint32_t)meeting->route, meeting->begin,
                                      meeting->seconds, meeting->latency, meeting->rate, meeting->bytes);
}

void engine_meeting_ends(struct engine *engine, uint32_t which, double end)
{
    struct meeting *meeting = &engine->meetings[which];
    meeting->there = 0;
    for (uint32_t member = meeting->first; member != NOBODY;) {
        struct actor *actor = &engine->actors[member];
        if (engine->compiled.steps[actor->step].flags & STEP_SHARE)
            engine_interval_close(engine, member, end);
        actor->end = end;
        actor->state = ACTOR_ENDING;
        uint32_t next = actor->next;
        engine_wake(engine, member);
        member = next;
    }
    meeting->first = NOBODY;
}

/* Messages that are under way or were not taken yet. */

static bool widen(struct engine *engine, struct channel *channel)
{
    uint32_t room = 2 * channel->room;
    struct message *ring = room > INT32_MAX ? NULL : malloc(room * sizeof *ring);
    if (ring == NULL)
        return engine_no_memory(engine);
    for (uint32_t i = 0; i < channel->count; i++)
        ring[i] = channel->ring[(channel->first + i) & (channel->room - 1)];
    if (channel->ring != &channel->one)
        free(channel->ring);
    channel->ring = ring;
    channel->room = room;
    channel->first = 0;
    return true;
}

static struct message *engine_find_message(struct channel *channel, uint32_t microbatch)
{
    for (uint32_t i = 0; i < channel->count; i++) {
        struct message *message = &channel->ring[(channel->first + i) & (channel->room - 1)];
        if (message->microbatch == microbatch && !message->taken)
            return message;
    }
    return NULL;
}

static void engine_take_message(struct channel *channel, struct message *message)
{
    message->taken = true;
    while (channel->count > 0 && channel->ring[channel->first].taken) {
        channel->first = (channel->first + 1) & (channel->room - 1);
        channel->count--;
    }
}

static void engine_send(struct engine *engine, uint32_t number, uint32_t microbatch, double since,
                        double comes, int64_t origin)
{
    struct channel *channel = &engine->channels[number];
    if (channel->count == channel->room && !widen(engine, channel))
        return;
    channel->ring[(channel->first + channel->count++) & (channel->room - 1)] =
        (struct message){.since = since, .comes = comes, .origin = origin, .microbatch = microbatch};
    if (channel->waiter == NOBODY)
        return;
    const struct actor *actors = engine->devices[channel->waiter].actors;
    for (unsigned stream = 0; stream < ENGINE_STREAMS; stream++) {
        if (actors[stream].missing == MISSING_MESSAGE)
            engine_wake(engine, channel->waiter * ENGINE_STREAMS + stream);
    }
    channel->waiter = NOBODY;
}

enum halt {
    HALT_PARKED, /* or done: others make it runnable */
    HALT_YIELDS  /* to streams of the same device */
};

/* The wait that ended last. */
struct wait {
    double since, end;
    int64_t origin;
    bool by_message;
};

double engine_jitter(uint64_t seed, uint64_t key, size_t pass, int task, double deviation)
{
    uint64_t state = random_mix(seed ^ random_mix(key + RANDOM_GOLDEN));
    state = random_mix(state ^ random_mix(pass * RANDOM_GOLDEN + (uint64_t)task));
    return exp(deviation * random_normal(&state) - 0.5 * deviation * deviation);
}

static void engine_wake(struct engine *engine, uint32_t number)
{
    struct device *device = &engine->devices[engine_device_of(number)];
    struct actor *actor = &engine->actors[number];
    uint8_t bit = (uint8_t)(1u << number % ENGINE_STREAMS);
    actor->missing = MISSING_NOTHING;
    device->waiting &= (uint8_t)~bit;
    device->runnable |= bit;
    if (!device->queued) {
        device->queued = true;
        engine->work[engine->work_count++] = engine_device_of(number);
    }
}

/* ---- marks ---- */

static uint32_t lowest_needed(const struct device *device)
{
    uint32_t lowest = device->head;
    for (unsigned streams = device->unfinished, stream = 0; streams != 0; streams >>= 1, stream++) {
        uint32_t pass = device->actors[stream].pass;
        uint32_t needed = device->order->places[pass == NOBODY ? 0 : pass].lowest;
        if ((streams & 1) && needed < lowest)
            lowest = needed;
    }
    return lowest;
}

static bool enlarge(struct engine *engine, struct device *device, uint32_t wanted)
{
    uint32_t room = device->room;
    while (room < wanted)
        room *= 2;
    struct event *events = calloc(room, sizeof *events);
    if (events == NULL)
        return engine_no_memory(engine);
    for (uint32_t i = device->tail; i < device->head; i++)
        events[i & (room - 1)] = device->events[i & (device->room - 1)];
    free(device->events);
    device->events = events;
    device->room = room;
    return true;
}

/* Makes room for an event, if its stream is not too far ahead of the others. */
static bool has_room(struct engine *engine, struct device *device, unsigned stream, uint32_t event,
                     uint8_t held, enum halt *halt)
{
    struct actor *actor = &device->actors[stream];
    device->tail = lowest_needed(device);
    if (event - device->tail < device->room)
        return true;
    if (actor->may_grow) {
        actor->may_grow = false;
        return enlarge(engine, device, event - device->tail + 1);
    }
    *halt = HALT_YIELDS;
    if (device->runnable & (uint8_t)~held)
        return false;
    *halt = HALT_PARKED;
    actor->state = ACTOR_AHEAD;
    engine_timer_set(engine, (uint32_t)(actor - engine->actors), actor->clock);
    return false;
}

static void set_mark(struct engine *engine, struct device *device, uint32_t event, double since, double end,
                     int64_t origin)
{
    for (; device->head <= event; device->head++)
        device->events[device->head & (device->room - 1)].end = NEVER;
    device->events[event & (device->room - 1)] = (struct event){since, end, origin};
    for (unsigned streams = device->waiting; streams != 0; streams &= streams - 1) {
        unsigned stream = (unsigned)__builtin_ctz(streams);
        if (device->missing[stream] == event)
            engine_wake(engine, (uint32_t)(device - engine->devices) * ENGINE_STREAMS + stream);
    }
}

/* ---- the beginning of a task ---- */

static bool enter_pass(const struct engine *engine, struct device *device, unsigned stream)
{
    struct actor *actor = &device->actors[stream];
    const struct plan_of_order *order = device->order;
    while (++actor->pass < order->count) {
        const struct engine_pass *pass = &order->passes[actor->pass];
        const struct track *track = &engine->compiled.templates[pass->template].tracks[stream];
        __builtin_prefetch(pass + 8);
        if (track->first == track->last)
            continue;
        actor->step = track->first;
        actor->last = track->last;
        actor->base = order->places[order->has_marks ? actor->pass : 0].base;
        return true;
    }
    actor->state = ACTOR_DONE;
    device->unfinished &= (uint8_t) ~(1u << stream);
    return false;
}

static uint32_t microbatch_of(const struct device *device, const struct actor *actor, const struct step *step)
{
    return device->order->passes[actor->pass].microbatch[step->second];
}

/* Finds the wait that ends last, and the message. False: one wait does not end yet; the stream is parked. */
static bool waits_end(struct engine *engine, struct device *device, unsigned stream, const struct step *step,
                      struct wait *latest, struct message **message)
{
    struct actor *actor = &device->actors[stream];
    for (unsigned i = 0; i < step->wait_count; i++) {
        uint32_t wait = step->waits[i];
        if (wait & WAIT_EARLIER) {
            wait =
                device->order->earlier[device->order->places[actor->pass].earlier + (wait & ~WAIT_EARLIER)];
            if (wait == WAIT_NOTHING)
                continue;
        } else {
            wait += actor->base << 1;
        }
        uint32_t number = wait >> 1;
        const struct event *event = &device->events[number & (device->room - 1)];
        if (number >= device->head || event->end < 0.0) {
            actor->missing = MISSING_MARK;
            device->missing[stream] = number;
            actor->by_kernel = wait & WAIT_BY_KERNEL;
            device->waiting |= (uint8_t)(1u << stream);
            return false;
        }
        if (event->end > latest->end)
            *latest = (struct wait){event->since, event->end, event->origin, false};
    }
    if (!(step->flags & STEP_RECEIVES))
        return true;
    struct channel *channel = &engine->channels[device->ports[step->task->receive - 1]];
    uint32_t microbatch = microbatch_of(device, actor, step);
    *message = engine_find_message(channel, microbatch);
    if (*message == NULL) {
        actor->missing = MISSING_MESSAGE;
        channel->waiter = (uint32_t)(device - engine->devices);
        return false;
    }
    if ((*message)->comes > latest->end)
        *latest = (struct wait){(*message)->since, (*message)->comes, (*message)->origin, true};
    return true;
}

/* The time for which stream 0 stood still belongs to the label of the wait that ended last. */
static void account(struct device *device, double clock, const struct wait *wait)
{
    struct engine_seconds *seconds = &device->seconds[wait->origin & 0xff];
    double exposed = wait->end - fmax(clock, fmin(wait->since, wait->end));
    seconds->exposed += exposed;
    seconds->waited += wait->end - clock - exposed;
}

/* ---- the end of a task ---- */

static void report(struct engine *engine, const struct device *device, unsigned stream,
                   const struct step *step, int64_t id)
{
    const struct actor *actor = &device->actors[stream];
    const struct engine_label *label = &engine->system->labels[step->label];
    const struct engine_pass *pass = &device->order->passes[actor->pass];
    struct timeline_task task = {
        .id = id,
        .cause = actor->cause >= 0 ? actor->cause >> 8 : -1,
        .device = device->source->rank,
        .stream = (int)stream,
        .kind = label->kind,
        .stage = engine->system->templates[pass->template].stage[step->second],
        .layer = step->task->layer,
        .microbatch = pass->microbatch[step->second],
        .begin = actor->begin,
        .end = actor->end,
        .bytes = step->task->bytes,
        .name = label->name,
    };
    engine_tell_ends(engine, device->source, step->task, &task);
    if (!engine->failed)
        engine->failed = !engine->sink->task(engine->sink->context, &task, engine->err);
}

static void finish(struct engine *engine, struct device *device, unsigned stream, const struct step *step)
{
    struct actor *actor = &device->actors[stream];
    const struct engine_task *task = step->task;
    int64_t id = engine->task_count++, origin = id << 8 | step->label;
    double begin = actor->begin, end = actor->end;
    if (step->flags & STEP_CHANGES) {
        for (int at_end = 0; at_end <= 1; at_end++) {
            for (int i = 0; i < task->change_count; i++) {
                if (task->changes[i].at_end == (bool)at_end)
                    engine_memory_change(engine, device, at_end ? end : begin, &task->changes[i]);
            }
        }
    }
    if (stream == 0) {
        device->seconds[step->label].busy += end - begin;
        device->figures->end = end;
        if (actor->previous < 0)
            device->figures->begin = begin;
    }
    if (step->event >= 0)
        set_mark(engine, device, actor->base + (uint32_t)step->event, actor->since, end, origin);
    if ((step->flags & (STEP_SENDS | STEP_SENDS_AT_BEGIN)) == STEP_SENDS) {
        double since = stream != 0 ? actor->since : step->flags & STEP_KERNEL ? end : begin;
        engine_send(engine, (uint32_t)device->ports[task->send - 1], microbatch_of(device, actor, step),
                    since, end + task->delay, origin);
    }
    if (engine->sink != NULL && engine->sink->task != NULL)
        report(engine, device, stream, step, id);
    actor->previous = origin;
    actor->clock = end;
    actor->step++;
}

/* ---- tasks ---- */

/* Whether a stream with shares of the same device can still run. */
static bool others_first(const struct device *device, uint8_t held)
{
    return (device->runnable & device->order->share_streams & (uint8_t)~held) != 0;
}

static double kernel_seconds(const struct engine *engine, const struct device *device,
                             const struct actor *actor, const struct step *step)
{
    double jitter = 1.0;
    if (engine->system->jitter > 0.0)
        jitter = engine_jitter(engine->system->seed, device->source->key, actor->pass, step->place,
                               engine->system->jitter);
    return engine_slowed(device->source, actor->begin, step->seconds, jitter);
}

/* The task begins at actor->begin. True: its end is known. */
static bool begins(struct engine *engine, struct device *device, unsigned stream, const struct step *step)
{
    struct actor *actor = &device->actors[stream];
    const struct engine_task *task = step->task;
    uint32_t number = (uint32_t)(actor - engine->actors);
    if (step->flags & STEP_MEETS) {
        engine_meet(engine, number, (uint32_t)device->source->groups[task->group - 1], step);
        return false;
    }
    if (step->flags & STEP_SENDS_AT_BEGIN) {
        int64_t held_up_by = actor->cause >= 0 ? actor->cause : actor->previous;
        engine_send(engine, (uint32_t)device->ports[task->send - 1], microbatch_of(device, actor, step),
                    actor->begin, actor->begin + task->delay, (held_up_by & ~INT64_C(0xff)) | step->label);
    }
    bool flows = step->flags & STEP_FLOWS;
    if (step->flags & STEP_SHARE)
        engine_interval_add(engine, number, actor->begin, flows ? INFINITY : actor->begin + step->seconds,
                            task->share);
    if (flows) {
        actor->state = ACTOR_FLOWING;
        actor->flow = engine_flow_start(engine, number, (uint32_t)device->source->routes[task->route - 1],
                                        actor->begin, step->seconds, task->latency, task->rate, task->bytes);
        return false;
    }
    if (!(step->flags & STEP_KERNEL)) {
        actor->end = actor->begin + step->seconds;
        return true;
    }
    double seconds = kernel_seconds(engine, device, actor, step);
    actor->end = actor->begin + seconds;
    if (device->order->share_streams == 0)
        return true;
    bool certain;
    actor->end = engine_kernel_end(device, actor->begin, seconds, &certain);
    if (certain)
        return true;
    actor->state = ACTOR_SLOWED;
    actor->work = seconds;
    engine_timer_set(engine, number, actor->end);
    return false;
}

static enum halt run_stream(struct engine *engine, struct device *device, unsigned stream, uint8_t held)
{
    struct actor *actor = &device->actors[stream];
    enum halt halt = HALT_PARKED;
    while (!engine->failed) {
        if (actor->state == ACTOR_ENDING) {
            const struct step *step = &engine->compiled.steps[actor->step];
            if (step->flags & STEP_MEETS) {
                if (actor->begin > actor->clock)
                    actor->since = actor->begin;
                if (stream == 0)
                    device->seconds[step->label].waited += actor->begin - actor->arrival;
            }
            actor->state = ACTOR_READY;
            finish(engine, device, stream, step);
        }
        if (actor->step == actor->last && !enter_pass(engine, device, stream))
            return HALT_PARKED;
        const struct step *step = &engine->compiled.steps[actor->step];
        if (device->order->share_streams != 0 && (step->flags & STEP_KERNEL) && others_first(device, held))
            return HALT_YIELDS;
        struct wait latest = {.end = actor->clock, .origin = -1};
        struct message *message = NULL;
        if (!waits_end(engine, device, stream, step, &latest, &message))
            return HALT_PARKED;
        /* Only a task that can begin may need room: a stream can be passes ahead of its first mark. */
        uint32_t event = actor->base + (uint32_t)step->event;
        if (step->event >= 0 && event - device->tail >= device->room &&
            !has_room(engine, device, stream, event, held, &halt))
            return halt;
        if (message != NULL)
            engine_take_message(&engine->channels[device->ports[step->task->receive - 1]], message);
        actor->cause = latest.origin;
        actor->begin = latest.end;
        if (latest.end > actor->clock) {
            if (stream == 0)
                account(device, actor->clock, &latest);
            /* Who waits for the receiver waits for the message on its way. */
            actor->since =
                latest.by_message ? fmax(actor->clock, fmin(latest.since, latest.end)) : latest.end;
        }
        if (!begins(engine, device, stream, step))
            return HALT_PARKED;
        finish(engine, device, stream, step);
    }
    return HALT_PARKED;
}

/* Runs all streams of a device that can run; stream 0 last, since it may need to know of the others. */
void engine_run_device(struct engine *engine, uint32_t number)
{
    struct device *device = &engine->devices[number];
    uint8_t held = 0;
    while (device->runnable != 0 && !engine->failed) {
        uint8_t free = device->runnable & (uint8_t)~held;
        unsigned stream = 31u - (unsigned)__builtin_clz(free != 0 ? free : device->runnable);
        uint8_t bit = (uint8_t)(1u << stream);
        device->runnable &= (uint8_t)~bit;
        held &= (uint8_t)~bit;
        if (run_stream(engine, device, stream, held) == HALT_YIELDS) {
            device->runnable |= bit;
            held |= bit;
        }
    }
    device->queued = false;
}

void engine_fire_actor(struct engine *engine, uint32_t number)
{
    struct actor *actor = &engine->actors[number];
    if (actor->state == ACTOR_FLOWING) {
        double end = engine_flow_fire(engine, actor->flow);
        if (end < 0.0)
            return;
        actor->end = end;
        if (engine->compiled.steps[actor->step].flags & STEP_SHARE)
            engine_interval_close(engine, number, end);
        actor->state = ACTOR_ENDING;
    } else if (actor->state == ACTOR_SLOWED) {
        actor->state = ACTOR_ENDING;
    } else {
        actor->state = ACTOR_READY;
        actor->may_grow = true;
    }
    engine_wake(engine, number);
}
