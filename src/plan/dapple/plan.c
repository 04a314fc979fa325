#include "plan/plan.h"
#include "core/unit.h"
#include "plan/dapple/model.h"
#include "plan/dapple/report.h"
#include "plan/plan_digest.h"

#include <math.h>
#include <string.h>

#define MAX_NAME 24 /* of a layer in the table */

static double dapple_stage_memory(const struct dapple_problem *problem, const struct dapple_split *plan,
                                  int stage)
{
    const struct dapple_stage *s = &plan->stages[stage];
    return dapple_fixed_memory(problem, s->layers.first, s->layers.last, s->devices,
                               plan->stage_count - 1 - stage, plan->microbatches);
}

double dapple_max_memory(const struct dapple_problem *problem, const struct dapple_split *plan)
{
    double max = 0;
    for (int s = 0; s < plan->stage_count; s++)
        max = fmax(max, dapple_stage_memory(problem, plan, s));
    return max;
}

/* Seconds of a stage per micro-batch: forward and backward, and forward alone. */
static double dapple_stage_time(const struct dapple_problem *problem, const struct dapple_split *plan,
                                int stage)
{
    const struct dapple_stage *s = &plan->stages[stage];
    return dapple_compute(problem, s->layers.first, s->layers.last) / s->devices / (double)plan->microbatches;
}

static double dapple_stage_forward(const struct dapple_problem *problem, const struct dapple_split *plan,
                                   int stage)
{
    const struct dapple_stage *s = &plan->stages[stage];
    return dapple_forward(problem, s->layers.first, s->layers.last) / s->devices / (double)plan->microbatches;
}

/* Seconds that the pivot is busy with one micro-batch. */
static double pivot_time(const struct dapple_problem *problem, const struct dapple_split *plan)
{
    int s = plan->pivot / 2;
    if (plan->pivot % 2 == 0)
        return dapple_stage_time(problem, plan, s);
    int ways = problem->rules == DAPPLE_FIXED ? 2 : plan->factor;
    return ways *
           dapple_transfer(problem, plan, s, s + 1, dapple_crossing(problem, plan->stages[s].layers.last)) /
           (double)plan->microbatches;
}

int dapple_idle(const struct dapple_split *plan)
{
    int idle = plan->device_count;
    for (int s = 0; s < plan->stage_count; s++)
        idle -= plan->stages[s].devices;
    return idle;
}

const char *dapple_rules_name(enum dapple_rules rules)
{
    return rules == DAPPLE_FIXED ? "dapple-fixed" : "dapple";
}

void dapple_add_shape(const struct dapple_split *plan, struct text *out)
{
    for (int s = 0; s < plan->stage_count; s++)
        text_format(out, "%s%d", s > 0 ? ":" : "", plan->stages[s].devices);
}

void dapple_add_layers(const struct dapple_split *plan, struct text *out)
{
    for (int s = 0; s < plan->stage_count; s++) {
        const struct dapple_stage *stage = &plan->stages[s];
        text_format(out, "%s%d", s > 0 ? ":" : "", stage->layers.first);
        if (stage->layers.last > stage->layers.first)
            text_format(out, "-%d", stage->layers.last);
    }
}

void dapple_add_devices(const struct dapple_split *plan, struct text *out)
{
    for (int s = 0; s < plan->stage_count; s++) {
        const char *before = s > 0 ? ":" : "";
        for (int i = 0, last; i < plan->device_count; i = last + 1) {
            last = i;
            if (plan->stage_of[i] != s)
                continue;
            while (last + 1 < plan->device_count && plan->stage_of[last + 1] == s)
                last++;
            text_format(out, "%s%d", before, i);
            if (last > i)
                text_format(out, "-%d", last);
            before = "+";
        }
    }
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- where devices are ---- */

/* "8 in 0", "3 in 0, 5 in 1", "1 in each of 0-7"; stage -1: idle devices. */
static void add_places(const struct dapple_problem *problem, const struct dapple_split *plan, int stage,
                       struct text *out)
{
    bool first = true;
    for (int k = 0, last; k < problem->cluster->machine_count; k = last + 1) {
        int count = dapple_devices_in(problem->cluster, plan, stage, k);
        for (last = k; last + 1 < problem->cluster->machine_count &&
                       dapple_devices_in(problem->cluster, plan, stage, last + 1) == count;)
            last++;
        if (count == 0)
            continue;
        text_add(out, first ? "" : ", ");
        first = false;
        if (last == k)
            text_format(out, "%d in %d", count, k);
        else
            text_format(out, "%d in each of %d-%d", count, k, last);
    }
}

/* ---- for people ---- */

/* A name of at most MAX_NAME characters. */
static void add_name(const char *name, struct text *out)
{
    int length = 0;
    const char *end = name;
    for (; *end && (length < MAX_NAME || text_continues(*end)); end++)
        length += !text_continues(*end);
    text_add_bytes(out, name, (size_t)(end - name));
    text_add(out, *end ? "…" : "");
}

static void print_head(const struct dapple_report *report, struct text *out)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *plan = report->plan;
    int machines = problem->cluster->machine_count, used = plan->device_count - dapple_idle(plan);
    text_format(
        out, "%d stage%s on %d device%s in %d machine%s, global batch %lld in %lld micro-batch%s of %.4g",
        plan->stage_count, plural(plan->stage_count), used, plural(used), machines, plural(machines),
        (long long)problem->global_batch, (long long)plan->microbatches, plan->microbatches == 1 ? "" : "es",
        (double)problem->global_batch / plan->replicas / (double)plan->microbatches);
    if (plan->replicas > 1)
        text_format(out, " for each of %d replicas", plan->replicas);
    text_format(out, "; objective dapple, rules %s, import %s\n\n", dapple_rules_name(problem->rules),
                report->import);
}

static void print_stage(const struct dapple_report *report, int stage, int width, struct text *out)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *plan = report->plan;
    const struct dapple_stage *s = &plan->stages[stage];
    struct unit_texts texts = {0};
    struct text places = {0};
    add_places(problem, plan, stage, &places);
    double bytes = dapple_stage_memory(problem, plan, stage);
    text_format(out, "%5d  %5d-%-5d  %7d  %-*s  %9s  %9s  %9s of %-9s  ", stage, s->layers.first,
                s->layers.last, s->devices, width, places.failed ? "" : places.data,
                unit_text(&texts, dapple_stage_time(problem, plan, stage), UNIT_TIME),
                unit_text(&texts,
                          dapple_allreduce(problem, plan, stage,
                                           dapple_reduced(problem, s->layers.first, s->layers.last)),
                          UNIT_TIME),
                unit_text(&texts, bytes, UNIT_BYTES),
                unit_text(&texts, problem->cluster->memory, UNIT_BYTES));
    text_release(&places);
    add_name(problem->chain->names[s->layers.first], out);
    if (s->layers.last > s->layers.first) {
        text_add(out, " .. ");
        add_name(problem->chain->names[s->layers.last], out);
    }
    text_add(out, plan->pivot == 2 * stage ? "  <- pivot" : "");
    text_add(out, bytes > problem->cluster->memory ? "  <- over-full\n" : "\n");
}

static int width_of_places(const struct dapple_report *report)
{
    int width = (int)strlen("machines");
    for (int s = 0; s < report->plan->stage_count; s++) {
        struct text places = {0};
        add_places(report->problem, report->plan, s, &places);
        width = (int)places.length > width ? (int)places.length : width;
        text_release(&places);
    }
    return width;
}

static void print_stages(const struct dapple_report *report, struct text *out)
{
    int width = width_of_places(report);
    text_format(out, "%5s  %11s  %7s  %-*s  %9s  %9s  %-22s  %s\n", "stage", "layers", "devices", width,
                "machines", "block", "allreduce", "memory per device", "first and last layer");
    for (int s = 0; s < report->plan->stage_count; s++)
        print_stage(report, s, width, out);
    text_add(out, "\n");
}

/* Prints the sum of HPGO's rules, or the pivot formula of the corrected rules. */
static void print_time(const struct dapple_report *report, struct text *out)
{
    const struct dapple_split *plan = report->plan;
    bool fixed = report->problem->rules == DAPPLE_FIXED;
    double block = pivot_time(report->problem, plan), busy = block * (double)plan->microbatches;
    struct unit_texts texts = {0};
    char total[32];
    text_format(out, "iteration  %s = %s in %lld block%s (%s) of ",
                unit_format(total, sizeof total, plan->latency, UNIT_TIME, 6),
                unit_text(&texts, fixed ? busy : plan->steady, UNIT_TIME),
                (long long)(plan->microbatches - !fixed), plural(plan->microbatches - !fixed),
                unit_text(&texts, block, UNIT_TIME));
    text_format(out, plan->pivot % 2 ? "the transfer behind stage %d" : "stage %d", plan->pivot / 2);
    if (fixed)
        text_format(out, " + %s from the first stage and back",
                    unit_text(&texts, fmax(0, plan->latency - plan->drain - busy), UNIT_TIME));
    else
        text_format(out, " + %s start-up + %s transfers", unit_text(&texts, plan->startup, UNIT_TIME),
                    unit_text(&texts, plan->transfers, UNIT_TIME));
    text_format(out, " + %s of exposed all-reduce\n", unit_text(&texts, plan->drain, UNIT_TIME));
}

static void add_speedup(const char *name, double speedup, struct text *out)
{
    if (isfinite(speedup))
        text_format(out, ", %s %.3f", name, speedup);
}

static void print_speedups(const struct dapple_report *report, struct text *out)
{
    const struct dapple_split *plan = report->plan;
    const struct dapple_data_parallel *data = &report->data;
    text_format(out, "speedup    %.3f against one device, %.0f %% of perfect scaling\n", plan->speedup,
                100 * plan->speedup / plan->device_count);
    text_format(out, "compare    data parallelism on %d device%s: without overlap %.3f", plan->device_count,
                plural(plan->device_count), data->plain);
    add_speedup("overlapped", data->overlap, out);
    add_speedup("with priorities (P3)", data->priority, out);
    if (isnan(data->overlap))
        text_add(out, "; but the model and one sample do not fit on a device");
    text_add(out, "\n");
}

static void print_use(const struct dapple_report *report, struct text *out)
{
    const struct dapple_split *plan = report->plan;
    int idle = dapple_idle(plan);
    if (idle > 0) {
        text_format(out, "idle       %d of %d devices have no work: ", idle, plan->device_count);
        add_places(report->problem, plan, -1, out);
        text_add(out, "\n");
    }
    if (report->problem->rules == DAPPLE_ORIGINAL &&
        dapple_max_memory(report->problem, plan) > report->problem->cluster->memory)
        text_add(out,
                 "memory     does not fit; DAPPLE's rules ignore memory, --rules dapple-fixed checks it\n");
}

static void print_proof(const struct dapple_report *report, struct text *out)
{
    const struct dapple_split *plan = report->plan;
    char seconds[32], bound[32];
    unit_format(seconds, sizeof seconds, report->seconds, UNIT_TIME, 3);
    if (plan->lower_bound <= 0 && !plan->proven_optimal) {
        text_format(out, "proof      none: search '%s' gives no bound (%s)\n", plan->search, seconds);
        return;
    }
    if (plan->proven_optimal)
        text_add(out, "proof      optimal: no plan takes less by these rules");
    else
        text_format(out, "proof      no plan takes less than %s: a gap of %.3g %%",
                    unit_format(bound, sizeof bound, plan->lower_bound, UNIT_TIME, 6),
                    100 * plan_gap_of(plan->latency, plan->lower_bound));
    text_format(out, " (%lld dynamic program%s, %s)\n", (long long)plan->programs, plural(plan->programs),
                seconds);
}

void dapple_print(const struct dapple_report *report, struct text *out)
{
    print_head(report, out);
    print_stages(report, out);
    print_time(report, out);
    print_speedups(report, out);
    print_use(report, out);
    print_proof(report, out);
}

/* ---- out ---- */

/* All machines are one device type with nodes of the largest size: a stage may span machines of two sizes. */
static bool add_cluster(struct plan *plan, const struct dapple_cluster *cluster, struct error *err)
{
    if (!plan_add_types(plan, 1, err))
        return false;
    struct plan_device_type *type = &plan->types[0];
    *type = (struct plan_device_type){
        .name = "device",
        .nodes = {cluster->machine_count, dapple_largest_machine(cluster),
                  cluster->memory < 9e18 ? (int64_t)cluster->memory : 0},
        .inside = plan_add_link(plan, "inside", cluster->inside, 0),
        .across = plan_add_link(plan, "point_to_point", cluster->point_to_point, 0),
    };
    return (type->inside >= 0 && type->across >= 0 &&
            plan_add_link(plan, "collective", cluster->collective, 0) >= 0) ||
           error_memory(err);
}

static bool set_devices(struct plan *plan, struct plan_stage *to, const struct dapple_report *report,
                        int stage, struct error *err)
{
    const struct dapple_split *split = report->plan;
    const struct dapple_cluster *cluster = report->problem->cluster;
    to->runs = ARENA_ARRAY(&plan->arena, (size_t)split->stages[stage].devices + 1, struct plan_run);
    if (!to->runs)
        return error_memory(err);
    for (int device = 0, machine = 0; device < split->device_count; device++) {
        if (device == cluster->machine_end[machine])
            machine++;
        if (split->stage_of[device] != stage)
            continue;
        int first = device - dapple_machine_start(cluster, machine);
        struct plan_run *last = to->run_count > 0 ? &to->runs[to->run_count - 1] : NULL;
        if (last && last->node == machine && last->first + last->count == first)
            last->count++;
        else
            to->runs[to->run_count++] = (struct plan_run){machine, 1, first, 1};
    }
    return true;
}

static bool set_stage(struct plan *plan, const struct dapple_report *report, int index, struct error *err)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    const struct dapple_stage *stage = &split->stages[index];
    struct plan_stage *to = &plan->pipelines[0].stages[index];
    double microbatches = (double)split->microbatches,
           weights = dapple_parameters(problem, stage->layers.first, stage->layers.last);
    bool last = index == split->stage_count - 1;
    to->layers = stage->layers;
    to->degrees.data = stage->devices / split->replicas;
    to->seconds.forward = dapple_stage_forward(problem, split, index);
    to->seconds.backward = dapple_stage_time(problem, split, index) - to->seconds.forward;
    to->seconds.send = last ? 0
                            : dapple_transfer(problem, split, index, index + 1,
                                              dapple_crossing(problem, stage->layers.last)) /
                                  microbatches;
    to->seconds.gradients = dapple_allreduce(
        problem, split, index, dapple_reduced(problem, stage->layers.first, stage->layers.last));
    to->bytes.parameters = to->bytes.gradients = weights;
    to->bytes.optimizer = fmax(0, problem->state_factor - 2) * weights;
    to->bytes.sent = last ? 0 : dapple_crossing(problem, stage->layers.last) / stage->devices / microbatches;
    to->bytes.total = dapple_stage_memory(problem, split, index);
    return set_devices(plan, to, report, index, err);
}

static bool add_transfers(struct plan *plan, const struct dapple_report *report, int index)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    struct plan_stage *stage = &plan->pipelines[0].stages[index];
    const struct dapple_stage *from = &split->stages[index];
    struct plan_transfer gradients = {
        .kind = COLLECTIVE_ALL_REDUCE,
        .purpose = PURPOSE_GRADIENTS,
        .when = WHEN_AFTER,
        .group = from->devices,
        .per_node = from->devices,
        .link = plan->types[0].inside,
        .count = 1,
        .bytes = dapple_reduced(problem, from->layers.first, from->layers.last),
        .seconds = stage->seconds.gradients,
        .shown = 1,
    };
    int machines = 0;
    for (int k = 0; k < problem->cluster->machine_count; k++)
        machines += dapple_devices_in(problem->cluster, split, index, k) > 0;
    if (machines > 1) {
        gradients.per_node = (from->devices + machines - 1) / machines;
        gradients.link = plan->link_count - 1; /* "collective" */
    }
    if (!plan_add_transfer(plan, stage, gradients))
        return false;
    return index == split->stage_count - 1 ||
           plan_add_sends(plan, stage, stage + 1, plan->types[0].across, stage->bytes.sent,
                          stage->seconds.send, stage->seconds.send);
}

static bool add_stages(struct plan *plan, const struct dapple_report *report, struct error *err)
{
    const struct dapple_split *split = report->plan;
    if (!plan_add_pipelines(plan, 1, err) ||
        !plan_add_stages(plan, &plan->pipelines[0], split->stage_count, err))
        return false;
    plan->pipelines[0].copies = split->replicas;
    plan->pipelines[0].microbatches = split->microbatches;
    for (int s = 0; s < split->stage_count; s++)
        if (!set_stage(plan, report, s, err))
            return false;
    for (int s = 0; s < split->stage_count; s++)
        if (!add_transfers(plan, report, s))
            return error_memory(err);
    return true;
}

/* DAPPLE's policy B where messages are notable and the memory is enough: stages run ahead, or each of them would wait
 * for the way there and back. */
#define NOTABLE 0.01 /* share of the slowest stage */

static const char *schedule_of(const struct plan *plan, const struct dapple_report *report)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    double sends = 0, slowest = 0;
    for (int s = 0; s < split->stage_count; s++) {
        const struct dapple_stage *stage = &split->stages[s];
        sends = fmax(sends, 2 * plan->pipelines[0].stages[s].seconds.send);
        slowest = fmax(slowest, dapple_stage_time(problem, split, s));
        if (problem->rules == DAPPLE_FIXED &&
            dapple_fixed_memory(problem, stage->layers.first, stage->layers.last, stage->devices,
                                2 * (split->stage_count - 1 - s),
                                split->microbatches) > problem->cluster->memory)
            return "1f1b";
    }
    return sends > NOTABLE * slowest ? "eager-1f1b" : "1f1b";
}

static void add_figures(struct plan *plan, const struct dapple_report *report)
{
    const struct dapple_data_parallel *data = &report->data;
    plan_add_figure(plan, "devices", report->plan->device_count);
    plan_add_figure(plan, "programs", (double)report->plan->programs);
    plan_add_figure(plan, "pivot_factor", report->plan->factor);
    plan_add_figure(plan, "speedup", report->plan->speedup);
    plan_add_figure(plan, "data_parallel_plain", data->plain);
    plan_add_figure(plan, "data_parallel_overlap", data->overlap);
    plan_add_figure(plan, "data_parallel_priority", data->priority);
    plan_add_figure(plan, "data_parallel_priority_best", data->priority_best);
    plan_add_figure(plan, "data_parallel_priority_infinite", data->priority_infinite);
}

static uint64_t digest_of(const struct chain *chain)
{
    uint64_t digest = PLAN_DIGEST_BEGIN;
    for (int l = 0; l < chain->layer_count; l++) {
        const struct chain_load *layer = &chain->layers[l];
        const int64_t bytes[] = {layer->parameter_bytes, layer->activation_bytes, chain->crossing_bytes[l]};
        digest = plan_digest_integers(plan_digest_text(digest, chain->names[l]), bytes, 3);
        digest = plan_digest_numbers(digest, &layer->compute, 1);
    }
    return digest;
}

bool plan_of_dapple(struct plan *plan, const struct dapple_report *report, struct error *err)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    plan->objective = "dapple";
    plan->planner = "dapple";
    plan->search = split->search;
    plan->rules = dapple_rules_name(problem->rules);
    plan->import = report->import;
    plan->layer_count = problem->chain->layer_count;
    plan->global_batch = problem->global_batch;
    plan->microbatch = problem->microbatch;
    plan->asked_microbatches = split->microbatches;
    plan->iteration_time = split->latency;
    plan->lower_bound = split->lower_bound;
    plan->proven_optimal = split->proven_optimal;
    plan->planning_seconds = report->seconds;
    plan->bottleneck_pipeline = 0;
    plan->bottleneck_stage = split->pivot / 2;
    plan->bottleneck_sends = split->pivot % 2;
    plan->memory = dapple_max_memory(problem, split);
    plan_add_part(plan, "steady", split->steady);
    plan_add_part(plan, "startup", split->startup);
    plan_add_part(plan, "transfers", split->transfers);
    plan_add_part(plan, "drain", split->drain);
    add_figures(plan, report);
    if (add_cluster(plan, problem->cluster, err) && add_stages(plan, report, err) &&
        plan_set_digests(plan, digest_of(problem->chain), err)) {
        plan->schedule = schedule_of(plan, report);
        return true;
    }
    plan_release(plan);
    return false;
}

/* ---- back ---- */

static bool wrong(const struct plan *plan, int stage, struct error *err, const char *what)
{
    return error_set(err, ERROR_INPUT, "%s%spipelines[0].stages[%d]%s", plan->path ? plan->path : "",
                     plan->path ? ": " : "", stage, what);
}

static bool take_devices(struct dapple_split *split, const struct dapple_cluster *cluster,
                         const struct plan *plan, int s, struct error *err)
{
    const struct plan_stage *stage = &plan->pipelines[0].stages[s];
    for (int r = 0; r < stage->run_count; r++) {
        const struct plan_run *run = &stage->runs[r];
        for (int n = run->node; n < run->node + run->nodes; n++) {
            if (n >= cluster->machine_count)
                return wrong(plan, s, err, ".devices: the cluster has fewer machines");
            int first = dapple_machine_start(cluster, n) + run->first, end = first + run->count;
            if (end > cluster->machine_end[n])
                return wrong(plan, s, err, ".devices: the machine has fewer devices");
            for (int device = first; device < end; device++) {
                if (split->stage_of[device] >= 0)
                    return wrong(plan, s, err, ".devices: one of them has a stage already");
                split->stage_of[device] = (int16_t)s;
                split->stages[s].devices++;
            }
        }
    }
    return split->stages[s].devices > 0 ||
           wrong(plan, s, err, ": DAPPLE's rules need the devices of each stage");
}

static bool take_stages(struct dapple_split *split, const struct dapple_problem *problem,
                        const struct plan *plan, struct error *err)
{
    for (int s = 0; s < split->stage_count; s++) {
        const struct plan_stage *stage = &plan->pipelines[0].stages[s];
        if (stage->degrees.tensor != 1 || stage->degrees.context != 1)
            return wrong(plan, s, err, ": DAPPLE's rules do not cover tensor or context parallelism");
        split->stages[s] = (struct dapple_stage){.layers = stage->layers};
        if (!take_devices(split, problem->cluster, plan, s, err))
            return false;
    }
    return true;
}

bool dapple_of_plan(struct dapple_split *split, const struct dapple_problem *problem, const struct plan *plan,
                    struct error *err)
{
    double factor = plan_figure(plan, "pivot_factor");
    if (plan->pipeline_count != 1 || plan->chunks != 1)
        return error_set(err, ERROR_INPUT,
                         "%s: DAPPLE's rules score only one kind of pipeline, without chunks",
                         plan->path ? plan->path : "plan");
    if (!dapple_split_init(split, plan->pipelines[0].stage_count, dapple_devices(problem->cluster), err))
        return false;
    split->replicas = plan->pipelines[0].copies;
    split->factor = factor == 2 ? 2 : 1;
    if (take_stages(split, problem, plan, err) && dapple_split_check(problem, split, err)) {
        dapple_score(problem, split);
        return true;
    }
    dapple_split_release(split);
    return false;
}
