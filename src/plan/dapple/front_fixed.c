/* The bounds of front.c for DAPPLE_FIXED.
 *
 * Placements are left out: a stage of n devices all-reduces, and sends its output, as fast as n devices anywhere can.
 * Only the number of units left remains. In front of stages with the label (L, W) a front comes to at least
 *
 *     max (front alone, L + its forward passes, W + its passes and the all-reduce that ends last)
 *
 * as each of its resources adds F to L and F + B to W; and the last stage of the front makes a label of its own for the
 * stages in front of it, so that the minima are found stage by stage. Fewer units are never better. */
#include "plan/dapple/model.h"
#include "plan/dapple/solver.h"

#include <math.h>

/* The last stage of a front and the transfer behind it, on n devices: seconds per micro-batch. */
struct stage {
    double send, slow; /* seconds of the transfer: minimum, maximum */
    double forward, pass, allreduce;
    struct dapple_fixed alone;
    double spare_l,
        spare_w; /* by which alone is more than the forward pass with its all-reduce, and than all passes */
};

/* Returns the maximum rate out of n devices: into the same machine, if the next stage has r devices or more there. */
static double best_rate(const struct solver *solver, int devices)
{
    const struct dapple_cluster *cluster = solver->problem->cluster;
    int beside = solver->places->largest - solver->program->replicas;
    int away = beside > 0 ? devices - beside : devices;
    double rate = larger(dapple_spanning_rate(solver->problem),
                         cluster->point_to_point * devices / (away > 1 ? away : 1));
    return away > 0 ? rate : larger(rate, cluster->inside);
}

static double best_allreduce(const struct solver *solver, int devices, double bytes)
{
    const struct dapple_cluster *cluster = solver->problem->cluster;
    double spanning = dapple_ring(cluster, devices, true, bytes);
    return devices > solver->places->largest ? spanning
                                             : lesser(spanning, dapple_ring(cluster, devices, false, bytes));
}

static struct stage stage_on(const struct solver *solver, int first, int end, int devices)
{
    const struct dapple_problem *problem = solver->problem;
    const struct dapple_cluster *cluster = problem->cluster;
    double count = (double)solver->program->microbatches;
    double crossing = end < problem->chain->layer_count ? dapple_crossing(problem, end - 1) : 0;
    double slowest =
        lesser(cluster->point_to_point, solver->places->largest > 1 ? cluster->inside : INFINITY);
    struct stage stage = {
        .slow = crossing / slowest / count,
        .send = crossing / best_rate(solver, devices) / count,
        .forward = dapple_forward(problem, first, end - 1) / devices / count,
        .pass = compute_of(solver, first, end - 1) / devices / count,
        .allreduce = best_allreduce(solver, devices, dapple_reduced(problem, first, end - 1)),
    };
    stage.alone = dapple_fixed_prepend((struct dapple_fixed){0, 0}, count, stage.send, stage.send, 0);
    stage.alone =
        dapple_fixed_prepend(stage.alone, count, stage.forward, stage.pass - stage.forward, stage.allreduce);
    double sends = 2 * stage.send * count, blocks = stage.pass * count;
    stage.spare_l =
        larger(sends - stage.send + stage.pass, blocks - stage.slow) - stage.forward + stage.allreduce;
    stage.spare_w = larger(sends - 2 * stage.send, blocks - stage.pass - 2 * stage.slow);
    return stage;
}

static struct dapple_fixed_front *row_of(const struct solver *solver, int end)
{
    return &solver->work->fixed_fronts[(size_t)end * (size_t)(solver->units + 1)];
}

/* Adds the fronts that end with this stage, for every number of units. W passes all of the front; an all-reduce starts
 * after the stage's own passes and then only the forward passes follow. The stage alone exceeds its part of that by
 * spare_w, whichever of the two is longer. */
static void put_behind(const struct solver *solver, const struct stage *stage, int first, int end, int units)
{
    const struct dapple_fixed_front *rest = row_of(solver, first);
    struct dapple_fixed_front *fronts = row_of(solver, end) + units;
    double forward = stage->send + stage->forward, pass = 2 * stage->send + stage->pass;
    for (int left = 0; left <= solver->units - units; left++) {
        double with = dapple_fixed_front_bound(&rest[left], stage->alone);
        double behind = pass + larger(stage->allreduce + rest[left].forward, rest[left].pass);
        double spare_l = larger(rest[left].spare_l - stage->slow - stage->forward, stage->spare_l);
        fronts[left].min = lesser(fronts[left].min, with);
        fronts[left].forward = lesser(fronts[left].forward, forward + rest[left].forward);
        fronts[left].pass = lesser(fronts[left].pass, behind);
        fronts[left].spare_l = lesser(fronts[left].spare_l, spare_l);
        fronts[left].spare_w = lesser(fronts[left].spare_w, stage->spare_w);
    }
}

void dapple_fixed_fronts(const struct solver *solver)
{
    const struct chain *chain = solver->problem->chain;
    int replicas = solver->program->replicas;
    for (int left = 0; left <= solver->units; left++)
        row_of(solver, 0)[left] = (struct dapple_fixed_front){.min = 0};
    for (int end = 1; end <= chain->layer_count; end++) {
        struct dapple_fixed_front *row = row_of(solver, end);
        for (int left = 0; left <= solver->units; left++)
            row[left] = (struct dapple_fixed_front){INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
        for (int first = end - 1; first >= 0; first--) {
            if (first > 0 && chain->before && !chain_before(chain, first - 1, end - 1))
                continue;
            for (int units = units_needed(solver, compute_of(solver, first, end - 1)); units <= solver->units;
                 units++) {
                struct stage stage = stage_on(solver, first, end, units * replicas);
                put_behind(solver, &stage, first, end, units);
            }
        }
        for (int left = 1; left <= solver->units; left++) {
            row[left].min = lesser(row[left].min, row[left - 1].min);
            row[left].forward = lesser(row[left].forward, row[left - 1].forward);
            row[left].pass = lesser(row[left].pass, row[left - 1].pass);
            row[left].spare_l = lesser(row[left].spare_l, row[left - 1].spare_l);
            row[left].spare_w = lesser(row[left].spare_w, row[left - 1].spare_w);
        }
    }
}
