/* What the storage benchmark found. */
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHARES   6
#define MAX_ROWS 100

static const struct doc_node *find(const struct doc_node *map, const char *key)
{
    return map && map->type == DOC_MAP ? doc_find(map, key) : NULL;
}

static void take_shares(const struct doc_node *shares, struct html_part parts[SHARES])
{
    static const char *const keys[SHARES] = {"compute", "load", "barrier", "copy", "late", "other"};
    static const char *const names[SHARES] = {"compute", "waiting for data",        "waiting for others",
                                              "copying", "late (the host's fault)", "other"};
    static const int colours[SHARES] = {0, 5, 1, 4, 3, 6};
    for (int i = 0; i < SHARES; i++)
        parts[i] = (struct html_part){names[i], report_number(shares, keys[i]), figure_colour(colours[i])};
}

static void add_figures(const struct doc_node *phase, struct text *out)
{
    double au = report_number(phase, "au"), target = report_number(phase, "au_target");
    html_facts(out);
    html_fact_share(out, "accelerator utilisation", au);
    if (isfinite(target))
        html_fact(out, "asked for", "%.4g %%, %s", 100 * target,
                  report_flag(phase, "au_met") ? "met" : "missed");
    html_fact_share(out, "without waiting for others", report_number(phase, "au_without_barrier"));
    if (isfinite(report_number(phase, "samples_per_second")))
        html_fact(out, "samples/s", "%.4g", report_number(phase, "samples_per_second"));
    html_fact_quantity(out, "throughput", report_number(phase, "bytes_per_second"), UNIT_RATE, 4);
    html_fact_quantity(out, "read in all", report_number(phase, "all_bytes"), UNIT_BYTES, 3);
    html_fact_quantity(out, "in", report_number(phase, "all_seconds"), UNIT_TIME, 4);
    html_facts_end(out);
}

static void add_shares(const struct doc_node *phase, struct text *out)
{
    struct html_part parts[SHARES];
    const struct doc_node *shares = find(phase, "shares");
    if (!shares)
        return;
    take_shares(shares, parts);
    html_element(out, "h4", NULL, "Where the accelerators' time went");
    text_add(out, "<p>");
    html_bar(out, parts, SHARES, 1);
    text_add(out, "</p>");
    html_legend(out, parts, SHARES, 1);
}

static void add_percentiles(const struct doc_node *phase, struct text *out)
{
    static const char *const titles[] = {"<duration", ">least", ">p50",  ">p90",
                                         ">p99",      ">p99.9", ">most", NULL};
    static const char *const rows[][2] = {
        {"wait for data", "wait_seconds"}, {"step", "step_seconds"}, {"wait for others", "barrier_seconds"}};
    html_table(out, "Of the counted steps of all accelerators", titles);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct doc_node *values = find(phase, rows[i][1]);
        html_row(out);
        html_row_head(out, rows[i][0]);
        for (int j = 1; titles[j]; j++)
            html_quantity(out, report_number(values, titles[j] + 1), UNIT_TIME, 4);
        html_row_end(out);
    }
    html_table_end(out);
}

static void add_epochs(const struct doc_node *phase, struct text *out)
{
    static const char *const titles[] = {">epoch", ">AU", "<where time went", ">samples/s", ">throughput",
                                         ">time",  NULL};
    const struct doc_node *epochs = report_list(phase, "epochs");
    int rows = 0;
    if (!epochs)
        return;
    html_table(out, "Epochs", titles);
    for (const struct doc_node *epoch = epochs->first_child; epoch && rows < MAX_ROWS;
         epoch = epoch->next, rows++) {
        struct html_part parts[SHARES];
        take_shares(find(epoch, "shares"), parts);
        html_row(out);
        html_number(out, report_number(epoch, "epoch"), 0);
        html_share(out, report_number(epoch, "au"));
        text_add(out, "<td class=\"bars\">");
        html_bar(out, parts, SHARES, 1);
        text_add(out, "</td>");
        html_general(out, report_number(epoch, "samples_per_second"), 4);
        html_quantity(out, report_number(epoch, "bytes_per_second"), UNIT_RATE, 4);
        html_quantity(out, report_number(epoch, "all_seconds"), UNIT_TIME, 4);
        html_row_end(out);
    }
    html_table_end(out);
    if (epochs->count > MAX_ROWS)
        html_element(out, "p", "soft", "And %u more epochs in the file.", epochs->count - MAX_ROWS);
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

static void add_checkpoints(const struct doc_node *root, struct text *out)
{
    static const char *const titles[] = {"<checkpoints", ">number",      ">size",
                                         ">time, mean",  ">time, most",  ">throughput",
                                         ">least",       ">of it fsync", NULL};
    static const char *const rows[][2] = {{"saved", "save"}, {"restored", "load"}};
    const struct doc_node *all = find(root, "checkpoints");
    bool any = false;
    for (int i = 0; i < 2; i++) {
        const struct doc_node *figures = find(all, rows[i][1]);
        if (!figures || figures->type != DOC_MAP)
            continue;
        if (!any)
            html_table(out, NULL, titles);
        any = true;
        html_row(out);
        html_row_head(out, rows[i][0]);
        html_number(out, report_number(figures, "count"), 0);
        html_quantity(out, report_number(figures, "bytes"), UNIT_BYTES, 3);
        html_quantity(out, report_number(figures, "duration_mean"), UNIT_TIME, 4);
        html_quantity(out, report_number(figures, "duration_most"), UNIT_TIME, 4);
        html_quantity(out, report_number(figures, "bytes_per_second_mean"), UNIT_RATE, 4);
        html_quantity(out, report_number(figures, "bytes_per_second_least"), UNIT_RATE, 4);
        html_share(out, report_number(figures, "sync_share"));
        html_row_end(out);
    }
    if (any)
        html_table_end(out);
}

static void add_expected(const struct doc_node *check, struct text *out)
{
    text_add(out, "<td>");
    html_format(out, "found %.10g, expected %.10g", report_number(check, "found"),
                report_number(check, "expected"));
    text_add(out, "</td>");
}

static void add_checks(const struct doc_node *root, struct text *out)
{
    static const char *const titles[] = {"<check", "<result", "<note", NULL};
    const struct doc_node *checks = report_list(root, "checks");
    if (!checks)
        return;
    html_table(out, "Checks", titles);
    for (const struct doc_node *check = checks->first_child; check; check = check->next) {
        const char *text = report_string(check, "text");
        bool passed = report_flag(check, "passed");
        html_row(out);
        html_row_head(out, report_string(check, "name"));
        text_add(out, passed ? "<td class=\"good\">ok</td>" : "<td class=\"bad\">failed</td>");
        if (passed || text)
            html_cell(out, text ? text : "");
        else
            add_expected(check, out);
        html_row_end(out);
    }
    html_table_end(out);
}

/* What was changed of the workload. */
static void add_overrides(const struct doc_node *root, struct text *out)
{
    const struct doc_node *overrides = report_list(root, "overrides");
    if (!overrides)
        return;
    text_add(out, "<p>Set: ");
    for (const struct doc_node *set = overrides->first_child; set; set = set->next) {
        text_add(out, set == overrides->first_child ? "<code>" : ", <code>");
        html_text(out, set->type == DOC_STRING ? set->text : "?");
        text_add(out, "</code>");
    }
    text_add(out, ".</p>\n");
}

/* Of the machine and the run, what the result says itself. */
static void add_circumstances(const struct doc_node *root, struct text *out)
{
    const struct doc_node *storage = find(root, "storage");
    const char *method = report_string(storage, "method"), *path = report_string(storage, "path");
    const char *system = report_string(storage, "file_system"), *device = report_string(storage, "device");
    const char *start = report_string(root, "start"), *version = report_string(root, "version");
    double data = report_number(storage, "data_set"), looked_at = report_number(storage, "looked_at"),
           cached = report_number(storage, "resident_before") / (isfinite(looked_at) ? looked_at : data);
    char size[48];
    html_element(out, "p", NULL, "%s%s from %s%s%s%s%s; begun %s, rehearse %s.", method ? method : "read",
                 report_flag(storage, "direct") ? ", direct," : "", path ? path : "?", system ? ", " : "",
                 system ? system : "", device ? " on " : "", device ? device : "", start ? start : "?",
                 version ? version : "?");
    if (isfinite(cached))
        html_element(out, "p", NULL, "%s of data, of which %.3g %% lay in the page cache before the run.",
                     unit_format(size, sizeof size, data, UNIT_BYTES, 3), 100 * cached);
}

bool report_feed(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root, *training = find(root, "training");
    const char *workload = report_string(root, "workload");
    struct text *out = &part->out;
    double au = report_number(training, "au"), accelerators = report_number(root, "accelerators");
    (void)err;
    text_format(&part->says, "%.80s", workload ? workload : "workload");
    if (isfinite(au))
        text_format(&part->says, ": AU %.1f %%", 100 * au);
    text_add(&part->says, report_flag(root, "passed") ? ", all checks passed" : ", checks failed");
    html_element(out, "p", NULL, "%s, %g accelerator%s.", workload ? workload : "workload", accelerators,
                 accelerators == 1 ? "" : "s");
    add_circumstances(root, out);
    add_overrides(root, out);
    add_phase(training, "Training", out);
    add_phase(find(root, "evaluation"), "Evaluation", out);
    add_checkpoints(root, out);
    add_checks(root, out);
    if (report_list(find(root, "rules"), "findings"))
        report_rows(out, "Rules", report_list(find(root, "rules"), "findings"));
    if (report_list(root, "hosts"))
        report_rows(out, "Hosts", report_list(root, "hosts"));
    return true;
}

bool report_most(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    (void)err;
    text_format(&part->says, "%g accelerators are kept busy", report_number(root, "accelerators"));
    html_facts(&part->out);
    html_fact(&part->out, "accelerators kept busy", "%g", report_number(root, "accelerators"));
    html_fact_share(&part->out, "AU asked for", report_number(root, "au_target"));
    if (isfinite(report_number(root, "fails_at")))
        html_fact(&part->out, "too many", "%g", report_number(root, "fails_at"));
    html_fact(&part->out, "certain", "%s",
              report_flag(root, "certain") ? "yes" : "no: runs are within the noise");
    html_facts_end(&part->out);
    if (report_list(root, "probes"))
        report_rows(&part->out, "Probes", report_list(root, "probes"));
    return true;
}
