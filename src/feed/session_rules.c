/* The rules of MLPerf Storage v2.0 (mlcommons/storage, Submission_guidelines.md; section numbers are its),
 * as far as the figures of one run can check them: each passes, fails or is unknown, with a sentence that
 * names the figure. */
#include "feed/session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GIB          (1024.0 * 1024 * 1024)
#define RUNS         5
#define MIN_STEPS    500 /* per epoch */
#define MEMORY_RATIO 5   /* minimum ratio of the data set to the hosts' memory */
#define CHECKPOINTS  10
#define MAX_NAME     128

/* Section 2.1, table 1. */
static const struct known_workload {
    const char *name;
    double au;
} workloads[] = {{"unet3d", 0.9}, {"resnet50", 0.9}, {"cosmoflow", 0.7}};

/* Section 2.2.1, table 2: processes are TP·PP·DP. */
static const struct known_model {
    const char *name;
    int processes, unit; /* TP·PP: OPEN allows multiples of it */
} models[] = {{"8b", 8, 1}, {"70b", 64, 8}, {"405b", 512, 256}, {"1t", 1024, 512}};

/* Section 10.1, table 2, and the keys that benchmark.py itself sets for each run. */
static const char *const closed[] = {
    "dataset.num_files_train",
    "dataset.num_subfolders_train",
    "dataset.data_folder",
    "reader.read_threads",
    "reader.computation_threads",
    "reader.transfer_size",
    "reader.prefetch_size",
    "reader.odirect",
    "checkpoint.checkpoint_folder",
    "storage.storage_root",
    "storage.storage_type",
    "train.seed",
    "workflow.generate_data",
    "output.folder",
    "output.log_file",
};

/* Section 10.2, and the names of classes for data loaders of one's own. */
static const char *const open[] = {
    "framework",          "dataset.format",          "dataset.num_samples_per_file",
    "reader.data_loader", "reader.reader_classname", "reader.data_loader_classname",
};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static void find(struct rules_report *report, const char *rule, const char *section,
                 enum rules_verdict verdict, const char *format, ...) __attribute__((format(printf, 5, 6)));

static void find(struct rules_report *report, const char *rule, const char *section,
                 enum rules_verdict verdict, const char *format, ...)
{
    if (report->count == RULES_MAX_FINDINGS)
        return;
    struct rules_finding *finding = &report->findings[report->count++];
    va_list args;
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    finding->rule = rule;
    finding->section = section;
    finding->verdict = verdict;
    report->failed += verdict == RULES_FAIL;
    report->unknown += verdict == RULES_UNKNOWN;
}

static enum rules_verdict pass_if(bool passed)
{
    return passed ? RULES_PASS : RULES_FAIL;
}

/* "unet3d" is the workload of "unet3d_h100". */
static const struct known_workload *workload_of(const char *name)
{
    for (int i = 0; i < COUNT(workloads); i++) {
        size_t length = strlen(workloads[i].name);
        if (strncmp(name, workloads[i].name, length) == 0 && (name[length] == 0 || name[length] == '_'))
            return &workloads[i];
    }
    return NULL;
}

static bool contains(const char *const *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool is_prefetch_allowed(const char *value)
{
    return strcmp(value, "0") == 0 || strcmp(value, "1") == 0 || strcmp(value, "2") == 0;
}

/* Returns true if CLOSED allows the change; else `why` gets the reason. */
static bool is_closed(const char *name, const char *value, bool unet3d, char why[192])
{
    if (!contains(closed, COUNT(closed), name))
        snprintf(why, 192, "%s may not be changed, neither in CLOSED nor in OPEN", name);
    else if (strcmp(name, "reader.prefetch_size") == 0 && !is_prefetch_allowed(value))
        snprintf(why, 192, "reader.prefetch_size is %.16s, expected 0, 1 or 2", value);
    else if (strcmp(name, "reader.odirect") == 0 && !unet3d)
        snprintf(why, 192, "reader.odirect may be changed for unet3d only");
    else
        return true;
    return false;
}

/* Splits an override into its key and its value; "data_reader" is an old name of "reader". */
static const char *split(const char *override, char name[MAX_NAME])
{
    static const char old[] = "data_reader.";
    const char *text = workload_override_plain(override), *equals = strchrnul(text, '=');
    bool renamed = text_starts_with(text, old);
    text += renamed ? sizeof old - 1 : 0;
    snprintf(name, MAX_NAME, "%s%.*s", renamed ? "reader." : "", (int)(equals - text), text);
    return *equals ? equals + 1 : "";
}

static void check_parameters(const struct session_options *options, bool unet3d, struct rules_report *report)
{
    char name[MAX_NAME], opened[MAX_NAME] = "", why[192] = "", first[192];
    int wrong = 0;
    for (int i = 0; i < options->override_count; i++) {
        const char *value = split(options->overrides[i], name);
        if (contains(open, COUNT(open), name))
            memcpy(opened, name, sizeof opened);
        else if (!is_closed(name, value, unet3d, why) && wrong++ == 0)
            memcpy(first, why, sizeof first);
    }
    if (opened[0])
        report->category = RULES_OPEN;
    if (wrong > 1)
        find(report, "parameters", "10", RULES_FAIL, "%s; and %d others", first, wrong - 1);
    else if (wrong == 1)
        find(report, "parameters", "10", RULES_FAIL, "%s", first);
    else if (opened[0])
        find(report, "parameters", "10.2", RULES_PASS, "%s may only be changed in OPEN", opened);
    else
        find(report, "parameters", "10.1", RULES_PASS, "%d parameters changed, all allowed in CLOSED",
             options->override_count);
}

static void check_dataset(const struct session *session, struct rules_report *report)
{
    const struct workload *workload = session->options.run.workload;
    double memory = 0, samples = (double)session->layout.samples_per_file;
    int accelerators = session->run.whole.options.accelerators;
    int64_t batch = workload->reader.batch_size, files = session->layout.files_train;
    for (int i = 0; i < session->host_count; i++)
        memory += (double)session->hosts[i].memory;
    double by_steps = (double)MIN_STEPS * (double)batch * (double)accelerators;
    double by_memory = MEMORY_RATIO * memory / workload->dataset.record_length_bytes;
    int64_t min = (int64_t)ceil(fmax(by_steps, by_memory) / samples);
    find(report, "dataset-size", "7", pass_if(files >= min),
         "%lld files, at least %lld needed: the larger of %d steps of %lld samples on %d accelerators "
         "and %d times the %.1f GiB of the hosts' memory",
         (long long)files, (long long)min, MIN_STEPS, (long long)batch, accelerators, MEMORY_RATIO,
         memory / GIB);
}

static void check_hosts(const struct session *session, struct rules_report *report)
{
    const struct session_host *hosts = session->hosts, *other = hosts, *poorest = hosts;
    double min = (double)INFINITY;
    for (int i = 0; i < session->host_count; i++) {
        int accelerators = hosts[i].accelerators > 0 ? hosts[i].accelerators : 1;
        double own = (double)hosts[i].memory / GIB / accelerators;
        if (other == hosts && hosts[i].accelerators != hosts[0].accelerators)
            other = &hosts[i];
        if (own < min) {
            poorest = &hosts[i];
            min = own;
        }
    }
    if (other != hosts)
        find(report, "equal-hosts", "9", RULES_FAIL,
             "%d accelerators on %s and %d on %s: every host needs the same number", hosts[0].accelerators,
             hosts[0].name, other->accelerators, other->name);
    else
        find(report, "equal-hosts", "9", RULES_PASS, "%d accelerators on each of %d hosts",
             hosts[0].accelerators, session->host_count);
    find(report, "host-memory", "8", pass_if(min >= 0.5),
         "%.2f GiB of memory per accelerator on %s, 0.5 needed", min, poorest->name);
}

/* What one run cannot show is unknown. */
static void check_runs(const struct session *session, const struct known_workload *known,
                       struct rules_report *report)
{
    struct metrics_figures figures = {0};
    struct error ignored;
    metrics_figures(&session->run.whole, METRICS_TRAIN, METRICS_RUN, &figures, &ignored);
    find(report, "warm-up", "6.6", RULES_UNKNOWN, "one run cannot show whether a warm-up run preceded it");
    find(report, "runs", "3", RULES_UNKNOWN, "1 of %d runs: the result is the mean of %d consecutive runs",
         RUNS, RUNS);
    find(report, "seeds", "6.6", RULES_UNKNOWN, "one run cannot show whether the seed changes between runs");
    if (known)
        find(report, "au", "4", pass_if(figures.au >= known->au),
             "AU of run 1 is %.2f %%, at least %.0f %% needed", 100 * figures.au, 100 * known->au);
    find(report, "replicable", "6.7", RULES_UNKNOWN, "one run cannot show whether all are within 5 %%");
}

/* "8b" is the model of "llama_8b_zero3" and "llama3-8b", not of "llama_108b". */
static const struct known_model *model_of(const char *name)
{
    for (int i = 0; i < COUNT(models); i++) {
        const char *at = strstr(name, models[i].name);
        if (!at)
            continue;
        char before = at == name ? '_' : at[-1], behind = at[strlen(models[i].name)];
        if ((before == '_' || before == '-') && (behind == 0 || behind == '_' || behind == '-'))
            return &models[i];
    }
    return NULL;
}

static void check_processes(const struct session *session, const struct known_model *model,
                            struct rules_report *report)
{
    const struct session_host *fewest = session->hosts;
    bool subset = session->options.run.workload->checkpoint.mode == WORKLOAD_CHECKPOINT_SUBSET;
    int processes = 0, wanted = subset ? 8 : model ? model->processes : 0;
    for (int i = 0; i < session->host_count; i++) {
        processes += session->hosts[i].accelerators;
        if (session->hosts[i].accelerators < fewest->accelerators)
            fewest = &session->hosts[i];
    }
    if (model && !subset && processes > wanted && processes % model->unit == 0) {
        report->category = RULES_OPEN;
        find(report, "processes", "2.2.5", RULES_PASS,
             "%d processes (a multiple of %d) are allowed in OPEN; CLOSED needs %d", processes, model->unit,
             wanted);
    } else if (model) {
        find(report, "processes", "2.2.1", pass_if(processes == wanted),
             "%d processes save %s; %s mode needs %d", processes, model->name, subset ? "subset" : "default",
             wanted);
    }
    find(report, "processes-per-host", "2.2.5", pass_if(fewest->accelerators >= 4),
         "%d processes on %s, at least 4 needed", fewest->accelerators, fewest->name);
}

static void check_checkpoints(const struct session *session, const char *name, struct rules_report *report)
{
    const struct workload_checkpoint *checkpoint = &session->options.run.workload->checkpoint;
    const struct known_model *model = model_of(name);
    int64_t writes = checkpoint->num_checkpoints_write, reads = checkpoint->num_checkpoints_read;
    bool cleared = session->options.run.drop != RUN_DROP_NOTHING;
    find(report, "model", "2.2.1", pass_if(model != NULL), "%s is %sone of 8b, 70b, 405b and 1t", name,
         model ? "" : "not ");
    check_parameters(&session->options, false, report);
    check_processes(session, model, report);
    find(report, "writes", "2.2.5", pass_if(writes == CHECKPOINTS), "%lld checkpoints written, %d needed",
         (long long)(writes > 0 ? writes : 0), CHECKPOINTS);
    find(report, "reads", "2.2.5", pass_if(reads == CHECKPOINTS), "%lld checkpoints read, %d needed",
         (long long)(reads > 0 ? reads : 0), CHECKPOINTS);
    find(report, "fsync", "2.2.2", pass_if(checkpoint->fsync), "%s: fsync after each write",
         checkpoint->fsync ? "yes" : "no");
    find(report, "cache-cleared", "2.2.2", pass_if(cleared),
         "%s: the page cache is cleared between writes and reads", cleared ? "yes" : "no");
}

void session_check_rules(struct session *session)
{
    const struct workload *workload = session->options.run.workload;
    struct rules_report *report = &session->rules;
    /* a file is known by the model in it */
    const char *name = strpbrk(workload->name, "./") ? workload->model.name : workload->name;
    *report = (struct rules_report){.category = RULES_CLOSED};
    session->has_rules = true;
    if (workload->workflow.train) {
        const struct known_workload *known = workload_of(name);
        find(report, "workload", "2.1", pass_if(known != NULL),
             "%s is %sone of unet3d, resnet50 and cosmoflow", name, known ? "" : "not ");
        check_parameters(&session->options, known == &workloads[0], report);
        check_dataset(session, report);
        check_hosts(session, report);
        check_runs(session, known, report);
    } else {
        check_checkpoints(session, name, report);
    }
    if (report->failed > 0)
        report->category = RULES_INVALID;
}

const char *rules_verdict_name(enum rules_verdict verdict)
{
    static const char *const names[] = {"pass", "fail", "unknown"};
    return names[verdict];
}

const char *rules_category_name(enum rules_category category)
{
    static const char *const names[] = {"closed", "open", "invalid"};
    return names[category];
}
