/* Execution traces, in protobuf and in JSON. What is read is written and read back as it was; what can be played starts as it
 * was scheduled. */
#include "sim/chakra/chakra.h"
#include "sim/replay/play.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct chakra *chakra, struct text *out)
{
    chakra_add_head(out, chakra->version);
    for (size_t i = 0; i < chakra->count; i++)
        chakra_add_node(out, &chakra->nodes[i], chakra->deps + chakra->nodes[i].deps);
    require(!out->failed);
}

static void read_back(const char *text, size_t length)
{
    struct chakra once, twice;
    struct error err = {0};
    struct text first = {0}, second = {0};
    if (!chakra_load(&once, "fuzz.et", text, length, &err)) {
        require_message(&err);
        return;
    }
    require(once.count > 0);
    write_all(&once, &first);
    require(chakra_load(&twice, "again.et", first.data, first.length, &err));
    require(twice.count == once.count);
    write_all(&twice, &second);
    require(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    text_release(&first);
    text_release(&second);
    chakra_release(&once);
    chakra_release(&twice);
}

static void play(const char *text, size_t length)
{
    struct replay replay;
    struct replay_graph graph;
    struct replay_result result;
    struct replay_options options = {.scales = NULL};
    struct error err = {0};
    if (!replay_parse(&replay, "fuzz.et", text, length, &err)) {
        require_message(&err);
        return;
    }
    require(replay_graph_make(&graph, &replay, &err) && replay_play(&graph, &options, &result, &err));
    for (size_t i = 0; i < replay.count; i++)
        require(result.starts[i] == replay.activities[i].start);
    replay_result_release(&result);
    replay_graph_release(&graph);
    replay_release(&replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_back((const char *)data, size);
    play((const char *)data, size);
    return 0;
}
