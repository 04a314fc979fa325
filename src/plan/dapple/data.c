/* HPGO's models of plain data parallelism (data_parallel.rs, gradient_accumulation.rs): every device holds the whole
 * model, gradients are all-reduced layer by layer, and the part that the rest of the backward pass (and, with P3, the
 * next forward pass) does not hide is added. */
#include "plan/dapple/model.h"

#include <math.h>

/* Returns the samples that fit beside the model; HPGO saturates at 0 and then divides by it. */
static double max_samples(const struct dapple_problem *problem)
{
    int layers = problem->chain->layer_count;
    double model = dapple_parameters(problem, 0, layers - 1) * problem->state_factor;
    double sample = problem->sample_memory > 0
                        ? problem->sample_memory
                        : (double)problem->chain->until[layers - 1].activation_bytes / problem->profile_batch;
    double left = floor((problem->cluster->memory - model) / sample);
    return left > 0 ? fmin(left, 4294967295.0) : 0;
}

/* Returns how many of `batch` samples go through together: all, or the share of the minimum number of passes that
 * divides the batch. */
static double samples_together(double max, double batch)
{
    if (max >= batch)
        return batch;
    double passes = ceil(batch / max);
    while (passes < floor(batch / 2) + 1 && fmod(batch, passes) != 0)
        passes++;
    return floor(batch / passes);
}

/* Returns the exposed seconds of the all-reduce if the computation of `part` of the batch can hide it. Layer r counts
 * from the last; with `priority` the next forward pass hides it, too (HPGO's index, which counts from the first). */
static double exposed(const struct dapple_problem *problem, bool priority, double part)
{
    const struct dapple_cluster *cluster = problem->cluster;
    int layers = problem->chain->layer_count, devices = dapple_devices(cluster);
    bool spans = cluster->machine_count > 1;
    double off = dapple_ring(cluster, devices, spans, dapple_parameters(problem, 0, 0)), excess = 0;
    for (int r = layers - 2; r >= 0; r--) {
        double slot = dapple_compute(problem, layers - 2 - r, layers - 2 - r) * part / 2;
        if (priority)
            slot += dapple_compute(problem, r + 1, r + 1) * part / 2;
        double reduce =
            dapple_ring(cluster, devices, spans, dapple_parameters(problem, layers - 1 - r, layers - 1 - r));
        double late = reduce - slot;
        if (late > 0 && late >= excess) {
            off += late - excess;
            excess = 0;
        } else {
            excess -= late;
        }
    }
    return off;
}

static double speedup(const struct dapple_problem *problem, bool priority, double samples)
{
    double total = dapple_total(problem);
    double part = samples / (double)problem->global_batch;
    return total / (total / dapple_devices(problem->cluster) + exposed(problem, priority, part));
}

struct dapple_data_parallel dapple_data_parallel(const struct dapple_problem *problem, bool global_window)
{
    struct dapple_data_parallel result = {.max_samples = max_samples(problem)};
    int devices = dapple_devices(problem->cluster);
    double total = dapple_total(problem);
    double bytes = dapple_parameters(problem, 0, problem->chain->layer_count - 1);
    int64_t share = problem->global_batch / devices;
    double batch = (double)(global_window ? problem->global_batch : share);

    result.plain = total / (total / devices + dapple_ring(problem->cluster, devices,
                                                          problem->cluster->machine_count > 1, bytes));
    result.priority_infinite = speedup(problem, true, (double)problem->global_batch);
    if (result.max_samples == 0) {
        result.window = result.overlap = result.priority = result.priority_best = NAN;
        return result;
    }
    result.window = samples_together(result.max_samples, batch);
    result.overlap = speedup(problem, false, result.window);
    result.priority = speedup(problem, true, result.window);
    double best = result.max_samples >= batch       ? batch
                  : 2 * result.max_samples >= batch ? floor(batch / 2)
                                                    : result.max_samples;
    result.priority_best = speedup(problem, true, best);
    return result;
}
