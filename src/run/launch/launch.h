/* Ranks of this host, for `rehearse run --ranks` and for drills. On several hosts mpirun or srun starts ranks
 * (comm/comm.h).
 *
 *   launcher.c  in the caller's process: starts the ranks, connects them, kills them, and ends all
 *   seat.c      in a rank: takes what the launcher sends
 *   note.h      what goes between them
 *
 * Nothing listens, and there are no keys, ports or files: ranks are connected by pairs of sockets that the launcher
 * makes and hands to both, also when a rank comes later. So only processes that the launcher has started can be a rank.
 *
 * Lost parents: a rank whose launcher dies gets SIGTERM, also one that is stopped.
 *
 * Private to run, except for api/run. */
#ifndef REHEARSE_RUN_LAUNCH_H
#define REHEARSE_RUN_LAUNCH_H

#include "run/wire.h"

#define LAUNCH_MAX_NOTE 1024

struct launch {
    char *const *words; /* that each rank runs: "run", "plan.json", … */
    int word_count;
    double timeout; /* seconds until all ranks must be connected */
};

struct launch_job;

enum launch_when { LAUNCH_FIRST, LAUNCH_LATER, LAUNCH_NEVER };

/* The ranks of a job. `when` (NULL: all are there from the beginning): others are started by launch_start, or have only
 * a number. `number` and `note` are handed to all of them. */
struct launch_ranks {
    int count;
    const uint8_t *when;
    int number;
    const void *note;
    size_t note_length;
};

/* Of the launcher. */
struct launch_watch {
    void *context;
    double (*begins)(void *context); /* ranks are connected: when they begin, by clock_now; NULL: now */
    void (*tick)(void *context, struct launch_job *job); /* again and again; NULL: never */
    /* Part of what a rank has to tell, LAUNCH_PIECE bytes at once; NULL: nothing is expected. */
    void (*result)(void *context, int rank, const void *bytes, size_t length);
    double limit;  /* seconds from the start until the ranks are killed; INFINITY: none */
    bool survives; /* ranks may be lost: how they end says nothing */
};

/* Starts ranks and waits for them. They print where this process does. False: a rank failed, and the error is the first
 * one's; or its caller wishes an end (core/stop.h). All that was started has ended when it returns. */
bool launch_run(const struct launch *launch, const struct launch_ranks *ranks,
                const struct launch_watch *watch, struct error *err);
void launch_kill(struct launch_job *job, int rank); /* SIGKILL */
void launch_start(struct launch_job *job,
                  int rank);             /* one for later; those that are there are connected to it */
void launch_end(struct launch_job *job); /* all ranks are ended */

/* ---- in a rank ---- */

#define LAUNCH_PIECE 32768 /* bytes: less than a socket's queue holds */

struct launch_seat {
    int rank, size, number;
    double start; /* by clock_now: when the launcher let the first ranks begin */
    size_t note_length;
    char note[LAUNCH_MAX_NOTE];
};

/* Returns whether this process was started by a launcher. */
bool launch_is_rank(void);

/* Takes the rank's seat. `silence` is the mesh's. Returns when all ranks of the job are connected, or where this one
 * comes later, when it is connected to those that are there. */
struct wire *launch_join(struct launch_seat *seat, double silence, double timeout, struct error *err);

/* Of ranks to which others may come later: takes the connections to those. Nothing happens in a process that is no such
 * rank. */
void launch_attend(struct wire *wire);

/* Tell the launcher; nothing happens in a process that is no such rank. */
bool launch_tell_result(const void *bytes, size_t length);
void launch_tell_failure(const struct error *why); /* before this rank ends */

#endif
