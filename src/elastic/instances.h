/* The fastest set of instances for the nodes there are, able to lose any F of them.
 *
 * Problem. Choose x_t >= 0 instances of each shape t with sum x_t need_t[k] <= nodes[k] for every kind k
 * of node, so that any F lost nodes leave a copy of every layer: sum x_t copies_t >= F + 1 (the instances
 * have different nodes; a shape's copies are the nodes that hold its rarest shard, so F nodes can kill F
 * of them at most). Nodes may stay spare. The batch is split over all pipelines (batch.h). Minimise
 *
 *     slowest pipeline + exchange of the shape that is slowest at it, among all D pipelines.
 *
 * Search and bound: instances_search.c. Checked against all sets of small cases, and on
 * more nodes against a dynamic program (tests/elastic/instances_test.c). */
#ifndef REHEARSE_ELASTIC_INSTANCES_H
#define REHEARSE_ELASTIC_INSTANCES_H

#include "elastic/kit.h"

struct elastic_set {
    int *counts; /* [shape]; malloc'ed */
    int instances, nodes;
    int64_t pipelines;
    double slowest, exchange; /* seconds */
    double seconds;           /* their sum: an iteration */
    double bound;             /* no set is faster; equal to `seconds` if proven */
    bool proven;
};

/* `nodes`: of each kind. ERROR_INFEASIBLE: the message says how many nodes would be needed. On success the caller
 * releases *set. */
bool elastic_instances(struct elastic_set *set, const struct elastic_kit *kit, const int *nodes, int faults,
                       struct error *err);
void elastic_set_release(struct elastic_set *set);

/* Splits the batch over the set's pipelines: one share for each line of each shape in it, in the order of the
 * shapes. *shares is malloc'ed. */
struct elastic_share;
bool elastic_set_split(const struct elastic_set *set, const struct elastic_kit *kit,
                       struct elastic_share **shares, int *count, double *slowest, struct error *err);

/* Fills in everything but `bound` and `proven` from the counts. False: more pipelines than micro-batches. */
bool elastic_set_score(struct elastic_set *set, const struct elastic_kit *kit, struct error *err);

#endif
