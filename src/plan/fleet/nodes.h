/* Plans that use a part of the devices.
 *
 * Problem. Devices wait for the slowest of all nodes that a plan uses, so that each stage takes longer the more nodes there
 * are: the best plan may leave nodes idle though their devices could help. A search assumes that all nodes of its part of
 * the devices are used; what it finds is scored with those that are (fleet_rescore). Its bound says nothing of plans that
 * use fewer.
 *
 * Bound. Plans are divided by the number of nodes that they use of each type: boxes, from `least` to `most`. All plans of
 * a box are plans with its most devices whose stages wait as for its least nodes. Whatever weights w_t > 0 the devices have,
 * M micro-batches need M x (sum over layers of the minimum of w . device seconds) and get at most T w . devices; here w_t is
 * the speed of a type. Also, a plan on fewer nodes is one of the whole, where each layer takes longer by a factor at most, as all
 * nodes wait: the bound of the whole, less that factor, holds for each box. A box whose plans end no earlier than the best known
 * one is left out, others are halved, until waiting differs little in them. Where nodes are few, each number of them is searched
 * instead, and its plans are exact.
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

/* Makes the problem with a part of the devices. */
bool fleet_make_part(const struct fleet_maker *maker, const struct fleet_part *part,
                     const struct fleet_spread *spread, struct fleet_problem *problem, struct arena *arena);

/* Returns the part of all devices of some types; bit t: type t. */
struct fleet_part fleet_part_of_types(const struct fleet_problem *all, unsigned types);

struct fleet_box {
    int least[FLEET_MAX_TYPES], most[FLEET_MAX_TYPES]; /* nodes */
    double bound;
};

/* A walk over the boxes. The caller sets the first three; `bound` is that of plans that use all nodes. */
struct fleet_nodes {
    const struct fleet_maker *maker;
    const struct fleet_problem *all; /* its types */
    double bound;                    /* lowered to that of all boxes seen so far */
    struct fleet_part part;          /* to be searched */
    struct fleet_box *boxes;         /* that are left */
    int count, seen;
    size_t capacity;
    double whole;                   /* `bound` at the beginning */
    int nodes;                      /* of all types */
    struct fleet_problem **waiting; /* [nodes + 1] the problem if so many wait; NULL: not asked for yet */
    struct arena arena;             /* of these */
    bool few;                       /* every number of nodes is searched */
    bool failed;                    /* memory ran out */
};

/* Returns whether nodes are so few, or matter so little, that a search leaves no part of them out. */
bool fleet_nodes_few(const struct fleet_problem *all);

bool fleet_nodes_begin(struct fleet_nodes *nodes, struct error *err);

/* Finds the next part to be searched for plans of less than `enough` seconds; false: there is none, or `failed`. */
bool fleet_nodes_next(struct fleet_nodes *nodes, double enough, struct error *err);
void fleet_nodes_end(struct fleet_nodes *nodes);

#endif
