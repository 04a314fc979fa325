#include "trace/phase/phase.h"

#include "trace/traces.h"

#include <math.h>

/* A run that is made up: who reads and writes what when, and the truth about it. */
struct act {
    struct trace_writer *writer;
    int64_t now, process;
    uint64_t random;
    struct trace_phase truth[64];
    size_t count;
};

#define MS INT64_C(1000000)

static uint64_t draw(struct act *act, uint64_t below)
{
    act->random = act->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (act->random >> 33) % below;
}

static struct act begin_act(uint64_t seed)
{
    struct act act = {.writer = make_trace("a.db", TRACE_STORE_WHOLE), .now = 1000 * MS, .random = seed};
    act.process = trace_process(act.writer, 7, 7, "python", 6);
    return act;
}

static void event(struct act *act, enum trace_class class, const char *path, int64_t offset, int64_t bytes,
                  int64_t takes_ns)
{
    struct error err;
    struct trace_event one = {.class = class,
                              .cached = -1,
                              .start_ns = act->now,
                              .latency_ns = takes_ns,
                              .process = act->process,
                              .file = trace_file(act->writer, 1, TRACE_NONE, path, strlen(path)),
                              .fd = 3,
                              .offset = offset,
                              .size = bytes,
                              .result = bytes};
    assert_true(trace_add_event(act->writer, &one, &err));
    act->now += takes_ns;
}

static void note(struct act *act, const char *name, int64_t start_ns)
{
    act->truth[act->count++] = (struct trace_phase){name, start_ns, act->now, "truth"};
}

/* Programs are loaded: many small reads of what programs are made of. */
static void load_programs(struct act *act)
{
    int64_t start = act->now;
    for (int i = 0; i < 300; i++) {
        char path[64];
        snprintf(path, sizeof path, "/usr/lib/python3/m%d.pyc", i);
        event(act, TRACE_READ, path, 0, 1 << 16, MS);
    }
    note(act, "INIT", start);
}

/* All files of a set in an order drawn anew, eight reads each, then compute without reading. */
static void read_set(struct act *act, const char *set, int files, int64_t compute_ns)
{
    int order[256] = {0};
    for (int i = 0; i < files; i++) {
        int j = (int)draw(act, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < files; i++)
        for (int part = 0; part < 8; part++) {
            char path[64];
            snprintf(path, sizeof path, "/data/%s/img_%03d_of_%d.npz", set, order[i], files);
            event(act, TRACE_READ, path, part << 16, 1 << 16, MS);
        }
    act->now += compute_ns;
}

static void train(struct act *act, int files)
{
    int64_t start = act->now;
    read_set(act, "train", files, 50 * MS);
    note(act, "TRAINING", start);
}

static void evaluate(struct act *act, int files)
{
    int64_t start = act->now;
    read_set(act, "valid", files, 20 * MS);
    note(act, "EVAL", start);
}

static void save(struct act *act, int number)
{
    char path[64];
    int64_t start = act->now;
    snprintf(path, sizeof path, "/saved/step%d/model.pt", number);
    event(act, TRACE_OPEN, path, TRACE_NONE, TRACE_NONE, MS);
    for (int i = 0; i < 20; i++)
        event(act, TRACE_WRITE, path, i << 20, 1 << 20, 5 * MS);
    event(act, TRACE_SYNC, path, TRACE_NONE, 0, 40 * MS);
    event(act, TRACE_CLOSE, path, TRACE_NONE, 0, MS);
    note(act, "CHECKPOINT", start);
}

/* What is found; freed by the next call. */
static struct trace_phase *find(struct act *act, size_t *count)
{
    static struct trace_phase *phases;
    struct error err;
    finish_trace(act->writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    free(phases);
    if (!trace_phases_find(reader, &phases, count, &err))
        fail_msg("%s", err.text);
    trace_reader_free(reader);
    for (size_t i = 0; i < *count; i++) {
        assert_true(phases[i].start_ns < phases[i].end_ns);
        assert_true(i == 0 || phases[i - 1].end_ns <= phases[i].start_ns);
        assert_string_equal(phases[i].source, "io");
    }
    return phases;
}

static void check(struct act *act, const char *name, double min)
{
    size_t count;
    struct trace_phase *phases = find(act, &count);
    double overlap = trace_phases_overlap(phases, count, act->truth, act->count, name);
    if (!(overlap >= min)) {
        for (size_t i = 0; i < count; i++)
            print_message("%s %lld %lld\n", phases[i].name, (long long)(phases[i].start_ns / MS),
                          (long long)(phases[i].end_ns / MS));
        fail_msg("%s: %g", name, overlap);
    }
    act->writer = NULL;
}

static size_t number_of(const struct trace_phase *phases, size_t count, const char *name)
{
    size_t number = 0;
    for (size_t i = 0; i < count; i++)
        number += strcmp(phases[i].name, name) == 0;
    return number;
}

static void test_runs_drawn_at_random(void **state)
{
    (void)state;
    static const char *const names[] = {"INIT", "TRAINING", "EVAL", "CHECKPOINT"};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct act act = begin_act(seed);
        int files = 20 + (int)draw(&act, 60), epochs = 2 + (int)draw(&act, 4);
        load_programs(&act);
        for (int epoch = 0; epoch < epochs; epoch++) {
            train(&act, files);
            if (draw(&act, 2))
                save(&act, epoch);
            if (draw(&act, 2))
                evaluate(&act, 12);
        }
        event(&act, TRACE_WRITE, "/home/me/run.log", TRACE_NONE, 80,
              MS); /* its last words, after computing */
        size_t count;
        struct trace_phase *phases = find(&act, &count);
        for (size_t i = 0; i < 4; i++) {
            double overlap = trace_phases_overlap(phases, count, act.truth, act.count, names[i]);
            if (overlap < 0.93)
                fail_msg("seed %d: %s: %g", (int)seed, names[i], overlap);
        }
        assert_int_equal(number_of(phases, count, "TRAINING"), epochs);
        assert_int_equal(number_of(phases, count, "EVAL"), number_of(act.truth, act.count, "EVAL"));
        assert_int_equal(number_of(phases, count, "CHECKPOINT"),
                         number_of(act.truth, act.count, "CHECKPOINT"));
    }
}

/* One large file, of which records are read in an order drawn anew. */
static void test_epochs_of_one_file(void **state)
{
    (void)state;
    struct act act = begin_act(3);
    load_programs(&act);
    for (int epoch = 0; epoch < 3; epoch++) {
        int order[500] = {0};
        int64_t start = act.now;
        for (int i = 0; i < 500; i++) {
            int j = (int)draw(&act, (uint64_t)i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (int i = 0; i < 500; i++)
            event(&act, TRACE_READ, "/data/terabyte.bin", order[i] << 16, 1 << 16, MS);
        note(&act, "TRAINING", start);
    }
    size_t count;
    struct trace_phase *phases = find(&act, &count);
    assert_int_equal(number_of(phases, count, "TRAINING"), 3);
    for (size_t i = 0, epoch = 0; i < count; i++)
        if (strcmp(phases[i].name, "TRAINING") == 0) {
            int64_t late = phases[i].start_ns - act.truth[1 + epoch++].start_ns;
            assert_true(late >= 0 && late < 20 * MS);
        }
}

/* Images and labels lie in two folders, and are read together. */
static void test_what_is_read_together_is_one_set(void **state)
{
    (void)state;
    struct act act = begin_act(5);
    for (int epoch = 0; epoch < 2; epoch++)
        for (int i = 0; i < 100; i++) {
            char path[64];
            snprintf(path, sizeof path, "/data/images/%d.jpg", i);
            event(&act, TRACE_READ, path, 0, 1 << 17, MS);
            snprintf(path, sizeof path, "/data/labels/%d.png", i);
            event(&act, TRACE_READ, path, 0, 1 << 15, MS);
        }
    size_t count;
    struct trace_phase *phases = find(&act, &count);
    assert_int_equal(number_of(phases, count, "EVAL"), 0);
    assert_int_equal(number_of(phases, count, "TRAINING"), 2);
}

/* A checkpoint within an epoch, in which the loader reads ahead. */
static void test_a_checkpoint_cuts_training(void **state)
{
    (void)state;
    struct act act = begin_act(7);
    int64_t start = act.now;
    read_set(&act, "train", 40, 0);
    note(&act, "TRAINING", start);
    save(&act, 1);
    start = act.now;
    read_set(&act, "other/../train", 1, 0); /* something goes on */
    read_set(&act, "train", 40, 0);
    note(&act, "TRAINING", start);
    check(&act, "CHECKPOINT", 0.99);
}

static void test_data_that_are_written_are_no_checkpoint(void **state)
{
    (void)state;
    struct act act = begin_act(9);
    for (int i = 0; i < 20; i++) {
        char path[64];
        snprintf(path, sizeof path, "/data/train/img_%03d_of_%d.npz", i, 20);
        event(&act, TRACE_WRITE, path, 0, 1 << 19, MS);
    }
    train(&act, 20);
    train(&act, 20);
    size_t count;
    struct trace_phase *phases = find(&act, &count);
    assert_int_equal(number_of(phases, count, "CHECKPOINT"), 0);
    assert_int_equal(number_of(phases, count, "INIT"), 1);
    assert_int_equal(number_of(phases, count, "TRAINING"), 2);
}

static void test_a_run_of_checkpoints_alone(void **state)
{
    (void)state;
    struct act act = begin_act(11);
    load_programs(&act);
    for (int i = 0; i < 3; i++) {
        save(&act, i);
        act.now += 3000 * MS;
    }
    size_t count;
    struct trace_phase *phases = find(&act, &count);
    assert_int_equal(count, 4);
    assert_string_equal(phases[0].name, "INIT");
    assert_string_equal(phases[3].name, "CHECKPOINT");
}

static void test_no_data_no_phases(void **state)
{
    (void)state;
    size_t count;
    struct act act = begin_act(13);
    find(&act, &count);
    assert_int_equal(count, 0);
    act = begin_act(13);
    load_programs(&act);
    for (int i = 0; i < 1000; i++)
        event(&act, TRACE_WRITE, "/home/me/run.log", TRACE_NONE, 80, MS);
    find(&act, &count);
    assert_int_equal(count, 0);
}

/* The same place is read again and again: a file is rewound, and no epoch begins. */
static void test_a_file_that_is_rewound_is_one_phase(void **state)
{
    (void)state;
    for (int places = 1; places <= 4; places++) {
        size_t count;
        struct act act = begin_act(14);
        for (int i = 0; i < 1000; i++)
            event(&act, TRACE_READ, "/data/table", i % places * 65536, 65536, MS);
        struct trace_phase *phases = find(&act, &count);
        assert_int_equal(count, 1);
        assert_string_equal(phases[0].name, "TRAINING");
    }
}

static void test_they_are_stored_where_there_are_none(void **state)
{
    (void)state;
    struct error err;
    size_t count;
    struct act act = begin_act(15);
    train(&act, 20);
    train(&act, 20);
    finish_trace(act.writer);
    assert_true(trace_phases_fill(in_folder("a.db"), &count, &err));
    assert_int_equal(count, 2);
    assert_true(trace_phases_fill(in_folder("a.db"), &count, &err));
    assert_int_equal(count, 0);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    int stored;
    const struct trace_phase *phases = trace_phases(reader, &stored);
    assert_int_equal(stored, 2);
    assert_true(trace_phases_store(in_folder("a.db"), phases, 1, &err)); /* in place of those */
    trace_reader_free(reader);
    reader = open_trace(in_folder("a.db"));
    trace_phases(reader, &stored);
    assert_int_equal(stored, 1);
    trace_reader_free(reader);
}

static void test_overlap(void **state)
{
    (void)state;
    const struct trace_phase a[] = {{"EVAL", 0, 10, ""}, {"EVAL", 20, 30, ""}, {"INIT", 0, 50, ""}};
    const struct trace_phase b[] = {{"EVAL", 5, 25, ""}, {"TRAINING", 0, 1, ""}};
    assert_true(fabs(trace_phases_overlap(a, 3, b, 2, "EVAL") - 10.0 / 30) < 1e-12);
    assert_true(trace_phases_overlap(a, 3, a, 3, "EVAL") == 1);
    assert_true(trace_phases_overlap(a, 3, b, 2, "INIT") == 0);
    assert_true(isnan(trace_phases_overlap(a, 3, b, 2, "CHECKPOINT")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_runs_drawn_at_random),
        TEST(test_epochs_of_one_file),
        TEST(test_what_is_read_together_is_one_set),
        TEST(test_a_checkpoint_cuts_training),
        TEST(test_data_that_are_written_are_no_checkpoint),
        TEST(test_a_run_of_checkpoints_alone),
        TEST(test_no_data_no_phases),
        TEST(test_a_file_that_is_rewound_is_one_phase),
        TEST(test_they_are_stored_where_there_are_none),
        TEST(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
