/* The rules of MLPerf Storage v2.0 (mlcommons/storage, Submission_guidelines.md; section numbers are its) and v3.0
 * (Rules.md, which gives the same limits), as far as the figures of one run can check them: each passes, fails or is
 * unknown, with a sentence that names the figure. A submission's are in feed/submit. */
#include "feed/session.h"

#include "names.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define GIB          (1024.0 * 1024 * 1024)
#define MIN_STEPS    500 /* per epoch */
#define MEMORY_RATIO 5   /* minimum ratio of the data set to the hosts' memory */
#define CHECKPOINTS  10

/* Section 2.1, table 1, and section 2.2.1, table 2; of v3.0 rule 2.1.11 and mlpstorage_py/rules/editions.yaml: the
 * benchmarks, and the built-in workloads that are them. */
static const struct benchmark {
    const char *model, *workload;
    double au;                 /* of training; 0: of checkpoints, */
    int processes, unit, data; /* TP·PP·DP; TP·PP, of which OPEN allows multiples; DP */
    enum rules_edition edition;
} benchmarks[] = {
    {.model = "unet3d", .workload = "unet3d_h100", .au = 0.9},
    {.model = "unet3d", .workload = "unet3d_a100", .au = 0.9},
    {.model = "resnet50", .workload = "resnet50_h100", .au = 0.9},
    {.model = "resnet50", .workload = "resnet50_a100", .au = 0.9},
    {.model = "cosmoflow", .workload = "cosmoflow_h100", .au = 0.7},
    {.model = "cosmoflow", .workload = "cosmoflow_a100", .au = 0.7},
    {.model = "unet3d", .workload = "unet3d_b200", .au = 0.9, .edition = RULES_V3},
    {.model = "retinanet", .workload = "retinanet_b200", .au = 0.85, .edition = RULES_V3},
    {.model = "retinanet", .workload = "retinanet_mi355", .au = 0.85, .edition = RULES_V3},
    {.model = "llama_8b", .workload = "llama_8b_zero3", .processes = 8, .unit = 1, .data = 8},
    {.model = "llama_70b", .workload = "llama_70b_zero3", .processes = 64, .unit = 8, .data = 8},
    {.model = "llama_405b", .workload = "llama_405b", .processes = 512, .unit = 256, .data = 2},
    {.model = "llama_1t", .workload = "llama_1t", .processes = 1024, .unit = 512, .data = 2},
};

enum allowance {
    ALLOWED_NEVER,
    ALLOWED_OPEN,
    ALLOWED,
    ALLOWED_PREFETCH,
    ALLOWED_UNET3D,
    ALLOWED_DATA,
    ALLOWED_NAME
};

/* The keys that may differ from the benchmark's. No other may: neither in CLOSED nor in OPEN. */
static const struct allowed_key {
    const char *path;
    enum allowance allowance;
} allowed_keys[] = {ROWS_allowed_key};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

void rules_find(struct rules_report *report, const char *rule, const char *section,
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

/* ---- the workload, compared with that of the benchmark ---- */

/* The differences from one benchmark. */
struct difference {
    const struct benchmark *benchmark;
    const char *opened;
    char first[192];   /* a key that may differ in OPEN; one that may not, with both values */
    int wrong, closed; /* keys that may not differ, and that may in CLOSED */
};

static bool is_named(const struct workload *workload, const struct benchmark *benchmark)
{
    return strcasecmp(workload->name, benchmark->workload) == 0 ||
           strcasecmp(workload->model.name, benchmark->model) == 0 ||
           strcasecmp(workload->model.name, benchmark->workload) == 0;
}

/* May a key differ from the benchmark's? */
static enum allowance allowance_of(const struct workload *workload, const struct benchmark *benchmark,
                                   const struct workload_key *key)
{
    int at = 0;
    while (at < COUNT(allowed_keys) && strcmp(allowed_keys[at].path, key->path) != 0)
        at++;
    bool allowed = false;
    switch (at < COUNT(allowed_keys) ? allowed_keys[at].allowance : ALLOWED_NEVER) {
    case ALLOWED:
        allowed = true;
        break;
    case ALLOWED_OPEN:
        return ALLOWED_OPEN;
    case ALLOWED_PREFETCH:
        allowed = workload->reader.prefetch_size <= 2;
        break;
    case ALLOWED_UNET3D:
        allowed = strcmp(benchmark->model, "unet3d") == 0;
        break;
    case ALLOWED_DATA:
        allowed = benchmark->data > 0 && workload->model.split.data == benchmark->data;
        break;
    case ALLOWED_NAME:
        allowed = is_named(workload, benchmark) && strcasecmp(workload->name, benchmark->workload) != 0;
        break;
    case ALLOWED_NEVER:
        break;
    }
    return allowed ? ALLOWED : ALLOWED_NEVER;
}

/* Writes the value on one line. */
static void write_value(const struct workload *workload, const struct workload_key *key, struct text *out)
{
    struct json json = {.out = out};
    workload_write_value(workload, key, &json, NULL);
    for (char *at = out->data; at && *at; at++)
        *at = *at == '\n' ? ' ' : *at;
}

static void compare_key(const struct workload *workload, const struct workload *reference,
                        const struct workload_key *key, struct difference *difference)
{
    struct text ours = {0}, theirs = {0};
    write_value(workload, key, &ours);
    write_value(reference, key, &theirs);
    bool same = ours.data && theirs.data && strcmp(ours.data, theirs.data) == 0;
    enum allowance allowance = same ? ALLOWED : allowance_of(workload, difference->benchmark, key);
    if (allowance == ALLOWED_OPEN && !difference->opened)
        difference->opened = key->path;
    else if (allowance != ALLOWED_NEVER)
        difference->closed += allowance == ALLOWED && !same;
    else if (difference->wrong++ == 0)
        snprintf(difference->first, sizeof difference->first, "%s is %.48s, %s has %.48s%s", key->path,
                 ours.data ? ours.data : "?", difference->benchmark->workload,
                 theirs.data ? theirs.data : "?",
                 strcmp(key->path, "reader.prefetch_size") == 0 ? ", CLOSED allows 0, 1 and 2"
                 : strcmp(key->path, "reader.odirect") == 0     ? ", CLOSED allows it for unet3d"
                                                                : "");
    text_release(&ours);
    text_release(&theirs);
}

static bool compare(const struct workload *workload, const struct benchmark *benchmark,
                    struct difference *difference, struct error *err)
{
    struct workload reference;
    int count;
    const struct workload_key *keys = workload_keys(&count);
    *difference = (struct difference){.benchmark = benchmark};
    if (!workload_open(&reference, benchmark->workload, NULL, err))
        return false;
    for (int i = 0; i < count; i++)
        compare_key(workload, &reference, &keys[i], difference);
    workload_release(&reference);
    return true;
}

/* Compares the workload, wherever its values were set, with the benchmark of its name; of several, or without one,
 * with that from which it differs least. */
static bool compare_nearest(const struct workload *workload, struct difference *nearest, struct error *err)
{
    bool train = workload->workflow.train, named = false, exact = false;
    for (int i = 0; i < COUNT(benchmarks); i++)
        if (train == (benchmarks[i].au > 0)) {
            named |= is_named(workload, &benchmarks[i]);
            exact |= strcasecmp(workload->name, benchmarks[i].workload) == 0;
        }
    *nearest = (struct difference){0};
    for (int i = 0; i < COUNT(benchmarks); i++) {
        struct difference difference;
        if (train != (benchmarks[i].au > 0) || (named && !is_named(workload, &benchmarks[i])) ||
            (exact && strcasecmp(workload->name, benchmarks[i].workload) != 0))
            continue;
        if (!compare(workload, &benchmarks[i], &difference, err))
            return false;
        if (!nearest->benchmark || difference.wrong < nearest->wrong)
            *nearest = difference;
    }
    return true;
}

static void check_parameters(const struct workload *workload, const struct difference *difference,
                             struct rules_report *report)
{
    char others[32] = "";
    if (difference->wrong > 1)
        snprintf(others, sizeof others, "; and %d other key%s", difference->wrong - 1,
                 difference->wrong > 2 ? "s" : "");
    if (difference->opened)
        report->category = RULES_OPEN;
    if (workload->unknown_keys > 0)
        rules_find(report, "parameters", "10", RULES_FAIL, "%d unknown key%s in the workload",
                   workload->unknown_keys, workload->unknown_keys > 1 ? "s" : "");
    else if (difference->wrong > 0)
        rules_find(report, "parameters", "10", RULES_FAIL, "%s%s", difference->first, others);
    else if (difference->opened)
        rules_find(report, "parameters", "10.2", RULES_PASS, "%s may only be changed in OPEN",
                   difference->opened);
    else
        rules_find(report, "parameters", "10.1", RULES_PASS, "%d keys differ from %s, all allowed in CLOSED",
                   difference->closed, difference->benchmark->workload);
}

/* The data set may have been made by another workload, and options change a run without a key. */
static void check_run(const struct rules_facts *facts, struct rules_report *report)
{
    const struct workload_dataset *data = &facts->workload->dataset;
    const struct dataset_layout *layout = facts->layout;
    const struct {
        const char *key;
        double found, wanted;
    } values[] = {
        {"dataset.num_samples_per_file", (double)layout->samples_per_file,
         (double)data->num_samples_per_file},
        {"dataset.record_length_bytes", layout->record_bytes, data->record_length_bytes},
        {"dataset.record_length_bytes_stdev", layout->record_bytes_stdev, data->record_length_bytes_stdev},
        {"dataset.compressibility", layout->compressibility, data->compressibility},
    };
    for (int i = 0; facts->found && i < COUNT(values); i++)
        if (values[i].found != values[i].wanted) {
            rules_find(report, "data-set", "7", RULES_FAIL,
                       "%s is %.10g in the data set, %.10g in the workload", values[i].key, values[i].found,
                       values[i].wanted);
            break;
        }
    if (facts->option)
        rules_find(report, "options", "10", RULES_FAIL, "%s changes what the benchmark does", facts->option);
}

static void check_dataset(const struct rules_facts *facts, struct rules_report *report)
{
    const struct workload *workload = facts->workload;
    double memory = 0, samples = (double)facts->layout->samples_per_file;
    int accelerators = facts->accelerators;
    int64_t batch = workload->reader.batch_size, files = facts->layout->files_train;
    for (int i = 0; i < facts->host_count; i++)
        memory += (double)facts->hosts[i].memory;
    double by_steps = (double)MIN_STEPS * (double)batch * (double)accelerators;
    double by_memory = MEMORY_RATIO * memory / workload->dataset.record_length_bytes;
    int64_t min = (int64_t)ceil(fmax(by_steps, by_memory) / samples);
    rules_find(report, "dataset-size", "7", pass_if(files >= min),
               "%lld files, at least %lld needed: the larger of %d steps of %lld samples on %d accelerators "
               "and %d times the %.1f GiB of the hosts' memory",
               (long long)files, (long long)min, MIN_STEPS, (long long)batch, accelerators, MEMORY_RATIO,
               memory / GIB);
}

static void check_hosts(const struct rules_facts *facts, struct rules_report *report)
{
    const struct session_host *hosts = facts->hosts, *other = hosts, *poorest = hosts;
    double min = (double)INFINITY;
    for (int i = 0; i < facts->host_count; i++) {
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
        rules_find(report, "equal-hosts", "9", RULES_FAIL,
                   "%d accelerators on %s and %d on %s: every host needs the same number",
                   hosts[0].accelerators, hosts[0].name, other->accelerators, other->name);
    else
        rules_find(report, "equal-hosts", "9", RULES_PASS, "%d accelerators on each of %d hosts",
                   hosts[0].accelerators, facts->host_count);
    rules_find(report, "host-memory", "8", pass_if(min >= 0.5),
               "%.2f GiB of memory per accelerator on %s, 0.5 needed", min, poorest->name);
}

static void check_au(const struct rules_facts *facts, double au, struct rules_report *report)
{
    if (!isfinite(facts->au))
        rules_find(report, "au", "4", RULES_FAIL, "no step is counted: AU is not known");
    else
        rules_find(report, "au", "4", pass_if(facts->au >= au), "AU is %.2f %%, at least %.0f %% needed",
                   100 * facts->au, 100 * au);
}

/* What one run cannot show is unknown. */
static void check_runs(struct rules_report *report)
{
    rules_find(report, "warm-up", "6.6", RULES_UNKNOWN,
               "one run cannot show whether a warm-up run preceded it");
    rules_find(report, "runs", "3", RULES_UNKNOWN,
               "1 of %d runs: the result is the mean of %d consecutive runs", RULES_RUNS, RULES_RUNS);
    rules_find(report, "seeds", "6.6", RULES_UNKNOWN,
               "one run cannot show whether the seed changes between runs");
    rules_find(report, "replicable", "6.7", RULES_UNKNOWN, "one run cannot show whether all are within 5 %%");
}

static void check_processes(const struct rules_facts *facts, const struct benchmark *model,
                            struct rules_report *report)
{
    const struct session_host *fewest = facts->hosts;
    bool subset = facts->workload->checkpoint.mode == WORKLOAD_CHECKPOINT_SUBSET;
    int processes = 0, wanted = subset ? 8 : model->processes;
    for (int i = 0; i < facts->host_count; i++) {
        processes += facts->hosts[i].accelerators;
        if (facts->hosts[i].accelerators < fewest->accelerators)
            fewest = &facts->hosts[i];
    }
    if (!subset && processes > wanted && processes % model->unit == 0) {
        report->category = RULES_OPEN;
        rules_find(report, "processes", "2.2.5", RULES_PASS,
                   "%d processes (a multiple of %d) are allowed in OPEN; CLOSED needs %d", processes,
                   model->unit, wanted);
    } else {
        rules_find(report, "processes", "2.2.1", pass_if(processes == wanted),
                   "%d processes save %s; %s mode needs %d", processes, model->model,
                   subset ? "subset" : "default", wanted);
    }
    rules_find(report, "processes-per-host", "2.2.5", pass_if(fewest->accelerators >= 4),
               "%d processes on %s, at least 4 needed", fewest->accelerators, fewest->name);
}

static void check_checkpoints(const struct rules_facts *facts, const struct benchmark *model,
                              struct rules_report *report)
{
    const struct workload_checkpoint *checkpoint = &facts->workload->checkpoint;
    int64_t writes = checkpoint->num_checkpoints_write, reads = checkpoint->num_checkpoints_read;
    bool cleared = facts->cleared;
    check_processes(facts, model, report);
    rules_find(report, "writes", "2.2.5", pass_if(writes == CHECKPOINTS),
               "%lld checkpoints written, %d needed", (long long)(writes > 0 ? writes : 0), CHECKPOINTS);
    rules_find(report, "reads", "2.2.5", pass_if(reads == CHECKPOINTS), "%lld checkpoints read, %d needed",
               (long long)(reads > 0 ? reads : 0), CHECKPOINTS);
    rules_find(report, "fsync", "2.2.2", pass_if(checkpoint->fsync), "%s: fsync after each write",
               checkpoint->fsync ? "yes" : "no");
    rules_find(report, "cache-cleared", "2.2.2", pass_if(cleared),
               "%s: the page cache is cleared between writes and reads", cleared ? "yes" : "no");
}

bool rules_check(const struct rules_facts *facts, struct rules_report *report, struct error *err)
{
    const struct workload *workload = facts->workload;
    struct difference difference;
    bool train = workload->workflow.train;
    *report = (struct rules_report){.category = RULES_CLOSED};
    if (!compare_nearest(workload, &difference, err))
        return false;
    bool known = is_named(workload, difference.benchmark), built_in = !strpbrk(workload->name, "./"),
         of_a_round = workload->unknown_keys > 0 || !built_in;
    for (int i = 0; i < COUNT(benchmarks); i++)
        of_a_round |= is_named(workload, &benchmarks[i]);
    const char *name = built_in ? workload->name : workload->model.name;
    report->edition = difference.benchmark->edition;
    rules_find(report, train ? "workload" : "model", train ? "2.1" : "2.2.1", pass_if(known),
               "%s is %sone of %s", name, known ? "" : "not ",
               !train ? "llama_8b, llama_70b, llama_405b and llama_1t"
                      : "unet3d, resnet50 and cosmoflow (v2.0), unet3d and retinanet (v3.0)");
    if (of_a_round)
        check_parameters(workload, &difference, report);
    check_run(facts, report);
    if (train) {
        check_dataset(facts, report);
        check_hosts(facts, report);
        check_au(facts, difference.benchmark->au, report);
    } else {
        check_checkpoints(facts, difference.benchmark, report);
    }
    if (report->failed > 0)
        report->category = RULES_INVALID;
    return true;
}

void session_check_rules(struct session *session)
{
    const struct session_options *options = &session->options;
    const struct run_options *run = &options->run;
    struct metrics_figures figures = {0};
    struct error err, ignored;
    metrics_figures(&session->run.whole, METRICS_TRAIN, METRICS_RUN, &figures, &ignored);
    const struct rules_facts facts = {.workload = run->workload,
                                      .layout = &session->layout,
                                      .found = session->found,
                                      .hosts = session->hosts,
                                      .host_count = session->host_count,
                                      .accelerators = session->run.whole.options.accelerators,
                                      .au = figures.au,
                                      .option = options->plan             ? "--plan"
                                                : run->step.no_barrier    ? "--no-barrier"
                                                : run->step.copy_rate > 0 ? "--copy-rate"
                                                                          : NULL,
                                      .cleared = run->drop != RUN_DROP_NOTHING};
    session->has_rules = true;
    if (!rules_check(&facts, &session->rules, &err)) {
        rules_find(&session->rules, "parameters", "10", RULES_FAIL, "not compared: %s", err.text);
        session->rules.category = RULES_INVALID;
    } else if (run->workload->workflow.train) {
        check_runs(&session->rules);
    }
}

const char *const rules_verdict_words[] = {"pass", "fail", "unknown", "declared"};

const char *const rules_category_words[] = {"closed", "open", "invalid"};
