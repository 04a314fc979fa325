/* Plans of every kind, sets of templates, and checked plans. */
#include "plan/plan.h"
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The table of stages of each pipeline of a plan. */

#define MAX_PIPELINES 50 /* pipelines with a table of stages */

#define STAGE_COLUMNS 20
#define ANY           (-INFINITY)

/* The cells of one stage, with room for their texts and the parts of the bar. A column is there if a stage of the
 * pipeline has a number above `least`: degrees from 2 on, transfers and chunks above 0. */
struct stage_row {
    struct stage_cell {
        const char *title;
        double least;
        struct html_cell cell;
    } cells[STAGE_COLUMNS];
    char name[16], layers[64];
    struct html_part parts[5];
};

static void fill_row(struct stage_row *row, const struct plan *plan, const struct plan_pipeline *pipeline,
                     int s, double slowest)
{
    const struct plan_stage *stage = &pipeline->stages[s];
    const struct plan_device_type *type = &plan->types[stage->type];
    const struct plan_seconds *seconds = &stage->seconds;
    double all = plan_stage_seconds(stage), memory = (double)type->nodes.memory;
    const struct html_part parts[5] = {
        {"forward", seconds->forward, figure_colour(0)},
        {"backward", seconds->backward, figure_colour_light(0)},
        {"recompute", seconds->recompute, figure_colour(1)},
        {"collectives", seconds->collectives, figure_colour(4)},
        {"send", seconds->send, figure_colour(3)},
    };
    memcpy(row->parts, parts, sizeof parts);
    snprintf(row->name, sizeof row->name, "%d", s);
    if (stage->layers.first > stage->layers.last)
        snprintf(row->layers, sizeof row->layers, "none");
    else if (stage->layers.first == stage->layers.last)
        snprintf(row->layers, sizeof row->layers, "%d", stage->layers.first);
    else
        snprintf(row->layers, sizeof row->layers, "%d\u2013%d", stage->layers.first, stage->layers.last);
    const struct stage_cell cells[STAGE_COLUMNS] = {
        {"<stage", ANY, cell_head(row->name)},
        {"<layers", ANY, cell_text(row->layers)},
        {">chunk", 0, cell_number(HTML_COUNT, stage->chunk)},
        {"<device type", ANY, cell_text(type->name)},
        {">tensor", 1, cell_number(HTML_COUNT, stage->degrees.tensor)},
        {">context", 1, cell_number(HTML_COUNT, stage->degrees.context)},
        {">expert", 1, cell_number(HTML_COUNT, stage->degrees.expert)},
        {">data", 1, cell_number(HTML_COUNT, stage->degrees.data)},
        {">devices", ANY, cell_number(HTML_COUNT, plan_stage_devices(stage))},
        {">forward", ANY, cell_number(HTML_TIME, seconds->forward)},
        {">backward", ANY, cell_number(HTML_TIME, seconds->backward)},
        {">recompute", 0, cell_number(HTML_TIME, seconds->recompute)},
        {">collectives", 0, cell_number(HTML_TIME, seconds->collectives)},
        {">send", 0, cell_number(HTML_TIME, seconds->send)},
        {">together", ANY, cell_number(HTML_TIME, all > 0 ? all : NAN)},
        {"<of the slowest stage", 0, cell_bars(row->parts, 5, slowest)},
        {">all-reduce", ANY, cell_number(HTML_TIME, seconds->gradients)},
        {">optimizer", ANY, cell_number(HTML_TIME, seconds->optimizer)},
        {">memory of a device", ANY, cell_number(HTML_BYTES, stage->bytes.total)},
        {">of the limit", ANY, cell_number(HTML_SHARE, memory > 0 ? stage->bytes.total / memory : NAN)},
    };
    memcpy(row->cells, cells, sizeof cells);
}

static void add_stages(const struct plan *plan, const struct plan_pipeline *pipeline, struct text *out)
{
    const char *shown[STAGE_COLUMNS + 1] = {NULL};
    bool telling[STAGE_COLUMNS] = {false};
    struct stage_row row;
    double slowest = 0;
    int count = 0;
    for (int s = 0; s < pipeline->stage_count; s++)
        slowest = fmax(slowest, plan_stage_seconds(&pipeline->stages[s]));
    for (int s = 0; s < pipeline->stage_count; s++) {
        fill_row(&row, plan, pipeline, s, slowest);
        for (int c = 0; c < STAGE_COLUMNS; c++)
            telling[c] |= row.cells[c].cell.number > row.cells[c].least;
    }
    for (int c = 0; c < STAGE_COLUMNS; c++)
        if (telling[c])
            shown[count++] = row.cells[c].title;
    html_table(out, NULL, shown);
    for (int s = 0; s < pipeline->stage_count && s < REPORT_MAX_ROWS; s++) {
        struct html_cell cells[STAGE_COLUMNS + 1] = {0};
        count = 0;
        fill_row(&row, plan, pipeline, s, slowest);
        for (int c = 0; c < STAGE_COLUMNS; c++)
            if (telling[c])
                cells[count++] = row.cells[c].cell;
        html_row(out, cells);
    }
    html_table_end(out);
    report_more(out, pipeline->stage_count, REPORT_MAX_ROWS, "stages");
}

/* Adds a table of the stages of each pipeline: a column for all that one of them has. */
static void report_pipelines(const struct plan *plan, struct text *out)
{
    for (int p = 0; p < plan->pipeline_count && p < MAX_PIPELINES; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        if (plan->pipeline_count > 1 || pipeline->copies > 1)
            html_element(out, "h4", NULL, "%d %s of %d stage%s, %lld micro-batches each", pipeline->copies,
                         pipeline->copies == 1 ? "pipeline" : "pipelines alike", pipeline->stage_count,
                         pipeline->stage_count == 1 ? "" : "s", (long long)pipeline->microbatches);
        add_stages(plan, pipeline, out);
    }
    report_more(out, plan->pipeline_count, MAX_PIPELINES, "kinds of pipelines");
}

/* ---- colours and small words ---- */

/* As in the figure of splits; a bubble is grey. */
static const char *colour_of_part(const struct plan_figure *parts, int index)
{
    return strcmp(parts[index].name, "bubble") == 0 ? "#b3b9c0" : figure_colour(index - (index > 1));
}

static int take_parts(const struct plan_figure *from, int count, struct html_part parts[PLAN_MAX_PARTS])
{
    for (int i = 0; i < count; i++)
        parts[i] = (struct html_part){from[i].name, from[i].value, colour_of_part(from, i)};
    return count;
}

/* What is expected of an iteration, or else its time by formula. */
static void say_time(struct report_part *part, double expected, double formula, bool proven)
{
    struct unit_texts texts = {0};
    if (formula > 0)
        text_format(&part->says, "%s an iteration%s",
                    unit_text(&texts, isfinite(expected) ? expected : formula, UNIT_TIME),
                    isfinite(expected) ? ", expected" : "");
    if (proven)
        text_add(&part->says, ", proven optimal");
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

/* ---- the question ---- */

/* "64 × h100-sxm and 8 × a100-40gb" */
static void add_devices(const struct plan *plan, struct text *out)
{
    for (int t = 0; t < plan->type_count; t++) {
        const struct plan_device_type *type = &plan->types[t];
        int64_t devices = (int64_t)type->nodes.count * type->nodes.devices;
        text_add(out, t > 0 ? (t == plan->type_count - 1 ? " and " : ", ") : " on ");
        if (devices > 0)
            html_format(out, "%lld \u00d7 ", (long long)devices);
        html_text(out, type->name);
    }
}

static void add_question(const struct plan *plan, struct text *out)
{
    text_add(out, "<p>");
    html_text(out, plan->model ? plan->model : "A model");
    if (plan->layer_count > 0)
        html_format(out, " (%d layers)", plan->layer_count);
    add_devices(plan, out);
    if (plan->precision)
        html_format(out, "; products in %s", plan->precision);
    if (plan->software)
        html_format(out, "; %s", plan->software);
    text_add(out, ".</p>\n");
    if (plan->objective)
        html_element(out, "p", NULL, "Objective %s%s%s%s%s.", plan->objective,
                     plan->search ? ", search " : "", plan->search ? plan->search : "",
                     plan->rules ? ", rules " : "", plan->rules ? plan->rules : "");
}

/* ---- key numbers ---- */

static void add_proof(const struct plan *plan, struct text *out)
{
    if (plan->proven_optimal)
        html_fact(out, "proof", "optimal");
    else if (plan->lower_bound > 0)
        html_fact(out, "gap to the lower bound", "%.2g %%", 100 * plan_gap(plan));
    if (!plan->proven_optimal)
        html_fact_quantity(out, "lower bound", positive(plan->lower_bound), UNIT_TIME);
}

static void add_tokens(struct report_part *part, const struct plan *plan)
{
    char grouped[48];
    double seconds = isfinite(plan->expected) ? plan->expected : plan->iteration_time;
    if (plan->global_batch <= 0 || plan->sequence <= 0 || !(seconds > 0))
        return;
    html_grouped(grouped, (double)plan->global_batch * (double)plan->sequence / seconds);
    html_fact(&part->out, "tokens/s", "%s", grouped);
    text_format(&part->says, ", %s tokens/s", grouped);
}

/* Figures of the search; the beginning of a name tells the unit. */
static void add_figures(const struct plan *plan, struct text *out)
{
    for (int i = 0; i < plan->figure_count; i++) {
        const struct plan_figure *figure = &plan->figures[i];
        char name[64], grouped[48];
        snprintf(name, sizeof name, "%.60s", figure->name);
        for (char *at = name; *at; at++)
            if (*at == '_')
                *at = ' ';
        if (strncmp(name, "memory ", 7) == 0)
            html_fact_quantity(out, name, figure->value, UNIT_BYTES);
        else if (strncmp(name, "seconds ", 8) == 0)
            html_fact_quantity(out, name, figure->value, UNIT_TIME);
        else if (figure->value >= 1000 && figure->value == floor(figure->value))
            html_fact(out, name, "%s", html_grouped(grouped, figure->value));
        else if (isfinite(figure->value))
            html_fact(out, name, "%.4g", figure->value);
    }
}

static void add_nearest(const struct plan_nearest *nearest, struct text *out)
{
    struct text run = {0};
    plan_add_nearest(nearest, &run);
    if (run.length > 0)
        html_fact(out, "nearest published run", "%s", text_within(&run, out));
    text_release(&run);
}

static void add_head(struct report_part *part, const struct plan *plan)
{
    struct text *out = &part->out;
    bool alike = plan->pipeline_count == 1;
    html_facts(out);
    html_fact_quantity(out, "expected iteration", plan->expected, UNIT_TIME);
    html_fact_quantity(out, plan_is_of_job(plan) ? "iteration by formula" : "iteration",
                       positive(plan->iteration_time), UNIT_TIME);
    html_fact_quantity(out, "80 % interval from", plan->interval.low, UNIT_TIME);
    html_fact_quantity(out, "to", plan->interval.high, UNIT_TIME);
    if (plan->interval.extrapolates)
        html_fact(out, "interval", "extrapolated: no similar published run");
    add_nearest(&plan->nearest, out);
    add_tokens(part, plan);
    add_proof(plan, out);
    add_count(out, "global batch", plan->global_batch);
    add_count(out, "micro-batch", plan->microbatch);
    if (alike)
        add_count(out, "micro-batches", plan->pipelines[0].microbatches);
    add_count(out, "tokens a sequence", plan->sequence);
    add_word(out, "schedule", plan->schedule);
    add_count(out, "chunks", plan->chunks > 1 ? plan->chunks : 0);
    if (plan->sharding >= 0)
        html_fact(out, "ZeRO", "%d", plan->sharding);
    add_word(out, "recomputation", plan->recompute);
    add_count(out, "nodes", plan_nodes(plan));
    add_count(out, "devices", plan_devices(plan));
    add_count(out, "devices used", plan_devices_used(plan));
    html_fact_quantity(out, "memory of the fullest device", plan->memory, UNIT_BYTES);
    html_fact_quantity(out, "planned in", plan->planning_seconds, UNIT_TIME);
    add_figures(plan, out);
    html_facts_end(out);
    if (plan->proof_over)
        html_element(out, "p", "soft", "Searched: %s.", plan->proof_over);
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

/* ---- memory, devices and links ---- */

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
        {"parameters", parameters, figure_colour(0)},        {"gradients", gradients, figure_colour(1)},
        {"optimizer", optimizer, figure_colour(2)},          {"activations", kept, figure_colour(3)},
        {"working", first->bytes.working, figure_colour(4)},
    };
    html_element(out, "h4", NULL, "Memory of the fullest device: %s",
                 unit_text(&texts, first->bytes.total, UNIT_BYTES));
    html_bar_and_legend(out, parts, 5, first->bytes.total);
}

static const char *link_name(const struct plan *plan, int link)
{
    return link >= 0 ? plan->links[link].name : NULL;
}

static void add_types(const struct plan *plan, struct text *out)
{
    static const char *const titles[] = {
        "<device type",   ">nodes", ">devices of a node", ">memory of a device", "<inside a node",
        "<between nodes", NULL};
    html_table(out, "Devices", titles);
    for (int t = 0; t < plan->type_count; t++) {
        const struct plan_device_type *type = &plan->types[t];
        HTML_ROW(out, cell_head(type->name), cell_number(HTML_COUNT, positive(type->nodes.count)),
                 cell_number(HTML_COUNT, positive(type->nodes.devices)),
                 cell_number(HTML_BYTES, positive((double)type->nodes.memory)),
                 cell_text(link_name(plan, type->inside)), cell_text(link_name(plan, type->across)));
    }
    html_table_end(out);
}

static void add_links(const struct plan *plan, struct text *out)
{
    static const char *const titles[] = {"<link", ">bandwidth of a device", ">latency", NULL};
    if (plan->link_count == 0)
        return;
    html_table(out, "Links", titles);
    for (int l = 0; l < plan->link_count; l++)
        HTML_ROW(out, cell_head(plan->links[l].name), cell_number(HTML_RATE, plan->links[l].bandwidth),
                 cell_number(HTML_TIME, plan->links[l].latency));
    html_table_end(out);
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

static void add_sensitivity(const struct plan *plan, struct text *out)
{
    static const char *const titles[] = {"<resource", ">more of it", ">iteration",
                                         ">saved",    "<best split", NULL};
    if (plan->sensitivity_count == 0)
        return;
    html_table(
        out, plan->fleet_count > 0 || plan->type_count > 1 ? "With one change" : "With more of one resource",
        titles);
    for (int i = 0; i < plan->sensitivity_count; i++) {
        const struct plan_sensitivity *row = &plan->sensitivity[i];
        HTML_ROW(out, cell_head(row->resource ? row->resource : "?"), cell_number(HTML_SHARE, row->more),
                 cell_number(HTML_TIME, row->iteration_time),
                 cell_number(HTML_SHARE, 1 - row->iteration_time / plan->iteration_time),
                 cell_text(row->split_differs ? "another" : "the same"));
    }
    html_table_end(out);
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

static void add_plan(struct report_part *part, const struct plan *plan)
{
    struct text *out = &part->out;
    add_question(plan, out);
    add_head(part, plan);
    add_iteration(plan, out);
    report_pipelines(plan, out);
    add_memory(plan, out);
    add_types(plan, out);
    add_links(plan, out);
    if (plan->alternative_count > 0)
        add_alternatives(plan, false, "The best of each split", out);
    if (plan->has_front)
        add_alternatives(plan, true,
                         "Pareto front: no other plan is faster, smaller and on fewer devices at once", out);
    add_idle(plan, out);
    add_fleets(plan, out);
    add_sensitivity(plan, out);
}

bool report_plan(struct report_part *part, struct error *err)
{
    struct plan plan;
    if (!plan_read(&plan, part->doc, part->doc->root, err))
        return false;
    if (plan.model)
        text_format(&part->says, "%.80s: ", plan.model);
    say_time(part, plan.expected, plan.iteration_time, plan.proven_optimal);
    add_plan(part, &plan);
    plan_release(&plan);
    return true;
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
    text_format(&part->says, "%d templates", (int)list->count);
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
    say_time(part, report_number(first, "expected"), report_number(first, "iteration_time"), false);
    for (const struct doc_node *check = first; check; check = root->type == DOC_LIST ? check->next : NULL)
        if (!add_check(part, check, err))
            return false;
    return true;
}
