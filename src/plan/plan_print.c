#include "core/unit.h"
#include "plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *seconds_text(struct unit_texts *texts, double seconds)
{
    return seconds > 0 ? unit_text(texts, seconds, UNIT_TIME) : "-";
}

static void print_question(const struct plan *plan, struct text *out)
{
    text_format(out, "%s on", plan->model ? plan->model : "a model without a name");
    if (plan_devices(plan) > 0)
        text_format(out, " %" PRId64 " of %" PRId64 " devices", plan_devices_used(plan), plan_devices(plan));
    else
        text_format(out, " %" PRId64 " devices", plan_devices_used(plan));
    for (int t = 0; t < plan->type_count; t++)
        text_format(out, "%s%s", t > 0 ? ", " : ": ", plan->types[t].name);
    if (plan->objective)
        text_format(out, "; objective %s", plan->objective);
    text_add(out, "\n");
    if (plan->global_batch > 0)
        text_format(out, "global batch %" PRId64, plan->global_batch);
    if (plan->global_batch > 0 && plan->microbatch > 0)
        text_format(out, ", micro-batch %" PRId64, plan->microbatch);
    if (plan->global_batch > 0 && plan->recompute)
        text_format(out, ", recomputation: %s", plan->recompute);
    text_add(out, plan->global_batch > 0 ? "\n\n" : "\n");
}

static void print_time(const struct plan *plan, struct text *out)
{
    struct unit_texts texts = {0};
    if (plan->iteration_time <= 0)
        return;
    text_format(out, "iteration %s", unit_text(&texts, plan->iteration_time, UNIT_TIME));
    if (plan->proven_optimal)
        text_add(out, "; no plan takes less\n");
    else if (plan->lower_bound > 0)
        text_format(out, "; no plan takes less than %s (gap %.2g %%)\n",
                    unit_text(&texts, plan->lower_bound, UNIT_TIME), 100 * plan_gap(plan));
    else
        text_add(out, "\n");
    for (int i = 0; i < plan->part_count; i++)
        text_format(out, "%s%s %s", i > 0 ? ", " : "  ", plan->parts[i].name,
                    seconds_text(&(struct unit_texts){0}, plan->parts[i].value));
    text_add(out, plan->part_count > 0 ? "\n" : "");
}

static void print_stage(const struct plan *plan, const struct plan_stage *stage, int index, struct text *out)
{
    struct unit_texts texts = {0};
    char layers[32];
    snprintf(layers, sizeof layers, "%d-%d", stage->first_layer, stage->last_layer);
    text_format(out, "  %6d  %9s  %-16s %6d  %7d  %6d  %4d  %15s", index, layers,
                plan->types[stage->type].name, stage->tensor, stage->context, stage->expert, stage->data,
                seconds_text(&texts, plan_stage_seconds(stage)));
    if (stage->bytes.total > 0)
        text_format(out, "  %s", unit_text(&texts, stage->bytes.total, UNIT_BYTES));
    text_add(out, "\n");
}

void plan_print(const struct plan *plan, struct text *out)
{
    print_question(plan, out);
    print_time(plan, out);
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        text_format(out, "\n%d pipeline%s of %d stage%s", pipeline->copies, pipeline->copies == 1 ? "" : "s",
                    pipeline->stage_count, pipeline->stage_count == 1 ? "" : "s");
        if (plan->chunks > 1)
            text_format(out, ", %d on each device", plan->chunks);
        if (pipeline->microbatches > 0)
            text_format(out, ", %" PRId64 " micro-batches%s", pipeline->microbatches,
                        pipeline->copies == 1 ? "" : " each");
        text_add(out,
                 "\n   stage     layers  device type      tensor  context  expert  data  per micro-batch  "
                 "memory\n");
        for (int s = 0; s < pipeline->stage_count; s++)
            print_stage(plan, &pipeline->stages[s], s, out);
    }
}
