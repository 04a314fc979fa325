#include "support/simulate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct simulation {
    int stages, microbatches;
    const double *forward, *backward;
    double *forward_end,
        *backward_end; /* [stage x microbatches + micro-batch]: when it was done; NAN: not yet */
};

struct operation {
    bool is_forward;
    int microbatch;
};

/* The index-th thing that a stage does. */
static struct operation operation_at(const struct simulation *sim, int stage, int index)
{
    int n = sim->microbatches;
    int warm_up = n < sim->stages - stage ? n : sim->stages - stage;
    if (index < warm_up)
        return (struct operation){true, index};
    index -= warm_up;
    int in_turns = 2 * (n - warm_up);
    if (index >= in_turns)
        return (struct operation){false, index - in_turns + n - warm_up};
    if (index % 2 == 0)
        return (struct operation){false, index / 2};
    return (struct operation){true, warm_up + index / 2};
}

/* When what the operation waits for is there; NAN: not yet. The last stage turns round its own forward, which
 * its order puts before. */
static double input_ready(const struct simulation *sim, int stage, struct operation op)
{
    if (op.is_forward)
        return stage == 0 ? 0 : sim->forward_end[(stage - 1) * sim->microbatches + op.microbatch];
    if (stage == sim->stages - 1)
        return sim->forward_end[stage * sim->microbatches + op.microbatch];
    return sim->backward_end[(stage + 1) * sim->microbatches + op.microbatch];
}

/* Runs a stage as far as its inputs allow, from its `done`-th operation on; returns how many it has done
 * then. */
static int run_stage(struct simulation *sim, int stage, int done, double *clock)
{
    for (; done < 2 * sim->microbatches; done++) {
        struct operation op = operation_at(sim, stage, done);
        double ready = input_ready(sim, stage, op);
        if (isnan(ready))
            break;
        *clock = fmax(*clock, ready) + (op.is_forward ? sim->forward : sim->backward)[stage];
        (op.is_forward ? sim->forward_end : sim->backward_end)[stage * sim->microbatches + op.microbatch] =
            *clock;
    }
    return done;
}

/* Sweeps over the stages until each has done all it has to. */
static double run(struct simulation *sim, int *done, double *clock)
{
    for (bool all_done = false; !all_done;) {
        all_done = true;
        for (int i = 0; i < sim->stages; i++) {
            done[i] = run_stage(sim, i, done[i], &clock[i]);
            all_done = all_done && done[i] == 2 * sim->microbatches;
        }
    }
    double end = 0;
    for (int i = 0; i < sim->stages; i++)
        end = fmax(end, clock[i]);
    return end;
}

double simulate_1f1b(int stages, const double *forward, const double *backward, int microbatches)
{
    size_t cells = (size_t)stages * (size_t)microbatches;
    double *ends = malloc(2 * cells * sizeof *ends);
    double *clock = calloc((size_t)stages, sizeof *clock);
    int *done = calloc((size_t)stages, sizeof *done);
    double makespan = NAN;
    if (ends && clock && done) {
        for (size_t i = 0; i < 2 * cells; i++)
            ends[i] = NAN;
        struct simulation sim = {stages, microbatches, forward, backward, ends, ends + cells};
        makespan = run(&sim, done, clock);
    }
    free(ends);
    free(clock);
    free(done);
    return makespan;
}
