#include "core/unit.h"
#include "evidence/search_report.h"
#include "evidence/validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void print_question(const struct job_search_report *report, struct text *out)
{
    const struct job *job = &report->answer.question->job;
    int nodes = (job->devices + job->devices_per_node - 1) / job->devices_per_node;
    text_format(out, "%s on %d x %s", job->model->name, job->devices, job->device->name);
    if (nodes > 1)
        text_format(out, ", %d nodes of %d: %s inside, %s between\n", nodes, job->devices_per_node,
                    job->inside->name, job->across->name);
    else
        text_format(out, ", one node: %s\n", job->inside->name);
    if (!job->device->fitted && job->device->like)
        text_format(out, "%s: own peaks, sizes and links; kernel efficiency as on %s\n", job->device->name,
                    job->device->like);
    text_format(out, "global batch %" PRId64 " x %" PRId64 " tokens, products in %s, %s\n\n", job->batch,
                job->sequence, cost_type_name(cost_device_type(job->device, job->type)), job->software->name);
}

static void print_proof(const struct job_search_report *report, struct text *out)
{
    const struct job_search *search = report->answer.search;
    struct unit_texts texts = {0};
    double best = search->plans[0].time.seconds;
    if (report->answer.in_time && search->complete)
        text_format(
            out,
            "proven cheapest: fewest device-hours in time, of %.0f combinations within limits and memory\n",
            search->combinations);
    else if (report->answer.in_time)
        text_format(out,
                    "stopped early: cheapest of %.0f combinations; no plan in time is > %.1f %% cheaper\n",
                    search->combinations,
                    100.0 * plan_gap_of(best * search->plans[0].job.devices, search->lower_bound));
    else if (search->complete)
        text_format(out, "proven optimal: no faster plan in %.0f combinations within limits and memory\n",
                    search->combinations);
    else
        text_format(out,
                    "stopped early: best of %.0f combinations; no plan takes less than %s (gap %.1f %%)\n",
                    search->combinations, unit_text(&texts, search->lower_bound, UNIT_TIME),
                    100.0 * plan_gap_of(best, search->lower_bound));
}

static void print_head(const struct job_search_report *report, struct text *out)
{
    const struct job_choice *plan = &report->answer.search->plans[0];
    const struct job *job = &plan->job;
    struct plan_interval interval = interval_of(&report->estimate, plan->time.seconds);
    struct unit_texts texts = {0};
    double factor = report->no_neighbours ? 1.0 : report->estimate.factor;
    double seconds = factor * plan->time.seconds, tokens = (double)job->batch * (double)job->sequence;
    text_format(out, "iteration %s %s", unit_text(&texts, seconds, UNIT_TIME),
                factor == 1.0 ? "by formula" : "expected");
    estimate_print_factors(&report->estimate, plan->time.seconds, factor, out);
    text_add(out, "\n");
    plan_print_interval(&interval, out);
    text_add(out, "\n");
    plan_print_nearest(report->nearest, out);
    text_format(out, "%.4g tokens/s, %.4g per device; %.1f %% of the devices' peak\n", tokens / seconds,
                tokens / seconds / job->devices, 100.0 * job_utilisation(job, &plan->time) / factor);
    print_proof(report, out);
}

static void print_split(const struct job_search_report *report, struct text *out)
{
    const struct job *job = &report->answer.search->plans[0].job;
    int idle = report->answer.question->job.devices - job->devices;
    text_format(out, "\ntensor %d x context %d x pipeline %d x data %d = %d device%s, ", job->degrees.tensor,
                job->degrees.context, job->degrees.pipeline, job->degrees.data, job->devices,
                job->devices == 1 ? "" : "s");
    if (idle > 0)
        text_format(out, "%d idle: using them would not be faster\n", idle);
    else
        text_add(out, "none idle\n");
    if (job->degrees.expert > 1)
        text_format(out, "expert parallel %d\n", job->degrees.expert);
    if (job->chunks > 1)
        text_format(out, "%d chunks per stage (%s)\n", job->chunks,
                    job_is_folded(job) ? "in a V" : "interleaved 1F1B");
    text_format(out, "micro-batch %" PRId64 ", %" PRId64 " per pipeline; ZeRO %d; recomputation: ",
                job->microbatch, job_microbatches(job), job->sharding);
    technique_write_recompute(out, job->recompute, &job->technique);
    technique_write_others(out, &job->technique, "; ");
    text_add(out, "\n");
}

/* A plan that is simpler and hardly slower, by which dimensions it does without. */
static void print_simpler(const struct job_search_report *report, struct text *out)
{
    static const struct {
        enum job_dimension dimension;
        const char *name;
    } left_out[] = {{JOB_CONTEXT, "context parallelism"},
                    {JOB_PIPELINE, "a pipeline"},
                    {JOB_TENSOR, "tensor parallelism"}};
    const struct job_choice *best = &report->answer.search->plans[0], *simpler = report->simpler;
    const char *between = "without ";
    if (!simpler)
        return;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (job_dimension_value(&best->job, left_out[i].dimension) > 1 &&
            job_dimension_value(&simpler->job, left_out[i].dimension) == 1) {
            text_format(out, "%s%s", between, left_out[i].name);
            between = " and ";
        }
    text_format(out, ": %.1f %% slower, with tensor %d x context %d x pipeline %d x data %d (--fix ",
                100.0 * (simpler->time.seconds / best->time.seconds - 1.0), simpler->job.degrees.tensor,
                simpler->job.degrees.context, simpler->job.degrees.pipeline, simpler->job.degrees.data);
    between = "";
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (job_dimension_value(&best->job, left_out[i].dimension) > 1 &&
            job_dimension_value(&simpler->job, left_out[i].dimension) == 1) {
            text_format(out, "%s%s=1", between, job_dimension_name(left_out[i].dimension));
            between = ",";
        }
    text_add(out, ")\n");
}

static void print_parts(const struct job_time *time, struct text *out)
{
    static const char *const descriptions[JOB_TIME_PARTS] = {
        "all micro-batches of the slowest stage",     "filling and draining the pipeline",
        "exposed tensor, context, expert comm.",      "transfers between stages",
        "exposed gradient and shard communication",   "optimizer step, gradient accumulation",
        "host time and waiting for the slowest node",
    };
    struct unit_texts texts = {0};
    text_add(out, "\ntime by formula, by part\n");
    for (int i = 0; i < JOB_TIME_PARTS; i++) {
        double part = field_get(time, &job_time_parts[i]);
        if (part > 0.0)
            text_format(out, "  %-12s %10s  %5.1f %%  %s\n", job_time_parts[i].key,
                        unit_text(&texts, part, UNIT_TIME), 100.0 * part / time->seconds, descriptions[i]);
    }
}

static void print_memory(const struct job_search_report *report, struct text *out)
{
    const struct job_choice *plan = &report->answer.search->plans[0];
    const struct job_memory *m = &plan->memory;
    const struct {
        const char *name;
        double bytes;
    } parts[] = {
        {"parameters", m->parameters},   {"gradients", m->gradients}, {"optimizer", m->optimizer},
        {"activations", m->activations}, {"working", m->working},     {"runtime", m->runtime},
    };
    struct unit_texts texts = {0};
    double limit = (double)plan->job.device->memory;
    text_format(out, "\nmemory of the fullest device: %s of %s (%.0f %%), %.0f %% kept free\n",
                unit_text(&texts, m->total, UNIT_BYTES), unit_text(&texts, limit, UNIT_BYTES),
                100.0 * m->total / limit, 100.0 * report->answer.question->headroom);
    const char *between = "  ";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].bytes > 0.0) {
            text_format(out, "%s%s %s", between, parts[i].name,
                        unit_text(&texts, parts[i].bytes, UNIT_BYTES));
            between = i == 2 ? ",\n  " : ", ";
        }
    text_add(out, "\n");
    double needed = job_needed(&plan->job, m->total);
    if (needed > limit)
        text_format(out,
                    "  with its context and the buffers of communicators (--explain-memory) a device needs "
                    "%s: raise --headroom\n",
                    unit_text(&texts, needed, UNIT_BYTES));
}

/* ---- stages ---- */

struct stage_row {
    int blocks;
    double seconds, memory;
    double compute, transfers, after; /* shares of the iteration; the rest is waiting */
    const char *ends;
};

static struct stage_row stage_row(const struct job_choice *plan, const struct job_layers *layers, int stage)
{
    const struct job *job = &plan->job;
    int first = job_stage_first(job, layers->block_count, stage);
    int last = job_stage_first(job, layers->block_count, stage + 1);
    struct job_layer layer = job_stage(job, layers, stage, first, last);
    bool folded = job_is_folded(job), begins = stage == 0,
         ends = stage == (folded ? 0 : job->degrees.pipeline - 1);
    const struct job_pass device = job_device_pass(job, layers, stage),
                          *pass = folded ? &device : &layer.pass;
    const struct job_time *time = &plan->time;
    double compute = pass->forward + pass->backward + pass->recompute, count = (double)job_microbatches(job);
    return (struct stage_row){
        .blocks = last - first + (folded ? job_stage_blocks(job, job_depth(job) - 1 - stage) : 0),
        .seconds = compute + pass->tensor,
        .compute = count * compute / time->seconds,
        .transfers = (count * pass->tensor + time->send) / time->seconds,
        .after = (time->data + time->optimizer + time->other) / time->seconds,
        .memory = job_stage_memory(job, layers, stage, &layer).total,
        .ends = begins && ends ? "embedding, head"
                : begins       ? "embedding"
                : ends         ? "head"
                               : "",
    };
}

static bool rows_alike(const struct stage_row *a, const struct stage_row *b)
{
    return a->blocks == b->blocks && a->ends == b->ends && a->seconds == b->seconds;
}

/* Neighbours that differ only in how many micro-batches they hold share a row. */
static void print_stages(const struct job_choice *plan, struct text *out)
{
    const struct job *job = &plan->job;
    struct job_layers layers = job_layers_of(job);
    struct unit_texts texts = {0};
    if (job->degrees.pipeline == 1)
        return;
    text_format(out, "\n%6s %6s %-9s %11s %8s %9s %7s %7s %s\n", "stages", "blocks", "and", "micro-batch",
                "compute", "transfers", "after", "waits", " memory");
    for (int stage = 0, end; stage < job->degrees.pipeline; stage = end) {
        struct stage_row row = stage_row(plan, &layers, stage), last = row;
        char range[32], memory[80];
        for (end = stage + 1; end < job->degrees.pipeline; end++) {
            struct stage_row next = stage_row(plan, &layers, end);
            if (!rows_alike(&row, &next))
                break;
            last = next;
        }
        snprintf(range, sizeof range, end - stage > 1 ? "%d-%d" : "%d", stage, end - 1);
        snprintf(memory, sizeof memory, row.memory > last.memory ? "%s to %s" : "%s",
                 unit_text(&texts, row.memory, UNIT_BYTES), unit_text(&texts, last.memory, UNIT_BYTES));
        double waits = fmax(1.0 - row.compute - row.transfers - row.after, 0.0);
        text_format(out, "%6s %6d %-9s %11s %6.1f %% %7.1f %% %5.1f %% %5.1f %%  %s\n", range, row.blocks,
                    row.ends, unit_text(&texts, row.seconds, UNIT_TIME), 100.0 * row.compute,
                    100.0 * row.transfers, 100.0 * row.after, 100.0 * waits, memory);
    }
}

/* ---- the runners-up ---- */

/* Plans of the same batch take as many iterations as the best one, and each device costs the same. */
static void print_money(const struct job_search_report *report, const struct job_choice *plan,
                        struct text *out)
{
    const struct plan_budget *budget = report->budget;
    const struct job_choice *best = &report->answer.search->plans[0];
    double longer = plan->time.seconds / best->time.seconds;
    double dearer = longer * plan->job.devices / best->job.devices;
    if (budget && budget->seconds > 0.0)
        text_format(out, "  %9.4g", budget->seconds * longer / 86400.0);
    if (budget && budget->dollars_per_hour >= 0.0)
        text_format(out, "  %10.4g", budget->dollars_per_million_tokens * dearer);
    if (budget && budget->dollars >= 0.0)
        text_format(out, "  %10.0f", budget->dollars * dearer);
}

static void print_plans_head(const struct job_search_report *report, struct text *out)
{
    const struct plan_budget *budget = report->budget;
    text_add(out, "by formula slower  tp cp ep  pp   dp mbs vp zero recompute devices    memory");
    if (budget && budget->seconds > 0.0)
        text_add(out, "       days");
    if (budget && budget->dollars_per_hour >= 0.0)
        text_add(out, "  $/M tokens");
    if (budget && budget->dollars >= 0.0)
        text_add(out, "     dollars");
    text_add(out, "\n");
}

static void print_plans(const struct job_search_report *report, struct text *out)
{
    bool money = report->budget && report->budget->dollars_per_hour >= 0.0;
    const struct job_search *search = report->answer.front ? report->answer.front : report->answer.search;
    struct unit_texts texts = {0};
    bool uneven = false;
    if (search->plan_count == 1 && !report->answer.front)
        return;
    text_format(out, "\n%s\n",
                !report->answer.front ? report->answer.in_time ? "cheapest plan of each split in time"
                                                               : "fastest plan of each split"
                : money               ? "Pareto-optimal plans by time, money and number of devices"
                                      : "Pareto-optimal plans by time, memory and number of devices");
    print_plans_head(report, out);
    for (int i = 0; i < search->plan_count; i++) {
        const struct job_choice *plan = &search->plans[i];
        const struct job *job = &plan->job;
        text_format(out, "%10s %4.1f %% %3d %2d %2d %3d %4d %3" PRId64 " %2d %4d %-9s %7d %9s",
                    unit_text(&texts, plan->time.seconds, UNIT_TIME),
                    100.0 * (plan->time.seconds / search->plans[0].time.seconds - 1.0), job->degrees.tensor,
                    job->degrees.context, job->degrees.expert, job->degrees.pipeline, job->degrees.data,
                    job->microbatch, job->chunks, job->sharding, recompute_name(job->recompute), job->devices,
                    unit_text(&texts, plan->memory.total, UNIT_BYTES));
        print_money(report, plan, out);
        uneven |= job->stage_blocks != NULL;
        text_format(out, "%s%s\n", plan->on_front && !report->answer.front ? " *" : "",
                    job->stage_blocks ? " u" : "");
    }
    if (!report->answer.front)
        text_add(out, "* Pareto-optimal by time, memory and number of devices\n");
    if (uneven)
        text_add(out, "u: uneven stages\n");
}

/* ---- more of a resource ---- */

static void print_sensitivity(const struct job_search_report *report, struct text *out)
{
    struct unit_texts texts = {0};
    const struct job_sensitivity *results = report->answer.sensitivity;
    double now = report->answer.search->plans[0].time.seconds;
    if (!results)
        return;
    text_format(out, "\ntime by formula with %.0f %% more of\n", 100.0 * report->answer.more);
    for (int r = 0; r < JOB_ALL_MEMORY; r++) {
        text_format(out, "  %-20s %10s  %5.1f %% less", job_resource_name((enum job_resource)r),
                    unit_text(&texts, results[r].seconds, UNIT_TIME),
                    100.0 * (1.0 - results[r].seconds / now));
        if (r == JOB_MORE_DEVICES)
            text_format(out, ", on %d", results[r].devices);
        text_add(out, results[r].differs ? ", with another split\n" : "\n");
    }
    double freed = 1.0 - results[JOB_ALL_MEMORY].seconds / now;
    if (freed > 1e-9)
        text_format(out, "memory is a limit: with unlimited memory the formula gives %s, %.1f %% less\n",
                    unit_text(&texts, results[JOB_ALL_MEMORY].seconds, UNIT_TIME), 100.0 * freed);
    else
        text_add(out, "memory is not a limit: no split that needs more is faster\n");
}

void job_search_print(const struct job_search_report *report, struct text *out)
{
    const struct job_choice *best = &report->answer.search->plans[0];
    print_question(report, out);
    print_head(report, out);
    print_split(report, out);
    print_simpler(report, out);
    print_parts(&best->time, out);
    print_memory(report, out);
    if (report->explain_memory)
        job_memory_print(&report->answer.search->plans[0].job, out);
    print_stages(best, out);
    print_plans(report, out);
    print_sensitivity(report, out);
    if (report->explain)
        estimate_print(&report->estimate, out);
}
