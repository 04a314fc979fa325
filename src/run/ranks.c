/* Ranks as processes that are forked here: each pair has a pair of sockets made before, so that nothing listens and nobody else can
 * connect. A rank ends with its parent; the parent ends what does not end itself. */
#include "core/child.h"
#include "core/clock.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK INT64_C(10000000) /* nanoseconds between two looks at the ranks */

struct family {
    int count;
    int (*sockets)[2]; /* of ranks a < b: at pair_of */
    pid_t *ranks;      /* 0: has ended, or has not been started */
    bool *later;       /* those that have not */
    double silence;
    bool killed; /* rank 0, which could not say why */
};

static size_t pair_of(const struct family *family, int a, int b)
{
    return (size_t)a * (size_t)family->count + (size_t)b;
}

/* Closes all ends that are neither those of the rank `except` nor (`later`) of ranks that have not been started. */
static void close_all(struct family *family, int except, bool later)
{
    for (int a = 0; a < family->count; a++)
        for (int b = a + 1; b < family->count; b++)
            for (int end = 0; end < 2; end++) {
                int *socket = &family->sockets[pair_of(family, a, b)][end];
                int owner = end == 0 ? a : b;
                bool kept = owner == except || (later && family->later[owner]);
                if (*socket >= 0 && !kept) {
                    close(*socket);
                    *socket = -1;
                }
            }
}

static bool connect_all(struct family *family, struct error *err)
{
    size_t pairs = (size_t)family->count * (size_t)family->count;
    struct rlimit limit;
    family->sockets = malloc(pairs * sizeof *family->sockets);
    family->ranks = calloc((size_t)family->count, sizeof *family->ranks);
    family->later = calloc((size_t)family->count, sizeof *family->later);
    if (family->sockets)
        memset(family->sockets, 0xff, pairs * sizeof *family->sockets);
    if (!family->sockets || !family->ranks || !family->later)
        return error_memory(err);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (int a = 0; a < family->count; a++)
        for (int b = a + 1; b < family->count; b++)
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, family->sockets[pair_of(family, a, b)]) !=
                0)
                return error_set(err, ERROR_FAILED, "cannot connect %d ranks: %s", family->count,
                                 strerror(errno));
    return true;
}

static struct wire *become(struct family *family, int rank, struct error *err)
{
    int *own = calloc((size_t)family->count, sizeof *own);
    if (!own) {
        error_memory(err);
        return NULL;
    }
    close_all(family, rank, false);
    for (int other = 0; other < family->count; other++) {
        int *pair =
            family->sockets[pair_of(family, rank < other ? rank : other, rank < other ? other : rank)];
        int *end = &pair[rank < other ? 0 : 1];
        own[other] = other == rank ? -1 : *end;
        *end = -1;
    }
    int size = 1 << 20; /* as much as the system allows */
    for (int other = 0; other < family->count; other++)
        if (own[other] >= 0)
            (void)setsockopt(own[other], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    struct wire *wire = wire_over_sockets(rank, family->count, own, family->silence, err);
    for (int other = 0; wire && other < family->count; other++)
        if (family->later[other] || family->later[rank])
            wire_await(wire, other, true);
    free(own);
    return wire;
}

static void end_all(const struct family *family, int signal)
{
    for (int rank = 0; rank < family->count; rank++)
        if (family->ranks[rank] > 0)
            kill(family->ranks[rank], signal);
}

/* Returns the exit status of the run: that of rank 0, unless it ended well and another rank did not. */
static int wait_for_all(struct family *family, double grace)
{
    int status = 0, left = family->count;
    double failed = 0.0;
    for (int rank = 0; rank < family->count; rank++)
        left -= family->ranks[rank] == 0;
    while (left > 0) {
        int how;
        pid_t ended = waitpid(-1, &how, WNOHANG);
        for (int rank = 0; ended > 0 && rank < family->count; rank++) {
            if (family->ranks[rank] != ended)
                continue;
            int own = WIFEXITED(how) ? WEXITSTATUS(how) : ERROR_FAILED;
            family->ranks[rank] = 0;
            family->killed |= rank == 0 && !WIFEXITED(how);
            left--;
            if (own != 0 && (rank == 0 || status == 0))
                status = own;
            if (own != 0 && failed <= 0.0)
                failed = clock_now();
        }
        if (failed > 0.0 && clock_now() - failed > grace)
            end_all(family, SIGKILL);
        if (ended <= 0)
            clock_sleep(LOOK);
    }
    return status;
}

static void release(struct family *family)
{
    if (family->sockets)
        close_all(family, -1, false);
    free(family->sockets);
    free(family->ranks);
    free(family->later);
}

/* Starts a rank: returns in it with its wire, and in its parent. */
static bool start_rank(struct family *family, int rank, struct wire **wire, struct error *err)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, child_signal_of_end());
        if (getppid() != parent)
            _exit(ERROR_FAILED);
        *wire = become(family, rank, err);
        if (!*wire)
            _exit(ERROR_FAILED);
        return true;
    }
    if (pid < 0)
        return error_set(err, ERROR_FAILED, "cannot start rank %d: %s", rank, strerror(errno));
    family->ranks[rank] = pid;
    return true;
}

/* Returns when all ranks but those for later have been started; or in a rank, which then has its wire. */
static bool start(struct family *family, struct wire **wire, struct error *err)
{
    fflush(NULL);
    for (int rank = 0; rank < family->count; rank++)
        if (!family->later[rank] && (!start_rank(family, rank, wire, err) || *wire)) {
            if (!*wire)
                end_all(family, SIGKILL);
            return *wire != NULL;
        }
    close_all(family, -1, true);
    return true;
}

bool run_start_ranks(int count, double silence, double grace, struct wire **wire, int *status,
                     struct error *err)
{
    struct family family = {.count = count, .silence = silence};
    *wire = NULL;
    bool ok = connect_all(&family, err) && start(&family, wire, err);
    if (!*wire) {
        *status = family.ranks ? wait_for_all(&family, grace) : ERROR_FAILED;
        if (ok && family.killed)
            ok = error_set(err, ERROR_FAILED, "rank 0 was killed");
    }
    release(&family);
    return ok;
}

/* Starts ranks whose time has come. */
static bool start_later(struct family *family, const struct run_watch *watch, struct wire **wire,
                        struct error *err)
{
    for (int rank = 0; rank < family->count; rank++) {
        if (!family->later[rank] || !watch->starts(watch->context, rank))
            continue;
        fflush(NULL);
        if (!start_rank(family, rank, wire, err) || *wire)
            return *wire != NULL;
        family->later[rank] = false;
        close_all(family, -1, true);
    }
    return true;
}

/* Returns how many ranks have not ended. */
static int count_left(struct family *family)
{
    int left = 0;
    for (int rank = 0; rank < family->count; rank++) {
        if (family->ranks[rank] > 0 && waitpid(family->ranks[rank], NULL, WNOHANG) == family->ranks[rank])
            family->ranks[rank] = 0;
        left += family->ranks[rank] > 0;
    }
    return left;
}

bool run_start_watched(int count, double silence, const struct run_watch *watch, struct wire **wire,
                       struct error *err)
{
    struct family family = {.count = count, .silence = silence};
    *wire = NULL;
    bool ok = connect_all(&family, err);
    for (int rank = 0; ok && watch->starts && rank < count; rank++)
        family.later[rank] = !watch->starts(watch->context, rank);
    ok = ok && start(&family, wire, err);
    double end = clock_now() + watch->limit;
    while (!*wire && family.ranks && count_left(&family) > 0) {
        if (ok && watch->starts && !(ok = start_later(&family, watch, wire, err)))
            end_all(&family, SIGKILL);
        if (*wire)
            break;
        watch->tick(watch->context, family.ranks, count);
        if (clock_now() > end)
            end_all(&family, SIGKILL);
        clock_sleep(LOOK / 5);
    }
    release(&family);
    return ok;
}

void run_leave(struct wire *wire, int status)
{
    fflush(NULL);
    wire_close(wire);
    _exit(status);
}
