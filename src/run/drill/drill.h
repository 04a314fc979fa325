/* Failure drills: nodes train together, some are killed or cut off, and the others go on.
 *
 * A rank is a node of the plan's cluster; `elastic` says which instances of the model the nodes form (elastic/instances.h) and what becomes
 * of them when nodes are lost or return (elastic/reconfigure.h). What is trained is small but real: a layer's part (a cell of the
 * kit) is some words; a sample with a number contributes to each cell; an iteration adds up, over all instances, what the samples of the
 * iteration contribute, in messages between the nodes that hold the cell, and changes its words in a way that nothing undoes.
 * So a lost, doubled or wrong sample in any iteration, or a wrong copy of a layer, changes the words for good, and the end is compared with a
 * training that never failed, which each rank computes by itself.
 *
 * Why ULFM alone is not enough. Only Open MPI 5 has it, a cut cable is noticed only with its detector, and its launcher does not always end
 * (docs/drills.md). So losses are found, and agreed on, by the ranks themselves, over sockets or over an MPI that goes on without lost ranks:
 *
 *   found    A socket closes when its process ends; a cut rank is silent for too long (mesh.c, mpi_wire.c).
 *   agreed   A rank that misses one stops training and tells all the others whom it misses, and how far it has come. Who hears of
 *            another loss adds it and tells all again, until all that are left say the same. The lowest of them then tells all the next view: who
 *            is in it, and which iteration is done. A rank that has that view already answers with it, so that a view that only some got
 *            before its author died is not made twice. Ranks that hear nothing of at least half the view leave: they are cut off.
 *   done     An iteration counts when all ranks have said that they have computed it; before that, nobody drops the words of the iteration
 *            before. So if one survivor knows that it counts, all have computed it, and the view says so: no iteration is done twice.
 *   moved    All ranks ask `elastic` with the same numbers and get the same answer. Copies are sent with checksums. A reconfiguration counts when
 *            all have said that they have their copies; before that nothing is dropped, and a further loss begins again from the state before
 *            with all losses together.
 *   joined   A node that returns is a new process, with nothing, that asks to join: a change of the view without a loss.
 *   saved    Every some iterations, the words after one that counts are written into a folder beside the next ones (save.c, saved.h). A
 *            checkpoint belongs to those who began it: whoever is lost meanwhile, it stays unfinished, and nobody reads it.
 *   loaded   Where layers have no copy left, or too few nodes are left for an instance, all end, and new processes are started for those nodes
 *            (again.c). Each loads its layers from the last checkpoint and says which one; who has found it corrupted says an earlier one,
 *            and all follow, until all say the same (load.c). A loss before that begins with new processes again.
 *
 *   again.c   a drill: again and again its processes, until one of their endings is the last
 *   outside.c starts them, kills them and ends all
 *   rank.c    is one of them, with begin.c, agree.c, move.c, save.c and load.c; train.c is what it trains
 *
 * Private to run, but for api/run. */
#ifndef REHEARSE_RUN_DRILL_H
#define REHEARSE_RUN_DRILL_H

#include "core/json.h"
#include "elastic/reconfigure.h"
#include "run/launch/launch.h"

#define DRILL_MAX_NODES  256
#define DRILL_MAX_FATES  64
#define DRILL_MAX_EVENTS 24 /* views that are remembered with their times */

enum drill_fate_kind { DRILL_KILL, DRILL_CUT, DRILL_RETURN };

/* What happens to a node, seconds after the beginning. */
struct drill_fate {
    enum drill_fate_kind kind;
    int node;
    double time;
    int together; /* those that are cut off with the same number still hear each other: they are of one host; 0: alone */
};

struct drill_outcome;

/* What all processes must know that are started after a loss which memory could not heal. */
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
    const char *checkpoints;     /* folder; NULL: none are saved, and none is loaded */
    int save_every;              /* iterations */
    bool fresh; /* a checkpoint that is there before the beginning is an error: else it is loaded */
    struct drill_again again;
    double t0;  /* by clock_now, of the first attempt; 0: it has not begun */
    bool alone; /* nobody is outside, as under mpirun: a rank that is to be killed kills itself */
    int fate_count;
    struct drill_fate fates[DRILL_MAX_FATES];
};

/* A change of the view: seconds from the first loss or wish to join that this rank heard of until … */
struct drill_event {
    int lost, joined;
    bool cut; /* what was found was silent; else its process had ended */
    double
        simulated; /* seconds from the detection to the next iteration's end that copies and that iteration take by the plan; NAN: a
                         further loss was in between */
    double found;  /* the loss itself to its detection, where the time of the loss is known; NAN else */
    double agreement; /* the last of these losses to the view */
    double agreed, copied,
        stepped;    /* the view was agreed on; all copies were there; the next iteration was done */
    double bytes;   /* copied into this rank */
    int resumed_at; /* iterations that were done */
};

enum drill_verdict {
    DRILL_HANG, /* nobody said anything: ended from outside */
    DRILL_RIGHT,
    DRILL_CHECKPOINT, /* says that a checkpoint is needed */
    DRILL_NO_SHAPE,   /* says that no instance fits the nodes that are left */
    DRILL_WRONG,
    DRILL_VERDICTS
};

extern const char *const drill_verdicts[DRILL_VERDICTS];

#define DRILL_MAX_RESTARTS 8 /* whose times are remembered */

/* From the loss that memory could not heal to the end of the first iteration of new processes. */
struct drill_restart {
    int iterations; /* that are trained again */
    double seconds, load;
};

/* What a rank that has seen the end says. */
struct drill_outcome {
    enum drill_verdict verdict;
    int iterations, nodes_left, views;
    int64_t samples; /* whose numbers were checked */
    int64_t cells;   /* compared with a training that never failed */
    int event_count;
    struct drill_event events[DRILL_MAX_EVENTS];
    int lost; /* nodes, at all */
    char text[512];
    char note[400]; /* of checkpoints that were not read or written as they should; "": none */
    /* seconds since the beginning: when the last loss was found; and when the first iteration of this attempt was done. NAN: never */
    double found_at, stepped_at;
    double load;                   /* seconds until all had loaded the same checkpoint */
    int begun_at;                  /* iterations that it had */
    bool present[DRILL_MAX_NODES]; /* nodes, at the end */
    /* of all attempts */
    int restarts, repeated; /* attempts after the first; iterations that were trained again */
    struct drill_restart times[DRILL_MAX_RESTARTS];
};

/* Runs one drill in processes of its own, and ends all of them. */
bool drill_run(const struct drill_options *options, struct drill_outcome *outcome, struct error *err);

/* Makes the options those of an attempt: what has happened before it is left out. */
void drill_begin_again(struct drill_options *options, const struct drill_again *again);

/* Returns how many ranks a drill has: one for each node, and one for each that returns. */
int drill_ranks(const struct drill_options *options);

/* Returns whether a drill has room for its nodes, and for those that return. */
bool drill_check_size(const struct drill_options *options, struct error *err);

/* In a rank that the launcher has started: plays its part. */
_Noreturn void drill_be_launched(struct drill_options *options, const struct launch_seat *seat,
                                 struct wire *wire);

/* In a rank that mpirun has started, over a wire that may lose ranks: plays its part. True: it is this rank that says the outcome. */
bool drill_be_one_of_mpi(const struct drill_options *options, struct wire *wire,
                         struct drill_outcome *outcome);

/* Draws what happens to whom in drill `number` of a seed: 1 to `faults` nodes (sometimes one more) are killed or cut, at once or one
 * after the other, also while the others recover or take a node back. `period`: seconds of an iteration as it is played. */
void drill_draw(struct drill_options *options, uint64_t seed, int number, double period);

#endif
