#include "plan/dapple/report.h"

#include "core/unit.h"
#include "plan/dapple/model.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

#define MAX_NAME 24 /* of a layer in the table */

double dapple_stage_memory(const struct dapple_problem *problem, const struct dapple_split *plan, int stage)
{
    const struct dapple_stage *s = &plan->stages[stage];
    return dapple_fixed_memory(problem, s->first_layer, s->last_layer, s->devices,
                               plan->stage_count - 1 - stage, plan->microbatches);
}

double dapple_max_memory(const struct dapple_problem *problem, const struct dapple_split *plan)
{
    double max = 0;
    for (int s = 0; s < plan->stage_count; s++)
        max = fmax(max, dapple_stage_memory(problem, plan, s));
    return max;
}

double dapple_stage_time(const struct dapple_problem *problem, const struct dapple_split *plan, int stage)
{
    const struct dapple_stage *s = &plan->stages[stage];
    return dapple_compute(problem, s->first_layer, s->last_layer) / s->devices / (double)plan->microbatches;
}

double dapple_stage_forward(const struct dapple_problem *problem, const struct dapple_split *plan, int stage)
{
    const struct dapple_stage *s = &plan->stages[stage];
    return dapple_forward(problem, s->first_layer, s->last_layer) / s->devices / (double)plan->microbatches;
}

/* Seconds that the pivot is busy with one micro-batch. */
static double pivot_time(const struct dapple_problem *problem, const struct dapple_split *plan)
{
    int s = plan->pivot / 2;
    if (plan->pivot % 2 == 0)
        return dapple_stage_time(problem, plan, s);
    int ways = problem->rules == DAPPLE_FIXED ? 2 : plan->factor;
    return ways *
           dapple_transfer(problem, plan, s, s + 1, dapple_crossing(problem, plan->stages[s].last_layer)) /
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
        text_format(out, "%s%d", s > 0 ? ":" : "", stage->first_layer);
        if (stage->last_layer > stage->first_layer)
            text_format(out, "-%d", stage->last_layer);
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
    text_format(out, "%5d  %5d-%-5d  %7d  %-*s  %9s  %9s  %9s of %-9s  ", stage, s->first_layer,
                s->last_layer, s->devices, width, places.failed ? "" : places.data,
                unit_text(&texts, dapple_stage_time(problem, plan, stage), UNIT_TIME),
                unit_text(&texts,
                          dapple_allreduce(problem, plan, stage,
                                           dapple_reduced(problem, s->first_layer, s->last_layer)),
                          UNIT_TIME),
                unit_text(&texts, bytes, UNIT_BYTES),
                unit_text(&texts, problem->cluster->memory, UNIT_BYTES));
    text_release(&places);
    add_name(problem->chain->names[s->first_layer], out);
    if (s->last_layer > s->first_layer) {
        text_add(out, " .. ");
        add_name(problem->chain->names[s->last_layer], out);
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
