/* What a submission has beside its runs. All of it follows from the runs and is written anew each time, but for
 * the system's description, which belongs to its owner once it is there. */
#include "feed/submit/submit.h"

#include "core/file.h"
#include "core/file_output.h"
#include "feed/result/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

/* DLIO's samples/s of one or two steps are none. */
static double known(double figure)
{
    return figure > 0 ? figure : (double)NAN;
}

double submit_mean(const struct submission *submission)
{
    double sum = 0;
    for (int i = 1; i < submission->count; i++)
        sum += known(
            submit_number(&submission->runs[i].summary, "metric.train_throughput_mean_samples_per_second"));
    return submission->count == SUBMIT_RUNS ? sum / RULES_RUNS : (double)NAN;
}

/* Writes a file, `what` (NULL: memory was out) below the folder of a part, and releases its text. */
static bool save(const struct submission *submission, enum submit_part part, const char *what,
                 struct text *text, struct error *err)
{
    const char *path;
    bool done = (what || error_memory(err)) &&
                submit_path(submission->place, part, what, submission->arena, &path, err) &&
                file_make_folders_of(path, err) && file_write_exact(path, text, err);
    text_release(text);
    return done;
}

/* As `mlpstorage reports reportgen` lists runs, and the mean, rounded to two decimals (6.4). */
static void make_results(const struct submission *submission, struct text *text)
{
    const struct submit_place *place = submission->place;
    const struct submit_run *runs = submission->runs;
    static const char *const metrics[] = {"train_au_mean_percentage",
                                          "train_throughput_mean_samples_per_second",
                                          "train_io_mean_MB_per_second"};
    struct json json = {.out = text};
    double mean = submit_mean(submission);
    json_open(&json, NULL, '{');
    json_string(&json, "workload", place->workload);
    json_integer(&json, "num_accelerators", place->accelerators);
    json_number(&json, "samples_per_second", round(mean * 100) / 100);
    json_open(&json, "runs", '[');
    for (int i = 0; i < submission->count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "run_id", runs[i].name);
        json_bool(&json, "warm_up", i == 0);
        json_string(&json, "benchmark_type", "training");
        json_string(&json, "command", "run");
        json_string(&json, "model", place->model);
        json_open(&json, "metrics", '{');
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
            char key[80];
            snprintf(key, sizeof key, "metric.%s", metrics[m]);
            json_number(&json, metrics[m], known(submit_number(&runs[i].summary, key)));
        }
        json_close(&json);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static bool write_results(const struct submission *submission, struct error *err)
{
    struct text text = {0};
    make_results(submission, &text);
    return save(submission, SUBMIT_PHASES, "run/results.json", &text, err);
}

/* Writes the first line that differs. */
static void differ(const char *found, const char *made, char fault[320])
{
    const char *one = found, *other = made;
    int line = 1;
    for (size_t i = 0; found[i] && found[i] == made[i]; i++)
        if (found[i] == '\n') {
            line++;
            one = found + i + 1;
            other = made + i + 1;
        }
    one += strspn(one, " ");
    other += strspn(other, " ");
    snprintf(fault, 320, "results.json:%d: '%.*s', the runs give '%.*s'", line,
             (int)fmin((double)strcspn(one, "\n"), 80), one, (int)fmin((double)strcspn(other, "\n"), 80),
             other);
}

bool submit_results_fault(const struct submission *submission, char fault[320], struct error *err)
{
    const char *path;
    struct text made = {0};
    char *found = NULL;
    size_t length;
    make_results(submission, &made);
    *fault = '\0';
    bool done =
        (!made.failed || error_memory(err)) &&
        submit_path(submission->place, SUBMIT_PHASES, "run/results.json", submission->arena, &path, err);
    if (done && !file_read(path, DOC_MAX_BYTES, &found, &length, err)) {
        done = !error_is_memory(err);
        snprintf(fault, 320, "%.300s", err->text);
    } else if (done && (length != made.length || memcmp(found, made.data, length) != 0)) {
        differ(found, made.data, fault);
    }
    free(found);
    text_release(&made);
    return done;
}

/* What the data are made for and from: a leaf of the phase, named after the first run, which it precedes. */
static void write_sizes(const struct submit_place *place, const struct submit_run *first, const char *phase,
                        struct text *text)
{
    struct json json = {.out = text};
    const struct workload_dataset *data = &first->workload.dataset;
    const char *accelerator = strrchr(place->workload, '_');
    double files = submit_number(&first->summary, "num_files_train");
    json_open(&json, NULL, '{');
    json_string(&json, "benchmark_type", "training");
    json_string(&json, "command", phase);
    json_string(&json, "model", place->model);
    json_open(&json, "args", '{');
    json_string(&json, "model", place->model);
    json_string(&json, "accelerator_type", accelerator ? accelerator + 1 : "");
    json_integer(&json, "max_accelerators", place->accelerators);
    json_number(&json, "client_host_memory_in_gb", submit_number(&first->summary, "host_memory_GB"));
    json_string(&json, "data_dir", submit_text(&first->result, "storage.path"));
    json_string(&json, "results_dir", place->out);
    json_close(&json);
    json_open(&json, "parameters", '{');
    json_open(&json, "dataset", '{');
    json_number(&json, "num_files_train", files);
    json_integer(&json, "num_subfolders_train", data->num_subfolders_train);
    json_integer(&json, "num_samples_per_file", data->num_samples_per_file);
    json_number(&json, "record_length_bytes", data->record_length_bytes);
    json_number(&json, "total_disk_bytes",
                files * (double)data->num_samples_per_file * data->record_length_bytes);
    json_close(&json);
    json_close(&json);
    json_close(&json);
}

static bool write_datasize(const struct submission *submission, struct error *err)
{
    const struct submit_run *first = &submission->runs[0];
    struct text sizes = {0};
    if (submission->place->edition == RULES_V2)
        return true;
    write_sizes(submission->place, first, "datasize", &sizes);
    return save(submission, SUBMIT_PHASES,
                arena_format(submission->arena, "datasize/%s/datasize_metadata.json", first->name), &sizes,
                err);
}

static void write_log(const struct submit_run *first, struct text *text)
{
    text_format(text,
                "[OUTPUT] rehearse dataset generate: %.0f files of %lld samples of %.0f bytes in %s; first "
                "read by %s\n",
                submit_number(&first->summary, "num_files_train"),
                (long long)first->workload.dataset.num_samples_per_file,
                first->workload.dataset.record_length_bytes, submit_text(&first->result, "storage.path"),
                first->name);
}

static bool write_datagen(const struct submission *submission, struct error *err)
{
    const struct submit_place *place = submission->place;
    const struct submit_run *first = &submission->runs[0];
    struct workload made = first->workload;
    struct text texts[7] = {{0}}, copy = {0};
    static const char *const names[] = {
        "datagen_metadata.json",   "training_datagen.stdout.log", "training_datagen.stderr.log", "dlio.log",
        "dlio_config/config.yaml", "dlio_config/overrides.yaml",  "dlio_config/hydra.yaml"};
    bool done = true;
    made.workflow.generate_data = true;
    made.workflow.train = made.workflow.checkpoint = false;
    write_sizes(place, first, "datagen", &texts[0]);
    write_log(first, &texts[1]);
    write_log(first, &texts[3]);
    result_configuration(&made, &texts[4]);
    text_add(&texts[5], "- ++workload.workflow.generate_data=True\n- ++workload.workflow.train=False\n");
    text_add(&texts[6], "hydra: {job: {name: rehearse dataset generate}}\n");
    for (int i = 0; i < 7; i++)
        if (done)
            done =
                save(submission, SUBMIT_PHASES,
                     arena_format(submission->arena, "datagen/%s/%s", first->name, names[i]), &texts[i], err);
        else
            text_release(&texts[i]);
    if (!done || place->edition != RULES_V2)
        return done;
    write_log(first, &copy);
    return save(submission, SUBMIT_LOGS, arena_format(submission->arena, "%s.log", place->workload), &copy,
                err);
}

/* ---- the system ---- */

/* The value behind `key` on a line of a text, without quotes. */
static void line_value(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    snprintf(value, size, "%s", SUBMIT_TO_FILL);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, length) != 0)
            continue;
        line += length;
        line += strspn(line, " \t:=\"");
        snprintf(value, size, "%.*s", (int)strcspn(line, "\"\n"), line);
        return;
    }
}

static char *read_text(const char *path)
{
    char *data;
    size_t length;
    struct error ignored;
    return file_read(path, DOC_MAX_BYTES, &data, &length, &ignored) ? data : NULL;
}

static void add_line(struct text *text, int indent, const char *key, const char *value)
{
    text_format(text, "%*s%s: ", indent, "", key);
    text_add_quoted(text, value);
    text_add(text, "\n");
}

/* What this machine tells, in the form of v3.0's mlpstorage_py/system_description/schema.yaml; the rest is its
 * owner's. */
static void write_system(const struct submit_place *place, const struct submit_run *first, struct text *text)
{
    char model[160], processor[160], os[80], version[80], sockets[40] = "0";
    char *product = read_text("/sys/class/dmi/id/product_name"), *cpus = read_text("/proc/cpuinfo"),
         *release = read_text("/etc/os-release");
    int64_t socket = 0, own;
    line_value(product, "", model, sizeof model);
    line_value(cpus, "model name", processor, sizeof processor);
    line_value(release, "NAME", os, sizeof os);
    line_value(release, "VERSION_ID", version, sizeof version);
    for (const char *line = cpus; line && (line = strstr(line, "physical id")); line += 8) {
        line_value(line, "physical id", sockets, sizeof sockets);
        socket = text_whole(sockets, " ", &own) && own > socket ? own : socket;
    }
    text_add(text, "system_under_test:\n    solution:\n");
    add_line(text, 8, "submission_name", place->system);
    add_line(text, 8, "friendly_description", SUBMIT_TO_FILL);
    text_format(
        text,
        "        architecture:\n            storage_location: %s\n            benchmark_API: %s\n"
        "            product_API: %s\n            client_footprint: %s\n            client_installation: %s\n"
        "        capabilities:\n            multi_host: %s\n            simultaneous_write: %s\n"
        "            simultaneous_read: %s\n            remap_time_in_seconds: 0\n    deployment: %s\n    "
        "clients:\n",
        SUBMIT_TO_FILL " # remote, local, remote_and_local",
        strcmp(submit_text(&first->result, "storage.method"), "s3") == 0 ? "object" : "file",
        SUBMIT_TO_FILL " # file, object, block", SUBMIT_TO_FILL " # open_source, closed_source, n/a",
        SUBMIT_TO_FILL " # in_box, installable, n/a", SUBMIT_TO_FILL, SUBMIT_TO_FILL, SUBMIT_TO_FILL,
        SUBMIT_TO_FILL " # onprem, cloud");
    text_format(text,
                "        - friendly_description: hosts that run the benchmark\n          quantity: %.0f\n"
                "          chassis:\n",
                submit_number(&first->summary, "num_hosts"));
    add_line(text, 14, "model_name", model);
    add_line(text, 14, "cpu_model", processor);
    text_format(
        text,
        "              cpu_qty: %lld\n              cpu_cores: %.0f\n              memory_capacity: %.0f\n",
        (long long)socket + 1, fmax(submit_number(&first->summary, "host_cpu_count"), 0),
        fmax(ceil(submit_number(&first->summary, "host_memory_GB")), 0));
    text_add(text, "          operating_system:\n");
    add_line(text, 14, "name", os);
    add_line(text, 14, "version", version);
    free(product);
    free(cpus);
    free(release);
}

static bool write_description(const struct submission *submission, struct error *err)
{
    const struct submit_place *place = submission->place;
    struct text text = {0};
    const char *path;
    enum file_kind kind;
    char *name = arena_format(submission->arena, "%s.yaml", place->system);
    if (!name)
        return error_memory(err);
    if (!submit_path(place, SUBMIT_SYSTEMS, name, submission->arena, &path, err) ||
        !file_look(path, &kind, err))
        return false;
    if (kind != FILE_NONE)
        return true;
    write_system(place, &submission->runs[0], &text);
    return save(submission, SUBMIT_SYSTEMS, name, &text, err);
}

bool submit_documents(const struct submission *submission, struct error *err)
{
    return submission->count == 0 || !submission->runs[0].has_workload ||
           (write_results(submission, err) && write_description(submission, err) &&
            write_datagen(submission, err) && write_datasize(submission, err));
}
