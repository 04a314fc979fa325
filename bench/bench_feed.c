/* What feeding accelerators costs: processor seconds per GB and per sample through the whole loader, buffered and
 * direct, as accelerators per core beside DLIO's; how late 1,000 accelerators in one process notice their deadlines; how
 * much memory each takes.
 *
 *     bench_feed [FOLDER]      makes up to 2 GB of files in it (default: a temporary one) and removes them
 *
 * DLIO's figures: its main branch of June 2026 with PyTorch 1.13, one process per accelerator and four workers, the
 * difference of runs with more and fewer epochs: 113 ms of processor time per UNET3D sample of 146.6 MB from the page cache,
 * 88 ms with O_DIRECT, 7.73 ms per CosmoFlow sample (HDF5), 3.92 ms per ResNet-50 sample (JPEG). Plain read() of the same
 * files took 0.172 CPU-s/GB there, 0.032 with O_DIRECT. That machine is not this one: the last column compares both to
 * plain read() on their own machine, which is what can be said without DLIO at hand. */
#include "core/clock.h"
#include "measure.h"

#include "feed/place.h"
#include "feed/run.h"

#include "dataset/generate.h"
#include "storage/facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[512];

static void fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static void clean(void)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s/bench_feed'", folder);
    if (system(command) != 0)
        fprintf(stderr, "bench: cannot remove %s/bench_feed\n", folder);
}

/* A workload and its data set, and a storage over it. */
struct set {
    struct workload workload;
    struct dataset_layout layout;
    char root[600];
};

static void set_init(struct set *set, const char *name, const char *builtin, const char *const *overrides,
                     int count)
{
    struct error err;
    const struct workload_options options = {.overrides = overrides, .override_count = count};
    if (!workload_open(&set->workload, builtin, &options, &err))
        fail(err.text);
    const struct workload_dataset *data = &set->workload.dataset;
    dataset_layout_init(&set->layout);
    set->layout.format = dataset_format_find(data->format);
    set->layout.files_train = data->num_files_train;
    set->layout.samples_per_file = data->num_samples_per_file;
    set->layout.record_bytes = data->record_length_bytes;
    if (!dataset_layout_check(&set->layout, &err))
        fail(err.text);
    snprintf(set->root, sizeof set->root, "%s/bench_feed/%s", folder, name);
    struct feed_place at = {.storage = storage_new(&(struct storage_options){.root = set->root}, &err)};
    if (!at.storage)
        fail(err.text);
    struct dataset_place place = feed_place_of(&at);
    struct dataset_generated generated;
    const struct dataset_work work = {.ranks = 1};
    if (!dataset_generate(&set->layout, &place, &work, &generated, &err))
        fail(err.text);
    storage_free(at.storage);
}

static void set_release(struct set *set)
{
    dataset_layout_release(&set->layout);
    workload_release(&set->workload);
}

static bool try_run(const struct set *set, struct run_options *options, bool direct,
                    struct run_result *result)
{
    struct error err;
    struct storage_options where = {.direct = direct, .root = set->root};
    struct comm *comm = comm_open(0, &err);
    struct storage *storage = storage_new(&where, &err);
    if (!comm || !storage)
        fail(err.text);
    options->workload = &set->workload;
    options->loader.layout = &set->layout;
    options->loader.storage = storage;
    options->comm = comm;
    options->loader.exact = true;
    bool ok = run_workload(options, result, &err);
    if (!ok)
        fprintf(stderr, "bench: %s\n", err.text);
    storage_free(storage);
    comm_close(comm);
    return ok;
}

/* With as many epochs more as make a difference: start-up is not in it. */
struct cost {
    double wall, cpu; /* seconds */
    double samples, bytes;
};

static struct cost cost_of(const struct set *set, bool direct, int accelerators, int epochs)
{
    struct cost costs[2];
    for (int i = 0; i < 2; i++) {
        struct run_result result;
        struct run_options options = {.accelerators = accelerators, .epochs = i == 0 ? 1 : 1 + epochs};
        if (!try_run(set, &options, direct, &result))
            return (struct cost){0};
        costs[i] = (struct cost){1e-9 * (double)(result.end - result.start), result.cpu_seconds,
                                 (double)result.counts.samples, (double)result.counts.bytes};
        run_release(&result);
    }
    return (struct cost){costs[1].wall - costs[0].wall, costs[1].cpu - costs[0].cpu,
                         costs[1].samples - costs[0].samples, costs[1].bytes - costs[0].bytes};
}

/* CPU-s/GB of read() into one buffer, in the pieces that cost least: 1 MiB, directly 2 MiB. */
static double plain_read(const struct set *set, bool direct)
{
    double bytes = 0;
    size_t piece = direct ? 2 << 20 : 1 << 20;
    struct error err;
    char *buffer = storage_buffer_new((int64_t)piece, &err);
    double before = clock_processor();
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < set->layout.files_train; i++) {
            struct dataset_file file;
            struct text name = {0};
            char path[1200];
            dataset_file_init(&file, &set->layout, i);
            if (!buffer || !dataset_file_path(&file, 0, &name))
                fail("out of memory");
            snprintf(path, sizeof path, "%s/%s", set->root, name.data);
            text_release(&name);
            int fd = open(path, O_RDONLY | (direct ? O_DIRECT : 0));
            ssize_t got = 1;
            while (fd >= 0 && (got = read(fd, buffer, piece)) > 0)
                bytes += (double)got;
            if (fd < 0 || got < 0)
                return NAN;
            close(fd);
        }
    }
    double used = clock_processor() - before;
    storage_buffer_free(buffer, (int64_t)piece);
    return used / bytes * 1e9;
}

/* DLIO's, on its own machine. */
struct peer {
    double step;   /* seconds of an H100 */
    double sample; /* CPU-s per sample */
    double plain;  /* CPU-s/GB of plain read() */
};

static void bench_cost(const struct set *set, const char *name, bool direct, int epochs, struct peer peer)
{
    const struct workload *workload = &set->workload;
    double plain = plain_read(set, direct);
    struct cost cost = cost_of(set, direct, 1, epochs);
    if (cost.samples == 0)
        return;
    double batch = (double)workload->reader.batch_size;
    double sample = cost.cpu / cost.samples, gigabyte = cost.cpu / cost.bytes * 1e9;
    double theirs = peer.sample / (cost.bytes / cost.samples) * 1e9;
    printf("%-24s %7.2f %9.4f %9.4f %9.2f %10.1f %9.2f %8.2f %7.1f\n", name, cost.bytes / cost.wall / 1e9,
           gigabyte, plain, 1 / gigabyte, 1e6 * sample, peer.step / (batch * sample),
           peer.step / (batch * peer.sample), (theirs / peer.plain) / (gigabyte / plain));
}

static void print_heading(void)
{
    printf("%-24s %7s %9s %9s %9s %10s %9s %8s %7s\n", "", "", "", "plain", "GB/s per", "CPU µs per",
           "acc. per", "", "cheaper");
    printf("%-24s %7s %9s %9s %9s %10s %9s %8s %7s\n", "", "GB/s", "CPU-s/GB", "read()", "core", "sample",
           "core", "DLIO's", "by");
}

/* Compute takes no time, so that reading is all there is. */
static void bench_costs(void)
{
    const struct peer cached = {0.323, 0.113, 0.172}, direct = {0.323, 0.088, 0.032};
    struct set set;
    print_heading();
    set_init(&set, "unet3d", "unet3d_h100",
             (const char *const[]){"dataset.num_files_train=14", "dataset.record_length_bytes_stdev=0",
                                   "train.computation_time=0", "workflow.checkpoint=false",
                                   "dataset.record_length_bytes=146600628"},
             5);
    bench_cost(&set, "unet3d npz, page cache", false, 4, cached);
    bench_cost(&set, "unet3d npz, direct", true, 2, direct);
    set_release(&set);
    clean();

    set_init(&set, "cosmoflow", "cosmoflow_h100",
             (const char *const[]){"dataset.num_files_train=256", "dataset.record_length_bytes_stdev=0",
                                   "train.computation_time=0"},
             3);
    bench_cost(&set, "cosmoflow, page cache", false, 8, (struct peer){0.0035, 0.00773, 0.172});
    set_release(&set);
    clean();

    set_init(&set, "resnet50", "resnet50_h100",
             (const char *const[]){"dataset.num_files_train=4", "train.computation_time=0"}, 2);
    bench_cost(&set, "resnet50, page cache", false, 8, (struct peer){0.224, 0.00392, 0.172});
    set_release(&set);
    clean();

    set_init(&set, "tiny", "default",
             (const char *const[]){
                 "dataset.format=tfrecord", "dataset.num_files_train=8", "dataset.num_samples_per_file=20000",
                 "dataset.record_length_bytes=100", "reader.batch_size=1000", "train.computation_time=0",
                 "workflow.evaluation=false", "reader.data_loader=tensorflow", "framework=tensorflow",
                 "reader.sample_shuffle=seed", "workflow.generate_data=false"},
             11);
    struct cost cost = cost_of(&set, false, 1, 8);
    printf("%-24s %.2f µs of processor per sample, all in\n\n", "100-byte samples",
           1e6 * cost.cpu / cost.samples);
    set_release(&set);
    clean();
}

/* What the machine itself can do at the same time: a thread that does nothing but sleep until deadlines. */
struct sleeper {
    pthread_t thread;
    atomic_bool stop;
    struct histogram late;
};

static void *sleep_on(void *context)
{
    struct sleeper *sleeper = context;
    int64_t deadline = clock_nanoseconds();
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    while (!atomic_load(&sleeper->stop)) {
        deadline += 10000000;
        struct timespec time = {deadline / 1000000000, deadline % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
        histogram_add(&sleeper->late, clock_nanoseconds() - deadline);
    }
    return NULL;
}

static void print_late(const char *name, int count, const struct histogram *late)
{
    printf("%-6d%-18s %8.0f %8.0f %8.0f %8.0f", count, name, histogram_quantile(late, 0.5) / 1e3,
           histogram_quantile(late, 0.99) / 1e3, histogram_quantile(late, 0.999) / 1e3,
           (double)late->max / 1e3);
}

/* Deadlines with a barrier at each step; data so small that reading is nothing. */
static void bench_deadlines(void)
{
    static const int counts[] = {1, 100, 1000};
    struct set set;
    printf("how late deadlines are noticed, steps of 50 ms\n%-24s %8s %8s %8s %8s   %s\n", "accelerators",
           "p50 µs", "p99 µs", "p99.9 µs", "max µs", "cores busy");
    set_init(&set, "late", "default",
             (const char *const[]){
                 "dataset.format=tfrecord", "dataset.num_files_train=8", "dataset.num_samples_per_file=50000",
                 "dataset.record_length_bytes=100", "reader.batch_size=1", "train.computation_time=0.05",
                 "workflow.evaluation=false", "reader.data_loader=tensorflow", "framework=tensorflow",
                 "workflow.generate_data=false", "train.total_training_steps=200"},
             11);
    for (int i = 0; i < 3; i++) {
        struct run_result result;
        struct run_options options = {.accelerators = counts[i], .epochs = 1, .loader = {.max_threads = 8}};
        static struct sleeper sleeper;
        sleeper = (struct sleeper){0};
        if (pthread_create(&sleeper.thread, NULL, sleep_on, &sleeper) != 0)
            fail("cannot start a thread");
        bool ok = try_run(&set, &options, false, &result);
        atomic_store(&sleeper.stop, true);
        pthread_join(sleeper.thread, NULL);
        if (!ok)
            continue;
        print_late("", counts[i], &result.late);
        printf("   %.2f\n", result.cpu_seconds / (1e-9 * (double)(result.end - result.start)));
        print_late("bare sleep beside", 1, &sleeper.late);
        printf("\n");
        run_release(&result);
    }
    set_release(&set);
    clean();
}

static int64_t resident(void)
{
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void print_memory(const struct set *set, int accelerators, bool direct)
{
    struct run_result result;
    struct run_options options = {.accelerators = accelerators, .epochs = 2};
    int64_t before = resident();
    if (!try_run(set, &options, direct, &result))
        return;
    double mib = (double)(result.memory - before) / 1048576;
    printf("%-5d %-18s %10d %10.1f %10.2f\n", accelerators, direct ? "direct" : "page cache",
           result.counts.threads, mib, mib / accelerators);
    fflush(stdout);
    run_release(&result);
}

/* The most that was resident beyond what was before, each in a process of its own. */
static void bench_memory(void)
{
    static const int counts[] = {1, 8, 64, 512};
    struct set set;
    printf("\nmemory with UNET3D's 4 read threads and 2 batches for each accelerator\n%-24s %10s %10s %10s\n",
           "accelerators", "threads", "MiB", "MiB each");
    set_init(&set, "memory", "unet3d_h100",
             (const char *const[]){"dataset.num_files_train=1024", "dataset.record_length_bytes=1500000",
                                   "dataset.record_length_bytes_stdev=0", "reader.batch_size=1",
                                   "train.computation_time=0.01", "workflow.checkpoint=false"},
             6);
    for (int i = 0; i < 8; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            print_memory(&set, counts[i % 4], i >= 4);
            _exit(0);
        }
        if (child > 0)
            waitpid(child, NULL, 0);
    }
    set_release(&set);
    clean();
}

int main(int argc, char **argv)
{
    snprintf(folder, sizeof folder, "%s", argc > 1 ? argv[1] : "/tmp");
    bench_costs();
    bench_deadlines();
    bench_memory();
    return 0;
}
