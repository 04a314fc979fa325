/* rh_submit: a warm-up and five runs of a benchmark, their documents, and all rules. The tree is in feed/submit. */
#include "feed/submit/submit.h"
#include "api/command.h"
#include "api/data/feed.h"
#include "core/caller.h"
#include "core/clock.h"
#include "core/fields.h"
#include "core/file.h"
#include "storage/storage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The seeds of a submission's runs: those of run N are the workload's own and N. */
#define SEED_STEP 1000003

/* The row of the table that is looked at by number. */
enum { SUBMIT_METHOD = 7 };

struct submit_job {
    const struct rh_submit_request *asked;
    bool given[API_MAX_OPTIONS]; /* of rh_feed */
    const struct api_call *call;
    struct comm *comm;
    struct arena arena;
    struct submit_place place;
    int64_t seed; /* of the workload */
    time_t last;  /* second in which the last run began: folders have names of seconds */
};

/* ---- what is asked ---- */

/* A name becomes a folder's (v3.0, 2.1.1). */
static bool check_folder(const char *option, const char *name, struct error *err)
{
    return (*name && *name != '.' && !strpbrk(name, "/ \t\n")) ||
           error_set(err, ERROR_USAGE, "--%s: '%.80s' cannot be the name of a folder", option, name);
}

/* Keys in another order ask for the same; of one key the last counts, so that its values keep theirs. */
static bool sort_set(struct submit_job *job, struct error *err)
{
    const struct rh_list *asked = &job->asked->set;
    const char **set = ARENA_ARRAY(&job->arena, asked->count + 1, const char *);
    if (!set)
        return error_memory(err);
    for (size_t i = 0; i < asked->count; i++) {
        size_t at = i, key = strcspn(asked->items[i], "=") + 1;
        for (; at > 0 && strncmp(set[at - 1], asked->items[i], key) > 0; at--)
            set[at] = set[at - 1];
        set[at] = asked->items[i];
    }
    job->place.set = set;
    job->place.set_count = asked->count;
    return true;
}

/* The workload of a folder or file: "unet3d_h100". */
static char *base_of(struct submit_job *job, const char *name)
{
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    return arena_copy(&job->arena, base, strcspn(base, "."));
}

/* Warns of a rule that six runs would break, before the first. */
static void warn_of(const struct submit_place *place, const char *rule, const char *text)
{
    caller_warn("%s will not be closed: %s: %s; next: %s", place->workload, rule, text, submit_next(rule));
}

static bool on_one_device(const char *data, const char *out)
{
    struct stat one, other;
    char above[4096];
    snprintf(above, sizeof above, "%s%s", *out == '/' ? "" : "./", out);
    for (char *slash; stat(above, &other) != 0 && (slash = strrchr(above, '/'));)
        *slash = '\0'; /* it is to be made below */
    return stat(data, &one) == 0 && stat(above, &other) == 0 && one.st_dev == other.st_dev;
}

/* What the workload and this host alone tell. */
static bool check_ahead(const struct submit_place *place, const struct workload *workload, struct error *err)
{
    static const char *const rules[] = {"workload", "parameters", "dataset-size"};
    const struct workload_dataset *data = &workload->dataset;
    struct dataset_layout layout = {.samples_per_file = data->num_samples_per_file,
                                    .files_train = data->num_files_train};
    struct session_host host = {.accelerators = 1,
                                .memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)};
    const struct rules_facts facts = {.workload = workload,
                                      .layout = &layout,
                                      .hosts = &host,
                                      .host_count = 1,
                                      .accelerators = (int)place->accelerators};
    struct rules_report report;
    if (!rules_check(&facts, &report, err))
        return false;
    for (int i = 0; i < report.count; i++)
        for (size_t j = 0; j < sizeof rules / sizeof *rules; j++)
            if (report.findings[i].verdict == RULES_FAIL && strcmp(report.findings[i].rule, rules[j]) == 0)
                warn_of(place, rules[j], report.findings[i].text);
    if (report.findings[0].verdict == RULES_PASS && report.edition != place->edition)
        warn_of(place, "edition", "it is no workload of this one");
    if (place->edition == RULES_V3 && on_one_device(data->data_folder, place->out))
        warn_of(place, "file-systems", "data and results are on one");
    return true;
}

static bool open_place(struct submit_job *job, const char *name, struct error *err)
{
    const struct rh_submit_request *asked = job->asked;
    struct workload workload;
    struct workload_options options = {.overrides = asked->set.items,
                                       .override_count = (int)asked->set.count};
    if (!check_folder("org", asked->org, err) || !check_folder("system-name", asked->system_name, err) ||
        !workload_open(&workload, name, &options, err))
        return false;
    bool trains = workload.workflow.train;
    job->seed = workload.train.seed;
    job->place = (struct submit_place){
        .out = asked->output,
        .org = asked->org,
        .system = asked->system_name,
        .availability = asked->availability,
        .edition = (enum rules_edition)option_index(submit_editions, asked->edition),
        .accelerators = asked->accelerators * comm_size(job->comm),
        .method = job->call->given[SUBMIT_METHOD] ? asked->method : NULL,
        .direct = asked->direct,
        .workload = base_of(job, name),
        .model = arena_string(&job->arena, workload.model.name),
    };
    bool known = !trains || !job->place.workload || comm_rank(job->comm) > 0 ||
                 check_ahead(&job->place, &workload, err);
    workload_release(&workload);
    if (!known)
        return false;
    if (!trains)
        return error_set(err, ERROR_USAGE,
                         "%s: submissions of checkpoints are not made yet, only of training", name);
    return job->place.workload && job->place.model ? sort_set(job, err) : error_memory(err);
}

/* ---- runs ---- */

/* Where runs stand that no other followed in time, they are kept aside. */
static bool set_aside(const struct submit_job *job, const struct submission *there, struct error *err)
{
    bool done = true;
    for (int i = 0; i < there->count && done; i++) {
        const struct submit_run *run = &there->runs[i];
        const char *to;
        done = submit_path(&job->place, SUBMIT_EARLIER, run->name, there->arena, &to, err) &&
               file_make_folders_of(to, err);
        if (done && rename(run->folder, to) != 0)
            done = error_set(err, ERROR_FAILED, "%s: cannot be kept as %s: %s", run->folder, to,
                             strerror(errno));
    }
    return done;
}

/* Finds the runs that are there. They count as long as the next can follow in time: sooner than the shortest took. */
static bool look(struct submit_job *job, int *count, struct error *err)
{
    struct submission there;
    struct timespec now;
    double shortest = (double)INFINITY, last = 0;
    if (!submission_open(&there, &job->place, &job->arena, err))
        return false;
    for (int i = 0; i < there.count; i++) {
        if (there.runs[i].start > (double)job->last) /* another command's may have begun in this second */
            job->last = (time_t)there.runs[i].start;
        shortest = fmin(shortest, there.runs[i].end - there.runs[i].start);
        last = fmax(last, there.runs[i].end);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    bool late = there.count > 0 && there.count < SUBMIT_RUNS &&
                !((double)now.tv_sec + 1e-9 * (double)now.tv_nsec - last < shortest);
    bool done = !late || set_aside(job, &there, err);
    *count = late ? 0 : there.count;
    submission_close(&there);
    return done;
}

/* Gives a run that is complete its name. */
static bool keep_run(struct submit_job *job, const char *work, int number, const char *report,
                     struct error *err)
{
    struct doc doc;
    char name[16];
    const char *runs, *summary = arena_format(&job->arena, "%s/summary.json", work);
    if (!summary)
        return error_memory(err);
    if (!submit_complete(&job->place, work, number, report, &job->arena, err) ||
        !doc_load_lax(&doc, summary, err))
        return false;
    submit_run_name(submit_time(submit_text(&doc, "start")), name);
    doc_release(&doc);
    char *below = arena_format(&job->arena, "run/%s", name);
    if (!below)
        return error_memory(err);
    return submit_path(&job->place, SUBMIT_PHASES, below, &job->arena, &runs, err) &&
           file_make_folders_of(runs, err) &&
           (rename(work, runs) == 0 ||
            error_set(err, ERROR_FAILED, "%s: cannot become %s: %s", work, runs, strerror(errno)));
}

static bool run_one(struct submit_job *job, const char *name, int number, bool *abandoned, struct error *err)
{
    const struct rh_submit_request *asked = job->asked;
    const char *work;
    struct rh_list words = {.items = &name, .count = 1};
    const char **set = ARENA_ARRAY(&job->arena, asked->set.count + 1, const char *);
    char *seed = arena_format(&job->arena, "train.seed=%lld",
                              (long long)((job->seed + (int64_t)number * SEED_STEP) % WORKLOAD_MAX_INTEGER));
    struct api_report *report = api_report_new(err);
    struct feed_job *feed = report ? calloc(1, sizeof *feed) : NULL;
    bool done = set && seed && feed ? submit_path(&job->place, SUBMIT_WORK, "", &job->arena, &work, err)
                                    : error_memory(err);
    while (time(NULL) == job->last)
        clock_sleep(CLOCK_SECOND / 50);
    job->last = time(NULL);
    if (done && comm_rank(job->comm) == 0)
        submit_clear(work, &job->arena);
    if (done) {
        for (size_t i = 0; i < asked->set.count; i++)
            set[i] = asked->set.items[i];
        set[asked->set.count] = seed;
        job->given[FEED_METHOD] = job->call->given[SUBMIT_METHOD];
        struct api_call *call = ARENA_NEW(&job->arena, struct api_call);
        done = call || error_memory(err);
        if (done) {
            *call = (struct api_call){.how = job->call->how, .given = job->given};
            *feed = (struct feed_job){.asked = {.size = sizeof feed->asked,
                                                .workload = words,
                                                .set = {.items = set, .count = asked->set.count + 1},
                                                .results = work,
                                                .method = asked->method,
                                                .direct = asked->direct,
                                                .drop_caches = "file",
                                                .rules = "none",
                                                .accelerators = asked->accelerators,
                                                .max = 1,
                                                .force = asked->force,
                                                .time_out = asked->time_out},
                                      .call = call,
                                      .report = report,
                                      .comm = job->comm,
                                      .quiet = number > 0};
            done = feed_together(feed, err);
            *abandoned = feed->abandoned;
        }
    }
    if (done && rh_number(&report->base, "complete") == 0.0)
        done = error_set(err, ERROR_STOPPED, "stopped in run %d of %d: the same command goes on", number,
                         RULES_RUNS);
    if (done && comm_rank(job->comm) == 0)
        done = keep_run(job, work, number, report->text.data ? report->text.data : "", err);
    if (*abandoned)
        return done;
    free(feed);
    if (report)
        rh_free(&report->base);
    return comm_agree(job->comm, done, "the run's files", err);
}

/* All ranks begin the same run. */
static bool agree_count(struct submit_job *job, int *count, struct error *err)
{
    unsigned char byte;
    bool done =
        comm_rank(job->comm) > 0 || (submit_begin(&job->place, &job->arena, err) && look(job, count, err));
    byte = (unsigned char)*count;
    if (!comm_agree(job->comm, done, "the submission", err) ||
        !comm_broadcast(job->comm, &byte, 1, "the submission", err))
        return false;
    *count = byte;
    return true;
}

static bool make_runs(struct submit_job *job, const char *name, bool *abandoned, struct error *err)
{
    int count = 0;
    if (!agree_count(job, &count, err))
        return false;
    for (; count < SUBMIT_RUNS; count++)
        if (api_stopped(job->call, err) || !run_one(job, name, count, abandoned, err))
            return false;
    return true;
}

/* ---- the answer ---- */

static const struct field place_fields[] = {
    FIELD_OUT(struct submit_place, "workload", workload, FIELD_TEXT),
    FIELD_OUT(struct submit_place, "accelerators", accelerators, FIELD_INT64),
};

static const struct field report_fields[] = {
    FIELD_WORDS(struct submit_report, "category", rules.category, rules_category_words),
    FIELD_OUT(struct submit_report, "runs", runs, FIELD_INT),
    FIELD_OUT(struct submit_report, "samples_per_second", samples_per_second, FIELD_DOUBLE),
    FIELD_OUT(struct submit_report, "au", au, FIELD_DOUBLE),
};

static void answer(const struct submit_place *place, const struct submit_report *report,
                   struct api_report *to)
{
    struct json *json = &to->json;
    struct text *text = &to->text;
    json_open(json, NULL, '{');
    FIELDS_WRITE(place, place_fields, json);
    json_string(json, "edition", submit_editions[place->edition]);
    FIELDS_WRITE(report, report_fields, json);
    json_open(json, "findings", '[');
    text_format(text, "%s, MLPerf Storage %s: %s", place->workload, submit_editions[place->edition],
                rules_category_words[report->rules.category]);
    if (report->samples_per_second > 0)
        text_format(text, "; %.2f samples/s, AU %.1f %%, the mean of %d runs", report->samples_per_second,
                    100 * report->au, report->runs);
    text_add(text, "\n");
    for (int i = 0; i < report->rules.count; i++) {
        const struct rules_finding *finding = &report->rules.findings[i];
        const char *section = submit_section(place, finding),
                   *verdict = rules_verdict_words[finding->verdict];
        json_open(json, NULL, '{');
        json_string(json, "rule", finding->rule);
        json_string(json, "section", section);
        json_string(json, "verdict", verdict);
        json_string(json, "text", finding->text);
        json_string(json, "next", finding->verdict == RULES_FAIL ? submit_next(finding->rule) : NULL);
        json_close(json);
        text_format(text, "  %-8s %-16s %-7s %s\n", finding->verdict == RULES_FAIL ? "FAIL" : verdict,
                    finding->rule, section, finding->text);
        if (finding->verdict == RULES_FAIL)
            text_format(text, "  %-33s next: %s\n", "", submit_next(finding->rule));
    }
    json_close(json);
    json_close(json);
}

/* Writes the documents where they are to be made, and checks all. */
static bool check_place(struct submit_job *job, struct api_report *to, int *failed, struct error *err)
{
    struct submit_report report;
    struct submission there;
    if (comm_rank(job->comm) > 0)
        return true;
    if (!submission_open(&there, &job->place, &job->arena, err))
        return false;
    bool done = (job->asked->check || submit_documents(&there, err)) && submit_check(&there, &report, err);
    submission_close(&there);
    if (!done)
        return false;
    *failed += report.rules.failed;
    answer(&job->place, &report, to);
    return true;
}

/* All else that was asked stands in the folder. */
static bool check_options(const struct api_call *call, struct error *err)
{
    static const char *const takes[] = {"workload", "output", "check"};
    for (int i = 0; api_submit_options[i].name; i++) {
        const char *name = api_submit_options[i].name;
        bool taken = !call->given[i];
        for (size_t j = 0; j < sizeof takes / sizeof *takes; j++)
            taken |= strcmp(name, takes[j]) == 0;
        if (!taken)
            return error_set(err, ERROR_USAGE,
                             "--%s: --check takes what was asked from the folder: leave --%s out", name,
                             name);
    }
    return true;
}

/* Checks the workloads that are named, or each that was asked for in the folder. */
static bool check_there(struct submit_job *job, struct api_report *report, int *failed, struct error *err)
{
    const struct rh_list *asked = &job->asked->workload;
    const char **names = ARENA_ARRAY(&job->arena, asked->count + 1, const char *);
    int count = (int)asked->count, found = 0;
    char *hidden = arena_format(&job->arena, "%s/" SUBMIT_HIDDEN, job->asked->output);
    if (!hidden || !names)
        return error_memory(err);
    for (int i = 0; i < count; i++) {
        const char *base = base_of(job, asked->items[i]);
        if (!base || !(names[i] = arena_format(&job->arena, "%s.json", base)))
            return error_memory(err);
    }
    if (count == 0 && !submit_list(hidden, &job->arena, &names, &count, err))
        return false;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        if (length < 5 || strcmp(names[i] + length - 5, ".json") != 0)
            continue;
        found++;
        if (!submit_place_read(&job->place, job->asked->output, names[i], &job->arena, err) ||
            !check_place(job, report, failed, err))
            return false;
    }
    return found > 0 ||
           error_set(err, ERROR_INPUT,
                     "%s: no submission of 'rehearse submit' (" SUBMIT_HIDDEN "/WORKLOAD.json is missing)",
                     job->asked->output);
}

static bool submit_all(struct submit_job *job, struct api_report *report, bool *abandoned, struct error *err)
{
    const struct rh_submit_request *asked = job->asked;
    struct json *json = &report->json;
    int failed = 0;
    bool done = true;
    json_open_document(json, "rehearse-submission-check/1");
    json_string(json, "folder", asked->output);
    json_open(json, "workloads", '[');
    if (asked->check)
        done = check_there(job, report, &failed, err);
    for (size_t i = 0; !asked->check && done && i < asked->workload.count; i++)
        done = open_place(job, asked->workload.items[i], err) &&
               make_runs(job, asked->workload.items[i], abandoned, err) &&
               comm_agree(job->comm, check_place(job, report, &failed, err), "the rules", err);
    json_close(json);
    json_integer(json, "failed", failed);
    json_close(json);
    return done;
}

static bool submit(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_submit_request *asked = request;
    bool abandoned = false;
    if (!asked->check && asked->workload.count == 0)
        return error_set(err, ERROR_USAGE, "submit: give a workload, or --check");
    if (asked->check && !check_options(call, err))
        return false;
    if (storage_is_s3(asked->output))
        return error_set(err, ERROR_USAGE, "%s: a submission goes to a folder, not to S3", asked->output);
    struct submit_job *job = calloc(1, sizeof *job);
    if (!job)
        return error_memory(err);
    *job = (struct submit_job){.asked = asked, .call = call, .comm = comm_open(asked->time_out, err)};
    bool done = job->comm && submit_all(job, report, &abandoned, err);
    comm_close(job->comm);
    if (abandoned) {
        api_keep_stop(call); /* and the job: threads that wait for storage use it until the program ends */
        return done;
    }
    arena_release(&job->arena);
    free(job);
    return done;
}

API_WHOLE_COMMAND(submit, "submit", rh_submit_request, .answer = submit, .ends_in_order = true);
