#include "cli/command.h"
#include "cli/feed/overrides.h"
#include "cli/feed/report.h"
#include "cli/feed/workload_given.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"
#include "core/progress.h"
#include "feed/demand.h"
#include "feed/result/dlio.h"
#include "feed/session.h"

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
    int64_t accelerators, threads, depth, steps, epochs, most;
    int method, drop, rules;
    double request, copy_rate, target, time_out;
    bool direct, warm, decode, verify, no_barrier, find_most, timeline, force, list, show, json, as_planned;
    const bool *given;
};

enum { FEED_ACCELERATORS, FEED_METHOD, FEED_TARGET, FEED_DROP };

static const struct option_spec table[] = {
    [FEED_ACCELERATORS] = {.name = "accelerators",
                           .letter = 'a',
                           .kind = OPTION_INTEGER,
                           .at = offsetof(struct feed_options, accelerators),
                           .argument = "N",
                           .initial = "1",
                           .least = 1,
                           .most = 1000000,
                           .help = "that each process emulates; checkpoints have as many ranks"},
    [FEED_METHOD] = {.name = "method",
                     .kind = OPTION_CHOICE,
                     .at = offsetof(struct feed_options, method),
                     .argument = "HOW",
                     .words = methods,
                     .initial = "posix",
                     .help = "how files are read"},
    [FEED_TARGET] = {.name = "au",
                     .kind = OPTION_NUMBER,
                     .at = offsetof(struct feed_options, target),
                     .argument = "SHARE",
                     .least = OPTION_POSITIVE,
                     .most = 1,
                     .help = "accelerator utilisation to meet; else the workload's metric.au"},
    [FEED_DROP] = {.name = "drop-caches",
                   .kind = OPTION_CHOICE,
                   .at = offsetof(struct feed_options, drop),
                   .argument = "WHAT",
                   .words = drops,
                   .initial = "file",
                   .help = "before each epoch and restore: the data's files, or all of the system's (root)"},
    {.name = "direct",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, direct),
     .help = "past the page cache (O_DIRECT)"},
    {.name = "request",
     .kind = OPTION_QUANTITY,
     .unit = UNIT_BYTES,
     .at = offsetof(struct feed_options, request),
     .argument = "BYTES",
     .least = 512,
     .most = 0x1p30,
     .help = "read at a time; else a whole extent (posix), 1 MiB (uring) or 8 MiB (s3)"},
    {.name = "depth",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct feed_options, depth),
     .argument = "N",
     .most = 4096,
     .initial = "0",
     .help = "requests in flight of one thread (uring, s3); 0 is 16"},
    {.name = "read-threads-most",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct feed_options, threads),
     .argument = "N",
     .most = 4096,
     .initial = "0",
     .help = "threads that read, of each process, at most; 0 is 128"},
    {.name = "warm",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, warm),
     .help = "keep the caches, which may help; the verdict says so"},
    {.name = "steps",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct feed_options, steps),
     .argument = "N",
     .initial = "0",
     .most = 0x1p53,
     .help = "of an epoch at most; 0 is all"},
    {.name = "epochs",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct feed_options, epochs),
     .argument = "N",
     .initial = "0",
     .most = 0x7fffffff,
     .help = "instead of the workload's train.epochs; 0 is these"},
    {.name = "plan",
     .letter = 'p',
     .kind = OPTION_FILE,
     .at = offsetof(struct feed_options, plan),
     .argument = "FILE",
     .help = "step time and checkpoint sizes from a plan ('rehearse plan -o'), of any kind"},
    {.name = "as-planned",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, as_planned),
     .help = "with --plan: also as many accelerators as the plan's job has readers, its batch, and\n"
             "checkpoints of all its devices; -a, KEY=VALUE and --set go before the plan"},
    {.name = "copy-rate",
     .kind = OPTION_QUANTITY,
     .unit = UNIT_RATE,
     .at = offsetof(struct feed_options, copy_rate),
     .argument = "RATE",
     .most = 1e15,
     .help = "from host to accelerator; else copies take no time"},
    {.name = "no-barrier",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, no_barrier),
     .help = "accelerators do not wait for each other after each step"},
    {.name = "decode",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, decode),
     .help = "decode every sample; its processor time is told apart"},
    {.name = "verify",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, verify),
     .help = "compare all read or restored bytes with the generated ones"},
    {.name = "find-max-accelerators",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, find_most),
     .help = "search for the maximum number of accelerators that are kept busy enough"},
    {.name = "max",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct feed_options, most),
     .argument = "N",
     .initial = "4096",
     .least = 1,
     .most = 1000000,
     .help = "accelerators of a process at which that search ends"},
    {.name = "rules",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct feed_options, rules),
     .argument = "WHOSE",
     .words = rule_sets,
     .initial = "none",
     .help = "mlperf: check the rules of MLPerf Storage, and say which are not kept"},
    {.name = "results",
     .letter = 'o',
     .kind = OPTION_FILE,
     .at = offsetof(struct feed_options, results),
     .argument = "FOLDER",
     .help = "write result.json and DLIO's summary.json, R_per_epoch_stats.json and\n"
             "R_output.json; else where the workload's output.folder says"},
    {.name = "timeline",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, timeline),
     .help = "also write R_timeline.pfw there, every step as spans, for 'rehearse trace\n"
             "import' and Perfetto"},
    {.name = "force",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, force),
     .help = "write data and checkpoints even if there is too little free space"},
    {.name = "time-out",
     .kind = OPTION_QUANTITY,
     .unit = UNIT_TIME,
     .at = offsetof(struct feed_options, time_out),
     .argument = "TIME",
     .least = 1,
     .most = 1e6,
     .help = "how long a process waits for others (10 min)"},
    OPTION_WORKLOAD_SET(struct feed_options),
    OPTION_WORKLOAD_STRICT(struct feed_options),
    {.name = "list",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, list),
     .help = "print the built-in workloads"},
    {.name = "show",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, show),
     .help = "print the workload with all its keys, and do not run it"},
    {.name = "json",
     .kind = OPTION_FLAG,
     .at = offsetof(struct feed_options, json),
     .help = "print result.json instead of a report for people"},
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

/* Only where somebody looks. */
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

static struct session_options options_of(const struct feed_options *given, const struct workload *workload,
                                         struct comm *comm)
{
    struct session_options options = {
        .workload = workload,
        .version = REHEARSE_VERSION,
        .comm = comm,
        .storage =
            {
                .method = given->given[FEED_METHOD] ? given->method : -1,
                .direct = given->direct,
                .request = (int64_t)given->request,
                .queue_depth = (int)given->depth,
            },
        .accelerators = (int)given->accelerators,
        .threads_most = (int)given->threads,
        .decode = given->decode,
        .verify = given->verify,
        .force = given->force,
        .no_barrier = given->no_barrier,
        .copy_rate = given->copy_rate,
        .drop = given->warm ? RUN_DROP_NOTHING : (enum run_drop)given->drop,
        .warm = given->warm,
        .steps = given->steps,
        .epochs = given->epochs,
        .rules = given->rules != 0,
        .stop = stop_on_signals(),
    };
    if (getrandom(&options.entropy, sizeof options.entropy, 0) != (ssize_t)sizeof options.entropy)
        options.entropy = (uint64_t)time(NULL);
    return options;
}

static const char *results_of(const struct feed_options *given, const struct workload *workload)
{
    return given->results ? given->results : workload->output.folder;
}

static bool make_folder(const char *path, struct error *err)
{
    if (storage_is_s3(path))
        return error_set(err, ERROR_USAGE, "%s: results go to a folder, not to S3", path);
    return file_make_folders(path, err);
}

static bool deliver(const struct feed_options *given, struct session *session, struct error *err)
{
    struct text text = {0};
    if (given->json && !session_write_json(session, &text, err)) {
        text_release(&text);
        return false;
    }
    if (!given->json)
        feed_report(session, &text);
    return output_and_release(NULL, &text, err);
}

static bool run(const struct feed_options *given, struct session *session, struct error *err)
{
    struct comm *comm = session->options.comm;
    const char *folder = results_of(given, session->options.workload);
    if (!session_run(session, err) || !session_judge(session, err))
        return false;
    if (folder && !session_save(session, folder, err))
        return false;
    if (comm_rank(comm) > 0)
        return true;
    return deliver(given, session, err) && session_passed(session, err);
}

static bool find_max(const struct feed_options *given, struct session *session, struct error *err)
{
    struct comm *comm = session->options.comm;
    double target = session->options.workload->metric.au;
    struct session_max max;
    struct text text = {0};
    if (!session_find_max(session, (int)given->most, &max, err))
        return false;
    if (comm_rank(comm) > 0)
        return true;
    if (given->json)
        session_write_max(&max, target, comm_size(comm), &text);
    else
        feed_report_max(&max, target, comm_size(comm), &text);
    if (!output_and_release(NULL, &text, err))
        return false;
    return max.accelerators > 0 ||
           error_set(err, ERROR_INFEASIBLE, "this storage does not keep a single accelerator %.0f %% busy",
                     100.0 * target);
}

/* What the threads of a run use. */
struct feeding {
    struct plan plan;
    struct feed_demand demand;
    int savers; /* of checkpoints, of each process; 0: the accelerators */
    bool planned;
    struct workload workload;
    struct session session;
    struct feed_overrides overrides;
};

/* Options that have a key in the workload change it, too. */
static bool add_overrides(const struct feed_options *given, struct feed_overrides *overrides,
                          struct error *err)
{
    return feed_overrides_init(overrides, &given->workload, err) &&
           (!given->given[FEED_TARGET] ||
            feed_overrides_add(overrides, err, "metric.au=%.10g", given->target)) &&
           (given->epochs == 0 ||
            feed_overrides_add(overrides, err, "train.epochs=%" PRId64, given->epochs)) &&
           (given->steps == 0 ||
            feed_overrides_add(overrides, err, "train.total_training_steps=%" PRId64, given->steps)) &&
           (!given->direct || feed_overrides_add(overrides, err, "reader.odirect=True")) &&
           (given->request <= 0.0 ||
            feed_overrides_add(overrides, err, "reader.transfer_size=%.0f", given->request));
}

static bool feed_workload(const struct feed_options *given, struct feeding *feeding, struct comm *comm,
                          bool *abandoned, struct error *err)
{
    struct workload *workload = &feeding->workload;
    struct session *session = &feeding->session;
    struct session_options options = options_of(given, workload, comm);
    struct viewer viewer;
    const char *folder = results_of(given, workload);
    if (given->given[FEED_TARGET])
        workload->metric.au = given->target;
    if (given->warm && given->given[FEED_DROP] && given->drop != RUN_DROP_NOTHING)
        return error_set(err, ERROR_USAGE, "--warm keeps caches, --drop-caches does not");
    if (given->timeline && !folder)
        return error_set(err, ERROR_USAGE, "--timeline needs a folder: --results FOLDER");
    if (!comm_agree(comm, add_overrides(given, &feeding->overrides, err), "the workload", err))
        return false;
    options.plan = feeding->planned ? &feeding->plan : NULL;
    options.savers = feeding->savers;
    options.overrides = (const char *const *)feeding->overrides.items;
    options.override_count = feeding->overrides.count;
    if (!comm_agree(comm, !folder || make_folder(folder, err), "the results' folder", err))
        return false;
    options.record = folder;
    options.timeline = given->timeline;
    viewer_begin(&viewer, comm_rank(comm) == 0);
    options.watch = viewer.started ? &viewer.watch : NULL;
    bool done = session_open(session, &options, err);
    if (done) {
        if (session_has_work(workload))
            done = given->find_most ? find_max(given, session, err) : run(given, session, err);
        *abandoned = session->run.abandoned;
        if (!*abandoned)
            session_close(session);
    }
    viewer_end(&viewer);
    return done;
}

/* What the command line does not say, the plan does. */
static bool take_plan(struct feed_options *given, struct feeding *feeding, int processes, struct error *err)
{
    if (!plan_load(&feeding->plan, given->plan, err))
        return false;
    feeding->planned = true;
    feed_demand_of(&feeding->demand, &feeding->plan, given->as_planned);
    given->workload.planned = feeding->demand.overrides;
    given->workload.planned_count = feeding->demand.override_count;
    if (!given->as_planned || given->given[FEED_ACCELERATORS] || given->find_most)
        return true;
    given->accelerators = feed_demand_accelerators(&feeding->demand, &feeding->plan, processes, err);
    int64_t devices = plan_devices_used(&feeding->plan);
    feeding->savers = devices % processes == 0 ? (int)(devices / processes) : 0;
    return given->accelerators > 0;
}

static bool open_workload(struct feed_options *given, struct feeding *feeding, struct comm *comm,
                          struct error *err)
{
    if (given->as_planned && !given->plan)
        return error_set(err, ERROR_USAGE, "--as-planned: needs a plan: --plan FILE");
    if (given->plan && !take_plan(given, feeding, comm_size(comm), err))
        return false;
    int64_t ranks = given->accelerators * comm_size(comm);
    if (!workload_given_open(&feeding->workload, &given->workload, ranks, comm_rank(comm) == 0, err))
        return false;
    if (!feeding->planned || feed_demand_check(&feeding->demand, &feeding->plan, &feeding->workload, err))
        return true;
    workload_release(&feeding->workload);
    return false;
}

/* A rank that fails while others go on would leave them waiting. */
static bool feed_together(struct feed_options *given, struct comm *comm, struct error *err)
{
    struct feeding *feeding = calloc(1, sizeof *feeding);
    bool opened = feeding ? open_workload(given, feeding, comm, err) : error_memory(err);
    bool done = comm_agree(comm, opened, "the workload", err) && opened, abandoned = false;
    if (done)
        done = given->show ? comm_rank(comm) > 0 || print_workload(given, &feeding->workload, err)
                           : feed_workload(given, feeding, comm, &abandoned, err);
    if (abandoned) /* a run that was stopped leaves it to threads that wait for storage, until the program ends */
        return done;
    if (opened)
        workload_release(&feeding->workload);
    if (feeding) {
        feed_overrides_release(&feeding->overrides);
        plan_release(&feeding->plan);
    }
    free(feeding);
    return done;
}

static bool feed(void *context, struct error *err)
{
    struct feed_options *given = context;
    if (given->list)
        return print_list(given, err);
    struct comm *comm = comm_open(given->time_out, err);
    bool done = comm && feed_together(given, comm, err);
    comm_close(comm);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse feed unet3d_h100 --accelerators 4", "do four emulated H100s stay busy?"},
    {"rehearse feed unet3d_h100 --find-max-accelerators", "how many would?"},
    {"mpirun -n 4 rehearse feed resnet50_h100 -a 8 -o results",
     "from several hosts, with DLIO's result files"},
    {"rehearse feed llama_8b_zero3 -a 8 --set checkpoint.checkpoint_folder=/mnt/ckpt", "checkpoints"},
    {NULL, NULL},
};

const struct command command_feed = {
    .name = "feed",
    .summary = "load the real storage with emulated accelerators, and say whether they stay busy",
    .description =
        "Reads the data set of a workload (a DLIO configuration, or a built-in one: --list) as a "
        "training job would: "
        "shuffled, ahead of time, by threads; accelerators are emulated by waiting until their "
        "step is over. Says how "
        "busy they were kept (AU), what they waited for, how much came from the storage and how much "
        "from memory, and what checkpoints "
        "took.\n\n"
        "The exit status is 0 when AU met its target, every sample was read once, from the "
        "storage and not from memory, and the run came to its end; else 1. "
        "'rehearse dataset generate' makes the data.",
    .options = table,
    .options_size = sizeof(struct feed_options),
    .given_at = offsetof(struct feed_options, given),
    .operands = {.name = "WORKLOAD",
                 .help =
                     "a built-in workload or a YAML file; then overrides, KEY=VALUE or ++workload.KEY=VALUE",
                 .least = 0,
                 .most = 0,
                 .at = offsetof(struct feed_options, workload.words)},
    .examples = examples,
    .run = feed,
};
