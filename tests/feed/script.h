/* Metrics of scripted steps: what they must come to is counted by hand. */
#ifndef REHEARSE_TESTS_FEED_SCRIPT_H
#define REHEARSE_TESTS_FEED_SCRIPT_H

#include "feed/result/metrics_figures.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static struct error err;

static inline void ok(bool done)
{
    if (!done)
        fail_msg("%s", err.text);
}

static inline bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static inline void init(struct metrics *metrics, int accelerators, int epochs, int64_t steps,
                        int exclude_start, int exclude_end)
{
    struct metrics_options options = {
        .accelerators = accelerators,
        .epochs = epochs,
        .exclude_start = exclude_start,
        .exclude_end = exclude_end,
        .steps = {steps, steps},
        .batch = {2, 2},
        .record_length = 500,
        .au_target = 0.5,
    };
    ok(metrics_init(metrics, &options, 0, accelerators, &err));
}

/* Milliseconds of one step of one accelerator. */
struct scripted {
    int load, compute;
};

/* Steps in lockstep: 5 ms of copying, 50 ms of compute asked for; the barrier waits for the slowest. Returns when
 * the last step ends. */
static inline int64_t play(struct metrics *metrics, int accelerators, int steps,
                           const struct scripted *script, int64_t now)
{
    for (int s = 0; s < steps; s++) {
        int slowest = 0;
        for (int a = 0; a < accelerators; a++) {
            int length = script[a * steps + s].load + 5 + script[a * steps + s].compute;
            slowest = length > slowest ? length : slowest;
        }
        for (int a = 0; a < accelerators; a++) {
            struct scripted own = script[a * steps + s];
            int barrier = slowest - own.load - 5 - own.compute;
            struct metrics_step step = {
                .start = now,
                .end = now + slowest * MS,
                .load = own.load * MS,
                .copy = 5 * MS,
                .compute_asked = 50 * MS,
                .compute = own.compute * MS,
                .barrier = barrier * MS,
                .batch.bytes = 1000 + 500 * a,
                .batch.samples = 2,
                .batch.mark = (uint64_t)(1 + a),
                .last = barrier == 0,
            };
            metrics_step(metrics, a, &step);
        }
        now += slowest * MS;
    }
    return now;
}

static inline int64_t play_block(struct metrics *metrics, enum metrics_phase phase, int epoch, int block,
                                 int accelerators, int steps, const struct scripted *script, int64_t now)
{
    for (int a = 0; a < accelerators; a++)
        metrics_block_start(metrics, a, phase, epoch, block, now);
    now = play(metrics, accelerators, steps, script, now);
    for (int a = 0; a < accelerators; a++)
        ok(metrics_block_end(metrics, a, now, &err));
    return now;
}

#endif
