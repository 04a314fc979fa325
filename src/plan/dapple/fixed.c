#include "plan/dapple/fixed.h"

#include "plan/score/memory.h"

double dapple_fixed_memory(const struct dapple_problem *problem, int first, int last, int devices, int after,
                           int64_t microbatches)
{
    const struct chain_load *until = problem->chain->until;
    double all = (double)until[problem->chain->layer_count - 1].activation_bytes;
    double bytes =
        (double)(until[last].activation_bytes - (first > 0 ? until[first - 1].activation_bytes : 0));
    double sample = bytes / problem->profile_batch;
    if (problem->sample_memory > 0)
        sample = all > 0 ? problem->sample_memory * (bytes / all) : 0;
    const struct memory_stage stage = {
        .state = problem->state_factor * dapple_parameters(problem, first, last),
        .kept = sample * ((double)problem->global_batch / (double)microbatches) / devices,
    };
    return memory_of_stage(&stage, memory_in_flight(MEMORY_IN_FLIGHT, (double)microbatches, after + 1));
}

void dapple_fixed_score(const struct dapple_problem *problem, struct dapple_split *plan)
{
    double count = (double)plan->microbatches, most = -1;
    struct dapple_fixed state = {0, 0};
    plan->startup = plan->steady = plan->transfers = plan->drain = 0;
    for (int s = plan->stage_count - 1; s >= 0; s--) {
        const struct dapple_stage *stage = &plan->stages[s];
        int first = stage->first_layer, last = stage->last_layer;
        if (dapple_fixed_memory(problem, first, last, stage->devices, plan->stage_count - 1 - s,
                                plan->microbatches) > problem->cluster->memory)
            return;
        if (s + 1 < plan->stage_count) {
            double send = dapple_transfer(problem, plan, s, s + 1, dapple_crossing(problem, last) / count);
            state = dapple_fixed_prepend(state, count, send, send, 0);
            plan->transfers += 2 * send;
            if (2 * send >= most) {
                most = 2 * send;
                plan->pivot = 2 * s + 1;
            }
        }
        double forward = dapple_forward(problem, first, last) / stage->devices / count;
        double block = dapple_compute(problem, first, last) / stage->devices / count;
        state =
            dapple_fixed_prepend(state, count, forward, block - forward,
                                 dapple_allreduce(problem, plan, s, dapple_reduced(problem, first, last)));
        plan->startup += block;
        if (block >= most) {
            most = block;
            plan->pivot = 2 * s;
        }
    }
    plan->latency = state.latency;
    plan->steady = most * (count - 1);
    plan->drain = plan->latency - state.drained;
}
