#include "comm/comm.h"
#include "core/hash.h"

#include "comm/internal.h"
#include "core/vector.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 30) /* MPI counts with int */

static bool gather_hosts(struct comm *comm, struct error *err)
{
    char(*hosts)[COMM_HOST_SIZE] = comm->hosts;
    gethostname(hosts[comm->rank], COMM_HOST_SIZE - 1);
    int64_t *words = calloc((size_t)comm->size, COMM_HOST_SIZE * sizeof *words);
    if (!words)
        return error_memory(err);
    /* One number per letter; those of other ranks are 0. */
    for (int i = 0; i < COMM_HOST_SIZE; i++)
        words[(size_t)comm->rank * COMM_HOST_SIZE + (size_t)i] = (unsigned char)hosts[comm->rank][i];
    bool ok = comm_reduce_integers(comm, COMM_SUM, words, comm->size * COMM_HOST_SIZE, "the start", err);
    for (int rank = 0; rank < comm->size && ok; rank++)
        for (int i = 0; i < COMM_HOST_SIZE; i++)
            hosts[rank][i] = (char)words[(size_t)rank * COMM_HOST_SIZE + (size_t)i];
    free(words);
    return ok;
}

static bool same_host(const struct comm *comm, int a, int b)
{
    return strcmp(comm->hosts[a], comm->hosts[b]) == 0;
}

static void count_hosts(struct comm *comm)
{
    for (int rank = 0; rank < comm->size; rank++) {
        int before = 0;
        while (before < rank && !same_host(comm, before, rank))
            before++;
        comm->host_count += before == rank;
        comm->local_size += same_host(comm, rank, comm->rank);
        comm->local_rank += rank < comm->rank && same_host(comm, rank, comm->rank);
    }
}

static bool start(struct comm *comm, struct error *err)
{
    comm->size = 1;
    if (comm->calls && !comm->calls->start(&comm->rank, &comm->size))
        return error_set(err, ERROR_FAILED, "MPI cannot start");
    comm->hosts = calloc((size_t)comm->size, sizeof *comm->hosts);
    if (!comm->hosts)
        return error_memory(err);
    if (!gather_hosts(comm, err))
        return false;
    count_hosts(comm);
    return true;
}

struct comm *comm_open_with(const struct comm_calls *calls, double timeout, struct error *err)
{
    struct comm *comm = calloc(1, sizeof *comm);
    if (!comm) {
        error_memory(err);
        return NULL;
    }
    comm->calls = calls;
    comm->timeout = timeout > 0 ? timeout : COMM_TIMEOUT;
    if (start(comm, err))
        return comm;
    comm->broken = true;
    comm_close(comm);
    return NULL;
}

struct comm *comm_open(double timeout, struct error *err)
{
    int launched = comm_launched();
    if (launched == 1)
        return comm_open_with(NULL, timeout, err);
    const struct comm_calls *calls = comm_load_module(err);
    struct comm *comm = calls ? comm_open_with(calls, timeout, err) : NULL;
    if (comm && comm->size != launched) {
        error_set(err, ERROR_FAILED,
                  "the launcher started %d processes, but MPI sees %d: use the launcher of this MPI, or srun "
                  "--mpi=pmix",
                  launched, comm->size);
        comm_close(comm);
        return NULL;
    }
    return comm;
}

void comm_close(struct comm *comm)
{
    if (!comm)
        return;
    if (comm->calls && !comm->broken)
        comm->calls->stop();
    free(comm->hosts);
    free(comm);
}

int comm_rank(const struct comm *comm)
{
    return comm->rank;
}

int comm_size(const struct comm *comm)
{
    return comm->size;
}

const char *comm_host(const struct comm *comm, int rank)
{
    return comm->hosts[rank][0] ? comm->hosts[rank] : "unknown host";
}

int comm_hosts(const struct comm *comm)
{
    return comm->host_count;
}

double comm_timeout(const struct comm *comm)
{
    return comm->timeout;
}

int comm_local_rank(const struct comm *comm)
{
    return comm->local_rank;
}

int comm_local_size(const struct comm *comm)
{
    return comm->local_size;
}

/* Fails if other ranks were lost before. */
static bool usable(const struct comm *comm, const char *what, struct error *err)
{
    return !comm->broken || error_set(err, ERROR_FAILED, "%s: other ranks were lost before", what);
}

bool comm_reduce_integers(struct comm *comm, enum comm_operation operation, int64_t *values, int count,
                          const char *what, struct error *err)
{
    if (comm->size == 1)
        return true;
    return usable(comm, what, err) &&
           comm_await(comm, comm->calls->reduce(values, count, operation), what, err);
}

bool comm_broadcast(struct comm *comm, void *bytes, size_t length, const char *what, struct error *err)
{
    if (comm->size == 1)
        return true;
    if (!usable(comm, what, err))
        return false;
    for (size_t at = 0; at < length; at += PIECE) {
        size_t piece = length - at < PIECE ? length - at : PIECE;
        if (!comm_await(comm, comm->calls->broadcast((char *)bytes + at, (int)piece), what, err))
            return false;
    }
    return true;
}

static bool send_to_first(struct comm *comm, const char *bytes, size_t length, const char *what,
                          struct error *err)
{
    int64_t announced = (int64_t)length;
    if (!comm_await(comm, comm->calls->send(NULL, 0, COMM_TAG_LENGTH, &announced, sizeof announced), what,
                    err))
        return false;
    for (size_t at = 0; at < length; at += PIECE) {
        size_t piece = length - at < PIECE ? length - at : PIECE;
        if (!comm_await(comm, comm->calls->send(NULL, 0, COMM_TAG_BYTES, bytes + at, (int)piece), what, err))
            return false;
    }
    return true;
}

struct buffer {
    char *bytes;
    size_t length, capacity;
};

static bool receive_from(struct comm *comm, int rank, struct buffer *buffer, const char *what,
                         struct error *err)
{
    int64_t announced;
    if (!comm_await(comm, comm->calls->receive(NULL, rank, COMM_TAG_LENGTH, &announced, sizeof announced),
                    what, err))
        return false;
    buffer->length = (size_t)announced;
    if (!VECTOR_ROOM(buffer->bytes, buffer->capacity, buffer->length))
        return error_memory(err);
    for (size_t at = 0; at < buffer->length; at += PIECE) {
        size_t piece = buffer->length - at < PIECE ? buffer->length - at : PIECE;
        if (!comm_await(comm,
                        comm->calls->receive(NULL, rank, COMM_TAG_BYTES, buffer->bytes + at, (int)piece),
                        what, err))
            return false;
    }
    return true;
}

bool comm_gather(struct comm *comm, const void *bytes, size_t length, comm_visit *visit, void *context,
                 const char *what, struct error *err)
{
    if (comm->rank != 0)
        return usable(comm, what, err) && send_to_first(comm, bytes, length, what, err);
    struct buffer buffer = {0};
    bool visited = visit(context, 0, bytes, length, err),
         received = comm->size == 1 || usable(comm, what, err);
    for (int rank = 1; rank < comm->size && received; rank++) {
        struct error ignored;
        received = receive_from(comm, rank, &buffer, what, visited ? err : &ignored);
        if (received && visited)
            visited = visit(context, rank, buffer.bytes, buffer.length, err);
    }
    free(buffer.bytes);
    return visited && received;
}

bool comm_vote(struct comm *comm, bool ok, const char *what, struct error *err)
{
    if (comm->size == 1)
        return ok;
    int64_t failed = ok ? comm->size : comm->rank;
    struct error lost;
    if (!comm_reduce_integers(comm, COMM_MIN, &failed, 1, what, ok ? err : &lost))
        return false;
    if (failed == comm->size)
        return true;
    /* Only rank 0 broadcasts: it has the text from the lowest rank that failed. */
    struct error theirs = {.kind = ERROR_FAILED};
    if (!ok)
        theirs = *err;
    if (failed > 0 && comm->rank == 0 &&
        !comm_await(comm, comm->calls->receive(NULL, (int)failed, COMM_TAG_BYTES, &theirs, sizeof theirs),
                    what, err))
        return false;
    if (failed > 0 && comm->rank == failed &&
        !comm_await(comm, comm->calls->send(NULL, 0, COMM_TAG_BYTES, &theirs, sizeof theirs), what, &lost))
        return false;
    if (!comm_broadcast(comm, &theirs, sizeof theirs, what, ok ? err : &lost))
        return false;
    /* The rank that failed says so, too: the launcher may end the others before they can. */
    return error_set(err, theirs.kind, "rank %" PRId64 " (%s): %s", failed, comm_host(comm, (int)failed),
                     theirs.text);
}

bool comm_same(struct comm *comm, const void *bytes, size_t length, const char *what, struct error *err)
{
    uint64_t own = hash_bytes(0, bytes, length), first = own;
    if (!comm_broadcast(comm, &first, sizeof first, what, err))
        return false;
    bool same = own == first || error_set(err, ERROR_INPUT, "%s differs from rank 0's", what);
    return comm_agree(comm, same, what, err);
}
