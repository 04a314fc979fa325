/* Chakra's execution traces: those of the reference, what is refused, and what is written. */
#include "core/random.h"
#include "sim/chakra/chakra.h"
#include "sim/chakra/write.h"
#include "sim/replay/play.h"
#include "support/folder.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Unpacks an archive of the reference; the caller skips where there is none. */
static bool unpack(const char *archive)
{
    char command[512], *path = reference_path(archive);
    if (!path)
        return false;
    snprintf(command, sizeof command, "tar xzf '%s' -C '%s' 2>/dev/null", path, test_folder);
    free(path);
    return system(command) == 0;
}

static void load(struct chakra *chakra, const char *name)
{
    char path[256];
    struct error err;
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    if (!chakra_load(chakra, path, NULL, 0, &err))
        fail_msg("%s", err.text);
}

/* Numbers of the file as a decoder in another language counted them. */
static void the_reference_in_protobuf_is_read(void **state)
{
    struct chakra chakra;
    struct chakra_ids ids;
    struct error err;
    int64_t duration = 0, longest = 0;
    size_t types[CHAKRA_TYPES] = {0}, host = 0;
    (void)state;
    if (!unpack("training/simulate/chakra_feeder_trace.et.tar.gz"))
        skip();
    load(&chakra, "tests/data/chakra.0.et");
    assert_string_equal(chakra.version, "1.0.1");
    assert_int_equal(chakra.count, 3664);
    for (size_t i = 0; i < chakra.count; i++) {
        const struct chakra_node *node = &chakra.nodes[i];
        duration += node->duration;
        longest = node->duration > longest ? node->duration : longest;
        types[node->type]++;
        host += node->host;
        assert_int_equal(node->control_count, 1);
    }
    assert_int_equal(duration, 381795);
    assert_int_equal(longest, 9093);
    assert_int_equal(types[CHAKRA_COMPUTE], 3643);
    assert_int_equal(types[CHAKRA_COLLECTIVE], 21);
    assert_int_equal(host, 2448);
    assert_string_equal(chakra.nodes[0].name, "aten::flatten_dense_tensors(0)");
    assert_int_equal(chakra.nodes[0].duration, 318);
    assert_true(chakra_ids_make(&ids, &chakra, &err));
    const struct chakra_node *broadcast = &chakra.nodes[chakra_ids_find(&ids, 435)];
    assert_int_equal(broadcast->collective, 5);
    assert_int_equal(broadcast->bytes, 212480);
    assert_int_equal(broadcast->data_count, 3);
    assert_int_equal(chakra.deps[broadcast->deps], 432);
    assert_int_equal(chakra.deps[broadcast->deps + 3], 434);
    assert_int_equal(chakra_ids_find(&ids, 3), -1);
    chakra_ids_release(&ids);
    chakra_release(&chakra);
}

static void the_reference_is_played(void **state)
{
    char path[256];
    struct replay replay;
    struct replay_graph graph;
    struct replay_result result;
    struct replay_options options = {.scales = NULL};
    struct error err;
    (void)state;
    if (!unpack("training/simulate/chakra_feeder_trace.et.tar.gz"))
        skip();
    snprintf(path, sizeof path, "%s/tests/data/chakra.0.et", test_folder);
    if (!replay_load(&replay, path, &err) || !replay_graph_make(&graph, &replay, &err) ||
        !replay_play(&graph, &options, &result, &err))
        fail_msg("%s", err.text);
    assert_int_equal(replay.count, 3664);
    assert_int_equal(graph.causes[CAUSE_STALL], 0); /* all starts follow from dependencies and streams */
    for (size_t i = 0; i < replay.count; i++)
        assert_int_equal(result.starts[i], replay.activities[i].start);
    for (size_t i = 0; i < replay.dep_count; i++) {
        const struct replay_activity *source = &replay.activities[replay.deps[i].source];
        assert_true(source->start + source->duration <= replay.activities[replay.deps[i].target].start);
    }
    assert_in_range(result.span, INT64_C(290000000),
                    INT64_C(381795000)); /* its longest stream; all one by one */
    replay_result_release(&result);
    replay_graph_release(&graph);
    replay_release(&replay);
}

static void the_reference_in_json_is_read(void **state)
{
    struct chakra chakra;
    struct replay replay;
    struct error err;
    char path[256];
    (void)state;
    if (!unpack("training/simulate/chakra_1.0.2-0.0.4.et.json.tgz"))
        skip();
    load(&chakra, "1.0.2-chakra.0.0.4.json");
    assert_string_equal(chakra.version, "1.0.2-chakra.0.0.4");
    assert_int_equal(chakra.count, 263);
    assert_int_equal(chakra.nodes[2].id, 4);
    assert_string_equal(chakra.nodes[2].name, "aten::empty");
    assert_int_equal(chakra.nodes[2].control_count, 1);
    assert_int_equal(chakra.deps[chakra.nodes[2].deps], 2);
    assert_int_equal(chakra.nodes[2].thread, 1);
    chakra_release(&chakra);
    snprintf(path, sizeof path, "%s/1.0.2-chakra.0.0.4.json", test_folder);
    assert_false(replay_load(&replay, path, &err));
    assert_non_null(strstr(err.text, "an execution trace without times"));
}

static bool same_node(const struct chakra *a, const struct chakra *b, size_t i)
{
    const struct chakra_node *x = &a->nodes[i], *y = &b->nodes[i];
    uint32_t deps = x->data_count + x->control_count;
    return x->id == y->id && strcmp(x->name, y->name) == 0 && x->start == y->start &&
           x->duration == y->duration && x->bytes == y->bytes && x->thread == y->thread &&
           x->collective == y->collective && x->from == y->from && x->to == y->to && x->tag == y->tag &&
           x->type == y->type && x->host == y->host && x->data_count == y->data_count &&
           x->control_count == y->control_count &&
           (deps == 0 || memcmp(a->deps + x->deps, b->deps + y->deps, deps * sizeof *a->deps) == 0);
}

static void write_all(const struct chakra *chakra, struct text *out)
{
    chakra_add_head(out, chakra->version);
    for (size_t i = 0; i < chakra->count; i++)
        chakra_add_node(out, &chakra->nodes[i], chakra->deps + chakra->nodes[i].deps);
    assert_false(out->failed);
}

static void nodes_are_read_back_as_they_were_written(void **state)
{
    uint64_t random = 7, deps[4];
    struct text first = {0}, second = {0};
    struct chakra once, twice;
    struct error err;
    char name[32];
    (void)state;
    chakra_add_head(&first, "0.0.4");
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = random_next(&random);
        snprintf(name, sizeof name, "node %d", (int)(bits % 50));
        struct chakra_node node = {.id = random_next(&random) >> (bits % 60),
                                   .name = name,
                                   .type = (uint8_t)(bits % CHAKRA_TYPES),
                                   .start = (int64_t)(random_next(&random) >> 20),
                                   .duration = (int64_t)(random_next(&random) >> 30),
                                   .bytes = (int64_t)(random_next(&random) >> 10),
                                   .host = (bits >> 20) % 2,
                                   .collective = (int32_t)((bits >> 21) % 11) - 1,
                                   .from = (int32_t)((bits >> 25) % 9) - 1,
                                   .to = (int32_t)((bits >> 29) % 9) - 1,
                                   .tag = (int64_t)((bits >> 33) % 300) - 1,
                                   .data_count = (uint32_t)(bits >> 60) % 3,
                                   .control_count = (uint32_t)(bits >> 62) % 2};
        node.thread = node.host ? (int64_t)(bits >> 40) : 0;
        for (int j = 0; j < 4; j++)
            deps[j] = random_next(&random) >> (bits % 64);
        chakra_add_node(&first, &node, deps);
    }
    assert_true(chakra_load(&once, "once.et", first.data, first.length, &err));
    write_all(&once, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
    assert_true(chakra_load(&twice, "twice.et", second.data, second.length, &err));
    assert_int_equal(once.count, 2000);
    for (size_t i = 0; i < once.count; i++)
        assert_true(same_node(&once, &twice, i));
    chakra_release(&once);
    chakra_release(&twice);
    text_release(&first);
    text_release(&second);
}

/* Also a first message whose length is the character with which JSON begins, or a space. */
static void heads_of_any_length_are_read(void **state)
{
    const uint64_t no_deps[1] = {0};
    char version[301];
    (void)state;
    for (int length = 0; length <= 300; length++) {
        const struct chakra_node node = {
            .id = 1, .name = "a", .type = CHAKRA_COMPUTE, .collective = -1, .from = -1, .to = -1, .tag = -1};
        struct text text = {0};
        struct chakra chakra;
        struct error err;
        memset(version, '{', sizeof version);
        version[length] = '\0';
        chakra_add_head(&text, version);
        chakra_add_node(&text, &node, no_deps);
        assert_true(chakra_load(&chakra, "t.et", text.data, text.length, &err));
        assert_string_equal(chakra.version, version);
        chakra_release(&chakra);
        text_release(&text);
    }
}

/* Device 0 computes twice and sends; device 1 receives and computes, and reduces. */
static void a_timeline_becomes_a_trace_of_each_device(void **state)
{
    static const struct timeline_task tasks[] = {
        {0, -1, 0, STREAM_COMPUTE, TASK_FORWARD, 0, -1, 0, 0, 0.0015, 0, "forward"},
        {1, 0, 0, STREAM_SEND, TASK_SEND, 0, -1, 0, 0.0015, 0.00175, 1e6, "send"},
        {2, 0, 1, STREAM_RECEIVE, TASK_RECEIVE, 1, -1, 0, 0.0015, 0.00175, 1e6, "receive"},
        {3, 0, 0, STREAM_COMPUTE, TASK_FORWARD, 0, -1, 1, 0.0015, 0.003, 0, "forward"},
        {4, 2, 1, STREAM_COMPUTE, TASK_FORWARD, 1, -1, 0, 0.00175, 0.003, 0, NULL},
        {5, 4, 1, STREAM_COLLECTIVE, TASK_COLLECTIVE, 1, -1, -1, 0.003, 0.0035, 2e6, "reduce-scatter"},
    };
    struct chakra first, second;
    struct error err;
    char prefix[64];
    (void)state;
    snprintf(prefix, sizeof prefix, "%s/run", test_folder);
    struct chakra_out *out = chakra_open(prefix, &err);
    assert_non_null(out);
    struct timeline_sink sink = chakra_sink(out);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        assert_true(sink.task(sink.context, &tasks[i], &err));
    assert_true(chakra_close(out, true, &err));
    load(&first, "run.0.et");
    load(&second, "run.1.et");
    assert_int_equal(first.count, 3);
    assert_string_equal(first.nodes[0].name, "forward 0");
    assert_int_equal(first.nodes[0].duration, 1500);
    const struct chakra_node *send = &first.nodes[1], *receive = &second.nodes[0];
    assert_int_equal(send->type, CHAKRA_SEND);
    assert_int_equal(send->to, 1);
    assert_int_equal(send->bytes, 1000000);
    assert_int_equal(send->data_count, 1);
    assert_int_equal(first.deps[send->deps], 0);
    assert_int_equal(receive->type, CHAKRA_RECEIVE);
    assert_int_equal(receive->from, 0);
    assert_int_equal(receive->tag, send->tag);
    assert_int_equal(receive->data_count, 0); /* its cause lies on another device */
    assert_int_equal(second.nodes[1].data_count, 1);
    assert_int_equal(second.deps[second.nodes[1].deps], 2);
    assert_int_equal(second.nodes[2].collective, 7);
    assert_int_equal(second.nodes[2].duration, 500);
    chakra_release(&first);
    chakra_release(&second);
}

#define NODES "{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": ["

static void wrong_traces_are_refused(void **state)
{
    static const struct {
        const char *text;
        size_t length; /* 0: of the text */
        const char *message;
    } cases[] = {
        {"", 0, "a.et: the file is empty"},
        {"\x80", 0, "a.et: byte 0, message 1: the file ends within the length of a message"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0,
         "a.et: byte 0, message 1: the length of a message has more than ten bytes"},
        {"\xff\xff\xff\xff\x0f", 0,
         "a.et: byte 0, message 1: a message of more than 16 MiB; is this an execution trace?"},
        {"\x07\x0a\x05"
         "0.0",
         0, "a.et: byte 0, message 1: the file ends within a message"},
        {"\x03\x0a\x05"
         "0",
         0, "a.et: byte 0, message 1: not an execution trace: GlobalMetadata is damaged"},
        {"\x00", 1, "a.et: there is no node in it"},
        {"\x00\x02\x08\xff", 4, "a.et: byte 1, message 1: a damaged node"},
        {"\x00\x03\x2a\x01\x80", 5, "a.et: byte 1, message 1: a damaged list of dependencies"},
        {"\x00\x02\x08\x01\x02\x08\x01", 7, "a.et: node 1: id 1 is that of node 0, too"},
        {"\x00\x06\x08\x01\x28\x07\x38\x01", 8, "a.et: node 1 ('') depends on node 7, which is missing"},
        {"\x00\x06\x08\x01\x28\x01\x38\x01", 8, "a.et: node 1 ('') is in a cycle of dependencies"},
        {NODES "]}", 0, "a.et: there is no node in it"},
        {NODES "{\"name\": \"a\"}]}", 0, "a.et:1:57: node 0 has no 'id'"},
        {NODES "{\"id\": -1}]}", 0, "a.et:1:53: an id has to be a whole number, found '-1'"},
        {NODES "{\"id\": 1, \"ctrl_deps\": \"x\"}]}", 0, "a.et:1:70: dependencies have to be ids"},
        {NODES "{\"id\": 1", 0, "a.et:1:52: expected ',' or '}', found the end of the file"},
        {"{}", 0, "a.et:1:3: an execution trace needs a list 'nodes'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replay replay;
        struct error err = {.text = ""};
        size_t length = cases[i].length ? cases[i].length : strlen(cases[i].text);
        assert_false(replay_parse(&replay, "a.et", cases[i].text, length, &err));
        assert_string_equal(err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_in_protobuf_is_read),
        cmocka_unit_test(the_reference_is_played),
        cmocka_unit_test(the_reference_in_json_is_read),
        cmocka_unit_test(nodes_are_read_back_as_they_were_written),
        cmocka_unit_test(heads_of_any_length_are_read),
        cmocka_unit_test(a_timeline_becomes_a_trace_of_each_device),
        cmocka_unit_test(wrong_traces_are_refused),
    };
    return cmocka_run_group_tests_name("chakra", tests, folder_make, folder_remove);
}
