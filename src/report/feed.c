/* Results of the storage benchmark. */
#include "report/parts.h"

#include <math.h>
#include <string.h>

#define SHARES 6

static void take_shares(const struct doc_node *shares, struct html_part parts[SHARES])
{
    static const char *const keys[SHARES] = {"compute", "load", "barrier", "copy", "late", "other"};
    static const char *const names[SHARES] = {
        "compute", "waiting for data", "waiting for others", "copying", "late (the host was too slow)",
        "other"};
    static const int colours[SHARES] = {0, 5, 1, 4, 3, 6};
    for (int i = 0; i < SHARES; i++)
        parts[i] = (struct html_part){names[i], report_number(shares, keys[i]), colours[i]};
}

static void add_figures(const struct doc_node *phase, struct text *out)
{
    double au = report_number(phase, "au"), target = report_number(phase, "au_target");
    html_facts(out);
    html_fact_share(out, "accelerator utilisation", au);
    if (isfinite(target))
        html_fact(out, "target", "%.4g %%, %s", 100 * target,
                  report_flag(phase, "au_met") ? "met" : "missed");
    html_fact_share(out, "without waiting for others", report_number(phase, "au_without_barrier"));
    if (isfinite(report_number(phase, "samples_per_second")))
        html_fact(out, "samples/s", "%.4g", report_number(phase, "samples_per_second"));
    html_fact_quantity(out, "throughput", report_number(phase, "bytes_per_second"), UNIT_RATE);
    html_fact_quantity(out, "bytes read", report_number(phase, "all_bytes"), UNIT_BYTES);
    html_fact_quantity(out, "in", report_number(phase, "all_seconds"), UNIT_TIME);
    html_facts_end(out);
}

static void add_shares(const struct doc_node *phase, struct text *out)
{
    struct html_part parts[SHARES];
    const struct doc_node *shares = report_find(phase, "shares");
    if (!shares)
        return;
    take_shares(shares, parts);
    html_element(out, "h4", NULL, "Where the accelerators' time went");
    html_bar_and_legend(out, parts, SHARES, 1);
}

static void add_percentiles(const struct doc_node *phase, struct text *out)
{
    static const char *const titles[] = {"<duration", ">minimum", ">p50",     ">p90",
                                         ">p99",      ">p99.9",   ">maximum", NULL};
    static const char *const keys[] = {"least", "p50", "p90", "p99", "p99.9", "most"};
    static const char *const rows[][2] = {
        {"wait for data", "wait_seconds"}, {"step", "step_seconds"}, {"wait for others", "barrier_seconds"}};
    html_table(out, "Of the counted steps of all accelerators", titles);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct html_cell cells[8] = {cell_head(rows[i][0])};
        for (int j = 0; j < 6; j++)
            cells[j + 1] = cell_number(HTML_TIME, report_number(report_find(phase, rows[i][1]), keys[j]));
        html_row(out, cells);
    }
    html_table_end(out);
}

static void add_epoch_bar(struct text *out, const struct report_column *column, const struct doc_node *epoch)
{
    struct html_part parts[SHARES];
    (void)column;
    take_shares(report_find(epoch, "shares"), parts);
    html_cell(out, cell_bars(parts, SHARES, 1));
}

static void add_epochs(const struct doc_node *phase, struct text *out)
{
    static const struct report_column columns[] = {{">epoch", HTML_COUNT, "epoch"},
                                                   {">AU", HTML_SHARE, "au"},
                                                   {"<parts of the time", HTML_END, NULL},
                                                   {">samples/s", HTML_GENERAL, "samples_per_second"},
                                                   {">throughput", HTML_RATE, "bytes_per_second"},
                                                   {">time", HTML_TIME, "all_seconds"},
                                                   {NULL, HTML_END, NULL}};
    report_table(out, "Epochs", columns, report_list(phase, "epochs"), "epochs", add_epoch_bar);
}

static void add_phase(const struct doc_node *phase, const char *title, struct text *out)
{
    if (!phase || phase->type != DOC_MAP)
        return;
    html_element(out, "h4", NULL, "%s", title);
    if (report_string(phase, "error"))
        html_element(out, "p", "bad", "%s", report_string(phase, "error"));
    add_figures(phase, out);
    add_shares(phase, out);
    add_percentiles(phase, out);
    add_epochs(phase, out);
}

static void add_saved_or_restored(struct text *out, const struct report_column *column,
                                  const struct doc_node *figures)
{
    (void)column;
    html_cell(out, cell_head(strcmp(figures->key, "save") == 0 ? "saved" : "restored"));
}

static void add_checkpoints(const struct doc_node *root, struct text *out)
{
    static const struct report_column columns[] = {{"<checkpoints", HTML_END, NULL},
                                                   {">number", HTML_COUNT, "count"},
                                                   {">size", HTML_BYTES, "bytes"},
                                                   {">time, mean", HTML_TIME, "duration_mean"},
                                                   {">time, maximum", HTML_TIME, "duration_most"},
                                                   {">throughput", HTML_RATE, "bytes_per_second_mean"},
                                                   {">minimum", HTML_RATE, "bytes_per_second_least"},
                                                   {">of it fsync", HTML_SHARE, "sync_share"},
                                                   {NULL, HTML_END, NULL}};
    const struct doc_node *rows[2] = {report_find(root, "checkpoints/save"),
                                      report_find(root, "checkpoints/load")};
    bool any = false;
    for (int i = 0; i < 2; i++) {
        if (!rows[i] || rows[i]->type != DOC_MAP)
            continue;
        if (!any)
            report_table_begin(out, NULL, columns);
        any = true;
        report_row(out, columns, rows[i], add_saved_or_restored);
    }
    if (any)
        html_table_end(out);
}

static void add_check_cell(struct text *out, const struct report_column *column, const struct doc_node *check)
{
    const char *text = report_string(check, "text");
    bool passed = report_flag(check, "passed");
    if (column->key)
        text_add(out, passed ? "<td class=\"good\">ok</td>" : "<td class=\"bad\">failed</td>");
    else if (passed || text)
        html_cell(out, cell_text(text ? text : ""));
    else
        html_element(out, "td", NULL, "found %.10g, expected %.10g", report_number(check, "found"),
                     report_number(check, "expected"));
}

static void add_checks(const struct doc_node *root, struct text *out)
{
    static const struct report_column columns[] = {{"<check", HTML_HEAD, "name"},
                                                   {"<result", HTML_END, "passed"},
                                                   {"<note", HTML_END, NULL},
                                                   {NULL, HTML_END, NULL}};
    report_table(out, "Checks", columns, report_list(root, "checks"), "checks", add_check_cell);
}

/* Whether the page cache had the data, which says what was measured. */
static void add_cached(const struct doc_node *root, struct text *out)
{
    const struct doc_node *storage = report_find(root, "storage");
    double data = report_number(storage, "data_set"), looked_at = report_number(storage, "looked_at"),
           cached = report_number(storage, "resident_before") / (isfinite(looked_at) ? looked_at : data);
    char size[48];
    if (isfinite(cached))
        html_element(out, "p", NULL, "%s of data, of which %.3g %% lay in the page cache before the run.",
                     unit_format(size, sizeof size, data, UNIT_BYTES, 3), 100 * cached);
}

bool report_feed(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    struct text *out = &part->out;
    (void)err;
    add_cached(root, out);
    add_phase(report_find(root, "training"), "Training", out);
    add_phase(report_find(root, "evaluation"), "Evaluation", out);
    add_checkpoints(root, out);
    add_checks(root, out);
    report_rows(out, "Rules", report_list(root, "rules/findings"));
    report_rows(out, "Hosts", report_list(root, "hosts"));
    return true;
}
