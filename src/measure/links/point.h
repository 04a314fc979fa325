/* One measured time: all ranks take part, and rank 0 says how often.
 *
 * A sample is a batch of the work, begun together and ended by the slowest rank of the group. Rank 0 repeats samples by
 * measure/sample.h; all ranks get its result. */
#ifndef REHEARSE_MEASURE_LINKS_POINT_H
#define REHEARSE_MEASURE_LINKS_POINT_H

#include "comm/group.h"
#include "measure/links/carrier.h"
#include "measure/sample.h"

struct point_maker {
    struct comm *comm;
    struct carrier *carrier;
    struct sample_options options;
};

/* A rank without a group only waits. Where several groups are open at once, each performs the work, and the slowest
 * counts. Times are of one message of a stream, one collective, one way of a send. */
bool point_measure(const struct point_maker *maker, void *group, const struct link_work *work,
                   struct sample_result *result, struct error *err);

#endif
