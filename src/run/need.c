#include "run/need.h"

#include "core/unit.h"
#include "core/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t available(void)
{
    char line[160];
    int64_t kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && kilobytes == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0 && !text_whole(line + 13, " \n", &kilobytes))
            break;
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

struct looking {
    const struct player *player;
    int64_t *groups; /* bytes of the largest collective of each, where it is the largest of some device */
    bool *seen;      /* templates of a device */
};

static void raise_to(int64_t *most, int64_t bytes)
{
    if (bytes > *most)
        *most = bytes;
}

/* Looks at all tasks of a device. */
static void look_at(const struct looking *looking, int d, int64_t *sent)
{
    const struct player *player = looking->player;
    const struct engine_device *device = &player->system->devices[d];
    const struct engine_order *order = &player->system->orders[device->order];
    int64_t largest = 0;
    int group = -1; /* of the largest collective */
    memset(looking->seen, 0, (size_t)player->system->template_count * sizeof *looking->seen);
    for (size_t pass = 0; pass < order->count; pass++) {
        const struct engine_template *template = &player->system->templates[order->passes[pass].template];
        for (int i = 0; !looking->seen[order->passes[pass].template] && i < template->count; i++) {
            const struct engine_task *task = &template->tasks[i];
            int64_t bytes = player_bytes(player, task->bytes);
            if (task->send > 0)
                raise_to(sent, bytes);
            if (task->group == 0)
                continue;
            int number = device->groups[task->group - 1];
            bytes = collective_bytes(player, number, sim_task_collective(task), task->bytes);
            if (bytes > largest) {
                largest = bytes;
                group = number;
            }
        }
        looking->seen[order->passes[pass].template] = true;
    }
    if (group >= 0)
        raise_to(&looking->groups[group], largest);
}

bool need_look(struct need *need, const struct player *player, struct error *err)
{
    const struct engine_system *system = player->system;
    struct looking looking = {.player = player};
    int64_t alone = 0; /* collectives of this rank's devices alone wait for nobody: one after the other */
    looking.groups = calloc((size_t)system->group_count + 1, sizeof *looking.groups);
    *need = (struct need){.there = available()};
    looking.seen = calloc((size_t)system->template_count + 1, sizeof *looking.seen);
    bool ok = (looking.groups && looking.seen) || error_memory(err);
    (void)gethostname(need->host, sizeof need->host - 1);
    for (int d = player->first; ok && d < player->first + player->count; d++)
        look_at(&looking, d, &need->needed);
    for (int g = 0; ok && g < system->group_count; g++)
        if (player->groups[g].rank_count > 1)
            need->needed += looking.groups[g];
        else
            raise_to(&alone, looking.groups[g]);
    need->needed += alone;
    for (int c = 0; ok && c < system->channel_count; c++)
        need->needed += message_ahead(player, c) * player->channels[c].longest;
    free(looking.groups);
    free(looking.seen);
    return ok;
}

bool need_add(struct need_sum *sum, const struct need *need, struct error *err)
{
    for (size_t i = 0; i < sum->count; i++)
        if (strncmp(sum->hosts[i].host, need->host, sizeof need->host) == 0) {
            sum->hosts[i].needed += need->needed;
            return true;
        }
    return VECTOR_ADD(sum->hosts, sum->count, sum->capacity, *need) || error_memory(err);
}

bool need_check(const struct need_sum *sum, struct error *err)
{
    bool ok = true;
    char a[32], b[32];
    for (size_t i = 0; ok && i < sum->count; i++) {
        const struct need *need = &sum->hosts[i];
        ok = need->there == 0 || need->needed <= need->there ||
             error_set(err, ERROR_INPUT,
                       "host %.63s: messages and collectives need about %s of memory, but %s are free: "
                       "--byte-share 0.1 sends a tenth of all bytes, or use more hosts",
                       need->host, unit_format(a, sizeof a, (double)need->needed, UNIT_BYTES, 3),
                       unit_format(b, sizeof b, (double)need->there, UNIT_BYTES, 3));
    }
    return ok;
}

void need_release(struct need_sum *sum)
{
    free(sum->hosts);
    *sum = (struct need_sum){.count = 0};
}
