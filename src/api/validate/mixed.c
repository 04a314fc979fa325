#include "api/validate/report.h"

#include "core/fields.h"
#include "evidence/mixed_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The scores of a cluster. */
enum { SCORE_ALL, SCORE_UNMARKED, SCORE_PLANNER, SCORE_MEMORY, SCORES };

static const struct {
    const char *key;
    enum mixed_quantity quantity;
    bool doubtful;
} kinds[SCORES] = {
    [SCORE_ALL] = {"all", MIXED_SECONDS, true},
    [SCORE_UNMARKED] = {"unmarked", MIXED_SECONDS, false},
    [SCORE_PLANNER] = {"unmarked_by_planner", MIXED_PLANNER, false},
    [SCORE_MEMORY] = {"memory", MIXED_MEMORY, true},
};

static bool score_cluster(const struct mixed_table *table, const char *cluster, struct mixed_score *scores,
                          struct error *err)
{
    for (int i = 0; i < SCORES; i++)
        if (!mixed_table_score(table, cluster, kinds[i].quantity, kinds[i].doubtful, &scores[i], err))
            return false;
    return true;
}

/* ---- for people ---- */

static void print_score(const char *name, const struct mixed_score *score, struct text *out)
{
    const struct error_score *errors = &score->errors;
    if (errors->rows > 0)
        text_format(out, "%-44s %5d %7.1f %% %7.1f %% %7.1f %% %+7.1f %% %8.3f\n", name, errors->rows,
                    100 * errors->mean, 100 * errors->median, 100 * errors->p90, 100 * errors->bias,
                    score->rank);
}

static bool print_cluster(const struct mixed_table *table, const char *cluster, struct text *out,
                          struct error *err)
{
    struct mixed_score scores[SCORES];
    char name[128];
    if (!score_cluster(table, cluster, scores, err))
        return false;
    int marked = scores[SCORE_ALL].errors.rows - scores[SCORE_UNMARKED].errors.rows;
    print_score(cluster, &scores[SCORE_ALL], out);
    snprintf(name, sizeof name, "  without the %d marked", marked);
    if (marked > 0)
        print_score(name, &scores[SCORE_UNMARKED], out);
    print_score(marked > 0 ? "  these, as 'plan -c' counts" : "  as 'plan -c' counts", &scores[SCORE_PLANNER],
                out);
    print_score("  memory", &scores[SCORE_MEMORY], out);
    return true;
}

/* The parts of the time and the marks' text are printed only in a wide table. */
static void print_row(const struct mixed_row *row, bool wide, struct text *out)
{
    const struct mixed_time *time = &row->predicted;
    char measured[32] = "-", error[32] = "-";
    if (row->measured > 0.0) {
        snprintf(measured, sizeof measured, "%.3f", row->measured);
        snprintf(error, sizeof error, "%+.1f %%", 100 * row->error);
    }
    text_format(out, "%4d  %-44.44s %9s %9.3f %9s", row->line, row->label, measured, time->seconds, error);
    if (wide)
        text_format(out, "  %8.3f %8.3f %8.3f %8.3f %8.3f", time->compute, time->send, time->bubble,
                    time->gradients + time->tied, time->optimizer + time->other);
    text_format(out, " %7.1f%s%s\n", row->predicted_memory / 0x1p30, row->mark ? "  " : "",
                !row->mark ? ""
                : wide     ? row->mark
                           : "*");
}

static void print_rows(const struct mixed_table *table, bool wide, struct text *out)
{
    text_format(out, "\n%4s  %-44s %9s %9s %9s", "line", "plan", "measured", "predicted", "error");
    if (wide)
        text_format(out, "  %8s %8s %8s %8s %8s", "compute", "send", "bubble", "reduce", "rest");
    text_format(out, " %7s  mark\n", "GiB");
    for (int i = 0; i < table->count; i++)
        if (!table->rows[i].reason)
            print_row(&table->rows[i], wide, out);
    text_add(out, "\nnot modelled:\n");
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].reason)
            text_format(out, "  line %d (%s): %s\n", table->rows[i].line, table->rows[i].label,
                        table->rows[i].reason);
}

static bool print_report(const struct mixed_table *table, const struct validate_mixed *given,
                         struct text *out, struct error *err)
{
    struct mixed_score all;
    if (!mixed_table_score(table, NULL, MIXED_SECONDS, true, &all, err))
        return false;
    text_format(out, "%d plans in the table, %d modelled and measured\n\n%-44s %5s %9s %9s %9s %9s %8s\n",
                table->count, all.errors.rows, "cluster", "plans", "mean", "median", "p90", "bias", "rank");
    for (int i = 0; i < table->setup.cluster_count; i++)
        if (!print_cluster(table, table->setup.clusters[i].name, out, err))
            return false;
    if (given->rows)
        print_rows(table, given->wide, out);
    return true;
}

/* ---- for programs ---- */

static bool write_cluster(const struct mixed_table *table, const char *cluster, struct json *json,
                          struct error *err)
{
    struct mixed_score scores[SCORES];
    if (!score_cluster(table, cluster, scores, err))
        return false;
    json_open(json, NULL, '{');
    json_string(json, "cluster", cluster);
    for (int i = 0; i < SCORES; i++) {
        json_open_flat(json, kinds[i].key, '{');
        json_integer(json, "plans", scores[i].errors.rows);
        error_score_write(&scores[i].errors, json);
        json_number(json, "bias", scores[i].errors.bias);
        json_number(json, "rank_correlation", scores[i].rank);
        json_close(json);
    }
    json_close(json);
    return true;
}

#define OUT(key, member, type)  FIELD_OUT(struct mixed_row, key, member, type)
#define PREDICTED(member, type) OUT(#member, predicted.member, type)

static const struct field plan_fields[] = {
    OUT("line", line, FIELD_INT),
    OUT("cluster", cluster, FIELD_TEXT),
    OUT("plan", label, FIELD_TEXT),
};

static const struct field predicted_fields[] = {
    OUT("predicted", predicted.seconds, FIELD_DOUBLE),
    OUT("planner", planner, FIELD_DOUBLE),
    PREDICTED(compute, FIELD_DOUBLE),
    PREDICTED(send, FIELD_DOUBLE),
    PREDICTED(bubble, FIELD_DOUBLE),
    PREDICTED(gradients, FIELD_DOUBLE),
    PREDICTED(tied, FIELD_DOUBLE),
    PREDICTED(optimizer, FIELD_DOUBLE),
    PREDICTED(other, FIELD_DOUBLE),
    OUT("slowest_pipeline", predicted.pipeline, FIELD_INT),
    OUT("slowest_stage", predicted.stage, FIELD_INT),
    OUT("memory", predicted_memory, FIELD_DOUBLE),
};

static void write_row(const struct mixed_row *row, struct json *json)
{
    json_open_flat(json, NULL, '{');
    fields_write(row, plan_fields, sizeof plan_fields / sizeof *plan_fields, json);
    if (row->reason) {
        json_string(json, "reason", row->reason);
    } else {
        if (row->measured > 0.0) {
            json_number(json, "measured", row->measured);
            json_number(json, "error", row->error);
        }
        fields_write(row, predicted_fields, sizeof predicted_fields / sizeof *predicted_fields, json);
        if (row->measured_memory > 0.0)
            json_number(json, "measured_memory", row->measured_memory);
        if (row->mark)
            json_string(json, "mark", row->mark);
    }
    json_close(json);
}

static bool write_report(const struct mixed_table *table, struct json *json, struct error *err)
{
    json_open_document(json, "rehearse-mixed-validation/1");
    json_integer(json, "rows", table->count);
    json_open(json, "clusters", '[');
    for (int i = 0; i < table->setup.cluster_count; i++)
        if (!write_cluster(table, table->setup.clusters[i].name, json, err))
            return false;
    json_close(json);
    json_open(json, "results", '[');
    for (int i = 0; i < table->count; i++)
        write_row(&table->rows[i], json);
    json_close(json);
    json_close(json);
    return true;
}

/* ---- for callers ---- */

static void add_values(const struct mixed_table *table, rh_handle *handle)
{
    const struct mixed_row *rows = table->rows;
    int count = table->count;
    api_add_count(handle, "rows", count);
    API_COLUMN(handle, "plans.line", 'i', rows, count, line);
    API_COLUMN(handle, "plans.cluster", 's', rows, count, cluster);
    API_COLUMN(handle, "plans.plan", 's', rows, count, label);
    API_COLUMN(handle, "plans.reason", 's', rows, count, reason);
    API_COLUMN(handle, "plans.mark", 's', rows, count, mark);
    API_COLUMN(handle, "plans.measured", 'd', rows, count, measured);
    API_COLUMN(handle, "plans.predicted", 'd', rows, count, predicted.seconds);
    API_COLUMN(handle, "plans.planner", 'd', rows, count, planner);
    API_COLUMN(handle, "plans.error", 'd', rows, count, error);
    API_COLUMN(handle, "plans.memory", 'd', rows, count, predicted_memory);
    API_COLUMN(handle, "plans.measured_memory", 'd', rows, count, measured_memory);
}

static void drop(void *table)
{
    mixed_table_release(table);
    free(table);
}

bool validate_mixed(const struct validate_mixed *given, struct api_report *report, struct error *err)
{
    if (!given->layers || !given->setup)
        return error_set(err, ERROR_USAGE,
                         "--layers and --setup go together: plans on mixed devices need both");
    struct mixed_table *table = api_report_keep(report, sizeof *table, drop, err);
    if (!table || !mixed_table_load(table, given->plans, given->layers, given->setup, err) ||
        !fleet_score_measured(table, err) || !write_report(table, &report->json, err) ||
        !print_report(table, given, &report->text, err))
        return false;
    add_values(table, &report->base);
    return true;
}
