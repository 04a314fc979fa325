/* A heap of timers by time, in which each knows its place, so that it can be moved and removed. */
#include "core/vector.h"
#include "sim/engine/inner.h"

static void put(struct engine *engine, size_t place, struct timer timer)
{
    engine->timers[place] = timer;
    engine->timer_places[timer.id] = (uint32_t)place;
}

static bool before(struct timer a, struct timer b)
{
    return a.time < b.time || (a.time == b.time && a.id < b.id);
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
        for (size_t i = child + 1; i < last; i++) {
            if (before(engine->timers[i], engine->timers[least]))
                least = i;
        }
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
