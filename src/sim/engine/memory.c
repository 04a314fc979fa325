/* Memory of a device over time. At a moment, all that is freed is freed before anything is taken, so that memory is a
 * function of time, whatever the order in which changes become known; its peak is that of the moments' ends. The changes
 * of one stream come in order. Those of several are kept until none of the streams can make an earlier one. */
#include "core/heap.h"
#include "core/vector.h"
#include "sim/engine/inner.h"

#include <math.h>

static const char *const names[MEMORY_KINDS] = {"parameters", "gradients", "optimizer state", "activations",
                                                "working memory"};

static bool earlier(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct change *)a)->time < ((const struct change *)b)->time;
}

void engine_memory_begin(struct device *device)
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

void engine_memory_end(struct engine *engine, struct device *device)
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
