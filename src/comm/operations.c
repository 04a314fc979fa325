#include "comm/comm.h"
#include "comm/internal.h"
#include "comm/load.h"
#include "comm/module.h"
#include "core/clock.h"
#include "core/features.h"
#include "core/hash.h"
#include "core/vector.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number of processes that a launcher started, and the module that connects them. */

#define MODULE "rehearse-mpi.so"

/* Variables of launchers: Open MPI's mpirun; MPICH's, and srun --mpi=pmi2; srun alone. SLURM_NTASKS is no
 * sign of several processes, as a batch script has it, too. */
static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

int comm_launched(void)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *text = getenv(counts[i]);
        char *end;
        long count = text ? strtol(text, &end, 10) : 0;
        if (count > 0 && *end == 0 && count <= INT_MAX)
            return (int)count;
    }
    return 1;
}

#ifdef REHEARSE_HAVE_MPI

/* With global symbols: libmpi looks up its own parts among them. */
static void *open_module(struct error *err)
{
    static const struct module_place place = {
        .file = MODULE,
        .variable = "REHEARSE_MPI_MODULE",
        .from_bin = REHEARSE_MPI_MODULE_FROM_BIN,
        .flags = RTLD_NOW | RTLD_GLOBAL,
    };
    char why[800];
    void *module = module_load(&place, why, sizeof why);
    if (!module)
        error_set(err, ERROR_FAILED, "started as one of %d processes, but cannot load MPI: %s",
                  comm_launched(), why);
    return module;
}

/* The module's table. NULL: *err says why not. */
static const struct comm_calls *comm_load_module(struct error *err)
{
    void *module = open_module(err);
    if (!module)
        return NULL;
    const struct comm_calls *calls = dlsym(module, COMM_MODULE_SYMBOL);
    if (calls && calls->version == COMM_MODULE_VERSION)
        return calls;
    return error_null(err, ERROR_FAILED, "%s belongs to another version of rehearse", MODULE);
}

#else

const struct comm_calls *comm_load_module(struct error *err)
{
    return error_null(err, ERROR_FAILED,
                      "started as one of %d processes, but this rehearse was built without MPI: start one",
                      comm_launched());
}

#endif

/* Waiting for other ranks, with an end.
 *
 * A rank whose time is up tells rank 0 (LATE). Rank 0, on this message or late itself, asks every rank
 * (ASK); a rank that waits in a collective answers (HERE), one that does not answer within GRACE is late
 * or dead. Rank 0 then sends the names of the missing ranks to those that wait (VERDICT). If rank 0 itself
 * is missing, no rank is asked. */

#define GRACE        1.0    /* seconds that an answer may take */
#define LISTEN       0.01   /* between two looks for such messages */
#define SPIN         20e-6  /* without sleep */
#define BUSY         500e-6 /* the same where microseconds count: a longer wait may miss some */
#define MIN_SLEEP    20000  /* nanoseconds */
#define MAX_SLEEP    200000 /* maximum delay of noticing a meeting of many hosts */
#define MESSAGE_SIZE 900
#define NAMED        8 /* ranks, the others are counted */

/* Outlives its sends: the run is over, and a dead rank never fetches its message. */
static char outgoing[MESSAGE_SIZE];

static void tell(struct comm *comm, int to, int tag)
{
    (void)comm->calls->send(NULL, to, tag, outgoing, MESSAGE_SIZE);
}

static bool fetch(struct comm *comm, int from, int tag, char message[MESSAGE_SIZE])
{
    void *request = comm->calls->receive(NULL, from, tag, message, MESSAGE_SIZE);
    enum comm_state state = COMM_BROKEN;
    double end = clock_now() + GRACE;
    while (request && (state = comm->calls->test(request)) == COMM_PENDING && clock_now() < end)
        clock_sleep(MIN_SLEEP);
    message[MESSAGE_SIZE - 1] = 0;
    return state == COMM_DONE;
}

/* Adds "rank 2 (host)" for each rank that has not answered. */
static void name_missing(const struct comm *comm, const bool *here, char *text, size_t size)
{
    int missing = 0;
    size_t length = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        if (here[rank])
            continue;
        if (++missing <= NAMED && length < size)
            length += (size_t)snprintf(text + length, size - length, "%srank %d (%s)",
                                       missing > 1 ? ", " : "", rank, comm_host(comm, rank));
    }
    if (missing > NAMED && length < size)
        snprintf(text + length, size - length, " and %d more", missing - NAMED);
    if (missing == 0)
        snprintf(text, size, "messages: all ranks wait, but none reaches another over the network");
}

/* Finds the missing ranks and tells the others. On rank 0. */
static bool find_missing(struct comm *comm, double waited, const char *what, struct error *err)
{
    bool *here = calloc((size_t)comm->size, sizeof *here);
    char message[MESSAGE_SIZE], missing[MESSAGE_SIZE - 200];
    if (!here)
        return error_memory(err);
    here[0] = true;
    for (int rank = 1; rank < comm->size; rank++)
        tell(comm, rank, COMM_TAG_ASK);
    for (double end = clock_now() + GRACE; clock_now() < end; clock_sleep(MAX_SLEEP))
        for (int from; comm->calls->probe(COMM_TAG_HERE, &from) && fetch(comm, from, COMM_TAG_HERE, message);)
            here[from] = true;
    name_missing(comm, here, missing, sizeof missing);
    snprintf(outgoing, sizeof outgoing, "%.100s: waited %.0f s for %s", what, waited, missing);
    for (int rank = 1; rank < comm->size; rank++)
        if (here[rank])
            tell(comm, rank, COMM_TAG_VERDICT);
    free(here);
    return error_set(err, ERROR_FAILED, "%s", outgoing);
}

/* Handles messages of other ranks. True: the wait is over, with the reason in *err. */
static bool listen(struct comm *comm, double started, const char *what, struct error *err)
{
    char message[MESSAGE_SIZE];
    int from;
    if (comm->rank == 0 && comm->calls->probe(COMM_TAG_LATE, &from)) {
        find_missing(comm, clock_now() - started, what, err);
        return true;
    }
    if (comm->rank != 0 && comm->calls->probe(COMM_TAG_ASK, &from) && fetch(comm, 0, COMM_TAG_ASK, message))
        tell(comm, 0, COMM_TAG_HERE);
    if (comm->rank != 0 && comm->calls->probe(COMM_TAG_VERDICT, &from) &&
        fetch(comm, 0, COMM_TAG_VERDICT, message)) {
        error_set(err, ERROR_FAILED, "%s", message);
        return true;
    }
    return false;
}

/* Ends a wait whose time is up. */
static bool give_up(struct comm *comm, double started, const char *what, struct error *err)
{
    if (comm->rank == 0)
        return find_missing(comm, clock_now() - started, what, err);
    tell(comm, 0, COMM_TAG_LATE);
    for (double end = clock_now() + 3 * GRACE; clock_now() < end; clock_sleep(MAX_SLEEP))
        if (listen(comm, started, what, err))
            return false;
    return error_set(err, ERROR_FAILED, "%s: waited %.0f s; rank 0 (%s) did not arrive and does not answer",
                     what, clock_now() - started, comm_host(comm, 0));
}

static bool await(struct comm *comm, void *request, bool sleeps, const char *what, struct error *err)
{
    double started = clock_now(), listened = started;
    long sleep = MIN_SLEEP;
    enum comm_state state = COMM_BROKEN;
    while (request && (state = comm->calls->test(request)) == COMM_PENDING) {
        double time = clock_now();
        if (time - listened > LISTEN) {
            listened = time;
            if (listen(comm, started, what, err)) {
                comm->broken = true;
                return false;
            }
        }
        if (time - started > comm->timeout) {
            comm->broken = true;
            return give_up(comm, started, what, err);
        }
        if (time - started <= SPIN)
            continue;
        if (!sleeps && time - started <= BUSY) {
            sched_yield(); /* several ranks may share this processor */
        } else if (!sleeps) {
            clock_sleep(MIN_SLEEP); /* who sleeps is woken before those who have computed all the time */
        } else {
            clock_sleep(sleep);
            sleep = 2 * sleep < MAX_SLEEP ? 2 * sleep : MAX_SLEEP;
        }
    }
    if (state == COMM_DONE)
        return true;
    comm->broken = true;
    return error_set(err, ERROR_FAILED, "%s: MPI says that the connection to another rank is lost", what);
}

static bool comm_await(struct comm *comm, void *request, const char *what, struct error *err)
{
    return await(comm, request, true, what, err);
}

bool comm_await_busily(struct comm *comm, void *request, const char *what, struct error *err)
{
    return await(comm, request, false, what, err);
}

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
    if (!comm)
        return error_memory_null(err);
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
