/* Messages between devices: to one of another rank over the wire, to one of this rank by a copy. */
#include "core/vector.h"
#include "run/player.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a message carries: any of its words tells where in it it stands. */
static uint64_t word_at(int64_t place)
{
    return (uint64_t)place * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* Notes who sends and who receives by each channel, and how long its longest message is. */
static bool connect_device(struct player *player, int d, struct error *err)
{
    const struct engine_device *device = &player->system->devices[d];
    const struct engine_order *order = &player->system->orders[device->order];
    bool *seen = calloc((size_t)player->system->template_count + 1, sizeof *seen);
    if (!seen)
        return error_memory(err);
    for (size_t pass = 0; pass < order->count; pass++) {
        const struct engine_template *template = &player->system->templates[order->passes[pass].template];
        for (int i = 0; !seen[order->passes[pass].template] && i < template->count; i++) {
            const struct engine_task *task = &template->tasks[i];
            if (task->receive > 0)
                player->channels[device->ports[task->receive - 1]].to = d;
            if (task->send == 0)
                continue;
            struct player_channel *channel = &player->channels[device->ports[task->send - 1]];
            channel->from = d;
            if (player_bytes(player, task->bytes) > channel->longest)
                channel->longest = player_bytes(player, task->bytes);
        }
        seen[order->passes[pass].template] = true;
    }
    free(seen);
    return true;
}

/* Returns whether a device, or none (-1), is one of this rank's. */
static bool is_at(const struct player *player, int device)
{
    return device >= 0 && player_rank_of(player, device) == player->wire->rank;
}

bool message_init(struct player *player, struct error *err)
{
    int64_t longest = 0;
    player->channels = calloc((size_t)player->system->channel_count + 1, sizeof *player->channels);
    if (!player->channels)
        return error_memory(err);
    for (int c = 0; c < player->system->channel_count; c++)
        player->channels[c].from = player->channels[c].to = -1;
    for (int d = 0; d < player->system->device_count; d++)
        if (!connect_device(player, d, err))
            return false;
    for (int c = 0; c < player->system->channel_count; c++)
        if (is_at(player, player->channels[c].from) && player->channels[c].longest > longest)
            longest = player->channels[c].longest;
    if (longest > WIRE_MAX_BYTES)
        return error_set(err, ERROR_INPUT,
                         "a message of %.3g GB between stages exceeds the limit of %.3g GB: --byte-share 0.1 "
                         "sends a tenth of all bytes",
                         (double)longest / 1e9, (double)WIRE_MAX_BYTES / 1e9);
    player->outgoing = pool_take(&player->pool, longest + 8, err);
    for (int64_t i = 0; player->outgoing && i < longest / 8; i++)
        player->outgoing[i] = word_at(i);
    return player->outgoing != NULL;
}

int message_ahead(const struct player *player, int channel)
{
    const struct player_channel *ends = &player->channels[channel];
    return !is_at(player, ends->to) ? 0 : is_at(player, ends->from) ? 1 : 2;
}

bool message_prepare(struct player *player, struct error *err)
{
    const int channels = player->system->channel_count;
    void **made = calloc(2 * (size_t)channels + 1, sizeof *made);
    size_t count = 0;
    bool ok = made || error_memory(err);
    for (int c = 0; ok && c < channels; c++)
        for (int i = 0; ok && i < message_ahead(player, c) && player->channels[c].longest > 0; i++) {
            void *bytes = pool_take(&player->pool, player->channels[c].longest, err);
            if ((ok = bytes != NULL))
                made[count++] = memset(bytes, 0, (size_t)player->channels[c].longest);
        }
    while (count > 0)
        pool_give(&player->pool, made[--count]);
    free(made);
    return ok;
}

static bool put(struct player *player, struct player_channel *channel, const struct player_message *message,
                struct error *err)
{
    player->moved = true;
    return VECTOR_ADD(channel->messages, channel->count, channel->capacity, *message) || error_memory(err);
}

bool message_send(struct player *player, struct player_device *device, unsigned s, double comes,
                  struct error *err)
{
    struct player_stream *stream = &device->streams[s];
    const struct step *step = player_step(player, stream);
    int number = device->source->ports[step->task->send - 1];
    struct player_channel *channel = &player->channels[number];
    int64_t length = player_bytes(player, step->task->bytes);
    uint32_t microbatch = player_microbatch(device, stream, step);
    uint64_t origin = (uint64_t)stream->number;
    device->sent++;
    device->sent_bytes += length;
    channel->sent++;
    if (channel->to < 0)
        return error_set(err, ERROR_FAILED, "device %d sends to nobody", device->number);
    int to = player_rank_of(player, channel->to);
    if (to != player->wire->rank) {
        struct wire_head head = {.kind = WIRE_MESSAGE,
                                 .to = to,
                                 .number = (uint32_t)number,
                                 .microbatch = microbatch,
                                 .length = length,
                                 .time = comes,
                                 .origin = origin};
        return wire_send(player->wire, &head, player->outgoing, &stream->pending, err);
    }
    struct player_message message = {
        .comes = comes, .origin = origin, .length = length, .microbatch = microbatch};
    if (length > 0) {
        message.bytes = pool_take(&player->pool, length, err);
        if (!message.bytes)
            return false;
        memcpy(message.bytes, player->outgoing, (size_t)length);
        player->copied_bytes += length;
        message.comes = fmax(comes, player_now(player));
    }
    return put(player, channel, &message, err);
}

bool message_arrived(struct player *player, const struct wire_head *head, void *bytes, struct error *err)
{
    if (head->number >= (uint32_t)player->system->channel_count)
        return error_set(err, ERROR_FAILED, "a message from rank %d is corrupted: there is no channel %u",
                         head->from, head->number);
    struct player_channel *channel = &player->channels[head->number];
    if (channel->to < player->first || channel->to >= player->first + player->count)
        return error_set(err, ERROR_FAILED, "a message from rank %d came to the wrong rank", head->from);
    const struct player_message message = {.comes = fmax(head->time, player_now(player)),
                                           .origin = head->origin,
                                           .bytes = bytes,
                                           .length = head->length,
                                           .microbatch = head->microbatch};
    return put(player, channel, &message, err);
}

bool message_take(struct player *player, struct player_device *device, const struct step *step,
                  struct player_message *message, struct error *err)
{
    struct player_channel *channel = &player->channels[device->source->ports[step->task->receive - 1]];
    const uint64_t *words = message->bytes;
    int64_t last = message->length / 8 - 1;
    if (last >= 0 &&
        (words[0] != word_at(0) || words[last] != word_at(last) || words[last / 2] != word_at(last / 2)))
        return error_set(err, ERROR_FAILED,
                         "device %d, micro-batch %u: the message from device %d is corrupted", device->number,
                         message->microbatch, channel->from);
    device->received++;
    device->received_bytes += message->length;
    channel->received++;
    pool_give(&player->pool, message->bytes);
    *message = channel->messages[--channel->count];
    return true;
}
