/* The run of a system: checks, preparation, and the order in which streams run and timers fire (see inner.h). */
#include "sim/engine/engine.h"

#include "core/progress.h"
#include "core/stop.h"
#include "sim/engine/inner.h"

#include <math.h>
#include <stdlib.h>

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

static bool check_links(const struct engine_system *system, struct error *err)
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
    if (!(device->factor >= 0.0 && device->factor < 1e9) || device->members < 1)
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
    if (!check_device(system, source, device->order, engine->err))
        return false;
    device->actors = &engine->actors[(size_t)number * ENGINE_STREAMS];
    device->factor = source->factor == 0.0 ? 1.0 : source->factor;
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
    for (int i = 0; i < system->channel_count; i++)
        engine->channels[i].waiter = NOBODY;
    for (size_t i = 0; i < devices; i++) {
        if (stop_obeyed_at(i, engine->err) || !prepare_device(engine, (uint32_t)i))
            return false;
    }
    for (size_t i = devices; i-- > 0;) {
        engine->devices[i].queued = true;
        engine->work[engine->work_count++] = (uint32_t)i;
    }
    return prepare_meetings(engine) && engine_network_init(engine);
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

static bool run(struct engine *engine)
{
    for (size_t step = 0; !engine->failed; step++) {
        while (engine->work_count > 0 && !engine->failed) {
            engine_run_device(engine, engine->work[--engine->work_count]);
            engine->failed |= stop_obeyed_at(++step, engine->err);
            if (step % STOP_STEPS == 0)
                progress_tell("%lld tasks", (long long)engine->task_count);
        }
        if (engine->failed)
            break;
        if (engine->network.dirty_count > 0 &&
            (engine->timer_count == 0 || engine->timers[0].time > engine->now)) {
            engine_share_links(engine);
        } else if (engine->timer_count > 0) {
            struct timer timer = engine_timer_pop(engine);
            engine->now = fmax(engine->now, timer.time);
            fire(engine, timer.id);
        } else {
            break;
        }
    }
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
    for (int i = 0; engine->channels != NULL && i < engine->system->channel_count; i++)
        free(engine->channels[i].ring);
    free(engine->devices);
    free(engine->actors);
    free(engine->channels);
    free(engine->meetings);
    free(engine->work);
    free(engine->timers);
    free(engine->timer_places);
    engine_network_release(engine);
    engine_compiled_release(&engine->compiled);
}

bool engine_run(const struct engine_system *system, const struct timeline_sink *sink,
                struct engine_result *result, struct error *err)
{
    *result = (struct engine_result){.makespan = 0.0};
    if (!check_sizes(system, err) || !check_links(system, err))
        return false;
    struct engine engine = {.system = system, .sink = sink, .result = result, .err = err};
    bool played = engine_compile(system, &engine.compiled, err) && prepare(&engine) && run(&engine) &&
                  conclude(&engine);
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
