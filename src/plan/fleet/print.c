#include "core/unit.h"
#include "plan/fleet/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int fleet_idle(const struct fleet_answer *answer, int type)
{
    int left = answer->problem.types[type].devices;
    for (int k = 0; k < answer->plan.pipeline_count; k++)
        left -= answer->plan.pipelines[k].copies * answer->plan.pipelines[k].devices[type];
    return left;
}

/* Returns the type of products that a plan's precision asks for; NULL: unknown. */
static const char *wanted_products(const struct plan *plan)
{
    for (int p = 0; plan->precision && model_precisions[p]; p++)
        if (strcmp(plan->precision, model_precisions[p]) == 0)
            return cost_type_name(model_wanted((enum model_precision)p));
    return NULL;
}

void fleet_print_question(const struct plan *plan, struct text *out)
{
    const char *wanted = wanted_products(plan);
    text_format(out, "%s on %" PRId64 " devices: ", plan->model ? plan->model : "the profile",
                plan_devices(plan));
    for (int t = 0; t < plan->type_count; t++)
        text_format(out, "%s%d x %s", t > 0 ? ", " : "", plan->types[t].nodes * plan->types[t].per_node,
                    plan->types[t].name);
    text_format(out, "\nglobal batch %" PRId64, plan->global_batch);
    if (plan->sequence > 0)
        text_format(out, " x %" PRId64 " tokens", plan->sequence);
    if (wanted)
        text_format(out, ", products in %s", wanted);
    text_format(out, "%s%s\n", plan->software ? ", " : "", plan->software ? plan->software : "");
    if (plan->software)
        plan_print_types(plan, wanted, out);
    text_add(out, "\n");
}

static void print_head(const struct fleet_answer *answer, const struct plan *plan, struct text *out)
{
    const struct fleet_time *time = &answer->time;
    struct unit_texts texts = {0};
    double gap = plan_gap(plan);
    text_format(out, "iteration %s; ", unit_text(&texts, time->seconds, UNIT_TIME));
    if (gap > 1e-9)
        text_format(out, "no plan takes less than %s (gap %.2g %%)\n",
                    unit_text(&texts, answer->lower_bound, UNIT_TIME), 100.0 * gap);
    else
        text_add(out, "no plan takes less\n");
    text_format(out, "  until pipelines are done %s, gradients and optimizer %s, other %s\n",
                unit_text(&texts, time->pipelines, UNIT_TIME), unit_text(&texts, time->after, UNIT_TIME),
                unit_text(&texts, time->other, UNIT_TIME));
    text_format(out, "%.4g samples/s", (double)plan->global_batch / time->seconds);
    if (plan->sequence > 0)
        text_format(out, ", %.4g tokens/s",
                    (double)plan->global_batch * (double)plan->sequence / time->seconds);
    text_format(out, "\nmicro-batch %" PRId64 "; recomputation: %s; optimizer states %s; %d pipeline%s\n",
                answer->microbatch, recompute_name(answer->recompute),
                answer->sharded ? "over all pipelines" : "in every pipeline", answer->pipelines,
                answer->pipelines == 1 ? "" : "s");
    plan_print_idle(plan, out);
}

static bool share_row(const struct fleet_problem *problem, const struct fleet_stage *a,
                      const struct fleet_stage *b)
{
    return a->option == b->option && a->last - a->first == b->last - b->first &&
           fabs(fleet_stage_seconds(problem, b) / fleet_stage_seconds(problem, a) - 1.0) <= 1e-9;
}

/* Neighbouring stages that differ only in memory share a row. */
static void print_stages(const struct fleet_problem *problem, const struct plan *plan,
                         const struct fleet_pipeline *pipeline, struct text *out)
{
    struct unit_texts texts = {0};
    for (int i = 0, end; i < pipeline->stage_count; i = end) {
        const struct fleet_stage *stage = &pipeline->stages[i];
        const struct fleet_option *option = &problem->options[stage->option];
        end = i + 1;
        while (end < pipeline->stage_count && share_row(problem, stage, &pipeline->stages[end]))
            end++;
        char stages[32], layers[32], memory[80];
        double first = fleet_stage_memory(problem, &pipeline->stages[i], fleet_in_flight(pipeline, i));
        double last =
            fleet_stage_memory(problem, &pipeline->stages[end - 1], fleet_in_flight(pipeline, end - 1));
        snprintf(stages, sizeof stages, end - i > 1 ? "%d-%d" : "%d", i, end - 1);
        snprintf(layers, sizeof layers, "%d-%d", pipeline->stages[i].first,
                 pipeline->stages[end - 1].last - 1);
        snprintf(memory, sizeof memory, first > last ? "%s to %s" : "%s",
                 unit_text(&texts, first, UNIT_BYTES), unit_text(&texts, last, UNIT_BYTES));
        text_format(out, "  %7s  %9s  %-14s  %6d  %15s  %s", stages, layers, plan->types[option->type].name,
                    option->tensor, unit_text(&texts, fleet_stage_seconds(problem, stage), UNIT_TIME),
                    memory);
        if (plan->types[option->type].memory > 0)
            text_format(out, " of %s",
                        unit_text(&texts, (double)plan->types[option->type].memory, UNIT_BYTES));
        text_add(out, "\n");
    }
}

void fleet_print(const struct fleet_answer *answer, const struct plan *plan, struct text *out)
{
    struct unit_texts texts = {0};
    fleet_print_question(plan, out);
    print_head(answer, plan, out);
    for (int k = 0; k < answer->plan.pipeline_count; k++) {
        const struct fleet_pipeline *p = &answer->plan.pipelines[k];
        int64_t each = p->microbatches / p->copies, more = p->microbatches % p->copies;
        text_format(out, "\n%d pipeline%s of %d stage%s, %" PRId64, p->copies, p->copies > 1 ? "s" : "",
                    p->stage_count, p->stage_count > 1 ? "s" : "", each);
        if (more > 0)
            text_format(out, " or %" PRId64, each + 1);
        text_format(out, " micro-batches%s: the first takes %s, then one every %s\n",
                    p->copies > 1 ? " each" : "", unit_text(&texts, p->fill, UNIT_TIME),
                    unit_text(&texts, p->cycle, UNIT_TIME));
        text_add(out, "   stages     layers  device type     tensor  per micro-batch  memory per device\n");
        print_stages(&answer->problem, plan, p, out);
    }
}
