/* The score of a plan, term by term in HPGO's order of operations, so that values agree to the last bits. */
#include "plan/dapple/dapple.h"

#include "plan/dapple/model.h"
#include "plan/score/memory.h"

#include <math.h>

int dapple_devices(const struct dapple_cluster *cluster)
{
    return cluster->machine_count > 0 ? cluster->machine_end[cluster->machine_count - 1] : 0;
}

static bool check_cluster(const struct dapple_cluster *cluster, struct error *err)
{
    if (cluster->machine_count < 1)
        return error_set(err, ERROR_INPUT, "the cluster has no machine");
    for (int k = 0, before = 0; k < cluster->machine_count; before = cluster->machine_end[k++]) {
        if (cluster->machine_end[k] <= before)
            return error_set(err, ERROR_INPUT,
                             "machine %d: expected it to end behind device %d, found %d (each machine ends "
                             "behind the one before)",
                             k, before, cluster->machine_end[k]);
        if (cluster->machine_end[k] > DAPPLE_MAX_DEVICES)
            return error_set(err, ERROR_INPUT, "machine %d: more than %d devices in all", k,
                             DAPPLE_MAX_DEVICES);
    }
    const double rates[] = {cluster->point_to_point, cluster->collective, cluster->inside, cluster->memory};
    const char *names[] = {"point_to_point", "collective", "inside", "memory"};
    for (int i = 0; i < 4; i++)
        if (!isfinite(rates[i]) || rates[i] <= 0)
            return error_set(err, ERROR_INPUT, "%s: expected a positive number, found %g", names[i],
                             rates[i]);
    return true;
}

static bool check_chain(const struct chain *chain, struct error *err)
{
    if (chain->layer_count < 1)
        return error_set(err, ERROR_INPUT, "%s: the chain has no layer", chain->path);
    if (chain->layer_count > DAPPLE_MAX_LAYERS)
        return error_set(err, ERROR_INPUT, "%s: %d layers: at most %d can be planned", chain->path,
                         chain->layer_count, DAPPLE_MAX_LAYERS);
    for (int i = 0; i < chain->layer_count; i++)
        if (!isfinite(chain->until[i].compute) || chain->until[i].compute < 0 || chain->crossing_bytes[i] < 0)
            return error_set(err, ERROR_INPUT, "%s: layer %d: expected times and bytes of at least 0",
                             chain->path, i);
    if (chain->until[chain->layer_count - 1].compute <= 0)
        return error_set(err, ERROR_INPUT, "%s: the chain computes nothing: all times are 0", chain->path);
    return true;
}

bool dapple_check(const struct dapple_problem *problem, struct error *err)
{
    if (!check_cluster(problem->cluster, err) || !check_chain(problem->chain, err))
        return false;
    if (problem->global_batch < 1 || problem->microbatch < 1)
        return error_set(err, ERROR_INPUT, "global batch and micro-batch: expected at least 1 sample");
    if (!isfinite(problem->profile_batch) || problem->profile_batch <= 0)
        return error_set(
            err, ERROR_INPUT,
            "the batch that the profile was measured with is unknown: expected a positive number");
    if (!isfinite(problem->state_factor) || problem->state_factor < 0 || !isfinite(problem->sample_memory) ||
        problem->sample_memory < 0)
        return error_set(err, ERROR_INPUT, "memory: expected numbers of at least 0");
    if (problem->global_batch < problem->microbatch)
        return error_set(err, ERROR_INFEASIBLE,
                         "no plan: a global batch of %lld is less than one micro-batch of %lld",
                         (long long)problem->global_batch, (long long)problem->microbatch);
    return true;
}

double dapple_total(const struct dapple_problem *problem)
{
    return dapple_compute(problem, 0, problem->chain->layer_count - 1);
}

bool dapple_split_init(struct dapple_split *plan, int stage_count, int device_count, struct error *err)
{
    *plan = (struct dapple_split){.stage_count = stage_count, .device_count = device_count, .factor = 1};
    plan->stages = ARENA_ARRAY(&plan->arena, (size_t)stage_count, struct dapple_stage);
    plan->stage_of = ARENA_ARRAY(&plan->arena, (size_t)device_count, int16_t);
    if (!plan->stages || !plan->stage_of) {
        dapple_split_release(plan);
        return error_memory(err);
    }
    for (int i = 0; i < device_count; i++)
        plan->stage_of[i] = -1;
    return true;
}

void dapple_split_release(struct dapple_split *plan)
{
    arena_release(&plan->arena);
    *plan = (struct dapple_split){0};
}

/* --- placements --------------------------------------------------------------------------------------------------- */

/* Returns whether a stage has devices in several machines; *machine: the last of them. */
static bool spans(const struct dapple_problem *problem, const struct dapple_split *plan, int stage,
                  int *machine)
{
    int first = 0, last = plan->device_count - 1;
    while (last > 0 && plan->stage_of[last] != stage)
        last--;
    while (first < last && plan->stage_of[first] != stage)
        first++;
    *machine = dapple_machine_of(problem->cluster, last);
    return first < dapple_machine_start(problem->cluster, *machine);
}

double dapple_transfer(const struct dapple_problem *problem, const struct dapple_split *plan, int from,
                       int to, double bytes)
{
    const struct dapple_cluster *cluster = problem->cluster;
    int machine, devices = plan->stages[from].devices;
    if (spans(problem, plan, to, &machine))
        return bytes / dapple_spanning_rate(problem);
    int away = devices - dapple_devices_in(cluster, plan, from, machine);
    return away > 0 ? bytes / devices * away / cluster->point_to_point : bytes / cluster->inside;
}

double dapple_allreduce(const struct dapple_problem *problem, const struct dapple_split *plan, int stage,
                        double bytes)
{
    int machine;
    return dapple_ring(problem->cluster, plan->stages[stage].devices, spans(problem, plan, stage, &machine),
                       bytes);
}

/* --- the score
 * ----------------------------------------------------------------------------------------------------- */

static double find_pivot(const struct dapple_problem *problem, struct dapple_split *plan)
{
    double pivot = -INFINITY;
    for (int s = 0; s < plan->stage_count; s++) {
        const struct dapple_stage *stage = &plan->stages[s];
        double items[2] = {dapple_compute(problem, stage->layers.first, stage->layers.last) / stage->devices,
                           -INFINITY};
        if (s + 1 < plan->stage_count)
            items[1] = dapple_transfer(problem, plan, s, s + 1,
                                       plan->factor * dapple_crossing(problem, stage->layers.last));
        for (int i = 0; i < 2; i++)
            if (items[i] > pivot) {
                pivot = items[i];
                plan->pivot = 2 * s + i;
            }
    }
    return pivot;
}

static void score_original(const struct dapple_problem *problem, struct dapple_split *plan)
{
    double replicas = plan->replicas, count = (double)plan->microbatches, total = dapple_total(problem);
    double block = find_pivot(problem, plan) / count;
    plan->steady = block * (count - 1);
    plan->startup = total / (replicas * count);
    plan->transfers = plan->drain = 0;
    for (int s = 0; s < plan->stage_count; s++) {
        const struct dapple_stage *stage = &plan->stages[s];
        if (s + 1 < plan->stage_count)
            plan->transfers += dapple_transfer(
                problem, plan, s, s + 1, dapple_crossing(problem, stage->layers.last) / (replicas * count));
        double bytes = dapple_reduced(problem, stage->layers.first, stage->layers.last);
        plan->drain = fmax(plan->drain, dapple_allreduce(problem, plan, s, bytes) - s * block);
    }
    plan->latency = plan->steady + plan->startup + plan->transfers + plan->drain;
}

/* --- the corrected rules
 * ------------------------------------------------------------------------------------------- */

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

static void score_fixed(const struct dapple_problem *problem, struct dapple_split *plan)
{
    double count = (double)plan->microbatches, max = -1;
    struct dapple_fixed state = {0, 0};
    plan->startup = plan->steady = plan->transfers = plan->drain = 0;
    for (int s = plan->stage_count - 1; s >= 0; s--) {
        const struct dapple_stage *stage = &plan->stages[s];
        int first = stage->layers.first, last = stage->layers.last;
        if (dapple_fixed_memory(problem, first, last, stage->devices, plan->stage_count - 1 - s,
                                plan->microbatches) > problem->cluster->memory)
            return;
        if (s + 1 < plan->stage_count) {
            double send = dapple_transfer(problem, plan, s, s + 1, dapple_crossing(problem, last) / count);
            state = dapple_fixed_prepend(state, count, send, send, 0);
            plan->transfers += 2 * send;
            if (2 * send >= max) {
                max = 2 * send;
                plan->pivot = 2 * s + 1;
            }
        }
        double forward = dapple_forward(problem, first, last) / stage->devices / count;
        double block = dapple_compute(problem, first, last) / stage->devices / count;
        state =
            dapple_fixed_prepend(state, count, forward, block - forward,
                                 dapple_allreduce(problem, plan, s, dapple_reduced(problem, first, last)));
        plan->startup += block;
        if (block >= max) {
            max = block;
            plan->pivot = 2 * s;
        }
    }
    plan->latency = state.latency;
    plan->steady = max * (count - 1);
    plan->drain = plan->latency - state.drained;
}

void dapple_score(const struct dapple_problem *problem, struct dapple_split *plan)
{
    plan->latency = INFINITY;
    plan->speedup = 0;
    plan->microbatches = dapple_microbatches(problem, plan->replicas);
    if (plan->microbatches == 0)
        return;
    if (problem->rules == DAPPLE_ORIGINAL)
        score_original(problem, plan);
    else
        score_fixed(problem, plan);
    plan->speedup = dapple_total(problem) / plan->latency;
}

bool dapple_split_check(const struct dapple_problem *problem, const struct dapple_split *plan,
                        struct error *err)
{
    int next = 0;
    if (plan->replicas < 1 || plan->device_count != dapple_devices(problem->cluster))
        return error_set(err, ERROR_INPUT, "the plan is for another cluster");
    for (int s = 0; s < plan->stage_count; s++) {
        const struct dapple_stage *stage = &plan->stages[s];
        if (stage->layers.first != next || stage->layers.last < next ||
            stage->layers.last >= problem->chain->layer_count)
            return error_set(err, ERROR_INPUT, "pipelines[0].stages[%d]: expected it to begin with layer %d",
                             s, next);
        int count = 0;
        for (int i = 0; i < plan->device_count; i++)
            count += plan->stage_of[i] == s;
        if (count != stage->devices || count < 1 || count % plan->replicas != 0)
            return error_set(err, ERROR_INPUT,
                             "pipelines[0].stages[%d]: expected a multiple of %d devices, found %d", s,
                             plan->replicas, count);
        next = stage->layers.last + 1;
    }
    return next == problem->chain->layer_count ||
           error_set(err, ERROR_INPUT, "layers from %d on have no stage", next);
}
