/* Runs of several ranks: which ranks there are, their groups and steps, and one clock for all. */
#include "sim/replay/ranks.h"
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COLLECTIVES 60

/* A made run: ranks whose clocks are off, and may jump or drift. */
struct made {
    int ranks;
    bool chain;         /* groups of two neighbours; else one of all */
    int64_t offsets[8]; /* ns */
    int64_t jumps[8];   /* ns, from the middle on */
    double drifts[8];   /* ns in a second */
    int64_t noise;      /* ns */
    int skipped[8];     /* collectives before the window of a rank */
    int early;          /* one of so many ends early on rank 0, as a broadcast of its root; 0: none */
    bool numbered;      /* with Seq */
};

static char path[160];

static const char *path_of(const char *folder, int rank)
{
    if (rank < 0)
        snprintf(path, sizeof path, "%s/%s", test_folder, folder);
    else
        snprintf(path, sizeof path, "%s/%s/trace_rank%d.json", test_folder, folder, rank);
    return path;
}

static double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*seed >> 33) / (double)(1u << 30) - 1;
}

static void write_rank(FILE *out, const struct made *made, int rank)
{
    uint64_t seed = 17 + (uint64_t)rank;
    fprintf(
        out,
        "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": "
        "%d, "
        "\"pg_config\": [{\"pg_name\": \"9\", \"pg_desc\": \"far\", \"ranks\": [0, 1, 2]}]},\n"
        "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\", \"numSms\": 132, \"totalGlobalMem\": "
        "85000000000}],\n\"baseTimeNanoseconds\": 1700000000000000000,\n\"traceEvents\": [\n",
        rank, made->ranks);
    for (int step = 0; step < 3; step++)
        fprintf(out,
                "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 1, "
                "\"tid\": 1, "
                "\"ts\": %d, \"dur\": 200000},\n{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": "
                "\"ProfilerStep#%d\", \"pid\": 0, \"tid\": 7, \"ts\": %d, \"dur\": 200000},\n",
                5 + step, 200000 * step, 5 + step, 200000 * step + 50);
    for (int k = made->skipped[rank]; k < COLLECTIVES; k++) {
        int groups = made->chain ? 2 : 1;
        for (int side = 0; side < groups; side++) {
            int first = rank - side;
            if (made->chain && (first < 0 || first + 1 >= made->ranks))
                continue;
            double end = 1e7 * (k + 1) + 4e6 * ((first + 8) % 2) * made->chain; /* ns, on the true clock */
            if (made->early && rank == 0 && k % made->early == 0)
                end -= 2e6;
            double shown = end + (double)made->offsets[rank] + (double)made->noise * noise(&seed) +
                           made->drifts[rank] * end / 1e9 +
                           (k >= COLLECTIVES / 2 ? (double)made->jumps[rank] : 0);
            double length = 1e6 + 3e5 * (1 + noise(&seed));
            char ranks[32], number[32] = "";
            if (made->chain)
                snprintf(ranks, sizeof ranks, "[%d, %d]", first, first + 1);
            else
                snprintf(ranks, sizeof ranks, "[0, 1, ..., %d]", made->ranks - 1);
            if (made->numbered)
                snprintf(number, sizeof number, ", \"Seq\": %d", k + 40);
            fprintf(
                out,
                "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL\", "
                "\"pid\": 0, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"device\": 0, \"stream\": "
                "%d, "
                "\"Collective name\": \"allreduce\", \"In msg nelems\": %d, \"Out msg nelems\": %d, \"Group "
                "size\": "
                "%d, \"dtype\": \"BFloat16\", \"Process Group Name\": \"%d\", \"Process Group Description\": "
                "\"dp\", "
                "\"Process Group Ranks\": \"%s\"%s}},\n",
                20 + side, (shown - length) / 1e3, length / 1e3, 20 + side, 1000 + k % 7, 1000 + k % 7,
                made->chain ? 2 : made->ranks, first * made->chain, ranks, number);
        }
    }
    fputs("{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1}]}\n", out);
}

static void write_run(const struct made *made, const char *folder)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", path_of(folder, -1), path_of(folder, -1));
    assert_int_equal(system(command), 0);
    for (int rank = 0; rank < made->ranks; rank++) {
        FILE *out = fopen(path_of(folder, rank), "w");
        assert_non_null(out);
        write_rank(out, made, rank);
        fclose(out);
    }
}

static void open_run(struct ranks *run, const char *folder)
{
    struct error err;
    const char *paths[] = {path_of(folder, -1)};
    if (!ranks_open(run, paths, 1, &err))
        fail_msg("%s", err.text);
}

static void load_run(struct ranks *run)
{
    struct error err;
    for (size_t i = 0; i < run->count; i++) {
        struct replay replay;
        if (!ranks_load(run, i, &replay, &err) || !ranks_collect(run, i, &replay, &err))
            fail_msg("%s", err.text);
        replay_release(&replay);
    }
    if (!ranks_align(run, &err))
        fail_msg("%s", err.text);
}

static const struct ranks_fault *fault_of(const struct ranks *run, enum ranks_fault_kind kind)
{
    for (size_t i = 0; i < run->fault_count; i++)
        if (run->faults[i].kind == kind)
            return &run->faults[i];
    return NULL;
}

static void a_rank_tells_its_steps_groups_and_device(void **state)
{
    const struct made made = {.ranks = 3};
    struct ranks run;
    struct replay replay;
    struct ranks_step *steps;
    struct error err;
    size_t count;
    (void)state;
    write_run(&made, "told");
    open_run(&run, "told");
    assert_int_equal(run.count, 3);
    assert_int_equal(run.world, 3);
    assert_int_equal(run.members[2].rank, 2);
    assert_true(run.members[2].rank_told);
    assert_true(ranks_load(&run, 1, &replay, &err));
    assert_int_equal(replay.rank, 1);
    assert_int_equal(replay.base, 1700000000000000000);
    assert_int_equal(replay.device_count, 1);
    assert_int_equal(replay.devices[0].multiprocessors, 132);
    assert_string_equal(replay.texts[replay.devices[0].name], "NVIDIA H100");
    assert_true(ranks_steps(&replay, &steps, &count, &err));
    assert_int_equal(count, 3);
    assert_int_equal(steps[1].number, 6);
    assert_int_equal(steps[1].end - steps[1].begin, 200000000);
    assert_int_equal(steps[1].device_begin - steps[1].begin, 50000);
    free(steps);
    assert_true(ranks_collect(&run, 1, &replay, &err));
    assert_int_equal(run.collective_count, COLLECTIVES);
    assert_int_equal(run.group_count, 1);
    assert_string_equal(run.groups[0].name, "0");
    assert_string_equal(run.groups[0].description, "dp");
    assert_int_equal(run.collectives[0].bytes, 2000);
    assert_string_equal(run.texts[run.collectives[0].name], "allreduce");
    replay_release(&replay);
    ranks_release(&run);
}

static void missing_and_doubled_ranks_are_named(void **state)
{
    const struct made made = {.ranks = 6};
    struct ranks run;
    struct error err;
    char command[400];
    (void)state;
    write_run(&made, "holes");
    snprintf(command, sizeof command,
             "cd '%s/holes' && rm trace_rank2.json trace_rank3.json trace_rank5.json && cp trace_rank1.json "
             "again.json",
             test_folder);
    assert_int_equal(system(command), 0);
    open_run(&run, "holes");
    const struct ranks_fault *missing = fault_of(&run, FAULT_MISSING),
                             *doubled = fault_of(&run, FAULT_DOUBLED);
    assert_non_null(missing);
    assert_non_null(strstr(missing->text, "3 of 6 ranks have no file (2-3, 5)"));
    assert_non_null(doubled);
    assert_non_null(strstr(doubled->text, "rank 1 has two files"));
    ranks_release(&run);
    const char *none[] = {test_folder};
    snprintf(command, sizeof command, "mkdir -p '%s/empty'", test_folder);
    assert_int_equal(system(command), 0);
    none[0] = path_of("empty", -1);
    assert_false(ranks_open(&run, none, 1, &err));
    assert_non_null(strstr(err.text, "no trace"));
}

/* Offsets are found to within the noise: one group or a chain of pairs, early ends, other windows, numbers. */
static void clocks_are_aligned(void **state)
{
    static const struct made cases[] = {
        {.ranks = 4, .offsets = {0, 5000000, -70000000, 1234567}},
        {.ranks = 8, .offsets = {9000, -3, 888888888, 1, -2, 3000, 40000, 1000000000}, .noise = 20000},
        {.ranks = 6, .chain = true, .offsets = {100, -50000, 30000000, 7, 99999, -1}, .noise = 10000},
        {.ranks = 4, .offsets = {0, 5000, 6000, -7000}, .noise = 10000, .early = 3},
        {.ranks = 4, .offsets = {0, 40000000, -1, 3}, .noise = 10000, .skipped = {0, 2, 0, 5}},
        {.ranks = 4,
         .offsets = {0, 300000000, -1, 3},
         .noise = 10000,
         .skipped = {7, 2, 0, 5},
         .numbered = true},
        {.ranks = 2, .offsets = {0, 77777777}, .noise = 20000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct made *made = &cases[i];
        struct ranks run;
        write_run(made, "clocks");
        open_run(&run, "clocks");
        load_run(&run);
        for (int rank = 0; rank < made->ranks; rank++) {
            int64_t known = made->offsets[0] - made->offsets[rank], found = run.members[rank].offset;
            assert_true(run.members[rank].aligned);
            if (llabs(found - known) > 1 + made->noise)
                fail_msg("case %zu: rank %d is %lld ns off, found %lld", i, rank, (long long)known,
                         (long long)found);
        }
        if (run.clocks.median > 1 + made->noise)
            fail_msg("case %zu: the clocks differ by %lld ns", i, (long long)run.clocks.median);
        assert_null(fault_of(&run, FAULT_CLOCK_JUMP));
        assert_null(fault_of(&run, FAULT_CLOCK_DRIFT));
        assert_null(fault_of(&run, FAULT_NO_CLOCK));
        if (!made->numbered && (made->skipped[0] || made->skipped[1]))
            assert_non_null(fault_of(&run, FAULT_UNMATCHED));
        ranks_release(&run);
    }
}

static void jumps_and_drifts_are_named(void **state)
{
    static const struct {
        struct made made;
        enum ranks_fault_kind kind;
        int32_t member;
        const char *part;
    } cases[] = {
        {{.ranks = 4, .noise = 20000, .jumps = {0, 0, 3000000, 0}}, FAULT_CLOCK_JUMP, 2, "jumps by 3.0"},
        {{.ranks = 4, .noise = 20000, .jumps = {0, -500000, 0, 0}}, FAULT_CLOCK_JUMP, 1, "jumps by -0.5"},
        {{.ranks = 4, .noise = 5000, .drifts = {0, 0, 0, 2000000}}, FAULT_CLOCK_DRIFT, 3, "drifts by "},
        {{.ranks = 2, .noise = 20000, .jumps = {0, 3000000}}, FAULT_CLOCK_JUMP, 0, "or that of the rank"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ranks run;
        write_run(&cases[i].made, "jumps");
        open_run(&run, "jumps");
        load_run(&run);
        const struct ranks_fault *fault = fault_of(&run, cases[i].kind);
        size_t clocks = 0;
        for (size_t k = 0; k < run.fault_count; k++)
            clocks += run.faults[k].kind == FAULT_CLOCK_JUMP || run.faults[k].kind == FAULT_CLOCK_DRIFT;
        if (!fault || clocks != 1 || fault->member != cases[i].member || !strstr(fault->text, cases[i].part))
            fail_msg("case %zu: %zu faults of clocks, %s", i, clocks, fault ? fault->text : "not this one");
        ranks_release(&run);
    }
}

static void write_file(const char *name, const char *text)
{
    FILE *out = fopen(path_of(name, -1), "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* Two ranks of the same program in one file: processes got other numbers or labels, correlations did or did not. */
static void a_merged_file_holds_its_ranks(void **state)
{
    static const struct {
        const char *hosts[2], *devices[2];
        int correlations, late; /* added to those of the second rank; us by which it runs later */
        bool unsure;
        int64_t ranks[2];
    } cases[] = {
        {{"4515", "100004515"}, {"0", "100000000"}, 1000, 0, false, {0, 1}},
        {{"4515", "4516"}, {"0", "1"}, 0, 3000, false, {0, 1}},
        {{"4515", "4516"}, {"0", "1"}, 0, 0, true, {0, 1}},
        {{"\"[TP02] 77\"", "\"[TP05] 78\""}, {"\"[TP02] 0\"", "\"[TP05] 0\""}, 5, 900, false, {2, 5}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *out = fopen(path_of("merged.json", -1), "w");
        struct ranks run;
        struct replay replay;
        struct error err;
        assert_non_null(out);
        fputs("{\"traceEvents\": [", out);
        for (int k = 0; k < 40; k++)
            for (int rank = 0; rank < 2; rank++) {
                int number = k + 1 + rank * cases[i].correlations;
                fprintf(
                    out,
                    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": %s, "
                    "\"tid\": 1, \"ts\": %d, \"dur\": 5, \"args\": {\"correlation\": %d}},\n"
                    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm%d\", \"pid\": %s, \"tid\": 7, "
                    "\"ts\": %d, \"dur\": 9, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": "
                    "%d}},\n",
                    cases[i].hosts[rank], 100 * k + rank * cases[i].late, number, rank,
                    cases[i].devices[rank], 100 * k + 20 + rank * cases[i].late, number);
            }
        fputs("{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1}]}\n", out);
        fclose(out);
        const char *paths[] = {path_of("merged.json", -1)};
        if (!ranks_open(&run, paths, 1, &err))
            fail_msg("case %zu: %s", i, err.text);
        assert_int_equal(run.count, 2);
        for (size_t rank = 0; rank < 2; rank++) {
            char kernel[8];
            snprintf(kernel, sizeof kernel, "gemm%zu", rank);
            assert_int_equal(run.members[rank].rank, cases[i].ranks[rank]);
            assert_true(ranks_load(&run, rank, &replay, &err));
            assert_int_equal(replay.count, 40);
            assert_int_equal(replay.call_count, 40);
            for (size_t k = 0; k < replay.count; k++) {
                assert_string_equal(replay.texts[replay.activities[k].name], kernel);
                assert_int_equal(replay.activities[k].start - replay.calls[replay.activities[k].call].begin,
                                 20000);
            }
            replay_release(&replay);
        }
        assert_int_equal(fault_of(&run, FAULT_MERGED) != NULL, cases[i].unsure);
        ranks_release(&run);
    }
}

#define KERNEL(TS)                                                                                           \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": " TS ", "      \
    "\"dur\": 9, \"args\": {\"device\": 0}}"

static void a_cut_file_is_read_up_to_the_cut(void **state)
{
    struct ranks run;
    struct replay replay;
    struct error err;
    const char *paths[] = {NULL};
    (void)state;
    write_file("cut.json",
               "{\"traceEvents\": [" KERNEL("5") ", " KERNEL("25") ", {\"ph\": \"X\", \"cat\": \"ker");
    paths[0] = path_of("cut.json", -1);
    assert_true(ranks_open(&run, paths, 1, &err));
    assert_true(ranks_load(&run, 0, &replay, &err));
    assert_int_equal(replay.count, 2);
    assert_true(replay.cut_at > 200);
    assert_non_null(strstr(fault_of(&run, FAULT_TRUNCATED)->text, "ends early"));
    replay_release(&replay);
    ranks_release(&run);
    write_file("cut.json",
               "{\"traceEvents\": [{\"ph\": \"M\", \"name\": \"a\"}, {\"ph\": \"X\", \"cat\": \"ker");
    assert_false(replay_load(&replay, path_of("cut.json", -1), &err)); /* nothing is left */
    assert_non_null(strstr(err.text, "ends within a string"));
    write_file("cut.json", "{\"traceEvents\": [" KERNEL("5") ", }");
    assert_false(replay_load(&replay, path_of("cut.json", -1), &err)); /* wrong, not cut */
}

/* Without a device, the operations of each thread are its work, and exchanges beside them. */
static void a_host_alone_is_a_run(void **state)
{
    struct ranks run;
    struct replay replay;
    struct error err;
    const char *paths[] = {NULL};
    (void)state;
    write_file(
        "host.json",
        "{\"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::linear\", \"pid\": 9, \"tid\": 9, \"ts\": "
        "10, "
        "\"dur\": 50},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::addmm\", \"pid\": 9, \"tid\": 9, \"ts\": 12, "
        "\"dur\": 40},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::relu\", \"pid\": 9, \"tid\": 9, \"ts\": 60, "
        "\"dur\": 5},"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"gloo:all_reduce\", \"pid\": 9, \"tid\": "
        "11, "
        "\"ts\": 20, \"dur\": 80}]}");
    paths[0] = path_of("host.json", -1);
    assert_true(ranks_open(&run, paths, 1, &err));
    assert_true(ranks_load(&run, 0, &replay, &err));
    assert_true(replay.host_only);
    int64_t work = 0, exchange = 0;
    for (size_t i = 0; i < replay.count; i++)
        *(replay.activities[i].class == REPLAY_COMMUNICATION ? &exchange : &work) +=
            replay.activities[i].duration;
    assert_int_equal(work, 55000);
    assert_int_equal(exchange, 80000);
    assert_non_null(fault_of(&run, FAULT_CPU_ONLY));
    assert_non_null(fault_of(&run, FAULT_NO_STEPS));
    replay_release(&replay);
    ranks_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_tells_its_steps_groups_and_device),
        cmocka_unit_test(missing_and_doubled_ranks_are_named),
        cmocka_unit_test(clocks_are_aligned),
        cmocka_unit_test(jumps_and_drifts_are_named),
        cmocka_unit_test(a_merged_file_holds_its_ranks),
        cmocka_unit_test(a_cut_file_is_read_up_to_the_cut),
        cmocka_unit_test(a_host_alone_is_a_run),
    };
    return cmocka_run_group_tests_name("ranks", tests, folder_make, folder_remove);
}
