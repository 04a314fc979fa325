/* The launcher: starts the ranks, makes a pair of sockets for each two of them once both have their seats, and waits
 * for their ends. */
#include "comm/load.h"
#include "core/child.h"
#include "core/clock.h"
#include "core/stop.h"
#include "run/launch/note.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK     0.002     /* seconds between two looks at the clock, where somebody asks */
#define CALM     0.03      /* ... and at which all ranks are asked whether they have ended */
#define GRACE    5.0       /* for ranks to end by themselves after one has failed */
#define PATIENCE 2.0       /* ... after SIGTERM, so that they leave nothing half-written */
#define BUFFER   (1 << 20) /* bytes of a socket between ranks, if the system allows it */

extern char **environ;

struct member {
    pid_t pid;          /* 0: not started, or ended */
    int control;        /* -1: none */
    bool later;         /* it was not there at the beginning */
    bool started;       /* it is to be there */
    bool ready, seated; /* it has its seat; it is connected */
    bool hung_up, ended;
    bool killed; /* by us */
};

struct launch_job {
    const struct launch *launch;
    const struct launch_watch *watch;
    const struct launch_ranks *ranks;
    int count;
    char program[PATH_MAX];
    char **words;       /* program, those of the launch, NULL */
    char **environment; /* this process's, and that the new one is a rank */
    struct member *members;
    struct pollfd *polled;
    struct note note; /* the last one */
    int first, ready, started, ended;
    bool going, failed, certain; /* certain: that error is the cause, not what it led to */
    bool over;                   /* launch_end */
    double looked_at;            /* when all were asked whether they have ended */
    double failed_at, gives_up_at;
    struct error *err;
};

/* The first failure counts, but a rank that was killed explains those of the others. */
static void fail(struct launch_job *job, enum error_kind kind, bool certain, const char *text)
{
    if (job->failed && (job->certain || !certain))
        return;
    error_set(job->err, kind, "%s", text);
    if (!job->failed)
        job->failed_at = clock_now();
    job->failed = true;
    job->certain = certain;
}

/* Does the errno of a note say so of the rank? That is found, and named, when its process is looked at. */
static bool has_ended(int why)
{
    return why == EPIPE || why == ECONNRESET;
}

/* ---- a rank is started ---- */

static _Noreturn void become_rank(const struct launch_job *job, int control, pid_t parent)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int high = fcntl(control, F_DUPFD_CLOEXEC, LAUNCH_CONTROL + 1);
    prctl(PR_SET_PDEATHSIG, child_signal_of_end());
    if (getppid() != parent || dup2(null, STDIN_FILENO) < 0 || dup2(high, LAUNCH_CONTROL) < 0)
        _exit(ERROR_FAILED);
    environ = job->environment;
    child_execute(job->words, NULL);
    _exit(ERROR_NOT_THERE);
}

static bool send_seat(struct launch_job *job, int rank, struct error *err)
{
    const struct launch_ranks *ranks = job->ranks;
    struct note_seat seat = {.version = REHEARSE_VERSION,
                             .rank = rank,
                             .size = job->count,
                             .number = ranks->number,
                             .later = job->members[rank].later,
                             .note_length = (int32_t)ranks->note_length};
    if (ranks->note_length > 0)
        memcpy(seat.note, ranks->note, ranks->note_length);
    int why = note_send(job->members[rank].control, NOTE_SEAT, rank, &seat, sizeof seat, -1, clock_now());
    return why == 0 || has_ended(why) ||
           error_set(err, ERROR_FAILED, "cannot start rank %d: %s", rank, strerror(why));
}

static bool start_rank(struct launch_job *job, int rank, struct error *err)
{
    struct member *member = &job->members[rank];
    int control[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
        return error_set(err, ERROR_FAILED, "cannot start rank %d: %s", rank, strerror(errno));
    pid_t pid = child_fork();
    if (pid == 0)
        become_rank(job, control[1], parent);
    int why = errno;
    close(control[1]);
    member->control = control[0];
    member->started = pid > 0;
    member->pid = pid > 0 ? pid : 0;
    job->started += member->started;
    if (pid < 0)
        return error_set(err, ERROR_FAILED, "cannot start rank %d: %s", rank, strerror(why));
    return send_seat(job, rank, err);
}

/* ---- ranks are connected ---- */

/* Hands a new pair of sockets to two ranks. One that has ended since gets none, which the other one sees. */
static bool connect_two(struct launch_job *job, int a, int b, struct error *err)
{
    const int size = BUFFER, ranks[2] = {a, b};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_set(err, ERROR_FAILED, "cannot connect rank %d and rank %d: %s", a, b, strerror(errno));
    int why = 0;
    for (int i = 0; i < 2; i++) {
        (void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        int code = note_send(job->members[ranks[i]].control, NOTE_PEER, ranks[!i], NULL, 0, ends[i],
                             job->gives_up_at);
        why = has_ended(code) ? why : code;
    }
    close(ends[0]);
    close(ends[1]);
    return why == 0 ||
           error_set(err, ERROR_FAILED, "cannot connect rank %d and rank %d: %s", a, b, strerror(why));
}

/* Connects a rank with all that are seated, and seats it. */
static bool seat(struct launch_job *job, int rank, struct error *err)
{
    for (int other = 0; other < job->count; other++)
        if (other != rank && job->members[other].seated && !job->members[other].ended &&
            !connect_two(job, other, rank, err))
            return false;
    job->members[rank].seated = true;
    return !stop_obeyed(err);
}

static bool let_go(struct launch_job *job, int rank, double begin, struct error *err)
{
    int why =
        note_send(job->members[rank].control, NOTE_GO, rank, &begin, sizeof begin, -1, job->gives_up_at);
    return why == 0 || has_ended(why) ||
           error_set(err, ERROR_FAILED, "cannot let rank %d begin: %s", rank, strerror(why));
}

static double begin_of(const struct launch_job *job)
{
    return job->watch->begins ? job->watch->begins(job->watch->context) : clock_now();
}

static bool let_all_go(struct launch_job *job, struct error *err)
{
    bool ok = true;
    for (int rank = 0; ok && rank < job->count; rank++)
        ok = !job->members[rank].ready || job->members[rank].ended || seat(job, rank, err);
    double begin = begin_of(job);
    for (int rank = 0; ok && rank < job->count; rank++)
        ok = !job->members[rank].seated || let_go(job, rank, begin, err);
    job->going = true;
    return ok;
}

static bool hear_ready(struct launch_job *job, int rank, struct error *err)
{
    struct member *member = &job->members[rank];
    if (member->ready)
        return true;
    member->ready = true;
    if (!member->later)
        return ++job->ready < job->first || job->failed || let_all_go(job, err);
    job->gives_up_at = clock_now() + job->launch->timeout;
    return seat(job, rank, err) && let_go(job, rank, begin_of(job), err);
}

/* ---- ranks speak, and end ---- */

static void hear_failure(struct launch_job *job)
{
    char text[sizeof job->err->text];
    int kind;
    if (job->note.length < sizeof kind)
        return;
    memcpy(&kind, job->note.bytes, sizeof kind);
    snprintf(text, sizeof text, "%.*s", (int)(job->note.length - sizeof kind), job->note.bytes + sizeof kind);
    fail(job, kind >= ERROR_FAILED && kind <= ERROR_INFEASIBLE ? (enum error_kind)kind : ERROR_FAILED, false,
         text);
}

/* Hears all that a rank has said. */
static bool hear(struct launch_job *job, int rank, struct error *err)
{
    struct member *member = &job->members[rank];
    enum note_found found;
    while ((found = note_take(member->control, &job->note)) == NOTE_THERE) {
        if (job->note.file >= 0)
            close(job->note.file);
        if (job->note.head.kind == NOTE_READY && !hear_ready(job, rank, err))
            return false;
        if (job->note.head.kind == NOTE_RESULT && job->watch->result)
            job->watch->result(job->watch->context, rank, job->note.bytes, job->note.length);
        if (job->note.head.kind == NOTE_FAILED)
            hear_failure(job);
    }
    member->hung_up = found != NOTE_NONE;
    return true;
}

static void hear_end(struct launch_job *job, int rank, const int *status)
{
    char text[PATH_MAX + 200], how[100] = "ended";
    const struct member *member = &job->members[rank];
    bool by_signal = status && WIFSIGNALED(*status),
         good = !status || (WIFEXITED(*status) && !WEXITSTATUS(*status));
    if (member->killed || (member->ready && good) || (job->watch->survives && job->going))
        return;
    if (by_signal)
        snprintf(how, sizeof how, "was killed by signal %d", WTERMSIG(*status));
    else if (status)
        snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(*status));
    if (member->ready)
        snprintf(text, sizeof text, "rank %d %s", rank, how);
    else
        snprintf(text, sizeof text, "rank %d, a process of '%.800s', %s before it was connected", rank,
                 job->program, how);
    fail(job, ERROR_FAILED, by_signal, text);
}

/* Of a caller who ignores SIGCHLD the system has taken the status already: what the rank has said counts. */
static bool look_for_end(struct launch_job *job, int rank, struct error *err)
{
    struct member *member = &job->members[rank];
    int status;
    pid_t found = member->pid > 0 ? waitpid(member->pid, &status, WNOHANG) : 0;
    if (found == 0 || (found < 0 && errno == EINTR))
        return true;
    member->pid = 0;
    bool ok = hear(job, rank, err);
    member->ended = true;
    job->ended++;
    close(member->control);
    member->control = -1;
    hear_end(job, rank, found > 0 ? &status : NULL);
    return ok;
}

/* ---- the run ---- */

void launch_kill(struct launch_job *job, int rank)
{
    if (rank >= job->count || job->members[rank].pid <= 0)
        return;
    job->members[rank].killed = true;
    kill(job->members[rank].pid, SIGKILL);
}

void launch_start(struct launch_job *job, int rank)
{
    struct error why;
    if (rank < job->count && job->members[rank].later && !job->members[rank].started &&
        !start_rank(job, rank, &why))
        fail(job, ERROR_FAILED, true, why.text);
}

void launch_end(struct launch_job *job)
{
    job->over = true;
}

static bool look(struct launch_job *job, double wait, struct error *err)
{
    bool ok = true;
    for (int rank = 0; rank < job->count; rank++) {
        const struct member *member = &job->members[rank];
        bool heard = member->control >= 0 && !member->hung_up;
        job->polled[rank] = (struct pollfd){.fd = heard ? member->control : -1, .events = POLLIN};
        if (member->hung_up && !member->ended) /* its end is near */
            wait = fmin(wait, TICK);
    }
    if (poll(job->polled, (nfds_t)job->count, (int)ceil(wait * 1e3)) < 0 && errno != EINTR)
        return error_set(err, ERROR_FAILED, "cannot wait for ranks: %s", strerror(errno));
    double now = clock_now();
    bool all = now - job->looked_at > CALM;
    for (int rank = 0; ok && rank < job->count; rank++) {
        struct member *member = &job->members[rank];
        if (job->polled[rank].fd >= 0 && job->polled[rank].revents)
            ok = hear(job, rank, err);
        if (ok && (all || member->hung_up) && !member->ended)
            ok = look_for_end(job, rank, err);
    }
    job->looked_at = all ? now : job->looked_at;
    return ok;
}

static bool name_unready(const struct launch_job *job, struct error *err)
{
    int rank = 0;
    while (rank < job->count - 1 && (job->members[rank].later || job->members[rank].ready))
        rank++;
    return error_set(err, ERROR_FAILED, "rank %d was not connected within %g s", rank, job->launch->timeout);
}

static bool wait_for_all(struct launch_job *job, struct error *err)
{
    double limit = clock_now() + job->watch->limit;
    while (job->ended < job->started && !job->over) {
        bool ticks = job->watch->tick && job->going;
        if (!look(job, ticks ? TICK : CALM, err))
            return false;
        if (ticks)
            job->watch->tick(job->watch->context, job);
        double now = clock_now();
        if (!job->going && !job->failed && now > job->gives_up_at)
            return name_unready(job, err);
        if (stop_obeyed(err) || (job->failed && (!job->going || now - job->failed_at > GRACE)))
            return false;
        if (now > limit)
            return true;
    }
    return !job->failed;
}

/* Returns whether all ranks have ended. */
static bool have_ended(struct launch_job *job)
{
    bool all = true;
    for (int rank = 0; rank < job->count; rank++) {
        struct member *member = &job->members[rank];
        pid_t found = member->pid > 0 ? waitpid(member->pid, NULL, WNOHANG) : 0;
        if (found > 0 || (found < 0 && errno != EINTR))
            member->pid = 0;
        all &= member->pid == 0;
    }
    return all;
}

static void signal_all(const struct launch_job *job, int signal)
{
    for (int rank = 0; rank < job->count; rank++)
        if (job->members[rank].pid > 0)
            kill(job->members[rank].pid, signal);
}

static void end_all(struct launch_job *job)
{
    double end = clock_now() + PATIENCE;
    signal_all(job, SIGTERM);
    while (!have_ended(job)) {
        if (clock_now() > end)
            signal_all(job, SIGKILL);
        clock_sleep(CLOCK_SECOND / 200);
    }
    for (int rank = 0; rank < job->count; rank++)
        if (job->members[rank].control >= 0)
            close(job->members[rank].control);
}

static bool list_environment(struct launch_job *job)
{
    static char mark[sizeof LAUNCH_VARIABLE + 8];
    size_t count = 0;
    snprintf(mark, sizeof mark, LAUNCH_VARIABLE "=%d", LAUNCH_CONTROL);
    while (environ[count])
        count++;
    job->environment = calloc(count + 2, sizeof *job->environment);
    if (job->environment) {
        job->environment[0] = mark;
        memcpy(job->environment + 1, environ, count * sizeof *environ);
    }
    return job->environment != NULL;
}

static bool make_job(struct launch_job *job, struct error *err)
{
    size_t words = (size_t)job->launch->word_count;
    job->members = calloc((size_t)job->count, sizeof *job->members);
    for (int rank = 0; job->members && rank < job->count; rank++)
        job->members[rank].control = -1;
    job->polled = calloc((size_t)job->count, sizeof *job->polled);
    job->words = calloc(words + 2, sizeof *job->words);
    if (!job->members || !job->polled || !job->words || !list_environment(job))
        return error_memory(err);
    job->words[0] = job->program;
    memcpy(job->words + 1, job->launch->words, words * sizeof *job->words);
    for (int rank = 0; rank < job->count; rank++) {
        struct member *member = &job->members[rank];
        member->later = job->ranks->when && job->ranks->when[rank] != LAUNCH_FIRST;
        job->first += !member->later;
    }
    return program_find(job->program, err);
}

static bool start_all(struct launch_job *job, struct error *err)
{
    bool ok = true;
    job->gives_up_at = clock_now() + job->launch->timeout;
    for (int rank = 0; ok && rank < job->count; rank++)
        ok = job->members[rank].later || start_rank(job, rank, err);
    return ok;
}

bool launch_run(const struct launch *launch, const struct launch_ranks *ranks,
                const struct launch_watch *watch, struct error *err)
{
    struct launch_job *job = calloc(1, sizeof *job);
    if (!job)
        return error_memory(err);
    job->launch = launch;
    job->watch = watch;
    job->ranks = ranks;
    job->count = ranks->count;
    job->err = err;
    bool ok = make_job(job, err) && start_all(job, err) && wait_for_all(job, err);
    if (job->members)
        end_all(job);
    free(job->members);
    free(job->polled);
    free(job->words);
    free(job->environment);
    free(job);
    return ok;
}
