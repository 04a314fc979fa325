#include "evidence/schedules.h"

#include "api/validate/report.h"
#include "core/fields.h"
#include "core/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SCHEDULES 32

static const struct {
    const char *key, *title;
} measures[SCHEDULE_MEASURES] = {
    [SCHEDULE_RATE] = {"rate", "samples/s"},
    [SCHEDULE_RATIO] = {"rate_by_1f1b", "samples/s relative to 1F1B"},
    [SCHEDULE_MEMORY] = {"memory_by_1f1b", "memory relative to 1F1B"},
};

/* Fills in the names of the schedules of the table, each once, after NULL for all of them. */
static int list_schedules(const struct schedule_runs *runs, const char **names)
{
    int count = 1;
    names[0] = NULL;
    for (int i = 0; i < runs->count; i++) {
        int at = 1;
        while (at < count && strcmp(names[at], runs->runs[i].schedule) != 0)
            at++;
        if (at == count && count < MAX_SCHEDULES)
            names[count++] = runs->runs[i].schedule;
    }
    return count;
}

static const char *percent(char *buffer, size_t size, double share)
{
    if (isfinite(share))
        snprintf(buffer, size, "%+.1f %%", 100 * share);
    else
        snprintf(buffer, size, "-");
    return buffer;
}

static void print_runs(const struct schedule_runs *runs, struct text *out)
{
    char errors[SCHEDULE_MEASURES][24], played[24];
    text_format(out, "\n%-8s %-10s %3s %5s %9s %9s %9s %9s %9s\n", "schedule", "model", "p", "m", "measured",
                "simulated", "error", "by 1F1B", "memory");
    for (int i = 0; i < runs->count; i++) {
        const struct schedule_run *run = &runs->runs[i];
        for (int j = 0; j < SCHEDULE_MEASURES; j++)
            percent(errors[j], sizeof errors[j], schedule_run_error(runs, i, (enum schedule_measure)j));
        snprintf(played, sizeof played, "%.4g", run->played);
        if (!isfinite(run->played))
            snprintf(played, sizeof played, "-");
        text_format(out, "%-8.8s %-10.10s %3d %5lld %9.4g %9s %9s %9s %9s\n", run->schedule, run->model,
                    run->stages, (long long)run->microbatches, run->rate, played, errors[SCHEDULE_RATE],
                    errors[SCHEDULE_RATIO], errors[SCHEDULE_MEMORY]);
    }
}

static bool print_scores(const struct schedule_runs *runs, struct text *out, struct error *err)
{
    const char *names[MAX_SCHEDULES];
    int count = list_schedules(runs, names);
    text_format(out, "%d runs in the table\n", runs->count);
    for (int j = 0; j < SCHEDULE_MEASURES; j++) {
        text_format(out, "\n%-28s %5s %9s %9s\n", measures[j].title, "runs", "median", "worst");
        for (int i = 0; i < count; i++) {
            struct schedule_errors errors;
            if (!schedule_runs_score(runs, names[i], (enum schedule_measure)j, &errors, err))
                return false;
            if (errors.count > 0)
                text_format(out, "%-28.28s %5d %7.1f %% %7.1f %%\n", names[i] ? names[i] : "all",
                            errors.count, 100 * errors.median, 100 * errors.worst);
        }
    }
    return true;
}

/* ---- for programs ---- */

static const struct field error_fields[] = {
    FIELD_OUT(struct schedule_errors, "runs", count, FIELD_INT),
    FIELD_OUT(struct schedule_errors, "median_error", median, FIELD_DOUBLE),
    FIELD_OUT(struct schedule_errors, "worst_error", worst, FIELD_DOUBLE),
};

static bool write_scores(const struct schedule_runs *runs, struct json *json, struct error *err)
{
    const char *names[MAX_SCHEDULES];
    int count = list_schedules(runs, names);
    json_open(json, "scores", '[');
    for (int i = 0; i < count * SCHEDULE_MEASURES; i++) {
        struct schedule_errors errors;
        enum schedule_measure measure = (enum schedule_measure)(i % SCHEDULE_MEASURES);
        if (!schedule_runs_score(runs, names[i / SCHEDULE_MEASURES], measure, &errors, err))
            return false;
        json_open_flat(json, NULL, '{');
        json_string(json, "schedule", names[i / SCHEDULE_MEASURES]);
        json_string(json, "measure", measures[measure].key);
        FIELDS_WRITE(&errors, error_fields, json);
        json_close(json);
    }
    json_close(json);
    return true;
}

static const struct field run_fields[] = {
    FIELD_OUT(struct schedule_run, "line", line, FIELD_INT),
    FIELD_OUT(struct schedule_run, "model", model, FIELD_TEXT),
    FIELD_OUT(struct schedule_run, "schedule", schedule, FIELD_TEXT),
    FIELD_OUT(struct schedule_run, "stages", stages, FIELD_INT),
    FIELD_OUT(struct schedule_run, "microbatches", microbatches, FIELD_INT64),
    FIELD_OUT(struct schedule_run, "measured", rate, FIELD_DOUBLE),
    FIELD_OUT(struct schedule_run, "simulated", played, FIELD_DOUBLE),
    FIELD_OUT(struct schedule_run, "memory", peak, FIELD_DOUBLE),
};

static void write_runs(const struct schedule_runs *runs, struct json *json)
{
    json_open(json, "runs", '[');
    for (int i = 0; i < runs->count; i++) {
        const struct schedule_run *run = &runs->runs[i];
        json_open_flat(json, NULL, '{');
        FIELDS_WRITE(run, run_fields, json);
        for (int j = 0; j < SCHEDULE_MEASURES; j++) {
            char key[40];
            snprintf(key, sizeof key, "%s_error", measures[j].key);
            json_number(json, key, schedule_run_error(runs, i, (enum schedule_measure)j));
        }
        json_close(json);
    }
    json_close(json);
}

static bool write_all(const struct schedule_runs *runs, struct json *json, struct error *err)
{
    json_open_document(json, "rehearse-schedule-validation/1");
    bool written = write_scores(runs, json, err);
    write_runs(runs, json);
    json_close(json);
    return written;
}

static void drop(void *runs)
{
    schedule_runs_release(runs);
}

static const struct field row_count_fields[] = {FIELD_OUT(struct schedule_runs, "rows", count, FIELD_INT)};

bool validate_schedules(const struct validate_schedules *given, struct api_report *report, struct error *err)
{
    struct schedule_runs *runs = api_report_keep(report, sizeof *runs, drop, err);
    if (!runs ||
        !(given->table ? schedule_runs_load(runs, given->table, err) : schedule_runs_load_known(runs, err)) ||
        !schedule_runs_play(runs, given->device, given->across, given->software, err) ||
        !write_all(runs, &report->json, err) || !print_scores(runs, &report->text, err))
        return false;
    if (given->rows)
        print_runs(runs, &report->text);
    API_VALUES(&report->base, runs, row_count_fields);
    return true;
}
