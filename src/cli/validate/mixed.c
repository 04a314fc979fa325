#include "cli/validate/mixed.h"

#include "cli/output.h"
#include "core/json.h"
#include "evidence/mixed_fleet.h"

#include <stdio.h>
#include <string.h>

struct report {
    const struct validate_mixed *given;
    struct mixed_table table;
};

/* ---- for people ---- */

static void print_score(const char *name, const struct mixed_score *score, struct text *out)
{
    if (score->rows > 0)
        text_format(out, "%-44s %5d %7.1f %% %7.1f %% %7.1f %% %+7.1f %% %8.3f\n", name, score->rows,
                    100 * score->mean, 100 * score->median, 100 * score->p90, 100 * score->bias, score->rank);
}

static bool print_cluster(const struct mixed_table *table, const char *cluster, struct text *out,
                          struct error *err)
{
    struct mixed_score all, sure, planner, memory;
    char name[128];
    if (!mixed_table_score(table, cluster, true, &all, err) ||
        !mixed_table_score(table, cluster, false, &sure, err) ||
        !mixed_table_planner(table, cluster, false, &planner, err) ||
        !mixed_table_memory(table, cluster, &memory, err))
        return false;
    print_score(cluster, &all, out);
    snprintf(name, sizeof name, "  without the %d marked", all.rows - sure.rows);
    if (sure.rows < all.rows)
        print_score(name, &sure, out);
    print_score(sure.rows < all.rows ? "  these, as 'plan -c' counts" : "  as 'plan -c' counts", &planner,
                out);
    print_score("  memory", &memory, out);
    return true;
}

static void print_row(const struct mixed_row *row, struct text *out)
{
    const struct mixed_time *time = &row->predicted;
    char measured[32] = "-", error[32] = "-";
    if (row->measured > 0.0) {
        snprintf(measured, sizeof measured, "%.3f", row->measured);
        snprintf(error, sizeof error, "%+.1f %%", 100 * row->error);
    }
    text_format(out, "%4d  %-44.44s %9s %9.3f %9s  %8.3f %8.3f %8.3f %8.3f %8.3f %7.1f%s%s\n", row->line,
                row->label, measured, time->seconds, error, time->compute, time->send, time->bubble,
                time->gradients + time->tied, time->optimizer + time->other, row->predicted_memory / 0x1p30,
                row->mark ? "  " : "", row->mark ? row->mark : "");
}

static void print_rows(const struct mixed_table *table, struct text *out)
{
    text_format(out, "\n%4s  %-44s %9s %9s %9s  %8s %8s %8s %8s %8s %7s  %s\n", "line", "plan", "measured",
                "predicted", "error", "compute", "send", "bubble", "reduce", "rest", "GiB", "mark");
    for (int i = 0; i < table->count; i++)
        if (!table->rows[i].reason)
            print_row(&table->rows[i], out);
    text_add(out, "\nnot modelled:\n");
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].reason)
            text_format(out, "  line %d (%s): %s\n", table->rows[i].line, table->rows[i].label,
                        table->rows[i].reason);
}

static bool print_report(const struct report *report, struct text *out, struct error *err)
{
    const struct mixed_table *table = &report->table;
    struct mixed_score all;
    if (!mixed_table_score(table, NULL, true, &all, err))
        return false;
    text_format(out, "%d plans in the table, %d modelled and measured\n\n%-44s %5s %9s %9s %9s %9s %8s\n",
                table->count, all.rows, "cluster", "plans", "mean", "median", "p90", "bias", "rank");
    for (int i = 0; i < table->setup.cluster_count; i++)
        if (!print_cluster(table, table->setup.clusters[i].name, out, err))
            return false;
    if (report->given->rows)
        print_rows(table, out);
    return true;
}

/* ---- for programs ---- */

static void write_score(const char *key, const struct mixed_score *score, struct json *json)
{
    json_open_flat(json, key, '{');
    json_integer(json, "plans", score->rows);
    json_number(json, "mean_error", score->mean);
    json_number(json, "median_error", score->median);
    json_number(json, "p90_error", score->p90);
    json_number(json, "bias", score->bias);
    json_number(json, "rank_correlation", score->rank);
    json_close(json);
}

static bool write_clusters(const struct mixed_table *table, struct json *json, struct error *err)
{
    for (int i = 0; i < table->setup.cluster_count; i++) {
        const char *name = table->setup.clusters[i].name;
        struct mixed_score all, sure, planner, memory;
        if (!mixed_table_score(table, name, true, &all, err) ||
            !mixed_table_score(table, name, false, &sure, err) ||
            !mixed_table_planner(table, name, false, &planner, err) ||
            !mixed_table_memory(table, name, &memory, err))
            return false;
        json_open(json, NULL, '{');
        json_string(json, "cluster", name);
        write_score("all", &all, json);
        write_score("unmarked", &sure, json);
        write_score("unmarked_by_planner", &planner, json);
        write_score("memory", &memory, json);
        json_close(json);
    }
    return true;
}

static void write_row(const struct mixed_row *row, struct json *json)
{
    json_open_flat(json, NULL, '{');
    json_integer(json, "line", row->line);
    json_string(json, "cluster", row->cluster);
    json_string(json, "plan", row->label);
    if (row->reason) {
        json_string(json, "reason", row->reason);
    } else {
        if (row->measured > 0.0) {
            json_number(json, "measured", row->measured);
            json_number(json, "error", row->error);
        }
        json_number(json, "predicted", row->predicted.seconds);
        json_number(json, "planner", row->planner);
        json_number(json, "compute", row->predicted.compute);
        json_number(json, "send", row->predicted.send);
        json_number(json, "bubble", row->predicted.bubble);
        json_number(json, "gradients", row->predicted.gradients);
        json_number(json, "tied", row->predicted.tied);
        json_number(json, "optimizer", row->predicted.optimizer);
        json_number(json, "other", row->predicted.other);
        json_integer(json, "slowest_pipeline", row->predicted.pipeline);
        json_integer(json, "slowest_stage", row->predicted.stage);
        json_number(json, "memory", row->predicted_memory);
        if (row->measured_memory > 0.0)
            json_number(json, "measured_memory", row->measured_memory);
        if (row->mark)
            json_string(json, "mark", row->mark);
    }
    json_close(json);
}

static bool write_report(const struct report *report, struct text *out, struct error *err)
{
    const struct mixed_table *table = &report->table;
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-mixed-validation/1");
    json_integer(&json, "rows", table->count);
    json_open(&json, "clusters", '[');
    if (!write_clusters(table, &json, err))
        return false;
    json_close(&json);
    json_open(&json, "results", '[');
    for (int i = 0; i < table->count; i++)
        write_row(&table->rows[i], &json);
    json_close(&json);
    json_close(&json);
    return true;
}

/* ---- the command ---- */

bool validate_mixed(const struct validate_mixed *given, struct error *err)
{
    struct report report = {.given = given};
    struct text text = {0};
    if (!given->layers || !given->setup)
        return error_set(err, ERROR_USAGE,
                         "--layers and --setup go together: plans on mixed devices need both");
    if (!mixed_table_load(&report.table, given->plans, given->layers, given->setup, err))
        return false;
    bool done = fleet_score_measured(&report.table, err) &&
                (given->json ? write_report : print_report)(&report, &text, err) &&
                output_text(given->output, &text, err);
    text_release(&text);
    mixed_table_release(&report.table);
    return done;
}
