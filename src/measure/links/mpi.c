/* Messages of MPI, from and to memory of the host. */
#include "measure/links/carrier.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define WHAT "a measured message"

struct over_mpi {
    struct comm *comm;
    char *in, *out;
};

static bool open_group(void *context, int colour, int key, void **group, struct error *err)
{
    struct over_mpi *over = context;
    struct comm_group *made = NULL;
    bool opened = comm_group_open(over->comm, colour, key, "a group to measure", &made, err);
    *group = made;
    return opened;
}

static void close_group(void *context, void *group)
{
    comm_group_close(((struct over_mpi *)context)->comm, group);
}

static enum comm_kind kind_of(enum collective_kind kind)
{
    switch (kind) {
    case COLLECTIVE_ALL_GATHER:
        return COMM_ALL_GATHER;
    case COLLECTIVE_REDUCE_SCATTER:
        return COMM_REDUCE_SCATTER;
    case COLLECTIVE_ALL_TO_ALL:
        return COMM_ALL_TO_ALL;
    default:
        return COMM_ALL_REDUCE;
    }
}

static bool begun(void *request, struct error *err)
{
    return request || error_set(err, ERROR_FAILED, WHAT ": MPI cannot begin it");
}

static bool ping(struct over_mpi *over, void *group, int64_t bytes, struct error *err)
{
    struct comm *comm = over->comm;
    int rank = comm_group_rank(comm, group);
    if (rank > 1)
        return true;
    void *receive = comm_receive(comm, group, 1 - rank, 0, over->out, bytes);
    if (!begun(receive, err) || (rank == 1 && !comm_spin(comm, receive, WHAT, err)))
        return false;
    void *send = comm_send(comm, group, 1 - rank, 0, over->in, bytes);
    return begun(send, err) && comm_spin(comm, send, WHAT, err) &&
           (rank == 1 || comm_spin(comm, receive, WHAT, err));
}

/* Sends and receives so many messages, LINK_STREAMED of them under way at a time. */
static bool stream(struct over_mpi *over, void *group, int64_t bytes, int64_t sends, int64_t receives,
                   struct error *err)
{
    struct comm *comm = over->comm;
    int other = 1 - comm_group_rank(comm, group);
    void *requests[2][LINK_STREAMED] = {{0}};
    for (int64_t sent = 0, received = 0; sent < sends || received < receives;) {
        /* The oldest of each direction is waited for, the others go on meanwhile. */
        for (int i = 0; i < LINK_STREAMED; i++) {
            void **send = &requests[0][i], **receive = &requests[1][i];
            if (*receive && !comm_spin(comm, *receive, WHAT, err))
                return false;
            *receive = NULL;
            if (*send && !comm_spin(comm, *send, WHAT, err))
                return false;
            *send = NULL;
            if (received < receives) {
                received++;
                if (!begun(*receive = comm_receive(comm, group, other, 1, over->out, bytes), err))
                    return false;
            }
            if (sent < sends) {
                sent++;
                if (!begun(*send = comm_send(comm, group, other, 1, over->in, bytes), err))
                    return false;
            }
        }
    }
    for (int i = 0; i < 2 * LINK_STREAMED; i++)
        if (requests[i / LINK_STREAMED][i % LINK_STREAMED] &&
            !comm_spin(comm, requests[i / LINK_STREAMED][i % LINK_STREAMED], WHAT, err))
            return false;
    return true;
}

/* The sender waits for a word that all has arrived. */
static bool stream_one_way(struct over_mpi *over, void *group, int64_t bytes, int64_t count,
                           struct error *err)
{
    struct comm *comm = over->comm;
    int rank = comm_group_rank(comm, group);
    if (!stream(over, group, bytes, rank == 0 ? count : 0, rank == 1 ? count : 0, err))
        return false;
    void *word =
        rank == 1 ? comm_send(comm, group, 0, 2, over->in, 0) : comm_receive(comm, group, 1, 2, over->out, 0);
    return begun(word, err) && comm_spin(comm, word, WHAT, err);
}

static bool overlap(struct over_mpi *over, void *group, const struct link_work *work, struct error *err)
{
    struct comm *comm = over->comm;
    int other = 1 - comm_group_rank(comm, group);
    void *requests[2] = {comm_receive(comm, group, other, 3, over->out, work->bytes),
                         comm_send(comm, group, other, 3, over->in, work->bytes)};
    if (!begun(requests[0], err) || !begun(requests[1], err))
        return false;
    int64_t piece = work->poll > 0 ? work->poll : work->loops;
    for (int64_t done = 0; done < work->loops; done += piece) {
        link_compute(piece);
        if (work->poll > 0 && comm_poll(comm, requests, 2, NULL) < 0)
            return error_set(err, ERROR_FAILED,
                             WHAT ": MPI says that the connection to another rank is lost");
    }
    return (!requests[0] || comm_spin(comm, requests[0], WHAT, err)) &&
           (!requests[1] || comm_spin(comm, requests[1], WHAT, err));
}

static bool collect(struct over_mpi *over, void *group, const struct link_work *work, struct error *err)
{
    void *request = comm_collect(over->comm, group, kind_of(work->kind), over->in, over->out, work->bytes);
    return begun(request, err) && comm_spin(over->comm, request, "a measured collective", err);
}

static bool perform_work(void *context, void *group, const struct link_work *work, int64_t count,
                         struct error *err)
{
    struct over_mpi *over = context;
    bool sends = work->task == LINK_COLLECTIVE && work->kind == COLLECTIVE_SEND;
    bool first = comm_group_rank(over->comm, group) < 2;
    bool ok = true;
    if (work->task == LINK_STREAM && first)
        return stream_one_way(over, group, work->bytes, LINK_STREAMED * count, err);
    if (work->task == LINK_BOTH && first)
        return stream(over, group, work->bytes, LINK_STREAMED * count, LINK_STREAMED * count, err);
    for (int64_t i = 0; i < count && ok; i++) {
        if (work->task == LINK_OVERLAP)
            ok = !first || overlap(over, group, work, err);
        else if (work->task == LINK_COLLECTIVE)
            ok = sends ? ping(over, group, work->bytes, err) : collect(over, group, work, err);
    }
    return ok;
}

static void release(void *context)
{
    struct over_mpi *over = context;
    free(over->in);
    free(over->out);
    free(over);
}

bool carrier_open_mpi(struct carrier *carrier, struct comm *comm, int64_t bytes, struct error *err)
{
    struct over_mpi *over = calloc(1, sizeof *over);
    if (over)
        *over = (struct over_mpi){comm, malloc((size_t)bytes), malloc((size_t)bytes)};
    bool made = (over && over->in && over->out) || error_memory(err);
    if (!comm_agree(comm, made, "memory for messages", err)) {
        if (over)
            release(over);
        return false;
    }
    *carrier = (struct carrier){.name = "mpi",
                                .context = over,
                                .open = open_group,
                                .close = close_group,
                                .run = perform_work,
                                .release = release};
    /* Every page is the process' own before anything is measured; sums of zeros stay zero. */
    memset(over->in, 0, (size_t)bytes);
    memset(over->out, 0, (size_t)bytes);
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); /* nanoseconds: comm_spin sleeps for some microseconds */
    return true;
}
