/* Kernels that run beside collectives.
 *
 * A kernel's end is a function of its beginning, its seconds and the tasks with shares that run before that end,
 * however and whenever these became known: it is computed anew, from its beginning, whenever another one becomes known.
 * A kernel ends for certain if no stream with shares can begin another task before; mostly such a stream waits for a
 * mark that stream 0 has yet to set. Otherwise the end is a timer: when it fires, nothing can happen before it any
 * more. */
#include "core/vector.h"
#include "sim/engine/inner.h"

#include <math.h>

/* However many tasks with shares run at the same time, a kernel keeps this. */
#define KEPT (SHARE_ONE / 64)

static double end_of(const struct device *device, double begin, double seconds)
{
    double at = begin, left = seconds;
    for (;;) {
        int64_t load = 0;
        double next = INFINITY;
        for (size_t i = 0; i < device->interval_count; i++) {
            const struct interval *interval = &device->intervals[i];
            if (interval->begin > at)
                next = fmin(next, interval->begin);
            else if (interval->end > at)
                load += interval->share;
            if (interval->end > at)
                next = fmin(next, interval->end);
        }
        int64_t kept = load < SHARE_ONE - KEPT ? SHARE_ONE - load : KEPT;
        double speed = (double)kept / SHARE_ONE;
        double end = load == 0 ? at + left : at + left / speed;
        if (end <= next)
            return end;
        left = fmax(0.0, left - (next - at) * speed);
        at = next;
    }
}

double engine_slowed(const struct engine_device *device, double begin, double seconds, double jitter)
{
    double factor = device->factor == 0.0 ? 1.0 : device->factor;
    if (device->slow_until <= 0.0)
        return seconds * factor * jitter;
    double at = fmax(begin, device->slow_from), left = seconds * jitter - (at - begin);
    if (left <= 0.0 || at >= device->slow_until)
        return seconds * jitter;
    double slow = fmin(left * factor, device->slow_until - at);
    return at - begin + slow + (left - slow / factor);
}

/* Returns a time before which a stream begins no task with a share that is not in the list. */
static double earliest(const struct actor *actor)
{
    switch ((enum actor_state)actor->state) {
    case ACTOR_DONE:
        return INFINITY;
    case ACTOR_READY:
        return actor->missing == MISSING_MARK && actor->by_kernel ? INFINITY : actor->clock;
    case ACTOR_MEETING:
    case ACTOR_FLOWING:
        return actor->begin;
    case ACTOR_ENDING:
        return actor->end;
    default:
        return actor->clock;
    }
}

double engine_kernel_end(struct device *device, double begin, double seconds, bool *certain)
{
    size_t kept = 0;
    for (size_t i = 0; i < device->interval_count; i++) {
        if (device->intervals[i].end > begin)
            device->intervals[kept++] = device->intervals[i];
    }
    device->interval_count = kept;
    double end = end_of(device, begin, seconds);
    *certain = true;
    for (unsigned stream = 1; stream < ENGINE_STREAMS; stream++) {
        if ((device->order->share_streams >> stream & 1) && earliest(&device->actors[stream]) < end)
            *certain = false;
    }
    return end;
}

static void again(struct engine *engine, struct device *device)
{
    struct actor *kernel = &device->actors[0];
    if (kernel->state != ACTOR_SLOWED)
        return;
    bool certain;
    kernel->end = engine_kernel_end(device, kernel->begin, kernel->work, &certain);
    engine_timer_set(engine, (uint32_t)(kernel - engine->actors), kernel->end);
}

void engine_interval_add(struct engine *engine, uint32_t number, double begin, double end, double share)
{
    struct device *device = &engine->devices[engine_device_of(number)];
    if (device->actors[0].state == ACTOR_DONE || end <= begin)
        return;
    struct interval interval = {begin, end, (uint32_t)lround(share * SHARE_ONE), number % ENGINE_STREAMS};
    if (!VECTOR_ADD(device->intervals, device->interval_count, device->interval_capacity, interval))
        engine_no_memory(engine);
    else
        again(engine, device);
}

void engine_interval_close(struct engine *engine, uint32_t number, double end)
{
    struct device *device = &engine->devices[engine_device_of(number)];
    for (size_t i = 0; i < device->interval_count; i++) {
        if (device->intervals[i].stream == number % ENGINE_STREAMS && isinf(device->intervals[i].end)) {
            device->intervals[i].end = end;
            again(engine, device);
            return;
        }
    }
}
