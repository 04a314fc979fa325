/* What the devices did, beside what the schedule says. */
#include "run/player.h"

#include <inttypes.h>
#include <stdlib.h>

struct expected {
    int64_t tasks, sent, received, kept, freed;
};

static struct expected expect(const struct engine_system *system, const struct engine_order *order)
{
    struct expected sum = {0};
    for (size_t pass = 0; pass < order->count; pass++) {
        const struct engine_template *template = &system->templates[order->passes[pass].template];
        for (int i = 0; i < template->count; i++) {
            const struct engine_task *task = &template->tasks[i];
            sum.tasks++;
            sum.sent += task->send > 0;
            sum.received += task->receive > 0;
            for (int k = 0; k < task->change_count; k++) {
                sum.kept += task->changes[k].memory == MEMORY_ACTIVATIONS && task->changes[k].bytes > 0;
                sum.freed += task->changes[k].memory == MEMORY_ACTIVATIONS && task->changes[k].bytes < 0;
            }
        }
    }
    return sum;
}

static bool differs(int device, const char *what, int64_t found, int64_t expected, struct error *err)
{
    return error_set(err, ERROR_FAILED, "device %d: %s: %" PRId64 ", but the schedule has %" PRId64, device,
                     what, found, expected);
}

static bool check_device(const struct player *player, const struct player_device *device, struct error *err)
{
    const struct expected sum = expect(player->system, &player->system->orders[device->source->order]);
    if (device->task_count != sum.tasks)
        return differs(device->number, "tasks done", device->task_count, sum.tasks, err);
    if (device->sent != sum.sent)
        return differs(device->number, "messages sent", device->sent, sum.sent, err);
    if (device->received != sum.received)
        return differs(device->number, "messages received", device->received, sum.received, err);
    if (device->kept != sum.kept)
        return differs(device->number, "activations kept", device->kept, sum.kept, err);
    if (device->freed != sum.freed)
        return differs(device->number, "activations freed", device->freed, sum.freed, err);
    if (device->activations != 0)
        return differs(device->number, "bytes of activations at the end", device->activations, 0, err);
    return true;
}

bool player_check(const struct player *player, const int64_t *peaks, struct error *err)
{
    for (int d = 0; d < player->count; d++) {
        const struct player_device *device = &player->devices[d];
        if (!check_device(player, device, err))
            return false;
        if (peaks && device->peak != peaks[device->number])
            return differs(device->number, "peak bytes of activations", device->peak, peaks[device->number],
                           err);
    }
    for (int c = 0; c < player->system->channel_count; c++) {
        const struct player_channel *channel = &player->channels[c];
        if (channel->count > 0)
            return error_set(err, ERROR_FAILED,
                             "device %d, micro-batch %u: a message from device %d that no task receives",
                             channel->to, channel->messages[0].microbatch, channel->from);
    }
    return true;
}
