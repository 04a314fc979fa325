/* Schedules are written as traces, and the traces are played with other durations: what comes out is what the schedule takes
 * with those durations, as long as the same causes decide. A trace tells only the cause that decided, and streams of receives do
 * one after another, so that a few runs are predicted a little wrong. */
#include "core/random.h"
#include "schedule/trial.h"
#include "sim/chrome.h"
#include "sim/replay/play.h"
#include "sim/timeline_order.h"
#include "support/folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Plays a schedule whose passes take times[0] to times[2], and sends times[3]; writes its trace if `path` is not NULL. */
static double play(const char *name, int devices, int microbatches, const double *times, const char *path)
{
    struct trial trial;
    struct error err;
    int chunks = 0;
    const struct trial_options options = {.devices = devices,
                                          .microbatches = microbatches,
                                          .forward = {&times[0], 1},
                                          .input = {&times[1], 1},
                                          .weight = {&times[2], 1},
                                          .send = {&times[3], 1}};
    if (!trial_by_name(schedule_find(name, &chunks, &err), &options, &trial, &err))
        fail_msg("%s: %s", name, err.text);
    double makespan = trial.timing.extent.makespan;
    if (path) {
        const struct chrome_options look = {.world_size = devices};
        struct chrome *chrome = chrome_open(path, &look, &err);
        assert_non_null(chrome);
        const struct timeline_sink sink = chrome_sink(chrome);
        bool given = timeline_of_order(&trial.order, &trial.options, &trial.timing, NULL, &sink, &err);
        if (!chrome_close(chrome, given, &err))
            fail_msg("%s", err.text);
    }
    trial_release(&trial);
    return makespan;
}

static double replay(const char *path, const struct replay_scale *scales, int count)
{
    struct replay run;
    struct replay_graph graph;
    struct replay_result result;
    struct error err;
    const struct replay_options options = {.scales = scales, .scale_count = count};
    if (!replay_load(&run, path, &err) || !replay_graph_make(&graph, &run, &err) ||
        !replay_play(&graph, &options, &result, &err))
        fail_msg("%s", err.text);
    double span = (double)result.span / 1e9;
    replay_result_release(&result);
    replay_graph_release(&graph);
    replay_release(&run);
    return span;
}

static void other_times_give_what_the_schedule_takes(void **state)
{
    static const char *const names[] = {"gpipe", "1f1b", "interleaved", "zb-h1"};
    uint64_t random = 11;
    double worst = 0, sum = 0;
    int count = 0;
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/run.json", test_folder);
    for (int i = 0; i < 200; i++) {
        const char *name = names[i % 4];
        int devices = 2 + (int)(random_next(&random) % 3),
            microbatches = devices * (1 + (int)(random_next(&random) % 4));
        double times[4], other[4], factors[4];
        for (int j = 0; j < 4; j++) {
            times[j] = (j == 3 ? 0.2 : 1) * (0.5 + random_uniform(&random));
            factors[j] = 0.5 + random_uniform(&random);
            other[j] = times[j] * factors[j];
        }
        factors[1] = factors[2] =
            (other[1] + other[2]) / (times[1] + times[2]); /* one pass, except in zb-h1 */
        for (int j = 1; j < 3; j++)
            other[j] = times[j] * factors[j];
        const struct replay_scale scales[] = {{"forward", factors[0]},
                                              {"backward", factors[1]},
                                              {"input gradient", factors[1]},
                                              {"weight gradient", factors[2]},
                                              {"nccl*", factors[3]}};
        double as_it_was = play(name, devices, microbatches, times, path);
        assert_true(fabs(replay(path, NULL, 0) - as_it_was) < 1e-6);
        double expected = play(name, devices, microbatches, other, NULL), found = replay(path, scales, 5);
        double error = fabs(found - expected) / expected;
        worst = error > worst ? error : worst;
        sum += error;
        count++;
    }
    printf("# mean error %.2f %%, worst %.2f %%\n", 100 * sum / count, 100 * worst);
    assert_true(sum / count < 0.002 && worst < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_times_give_what_the_schedule_takes),
    };
    return cmocka_run_group_tests_name("replay_schedule", tests, folder_make, folder_remove);
}
