/* The folder of one run: what the rules ask for beside results, a seal, and what a reader makes of them. The seal
 * notices changes; whoever makes the same changes in it hides them, so that figures are also made again from the
 * recorded steps. */
#include "feed/submit/submit.h"

#include "core/file.h"
#include "core/file_output.h"
#include "names.h"
#include "plan/plan_digest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CONFIG "dlio_config/config.yaml"

static const struct {
    const char *name;
} needed[] = {ROWS_submission_file};

static const char *join(struct arena *arena, const char *folder, const char *name)
{
    return arena_format(arena, "%s/%s", folder, name);
}

static bool save(const char *folder, const char *name, struct text *text, struct arena *arena,
                 struct error *err)
{
    const char *path = join(arena, folder, name);
    bool done = path ? file_write_exact(path, text, err) : error_memory(err);
    text_release(text);
    return done;
}

/* ---- the seal ---- */

static bool digest_file(const char *path, char digest[32], struct error *err)
{
    char *data;
    size_t length;
    if (!file_read(path, DOC_MAX_BYTES, &data, &length, err))
        return false;
    const int64_t size = (int64_t)length;
    uint64_t sum = PLAN_DIGEST_BEGIN;
    for (size_t at = 0; at <= length; at += strlen(data + at) + 1) /* also behind a NUL */
        sum = plan_digest_text(sum, data + at);
    sum = plan_digest_integers(sum, &size, 1);
    snprintf(digest, 32, "fnv1a:%016" PRIx64, sum);
    free(data);
    return true;
}

/* Calls `each` with every file of a run but its seal, those of dlio_config among them. */
typedef bool file_visitor(void *context, const char *path, const char *name, struct error *err);

static bool visit_files(const char *folder, const char *below, struct arena *arena, file_visitor *each,
                        void *context, struct error *err)
{
    const char **names;
    int count;
    if (!submit_list(folder, arena, &names, &count, err))
        return false;
    for (int i = 0; i < count; i++) {
        const char *path = join(arena, folder, names[i]);
        const char *name = *below ? join(arena, below, names[i]) : names[i];
        enum file_kind kind;
        if (!path || !name)
            return error_memory(err);
        if (strcmp(name, SUBMIT_SEAL) == 0)
            continue;
        if (!file_look(path, &kind, err))
            return false;
        if (kind == FILE_FOLDER && *below)
            return error_set(err, ERROR_INPUT, "%s is a folder, where a run has none", path);
        if (!(kind == FILE_FOLDER ? visit_files(path, name, arena, each, context, err)
                                  : each(context, path, name, err)))
            return false;
    }
    return true;
}

static bool remove_file(void *context, const char *path, const char *name, struct error *err)
{
    (void)context;
    (void)name;
    (void)err;
    (void)unlink(path);
    return true;
}

void submit_clear(const char *folder, struct arena *arena)
{
    struct error ignored;
    visit_files(folder, "", arena, remove_file, NULL, &ignored);
}

static bool seal_file(void *context, const char *path, const char *name, struct error *err)
{
    char digest[32];
    if (!digest_file(path, digest, err))
        return false;
    json_string(context, name, digest);
    return true;
}

static bool write_seal(const char *folder, int number, struct arena *arena, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    json_open_document(&json, SUBMIT_SEALED);
    json_integer(&json, "number", number);
    json_open(&json, "files", '{');
    bool done = visit_files(folder, "", arena, seal_file, &json, err);
    json_close(&json);
    json_close(&json);
    done = done && save(folder, SUBMIT_SEAL, &text, arena, err);
    text_release(&text);
    return done;
}

static bool compare_file(void *context, const char *path, const char *name, struct error *err)
{
    struct submit_run *run = context;
    char digest[32];
    const struct doc_node *files = submit_find(&run->seal, "files"), *sealed = doc_find(files, name);
    if (!digest_file(path, digest, err))
        return false;
    run->files++;
    if (!*run->changed && (!sealed || !sealed->text || strcmp(sealed->text, digest) != 0))
        snprintf(run->changed, sizeof run->changed, "%s/%s was %s after the run", run->name, name,
                 sealed ? "changed" : "added");
    return true;
}

/* ---- what a run has beside its results ---- */

/* Where a folder's file system is mounted: the last folder upwards on the same device. */
static void mount_of(const char *path, char *mount, size_t size)
{
    struct stat here, above;
    char *real = realpath(path, NULL);
    snprintf(mount, size, "%s", real ? real : path);
    free(real);
    while (strcmp(mount, "/") != 0 && stat(mount, &here) == 0) {
        char parent[4096];
        snprintf(parent, sizeof parent, "%s", mount);
        char *slash = strrchr(parent, '/');
        if (!slash)
            return;
        slash[slash == parent] = '\0';
        if (stat(parent, &above) != 0 || above.st_dev != here.st_dev)
            return;
        snprintf(mount, size, "%s", parent);
    }
}

/* A line as that of df, from which v3.0's rule 3.4.2 tells file systems apart. */
static void add_df(struct text *out, const char *path)
{
    struct statvfs space;
    char mount[4096];
    if (statvfs(path, &space) != 0)
        return;
    mount_of(path, mount, sizeof mount);
    uint64_t block = space.f_frsize, all = (uint64_t)space.f_blocks * block / 1024,
             used = (space.f_blocks - space.f_bfree) * block / 1024;
    text_format(out, "%lx %" PRIu64 " %" PRIu64 " %" PRIu64 " %d%% %s\n", space.f_fsid, all, used,
                (uint64_t)space.f_bavail * block / 1024, (int)(100.0 * (double)used / (double)(all + 1)),
                mount);
}

bool submit_complete(const struct submit_place *place, const char *folder, int number, const char *report,
                     struct arena *arena, struct error *err)
{
    struct doc result;
    struct text out = {0}, log = {0}, none = {0};
    const char *path = join(arena, folder, "result.json");
    if (!path || !doc_load(&result, path, err))
        return path ? false : error_memory(err);
    text_format(&out, "%s\nFilesystem 1K-blocks Used Available Use%% Mounted on\n", report);
    add_df(&out, submit_text(&result, "storage.path"));
    add_df(&out, place->out);
    text_format(
        &log, "[OUTPUT] %s rehearse %s: run %d of %d of %s begins, seed %s\n[OUTPUT] %s it ends: %s\n",
        submit_text(&result, "start"), submit_text(&result, "version"), number, RULES_RUNS, place->workload,
        submit_text(&result, "seed"), submit_text(&result, "end"), submit_text(&result, "verdict_text"));
    doc_release(&result);
    bool done = save(folder, "training_run.stdout.log", &out, arena, err);
    done = save(folder, "training_run.stderr.log", &none, arena, err) && done;
    done = save(folder, "dlio.log", &log, arena, err) && done;
    return done && write_seal(folder, number, arena, err);
}

/* ---- figures, made again from the recorded steps ---- */

struct tally {
    double au, throughput, steps; /* weighted by steps */
};

static double sum_of(const struct doc_node *list, double from, double to)
{
    double sum = 0, at = 0;
    for (const struct doc_node *item = list ? list->first_child : NULL; item; item = item->next, at++)
        sum += at >= from && at < to ? item->number : 0;
    return sum;
}

/* DLIO's AU and samples/s of a block (metrics.c has the formula), from the lists of its steps and the times of its
 * ends. */
static bool add_block(struct submit_run *run, const struct doc_node *epoch, const struct doc_node *times,
                      const char *block, struct tally *tally)
{
    const struct doc_node *compute = doc_find(doc_find(epoch, "compute"), block),
                          *process = doc_find(doc_find(epoch, "proc"), block), *own = doc_find(times, block),
                          *start = doc_find(own, "start"), *end = doc_find(own, "end");
    if (!compute || !process || !start || !end || !start->text || !end->text)
        return false;
    double steps = compute->count, first = submit_number(&run->result, "exclude_start_steps"),
           last = steps - submit_number(&run->result, "exclude_end_steps");
    if (steps < 3) {
        snprintf(run->figures, sizeof run->figures,
                 "%s: %.0f steps in a block, samples/s need 3: two are not counted", run->name, steps);
        return false;
    }
    double excluded = sum_of(process, 0, steps) - sum_of(process, first, last);
    double time = submit_time(end->text) - submit_time(start->text) - excluded;
    tally->au += 100 * sum_of(compute, first, last) / time * steps;
    tally->throughput += (steps - 2) / time * (double)run->workload.reader.batch_size * steps;
    tally->steps += steps;
    return true;
}

/* Adds an accelerator's mean of an epoch. */
static bool add_epoch(struct submit_run *run, const struct doc *output, const struct doc *stats, int epoch,
                      double *au, double *throughput)
{
    char name[16];
    struct tally tally = {0};
    double samples = submit_number(&run->summary, "num_files_train") *
                     (double)run->workload.dataset.num_samples_per_file,
           at_once =
               submit_number(&run->summary, "num_accelerators") * (double)run->workload.reader.batch_size;
    snprintf(name, sizeof name, "%d", epoch + 1);
    const struct doc_node *steps = submit_find(output, name), *times = submit_find(stats, name);
    const struct doc_node *blocks = doc_find(steps, "compute");
    for (const struct doc_node *block = blocks ? blocks->first_child : NULL; block; block = block->next)
        if (strncmp(block->key, "block", 5) == 0 && !add_block(run, steps, times, block->key, &tally))
            return false;
    *au += tally.au / tally.steps;
    *throughput += tally.throughput / tally.steps;
    return tally.steps > 0 &&
           (tally.steps == floor(samples / at_once) || run->workload.train.total_training_steps > 0);
}

#define MAX_EPOCHS 64

/* Times have microseconds: a block of a second leaves 0.0002 points, and we allow fifty times as much. */
static bool alike(double one, double other)
{
    return fabs(one - other) <= 1e-4 * fabs(other) + 1e-6;
}

static void compare_list(struct submit_run *run, const char *path, const double *made, int count)
{
    const struct doc_node *list = submit_find(&run->summary, path);
    const struct doc_node *item = list ? list->first_child : NULL;
    int at = 0;
    for (; item && at < count && alike(item->number, made[at]); item = item->next)
        at++;
    if (item || at < count)
        snprintf(run->figures, sizeof run->figures,
                 "%s: %s of epoch %d is %.4f in summary.json, the recorded steps give %.4f", run->name,
                 path + strlen("metric."), at + 1, item ? item->number : (double)NAN,
                 at < count ? made[at] : (double)NAN);
}

static void compare_value(struct submit_run *run, const char *path, double made)
{
    double found = submit_number(&run->summary, path);
    if (!*run->figures && !alike(found, made))
        snprintf(run->figures, sizeof run->figures,
                 "%s: %s is %.4f in summary.json, the recorded steps give %.4f", run->name,
                 path + strlen("metric."), found, made);
}

static double mean_of(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

static bool load_one(const struct submit_run *run, int accelerator, const char *end, struct doc *doc,
                     struct arena *arena, struct error *err)
{
    const char *path = arena_format(arena, "%s/%d_%s", run->folder, accelerator, end);
    return path ? doc_load_lax(doc, path, err) : error_memory(err);
}

static bool make_figures(struct submit_run *run, struct arena *arena, struct error *err)
{
    double au[MAX_EPOCHS] = {0}, throughput[MAX_EPOCHS] = {0};
    int count = (int)fmin(fmax(submit_number(&run->summary, "num_accelerators"), 0), 1000000);
    int epochs = (int)fmin((double)run->workload.train.epochs, MAX_EPOCHS);
    for (int a = 0; a < count; a++) {
        struct doc output, stats;
        if (!load_one(run, a, "output.json", &output, arena, err))
            return false;
        bool done = load_one(run, a, "per_epoch_stats.json", &stats, arena, err), whole = true;
        for (int e = 0; done && whole && e < epochs; e++)
            whole = add_epoch(run, &output, &stats, e, &au[e], &throughput[e]);
        if (done)
            doc_release(&stats);
        doc_release(&output);
        if (!done)
            return false;
        if (!whole && *run->figures)
            return true;
        if (!whole) {
            snprintf(run->figures, sizeof run->figures,
                     "%s: %d_output.json has not the steps that %.0f files are in %d epochs", run->name, a,
                     submit_number(&run->summary, "num_files_train"), epochs);
            return true;
        }
    }
    for (int e = 0; e < epochs && count > 0; e++)
        au[e] /= count;
    compare_list(run, "metric.train_au_percentage", au, epochs);
    if (!*run->figures)
        compare_list(run, "metric.train_throughput_samples_per_second", throughput, epochs);
    compare_value(run, "metric.train_au_mean_percentage", mean_of(au, epochs));
    compare_value(run, "metric.train_throughput_mean_samples_per_second", mean_of(throughput, epochs));
    if (!*run->figures &&
        (!alike(submit_number(&run->result, "as_dlio.train.au_mean_percentage"), mean_of(au, epochs)) ||
         !alike(submit_number(&run->result, "as_dlio.train.throughput_mean_samples_per_second"),
                mean_of(throughput, epochs))))
        snprintf(run->figures, sizeof run->figures,
                 "%s: as_dlio of result.json is not what the recorded steps give", run->name);
    return true;
}

/* ---- reading ---- */

/* A fault of the files is the run's, not the call's. */
static bool keep_fault(struct submit_run *run, struct error *err)
{
    if (error_is_memory(err))
        return false;
    if (!*run->fault)
        snprintf(run->fault, sizeof run->fault, "%.300s", err->text);
    return true;
}

static bool load(struct submit_run *run, struct doc *doc, const char *name, struct arena *arena,
                 struct error *err)
{
    const char *path = join(arena, run->folder, name);
    if (!path)
        return error_memory(err);
    if (doc_load_lax(doc, path, err))
        return true;
    *doc = (struct doc){0};
    return keep_fault(run, err);
}

/* The configuration stands below "workload:", as Hydra has it. */
static bool load_workload(struct submit_run *run, const char *name, struct arena *arena, struct error *err)
{
    struct text plain = {0};
    const char *path = join(arena, run->folder, CONFIG);
    char *data = NULL;
    size_t length = 0;
    if (!path)
        return error_memory(err);
    bool done = file_read(path, DOC_MAX_BYTES, &data, &length, err) &&
                (strncmp(data, "workload:\n", 10) == 0 ||
                 error_set(err, ERROR_INPUT, "%s:1: expected 'workload:'", path));
    for (const char *line = data ? data + 10 : NULL; done && *line;) {
        size_t end = strcspn(line, "\n"), indent = strncmp(line, "  ", 2) == 0 ? 2 : 0;
        text_format(&plain, "%.*s\n", (int)(end - indent), line + indent);
        line += end + (line[end] == '\n');
    }
    done = done && (!plain.failed || error_memory(err)) &&
           workload_parse(&run->workload, path, plain.data ? plain.data : "", plain.length, NULL, err);
    run->has_workload = done;
    if (done) { /* a built-in one is compared with itself, and not with the nearest */
        int count;
        const char *const *names = workload_builtins(&count);
        for (int i = 0; names && i < count; i++)
            if (strcmp(names[i], name) == 0)
                run->workload.name = names[i];
    }
    free(data);
    text_release(&plain);
    return done || keep_fault(run, err);
}

static bool read_run(struct submit_run *run, const struct submit_place *place, const char *folder,
                     const char *name, struct arena *arena, struct error *err)
{
    *run = (struct submit_run){.name = name, .folder = join(arena, folder, name)};
    if (!run->folder)
        return error_memory(err);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        const char *path = join(arena, run->folder, needed[i].name);
        enum file_kind kind;
        if (!path)
            return error_memory(err);
        if (!file_look(path, &kind, err) && !keep_fault(run, err))
            return false;
        if (kind != FILE_REGULAR && !*run->fault)
            snprintf(run->fault, sizeof run->fault, "%s has no %s", name, needed[i].name);
    }
    if (!load(run, &run->summary, "summary.json", arena, err) ||
        !load(run, &run->result, "result.json", arena, err) ||
        !load(run, &run->seal, SUBMIT_SEAL, arena, err) || !load_workload(run, place->workload, arena, err))
        return false;
    run->start = submit_time(submit_text(&run->summary, "start"));
    run->end = submit_time(submit_text(&run->summary, "end"));
    if (run->seal.root && !visit_files(run->folder, "", arena, compare_file, run, err) &&
        !keep_fault(run, err))
        return false;
    const struct doc_node *files = submit_find(&run->seal, "files");
    if (files && !*run->changed && files->count > run->files)
        snprintf(run->changed, sizeof run->changed, "%s has %u files, %u after the run", name, run->files,
                 files->count);
    bool whole = run->summary.root && run->result.root && run->has_workload;
    if (whole && make_figures(run, arena, err))
        return true;
    if (whole && !keep_fault(run, err))
        return false;
    snprintf(run->figures, sizeof run->figures, "%s: cannot be made again: %.200s", name,
             whole ? err->text : "summary.json, result.json or config.yaml cannot be read");
    return true;
}

/* 20250101_120000 */
static bool is_run(const char *name)
{
    return strlen(name) == 15 && strspn(name, "0123456789") == 8 && name[8] == '_' &&
           strspn(name + 9, "0123456789") == 6;
}

bool submission_open(struct submission *submission, const struct submit_place *place, struct arena *arena,
                     struct error *err)
{
    const char **names;
    int count;
    *submission = (struct submission){.place = place, .arena = arena};
    bool done = submit_path(place, SUBMIT_PHASES, "run", arena, &submission->folder, err) &&
                submit_list(submission->folder, arena, &names, &count, err);
    if (!done)
        return false;
    submission->runs = calloc((size_t)count + 1, sizeof *submission->runs);
    done = submission->runs || error_memory(err);
    for (int i = 0; i < count && submission->count < SUBMIT_MAX && done; i++)
        if (is_run(names[i]))
            done = read_run(&submission->runs[submission->count++], place, submission->folder, names[i],
                            arena, err);
    if (!done)
        submission_close(submission);
    return done;
}

void submission_close(struct submission *submission)
{
    for (int i = 0; i < submission->count && submission->runs; i++) {
        struct submit_run *run = &submission->runs[i];
        doc_release(&run->summary);
        doc_release(&run->result);
        doc_release(&run->seal);
        if (run->has_workload)
            workload_release(&run->workload);
    }
    free(submission->runs);
    *submission = (struct submission){0};
}
