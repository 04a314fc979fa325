#include "comm/comm.h"

#include "comm/internal.h"
#include "support/ranks.h"

#include <signal.h>

#define LATE_SECONDS 3.0  /* where a rank is lost: the others come within that */
#define LONG_SECONDS 50.0 /* where none is */

/* ---- One rank of several: what it prints is looked at by the tests ---- */

static bool add_text(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    (void)err;
    size_t end = strlen(context);
    snprintf((char *)context + end, 256 - end, "%d=%.*s ", rank, (int)length, bytes);
    return true;
}

static bool operate(struct comm *comm, struct error *err)
{
    int rank = comm_rank(comm);
    int64_t integers[2] = {rank + 1, -rank};
    int64_t max = rank;
    char text[16] = "another's", all[256] = "", own[16];
    if (rank == 0)
        strcpy(text, "of the first");
    snprintf(own, sizeof own, "%.*s", rank + 1, "xyz");
    if (!comm_agree(comm, true, "a barrier", err) ||
        !comm_reduce_integers(comm, COMM_SUM, integers, 2, "a sum", err) ||
        !comm_reduce_integers(comm, COMM_MAX, &max, 1, "a maximum", err) ||
        !comm_broadcast(comm, text, sizeof text, "a broadcast", err) ||
        !comm_gather(comm, own, strlen(own), add_text, all, "a gathering", err))
        return false;
    printf("<%d of %d, host %d of %d: %d %d %d %s; %s>\n", rank, comm_size(comm), comm_local_rank(comm),
           comm_local_size(comm), (int)integers[0], (int)integers[1], (int)max, text, all);
    return true;
}

static bool disagree(struct comm *comm, struct error *err)
{
    bool mine = comm_rank(comm) == 0 || error_set(err, ERROR_INPUT, "trouble of %d", comm_rank(comm));
    if (comm_agree(comm, mine, "an agreement", err))
        return false;
    printf("<%d: %s>\n", comm_rank(comm), err->text);
    return true;
}

static bool differ(struct comm *comm, struct error *err)
{
    int64_t mine[2] = {7, comm_rank(comm) == 2};
    if (!comm_same(comm, mine, sizeof *mine, "the first word", err))
        return false;
    if (comm_same(comm, mine, sizeof mine, "the pair", err))
        return false;
    printf("<%d: %s>\n", comm_rank(comm), err->text);
    return true;
}

/* Says it in the file RANK of the folder that the tests give, and waits until all ranks but `lost` have: what ends the
 * ranks after that may cut their output short. */
static void say_and_wait(const struct comm *comm, int lost, const char *text)
{
    char path[300], part[310];
    const char *folder = getenv("REHEARSE_TEST_FOLDER");
    snprintf(path, sizeof path, "%s/%d", folder, comm_rank(comm));
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "w");
    if (!file)
        return;
    fprintf(file, "<%d: %s>\n", comm_rank(comm), text);
    fclose(file);
    rename(part, path);
    for (int rank = 0; rank < comm_size(comm); rank++) {
        snprintf(path, sizeof path, "%s/%d", folder, rank);
        while (rank != lost && access(path, F_OK) != 0)
            usleep(1000);
    }
}

/* One does not come; it hangs, or is dead. */
static bool lose(struct comm *comm, int lost, bool dead, struct error *err)
{
    if (comm_rank(comm) == lost) {
        if (dead)
            raise(SIGKILL);
        for (;;)
            pause(); /* until all are ended */
    }
    bool came = comm_agree(comm, true, "the last barrier", err);
    say_and_wait(comm, lost, came ? "nobody is lost" : err->text);
    _exit(1); /* the launcher ends the others */
}

static int rank_main(const char *mode)
{
    struct error err;
    bool loses = strncmp(mode, "hang", 4) == 0 || strncmp(mode, "dead", 4) == 0;
    struct comm *comm = comm_open(loses ? LATE_SECONDS : LONG_SECONDS, &err);
    bool ok = comm != NULL;
    if (!ok)
        ;
    else if (strcmp(mode, "operate") == 0)
        ok = operate(comm, &err);
    else if (strcmp(mode, "disagree") == 0)
        ok = disagree(comm, &err);
    else if (strcmp(mode, "differ") == 0)
        ok = differ(comm, &err);
    else
        ok = lose(comm, mode[strlen(mode) - 1] - '0', strncmp(mode, "dead", 4) == 0, &err);
    if (!ok)
        printf("<failed: %s>\n", err.text);
    comm_close(comm);
    return ok ? 0 : 1;
}

/* ---- Tests ---- */

static void test_ranks_exchange_values(void **state)
{
    (void)state;
    if (!ranks_run(3, "operate", ""))
        skip();
    ranks_require("<0 of 3, host 0 of 3: 6 -3 2 of the first; 0=x 1=xy 2=xyz >");
    ranks_require("<1 of 3, host 1 of 3: 6 -3 2 of the first; >");
    ranks_require("<2 of 3, host 2 of 3: 6 -3 2 of the first; >");
}

static void test_all_fail_with_the_first_that_fails(void **state)
{
    (void)state;
    if (!ranks_run(3, "disagree", ""))
        skip();
    ranks_require("<1: rank 1 (");
    assert_int_equal(ranks_count("): trouble of 1>"), 3); /* "rank 1 (host): trouble of 1" */
}

static void test_who_has_other_bytes_is_named(void **state)
{
    (void)state;
    if (!ranks_run(3, "differ", ""))
        skip();
    ranks_require("<2: rank 2 (");
    assert_int_equal(ranks_count("): the pair differs from rank 0's>"), 3);
}

/* Three ranks, of which one is lost; what the others said is in ranks_output. */
static bool run_and_lose(const char *mode, const char *options)
{
    char folder[] = "/tmp/rehearse-ranks.XXXXXX", path[sizeof folder + 10];
    size_t length = 0;
    assert_non_null(mkdtemp(folder));
    setenv("REHEARSE_TEST_FOLDER", folder, 1);
    bool ran = ranks_run(3, mode, options);
    for (int rank = 0; ran && rank < 3; rank++) {
        snprintf(path, sizeof path, "%s/%d", folder, rank);
        FILE *file = fopen(path, "r");
        if (file)
            length += fread(ranks_output + length, 1, 4096, file);
        ranks_output[length] = 0;
        if (file)
            fclose(file);
        unlink(path);
    }
    rmdir(folder);
    return ran;
}

static void test_a_rank_that_hangs_is_named_by_all(void **state)
{
    (void)state;
    if (!run_and_lose("hang1", ""))
        skip();
    ranks_require("<0: the last barrier: waited ");
    ranks_require("<2: the last barrier: waited ");
    assert_int_equal(ranks_count("s for rank 1 ("), 2);
}

static void test_that_rank_0_hangs_is_said(void **state)
{
    (void)state;
    if (!run_and_lose("hang0", ""))
        skip();
    assert_int_equal(ranks_count("; rank 0 ("), 2);
    double waited = 0; /* more than the limit, and no time of day */
    const char *found = strstr(ranks_output, ": waited ");
    assert_true(found && sscanf(found, ": waited %lf s", &waited) == 1 && waited >= 3 && waited < 1000);
    assert_int_equal(ranks_count("did not arrive and does not answer"), 2);
}

/* Open MPI ends all ranks when one dies, unless it is told to go on. */
static void test_a_rank_that_is_killed_is_named(void **state)
{
    (void)state;
    if (!run_and_lose("dead2", "--enable-recovery"))
        skip();
    ranks_require("s for rank 2 (");
}

/* ---- One process ---- */

static struct comm *comm;

static int open_one(void **state)
{
    (void)state;
    struct error err;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("SLURM_STEP_NUM_TASKS");
    comm = comm_open(0, &err);
    return comm ? 0 : -1;
}

static int close_one(void **state)
{
    (void)state;
    comm_close(comm);
    return 0;
}

static void test_one_process_is_alone(void **state)
{
    (void)state;
    assert_int_equal(comm_rank(comm), 0);
    assert_int_equal(comm_size(comm), 1);
    assert_int_equal(comm_hosts(comm), 1);
    assert_int_equal(comm_local_size(comm), 1);
}

static void test_alone_values_stay(void **state)
{
    (void)state;
    struct error err;
    int64_t value = 5;
    char all[256] = "";
    assert_true(comm_reduce_integers(comm, COMM_SUM, &value, 1, "a sum", &err));
    assert_true(comm_broadcast(comm, &value, sizeof value, "a broadcast", &err));
    assert_int_equal(value, 5);
    assert_true(comm_gather(comm, "me", 2, add_text, all, "a gathering", &err));
    assert_string_equal(all, "0=me ");
}

static void test_alone_an_error_is_ones_own(void **state)
{
    (void)state;
    struct error err;
    assert_true(comm_agree(comm, true, "an agreement", &err));
    error_set(&err, ERROR_INPUT, "trouble");
    assert_false(comm_agree(comm, false, "an agreement", &err));
    assert_string_equal(err.text, "trouble");
}

/* libmpi is not loaded where there is one process: that is what the start-up time rests on. */
static void test_alone_mpi_is_not_loaded(void **state)
{
    (void)state;
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        assert_null(strstr(line, "libmpi"));
    fclose(maps);
}

static void test_launchers_say_how_many_there_are(void **state)
{
    (void)state;
    assert_int_equal(comm_launched(), 1);
    setenv("SLURM_STEP_NUM_TASKS", "16", 1);
    assert_int_equal(comm_launched(), 16);
    setenv("PMI_SIZE", "8", 1);
    assert_int_equal(comm_launched(), 8);
    setenv("OMPI_COMM_WORLD_SIZE", "nonsense", 1);
    assert_int_equal(comm_launched(), 8);
}

/* ---- A network that carries some messages and no others ---- */

static int answers_from; /* the rank that says that it is there, once */

static int own_rank;

static bool fake_start(int *rank, int *size)
{
    *rank = own_rank;
    *size = 4;
    return true;
}

static void fake_stop(void)
{
}

static int hang_after;
static int done, hanging, broken;
static int break_at; /* the send of this tag is lost; 0: none */
static int sent_tag, sent_length;

static void *fake_reduce(int64_t *values, int count, enum comm_operation operation)
{
    (void)values, (void)count, (void)operation;
    return hang_after-- > 0 ? &done : &hanging;
}

static void *fake_broadcast(void *bytes, int count)
{
    (void)bytes, (void)count;
    return &hanging;
}

static void *fake_send(void *group, int to, int tag, const void *bytes, int count)
{
    (void)group, (void)to, (void)bytes;
    sent_tag = tag;
    sent_length = count;
    return tag == break_at ? &broken : &done;
}

static void *fake_receive(void *group, int from, int tag, void *bytes, int count)
{
    (void)group, (void)from, (void)tag;
    memset(bytes, 0, (size_t)count);
    return &done;
}

static enum comm_state fake_test(void *request)
{
    return request == &done ? COMM_DONE : request == &broken ? COMM_BROKEN : COMM_PENDING;
}

static bool fake_probe(int tag, int *from)
{
    if (tag != COMM_TAG_HERE || answers_from < 1)
        return false;
    *from = answers_from;
    answers_from = answers_from == 3 ? 1 : 0; /* 3, then 1 */
    return true;
}

static const struct comm_calls fake = {
    .version = COMM_MODULE_VERSION,
    .start = fake_start,
    .stop = fake_stop,
    .reduce = fake_reduce,
    .broadcast = fake_broadcast,
    .send = fake_send,
    .receive = fake_receive,
    .test = fake_test,
    .probe = fake_probe,
};

static void test_who_does_not_answer_is_named(void **state)
{
    (void)state;
    struct error err;
    hang_after = 1; /* the exchange of host names goes well */
    answers_from = 3;
    struct comm *four = comm_open_with(&fake, 0.05, &err);
    assert_non_null(four);
    assert_false(comm_agree(four, true, "a barrier", &err));
    assert_non_null(strstr(err.text, " s for rank 2 ("));
    assert_null(strstr(err.text, "rank 1"));
    assert_null(strstr(err.text, "rank 3"));
    comm_close(four);
}

static void test_after_that_no_operation_waits(void **state)
{
    (void)state;
    struct error err;
    hang_after = 1;
    answers_from = 0;
    struct comm *four = comm_open_with(&fake, 0.05, &err);
    assert_non_null(four);
    assert_false(comm_agree(four, true, "a barrier", &err));
    assert_non_null(strstr(err.text, "rank 1 (unknown host), rank 2 (unknown host), rank 3 (unknown host)"));
    assert_false(comm_agree(four, true, "another barrier", &err));
    assert_string_equal(err.text, "another barrier: other ranks were lost before");
    comm_close(four);
}

/* A rank whose bytes are lost says so, whether their length arrived or not; what comes after is not begun. */
static void test_a_lost_message_ends_a_gathering(void **state)
{
    (void)state;
    static const int tags[] = {COMM_TAG_LENGTH, COMM_TAG_BYTES};
    own_rank = 1;
    for (int i = 0; i < 3; i++) {
        struct error err = {.text = ""};
        hang_after = 1;
        break_at = i < 2 ? tags[i] : 0;
        struct comm *four = comm_open_with(&fake, 1, &err);
        assert_non_null(four);
        assert_int_equal(comm_gather(four, "abc", 3, NULL, NULL, "a gathering", &err), i == 2);
        if (i < 2)
            assert_string_equal(err.text,
                                "a gathering: MPI says that the connection to another rank is lost");
        assert_int_equal(sent_tag, i == 0 ? COMM_TAG_LENGTH : COMM_TAG_BYTES);
        assert_int_equal(comm_gather(four, "", 0, NULL, NULL, "another", &err), i == 2);
        if (i == 2)
            assert_int_equal(sent_tag, COMM_TAG_LENGTH); /* of nothing there are no bytes */
        else
            assert_string_equal(err.text, "another: other ranks were lost before");
        comm_close(four);
    }
    own_rank = break_at = 0;
}

/* A message may be empty and as long as COMM_MAX_BYTES; its tag is none of those that ranks wait with. */
static void test_lengths_of_messages_have_limits(void **state)
{
    (void)state;
    static const struct {
        int64_t length;
        bool goes;
    } cases[] = {{0, true}, {1, true}, {COMM_MAX_BYTES, true}, {COMM_MAX_BYTES + 1, false}, {-1, false}};
    struct error err;
    hang_after = 1;
    struct comm *four = comm_open_with(&fake, 1, &err);
    assert_non_null(four);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sent_tag = sent_length = -1;
        assert_int_equal(comm_send(four, NULL, 1, 3, "", cases[i].length) != NULL, cases[i].goes);
        assert_int_equal(sent_length, cases[i].goes ? cases[i].length : -1);
        assert_int_equal(sent_tag, cases[i].goes ? COMM_TAG_FREE + 3 : -1);
        if (cases[i].length < 2) /* the fake fills what is received */
            assert_int_equal(comm_receive(four, NULL, 1, 3, (char[1]){0}, cases[i].length) != NULL,
                             cases[i].goes);
    }
    comm_close(four);
}

static const char *why_not;

static const char *fake_cannot_lose(void)
{
    return why_not;
}

static int fake_failed(int *ranks, int room)
{
    assert_int_equal(room, 2);
    ranks[0] = 3;
    return 1;
}

static int agreements;

static void *fake_agree(void)
{
    agreements++;
    return &hanging;
}

/* Ranks are lost one by one only where the module says so. */
static void test_losses_are_the_modules(void **state)
{
    (void)state;
    struct comm_calls calls = fake;
    struct error err;
    int ranks[2] = {-1, -1};
    hang_after = 1;
    struct comm *four = comm_open_with(&calls, 1, &err);
    assert_non_null(four);
    assert_false(comm_may_lose(comm, &err));
    assert_string_equal(err.text, "ranks cannot be lost one by one: there is one rank");
    assert_false(comm_may_lose(four, &err));
    assert_string_equal(err.text,
                        "ranks cannot be lost one by one: this MPI module does not report lost ranks");
    assert_int_equal(comm_failed(four, ranks, 2), 0);
    comm_agree_to_leave(four, 0); /* nothing to wait for */
    calls.cannot_lose = fake_cannot_lose;
    calls.failed = fake_failed;
    calls.agree = fake_agree;
    why_not = "it is too old";
    assert_false(comm_may_lose(four, &err));
    assert_string_equal(err.text, "ranks cannot be lost one by one: it is too old");
    why_not = NULL;
    assert_true(comm_may_lose(four, &err));
    assert_int_equal(comm_failed(four, ranks, 2), 1);
    assert_int_equal(ranks[0], 3);
    comm_agree_to_leave(four, 0.01); /* an agreement that never ends is given up */
    assert_int_equal(agreements, 1);
    comm_close(four);
}

#define TEST1(name) cmocka_unit_test_setup_teardown(name, open_one, close_one)

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0)
        return rank_main(argv[2]);
    const struct CMUnitTest tests[] = {
        TEST1(test_one_process_is_alone),
        TEST1(test_alone_values_stay),
        TEST1(test_alone_an_error_is_ones_own),
        TEST1(test_alone_mpi_is_not_loaded),
        TEST1(test_launchers_say_how_many_there_are),
        TEST1(test_who_does_not_answer_is_named),
        TEST1(test_after_that_no_operation_waits),
        TEST1(test_a_lost_message_ends_a_gathering),
        TEST1(test_lengths_of_messages_have_limits),
        TEST1(test_losses_are_the_modules),
        TEST1(test_ranks_exchange_values),
        TEST1(test_all_fail_with_the_first_that_fails),
        TEST1(test_who_has_other_bytes_is_named),
        TEST1(test_a_rank_that_hangs_is_named_by_all),
        TEST1(test_that_rank_0_hangs_is_said),
        TEST1(test_a_rank_that_is_killed_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
