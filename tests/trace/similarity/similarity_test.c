#include "trace/similarity/similarity.h"

#include "trace/runs.h"
#include "trace/similarity/math.h"

static struct similarity compare(const char *a, const char *b)
{
    return compare_with(&options, a, b);
}

static double component_of(const char *a, const char *b, const char *name)
{
    struct similarity result = compare(a, b);
    double value = -1;
    for (size_t i = 0; i < result.count; i++)
        if (strcmp(result.components[i].name, name) == 0)
            value = result.components[i].value;
    similarity_release(&result);
    return value;
}

static void test_a_trace_is_exactly_like_itself(void **state)
{
    (void)state;
    make_run("a.db", plain);
    struct similarity result = compare("a.db", "a.db");
    assert_true(result.count > 10);
    for (size_t i = 0; i < result.count; i++)
        assert_true(result.components[i].value == 1);
    assert_true(result.value == 1);
    assert_null(similarity_worst(&result));
    similarity_release(&result);
}

static void test_the_order_of_two_traces_does_not_matter(void **state)
{
    (void)state;
    struct run other = {
        .reads = 1500, .latency = 3, .size = 2, .pause = 1.5, .late = 1, .swapped = 20, .keep = 8};
    make_run("a.db", plain);
    make_run("b.db", other);
    struct similarity one = compare("a.db", "b.db"), two = compare("b.db", "a.db");
    assert_int_equal(one.count, two.count);
    for (size_t i = 0; i < one.count; i++)
        assert_true(one.components[i].value == two.components[i].value);
    assert_true(one.value == two.value);
    assert_true(one.value < 0.9);
    similarity_release(&one);
    similarity_release(&two);
}

static void test_files_in_reverse_are_in_no_common_order(void **state)
{
    (void)state;
    struct run reverse = plain;
    reverse.swapped = plain.reads;
    make_run("a.db", plain);
    make_run("b.db", reverse);
    assert_true(component_of("a.db", "b.db", "files") == 0);
}

/* Two threads read a file each from its beginning to its end, by turns or one after the other. */
static void make_threads(const char *name, bool by_turns)
{
    struct trace_writer *writer = make_trace(name, TRACE_STORE_WHOLE);
    int64_t threads[2] = {trace_process(writer, 1, 1, "feed", 4), trace_process(writer, 1, 2, "feed", 4)};
    int64_t file = trace_file(writer, TRACE_NONE, TRACE_NONE, "/data/0", 7);
    for (int i = 0; i < 200; i++) {
        int thread = by_turns ? i % 2 : i / 100, place = by_turns ? i / 2 : i % 100;
        add_event(writer, (struct trace_event){.class = TRACE_READ,
                                               .cached = -1,
                                               .start_ns = i * INT64_C(1000000),
                                               .latency_ns = 1000,
                                               .process = threads[thread],
                                               .file = file,
                                               .offset = INT64_C(4096) * (thread * 100 + place),
                                               .size = 4096,
                                               .result = 4096});
    }
    finish_trace(writer);
}

static void test_how_threads_interleave_does_not_matter(void **state)
{
    (void)state;
    struct similarity_trace trace;
    make_threads("a.db", true);
    make_threads("b.db", false);
    read_run(&trace, "a.db");
    assert_int_equal(trace.steps, 198);
    assert_int_equal(trace.sequential, 198);
    similarity_trace_release(&trace);
    assert_true(value_of("a.db", "b.db") == 1);
}

/* A run with samples of the machine and, if `own` is not negative, of itself. */
static void make_load(const char *name, double machine, double own)
{
    struct error err;
    struct trace_writer *writer = make_trace(name, TRACE_STORE_WHOLE);
    int64_t all = trace_series(writer, "cpu.usr", "all"), process = trace_series(writer, "process.cpu", "1");
    for (int i = 0; i < 100; i++) {
        add_event(writer, (struct trace_event){.class = TRACE_READ, .start_ns = i, .size = 1, .result = 1});
        assert_true(trace_add_sample(writer, &(struct trace_sample){i, all, machine * (1 + i % 3)}, &err));
        if (own >= 0)
            assert_true(trace_add_sample(writer, &(struct trace_sample){i, process, own}, &err));
    }
    finish_trace(writer);
}

static void test_what_the_run_took_stands_for_the_machine(void **state)
{
    (void)state;
    make_load("a.db", 1, 50);
    make_load("b.db", 20, 50);
    assert_true(component_of("a.db", "b.db", "process.cpu.dtw") == 1);
    assert_true(component_of("a.db", "b.db", "cpu.usr.dtw") == -1);
    assert_true(value_of("a.db", "b.db") == 1);
    make_load("b.db", 20, -1);
    assert_near(component_of("a.db", "b.db", "cpu.usr.dtw"), 2 / 21.0, 0.01);
    assert_true(component_of("a.db", "b.db", "process.cpu.dtw") == -1);
}

/* ---- tenths of the calls ---- */

/* 3000 reads, the last third slower by a factor; `noise` makes them differ a little from run to run. */
static void make_slow_end(const char *name, double factor, double phase_factor, uint32_t noise)
{
    struct trace_writer *writer = make_trace(name, TRACE_STORE_WHOLE);
    struct error err;
    int64_t file = trace_file(writer, TRACE_NONE, TRACE_NONE, "/data/0", 7), now = 0;
    for (int i = 0; i < 3000; i++) {
        noise = noise * 1664525 + 1013904223;
        double latency = 100000.0 * (1 + 0.2 * (double)(noise >> 16) / 65536);
        latency *= i >= 2000 ? factor : 1;
        latency *= i >= 1000 && i < 1500 ? phase_factor : 1;
        add_event(writer, (struct trace_event){.class = TRACE_READ,
                                               .cached = -1,
                                               .start_ns = now,
                                               .latency_ns = (int64_t)latency,
                                               .file = file,
                                               .offset = INT64_C(4096) * i,
                                               .size = 4096,
                                               .result = 4096});
        now += 20000000;
    }
    assert_true(trace_add_phase(writer, &(struct trace_phase){"TRAINING", 0, now, "dlio"}, &err));
    finish_trace(writer);
}

static struct similarity_component window_of(const char *a, const char *b)
{
    struct similarity result = compare(a, b);
    const struct similarity_component *worst = similarity_worst_window(&result);
    struct similarity_component window =
        worst ? *worst : (struct similarity_component){.value = 1, .ratio = 1};
    similarity_release(&result);
    return window;
}

static void test_what_is_slow_for_a_while_is_seen(void **state)
{
    (void)state;
    make_slow_end("a.db", 1, 1, 1);
    make_slow_end("b.db", 1, 1, 2);
    make_slow_end("slow.db", 10, 1, 3);
    struct similarity_component same = window_of("a.db", "a.db"), repeat = window_of("a.db", "b.db"),
                                slow = window_of("a.db", "slow.db"), back = window_of("slow.db", "a.db");
    assert_true(same.value == 1 && same.ratio == 1);
    assert_true(repeat.value > 0.99);
    assert_int_equal(slow.of, TRACE_READ);
    assert_int_equal(slow.kind, SIMILARITY_LATENCY);
    assert_true(slow.tenth >= 7); /* the last third */
    assert_string_equal(similarity_part_names[slow.part], "TRAINING");
    assert_near(slow.ratio, 10, 0.5);
    assert_near(slow.value, 1 - 1 / 3.0, 0.01);
    assert_true(back.value == slow.value && back.tenth == slow.tenth); /* symmetric */
    assert_near(back.ratio * slow.ratio, 1, 1e-9);
}

static void test_a_window_falls_with_what_slows_it(void **state)
{
    (void)state;
    double before = 1;
    make_slow_end("a.db", 1, 1, 1);
    for (int step = 1; step <= 8; step++) {
        make_slow_end("b.db", 1, pow(2, step), 1);
        struct similarity_component window = window_of("a.db", "b.db");
        assert_true(window.value < before);
        assert_true(window.tenth == 3 || window.tenth == 4);
        before = window.value;
    }
}

/* A verdict of noise holds for the whole and for every window. */
static void test_repeats_tell_how_far_windows_are_apart(void **state)
{
    (void)state;
    struct error err;
    struct similarity_trace traces[4];
    struct similarity result;
    const char *const names[] = {"a.db", "b.db", "c.db", "slow.db"};
    for (int i = 0; i < 4; i++) {
        make_slow_end(names[i], i == 3 ? 10 : 1, 1, (uint32_t)i + 1);
        read_run(&traces[i], names[i]);
    }
    assert_true(similarity_compare(&traces[0], &traces[3], &options, &result, &err));
    assert_true(isnan(similarity_worst_window(&result)->floor));
    assert_true(similarity_add_floor(&result, traces, 3, &options, &err));
    const struct similarity_component *window = similarity_worst_window(&result);
    assert_true(window->floor > 0.99 && similarity_is_beyond(window));
    assert_int_equal(window->kind, SIMILARITY_LATENCY);
    assert_true(window->tenth >= 7);
    assert_false(similarity_is_within_noise(&result));
    similarity_release(&result);
    for (int i = 0; i < 4; i++)
        similarity_trace_release(&traces[i]);
}

static void test_without_a_bootstrap_there_is_no_interval(void **state)
{
    (void)state;
    struct similarity_options none = options;
    none.replicates = 0;
    make_run("a.db", plain);
    struct run other = plain;
    other.latency = 2;
    make_run("b.db", other);
    struct similarity result = compare_with(&none, "a.db", "b.db");
    assert_true(isnan(result.low) && isnan(result.high) && result.value < 1);
    for (size_t i = 0; i < result.count; i++)
        assert_true(isnan(result.components[i].low) && isnan(result.components[i].high));
    similarity_release(&result);
}

static void test_files_are_known_in_another_folder(void **state)
{
    (void)state;
    struct run elsewhere = plain;
    elsewhere.folder = "/mnt";
    make_run("a.db", plain);
    make_run("b.db", elsewhere);
    struct similarity result = compare("a.db", "b.db");
    assert_int_equal(result.common_files, plain.reads / 10);
    assert_true(result.value == 1);
    similarity_release(&result);
}

static void test_files_count_as_far_as_they_are_common(void **state)
{
    (void)state;
    struct run half = plain;
    double files = 0, sequential = 0;
    half.reads = plain.reads / 2;
    make_run("a.db", plain);
    make_run("b.db", half);
    struct similarity result = compare("a.db", "b.db");
    for (size_t i = 0; i < result.count; i++) {
        files = strcmp(result.components[i].name, "files") == 0 ? result.components[i].weight : files;
        sequential =
            strcmp(result.components[i].name, "sequential") == 0 ? result.components[i].weight : sequential;
    }
    assert_true(files > 0);
    assert_near(files / sequential, 0.5, 1e-12);
    similarity_release(&result);
}

static void test_a_run_twice_as_slow_has_the_same_rates_by_phase(void **state)
{
    (void)state;
    struct run fast = plain, slow = plain;
    fast.phases = slow.phases = true;
    slow.pause = slow.latency = 2;
    make_run("a.db", fast);
    make_run("b.db", slow);
    assert_true(component_of("a.db", "b.db", "read.ops.dtw") > 0.999);
    assert_near(component_of("a.db", "b.db", "TRAINING"), 0.5, 1e-3);
}

/* An epoch of 100 with blocks in it, then one of 50: 150 long, however it is told. */
static void test_intervals_of_a_phase_count_once(void **state)
{
    (void)state;
    struct error err;
    struct similarity_trace trace;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    const struct trace_phase phases[] = {{"TRAINING", 100, 200, "dlio"},
                                         {"TRAINING", 100, 150, "dlio"},
                                         {"TRAINING", 160, 200, "dlio"},
                                         {"EVAL", 210, 300, "dlio"},
                                         {"TRAINING", 300, 350, "dlio"}};
    for (int i = 0; i < 5; i++)
        assert_true(trace_add_phase(writer, &phases[i], &err));
    add_event(writer, (struct trace_event){.class = TRACE_READ, .start_ns = 325, .size = 8, .result = 8});
    finish_trace(writer);
    read_run(&trace, "a.db");
    assert_int_equal(trace.parts[2].length_ns, 150);
    assert_int_equal(trace.parts[3].length_ns, 90);
    assert_true(trace.streams[TRACE_READ].bytes_curve[2 * SIMILARITY_BINS + 83] == 8); /* 125 of 150 */
    similarity_trace_release(&trace);
}

static void test_intervals_hold_their_values(void **state)
{
    (void)state;
    struct run other = plain;
    other.latency = 1.3;
    make_run("a.db", plain);
    make_run("b.db", other);
    struct similarity result = compare("a.db", "b.db");
    double width = 0;
    for (size_t i = 0; i < result.count; i++) {
        const struct similarity_component *component = &result.components[i];
        assert_true(component->low <= component->value && component->value <= component->high);
        width += component->high - component->low;
    }
    assert_true(width > 0);
    assert_true(result.low < result.value && result.value < result.high);
    similarity_release(&result);
}

/* What a figure shows is what was compared. */
static void test_a_component_shows_what_it_compares(void **state)
{
    (void)state;
    struct error err;
    struct run other = plain;
    struct similarity_trace a, b;
    struct similarity result;
    struct similarity_look look;
    int distributions = 0, curves = 0;
    other.latency = 3;
    other.swapped = 20;
    make_run("a.db", plain);
    make_run("b.db", other);
    read_run(&a, "a.db");
    read_run(&b, "b.db");
    assert_true(similarity_compare(&a, &b, &options, &result, &err));
    for (size_t i = 0; i < result.count; i++) {
        const struct similarity_component *component = &result.components[i];
        similarity_look(&a, &b, component, &look);
        if (strstr(component->name, ".wasserstein")) {
            assert_near(similarity_wasserstein(look.values[0]->items, look.values[0]->count,
                                               look.values[1]->items, look.values[1]->count, 3),
                        component->value, 1e-12);
            distributions++;
        }
        if (strstr(component->name, ".dtw")) {
            assert_int_equal(look.parts, 1);
            assert_string_equal(look.part_names[0], "run");
            assert_near(
                similarity_warped(look.curves[0], look.curves[1], 1, SIMILARITY_BINS, SIMILARITY_BAND),
                component->value, 1e-12);
            curves++;
        }
    }
    assert_int_equal(distributions, 7); /* size, latency, inter-arrival of reads and writes; jumps */
    assert_int_equal(curves, 4);        /* operations and bytes of reads and writes */
    similarity_release(&result);
    similarity_trace_release(&a);
    similarity_trace_release(&b);
}

static void test_a_seed_gives_the_same_intervals(void **state)
{
    (void)state;
    struct run other = plain;
    other.size = 2;
    make_run("a.db", plain);
    make_run("b.db", other);
    struct similarity one = compare("a.db", "b.db"), two = compare("a.db", "b.db");
    assert_true(one.low == two.low && one.high == two.high);
    similarity_release(&one);
    similarity_release(&two);
}

static void test_the_floor_is_the_lowest_of_all_pairs(void **state)
{
    (void)state;
    struct error err;
    const char *const names[3] = {"a.db", "b.db", "c.db"};
    struct similarity_trace traces[3];
    struct similarity result;
    double lowest = 1;
    for (int i = 0; i < 3; i++) {
        struct run run = plain;
        run.latency = 1 + 0.2 * i;
        make_run(names[i], run);
        read_run(&traces[i], names[i]);
        for (int j = 0; j < i; j++)
            lowest = fmin(lowest, value_of(names[j], names[i]));
    }
    assert_true(similarity_compare(&traces[0], &traces[1], &options, &result, &err));
    assert_true(isnan(result.floor));
    assert_true(similarity_add_floor(&result, traces, 3, &options, &err));
    assert_true(result.floor == lowest);
    assert_true(result.value > result.floor);
    for (size_t i = 0; i < result.count; i++) { /* the first two are a pair of repeats, too */
        assert_true(result.components[i].floor <= result.components[i].value);
        assert_false(result.components[i].drawn);
    }
    similarity_release(&result);
    for (int i = 0; i < 3; i++)
        similarity_trace_release(&traces[i]);
}

static void test_a_sample_of_the_values_is_close_to_all(void **state)
{
    (void)state;
    struct error err;
    struct similarity_options few = options;
    struct similarity_trace a = {0}, b = {0};
    struct similarity result;
    struct run other = plain;
    few.values = 500;
    other.latency = 1.5;
    make_run("a.db", plain);
    make_run("b.db", other);
    assert_true(similarity_trace_read(&a, in_folder("a.db"), &few, &err));
    assert_true(similarity_trace_read(&b, in_folder("b.db"), &few, &err));
    assert_int_equal(a.streams[TRACE_READ].latency.count, 500);
    assert_int_equal(a.streams[TRACE_READ].ops, 1900);
    assert_true(similarity_compare(&a, &b, &few, &result, &err));
    assert_true(result.components[0].drawn);
    assert_near(result.value, value_of("a.db", "b.db"), 0.01);
    similarity_release(&result);
    similarity_trace_release(&a);
    similarity_trace_release(&b);
}

/* One of the traces has more values than are kept. */
static void test_a_sample_of_one_trace_is_enough_to_be_drawn(void **state)
{
    (void)state;
    struct error err;
    struct similarity_options few = options;
    struct similarity_trace traces[2] = {{0}};
    struct run small = plain;
    few.values = 500;
    small.reads = 100;
    make_run("a.db", plain);
    make_run("b.db", small);
    assert_true(similarity_trace_read(&traces[0], in_folder("a.db"), &few, &err));
    assert_true(similarity_trace_read(&traces[1], in_folder("b.db"), &few, &err));
    for (int first = 0; first < 2; first++) {
        struct similarity result;
        assert_true(similarity_compare(&traces[first], &traces[1 - first], &few, &result, &err));
        assert_string_equal(result.components[0].name, "read.ks");
        assert_true(result.components[0].drawn && result.components[1].drawn);
        similarity_release(&result);
    }
    similarity_trace_release(&traces[0]);
    similarity_trace_release(&traces[1]);
}

/* All components of two runs, as they were when this test was written. */
static void test_components_have_known_values(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double weight, value, low, high;
    } known[] = {
        {"read.ks", 0.095000, 0.501333, 0.473950, 0.555365},
        {"read.wasserstein", 0.095000, 0.899651, 0.890661, 0.909481},
        {"read.ks", 0.047500, 0.000000, 0.000000, 0.000000},
        {"read.wasserstein", 0.047500, 0.841181, 0.838984, 0.843907},
        {"read.ks", 0.047500, 0.414052, 0.385736, 0.455442},
        {"read.wasserstein", 0.047500, 0.900768, 0.898195, 0.904451},
        {"read.ops.correlation", 0.047500, 0.999816, 0.991987, 1.000000},
        {"read.ops.dtw", 0.047500, 0.743765, 0.694133, 0.772250},
        {"read.bytes.correlation", 0.047500, 0.997509, 0.990467, 1.000000},
        {"read.bytes.dtw", 0.047500, 0.916977, 0.872455, 0.943113},
        {"read.ops", 0.095000, 0.592105, 0.555929, 0.632311},
        {"read.bytes", 0.095000, 0.846563, 0.778545, 0.927985},
        {"write.ks", 0.005000, 0.520000, 0.400667, 0.677333},
        {"write.wasserstein", 0.005000, 0.912620, 0.890705, 0.935782},
        {"write.ks", 0.002500, 0.000000, 0.000000, 0.000000},
        {"write.wasserstein", 0.002500, 0.841798, 0.834458, 0.848498},
        {"write.ks", 0.002500, 0.000000, 0.000000, 0.000000},
        {"write.wasserstein", 0.002500, 0.929201, 0.927322, 0.930858},
        {"write.ops.correlation", 0.002500, 0.998777, 0.901990, 1.000000},
        {"write.ops.dtw", 0.002500, 0.861435, 0.787412, 0.928941},
        {"write.bytes.correlation", 0.002500, 0.966318, 0.873214, 1.000000},
        {"write.bytes.dtw", 0.002500, 0.816971, 0.732850, 0.893757},
        {"write.ops", 0.005000, 0.750000, 0.556788, 1.000000},
        {"write.bytes", 0.005000, 0.687304, 0.495897, 0.975122},
        {"sequential", 0.026667, 0.999365, 0.991851, 1.000000},
        {"revisits", 0.026667, 1.000000, 1.000000, 1.000000},
        {"jumps.ks", 0.013333, 0.812381, 0.779611, 0.841516},
        {"jumps.wasserstein", 0.013333, 0.961926, 0.945022, 0.979666},
        {"files", 0.020000, 0.536465, 0.451441, 0.649025},
        {"data", 0, 0.536465, 0.536465, 0.536465},
        {"names", 0, 0.536465, 0.536465, 0.536465},
        {"run", 0.100000, 0.818281, 0.818281, 0.818281},
    };
    struct run other = {
        .reads = 1500, .latency = 3, .size = 2, .pause = 1.5, .late = 1, .swapped = 20, .keep = 8};
    make_run("a.db", plain);
    make_run("b.db", other);
    struct similarity result = compare("a.db", "b.db");
    assert_int_equal(result.count, sizeof known / sizeof *known);
    for (size_t i = 0; i < result.count; i++) {
        const struct similarity_component *component = &result.components[i];
        assert_string_equal(component->name, known[i].name);
        assert_near(component->weight, known[i].weight, 1e-5);
        assert_near(component->value, known[i].value, 1e-5);
        assert_near(component->low, known[i].low, 1e-5);
        assert_near(component->high, known[i].high, 1e-5);
    }
    similarity_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_trace_is_exactly_like_itself),
        TEST(test_the_order_of_two_traces_does_not_matter),
        TEST(test_how_threads_interleave_does_not_matter),
        TEST(test_what_the_run_took_stands_for_the_machine),
        TEST(test_files_in_reverse_are_in_no_common_order),
        TEST(test_what_is_slow_for_a_while_is_seen),
        TEST(test_a_window_falls_with_what_slows_it),
        TEST(test_repeats_tell_how_far_windows_are_apart),
        TEST(test_without_a_bootstrap_there_is_no_interval),
        TEST(test_files_are_known_in_another_folder),
        TEST(test_files_count_as_far_as_they_are_common),
        TEST(test_a_run_twice_as_slow_has_the_same_rates_by_phase),
        TEST(test_intervals_of_a_phase_count_once),
        TEST(test_intervals_hold_their_values),
        TEST(test_a_component_shows_what_it_compares),
        TEST(test_a_seed_gives_the_same_intervals),
        TEST(test_the_floor_is_the_lowest_of_all_pairs),
        TEST(test_a_sample_of_the_values_is_close_to_all),
        TEST(test_a_sample_of_one_trace_is_enough_to_be_drawn),
        TEST(test_components_have_known_values),
    };
    return cmocka_run_group_tests_name("similarity", tests, NULL, NULL);
}
