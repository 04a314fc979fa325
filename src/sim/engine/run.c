/* The run of a system: checks, preparation, and the order in which streams run and timers fire (see inner.h). */
#include "core/heap.h"
#include "core/progress.h"
#include "core/stop.h"
#include "core/vector.h"
#include "sim/engine/engine.h"
#include "sim/engine/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A heap of timers by time, in which each knows its place, so that it can be moved and removed. */

static void put(struct engine *engine, size_t place, struct timer timer)
{
    engine->timers[place] = timer;
    engine->timer_places[timer.id] = (uint32_t)place;
}

static bool before(struct timer a, struct timer b)
{
    return (a.time < b.time) | (!(b.time < a.time) & (a.id < b.id)); /* a branch would be guessed in vain */
}

static void rise(struct engine *engine, size_t place, struct timer timer)
{
    for (; place > 0 && before(timer, engine->timers[(place - 1) / 4]); place = (place - 1) / 4)
        put(engine, place, engine->timers[(place - 1) / 4]);
    put(engine, place, timer);
}

static void sink(struct engine *engine, size_t place, struct timer timer)
{
    for (size_t child = 4 * place + 1; child < engine->timer_count; child = 4 * place + 1) {
        size_t least = child, last = child + 4 < engine->timer_count ? child + 4 : engine->timer_count;
        for (size_t i = child + 1; i < last; i++)
            least = before(engine->timers[i], engine->timers[least]) ? i : least;
        if (!before(engine->timers[least], timer))
            break;
        put(engine, place, engine->timers[least]);
        place = least;
    }
    put(engine, place, timer);
}

void engine_timer_set(struct engine *engine, uint32_t id, double time)
{
    struct timer timer = {time, id};
    uint32_t place = engine->timer_places[id];
    if (place == NOBODY) {
        if (!VECTOR_ROOM(engine->timers, engine->timer_capacity, engine->timer_count + 1)) {
            engine_no_memory(engine);
            return;
        }
        rise(engine, engine->timer_count++, timer);
    } else if (before(timer, engine->timers[place])) {
        rise(engine, place, timer);
    } else {
        sink(engine, place, timer);
    }
}

struct timer engine_timer_pop(struct engine *engine)
{
    struct timer first = engine->timers[0], last = engine->timers[--engine->timer_count];
    engine->timer_places[first.id] = NOBODY;
    if (engine->timer_count > 0)
        sink(engine, 0, last);
    return first;
}

/* The text for a system in which nothing goes on: who waits, and for which task that never ends. */

/* Returns the rank of the device that sends on a channel; -1: none does. */
static int sender_of(const struct engine *engine, int channel)
{
    const struct engine_system *system = engine->system;
    for (int d = 0; d < system->device_count; d++) {
        const struct plan_of_order *order = engine->devices[d].order;
        for (uint32_t pass = 0; pass < order->count; pass++) {
            const struct engine_template *template = &system->templates[order->passes[pass].template];
            for (int i = 0; i < template->count; i++) {
                int port = template->tasks[i].send;
                if (port > 0 && system->devices[d].ports[port - 1] == channel)
                    return system->devices[d].rank;
            }
        }
    }
    return -1;
}

static void describe(const struct engine *engine, uint32_t number, char *text, size_t size)
{
    const struct actor *actor = &engine->actors[number];
    const struct device *device = &engine->devices[engine_device_of(number)];
    const struct step *step = &engine->compiled.steps[actor->step];
    const struct engine_pass *pass = &device->order->passes[actor->pass];
    if (actor->state == ACTOR_MEETING) {
        const struct meeting *meeting = &engine->meetings[device->source->groups[step->task->group - 1]];
        snprintf(text, size, "its group, of whose %d members %d are there", meeting->members, meeting->there);
    } else if (actor->missing == MISSING_MESSAGE) {
        int from = sender_of(engine, device->source->ports[step->task->receive - 1]);
        unsigned microbatch = pass->microbatch[step->second];
        if (from < 0)
            snprintf(text, size, "a message of micro-batch %u that no device sends", microbatch);
        else
            snprintf(text, size, "a message of micro-batch %u from device %d", microbatch, from);
    } else {
        snprintf(text, size, "a mark that another of its streams has yet to set");
    }
}

/* Fail if tasks never began, or messages were never received. */
static void engine_stuck(struct engine *engine)
{
    uint32_t first = NOBODY, others = 0;
    for (uint32_t i = 0; i < (uint32_t)engine->system->device_count * ENGINE_STREAMS; i++) {
        if (engine->actors[i].state == ACTOR_DONE)
            continue;
        others += first != NOBODY;
        /* A message or a group tells more than a mark within a device. */
        if (first == NOBODY ||
            (engine->actors[first].missing == MISSING_MARK && engine->actors[i].missing != MISSING_MARK))
            first = i;
    }
    if (first == NOBODY)
        return;
    const struct actor *actor = &engine->actors[first];
    const struct device *device = &engine->devices[engine_device_of(first)];
    const struct step *step = &engine->compiled.steps[actor->step];
    char what[200];
    describe(engine, first, what, sizeof what);
    engine->failed = true;
    error_set(engine->err, ERROR_INPUT,
              "device %d, pass %u (micro-batch %u), task %d ('%s') never begins: it waits for %s; %u further "
              "streams wait, too",
              device->source->rank, actor->pass, device->order->passes[actor->pass].microbatch[step->second],
              step->place, engine->system->labels[step->label].name, what, others);
}

static void engine_unreceived(struct engine *engine)
{
    for (int i = 0; i < engine->system->channel_count && !engine->failed; i++) {
        const struct channel *channel = &engine->channels[i];
        if (channel->count == 0)
            continue;
        engine->failed = true;
        error_set(engine->err, ERROR_INPUT,
                  "device %d sends a message of micro-batch %u that is never received", sender_of(engine, i),
                  channel->ring[channel->first].microbatch);
    }
}

/* Memory of a device over time. At a moment, all that is freed is freed before anything is taken, so that memory is a
 * function of time, whatever the order in which changes become known; its peak is that of the moments' ends. The
 * changes of one stream come in order. Those of several are kept until none of the streams can make an earlier one. */

static const char *const names[MEMORY_KINDS] = {"parameters", "gradients", "optimizer state", "activations",
                                                "working memory"};

static bool earlier(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct change *)a)->time < ((const struct change *)b)->time;
}

static void engine_memory_begin(struct device *device)
{
    struct memory_track *track = &device->memory;
    track->patience = 32;
    for (int i = 0; i < MEMORY_KINDS; i++) {
        track->now[i] = device->source->memory[i];
        track->total += track->now[i];
        device->figures->peak_of[i] = track->now[i];
    }
    device->figures->peak = track->total;
}

/* A moment is over. */
static void settle(struct engine *engine, struct device *device)
{
    struct memory_track *track = &device->memory;
    struct engine_figures *figures = device->figures;
    for (int i = 0; i < MEMORY_KINDS; i++) {
        if (track->now[i] < 0 && !engine->failed) {
            engine->failed = true;
            error_set(engine->err, ERROR_INPUT,
                      "device %d: at %.9g s, %lld bytes of %s are freed that it does not have",
                      device->source->rank, track->time, -(long long)track->now[i], names[i]);
        }
    }
    if (track->total > figures->peak) {
        figures->peak = track->total;
        figures->peak_time = track->time;
        for (int i = 0; i < MEMORY_KINDS; i++)
            figures->peak_of[i] = track->now[i];
    }
    if (engine->sink == NULL || engine->sink->memory == NULL || engine->failed)
        return;
    struct timeline_memory memory = {.device = device->source->rank,
                                     .time = track->time,
                                     .parameters = (double)track->now[MEMORY_PARAMETERS],
                                     .gradients = (double)track->now[MEMORY_GRADIENTS],
                                     .optimizer = (double)track->now[MEMORY_OPTIMIZER],
                                     .activations = (double)track->now[MEMORY_ACTIVATIONS],
                                     .working = (double)track->now[MEMORY_WORKING]};
    engine->failed = !engine->sink->memory(engine->sink->context, &memory, engine->err);
}

static void apply(struct engine *engine, struct device *device, const struct change *change)
{
    struct memory_track *track = &device->memory;
    if (change->time > track->time) {
        settle(engine, device);
        track->time = change->time;
    }
    track->now[change->memory] += change->bytes;
    track->total += change->bytes;
}

static void apply_until(struct engine *engine, struct device *device, double time)
{
    struct memory_track *track = &device->memory;
    while (track->count > 0 && track->changes[0].time <= time) {
        heap_pop(track->changes, track->count, sizeof *track->changes, earlier, NULL);
        apply(engine, device, &track->changes[--track->count]);
    }
}

void engine_memory_change(struct engine *engine, struct device *device, double time,
                          const struct engine_change *change)
{
    struct memory_track *track = &device->memory;
    struct change added = {time, change->bytes, change->memory};
    uint8_t streams = device->order->memory_streams;
    if ((streams & (streams - 1)) == 0) {
        apply(engine, device, &added);
        return;
    }
    if (!VECTOR_ADD(track->changes, track->count, track->capacity, added)) {
        engine_no_memory(engine);
        return;
    }
    heap_push(track->changes, track->count, sizeof *track->changes, earlier, NULL);
    if (track->count < track->patience)
        return;
    double safe = INFINITY;
    for (unsigned stream = 0; stream < ENGINE_STREAMS; stream++) {
        if ((streams & device->unfinished) >> stream & 1)
            safe = fmin(safe, device->actors[stream].clock);
    }
    apply_until(engine, device, safe);
    track->patience = track->count < 16 ? 32 : 2 * track->count;
}

static void engine_memory_end(struct engine *engine, struct device *device)
{
    struct memory_track *track = &device->memory;
    apply_until(engine, device, INFINITY);
    settle(engine, device);
    for (int i = MEMORY_ACTIVATIONS; i <= MEMORY_WORKING && !engine->failed; i++) {
        int64_t left = track->now[i] - device->source->memory[i];
        if (left == 0)
            continue;
        engine->failed = true;
        error_set(engine->err, ERROR_INPUT, "device %d: %lld bytes of %s are %s", device->source->rank,
                  (long long)(left < 0 ? -left : left), names[i],
                  left < 0 ? "freed that were there before" : "never freed");
    }
}

#define MAX_DEVICES (1 << 24)

/* ---- checks ---- */

static bool check_sizes(const struct engine_system *system, struct error *err)
{
    if (system->device_count < 1 || system->device_count > MAX_DEVICES || system->label_count < 1 ||
        system->label_count > ENGINE_LABELS || system->template_count < 0 || system->order_count < 1 ||
        system->group_count < 0 || system->group_count > MAX_DEVICES * 8 || system->route_count < 0 ||
        system->link_count < 0 || system->channel_count < 0)
        return error_set(err, ERROR_INPUT, "a system of %d devices, %d orders, %d labels and %d groups",
                         system->device_count, system->order_count, system->label_count, system->group_count);
    if (!(system->jitter >= 0.0 && system->jitter <= 10.0))
        return error_set(err, ERROR_INPUT, "a jitter of %g", system->jitter);
    return true;
}

bool engine_check_links(const struct engine_system *system, struct error *err)
{
    for (int i = 0; i < system->link_count; i++) {
        if (!(system->links[i].capacity > 0.0 && system->links[i].capacity < 1e30))
            return error_set(err, ERROR_INPUT, "link %d has a capacity of %g bytes/s", i,
                             system->links[i].capacity);
    }
    for (int i = 0; i < system->route_count; i++) {
        if (system->routes[i].count < 1)
            return error_set(err, ERROR_INPUT, "route %d has no links", i);
        for (int j = 0; j < system->routes[i].count; j++) {
            const struct engine_use *use = &system->routes[i].uses[j];
            if (use->link >= (uint32_t)system->link_count || use->weight == 0)
                return error_set(err, ERROR_INPUT, "route %d, link %d: no such link, or no weight", i, j);
        }
    }
    for (int i = 0; i < system->group_count; i++) {
        if (system->groups[i].members < 1 || system->groups[i].route < -1 ||
            system->groups[i].route >= system->route_count)
            return error_set(err, ERROR_INPUT, "group %d has %d members and route %d", i,
                             system->groups[i].members, system->groups[i].route);
    }
    return true;
}

static bool check_numbers(const int *numbers, int count, int wanted, int limit)
{
    if (count < wanted)
        return false;
    for (int i = 0; i < count; i++) {
        if (numbers[i] < 0 || numbers[i] >= limit)
            return false;
    }
    return true;
}

static bool check_device(const struct engine_system *system, const struct engine_device *device,
                         const struct plan_of_order *order, struct error *err)
{
    if (!check_numbers(device->ports, device->port_count, order->ports, system->channel_count) ||
        !check_numbers(device->groups, device->group_count, order->groups, system->group_count) ||
        !check_numbers(device->routes, device->route_count, order->routes, system->route_count))
        return error_set(err, ERROR_INPUT,
                         "device %d: a port, group or route of its tasks is not in its lists", device->rank);
    if (!(device->factor >= 0.0 && device->factor < 1e9) || !(device->slow_from >= 0.0) ||
        !(device->slow_until >= 0.0) || device->members < 1)
        return error_set(err, ERROR_INPUT, "device %d: a factor of %g, %d members", device->rank,
                         device->factor, device->members);
    return true;
}

/* ---- preparation ---- */

static bool prepare_device(struct engine *engine, uint32_t number)
{
    const struct engine_system *system = engine->system;
    struct device *device = &engine->devices[number];
    const struct engine_device *source = &system->devices[number];
    device->source = source;
    if (source->order < 0 || source->order >= system->order_count)
        return error_set(engine->err, ERROR_INPUT, "device %d: no order %d", source->rank, source->order);
    device->order = &engine->compiled.orders[source->order];
    device->ports = source->ports;
    if (!check_device(system, source, device->order, engine->err))
        return false;
    device->actors = &engine->actors[(size_t)number * ENGINE_STREAMS];
    device->figures = &engine->result->devices[number];
    device->seconds = &engine->result->seconds[(size_t)number * (size_t)system->label_count];
    device->room = device->order->room;
    device->unfinished = device->runnable = device->order->streams;
    device->events = calloc(device->room, sizeof *device->events);
    if (device->events == NULL)
        return error_memory(engine->err);
    for (unsigned stream = 0; stream < ENGINE_STREAMS; stream++)
        device->actors[stream] =
            (struct actor){.pass = NOBODY,
                           .previous = -1,
                           .cause = -1,
                           .state = device->order->streams >> stream & 1 ? ACTOR_READY : ACTOR_DONE};
    engine_memory_begin(device);
    for (int i = 0; i < device->order->groups; i++)
        engine->meetings[source->groups[i]].there += device->order->uses_group[i + 1];
    return true;
}

/* Members that come are counted once; while tasks are done, those are counted that are there. */
static bool prepare_meetings(struct engine *engine)
{
    for (int i = 0; i < engine->system->group_count; i++) {
        struct meeting *meeting = &engine->meetings[i];
        meeting->members = engine->system->groups[i].members;
        meeting->route = engine->system->groups[i].route;
        if (meeting->there > 0 && meeting->there != meeting->members)
            return error_set(engine->err, ERROR_INPUT, "group %d has %d members, but %d devices come", i,
                             meeting->members, meeting->there);
        meeting->there = 0;
    }
    return true;
}

static bool prepare(struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct engine_result *result = engine->result;
    size_t devices = (size_t)system->device_count, groups = (size_t)system->group_count;
    size_t timers = devices * ENGINE_STREAMS + groups;
    result->devices = calloc(devices, sizeof *result->devices);
    result->seconds = calloc(devices * (size_t)system->label_count, sizeof *result->seconds);
    result->carried = calloc((size_t)system->link_count + 1, sizeof *result->carried);
    result->full = calloc((size_t)system->link_count + 1, sizeof *result->full);
    engine->devices = calloc(devices, sizeof *engine->devices);
    engine->actors = calloc(devices * ENGINE_STREAMS, sizeof *engine->actors);
    engine->channels = calloc((size_t)system->channel_count + 1, sizeof *engine->channels);
    engine->meetings = calloc(groups + 1, sizeof *engine->meetings);
    engine->work = malloc(devices * sizeof *engine->work);
    engine->timer_places = malloc(timers * sizeof *engine->timer_places);
    if (result->devices == NULL || result->seconds == NULL || result->carried == NULL ||
        result->full == NULL || engine->devices == NULL || engine->actors == NULL ||
        engine->channels == NULL || engine->meetings == NULL || engine->work == NULL ||
        engine->timer_places == NULL)
        return error_memory(engine->err);
    for (size_t i = 0; i < timers; i++)
        engine->timer_places[i] = NOBODY;
    for (int i = 0; i < system->channel_count; i++) {
        engine->channels[i].waiter = NOBODY;
        engine->channels[i].ring = &engine->channels[i].one;
        engine->channels[i].room = 1;
    }
    for (size_t i = 0; i < devices; i++) {
        if (stop_obeyed_at(i, engine->err) || !prepare_device(engine, (uint32_t)i))
            return false;
    }
    return prepare_meetings(engine) && engine_network_init(engine) && engine_regions_find(engine);
}

/* ---- the run ---- */

static void fire(struct engine *engine, uint32_t timer)
{
    uint32_t actors = (uint32_t)engine->system->device_count * ENGINE_STREAMS;
    if (timer < actors) {
        engine_fire_actor(engine, timer);
        return;
    }
    double end = engine_flow_fire(engine, engine->meetings[timer - actors].flow);
    if (end >= 0.0)
        engine_meeting_ends(engine, timer - actors, end);
}

/* Runs and fires what is there. A region that is alone stops before its time goes on once it has met others. */
static void advance(struct engine *engine, size_t *step)
{
    while (!engine->failed) {
        while (engine->work_count > 0 && !engine->failed) {
            engine_run_device(engine, engine->work[--engine->work_count]);
            engine->failed |= stop_obeyed_at(++*step, engine->err);
            if (*step % STOP_STEPS == 0)
                progress_tell("%lld tasks", (long long)engine->task_count);
        }
        if (engine->failed)
            return;
        bool goes_on = engine->timer_count == 0 || engine->timers[0].time > engine->now;
        if (engine->network.dirty_count > 0 && goes_on) {
            engine_share_links(engine);
        } else if (engine->timer_count > 0 && !(goes_on && engine->alone && engine->met)) {
            struct timer timer = engine_timer_pop(engine);
            engine->now = fmax(engine->now, timer.time);
            fire(engine, timer.id);
        } else {
            return;
        }
    }
}

/* Plays all regions alone as far as that is possible. Their timers are put aside. */
static void advance_regions(struct engine *engine, size_t *step)
{
    size_t aside = 0, room = 0;
    struct timer *timers = NULL;
    for (size_t d = 0; d < (size_t)engine->system->device_count && !engine->failed; d++) {
        if (engine->region_first[d] == NOBODY)
            continue;
        for (uint32_t i = engine->region_first[d]; i != NOBODY; i = engine->region_next[i]) {
            engine->work[engine->work_count++] = i;
            engine->devices[i].queued = true;
        }
        engine->now = 0.0;
        engine->met = false;
        advance(engine, step);
        for (size_t t = 0; t < engine->timer_count && !engine->failed; t++) {
            engine->timer_places[engine->timers[t].id] = NOBODY;
            if (!VECTOR_ADD(timers, aside, room, engine->timers[t]))
                engine_no_memory(engine);
        }
        engine->timer_count = 0;
    }
    engine->now = 0.0;
    for (size_t t = 0; t < aside && !engine->failed; t++)
        engine_timer_set(engine, timers[t].id, timers[t].time);
    free(timers);
}

static bool play_events(struct engine *engine)
{
    size_t step = 0;
    engine->alone = true;
    advance_regions(engine, &step);
    engine->alone = false;
    advance(engine, &step);
    if (!engine->failed)
        engine_stuck(engine);
    if (!engine->failed)
        engine_unreceived(engine);
    return !engine->failed;
}

static bool conclude(struct engine *engine)
{
    struct engine_result *result = engine->result;
    result->tasks = engine->task_count;
    for (size_t i = 0; i < (size_t)engine->system->device_count && !engine->failed; i++) {
        struct device *device = &engine->devices[i];
        for (unsigned stream = 0; stream < ENGINE_STREAMS; stream++)
            result->makespan = fmax(result->makespan, device->actors[stream].clock);
        engine_memory_end(engine, device);
    }
    for (int i = 0; i < engine->system->link_count; i++) {
        const struct link_state *link = &engine->network.links[i];
        result->carried[i] = link->whole + link->parts / ENGINE_WEIGHT;
        result->full[i] = link->full_seconds;
    }
    if (!engine->failed && !isfinite(result->makespan)) {
        engine->failed = true;
        error_set(engine->err, ERROR_INPUT, "the run takes %g seconds", result->makespan);
    }
    return !engine->failed;
}

static void release(struct engine *engine)
{
    for (int i = 0; engine->devices != NULL && i < engine->system->device_count; i++) {
        free(engine->devices[i].events);
        free(engine->devices[i].intervals);
        free(engine->devices[i].memory.changes);
    }
    for (int i = 0; engine->channels != NULL && i < engine->system->channel_count; i++) {
        if (engine->channels[i].ring != &engine->channels[i].one)
            free(engine->channels[i].ring);
    }
    free(engine->devices);
    free(engine->actors);
    free(engine->channels);
    free(engine->meetings);
    free(engine->work);
    free(engine->region_first);
    free(engine->region_next);
    free(engine->timers);
    free(engine->timer_places);
    free(engine->ends);
    engine_network_release(engine);
    engine_compiled_release(&engine->compiled);
}

bool engine_run(const struct engine_system *system, const struct timeline_sink *sink,
                struct engine_result *result, struct error *err)
{
    *result = (struct engine_result){.makespan = 0.0};
    if (!check_sizes(system, err) || !engine_check_links(system, err))
        return false;
    struct engine engine = {.system = system, .sink = sink, .result = result, .err = err};
    bool played = engine_compile(system, &engine.compiled, err) && prepare(&engine) && engine_tell(&engine) &&
                  play_events(&engine) && conclude(&engine);
    release(&engine);
    return played;
}

void engine_result_release(struct engine_result *result)
{
    free(result->devices);
    free(result->seconds);
    free(result->carried);
    free(result->full);
    *result = (struct engine_result){.makespan = 0.0};
}
