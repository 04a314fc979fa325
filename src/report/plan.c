/* Plans of every kind, sets of templates, and checked plans. */
#include "plan/plan.h"
#include "report/parts.h"
#include "report/timeline.h"

#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- colours and small words ---- */

/* As in the figure of splits; a bubble is grey. */
static int colour_of_part(const struct plan_figure *parts, int index)
{
    return strcmp(parts[index].name, "bubble") == 0 ? HTML_IDLE : (index - (index > 1)) % HTML_IDLE;
}

static int take_parts(const struct plan_figure *from, int count, struct html_part parts[PLAN_MAX_PARTS])
{
    for (int i = 0; i < count; i++)
        parts[i] = (struct html_part){from[i].name, from[i].value, colour_of_part(from, i)};
    return count;
}

static void add_count(struct text *out, const char *name, int64_t count)
{
    char grouped[48];
    if (count > 0)
        html_fact(out, name, "%s", html_grouped(grouped, (double)count));
}

static void add_word(struct text *out, const char *name, const char *word)
{
    if (word)
        html_fact(out, name, "%.80s", word);
}

static double positive(double value)
{
    return value > 0 ? value : NAN;
}

/* ---- key numbers ---- */

static void add_settings(const struct plan *plan, struct text *out)
{
    bool alike = plan->pipeline_count == 1;
    html_facts(out);
    html_fact_quantity(out, plan_is_of_job(plan) ? "iteration by formula" : "iteration",
                       positive(plan->iteration_time), UNIT_TIME);
    if (alike && plan_is_of_job(plan)) {
        const struct degrees degrees = plan_as_alternative(plan).degrees;
        html_fact(out, "tensor \u00d7 context \u00d7 pipeline \u00d7 data",
                  "%d \u00d7 %d \u00d7 %d \u00d7 %d", degrees.tensor, degrees.context, degrees.pipeline,
                  degrees.data);
        add_count(out, "expert", degrees.expert > 1 ? degrees.expert : 0);
    }
    add_count(out, "micro-batch", plan->microbatch);
    if (alike)
        add_count(out, "micro-batches", plan->pipelines[0].microbatches);
    add_word(out, "schedule", plan->schedule);
    add_count(out, "chunks", plan->chunks > 1 ? plan->chunks : 0);
    if (plan->sharding >= 0)
        html_fact(out, "ZeRO", "%d", plan->sharding);
    add_word(out, "recomputation", plan->recompute);
    add_count(out, "nodes", plan_nodes(plan));
    add_count(out, "devices", plan_devices(plan));
    if (plan_devices_used(plan) != plan_devices(plan))
        add_count(out, "devices used", plan_devices_used(plan));
    html_fact_quantity(out, "memory of the fullest device", plan->memory, UNIT_BYTES);
    html_fact_quantity(out, "planned in", plan->planning_seconds, UNIT_TIME);
    html_facts_end(out);
}

static void add_iteration(const struct plan *plan, struct text *out)
{
    struct html_part parts[PLAN_MAX_PARTS];
    int count = take_parts(plan->parts, plan->part_count, parts);
    if (count == 0 || !(plan->iteration_time > 0))
        return;
    html_element(out, "h4", NULL, "Where the iteration goes");
    html_bar_and_legend(out, parts, count, plan->iteration_time);
}

/* ---- memory ---- */

/* A stage of the fullest device. */
static const struct plan_stage *fullest_stage(const struct plan *plan, int *pipeline)
{
    const struct plan_stage *fullest = NULL;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            const struct plan_stage *stage = &plan->pipelines[p].stages[s];
            if (stage->bytes.total > (fullest ? fullest->bytes.total : 0)) {
                fullest = stage;
                *pipeline = p;
            }
        }
    return fullest;
}

/* Buffers and the total are of the device; the rest is summed over its chunks. */
static void add_memory(const struct plan *plan, struct text *out)
{
    int p = 0;
    const struct plan_stage *first = fullest_stage(plan, &p);
    double parameters = 0, gradients = 0, optimizer = 0, kept = 0;
    struct unit_texts texts = {0};
    if (!first || !isfinite(first->bytes.parameters))
        return;
    const struct plan_pipeline *pipeline = &plan->pipelines[p];
    int stages = pipeline->stage_count >= plan->chunks ? pipeline->stage_count / plan->chunks : 1;
    for (int s = (int)(first - pipeline->stages) % stages; s < pipeline->stage_count; s += stages) {
        const struct plan_bytes *bytes = &pipeline->stages[s].bytes;
        parameters += bytes->parameters;
        gradients += bytes->gradients;
        optimizer += bytes->optimizer;
        kept += bytes->activations * (isfinite(bytes->in_flight) ? bytes->in_flight : 1);
    }
    struct html_part parts[] = {
        {"parameters", parameters, 0}, {"gradients", gradients, 1},          {"optimizer", optimizer, 2},
        {"activations", kept, 3},      {"working", first->bytes.working, 4},
    };
    double limit = (double)plan->types[first->type].nodes.memory;
    html_element(out, "h4", NULL,
                 limit > 0 ? "Memory of the fullest device: %s of %s" : "Memory of the fullest device: %s",
                 unit_text(&texts, first->bytes.total, UNIT_BYTES), unit_text(&texts, limit, UNIT_BYTES));
    html_bar_and_legend(out, parts, 5, fmax(limit, first->bytes.total));
}

/* ---- other plans ---- */

static const char *const of_alternative[] = {"<split",   ">iteration", "<parts",     ">mbs",
                                             ">vp",      ">ZeRO",      "<recompute", ">devices",
                                             ">of peak", ">memory",    NULL};

static void add_alternative(const struct plan_alternative *a, double slowest, struct text *out)
{
    struct html_part parts[PLAN_MAX_PARTS];
    char split[128];
    int count = take_parts(a->parts, a->part_count, parts);
    snprintf(split, sizeof split, "tp %d cp %d ep %d pp %d dp %d", a->degrees.tensor, a->degrees.context,
             a->degrees.expert, a->degrees.pipeline, a->degrees.data);
    HTML_ROW(out, cell_head(split), cell_number(HTML_TIME, a->iteration_time),
             cell_bars(parts, count, slowest), cell_number(HTML_COUNT, (double)a->microbatch),
             cell_number(HTML_COUNT, a->chunks), cell_number(HTML_COUNT, a->sharding),
             cell_text(a->recompute), cell_number(HTML_COUNT, a->devices),
             cell_number(HTML_SHARE, a->utilisation), cell_number(HTML_BYTES, a->memory));
}

/* Adds the plans of the front, or the other alternatives below the plan itself. */
static void add_alternatives(const struct plan *plan, bool front, const char *caption, struct text *out)
{
    const struct plan_alternative own = plan_as_alternative(plan);
    struct html_part parts[PLAN_MAX_PARTS];
    double slowest = front ? 0 : own.iteration_time;
    int rows = 0, legend = take_parts(own.parts, own.part_count, parts);
    for (int i = 0; i < plan->alternative_count; i++)
        if (plan_in_front(plan, i) == front)
            slowest = fmax(slowest, plan->alternatives[i].iteration_time);
    html_table(out, caption, of_alternative);
    if (!front)
        add_alternative(&own, slowest, out);
    for (int i = 0; i < plan->alternative_count; i++)
        if (plan_in_front(plan, i) == front && rows++ < REPORT_MAX_ROWS)
            add_alternative(&plan->alternatives[i], slowest, out);
    html_table_end(out);
    html_legend(out, parts, legend, 0);
}

static void add_idle(const struct plan *plan, struct text *out)
{
    static const char *const titles[] = {"<idle devices", ">how many", ">iteration with any", "<reason",
                                         NULL};
    if (plan->idle_count == 0)
        return;
    html_table(out, "Devices that do not help", titles);
    for (int i = 0; i < plan->idle_count; i++) {
        const struct plan_idle *idle = &plan->idle[i];
        HTML_ROW(out, cell_head(plan->types[idle->type].name), cell_number(HTML_COUNT, idle->devices),
                 cell_number(HTML_TIME, idle->with_one), cell_text(idle->reason));
    }
    html_table_end(out);
}

static void add_fleets(const struct plan *plan, struct text *out)
{
    static const char *const titles[] = {"<devices that work", ">iteration", "<way",
                                         ">pipelines",         ">mbs",       ">ZeRO",
                                         "<recompute",         ">memory",    NULL};
    if (plan->fleet_count == 0)
        return;
    html_table(out, "The fastest of each set of devices, way and settings", titles);
    for (int i = 0; i < plan->fleet_count && i < REPORT_MAX_ROWS; i++) {
        const struct plan_fleet *fleet = &plan->fleets[i];
        struct text works = {0};
        plan_add_works(plan, fleet, &works);
        HTML_ROW(out, cell_head(text_within(&works, out)), cell_number(HTML_TIME, fleet->iteration_time),
                 cell_text(fleet->way), cell_number(HTML_COUNT, fleet->pipelines),
                 cell_number(HTML_COUNT, (double)fleet->microbatch), cell_number(HTML_COUNT, fleet->sharding),
                 cell_text(fleet->recompute), cell_number(HTML_BYTES, fleet->memory));
        text_release(&works);
    }
    html_table_end(out);
}

/* ---- the writers ---- */

/* Adds the question of a plan from the plan itself. */
static void write_question(const struct plan *plan, struct json *json)
{
    char numbers[3][24];
    const int64_t values[] = {plan_devices(plan), plan->global_batch, plan->sequence};
    for (int i = 0; i < 3; i++)
        snprintf(numbers[i], sizeof numbers[i], "%" PRId64, values[i]);
    json_open_flat(json, NULL, '{');
    json_string(json, "model", plan->model);
    json_string(json, "device", plan->types[0].name);
    json_string(json, "devices", numbers[0]);
    json_string(json, "global-batch", numbers[1]);
    json_string(json, "sequence", numbers[2]);
    json_string(json, "precision", plan->precision);
    json_string(json, "software", plan->software);
    json_close(json);
}

/* The planner of the page asks the same again, or anything else, of jobs whose model and devices have names. */
static void add_planner(struct report_part *part, const struct plan *plan)
{
    struct text data = {0};
    struct json json = {.out = &data};
    bool known = plan->model && plan->software && plan->precision && plan->sequence > 0;
    if (!plan_is_of_job(plan) || plan->type_count != 1 || !known || part->has_planner)
        return;
    text_add(&data, "{\"command\": \"plan\", \"options\": ");
    write_question(plan, &json);
    text_add(&data, "}");
    text_add(&part->out, "<h4 id=\"change\">Change the question</h4>\n");
    report_figure(part, "planner", &data, NULL);
    html_element(&part->out, "p", "soft",
                 "With scripts the planner stands here, and answers as the command does.");
    report_figure_end(part);
    part->has_planner = true;
    text_release(&data);
}

static void add_tables(struct report_part *part, const struct plan *plan)
{
    struct text *out = &part->out;
    const struct doc_node *root = part->doc->root;
    add_settings(plan, out);
    report_facts(report_find(root, "figures"), out);
    report_pipelines(plan, out);
    if (plan->alternative_count > 0)
        add_alternatives(plan, false, "The best of each split", out);
    if (plan->has_front)
        add_alternatives(plan, true,
                         "Pareto front: no other plan is faster, smaller and on fewer devices at once", out);
    add_idle(plan, out);
    add_fleets(plan, out);
    report_rows(
        out, plan->fleet_count > 0 || plan->type_count > 1 ? "With one change" : "With more of one resource",
        report_list(root, "sensitivity"));
    report_rows(out, "Devices", report_list(root, "cluster/device_types"));
    report_rows(out, "Links", report_list(root, "links"));
    add_planner(part, plan);
}

bool report_plan(struct report_part *part, struct error *err)
{
    struct plan plan;
    if (!plan_read(&plan, part->doc, part->doc->root, err))
        return false;
    add_iteration(&plan, &part->out);
    add_memory(&plan, &part->out);
    bool ok = report_play(&plan, part, err);
    add_tables(part, &plan);
    plan_release(&plan);
    return ok;
}

static const char *const of_template[] = {">nodes", ">devices", ">stages", ">iteration", "<proof", NULL};

/* Adds a row to `part`, and to `stages` the stages that come after all rows. */
static bool add_template(struct report_part *part, const struct doc_node *template, struct text *stages,
                         struct error *err)
{
    const struct doc_node *node = report_find(template, "plan");
    double nodes = report_number(template, "nodes");
    struct plan plan;
    char gap[64] = "optimal";
    if (!node || node->type == DOC_NULL) {
        HTML_ROW(&part->out, cell_number(HTML_COUNT, nodes), cell_number(HTML_COUNT, NAN),
                 cell_number(HTML_COUNT, NAN), cell_number(HTML_TIME, NAN),
                 cell_text(report_string(template, "reason")));
        return true;
    }
    if (!plan_read(&plan, part->doc, node, err))
        return false;
    if (!plan.proven_optimal)
        snprintf(gap, sizeof gap, "gap %.3g %%", 100 * plan_gap(&plan));
    HTML_ROW(&part->out, cell_number(HTML_COUNT, nodes),
             cell_number(HTML_COUNT, (double)plan_devices_used(&plan)),
             cell_number(HTML_COUNT, plan.pipelines[0].stage_count),
             cell_number(HTML_TIME, positive(plan.iteration_time)), cell_text(gap));
    html_element(stages, "h4", NULL, nodes == 1 ? "With %.0f node" : "With %.0f nodes", nodes);
    report_pipelines(&plan, stages);
    plan_release(&plan);
    return true;
}

bool report_templates(struct report_part *part, struct error *err)
{
    const struct doc_node *list = report_list(part->doc->root, "templates");
    struct text stages = {0};
    bool ok = true;
    if (!list)
        return doc_error(part->doc, part->doc->root, err, "expected a list of templates");
    html_table(&part->out, "A pipeline for each number of nodes", of_template);
    for (const struct doc_node *template = list->first_child; ok && template; template = template->next)
        ok = add_template(part, template, &stages, err);
    html_table_end(&part->out);
    text_add(&part->out, text_within(&stages, &part->out));
    text_release(&stages);
    return ok;
}

/* Adds one checked plan: its time, and the best plan with its stages. */
static bool add_check(struct report_part *part, const struct doc_node *check, struct error *err)
{
    const struct doc_node *node = report_find(check, "optimum");
    const char *file = report_string(check, "file");
    struct plan best;
    bool has_best = node && node->type == DOC_MAP;
    if (has_best && !plan_read(&best, part->doc, node, err))
        return false;
    html_element(&part->out, "h4", NULL, "%s", file ? file : "?");
    html_facts(&part->out);
    html_fact_quantity(&part->out, "expected iteration", report_number(check, "expected"), UNIT_TIME);
    html_fact_quantity(&part->out, "iteration", report_number(check, "iteration_time"), UNIT_TIME);
    html_fact_share(&part->out, "above the best plan", report_number(check, "excess"));
    if (has_best)
        html_fact_quantity(&part->out, "best plan", positive(best.iteration_time), UNIT_TIME);
    double microbatches = report_number(check, "microbatches");
    add_count(&part->out, "micro-batches",
              microbatches > 0 && microbatches < 1e15 ? (int64_t)microbatches : 0);
    html_facts_end(&part->out);
    if (!has_best)
        return true;
    html_element(&part->out, "h4", NULL, "The best plan");
    report_pipelines(&best, &part->out);
    plan_release(&best);
    return true;
}

bool report_check(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    const struct doc_node *first = root->type == DOC_LIST ? root->first_child : root;
    for (const struct doc_node *check = first; check; check = root->type == DOC_LIST ? check->next : NULL)
        if (!add_check(part, check, err))
            return false;
    return true;
}
