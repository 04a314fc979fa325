/* How long a call does not look for a stop (src/core/stop.h), at its longest: a stop is obeyed at the next look, so that this is how
 * late it is. Processor seconds of the calling thread, which other work on the machine changes little. A minute. */
#include "measure.h"
#include "rehearse.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_OPTIONS 8
#define RUNS        3

bool __real_stop_wanted(void);
bool __wrap_stop_wanted(void);

static double last, longest;
static long looks;

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
    return __real_stop_wanted();
}

/* ---- what is worked on ---- */

static char folder[] = "/tmp/bench_looks_XXXXXX";

static FILE *begin(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        exit(1);
    return file;
}

static void write_program(int count)
{
    FILE *file = begin("large.hlo");
    fprintf(file, "HloModule large\n\nENTRY main {\n  v0 = f32[1024,1024] parameter(0)\n");
    for (int i = 1; i <= count; i++)
        fprintf(file, "  %sv%d = f32[1024,1024] %s(v%d, v0)%s\n", i == count ? "ROOT " : "", i,
                i % 5 ? "add" : "dot", i - 1,
                i % 5 ? "" : ", lhs_contracting_dims={1}, rhs_contracting_dims={0}");
    fprintf(file, "}\n");
    fclose(file);
}

static void write_calls(const char *name, int count, int files)
{
    FILE *file = begin(name);
    for (int i = 0; i < count; i++)
        fprintf(file, "%d %d.%06d read(3</data/%d>, \"\"..., 4096) = 4096 <0.0000%d>\n", 1 + i % 4,
                1700000000 + i / 1000, i % 1000 * 1000, i % files, 10 + i % 7);
    fclose(file);
}

static void write_kernels(int count)
{
    FILE *file = begin("kernels.json");
    fprintf(file, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    for (int i = 1; i <= count; i++)
        fprintf(
            file,
            "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": "
            "1, \"ts\": %d, \"dur\": 4, \"args\": {\"correlation\": %d}},\n"
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm%d\", \"pid\": 0, \"tid\": 7, \"ts\": %d, "
            "\"dur\": 11, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %d}},\n",
            30 * i, i, i % 50, 30 * i + 12, i);
    fprintf(file, "{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1}]}\n");
    fclose(file);
}

/* ---- calls ---- */

static const struct work {
    const char *what, *command, *options[MAX_OPTIONS]; /* option=value; FOLDER/ is ours */
} works[] = {
    {"a plan for 4,096 devices",
     "plan",
     {"model=llama-3.1-405b", "device=h100", "devices=4096", "global-batch=2048", "output=FOLDER/plan.json"}},
    {"the same of 1,024",
     "plan",
     {"model=llama-3.1-405b", "device=h100", "devices=1024", "global-batch=512", "output=FOLDER/small.json"}},
    {"a sweep of splits",
     "plan",
     {"model=llama-3.1-405b", "device=h100", "devices=64..16384", "global-batch=2048"}},
    {"a plan, device by device", "simulate", {"plan=FOLDER/small.json", "no-symmetry"}},
    {"its tasks as a Chrome trace", "simulate", {"plan=FOLDER/plan.json", "trace=FOLDER/tasks.json"}},
    {"all schedules", "simulate", {"stages=16", "microbatches=256", "compare"}},
    {"a schedule of 1.6 M passes", "simulate", {"stages=256", "microbatches=2048", "schedule=1f1b"}},
    {"a trace of 100,000 kernels", "simulate", {"replay=FOLDER/kernels.json"}},
    {"a plan in 18 clusters",
     "sweep",
     {"plan=FOLDER/plan.json", "global-batch=256..8192", "link=across=0.5,1,2"}},
    {"failures of 1,024 nodes", "elastic", {"rate=rsc-1", "nodes=1024", "seeds=50"}},
    {"HLO of 200,000 instructions", "cost", {"file=FOLDER/large.hlo", "device=h100"}},
    {"its kernels", "cost", {"file=FOLDER/large.hlo", "device=h100", "explain"}},
    {"300,000 calls of strace", "trace import", {"paths=FOLDER/one.strace", "output=FOLDER/one.db", "force"}},
    {"others", "trace import", {"paths=FOLDER/two.strace", "output=FOLDER/two.db", "force"}},
    {"what is in them", "trace show", {"trace=FOLDER/one.db"}},
    {"phases", "trace phases", {"trace=FOLDER/one.db"}},
    {"as CSV", "trace export", {"trace=FOLDER/one.db", "format=csv", "output=FOLDER/rows.csv"}},
    {"10,000 resamples", "compare", {"traces=FOLDER/one.db;FOLDER/two.db", "replicates=10000"}},
    {"a picture", "figure timeline", {"trace=FOLDER/one.db", "output=FOLDER/timeline.svg"}},
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

static double once(const struct work *work, rh_stop *stop)
{
    static _Alignas(16) char request[2048];
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    size_t size = rh_request_size(work->command);
    memset(request, 0, sizeof request);
    memcpy(request, &size, sizeof size);
    for (int i = 0; i < MAX_OPTIONS && work->options[i]; i++)
        set(work->command, request, expand(work->options[i], i));
    call.threads = 1;
    call.stop = stop;
    longest = 0.0;
    looks = 0;
    double began = last = thread_seconds();
    rh_handle *made = rh_run(work->command, request, &call, &error);
    look();
    if (!made) {
        fprintf(stderr, "bench_looks: %s: %s\n", work->command, error.text);
        exit(1);
    }
    rh_free(made);
    return last - began;
}

int main(void)
{
    rh_stop *stop = rh_stop_new();
    if (!stop || !mkdtemp(folder))
        return 1;
    write_program(200000);
    write_calls("one.strace", 300000, 50);
    write_calls("two.strace", 300000, 70);
    write_kernels(100000);
    printf("%-16s %-28s %9s %9s %14s\n", "call", "", "seconds", "looks", "longest, ms");
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        double gaps[RUNS], seconds[RUNS];
        for (int run = 0; run < RUNS; run++) {
            seconds[run] = once(&works[i], stop);
            gaps[run] = longest;
        }
        printf("%-16s %-28s %9.3f %9ld %14.1f\n", works[i].command, works[i].what,
               measure_median(seconds, RUNS), looks, 1e3 * measure_median(gaps, RUNS));
        fflush(stdout);
    }
    rh_stop_free(stop);
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0;
}
