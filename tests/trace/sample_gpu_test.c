/* GPUs are sampled through the driver's library: here one of our own (fake_nvml.c), of known values. */
#include "trace/sample.h"
#include "trace/store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TAKES 4 /* in each, one direction of PCIe of one GPU */

struct sampled {
    char top[128], store[160], shut[160];
    int gpus;
    char why[128];
};

/* In a process of its own, whose loader looks for libraries elsewhere: argv is "sample" STORE SAID. */
static int sample_main(char **argv)
{
    struct error err;
    const char *why = NULL;
    struct trace_writer *writer = trace_writer_new(argv[2], TRACE_STORE_KEEP, &err);
    struct sampler *sampler = writer ? sampler_new(writer, &err) : NULL;
    FILE *said = fopen(argv[3], "w");
    if (!sampler || !said)
        return 1;
    fprintf(said, "%d", sampler_gpus(sampler, &why));
    fprintf(said, " %s", why ? why : "");
    fclose(said);
    bool done = true;
    for (int i = 0; i < TAKES; i++)
        done = sampler_take(sampler, 1000000000 * (int64_t)(i + 1), NULL, 0, &err) && done;
    sampler_free(sampler);
    return trace_writer_close(writer, &err) && done ? 0 : 1;
}

/* `driver`: which of them, NULL for none; `name` and `value` are of the environment. */
static struct sampled sample(const char *driver, const char *name, const char *value)
{
    struct sampled sampled = {.gpus = -1};
    const char *built = getenv("REHEARSE_FAKE_NVML"), *place = getenv("TMPDIR");
    char link[160], said[160], target[512];
    int status = -1;
    if (!built) {
        print_message("# skipped: REHEARSE_FAKE_NVML does not say where the libraries are\n");
        skip();
    }
    snprintf(sampled.top, sizeof sampled.top, "%.80s/rehearse-gpu-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(sampled.top));
    snprintf(sampled.store, sizeof sampled.store, "%s/run.db", sampled.top);
    snprintf(sampled.shut, sizeof sampled.shut, "%s/shut", sampled.top);
    snprintf(said, sizeof said, "%s/said", sampled.top);
    snprintf(link, sizeof link, "%s/libnvidia-ml.so.1", sampled.top);
    snprintf(target, sizeof target, "%s/%s.so", built, driver ? driver : "");
    if (driver)
        assert_int_equal(symlink(target, link), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("LD_LIBRARY_PATH", sampled.top, 1);
        setenv("FAKE_NVML_SHUTDOWN", sampled.shut, 1);
        if (name)
            setenv(name, value, 1);
        execl("/proc/self/exe", "sample_gpu_test", "sample", sampled.store, said, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    FILE *file = fopen(said, "r");
    assert_non_null(file);
    assert_true(fscanf(file, "%d %127[^\n]", &sampled.gpus, sampled.why) >= 1);
    fclose(file);
    return sampled;
}

static void forget(const struct sampled *sampled)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", sampled->top);
    assert_int_equal(system(command), 0);
}

/* How many samples there are of a series, and the sum of their values. */
static int samples_of(const struct sampled *sampled, const char *kind, const char *source, double *sum)
{
    struct error err = {.text = ""};
    struct trace_sample one;
    int count = 0;
    *sum = 0;
    struct trace_reader *reader = trace_reader_new(sampled->store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_samples(reader, &TRACE_ALL, &err);
    while (trace_next_sample(cursor, &one)) {
        const struct trace_series_info *series = trace_series_info(reader, one.series);
        if (strcmp(series->kind, kind) != 0 || (source && strcmp(series->source, source) != 0))
            continue;
        count++;
        *sum += one.value;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    return count;
}

static void expect(const struct sampled *sampled, const char *kind, const char *source, int count,
                   double each)
{
    double sum;
    int found = samples_of(sampled, kind, source, &sum);
    if (found != count || sum != each * count)
        fail_msg("%s of %s: %d samples of together %g", kind, source, found, sum);
}

static void what_the_driver_tells_is_sampled(void **state)
{
    (void)state;
    struct sampled sampled = sample("fake_nvml", NULL, NULL);
    assert_int_equal(sampled.gpus, 2);
    expect(&sampled, "gpu.sm", "0", TAKES, 37);
    expect(&sampled, "gpu.mem", "0", TAKES, 12);
    expect(&sampled, "gpu.fb", "0", TAKES, 1536);
    expect(&sampled, "gpu.fb", "1", TAKES, 5120);
    expect(&sampled, "gpu.power", "0", TAKES, 215.5);
    expect(&sampled, "gpu.power", "1", TAKES, 61.25);
    assert_int_equal(access(sampled.shut, F_OK), 0); /* the driver was told that it is over */
    forget(&sampled);
}

static void each_direction_of_pcie_has_its_turn(void **state)
{
    (void)state;
    struct sampled sampled = sample("fake_nvml", NULL, NULL);
    expect(&sampled, "gpu.txpci", "0", 1, 1000);
    expect(&sampled, "gpu.rxpci", "0", 1, 1500);
    expect(&sampled, "gpu.txpci", "1", 1, 3000);
    expect(&sampled, "gpu.rxpci", "1", 1, 3500);
    forget(&sampled);
}

static void processes_are_told_apart_and_told_once(void **state)
{
    double sum;
    (void)state;
    struct sampled sampled = sample("fake_nvml", NULL, NULL);
    assert_int_equal(samples_of(&sampled, "gpu.process.sm", "0:4711", &sum), 2);
    assert_true(sum == 40);
    assert_int_equal(samples_of(&sampled, "gpu.process.mem", "0:4711", &sum), 2);
    assert_true(sum == 6);
    expect(&sampled, "gpu.process.sm", "0:4712", 1, 7);
    expect(&sampled, "gpu.process.mem", "0:4712", 1, 2);
    forget(&sampled);
}

static void what_a_gpu_does_not_support_is_left_out(void **state)
{
    (void)state;
    struct sampled sampled = sample("fake_nvml", NULL, NULL);
    expect(&sampled, "gpu.sm", "1", 0, 0);
    expect(&sampled, "gpu.mem", "1", 0, 0);
    forget(&sampled);
}

static void an_older_driver_tells_what_it_can(void **state)
{
    double sum;
    (void)state;
    struct sampled sampled = sample("fake_nvml_old", NULL, NULL);
    assert_int_equal(sampled.gpus, 2);
    expect(&sampled, "gpu.sm", "0", TAKES, 37);
    assert_int_equal(samples_of(&sampled, "gpu.process.sm", NULL, &sum), 0);
    forget(&sampled);
}

static void without_gpus_it_is_said_why(void **state)
{
    double sum;
    (void)state;
    const struct {
        const char *driver, *name, *value, *why;
    } cases[] = {
        {NULL, NULL, NULL, "no libnvidia-ml.so.1"},
        {"fake_nvml", "FAKE_NVML_INIT", "9", "the driver does not answer"}, /* DRIVER_NOT_LOADED */
        {"fake_nvml", "FAKE_NVML_COUNT", "0", "the driver has no GPU"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sampled sampled = sample(cases[i].driver, cases[i].name, cases[i].value);
        if (!cases[i].driver && sampled.gpus > 0) { /* a machine that has them */
            forget(&sampled);
            continue;
        }
        assert_int_equal(sampled.gpus, 0);
        assert_non_null(strstr(sampled.why, cases[i].why));
        assert_int_equal(samples_of(&sampled, "gpu.fb", NULL, &sum), 0);
        assert_true(samples_of(&sampled, "mem.available", "all", &sum) > 0);
        forget(&sampled);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "sample") == 0)
        return sample_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_driver_tells_is_sampled),
        cmocka_unit_test(each_direction_of_pcie_has_its_turn),
        cmocka_unit_test(processes_are_told_apart_and_told_once),
        cmocka_unit_test(what_a_gpu_does_not_support_is_left_out),
        cmocka_unit_test(an_older_driver_tells_what_it_can),
        cmocka_unit_test(without_gpus_it_is_said_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
