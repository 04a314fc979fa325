/* Runs of checkpoints only. */
#include "core/clock.h"
#include "feed/checkpoint/internal.h"
#include "feed/workload/distribution.h"

#define SLICE ((int64_t)100000000) /* ns of sleep between two looks at `stop` */

/* Waits for the compute between two checkpoints. */
static bool wait_for(struct checkpoint *checkpoint, double seconds, struct error *err)
{
    int64_t end = clock_nanoseconds() + distribution_nanoseconds(seconds);
    for (int64_t now = clock_nanoseconds(); now < end; now = clock_nanoseconds()) {
        int64_t left = end - now < SLICE ? end - now : SLICE;
        if (!checkpoint_not_stopped(checkpoint, checkpoint->options.folder, err))
            return false;
        clock_sleep(left);
    }
    return true;
}

typedef bool checkpoint_action(struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                               struct metrics *metrics, struct error *err);

static bool one(struct checkpoint *checkpoint, const struct checkpoint_loop *loop, int64_t step,
                int64_t block, checkpoint_action *action, struct metrics *metrics, struct error *err)
{
    struct checkpoint_moment moment = {.epoch = 1, .step = step, .block = (int)block};
    bool ok = loop->between <= 0 || wait_for(checkpoint, loop->between, err);
    return checkpoint_together(checkpoint, ok, "the compute before a checkpoint", err) &&
           action(checkpoint, &moment, metrics, err);
}

bool checkpoint_run(struct checkpoint *checkpoint, const struct checkpoint_loop *loop,
                    struct metrics *metrics, struct error *err)
{
    int64_t there = loop->writes > 0 ? loop->writes : loop->reads;
    for (int64_t i = 0; i < loop->writes; i++)
        if (!one(checkpoint, loop, i + 1, i + 1, checkpoint_save, metrics, err))
            return false;
    for (int64_t i = 0; i < loop->reads; i++)
        if (!one(checkpoint, loop, 1 + i % there, i + 1, checkpoint_load, metrics, err))
            return false;
    return true;
}
