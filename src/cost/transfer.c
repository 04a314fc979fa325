#include "cost/transfer.h"

double transfer_seconds(enum collective_kind kind, const struct collective_group *group, double bytes,
                        const struct calibration *calibration)
{
    if (group->devices <= 1 || bytes <= 0.0)
        return 0.0;
    double share = kind == COLLECTIVE_ALL_TO_ALL              ? calibration->exchange
                   : group->devices_per_node < group->devices ? calibration->across
                                                              : calibration->inside;
    struct collective_time time = collective_time(kind, group, bytes);
    return time.latency_seconds + (time.seconds - time.latency_seconds) / share;
}
