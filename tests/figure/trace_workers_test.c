/* The rows of a timeline: processes that are drawn together. */
#include "trace/traces.h"

#include "figure/trace/workers.h"

/* ---- workers ---- */

static void add_process(struct trace_writer *writer, int64_t pid, int64_t parent, const char *name)
{
    struct error err;
    int64_t id = trace_process(writer, pid, TRACE_NONE, name, strlen(name));
    if (parent != TRACE_NONE)
        assert_true(trace_process_set(writer, id, parent, TRACE_NONE, TRACE_NONE, NULL, &err));
}

static void check_rows(struct trace_reader *reader, enum trace_grouping grouping, const char *const *titles,
                       const int *rows)
{
    struct error err;
    struct trace_workers workers;
    assert_true(trace_workers_init(&workers, reader, &err));
    for (int64_t id = 1; id <= trace_process_count(reader); id++)
        workers.items[trace_workers_find(&workers, reader, id)].calls++;
    assert_true(trace_workers_group(&workers, reader, grouping, &err));
    int count = 0;
    for (; titles[count]; count++)
        assert_string_equal(workers.titles[count], titles[count]);
    assert_int_equal(workers.rows, count);
    for (int i = 0; i < workers.count; i++)
        assert_int_equal(workers.items[i].row, rows[i]);
    trace_workers_release(&workers);
}

static void loaders_are_with_the_parent_they_descend_from(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    add_process(writer, 20, 10, "python3");
    add_process(writer, 21, 20, "loader");
    add_process(writer, 22, 21, "helper"); /* of the loader */
    add_process(writer, 30, 10, "python3");
    add_process(writer, 31, 30, "loader");
    add_value(writer, "gpu.sm", "0 20 python3", 1, 50);
    add_value(writer, "gpu.sm", "1 30 python3", 1, 50);
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    check_rows(reader, TRACE_ALL_WORKERS, (const char *const[]){"all processes", NULL},
               (int[]){0, 0, 0, 0, 0});
    check_rows(reader, TRACE_EACH,
               (const char *const[]){"20 python3", "21 loader", "22 helper", "30 python3", "31 loader", NULL},
               (int[]){0, 1, 2, 3, 4});
    check_rows(reader, TRACE_PARENTS,
               (const char *const[]){"20 python3 and 2 loaders", "30 python3 and 1 loader", NULL},
               (int[]){0, 0, 0, 1, 1});
    check_rows(reader, TRACE_FAMILIES,
               (const char *const[]){"20 python3", "2 loaders of 20 python3", "30 python3",
                                     "1 loader of 30 python3", NULL},
               (int[]){0, 1, 1, 2, 3});
    check_rows(reader, TRACE_ROLES, (const char *const[]){"2 parents", "3 loaders", NULL},
               (int[]){0, 1, 1, 0, 1});
    trace_reader_free(reader);
}

static void without_gpus_nobody_is_a_loader(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    add_process(writer, 20, 10, "mpirun");
    add_process(writer, 21, 20, "rank");
    add_process(writer, 22, 20, "rank");
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    check_rows(reader, TRACE_PARENTS, (const char *const[]){"20 mpirun", "21 rank", "22 rank", NULL},
               (int[]){0, 1, 2});
    check_rows(reader, TRACE_ROLES, (const char *const[]){"3 parents", NULL}, (int[]){0, 0, 0});
    trace_reader_free(reader);
}

/* A trace of other calls alone has no lanes to draw. */
static void without_processes_there_are_no_rows(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    add_phase(writer, "INIT", 0, 1);
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    for (enum trace_grouping grouping = TRACE_ALL_WORKERS; grouping <= TRACE_ROLES; grouping++)
        check_rows(reader, grouping, (const char *const[]){NULL}, (int[]){0});
    trace_reader_free(reader);
}

static void without_parents_loaders_are_dealt_out(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    add_process(writer, 7, TRACE_NONE, "c"); /* loaders by pid: 5, 6, 7 */
    add_process(writer, 3, TRACE_NONE, "gpu");
    add_process(writer, 2, TRACE_NONE, "gpu");
    add_process(writer, 6, TRACE_NONE, "b");
    add_process(writer, 5, TRACE_NONE, "a");
    add_value(writer, "gpu.sm", "0 2 python3", 1, 50);
    add_value(writer, "gpu.process.sm", "1:3", 1, 50);
    add_value(writer, "gpu.sm", "1", 1, 50);
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    check_rows(reader, TRACE_PARENTS,
               (const char *const[]){"2 gpu and 2 loaders", "3 gpu and 1 loader", NULL},
               (int[]){0, 1, 0, 1, 0});
    trace_reader_free(reader);
}

static void parents_that_are_their_own_ancestors_do_no_harm(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    for (int64_t pid = 1; pid <= 3; pid++)
        add_process(writer, pid, pid % 3 + 1, "round");
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    struct error err;
    struct trace_workers workers;
    for (enum trace_grouping grouping = TRACE_ALL_WORKERS; grouping <= TRACE_ROLES; grouping++) {
        assert_true(trace_workers_init(&workers, reader, &err));
        for (int64_t id = 1; id <= 3; id++)
            trace_workers_find(&workers, reader, id);
        assert_true(trace_workers_group(&workers, reader, grouping, &err));
        for (int i = 0; i < workers.count; i++)
            assert_true(workers.items[i].row >= 0 && workers.items[i].row < workers.rows);
        trace_workers_release(&workers);
    }
    trace_reader_free(reader);
}

/* Processes of so many calls each, but two. */
static void check_busiest(int64_t processes, int64_t others, const char *const *titles)
{
    struct error err;
    struct trace_workers workers;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    for (int64_t pid = 1; pid <= processes; pid++)
        add_process(writer, pid, TRACE_NONE, "p");
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    assert_true(trace_workers_init(&workers, reader, &err));
    for (int64_t id = 1; id <= trace_process_count(reader); id++)
        workers.items[trace_workers_find(&workers, reader, id)].calls += id == 9 || id == 5 ? 1000 : others;
    assert_true(trace_workers_group(&workers, reader, TRACE_EACH, &err));
    int rows = 0;
    for (; titles[rows]; rows++)
        assert_string_equal(workers.titles[rows], titles[rows]);
    assert_int_equal(workers.rows, rows);
    assert_string_equal(workers.titles[workers.items[4].row], "5 p");
    assert_string_equal(workers.titles[workers.items[8].row], "9 p");
    trace_workers_release(&workers);
    trace_reader_free(reader);
}

static void the_busiest_of_many_processes_have_rows(void **state)
{
    (void)state;
    check_busiest(10, 1, (const char *const[]){"5 p", "9 p", "8 more", NULL});
    check_busiest(TRACE_MAX_WORKERS + 100, 1,
                  (const char *const[]){"further processes", "5 p", "9 p", "510 more", NULL});
    check_busiest(30, 999, (const char *const[]){"1 p",  "2 p",  "3 p",    "4 p",  "5 p",  "6 p",  "7 p",
                                                 "8 p",  "9 p",  "10 p",   "11 p", "12 p", "13 p", "14 p",
                                                 "15 p", "16 p", "17 p",   "18 p", "19 p", "20 p", "21 p",
                                                 "22 p", "23 p", "7 more", NULL});
}

static void a_process_has_the_name_of_what_it_executes_last(void **state)
{
    (void)state;
    struct error err;
    struct trace_workers workers;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    const int64_t ids[] = {trace_process(writer, 7, 7, "python3", 7), trace_process(writer, 7, 7, "env", 3),
                           trace_process(writer, 7, 7, "python3", 7),
                           trace_process(writer, 7, 8, "thread", 6)};
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    assert_true(trace_workers_init(&workers, reader, &err));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(trace_workers_find(&workers, reader, ids[i]), 0);
    assert_true(trace_workers_group(&workers, reader, TRACE_EACH, &err));
    assert_string_equal(workers.titles[0], "7 python3");
    trace_workers_release(&workers);
    trace_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(loaders_are_with_the_parent_they_descend_from),
        TEST(without_gpus_nobody_is_a_loader),
        TEST(without_processes_there_are_no_rows),
        TEST(without_parents_loaders_are_dealt_out),
        TEST(parents_that_are_their_own_ancestors_do_no_harm),
        TEST(the_busiest_of_many_processes_have_rows),
        TEST(a_process_has_the_name_of_what_it_executes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
