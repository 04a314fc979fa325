#include "core/unit.h"
#include "plan/plan.h"

#include <inttypes.h>

static void add_quoted(struct text *out, const char *name)
{
    for (; *name; name++)
        text_format(out, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
}

static void add_degrees(const struct plan_stage *stage, struct text *out)
{
    const struct {
        const char *name;
        int degree;
    } all[] = {{"tensor", stage->degrees.tensor},
               {"context", stage->degrees.context},
               {"expert", stage->degrees.expert},
               {"data", stage->degrees.data}};
    for (int i = 0; i < 4; i++)
        if (all[i].degree > 1)
            text_format(out, "\\n%s %d", all[i].name, all[i].degree);
}

static void add_nodes(const struct plan_stage *stage, struct text *out)
{
    if (stage->run_count == 0)
        return;
    int first = stage->runs[0].node, last = first;
    for (int r = 0; r < stage->run_count; r++)
        last = stage->runs[r].node + stage->runs[r].nodes - 1;
    text_format(out, first == last ? "\\nnode %d" : "\\nnodes %d-%d", first, last);
}

static void add_stage(const struct plan *plan, int p, int s, struct text *out)
{
    const struct plan_stage *stage = &plan->pipelines[p].stages[s];
    bool slowest = plan->bottleneck_pipeline == p && plan->bottleneck_stage == s && !plan->bottleneck_sends;
    double seconds = plan_stage_seconds(stage);
    char time[32];
    text_format(out, "    p%d_s%d [fillcolor=%d, penwidth=%d, label=\"stage %d", p, s, stage->type % 12 + 1,
                slowest ? 3 : 1, s);
    if (plan->chunks > 1)
        text_format(out, ", chunk %d", stage->chunk);
    text_format(out, "\\nlayers %d-%d\\n%d x ", stage->layers.first, stage->layers.last,
                plan_stage_devices(stage));
    add_quoted(out, plan->types[stage->type].name);
    add_degrees(stage, out);
    add_nodes(stage, out);
    if (seconds > 0)
        text_format(out, "\\n%s", unit_format(time, sizeof time, seconds, UNIT_TIME, 4));
    text_add(out, "\"];\n");
    if (s > 0) {
        bool sends =
            plan->bottleneck_pipeline == p && plan->bottleneck_stage == s - 1 && plan->bottleneck_sends;
        text_format(out, "    p%d_s%d -> p%d_s%d%s;\n", p, s - 1, p, s, sends ? " [penwidth=3]" : "");
    }
}

void plan_write_dot(const struct plan *plan, struct text *out)
{
    text_add(out, "digraph plan {\n    rankdir=LR;\n    node [shape=box, style=filled, colorscheme=set312, "
                  "fontname=\"sans-serif\"];\n");
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        text_format(out, "    subgraph cluster_%d {\n    label=\"%d x, %" PRId64 " micro-batches\";\n", p,
                    pipeline->copies, pipeline->microbatches);
        for (int s = 0; s < pipeline->stage_count; s++)
            add_stage(plan, p, s, out);
        text_add(out, "    }\n");
    }
    text_add(out, "}\n");
}
