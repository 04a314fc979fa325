/* All rules of the closed division of MLPerf Storage v2.0 and v3.0 that a training submission can break, checked
 * from its files. Each passes or fails with the value and the limit; one that is a promise of its owner is
 * "declared". Their places in the rules, and what to do next, are the table submission_rule of data/names.yaml. */
#include "feed/submit/submit.h"

#include "core/file.h"
#include "dataset/layout.h"
#include "names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB        (1024.0 * 1024 * 1024)
#define REPLICABLE 0.05 /* v2.0, 6.7 */
#define COLD       0.95 /* of the bytes come from the storage, as rehearse feed has it */

static const struct submission_rule {
    const char *rule, *v2, *v3, *next; /* v2, v3: NULL where the edition has no such rule */
} submission_rules[] = {ROWS_submission_rule};

static const struct submission_rule *find_rule(const char *rule)
{
    for (size_t i = 0; i < sizeof submission_rules / sizeof *submission_rules; i++)
        if (strcmp(submission_rules[i].rule, rule) == 0)
            return &submission_rules[i];
    return NULL;
}

const char *submit_next(const char *rule)
{
    const struct submission_rule *found = find_rule(rule);
    return found ? found->next : "";
}

const char *submit_section(const struct submit_place *place, const struct rules_finding *finding)
{
    const struct submission_rule *found = find_rule(finding->rule);
    const char *own = found ? place->edition == RULES_V2 ? found->v2 : found->v3 : NULL;
    return own ? own : finding->section;
}

/* What is checked. */
struct check {
    const struct submission *all;
    const struct submit_place *place;
    const struct submit_run *runs;
    int count;
    struct rules_report *report;
    struct arena *arena;
};

/* Adds a finding where the edition has this rule. */
static void judge(const struct check *check, const char *rule, enum rules_verdict verdict, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));

static void judge(const struct check *check, const char *rule, enum rules_verdict verdict, const char *format,
                  ...)
{
    const struct submission_rule *row = find_rule(rule);
    char text[320];
    va_list args;
    if (row && !(check->place->edition == RULES_V2 ? row->v2 : row->v3))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rules_find(check->report, rule, "", verdict, "%s", text);
}

static enum rules_verdict pass_if(bool passed)
{
    return passed ? RULES_PASS : RULES_FAIL;
}

/* A rule that every run keeps, or the first that does not. */
static void judge_all(const struct check *check, const char *rule, const char *fault, const char *passed)
{
    judge(check, rule, pass_if(!*fault), "%s", *fault ? fault : passed);
}

/* ---- the runs: files, number, times ---- */

static void check_files(const struct check *check)
{
    const char *fault = "", *changed = "", *figures = "";
    for (int i = check->count - 1; i >= 0; i--) {
        fault = *check->runs[i].fault ? check->runs[i].fault : fault;
        changed = *check->runs[i].changed ? check->runs[i].changed : changed;
        figures = *check->runs[i].figures ? check->runs[i].figures : figures;
    }
    judge_all(check, "run-files", fault, "every run has all its files");
    judge_all(check, "unchanged", changed, "no file of a run was changed after it");
    judge_all(check, "figures", figures, "AU and samples/s are what the recorded steps give");
}

static void check_count(const struct check *check)
{
    int wrong = -1;
    for (int i = 0; i < check->count && wrong < 0; i++)
        if (submit_number(&check->runs[i].seal, "number") != i)
            wrong = i;
    judge(check, "warm-up", pass_if(check->count > 0 && wrong != 0), "%s",
          check->count == 0 ? "no run is there"
          : wrong == 0      ? "the first run is not the one that warmed up"
                            : "a warm-up run precedes the others");
    if (check->count == SUBMIT_RUNS && wrong > 0)
        judge(check, "runs", RULES_FAIL, "%s is not run %d: one is missing, or they are in another order",
              check->runs[wrong].name, wrong);
    else
        judge(check, "runs", pass_if(check->count == SUBMIT_RUNS), "%d runs after the warm-up, %d needed",
              check->count > 0 ? check->count - 1 : 0, RULES_RUNS);
}

/* Folders are named after the second in which their run began; between two there is less time than the shortest
 * takes. */
static void check_times(const struct check *check)
{
    char fault[320] = "", gap[320] = "";
    double shortest = (double)INFINITY, longest_gap = 0;
    for (int i = 0; i < check->count; i++) {
        const struct submit_run *run = &check->runs[i];
        char name[16];
        submit_run_name(run->start, name);
        shortest = fmin(shortest, run->end - run->start);
        if (!*fault && !isfinite(run->end - run->start))
            snprintf(fault, sizeof fault, "%s: summary.json has no start, or no end", run->name);
        if (!*fault && (strcmp(name, run->name) != 0 || !(run->end > run->start)))
            snprintf(fault, sizeof fault, "%s began at %.19s and ended at %.19s", run->name,
                     submit_text(&run->summary, "start"), submit_text(&run->summary, "end"));
    }
    for (int i = 1; i < check->count; i++) {
        double between = check->runs[i].start - check->runs[i - 1].end;
        if (between > longest_gap || between < -1 || !isfinite(between)) {
            if (isfinite(between))
                snprintf(gap, sizeof gap, "%.1f s between %s and %s, less than the %.1f s of a run allowed",
                         between, check->runs[i - 1].name, check->runs[i].name, shortest);
            else
                snprintf(gap, sizeof gap, "the times of %s or %s are not known", check->runs[i - 1].name,
                         check->runs[i].name);
            longest_gap = between < -1 || !isfinite(between) ? (double)INFINITY : between;
        }
    }
    judge_all(check, "timestamps", fault, "every run is named after its time");
    judge(check, "consecutive", pass_if(longest_gap < shortest), "%s", *gap ? gap : "one run");
}

/* ---- the runs: seeds, data, machines, caches ---- */

static void check_seeds(const struct check *check)
{
    char fault[320] = "";
    for (int i = 0; i < check->count; i++) {
        const struct submit_run *run = &check->runs[i];
        double seed = (double)NAN;
        text_real(submit_text(&run->result, "seed"), &seed);
        if (!*fault && (double)run->workload.train.seed != seed)
            snprintf(fault, sizeof fault, "%s: seed %lld in config.yaml, %.0f in result.json", run->name,
                     (long long)run->workload.train.seed, seed);
        for (int j = 0; j < i && !*fault; j++)
            if (run->workload.train.seed == check->runs[j].workload.train.seed)
                snprintf(fault, sizeof fault, "%s and %s have the same seed %lld", check->runs[j].name,
                         run->name, (long long)run->workload.train.seed);
    }
    judge_all(check, "seeds", fault, "another seed in every run");
}

/* Sets `text` where a value is not the first run's. */
static void compare(const struct check *check, const char *path, bool of_summary, char text[320])
{
    for (int i = 1; i < check->count && !*text; i++) {
        const struct submit_run *first = &check->runs[0], *run = &check->runs[i];
        const char *one = submit_text(of_summary ? &first->summary : &first->result, path),
                   *other = submit_text(of_summary ? &run->summary : &run->result, path);
        if (strcmp(one, other) != 0)
            snprintf(text, 320, "%s is %.60s in %s and %.60s in %s", path, one, first->name, other,
                     run->name);
    }
}

/* Sets `text` to a key of the workload that is not the first run's. */
static bool compare_workloads(const struct check *check, char text[320], struct error *err)
{
    const struct submit_run *first = &check->runs[0];
    int count;
    const struct workload_key *keys = workload_keys(&count);
    bool done = true;
    for (int i = 1; i < check->count && first->has_workload; i++)
        for (int k = 0; k < count && done && !*text && check->runs[i].has_workload; k++) {
            struct text one = {0}, other = {0};
            struct json to = {.out = &one}, beside = {.out = &other};
            workload_write_value(&first->workload, &keys[k], &to, NULL);
            workload_write_value(&check->runs[i].workload, &keys[k], &beside, NULL);
            done = (!one.failed && !other.failed) || error_memory(err);
            if (done && strcmp(keys[k].path, "train.seed") != 0 && strcmp(one.data, other.data) != 0)
                snprintf(text, 320, "%s is %.60s in %s and %.60s in %s", keys[k].path, one.data, first->name,
                         other.data, check->runs[i].name);
            text_release(&one);
            text_release(&other);
        }
    return done;
}

static bool check_same(const struct check *check, struct error *err)
{
    char options[320] = "";
    char data[320] = "", machine[320] = "", accelerators[320] = "";
    static const char *const of_data[] = {"num_files_train", "num_samples_per_file"};
    static const char *const of_machine[] = {"hostname", "num_hosts"};
    for (size_t i = 0; i < 2; i++) {
        compare(check, of_data[i], true, data);
        compare(check, of_machine[i], true, machine);
    }
    compare(check, "storage.path", false, data);
    compare(check, "storage.method", false, options);
    compare(check, "storage.direct", false, options);
    if (!compare_workloads(check, options, err))
        return false;
    for (int i = 0; i < check->count && !*accelerators; i++) {
        double found = submit_number(&check->runs[i].summary, "num_accelerators");
        if (!isfinite(found))
            snprintf(accelerators, sizeof accelerators, "%s: summary.json has no num_accelerators",
                     check->runs[i].name);
        else if (found != (double)check->place->accelerators)
            snprintf(accelerators, sizeof accelerators, "%s has %.0f accelerators, the submission %lld",
                     check->runs[i].name, found, (long long)check->place->accelerators);
    }
    judge_all(check, "same-data", data, "all runs read the same data set");
    judge_all(check, "same-system", *machine ? machine : accelerators,
              "all runs on the same hosts and accelerators");
    judge_all(check, "same-options", options, "all runs with the same options");
    return true;
}

/* The checks that the run itself has made. */
static void check_runs(const struct check *check)
{
    char incomplete[320] = "", warm[320] = "";
    double least = 1;
    for (int i = 0; i < check->count; i++) {
        const struct submit_run *run = &check->runs[i];
        const struct doc_node *checks = submit_find(&run->result, "checks"),
                              *warmed = submit_find(&run->result, "storage.warm");
        double share = submit_number(&run->result, "storage.origin.share");
        int found = 0;
        for (const struct doc_node *one = checks ? checks->first_child : NULL; one && !*incomplete;
             one = one->next) {
            const struct doc_node *name = doc_find(one, "name"), *passed = doc_find(one, "passed");
            bool counts =
                name && name->text &&
                (strcmp(name->text, SESSION_RAN) == 0 || strcmp(name->text, "every sample once") == 0);
            found += counts;
            if (counts && !(passed && passed->boolean))
                snprintf(incomplete, sizeof incomplete, "%s: not so: %s", run->name, name->text);
        }
        if (found < 2 && !*incomplete)
            snprintf(incomplete, sizeof incomplete, "%s: result.json has not both checks of a whole run",
                     run->name);
        if (!*warm && !isfinite(share))
            snprintf(warm, sizeof warm, "%s: result.json has no storage.origin.share", run->name);
        if (!*warm && (!(share >= COLD) || (warmed && warmed->boolean)))
            snprintf(warm, sizeof warm, "%s read %.1f %% from the storage, at least %.0f %% needed%s",
                     run->name, 100 * share, 100 * COLD,
                     warmed && warmed->boolean ? "; it was run with warm caches" : "");
        least = fmin(least, share);
    }
    judge_all(check, "complete", incomplete, "every run read every sample once");
    if (*warm)
        judge(check, "cold", RULES_FAIL, "%s", warm);
    else
        judge(check, "cold", RULES_PASS, "at least %.1f %% of each run came from the storage", 100 * least);
}

/* The result, which is the mean, and how far runs are from it. */
static bool check_result(const struct check *check, struct submit_report *report, struct error *err)
{
    double mean = submit_mean(check->all), furthest = 0, au = 0;
    for (int i = 1; i < check->count; i++) {
        double own =
            submit_number(&check->runs[i].summary, "metric.train_throughput_mean_samples_per_second");
        furthest = fmax(furthest, fabs(own / mean - 1));
        au += submit_number(&check->runs[i].result, "training.au") / (check->count - 1);
    }
    report->samples_per_second = mean;
    report->au = check->count > 1 ? au : (double)NAN;
    if (!(mean > 0))
        judge(check, "replicable", RULES_FAIL, "there is no mean: five runs with samples/s are needed");
    else
        judge(check, "replicable", pass_if(furthest <= REPLICABLE),
              "a run is %.2f %% from the mean of %.2f samples/s, at most %.0f %% allowed", 100 * furthest,
              mean, 100 * REPLICABLE);
    char fault[320];
    if (!submit_results_fault(check->all, fault, err))
        return false;
    judge_all(check, "result", fault, "results.json is what the runs give");
    return true;
}

/* ---- each run by the rules of one (session_rules.c) ---- */

#define MAX_HOSTS 4096

static bool read_hosts(const struct check *check, const struct submit_run *run, struct session_host **hosts,
                       int *count)
{
    const struct doc_node *list = submit_find(&run->result, "hosts"),
                          *memory = submit_find(&run->summary, "host_memory_GB");
    const struct doc_node *gib = memory ? memory->first_child : NULL;
    *count = list && list->count < MAX_HOSTS ? (int)list->count : 0;
    *hosts = ARENA_ARRAY(check->arena, (size_t)*count + 1, struct session_host);
    if (!*hosts)
        return false;
    struct session_host *host = *hosts;
    for (const struct doc_node *one = *count > 0 ? list->first_child : NULL; one; one = one->next, host++) {
        const struct doc_node *name = doc_find(one, "name"), *accelerators = doc_find(one, "accelerators");
        snprintf(host->name, sizeof host->name, "%s", name && name->text ? name->text : "?");
        host->accelerators = accelerators ? (int)fmin(fmax(accelerators->number, 0), 1e6) : 0;
        host->memory = gib ? (int64_t)fmin(fmax(gib->number * GIB, 0), 1e18) : 0;
        gib = gib ? gib->next : NULL;
    }
    return true;
}

/* Keeps a finding, but a failure rather than what passed before. */
static void keep(const struct check *check, const struct submit_run *run, const struct rules_finding *found)
{
    for (int i = 0; i < check->report->count; i++) {
        struct rules_finding *own = &check->report->findings[i];
        if (strcmp(own->rule, found->rule) != 0)
            continue;
        if (own->verdict == RULES_PASS && found->verdict == RULES_FAIL) {
            *own = *found;
            snprintf(own->text, sizeof own->text, "%s: %.290s", run->name, found->text);
            check->report->failed++;
        }
        return;
    }
    rules_find(check->report, found->rule, found->section, found->verdict, "%s%s%s",
               found->verdict == RULES_FAIL ? run->name : "", found->verdict == RULES_FAIL ? ": " : "",
               found->text);
}

/* The run of the five with the lowest AU: it is the one that is judged. */
static int find_lowest(const struct check *check)
{
    int lowest = 1;
    for (int i = 2; i < check->count; i++)
        if (!(submit_number(&check->runs[i].result, "training.au") >=
              submit_number(&check->runs[lowest].result, "training.au")))
            lowest = i;
    return lowest;
}

static bool check_each(const struct check *check, struct error *err)
{
    const int lowest = find_lowest(check);
    bool edition = true; /* that of the benchmarks */
    for (int i = 0; i < check->count; i++) {
        const struct submit_run *run = &check->runs[i];
        struct dataset_layout layout = {.samples_per_file = run->workload.dataset.num_samples_per_file};
        struct session_host *hosts;
        struct rules_report own;
        int host_count;
        double files = submit_number(&run->summary, "num_files_train"),
               count = submit_number(&run->summary, "num_accelerators");
        if (!run->has_workload || !run->summary.root || !run->result.root)
            continue;
        if (!read_hosts(check, run, &hosts, &host_count))
            return error_memory(err);
        layout.files_train = files > 0 && files < 1e15 ? (int64_t)files : 0;
        const struct rules_facts facts = {.workload = &run->workload,
                                          .layout = &layout,
                                          .hosts = hosts,
                                          .host_count = host_count,
                                          .accelerators = count > 0 && count < 1e6 ? (int)count : 0,
                                          .au = submit_number(&run->result, "training.au"),
                                          .cleared = true};
        if (!rules_check(&facts, &own, err))
            return false;
        if (edition && own.findings[0].verdict == RULES_PASS && own.edition != check->place->edition) {
            edition = false;
            judge(check, "edition", RULES_FAIL, "%s is no workload of the closed division of %s",
                  check->place->workload, submit_editions[check->place->edition]);
        }
        for (int j = 0; j < own.count; j++) {
            struct rules_finding *found = &own.findings[j];
            bool au = strcmp(found->rule, "au") == 0;
            if (au && i == lowest && check->count > 2)
                snprintf(strchr(found->text, '\0'), 80, ", the lowest of %d runs", check->count - 1);
            if (!au || i == lowest)
                keep(check, run, found);
        }
    }
    return true;
}

/* ---- the storage, and documents beside the runs ---- */

static void check_storage(const struct check *check)
{
    const struct doc *result = &check->runs[0].result;
    const char *system = submit_text(result, "storage.file_system"),
               *path = submit_text(result, "storage.path");
    bool memory = strcmp(system, "tmpfs") == 0 || strcmp(system, "ramfs") == 0;
    bool s3 = strcmp(submit_text(result, "storage.method"), "s3") == 0;
    judge(check, "stable-storage", pass_if(s3 || (*system && !memory)), "the data are on %s",
          s3        ? "S3"
          : *system ? system
                    : "an unknown file system");
    judge(check, "paths", pass_if(*path && strcmp(path, check->place->out) != 0),
          "data in %s, results in %s: two folders needed", *path ? path : "?", check->place->out);
}

/* The two last lines of df are of the data and of the results. */
static bool check_separate(const struct check *check, struct error *err)
{
    const char *path = arena_format(check->arena, "%s/training_run.stdout.log", check->runs[0].folder);
    char *text = NULL, rows[2][400] = {"", ""};
    size_t length;
    struct error ignored;
    if (!path)
        return error_memory(err);
    const char *df =
        file_read(path, DOC_MAX_BYTES, &text, &length, &ignored) ? strstr(text, "\nFilesystem ") : NULL;
    df = df ? strchr(df + 1, '\n') : NULL;
    for (int i = 0; i < 2 && df; i++) {
        snprintf(rows[i], sizeof rows[i], "%.*s", (int)strcspn(df + 1, "\n"), df + 1);
        df = strchr(df + 1, '\n');
    }
    const char *data = strrchr(rows[0], ' '), *results = strrchr(rows[1], ' ');
    bool s3 = strcmp(submit_text(&check->runs[0].result, "storage.method"), "s3") == 0;
    judge(check, "file-systems", pass_if(s3 || (data && results && strcmp(data, results) != 0)),
          "data on the file system at%s, results on that at%s: two needed",
          s3     ? " s3"
          : data ? data
                 : " ?",
          s3 && data ? data
          : results  ? results
                     : " ?");
    free(text);
    return true;
}

/* How much was made: equal to or more than what is read. */
static bool check_phase(const struct check *check, const char *phase, const char *rule, struct error *err)
{
    const char *folder, **names;
    int count;
    struct doc doc = {0};
    if (!submit_path(check->place, SUBMIT_PHASES, phase, check->arena, &folder, err) ||
        !submit_list(folder, check->arena, &names, &count, err))
        return false;
    const char *path =
        count == 1 ? arena_format(check->arena, "%s/%s/%s_metadata.json", folder, names[0], phase) : NULL;
    double made = (double)NAN, read = submit_number(&check->runs[0].summary, "num_files_train");
    struct error why = {.text = ""};
    if (path && doc_load(&doc, path, &why)) {
        made = submit_number(&doc, "parameters.dataset.num_files_train");
        doc_release(&doc);
    }
    if (!isfinite(made) || !isfinite(read))
        judge(check, rule, RULES_FAIL, "%s, not known how many files: %.250s", phase,
              *why.text ? why.text : "one folder is needed, and num_files_train in it and in summary.json");
    else
        judge(check, rule, pass_if(made >= read), "%s says %.0f files, the runs read %.0f", phase, made,
              read);
    return true;
}

static bool judge_description(const struct check *check, const char *path, const char *name,
                              struct error *err)
{
    struct doc doc = {0};
    char fault[320] = "";
    static const struct {
        const char *name;
    } keys[] = {ROWS_submission_key};
    if (!doc_load(&doc, path, err)) {
        if (error_is_memory(err))
            return false;
        judge(check, "description", RULES_FAIL, "%.300s", err->text);
        return true;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !*fault; i++) {
        char key[80];
        snprintf(key, sizeof key, "system_under_test.solution.%s", keys[i].name);
        const char *value = submit_text(&doc, key);
        if (!*value || strncmp(value, SUBMIT_TO_FILL, strlen(SUBMIT_TO_FILL)) == 0)
            snprintf(fault, sizeof fault, "%s: %s is %s", name, key, *value ? "to be filled in" : "missing");
    }
    judge_all(check, "description", fault, "the system is described");
    const struct doc_node *clients = submit_find(&doc, "system_under_test.clients");
    struct doc client = {.root = clients ? clients->first_child : NULL};
    double gib = submit_number(&client, "chassis.memory_capacity"),
           cpus = submit_number(&client, "chassis.cpu_cores");
    double had = submit_number(&check->runs[0].summary, "host_memory_GB"),
           ran = submit_number(&check->runs[0].summary, "host_cpu_count");
    /* what Linux counts is up to a tenth below what is built in; two threads of a core count twice */
    if (!isfinite(gib + cpus) || !isfinite(had + ran))
        judge(check, "described-hosts", RULES_FAIL, "%s",
              isfinite(gib + cpus) ? "summary.json of the first run has no host_memory_GB or host_cpu_count"
                                   : "the first of clients has no chassis.memory_capacity or cpu_cores");
    else
        judge(check, "described-hosts",
              pass_if(gib >= floor(had) && gib <= had * 1.15 + 1 && cpus <= ran && 2 * cpus >= ran),
              "described: %.0f GiB and %.0f cores; the runs had %.1f GiB and %.0f processors", gib, cpus, had,
              ran);
    doc_release(&doc);
    return true;
}

static bool check_description(const struct check *check, struct error *err)
{
    const char *yaml = arena_format(check->arena, "%s.yaml", check->place->system),
               *pdf = arena_format(check->arena, "%s.pdf", check->place->system), *path;
    enum file_kind kind;
    struct error ignored;
    char *data = NULL;
    size_t length = 0;
    if (!yaml || !pdf)
        return error_memory(err);
    if (!submit_path(check->place, SUBMIT_SYSTEMS, yaml, check->arena, &path, err) ||
        !judge_description(check, path, yaml, err) ||
        !submit_path(check->place, SUBMIT_SYSTEMS, pdf, check->arena, &path, err))
        return false;
    bool read = file_look(path, &kind, &ignored) && kind == FILE_REGULAR &&
                file_read(path, DOC_MAX_BYTES, &data, &length, &ignored);
    /* ISO 32000-1, 7.5.5: the last line; readers look for it in the last 1024 bytes */
    size_t tail = read && length > 1024 ? length - 1024 : 0;
    bool there = read && strncmp(data, "%PDF-", 5) == 0 && memmem(data + tail, length - tail, "%%EOF", 5);
    judge(check, "description-pdf", pass_if(there), "%s is %s", pdf,
          there  ? "there"
          : read ? "no PDF: %PDF- begins one, and %%EOF ends it"
                 : "missing");
    free(data);
    return true;
}

static bool check_code(const struct check *check, struct error *err)
{
    const char *path, **names;
    int count;
    if (!submit_path(check->place, SUBMIT_CODE, "", check->arena, &path, err) ||
        !submit_list(path, check->arena, &names, &count, err))
        return false;
    judge(check, "code", pass_if(count > 0), "%s %s", path + strlen(check->place->out) + 1,
          count > 0 ? "has the sources" : "is missing");
    judge(check, "tool", RULES_DECLARED,
          "rehearse made these runs, not MLCommons' mlpstorage, which the rules name: agree on it with "
          "MLCommons before "
          "you hand them in");
    judge(check, "availability", RULES_DECLARED, "%s", check->place->availability);
    return true;
}

/* ---- all ---- */

static bool check_all(const struct check *check, struct submit_report *report, struct error *err)
{
    check_files(check);
    check_count(check);
    if (check->count == 0)
        return true;
    check_times(check);
    check_seeds(check);
    if (!check_same(check, err))
        return false;
    check_runs(check);
    if (!check_result(check, report, err))
        return false;
    check_storage(check);
    return check_each(check, err) && check_separate(check, err) &&
           check_phase(check, "datagen", "generated", err) &&
           (check->place->edition == RULES_V2 || check_phase(check, "datasize", "datasize", err)) &&
           check_description(check, err) && check_code(check, err);
}

bool submit_check(const struct submission *submission, struct submit_report *report, struct error *err)
{
    const struct check check = {submission,        submission->place, submission->runs,
                                submission->count, &report->rules,    submission->arena};
    *report =
        (struct submit_report){.rules = {.category = RULES_CLOSED, .edition = submission->place->edition},
                               .runs = submission->count > 0 ? submission->count - 1 : 0,
                               .samples_per_second = (double)NAN,
                               .au = (double)NAN};
    if (!check_all(&check, report, err))
        return false;
    if (report->rules.failed > 0)
        report->rules.category = RULES_INVALID;
    return true;
}
