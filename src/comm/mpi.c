/* The module `rehearse-mpi.so`: the table of module.h over MPI. */
#include "comm/module.h"

#include <mpi.h>
#include <stdlib.h>

static bool start(int *rank, int *size)
{
    int provided;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return false;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return provided >= MPI_THREAD_FUNNELED && MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
           MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

static void stop(void)
{
    MPI_Finalize();
}

/* Returns the request; NULL if it could not be begun. */
static MPI_Request *begun(MPI_Request *request, int result)
{
    if (result == MPI_SUCCESS)
        return request;
    free(request);
    return NULL;
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

static void *send(int to, int tag, const void *bytes, int count)
{
    MPI_Request *request = malloc(sizeof *request);
    return request ? begun(request, MPI_Isend(bytes, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, request))
                   : NULL;
}

static void *receive(int from, int tag, void *bytes, int count)
{
    MPI_Request *request = malloc(sizeof *request);
    return request ? begun(request, MPI_Irecv(bytes, count, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from, tag,
                                              MPI_COMM_WORLD, request))
                   : NULL;
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

static bool probe(int tag, int *from)
{
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
        return false;
    *from = status.MPI_SOURCE;
    return true;
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
    .test = test,
    .probe = probe,
};
