#include "feed/result/result.h"

#include "core/file.h"
#include "core/file_output.h"
#include "core/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FOLDER "dlio_config"

void result_time(char text[40], int64_t realtime, const char *zone)
{
    time_t seconds = (time_t)(realtime / 1000000000);
    struct tm parts;
    char day[24] = "";
    if (gmtime_r(&seconds, &parts))
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, 40, "%s.%06d%s", day, (int)(realtime % 1000000000 / 1000), zone);
}

/* Writes a text atomically as folder/name. */
static bool save_text(const char *folder, const char *name, const struct text *text, struct error *err)
{
    char *path = NULL;
    bool ok = !text->failed && asprintf(&path, "%s/%s", folder, name) >= 0;
    ok = ok ? file_write(path, text->data, text->length, err) : error_memory(err);
    free(path);
    return ok;
}

/* ---- the files that MLPerf Storage's verifier reads beside summary.json ---- */

/* Writes the configuration below "workload:", as Hydra does. */
static void write_configuration(const struct workload *workload, struct text *out)
{
    struct text own = {0};
    workload_write_yaml(workload, &own);
    text_add(out, "workload:\n");
    for (const char *line = own.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        text_format(out, "  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    out->failed = out->failed || own.failed;
    text_release(&own);
}

/* Writes texts as JSON, which is YAML. */
static void write_overrides(const struct session *session, struct text *out)
{
    if (session->options.override_count == 0)
        text_add(out, "[]\n");
    for (int i = 0; i < session->options.override_count; i++) {
        struct text whole = {0};
        struct json json = {.out = out};
        text_format(&whole, "++workload.%s", workload_override_plain(session->options.overrides[i]));
        text_add(out, "- ");
        json_string(&json, NULL, text_within(&whole, out));
        text_add(out, "\n");
        text_release(&whole);
    }
}

static void write_hydra(const struct session *session, struct text *out)
{
    struct json json = {.out = out};
    text_add(out, "hydra:\n  job:\n    name: rehearse feed\n  runtime:\n    version: ");
    json_string(&json, NULL, session->options.version);
    text_add(out, "\n");
}

static void write_metadata(const struct session *session, const struct workload *workload, struct text *out)
{
    const struct run_result *run = &session->run;
    struct json json = {.out = out};
    char text[40];
    json_open(&json, NULL, '{');
    json_string(&json, "benchmark_type", workload->workflow.train ? "training" : "checkpointing");
    json_string(&json, "program", "rehearse feed");
    json_string(&json, "version", session->options.version);
    json_string(&json, "model", workload->model.name);
    json_string(&json, "command", workload->workflow.train ? "run" : NULL);
    json_integer(&json, "num_processes", run->whole.options.accelerators);
    result_time(text, run->start + run->realtime, "");
    json_string(&json, "run_datetime", text);
    json_number(&json, "runtime", 1e-9 * (double)(run->end - run->start));
    workload_write_json(workload, &json, "parameters");
    json_open(&json, "override_parameters", '[');
    for (int i = 0; i < session->options.override_count; i++)
        json_string(&json, NULL, workload_override_plain(session->options.overrides[i]));
    json_close(&json);
    json_close(&json);
}

static bool save_configuration(const struct session *session, const char *folder, struct error *err)
{
    struct text configuration = {0}, overrides = {0}, hydra = {0}, metadata = {0};
    struct workload workload = *session->options.run.workload;
    char *path;
    if (session->found)
        workload.dataset.num_files_train = session->layout.files_train;
    if (asprintf(&path, "%s/" FOLDER, folder) < 0)
        return error_memory(err);
    write_configuration(&workload, &configuration);
    write_overrides(session, &overrides);
    write_hydra(session, &hydra);
    write_metadata(session, &workload, &metadata);
    bool saved = file_make_directory(path, err) &&
                 save_text(folder, FOLDER "/config.yaml", &configuration, err) &&
                 save_text(folder, FOLDER "/overrides.yaml", &overrides, err) &&
                 save_text(folder, FOLDER "/hydra.yaml", &hydra, err) &&
                 save_text(folder, "rehearse_metadata.json", &metadata, err);
    text_release(&configuration);
    text_release(&overrides);
    text_release(&hydra);
    text_release(&metadata);
    free(path);
    return saved;
}

/* ---- all files ---- */

static bool save_document(const struct session *session, const char *folder, const char *name,
                          bool (*write)(const struct session *session, struct json *json, struct error *err),
                          struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    bool saved = write(session, &json, err) && save_text(folder, name, &text, err);
    text_release(&text);
    return saved;
}

static bool save_accelerator(const struct session *session, const char *folder, int accelerator,
                             struct error *err)
{
    struct text epochs = {0}, output = {0};
    char name[48];
    snprintf(name, sizeof name, "%d_per_epoch_stats.json", accelerator);
    bool ok = result_dlio_epochs(session, accelerator, &epochs, err) && save_text(folder, name, &epochs, err);
    snprintf(name, sizeof name, "%d_output.json", accelerator);
    if (ok && session->options.run.step.each)
        ok = result_dlio_output(session, accelerator, &output, err) && save_text(folder, name, &output, err);
    text_release(&epochs);
    text_release(&output);
    return ok;
}

bool result_save(const struct session *session, const char *folder, struct error *err)
{
    const struct metrics *metrics = &session->run.metrics;
    struct comm *comm = session->options.run.comm;
    bool done = true;
    for (int a = metrics->first; a < metrics->first + metrics->count && done; a++)
        done = save_accelerator(session, folder, a, err);
    if (comm_rank(comm) == 0)
        done = done && save_document(session, folder, "summary.json", result_dlio_summary, err) &&
               save_configuration(session, folder, err);
    done = done && (!session->options.timeline || result_timeline(session, folder, err));
    if (!comm_agree(comm, done, "the results", err))
        return false;
    /* the last: where it is, all are */
    done = comm_rank(comm) > 0 || save_document(session, folder, "result.json", result_json, err);
    return comm_agree(comm, done, "the results", err);
}
