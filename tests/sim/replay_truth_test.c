/* A small GPU whose rules are known runs random programs and records them as Kineto does; then it runs them again with
 * kernels that take another time. A replay of the first recording has to predict the second run. */
#include "core/random.h"
#include "sim/replay/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define STREAMS    3
#define OPERATIONS 400
#define RUNS       60
#define LAUNCH     6000 /* ns from a call to the earliest start */
#define GAP        1200 /* ns between activities of a stream */
#define CALL       4000 /* ns that a call takes */

enum operation_kind { LAUNCH_FAST, LAUNCH_SLOW, WAIT, SYNC_STREAM, SYNC_DEVICE, HOST_WORK };

struct operation {
    enum operation_kind kind;
    int stream, other; /* WAIT: stream awaits other */
    int64_t duration;
};

static int64_t up_to(uint64_t *state, int64_t most)
{
    return (int64_t)(random_next(state) % (uint64_t)most);
}

/* Bursts of kernels on a main stream, exchanges beside them on others, for which it waits later, and now and then a wait of
 * the host. As frameworks do it, each wait of a stream is followed by the launch that needs it (`tidy`); else it may come
 * any time before. */
static void make_program(struct operation *program, uint64_t seed, bool tidy)
{
    uint64_t state = seed;
    bool open[STREAMS] = {false}; /* an exchange was launched, and not awaited */
    for (int i = 0; i < OPERATIONS; i++) {
        int64_t draw = up_to(&state, 100);
        struct operation *operation = &program[i], *before = i > 0 ? operation - 1 : NULL;
        int side = 1 + (int)up_to(&state, STREAMS - 1);
        *operation = (struct operation){LAUNCH_FAST, 0, 0, 2000 + up_to(&state, 60000)};
        if (tidy && before && before->kind == WAIT) {
            if (before->stream > 0)
                *operation =
                    (struct operation){LAUNCH_SLOW, before->stream, 0, 20000 + up_to(&state, 200000)};
        } else if (draw < 10) {
            *operation = (struct operation){WAIT, side, 0, 0};
        } else if (draw < 20 && !tidy) {
            *operation = (struct operation){LAUNCH_SLOW, side, 0, 20000 + up_to(&state, 200000)};
        } else if (draw < 27 && open[side]) {
            *operation = (struct operation){WAIT, 0, side, 0};
        } else if (draw < 29) {
            *operation = (struct operation){SYNC_STREAM, (int)up_to(&state, STREAMS), 0, 0};
        } else if (draw < 30) {
            *operation = (struct operation){SYNC_DEVICE, 0, 0, 0};
        } else if (draw < 45) {
            *operation = (struct operation){HOST_WORK, 0, 0, up_to(&state, 30000)};
        }
        if (operation->kind == LAUNCH_SLOW)
            open[operation->stream] = true;
        else if (operation->kind == WAIT && operation->stream == 0)
            open[side] = false;
    }
}

static void record(FILE *out, const char *category, const char *name, int64_t start, int64_t duration,
                   const char *arguments, int tid)
{
    if (out)
        fprintf(
            out,
            "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": %lld.%03d, "
            "\"dur\": %lld.%03d, \"args\": {%s}},\n",
            category, name, tid, (long long)(start / 1000), (int)(start % 1000), (long long)(duration / 1000),
            (int)(duration % 1000), arguments);
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Runs a program, writes its trace if `out` is not NULL, and returns from the first start to the last end. */
static int64_t run(const struct operation *program, double slow, FILE *out, bool told)
{
    int64_t now = 1000000, free_at[STREAMS] = {0}, ready[STREAMS] = {0}, first = INT64_MAX, last = 0;
    int64_t launched[STREAMS] = {0};
    char arguments[160];
    for (int i = 0; i < OPERATIONS; i++) {
        const struct operation *operation = &program[i];
        uint64_t noise = (uint64_t)i * 77 + 5; /* of this operation, in every run */
        int stream = operation->stream, correlation = 10 * i + 1;
        int64_t begin = now, waited = 0;
        switch (operation->kind) {
        case LAUNCH_FAST:
        case LAUNCH_SLOW: {
            int64_t duration = operation->duration;
            if (operation->kind == LAUNCH_SLOW)
                duration = (int64_t)((double)duration * slow);
            int64_t start = max(now + LAUNCH + up_to(&noise, 800),
                                max(free_at[stream], ready[stream]) + GAP + up_to(&noise, 400));
            snprintf(arguments, sizeof arguments, "\"correlation\": %d", correlation);
            record(out, "cuda_runtime", "cudaLaunchKernel", begin, CALL, arguments, 99);
            snprintf(arguments, sizeof arguments, "\"device\": 0, \"stream\": %d, \"correlation\": %d",
                     stream, correlation);
            record(out, "kernel", operation->kind == LAUNCH_SLOW ? "slow_exchange" : "fast_product", start,
                   duration, arguments, stream);
            free_at[stream] = start + duration;
            ready[stream] = 0;
            launched[stream]++;
            first = start < first ? start : first;
            last = max(last, free_at[stream]);
            break;
        }
        case WAIT:
            snprintf(arguments, sizeof arguments, "\"correlation\": %d", correlation + 1);
            record(out, "cuda_runtime", "cudaEventRecord", begin, CALL / 2, arguments, 99);
            snprintf(arguments, sizeof arguments, "\"correlation\": %d", correlation);
            record(out, "cuda_runtime", "cudaStreamWaitEvent", begin + CALL / 2, CALL / 2, arguments, 99);
            snprintf(arguments, sizeof arguments,
                     "\"device\": 0, \"stream\": %d, \"correlation\": %d, \"wait_on_stream\": %d, "
                     "\"wait_on_cuda_event_record_corr_id\": %d",
                     stream, correlation, operation->other, correlation + 1);
            if (told)
                record(out, "cuda_sync", "Stream Wait Event", begin, 0, arguments, stream);
            ready[stream] = max(ready[stream], free_at[operation->other]);
            break;
        case SYNC_STREAM:
        case SYNC_DEVICE:
            waited = free_at[stream];
            for (int j = 0; j < STREAMS && operation->kind == SYNC_DEVICE; j++)
                waited = max(waited, free_at[j]);
            waited = max(0, waited + 3000 + up_to(&noise, 500) - begin - CALL);
            snprintf(arguments, sizeof arguments, "\"correlation\": %d", correlation);
            record(out, "cuda_runtime",
                   operation->kind == SYNC_DEVICE ? "cudaDeviceSynchronize" : "cudaStreamSynchronize", begin,
                   CALL + waited, arguments, 99);
            snprintf(arguments, sizeof arguments, "\"device\": 0, \"stream\": %d, \"correlation\": %d",
                     stream, correlation);
            if (told && operation->kind == SYNC_STREAM)
                record(out, "cuda_sync", "Stream Synchronize", begin, 0, arguments, stream);
            break;
        case HOST_WORK:
            now += operation->duration;
            continue;
        }
        now += CALL + waited + 500;
    }
    return last - first;
}

static int64_t predict(const char *text, size_t length, bool typical, const char *question)
{
    struct replay replay;
    struct replay_graph graph;
    struct replay_result result;
    struct replay_scale scale;
    struct error err;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s", question);
    if (!replay_parse(&replay, "small.json", text, length, &err) ||
        !replay_graph_make(&graph, &replay, &err) || !replay_scale_parse(&scale, pattern, &err))
        fail_msg("%s", err.text);
    struct replay_options options = {.scales = &scale, .scale_count = 1, .typical = typical};
    if (!replay_play(&graph, &options, &result, &err))
        fail_msg("%s", err.text);
    int64_t span = result.span;
    replay_result_release(&result);
    replay_graph_release(&graph);
    replay_release(&replay);
    return span;
}

struct errors {
    double worst, sum;
};

static void count(struct errors *errors, int64_t predicted, int64_t true_span)
{
    double error = (double)llabs(predicted - true_span) / (double)true_span;
    errors->sum += error;
    if (error > errors->worst)
        errors->worst = error;
}

/* Predicts runs with slow kernels `factor` times as long, from recordings that tell the streams of waits or not. */
static struct errors try_all(double factor, bool told, bool typical)
{
    static struct operation program[OPERATIONS];
    struct errors errors = {0};
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        char *text = NULL, question[64];
        size_t length;
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        make_program(program, seed, !told);
        fputs("{\"traceEvents\": [\n", out);
        run(program, 1, out, told);
        fputs("{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1}]}\n", out);
        assert_int_equal(fclose(out), 0);
        snprintf(question, sizeof question, "slow*=%g", factor);
        count(&errors, predict(text, length, typical, question), run(program, factor, NULL, told));
        free(text);
    }
    printf("# factor %g, streams of waits %s, %s lags: mean %.2f %%, worst %.2f %%\n", factor,
           told ? "told" : "inferred", typical ? "typical" : "measured", 100 * errors.sum / RUNS,
           100 * errors.worst);
    return errors;
}

static void the_recorded_run_is_played(void **state)
{
    (void)state;
    assert_true(try_all(1, true, false).worst == 0);
    assert_true(try_all(1, false, false).worst == 0);
    assert_true(try_all(1, true, true).worst < 0.005);
    assert_true(try_all(1, false, true).worst < 0.005);
}

static void other_durations_are_predicted(void **state)
{
    static const double factors[] = {0, 0.5, 2, 4};
    (void)state;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        assert_true(try_all(factors[i], true, false).worst < 0.005);
        struct errors inferred = try_all(factors[i], false, false);
        assert_true(inferred.sum / RUNS < 0.02 && inferred.worst < 0.1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_run_is_played),
        cmocka_unit_test(other_durations_are_predicted),
    };
    return cmocka_run_group_tests_name("replay_truth", tests, NULL, NULL);
}
