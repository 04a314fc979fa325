/* Hosts are read and ranks put on them; a rank lets in those who have its keys, and nobody else. */
#include "run/launch/launcher.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void hosts_are_read(void **state)
{
    (void)state;
    static const char text[] = "# ours\na slots=2\n\n  b:3 \t# comment\nme@c.example\n";
    struct launch_hosts hosts = {0};
    struct error err;
    int host_of[8];
    assert_true(launch_hosts_read(&hosts, text, strlen(text), "hosts", &err));
    assert_int_equal(hosts.count, 3);
    assert_string_equal(hosts.hosts[2].name, "me@c.example");
    assert_true(hosts.hosts[0].slots == 2 && hosts.hosts[1].slots == 3 && hosts.hosts[2].slots == 0);
    assert_true(launch_place(&hosts, 8, host_of, &err));
    static const int wanted[] = {0, 0, 1, 1, 1, 2, 2, 2};
    assert_memory_equal(host_of, wanted, sizeof wanted);
    launch_hosts_release(&hosts);
    assert_true(launch_hosts_parse(&hosts, "x,y,z", &err));
    assert_true(launch_place(&hosts, 7, host_of, &err));
    static const int shared[] = {0, 0, 0, 1, 1, 2, 2};
    assert_memory_equal(host_of, shared, sizeof shared);
    launch_hosts_release(&hosts);
}

static void wrong_hosts_are_said(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"a b", "hosts:1: expected 'HOST', 'HOST:2' or 'HOST slots=2', found 'a b'"},
        {"a\n-oProxyCommand=x", "hosts:2: expected the name of a host, found '-oProxyCommand=x'"},
        {"$(id)", "hosts:1: expected the name of a host, found '$(id)'"},
        {"a:0", "hosts:1: host 'a': expected 1 to 1024 slots, found '0'"},
        {"a\na:2", "hosts:2: host 'a' is given twice"},
        {"# none\n", "hosts: no host is listed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct launch_hosts hosts = {0};
        struct error err;
        assert_false(launch_hosts_read(&hosts, cases[i].text, strlen(cases[i].text), "hosts", &err));
        assert_string_equal(err.text, cases[i].why);
        launch_hosts_release(&hosts);
    }
    struct launch_hosts hosts = {0};
    struct error err;
    int host_of[4];
    assert_true(launch_hosts_parse(&hosts, "a:1,b:2", &err));
    assert_false(launch_place(&hosts, 4, host_of, &err));
    assert_string_equal(err.text, "4 ranks on 2 hosts with 3 slots: give more hosts or slots");
    launch_hosts_release(&hosts);
}

static void frames_come_as_they_were_sent(void **state)
{
    (void)state;
    int ends[2];
    struct channel one, other;
    struct frame frame;
    struct error err;
    bool there;
    size_t size = 300000; /* more than a socket holds */
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 7);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    channel_init(&one, ends[0], ends[0]);
    channel_init(&other, ends[1], ends[1]);
    assert_true(channel_send(&one, FRAME_READY, 3, NULL, 0, &err));
    assert_true(channel_send(&one, FRAME_RESULT, 4, bytes, size, &err));
    assert_true(channel_pull(&other, &err) && channel_next(&other, &frame, &there, &err) && there);
    assert_true(frame.kind == FRAME_READY && frame.rank == 3 && frame.length == 0);
    do {
        assert_true(channel_push(&one, &err));
        assert_true(channel_next(&other, &frame, &there, &err));
    } while (!there && channel_pull(&other, &err));
    assert_true(frame.kind == FRAME_RESULT && frame.rank == 4 && frame.length == size);
    assert_memory_equal(frame.bytes, bytes, size);
    assert_int_equal(write(ends[0], "Welcome to this host!", 21), 21); /* a shell that greets */
    assert_true(channel_pull(&other, &err));
    assert_false(channel_next(&other, &frame, &there, &err));
    assert_string_equal(err.text, "it sends data of another protocol");
    assert_false(channel_send(&one, FRAME_RESULT, 4, bytes, (size_t)LAUNCH_MAX_FRAME + 1, &err));
    assert_string_equal(err.text, "a frame of 67108865 bytes is too large");
    channel_release(&one);
    assert_true(channel_pull(&other, &err) && other.ended);
    channel_release(&other);
    free(bytes);
}

/* ---- a rank and who connects to it ---- */

struct hello {
    uint32_t magic;
    int32_t from;
    unsigned char key[LAUNCH_KEY];
};

struct host {
    pid_t rank;
    struct channel node;
    struct launch_address address;
    struct seat_key key;
};

/* Becomes a rank of 2: ends with 0 if it was connected, as far as the other one has come. */
static _Noreturn void be_rank(int control, int listening, bool later)
{
    static struct launch_seat seat;
    struct error err;
    int high = fcntl(control, F_DUPFD, 100), other = fcntl(listening, F_DUPFD, 100);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (high < 0 || other < 0 || dup2(high, LAUNCH_CONTROL) < 0 || dup2(other, LAUNCH_LISTENING) < 0)
        _exit(9);
    setenv(LAUNCH_VARIABLE, "3", 1);
    if (!launch_is_rank())
        _exit(8);
    struct wire *wire = launch_join(&seat, later ? 0.3 : 0.0, 20.0, &err);
    bool right = wire && seat.rank == (later ? 1 : 0) && seat.size == 2 && seat.number == 5 &&
                 seat.hosts.count == 1 && seat.note_length == 4 && strcmp(seat.note, "why") == 0 &&
                 strcmp(seat.hosts.hosts[0].name, "here") == 0;
    launch_hosts_release(&seat.hosts);
    wire_close(wire);
    _exit(right ? 0 : 1);
}

/* Rank 0 of 2, which begins; or rank 1, which comes later. */
static void start_rank(struct host *host, bool later)
{
    int control[2], listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct error err;
    socklen_t length = sizeof host->address;
    struct {
        struct seat_card card;
        struct seat_other others[2];
        char name[LAUNCH_NAME];
        char note[4];
    } seat = {.card = {.rank = later ? 1 : 0, .size = 2, .number = 5, .hosts = 1, .note = 4, .later = later},
              .name = "here",
              .note = "why"};
    assert_true(launch_address_find(&host->address, "here", "127.0.0.0/8", &err));
    assert_true(launch_address_is_loopback(&host->address));
    assert_int_equal(bind(listening, &host->address.as.any, launch_address_length(&host->address)), 0);
    assert_int_equal(listen(listening, 8), 0);
    assert_int_equal(getsockname(listening, &host->address.as.any, &length), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, control), 0);
    memset(&host->key, 0x5a, sizeof host->key);
    memset(host->key.answer, 0xa5, sizeof host->key.answer);
    host->rank = fork();
    if (host->rank == 0)
        be_rank(control[1], listening, later);
    close(control[1]);
    close(listening);
    channel_init(&host->node, control[0], control[0]);
    seat.others[!later].key = host->key;
    seat.others[0].there = seat.others[1].there = 1;
    assert_true(channel_send(&host->node, FRAME_SEAT, 0, &seat, sizeof seat, &err));
}

/* Connects, says hello, and returns the socket. */
static int call(const struct host *host, const struct hello *hello, size_t length)
{
    int file = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(file, &host->address.as.any, launch_address_length(&host->address)), 0);
    assert_int_equal(send(file, hello, length, MSG_NOSIGNAL), length);
    return file;
}

static bool is_hung_up(int file)
{
    char byte;
    ssize_t count = recv(file, &byte, 1, 0);
    close(file);
    return count <= 0;
}

static void only_those_with_the_key_are_let_in(void **state)
{
    (void)state;
    struct host host;
    struct error err;
    struct hello hello = {UINT32_C(0x52485331), 1, {0}};
    unsigned char answer[LAUNCH_KEY];
    const double age = 0.5;
    int status;
    start_rank(&host, false);
    assert_true(is_hung_up(call(&host, &hello, sizeof hello))); /* no key */
    memcpy(hello.key, host.key.hello, LAUNCH_KEY);
    hello.key[LAUNCH_KEY - 1] ^= 1;
    assert_true(is_hung_up(call(&host, &hello, sizeof hello)));
    hello.key[LAUNCH_KEY - 1] ^= 1;
    hello.from = 7;
    assert_true(is_hung_up(call(&host, &hello, sizeof hello)));
    hello.from = 1;
    int silent = call(&host, &hello, 3); /* says no more; others are heard */
    int rank = call(&host, &hello, sizeof hello);
    assert_int_equal(recv(rank, answer, sizeof answer, MSG_WAITALL), sizeof answer);
    assert_memory_equal(answer, host.key.answer, sizeof answer);
    assert_true(channel_send(&host.node, FRAME_GO, -1, &age, sizeof age, &err));
    assert_int_equal(waitpid(host.rank, &status, 0), host.rank);
    assert_int_equal(status, 0);
    close(silent);
    close(rank);
    channel_release(&host.node);
}

/* A lower rank connects to it, or has gone. */
static void a_rank_that_comes_later_waits_for_no_one_long(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        struct host host;
        struct error err;
        struct hello hello = {UINT32_C(0x52485331), 0, {0}};
        unsigned char answer[LAUNCH_KEY];
        const double age = 7;
        int status, rank = -1;
        start_rank(&host, true);
        memcpy(hello.key, host.key.hello, LAUNCH_KEY);
        if (there) {
            rank = call(&host, &hello, sizeof hello);
            assert_int_equal(recv(rank, answer, sizeof answer, MSG_WAITALL), sizeof answer);
        }
        assert_true(channel_send(&host.node, FRAME_GO, 1, &age, sizeof age, &err));
        assert_int_equal(waitpid(host.rank, &status, 0), host.rank);
        assert_int_equal(status, 0);
        if (rank >= 0)
            close(rank);
        channel_release(&host.node);
    }
}

/* Nobody reads for a while: nothing blocks, and nothing is lost. */
static void what_ranks_print_waits_for_its_reader(void **state)
{
    (void)state;
    struct launch_said said;
    struct error err;
    int ends[2], turns = 0;
    char line[1000], got[65536];
    memset(line, 'x', sizeof line);
    assert_int_equal(pipe(ends), 0);
    launch_said_init(&said, ends[1]);
    while (!launch_said_full(&said)) {
        struct pollfd polled = launch_said_wish(&said);
        launch_said_add(&said, line, sizeof line);
        if (poll(&polled, 1, 0) > 0)
            launch_said_push(&said);
        turns++;
    }
    size_t left = (size_t)turns * sizeof line;
    assert_true(left > 1 << 20);
    while (said.count > said.first) {
        struct pollfd polled = launch_said_wish(&said);
        if (poll(&polled, 1, 0) > 0)
            launch_said_push(&said);
        else
            left -= (size_t)read(ends[0], got, sizeof got);
    }
    assert_true(launch_said_end(&said, true, &err));
    close(ends[1]);
    for (ssize_t count; (count = read(ends[0], got, sizeof got)) > 0;)
        left -= (size_t)count;
    assert_int_equal(left, 0);
    close(ends[0]);
}

static void a_rank_whose_node_is_gone_ends(void **state)
{
    (void)state;
    struct host host;
    int status;
    start_rank(&host, false);
    channel_release(&host.node);
    assert_int_equal(waitpid(host.rank, &status, 0), host.rank);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_read),
        cmocka_unit_test(wrong_hosts_are_said),
        cmocka_unit_test(frames_come_as_they_were_sent),
        cmocka_unit_test(only_those_with_the_key_are_let_in),
        cmocka_unit_test(a_rank_that_comes_later_waits_for_no_one_long),
        cmocka_unit_test(what_ranks_print_waits_for_its_reader),
        cmocka_unit_test(a_rank_whose_node_is_gone_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
