/* Plans that are played: everything that is sent, kept and freed is as scheduled, by one rank and by several; every schedule is played;
 * what is wrong is named. No time is looked at. */
#include "core/clock.h"
#include "devices/tables.h"
#include "plan/split/plan.h"
#include "run/run.h"
#include "support/forked.h"
#include "support/jobs.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FASTER 0.02 /* kernels take this share of their seconds */

static void make(struct plan *plan, struct job *job, int devices)
{
    struct error err;
    job_spread(job, devices);
    plan_init(plan);
    if (!job_check(job, &err) || !plan_of_one_job(plan, job, devices, &err))
        fail_msg("%s", err.text);
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            struct plan_stage *stage = &plan->pipelines[p].stages[s];
            stage->seconds.forward *= FASTER;
            stage->seconds.backward *= FASTER;
            stage->seconds.backward_weight *= FASTER;
            stage->seconds.optimizer *= FASTER;
            for (int t = 0; t < stage->transfer_count; t++)
                stage->transfers[t].seconds *= FASTER;
        }
}

struct playing {
    const char *schedule;
    int chunks, iterations, ranks;
    double share;
    bool other_plan; /* rank 1 has other options */
    bool slow_files; /* what rank 0 tells takes longer than ranks wait for each other */
    bool impatient;  /* they wait less than the run takes */
    int muted;       /* a rank that is deaf and mute once the run has begun; 0: none */
};

#define IMPATIENT 1.5 /* seconds */

/* The first tasks take as long as that together, many times. */
static bool take_long(void *context, const struct timeline_task *task, struct error *err)
{
    int *left = context;
    (void)task, (void)err;
    if ((*left)-- > 0)
        clock_sleep(CLOCK_SECOND / 40);
    return true;
}

static bool play(struct wire *wire, struct plan *plan, const struct playing *playing,
                 struct run_result *result, struct error *err)
{
    int left[2] = {100, 100};
    const struct timeline_sink sinks[2] = {{.context = &left[0], .task = take_long},
                                           {.context = &left[1], .task = take_long}},
                               none = {.context = NULL};
    const bool slow = playing->slow_files, first = wire->rank == 0;
    const struct sim_options sim = {.schedule = playing->schedule, .chunks = playing->chunks};
    const struct run_options options = {.sim = &sim,
                                        .iterations = playing->iterations,
                                        .byte_share =
                                            playing->other_plan && wire->rank == 1 ? 0.5 : playing->share,
                                        .sink = !slow   ? NULL
                                                : first ? &sinks[0]
                                                        : &none,
                                        .simulated = slow && first ? &sinks[1] : NULL,
                                        .timeout = wire->silence};
    return run_play(wire, plan, &options, result, err);
}

static bool (*send_on)(struct wire *wire, const struct wire_head *head, const void *bytes, int *pending,
                       struct error *err);
static int words_left, over[2]; /* over: a pipe to which each other rank writes when it has ended */

/* A rank behind a pulled cable is there until the others have ended, so that they find nothing but its silence. */
static bool hear_nothing(struct wire *wire, double until, struct error *err)
{
    static bool ended;
    char byte;
    (void)until;
    for (int other = 1; !ended && other < wire->size; other++)
        if (read(over[0], &byte, 1) != 1)
            break;
    ended = true;
    return error_set(err, ERROR_FAILED, "the others have ended");
}

static struct wire_calls mute_calls;

/* As many words as a rank without devices has before a run; then its cable is pulled. */
static bool send_and_mute(struct wire *wire, const struct wire_head *head, const void *bytes, int *pending,
                          struct error *err)
{
    bool sent = send_on(wire, head, bytes, pending, err);
    if (head->kind == WIRE_CONTROL && --words_left == 0) {
        wire_cut(wire);
        mute_calls.poll = hear_nothing;
    }
    return sent;
}

static void mute_later(struct wire *wire)
{
    mute_calls = *wire->calls;
    send_on = mute_calls.send;
    mute_calls.send = send_and_mute;
    wire->calls = &mute_calls;
    words_left = 1 + 16; /* what it plays; its clock, asked for 16 times */
}

struct told {
    struct plan *plan;
    const struct playing *playing;
    int pipe_end;
};

static int play_one(struct wire *wire, void *context)
{
    const struct told *told = context;
    struct run_result own = {.ranks = 0};
    struct error err = {.text = ""};
    if (wire->rank > 0 && wire->rank == told->playing->muted)
        mute_later(wire);
    bool ok = play(wire, told->plan, told->playing, &own, &err);
    bool said = wire->rank > 0 || (write(told->pipe_end, &own, sizeof own) == (ssize_t)sizeof own &&
                                   write(told->pipe_end, err.text, ok ? 0 : strlen(err.text)) >= 0);
    if (!ok)
        fprintf(stderr, "# rank %d: %s\n", wire->rank, err.text);
    if (told->playing->muted > 0 && wire->rank != told->playing->muted)
        said &= write(over[1], "", 1) == 1;
    if (ok)
        run_result_release(&own);
    plan_release(told->plan);
    return ok && said ? 0 : 1;
}

/* Plays on ranks that are processes; returns what rank 0 found: "" if all is well. */
static void play_on_ranks(struct plan *plan, const struct playing *playing, char *said, size_t size,
                          struct run_result *result)
{
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(pipe(over), 0);
    struct told told = {plan, playing, pipe_ends[1]};
    double silence = playing->slow_files || playing->impatient ? IMPATIENT : 60;
    int status = forked_run(playing->ranks, silence, play_one, &told);
    close(pipe_ends[1]);
    close(over[0]);
    close(over[1]);
    ssize_t got = read(pipe_ends[0], result, sizeof *result);
    ssize_t length = read(pipe_ends[0], said, size - 1);
    said[length > 0 ? length : 0] = '\0';
    close(pipe_ends[0]);
    assert_int_equal(got, sizeof *result);
    if (status != 0 && said[0] == '\0')
        snprintf(said, size, "status %d", status);
}

static void everything_is_sent_and_freed(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 1, job.degrees.pipeline = 4, job.chunks = 1, job.microbatch = 1, job.batch = 16;
    make(&plan, &job, 8);
    int64_t microbatches = plan.pipelines[0].microbatches;
    for (int ranks = 1; ranks <= 4; ranks += 3) {
        const struct playing playing = {.iterations = 2, .share = 1e-4, .ranks = ranks};
        struct run_result result;
        char said[1024] = "";
        play_on_ranks(&plan, &playing, said, sizeof said, &result);
        assert_string_equal(said, "");
        assert_int_equal(result.devices, 8);
        assert_int_equal(result.per_rank, 8 / ranks);
        assert_int_equal(result.counts.messages,
                         microbatches * 2 * 2 * 2 * 3); /* iterations, copies, both ways, cuts */
        assert_true(result.counts.kept >= microbatches * 2 * 8);
        assert_true(result.counts.bytes > 0);
        assert_true(result.counts.collectives_checked >= 8);
        assert_true(ranks > 1 ? result.counts.wire_bytes > 0 : result.counts.wire_bytes == 0);
    }
    plan_release(&plan);
}

static void every_schedule_is_played(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int chunks;
    } schedules[] = {{"gpipe", 1}, {"1f1b", 1},        {"eager-1f1b", 1}, {"zb-h1", 1},
                     {"zb-v", 2},  {"interleaved", 2}, {"dualpipev", 2}};
    for (size_t i = 0; i<sizeof schedules / sizeof *schedules; i += SEARCH_STEP> 1 ? 3 : 1) {
        struct job job = job_example();
        struct plan plan;
        job.degrees.tensor = 1, job.degrees.pipeline = 4,
        job.chunks = schedules[i].chunks > 1 && strcmp(schedules[i].name, "interleaved") == 0 ? 2 : 1;
        job.microbatch = 1, job.batch = 16;
        make(&plan, &job, 4);
        const struct playing playing = {.schedule = schedules[i].name,
                                        .chunks = schedules[i].chunks,
                                        .iterations = 1,
                                        .share = 1e-5,
                                        .ranks = 2};
        struct run_result result;
        char said[1024] = "";
        play_on_ranks(&plan, &playing, said, sizeof said, &result);
        if (said[0])
            fail_msg("%s: %s", schedules[i].name, said);
        assert_true(result.counts.messages > 0);
        plan_release(&plan);
    }
}

static void ranks_with_other_plans_are_named(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 1, job.degrees.pipeline = 4, job.chunks = 1, job.microbatch = 1, job.batch = 16;
    make(&plan, &job, 4);
    const struct playing playing = {.iterations = 1, .share = 1e-4, .ranks = 3, .other_plan = true};
    struct run_result result;
    char said[1024] = "";
    play_on_ranks(&plan, &playing, said, sizeof said, &result);
    assert_string_equal(said, "rank 1 runs another plan or other options than rank 0");
    plan_release(&plan);
}

/* What is kept and freed in no time fills no memory. */
static void passes_may_take_no_time(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 1, job.degrees.pipeline = 4, job.chunks = 1, job.microbatch = 1, job.batch = 16;
    make(&plan, &job, 4);
    for (int s = 0; s < plan.pipelines[0].stage_count; s++) {
        struct plan_stage *stage = &plan.pipelines[0].stages[s];
        stage->seconds.forward = stage->seconds.backward = stage->seconds.backward_weight = 0.0;
    }
    const struct playing playing = {.iterations = 2, .share = 1e-4, .ranks = 2};
    struct run_result result;
    char said[1024] = "";
    play_on_ranks(&plan, &playing, said, sizeof said, &result);
    assert_string_equal(said, "");
    plan_release(&plan);
}

/* While rank 0 writes its files, the others go on waiting. */
static void files_may_take_long(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 1, job.degrees.pipeline = 4, job.chunks = 1, job.microbatch = 1, job.batch = 16;
    make(&plan, &job, 4);
    const struct playing playing = {.iterations = 1, .share = 1e-4, .ranks = 2, .slow_files = true};
    struct run_result result;
    char said[1024] = "";
    play_on_ranks(&plan, &playing, said, sizeof said, &result);
    assert_string_equal(said, "");
    plan_release(&plan);
}

/* Four devices on three ranks: the third has none. It waits for the others as long as they live, however long they play; they do not
 * play on when it has been silent for as long as ranks wait. */
static void a_rank_without_devices_is_heard(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 1, job.degrees.pipeline = 4, job.chunks = 1, job.microbatch = 1, job.batch = 16;
    make(&plan, &job, 4);
    for (int muted = 0; muted < 3; muted += 2) {
        struct run_result result;
        char said[1024] = "";
        const struct playing one = {.iterations = 1, .share = 1e-4, .ranks = 3};
        play_on_ranks(&plan, &one, said, sizeof said, &result);
        assert_string_equal(said, "");
        const double longer = muted > 0 ? 20 : 2;
        const struct playing playing = {.iterations = 1 + (int)(longer * IMPATIENT / result.simulated),
                                        .share = 1e-4,
                                        .ranks = 3,
                                        .impatient = true,
                                        .muted = muted};
        play_on_ranks(&plan, &playing, said, sizeof said, &result);
        assert_string_equal(said, muted > 0 ? "rank 2 is lost: nothing has come from it" : "");
    }
    plan_release(&plan);
}

/* As rank 0 sends it to the launcher; what is cut off is refused at every byte. */
static void a_result_is_sent(void **state)
{
    (void)state;
    double ends[2][3] = {{1, 2, 3}, {1.5, 2.5, 3.5}};
    const struct run_result result = {.ranks = 2,
                                      .iterations = 3,
                                      .played = 1.25,
                                      .schedule = "1f1b",
                                      .computed = "oneDNN",
                                      .ends = {ends[0], ends[1]}};
    struct run_result got;
    struct error err;
    struct text bytes = {0};
    run_result_pack(&result, &bytes);
    for (size_t length = 0; length < bytes.length; length++) {
        assert_false(run_result_unpack(&got, bytes.data, length, &err));
        assert_string_equal(err.text, "the results of rank 0 are incomplete");
    }
    assert_true(run_result_unpack(&got, bytes.data, bytes.length, &err));
    assert_int_equal(got.ranks, 2);
    assert_true(got.played == 1.25 && got.ends[1][2] == 3.5);
    assert_null(got.model);
    assert_string_equal(got.schedule, "1f1b");
    assert_string_equal(got.computed, "oneDNN");
    run_result_release(&got);
    text_release(&bytes);
}

/* A host that does not keep up is said, with what can be done; kernels that are computed tell their own seconds. */
static void a_slow_host_is_said(void **state)
{
    struct run_result result = {.iterations = 1, .ranks = 1, .devices = 2, .schedule = "1f1b", .wall = 1.0};
    static const struct {
        double played;
        const char *computed;
        bool said;
    } cases[] = {{1.05, NULL, false}, {1.2, NULL, true}, {1.2, "a library", false}, {0.5, NULL, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        result.planned = result.simulated = 1.0;
        result.played = cases[i].played;
        result.computed = cases[i].computed;
        run_print(&result, &text);
        assert_int_equal(strstr(text.data, "did not keep up") != NULL, cases[i].said);
        text_release(&text);
    }
}

static void links_are_read(void **state)
{
    (void)state;
    struct run_link link;
    struct error err;
    assert_true(run_link_read(&link, "latency=20us,bandwidth=10GB/s", &err));
    assert_int_equal(link.kind, RUN_LINK_GIVEN);
    assert_true(fabs(link.latency - 20e-6) < 1e-12 && fabs(link.bandwidth - 10e9) < 1);
    assert_true(run_link_read(&link, "host", &err) && link.kind == RUN_LINK_HOST);
    assert_false(run_link_read(&link, "latency=20us,width=3", &err));
    assert_string_equal(err.text,
                        "--link: expected plan, host, or latency=20us,bandwidth=10GB/s; found 'width=3'");
    static const char *const empty[] = {"", "latency=20us,", ",latency=20us"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_false(run_link_read(&link, empty[i], &err));
        assert_string_equal(err.text,
                            "--link: expected plan, host, or latency=20us,bandwidth=10GB/s; found ''");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_sent_and_freed),
        cmocka_unit_test(every_schedule_is_played),
        cmocka_unit_test(ranks_with_other_plans_are_named),
        cmocka_unit_test(passes_may_take_no_time),
        cmocka_unit_test(files_may_take_long),
        cmocka_unit_test(a_rank_without_devices_is_heard),
        cmocka_unit_test(a_result_is_sent),
        cmocka_unit_test(a_slow_host_is_said),
        cmocka_unit_test(links_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
