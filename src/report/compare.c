/* How alike two traces are: components as bars, with their intervals and the differences of repeats. */
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_TRACES 24
#define MAX_KINDS  16
#define WIDTH      200 /* of a bar's drawing */

/* The similarity as a bar, its interval as a line over it, the minimum of the repeats as a mark. */
static void add_bar(struct text *out, const struct report_column *column, const struct doc_node *map)
{
    double value = report_number(map, "similarity"), floor = report_number(map, "floor");
    double low = report_number(map, "low"), high = report_number(map, "high"), w = WIDTH;
    (void)column;
    text_add(out, "<td class=\"bars\">");
    if (isfinite(value) && value >= 0 && value <= 1) {
        text_format(out,
                    "<svg class=\"bar\" viewBox=\"0 0 %d 12\" preserveAspectRatio=\"none\" role=\"img\" "
                    "aria-label=\"",
                    WIDTH);
        html_format(out, "%.4f", value);
        if (isfinite(low) && isfinite(high))
            html_format(out, ", interval %.4f to %.4f", low, high);
        text_format(out, "\"><rect width=\"%.2f\" height=\"12\" fill=\"%s\"/>", w * value,
                    figure_colour_light(0));
        if (low >= 0 && high <= 1 && low <= high)
            text_format(out, "<rect x=\"%.2f\" y=\"4.5\" width=\"%.2f\" height=\"3\" fill=\"%s\"/>", w * low,
                        fmax(w * (high - low), 0.8), figure_colour(0));
        if (floor >= 0 && floor <= 1)
            text_format(out, "<rect x=\"%.2f\" width=\"1.6\" height=\"12\" fill=\"%s\"/>",
                        fmin(w * floor, WIDTH - 1.6), figure_colour(5));
        text_add(out, "</svg>");
    }
    text_add(out, "</td>");
}

/* ---- by kind ---- */

struct kind {
    const char *name;
    double weight, sum;
};

static int sum_kinds(const struct doc_node *components, struct kind *kinds)
{
    int count = 0;
    for (const struct doc_node *c = components->first_child; c; c = c->next) {
        const char *name = report_string(c, "kind");
        double weight = report_number(c, "weight"), value = report_number(c, "similarity");
        int i = 0;
        while (name && i < count && strcmp(kinds[i].name, name) != 0)
            i++;
        if (!name || i == MAX_KINDS || !isfinite(weight * value))
            continue;
        if (i == count)
            kinds[count++] = (struct kind){.name = name};
        kinds[i].weight += weight;
        kinds[i].sum += weight * value;
    }
    return count;
}

static void add_kinds(const struct doc_node *components, struct text *out)
{
    static const char *const titles[] = {"<kind", ">weight", ">similarity", "<0 to 1", NULL};
    struct kind kinds[MAX_KINDS];
    int count = sum_kinds(components, kinds);
    html_table(out, "By kind", titles);
    for (int i = 0; i < count; i++) {
        double value = kinds[i].weight > 0 ? kinds[i].sum / kinds[i].weight : NAN;
        const struct html_part bar = {"similarity", value, figure_colour_light(0)};
        HTML_ROW(out, cell_head(kinds[i].name), cell_number(HTML_SHARE, kinds[i].weight),
                 cell_number(HTML_DECIMALS, value), cell_bars(&bar, 1, 1));
    }
    html_table_end(out);
}

/* ---- by component ---- */

/* Whether a difference is within the noise of repeats, or the bar. */
static void add_component_cell(struct text *out, const struct report_column *column,
                               const struct doc_node *component)
{
    const struct doc_node *within = report_find(component, "within_noise");
    if (!column->key)
        add_bar(out, column, component);
    else
        html_cell(out, cell_text(!within || within->type != DOC_BOOL ? NULL
                                 : within->boolean                   ? "within"
                                                                     : "beyond"));
}

static void add_components(const struct doc_node *components, bool floor, struct text *out)
{
    struct report_column columns[] = {{"<kind", HTML_TEXT, "kind"},
                                      {"<component", HTML_HEAD, "name"},
                                      {">weight", HTML_SHARE, "weight"},
                                      {">similarity", HTML_DECIMALS, "similarity"},
                                      {">from", HTML_DECIMALS, "low"},
                                      {">to", HTML_DECIMALS, "high"},
                                      {"<0 to 1", HTML_END, NULL},
                                      {floor ? ">repeats" : NULL, HTML_DECIMALS, "floor"},
                                      {"<noise of repeats", HTML_END, "within_noise"},
                                      {NULL, HTML_END, NULL}};
    const struct html_part parts[] = {{"similarity, 1 for equal", 0, figure_colour_light(0)},
                                      {"its 95 % interval", 0, figure_colour(0)},
                                      {"the minimum among repeats", 0, figure_colour(5)}};
    report_table(out, "By component, with 95 % intervals", columns, components, "components",
                 add_component_cell);
    html_legend(out, parts, floor ? 3 : 2, 0);
}

static void add_lost(struct text *out, const char *trace, double lost, double cut_off)
{
    if (isfinite(cut_off))
        html_element(out, "p", "bad", "The recording of %s was cut off after %g s.",
                     trace ? trace : "a trace", cut_off);
    if (lost > 0)
        html_element(out, "p", "bad", "%s lost %g events while it was recorded: its counts are too low.",
                     trace ? trace : "A trace", lost);
}

/* Where latencies differ most, and whether repeats do so, too. */
static void add_window(const struct doc_node *window, struct text *out)
{
    const char *name = report_string(window, "name"), *of = report_string(window, "of");
    double value = report_number(window, "value"), floor = report_number(window, "floor");
    double from = 100 * report_number(window, "from"), to = 100 * report_number(window, "to");
    if (!name || !of || !isfinite(value) || !isfinite(from) || !isfinite(to))
        return;
    html_fact(out, "largest difference of latencies", "%.80s, calls %.0f to %.0f %% of %.80s: %.4f%s", name,
              from, to, of, value,
              !isfinite(floor) ? ""
              : value >= floor ? ", within the noise of repeats"
                               : ", beyond the noise of repeats");
}

bool report_comparison(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root, *components = report_list(root, "components");
    const struct doc_node *worst = report_find(root, "differs_most");
    const char *a = report_string(root, "a"), *b = report_string(root, "b");
    double value = report_number(root, "similarity"), floor = report_number(root, "floor");
    struct text *out = &part->out;
    if (!isfinite(value))
        return doc_error(part->doc, root, err, "expected a number at 'similarity'");
    text_format(&part->says, "%.80s and %.80s: %.4f", a ? a : "?", b ? b : "?", value);
    html_element(out, "p", NULL, "%s and %s.", a ? a : "?", b ? b : "?");
    html_facts(out);
    html_fact(out, "similarity", "%.4f", value);
    if (isfinite(report_number(root, "low")) && isfinite(report_number(root, "high")))
        html_fact(out, "95 % interval", "%.4f to %.4f", report_number(root, "low"),
                  report_number(root, "high"));
    if (isfinite(floor))
        html_fact(out, "minimum among repeats", "%.4f: %s", floor,
                  value >= floor ? "within their noise" : "beyond their noise");
    add_window(doc_find(root, "worst_window"), out);
    if (report_string(worst, "name"))
        html_fact(out, "largest difference", "%s of %s",
                  report_string(worst, "kind") ? report_string(worst, "kind") : "",
                  report_string(worst, "name"));
    html_facts_end(out);
    add_lost(out, a, report_number(root, "lost_a"), report_number(root, "cut_off_after_a"));
    add_lost(out, b, report_number(root, "lost_b"), report_number(root, "cut_off_after_b"));
    if (components) {
        add_kinds(components, out);
        add_components(components, isfinite(floor), out);
    }
    return true;
}

/* ---- of many traces, each with each ---- */

/* The more alike, the bluer; pale enough for the text on it, whatever the page's colours. */
static void add_tinted(struct text *out, double value)
{
    if (value >= 0 && value <= 1)
        text_format(out, "<td class=\"n m\" style=\"background:rgba(0,114,178,%.3f)\">%.4f</td>",
                    0.4 * value * value, value);
    else
        html_cell(out, cell_number(HTML_DECIMALS, NAN));
}

static void add_matrix(const struct doc_node *traces, const struct doc_node *rows, struct text *out)
{
    const char *titles[MAX_TRACES + 2] = {"<trace"};
    char heads[MAX_TRACES][66];
    int count = 0, i = 0;
    for (const struct doc_node *trace = traces->first_child; trace && count < MAX_TRACES;
         trace = trace->next) {
        const char *label = report_string(trace, "label");
        snprintf(heads[count], sizeof heads[count], ">%s", label ? label : "?");
        titles[count + 1] = heads[count];
        count++;
    }
    html_table(out, "Similarity, each with each", titles);
    for (const struct doc_node *row = rows->first_child; row && i < count; row = row->next) {
        int j = 0;
        text_add(out, "<tr>");
        html_cell(out, cell_head(heads[i++] + 1));
        for (const struct doc_node *cell = row->first_child; cell && j < count; cell = cell->next, j++)
            add_tinted(out, cell->type == DOC_NUMBER ? cell->number : NAN);
        text_add(out, "</tr>\n");
    }
    html_table_end(out);
    report_more(out, traces->count, MAX_TRACES, "traces");
}

/* The component in which a pair differs most, or the bar. */
static void add_pair_cell(struct text *out, const struct report_column *column, const struct doc_node *pair)
{
    const struct doc_node *worst = report_find(pair, "differs_most");
    const char *kind = report_string(worst, "kind"), *name = report_string(worst, "name");
    if (column->key)
        html_element(out, "td", NULL, "%s%s%s", kind ? kind : "", kind && name ? " of " : "",
                     name ? name : "");
    else
        add_bar(out, column, pair);
}

static void add_pairs(const struct doc_node *pairs, struct text *out)
{
    static const struct report_column columns[] = {{"<trace", HTML_HEAD, "a"},
                                                   {"<and", HTML_TEXT, "b"},
                                                   {">similarity", HTML_DECIMALS, "similarity"},
                                                   {">from", HTML_DECIMALS, "low"},
                                                   {">to", HTML_DECIMALS, "high"},
                                                   {"<0 to 1", HTML_END, NULL},
                                                   {"<largest difference", HTML_END, "differs_most"},
                                                   {NULL, HTML_END, NULL}};
    report_table(out, "Pairs, with 95 % intervals", columns, pairs, "pairs", add_pair_cell);
}

bool report_matrix(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    const struct doc_node *traces = report_list(root, "traces"), *rows = report_list(root, "similarity");
    if (!traces || !rows)
        return doc_error(part->doc, root, err, "expected lists of traces and of their similarity");
    text_format(&part->says, "%d traces, each with each", (int)traces->count);
    add_matrix(traces, rows, &part->out);
    if (report_list(root, "pairs"))
        add_pairs(report_list(root, "pairs"), &part->out);
    return true;
}
