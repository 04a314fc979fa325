#include "core/file.h"
#include "core/file_output.h"
#include "core/json.h"
#include "feed/result/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct timeline {
    FILE *out;
    int64_t realtime;
    int accelerator;
    int64_t number; /* of the span */
};

/* Microseconds since 1970, as DFTracer has them; the fraction is ours. */
static void write_span(struct timeline *timeline, const char *category, const char *name, int64_t start,
                       int64_t length, const char *arguments)
{
    int64_t ts = start + timeline->realtime;
    fprintf(timeline->out,
            "{\"id\":%" PRId64 ",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%ld,\"tid\":%d,\"ts\":%" PRId64
            ".%03" PRId64 ",\"dur\":%" PRId64 ".%03" PRId64 ",\"ph\":\"X\",\"args\":{%s}}\n",
            ++timeline->number, name, category, (long)getpid(), timeline->accelerator, ts / 1000, ts % 1000,
            length / 1000, length % 1000, arguments);
}

/* The parts of a step follow each other; those that took no time are left out. */
static void write_step(struct timeline *timeline, const struct result_step *step, int64_t number)
{
    const struct {
        const char *category, *name;
        int64_t length;
    } parts[] = {
        {"dataloader", "fetch", step->load},
        {"device", "copy", step->process - step->load - step->compute},
        {"compute", "step", step->compute},
        {"comm", "barrier", step->barrier},
    };
    char arguments[32];
    int64_t at = step->start;
    snprintf(arguments, sizeof arguments, "\"step\":%" PRId64, number);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].length > 0)
            write_span(timeline, parts[i].category, parts[i].name, at, parts[i].length, arguments);
        at += parts[i].length;
    }
}

static bool write_steps(struct timeline *timeline, const struct result_steps *steps, struct error *err)
{
    struct result_step some[RESULT_STEPS_CHUNK];
    int64_t all = result_steps_count(steps, timeline->accelerator);
    for (int64_t done = 0; done < all; done += RESULT_STEPS_CHUNK) {
        int64_t count = all - done < RESULT_STEPS_CHUNK ? all - done : RESULT_STEPS_CHUNK;
        if (!result_steps_read(steps, timeline->accelerator, done, count, some, err))
            return false;
        for (int64_t i = 0; i < count; i++)
            write_step(timeline, &some[i], done + i + 1);
    }
    return true;
}

static void write_checkpoints(struct timeline *timeline, const struct metrics *metrics)
{
    for (size_t i = 0; i < metrics->checkpoint_count; i++) {
        const struct metrics_checkpoint *checkpoint = &metrics->checkpoints[i];
        char arguments[32];
        if (checkpoint->rank != timeline->accelerator)
            continue;
        snprintf(arguments, sizeof arguments, "\"size\":%" PRId64, checkpoint->bytes);
        write_span(timeline, "checkpoint", checkpoint->kind == METRICS_SAVE ? "save" : "load",
                   checkpoint->start, checkpoint->end - checkpoint->start, arguments);
    }
}

static void write_phase(struct timeline *timeline, const char *name, int64_t start, int64_t end)
{
    write_span(timeline, "phase", name, start, end - start, "\"source\":\"feed\"");
}

/* INIT is what comes before the first block of steps or checkpoint. A restore belongs to no phase. */
static void write_phases(struct timeline *timeline, const struct metrics *metrics, int64_t opened)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < metrics->block_count; i++) {
        const struct metrics_block *block = &metrics->blocks[i];
        if (block->accelerator != timeline->accelerator)
            continue;
        first = block->start < first ? block->start : first;
        write_phase(timeline, block->phase == METRICS_EVAL ? "EVAL" : "TRAINING", block->start, block->end);
    }
    for (size_t i = 0; i < metrics->checkpoint_count; i++) {
        const struct metrics_checkpoint *checkpoint = &metrics->checkpoints[i];
        if (checkpoint->rank != timeline->accelerator)
            continue;
        first = checkpoint->start < first ? checkpoint->start : first;
        if (checkpoint->kind == METRICS_SAVE)
            write_phase(timeline, "CHECKPOINT", checkpoint->start, checkpoint->end);
    }
    if (first < INT64_MAX && first > opened)
        write_phase(timeline, "INIT", opened, first);
}

static bool save_one(const struct session *session, const char *folder, int accelerator, struct error *err)
{
    struct file_output file;
    struct timeline timeline = {.realtime = session->run.realtime, .accelerator = accelerator};
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%d_timeline.pfw", folder, accelerator) >= (int)sizeof path)
        return error_set(err, ERROR_USAGE, "%s: the name is too long", folder);
    if (!file_output_open(&file, path, err))
        return false;
    timeline.out = file.out;
    fputs("[\n", file.out);
    bool done = write_steps(&timeline, &session->each, err);
    write_checkpoints(&timeline, &session->run.metrics);
    if (accelerator == 0)
        write_phases(&timeline, &session->run.metrics, session->opened);
    return file_output_close(&file, done, err);
}

/* Writes folder/R_timeline.pfw for each accelerator R of this rank: spans in DFTracer's format, which
 * Perfetto and `rehearse trace import` read. Accelerator 0's file has the run's phases. */
static bool result_timeline(const struct session *session, const char *folder, struct error *err)
{
    const struct metrics *metrics = &session->run.metrics;
    for (int a = metrics->first; a < metrics->first + metrics->count; a++)
        if (!save_one(session, folder, a, err))
            return false;
    return true;
}

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

void result_configuration(const struct workload *workload, struct text *out)
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

/* The seed is no change: the rules ask for another one in each run (6.6), and mlpstorage would refuse it. */
static bool is_change(const char *override)
{
    return strncmp(override, "train.seed=", strlen("train.seed=")) != 0;
}

/* Writes texts as JSON, which is YAML. */
static void write_overrides(const struct session *session, struct text *out)
{
    int count = 0;
    for (int i = 0; i < session->options.override_count; i++) {
        struct text whole = {0};
        struct json json = {.out = out};
        if (!is_change(workload_override_plain(session->options.overrides[i])))
            continue;
        count++;
        text_format(&whole, "++workload.%s", workload_override_plain(session->options.overrides[i]));
        text_add(out, "- ");
        json_string(&json, NULL, text_within(&whole, out));
        text_add(out, "\n");
        text_release(&whole);
    }
    if (count == 0)
        text_add(out, "[]\n");
}

static void write_hydra(const struct session *session, struct text *out)
{
    struct json json = {.out = out};
    text_add(out, "hydra:\n  job:\n    name: rehearse feed\n  runtime:\n    version: ");
    json_string(&json, NULL, session->options.version);
    text_add(out, "\n");
}

/* The arguments that v3.0's checker looks at (mlpstorage_py/submission_checker/checks/training_checks.py). */
static void write_arguments(const struct session *session, const char *folder, struct json *json)
{
    json_open(json, "args", '{');
    json_string(json, "data_dir", session->storage ? storage_options(session->storage)->root : NULL);
    json_string(json, "results_dir", folder);
    json_integer(json, "num_accelerators", session->run.whole.options.accelerators);
    json_open(json, "hosts", '[');
    for (int i = 0; i < session->host_count; i++)
        json_string(json, NULL, session->hosts[i].name);
    json_close(json);
    json_close(json);
}

/* A key that is changed twice has its last value. */
static void write_changes(const struct session *session, struct json *json)
{
    const struct session_options *options = &session->options;
    json_open(json, "override_parameters", '{');
    for (int i = 0; i < options->override_count; i++) {
        const char *own = workload_override_plain(options->overrides[i]);
        size_t length = strcspn(own, "=");
        bool last = is_change(own);
        for (int j = i + 1; j < options->override_count; j++)
            last = last && strncmp(workload_override_plain(options->overrides[j]), own, length + 1) != 0;
        char *key = last ? strndup(own, length) : NULL;
        if (key)
            json_string(json, key, own + length + (own[length] == '='));
        json->out->failed = json->out->failed || (last && !key);
        free(key);
    }
    json_close(json);
}

static void write_metadata(const struct session *session, const char *folder, const struct workload *workload,
                           struct text *out)
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
    json_string(&json, "verification", "closed");
    write_arguments(session, folder, &json);
    workload_write_json(workload, &json, "parameters");
    write_changes(session, &json);
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
    result_configuration(&workload, &configuration);
    write_overrides(session, &overrides);
    write_hydra(session, &hydra);
    write_metadata(session, folder, &workload, &metadata);
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
