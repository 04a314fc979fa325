/* Timelines of pages: what is decoded from the data are the tasks that came, and lanes that are alike are one. */
#include "report/timeline.h"

#include "core/doc.h"
#include "core/features.h"
#include "core/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef REHEARSE_HAVE_ZLIB
#include <zlib.h>
#endif

#include <cmocka.h>

#define MAX_BYTES (1 << 20)

static struct error err;
static struct doc doc;
static struct text json;

static void assert_near(double found, double expected, double most)
{
    if (!(fabs(found - expected) <= most))
        fail_msg("%.17g, not %.17g", found, expected);
}

static int release(void **state)
{
    (void)state;
    doc_release(&doc);
    text_release(&json);
    return 0;
}

static void write_and_read(struct report_timeline *timeline)
{
    assert_true(report_timeline_write(timeline, &json, &err));
    if (!doc_parse(&doc, DOC_JSON, "timeline", json.data, json.length, &err))
        fail_msg("%s", err.text);
    report_timeline_free(timeline);
}

static struct report_timeline *new_timeline(const struct report_timeline_options *options)
{
    struct report_timeline *timeline = report_timeline_new(options, &err);
    assert_non_null(timeline);
    return timeline;
}

static void give(struct report_timeline *timeline, int device, int stream, double begin, double end,
                 int64_t microbatch)
{
    const struct timeline_sink sink = report_timeline_sink(timeline);
    const struct timeline_task task = {.device = device,
                                       .stream = stream,
                                       .kind = stream == STREAM_COMPUTE ? TASK_FORWARD : TASK_SEND,
                                       .stage = device,
                                       .microbatch = microbatch,
                                       .begin = begin,
                                       .end = end,
                                       .name = stream == STREAM_COMPUTE ? "pass" : "</script>\"\n"};
    assert_true(sink.task(sink.context, &task, &err));
}

/* The nth lane of the data. */
static const struct doc_node *lane_at(int n)
{
    const struct doc_node *lane = report_list(doc.root, "lanes")->first_child;
    while (n-- > 0)
        lane = lane->next;
    return lane;
}

/* Bytes of a member in base64, unpacked if they are packed; returns their number. */
static size_t bytes_of(const struct doc_node *lane, const char *key, unsigned char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static unsigned char packed[MAX_BYTES];
    const char *text = report_string(lane, key);
    size_t length = 0;
    uint32_t bits = 0;
    for (size_t i = 0; text[i] && text[i] != '='; i++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, text[i]) - digits);
        if (i % 4 > 0)
            packed[length++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
#ifdef REHEARSE_HAVE_ZLIB
    uLongf room = MAX_BYTES;
    assert_string_equal(report_string(doc.root, "packed"), "deflate");
    assert_int_equal(uncompress(to, &room, packed, length), Z_OK);
    return room;
#else
    memcpy(to, packed, length);
    return length;
#endif
}

static uint64_t next_number(const unsigned char **at)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        value |= (uint64_t)(**at & 127) << shift;
        if (*(*at)++ < 128)
            return value;
    }
}

static int64_t next_signed(const unsigned char **at)
{
    uint64_t value = next_number(at);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

struct seen {
    double begin, end;
    int64_t kind, label;
};

/* Decodes the tasks of a lane; returns their number. */
static int tasks_of(const struct doc_node *lane, struct seen *tasks)
{
    static unsigned char bytes[MAX_BYTES];
    const unsigned char *at = bytes, *end = bytes + bytes_of(lane, "tasks", bytes);
    double tick = report_number(doc.root, "tick");
    int64_t time = 0, label = 0;
    int count = 0;
    for (; at < end; count++) {
        time += (int64_t)next_number(&at);
        const struct doc_node *duration = report_list(doc.root, "durations")->first_child;
        for (uint64_t i = next_number(&at); i > 0; i--)
            duration = duration->next;
        tasks[count].begin = (double)time * tick;
        time += (int64_t)duration->number;
        tasks[count].end = (double)time * tick;
        tasks[count].kind = (int64_t)next_number(&at);
        tasks[count].label = label += next_signed(&at);
    }
    assert_int_equal(count, (int)report_number(lane, "count"));
    return count;
}

static void test_decoded_tasks_are_those_that_came(void **state)
{
    const struct report_timeline_options options = {.label = "micro-batch"};
    struct report_timeline *timeline = new_timeline(&options);
    struct seen given[500], seen[500];
    uint64_t random = 5;
    double time = 0;
    (void)state;
    for (int i = 0; i < 500; i++) {
        double gap = random_next(&random) % 4 == 0 ? 1e-3 * random_uniform(&random) : 0;
        given[i] = (struct seen){time + gap, time + gap + 0.25 * random_uniform(&random), 0, i % 7 - 1};
        time = given[i].end;
    }
    for (int i = 499; i >= 0; i--) /* in any order */
        give(timeline, 3, STREAM_COMPUTE, given[i].begin, given[i].end, given[i].label);
    write_and_read(timeline);
    assert_int_equal(tasks_of(lane_at(0), seen), 500);
    for (int i = 0; i < 500; i++) {
        assert_near(seen[i].begin, given[i].begin, 1e-9);
        assert_near(seen[i].end, given[i].end, 1e-9);
        assert_int_equal(seen[i].label, given[i].label);
    }
    assert_near(report_number(doc.root, "end"), time, 1e-12);
    assert_string_equal(report_string(lane_at(0), "name"), "device 3");
}

static void test_whole_times_have_long_ticks(void **state)
{
    const struct report_timeline_options options = {.label = NULL};
    struct report_timeline *timeline = new_timeline(&options);
    struct seen seen[2];
    (void)state;
    give(timeline, 0, STREAM_COMPUTE, 0, 1.5, -1);
    give(timeline, 0, STREAM_COMPUTE, 3, 4.5, -1);
    write_and_read(timeline);
    assert_near(report_number(doc.root, "tick"), 1.5, 1e-15);
    assert_int_equal(tasks_of(lane_at(0), seen), 2);
    assert_near(seen[1].begin, 3, 1e-15);
    assert_int_equal(seen[1].label, -1);
}

static void test_what_overlaps_lies_below(void **state)
{
    const struct report_timeline_options options = {.label = NULL};
    struct report_timeline *timeline = new_timeline(&options);
    struct seen seen[40];
    (void)state;
    for (int i = 0; i < REPORT_MAX_BESIDE + 3; i++)
        give(timeline, 0, STREAM_COMPUTE, 0, 1 + i, i);
    give(timeline, 0, STREAM_COMPUTE, 2, 3, 99);
    write_and_read(timeline);
    assert_int_equal(report_list(doc.root, "lanes")->count, REPORT_MAX_BESIDE);
    assert_int_equal((int)report_number(doc.root, "hidden"), 4); /* longest first: none is free at 2 */
    assert_int_equal(tasks_of(lane_at(0), seen), 1);
    assert_int_equal(seen[0].label, REPORT_MAX_BESIDE + 2);
    assert_true(report_flag(lane_at(1), "under"));
}

static void name_it(const void *context, int device, struct report_lane *lane)
{
    (void)context;
    snprintf(lane->name, sizeof lane->name, "stage %d", device % 2);
    snprintf(lane->group, sizeof lane->group, "</script><b>%d", device / 2);
    lane->copies = 4;
    lane->limit = 80e9;
}

static void test_lanes_that_are_alike_are_one(void **state)
{
    const struct report_timeline_options options = {.label = "micro-batch", .name = name_it};
    struct report_timeline *timeline = new_timeline(&options);
    struct seen seen[9];
    (void)state;
    for (int device = 0; device < 8; device++)
        for (int i = 0; i < 3; i++) {
            double late = device == 7 && i == 2 ? 1e-6 : 0; /* this one differs, by a microsecond */
            give(timeline, device, STREAM_COMPUTE, i + late, i + 0.5 + 0.25 * (device % 2), i);
            give(timeline, device, STREAM_SEND, i + 0.5, i + 0.75, i);
        }
    write_and_read(timeline);
    assert_int_equal(report_list(doc.root, "lanes")->count, 6);
    assert_int_equal((int)report_number(lane_at(0), "copies"), 16);
    assert_int_equal((int)report_number(lane_at(2), "copies"), 12);
    assert_int_equal((int)report_number(lane_at(4), "copies"), 4);
    assert_non_null(strstr(report_string(lane_at(2), "also"), "stage 1, "));
    assert_string_equal(report_string(lane_at(1), "name"), "send");
    assert_int_equal(tasks_of(lane_at(4), seen), 3);
    assert_near(seen[2].begin, 2.000001, 1e-9);
    assert_near(report_number(lane_at(4), "limit"), 80e9, 0);
}

static void test_names_are_texts(void **state)
{
    const char *const labels[] = {"a", "\xff<script>"};
    const struct report_timeline_options options = {
        .label = "file", .labels = labels, .label_count = 2, .name = name_it};
    struct report_timeline *timeline = new_timeline(&options);
    struct report_part part = {.path = "x"};
    struct report_drawing drawing = {.draw = NULL};
    (void)state;
    give(timeline, 0, STREAM_SEND, 0, 1, 1);
    assert_true(report_timeline_draw(timeline, "</figcaption><script>", &drawing, &err));
    report_add_drawing(&part, &drawing);
    report_drawing_release(&drawing);
    assert_null(strstr(part.out.data, "<script>"));
    assert_null(strstr(part.data.data, "<script>"));
    assert_int_equal(strstr(part.data.data, "</script>") - part.data.data,
                     part.data.length - strlen("</script>\n"));
    report_part_release(&part);
    write_and_read(timeline);
    assert_string_equal(report_string(report_list(doc.root, "kinds")->first_child, "name"), "</script>\"\n");
    assert_string_equal(report_list(doc.root, "labels")->first_child->next->text, "\\xff<script>");
}

static void test_memory_is_kept_with_its_device(void **state)
{
    static unsigned char bytes[MAX_BYTES];
    const struct report_timeline_options options = {.memory_title = "memory", .memory_unit = "B"};
    struct report_timeline *timeline = new_timeline(&options);
    const struct timeline_sink sink = report_timeline_sink(timeline);
    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct timeline_memory memory = {
            .device = 1, .time = i, .parameters = 1e9, .activations = i == 2 ? 0 : 5};
        assert_true(sink.memory(sink.context, &memory, &err));
        give(timeline, 1, STREAM_COMPUTE, i, i + 1, i);
    }
    write_and_read(timeline);
    const unsigned char *at = bytes, *end = bytes + bytes_of(lane_at(0), "memory", bytes);
    const int64_t steps[] = {0, 1000000005, 2, -5, 1, 5}; /* that nothing changes at 1 is no step */
    for (int i = 0; i < 6; i += 2) {
        assert_int_equal(next_number(&at), steps[i]);
        assert_int_equal(next_signed(&at), steps[i + 1]);
    }
    assert_ptr_equal(at, end);
}

static void test_times_that_are_none_are_refused(void **state)
{
    const struct report_timeline_options options = {.label = NULL};
    struct report_timeline *timeline = new_timeline(&options);
    const struct timeline_sink sink = report_timeline_sink(timeline);
    const double times[][2] = {{NAN, 1}, {0, INFINITY}, {2, 1}, {-1, 1}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct timeline_task task = {.begin = times[i][0], .end = times[i][1]};
        assert_false(sink.task(sink.context, &task, &err));
        assert_non_null(strstr(err.text, "cannot be drawn"));
    }
    write_and_read(timeline);
    assert_null(report_list(doc.root, "lanes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_decoded_tasks_are_those_that_came, release),
        cmocka_unit_test_teardown(test_whole_times_have_long_ticks, release),
        cmocka_unit_test_teardown(test_what_overlaps_lies_below, release),
        cmocka_unit_test_teardown(test_lanes_that_are_alike_are_one, release),
        cmocka_unit_test_teardown(test_names_are_texts, release),
        cmocka_unit_test_teardown(test_memory_is_kept_with_its_device, release),
        cmocka_unit_test_teardown(test_times_that_are_none_are_refused, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
