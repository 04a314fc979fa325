/* Plans: of pipelines, of training jobs, on devices of several kinds, by DAPPLE's rules; templates; checked plans. */
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_STAGES 200
#define PARTS       7

static void take_parts(const struct doc_node *time, struct html_part parts[PARTS])
{
    static const char *const names[PARTS] = {"compute", "bubble",    "tensor", "send",
                                             "data",    "optimizer", "other"};
    static const int colours[PARTS] = {0, -1, 1, 4, 2, 3, 5}; /* as in the figure of splits */
    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct html_part){names[i], report_number(time, names[i]),
                                      colours[i] < 0 ? "#b3b9c0" : figure_colour(colours[i])};
}

static void say_time(struct report_part *part, const struct doc_node *plan, const char *of)
{
    char time[48];
    double seconds = report_number(plan, "iteration_time");
    if (isfinite(seconds))
        text_format(&part->says, "%s%s an iteration", of,
                    unit_format(time, sizeof time, seconds, UNIT_TIME, 4));
    if (report_flag(plan, "proven_optimal"))
        text_add(&part->says, ", proven optimal");
}

/* What is proven of it, in words. */
static void add_proof(struct text *out, const struct doc_node *plan)
{
    double gap = report_number(plan, "gap");
    if (report_flag(plan, "proven_optimal"))
        html_fact(out, "proof", "optimal");
    else if (isfinite(gap))
        html_fact(out, "from the optimum, at most", "%.2g %%", 100 * gap);
    if (!report_flag(plan, "proven_optimal"))
        html_fact_quantity(out, "no plan takes less than", report_number(plan, "lower_bound"), UNIT_TIME, 4);
}

static void add_count(struct text *out, const struct doc_node *map, const char *key, const char *name)
{
    char grouped[48];
    double value = report_number(map, key);
    if (isfinite(value))
        html_fact(out, name, "%s", html_grouped(grouped, value));
}

static void add_tokens(struct report_part *part, const struct doc_node *plan)
{
    char grouped[48];
    double tokens = report_number(plan, "global_batch") * report_number(plan, "sequence") /
                    report_number(plan, "iteration_time");
    if (!isfinite(tokens))
        return;
    html_fact(&part->out, "tokens/s", "%s", html_grouped(grouped, tokens));
    text_format(&part->says, ", %s tokens/s", html_grouped(grouped, tokens));
}

/* ---- stages ---- */

static double stage_seconds(const struct doc_node *stage)
{
    double whole = report_number(stage, "seconds");
    return isfinite(whole) ? whole : report_number(stage, "forward") + report_number(stage, "backward");
}

static void add_layers(const struct doc_node *stage, struct text *out)
{
    double first = report_number(stage, "first_layer"), last = report_number(stage, "last_layer");
    char layers[64];
    snprintf(layers, sizeof layers, first == last ? "%.0f" : "%.0f\u2013%.0f", first, last);
    html_cell(out, isfinite(first) && isfinite(last) ? layers : NULL);
}

static void add_stage_bar(const struct doc_node *stage, double slowest, struct text *out)
{
    double forward = report_number(stage, "forward");
    struct html_part parts[] = {
        {"forward", isfinite(forward) ? forward : stage_seconds(stage), figure_colour(0)},
        {"backward", report_number(stage, "backward"), figure_colour_light(0)},
    };
    text_add(out, "<td class=\"bars\">");
    html_bar(out, parts, 2, slowest);
    text_add(out, "</td>");
}

/* What a table of stages may show: a column that no stage fills is not there. */
enum stage_column {
    LAYERS,
    TYPE,
    DEVICES,
    FORWARD,
    BACKWARD,
    SECONDS,
    BAR,
    ALLREDUCE,
    MEMORY,
    LIMIT,
    STAGE_COLUMNS
};

static bool has_column(const struct doc_node *stages, enum stage_column column)
{
    static const char *const keys[STAGE_COLUMNS] = {
        [TYPE] = "device_type",    [FORWARD] = "forward", [BACKWARD] = "backward",
        [ALLREDUCE] = "allreduce", [MEMORY] = "memory",   [LIMIT] = "memory_limit"};
    bool any = keys[column] == NULL;
    for (const struct doc_node *stage = stages->first_child; stage && !any; stage = stage->next)
        any = isfinite(report_number(stage, keys[column])) || report_string(stage, keys[column]);
    return any;
}

static void add_stage_cell(const struct doc_node *stage, enum stage_column column, double slowest,
                           struct text *out)
{
    switch (column) {
    case LAYERS:
        add_layers(stage, out);
        break;
    case TYPE:
        html_cell(out, report_string(stage, "device_type"));
        break;
    case DEVICES:
        html_number(out, report_number(stage, "devices"), 0);
        break;
    case FORWARD:
        html_quantity(out, report_number(stage, "forward"), UNIT_TIME, 4);
        break;
    case BACKWARD:
        html_quantity(out, report_number(stage, "backward"), UNIT_TIME, 4);
        break;
    case SECONDS:
        html_quantity(out, stage_seconds(stage), UNIT_TIME, 4);
        break;
    case BAR:
        add_stage_bar(stage, slowest, out);
        break;
    case ALLREDUCE:
        html_quantity(out, report_number(stage, "allreduce"), UNIT_TIME, 4);
        break;
    case MEMORY:
        html_quantity(out, report_number(stage, "memory"), UNIT_BYTES, 3);
        break;
    case LIMIT:
    case STAGE_COLUMNS:
        html_share(out, report_number(stage, "memory") / report_number(stage, "memory_limit"));
        break;
    }
}

static void add_stage(const struct doc_node *stage, int index, const bool *shown, double slowest,
                      struct text *out)
{
    char name[16];
    snprintf(name, sizeof name, "%d", index);
    html_row(out);
    html_row_head(out, name);
    for (int column = 0; column < STAGE_COLUMNS; column++)
        if (shown[column])
            add_stage_cell(stage, (enum stage_column)column, slowest, out);
    html_row_end(out);
}

static void add_stages(const struct doc_node *stages, struct text *out)
{
    static const char *const all[STAGE_COLUMNS] = {
        "<layers",   "<device type",          ">devices",    ">forward", ">backward",
        ">together", "<of the slowest stage", ">all-reduce", ">memory",  ">of the limit"};
    const char *titles[STAGE_COLUMNS + 2] = {"<stage"};
    bool shown[STAGE_COLUMNS];
    double slowest = 0;
    int count = 1, index = 0;
    for (int column = 0; column < STAGE_COLUMNS; column++) {
        shown[column] = has_column(stages, (enum stage_column)column);
        if (shown[column])
            titles[count++] = all[column];
    }
    for (const struct doc_node *stage = stages->first_child; stage; stage = stage->next)
        slowest = fmax(slowest, stage_seconds(stage));
    html_table(out, NULL, titles);
    for (const struct doc_node *stage = stages->first_child; stage && index < MOST_STAGES;
         stage = stage->next)
        add_stage(stage, index++, shown, slowest, out);
    html_table_end(out);
    if (stages->count > MOST_STAGES)
        html_element(out, "p", "soft", "And %u more stages in the file.", stages->count - MOST_STAGES);
}

/* ---- a plan with stages: pipelines, DAPPLE ---- */

static void add_head(struct report_part *part, const struct doc_node *plan)
{
    struct text *out = &part->out;
    html_facts(out);
    html_fact_quantity(out, "iteration", report_number(plan, "iteration_time"), UNIT_TIME, 4);
    if (isfinite(report_number(plan, "iteration_time_low")))
        html_fact_quantity(out, "80 of 100 such runs: from", report_number(plan, "iteration_time_low"),
                           UNIT_TIME, 4);
    html_fact_quantity(out, "to", report_number(plan, "iteration_time_high"), UNIT_TIME, 4);
    add_tokens(part, plan);
    add_proof(out, plan);
    if (isfinite(report_number(plan, "speedup")))
        html_fact(out, "speedup", "%.4g", report_number(plan, "speedup"));
    add_count(out, plan, "global_batch", "global batch");
    add_count(out, plan, "sequence", "tokens a sequence");
    add_count(out, plan, "microbatches", "micro-batches");
    add_count(out, plan, "nodes", "nodes");
    add_count(out, plan, "devices", "devices");
    html_fact_quantity(out, "planned in", report_number(plan, "planning_seconds"), UNIT_TIME, 3);
    html_facts_end(out);
}

static void add_pipeline(struct report_part *part, const struct doc_node *plan)
{
    struct text *out = &part->out;
    const char *objective = report_string(plan, "objective"), *search = report_string(plan, "search");
    if (objective)
        html_element(out, "p", NULL, "Objective %s%s%s.", objective, search ? ", search " : "",
                     search ? search : "");
    add_head(part, plan);
    if (report_list(plan, "stages"))
        add_stages(report_list(plan, "stages"), out);
}

/* ---- training jobs ---- */

static void format_split(const struct doc_node *plan, char *line, size_t size)
{
    snprintf(line, size, "tp %g cp %g ep %g pp %g dp %g", report_number(plan, "tp"),
             report_number(plan, "cp"), report_number(plan, "ep"), report_number(plan, "pp"),
             report_number(plan, "dp"));
}

static void add_alternative(const struct doc_node *plan, double slowest, struct text *out)
{
    struct html_part parts[PARTS];
    char split[128];
    double seconds = report_number(plan, "iteration_time");
    const char *recompute = report_string(plan, "recompute");
    take_parts(doc_find(plan, "parts"), parts);
    format_split(plan, split, sizeof split);
    html_row(out);
    html_row_head(out, split);
    html_quantity(out, seconds, UNIT_TIME, 4);
    text_add(out, "<td class=\"bars\">");
    html_bar(out, parts, PARTS, slowest);
    text_add(out, "</td>");
    html_number(out, report_number(plan, "mbs"), 0);
    html_number(out, report_number(plan, "vp"), 0);
    html_number(out, report_number(plan, "zero"), 0);
    html_cell(out, recompute);
    html_number(out, report_number(plan, "devices"), 0);
    html_share(out, report_number(plan, "utilisation"));
    html_quantity(out, report_number(doc_find(plan, "memory"), "total"), UNIT_BYTES, 3);
    html_row_end(out);
}

static void add_alternatives(const struct doc_node *plans, const char *caption, struct text *out)
{
    static const char *const titles[] = {"<split", ">iteration", "<where it goes", ">mbs",     ">vp",
                                         ">ZeRO",  "<recompute", ">devices",       ">of peak", ">memory",
                                         NULL};
    struct html_part parts[PARTS];
    double slowest = 0;
    for (const struct doc_node *plan = plans->first_child; plan; plan = plan->next)
        slowest = fmax(slowest, report_number(plan, "iteration_time"));
    html_table(out, caption, titles);
    int index = 0;
    for (const struct doc_node *plan = plans->first_child; plan && index++ < MOST_STAGES; plan = plan->next)
        if (plan->type == DOC_MAP)
            add_alternative(plan, slowest, out);
    html_table_end(out);
    take_parts(NULL, parts);
    html_legend(out, parts, PARTS, 0);
}

static void add_memory(const struct doc_node *memory, struct text *out)
{
    static const char *const names[] = {"parameters",  "gradients", "optimizer",
                                        "activations", "working",   "runtime"};
    struct html_part parts[6];
    double total = report_number(memory, "total");
    char size[48];
    if (!isfinite(total))
        return;
    for (int i = 0; i < 6; i++)
        parts[i] = (struct html_part){names[i], report_number(memory, names[i]), figure_colour(i)};
    html_element(out, "h4", NULL, "Memory of the fullest device: %s",
                 unit_format(size, sizeof size, total, UNIT_BYTES, 3));
    text_add(out, "<p>");
    html_bar(out, parts, 6, total);
    text_add(out, "</p>");
    html_legend(out, parts, 6, total);
}

static void add_job(struct report_part *part, const struct doc_node *plan)
{
    struct text *out = &part->out;
    const struct doc_node *plans = report_list(plan, "plans");
    const char *model = report_string(plan, "model"), *device = report_string(plan, "device_type");
    const char *inside = report_string(plan, "inside"), *across = report_string(plan, "across");
    const char *precision = report_string(plan, "precision"), *software = report_string(plan, "software");
    html_element(
        out, "p", NULL, "%s on %g \u00d7 %s: %s inside a node, %s between nodes; products in %s; %s.",
        model ? model : "a model", report_number(plan, "devices"), device ? device : "?",
        inside ? inside : "?", across ? across : "?", precision ? precision : "?", software ? software : "?");
    add_head(part, plan);
    add_alternatives(plans, "The best of each split", out);
    add_memory(doc_find(plans->first_child, "memory"), out);
    if (report_list(plan, "front"))
        add_alternatives(report_list(plan, "front"), "None is faster, smaller and on fewer devices at once",
                         out);
    if (report_list(plan, "sensitivity"))
        report_rows(out, "With more of one resource", report_list(plan, "sensitivity"));
}

static void add_fleet(struct report_part *part, const struct doc_node *plan)
{
    struct text *out = &part->out;
    const char *model = report_string(plan, "model"), *software = report_string(plan, "software");
    html_element(out, "p", NULL, "%s on devices of several kinds%s%s.", model ? model : "A profile",
                 software ? "; " : "", software ? software : "");
    add_head(part, plan);
    for (const struct doc_node *pipeline = report_list(plan, "pipelines")->first_child; pipeline;
         pipeline = pipeline->next) {
        char fill[48], cycle[48];
        html_element(out, "h4", NULL, "%g pipelines, %g micro-batches: %s for the first, then one every %s",
                     report_number(pipeline, "copies"), report_number(pipeline, "microbatches"),
                     unit_format(fill, sizeof fill, report_number(pipeline, "fill"), UNIT_TIME, 4),
                     unit_format(cycle, sizeof cycle, report_number(pipeline, "cycle"), UNIT_TIME, 4));
        if (report_list(pipeline, "stages"))
            add_stages(report_list(pipeline, "stages"), out);
    }
    if (report_list(plan, "device_types"))
        report_rows(out, "Devices", report_list(plan, "device_types"));
}

/* ---- the writers ---- */

static bool is_plan(const struct report_part *part, const struct doc_node *plan, struct error *err)
{
    return (plan->type == DOC_MAP &&
            (report_list(plan, "plans") || report_list(plan, "pipelines") || report_list(plan, "stages"))) ||
           doc_error(part->doc, plan, err, "expected a plan with plans, pipelines or stages");
}

bool report_plan(struct report_part *part, struct error *err)
{
    const struct doc_node *plan = part->doc->root;
    const char *model = report_string(plan, "model");
    if (!is_plan(part, plan, err))
        return false;
    if (model)
        text_format(&part->says, "%.80s: ", model);
    say_time(part, plan, "");
    if (report_list(plan, "plans"))
        add_job(part, plan);
    else if (report_list(plan, "pipelines"))
        add_fleet(part, plan);
    else
        add_pipeline(part, plan);
    return true;
}

bool report_templates(struct report_part *part, struct error *err)
{
    static const char *const titles[] = {">nodes", ">devices", ">stages", ">iteration", "<proof", NULL};
    const struct doc_node *list = report_list(part->doc->root, "templates");
    if (!list)
        return doc_error(part->doc, part->doc->root, err, "expected a list of templates");
    text_format(&part->says, "%d templates", (int)list->count);
    html_table(&part->out, "A pipeline for each number of nodes", titles);
    for (const struct doc_node *template = list->first_child; template; template = template->next) {
        const struct doc_node *plan = template->type == DOC_MAP ? doc_find(template, "plan") : NULL;
        const struct doc_node *stages = report_list(plan, "stages");
        char gap[64];
        snprintf(gap, sizeof gap, "at most %.3g %% above the optimum", 100 * report_number(plan, "gap"));
        html_row(&part->out);
        html_number(&part->out, report_number(template, "nodes"), 0);
        html_number(&part->out, report_number(plan, "devices"), 0);
        html_number(&part->out, stages ? stages->count : NAN, 0);
        html_quantity(&part->out, report_number(plan, "iteration_time"), UNIT_TIME, 4);
        html_cell(&part->out, !stages                               ? report_string(template, "reason")
                              : report_flag(plan, "proven_optimal") ? "optimal"
                                                                    : gap);
        html_row_end(&part->out);
    }
    html_table_end(&part->out);
    return true;
}

bool report_check(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    const struct doc_node *first = root->type == DOC_LIST ? root->first_child : root;
    (void)err;
    say_time(part, first, "");
    for (const struct doc_node *plan = first; plan; plan = root->type == DOC_LIST ? plan->next : NULL) {
        const char *file = report_string(plan, "file");
        html_element(&part->out, "h4", NULL, "%s", file ? file : "?");
        html_facts(&part->out);
        html_fact_quantity(&part->out, "iteration", report_number(plan, "iteration_time"), UNIT_TIME, 4);
        html_fact_share(&part->out, "above the best plan", report_number(plan, "excess"));
        html_fact_quantity(
            &part->out, "best plan",
            report_number(plan->type == DOC_MAP ? doc_find(plan, "optimum") : NULL, "iteration_time"),
            UNIT_TIME, 4);
        add_count(&part->out, plan, "microbatches", "micro-batches");
        html_facts_end(&part->out);
    }
    return true;
}
