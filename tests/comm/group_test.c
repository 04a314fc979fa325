#include "comm/group.h"

#include "support/ranks.h"

#define LONG_SECONDS 50.0

/* ---- One rank of four: what it prints is looked at by the tests ---- */

/* Waits by polling alone, as measuring does. */
static bool poll_all(struct comm *comm, void **requests, int count)
{
    int pending;
    while ((pending = comm_poll(comm, requests, count, NULL)) > 0)
        usleep(50);
    return pending == 0;
}

static bool collect(struct comm *comm, struct comm_group *group, enum comm_kind kind, const void *in,
                    void *out, int64_t bytes)
{
    void *request = comm_collect(comm, group, kind, in, out, bytes);
    return request && poll_all(comm, &request, 1);
}

/* Ranks 0 and 2, 1 and 3 are groups, the later rank first. */
static bool collect_in_groups(struct comm *comm, struct error *err)
{
    int rank = comm_rank(comm);
    struct comm_group *group;
    if (!comm_group_open(comm, rank % 2, -rank, "pairs", &group, err))
        return false;
    int own = comm_group_rank(comm, group), size = comm_group_size(comm, group);
    float sum[2] = {(float)rank, 0.5f}, terms[2] = {(float)rank, (float)(10 * rank)}, part = 0;
    char letter = (char)('a' + rank), letters[3] = "", pair[3] = {(char)('a' + rank), (char)('A' + rank), 0},
         crossed[3] = "", told[2] = "";
    told[0] = own == 0 ? letter : '-';
    bool ok = collect(comm, group, COMM_ALL_REDUCE, NULL, sum, sizeof sum) &&
              collect(comm, group, COMM_ALL_GATHER, &letter, letters, 2) &&
              collect(comm, group, COMM_REDUCE_SCATTER, terms, &part, sizeof terms) &&
              collect(comm, group, COMM_ALL_TO_ALL, pair, crossed, 2) &&
              collect(comm, group, COMM_BROADCAST, NULL, told, 1) &&
              collect(comm, group, COMM_BARRIER, NULL, NULL, 0);
    printf("<%d is %d of %d: sum %g %g, all %s, part %g, crossed %s, told %s>\n", rank, own, size, sum[0],
           sum[1], letters, part, crossed, told);
    comm_group_close(comm, group);
    return ok || error_set(err, ERROR_FAILED, "a collective was lost");
}

/* Rank 3 is in no group; messages of two groups with the same tag do not mix. */
static bool leave_one_out(struct comm *comm, struct error *err)
{
    int rank = comm_rank(comm);
    struct comm_group *group;
    if (!comm_group_open(comm, rank == 3 ? -1 : 7, rank, "three", &group, err))
        return false;
    printf("<%d: %s>\n", rank, group ? "in" : "out");
    int ends[2] = {0, 2}, got[2] = {-1, -1}, own[2] = {100 + rank, 200 + rank};
    void *requests[4] = {0};
    if (rank == ends[0] || rank == ends[1]) {
        int other = rank == ends[0] ? ends[1] : ends[0];
        requests[0] = comm_receive(comm, NULL, other, 5, &got[0], sizeof(int));
        requests[1] = comm_receive(comm, group, other, 5, &got[1], sizeof(int));
        requests[2] = comm_send(comm, group, other, 5, &own[1], sizeof(int));
        requests[3] = comm_send(comm, NULL, other, 5, &own[0], sizeof(int));
        printf("<%d: %d requests>\n", rank, !!requests[0] + !!requests[1] + !!requests[2] + !!requests[3]);
        if (!poll_all(comm, requests, 4))
            return error_set(err, ERROR_FAILED, "a message was lost");
        printf("<%d: got %d and %d>\n", rank, got[0], got[1]);
    }
    if (group)
        comm_group_close(comm, group);
    return comm_agree(comm, true, "the end", err);
}

/* Says which of many requests have ended, and keeps the others. */
static bool many(struct comm *comm, struct error *err)
{
    enum { COUNT = 300 };
    static int values[COUNT];
    static void *requests[COUNT];
    static enum comm_state states[COUNT];
    int rank = comm_rank(comm), done = 0;
    if (rank > 1)
        return comm_agree(comm, true, "the middle", err) && comm_agree(comm, true, "the end", err);
    for (int i = 0; i < COUNT; i++) {
        values[i] = rank == 0 ? -1 : 3 * i;
        if (rank == 0)
            requests[i] = comm_receive(comm, NULL, 1, i, &values[i], sizeof(int));
        else if (i % 2 == 0)
            requests[i] = comm_send(comm, NULL, 0, i, &values[i], sizeof(int));
    }
    for (int left = COUNT; left > COUNT / 2;) /* the even ones alone are sent before the middle */
        if ((left = comm_poll(comm, requests, rank == 0 ? COUNT : 0, states)) < 0)
            return error_set(err, ERROR_FAILED, "lost");
    for (int i = 0; i < COUNT; i++)
        done += rank == 0 && i % 2 == 0 && !requests[i] && states[i] == COMM_DONE && values[i] == 3 * i;
    for (int i = 1; i < COUNT; i += 2)
        done += rank == 0 && requests[i] && states[i] == COMM_PENDING && values[i] == -1;
    if (rank == 0)
        printf("<%d of %d are as they should be>\n", done, COUNT);
    if (!comm_agree(comm, true, "the middle", err))
        return false;
    for (int i = 1; i < COUNT && rank == 1; i += 2)
        requests[i] = comm_send(comm, NULL, 0, i, &values[i], sizeof(int));
    bool ended = poll_all(comm, requests, COUNT);
    for (int i = 0; i < COUNT; i++)
        ended &= values[i] == 3 * i;
    printf("<%d: %s>\n", rank, ended ? "all ended" : "not all ended");
    return comm_agree(comm, true, "the end", err);
}

static int rank_main(const char *mode)
{
    struct error err;
    struct comm *comm = comm_open(LONG_SECONDS, &err);
    bool ok = comm && (strcmp(mode, "groups") == 0  ? collect_in_groups(comm, &err)
                       : strcmp(mode, "three") == 0 ? leave_one_out(comm, &err)
                                                    : many(comm, &err));
    if (!ok)
        printf("<failed: %s>\n", err.text);
    comm_close(comm);
    return ok ? 0 : 1;
}

/* ---- Tests ---- */

static void test_groups_collect_apart(void **state)
{
    (void)state;
    if (!ranks_run(4, "groups", ""))
        skip();
    ranks_require("<0 is 1 of 2: sum 2 1, all ca, part 20, crossed CA, told c>");
    ranks_require("<1 is 1 of 2: sum 4 1, all db, part 40, crossed DB, told d>");
    ranks_require("<2 is 0 of 2: sum 2 1, all ca, part 2, crossed ca, told c>");
    ranks_require("<3 is 0 of 2: sum 4 1, all db, part 4, crossed db, told d>");
}

static void test_a_rank_may_be_in_no_group(void **state)
{
    (void)state;
    if (!ranks_run(4, "three", ""))
        skip();
    assert_int_equal(ranks_count(": in>"), 3);
    ranks_require("<3: out>");
    ranks_require("<0: got 102 and 202>");
    ranks_require("<2: got 100 and 200>");
}

static void test_many_requests_are_polled_together(void **state)
{
    (void)state;
    if (!ranks_run(4, "many", ""))
        skip();
    ranks_require("<300 of 300 are as they should be>");
    ranks_require("<0: all ended>");
    ranks_require("<1: all ended>");
}

static void test_alone_collectives_copy(void **state)
{
    (void)state;
    struct error err;
    struct comm_group *group, *none;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    struct comm *comm = comm_open(0, &err);
    assert_non_null(comm);
    assert_true(comm_group_open(comm, 0, 0, "one", &group, &err));
    assert_true(comm_group_open(comm, -1, 0, "none", &none, &err));
    assert_null(none);
    assert_int_equal(comm_group_size(comm, group), 1);
    float in[2] = {1, 2}, out[2] = {0, 0};
    assert_true(collect(comm, group, COMM_REDUCE_SCATTER, in, out, sizeof in));
    assert_true(out[0] == 1 && out[1] == 2);
    assert_true(comm_spin(comm, comm_collect(comm, group, COMM_BARRIER, NULL, NULL, 0), "a barrier", &err));
    /* What cannot be begun: no other rank, half a float, too much. */
    assert_null(comm_send(comm, group, 0, 0, in, sizeof in));
    assert_null(comm_collect(comm, group, COMM_ALL_REDUCE, in, out, 6));
    assert_null(comm_collect(comm, group, COMM_BROADCAST, in, out, COMM_MAX_BYTES + 1));
    comm_group_close(comm, group);
    comm_close(comm);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0)
        return rank_main(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_collectives_copy),
        cmocka_unit_test(test_groups_collect_apart),
        cmocka_unit_test(test_a_rank_may_be_in_no_group),
        cmocka_unit_test(test_many_requests_are_polled_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
