/* GPipe (arXiv 1811.06965): all forward passes, then all backward passes; with several chunks of a device that is
 * breadth-first order (arXiv 2211.05953). Stage s is on device s mod devices. */
#include "schedule/make/make.h"

bool maker_gpipe(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    int devices = shape->devices, stages = order->stages;
    for (int device = 0; device < devices; device++) {
        for (int stage = device; stage < stages; stage += devices)
            for (int i = 0; i < shape->microbatches; i++)
                if (!pass_order_add(order, PASS_FORWARD, stage, i, false, err))
                    return false;
        for (int stage = stages - devices + device; stage >= 0; stage -= devices)
            for (int i = 0; i < shape->microbatches; i++)
                if (!pass_order_add(order, PASS_BACKWARD, stage, i, false, err))
                    return false;
        pass_order_next_device(order);
    }
    return true;
}
