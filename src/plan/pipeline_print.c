#include "core/unit.h"
#include "plan/pipeline.h"
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static int width_of_devices(const struct pipeline *plan, const struct plan_problem *problem)
{
    int width = (int)strlen("device type");
    for (int i = 0; i < plan->stage_count; i++) {
        int length = (int)strlen(problem->groups[plan->stages[i].group].device);
        width = length > width ? length : width;
    }
    return width;
}

/* "7" or "-" */
static const char *node_name(const struct pipeline_stage *stage, char *name, size_t size)
{
    if (stage->node < 0)
        return "-";
    snprintf(name, size, "%d", stage->node);
    return name;
}

static void print_stages(const struct pipeline *plan, const struct plan_problem *problem, struct text *out)
{
    int width = width_of_devices(plan, problem);
    double slowest = pipeline_stage_time(&plan->stages[plan->bottleneck]);
    char name[16];
    text_format(out, "%5s  %11s  %-*s  %7s  %4s  %9s  %9s  %9s  %6s  %s\n", "stage", "layers", width,
                "device type", "devices", "node", "forward", "backward", "together", "", "memory per device");
    for (int i = 0; i < plan->stage_count; i++) {
        const struct pipeline_stage *stage = &plan->stages[i];
        const struct plan_group *group = &problem->groups[stage->group];
        char forward[32], backward[32], together[32], memory[32], limit[32];
        text_format(
            out, "%5d  %5d-%-5d  %-*s  %7d  %4s  %9s  %9s  %9s  %4.0f %%  %s", i, stage->layers.first,
            stage->layers.last, width, group->device, stage->devices, node_name(stage, name, sizeof name),
            unit_format(forward, sizeof forward, stage->forward, UNIT_TIME, 4),
            unit_format(backward, sizeof backward, stage->backward, UNIT_TIME, 4),
            unit_format(together, sizeof together, pipeline_stage_time(stage), UNIT_TIME, 4),
            100 * pipeline_stage_time(stage) / slowest,
            unit_format(memory, sizeof memory, (double)stage->memory / stage->devices, UNIT_BYTES, 3));
        if (group->nodes.memory)
            text_format(out, " of %s",
                        unit_format(limit, sizeof limit, (double)group->nodes.memory, UNIT_BYTES, 3));
        text_add(out, i == plan->bottleneck ? "  <- slowest\n" : "\n");
    }
}

static void print_time(const struct pipeline *plan, struct text *out)
{
    char total[32], t1[32], t2[32], t3[32];
    unit_format(total, sizeof total, plan->iteration_time, UNIT_TIME, 6);
    unit_format(t1, sizeof t1, plan->t1, UNIT_TIME, 5);
    unit_format(t2, sizeof t2, plan->t2, UNIT_TIME, 5);
    unit_format(t3, sizeof t3, plan->t3, UNIT_TIME, 5);
    double slowest = pipeline_stage_time(&plan->stages[plan->bottleneck]);
    char period[32];
    unit_format(period, sizeof period, slowest, UNIT_TIME, 5);
    int periods = (int)lround(plan->t2 / slowest);
    text_format(out, "iteration  %s = %s through all stages + %s in %d period%s of the slowest (%s)", total,
                t1, t2, periods, plural(periods), period);
    if (plan->t3 > 0)
        text_format(out, " + %s from the slowest on", t3);
    text_add(out, "\n");
}

/* Prints the share of the cluster's time that is work: every device is busy for N micro-batches of its stage's
 * time. An objective that counts fewer of them (oobleck with one stage, or with short stages behind the slowest) has
 * no such share. */
static void print_use(const struct pipeline *plan, const struct plan_problem *problem, struct text *out)
{
    int n = pipeline_microbatches(plan), used = 0, devices = plan_problem_devices(problem);
    double busy = 0, slowest = pipeline_stage_time(&plan->stages[plan->bottleneck]);
    for (int i = 0; i < plan->stage_count; i++) {
        busy += plan->stages[i].devices * pipeline_stage_time(&plan->stages[i]);
        used += plan->stages[i].devices;
    }
    if (used < devices)
        text_format(out, "idle       %d of %d devices are not used\n", devices - used, devices);
    if (n * slowest <= plan->iteration_time)
        text_format(out, "busy       %.1f %% of the devices' time; the rest is bubbles and imbalance\n",
                    100 * n * busy / (plan->iteration_time * devices));
}

static void print_proof(const struct pipeline *plan, struct text *out)
{
    char seconds[32];
    if (!plan->search) /* made by hand */
        return;
    unit_format(seconds, sizeof seconds, plan->planning_seconds, UNIT_TIME, 3);
    char none[128] = "no plan";
    if (plan->proof_over)
        snprintf(none, sizeof none, "none of the %s,", plan->proof_over);
    if (plan->proven_optimal)
        text_format(out, "proof      optimal: %s takes less (%lld dynamic program%s, %s)\n", none,
                    (long long)plan->programs, plural(plan->programs), seconds);
    else if (plan->lower_bound > 0) {
        char bound[32];
        text_format(out, "proof      %s takes less than %s: a gap of %.3g %% (%lld dynamic program%s, %s)\n",
                    none, unit_format(bound, sizeof bound, plan->lower_bound, UNIT_TIME, 6),
                    100 * plan_gap_of(plan->iteration_time, plan->lower_bound), (long long)plan->programs,
                    plural(plan->programs), seconds);
    } else
        text_format(out, "proof      none: search '%s' gives no bound (%s)\n", plan->search, seconds);
}

void pipeline_print(const struct pipeline *plan, const struct plan_problem *problem, struct text *out)
{
    int devices = plan_problem_devices(problem), nodes = plan_problem_nodes(problem);
    int n = pipeline_microbatches(plan);
    text_format(out, "%d stage%s on %d device%s in %d node%s, %d micro-batch%s%s; objective %s\n\n",
                plan->stage_count, plural(plan->stage_count), devices, plural(devices), nodes, plural(nodes),
                n, n == 1 ? "" : "es", plan->microbatches > 0 ? "" : " (three for each stage)",
                plan_objective_name(plan->objective));
    print_stages(plan, problem, out);
    text_add(out, "\n");
    print_time(plan, out);
    print_use(plan, problem, out);
    print_proof(plan, out);
}
