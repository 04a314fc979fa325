/* Waiting for other ranks, with an end.
 *
 * A rank whose time is up tells rank 0 (LATE). Rank 0, on this message or late itself, asks every rank
 * (ASK); a rank that waits in a collective answers (HERE), one that does not answer within GRACE is late
 * or dead. Rank 0 then sends the names of the missing ranks to those that wait (VERDICT). If rank 0 itself
 * is missing, no rank is asked. */
#include "comm/internal.h"
#include "core/clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

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

bool comm_await(struct comm *comm, void *request, const char *what, struct error *err)
{
    return await(comm, request, true, what, err);
}

bool comm_await_busily(struct comm *comm, void *request, const char *what, struct error *err)
{
    return await(comm, request, false, what, err);
}
