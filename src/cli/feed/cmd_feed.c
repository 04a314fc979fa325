#include "cli/command.h"
#include "cli/feed/report.h"
#include "cli/feed/workload_given.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"
#include "core/progress.h"
#include "feed/demand.h"
#include "feed/result/result.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

static const char *const methods[] = {"posix", "uring", "mmap", "s3", NULL}; /* enum storage_kind */
static const char *const drops[] = {"none", "file", "system", NULL};         /* enum run_drop */
static const char *const rule_sets[] = {"none", "mlperf", NULL};

struct feed_options {
    struct workload_given workload;
    const char *results, *plan;
    int64_t accelerators, threads, depth, steps, epochs, limit, nodes;
    int method, drop, rules;
    double request, copy_rate, target, time_out;
    bool direct, warm, decode, verify, no_barrier, find_max, timeline, force, list, show, json, as_planned;
    const bool *given;
};

enum { FEED_ACCELERATORS, FEED_METHOD, FEED_TARGET, FEED_DROP };

static const struct option_spec table[] = {
    [FEED_ACCELERATORS] =
        OPTION(feed_options, accelerators, OPTION_INTEGER, "accelerators", .letter = 'a', .argument = "N",
               .initial = "1", .min = 1, .max = 1000000,
               .help = "accelerators that each process emulates; each is a rank that saves checkpoints"),
    [FEED_METHOD] = OPTION(feed_options, method, OPTION_CHOICE, "method", .argument = "HOW", .words = methods,
                           .initial = "posix", .help = "how files are read"),
    [FEED_TARGET] = OPTION(
        feed_options, target, OPTION_NUMBER, "au", .argument = "SHARE", .min = OPTION_POSITIVE, .max = 1,
        .help = "target of the accelerator utilisation, instead of the workload's metric.au"),
    [FEED_DROP] =
        OPTION(feed_options, drop, OPTION_CHOICE, "drop-caches", .argument = "CACHES", .words = drops,
               .initial = "file",
               .help = "page cache to drop before each epoch and restore: of the data's files, or of the\n"
                       "whole system (needs root)"),
    OPTION(feed_options, direct, OPTION_FLAG, "direct", .help = "bypass the page cache (O_DIRECT)"),
    OPTION(feed_options, request, OPTION_QUANTITY, "request", .unit = UNIT_BYTES, .argument = "BYTES",
           .min = 512, .max = 0x1p30,
           .help = "size of a read request; by default a whole extent (posix), 1 MiB (uring), 8 MiB (s3)"),
    OPTION(feed_options, depth, OPTION_INTEGER, "depth", .argument = "N", .max = 4096, .initial = "0",
           .help = "requests in flight per thread (uring, s3); 0 is 16"),
    OPTION(feed_options, threads, OPTION_INTEGER, "read-threads-most", .argument = "N", .max = 4096,
           .initial = "0", .help = "maximum number of reading threads per process; 0 is 128"),
    OPTION(feed_options, warm, OPTION_FLAG, "warm",
           .help = "keep the page cache, which may speed up reading; the verdict reports it"),
    OPTION(feed_options, steps, OPTION_INTEGER, "steps", .argument = "N", .initial = "0", .max = 0x1p53,
           .help = "maximum steps per epoch, instead of the workload's train.total_training_steps; 0 keeps "
                   "that number"),
    OPTION(feed_options, epochs, OPTION_INTEGER, "epochs", .argument = "N", .initial = "0", .max = 1e9,
           .help = "number of epochs, instead of the workload's train.epochs; 0 keeps that number"),
    OPTION(feed_options, plan, OPTION_FILE, "plan", .letter = 'p', .argument = "FILE",
           .help = "take step time and checkpoint sizes from a plan of any kind ('rehearse plan -o'), or "
                   "from one of a set of templates (--nodes)"),
    OPTION(feed_options, nodes, OPTION_INTEGER, "nodes", .argument = "N", .initial = "0", .max = 1 << 24,
           .help = "with --plan of a set of templates ('rehearse templates -o'): use the plan for N nodes; "
                   "0: the file is one plan"),
    OPTION(feed_options, as_planned, OPTION_FLAG, "as-planned",
           .help = "with --plan: emulate all readers of the plan's job with its batch, and save the\n"
                   "checkpoints of all its devices; -a, KEY=VALUE and --set override the plan"),
    OPTION(feed_options, copy_rate, OPTION_QUANTITY, "copy-rate", .unit = UNIT_RATE, .argument = "RATE",
           .max = 1e15, .help = "rate of copies from host to accelerator; by default copies take no time"),
    OPTION(feed_options, no_barrier, OPTION_FLAG, "no-barrier",
           .help = "accelerators do not wait for each other after each step"),
    OPTION(feed_options, decode, OPTION_FLAG, "decode",
           .help = "decode every sample; its processor time is reported separately"),
    OPTION(feed_options, verify, OPTION_FLAG, "verify",
           .help = "compare all bytes that are read or restored with the generated ones"),
    OPTION(feed_options, find_max, OPTION_FLAG, "find-max-accelerators",
           .help = "search for the maximum number of accelerators that meet the target"),
    OPTION(feed_options, limit, OPTION_INTEGER, "max", .argument = "N", .initial = "4096", .min = 1,
           .max = 1000000, .help = "accelerators per process at which that search ends"),
    OPTION(feed_options, rules, OPTION_CHOICE, "rules", .argument = "RULES", .words = rule_sets,
           .initial = "none",
           .help = "mlperf: check the rules of MLPerf Storage and list those that are broken"),
    OPTION(feed_options, results, OPTION_FILE, "results", .letter = 'o', .argument = "FOLDER",
           .help = "write result.json and DLIO's summary.json, R_per_epoch_stats.json and R_output.json\n"
                   "to FOLDER, instead of the workload's output.folder"),
    OPTION(feed_options, timeline, OPTION_FLAG, "timeline",
           .help = "also write R_timeline.pfw to FOLDER: every step as spans, for 'rehearse trace import'\n"
                   "and Perfetto"),
    OPTION(feed_options, force, OPTION_FLAG, "force",
           .help = "write data and checkpoints even if there is too little free space"),
    OPTION(feed_options, time_out, OPTION_QUANTITY, "time-out", .unit = UNIT_TIME, .argument = "TIME",
           .min = 1, .max = 1e6, .help = "maximum time that a process waits for others; by default 10 min"),
    OPTION_WORKLOAD_SET(struct feed_options),
    OPTION_WORKLOAD_STRICT(struct feed_options),
    OPTION(feed_options, list, OPTION_FLAG, "list", .help = "print the built-in workloads"),
    OPTION(feed_options, show, OPTION_FLAG, "show",
           .help = "print the workload with all its keys, and do not run it"),
    OPTION(feed_options, json, OPTION_FLAG, "json",
           .help = "print result.json instead of a report for people"),
    OPTION_END,
};

/* ---- what needs no run ---- */

static bool print_list(const struct feed_options *given, struct error *err)
{
    int count;
    const char *const *names = workload_builtins(&count);
    struct text text = {0};
    struct json json = {.out = &text};
    if (!names)
        return error_memory(err);
    if (given->json) {
        json_open_document(&json, "rehearse-workload-list/1");
        json_open(&json, "workloads", '[');
    }
    for (int i = 0; i < count; i++)
        if (given->json)
            json_string(&json, NULL, names[i]);
        else
            text_format(&text, "%s\n", names[i]);
    if (given->json) {
        json_close(&json);
        json_close(&json);
    }
    return output_and_release(NULL, &text, err);
}

static bool print_workload(const struct feed_options *given, const struct workload *workload,
                           struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    if (given->json)
        workload_write_json(workload, &json, NULL);
    else
        workload_write_yaml(workload, &text);
    return output_and_release(NULL, &text, err);
}

/* ---- a live line ---- */

struct viewer {
    struct watch watch;
    struct progress progress;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool started, ended;
};

static void show(struct viewer *viewer)
{
    const struct watch_view view = watch_read(&viewer->watch);
    struct unit_texts texts = {0};
    char slow[64] = "";
    if (view.laggard_count > 0)
        snprintf(slow, sizeof slow, "; rank %d waits %.0f %%", view.laggards[0].rank,
                 100.0 * view.laggards[0].wait);
    progress_show(&viewer->progress,
                  "%s %d of %d, step %" PRId64 " of %" PRId64
                  ": AU %.1f %%, %s, %d batches to be read, %d ready%s%s",
                  view.phase == METRICS_EVAL ? "evaluation of epoch" : "epoch", view.epoch, view.epochs,
                  view.step, view.steps, 100.0 * view.au, unit_text(&texts, view.bytes_per_second, UNIT_RATE),
                  view.queue, view.ready, slow, view.saving ? "; saving a checkpoint" : "");
}

static void *watch_run(void *context)
{
    struct viewer *viewer = context;
    pthread_mutex_lock(&viewer->lock);
    while (!viewer->ended) {
        struct timespec until = clock_timespec(clock_read(CLOCK_REALTIME) + CLOCK_SECOND / 4);
        pthread_cond_timedwait(&viewer->wake, &viewer->lock, &until);
        if (!viewer->ended)
            show(viewer);
    }
    pthread_mutex_unlock(&viewer->lock);
    return NULL;
}

/* Starts the live line if it is wanted and standard error is a terminal. */
static void viewer_begin(struct viewer *viewer, bool wanted)
{
    *viewer = (struct viewer){.ended = false};
    progress_start(&viewer->progress, "feeding");
    if (!wanted || !viewer->progress.active || !watch_init(&viewer->watch))
        return;
    pthread_mutex_init(&viewer->lock, NULL);
    pthread_cond_init(&viewer->wake, NULL);
    viewer->started = pthread_create(&viewer->thread, NULL, watch_run, viewer) == 0;
}

static void viewer_end(struct viewer *viewer)
{
    if (viewer->started) {
        pthread_mutex_lock(&viewer->lock);
        viewer->ended = true;
        pthread_cond_signal(&viewer->wake);
        pthread_mutex_unlock(&viewer->lock);
        pthread_join(viewer->thread, NULL);
        watch_release(&viewer->watch);
    }
    progress_end(&viewer->progress);
}

/* ---- a run ---- */

/* All that a run uses: static, as threads that wait for storage may use it until the program ends. */
struct feed_job {
    struct feed_options *given;
    struct comm *comm;
    struct plan plan;
    struct feed_demand demand;
    int savers; /* ranks per process that save checkpoints; 0: as many as accelerators */
    bool has_plan, has_workload, abandoned;
    struct workload workload;
    struct workload_overrides overrides;
    struct session session;
};

static struct session_options options_of(const struct feed_job *job, const char *folder)
{
    const struct feed_options *given = job->given;
    struct session_options options = {
        .run =
            {
                .workload = &job->workload,
                .comm = job->comm,
                .accelerators = (int)given->accelerators,
                .max_threads = (int)given->threads,
                .decode = given->decode,
                .verify = given->verify,
                .copy_rate = given->copy_rate,
                .no_barrier = given->no_barrier,
                .drop = given->warm ? RUN_DROP_NOTHING : (enum run_drop)given->drop,
                .force = given->force,
                .stop = stop_on_signals(),
            },
        .version = REHEARSE_VERSION,
        .overrides = job->overrides.items,
        .override_count = job->overrides.count,
        .storage =
            {
                .method = given->given[FEED_METHOD] ? given->method : -1,
                .direct = given->direct,
                .request = (int64_t)given->request,
                .queue_depth = (int)given->depth,
            },
        .savers = job->savers,
        .plan = job->has_plan ? &job->plan : NULL,
        .warm = given->warm,
        .rules = given->rules != 0,
        .record = folder,
        .timeline = given->timeline,
    };
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

static bool run(struct feed_job *job, const char *folder, struct error *err)
{
    struct session *session = &job->session;
    struct text text = {0};
    if (!session_run(session, err) || !session_judge(session, err) ||
        (folder && !result_save(session, folder, err)))
        return false;
    if (comm_rank(job->comm) > 0)
        return true;
    if (!job->given->json) {
        feed_report(session, &text);
    } else if (!result_json(session, &text, err)) {
        text_release(&text);
        return false;
    }
    return output_and_release(NULL, &text, err) && session_passed(session, err);
}

static bool find_max(struct feed_job *job, struct error *err)
{
    double target = job->workload.metric.au;
    int processes = comm_size(job->comm);
    struct session_max max;
    struct text text = {0};
    if (!session_find_max(&job->session, (int)job->given->limit, &max, err))
        return false;
    if (comm_rank(job->comm) > 0)
        return true;
    if (job->given->json)
        session_write_max(&max, target, processes, &text);
    else
        feed_report_max(&max, target, processes, &text);
    return output_and_release(NULL, &text, err) &&
           (max.accelerators > 0 ||
            error_set(err, ERROR_INFEASIBLE, "this storage does not keep a single accelerator %.0f %% busy",
                      100.0 * target));
}

static bool feed_workload(struct feed_job *job, struct error *err)
{
    const struct feed_options *given = job->given;
    const char *folder = given->results ? given->results : job->workload.output.folder;
    struct viewer viewer;
    if (given->warm && given->given[FEED_DROP] && given->drop != RUN_DROP_NOTHING)
        return error_set(err, ERROR_USAGE, "--warm keeps caches, --drop-caches does not");
    if (given->timeline && !folder)
        return error_set(err, ERROR_USAGE, "--timeline needs a folder: --results FOLDER");
    if (!comm_agree(job->comm, !folder || make_folder(folder, err), "the results' folder", err))
        return false;
    struct session_options options = options_of(job, folder);
    viewer_begin(&viewer, comm_rank(job->comm) == 0);
    options.run.watch = viewer.started ? &viewer.watch : NULL;
    bool done = session_open(&job->session, &options, err);
    if (done) {
        if (session_has_work(&job->workload))
            done = given->find_max ? find_max(job, err) : run(job, folder, err);
        job->abandoned = job->session.run.abandoned;
        if (!job->abandoned)
            session_close(&job->session);
    }
    viewer_end(&viewer);
    return done;
}

/* Takes from the plan what the command line does not give. */
static bool take_plan(struct feed_job *job, struct error *err)
{
    struct feed_options *given = job->given;
    int processes = comm_size(job->comm);
    if (!plan_load_template(&job->plan, given->plan, (int)given->nodes, err))
        return false;
    job->has_plan = true;
    feed_demand_of(&job->demand, &job->plan, given->as_planned);
    for (int i = 0; i < job->demand.override_count; i++)
        if (!workload_overrides_add(&job->overrides, err, "%s", job->demand.overrides[i]))
            return false;
    if (!given->as_planned || given->given[FEED_ACCELERATORS] || given->find_max)
        return true;
    given->accelerators = feed_demand_accelerators(&job->demand, &job->plan, processes, err);
    int64_t devices = plan_devices_used(&job->plan);
    job->savers = devices % processes == 0 ? (int)(devices / processes) : 0;
    return given->accelerators > 0;
}

/* Adds the overrides in their order: of the plan, of words and --set, of options that stand for a key. */
static bool add_overrides(struct feed_job *job, const char **name, struct error *err)
{
    const struct feed_options *given = job->given;
    struct workload_overrides *overrides = &job->overrides;
    return (!given->plan || take_plan(job, err)) &&
           workload_overrides_of(overrides, &given->workload, name, err) &&
           (!given->given[FEED_TARGET] ||
            workload_overrides_add(overrides, err, "metric.au=%.10g", given->target)) &&
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
    const struct feed_options *given = job->given;
    const char *name;
    if ((given->as_planned || given->nodes > 0) && !given->plan)
        return error_set(err, ERROR_USAGE, "--%s: needs a plan: --plan FILE",
                         given->as_planned ? "as-planned" : "nodes");
    if (!add_overrides(job, &name, err))
        return false;
    struct workload_options options = {
        .overrides = job->overrides.items,
        .override_count = job->overrides.count,
        .strict = given->workload.strict,
        .ranks = given->accelerators * comm_size(job->comm),
    };
    job->has_workload = workload_given_open(&job->workload, name, &options, comm_rank(job->comm) == 0, err);
    return job->has_workload &&
           (!job->has_plan || feed_demand_check(&job->demand, &job->plan, &job->workload, err));
}

/* A rank that fails tells the others, which would wait for it. */
static bool feed_together(struct feed_job *job, struct error *err)
{
    bool done = comm_agree(job->comm, open_workload(job, err), "the workload", err);
    if (done && !job->given->show)
        done = feed_workload(job, err);
    else if (done)
        done = comm_rank(job->comm) > 0 || print_workload(job->given, &job->workload, err);
    if (job->abandoned)
        return done;
    if (job->has_workload)
        workload_release(&job->workload);
    workload_overrides_release(&job->overrides);
    plan_release(&job->plan);
    return done;
}

static bool feed(void *context, struct error *err)
{
    struct feed_options *given = context;
    if (given->list)
        return print_list(given, err);
    static struct feed_job job;
    job = (struct feed_job){.given = given, .comm = comm_open(given->time_out, err)};
    bool done = job.comm && feed_together(&job, err);
    comm_close(job.comm);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse feed unet3d_h100 --accelerators 4", "do four emulated H100s stay busy?"},
    {"rehearse feed unet3d_h100 --find-max-accelerators", "how many emulated H100s stay busy?"},
    {"mpirun -n 4 rehearse feed resnet50_h100 -a 8 -o results",
     "from several hosts, with DLIO's result files"},
    {"rehearse feed llama_8b_zero3 -a 8 --set checkpoint.checkpoint_folder=/mnt/ckpt", "checkpoints"},
    {NULL, NULL},
};

const struct command command_feed = {
    .name = "feed",
    .summary = "load the real storage with emulated accelerators, and report whether they stay busy",
    .description =
        "Reads the data set of a workload (a DLIO configuration, or a built-in one: --list) as a training "
        "job "
        "would: shuffled, ahead of time, by threads. An emulated accelerator waits until its step is over. "
        "The "
        "report says how busy the accelerators were (AU), where their time went, how much came from the "
        "storage and how much from memory, and how long checkpoints took.\n\n"
        "The exit status is 0 when AU met its target, every sample was read once, from the storage and not "
        "from memory, and the run came to its end; else 1. 'rehearse dataset generate' makes the data.",
    .options = table,
    .options_size = sizeof(struct feed_options),
    .given_at = offsetof(struct feed_options, given),
    .operands = OPERANDS_WORKLOAD(struct feed_options, 0),
    .examples = examples,
    .run = feed,
};
