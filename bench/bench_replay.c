/* Memory and CPU time of replaying a made trace: `bench_replay [MIB [SHARE]]` writes a Kineto trace of that many MiB (1,024), of
 * whose events a SHARE (0.17) are kernels and their launches, as in recorded traces of training; the others are operations of the
 * framework. Then it reads and plays the trace, and prints the highest memory beyond that of the program before, in all and
 * for each kernel with its launch. */
#include "core/clock.h"
#include "measure.h"
#include "sim/replay/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_operation(FILE *out, long at)
{
    fprintf(out,
            "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::linear\", \"pid\": 4515, \"tid\": 4515, "
            "\"ts\": "
            "%ld, \"dur\": 9, \"args\": {\"External id\": %ld, \"Input Dims\": [[64, 1024], [1024, 1024], "
            "[1024]], "
            "\"Input type\": [\"float\", \"float\", \"float\"]}},\n",
            at, at);
}

static void write_kernel(FILE *out, long number, long at)
{
    bool exchange = number % 40 == 0;
    fprintf(
        out,
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 4515, \"tid\": "
        "4515, \"ts\": %ld, \"dur\": 4, \"args\": {\"correlation\": %ld}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": %ld, "
        "\"dur\": "
        "%d, \"args\": {\"device\": 0, \"stream\": %d, \"correlation\": %ld, \"grid\": [160, 1, 1], "
        "\"block\": [128, 1, 1]}},\n",
        at, 4 * number, exchange ? "ncclDevKernel_AllReduce" : "gemm", exchange ? 20 : 7, at + 12, 11,
        exchange ? 20 : 7, 4 * number);
}

static void write_trace(const char *path, double bytes, double share)
{
    FILE *out = fopen(path, "w");
    double due = 0;
    if (!out)
        exit(1);
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [\n", out);
    for (long at = 0, number = 1; (double)ftello(out) < bytes; at += 5) {
        due += share;
        if (due >= 2) {
            write_kernel(out, number++, at);
            due -= 2;
        }
        write_operation(out, at);
    }
    fputs("{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1}]}\n", out);
    if (fclose(out) != 0)
        exit(1);
}

int main(int count, char **arguments)
{
    double mib = count > 1 ? atof(arguments[1]) : 1024, share = count > 2 ? atof(arguments[2]) : 0.17;
    char path[] = "/tmp/bench_replay_XXXXXX";
    struct replay replay;
    struct replay_graph graph;
    struct replay_result result;
    struct error err;
    const struct replay_options options = {.typical = true};
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    write_trace(path, mib * 1024 * 1024, share);
    double before = measure_peak_mib(), begin = clock_processor();
    bool ok = replay_load(&replay, path, &err) && replay_graph_make(&graph, &replay, &err) &&
              replay_play(&graph, &options, &result, &err);
    unlink(path);
    if (!ok) {
        fprintf(stderr, "bench_replay: %s\n", err.text);
        return 1;
    }
    double used = measure_peak_mib() - before;
    printf(
        "%.0f MiB of trace, %zu kernels of %zu events: %.2f s of CPU, %.1f MiB of memory, %.0f bytes for a "
        "kernel with its launch\n",
        mib, replay.count, replay.events, clock_processor() - begin, used,
        used * 1024 * 1024 / (double)replay.count);
    return 0;
}
