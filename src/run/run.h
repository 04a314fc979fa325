/* A plan is played: its devices are emulated by the ranks of a run, which send real messages.
 *
 * Design. `rehearse simulate` turns a plan into tasks (passes, messages, collectives, loads, saves) and gives them to an engine that
 * computes when each one begins and ends. A run does these same tasks (sim/tasks.h) instead: there is no second idea of an order, of
 * what waits for what, or of how many bytes go where. What is simulated and what is played are the same list, so that every plan and
 * schedule that simulate plays by layers is played here, and a difference of seconds is one of the machine, not of the order.
 *
 *   game.c        a run: tasks are made, links priced, clocks compared; all start at one time; results come together on rank 0
 *   player.c      devices as state machines, many of them in one thread (player.h: rules of time)
 *   message.c     messages between devices
 *   collective.c  collectives, around rings of ranks
 *   compute.c     kernels that are computed
 *   disk.c        samples that are read, and checkpoints that are written
 *   worker.c      a thread for what takes long
 *   need.c        memory that buffers need, and that there is
 *   price.c       links that are emulated
 *   report.c      what ranks tell rank 0: counts, ends, lateness, and the tasks for the timeline
 *   wire.h        messages between ranks: sockets (mesh.c) or MPI (mpi_wire.c); talk.c is what ranks say before and after
 *   launch/       starts ranks, on this host and on others, and ends what it has started
 *   drill/        training whose ranks are killed or cut off, and which goes on
 *
 * Every rank makes the same tasks from the same plan; ranks compare a hash of it before they start.
 *
 * Each task is checked against the schedule: a message has one sender, one receiver, a micro-batch and a length; a collective's sum is
 * that of its members; activations are kept and freed as often as the order says, and their peak is the engine's to the byte. */
#ifndef REHEARSE_RUN_RUN_H
#define REHEARSE_RUN_RUN_H

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "plan/plan.h"
#include "run/wire.h"
#include "sim/play.h"

/* Links that are emulated: transfers take no less than what the plan says; than these numbers; or only what the hosts' network
 * takes. */
enum run_link_kind { RUN_LINK_PLAN, RUN_LINK_GIVEN, RUN_LINK_HOST };

struct run_link {
    enum run_link_kind kind;
    double latency, bandwidth; /* seconds, bytes/s; bandwidth 0: none is added */
};

struct run_kernels;
struct run_disk;

struct run_options {
    const struct sim_options *sim; /* schedule, loads and saves, jitter, straggler */
    int iterations;
    int per_rank; /* devices; 0: as many as needed */
    double byte_share;
    struct run_link link;
    const struct run_kernels *kernels;     /* that are computed (compute.h); NULL: they end at deadlines */
    const struct run_disk *disk;           /* samples and checkpoints that are real (disk.h); NULL: none */
    double timeout;                        /* seconds without anything happening until a run is given up */
    const struct timeline_sink *sink;      /* on rank 0; NULL: none */
    const struct timeline_sink *simulated; /* in the same way, of what is simulated */
};

/* Seconds are those of one iteration; a median where there are several. */
struct run_result {
    struct arena arena;
    int ranks, devices, per_rank, iterations;
    const char *model; /* the plan's; NULL: it names none */
    const char *schedule;
    const char *computed; /* by this library; NULL: kernels ended at deadlines */
    double planned;       /* by the plan's formula; NAN: the plan does not say */
    double expected;      /* by the formula and known runs; NAN: likewise */
    double simulated, played;
    double *ends[2]; /* of each iteration, from the beginning: simulated, played */
    double kernels_planned, kernels_wall, kernels_processor; /* seconds of all kernels that were computed */
    double wall, processor;                 /* seconds of all iterations; of all ranks' processors */
    double late_median, late_p99, late_max; /* of tasks that were due, seconds */
    double clock_drift; /* of a rank's clock, at most, that was corrected; seconds a second */
    double clock_error; /* of the ranks' clocks, at most */
    int64_t tasks, messages, collectives_checked;
    int64_t bytes;                 /* of messages between devices */
    int64_t wire_bytes;            /* between ranks */
    int64_t copied_bytes;          /* within ranks */
    int64_t samples, sample_bytes; /* read from a data set */
    int64_t files, file_bytes;     /* of checkpoints */
    int64_t kept;                  /* activations kept, and freed */
    int64_t memory;                /* bytes of the fullest rank for one device, beside buffers */
    int64_t buffers;               /* bytes of buffers of the fullest rank */
};

/* Plays the plan. All ranks call it with the same plan and options; the result is rank 0's, which releases it with
 * run_result_release. Others get true when rank 0 has everything. */
bool run_play(struct wire *wire, struct plan *plan, const struct run_options *options,
              struct run_result *result, struct error *err);
void run_result_release(struct run_result *result);

void run_print(const struct run_result *result, struct text *out);
void run_write_json(const struct run_result *result, struct json *json);

/* A result as bytes, from rank 0 to the launcher, which is of the same build. */
void run_result_pack(const struct run_result *result, struct text *out);
bool run_result_unpack(struct run_result *result, const void *bytes, size_t length, struct error *err);

/* Reads "plan", "host" or "latency=20us,bandwidth=10GB/s". */
bool run_link_read(struct run_link *link, const char *text, struct error *err);

#endif
