/* Instances on the nodes of the cluster, and the way from one set of live nodes to another.
 *
 * Rules (Oobleck, SOSP'23, made to hold for kinds of nodes and for spares), for every instance that lost
 * nodes:
 *
 *     replace        spare nodes of the same kind take the lost places
 *     reinstantiate  the remaining nodes take the shape with most nodes that fits them
 *     borrow         no shape fits: nodes come from spares, else one by one from the largest instance (the
 *                    last of equals) that still has a shape without it, until the smallest shape fits
 *     merge          nobody can give: such remainders are merged, in order, until a shape fits; the last one
 *                    joins the first instance that had a shape, if that gives a larger one, else its nodes
 *                    become spares
 *
 * Nodes that return join the smallest instance that has a faster shape with them. Spares that fit a shape
 * become a further instance where that makes iterations shorter or copies enough; spares that were there
 * before only beside nodes that came anew. `ELASTIC_FASTEST` takes the fastest set of instances for the live
 * nodes instead (instances.h) and keeps every instance that is in it.
 *
 * State. What a device held stays on it. A device copies the cells of its new slot that it did not hold from
 * a live device that held them before: from one of its own node over the link inside, else from another node.
 * If no live device held a cell, its layers are lost and a checkpoint is needed.
 *
 * Time. Every device has one port in and one out to other nodes, and one of each inside its node, all full
 * duplex at the link's bandwidth. Copies may be divided and overlap, so that the time is that of the port
 * with the most bytes, plus a latency: a schedule without pauses exists (preemptive open shop; Gonzalez and
 * Sahni, J. ACM 1976). The bytes into a device are given; the sources are chosen so that the bytes out of the
 * fullest device are few: each piece goes to the device that would end first, then pieces move away from the
 * fullest device as long as that helps. `bound` is the time that no choice of sources undercuts: the fullest
 * port in, and the pieces that only one device has.
 *
 * Checked in tests/elastic/reconfigure_test.c: every layer has a place, every copy comes from a device that
 * held it, bytes are conserved, Oobleck's cases give Oobleck's instances, and times are at least those of the
 * best sources. */
#ifndef REHEARSE_ELASTIC_RECONFIGURE_H
#define REHEARSE_ELASTIC_RECONFIGURE_H

#include "core/text.h"
#include "elastic/instances.h"

#define ELASTIC_SPARE (-1)
#define ELASTIC_GONE  (-2)

struct elastic_instance {
    int shape;
    int *nodes; /* [position] node of the cluster; malloc'ed */
};

struct elastic_state {
    const struct elastic_kit *kit;
    int node_count;
    int *owner; /* [node] its instance, ELASTIC_SPARE or ELASTIC_GONE; malloc'ed */
    int instance_count;
    struct elastic_instance *instances; /* by nodes, then by first node; malloc'ed */
};

enum elastic_method { ELASTIC_LOCAL, ELASTIC_FASTEST };
extern const char *const elastic_methods[]; /* "local", "fastest", NULL */

struct elastic_change {
    const int *lost, *returned; /* nodes; losses come first */
    int lost_count, returned_count;
    enum elastic_method method;
    int faults; /* lost nodes that the fastest set survives; with fewer copies, spares become instances */
};

/* Cells that a device gets from another: a unit range of a segment range. */
struct elastic_copy {
    int to_node, to_device, from_node, from_device;
    int first, last, from, until; /* segments inclusive, units exclusive */
    double bytes;
};

/* What a change does and costs. */
struct elastic_outcome {
    int replaced, reinstantiated, borrowed, merged, added; /* how often */
    bool checkpoint;                                       /* a checkpoint must be loaded */
    double bytes_across;                                   /* copied between nodes */
    double seconds;                                        /* of all copies; of a checkpoint NAN */
    double iteration;                                      /* seconds of an iteration afterwards */
};

struct elastic_transition {
    struct elastic_state after;
    struct text steps;              /* one line for each thing that was done */
    struct elastic_outcome outcome; /* with a checkpoint, copies are empty */
    struct text missing;            /* "7-9, 12": layers without a copy; empty: none */
    const char *reason;             /* of the checkpoint; NULL: none is needed */
    struct elastic_copy *copies;    /* malloc'ed */
    int copy_count;
    double bytes_inside; /* copied within nodes */
    double bound;        /* of the seconds of the copies; of a checkpoint NAN */
    double before;       /* seconds of an iteration */
    int kept;            /* copies of the rarest layer afterwards */
};

/* Puts a set of instances on the cluster's nodes in order. On success the caller releases *state. */
bool elastic_state_start(struct elastic_state *state, const struct elastic_kit *kit,
                         const struct elastic_set *set, struct error *err);
void elastic_state_release(struct elastic_state *state);

/* The counts, and times, of the state's instances. The caller releases *set. */
bool elastic_state_set(const struct elastic_state *state, struct elastic_set *set, struct error *err);

/* Finds the way from a state to one without the lost and with the returned nodes. ERROR_USAGE: a node that is
 * not there, or is lost already; ERROR_INFEASIBLE: no instance fits the nodes left. On success the caller
 * releases *transition. */
bool elastic_reconfigure(struct elastic_transition *transition, const struct elastic_state *from,
                         const struct elastic_change *change, struct error *err);
void elastic_transition_release(struct elastic_transition *transition);

/* A single loss, for a table: nodes that are alike (the same place in instances of the same shape) are one
 * row. */
struct elastic_loss {
    int node, nodes; /* an example, and how many there are */
    int shape;       /* of its instance; -1: spares */
    int position;
    struct elastic_outcome outcome;
    const char *name; /* for reports: of the shape; NULL: spares */
    double downtime;  /* likewise; NAN: a checkpoint is loaded */
};

/* Every single loss. *losses is malloc'ed. */
bool elastic_single_losses(const struct elastic_state *state, enum elastic_method method, int faults,
                           struct elastic_loss **losses, int *count, struct error *err);

#endif
