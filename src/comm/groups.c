#include "comm/group.h"

#include "comm/internal.h"
#include "core/clock.h"

#include <stdlib.h>
#include <string.h>

struct comm_group {
    void *handle; /* the module's; NULL: one process */
    int rank, size;
};

/* The request of what one process has done at once. */
static char at_once;

bool comm_group_open(struct comm *comm, int colour, int key, const char *what, struct comm_group **group,
                     struct error *err)
{
    *group = calloc(1, sizeof **group);
    bool ok = comm_agree(comm, *group || error_memory(err), what, err);
    if (ok && colour >= 0 && !comm->calls)
        (*group)->size = 1;
    else if (ok && comm->calls)
        ok = comm->calls->split(colour, key, &(*group)->handle, &(*group)->rank, &(*group)->size) ||
             error_set(err, ERROR_FAILED, "%s: MPI cannot make a group: the connection to a rank is lost",
                       what);
    if (ok && colour >= 0)
        return true;
    free(*group);
    *group = NULL;
    return ok;
}

void comm_group_close(struct comm *comm, struct comm_group *group)
{
    if (group && group->handle && !comm->broken)
        comm->calls->drop(group->handle);
    free(group);
}

int comm_group_rank(const struct comm *comm, const struct comm_group *group)
{
    return group ? group->rank : comm->rank;
}

int comm_group_size(const struct comm *comm, const struct comm_group *group)
{
    return group ? group->size : comm->size;
}

static void *handle_of(const struct comm_group *group)
{
    return group ? group->handle : NULL;
}

void *comm_collect(struct comm *comm, struct comm_group *group, enum comm_kind kind, const void *in,
                   void *out, int64_t bytes)
{
    int size = comm_group_size(comm, group);
    bool sums = kind == COMM_ALL_REDUCE || kind == COMM_REDUCE_SCATTER;
    bool cut = kind == COMM_ALL_GATHER || kind == COMM_REDUCE_SCATTER || kind == COMM_ALL_TO_ALL;
    int64_t unit = (sums ? (int64_t)sizeof(float) : 1) * (cut ? size : 1);
    if (bytes < 0 || bytes > COMM_MAX_BYTES || bytes % unit != 0)
        return NULL;
    if (comm->calls)
        return comm->calls->collect(handle_of(group), kind, in, out, (int)(bytes / unit));
    if (in && in != out && bytes > 0 && kind != COMM_BROADCAST)
        memcpy(out, in, (size_t)bytes);
    return &at_once;
}

void *comm_send(struct comm *comm, struct comm_group *group, int to, int tag, const void *bytes,
                int64_t length)
{
    if (!comm->calls || length < 0 || length > COMM_MAX_BYTES)
        return NULL;
    return comm->calls->send(handle_of(group), to, COMM_TAG_FREE + tag, bytes, (int)length);
}

void *comm_receive(struct comm *comm, struct comm_group *group, int from, int tag, void *bytes,
                   int64_t length)
{
    if (!comm->calls || length < 0 || length > COMM_MAX_BYTES)
        return NULL;
    return comm->calls->receive(handle_of(group), from, COMM_TAG_FREE + tag, bytes, (int)length);
}

int comm_poll(struct comm *comm, void **requests, int count, enum comm_state *states)
{
    if (comm->calls)
        return comm->calls->test_some(requests, count, states);
    for (int i = 0; i < count; i++) {
        requests[i] = NULL;
        if (states)
            states[i] = COMM_DONE;
    }
    return 0;
}

bool comm_spin(struct comm *comm, void *request, const char *what, struct error *err)
{
    return request == &at_once || comm_await_busily(comm, request, what, err);
}

bool comm_may_lose(const struct comm *comm, struct error *err)
{
    const char *why = !comm->calls                ? "there is one rank"
                      : !comm->calls->cannot_lose ? "this MPI module does not report lost ranks"
                                                  : comm->calls->cannot_lose();
    return !why || error_set(err, ERROR_FAILED, "ranks cannot be lost one by one: %s", why);
}

int comm_failed(struct comm *comm, int *ranks, int room)
{
    return comm->calls && comm->calls->failed ? comm->calls->failed(ranks, room) : 0;
}

void comm_agree_to_leave(struct comm *comm, double seconds)
{
    double end = clock_now() + seconds;
    void *request = comm->calls && comm->calls->agree ? comm->calls->agree() : NULL;
    while (request && comm->calls->test(request) == COMM_PENDING && clock_now() < end)
        clock_sleep(CLOCK_SECOND / 1000);
}
