/* How long a call does not look for a stop (src/core/stop.h), at its longest: a stop is obeyed at the next look, so that this is how
 * late it is. Processor seconds of the calling thread, which other work on the machine changes little. All calls take many minutes:
 * words of their names choose some. */
#include "core/clock.h"
#include "looks_inputs.h"
#include "measure.h"
#include "rehearse.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_OPTIONS 8
#define RUNS        3
#define POINTS      5 /* at which a call is stopped */

bool __real_stop_wanted(void);
bool __wrap_stop_wanted(void);

static double last, longest, stopped;
static long looks, stop_at = -1; /* the look that finds a stop; -1: none does */
static rh_stop *wanted;

static double thread_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void look(void)
{
    double now = thread_seconds();
    longest = now - last > longest ? now - last : longest;
    last = now;
    looks++;
}

bool __wrap_stop_wanted(void)
{
    look();
    if (looks - 1 == stop_at) {
        stopped = last;
        rh_stop_request(wanted);
    }
    return __real_stop_wanted();
}

static char folder[] = "/tmp/bench_looks_XXXXXX";

/* ---- calls ---- */

static const struct work {
    const char *what, *command,
        *options[MAX_OPTIONS]; /* option=value, lists separated by ';'; FOLDER/ is ours */
} works[] = {
    {"100,000 layers", "profile show", {"path=FOLDER/layers.json"}},
    {"HLO of 400,000 instructions", "cost", {"file=FOLDER/large.hlo", "device=h100"}},
    {"its kernels", "cost", {"file=FOLDER/large.hlo", "device=h100", "explain"}},
    {"StableHLO of 200,000", "cost", {"file=FOLDER/large.mlir", "device=h100"}},
    {"a plan for 4,096 devices",
     "plan",
     {"model=llama-3.1-405b", "device=h100", "devices=4096", "global-batch=2048", "output=FOLDER/plan.json"}},
    {"the same of 1,024",
     "plan",
     {"model=llama-3.1-405b", "device=h100", "devices=1024", "global-batch=512", "output=FOLDER/small.json"}},
    {"and of 128",
     "plan",
     {"model=llama-3-8b", "device=h100", "devices=128", "global-batch=512", "output=FOLDER/tiny.json"}},
    {"for two kinds of devices",
     "plan",
     {"model=llama-3-8b", "cluster=FOLDER/mixed.yaml", "global-batch=512", "output=FOLDER/fleet.json"}},
    {"a pipeline of 1,000 layers",
     "plan",
     {"profile=FOLDER/thousand.json", "cluster=FOLDER/nodes.yaml", "microbatches=64", "allreduce=none",
      "output=FOLDER/pipeline.json"}},
    {"what may be better", "plan", {"plan=FOLDER/plan.json", "explain"}},
    {"a sweep of splits",
     "plan",
     {"model=llama-3.1-405b", "device=h100", "devices=64..16384", "global-batch=2048"}},
    {"a plan for 4,096 devices", "check-plan", {"plans=FOLDER/plan.json"}},
    {"for two kinds of devices", "check-plan", {"plans=FOLDER/fleet.json", "cluster=FOLDER/mixed.yaml"}},
    {"of 32 nodes",
     "templates",
     {"profile=FOLDER/thousand.json", "cluster=FOLDER/nodes.yaml", "microbatches=64", "allreduce=none",
      "output=FOLDER/templates.json"}},
    {"a plan, device by device", "simulate", {"plan=FOLDER/small.json", "no-symmetry"}},
    {"tasks of 128 devices", "simulate", {"plan=FOLDER/tiny.json", "no-symmetry", "csv=FOLDER/tasks.csv"}},
    {"tasks as a Chrome trace", "simulate", {"plan=FOLDER/plan.json", "trace=FOLDER/tasks.json"}},
    {"as Chakra's", "simulate", {"plan=FOLDER/tiny.json", "chakra=FOLDER/tasks.et"}},
    {"all schedules", "simulate", {"stages=16", "microbatches=256", "compare"}},
    {"a schedule of 1.6 M passes", "simulate", {"stages=256", "microbatches=2048", "schedule=1f1b"}},
    {"written",
     "simulate",
     {"stages=256", "microbatches=2048", "schedule=1f1b", "write-schedule=FOLDER/schedule.csv"}},
    {"read", "simulate", {"schedule=FOLDER/schedule.csv"}},
    {"its picture",
     "simulate",
     {"stages=256", "microbatches=2048", "schedule=1f1b", "figure=FOLDER/schedule.svg"}},
    {"a trace of 150,000 kernels", "simulate", {"replay=FOLDER/kernels.json"}},
    {"its page", "simulate", {"replay=FOLDER/kernels.json", "page=FOLDER/kernels.html"}},
    {"a plan in 18 clusters",
     "sweep",
     {"plan=FOLDER/plan.json", "global-batch=256..8192", "link=across=0.5,1,2"}},
    {"splits of a model",
     "sweep",
     {"model=llama-3.1-405b", "device=h100", "devices=256..4096", "global-batch=2048"}},
    {"failures of 1,024 nodes", "elastic", {"rate=rsc-1", "nodes=1024", "seeds=50"}},
    {"a year of 16,384",
     "elastic",
     {"rate=rsc-1", "nodes=16384", "seeds=2", "days=365", "policies=restart;oobleck"}},
    {"a million recorded", "elastic", {"failures=FOLDER/losses.csv", "nodes=1024"}},
    {"templates of 32 nodes",
     "elastic",
     {"plans=FOLDER/templates.json", "cluster=FOLDER/nodes.yaml", "faults=2", "losses"}},
    {"a script of 3,800 lines", "price", {"files=FOLDER/train.sh", "device=h100"}},
    {"the published runs", "validate", {NULL}},
    {"5,000 runs", "validate", {"table=FOLDER/runs.csv"}},
    {"jobs left out", "validate", {"leave-out=job"}},
    {"splits of the published", "validate", {"best"}},
    {"100,000 products", "calibrate", {"gemm=FOLDER/products.csv", "device=h100"}},
    {"5,000 runs", "calibrate", {"runs=FOLDER/runs.csv", "device=a100-80gb"}},
    {"known products", "calibrate", {"known"}},
    {"a model by oneDNN", "measure layers", {"model=gpt2", "limit=2 s"}},
    {"a plan of 128 on one rank", "run", {"plans=FOLDER/tiny.json", "byte-share=0.00001"}},
    {"300,000 calls of strace", "trace import", {"paths=FOLDER/one.strace", "output=FOLDER/one.db", "force"}},
    {"others", "trace import", {"paths=FOLDER/two.strace", "output=FOLDER/two.db", "force"}},
    {"what is in them", "trace show", {"trace=FOLDER/one.db"}},
    {"all of it", "trace show", {"trace=FOLDER/one.db", "keep-rows"}},
    {"phases", "trace phases", {"trace=FOLDER/one.db"}},
    {"as CSV", "trace export", {"trace=FOLDER/one.db", "format=csv", "output=FOLDER/rows.csv"}},
    {"for Perfetto", "trace export", {"trace=FOLDER/one.db", "format=chrome", "output=FOLDER/rows.json"}},
    {"as DFTracer's", "trace export", {"trace=FOLDER/one.db", "format=pfw", "output=FOLDER/rows.pfw"}},
    {"10,000 resamples", "compare", {"traces=FOLDER/one.db;FOLDER/two.db", "replicates=10000"}},
    {"three", "compare", {"traces=FOLDER/one.db;FOLDER/two.db;FOLDER/one.db"}},
    {"a picture", "figure timeline", {"trace=FOLDER/one.db", "output=FOLDER/timeline.svg"}},
    {"calls", "figure distribution", {"traces=FOLDER/one.db;FOLDER/two.db", "output=FOLDER/calls.svg"}},
    {"bytes", "figure throughput", {"traces=FOLDER/one.db", "output=FOLDER/bytes.svg"}},
    {"a plan", "figure plan", {"plan=FOLDER/small.json", "output=FOLDER/plan.svg"}},
    {"300,000 events", "figure steps", {"folders=FOLDER/UNET3D_8g_4b", "output=FOLDER/steps.svg"}},
    {"1,500 files", "report", {"folder=FOLDER/many", "output=FOLDER/many.html"}},
    {"all of this", "report", {"folder=FOLDER", "output=/dev/null"}},
    {"4 GiB", "dataset generate", {"workload=unet3d_h100", "size=4 GiB", "output=FOLDER/data", "force"}},
    {"the same", "dataset verify", {"folder=FOLDER/data"}},
    {"twice", "dataset scale", {"folder=FOLDER/data", "output=FOLDER/more", "size=8 GiB", "force"}},
    {"two accelerators",
     "feed",
     {"workload=unet3d_h100", "set=dataset.data_folder=FOLDER/data", "accelerators=2", "force"}},
    {"a process", "trace", {"command=sleep;60", "output=FOLDER/run.db", "no-bpf", "force"}},
};

static char texts[MAX_OPTIONS][256];

/* Puts the folder's name where FOLDER stands. */
static char *expand(const char *option, int number)
{
    char *to = texts[number];
    size_t used = 0;
    for (; *option && used + sizeof folder < sizeof texts[0]; option++)
        if (strncmp(option, "FOLDER", 6) == 0) {
            used += (size_t)snprintf(to + used, sizeof texts[0] - used, "%s", folder);
            option += 5;
        } else {
            to[used++] = *option;
        }
    to[used] = '\0';
    return to;
}

static void set(const char *command, char *request, char *text)
{
    static const char *items[MAX_OPTIONS];
    char *value = strchr(text, '=');
    struct rh_option option = RH_INIT(option);
    struct rh_error error;
    if (value)
        *value++ = '\0';
    for (int i = 0; rh_option(command, i, &option); i++) {
        if (strcmp(option.name, text) != 0 && strcmp(option.field, text) != 0)
            continue;
        if (option.type == 'l') {
            struct rh_list list = {items, 0};
            for (char *item = strtok(value, ";"); item; item = strtok(NULL, ";"))
                items[list.count++] = item;
            memcpy(request + option.offset, &list, sizeof list);
        } else if (option.type == '?') {
            request[option.offset] = true;
        } else if (!rh_set(command, request, option.name, value, &error)) {
            break;
        }
        return;
    }
    fprintf(stderr, "bench_looks: %s: no option '%s', or not so\n", command, text);
    exit(1);
}

/* Does the work, and returns the handle; NULL: it was stopped. */
static rh_handle *work_on(const struct work *work, rh_stop *stop, int threads)
{
    static _Alignas(16) char request[2048];
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    size_t size = rh_request_size(work->command);
    memset(request, 0, sizeof request);
    memcpy(request, &size, sizeof size);
    for (int i = 0; i < MAX_OPTIONS && work->options[i]; i++)
        set(work->command, request, expand(work->options[i], i));
    call.threads = threads;
    call.stop = stop;
    longest = 0.0;
    looks = 0;
    last = thread_seconds();
    rh_handle *made = rh_run(work->command, request, &call, &error);
    look();
    if (made || error.code == RH_STOPPED)
        return made;
    fprintf(stderr, "bench_looks: %s: %s\n", work->command, error.text);
    return NULL;
}

/* ---- calls that end at the next look ---- */

/* Returns the seconds from a look that finds a stop to the end of the call. */
static double way_out(const struct work *work, long at)
{
    rh_stop *stop = wanted = rh_stop_new();
    stop_at = at;
    rh_free(work_on(work, stop, 1));
    double seconds = looks > at + 1 ? last - stopped : 0.0;
    stop_at = -1;
    rh_stop_free(stop);
    return seconds;
}

static void measure(const struct work *work)
{
    double gaps[RUNS], seconds[RUNS], out = 0.0;
    long count = 0;
    rh_stop *stop = rh_stop_new();
    for (int run = 0; run < RUNS; run++) {
        double began = thread_seconds();
        rh_free(work_on(work, stop, 1));
        seconds[run] = last - began;
        gaps[run] = longest;
        count = looks;
    }
    rh_stop_free(stop);
    for (int point = 0; point < POINTS && count > 1; point++) {
        double took = way_out(work, (count - 2) * point / (POINTS - 1));
        out = took > out ? took : out;
    }
    printf("%-16s %-28s %9.3f %9ld %14.1f %12.1f\n", work->command, work->what, measure_median(seconds, RUNS),
           count, 1e3 * measure_median(gaps, RUNS), 1e3 * out);
}

/* ---- calls that end in order ---- */

struct alarm {
    rh_stop *stop;
    double after, rung;
};

static void *ring(void *context)
{
    struct alarm *alarm = context;
    clock_sleep((int64_t)(1e9 * alarm->after));
    alarm->rung = clock_now();
    rh_stop_request(alarm->stop);
    return NULL;
}

/* A data set that is there is kept, and would be done at once. */
static bool remove_output(const struct work *work)
{
    char command[sizeof texts[0] + 16];
    for (int i = 0; i < MAX_OPTIONS && work->options[i]; i++)
        if (strncmp(work->options[i], "output=", 7) == 0) {
            snprintf(command, sizeof command, "rm -rf '%s'", expand(work->options[i] + 7, 0));
            return system(command) == 0;
        }
    return false;
}

static void measure_by_clock(const struct work *work)
{
    double delays[POINTS], began = clock_now();
    rh_stop *stop = rh_stop_new();
    if (strcmp(work->command, "trace") != 0)
        rh_free(work_on(work, stop, 2));
    double seconds = clock_now() - began;
    rh_stop_free(stop);
    for (int point = 0; point < POINTS; point++) {
        struct alarm alarm = {.stop = rh_stop_new(),
                              .after = seconds > 0.01 ? seconds * point / POINTS : 0.4 * point};
        pthread_t thread;
        remove_output(work);
        if (pthread_create(&thread, NULL, ring, &alarm) != 0)
            exit(1);
        rh_free(work_on(work, alarm.stop, 2));
        double ended = clock_now();
        pthread_join(thread, NULL);
        delays[point] = ended - alarm.rung;
        rh_stop_free(alarm.stop);
    }
    if (remove_output(work) && seconds > 0.01)
        rh_free(work_on(work, NULL, 2));            /* the next call reads it */
    double median = measure_median(delays, POINTS); /* sorts them */
    printf("%-16s %-28s %9.3f %9s %14.1f %12.1f\n", work->command, work->what, seconds, "", 1e3 * median,
           1e3 * delays[POINTS - 1]);
}

/* Returns whether a command looks at the stop itself, and ends in order. */
static bool ends_in_order(const struct work *work)
{
    return strncmp(work->command, "dataset", 7) == 0 || strcmp(work->command, "feed") == 0 ||
           strcmp(work->command, "trace") == 0;
}

static bool is_chosen(const struct work *work, int count, char **words)
{
    bool chosen = count == 0;
    for (int i = 0; i < count; i++)
        chosen = chosen || strstr(work->command, words[i]) || strstr(work->what, words[i]);
    return chosen;
}

/* Returns whether another work reads what this one writes: then it is done, too, where it is not measured. */
static bool is_read_later(const struct work *work)
{
    bool makes = strcmp(work->command, "plan") == 0 || strcmp(work->command, "templates") == 0 ||
                 strcmp(work->command, "trace import") == 0 || strcmp(work->command, "dataset generate") == 0;
    for (int i = 0; makes && i < MAX_OPTIONS && work->options[i]; i++)
        if (strncmp(work->options[i], "output=", 7) == 0)
            return true;
    return false;
}

int main(int count, char **words)
{
    if (!mkdtemp(folder))
        return 1;
    looks_write_inputs(folder);
    printf("%-16s %-28s %9s %9s %14s %12s\n", "call", "", "seconds", "looks", "longest, ms", "way out, ms");
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        if (!is_chosen(&works[i], count - 1, words + 1)) {
            if (is_read_later(&works[i]))
                rh_free(work_on(&works[i], NULL, 2));
            continue;
        }
        if (ends_in_order(&works[i]))
            measure_by_clock(&works[i]);
        else
            measure(&works[i]);
        fflush(stdout);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0;
}
