#include "feed/result/rules.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

/* Section 2.1, table 1. */
static const struct workload {
    const char *name;
    double au;
} workloads[] = {{"unet3d", 0.9}, {"resnet50", 0.9}, {"cosmoflow", 0.7}};

/* Section 2.2.1, table 2: processes are TP·PP·DP. Names are found at the end of what is given. */
static const struct model {
    const char *name;
    int processes, unit; /* TP·PP: OPEN allows multiples of it */
} models[] = {{"8b", 8, 1}, {"70b", 64, 8}, {"405b", 512, 256}, {"1t", 1024, 512}};

/* Section 10.1, table 2, with what benchmark.py itself sets for each run: seed, folders of output, what to do. */
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

/* Section 10.2: a data loader of one's own is named by its class. */
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
static const struct workload *workload_of(const char *name)
{
    for (int i = 0; i < COUNT(workloads); i++) {
        size_t length = strlen(workloads[i].name);
        if (strncmp(name, workloads[i].name, length) == 0 && (name[length] == 0 || name[length] == '_'))
            return &workloads[i];
    }
    return NULL;
}

double rules_au(const char *workload)
{
    const struct workload *known = workload_of(workload);
    return known ? known->au : 0;
}

int64_t rules_minimum_files(int64_t batch, int64_t accelerators, double memory, double record_length,
                            int64_t samples_per_file)
{
    double by_steps = (double)RULES_STEPS * (double)batch * (double)accelerators;
    double by_memory = RULES_MEMORY * memory / record_length;
    return (int64_t)ceil(fmax(by_steps, by_memory) / (double)samples_per_file);
}

static bool contains(const char *const *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static const char *after(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : name;
}

/* Without "workload."; "data_reader" is an old name of "reader". */
static void plain_name(const char *name, char plain[128])
{
    name = after(name, "workload.");
    const char *reader = after(name, "data_reader.");
    snprintf(plain, 128, "%s%s", reader != name ? "reader." : "", reader);
}

static bool is_prefetch_allowed(const char *value)
{
    return strcmp(value, "0") == 0 || strcmp(value, "1") == 0 || strcmp(value, "2") == 0;
}

/* Of one that is not among what OPEN allows besides. */
static bool is_closed(const char *name, const char *value, bool unet3d, char why[192])
{
    if (!contains(closed, COUNT(closed), name))
        snprintf(why, 192, "%s may not be changed, neither in CLOSED nor in OPEN", name);
    else if (strcmp(name, "reader.prefetch_size") == 0 && !is_prefetch_allowed(value))
        snprintf(why, 192, "reader.prefetch_size is %.16s, allowed are 0, 1 and 2", value);
    else if (strcmp(name, "reader.odirect") == 0 && !unet3d)
        snprintf(why, 192, "reader.odirect may be changed for unet3d only");
    else
        return true;
    return false;
}

static void check_parameters(const struct rules_parameter *parameters, int count, bool unet3d,
                             struct rules_report *report)
{
    char name[128], opened[128] = "", why[192] = "", first[192];
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        plain_name(parameters[i].name, name);
        if (contains(open, COUNT(open), name))
            memcpy(opened, name, sizeof opened);
        else if (!is_closed(name, parameters[i].value, unet3d, why) && wrong++ == 0)
            memcpy(first, why, sizeof first);
    }
    if (opened[0])
        report->category = RULES_OPEN;
    if (wrong > 1)
        find(report, "parameters", "10", RULES_FAIL, "%s; and %d others", first, wrong - 1);
    else if (wrong == 1)
        find(report, "parameters", "10", RULES_FAIL, "%s", first);
    else if (opened[0])
        find(report, "parameters", "10.2", RULES_PASS, "%s may be changed in OPEN only", opened);
    else
        find(report, "parameters", "10.1", RULES_PASS,
             "%d parameters were changed, all of which CLOSED allows", count);
}

static int accelerators_of(const struct rules_host *hosts, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += hosts[i].accelerators;
    return sum;
}

static void check_dataset(const struct rules_training *facts, struct rules_report *report)
{
    double memory = 0;
    int accelerators = accelerators_of(facts->hosts, facts->host_count);
    for (int i = 0; i < facts->host_count; i++)
        memory += (double)facts->hosts[i].memory;
    int64_t least = rules_minimum_files(facts->batch, accelerators, memory, facts->record_length,
                                        facts->samples_per_file);
    find(report, "dataset-size", "7", pass_if(facts->files >= least),
         "%lld files, at least %lld are needed: the greater of %d steps of %lld samples on %d accelerators "
         "and %d times "
         "the %.1f GiB of the hosts' memory",
         (long long)facts->files, (long long)least, RULES_STEPS, (long long)facts->batch, accelerators,
         RULES_MEMORY, memory / GIB);
}

static void check_equal_hosts(const struct rules_host *hosts, int count, struct rules_report *report)
{
    for (int i = 1; i < count; i++)
        if (hosts[i].accelerators != hosts[0].accelerators) {
            find(report, "equal-hosts", "9", RULES_FAIL,
                 "%d accelerators on %s and %d on %s: must be as many on every host", hosts[0].accelerators,
                 hosts[0].name, hosts[i].accelerators, hosts[i].name);
            return;
        }
    find(report, "equal-hosts", "9", RULES_PASS, "%d accelerators on each of %d hosts",
         count > 0 ? hosts[0].accelerators : 0, count);
}

/* The host with the least memory per accelerator. */
static void check_memory(const struct rules_host *hosts, int count, struct rules_report *report)
{
    const struct rules_host *least = NULL;
    double per_accelerator = 0;
    for (int i = 0; i < count; i++) {
        double own = (double)hosts[i].memory / GIB / (hosts[i].accelerators > 0 ? hosts[i].accelerators : 1);
        if (!least || own < per_accelerator) {
            least = &hosts[i];
            per_accelerator = own;
        }
    }
    if (least)
        find(report, "host-memory", "8", pass_if(per_accelerator >= 0.5),
             "%.2f GiB of memory per accelerator on %s, 0.5 are needed", per_accelerator, least->name);
}

static void check_runs(const struct rules_training *facts, struct rules_report *report)
{
    enum rules_verdict warm =
        facts->warmed_up == RULES_NOT_KNOWN ? RULES_UNKNOWN : pass_if(facts->warmed_up == RULES_YES);
    find(report, "warm-up", "6.6", warm, "%s",
         warm == RULES_UNKNOWN ? "not known whether there was a run before the first"
         : warm == RULES_PASS  ? "there was a run before the first"
                               : "there was no run before the first");
    find(report, "runs", "3",
         facts->run_count < RULES_RUNS ? RULES_UNKNOWN : pass_if(facts->run_count == RULES_RUNS),
         "%d of %d runs: the result is the mean of %d, one after the other", facts->run_count, RULES_RUNS,
         RULES_RUNS);
}

static void check_seeds(const struct rules_training *facts, struct rules_report *report)
{
    for (int i = 0; i < facts->run_count; i++)
        for (int j = 0; j < i; j++)
            if (facts->runs[i].seed == facts->runs[j].seed) {
                find(report, "seeds", "6.6", RULES_FAIL, "runs %d and %d have the same seed, %lld", j + 1,
                     i + 1, (long long)facts->runs[i].seed);
                return;
            }
    if (facts->run_count < 2)
        find(report, "seeds", "6.6", RULES_UNKNOWN, "the seed must change from run to run, and there is %d",
             facts->run_count);
    else
        find(report, "seeds", "6.6", RULES_PASS, "%d runs have %d seeds", facts->run_count, facts->run_count);
}

static void check_au(const struct rules_training *facts, double target, struct rules_report *report)
{
    if (facts->run_count == 0) {
        find(report, "au", "4", RULES_UNKNOWN, "there was no run");
        return;
    }
    int worst = 0;
    for (int i = 1; i < facts->run_count; i++)
        if (!(facts->runs[i].au >= facts->runs[worst].au))
            worst = i;
    find(report, "au", "4", pass_if(facts->runs[worst].au >= target),
         "AU of run %d is %.2f %%, at least %.0f %% is needed", worst + 1, 100 * facts->runs[worst].au,
         100 * target);
}

static void check_replicable(const struct rules_training *facts, struct rules_report *report)
{
    double mean = 0, farthest = 0;
    int which = 0;
    for (int i = 0; i < facts->run_count; i++)
        mean += facts->runs[i].samples_per_second / facts->run_count;
    for (int i = 0; i < facts->run_count; i++) {
        double distance = fabs(facts->runs[i].samples_per_second / mean - 1);
        if (!(distance <= farthest)) {
            farthest = distance;
            which = i;
        }
    }
    if (facts->run_count < 2)
        find(report, "replicable", "6.7", RULES_UNKNOWN,
             "one run does not tell whether others are within 5 %%");
    else
        find(report, "replicable", "6.7", pass_if(farthest <= 0.05),
             "run %d is %.1f %% from the mean of %.2f samples/s, 5 %% are allowed", which + 1, 100 * farthest,
             mean);
}

static void conclude(struct rules_report *report)
{
    if (report->failed > 0)
        report->category = RULES_INVALID;
}

void rules_check_training(const struct rules_training *facts, struct rules_report *report)
{
    const struct workload *workload = workload_of(facts->workload);
    *report = (struct rules_report){.category = RULES_CLOSED};
    find(report, "workload", "2.1", pass_if(workload != NULL),
         "%s is %sone of unet3d, resnet50 and cosmoflow", facts->workload, workload ? "" : "not ");
    check_parameters(facts->parameters, facts->parameter_count, workload == &workloads[0], report);
    check_dataset(facts, report);
    check_equal_hosts(facts->hosts, facts->host_count, report);
    check_memory(facts->hosts, facts->host_count, report);
    check_runs(facts, report);
    check_seeds(facts, report);
    if (workload)
        check_au(facts, workload->au, report);
    check_replicable(facts, report);
    conclude(report);
}

/* "8b" is the model of "llama_8b_zero3" and "llama3-8b", not of "llama_108b". */
static const struct model *model_of(const char *name)
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

static void check_processes(const struct rules_checkpointing *facts, const struct model *model,
                            struct rules_report *report)
{
    int processes = accelerators_of(facts->hosts, facts->host_count);
    int wanted = facts->subset ? 8 : model->processes;
    bool allowed = processes == wanted;
    if (!allowed && !facts->subset && processes > wanted && processes % model->unit == 0) {
        report->category = RULES_OPEN;
        find(report, "processes", "2.2.5", RULES_PASS,
             "%d processes, a multiple of %d, may be in OPEN; CLOSED has %d", processes, model->unit, wanted);
        return;
    }
    find(report, "processes", "2.2.1", pass_if(allowed), "%d processes save %s, in %s mode %d are needed",
         processes, model->name, facts->subset ? "subset" : "default", wanted);
}

static void check_processes_per_host(const struct rules_checkpointing *facts, struct rules_report *report)
{
    const struct rules_host *least = NULL;
    for (int i = 0; i < facts->host_count; i++)
        if (!least || facts->hosts[i].accelerators < least->accelerators)
            least = &facts->hosts[i];
    if (least)
        find(report, "processes-per-host", "2.2.5", pass_if(least->accelerators >= 4),
             "%d processes on %s, at least 4 are needed", least->accelerators, least->name);
}

static void check_answer(const char *rule, enum rules_answer answer, const char *what,
                         struct rules_report *report)
{
    find(report, rule, "2.2.2", answer == RULES_NOT_KNOWN ? RULES_UNKNOWN : pass_if(answer == RULES_YES),
         "%s%s",
         answer == RULES_NOT_KNOWN ? "not known: "
         : answer == RULES_NO      ? "no: "
                                   : "yes: ",
         what);
}

void rules_check_checkpointing(const struct rules_checkpointing *facts, struct rules_report *report)
{
    const struct model *model = model_of(facts->model);
    *report = (struct rules_report){.category = RULES_CLOSED};
    find(report, "model", "2.2.1", pass_if(model != NULL), "%s is %sone of 8b, 70b, 405b and 1t",
         facts->model, model ? "" : "not ");
    check_parameters(facts->parameters, facts->parameter_count, false, report);
    if (model)
        check_processes(facts, model, report);
    check_processes_per_host(facts, report);
    find(report, "writes", "2.2.5", pass_if(facts->writes == RULES_CHECKPOINTS),
         "%d checkpoints written, %d are needed", facts->writes, RULES_CHECKPOINTS);
    find(report, "reads", "2.2.5", pass_if(facts->reads == RULES_CHECKPOINTS),
         "%d checkpoints read, %d are needed", facts->reads, RULES_CHECKPOINTS);
    check_answer("fsync", facts->synced, "fsync after each write", report);
    check_answer("cache-cleared", facts->cache_cleared, "the page cache is cleared between writes and reads",
                 report);
    conclude(report);
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

void rules_write_json(const struct rules_report *report, struct json *json, const char *key)
{
    json_open(json, key, '{');
    json_string(json, "rules", "MLPerf Storage v2.0");
    json_string(json, "category", rules_category_name(report->category));
    json_integer(json, "failed", report->failed);
    json_integer(json, "unknown", report->unknown);
    json_open(json, "findings", '[');
    for (int i = 0; i < report->count; i++) {
        const struct rules_finding *finding = &report->findings[i];
        json_open(json, NULL, '{');
        json_string(json, "rule", finding->rule);
        json_string(json, "section", finding->section);
        json_string(json, "verdict", rules_verdict_name(finding->verdict));
        json_string(json, "text", finding->text);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}
