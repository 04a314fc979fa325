/* Chakra's execution traces: those of the reference, what is refused, and what is written. */
#include "core/random.h"
#include "sim/chakra/chakra.h"
#include "sim/chakra/write.h"
#include "sim/replay/play.h"
#include "support/folder.h"
#include "support/reference.h"

#include <inttypes.h>
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

/* Both forms of the same nodes are read alike, whatever the order of a node's keys. */
static void json_says_the_same_as_protobuf(void **state)
{
    static const char *const hosts[] = {"0", "1", "\"false\"", "true"};
    uint64_t random = 11;
    struct text wire = {0}, json = {0};
    struct chakra ours, theirs;
    struct error err;
    (void)state;
    chakra_add_head(&wire, "9.9");
    text_add(&json, "{\"nodes\": [");
    for (int i = 0; i < 400; i++) {
        uint64_t bits = random_next(&random), deps[5];
        uint32_t data = (uint32_t)(bits % 3), control = (uint32_t)(bits >> 2) % 3, told = 0;
        int collective = (int)(bits >> 10) % 8;
        char name[20];
        for (int d = 0; d < 5; d++)
            deps[d] = random_next(&random) >> (bits % 60);
        snprintf(name, sizeof name, "n%d", i % 37);
        const struct chakra_node node = {.id = (uint64_t)(i + 1) << (bits % 50),
                                         .name = name,
                                         .type = CHAKRA_COMPUTE,
                                         .duration = (int64_t)((bits >> 30) % 3000),
                                         .bytes = (int64_t)((bits >> 13) % 3) << 33,
                                         .thread = (bits >> 20) % 2 ? (int64_t)((bits >> 21) % 900) : 0,
                                         .host = (bits >> 20) % 2,
                                         .collective = collective == 7 ? -1 : collective,
                                         .from = -1,
                                         .to = -1,
                                         .tag = -1,
                                         .data_count = data,
                                         .control_count = control};
        chakra_add_node(&wire, &node, deps);
        text_format(&json, "%s{\"inputs\": {\"values\": [[1], {}]}", i > 0 ? ", " : "");
        for (int part = 0; part < 5; part++)
            switch ((part + (int)(bits >> 40)) % 5) { /* a rotation of the keys */
            case 0:
                text_format(&json, ", \"id\": %" PRIu64 ", \"name\": \"%s\"", node.id, name);
                break;
            case 1:
                text_format(&json, ", \"duration_micros\": %" PRId64, node.duration);
                break;
            case 2:
                if (data > 0)
                    text_add(&json, ", \"data_deps\": [");
                for (told = 0; told < data; told++)
                    text_format(&json, "%s%" PRIu64, told > 0 ? ", " : "", deps[told]);
                text_add(&json, data > 0 ? "]" : "");
                break;
            case 3:
                text_add(&json, ", \"ctrl_deps\": ");
                text_add(&json, control == 1 ? "" : "[");
                for (told = 0; told < control; told++)
                    text_format(&json, "%s%" PRIu64, told > 0 ? ", " : "", deps[data + told]);
                text_add(&json, control == 1 ? "" : "]");
                break;
            default:
                text_format(&json,
                            ", \"attrs\": [7, {\"type\": \"int\", \"value\": %s, \"name\": \"is_cpu_op\"}",
                            hosts[2 * (bits >> 50 & 1) + node.host]);
                text_format(&json, ", {\"name\": \"tid\", \"value\": %" PRId64 "}", node.thread);
                text_format(&json, ", {\"name\": \"comm_type\", \"value\": %d}",
                            collective == 7 ? 1000 : collective);
                text_format(&json, ", {\"name\": \"comm_size\", \"value\": %" PRId64 "}",
                            node.bytes > 0 ? node.bytes : -3);
                text_add(&json, ", {\"name\": \"a name longer than any that counts\", \"value\": 5}");
                text_add(&json, "]");
            }
        text_add(&json, "}");
    }
    text_add(&json, "], \"schema\": \"9.9\", \"pid\": 7}");
    if (!chakra_load(&ours, "a.et", wire.data, wire.length, &err) ||
        !chakra_load(&theirs, "a.json", json.data, json.length, &err))
        fail_msg("%s", err.text);
    assert_int_equal(ours.count, 400);
    assert_int_equal(theirs.count, 400);
    assert_string_equal(ours.version, theirs.version);
    for (size_t i = 0; i < ours.count; i++)
        if (!same_node(&ours, &theirs, i))
            fail_msg("node %zu differs", i);
    chakra_release(&ours);
    chakra_release(&theirs);
    text_release(&wire);
    text_release(&json);
}

/* Fields of later versions, of all types of the format, are passed over. */
static void unknown_fields_are_passed_over(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
    } unknown[] = {{"\xf8\x01\x81\x01", 4},
                   {"\xf9\x01\x01\x02\x03\x04\x05\x06\x07\x08", 10},
                   {"\xfd\x01\x01\x02\x03\x04", 6},
                   {"\xfa\x01\x03xyz", 6}}; /* field 31: a number, eight and four bytes, a text */
    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        for (size_t cut = 0; cut <= unknown[i].length; cut++) {
            char bytes[40] = {0, (char)(4 + unknown[i].length - cut), 8, 5, 0x38, 9};
            struct chakra chakra;
            struct error err;
            size_t length = unknown[i].length - cut;
            memcpy(bytes + 6, unknown[i].bytes, length);
            bool whole = cut == 0 || length == 0;
            if (chakra_load(&chakra, "a.et", bytes, 6 + length, &err) != whole)
                fail_msg("field %zu, %zu bytes less: %s", i, cut, whole ? err.text : "it was read");
            if (!whole)
                continue;
            assert_int_equal(chakra.nodes[0].id, 5);
            assert_int_equal(chakra.nodes[0].duration, 9);
            chakra_release(&chakra);
        }
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
        {0, -1, 0, STREAM_COMPUTE, TASK_FORWARD, 0, -1, 0, 0, 0.0015, 0, "forward", 0, 0, 0},
        {1, 0, 0, STREAM_SEND, TASK_SEND, 0, -1, 0, 0.0015, 0.00175, 1e6, "send", 0, 0, 0},
        {2, 0, 1, STREAM_RECEIVE, TASK_RECEIVE, 1, -1, 0, 0.0015, 0.00175, 1e6, "receive", 0, 0, 0},
        {3, 0, 0, STREAM_COMPUTE, TASK_FORWARD, 0, -1, 1, 0.0015, 0.003, 0, "forward", 0, 0, 0},
        {4, 2, 1, STREAM_COMPUTE, TASK_FORWARD, 1, -1, 0, 0.00175, 0.003, 0, NULL, 0, 0, 0},
        {5, 4, 1, STREAM_COLLECTIVE, TASK_COLLECTIVE, 1, -1, -1, 0.003, 0.0035, 2e6, "reduce-scatter", 0, 0,
         0},
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

/* Which streams are one: threads of the host, and engines of the device. */
static int64_t stream_of(const struct chakra_node *node)
{
    int type = node->type == CHAKRA_STORE ? CHAKRA_LOAD : node->type;
    return node->host ? 1000 + node->thread : type;
}

/* Of all nodes that may begin, that which became ready first, then the first in the file, takes its stream as soon as it is free. */
static void nodes_begin_in_the_order_in_which_they_are_ready(void **state)
{
    enum { COUNT = 60 };
    uint64_t random = 5;
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        struct chakra_node nodes[COUNT] = {0};
        uint64_t deps[COUNT][3];
        int64_t ready[COUNT] = {0}, start[COUNT], end[COUNT];
        bool begun[COUNT] = {false}, control = trial % 2;
        struct text text = {0};
        struct replay replay;
        struct error err;
        chakra_add_head(&text, "1");
        for (int i = 0; i < COUNT; i++) {
            uint64_t bits = random_next(&random);
            uint32_t wanted = i > 0 ? (uint32_t)(bits % 4) : 0;
            nodes[i] = (struct chakra_node){.id = 100 + (uint64_t)i,
                                            .name = "n",
                                            .type = (uint8_t)(CHAKRA_LOAD + (bits >> 8) % 6),
                                            .duration = 1 + (int64_t)((bits >> 16) % 9),
                                            .host = (bits >> 24) % 4 == 0,
                                            .collective = -1,
                                            .from = -1,
                                            .to = -1,
                                            .tag = -1};
            nodes[i].thread = nodes[i].host ? (int64_t)((bits >> 32) % 2) : 0;
            *(control ? &nodes[i].control_count : &nodes[i].data_count) = wanted;
            for (uint32_t d = 0; d < wanted; d++) /* earlier nodes, one of them perhaps twice */
                deps[i][d] = 100 + (random_next(&random) % (uint64_t)i);
            chakra_add_node(&text, &nodes[i], deps[i]);
        }
        for (int done = 0; done < COUNT; done++) {
            int next = -1;
            for (int i = 0; i < COUNT; i++) {
                bool may = !begun[i];
                for (uint32_t d = 0; d < nodes[i].data_count + nodes[i].control_count; d++)
                    may = may && begun[deps[i][d] - 100];
                if (may && (next < 0 || ready[i] < ready[next]))
                    next = i;
            }
            assert_true(next >= 0);
            begun[next] = true;
            start[next] = ready[next];
            for (int i = 0; i < COUNT; i++)
                if (i != next && begun[i] && stream_of(&nodes[i]) == stream_of(&nodes[next]) &&
                    end[i] > start[next])
                    start[next] = end[i];
            end[next] = start[next] + 1000 * nodes[next].duration;
            for (int i = 0; i < COUNT; i++)
                for (uint32_t d = 0; d < nodes[i].data_count + nodes[i].control_count; d++)
                    if (deps[i][d] == nodes[next].id && end[next] > ready[i])
                        ready[i] = end[next];
        }
        if (!replay_parse(&replay, "a.et", text.data, text.length, &err))
            fail_msg("%s", err.text);
        assert_int_equal(replay.count, COUNT);
        int64_t first = INT64_MAX; /* times count from the first start */
        for (int i = 0; i < COUNT; i++)
            first = start[i] < first ? start[i] : first;
        for (size_t i = 0; i < COUNT; i++) {
            const struct replay_activity *activity = &replay.activities[i];
            assert_int_equal(activity->start - replay.activities[0].start, start[activity->place] - first);
            assert_int_equal(activity->duration, 1000 * nodes[activity->place].duration);
            for (size_t j = 0; j < i; j++)
                assert_int_equal(activity->stream == replay.activities[j].stream,
                                 stream_of(&nodes[activity->place]) ==
                                     stream_of(&nodes[replay.activities[j].place]));
        }
        replay_release(&replay);
        text_release(&text);
    }
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
        {NODES "{\"id\": 1, \"ctrl_deps\": 2, \"ctrl_deps\": 3}]}", 0,
         "a.et:1:82: 'ctrl_deps' is listed twice"},
        {NODES "{\"id\": 1, \"attrs\": 2}]}", 0, "a.et:1:64: 'attrs' has to be a list"},
        {NODES "{\"id\": 1, \"duration_micros\": -1}]}", 0, "a.et:1:75: a duration of -1 us"},
        {NODES "7]}", 0, "a.et:1:45: a node has to be a map"},
        {"{\"nodes\": 7}", 0, "a.et:1:12: nodes have to be a list"},
        {"{\"nodes\": [], \"nodes\": []}", 0, "a.et:1:23: nodes are listed twice"},
        {"{}", 0, "a.et:1:3: an execution trace needs a list 'nodes', or 'workload_graph'"},
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

/* The form of ASTRA-sim's feeder; and exchanges without a time, which are not played as none. */
static void nodes_of_the_feeder_are_read(void **state)
{
    static const char text[] =
        "{\"workload_graph\": [{\"Id\": 7, \"Name\": \"gemm\", \"NodeType\": 4, \"ctrlDeps\": [3], "
        "\"data_deps\": [],"
        " \"runtime\": 30, \"is_cpu_op\": false}, {\"Id\": 8, \"Name\": \"send\", \"NodeType\": 5, "
        "\"ctrlDeps\": [],"
        " \"data_deps\": [7], \"runtime\": %d, \"comm_size\": 4096, \"comm_dst\": 1, \"is_cpu_op\": false}],"
        " \"ngpus\": 2}";
    char filled[sizeof text + 8];
    struct replay replay;
    struct error err;
    (void)state;
    snprintf(filled, sizeof filled, text, 12);
    if (!replay_parse(&replay, "feeder.json", filled, strlen(filled), &err))
        fail_msg("%s", err.text);
    assert_int_equal(replay.count, 2);
    assert_int_equal(replay.activities[0].class, REPLAY_COMPUTE);
    assert_int_equal(replay.activities[1].class, REPLAY_COMMUNICATION);
    assert_int_equal(replay.activities[1].start, 30000);
    assert_int_equal(replay.activities[1].duration, 12000);
    replay_release(&replay);
    snprintf(filled, sizeof filled, text, 0);
    assert_false(replay_parse(&replay, "feeder.json", filled, strlen(filled), &err));
    assert_non_null(strstr(err.text, "feeder.json: 1 exchanges of 4096 bytes have no duration"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_in_protobuf_is_read),
        cmocka_unit_test(the_reference_is_played),
        cmocka_unit_test(the_reference_in_json_is_read),
        cmocka_unit_test(nodes_are_read_back_as_they_were_written),
        cmocka_unit_test(nodes_of_the_feeder_are_read),
        cmocka_unit_test(json_says_the_same_as_protobuf),
        cmocka_unit_test(unknown_fields_are_passed_over),
        cmocka_unit_test(heads_of_any_length_are_read),
        cmocka_unit_test(a_timeline_becomes_a_trace_of_each_device),
        cmocka_unit_test(nodes_begin_in_the_order_in_which_they_are_ready),
        cmocka_unit_test(wrong_traces_are_refused),
    };
    return cmocka_run_group_tests_name("chakra", tests, folder_make, folder_remove);
}
