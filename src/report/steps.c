/* How long the parts of training steps take, by number of GPUs and batch. */
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS 200
#define PARTS    8

/* What a step is made of; all_compute only where its parts are not told apart. */
static const struct {
    const char *event, *name;
    int colour;
} of_step[PARTS] = {
    {"load_batch_mem", "waiting for data", 5}, {"load_batch_gpu", "copy", 4},
    {"model_forward_pass", "forward", 0},      {"loss_tensor_calc", "loss", 7},
    {"model_backward_pass", "backward", 2},    {"model_optim_step", "optimizer", 3},
    {"cum_loss_fn_calc", "barrier", 1},        {"all_compute", "compute", 0},
};

static const struct doc_node *map_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = map && map->type == DOC_MAP ? doc_find(map, key) : NULL;
    return node && node->type == DOC_MAP ? node : NULL;
}

static double mean_of(const struct doc_node *seconds, const char *event)
{
    return report_number(map_of(seconds, event), "mean");
}

static double take_parts(const struct doc_node *seconds, struct html_part parts[PARTS])
{
    double sum = 0;
    bool told = isfinite(mean_of(seconds, "model_forward_pass"));
    for (int i = 0; i < PARTS; i++) {
        double mean = i == PARTS - 1 && told ? NAN : mean_of(seconds, of_step[i].event);
        parts[i] = (struct html_part){of_step[i].name, mean, figure_colour(of_step[i].colour)};
        sum += mean > 0 ? mean : 0;
    }
    return sum;
}

static void add_place(const struct doc_node *configuration, struct text *out)
{
    html_number(out, report_number(configuration, "gpus"), 0);
    html_number(out, report_number(configuration, "batch"), 0);
}

static void add_breakdown(const struct doc_node *list, struct text *out)
{
    static const char *const titles[] = {">GPUs", ">batch", ">step, mean", "<made of", NULL};
    struct html_part parts[PARTS];
    double longest = 0;
    int rows = 0;
    for (const struct doc_node *c = list->first_child; c; c = c->next)
        longest = fmax(longest, fmax(take_parts(map_of(c, "seconds"), parts),
                                     mean_of(map_of(c, "seconds"), "step_end")));
    html_table(out, "Steps", titles);
    for (const struct doc_node *c = list->first_child; c && rows < MAX_ROWS; c = c->next, rows++) {
        const struct doc_node *seconds = map_of(c, "seconds");
        html_row(out);
        add_place(c, out);
        html_quantity(out, mean_of(seconds, "step_end"), UNIT_TIME, 4);
        take_parts(seconds, parts);
        text_add(out, "<td class=\"bars\">");
        html_bar(out, parts, PARTS, longest);
        text_add(out, "</td>");
        html_row_end(out);
    }
    html_table_end(out);
    html_legend(out, parts, PARTS, 0);
}

static void add_summary(const struct doc_node *summary, bool time, struct text *out)
{
    static const char *const keys[] = {"mean", "stdev", "q1", "median", "q3"};
    html_number(out, report_number(summary, "count"), 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (time)
            html_quantity(out, report_number(summary, keys[i]), UNIT_TIME, 4);
        else
            html_general(out, report_number(summary, keys[i]), 4);
}

/* All that is counted of one sort: seconds of events, or samples per second. */
static void add_sort(const struct doc_node *list, const char *key, bool time, struct text *out)
{
    const char *const titles[] = {
        ">GPUs", ">batch", time ? "<event" : "<throughput", ">count", ">mean", ">stdev", ">q1", ">median",
        ">q3",   NULL};
    int rows = 0, all = 0;
    html_table(out, time ? "Events" : "Samples a second", titles);
    for (const struct doc_node *c = list->first_child; c; c = c->next) {
        const struct doc_node *sort = map_of(c, key);
        for (const struct doc_node *node = sort ? sort->first_child : NULL; node; node = node->next) {
            if (all++ >= MAX_ROWS)
                continue;
            rows++;
            html_row(out);
            add_place(c, out);
            html_row_head(out, node->key);
            add_summary(node, time, out);
            html_row_end(out);
        }
    }
    html_table_end(out);
    if (all > rows)
        html_element(out, "p", "soft", "And %d more rows in the file.", all - rows);
}

static void add_model(const struct doc_node *model, struct text *out)
{
    static const char *const titles[] = {"<seconds of compute", ">each GPU", ">each batch",
                                         ">constant",           ">R\u00b2",  ">error, mean",
                                         ">error, most",        NULL};
    static const char *const names[] = {"mu", "sigma"};
    if (!model)
        return;
    html_table(out, "Compute time, fitted: GPUs and batch times these, and a constant", titles);
    for (int i = 0; i < 2; i++) {
        const struct doc_node *plane = map_of(model, names[i]);
        html_row(out);
        html_row_head(out, names[i]);
        html_general(out, report_number(plane, "per_gpu"), 4);
        html_general(out, report_number(plane, "per_batch"), 4);
        html_general(out, report_number(plane, "constant"), 4);
        html_number(out, report_number(plane, "r2"), 4);
        html_share(out, report_number(plane, "mean_error"));
        html_share(out, report_number(plane, "most_error"));
        html_row_end(out);
    }
    html_table_end(out);
}

bool report_steps(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root, *list = report_list(root, "configurations");
    const char *workload = report_string(root, "workload"), *source = report_string(root, "source");
    double malformed = report_number(root, "malformed");
    if (!list)
        return doc_error(part->doc, root, err, "expected a list of configurations");
    text_format(&part->says, "%.80s: %d configurations", workload ? workload : "steps", (int)list->count);
    html_element(&part->out, "p", NULL, "%s: %d configurations from %g files%s%s.",
                 workload ? workload : "Steps", (int)list->count, report_number(root, "files"),
                 source ? " of " : "", source ? source : "");
    if (malformed > 0)
        html_element(&part->out, "p", "bad", "%g lines could not be read.", malformed);
    add_breakdown(list, &part->out);
    add_sort(list, "seconds", true, &part->out);
    add_sort(list, "samples_per_second", false, &part->out);
    add_model(map_of(root, "compute_model"), &part->out);
    return true;
}
