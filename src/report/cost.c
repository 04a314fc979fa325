/* Profiles, operation counts, predictions against measurements. */
#include "core/stop.h"
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPERATIONS 100

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
    for (const struct doc_node *layer = layers ? layers->first_child : NULL;
         layer && !stop_wanted_at(layer->index); layer = layer->next) {
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
    html_table(out, "Sum of all layers for one micro-batch", titles);
    for (const struct doc_node *device = devices->first_child; device; device = device->next) {
        struct sums sums = sums_of(device);
        struct html_part parts[] = {{"forward", sums.forward, figure_colour(0)},
                                    {"backward", sums.backward, figure_colour_light(0)}};
        HTML_ROW(out, cell_head(report_string(device, "name")), cell_number(HTML_TIME, sums.forward),
                 cell_number(HTML_TIME, sums.backward), cell_number(HTML_TIME, sums.forward + sums.backward),
                 cell_bars(parts, 2, slowest));
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
    html_table(out, "Layers, with equal neighbours in one row; bytes of each", titles);
    for (const struct doc_node *first = layers->first_child; first && rows < REPORT_MAX_ROWS; rows++) {
        const struct doc_node *last = first;
        int count = 1;
        for (; last->next && !stop_wanted_at(last->index) && alike(first, last->next); count++)
            last = last->next;
        HTML_ROW(out, cell_number(HTML_COUNT, count), cell_text(report_string(first, "name")),
                 cell_text(report_string(last, "name")),
                 cell_number(HTML_BYTES, report_number(first, "parameter_bytes")),
                 cell_number(HTML_BYTES, report_number(first, "activation_bytes")),
                 cell_number(HTML_BYTES, report_number(first, "output_bytes")));
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
        if (!opcode || at == MAX_OPERATIONS)
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
    struct operation sums[MAX_OPERATIONS];
    double flops = report_number(root, "flops");
    html_element(out, "p", NULL, "%s, counted by the rules of %s.", or_unknown(report_string(root, "file")),
                 or_unknown(report_string(root, "rules")));
    html_facts(out);
    html_fact(out, "flop", "%.4g", flops);
    html_fact(out, "transcendentals", "%.4g", report_number(root, "transcendentals"));
    html_fact_quantity(out, "memory traffic", report_number(root, "bytes"), UNIT_BYTES);
    html_facts_end(out);
    int count = instructions ? sum_operations(instructions, sums) : 0;
    html_table(out, NULL, titles);
    for (int i = 0; i < count; i++)
        HTML_ROW(out, cell_head(sums[i].opcode), cell_number(HTML_COUNT, sums[i].count),
                 cell_number(HTML_GENERAL, sums[i].flops), cell_number(HTML_SHARE, sums[i].flops / flops),
                 cell_number(HTML_BYTES, sums[i].bytes));
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

static void add_interval(struct text *out, const struct report_column *column, const struct doc_node *run)
{
    struct unit_texts texts = {0};
    (void)column;
    html_element(out, "td", "s", "%s to %s", unit_text(&texts, report_number(run, "low"), UNIT_TIME),
                 unit_text(&texts, report_number(run, "high"), UNIT_TIME));
}

/* Runs that could not be modelled are only counted. */
static void add_results(const struct doc_node *results, struct text *out)
{
    static const struct report_column columns[] = {{"<run", HTML_HEAD, "id"},
                                                   {"<GPU", HTML_TEXT, "gpu"},
                                                   {"<model", HTML_TEXT, "model"},
                                                   {">measured", HTML_TIME, "measured"},
                                                   {">predicted", HTML_TIME, "predicted"},
                                                   {">error", HTML_SHARE, "error"},
                                                   {"<80 % interval", HTML_END, NULL},
                                                   {NULL, HTML_END, NULL}};
    int modelled = 0, without = 0;
    report_table_begin(out, "Runs", columns);
    for (const struct doc_node *run = results->first_child; run; run = run->next)
        if (report_string(run, "reason"))
            without++;
        else if (modelled++ < REPORT_MAX_ROWS)
            report_row(out, columns, run, add_interval);
    html_table_end(out);
    report_more(out, modelled, REPORT_MAX_ROWS, "runs");
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
    report_rows(out, "By generation of devices", report_list(root, "generations"));
    report_rows(out, "By source and device", report_list(root, "sources"));
    if (report_list(root, "results"))
        add_results(report_list(root, "results"), out);
    return true;
}
