/* A host's node: starts the ranks that the launcher tells it, and passes on what they say. */
#include "core/child.h"
#include "core/clock.h"
#include "run/launch/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 50
#define AT_ONCE 16384
#define MAX_UNSAID                                                                                           \
    ((size_t)1                                                                                               \
     << 20) /* bytes that wait for a launcher who does not read: until then ranks that print do, too */
#define LISTENED WIRE_MAX_RANKS /* connections that wait to be accepted: all other ranks */
#define PATIENCE 2.0            /* seconds for ranks to end by themselves */

struct child {
    int rank, listening;
    pid_t pid; /* 0: not started, or ended */
    bool later, started, told;
    int status;
    int files[2]; /* its standard output and error; -1: ended */
    struct channel channel;
};

struct node {
    struct channel launcher;
    char *job; /* the frame; texts point into it */
    const char *host, *network, *folder;
    struct launch_address address; /* of this host's ranks, without a port */
    char **words;                  /* "/proc/self/exe", those of the job, NULL */
    struct child *children;
    int count;
    struct pollfd *polled;
};

/* ---- the job ---- */

/* Takes a text that ends in NUL. */
static const char *take_text(const char **at, const char *end)
{
    const char *text = *at, *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    *at = nul ? nul + 1 : end;
    return nul ? text : NULL;
}

static bool broken_job(struct error *err)
{
    return error_set(err, ERROR_FAILED, "the launcher's job description is inconsistent");
}

static bool read_job(struct node *node, const struct frame *frame, struct error *err)
{
    static char self[] = "/proc/self/exe";
    struct job_head head;
    if (node->job || frame->length < sizeof head)
        return broken_job(err);
    memcpy(&head, frame->bytes, sizeof head);
    head.version[sizeof head.version - 1] = 0;
    if (strcmp(head.version, REHEARSE_VERSION) != 0 || head.sizes != JOB_SIZES)
        return error_set(err, ERROR_FAILED, "rehearse is version %s there, but another build or %s here",
                         REHEARSE_VERSION, head.version);
    if (head.ranks < 1 || head.ranks > WIRE_MAX_RANKS || head.words < 1 || head.words > LAUNCH_MAX_WORDS ||
        frame->length < sizeof head + (size_t)head.ranks * sizeof(struct job_rank))
        return broken_job(err);
    node->job = malloc(frame->length);
    node->words = calloc((size_t)head.words + 2, sizeof *node->words);
    node->children = calloc((size_t)head.ranks, sizeof *node->children);
    node->polled = calloc(3 * (size_t)head.ranks + 2, sizeof *node->polled);
    if (!node->job || !node->words || !node->children || !node->polled)
        return error_memory(err);
    memcpy(node->job, frame->bytes, frame->length);
    const char *at = node->job + sizeof head, *end = node->job + frame->length;
    for (int i = 0; i < head.ranks; i++, at += sizeof(struct job_rank)) {
        struct child *child = &node->children[node->count++];
        struct job_rank one;
        memcpy(&one, at, sizeof one);
        *child =
            (struct child){.rank = one.rank, .later = one.later != 0, .listening = -1, .files = {-1, -1}};
        child->channel.in = child->channel.out = -1;
    }
    node->host = take_text(&at, end);
    node->network = take_text(&at, end);
    node->folder = take_text(&at, end);
    node->words[0] = self;
    bool ok = node->folder != NULL;
    for (int i = 0; i < head.words; i++)
        ok = (node->words[i + 1] = (char *)take_text(&at, end)) && ok;
    return ok || broken_job(err);
}

/* A rank has an address before it is started. */
static bool listen_for(struct node *node, struct child *child, struct error *err)
{
    struct launch_address own = node->address;
    socklen_t length = sizeof own;
    child->listening = socket(own.as.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (child->listening < 0 ||
        bind(child->listening, &own.as.any, launch_address_length(&node->address)) != 0 ||
        listen(child->listening, LISTENED) != 0 || getsockname(child->listening, &own.as.any, &length) != 0)
        return error_set(err, ERROR_FAILED, "cannot listen for other ranks: %s", strerror(errno));
    return channel_send(&node->launcher, FRAME_ADDRESS, child->rank, &own, sizeof own, err);
}

static bool listen_for_all(struct node *node, struct error *err)
{
    if (chdir(node->folder) != 0)
        return error_set(err, ERROR_INPUT, "%s: %s (ranks work in the launcher's folder)", node->folder,
                         strerror(errno));
    if (!launch_address_find(&node->address, node->host, node->network, err))
        return false;
    for (int i = 0; i < node->count; i++)
        if (!node->children[i].later && !listen_for(node, &node->children[i], err))
            return false;
    return true;
}

/* ---- a rank ---- */

static _Noreturn void become_rank(const struct node *node, const struct child *child, int control,
                                  const int files[2], pid_t parent)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int high = fcntl(control, F_DUPFD_CLOEXEC, 100),
        listening = fcntl(child->listening, F_DUPFD_CLOEXEC, 100);
    int out = fcntl(files[0], F_DUPFD_CLOEXEC, 100), other = fcntl(files[1], F_DUPFD_CLOEXEC, 100);
    prctl(PR_SET_PDEATHSIG, child_signal_of_end());
    if (getppid() != parent || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(other, STDERR_FILENO) < 0 || dup2(high, LAUNCH_CONTROL) < 0 ||
        dup2(listening, LAUNCH_LISTENING) < 0)
        _exit(ERROR_FAILED);
    child_execute(node->words, NULL);
    _exit(ERROR_NOT_THERE);
}

static bool start_rank(struct node *node, struct child *child, struct error *err)
{
    int control[2], out[2] = {-1, -1}, other[2] = {-1, -1};
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0)
        return error_set(err, ERROR_FAILED, "cannot start rank %d: %s", child->rank, strerror(errno));
    if (pipe2(out, O_CLOEXEC) == 0 && pipe2(other, O_CLOEXEC) == 0)
        child->pid = child_fork();
    else
        child->pid = -1;
    if (child->pid == 0)
        become_rank(node, child, control[1], (const int[]){out[1], other[1]}, parent);
    const int ends[] = {control[1], out[1], other[1], child->listening};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    child->listening = -1;
    child->files[0] = out[0];
    child->files[1] = other[0];
    channel_init(&child->channel, control[0], control[0]);
    child->started = child->pid > 0;
    return child->started ||
           error_set(err, ERROR_FAILED, "cannot start rank %d: %s", child->rank, strerror(errno));
}

static struct child *child_of(const struct node *node, int rank)
{
    for (int i = 0; i < node->count; i++)
        if (node->children[i].rank == rank)
            return &node->children[i];
    return NULL;
}

/* ---- the launcher speaks ---- */

static bool obey(struct node *node, const struct frame *frame, struct error *err)
{
    struct child *child = child_of(node, frame->rank);
    switch (frame->kind) {
    case FRAME_JOB:
        return read_job(node, frame, err) && listen_for_all(node, err);
    case FRAME_SEAT:
        if (!child || child->started)
            return broken_job(err);
        return start_rank(node, child, err) &&
               channel_send(&child->channel, FRAME_SEAT, child->rank, frame->bytes, frame->length, err);
    case FRAME_GO:
        for (int i = 0; i < node->count; i++)
            if ((child ? child == &node->children[i] : node->children[i].started) &&
                !channel_send(&node->children[i].channel, FRAME_GO, -1, frame->bytes, frame->length, err))
                return false;
        return true;
    case FRAME_START:
        return child && child->later && !child->started && child->listening < 0 ? listen_for(node, child, err)
                                                                                : broken_job(err);
    case FRAME_COMER:
        return !child || child->channel.out < 0 ||
               channel_send(&child->channel, FRAME_COMER, child->rank, frame->bytes, frame->length, err);
    case FRAME_KILL:
        if (child && child->pid > 0)
            kill(child->pid, SIGKILL);
        return true;
    case FRAME_BEAT:
        return true;
    default:
        return broken_job(err);
    }
}

/* ---- ranks speak ---- */

static bool pass_on(struct node *node, struct child *child, struct error *err)
{
    struct frame frame;
    bool there = true, ok = channel_pull(&child->channel, err);
    while (ok && there) {
        ok = channel_next(&child->channel, &frame, &there, err);
        if (ok && there &&
            (frame.kind == FRAME_READY || frame.kind == FRAME_RESULT || frame.kind == FRAME_FAILED))
            ok = channel_send(&node->launcher, frame.kind, child->rank, frame.bytes, frame.length, err);
    }
    return ok;
}

static bool pass_text(struct node *node, struct child *child, int which, struct error *err)
{
    char bytes[AT_ONCE];
    ssize_t count = read(child->files[which], bytes, sizeof bytes);
    if (count > 0)
        return channel_send(&node->launcher, which == 0 ? FRAME_OUT : FRAME_ERR, child->rank, bytes,
                            (size_t)count, err);
    if (count == 0 || errno != EINTR) {
        close(child->files[which]);
        child->files[which] = -1;
    }
    return true;
}

/* A rank has ended when all that it said has been passed on. */
static bool look_for_ends(struct node *node, struct error *err)
{
    for (int i = 0; i < node->count; i++) {
        struct child *child = &node->children[i];
        if (child->pid > 0 && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
            child->pid = 0;
        if (!child->started || child->pid > 0 || child->told || child->files[0] >= 0 ||
            child->files[1] >= 0 || !child->channel.ended)
            continue;
        child->told = true;
        channel_release(&child->channel);
        if (!channel_send(&node->launcher, FRAME_ENDED, child->rank, &child->status, sizeof child->status,
                          err))
            return false;
    }
    return true;
}

/* ---- all of it ---- */

static bool hear_launcher(struct node *node, short events, struct error *err)
{
    struct frame frame;
    bool there = true, ok = true;
    if (events & POLLOUT)
        ok = channel_push(&node->launcher, err);
    if (ok && (events & (POLLIN | POLLHUP | POLLERR)))
        ok = channel_pull(&node->launcher, err);
    while (ok && there) {
        ok = channel_next(&node->launcher, &frame, &there, err);
        if (ok && there)
            ok = obey(node, &frame, err);
    }
    return ok;
}

static bool hear_child(struct node *node, struct child *child, const struct pollfd *polled, struct error *err)
{
    if ((polled[0].revents & POLLOUT) && child->channel.out >= 0 && !channel_push(&child->channel, err))
        return false;
    if ((polled[0].revents & (POLLIN | POLLHUP | POLLERR)) && !child->channel.ended &&
        !pass_on(node, child, err))
        return false;
    for (int which = 0; which < 2; which++)
        if (polled[1 + which].revents && child->files[which] >= 0 && !pass_text(node, child, which, err))
            return false;
    return true;
}

static bool step(struct node *node, struct error *err)
{
    struct pollfd only[2], *polled = node->polled ? node->polled : only;
    int places = 2, count = node->count;
    bool full = node->launcher.queue_count - node->launcher.queue_first > MAX_UNSAID;
    polled[0] = (struct pollfd){.fd = node->launcher.in, .events = POLLIN};
    polled[1] =
        (struct pollfd){.fd = node->launcher.queue_count > 0 ? node->launcher.out : -1, .events = POLLOUT};
    for (int i = 0; i < count; i++) {
        const struct child *child = &node->children[i];
        const struct channel *channel = &child->channel;
        short out = channel->queue_count > 0 ? POLLOUT : 0;
        polled[places++] =
            (struct pollfd){.fd = channel->ended ? -1 : channel->in, .events = (short)(POLLIN | out)};
        for (int which = 0; which < 2; which++)
            polled[places++] = (struct pollfd){.fd = full ? -1 : child->files[which], .events = POLLIN};
    }
    if (poll(polled, (nfds_t)places, WAIT_MS) < 0 && errno != EINTR)
        return error_set(err, ERROR_FAILED, "cannot wait: %s", strerror(errno));
    for (int i = 0; i < count; i++)
        if (!hear_child(node, &node->children[i], &polled[2 + 3 * i], err))
            return false;
    return look_for_ends(node, err) &&
           hear_launcher(node, (short)(polled[0].revents | polled[1].revents), err);
}

/* Returns whether all ranks have ended. */
static bool have_ended(struct node *node)
{
    bool all = true;
    for (int i = 0; i < node->count; i++) {
        struct child *child = &node->children[i];
        if (child->pid > 0 && waitpid(child->pid, NULL, WNOHANG) == child->pid)
            child->pid = 0;
        all &= child->pid == 0;
    }
    return all;
}

static void signal_all(const struct node *node, int signal)
{
    for (int i = 0; i < node->count; i++)
        if (node->children[i].pid > 0)
            kill(node->children[i].pid, signal);
}

/* Politely at first, so that they leave nothing half-written. */
static void end_ranks(struct node *node)
{
    double end = clock_now() + PATIENCE;
    signal_all(node, SIGTERM);
    while (!have_ended(node) && clock_now() < end)
        clock_sleep(CLOCK_SECOND / 200);
    signal_all(node, SIGKILL);
    while (!have_ended(node))
        clock_sleep(CLOCK_SECOND / 200);
    for (int i = 0; i < node->count; i++) {
        struct child *child = &node->children[i];
        for (int which = 0; which < 2; which++)
            if (child->files[which] >= 0)
                close(child->files[which]);
        if (child->listening >= 0)
            close(child->listening);
        channel_release(&child->channel);
    }
}

/* Tells the launcher why there will be no ranks here. */
static void tell_failure(struct node *node, const struct error *why)
{
    struct error ignored;
    double end = clock_now() + 1.0;
    channel_tell_failure(&node->launcher, why, &ignored);
    while (node->launcher.queue_count > 0 && clock_now() < end) {
        clock_sleep(CLOCK_SECOND / 100);
        (void)channel_push(&node->launcher, &ignored);
    }
}

bool launch_be_node(struct error *err)
{
    struct node node = {.job = NULL};
    char number[16];
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) /* nothing else may stand there */
        return error_set(err, ERROR_FAILED, "launch --node: no launcher at the standard input: %s",
                         strerror(errno));
    snprintf(number, sizeof number, "%d", LAUNCH_CONTROL);
    setenv(LAUNCH_VARIABLE, number, 1);
    signal(SIGPIPE, SIG_IGN);
    channel_init(&node.launcher, in, out);
    bool ok = true;
    while (ok && !node.launcher.ended && channel_beat(&node.launcher, clock_now()))
        ok = step(&node, err);
    if (!ok)
        tell_failure(&node, err);
    end_ranks(&node);
    channel_release(&node.launcher);
    free(node.job);
    free(node.words);
    free(node.children);
    free(node.polled);
    return true;
}
