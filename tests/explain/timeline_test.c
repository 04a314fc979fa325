/* Timelines of random runs, against a count of every nanosecond; and what always holds of shares. */
#include "core/random.h"
#include "explain/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUNS    300
#define LARGEST 24  /* activities */
#define SPAN    400 /* ns in which they begin */

struct made {
    struct replay replay;
    struct replay_graph graph;
    struct explain_timeline timeline;
};

static int64_t up_to(uint64_t *state, int64_t most)
{
    return (int64_t)(random_next(state) % (uint64_t)most);
}

/* Activities of all classes on three streams, some with a launch, some at the same time, some of no time. */
static void make(struct made *made, uint64_t *state, bool causes)
{
    static const char *const kinds[][2] = {
        {"kernel", "gemm"}, {"kernel", "ncclDevKernel_AllReduce"}, {"gpu_memcpy", "Memcpy HtoD"}};
    char text[LARGEST * 400];
    struct error err;
    size_t used = (size_t)snprintf(text, sizeof text, "[");
    int count = 1 + (int)up_to(state, LARGEST);
    for (int i = 0; i < count; i++) {
        const char *const *kind = kinds[up_to(state, 3)];
        int64_t start = 1000 + up_to(state, SPAN), time = up_to(state, 60);
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s%d\", \"pid\": 0, \"tid\": 7, \"ts\": "
            "%lld.%03d, \"dur\": 0.%03d, \"args\": {\"stream\": %d, \"correlation\": %d}}",
            i > 0 ? ",\n" : "", kind[0], kind[1], i, (long long)(start / 1000), (int)(start % 1000),
            (int)time, (int)up_to(state, 3), i + 1);
        if (up_to(state, 2) == 0)
            used += (size_t)snprintf(
                text + used, sizeof text - used,
                ",\n{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
                "\"pid\": 1, \"tid\": 1, \"ts\": %lld.%03d, \"dur\": 0.005, \"args\": "
                "{\"correlation\": %d}}",
                (long long)((start - 100) / 1000), (int)((start - 100) % 1000), i + 1);
    }
    snprintf(text + used, sizeof text - used, "]");
    const struct explain_source source = {.graph = &made->graph, .causes = causes};
    if (!replay_parse(&made->replay, "a.json", text, strlen(text), &err) ||
        !replay_graph_make(&made->graph, &made->replay, &err) ||
        !explain_timeline_make(&made->timeline, &source, &err) ||
        !explain_timeline_finish(&made->timeline, 5000, NULL, 0, &err))
        fail_msg("%s", err.text);
}

static void release(struct made *made)
{
    explain_timeline_release(&made->timeline);
    replay_graph_release(&made->graph);
    replay_release(&made->replay);
}

/* What runs in the nanosecond from a time on, without causes. */
static enum explain_share share_at(const struct replay *replay, int64_t time)
{
    bool runs[REPLAY_CLASSES] = {false};
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        if (activity->start <= time && time < activity->start + activity->duration)
            runs[activity->class] = true;
    }
    if (runs[REPLAY_COMPUTE])
        return runs[REPLAY_COMMUNICATION] ? SHARE_COVERED : SHARE_COMPUTE;
    return runs[REPLAY_COMMUNICATION] ? SHARE_TRANSFER : runs[REPLAY_MEMORY] ? SHARE_COPY : SHARE_UNKNOWN;
}

static void shares_are_what_a_count_of_every_nanosecond_says(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (int run = 0; run < RUNS; run++) {
        struct made made;
        int64_t counted[EXPLAIN_SHARES] = {0}, sums[EXPLAIN_SHARES] = {0};
        make(&made, &random, false);
        for (int64_t t = made.timeline.begin; t < made.timeline.end; t++)
            counted[share_at(&made.replay, t - 5000)]++;
        explain_sums(&made.timeline, made.timeline.begin, made.timeline.end, sums);
        assert_memory_equal(counted, sums, sizeof sums);
        release(&made);
    }
}

/* With causes, idle time is told apart and exchanges that nothing awaits are not exposed: compute is never touched. */
static void shares_of_windows_add_up(void **state)
{
    uint64_t random = 2;
    (void)state;
    for (int run = 0; run < RUNS; run++) {
        struct made made, bare;
        uint64_t same = random;
        int64_t sums[EXPLAIN_SHARES] = {0}, parts[EXPLAIN_SHARES] = {0}, all[EXPLAIN_SHARES] = {0}, sum = 0;
        make(&made, &random, true);
        make(&bare, &same, false);
        int64_t begin = made.timeline.begin, end = made.timeline.end, middle = begin;
        if (end > begin) {
            middle += up_to(&random, end - begin);
            explain_sums(&made.timeline, begin, end, sums);
            explain_sums(&made.timeline, begin, middle, parts);
            explain_sums(&made.timeline, middle, end, parts);
            explain_sums(&bare.timeline, begin, end, all);
        }
        for (int i = 0; i < EXPLAIN_SHARES; i++)
            sum += sums[i];
        assert_int_equal(sum, end - begin);
        assert_memory_equal(sums, parts, sizeof sums);
        assert_int_equal(sums[SHARE_COMPUTE], all[SHARE_COMPUTE]);
        assert_int_equal(sums[SHARE_COVERED], all[SHARE_COVERED]);
        assert_true(sums[SHARE_TRANSFER] <= all[SHARE_TRANSFER]);
        release(&made);
        release(&bare);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_what_a_count_of_every_nanosecond_says),
        cmocka_unit_test(shares_of_windows_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
