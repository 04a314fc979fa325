/* The text for a system in which nothing goes on: who waits, and for which task that never ends. */
#include "sim/engine/inner.h"

#include <stdio.h>

/* Returns the rank of the device that sends on a channel; -1: none does. */
static int sender_of(const struct engine *engine, int channel)
{
    const struct engine_system *system = engine->system;
    for (int d = 0; d < system->device_count; d++) {
        const struct plan_of_order *order = engine->devices[d].order;
        bool has = false;
        for (int p = 0; p < system->devices[d].port_count; p++)
            has |= system->devices[d].ports[p] == channel;
        for (uint32_t pass = 0; has && pass < order->count; pass++) {
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

void engine_stuck(struct engine *engine)
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

void engine_unreceived(struct engine *engine)
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
