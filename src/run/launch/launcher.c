/* The launcher: one channel to the node of each host. */
#include "run/launch/launcher.h"
#include "core/child.h"
#include "core/clock.h"
#include "core/stop.h"
#include "core/text.h"

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
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK  0.002 /* seconds between two looks at the clock, where somebody asks */
#define CALM  0.03
#define GRACE 5.0 /* for ranks to end by themselves after one has failed; and for agents at the end */

struct node {
    struct channel channel;
    pid_t agent; /* 0: none, or ended */
    int ranks;
    bool gone;
};

struct member {
    bool later;                       /* it was not there at the beginning */
    bool started;                     /* it is to be there */
    bool known, ready, ended, killed; /* killed: by us */
};

struct launch_job {
    const struct launch *launch;
    const struct launch_watch *watch;
    const struct launch_ranks *ranks;
    int count;
    const int *host_of;
    struct node *nodes;
    struct member *members;
    struct launch_address *addresses;
    struct seat_key *keys; /* of ranks a < b: at b (b - 1) / 2 + a */
    struct pollfd *polled;
    struct launch_said said[2]; /* to standard output and error */
    int known, ready;           /* of those that were there at the beginning */
    int first, started, ended;
    bool seated, going, failed, certain; /* certain: that error is the cause, not what it led to */
    bool over;                           /* launch_end */
    double failed_at;
    struct error *err;
};

static const char *host_name(const struct launch_job *job, int host)
{
    return job->launch->hosts.hosts[host].name;
}

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

/* ---- jobs ---- */

static bool is_wanted(const struct launch_job *job, int rank)
{
    return !job->ranks->when || job->ranks->when[rank] != LAUNCH_NEVER;
}

static bool send_job(struct launch_job *job, int host, struct error *err)
{
    const struct launch *launch = job->launch;
    struct job_head head = {.version = REHEARSE_VERSION,
                            .sizes = JOB_SIZES,
                            .ranks = job->nodes[host].ranks,
                            .words = launch->word_count};
    struct text text = {0};
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return error_set(err, ERROR_FAILED, "cannot find the folder: %s", strerror(errno));
    text_add_bytes(&text, (const char *)&head, sizeof head);
    for (int rank = 0; rank < job->count; rank++) {
        const struct job_rank one = {rank, job->members[rank].later};
        if (job->host_of[rank] == host && is_wanted(job, rank))
            text_add_bytes(&text, (const char *)&one, sizeof one);
    }
    const char *network = launch->local ? LAUNCH_HERE : launch->network ? launch->network : "";
    text_add_bytes(&text, host_name(job, host), strlen(host_name(job, host)) + 1);
    text_add_bytes(&text, network, strlen(network) + 1);
    text_add_bytes(&text, folder, strlen(folder) + 1);
    for (int i = 0; i < launch->word_count; i++)
        text_add_bytes(&text, launch->words[i], strlen(launch->words[i]) + 1);
    bool ok = !text.failed
                  ? channel_send(&job->nodes[host].channel, FRAME_JOB, -1, text.data, text.length, err)
                  : error_memory(err);
    text_release(&text);
    return ok;
}

/* ---- seats ---- */

/* Returns whether a rank has its seat, and connects to those that come later. */
static bool is_seated(const struct launch_job *job, int rank)
{
    return job->members[rank].known && !job->members[rank].ended;
}

static bool check_addresses(const struct launch_job *job, struct error *err)
{
    int inside = -1, outside = -1;
    for (int rank = 0; rank < job->count; rank++)
        if (job->members[rank].known && launch_address_is_loopback(&job->addresses[rank]))
            inside = job->host_of[rank];
        else if (job->members[rank].known)
            outside = job->host_of[rank];
    return inside < 0 || outside < 0 ||
           error_set(err, ERROR_FAILED,
                     "host name '%s' resolves to a loopback address: name the network that ranks use with "
                     "--network 10.0.0.0/24",
                     host_name(job, inside));
}

/* Returns the keys of two ranks; they are drawn when these are to be connected. */
static struct seat_key *key_of(const struct launch_job *job, int a, int b)
{
    size_t low = (size_t)(a < b ? a : b), high = (size_t)(a < b ? b : a);
    return &job->keys[high * (high - 1) / 2 + low];
}

static bool send_seat(struct launch_job *job, int rank, struct error *err)
{
    size_t hosts = job->launch->hosts.count, names = hosts * LAUNCH_NAME, note = job->ranks->note_length;
    size_t length = sizeof(struct seat_card) + (size_t)job->count * sizeof(struct seat_other) + names + note;
    char *bytes = calloc(1, length);
    if (!bytes)
        return error_memory(err);
    const struct seat_card card = {rank,           job->count,    job->ranks->number,
                                   (int32_t)hosts, (int32_t)note, job->members[rank].later};
    memcpy(bytes, &card, sizeof card);
    for (size_t h = 0; h < hosts; h++)
        memcpy(bytes + length - note - names + h * LAUNCH_NAME, host_name(job, (int)h), LAUNCH_NAME);
    if (note > 0)
        memcpy(bytes + length - note, job->ranks->note, note);
    struct seat_other *others = (struct seat_other *)(void *)(bytes + sizeof card);
    for (int other = 0; other < job->count; other++) {
        others[other].host = job->host_of[other];
        others[other].there = is_seated(job, other);
        others[other].address = job->addresses[other];
        if (other != rank && others[other].there)
            others[other].key = *key_of(job, rank, other);
    }
    bool ok = channel_send(&job->nodes[job->host_of[rank]].channel, FRAME_SEAT, rank, bytes, length, err);
    explicit_bzero(bytes, length);
    free(bytes);
    return ok;
}

static bool draw(struct seat_key *keys, size_t length, struct error *err)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = getrandom((char *)keys + done, length - done, 0);
        if (count < 0 && errno != EINTR)
            return error_set(err, ERROR_FAILED, "cannot draw keys: %s", strerror(errno));
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool draw_keys(struct launch_job *job, struct error *err)
{
    size_t length = (size_t)job->count * (size_t)(job->count - 1) / 2 * sizeof *job->keys;
    job->keys = malloc(length + 1);
    return job->keys ? draw(job->keys, length, err) : error_memory(err);
}

/* A rank that comes later is told to those that are there, and they to it. */
static bool seat_later(struct launch_job *job, int rank, struct error *err)
{
    struct seat_comer comer = {.rank = rank, .address = job->addresses[rank]};
    bool ok = true;
    for (int other = 0; ok && other < job->count; other++)
        if (other != rank && is_seated(job, other))
            ok = draw(key_of(job, rank, other), sizeof comer.key, err);
    ok = ok && send_seat(job, rank, err);
    for (int other = 0; ok && other < job->count; other++) {
        if (other == rank || !is_seated(job, other))
            continue;
        comer.key = *key_of(job, rank, other);
        ok = channel_send(&job->nodes[job->host_of[other]].channel, FRAME_COMER, other, &comer, sizeof comer,
                          err);
        explicit_bzero(key_of(job, rank, other), sizeof comer.key);
    }
    explicit_bzero(&comer, sizeof comer);
    return ok;
}

/* Lets all ranks go, or (rank >= 0) one. */
static bool let_go(struct launch_job *job, int rank, struct error *err)
{
    const double age = job->watch->begins ? job->watch->begins(job->watch->context) : 0.0;
    bool ok = true;
    for (size_t h = 0; ok && h < job->launch->hosts.count; h++)
        if (!job->nodes[h].gone && (rank < 0 || job->host_of[rank] == (int)h))
            ok = channel_send(&job->nodes[h].channel, FRAME_GO, rank, &age, sizeof age, err);
    return ok;
}

/* ---- what nodes say ---- */

static void end_member(struct launch_job *job, int rank)
{
    if (job->members[rank].started && !job->members[rank].ended)
        job->ended++;
    job->members[rank].ended = true;
}

static void hear_end(struct launch_job *job, int rank, int status)
{
    char text[300], where[LAUNCH_NAME + 16] = "";
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    end_member(job, rank);
    if (job->members[rank].killed || good || (job->watch->survives && job->going))
        return;
    if (!job->launch->local)
        snprintf(where, sizeof where, " on host '%s'", host_name(job, job->host_of[rank]));
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "rank %d%s was killed by signal %d", rank, where, WTERMSIG(status));
    else
        snprintf(text, sizeof text, "rank %d%s ended with exit code %d", rank, where, WEXITSTATUS(status));
    fail(job, ERROR_FAILED, WIFSIGNALED(status), text);
}

static void hear_failure(struct launch_job *job, int host, const struct frame *frame)
{
    char text[sizeof job->err->text];
    int kind;
    if (frame->length < sizeof kind)
        return;
    memcpy(&kind, frame->bytes, sizeof kind);
    int length = (int)(frame->length - sizeof kind);
    bool says_host = length > 6 && memcmp(frame->bytes + sizeof kind, "host '", 6) == 0;
    if (job->launch->local || says_host)
        snprintf(text, sizeof text, "%.*s", length, frame->bytes + sizeof kind);
    else
        snprintf(text, sizeof text, "host '%s': %.*s", host_name(job, host), length,
                 frame->bytes + sizeof kind);
    fail(job, kind >= ERROR_FAILED && kind <= ERROR_INFEASIBLE ? (enum error_kind)kind : ERROR_FAILED, false,
         text);
}

/* Returns whether the frame is one that this node may send. */
static bool hear(struct launch_job *job, int host, const struct frame *frame)
{
    int rank = frame->rank;
    bool own = rank >= 0 && rank < job->count && job->host_of[rank] == host;
    struct member *member = own ? &job->members[rank] : NULL;
    if (!own && frame->kind != FRAME_FAILED && frame->kind != FRAME_BEAT)
        return false;
    switch (frame->kind) {
    case FRAME_ADDRESS:
        if (frame->length != sizeof *job->addresses || member->known)
            return false;
        memcpy(&job->addresses[rank], frame->bytes, frame->length);
        member->known = true;
        job->known += !member->later;
        return !member->later || seat_later(job, rank, job->err);
    case FRAME_READY:
        job->ready += !member->ready && !member->later;
        if (member->later && !member->ready && !let_go(job, rank, job->err))
            return false;
        member->ready = true;
        return true;
    case FRAME_OUT:
    case FRAME_ERR:
        launch_said_add(&job->said[frame->kind == FRAME_ERR], frame->bytes, frame->length);
        return true;
    case FRAME_RESULT:
        if (job->watch->result)
            job->watch->result(job->watch->context, rank, frame->bytes, frame->length);
        return true;
    case FRAME_FAILED:
        hear_failure(job, host, frame);
        return true;
    case FRAME_ENDED:
        if (frame->length != sizeof(int))
            return false;
        int status;
        memcpy(&status, frame->bytes, sizeof status);
        hear_end(job, rank, status);
        return true;
    case FRAME_BEAT:
        return true;
    default:
        return false;
    }
}

static void lose_node(struct launch_job *job, int host, const char *why)
{
    char ending[300] = "", text[460];
    struct node *node = &job->nodes[host];
    if (node->gone)
        return;
    node->gone = true;
    int status = 0;
    if (node->agent > 0 && waitpid(node->agent, &status, WNOHANG) == node->agent)
        node->agent = 0;
    if (node->agent == 0 && WIFEXITED(status) && WEXITSTATUS(status) != 0)
        launch_agent_ending(job->launch, WEXITSTATUS(status), ending, sizeof ending);
    if (ending[0])
        why = ending;
    if (job->launch->local)
        snprintf(text, sizeof text, "the process that starts ranks is lost: %s", why);
    else
        snprintf(text, sizeof text, "host '%s' is lost: %s", host_name(job, host), why);
    if (!job->going || !job->watch->survives)
        fail(job, ERROR_FAILED, true, text);
    channel_release(&node->channel);
    for (int rank = 0; rank < job->count; rank++)
        if (job->host_of[rank] == host)
            end_member(job, rank);
}

static void listen_to(struct launch_job *job, int host, short events)
{
    struct channel *channel = &job->nodes[host].channel;
    struct frame frame;
    struct error said;
    bool there = true, ok = true;
    if (events & POLLOUT)
        ok = channel_push(channel, &said);
    if (ok && (events & (POLLIN | POLLHUP | POLLERR)))
        ok = channel_pull(channel, &said);
    while (ok && there) {
        ok = channel_next(channel, &frame, &there, &said);
        if (ok && there && !hear(job, host, &frame))
            ok = error_set(&said, ERROR_FAILED, "its node sent an unexpected message");
    }
    if (!ok)
        lose_node(job, host, said.text);
    else if (channel->ended) {
        clock_sleep(CLOCK_SECOND / 50); /* for the agent's exit code */
        lose_node(job, host, job->launch->local ? "it has ended" : "its agent has ended");
    }
}

/* ---- the run ---- */

void launch_kill(struct launch_job *job, int rank)
{
    struct error ignored;
    if (rank >= job->count || job->members[rank].ended)
        return;
    job->members[rank].killed = true;
    (void)channel_send(&job->nodes[job->host_of[rank]].channel, FRAME_KILL, rank, NULL, 0, &ignored);
}

void launch_start(struct launch_job *job, int rank)
{
    struct error ignored;
    struct member *member = &job->members[rank];
    if (rank >= job->count || !member->later || member->started || job->nodes[job->host_of[rank]].gone)
        return;
    member->started =
        channel_send(&job->nodes[job->host_of[rank]].channel, FRAME_START, rank, NULL, 0, &ignored);
    job->started += member->started;
}

void launch_end(struct launch_job *job)
{
    job->over = true;
}

/* While nobody reads what ranks print, what nodes say waits, too. */
static bool look(struct launch_job *job, double wait, struct error *err)
{
    int hosts = (int)job->launch->hosts.count;
    bool full = launch_said_full(&job->said[0]) || launch_said_full(&job->said[1]);
    for (int h = 0; h < hosts; h++) {
        const struct channel *channel = &job->nodes[h].channel;
        struct pollfd *polled = &job->polled[2 * (ptrdiff_t)h];
        polled[0] = (struct pollfd){.fd = full ? -1 : channel->in, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = channel->queue_count > 0 ? channel->out : -1, .events = POLLOUT};
    }
    for (int which = 0; which < 2; which++)
        job->polled[2 * (ptrdiff_t)hosts + which] = launch_said_wish(&job->said[which]);
    if (poll(job->polled, 2 * (nfds_t)hosts + 2, (int)ceil(wait * 1e3)) < 0 && errno != EINTR)
        return error_set(err, ERROR_FAILED, "cannot wait for the hosts: %s", strerror(errno));
    for (int which = 0; which < 2; which++)
        if (job->polled[2 * (ptrdiff_t)hosts + which].revents)
            launch_said_push(&job->said[which]);
    double now = clock_now();
    for (int h = 0; h < hosts; h++) {
        const struct pollfd *polled = &job->polled[2 * (ptrdiff_t)h];
        short events = (short)(polled[0].revents | polled[1].revents);
        if (job->nodes[h].gone)
            continue;
        if (events)
            listen_to(job, h, events);
        if (full)
            job->nodes[h].channel.heard = now;
        if (!job->nodes[h].gone && !channel_beat(&job->nodes[h].channel, now))
            lose_node(job, h, "nothing has come from it");
    }
    return true;
}

/* Does what the state of all ranks asks for. */
static bool advance(struct launch_job *job, struct error *err)
{
    if (!job->seated && job->known == job->first && !job->failed) {
        job->seated = true;
        if (!check_addresses(job, err) || !draw_keys(job, err))
            return false;
        for (int rank = 0; rank < job->count; rank++)
            if (job->members[rank].known && !send_seat(job, rank, err))
                return false;
        explicit_bzero(job->keys, (size_t)job->count * (size_t)(job->count - 1) / 2 * sizeof *job->keys);
    }
    if (job->going || job->ready < job->first || job->failed)
        return true;
    job->going = true;
    return let_go(job, -1, err);
}

static void name_unready(const struct launch_job *job, struct error *err)
{
    for (int rank = 0; rank < job->count; rank++)
        if (job->members[rank].started && !job->members[rank].ready) {
            error_set(err, ERROR_FAILED, "rank %d on host '%s' was not connected within %g s", rank,
                      host_name(job, job->host_of[rank]), job->launch->timeout);
            return;
        }
}

static bool wait_for_all(struct launch_job *job, struct error *err)
{
    double begin = clock_now(), limit = begin + job->watch->limit;
    while (job->ended < job->started && !job->over) {
        if (!look(job, job->watch->tick && job->going ? TICK : CALM, err) || !advance(job, err))
            return false;
        if (job->watch->tick && job->going)
            job->watch->tick(job->watch->context, job);
        double now = clock_now();
        if (!job->going && !job->failed && now - begin > job->launch->timeout) {
            name_unready(job, err);
            return false;
        }
        if (stop_obeyed(err) || (job->failed && (!job->going || now - job->failed_at > GRACE)))
            return false;
        if (now > limit)
            return true;
    }
    return !job->failed;
}

/* Of a caller who ignores SIGCHLD the system has taken its status already. */
static bool has_ended(pid_t agent, bool wait)
{
    pid_t found;
    do
        found = waitpid(agent, NULL, wait ? 0 : WNOHANG);
    while (found < 0 && errno == EINTR);
    return found != 0;
}

/* A node that has ended is seen when it is read: a write to it must not end the caller, whose other threads are not concerned. */
static void hold_signal(sigset_t *before)
{
    sigset_t broken;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, before);
}

static void release_signal(const sigset_t *before)
{
    const struct timespec at_once = {0, 0};
    sigset_t broken;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    if (!sigismember(before, SIGPIPE))
        while (sigtimedwait(&broken, NULL, &at_once) == SIGPIPE)
            ;
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The nodes' standard inputs end, and they end all ranks; agents that stay are killed. */
static void end_all(struct launch_job *job)
{
    double end = clock_now() + GRACE;
    int left = 0;
    for (size_t h = 0; h < job->launch->hosts.count; h++) {
        if (job->nodes[h].channel.out >= 0)
            close(job->nodes[h].channel.out);
        job->nodes[h].channel.out = -1;
        left += job->nodes[h].agent > 0;
    }
    while (left > 0) {
        bool late = clock_now() > end;
        for (size_t h = 0; h < job->launch->hosts.count; h++) {
            struct node *node = &job->nodes[h];
            if (late && node->agent > 0)
                kill(node->agent, SIGKILL);
            if (node->agent > 0 && has_ended(node->agent, late)) {
                node->agent = 0;
                left--;
            }
        }
        if (left > 0)
            clock_sleep(CLOCK_SECOND / 200);
    }
    for (size_t h = 0; h < job->launch->hosts.count; h++)
        channel_release(&job->nodes[h].channel);
}

static bool make_job(struct launch_job *job, struct error *err)
{
    size_t hosts = job->launch->hosts.count, count = (size_t)job->count;
    job->nodes = calloc(hosts, sizeof *job->nodes);
    for (size_t h = 0; job->nodes && h < hosts; h++)
        job->nodes[h].channel.in = job->nodes[h].channel.out = -1;
    job->polled = calloc(2 * hosts + 2, sizeof *job->polled);
    job->members = calloc(count, sizeof *job->members);
    job->addresses = calloc(count, sizeof *job->addresses);
    if (!job->nodes || !job->polled || !job->members || !job->addresses)
        return error_memory(err);
    for (int rank = 0; rank < job->count; rank++) {
        struct member *member = &job->members[rank];
        member->later = job->ranks->when && job->ranks->when[rank] != LAUNCH_FIRST;
        member->started = !member->later;
        job->first += member->started;
        job->nodes[job->host_of[rank]].ranks += is_wanted(job, rank);
    }
    job->started = job->first;
    launch_said_init(&job->said[0], STDOUT_FILENO);
    launch_said_init(&job->said[1], STDERR_FILENO);
    return true;
}

static bool start_all(struct launch_job *job, struct error *err)
{
    char program[PATH_MAX];
    if (!launch_agent_check(job->launch, program, err))
        return false;
    for (size_t h = 0; h < job->launch->hosts.count; h++) {
        job->nodes[h].gone = job->nodes[h].ranks == 0;
        if (job->nodes[h].ranks > 0 &&
            (!launch_agent_start(job->launch, (int)h, program, &job->nodes[h].agent, &job->nodes[h].channel,
                                 err) ||
             !send_job(job, (int)h, err)))
            return false;
    }
    return true;
}

bool launch_run(const struct launch *launch, const struct launch_ranks *ranks,
                const struct launch_watch *watch, struct error *err)
{
    struct launch_job job = {.launch = launch,
                             .watch = watch,
                             .ranks = ranks,
                             .count = ranks->count,
                             .host_of = ranks->host_of,
                             .err = err};
    sigset_t before;
    hold_signal(&before);
    bool ok = make_job(&job, err) && start_all(&job, err) && wait_for_all(&job, err);
    if (job.nodes)
        end_all(&job);
    for (int which = 0; which < 2; which++)
        ok = launch_said_end(&job.said[which], ok, err) && ok;
    release_signal(&before);
    free(job.nodes);
    free(job.polled);
    free(job.members);
    free(job.addresses);
    if (job.keys)
        explicit_bzero(job.keys, (size_t)job.count * (size_t)(job.count - 1) / 2 * sizeof *job.keys);
    free(job.keys);
    return ok;
}
