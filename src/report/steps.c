/* How long the parts of training steps take, by number of GPUs and batch. */
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>

#define PARTS 8

/* The parts of a step; all_compute is shown only where its parts are not told apart. */
static const struct {
    const char *event, *name;
    int colour;
} of_step[PARTS] = {
    {"load_batch_mem", "waiting for data", 5}, {"load_batch_gpu", "copy", 4},
    {"model_forward_pass", "forward", 0},      {"loss_tensor_calc", "loss", 7},
    {"model_backward_pass", "backward", 2},    {"model_optim_step", "optimizer", 3},
    {"cum_loss_fn_calc", "barrier", 1},        {"all_compute", "compute", 0},
};

static double mean_of(const struct doc_node *configuration, const char *event)
{
    return report_number(report_find(report_find(configuration, "seconds"), event), "mean");
}

static double take_parts(const struct doc_node *configuration, struct html_part parts[PARTS])
{
    double sum = 0;
    bool told = isfinite(mean_of(configuration, "model_forward_pass"));
    for (int i = 0; i < PARTS; i++) {
        double mean = i == PARTS - 1 && told ? NAN : mean_of(configuration, of_step[i].event);
        parts[i] = (struct html_part){of_step[i].name, mean, figure_colour(of_step[i].colour)};
        sum += mean > 0 ? mean : 0;
    }
    return sum;
}

static void add_breakdown(const struct doc_node *list, struct text *out)
{
    static const char *const titles[] = {">GPUs", ">batch", ">step, mean", "<parts", NULL};
    struct html_part parts[PARTS];
    double longest = 0;
    int rows = 0;
    for (const struct doc_node *c = list->first_child; c; c = c->next)
        longest = fmax(longest, fmax(take_parts(c, parts), mean_of(c, "step_end")));
    html_table(out, "Steps", titles);
    for (const struct doc_node *c = list->first_child; c && rows < REPORT_MAX_ROWS; c = c->next, rows++) {
        take_parts(c, parts);
        HTML_ROW(out, cell_number(HTML_COUNT, report_number(c, "gpus")),
                 cell_number(HTML_COUNT, report_number(c, "batch")),
                 cell_number(HTML_TIME, mean_of(c, "step_end")), cell_bars(parts, PARTS, longest));
    }
    html_table_end(out);
    html_legend(out, parts, PARTS, 0);
}

/* The statistics of one sort: seconds of events, or samples per second. */
static void add_sort(const struct doc_node *list, const char *key, bool time, struct text *out)
{
    const char *const titles[] = {
        ">GPUs", ">batch", time ? "<event" : "<throughput", ">count", ">mean", ">stdev", ">q1", ">median",
        ">q3",   NULL};
    static const char *const keys[] = {"mean", "stdev", "q1", "median", "q3"};
    int rows = 0;
    html_table(out, time ? "Events" : "Samples per second", titles);
    for (const struct doc_node *c = list->first_child; c; c = c->next) {
        const struct doc_node *sort = report_find(c, key);
        bool is_map = sort && sort->type == DOC_MAP;
        for (const struct doc_node *node = is_map ? sort->first_child : NULL; node; node = node->next) {
            struct html_cell cells[10] = {cell_number(HTML_COUNT, report_number(c, "gpus")),
                                          cell_number(HTML_COUNT, report_number(c, "batch")),
                                          cell_head(node->key),
                                          cell_number(HTML_COUNT, report_number(node, "count"))};
            for (int i = 0; i < 5; i++)
                cells[i + 4] = cell_number(time ? HTML_TIME : HTML_GENERAL, report_number(node, keys[i]));
            if (rows++ < REPORT_MAX_ROWS)
                html_row(out, cells);
        }
    }
    html_table_end(out);
    report_more(out, rows, REPORT_MAX_ROWS, "rows");
}

static void add_plane_name(struct text *out, const struct report_column *column, const struct doc_node *plane)
{
    (void)column;
    html_cell(out, cell_head(plane->key));
}

static void add_model(const struct doc_node *model, struct text *out)
{
    static const struct report_column columns[] = {{"<seconds of compute", HTML_END, NULL},
                                                   {">per GPU", HTML_GENERAL, "per_gpu"},
                                                   {">per batch", HTML_GENERAL, "per_batch"},
                                                   {">constant", HTML_GENERAL, "constant"},
                                                   {">R\u00b2", HTML_DECIMALS, "r2"},
                                                   {">error, mean", HTML_SHARE, "mean_error"},
                                                   {">error, maximum", HTML_SHARE, "most_error"},
                                                   {NULL, HTML_END, NULL}};
    static const char *const names[] = {"mu", "sigma"};
    if (!model || model->type != DOC_MAP)
        return;
    report_table_begin(out, "Fitted compute time: GPUs and batch times these factors, plus the constant",
                       columns);
    for (int i = 0; i < 2; i++)
        if (report_find(model, names[i]))
            report_row(out, columns, report_find(model, names[i]), add_plane_name);
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
    add_model(report_find(root, "compute_model"), &part->out);
    return true;
}
