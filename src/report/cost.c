/* Profiles, operation counts, predictions against measurements. */
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 100

static const char *or_unknown(const char *text)
{
    return text ? text : "?";
}

/* ---- profiles ---- */

struct sums {
    double forward, backward;
};

static struct sums sums_of(const struct doc_node *device)
{
    struct sums sums = {0, 0};
    const struct doc_node *layers = report_list(device, "layers");
    for (const struct doc_node *layer = layers ? layers->first_child : NULL; layer; layer = layer->next) {
        sums.forward += fmax(report_number(layer, "forward"), 0);
        sums.backward += fmax(report_number(layer, "backward"), 0);
    }
    return sums;
}

static void add_devices(const struct doc_node *devices, struct text *out)
{
    static const char *const titles[] = {"<device type", ">forward",        ">backward",
                                         ">both",        "<of the slowest", NULL};
    double slowest = 0;
    for (const struct doc_node *device = devices->first_child; device; device = device->next)
        slowest = fmax(slowest, sums_of(device).forward + sums_of(device).backward);
    html_table(out, "All layers, one micro-batch", titles);
    for (const struct doc_node *device = devices->first_child; device; device = device->next) {
        struct sums sums = sums_of(device);
        struct html_part parts[] = {{"forward", sums.forward, figure_colour(0)},
                                    {"backward", sums.backward, figure_colour_light(0)}};
        html_row(out);
        html_row_head(out, report_string(device, "name"));
        html_quantity(out, sums.forward, UNIT_TIME, 4);
        html_quantity(out, sums.backward, UNIT_TIME, 4);
        html_quantity(out, sums.forward + sums.backward, UNIT_TIME, 4);
        text_add(out, "<td class=\"bars\">");
        html_bar(out, parts, 2, slowest);
        text_add(out, "</td>");
        html_row_end(out);
    }
    html_table_end(out);
}

/* Layers that follow each other and are alike but for their names stand in one row. */
static bool alike(const struct doc_node *a, const struct doc_node *b)
{
    static const char *const keys[] = {"parameter_bytes", "activation_bytes", "output_bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double x = report_number(a, keys[i]), y = report_number(b, keys[i]);
        if (x != y && !(isnan(x) && isnan(y)))
            return false;
    }
    return true;
}

static void add_layers(const struct doc_node *layers, struct text *out)
{
    static const char *const titles[] = {">layers",      "<from",   "<to", ">parameters",
                                         ">activations", ">output", NULL};
    int rows = 0;
    html_table(out, "Layers, neighbours that are alike in one row; bytes of each", titles);
    for (const struct doc_node *first = layers->first_child; first && rows < MAX_ROWS; rows++) {
        const struct doc_node *last = first;
        int count = 1;
        for (; last->next && alike(first, last->next); count++)
            last = last->next;
        html_row(out);
        html_number(out, count, 0);
        html_cell(out, report_string(first, "name"));
        html_cell(out, report_string(last, "name"));
        html_quantity(out, report_number(first, "parameter_bytes"), UNIT_BYTES, 3);
        html_quantity(out, report_number(first, "activation_bytes"), UNIT_BYTES, 3);
        html_quantity(out, report_number(first, "output_bytes"), UNIT_BYTES, 3);
        html_row_end(out);
        first = last->next;
    }
    html_table_end(out);
}

bool report_profile(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    const struct doc_node *layers = report_list(root, "layers"), *devices = report_list(root, "devices");
    const char *model = report_string(root, "model"), *source = report_string(root, "source");
    if (!layers || !devices)
        return doc_error(part->doc, root, err, "expected a profile with layers and devices");
    text_format(&part->says, "%.80s: %d layers, %d device types", model ? model : "a model",
                (int)layers->count, (int)devices->count);
    html_element(&part->out, "p", NULL, "%s: %d layers on %d device types; micro-batches of %g.%s%s",
                 model ? model : "A model", (int)layers->count, (int)devices->count,
                 report_number(root, "microbatch_size"), source ? " Source: " : "", source ? source : "");
    add_devices(devices, &part->out);
    add_layers(layers, &part->out);
    return true;
}

/* ---- counts ---- */

struct operation {
    const char *opcode;
    double count, flops, bytes;
};

static int compare_operations(const void *x, const void *y)
{
    const struct operation *a = x, *b = y;
    if (a->flops != b->flops)
        return a->flops < b->flops ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return strcmp(a->opcode, b->opcode);
}

static int sum_operations(const struct doc_node *instructions, struct operation *sums)
{
    int count = 0;
    for (const struct doc_node *i = instructions->first_child; i; i = i->next) {
        const char *opcode = report_string(i, "opcode");
        int at = 0;
        while (opcode && at < count && strcmp(sums[at].opcode, opcode) != 0)
            at++;
        if (!opcode || at == MAX_ROWS)
            continue;
        if (at == count)
            sums[count++] = (struct operation){.opcode = opcode};
        sums[at].count++;
        sums[at].flops += fmax(report_number(i, "flops"), 0);
        sums[at].bytes += fmax(report_number(i, "bytes"), 0);
    }
    qsort(sums, (size_t)count, sizeof *sums, compare_operations);
    return count;
}

static void add_counts(const struct doc_node *root, struct text *out)
{
    static const char *const titles[] = {"<operation", ">times", ">flop", ">of all", ">bytes", NULL};
    const struct doc_node *instructions = report_list(root, "instructions");
    struct operation sums[MAX_ROWS];
    double flops = report_number(root, "flops");
    html_element(out, "p", NULL, "%s, counted by the rules of %s.", or_unknown(report_string(root, "file")),
                 or_unknown(report_string(root, "rules")));
    html_facts(out);
    html_fact(out, "flop", "%.4g", flops);
    html_fact(out, "transcendentals", "%.4g", report_number(root, "transcendentals"));
    html_fact_quantity(out, "memory traffic", report_number(root, "bytes"), UNIT_BYTES, 3);
    html_facts_end(out);
    int count = instructions ? sum_operations(instructions, sums) : 0;
    html_table(out, NULL, titles);
    for (int i = 0; i < count; i++) {
        html_row(out);
        html_row_head(out, sums[i].opcode);
        html_number(out, sums[i].count, 0);
        html_general(out, sums[i].flops, 4);
        html_share(out, sums[i].flops / flops);
        html_quantity(out, sums[i].bytes, UNIT_BYTES, 3);
        html_row_end(out);
    }
    html_table_end(out);
}

bool report_counts(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root, *first = root->type == DOC_LIST ? root->first_child : root;
    (void)err;
    text_format(&part->says, "%.80s: %.4g flop", or_unknown(report_string(first, "module")),
                report_number(first, "flops"));
    for (const struct doc_node *module = first; module; module = root->type == DOC_LIST ? module->next : NULL)
        add_counts(module, &part->out);
    return true;
}

/* ---- validation ---- */

/* Those that were modelled. */
static void add_results(const struct doc_node *results, struct text *out)
{
    static const char *const titles[] = {"<run",       "<GPU",   "<model",         ">measured",
                                         ">predicted", ">error", "<80 % interval", NULL};
    int rows = 0, more = 0, without = 0;
    html_table(out, "Runs", titles);
    for (const struct doc_node *run = results->first_child; run; run = run->next) {
        char low[48], high[48];
        without += report_string(run, "reason") != NULL;
        more += !report_string(run, "reason") && rows == MAX_ROWS;
        if (report_string(run, "reason") || rows == MAX_ROWS)
            continue;
        rows++;
        html_row(out);
        html_row_head(out, report_string(run, "id"));
        html_cell(out, report_string(run, "gpu"));
        html_cell(out, report_string(run, "model"));
        html_quantity(out, report_number(run, "measured"), UNIT_TIME, 4);
        html_quantity(out, report_number(run, "predicted"), UNIT_TIME, 4);
        html_share(out, report_number(run, "error"));
        text_add(out, "<td class=\"s\">");
        html_format(out, "%s to %s", unit_format(low, sizeof low, report_number(run, "low"), UNIT_TIME, 4),
                    unit_format(high, sizeof high, report_number(run, "high"), UNIT_TIME, 4));
        text_add(out, "</td>");
        html_row_end(out);
    }
    html_table_end(out);
    if (more > 0)
        html_element(out, "p", "soft", "And %d more runs in the file.", more);
    if (without > 0)
        html_element(out, "p", "soft", "%d rows are not modelled; the file says why.", without);
}

bool report_validation(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    struct text *out = &part->out;
    double mean = report_number(root, "mean_error");
    (void)err;
    text_format(&part->says, "%g runs: mean error %.1f %%", report_number(root, "modelled"), 100 * mean);
    html_facts(out);
    html_fact(out, "runs in the table", "%g", report_number(root, "rows"));
    html_fact(out, "modelled and scored", "%g", report_number(root, "modelled"));
    html_fact_share(out, "mean error", mean);
    html_fact_share(out, "median", report_number(root, "median_error"));
    html_fact_share(out, "p90", report_number(root, "p90_error"));
    html_fact_share(out, "within the 80 % interval", report_number(root, "covered"));
    html_facts_end(out);
    if (report_list(root, "generations"))
        report_rows(out, "By generation of devices", report_list(root, "generations"));
    if (report_list(root, "sources"))
        report_rows(out, "By source and device", report_list(root, "sources"));
    if (report_list(root, "results"))
        add_results(report_list(root, "results"), out);
    return true;
}

/* ---- of plans on mixed devices ---- */

static void add_clusters(const struct doc_node *clusters, struct text *out)
{
    static const char *const titles[] = {"<cluster", ">plans", ">mean error",       ">median",
                                         ">p90",     ">bias",  ">rank correlation", NULL};
    html_table(out, "By cluster", titles);
    for (const struct doc_node *cluster = clusters->first_child; cluster; cluster = cluster->next) {
        const struct doc_node *all = cluster->type == DOC_MAP ? doc_find(cluster, "all") : NULL;
        html_row(out);
        html_row_head(out, report_string(cluster, "cluster"));
        html_number(out, report_number(all, "plans"), 0);
        html_share(out, report_number(all, "mean_error"));
        html_share(out, report_number(all, "median_error"));
        html_share(out, report_number(all, "p90_error"));
        html_share(out, report_number(all, "bias"));
        html_number(out, report_number(all, "rank_correlation"), 3);
        html_row_end(out);
    }
    html_table_end(out);
}

static void add_plans(const struct doc_node *results, struct text *out)
{
    static const char *const titles[] = {">line",      "<cluster", "<plan", ">measured",
                                         ">predicted", ">error",   "<note", NULL};
    int rows = 0;
    html_table(out, "Plans", titles);
    for (const struct doc_node *plan = results->first_child; plan && rows < MAX_ROWS;
         plan = plan->next, rows++) {
        const char *reason = report_string(plan, "reason"), *mark = report_string(plan, "mark");
        html_row(out);
        html_number(out, report_number(plan, "line"), 0);
        html_cell(out, report_string(plan, "cluster"));
        html_row_head(out, report_string(plan, "plan"));
        html_quantity(out, report_number(plan, "measured"), UNIT_TIME, 4);
        html_quantity(out, report_number(plan, "predicted"), UNIT_TIME, 4);
        html_share(out, report_number(plan, "error"));
        html_cell(out, reason ? reason : mark ? mark : "");
        html_row_end(out);
    }
    html_table_end(out);
    if (results->count > MAX_ROWS)
        html_element(out, "p", "soft", "And %u more plans in the file.", results->count - MAX_ROWS);
}

bool report_mixed(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    (void)err;
    text_format(&part->says, "%g plans on mixed devices", report_number(root, "rows"));
    if (report_list(root, "clusters"))
        add_clusters(report_list(root, "clusters"), &part->out);
    if (report_list(root, "results"))
        add_plans(report_list(root, "results"), &part->out);
    return true;
}
