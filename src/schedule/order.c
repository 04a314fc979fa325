#include "schedule/order.h"

#include "core/stop.h"

#include <stdlib.h>
#include <string.h>

static bool beyond(long long value, long long max, const char *what, struct error *err)
{
    if (value >= 1 && value <= max)
        return false;
    error_set(err, ERROR_INPUT, "a schedule of %lld %s: expected 1 to %lld", value, what, max);
    return true;
}

bool pass_order_init(struct pass_order *order, int devices, int stages, int chains, int microbatches,
                     struct error *err)
{
    *order = (struct pass_order){.devices = devices,
                                 .stages = stages,
                                 .chains = chains,
                                 .microbatches = microbatches,
                                 .weight_versions = 1,
                                 .step = microbatches,
                                 .flushes = true};
    if (beyond(devices, ORDER_MAX_DEVICES, "devices", err) ||
        beyond(stages, ORDER_MAX_STAGES, "stages", err) ||
        beyond(microbatches, ORDER_MAX_MICROBATCHES, "micro-batches", err))
        return false;
    if (chains < 1 || stages % chains != 0)
        return error_set(err, ERROR_INPUT, "%d stages cannot form %d chains of equal length", stages, chains);
    order->device_of = malloc((size_t)stages * sizeof *order->device_of);
    order->first = calloc((size_t)devices + 1, sizeof *order->first);
    if (order->device_of == NULL || order->first == NULL)
        return error_memory(err);
    for (int stage = 0; stage < stages; stage++)
        order->device_of[stage] = (uint16_t)(stage % devices);
    return true;
}

void pass_order_release(struct pass_order *order)
{
    free(order->device_of);
    free(order->first);
    free(order->passes);
    *order = (struct pass_order){.devices = 0};
}

bool pass_order_copy(const struct pass_order *from, struct pass_order *to, struct error *err)
{
    size_t stages = (size_t)from->stages, devices = (size_t)from->devices, count = pass_order_count(from);
    *to = *from;
    to->device_of = malloc(stages * sizeof *to->device_of);
    to->first = malloc((devices + 1) * sizeof *to->first);
    to->passes = malloc((count + 1) * sizeof *to->passes);
    to->capacity = count;
    if (to->device_of == NULL || to->first == NULL || to->passes == NULL)
        return error_memory(err);
    memcpy(to->device_of, from->device_of, stages * sizeof *to->device_of);
    memcpy(to->first, from->first, (devices + 1) * sizeof *to->first);
    if (count > 0)
        memcpy(to->passes, from->passes, count * sizeof *to->passes);
    return true;
}

bool pass_order_add(struct pass_order *order, enum pass_kind kind, int stage, int microbatch, bool paired,
                    struct error *err)
{
    size_t *end = &order->first[order->filling + 1];
    if (stop_obeyed_at(*end, err))
        return false;
    if (*end >= ORDER_MAX_PASSES)
        return error_set(err, ERROR_INPUT, "a schedule of more than %d passes", ORDER_MAX_PASSES);
    if (*end == order->capacity) {
        size_t capacity = order->capacity == 0 ? 1024 : 2 * order->capacity;
        struct pass *passes = realloc(order->passes, capacity * sizeof *passes);
        if (passes == NULL)
            return error_memory(err);
        order->passes = passes;
        order->capacity = capacity;
    }
    order->passes[(*end)++] = (struct pass){.microbatch = (uint32_t)microbatch,
                                            .stage = (uint16_t)stage,
                                            .kind = (uint8_t)kind,
                                            .paired = paired};
    return true;
}

void pass_order_next_device(struct pass_order *order)
{
    order->filling++;
    if (order->filling < order->devices)
        order->first[order->filling + 1] = order->first[order->filling];
}
