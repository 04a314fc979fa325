/* Ranks are processes of this test: what the launcher makes of them, and what a rank takes. */
#include "core/clock.h"
#include "run/launch/note.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- notes ---- */

static void notes_come_as_they_were_sent(void **state)
{
    (void)state;
    static struct note note;
    static char bytes[LAUNCH_PIECE];
    int ends[2], pipe_ends[2];
    char byte = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(note_take(ends[1], &note), NOTE_NONE);
    assert_int_equal(note_send(ends[0], NOTE_READY, 3, NULL, 0, -1, 0), 0);
    assert_int_equal(note_send(ends[0], NOTE_RESULT, 4, bytes, sizeof bytes, -1, 0), 0);
    assert_int_equal(note_send(ends[0], NOTE_PEER, 5, NULL, 0, pipe_ends[1], 0), 0);
    assert_int_equal(note_take(ends[1], &note), NOTE_THERE);
    assert_true(note.head.kind == NOTE_READY && note.head.rank == 3 && note.length == 0 && note.file < 0);
    assert_int_equal(note_take(ends[1], &note), NOTE_THERE);
    assert_true(note.head.kind == NOTE_RESULT && note.head.rank == 4 && note.length == sizeof bytes);
    assert_memory_equal(note.bytes, bytes, sizeof bytes);
    assert_int_equal(note_take(ends[1], &note), NOTE_THERE);
    assert_true(note.head.kind == NOTE_PEER && note.head.rank == 5 && note.file >= 0);
    assert_int_equal(write(note.file, "x", 1), 1);
    assert_true(read(pipe_ends[0], &byte, 1) == 1 && byte == 'x');
    assert_int_equal(fcntl(note.file, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(note.file);
    assert_int_equal(send(ends[0], "Welcome!", 8, 0), 8);
    assert_int_equal(note_take(ends[1], &note), NOTE_BROKEN);
    close(ends[0]);
    assert_int_equal(note_take(ends[1], &note), NOTE_ENDED);
    close(ends[1]);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void a_full_queue_and_a_lost_side_are_errors(void **state)
{
    (void)state;
    static const char bytes[LAUNCH_PIECE];
    int ends[2], sent = 0, code;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    while ((code = note_send(ends[0], NOTE_RESULT, 0, bytes, sizeof bytes, -1, 0)) == 0)
        assert_in_range(++sent, 1, 10000);
    assert_int_equal(code, EAGAIN);
    close(ends[1]);
    code = note_send(ends[0], NOTE_READY, 0, NULL, 0, -1, 0);
    assert_int_equal(code, ECONNRESET); /* there were notes in its queue */
    assert_int_equal(note_send(ends[0], NOTE_READY, 0, NULL, 0, -1, 0), EPIPE); /* and no SIGPIPE */
    close(ends[0]);
}

static void a_file_that_cannot_be_opened_is_noticed(void **state)
{
    (void)state;
    static struct note note;
    struct rlimit before, none;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    assert_int_equal(note_send(ends[0], NOTE_PEER, 5, NULL, 0, ends[0], 0), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum note_found found = note_take(ends[1], &note);
    int why = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(found, NOTE_BROKEN);
    assert_int_equal(why, EMFILE);
    close(ends[0]);
    close(ends[1]);
}

/* ---- ranks, as the launcher of the test sees them ---- */

struct seen {
    int results[4], loops;
    double begins;
    bool started, killed;
};

static void take(void *context, int rank, const void *bytes, size_t length)
{
    struct seen *seen = context;
    assert_in_range(rank, 0, 3);
    assert_int_equal(length, sizeof *seen->results);
    memcpy(&seen->results[rank], bytes, length);
}

static double begins(void *context)
{
    return ((struct seen *)context)->begins;
}

/* Rank 3 is started once all others have told, and rank 1 is killed when that one has told. */
static void start_and_kill(void *context, struct launch_job *job)
{
    struct seen *seen = context;
    seen->loops++;
    if (!seen->started && seen->results[0] && seen->results[1])
        launch_start(job, 3);
    seen->started = seen->results[0] && seen->results[1];
    if (seen->results[3] && !seen->killed)
        launch_kill(job, 1);
    seen->killed = seen->results[3] != 0;
}

/* A rank says how many others it is connected to, plus 100 times the `number`, plus 1000 times the note. Rank 0 waits for the end of rank 1,
 * which waits for ever; so the launcher has to hear and kill. */
static bool arrives(void *context, const struct wire_head *head, void *bytes, struct error *err)
{
    (void)context, (void)head, (void)err;
    free(bytes);
    return true;
}

static void *place(void *context, const struct wire_head *head, struct error *err)
{
    (void)context, (void)err;
    return malloc((size_t)head->length + 1);
}

static bool loses(void *context, int rank, const char *why, struct error *err)
{
    bool *lost = context;
    (void)why, (void)err;
    lost[rank] = true;
    return true;
}

static _Noreturn void be_rank(void)
{
    static struct launch_seat seat;
    struct error err;
    bool lost[4] = {false};
    struct wire *wire = launch_join(&seat, 0, 20, &err);
    if (!wire || strcmp(seat.note, "7") != 0 || seat.start != 12.5)
        _exit(1);
    wire->receiver = (struct wire_receiver){lost, place, arrives, loses};
    int told = 100 * seat.number + seat.size;
    if (!launch_tell_result(&told, sizeof told))
        _exit(2);
    if (seat.number == 1 && seat.rank == 1) {
        error_set(&err, ERROR_INPUT, "rank 1 has no plan");
        launch_tell_failure(&err);
        _exit(ERROR_INPUT);
    }
    if (seat.number == 2 && seat.rank == 1)
        raise(SIGKILL);
    while (seat.number == 3 && (seat.rank != 0 || !lost[1] || !lost[3])) {
        launch_attend(wire);
        if (!wire_poll(wire, clock_now() + 0.01, &err))
            _exit(3);
        if (seat.rank == 3 && lost[1])
            break;
    }
    _exit(0);
}

static bool launch(struct seen *seen, int number, int count, const uint8_t *when, struct error *err)
{
    static char word[] = "rank";
    char *const words[] = {word};
    const struct launch given = {.words = words, .word_count = 1, .timeout = 20};
    const struct launch_ranks ranks = {
        .count = count, .when = when, .number = number, .note = "7", .note_length = 2};
    const struct launch_watch watch = {.context = seen,
                                       .begins = begins,
                                       .tick = when ? start_and_kill : NULL,
                                       .result = take,
                                       .limit = INFINITY};
    *seen = (struct seen){.begins = 12.5};
    bool ok = launch_run(&given, &ranks, &watch, err);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return ok;
}

static void ranks_are_started_connected_and_heard(void **state)
{
    (void)state;
    struct seen seen;
    struct error err;
    if (!launch(&seen, 0, 4, NULL, &err))
        fail_msg("%s", err.text);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(seen.results[rank], 4);
}

static void a_failure_is_told(void **state)
{
    (void)state;
    struct seen seen;
    struct error err;
    assert_false(launch(&seen, 1, 3, NULL, &err));
    assert_string_equal(err.text, "rank 1 has no plan");
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_false(launch(&seen, 2, 3, NULL, &err));
    assert_string_equal(err.text, "rank 1 was killed by signal 9");
}

/* Rank 2 never comes, rank 3 later. Rank 0 ends only after it was connected to rank 3 and has lost it and rank 1. */
static void one_comes_later_and_one_is_killed(void **state)
{
    (void)state;
    static const uint8_t when[] = {LAUNCH_FIRST, LAUNCH_FIRST, LAUNCH_NEVER, LAUNCH_LATER};
    struct seen seen;
    struct error err;
    if (!launch(&seen, 3, 4, when, &err))
        fail_msg("%s", err.text);
    assert_true(seen.started && seen.killed && seen.results[2] == 0 && seen.results[3] == 304);
}

static void another_program_is_no_rank(void **state)
{
    (void)state;
    struct seen seen;
    struct error err;
    const char *own = getenv("REHEARSE_PROGRAM");
    char *kept = strdup(own);
    setenv("REHEARSE_PROGRAM", "/bin/true", 1);
    assert_false(launch(&seen, 0, 2, NULL, &err));
    assert_non_null(
        strstr(err.text, ", a process of '/bin/true', ended with exit code 0 before it was connected"));
    setenv("REHEARSE_PROGRAM", kept, 1);
    free(kept);
}

static void a_rank_whose_launcher_is_gone_ends(void **state)
{
    (void)state;
    int ends[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid_t rank = fork();
    if (rank == 0) {
        if (dup2(ends[1], LAUNCH_CONTROL) < 0 || (ends[0] != LAUNCH_CONTROL && close(ends[0]) != 0))
            _exit(9);
        be_rank();
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(rank, &status, 0), rank);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_come_as_they_were_sent),
        cmocka_unit_test(a_full_queue_and_a_lost_side_are_errors),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_noticed),
        cmocka_unit_test(ranks_are_started_connected_and_heard),
        cmocka_unit_test(a_failure_is_told),
        cmocka_unit_test(one_comes_later_and_one_is_killed),
        cmocka_unit_test(another_program_is_no_rank),
        cmocka_unit_test(a_rank_whose_launcher_is_gone_ends),
    };
    if (argc == 2 && strcmp(argv[1], "rank") == 0 && launch_is_rank())
        be_rank();
    setenv("REHEARSE_PROGRAM", "/proc/self/exe", 1);
    (void)argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
