/* Failure drills: nodes train together, some are killed or disconnected, and the others go on.
 *
 * Each rank is a node of the plan's cluster. `elastic` decides which instances of the model the nodes form
 * (elastic/instances.h) and how these change when nodes are lost or return (elastic/reconfigure.h). The training is
 * small but real: each part of a layer (a cell of the kit) is a few words, and every numbered sample contributes to
 * each cell. An iteration sums the contributions of its samples over all instances, in messages between the nodes that
 * hold the cell, and changes the cell's words irreversibly. So a lost, duplicated or wrong sample in any iteration, or
 * a wrong copy of a layer, changes the words for good; at the end they are compared with a training without failures,
 * which each rank computes by itself.
 *
 * Why ULFM alone is not enough: only Open MPI 5 has it, it notices a cut cable only with its detector, and its launcher
 * does not always end (docs/drills.md). So the ranks themselves detect losses and agree on them, over sockets or over
 * an MPI that survives lost ranks:
 *
 *   found    A socket closes when its process ends; a disconnected rank is silent for too long (mesh.c, mpi_wire.c).
 *   agreed   A rank that misses another one stops training and sends all others its missing ranks and its iteration. A
 *            rank that hears of another loss adds it and sends its own list again, until all survivors have the same
 *            list. The survivor with the lowest number then sends the next view: its members and the last finished
 *            iteration. A rank that already has that view answers with it, so that a view which only some received
 *            before its author died is not made twice. Ranks that do not hear at least half of the view stop: they are
 *            disconnected.
 *   done     An iteration counts when all ranks have reported it as computed; until then every rank keeps the words of
 *            the iteration before. So if one survivor knows that it counts, all have computed it, and the view says so:
 *            no iteration is done twice.
 *   moved    All ranks call `elastic` with the same numbers and get the same answer. Copies are sent with checksums. A
 *            reconfiguration counts when all ranks have their copies; until then nothing is dropped, and a further loss
 *            begins again from the state before, with all losses together.
 *   joined   A returning node is a new process without state that asks to join: a change of the view without a loss.
 *   saved    Every few iterations, the words of a finished iteration are written into a folder while training goes on
 *            (save.c, saved.h). If a rank that began a checkpoint is lost, the checkpoint stays unfinished, and nobody
 *            reads it.
 *   loaded   If some layers have no copy left, or too few nodes are left for an instance, all processes end, and new
 *            ones are started for the nodes (again.c). Each loads its layers from the last checkpoint and reports which
 *            one; a rank that finds it corrupted reports an earlier one, and all follow, until all have loaded the same
 *            (load.c). A loss during this starts new processes again.
 *
 *   again.c   a drill: runs attempts until one of them is the last
 *   outside.c starts the processes of an attempt, kills them, and ends all
 *   rank.c    one of these processes, with agree.c, move.c, save.c and load.c; train.c is the training
 *
 * Private to run, except for api/run. */
#ifndef REHEARSE_RUN_DRILL_H
#define REHEARSE_RUN_DRILL_H

#include "core/json.h"
#include "elastic/reconfigure.h"
#include "run/launch/launch.h"

#define DRILL_MAX_NODES  256
#define DRILL_MAX_FATES  64
#define DRILL_MAX_EVENTS 24 /* changes of the view whose times are kept */

enum drill_fate_kind { DRILL_KILL, DRILL_CUT, DRILL_RETURN };

/* An injected event: at `time` seconds after the beginning the node is killed, disconnected, or returns. */
struct drill_fate {
    enum drill_fate_kind kind;
    int node;
    double time;
};

struct drill_outcome;

/* The state of a drill that all processes of a further attempt need, after a loss that needed a checkpoint. */
struct drill_again {
    int attempt;    /* 0: the first one */
    double elapsed; /* seconds since the beginning: what was to happen until then has happened */
    uint8_t absent[DRILL_MAX_NODES]; /* nodes without a process */
};

struct drill_options {
    const struct elastic_kit *kit;
    int faults;
    int iterations;
    double time_share;           /* of the seconds of an iteration */
    double byte_share;           /* of the bytes of a layer */
    double silence;              /* seconds until a silent rank is lost */
    double limit;                /* seconds until the drill is ended from outside */
    const struct launch *launch; /* NULL in a rank */
    int number;                  /* of the drill */
    const char *checkpoints;     /* folder; NULL: checkpoints are neither saved nor loaded */
    int save_every;              /* iterations */
    bool fresh;                  /* an existing checkpoint is an error; else it is loaded */
    struct drill_again again;
    double t0;  /* by clock_now, of the first attempt; 0: it has not begun */
    bool alone; /* no process outside kills ranks, as under mpirun: a rank kills itself */
    int fate_count;
    struct drill_fate fates[DRILL_MAX_FATES];
};

/* A change of the view. Times are seconds from the first loss or request to join that this rank heard of. */
struct drill_event {
    int lost, joined;
    bool cut; /* the lost rank was silent; else its process had ended */
    /* seconds from the detection to the next iteration's end that copies and that iteration take by the plan; NAN: a
     * further loss was in between */
    double simulated;
    double found;     /* from the loss to its detection; NAN: the time of the loss is unknown */
    double agreement; /* from the last of these losses to the view */
    double agreed, copied,
        stepped;  /* when the view was agreed on, all copies had arrived, the next iteration was done */
    double bytes; /* copied into this rank */
};

enum drill_verdict {
    DRILL_HANG, /* no rank reported an outcome: ended from outside */
    DRILL_RIGHT,
    DRILL_CHECKPOINT, /* a checkpoint is needed */
    DRILL_NO_SHAPE,   /* no instance fits the remaining nodes */
    DRILL_WRONG,
    DRILL_VERDICTS
};

extern const char *const drill_verdicts[DRILL_VERDICTS];

#define DRILL_MAX_RESTARTS 8 /* restarts whose times are kept */

/* Times from a loss that needed a checkpoint to the end of the first iteration of the new processes. */
struct drill_restart {
    int iterations; /* repeated since the checkpoint */
    double seconds, load;
};

/* The outcome of a drill, as reported by a rank that reached the end. */
struct drill_outcome {
    enum drill_verdict verdict;
    int iterations, nodes_left, views;
    int64_t samples; /* whose numbers were checked */
    int64_t cells;   /* compared with a training that never failed */
    int event_count;
    struct drill_event events[DRILL_MAX_EVENTS];
    int lost; /* nodes, over the whole drill */
    char text[512];
    char note[400]; /* on a checkpoint that was not read or written correctly; "": none */
    /* seconds since the beginning: when the last loss was found; and when the first iteration of this attempt was done.
     * NAN: never */
    double found_at, stepped_at;
    double load;                   /* seconds until all had loaded the same checkpoint */
    int begun_at;                  /* iterations that it had */
    bool present[DRILL_MAX_NODES]; /* nodes, at the end */
    /* of all attempts */
    int restarts, repeated; /* attempts after the first; repeated iterations */
    struct drill_restart times[DRILL_MAX_RESTARTS];
};

/* Runs one drill in processes of its own, and ends all of them. */
bool drill_run(const struct drill_options *options, struct drill_outcome *outcome, struct error *err);

/* Returns the number of ranks of a drill: one for each node, and one for each return. */
int drill_ranks(const struct drill_options *options);

/* Checks that the nodes and returns of a drill do not exceed its limits. */
bool drill_check_size(const struct drill_options *options, struct error *err);

/* In a rank that the launcher has started: plays its part. */
_Noreturn void drill_be_launched(struct drill_options *options, const struct launch_seat *seat,
                                 struct wire *wire);

/* In a rank that mpirun has started, over a wire that may lose ranks: plays its part. Returns whether this rank reports
 * the outcome. */
bool drill_be_one_of_mpi(const struct drill_options *options, struct wire *wire,
                         struct drill_outcome *outcome);

/* Draws the events of drill `number` of a seed: 1 to `faults` nodes (sometimes one more) are killed or disconnected,
 * together or one after the other, also while the others recover or a node joins. `period`: seconds of an iteration as
 * it is played. */
void drill_draw(struct drill_options *options, uint64_t seed, int number, double period);

#endif
