#include "schedule/schedule.h"

#include "core/text.h"
#include "schedule/check.h"
#include "schedule/make/make.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct schedule schedules[] = {
    {.name = "gpipe",
     .aliases = "fthenb|f-then-b|schedulegpipe",
     .title = "GPipe: all forward passes, then all backward passes (arXiv 1811.06965)",
     .chunks = 1,
     .make = maker_gpipe},
    {.name = "looped-bfs",
     .aliases = "breadth-first|bfs|loopedbfs|scheduleloopedbfs",
     .title = "Breadth-first pipeline: GPipe with several chunks of each device (arXiv 2211.05953)",
     .make = maker_gpipe},
    {.name = "1f1b",
     .aliases = "dapple|pipedream-flush|schedule1f1b",
     .title = "1F1B with a flush: one forward, one backward pass (PipeDream-Flush, DAPPLE; arXiv 2006.09503)",
     .chunks = 1,
     .make = maker_1f1b},
    {.name = "eager-1f1b",
     .aliases = "1f1b-eager|overlap-friendly-1f1b|dapple-b",
     .title =
         "1F1B with twice the forward passes ahead, to hide messages (DAPPLE's policy B, arXiv 2007.01045)",
     .chunks = 1,
     .make = maker_eager_1f1b},
    {.name = "interleaved",
     .aliases = "interleaved-1f1b|1f1b-i|1f1b-interleaved|interleaved1f1b|scheduleinterleaved1f1b|vpp",
     .title = "Interleaved 1F1B: several chunks of each device, in Megatron-LM's order (arXiv 2104.04473)",
     .make = maker_interleaved},
    {.name = "pipedream",
     .title = "PipeDream: 1F1B without a flush, weights change after each micro-batch (arXiv 1806.03377)",
     .chunks = 1,
     .no_flush = true,
     .make = maker_pipedream},
    {.name = "2bw",
     .aliases = "pipedream-2bw",
     .title = "PipeDream-2BW: 1F1B without a flush, two versions of the weights (arXiv 2006.09503)",
     .chunks = 1,
     .no_flush = true,
     .make = maker_2bw},
    {.name = "chimera",
     .title = "Chimera: two chains in opposite directions (arXiv 2107.06925)",
     .chunks = 2,
     .two_chains = true,
     .make = maker_chimera},
    {.name = "zb-h1",
     .aliases = "zbh1",
     .title = "ZB-H1: gradients of weights fill bubbles, memory of 1F1B (arXiv 2401.10241)",
     .chunks = 1,
     .make = maker_zb_h1},
    {.name = "zb-h2",
     .aliases = "zbh2",
     .title = "ZB-H2: no bubble within a device's span, twice the memory of 1F1B (arXiv 2401.10241)",
     .chunks = 1,
     .make = maker_zb_h2},
    {.name = "interleaved-zb",
     .aliases = "interleaved-zero-bubble|interleavedzerobubble|scheduleinterleavedzerobubble",
     .title = "ZB-H1 with several chunks of each device (PyTorch's ScheduleInterleavedZeroBubble)",
     .make = maker_interleaved_zb},
    {.name = "zb-v",
     .aliases = "zbvzerobubble|schedulezbvzerobubble",
     .title = "ZB-V: two chunks of each device in a V, memory of 1F1B (arXiv 2401.10241, 2405.15362)",
     .chunks = 2,
     .make = maker_zb_v},
    {.name = "v-half",
     .aliases = "vhalf|v1f1b|v1f1b (v-half-like, bw fused)",
     .title = "V-Half: as ZB-V with half of the memory (arXiv 2405.15362)",
     .chunks = 2,
     .make = maker_v_half},
    {.name = "v-min",
     .aliases = "vmin",
     .title = "V-Min: as ZB-V with a third of the memory (arXiv 2405.15362)",
     .chunks = 2,
     .make = maker_v_min},
    {.name = "hanayo",
     .aliases = "wave|waves",
     .title = "Hanayo: a chain in waves, two chunks of each device per wave (arXiv 2308.15762)",
     .make = maker_hanayo},
    {.name = "dualpipe",
     .title = "DualPipe: two chains in opposite directions, pairs overlap (DeepSeek-V3, arXiv 2412.19437)",
     .chunks = 2,
     .two_chains = true,
     .make = maker_dualpipe},
    {.name = "dualpipev",
     .aliases = "dualpipe-v|scheduledualpipev",
     .title = "DualPipeV: DualPipe on half the devices, one chain down and up",
     .chunks = 2,
     .make = maker_dualpipev},
    {.name = "zb-1p",
     .aliases = "zb1p|zb-1p(h1) mem=p",
     .title = "Zero bubble, searched: the memory of 1F1B's first device on each (ZB-1p; arXiv 2401.10241)",
     .chunks = 1,
     .make = maker_zb_1p},
    {.name = "zb-2p",
     .aliases = "zb2p|zb-2p(h2) mem=2p",
     .title = "Zero bubble, searched: twice the memory of zb-1p (ZB-2p; arXiv 2401.10241)",
     .chunks = 1,
     .make = maker_zb_2p},
    {.name = "v-1p",
     .aliases = "zbv|zb-v-1p",
     .title = "Zero bubble on a V of two chunks, searched: activations of p micro-batches, or --memory-limit",
     .chunks = 2,
     .make = maker_v_1p},
    {.name = "best",
     .title = "The best order found within the memory, over placements and schedules",
     .single_too = true,
     .fills_memory = true,
     .make = maker_best},
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
        size_t compared = schedule->chunks == 0 ? length : strlen(name);
        if (is_one_of(schedule->name, name, compared) || is_one_of(schedule->aliases, name, compared)) {
            if (given > 0 && schedule->chunks == 0)
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

int schedule_stages(const struct schedule *schedule, const struct schedule_shape *shape)
{
    long long stages = (long long)shape->devices * schedule_chunks(schedule, shape);
    return stages > ORDER_MAX_STAGES ? ORDER_MAX_STAGES + 1 : (int)stages;
}

bool schedule_make(const struct schedule *schedule, const struct schedule_shape *shape,
                   struct pass_order *order, struct error *err)
{
    *order = (struct pass_order){.devices = 0};
    if (shape->chunks > 0 && schedule->chunks > 0 && shape->chunks != schedule->chunks)
        return error_set(err, ERROR_INPUT, "schedule %s has %d chunk%s of each device, not %d",
                         schedule->name, schedule->chunks, schedule->chunks == 1 ? "" : "s", shape->chunks);
    if (shape->chunks == 1 && schedule->chunks == 0 && !schedule->single_too)
        return error_set(err, ERROR_INPUT, "schedule %s needs at least 2 chunks of each device",
                         schedule->name);
    long long microbatches = shape->microbatches;
    if (schedule->no_flush && shape->iterations > 1)
        microbatches *= shape->iterations;
    if (microbatches > ORDER_MAX_MICROBATCHES)
        microbatches = ORDER_MAX_MICROBATCHES + 1;
    if (!pass_order_init(order, shape->devices, schedule_stages(schedule, shape),
                         schedule->two_chains ? 2 : 1, (int)microbatches, err))
        return false;
    order->step = shape->microbatches;
    return schedule->make(shape, order, err) && pass_order_check(order, NULL, err);
}
