#include "measure/links/point.h"

#include "core/clock.h"
#include "measure/host.h"

#define NEXT "the next measurement"

struct point {
    const struct point_maker *maker;
    void *group;
    const struct link_work *work;
    double messages; /* in one run of the work */
};

/* What the slowest rank took, and whether any rank of the group lost its processor meanwhile, or failed. */
struct lap {
    int64_t nanoseconds, disturbed, failed;
};

/* Every rank: begins with the others, performs the batch, and learns the lap of all. */
static bool perform(const struct point *point, int64_t count, struct lap *lap, struct error *err)
{
    struct comm *comm = point->maker->comm;
    *lap = (struct lap){0};
    void *meeting = comm_collect(comm, NULL, COMM_BARRIER, NULL, NULL, 0);
    if (!comm_spin(comm, meeting, NEXT, err))
        return false;
    int64_t switches = host_switches(), start = clock_nanoseconds();
    const struct carrier *carrier = point->maker->carrier;
    struct error own;
    bool ok = !point->group || carrier->run(carrier->context, point->group, point->work, count, &own);
    if (point->group)
        *lap =
            (struct lap){carrier->seconds ? (int64_t)(1e9 * *carrier->seconds) : clock_nanoseconds() - start,
                         host_switches() > switches, !ok};
    /* Where messages are another library's, those that fail come nevertheless: the others learn it, and who does not
     * come is named. */
    if ((ok || carrier->seconds) && !comm_reduce_integers(comm, COMM_MAX, &lap->nanoseconds, 3, NEXT, err))
        return false;
    if (!ok)
        *err = own;
    return lap->failed == 0 || (carrier->seconds && comm_agree(comm, ok, NEXT, err));
}

static bool lead(void *context, int64_t count, struct sample_batch *batch, struct error *err)
{
    const struct point *point = context;
    double processor = clock_processor();
    struct lap lap;
    if (!comm_broadcast(point->maker->comm, &count, sizeof count, NEXT, err) ||
        !perform(point, count, &lap, err))
        return false;
    batch->wall = (double)lap.nanoseconds * 1e-9 / point->messages;
    batch->disturbed = lap.disturbed > 0;
    batch->processor = (clock_processor() - processor) / point->messages;
    return true;
}

static bool follow(const struct point *point, struct error *err)
{
    for (;;) {
        int64_t count = 0;
        struct lap lap;
        if (!comm_broadcast(point->maker->comm, &count, sizeof count, NEXT, err))
            return false;
        if (count == 0)
            return true;
        if (!perform(point, count, &lap, err))
            return false;
    }
}

bool point_measure(const struct point_maker *maker, void *group, const struct link_work *work,
                   struct sample_result *result, struct error *err)
{
    bool sends = work->task == LINK_COLLECTIVE && work->kind == COLLECTIVE_SEND;
    bool streams = work->task == LINK_STREAM || work->task == LINK_BOTH;
    struct point point = {maker, group, work, sends ? 2.0 : streams ? LINK_STREAMED : 1.0};
    int64_t end = 0;
    *result = (struct sample_result){0};
    if (comm_rank(maker->comm) != 0)
        return follow(&point, err) && comm_broadcast(maker->comm, result, sizeof *result, NEXT, err);
    return sample_repeat(result, &maker->options, lead, &point, err) &&
           comm_broadcast(maker->comm, &end, sizeof end, NEXT, err) &&
           comm_broadcast(maker->comm, result, sizeof *result, NEXT, err);
}
