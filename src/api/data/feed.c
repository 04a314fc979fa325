/* rh_feed: the real storage is loaded with emulated accelerators. */
#include "api/data/feed.h"
#include "api/data/replay.h"
#include "api/plan/handle.h"
#include "core/caller.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/json.h"
#include "core/unit.h"
#include "feed/result/result.h"
#include "feed/result/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const char *const drops[] = {"none", "file", "system", NULL}; /* enum run_drop */
static const char *const paces[] = {"recorded", "fastest", NULL};
static const char *const rule_sets[] = {"none", "mlperf", NULL};

/* ---- what needs no run ---- */

static bool list_workloads(struct api_report *report, struct error *err)
{
    int count;
    const char *const *names = workload_builtins(&count);
    struct json *json = &report->json;
    if (!names)
        return error_memory(err);
    json_open_document(json, "rehearse-workload-list/1");
    json_open(json, "workloads", '[');
    for (int i = 0; i < count; i++) {
        json_string(json, NULL, names[i]);
        text_format(&report->text, "%s\n", names[i]);
    }
    json_close(json);
    json_close(json);
    return true;
}

static bool show_workload(const struct feed_job *job, struct error *err)
{
    struct json *json = &job->report->json;
    (void)err;
    if (comm_rank(job->comm) > 0)
        return true;
    workload_write_json(&job->workload, json, NULL);
    workload_write_yaml(&job->workload, &job->report->text);
    return true;
}

/* ---- how far it is ---- */

#define BEHIND 0.2 /* of the time: a rank that waits so much longer for data than others is behind */

/* Warns once of each rank that is behind: the others wait for it at the barrier. */
static void name_laggards(struct feed_job *job, const struct watch_view *seen)
{
    const struct watch_laggard *first = &seen->laggards[0], *last = first + seen->laggard_count - 1;
    for (; first < last && first->wait >= last->wait + BEHIND; first++) {
        int at = 0;
        while (at < job->behind_count && job->behind[at] != first->rank)
            at++;
        if (at < job->behind_count || at == WATCH_LAGGARDS)
            continue;
        job->behind[job->behind_count++] = first->rank;
        caller_warn("rank %d (%s) is behind: it waits for data %.0f %% of its time, others %.0f %%",
                    first->rank, comm_host(job->comm, first->rank), 100 * first->wait, 100 * last->wait);
    }
}

static void show(void *context, const struct watch_view *seen)
{
    struct feed_job *job = context;
    const struct watch_view view = *seen;
    struct error ignored; /* the end says whether the file can be written */
    struct unit_texts texts = {0};
    char slow[64] = "";
    name_laggards(job, seen);
    if (view.laggard_count > 0)
        snprintf(slow, sizeof slow, "; rank %d waits %.0f %%", view.laggards[0].rank,
                 100.0 * view.laggards[0].wait);
    feed_metrics_show(&job->metrics, seen, &ignored);
    progress_show(&job->progress,
                  "%s %d of %d, step %" PRId64 " of %" PRId64
                  ": AU %.1f %%, %s, %d batches queued, %d ready%s%s",
                  view.phase == METRICS_EVAL ? "evaluation of epoch" : "epoch", view.epoch, view.epochs,
                  view.step, view.steps, 100.0 * view.au, unit_text(&texts, view.bytes_per_second, UNIT_RATE),
                  view.queue, view.ready, slow, view.saving ? "; saving a checkpoint" : "");
}

/* ---- a run ---- */

static struct session_options options_of(const struct feed_job *job, const char *folder)
{
    const struct rh_feed_request *asked = &job->asked;
    const bool *given = job->call->given;
    const char *temporary = getenv("TMPDIR");
    struct session_options options = {
        .run =
            {
                .workload = &job->workload,
                .comm = job->comm,
                .accelerators = (int)asked->accelerators,
                .loader = {.max_threads = (int)asked->read_threads_most,
                           .decode = asked->decode,
                           .verify = asked->verify},
                .step = {.copy_rate = asked->copy_rate,
                         .no_barrier = asked->no_barrier,
                         .stop = api_stop(job->call)},
                .drop =
                    asked->warm ? RUN_DROP_NOTHING : (enum run_drop)option_index(drops, asked->drop_caches),
                .force = asked->force,
            },
        .version = REHEARSE_VERSION,
        .overrides = job->overrides.items,
        .override_count = job->overrides.count,
        .storage =
            {
                .has_method = given[FEED_METHOD],
                .options = {.method = given[FEED_METHOD]
                                          ? (enum storage_kind)option_index(storage_kind_words, asked->method)
                                          : STORAGE_POSIX,
                            .direct = asked->direct,
                            .request = (int64_t)asked->request,
                            .queue_depth = (int)asked->depth},
            },
        .savers = job->savers,
        .plan = job->has_plan ? &job->plan : NULL,
        .warm = asked->warm,
        .rules = option_index(rule_sets, asked->rules) != 0,
        .record = folder,
        .timeline = asked->timeline,
        .digest = job->point ? job->digest : NULL,
    };
    if (!folder && asked->keep_steps)
        options.record = temporary && *temporary ? temporary : "/tmp"; /* it has no name there */
    if (getrandom(&options.run.entropy, sizeof options.run.entropy, 0) != (ssize_t)sizeof options.run.entropy)
        options.run.entropy = (uint64_t)time(NULL);
    return options;
}

static bool make_folder(const char *path, struct error *err)
{
    if (storage_is_s3(path))
        return error_set(err, ERROR_USAGE, "%s: results go to a folder, not to S3", path);
    return file_make_folders(path, err);
}

static const struct field session_fields[] = {
    FIELD_OUT(struct session, "complete", run.complete, FIELD_FLAG),
    FIELD_OUT(struct session, "epochs", run.epochs, FIELD_INT),
    FIELD_OUT(struct session, "device_read", device_read, FIELD_INT64),
    FIELD_OUT(struct session, "device_written", device_written, FIELD_INT64),
};

static void add_values(const struct session *session, rh_handle *handle)
{
    struct error why = {.text = ""};
    api_judge(handle, session_passed(session, &why), &why);
    API_VALUES(handle, session, session_fields);
}

/* ---- steps ---- */

struct kept_step {
    int accelerator;
    int64_t number; /* from 0, over epochs */
    struct result_step times;
};

#define OF_STEP(key, member, type) FIELD_OUT(struct kept_step, key, member, type)

static const struct field step_fields[] = {
    OF_STEP("accelerator", accelerator, FIELD_INT),    OF_STEP("number", number, FIELD_INT64),
    OF_STEP("start_ns", times.start, FIELD_INT64),     OF_STEP("load_ns", times.load, FIELD_INT64),
    OF_STEP("process_ns", times.process, FIELD_INT64), OF_STEP("compute_ns", times.compute, FIELD_INT64),
    OF_STEP("barrier_ns", times.barrier, FIELD_INT64),
};

/* Reads the steps of an accelerator, a chunk at a time, behind those that are there. */
static bool read_steps(const struct result_steps *each, int accelerator, struct kept_step *to,
                       struct error *err)
{
    struct result_step chunk[RESULT_STEPS_CHUNK];
    int64_t count = result_steps_count(each, accelerator);
    for (int64_t at = 0; at < count; at += RESULT_STEPS_CHUNK) {
        int64_t n = count - at < RESULT_STEPS_CHUNK ? count - at : RESULT_STEPS_CHUNK;
        if (!result_steps_read(each, accelerator, at, n, chunk, err))
            return false;
        for (int64_t i = 0; i < n; i++)
            to[at + i] = (struct kept_step){accelerator, at + i, chunk[i]};
    }
    return true;
}

static bool keep_steps(struct session *session, struct api_report *report, struct error *err)
{
    const struct result_steps *each = &session->each;
    rh_handle *handle = &report->base;
    int64_t count = 0, at = 0;
    for (int i = 0; i < each->count; i++)
        count += result_steps_count(each, each->first + i);
    struct kept_step *steps = api_report_keep(report, (size_t)(count + 1) * sizeof *steps, NULL, err);
    if (!steps)
        return false;
    for (int i = 0; i < each->count; at += result_steps_count(each, each->first + i), i++)
        if (!read_steps(each, each->first + i, steps + at, err))
            return false;
    API_FIELDS(handle, "steps", steps, count, step_fields);
    return true;
}

/* ---- the run ---- */

static bool run_point(struct feed_job *job, const char *folder, struct error *err)
{
    struct session *session = &job->session;
    struct api_report *report = job->report;
    if (!session_run(session, err) || !session_judge(session, err) ||
        (folder && !result_save(session, folder, err)) ||
        (job->asked.keep_steps && !keep_steps(session, report, err)))
        return false;
    if (comm_rank(job->comm) > 0)
        return true;
    add_values(session, &report->base);
    feed_report(session, &report->text);
    return result_json(session, &report->json, err);
}

static const struct field max_fields[] = {FIELD_OUT(struct session_max, "bounded", bounded, FIELD_FLAG)};

static bool find_max(struct feed_job *job, struct error *err)
{
    struct session_max max;
    if (!session_find_max(&job->session, (int)job->asked.max, &max, err))
        return false;
    if (comm_rank(job->comm) > 0)
        return true;
    session_write_max(&max, &job->report->json);
    feed_report_max(&max, &job->report->text);
    API_VALUES(&job->report->base, &max, max_fields);
    return true;
}

static bool feed_workload(struct feed_job *job, struct error *err)
{
    const struct rh_feed_request *asked = &job->asked;
    const char *folder = asked->results ? asked->results : job->workload.output.folder;
    bool drops_caches = strcmp(asked->drop_caches, drops[RUN_DROP_NOTHING]) != 0;
    if (asked->warm && job->call->given[FEED_DROP] && drops_caches)
        return error_set(err, ERROR_USAGE, "--warm and --drop-caches exclude each other");
    if (asked->find_max_accelerators && (asked->results || job->call->given[FEED_ACCELERATORS]))
        return error_set(err, ERROR_USAGE, "--find-max-accelerators goes with no --%s",
                         asked->results ? "results, as it writes no files: --json prints its document"
                                        : "accelerators, as it tries 1, 2, 4, ...: --max ends that");
    if (asked->timeline && !folder)
        return error_set(err, ERROR_USAGE, "--timeline needs a folder: --results FOLDER");
    if (!comm_agree(job->comm, !folder || make_folder(folder, err), "the results' folder", err))
        return false;
    struct session_options options = options_of(job, folder);
    job->metrics = (struct feed_metrics){.path = comm_rank(job->comm) == 0 ? asked->prometheus : NULL,
                                         .workload = job->workload.name,
                                         .accelerators = asked->accelerators * comm_size(job->comm)};
    bool begins = feed_metrics_show(&job->metrics, NULL, err);
    if (!comm_agree(job->comm, begins, "the file of --prometheus", err))
        return false;
    progress_start(&job->progress, "feeding");
    job->watch = (struct watch){.show = show, .context = job};
    options.run.step.watch = comm_rank(job->comm) == 0 ? &job->watch : NULL;
    bool done = session_open(&job->session, &options, err);
    if (done) {
        if (job->workload.workflow.train || job->workload.workflow.checkpoint)
            done = asked->find_max_accelerators ? find_max(job, err) : run_point(job, folder, err);
        job->abandoned = job->session.run.abandoned;
        if (!job->abandoned)
            session_close(&job->session);
    }
    progress_end(&job->progress);
    return feed_metrics_end(&job->metrics, done, &job->report->json_text, err);
}

/* ---- what is asked ---- */

/* Takes from the plan what the caller does not give. */
static bool take_plan(struct feed_job *job, struct error *err)
{
    struct rh_feed_request *asked = &job->asked;
    int processes = comm_size(job->comm);
    if (asked->from ? !api_plan_copy(asked->from, &job->plan, err)
                    : !plan_load_template(&job->plan, asked->plan, (int)asked->nodes, err))
        return false;
    job->has_plan = true;
    feed_demand_of(&job->demand, &job->plan, asked->as_planned);
    for (int i = 0; i < job->demand.override_count; i++)
        if (!workload_overrides_add(&job->overrides, err, "%s", job->demand.overrides[i]))
            return false;
    if (!asked->as_planned || job->call->given[FEED_ACCELERATORS] || asked->find_max_accelerators)
        return true;
    asked->accelerators = feed_demand_accelerators(&job->demand, &job->plan, processes, err);
    int64_t devices = plan_devices_used(&job->plan);
    job->savers = devices % processes == 0 ? (int)(devices / processes) : 0;
    return asked->accelerators > 0;
}

/* Adds the overrides in their order: of the plan, of words and --set, of options that stand for a key. */
static bool add_overrides(struct feed_job *job, const char **name, struct error *err)
{
    const struct rh_feed_request *given = &job->asked;
    struct workload_overrides *overrides = &job->overrides;
    return ((!given->plan && !given->from) || take_plan(job, err)) &&
           workload_overrides_of(overrides, &given->workload, &given->set, WORKLOAD_FOLDER_READ, name, err) &&
           (!job->call->given[FEED_TARGET] ||
            workload_overrides_add(overrides, err, "metric.au=%.10g", given->au)) &&
           (given->epochs == 0 ||
            workload_overrides_add(overrides, err, "train.epochs=%" PRId64, given->epochs)) &&
           (given->steps == 0 ||
            workload_overrides_add(overrides, err, "train.total_training_steps=%" PRId64, given->steps)) &&
           (!given->direct || workload_overrides_add(overrides, err, "reader.odirect=True")) &&
           (given->request <= 0.0 ||
            workload_overrides_add(overrides, err, "reader.transfer_size=%.0f", given->request));
}

static bool open_workload(struct feed_job *job, struct error *err)
{
    const struct rh_feed_request *asked = &job->asked;
    const char *name;
    if (!add_overrides(job, &name, err))
        return false;
    struct workload_options options = {
        .overrides = job->overrides.items,
        .override_count = job->overrides.count,
        .strict = asked->strict,
        .ranks = asked->accelerators * comm_size(job->comm),
    };
    job->has_workload = workload_given_open(&job->workload, name, &options,
                                            comm_rank(job->comm) == 0 && !job->quiet ? job->call : NULL, err);
    return job->has_workload &&
           (!job->has_plan || feed_demand_check(&job->demand, &job->plan, &job->workload, err));
}

/* A rank that fails tells the others, which would wait for it. */
bool feed_together(struct feed_job *job, struct error *err)
{
    bool kept = job->point && !job->point->kept; /* only looked at */
    bool done = comm_agree(job->comm, open_workload(job, err), "the workload", err);
    if (done && job->point && !kept)
        done = feed_grid_look(job, &kept, err);
    if (done && !kept)
        done = job->asked.show ? show_workload(job, err) : feed_workload(job, err);
    if (job->abandoned)
        return done;
    if (job->has_workload)
        workload_release(&job->workload);
    workload_overrides_release(&job->overrides);
    plan_release(&job->plan);
    return done;
}

static bool feed(struct feed_job *job, struct error *err)
{
    const struct api_call *call = job->call;
    bool done = feed_together(job, err);
    comm_close(job->comm);
    if (job->abandoned)
        api_keep_stop(call); /* and the job: threads that wait for storage use them until the program ends */
    else
        free(job);
    return done;
}

static rh_handle *make_report(const struct rh_feed_request *asked, const struct api_call *call,
                              struct comm *comm, struct error *err)
{
    struct api_report *report = api_report_new(err);
    struct feed_job *job = report && !asked->list ? calloc(1, sizeof *job) : NULL;
    if (job)
        *job = (struct feed_job){.asked = *asked, .call = call, .report = report, .comm = comm};
    else
        comm_close(comm);
    if (!report)
        return NULL;
    bool done = asked->list ? list_workloads(report, err) : job ? feed(job, err) : error_memory(err);
    return api_made(&report->base, done, err);
}

static rh_handle *make_feed(const void *request, const struct api_call *call, struct error *err)
{
    const struct rh_feed_request *asked = request;
    if (asked->replay || asked->requests) {
        const struct replay_call replay = {api_feed_options, call->given, api_stop(call)};
        struct api_report *report = api_report_new(err);
        bool done = report && (asked->replay ? feed_replay : feed_requests)(asked, &replay, report, err);
        return report ? api_made(&report->base, done, err) : NULL;
    }
    struct comm *comm = asked->list ? NULL : comm_open(asked->time_out, err);
    if (!comm && !asked->list)
        return NULL;
    if (asked->vary.count == 0 || asked->list)
        return make_report(asked, call, comm, err);
    rh_handle *made = feed_grid(asked, call, comm, err);
    comm_close(comm);
    return made;
}

API_WHOLE_COMMAND(feed, "feed", rh_feed_request, .make = make_feed, .ends_in_order = true);
