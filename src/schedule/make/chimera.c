/* Chimera (Li, Hoefler: SC'21, arXiv 2107.06925): two chains over the same devices in opposite directions.
 *
 * A unit has as many micro-batches as devices, half on each chain. With passes of one slot, micro-batch i of a chain
 * has its forward pass at depth s in slot s + 2 i, and its backward pass in slot 2 devices - 1 - s + 2 i. As the number
 * of devices is even, the two chains use slots of different parity on each device where they meet, so no two passes
 * share a slot. The next unit begins 2 devices slots later: its first forward passes fill the bubbles at the end of
 * this one (the paper's direct concatenation). The order of a device is that of the slots. With passes of one slot the
 * makespan of m micro-batches is 2 m + devices - 2 slots; a last unit may be smaller. */
#include "schedule/make/make.h"

struct chimera {
    struct pass_order *order;
    int devices, microbatches;
    struct error *err;
};

/* Adds the pass of a chain in a slot, if it has one there. */
static bool add_slot(const struct chimera *c, int device, int chain, int slot)
{
    int depth = chain == 0 ? device : c->devices - 1 - device;
    for (int back = 0; back < 2; back++) {
        int since = slot - (back ? 2 * c->devices - 1 - depth : depth);
        if (since < 0 || since % 2 != 0)
            continue;
        int unit = since / (2 * c->devices), within = since % (2 * c->devices) / 2;
        int size = c->microbatches - unit * c->devices;
        if (size > c->devices)
            size = c->devices;
        /* micro-batches of a unit: first those of chain 0, which has one more of an odd number */
        int of_chain = chain == 0 ? (size + 1) / 2 : size / 2;
        if (size <= 0 || within >= of_chain)
            continue;
        int microbatch = unit * c->devices + within + (chain == 0 ? 0 : (size + 1) / 2);
        if (!pass_order_add(c->order, back ? PASS_BACKWARD : PASS_FORWARD, chain * c->devices + depth,
                            microbatch, false, c->err))
            return false;
    }
    return true;
}

bool maker_chimera(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    struct chimera c = {order, shape->devices, shape->microbatches, err};
    if (shape->devices % 2 != 0)
        return error_set(err, ERROR_INPUT, "Chimera needs an even number of devices, not %d", shape->devices);
    for (int stage = c.devices; stage < order->stages; stage++)
        order->device_of[stage] = (uint16_t)(order->stages - 1 - stage);
    int units = (c.microbatches - 1) / c.devices + 1;
    for (int device = 0; device < c.devices; device++) {
        for (int slot = 0; slot < (units + 1) * 2 * c.devices; slot++)
            if (!add_slot(&c, device, 0, slot) || !add_slot(&c, device, 1, slot))
                return false;
        pass_order_next_device(order);
    }
    return true;
}
