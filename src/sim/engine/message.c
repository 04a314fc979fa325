/* Messages that are under way or were not taken yet. */
#include "sim/engine/inner.h"

#include <stdlib.h>

static bool widen(struct engine *engine, struct channel *channel)
{
    uint32_t room = channel->room == 0 ? 4 : 2 * channel->room;
    struct message *ring = room > INT32_MAX ? NULL : malloc(room * sizeof *ring);
    if (ring == NULL)
        return engine_no_memory(engine);
    for (uint32_t i = 0; i < channel->count; i++)
        ring[i] = channel->ring[(channel->first + i) & (channel->room - 1)];
    free(channel->ring);
    channel->ring = ring;
    channel->room = room;
    channel->first = 0;
    return true;
}

struct message *engine_find_message(struct channel *channel, uint32_t microbatch)
{
    for (uint32_t i = 0; i < channel->count; i++) {
        struct message *message = &channel->ring[(channel->first + i) & (channel->room - 1)];
        if (message->microbatch == microbatch && !message->taken)
            return message;
    }
    return NULL;
}

void engine_take_message(struct channel *channel, struct message *message)
{
    message->taken = true;
    while (channel->count > 0 && channel->ring[channel->first].taken) {
        channel->first = (channel->first + 1) & (channel->room - 1);
        channel->count--;
    }
}

void engine_send(struct engine *engine, uint32_t number, uint32_t microbatch, double since, double comes,
                 int64_t origin)
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
