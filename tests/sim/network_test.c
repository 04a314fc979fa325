/* Ranks of recorded runs that are played together: waits that follow from who comes last, messages, links that are
 * shared, more replicas. */
#include "plan/parts.h"
#include "sim/network/network.h"
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

#define MAX_RANKS 17
#define US        INT64_C(1000)

/* A kernel of a rank, in microseconds. */
struct shown {
    int rank, stream;
    const char *name;
    double begin, duration;
    const char *told; /* further arguments */
};

#define REDUCE "\"Collective name\": \"allreduce\", \"Process Group Name\": \"0\", \"dtype\": \"Float\""

struct played {
    struct ranks run;
    struct network_rank ranks[MAX_RANKS];
    struct replay_network network;
    struct replay_result results[MAX_RANKS];
    int64_t span;
};

static void check(bool done, const struct error *err)
{
    if (!done)
        fail_msg("%s", err->text);
}

static void record(const char *folder, int count, const struct shown *kernels, size_t kernel_count)
{
    for (int rank = 0; rank < count; rank++) {
        char path[400];
        snprintf(path, sizeof path, "%s/rank%d.json", folder, rank);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "{\"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, \"traceEvents\": [", rank,
                count);
        bool any = false;
        for (size_t i = 0; i < kernel_count; i++) {
            const struct shown *kernel = &kernels[i];
            if (kernel->rank != rank)
                continue;
            fprintf(out,
                    "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"ts\": %.3f, \"dur\": %.3f, "
                    "\"pid\": 0, "
                    "\"tid\": %d, \"args\": {\"device\": 0, \"stream\": %d%s%s}}",
                    any ? "," : "", kernel->name, kernel->begin, kernel->duration, kernel->stream,
                    kernel->stream, kernel->told ? ", " : "", kernel->told ? kernel->told : "");
            any = true;
        }
        if (!any) /* a rank that only looks on */
            fprintf(out, "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 0, \"dur\": 1, "
                         "\"pid\": 0, \"tid\": 7, "
                         "\"args\": {\"device\": 0, \"stream\": 7}}");
        fprintf(out, "]}");
        assert_int_equal(fclose(out), 0);
    }
}

static void open_run(struct played *played, int count, const struct shown *kernels, size_t kernel_count)
{
    struct error err;
    char folder[300], command[700];
    const char *paths[] = {folder};
    snprintf(folder, sizeof folder, "%s/run", test_folder);
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", folder, folder);
    assert_int_equal(system(command), 0);
    *played = (struct played){.span = 0};
    record(folder, count, kernels, kernel_count);
    check(ranks_open(&played->run, paths, 1, &err), &err);
    assert_int_equal(played->run.count, count);
    for (size_t i = 0; i < played->run.count; i++) {
        check(ranks_load(&played->run, i, &played->ranks[i].replay, &err), &err);
        check(ranks_collect(&played->run, i, &played->ranks[i].replay, &err), &err);
        check(replay_graph_make(&played->ranks[i].graph, &played->ranks[i].replay, &err), &err);
    }
    check(ranks_align(&played->run, &err), &err);
    check(network_make(&played->network, &played->run, played->ranks, &err), &err);
}

static void forget(struct played *played)
{
    for (size_t i = 0; i < played->run.count; i++)
        replay_result_release(&played->results[i]);
}

static int64_t play(struct played *played, const char *pattern, double factor)
{
    struct error err;
    const struct replay_scale scale = {pattern, factor};
    const struct replay_options options = {.scales = &scale, .scale_count = pattern ? 1 : 0};
    forget(played);
    check(network_play(&played->network, &played->run, played->ranks, &options, played->results,
                       &played->span, &err),
          &err);
    return played->span;
}

static void close_run(struct played *played)
{
    forget(played);
    network_release(&played->network);
    for (size_t i = 0; i < played->run.count; i++) {
        replay_graph_release(&played->ranks[i].graph);
        replay_release(&played->ranks[i].replay);
    }
    ranks_release(&played->run);
}

/* Sets the network's times to those of a cluster. */
static int64_t play_on(struct played *played, const char *text)
{
    struct error err;
    struct cluster cluster;
    check(cluster_parse(&cluster, "c.yaml", text, strlen(text), &err), &err);
    check(plan_resolve_cluster(&cluster, NULL, NULL, &err), &err);
    check(network_price(&played->network, &played->run, &cluster, 0, &err), &err);
    int64_t span = play(played, NULL, 1);
    cluster_release(&cluster);
    return span;
}

/* --- waits ------------------------------------------------------------------------------------------------ */

/* Rank 1 computes longer; rank 0 waits in its collective. Its times: 100 and 300, then 50 of transfer. */
static const struct shown waits[] = {
    {0, 7, "gemm", 0, 100, NULL},
    {0, 7, "allreduce", 100, 250, REDUCE ", \"In msg nelems\": 1000"},
    {0, 7, "gemm", 350, 100, NULL},
    {1, 7, "gemm", 0, 300, NULL},
    {1, 7, "allreduce", 300, 50, REDUCE ", \"In msg nelems\": 1000"},
    {1, 7, "gemm", 350, 300, NULL},
};

static void test_waits(void **state)
{
    (void)state;
    struct played played;
    open_run(&played, 2, waits, sizeof waits / sizeof *waits);
    assert_int_equal(played.network.count, 1);
    assert_int_equal(played.network.exchanges[0].recorded, 50 * US);
    assert_int_equal(play(&played, NULL, 1), 650 * US);
    assert_int_equal(play(&played, "allreduce", 0.5), 625 * US); /* the wait is no transfer */
    assert_int_equal(play(&played, "gemm", 2), 1250 * US);       /* and grows with its cause */
    assert_int_equal(played.results[0].durations[1],
                     450 * US); /* of rank 0: 400 of waiting, 50 of transfer */
    close_run(&played);
}

/* The same collectives in another order on each rank: nobody could end, and yet both did. */
static const struct shown crossed[] = {
    {0, 20, "ncclDevKernel_a", 0, 100, "\"Collective name\": \"allreduce\", \"Process Group Name\": \"a\""},
    {0, 20, "ncclDevKernel_b", 100, 50, "\"Collective name\": \"allreduce\", \"Process Group Name\": \"b\""},
    {1, 20, "ncclDevKernel_b", 0, 100, "\"Collective name\": \"allreduce\", \"Process Group Name\": \"b\""},
    {1, 20, "ncclDevKernel_a", 100, 50, "\"Collective name\": \"allreduce\", \"Process Group Name\": \"a\""},
};

static void test_crossed(void **state)
{
    (void)state;
    struct played played;
    open_run(&played, 2, crossed, sizeof crossed / sizeof *crossed);
    assert_int_equal(played.network.count, 2);
    assert_true(play(&played, NULL, 1) > 0);
    assert_true(played.network.loosened > 0);
    close_run(&played);
}

/* --- messages --------------------------------------------------------------------------------------------- */

#define SEND(to, seq)   "\"Collective name\": \"send\", \"Dst Rank\": " #to ", \"Seq\": " #seq
#define RECV(from, seq) "\"Collective name\": \"recv\", \"Src Rank\": " #from ", \"Seq\": " #seq

/* Two messages, received in another order than they are sent; the second one is small and leaves before its receive
 * begins. */
static const struct shown messages[] = {
    {0, 7, "gemm", 0, 100, NULL},
    {0, 24, "ncclDevKernel_SendRecv", 100, 40, SEND(1, 1)},
    {0, 24, "ncclDevKernel_SendRecv", 150, 10, SEND(1, 2)},
    {1, 7, "gemm", 0, 90, NULL},
    {1, 28, "ncclDevKernel_SendRecv", 90, 50, RECV(0, 1)},
    {1, 28, "ncclDevKernel_SendRecv", 300, 5, RECV(0, 2)},
};

static void test_messages(void **state)
{
    (void)state;
    struct played played;
    open_run(&played, 2, messages, sizeof messages / sizeof *messages);
    assert_int_equal(played.network.messages, 2);
    assert_int_equal(played.network.by_order, 0);
    assert_int_equal(play(&played, NULL, 1), 305 * US);
    assert_false(played.network.parts[3].needed); /* of the second message: the receive */
    play(&played, "gemm", 2);
    assert_int_equal(played.results[1].durations[1], 60 * US); /* from 180 until the send of 200 has ended */
    close_run(&played);
}

/* --- links ------------------------------------------------------------------------------------------------ */

#define BYTES ", \"In msg nelems\": 1000000000, \"dtype\": \"Byte\""

/* `count` messages of a gigabyte at once: from[i] to to[i]. */
static int64_t at_once(int ranks, const int *from, const int *to, int count, const char *cluster)
{
    struct shown list[2 * MAX_RANKS];
    char told[2 * MAX_RANKS][160];
    struct played played;
    for (int i = 0; i < count; i++) {
        snprintf(told[2 * i], sizeof *told, "\"Collective name\": \"send\", \"Dst Rank\": %d" BYTES, to[i]);
        snprintf(told[2 * i + 1], sizeof *told, "\"Collective name\": \"recv\", \"Src Rank\": %d" BYTES,
                 from[i]);
        list[2 * i] = (struct shown){from[i], 24 + i, "ncclDevKernel_SendRecv", 0, 10, told[2 * i]};
        list[2 * i + 1] = (struct shown){to[i], 50 + i, "ncclDevKernel_SendRecv", 0, 10, told[2 * i + 1]};
    }
    open_run(&played, ranks, list, (size_t)(2 * count));
    assert_int_equal(played.network.messages, count);
    int64_t span = play_on(&played, cluster);
    /* Half of each transfer is half of the time, shared or not. */
    assert_true(fabs((double)play(&played, "nccl*", 0.5) / (double)span - 0.5) < 0.001);
    close_run(&played);
    return span;
}

#define CLUSTER(nodes, devices, network)                                                                     \
    "format: rehearse-cluster/1\ngroups: [{device: h100, nodes: " #nodes ", devices_per_node: " #devices     \
    "}]\ninter_node: {bandwidth: 400 Gb/s, latency: 5 us}\n" network

/* k senders to one receiver take k times as long, but for the latency: its card is shared fairly. */
static void test_incast(void **state)
{
    (void)state;
    static const int from[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, to[16] = {0};
    double alone = (double)at_once(17, from, to, 1, CLUSTER(17, 1, ""));
    for (int k = 2; k <= 16; k *= 2)
        assert_true(fabs((double)at_once(17, from, to, k, CLUSTER(17, 1, "")) / alone / k - 1) < 0.003);
}

/* Two nodes below each switch: messages to the other switch take as many times as long as its uplinks are
 * oversubscribed, once all nodes send. */
static void test_oversubscribed(void **state)
{
    (void)state;
    static const int from[] = {0, 1}, to[] = {2, 3};
    double alone =
        (double)at_once(4, from, to, 1, CLUSTER(4, 1, "network: [{nodes: 2, oversubscription: 1}]\n"));
    double whole =
        (double)at_once(4, from, to, 2, CLUSTER(4, 1, "network: [{nodes: 2, oversubscription: 1}]\n"));
    double half =
        (double)at_once(4, from, to, 2, CLUSTER(4, 1, "network: [{nodes: 2, oversubscription: 2}]\n"));
    double third =
        (double)at_once(4, from, to, 2, CLUSTER(4, 1, "network: [{nodes: 2, oversubscription: 3}]\n"));
    assert_true(fabs(whole / alone - 1) < 0.001);
    assert_true(fabs(half / alone - 2) < 0.003);
    assert_true(fabs(third / alone - 3) < 0.003);
}

/* Each device has its own card: messages of two rails do not slow each other; two of one rail do. */
static void test_rails(void **state)
{
    (void)state;
    static const int from[] = {0, 1}, rails[] = {2, 3}, one[] = {2, 2};
    double alone = (double)at_once(4, from, rails, 1, CLUSTER(2, 2, ""));
    assert_true(fabs((double)at_once(4, from, rails, 2, CLUSTER(2, 2, "")) / alone - 1) < 0.001);
    assert_true(fabs((double)at_once(4, from, one, 2, CLUSTER(2, 2, "")) / alone - 2) < 0.003);
}

/* --- collectives of messages -------------------------------------------------------------------------------- */

#define RING       8
#define RING_STEPS (2 * (RING - 1))
#define RING_BYTES (1 << 28)

/* Messages of `steps` steps: to the next rank, or to each other one in turn. */
static double by_messages(int steps, bool pairs)
{
    static struct shown list[2 * RING * RING_STEPS];
    static char told[2 * RING * RING_STEPS][160];
    struct played played;
    size_t count = 0;
    for (int rank = 0; rank < RING; rank++)
        for (int step = 0; step < steps; step++) {
            int by = pairs ? step + 1 : 1;
            for (int receives = 0; receives <= 1; receives++, count++) {
                snprintf(told[count], sizeof *told,
                         "\"Collective name\": \"%s\", \"%s Rank\": %d, \"Seq\": %d, "
                         "\"In msg nelems\": %d, \"dtype\": \"Byte\"",
                         receives ? "recv" : "send", receives ? "Src" : "Dst",
                         (rank + (receives ? RING - by : by)) % RING, step, RING_BYTES / RING);
                list[count] = (struct shown){rank, 24 + 4 * receives, "ncclDevKernel_SendRecv", 8.0 * step,
                                             8,    told[count]};
            }
        }
    open_run(&played, RING, list, count);
    assert_int_equal(played.network.messages, count / 2);
    double span = (double)play_on(&played, CLUSTER(8, 1, ""));
    close_run(&played);
    return span;
}

static double by_collective(const char *name)
{
    struct shown list[RING];
    char told[160];
    struct played played;
    snprintf(told, sizeof told,
             "\"Collective name\": \"%s\", \"Process Group Name\": \"0\", \"In msg nelems\": %d, "
             "\"dtype\": \"Byte\"",
             name, RING_BYTES);
    for (int rank = 0; rank < RING; rank++)
        list[rank] = (struct shown){rank, 20, "ncclDevKernel_x", 0, 8, told};
    open_run(&played, RING, list, RING);
    double span = (double)play_on(&played, CLUSTER(8, 1, ""));
    close_run(&played);
    return span;
}

/* ASTRA-sim's benchmarks as messages over the links: what their collectives take by the cost model. */
static void test_benchmarks(void **state)
{
    (void)state;
    assert_true(fabs(by_messages(RING_STEPS, false) / by_collective("allreduce") - 1) < 0.05);
    assert_true(fabs(by_messages(RING - 1, false) / by_collective("reduce_scatter") - 1) < 0.05);
    assert_true(fabs(by_messages(RING - 1, true) / by_collective("all_to_all") - 1) < 0.05);
}

/* --- other degrees ---------------------------------------------------------------------------------------- */

/* 4 ranks: 10 us and 1 ns for each of 10,000 and 40,000 bytes. */
static const struct shown sizes[] = {
    {0, 20, "ncclDevKernel_AllReduce", 0, 20, REDUCE ", \"In msg nelems\": 2500"},
    {1, 20, "ncclDevKernel_AllReduce", 0, 20, REDUCE ", \"In msg nelems\": 2500"},
    {2, 20, "ncclDevKernel_AllReduce", 0, 20, REDUCE ", \"In msg nelems\": 2500"},
    {3, 20, "ncclDevKernel_AllReduce", 0, 20, REDUCE ", \"In msg nelems\": 2500"},
    {0, 20, "ncclDevKernel_AllReduce", 20, 50, REDUCE ", \"In msg nelems\": 10000"},
    {1, 20, "ncclDevKernel_AllReduce", 20, 50, REDUCE ", \"In msg nelems\": 10000"},
    {2, 20, "ncclDevKernel_AllReduce", 20, 50, REDUCE ", \"In msg nelems\": 10000"},
    {3, 20, "ncclDevKernel_AllReduce", 20, 50, REDUCE ", \"In msg nelems\": 10000"},
};

static void test_replicas(void **state)
{
    (void)state;
    struct error err;
    struct played played;
    open_run(&played, 4, sizes, sizeof sizes / sizeof *sizes);
    check(network_fit(&played.network, &played.run, 0, &err), &err);
    assert_int_equal(play(&played, NULL, 1), 70 * US);
    check(network_fit(&played.network, &played.run, 16, &err), &err);
    /* 30 steps for 6, and 15/16 of the bytes for 3/4 */
    assert_int_equal(play(&played, NULL, 1), llround(2 * 10e3 * 30 / 6 + 50e3 * (15.0 / 16) / (3.0 / 4)));
    assert_int_equal(played.network.kept, 0);
    close_run(&played);
}

/* A group of ranks as a trace tells it: `count` of them, `step` apart. */
struct told_group {
    const char *description;
    int first, step, count;
};

#define MAX_GROUPS 8
#define WORLD      8

/* Each group reduces a gigabyte, all at once. */
static void open_groups(struct played *played, const struct told_group *groups, int count)
{
    static struct shown list[MAX_GROUPS * WORLD];
    static char told[MAX_GROUPS * WORLD][400];
    size_t shown = 0;
    for (int g = 0; g < count; g++) {
        char ranks[100] = "";
        for (int i = 0; i < groups[g].count; i++)
            snprintf(ranks + strlen(ranks), sizeof ranks - strlen(ranks), "%s%d", i > 0 ? ", " : "",
                     groups[g].first + i * groups[g].step);
        for (int i = 0; i < groups[g].count; i++, shown++) {
            snprintf(told[shown], sizeof *told,
                     "\"Collective name\": \"allreduce\", \"Process Group Name\": \"%d\", "
                     "\"Process Group Description\": \"%s\", \"Process Group Ranks\": \"[%s]\"" BYTES,
                     g, groups[g].description, ranks);
            list[shown] = (struct shown){
                groups[g].first + i * groups[g].step, 20 + g, "ncclDevKernel_AllReduce", 0, 10, told[shown]};
        }
    }
    open_run(played, WORLD, list, shown);
    assert_int_equal(played->network.count, count);
}

/* The ranks that the first and the last group have with so many replicas; 0: as before; -1: they are not known. */
static void check_sizes(const struct told_group *groups, int count, int64_t data, int64_t first, int64_t last)
{
    struct error err;
    struct played played;
    int64_t *found;
    open_groups(&played, groups, count);
    bool known = network_find_data(&played.network, &played.run, data, &found, &err);
    assert_int_equal(known, first >= 0);
    for (size_t g = 0; known && g < played.run.group_count; g++) {
        int number = atoi(played.run.groups[g].name);
        if (number == 0 || number == count - 1)
            assert_int_equal(found[g], number == 0 ? first : last);
    }
    free(found);
    close_run(&played);
}

/* How many replicas there are is found, and groups grow by what is asked for over that. */
static void test_degrees(void **state)
{
    (void)state;
    static const struct told_group plain[] = {{"DATA_PARALLEL_GROUP", 0, 1, 4},
                                              {"DATA_PARALLEL_GROUP", 4, 1, 4}},
                                   hybrid[] = {{"mesh_dp_replicate", 0, 4, 2}, {"mesh_dp_shard_cp", 0, 1, 4}},
                                   context[] = {{"DATA_PARALLEL_GROUP_WITH_CP", 0, 2, 4},
                                                {"CONTEXT_PARALLEL_GROUP", 0, 2, 2}},
                                   tensor[] = {{"TENSOR_MODEL_PARALLEL_GROUP", 0, 1, 8}},
                                   apart[] = {{"INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", 0, 1, 4}},
                                   untold[] = {{"default_pg", 0, 1, 8}};
    check_sizes(plain, 2, 4, 4, 4);
    check_sizes(plain, 2, 8, 8, 8);
    check_sizes(hybrid, 2, 8, 2, 0);
    check_sizes(hybrid, 2, 16, 4, 0);
    check_sizes(hybrid, 2, 1, -1, 0); /* fewer than the shards of one */
    check_sizes(context, 2, 2, 4, 0);
    check_sizes(context, 2, 6, 12, 0);
    check_sizes(tensor, 1, 16, -1, 0);
    check_sizes(apart, 1, 16, -1, 0);
    check_sizes(untold, 1, 16, 16, 16);
}

/* Further replicas are on devices of their own, also if replicas are neighbours: no group slows another one. */
static void test_places(void **state)
{
    (void)state;
    static const struct told_group groups[] = {{"DATA_PARALLEL_GROUP", 0, 1, 4},
                                               {"DATA_PARALLEL_GROUP", 4, 1, 4}};
    struct error err;
    struct cluster cluster;
    struct played played;
    const char *text = CLUSTER(16, 1, "");
    open_groups(&played, groups, 2);
    check(cluster_parse(&cluster, "c.yaml", text, strlen(text), &err), &err);
    check(plan_resolve_cluster(&cluster, NULL, NULL, &err), &err);
    check(network_price(&played.network, &played.run, &cluster, 8, &err), &err);
    int64_t alone = played.network.exchanges[0].time;
    assert_true(llabs(play(&played, NULL, 1) - alone) <= alone / 1000);
    assert_false(network_price(&played.network, &played.run, &cluster, 12, &err));
    assert_non_null(strstr(err.text, "has 16 devices, but the run with so many replicas has ranks for 24"));
    cluster_release(&cluster);
    close_run(&played);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),          cmocka_unit_test(test_crossed),
        cmocka_unit_test(test_messages),       cmocka_unit_test(test_incast),
        cmocka_unit_test(test_oversubscribed), cmocka_unit_test(test_rails),
        cmocka_unit_test(test_replicas),       cmocka_unit_test(test_benchmarks),
        cmocka_unit_test(test_degrees),        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
