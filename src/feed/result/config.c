#include "feed/result/config.h"

#include "core/file.h"
#include "core/json.h"
#include "feed/result/dlio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "dlio_config"

/* Below "workload:", as Hydra has it. */
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

/* A text of JSON is one of YAML. */
static void write_overrides(const struct result_config *facts, struct text *out)
{
    if (facts->override_count == 0)
        text_add(out, "[]\n");
    for (int i = 0; i < facts->override_count; i++) {
        struct text whole = {0};
        struct json json = {.out = out};
        text_format(&whole, "++workload.%s", workload_override_plain(facts->overrides[i]));
        text_add(out, "- ");
        json_string(&json, NULL, text_within(&whole, out));
        text_add(out, "\n");
        text_release(&whole);
    }
}

static void write_hydra(const struct result_config *facts, struct text *out)
{
    struct json json = {.out = out};
    text_add(out, "hydra:\n  job:\n    name: rehearse feed\n  runtime:\n    version: ");
    json_string(&json, NULL, facts->version ? facts->version : "");
    text_add(out, "\n");
}

static void write_metadata(const struct result_config *facts, struct text *out)
{
    const struct workload *workload = facts->workload;
    struct json json = {.out = out};
    char text[40];
    json_open(&json, NULL, '{');
    json_string(&json, "benchmark_type", workload->workflow.train ? "training" : "checkpointing");
    json_string(&json, "program", "rehearse feed");
    json_string(&json, "version", facts->version);
    json_string(&json, "model", workload->model.name);
    json_string(&json, "command", workload->workflow.train ? "run" : NULL);
    json_integer(&json, "num_processes", facts->accelerators);
    result_time(text, facts->start, "");
    json_string(&json, "run_datetime", text);
    json_number(&json, "runtime", 1e-9 * (double)(facts->end - facts->start));
    workload_write_json(workload, &json, "parameters");
    json_open(&json, "override_parameters", '[');
    for (int i = 0; i < facts->override_count; i++)
        json_string(&json, NULL, workload_override_plain(facts->overrides[i]));
    json_close(&json);
    json_close(&json);
}

static bool make_folder(const char *folder, struct error *err)
{
    char *path;
    if (asprintf(&path, "%s/" FOLDER, folder) < 0)
        return error_memory(err);
    bool made = file_make_directory(path, err);
    free(path);
    return made;
}

bool result_config_save(const char *folder, const struct result_config *facts, struct error *err)
{
    struct text configuration = {0}, overrides = {0}, hydra = {0}, metadata = {0};
    if (!make_folder(folder, err))
        return false;
    write_configuration(facts->workload, &configuration);
    write_overrides(facts, &overrides);
    write_hydra(facts, &hydra);
    write_metadata(facts, &metadata);
    bool saved = result_save(folder, FOLDER "/config.yaml", &configuration, err) &&
                 result_save(folder, FOLDER "/overrides.yaml", &overrides, err) &&
                 result_save(folder, FOLDER "/hydra.yaml", &hydra, err) &&
                 result_save(folder, "rehearse_metadata.json", &metadata, err);
    text_release(&configuration);
    text_release(&overrides);
    text_release(&hydra);
    text_release(&metadata);
    return saved;
}
