/* Drawing a trace of many events: seconds of the processor (gnuplot's beside), the most memory so far, bytes of the
 * picture. "reading" is a pass over all rows of the store that draws nothing: what no picture can beat. A tenth of the
 * events are requests to disks; eight processes, ten minutes, five phases of reading with a checkpoint each.
 *
 *     bench_figure [EVENTS [FOLDER]]     10,000,000, in TMPDIR or /tmp */
#include "core/clock.h"
#include "measure.h"

#include "core/error.h"
#include "figure/trace/distribution.h"
#include "figure/trace/throughput.h"
#include "figure/trace/timeline.h"
#include "trace/store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 8
#define RUN_NS  (INT64_C(600) * 1000000000)
#define ROUND   (RUN_NS / 5) /* of reading, then writing */

static void die(const struct error *err)
{
    fprintf(stderr, "bench_figure: %s\n", err->text);
    exit(1);
}

static double next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

static void add_row(struct trace_writer *writer, int64_t i, int64_t time, uint64_t *seed, const int64_t *ids)
{
    struct error err;
    bool writes = time % ROUND > ROUND / 6 * 5, added;
    int64_t process = ids[(int)(next(seed) * WORKERS)];
    if (i % 10 == 9) {
        const struct trace_block block = {.op = writes ? TRACE_OP_WRITE : TRACE_OP_READ,
                                          .start_ns = time,
                                          .queue_ns = 2000,
                                          .service_ns = (int64_t)exp(9 + 3 * next(seed)),
                                          .sector = i * 8,
                                          .bytes = 4096 << (int)(next(seed) * 8),
                                          .disk = ids[WORKERS],
                                          .process = process};
        added = trace_add_block(writer, &block, &err);
    } else {
        const struct trace_event event = {.class = writes ? TRACE_WRITE : TRACE_READ,
                                          .cached = -1,
                                          .start_ns = time,
                                          .latency_ns = (int64_t)exp(8 + 4 * next(seed)),
                                          .process = process,
                                          .file = ids[WORKERS + 1],
                                          .call = ids[WORKERS + 2],
                                          .fd = 3,
                                          .offset = i * 4096,
                                          .size = 131072,
                                          .result = 4096 << (int)(next(seed) * 6)};
        added = trace_add_event(writer, &event, &err);
    }
    if (!added)
        die(&err);
}

static void make(const char *path, int64_t events)
{
    struct error err;
    int64_t ids[WORKERS + 3];
    uint64_t seed = 1;
    struct trace_writer *writer = trace_writer_new(path, TRACE_STORE_WHOLE | TRACE_STORE_REPLACE, &err);
    if (!writer)
        die(&err);
    for (int i = 0; i < WORKERS; i++)
        ids[i] = trace_process(writer, 1000 + i, TRACE_NONE, "python3", 7);
    ids[WORKERS] = trace_disk(writer, "vda", 3);
    ids[WORKERS + 1] = trace_file(writer, TRACE_NONE, TRACE_NONE, "/data/x", 7);
    ids[WORKERS + 2] = trace_call(writer, "pread64", 7);
    for (int64_t i = 0; i < events; i++)
        add_row(writer, i, (int64_t)((double)RUN_NS / (double)events * ((double)i + next(&seed))), &seed,
                ids);
    for (int64_t start = 0; start < RUN_NS; start += ROUND)
        if (!trace_add_phase(writer, &(struct trace_phase){"TRAINING", start, start + ROUND / 6 * 5, "bench"},
                             &err) ||
            !trace_add_phase(
                writer, &(struct trace_phase){"CHECKPOINT", start + ROUND / 6 * 5, start + ROUND, "bench"},
                &err))
            die(&err);
    if (!trace_writer_close(writer, &err))
        die(&err);
}

static void pass(void *context, const struct figure_call *call)
{
    int64_t *sum = context;
    *sum += call->bytes;
}

static double read_only(const char *path)
{
    struct error err;
    int64_t sum = 0;
    double start = clock_processor();
    struct trace_reader *reader = trace_reader_new(path, &err);
    if (!reader || !figure_read_calls(reader, INT64_MAX, NULL, pass, &sum, &err))
        die(&err);
    trace_reader_free(reader);
    return clock_processor() - start;
}

static struct {
    const char *store;
    char picture[4096];
    double reading;
} bench;

static bool timeline(enum trace_grouping grouping, struct error *err)
{
    const struct figure_timeline options = {.style = &figure_screen,
                                            .zoom = {.from = NAN, .to = NAN},
                                            .grouping = grouping,
                                            .rows = {true, true, true, true, true}};
    return figure_timeline(bench.picture, bench.store, &options, err);
}

static bool together(struct error *err)
{
    return timeline(TRACE_ALL_WORKERS, err);
}

static bool each(struct error *err)
{
    return timeline(TRACE_EACH, err);
}

#define MAIN_STREAMS                                                                                         \
    {                                                                                                        \
        [TRACE_READ] = true, [TRACE_WRITE] = true, [FIGURE_STREAM_OF_DISK(TRACE_OP_READ)] = true,            \
        [FIGURE_STREAM_OF_DISK(TRACE_OP_WRITE)] = true                                                       \
    }

static bool distribution(struct error *err)
{
    const struct figure_distribution options = {.style = &figure_screen,
                                                .zoom = {.from = NAN, .to = NAN},
                                                .streams = MAIN_STREAMS,
                                                .kinds = {true, true, true}};
    return figure_distribution(bench.picture, &bench.store, 1, &options, err);
}

static bool throughput(struct error *err)
{
    const struct figure_throughput options = {
        .style = &figure_screen, .zoom = {.from = NAN, .to = NAN}, .streams = MAIN_STREAMS};
    return figure_throughput(bench.picture, &bench.store, 1, &options, err);
}

static void measure(const char *label, const char *ending, bool (*draw)(struct error *err))
{
    struct error err;
    struct stat state;
    snprintf(bench.picture, sizeof bench.picture, "%s%s", bench.store, ending);
    double start = clock_processor(), children = measure_cpu_children();
    if (!draw(&err))
        die(&err);
    double spent = clock_processor() - start, gnuplot = measure_cpu_children() - children;
    if (stat(bench.picture, &state) < 0)
        perror(bench.picture);
    printf("%-28s %8.2f %10.2f %9.2f %10.0f %10.1f\n", label, spent, spent / bench.reading, gnuplot,
           measure_peak_mib(), (double)state.st_size / 1e3);
    unlink(bench.picture);
}

int main(int argc, char **argv)
{
    const char *base = argc > 2 ? argv[2] : getenv("TMPDIR");
    int64_t events = argc > 1 ? atoll(argv[1]) : 10000000;
    static char store[2048];
    snprintf(store, sizeof store, "%s/bench-figure-%ld.db", base ? base : "/tmp", (long)getpid());
    bench.store = store;
    pid_t maker = fork(); /* so that its memory is not counted */
    if (maker == 0) {
        make(store, events);
        _exit(0);
    }
    int status;
    if (maker < 0 || waitpid(maker, &status, 0) < 0 || status != 0)
        return 1;
    bench.reading = read_only(store);
    printf("%-28s %8s %10s %9s %10s %10s\n", "", "CPU-s", "/ reading", "gnuplot", "peak MiB", "kB");
    printf("%-28s %8.2f\n", "reading", bench.reading);
    measure("timeline, SVG", ".svg", together);
    measure("timeline, PDF", ".pdf", together);
    measure("timeline, PNG", ".png", together);
    measure("timeline, 8 processes, SVG", ".svg", each);
    measure("distribution, SVG", ".svg", distribution);
    measure("throughput, SVG", ".svg", throughput);
    unlink(store);
    return 0;
}
