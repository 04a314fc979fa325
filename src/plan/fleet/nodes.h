/* Plans that use a part of the devices.
 *
 * Problem. Devices wait for the slowest of all nodes that a plan uses, so that each stage takes longer the more nodes
 * there are: the best plan may leave nodes idle though their devices could help. A search assumes that all nodes of its
 * part of the devices are used; what it finds is scored with those that are (fleet_rescore). Its bound says nothing of
 * plans that use fewer.
 *
 * Bound. Plans are divided by the number of nodes that they use of each type: boxes, from `least` to `most`. All plans
 * of a box are plans with its most devices whose stages wait as for its least nodes. Whatever weights w_t > 0 the
 * devices have, M micro-batches need M x (sum over layers of the minimum of w . device seconds) and get at most T w .
 * devices; here w_t is the speed of a type. Also, a plan on fewer nodes is one of every part that has its devices,
 * where each layer takes longer by a factor f at most, as more nodes wait: what was proven of the part holds for the
 * box, with its seconds divided by f.
 *
 * Proofs know how much fewer devices cost. If by T no pipeline does more than its price w . devices, then by D > T it
 * does at most (w + (D - T) r) . devices, where the speed r . devices >= 1 / cycle follows from the weights above. (A
 * pipeline whose cycle was not priced, as it exceeds a deadline a >= T, if such a stage fits at all, does at most D /
 * cycle. With W = sum over layers of the minimum of w . device seconds, w . devices >= W / cycle: it does at most max(T
 * - W, 0) / a more than that.) So devices N' do not do M before D = T + (M - w . N' - pipelines x max(T - W, 0) / a) /
 *   (r . N').
 *
 * A box whose plans end no earlier than the best known one is left out, others are halved, until waiting differs little
 * in them. Where nodes are few, each number of them is searched instead, and its plans are exact.
 *
 * Checked: against brute force over all sets of pipelines whose waiting depends on their nodes (tests/plan/fleet). */
#ifndef REHEARSE_PLAN_FLEET_NODES_H
#define REHEARSE_PLAN_FLEET_NODES_H

#include "core/error.h"
#include "plan/fleet/spread.h"

struct fleet_part {
    int devices[FLEET_MAX_TYPES];
    int nodes; /* that are assumed to be used */
};

/* Returns the part of all devices of some types; bit t: type t. */
struct fleet_part fleet_part_of_types(const struct fleet_problem *all, unsigned types);

/* What a search says of a class of plans on a part of the devices. */
struct fleet_claim {
    double bound; /* no plan of the class takes less */
    int copies; /* of the one pipeline of which the proofs are, which has its share of the devices; else 1 */
    double microbatches;  /* of that one, or of all */
    double max_pipelines; /* INFINITY: any number */
    double speeds[FLEET_MAX_TYPES];
    int proof_count; /* 0: there is the bound alone */
    struct fleet_proof *proofs;
    double *beyond; /* [proof] micro-batches that a pipeline with a longer cycle may do beyond its price */
};

/* Makes the claim of a search's outcome, found or not; arrays live in the arena. False: out of memory. */
bool fleet_claim_make(struct fleet_claim *claim, const struct fleet_choice *outcome,
                      const struct fleet_problem *problem, int copies, struct arena *arena);

/* A part that was searched. Each plan that uses all its nodes is in one of the classes. */
struct fleet_known {
    struct fleet_part part;
    double bound;
    int claim_count;
    struct fleet_claim *claims;
};

struct fleet_box {
    int least[FLEET_MAX_TYPES], most[FLEET_MAX_TYPES]; /* nodes */
    double bound;
};

/* A walk over the boxes. The caller sets the first two. */
struct fleet_nodes {
    const struct fleet_maker *maker;
    const struct fleet_problem *all; /* its types */
    double bound;            /* of plans that use all nodes; lowered to that of all boxes seen so far */
    struct fleet_part part;  /* to be searched */
    struct fleet_box *boxes; /* that are left */
    int count, seen;
    size_t capacity;
    struct fleet_known *known; /* parts that were searched */
    int known_count;
    size_t known_capacity;
    int nodes;                      /* of all types */
    struct fleet_problem **waiting; /* [nodes + 1] the problem if so many wait; NULL: not asked for yet */
    struct arena arena;             /* of these, and of claims */
    bool few;                       /* every number of nodes is searched */
    bool failed;                    /* memory ran out */
};

bool fleet_nodes_begin(struct fleet_nodes *nodes, struct error *err);

/* Remembers a part; claims and all that they have live as long as the walk. False: out of memory. */
bool fleet_nodes_know(struct fleet_nodes *nodes, const struct fleet_known *known);

/* Returns a bound on plans on these devices of which so many nodes wait for each other; NAN: out of memory. */
double fleet_nodes_bound(struct fleet_nodes *nodes, const struct fleet_part *part);

/* Begins the walk over plans that use fewer than all nodes; `bound` is that of plans that use all of them. */
bool fleet_nodes_walk(struct fleet_nodes *nodes, double bound, struct error *err);

/* Finds the next part to be searched for plans of less than `enough` seconds; false: there is none, or `failed`. */
bool fleet_nodes_next(struct fleet_nodes *nodes, double enough, struct error *err);
void fleet_nodes_end(struct fleet_nodes *nodes);

#endif
