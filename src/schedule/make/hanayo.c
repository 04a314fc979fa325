/* Hanayo (Liu et al., SC'23, arXiv 2308.15762): a chain in waves. A wave goes down the devices and up again, so that
 * the last device of a leg is the first one of the next, and no transfer is needed at the turns. The paper has as many
 * micro-batches as devices, and makes the order of a device from rules: a backward pass goes before a forward pass.
 * That is list scheduling (fill.h), with the times of the shape where it has them. Of more micro-batches as many are in
 * flight as interleaved 1F1B has with the same chunks. Two legs are one wave. */
#include "schedule/make/contest.h"
#include "schedule/make/make.h"

bool maker_hanayo(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    int devices = shape->devices, legs = order->stages / devices;
    if (legs % 2 != 0)
        return error_set(err, ERROR_INPUT,
                         "Hanayo needs an even number of chunks of each device, two per wave, not %d", legs);
    for (int stage = 0; stage < order->stages; stage++) {
        int within = stage % devices;
        order->device_of[stage] = (uint16_t)(stage / devices % 2 == 0 ? within : devices - 1 - within);
    }
    struct contest contest = {.shape = shape, .order = order, .memory_of = devices + (devices - 1.0) / legs};
    return contest_run(&contest, err);
}
