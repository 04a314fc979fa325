/* Runs of a made-up job, of which one cause is known that makes it slower, and by how much: the same job without it
 * runs, too. It has to be named first, with its size. */
#include "core/random.h"
#include "explain/life.h"
#include "support/folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define RANKS   8
#define LAYERS  12
#define STEPS   6
#define STREAMS 3    /* compute, all ranks, pairs */
#define LAUNCH  6000 /* ns from a call to the earliest start */
#define GAP     1200 /* ns between activities of a stream */
#define CALL    4000 /* ns that a call takes */

enum cause { NOTHING, JITTER, STRAGGLER, LATE, NO_DATA, SLOW_LINK, CAUSES };

/* A cause, its size as a share, and the rank that has it; -1: all. */
struct truth {
    enum cause cause;
    double size;
    int rank;
    uint64_t seed;
    bool level;   /* of jitter: each rank takes the mean of all */
    bool pair;    /* the neighbour has it, too */
    bool covered; /* the last exchange runs beside compute: no kernel of the step awaits it */
};

struct rank {
    int64_t host, free[STREAMS], ready[STREAMS], correlation, clock;
    double factor; /* of its kernels in this step */
    FILE *out;
};

struct job {
    struct truth truth;
    struct rank ranks[RANKS];
    uint64_t state;
};

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Of the files: no mark is written; nor anything of the first calls and activities of a rank. */
static bool unmarked;
static int begun;

static const char *hour = ""; /* folder of the files */

/* ---- a rank ---- */

static void record(const struct rank *rank, const char *category, const char *name, int64_t begin,
                   int64_t duration, int tid, const char *arguments)
{
    begin += rank->clock;
    bool mark = strcmp(category, "user_annotation") == 0;
    if (rank->out && rank->correlation >= begun && !(unmarked && mark))
        fprintf(rank->out,
                ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": "
                "%lld.%03d, "
                "\"dur\": %lld.%03d, \"args\": {%s}}",
                category, name, tid, (long long)(begin / 1000), (int)(begin % 1000),
                (long long)(duration / 1000), (int)(duration % 1000), arguments);
}

static bool has(const struct job *job, enum cause cause, int rank)
{
    int pair = job->truth.pair ? 2 : 1;
    return job->truth.cause == cause && (job->truth.rank < 0 || job->truth.rank / pair == rank / pair);
}

/* The host launches something; returns the earliest start. */
static int64_t launch(struct job *job, int number, int stream)
{
    struct rank *rank = &job->ranks[number];
    char arguments[64];
    if (has(job, LATE, number))
        rank->host += (int64_t)(job->truth.size * 4e5);
    snprintf(arguments, sizeof arguments, "\"correlation\": %lld", (long long)++rank->correlation);
    record(rank, "cuda_runtime", "cudaLaunchKernel", rank->host, CALL, 99, arguments);
    int64_t start = max(rank->host + LAUNCH, max(rank->free[stream] + GAP, rank->ready[stream]));
    rank->host += CALL + 1000;
    return start;
}

static void compute(struct job *job, int64_t duration)
{
    char arguments[96];
    for (int i = 0; i < RANKS; i++) {
        struct rank *rank = &job->ranks[i];
        int64_t start = launch(job, i, 0), own = (int64_t)((double)duration * rank->factor);
        snprintf(arguments, sizeof arguments, "\"device\": 0, \"stream\": 7, \"correlation\": %lld",
                 (long long)rank->correlation);
        record(rank, "kernel", "gemm", start, own, 7, arguments);
        rank->free[0] = start + own;
    }
}

/* `stream` awaits all that was launched on `other`. */
static void await(struct job *job, int stream, int other)
{
    static const int numbers[STREAMS] = {7, 20, 24};
    char arguments[160];
    for (int i = 0; i < RANKS; i++) {
        struct rank *rank = &job->ranks[i];
        int64_t number = ++rank->correlation;
        snprintf(arguments, sizeof arguments, "\"correlation\": %lld", (long long)number);
        record(rank, "cuda_runtime", "cudaEventRecord", rank->host, 500, 99, arguments);
        rank->host += 600;
        rank->correlation++;
        snprintf(arguments, sizeof arguments, "\"correlation\": %lld", (long long)rank->correlation);
        record(rank, "cuda_runtime", "cudaStreamWaitEvent", rank->host, 500, 99, arguments);
        snprintf(arguments, sizeof arguments,
                 "\"correlation\": %lld, \"stream\": %d, \"device\": 0, \"wait_on_stream\": %d, "
                 "\"wait_on_cuda_event_record_corr_id\": %lld",
                 (long long)rank->correlation, numbers[stream], numbers[other], (long long)number);
        record(rank, "cuda_sync", "Stream Wait Event", rank->host, 0, numbers[stream], arguments);
        rank->host += 600;
        rank->ready[stream] = max(rank->ready[stream], rank->free[other] + GAP);
    }
}

/* An all-reduce of each group of `width` ranks: all wait for the last one. */
static void exchange(struct job *job, int stream, int width, int64_t duration, int64_t elements)
{
    static const int numbers[STREAMS] = {7, 20, 24};
    int64_t starts[RANKS];
    char arguments[400], names[64];
    for (int i = 0; i < RANKS; i++)
        starts[i] = launch(job, i, stream);
    for (int first = 0; first < RANKS; first += width) {
        int64_t last = 0, own = duration;
        size_t length = 0;
        if (has(job, SLOW_LINK, first) && (width == 2) == (job->truth.rank >= 0))
            own = (int64_t)((double)own * (1 + 10 * job->truth.size));
        for (int i = first; i < first + width; i++) {
            last = max(last, starts[i]);
            length +=
                (size_t)snprintf(names + length, sizeof names - length, "%s%d", i > first ? ", " : "", i);
        }
        for (int i = first; i < first + width; i++) {
            struct rank *rank = &job->ranks[i];
            snprintf(
                arguments, sizeof arguments,
                "\"device\": 0, \"stream\": %d, \"correlation\": %lld, \"Collective name\": \"allreduce\", "
                "\"In msg nelems\": %lld, \"dtype\": \"BFloat16\", \"Group size\": %d, \"Process Group "
                "Name\": "
                "\"%d\", \"Process Group Ranks\": \"[%s]\"",
                numbers[stream], (long long)rank->correlation, (long long)elements, width,
                width == RANKS ? 0 : 1 + first, names);
            record(rank, "kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", starts[i],
                   last + own - starts[i], numbers[stream], arguments);
            rank->free[stream] = last + own;
        }
    }
}

/* ---- the job ---- */

/* What each rank's kernels take in this step. Normal by the sum of twelve. */
static void draw(struct job *job)
{
    double sum = 0;
    for (int i = 0; i < RANKS; i++) {
        double normal = -6;
        for (int j = 0; j < 12; j++)
            normal += uniform(&job->state);
        job->ranks[i].factor = 1;
        if (has(job, STRAGGLER, i))
            job->ranks[i].factor += job->truth.size;
        if (job->truth.cause == JITTER)
            job->ranks[i].factor += normal * job->truth.size / 2;
        sum += job->ranks[i].factor;
    }
    for (int i = 0; i < RANKS && job->truth.level; i++)
        job->ranks[i].factor = sum / RANKS;
}

static void load_data(struct job *job)
{
    for (int i = 0; i < RANKS; i++) {
        struct rank *rank = &job->ranks[i];
        int64_t time = 100000 + (has(job, NO_DATA, i) ? (int64_t)(job->truth.size * 12e6) : 0);
        record(rank, "user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
               rank->host, time, 99, "");
        rank->host += time;
    }
}

/* The hosts await their devices, as loss.item() does. */
static void synchronise(struct job *job)
{
    char arguments[64];
    for (int i = 0; i < RANKS; i++) {
        struct rank *rank = &job->ranks[i];
        int64_t until = max(rank->host + CALL, rank->free[0] + 2000);
        snprintf(arguments, sizeof arguments, "\"correlation\": %lld", (long long)++rank->correlation);
        record(rank, "cuda_runtime", "cudaDeviceSynchronize", rank->host, until - rank->host, 99, arguments);
        rank->host = until;
    }
}

static void step(struct job *job, int number)
{
    int64_t begins[RANKS];
    char name[32];
    for (int i = 0; i < RANKS; i++)
        begins[i] = job->ranks[i].host;
    draw(job);
    load_data(job);
    for (int layer = 0; layer < LAYERS; layer++) {
        for (int i = 0; i < 4; i++)
            compute(job, 60000 + 20000 * i);
        await(job, 2, 0);
        exchange(job, 2, 2, 50000, 1 << 20);
        await(job, 0, 2);
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        for (int i = 0; i < 6; i++)
            compute(job, 70000 + 15000 * i);
        if (layer % 2 == 1) {
            await(job, 1, 0);
            exchange(job, 1, RANKS, 500000, 1 << 24);
        }
    }
    if (!job->truth.covered)
        await(job, 0, 1);
    compute(job, job->truth.covered ? 800000 : 300000);
    synchronise(job);
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    for (int i = 0; i < RANKS; i++)
        record(&job->ranks[i], "user_annotation", name, begins[i], job->ranks[i].host - begins[i], 99, "");
}

/* Runs the job, into files with a clock of each rank's own; returns the mean of a step in ns. */
static double run(const struct truth *truth, bool write)
{
    struct job job = {.truth = *truth, .state = truth->seed};
    int64_t end = 0;
    for (int i = 0; i < RANKS; i++) {
        char path[4096];
        job.ranks[i].host = 1000000;
        job.ranks[i].clock = write ? (int64_t)(uniform(&job.state) * 3e6) : 0;
        if (!write)
            uniform(&job.state);
        snprintf(path, sizeof path, "%s%s/rank%d.json", test_folder, hour, i);
        job.ranks[i].out = write ? fopen(path, "w") : NULL;
        if (job.ranks[i].out)
            fprintf(job.ranks[i].out,
                    "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},\n"
                    "\"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0, \"args\": {}}",
                    i, RANKS);
    }
    for (int i = 0; i < STEPS; i++)
        step(&job, 10 + i);
    for (int i = 0; i < RANKS; i++) {
        end = max(end, job.ranks[i].host);
        if (job.ranks[i].out) {
            fputs("]}\n", job.ranks[i].out);
            fclose(job.ranks[i].out);
        }
    }
    return (double)(end - 1000000) / STEPS;
}

/* ---- what is found ---- */

static bool fits(const struct explain *explain, const struct truth *truth)
{
    const struct explain_loss *loss = &explain->losses[0];
    int64_t rank = loss->lane >= 0 ? explain->run.members[explain->lanes[loss->lane].member].rank : -1;
    switch (truth->cause) {
    case JITTER:
        return loss->kind == LOSS_JITTER;
    case STRAGGLER:
        return loss->kind == LOSS_STRAGGLER && rank == truth->rank;
    case LATE:
        return loss->kind == LOSS_HOST && rank == truth->rank;
    case NO_DATA:
        return loss->kind == LOSS_DATA && rank == truth->rank;
    default:
        return (loss->kind == LOSS_LINK) == (truth->rank >= 0) &&
               (loss->kind == LOSS_LINK || loss->kind == LOSS_EXCHANGE);
    }
}

static void explain_files(struct explain *explain)
{
    struct error err;
    char paths[RANKS][4096];
    const char *list[RANKS];
    for (int i = 0; i < RANKS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/rank%d.json", test_folder, i);
        list[i] = paths[i];
    }
    if (!explain_make(explain, list, RANKS, NULL, &err))
        fail_msg("%s", err.text);
}

static void played_alone_it_takes_as_long(const struct explain_played *step)
{
    assert_true(step->recorded > 5000000);
    assert_true(100 * llabs(step->played - step->recorded) < step->recorded);
}

/* ---- the longest path through all ranks, by relaxing every cause until nothing changes ---- */

struct graphs {
    struct replay replays[RANKS];
    struct replay_graph graphs[RANKS];
    int64_t *events[RANKS], *ends[RANKS]; /* of events, and of activities */
    const struct explain *explain;
    bool changed;
};

static void raise(struct graphs *all, int64_t *value, int64_t to)
{
    all->changed |= to > *value;
    *value = to > *value ? to : *value;
}

static void relax_rank(struct graphs *all, int rank)
{
    const struct replay_graph *graph = &all->graphs[rank];
    const struct replay *replay = &all->replays[rank];
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct replay_event *event = &graph->events[i];
        int64_t *value = &all->events[rank][i];
        if (event[1].edges == event->edges)
            raise(all, value,
                  all->events[rank][graph->begins[event->item]] + replay->calls[event->item].duration);
        for (uint32_t j = event->edges; j < event[1].edges; j++) {
            const struct replay_edge *edge = &graph->edges[j];
            int64_t lag = edge->stall > 0 ? edge->more : edge->lag;
            raise(all, value,
                  edge->cause == CAUSE_ROOT
                      ? replay_event_time(replay, event) + all->explain->lanes[rank].shift
                  : edge->from_end ? all->ends[rank][graph->events[edge->source].item] + lag
                                   : all->events[rank][edge->source] + lag);
        }
        if (event->part == PART_START && replay->activities[event->item].class != REPLAY_COMMUNICATION)
            raise(all, &all->ends[rank][event->item], *value + replay->activities[event->item].duration);
    }
}

/* A collective ends its transfer after its last rank came. */
static void relax_exchanges(struct graphs *all)
{
    const struct ranks *run = &all->explain->run;
    for (size_t i = 0, end; i < run->collective_count; i = end) {
        int64_t last = INT64_MIN, played = INT64_MIN / 2;
        for (end = i;
             end < run->collective_count && explain_is_same(&run->collectives[end], &run->collectives[i]);
             end++) {
            const struct ranks_collective *at = &run->collectives[end];
            last = max(last, explain_began(all->explain, end));
            played = max(played, all->events[at->member][all->graphs[at->member].starts[at->activity]]);
        }
        for (size_t j = i; j < end; j++) {
            const struct ranks_collective *at = &run->collectives[j];
            int64_t over = at->end + run->members[at->member].offset;
            raise(all, &all->ends[at->member][at->activity], played + over - last);
        }
    }
}

static void open_graphs(struct graphs *all)
{
    struct error err;
    for (int i = 0; i < RANKS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/rank%d.json", test_folder, i);
        if (!replay_load(&all->replays[i], path, &err) ||
            !replay_graph_make(&all->graphs[i], &all->replays[i], &err))
            fail_msg("%s", err.text);
        all->events[i] = malloc(all->graphs[i].count * sizeof *all->events[i]);
        all->ends[i] = malloc(all->replays[i].count * sizeof *all->ends[i]);
        for (size_t j = 0; j < all->graphs[i].count; j++)
            all->events[i][j] = INT64_MIN / 2;
        for (size_t j = 0; j < all->replays[i].count; j++)
            all->ends[i][j] = INT64_MIN / 2;
    }
}

static void close_graphs(struct graphs *all)
{
    for (int i = 0; i < RANKS; i++) {
        free(all->events[i]);
        free(all->ends[i]);
        replay_graph_release(&all->graphs[i]);
        replay_release(&all->replays[i]);
    }
}

static void the_path_is_the_longest(const struct explain *explain)
{
    static struct graphs all;
    int64_t before = explain->path.begins[0];
    all = (struct graphs){.explain = explain, .changed = true};
    open_graphs(&all);
    while (all.changed) {
        all.changed = false;
        for (int i = 0; i < RANKS; i++)
            relax_rank(&all, i);
        relax_exchanges(&all);
    }
    for (size_t step = 0; step < explain->step_count; step++) {
        int64_t end = INT64_MIN;
        for (int i = 0; i < RANKS; i++)
            end = max(end, all.ends[i][explain->lanes[i].lasts[step]]);
        assert_true(1000 * llabs(end - before - explain->played[step].played) < end - before);
        before = end;
    }
    close_graphs(&all);
}

static void causes_are_named_with_their_size(void **state)
{
    int named = 0, sized = 0, runs = 0;
    uint64_t random = 7;
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct truth truth = {
            .cause = JITTER + i % (CAUSES - 1), .size = 0.1 + 0.3 * uniform(&random), .seed = (uint64_t)i};
        struct truth without = {.seed = (uint64_t)i};
        struct explain explain;
        truth.rank = i / 5 % 2 == 0 || truth.cause == STRAGGLER ? (int)(random_next(&random) % RANKS) : -1;
        if (truth.cause == SLOW_LINK && truth.rank >= 0)
            truth.rank -= truth.rank % 2;
        if (truth.cause == LATE)
            truth.size += 0.2; /* less is hidden behind kernels */
        if (truth.cause == SLOW_LINK &&
            truth.rank < 0) { /* all that is exposed costs, not only what is slow */
            without.cause = SLOW_LINK;
            without.rank = -1;
            without.size = -0.1;
        }
        if (truth.cause == JITTER) {
            truth.rank = -1;
            without = truth;
            without.level = true;
        }
        double whole = run(&truth, true), size = whole - run(&without, false);
        explain_files(&explain);
        double found = (double)explain.losses[0].time / STEPS;
        bool name = fits(&explain, &truth), near = found > 0.9 * size && found < 1.1 * size;
        double path = (double)(explain.path.begins[explain.step_count] - explain.path.begins[0]) / STEPS;
        assert_true(path > 0.99 * whole && path < 1.01 * whole);
        for (size_t j = 0; j < explain.step_count; j++)
            played_alone_it_takes_as_long(&explain.played[j]);
        if (i < 10) /* of each cause, of one rank and of all */
            the_path_is_the_longest(&explain);
        named += name;
        sized += name && near;
        runs++;
        if (!name || !near)
            print_message("run %d: cause %d of rank %d: %.3f ms of %.3f; found %s, lane %d, %.3f ms\n", i,
                          truth.cause, truth.rank, size / 1e6, whole / 1e6,
                          explain_loss_words[explain.losses[0].kind].key, explain.losses[0].lane,
                          found / 1e6);
        explain_release(&explain);
    }
    print_message("named first %d of %d, with its size %d\n", named, runs, sized);
    assert_true(named >= 95 * runs / 100);
    assert_true(sized >= 95 * runs / 100);
}

/* Others wait for a rank also where its compute covers each exchange in which it comes last, wholly or its begin: of
 * all ranks in one way, of pairs with a slow pair in the other; or where its next launch comes after it. */
static void an_exchange_that_is_covered_tells_who_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        bool late = i == 3;
        struct truth truth = {
            late ? LATE : STRAGGLER, late ? 3 : 0.2 + 0.02 * i, i, (uint64_t)i, false, i % 2 == 1, i < 4};
        struct truth without = {.seed = (uint64_t)i, .covered = i < 4};
        struct explain explain;
        double size = run(&truth, true) - run(&without, false);
        explain_files(&explain);
        assert_int_equal(explain.losses[0].kind, late ? LOSS_HOST : LOSS_STRAGGLER);
        assert_int_equal(explain.losses[0].lane / 2, i / 2);
        double found = (double)explain.losses[0].time / STEPS;
        if (found < 0.9 * size || found > 1.1 * size)
            fail_msg("run %d: %.3f ms of %.3f", i, found / 1e6, size / 1e6);
        explain_release(&explain);
    }
}

/* Without marks the steps are the same, but for what the host did before the first launch; also where the recording
 * begins within a step. */
static void steps_are_found_without_marks(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const struct truth truth = {
            .cause = i % CAUSES, .size = 0.3, .rank = i % 2 ? 2 : -1, .seed = (uint64_t)i};
        struct explain marked, found;
        run(&truth, true);
        explain_files(&marked);
        unmarked = true;
        begun = i % 4 == 3 ? 40 : 0;
        run(&truth, true);
        explain_files(&found);
        unmarked = false;
        size_t skipped = begun > 0;
        begun = 0;
        assert_int_equal(marked.period.length, 0);
        assert_true(found.period.length > 100 && found.period.fit > 0.99);
        assert_int_equal(found.step_count, marked.step_count - skipped);
        for (size_t lane = 0; lane < RANKS; lane++)
            for (size_t step = !skipped; step <= found.step_count; step++)
                assert_int_equal(found.lanes[lane].bounds[step] - found.lanes[0].bounds[1],
                                 marked.lanes[lane].bounds[step + skipped] -
                                     marked.lanes[0].bounds[1 + skipped]);
        explain_release(&marked);
        explain_release(&found);
    }
}

/* Four folders of a job, of which the last ones have a slow rank: when, how much, and which. */
static void a_life_tells_when_a_rank_became_slow(void **state)
{
    static const char *const names[] = {"/life/hour-8", "/life/hour-9", "/life/hour-10", "/life/hour-11"};
    char path[4096];
    const char *paths[] = {path};
    struct explain_hours hours;
    struct explain_life life;
    struct explain last;
    struct error err;
    double expected[4];
    (void)state;
    snprintf(path, sizeof path, "%s/life", test_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 4; i++) {
        const struct truth truth = {.cause = i < 2 ? JITTER : STRAGGLER,
                                    .size = i < 2 ? 0.01 : 0.1 * i,
                                    .rank = i < 2 ? -1 : 5,
                                    .seed = (uint64_t)i};
        snprintf(path, sizeof path, "%s%s", test_folder, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        hour = names[i];
        expected[i] = run(&truth, true) / 1e9;
    }
    hour = "";
    snprintf(path, sizeof path, "%s/life", test_folder);
    if (!explain_hours_find(&hours, paths, 1, &err) || !explain_life(&life, &last, &hours, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(life.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct explain_hour *at = &life.hours[i];
        assert_string_equal(strrchr(at->name, '/'), strrchr(names[i], '/'));
        assert_int_equal(at->steps, STEPS);
        assert_true(fabs(at->step.now - expected[i]) < 0.02 * expected[i]);
        assert_int_equal(at->step.sure && at->step.more > 0, i >= 2);
        if (i >= 2) {
            assert_int_equal(at->slowest, 5);
            assert_string_equal(at->verdict, "skew");
            assert_string_equal(at->cause, "straggler");
        }
    }
    assert_int_equal(last.lane_count, RANKS);
    explain_release(&last);
    arena_release(&life.arena);
    explain_hours_release(&hours);
    snprintf(path, sizeof path, "%s%s", test_folder, names[0]);
    assert_true(explain_hours_find(&hours, paths, 1, &err));
    assert_int_equal(hours.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_found_without_marks),
        cmocka_unit_test(a_life_tells_when_a_rank_became_slow),
        cmocka_unit_test(causes_are_named_with_their_size),
        cmocka_unit_test(an_exchange_that_is_covered_tells_who_waits),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
