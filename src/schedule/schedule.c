#include "schedule/schedule.h"

#include "core/text.h"
#include "schedule/check.h"
#include "schedule/make/make.h"
#include "texts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct schedule schedules[] = {
    {SAYS_schedule_gpipe, .chunks = 1, .make = maker_gpipe},
    {SAYS_schedule_looped_bfs, .make = maker_gpipe},
    {SAYS_schedule_1f1b, .chunks = 1, .make = maker_1f1b},
    {SAYS_schedule_seq_1f1b, .chunks = 1, .cuts_sequence = true, .make = maker_seq_1f1b},
    {SAYS_schedule_bpipe, .chunks = 1, .moves = moves_to_twin, .make = maker_1f1b},
    {SAYS_schedule_eager_1f1b, .chunks = 1, .make = maker_eager_1f1b},
    {SAYS_schedule_interleaved, .make = maker_interleaved},
    {SAYS_schedule_group_interleaved, .make = maker_group_interleaved},
    {SAYS_schedule_pipe_offload, .moves = moves_to_host, .make = maker_group_interleaved},
    {SAYS_schedule_pipedream, .chunks = 1, .no_flush = true, .make = maker_pipedream},
    {SAYS_schedule_2bw, .chunks = 1, .no_flush = true, .make = maker_2bw},
    {SAYS_schedule_chimera, .chunks = 2, .two_chains = true, .make = maker_chimera},
    {SAYS_schedule_zb_h1, .chunks = 1, .make = maker_zb_h1},
    {SAYS_schedule_zb_h2, .chunks = 1, .make = maker_zb_h2},
    {SAYS_schedule_interleaved_zb, .make = maker_interleaved_zb},
    {SAYS_schedule_zb_v, .chunks = 2, .within = maker_v_1p, .make = maker_zb_v},
    {SAYS_schedule_v_half, .chunks = 2, .within = maker_v_1p, .make = maker_v_half},
    {SAYS_schedule_v_min, .chunks = 2, .within = maker_v_1p, .make = maker_v_min},
    {SAYS_schedule_hanayo, .make = maker_hanayo},
    {SAYS_schedule_dualpipe, .chunks = 2, .two_chains = true, .make = maker_dualpipe},
    {SAYS_schedule_dualpipev, .chunks = 2, .make = maker_dualpipev},
    {SAYS_schedule_zb_1p, .chunks = 1, .make = maker_zb_1p},
    {SAYS_schedule_zb_2p, .chunks = 1, .make = maker_zb_2p},
    {SAYS_schedule_v_1p, .chunks = 2, .make = maker_v_1p},
    {SAYS_schedule_best, .single_too = true, .fills_memory = true, .make = maker_best},
    {.name = NULL},
};

#define NAMES_MAX 256

/* Returns whether one of the names in `names`, separated by '|', is the first `length` bytes of `name`. */
static bool is_one_of(const char *names, const char *name, size_t length)
{
    while (names != NULL) {
        const char *end = strchr(names, '|');
        size_t of_this = end != NULL ? (size_t)(end - names) : strlen(names);
        if (of_this == length && strncasecmp(names, name, length) == 0)
            return true;
        names = end != NULL ? end + 1 : NULL;
    }
    return false;
}

/* Returns where a name's ending " v4" begins, and its number; else where the name ends, and 0. */
static size_t without_chunks(const char *name, int *chunks)
{
    const char *at = strrchr(name, ' ');
    *chunks = 0;
    if (at == NULL || (at[1] != 'v' && at[1] != 'V') || at[2] < '1' || at[2] > '9')
        return strlen(name);
    char *end;
    long value = strtol(at + 2, &end, 10);
    if (*end != '\0' || value > ORDER_MAX_STAGES)
        return strlen(name);
    *chunks = (int)value;
    return (size_t)(at - name);
}

const struct schedule *schedule_find(const char *name, int *chunks, struct error *err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    int given;
    size_t length = without_chunks(name, &given);
    for (const struct schedule *schedule = schedules; schedule->name != NULL; schedule++) {
        size_t compared = schedule->chunks == 0 || schedule->cuts_sequence ? length : strlen(name);
        if (is_one_of(schedule->name, name, compared) || is_one_of(schedule->aliases, name, compared)) {
            if (given > 0 && (schedule->chunks == 0 || schedule->cuts_sequence))
                *chunks = given;
            return schedule;
        }
        if (count < NAMES_MAX)
            names[count++] = schedule->name;
    }
    struct text_hint hint;
    return error_null(err, ERROR_INPUT, "unknown schedule '%s'%s", name,
                      text_suggest(&hint, text_nearest(name, names, count), ""));
}

int schedule_chunks(const struct schedule *schedule, const struct schedule_shape *shape)
{
    int chosen = shape->chunks > 0 ? shape->chunks : 2;
    return schedule->chunks > 0 ? schedule->chunks : chosen;
}

int schedule_slices(const struct schedule *schedule, const struct schedule_shape *shape)
{
    int slices = shape->chunks > 0 ? shape->chunks : 2;
    return schedule->cuts_sequence ? slices : 1;
}

int schedule_stages(const struct schedule *schedule, const struct schedule_shape *shape)
{
    long long stages = (long long)shape->devices * schedule_chunks(schedule, shape);
    return stages > ORDER_MAX_STAGES ? ORDER_MAX_STAGES + 1 : (int)stages;
}

bool schedule_make(const struct schedule *schedule, const struct schedule_shape *shape,
                   struct pass_order *order, struct error *err)
{
    *order = (struct pass_order){.devices = 0};
    if (shape->chunks > 0 && schedule->chunks > 0 && shape->chunks != schedule->chunks &&
        !schedule->cuts_sequence)
        return error_set(err, ERROR_INPUT, "schedule %s has %d chunk%s of each device, not %d",
                         schedule->name, schedule->chunks, schedule->chunks == 1 ? "" : "s", shape->chunks);
    if (shape->chunks == 1 && schedule->chunks == 0 && !schedule->single_too)
        return error_set(err, ERROR_INPUT, "schedule %s needs at least 2 chunks of each device",
                         schedule->name);
    const int slices = schedule_slices(schedule, shape);
    long long microbatches = (long long)shape->microbatches * slices;
    if (schedule->no_flush && shape->iterations > 1)
        microbatches *= shape->iterations;
    if (microbatches > ORDER_MAX_MICROBATCHES)
        microbatches = ORDER_MAX_MICROBATCHES + 1;
    if (!pass_order_init(order, shape->devices, schedule_stages(schedule, shape),
                         schedule->two_chains ? 2 : 1, (int)microbatches, err))
        return false;
    order->slices = slices;
    order->step = slices * shape->microbatches;
    bool searches = schedule->within != NULL && shape->memory > 0.0 && !shape->unsearched &&
                    3LL * order->stages * order->microbatches <= SCHEDULE_MAX_SEARCHED;
    schedule_maker *make = searches ? schedule->within : schedule->make;
    return make(shape, order, err) && pass_order_check(order, NULL, err);
}
