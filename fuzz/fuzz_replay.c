/* Recorded runs of GPUs: the first byte tells a table ('c') and a profile of XLA ('x') from a trace. What is read is played: with measured lags every
 * activity starts when it was recorded, its table is read back as it was, and two ranks with it have the same clock. */
#include "sim/replay/parts.h"
#include "sim/replay/play.h"
#include "sim/replay/products.h"
#include "sim/replay/ranks.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void play(const struct replay_graph *graph, const struct replay_options *options, bool recorded)
{
    struct replay_result result;
    struct error err = {0};
    const struct replay *replay = graph->replay;
    require(replay_play(graph, options, &result, &err));
    require(result.span >= 0 && result.device_count > 0);
    for (size_t i = 0; i < replay->count; i++)
        require(!recorded || result.starts[i] == replay->activities[i].start);
    for (size_t i = 0; i < result.device_count; i++) {
        const struct replay_shares *shares = &result.shares[i];
        require(shares->overlap <= shares->compute && shares->overlap <= shares->communication);
        require(shares->idle >= 0 && shares->idle <= shares->span && shares->compute <= shares->span);
    }
    replay_result_release(&result);
}

static void read_back(const struct replay *replay)
{
    struct replay again;
    struct error err = {0};
    struct text first = {0}, second = {0};
    replay_write_csv(replay, NULL, NULL, &first, NULL);
    if (replay_parse(&again, "again.csv", first.data, first.length, &err)) {
        require(again.count == replay->count);
        replay_write_csv(&again, NULL, NULL, &second, NULL);
        replay_release(&again);
    } else {
        require_message(&err); /* a table of one device cannot hold the like on two */
    }
    text_release(&first);
    text_release(&second);
}

/* A run of two ranks with the same recording: their clocks agree. */
static void align(const struct replay *replay)
{
    struct ranks run = {.world = -1, .count = 2};
    struct ranks_step *steps;
    struct error err = {0};
    size_t count;
    run.members = calloc(2, sizeof *run.members);
    require(run.members);
    run.members[0].path = run.members[1].path = "fuzz.json";
    require(ranks_collect(&run, 0, replay, &err) && ranks_collect(&run, 1, replay, &err));
    require(ranks_align(&run, &err));
    require(run.members[0].offset == 0 && run.members[1].offset == 0);
    require(ranks_steps(replay, &steps, &count, &err));
    free(steps);
    ranks_release(&run);
}

/* Products have sizes and took time. */
static void list_products(const struct replay *replay)
{
    struct replay_product *list;
    struct error err = {0};
    size_t count;
    require(replay_products(replay, &list, &count, &err) && count <= replay->operation_count);
    for (size_t i = 0; i < count; i++)
        require(list[i].count > 0 && list[i].total > 0 && list[i].size.batch > 0 && list[i].size.k > 0);
    free(list);
}

/* The parts of a merged file hold all its activities. */
static void divide(const struct replay *replay)
{
    size_t sum = 0;
    for (size_t i = 0; i < replay->part_count; i++) {
        struct replay part;
        struct replay_graph graph;
        struct error err = {0};
        require(replay_take_part(replay, (int32_t)i, &part, &err));
        require(part.count == 0 || replay_graph_make(&graph, &part, &err));
        sum += part.count;
        if (part.count > 0)
            replay_graph_release(&graph);
        replay_release(&part);
    }
    require(replay->part_count == 0 || sum == replay->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct replay_scale scales[] = {{"*", 3}, {"nccl*", 0.25}};
    static const struct replay_options recorded = {0}, other = {scales, 2, false}, typical = {NULL, 0, true};
    struct replay replay;
    struct replay_graph graph;
    struct error err = {0};
    if (size == 0)
        return 0;
    const char *path = *data == 'c' ? "fuzz.csv" : *data == 'x' ? "fuzz.xplane.pb" : "fuzz.json";
    if (!replay_parse(&replay, path, (const char *)data + 1, size - 1, &err)) {
        require_message(&err);
        return 0;
    }
    require(replay.count > 0);
    require(replay_graph_make(&graph, &replay, &err));
    play(&graph, &recorded, true);
    play(&graph, &other, false);
    play(&graph, &typical, false);
    read_back(&replay);
    align(&replay);
    list_products(&replay);
    divide(&replay);
    replay_graph_release(&graph);
    replay_release(&replay);
    return 0;
}
