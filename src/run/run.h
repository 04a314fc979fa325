/* Plays a plan: the ranks of a run emulate its devices and send real messages.
 *
 * Design. `rehearse simulate` turns a plan into tasks (passes, messages, collectives, loads, saves), and an engine
 * computes when each of them begins and ends. A run executes the same list of tasks (sim/tasks.h) with the same order,
 * dependencies and bytes. So every plan and schedule that is simulated by layers can be played, and a difference in
 * time comes from the machine, not from the order.
 *
 *   game.c        a run: what ranks tell each other before and after it; makes tasks, prices links, compares clocks,
 *                 starts all ranks at one time, collects results on rank 0
 *   player.c      devices as state machines, many of them in one thread (player.h: rules of time)
 *   message.c     messages between devices
 *   collective.c  collectives, around rings of ranks
 *   compute.c     computes kernels, and a thread for long operations
 *   disk.c        reads samples and writes checkpoints
 *   need.c        compares the memory of the buffers with the hosts' free memory
 *   price.c       emulated links
 *   report.c      results that ranks send to rank 0: counts, ends, lateness, and the tasks for the timeline
 *   wire.h        messages between ranks: sockets (mesh.c) or MPI (mpi_wire.c)
 *   launch/       starts ranks on this host, without MPI, and ends them
 *   drill/        training that goes on when ranks are killed or disconnected
 *
 * Every rank makes the same tasks from the same plan; ranks compare a hash of it before they start.
 *
 * Each task is checked against the schedule: a message has one sender, one receiver, a micro-batch and a length; a
 * collective's sum is that of its members; activations are stored and freed as often as the order says, and their peak
 * equals the engine's to the byte. */
#ifndef REHEARSE_RUN_RUN_H
#define REHEARSE_RUN_RUN_H

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "plan/plan.h"
#include "run/wire.h"
#include "sim/play.h"

/* The minimum time of transfers: the plan's; that of a latency and bandwidth; or none beside the hosts' network. */
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
    int per_rank; /* devices of a rank; 0: as many as needed */
    double byte_share;
    struct run_link link;
    const struct run_kernels *kernels;     /* to compute (compute.h); NULL: kernels end at deadlines */
    const struct run_disk *disk;           /* reads samples, writes checkpoints (disk.h); NULL: none */
    double timeout;                        /* seconds without progress after which the run fails */
    const struct timeline_sink *sink;      /* on rank 0; NULL: none */
    const struct timeline_sink *simulated; /* gets the simulated tasks; NULL: none */
};

/* Sums over the ranks. All members are numbers of 64 bits. */
struct run_counts {
    int64_t tasks, messages, collectives_checked;
    int64_t bytes;                 /* of messages between devices */
    int64_t wire_bytes;            /* between ranks */
    int64_t copied_bytes;          /* within ranks */
    int64_t samples, sample_bytes; /* read from a data set */
    int64_t files, file_bytes;     /* of checkpoints */
    int64_t kept;                  /* activations kept, and freed */
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
    struct run_counts counts;
    int64_t memory;  /* bytes of the fullest rank for one device, beside buffers */
    int64_t buffers; /* bytes of buffers of the fullest rank */
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
