/* Starts ranks without mpirun: on this host for `rehearse run`, on several hosts for `rehearse launch`.
 *
 *   launcher.c  on the user's host: starts one node per host through an agent (ssh), and ends all of them
 *   node.c      on each host: starts this host's ranks, kills them on request or when the launcher is silent
 *   seat.c      in a rank: reads the rank's start data from its node, and connects it with all other ranks
 *   hosts.c     the list of hosts, and which address of a host its ranks use
 *   channel.h   frames over the pipes and sockets between them
 *
 * Words, keys and addresses go over the standard input of the agents and never stand on a command line; an agent gets only the host's name
 * and three words of a fixed form, so that no shell interprets user input.
 *
 * Ranks listen on one address of their host until all of them are connected. For each pair of ranks there are two keys, drawn by the launcher
 * and valid once: the connecting rank must send the first, the accepting rank the second. Other connections are closed.
 *
 * Lost parents: a node whose launcher is lost (its standard input ends, or is silent for LAUNCH_SILENCE) ends its ranks; a rank
 * whose node dies gets SIGTERM; an agent whose launcher dies gets SIGKILL.
 *
 * Private to run, except for api/run. */
#ifndef REHEARSE_RUN_LAUNCH_H
#define REHEARSE_RUN_LAUNCH_H

#include "run/wire.h"

#define LAUNCH_MAX_HOSTS 1024
#define LAUNCH_NAME      128 /* bytes of a host's name, with its NUL */

struct launch_host {
    char name[LAUNCH_NAME]; /* as for ssh: may begin with "user@" */
    int slots;              /* ranks that fit; 0: not given */
};

struct launch_hosts {
    struct launch_host *hosts; /* malloc'ed */
    size_t count, capacity;
};

/* Reads "a,b:2", or a file with a host on each line: "a", "a:2" or "a slots=2"; # begins a comment. */
bool launch_hosts_parse(struct launch_hosts *hosts, const char *text, struct error *err);
bool launch_hosts_load(struct launch_hosts *hosts, const char *path, struct error *err);
bool launch_hosts_read(struct launch_hosts *hosts, const char *text, size_t length, const char *name,
                       struct error *err);
void launch_hosts_release(struct launch_hosts *hosts);

/* Puts `count` ranks on the hosts, neighbours together: host_of[rank] is set. More ranks than slots is an error, where slots are given. */
bool launch_place(const struct launch_hosts *hosts, int count, int *host_of, struct error *err);

struct launch {
    struct launch_hosts hosts;
    bool local;          /* one host, this one: ranks are connected by sockets that no other host can reach */
    const char *agent;   /* NULL: ssh; "none": nodes are started on this host */
    const char *program; /* rehearse on the hosts; NULL: as here */
    const char *
        network; /* "10.0.0.0/24": ranks have the address of their host there; NULL: that of the host's name */
    char *const *words; /* that each rank runs: "run", "plan.json", … */
    int word_count;
    double timeout; /* seconds until all ranks must be connected */
};

struct launch_job;

#define LAUNCH_MAX_NOTE 1024

enum launch_when { LAUNCH_FIRST, LAUNCH_LATER, LAUNCH_NEVER };

/* The ranks of a job. `when` (NULL: all are there from the beginning): others are started by launch_start, or have only a number. `number` and
 * `note` are handed to all of them. */
struct launch_ranks {
    int count;
    const int *host_of;
    const uint8_t *when;
    int number;
    const void *note;
    size_t note_length;
};

/* Of the launcher. */
struct launch_watch {
    void *context;
    double (*begins)(
        void *context); /* ranks are connected and go now: seconds since their beginning; NULL: 0 */
    void (*tick)(void *context, struct launch_job *job); /* again and again; NULL: never */
    void (*result)(void *context, int rank, const void *bytes, size_t length); /* NULL: none is expected */
    void (*print)(void *context, bool error, const char *bytes,
                  size_t length); /* gets the output of a rank */
    double limit;                 /* seconds from the start until the ranks are killed; INFINITY: none */
    bool survives;                /* ranks may be lost: how they end says nothing */
};

/* Makes the launch one of ranks on this host. False: no memory. */
bool launch_here(struct launch *launch, struct error *err);

/* Starts ranks on the hosts and waits for them. False: a rank failed, and the error is the first one's; or its caller wishes an end (core/stop.h). All
 * that was started has ended when it returns. */
bool launch_run(const struct launch *launch, const struct launch_ranks *ranks,
                const struct launch_watch *watch, struct error *err);
void launch_kill(struct launch_job *job, int rank);  /* SIGKILL */
void launch_start(struct launch_job *job, int rank); /* one for later; those that are there connect to it */
void launch_end(struct launch_job *job);             /* all ranks are ended */

/* On a host, by an agent: obeys the launcher until it ends. */
bool launch_be_node(struct error *err);

/* ---- in a rank ---- */

struct launch_seat {
    int rank, size, number;
    int host_of[WIRE_MAX_RANKS];
    struct launch_hosts hosts; /* their names */
    double start;              /* clock_now at the beginning: when the launcher let the first ranks go */
    size_t note_length;
    char note[LAUNCH_MAX_NOTE];
};

/* Returns whether this process was started by a node. */
bool launch_is_rank(void);

/* Takes the rank's seat and connects it with all others that are there; `silence` is the mesh's. Returns when all ranks of the job are connected,
 * or where this one comes later, when those have come that did so within `silence`. */
struct wire *launch_join(struct launch_seat *seat, double silence, double timeout, struct error *err);

/* Of ranks to which others may come later: connects with those, in between. Nothing happens in a process that is no such rank. */
void launch_attend(struct wire *wire);

/* Tell the launcher; nothing happens in a process that is no such rank. */
bool launch_tell_result(const void *bytes, size_t length);
void launch_tell_failure(const struct error *why); /* before this rank ends */

#endif
