/* Failure drills: nodes train together, some are killed or cut off, and the others go on.
 *
 * A rank is a node of the plan's cluster; `elastic` says which instances of the model the nodes form (elastic/instances.h) and what becomes
 * of them when nodes are lost or return (elastic/reconfigure.h). What is trained is small but real: a layer's part (a cell of the
 * kit) is some words; a sample with a number contributes to each cell; an iteration adds up, over all instances, what the samples of the
 * iteration contribute, in messages between the nodes that hold the cell, and changes its words in a way that nothing undoes.
 * So a lost, doubled or wrong sample in any iteration, or a wrong copy of a layer, changes the words for good, and the end is compared with a
 * training that never failed, which each rank computes by itself.
 *
 * Why no ULFM. Only Open MPI 5 has it, a cut cable is noticed only with its detector, and its launcher does not always end (docs/drills.md).
 * So losses are found, and agreed on, by the ranks themselves over the mesh of sockets, which works wherever there are sockets:
 *
 *   found    A socket closes when its process ends; a cut rank is silent for too long (mesh.c).
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
 *
 *   outside.c starts the processes, kills them and ends all; rank.c is one of them, with agree.c and move.c; train.c is what it trains.
 *
 * Private to run, but for cli/run. */
#ifndef REHEARSE_RUN_DRILL_H
#define REHEARSE_RUN_DRILL_H

#include "core/json.h"
#include "elastic/reconfigure.h"

#define DRILL_MAX_NODES  256
#define DRILL_MAX_FATES  64
#define DRILL_MAX_EVENTS 24 /* views that are remembered with their times */

enum drill_fate_kind { DRILL_KILL, DRILL_CUT, DRILL_RETURN };

/* What happens to a node, seconds after the beginning. */
struct drill_fate {
    enum drill_fate_kind kind;
    int node;
    double time;
};

struct drill_options {
    const struct elastic_kit *kit;
    int faults;
    int iterations;
    double time_share; /* of the seconds of an iteration */
    double byte_share; /* of the bytes of a layer */
    double silence;    /* seconds until a silent rank is lost */
    double limit;      /* seconds until the drill is ended from outside */
    int fate_count;
    struct drill_fate fates[DRILL_MAX_FATES];
};

/* A change of the view: seconds from the first loss or wish to join that this rank heard of until … */
struct drill_event {
    int lost, joined;
    double found; /* the loss itself to its detection, where the time of the loss is known; NAN else */
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

/* What a rank that has seen the end says; at most a pipe's atomic write. */
struct drill_outcome {
    enum drill_verdict verdict;
    int iterations, nodes_left, views;
    int64_t samples; /* whose numbers were checked */
    int64_t cells;   /* compared with a training that never failed */
    int event_count;
    struct drill_event events[DRILL_MAX_EVENTS];
    int lost; /* nodes, at all */
    char text[512];
};

/* Runs one drill in processes of its own, and ends all of them. */
bool drill_run(const struct drill_options *options, struct drill_outcome *outcome, struct error *err);

/* Draws what happens to whom in drill `number` of a seed: 1 to `faults` nodes (sometimes one more) are killed or cut, at once or one
 * after the other, also while the others recover or take a node back. `period`: seconds of an iteration as it is played. */
void drill_draw(struct drill_options *options, uint64_t seed, int number, double period);

/* Returns whether so many losses at once may be too many for the drill's outcome to be a continuation. */
bool drill_may_need_checkpoint(const struct drill_options *options);

#endif
