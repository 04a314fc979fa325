/* The parts of the search for instances; for the files instances*.c alone. */
#ifndef REHEARSE_ELASTIC_INSTANCES_MAKE_H
#define REHEARSE_ELASTIC_INSTANCES_MAKE_H

#include "elastic/instances.h"
#include "plan/fleet/search.h"

#define ELASTIC_FUZZ        1e-6 /* micro-batches: rounding of the linear program */
#define ELASTIC_MAX_UNKNOWN 32 /* boxes with too many labels; then only the linear program dismisses boxes */

struct elastic_column {
    int shape;
    int64_t capacity;
    double reduced; /* r_t */
};

struct elastic_label {
    int64_t capacity;
    int used[ELASTIC_MAX_KINDS];
    int pipelines, copies; /* copies up to faults + 1 */
    int parent;            /* a label with one instance of `column` less; -1: none */
    int column;
    bool dead; /* another label reaches the same state with more */
};

struct instance_search {
    const struct elastic_kit *kit;
    const int *nodes;
    int faults, rows;
    int count, *order; /* shapes that fit, by their exchange */
    struct elastic_column *columns;
    int (*uses)[FLEET_MAX_ROWS];
    double *values, *amounts, prices[FLEET_MAX_ROWS], limits[FLEET_MAX_ROWS];
    struct elastic_label *labels;
    size_t label_count, label_capacity;
    int *counts, *found; /* [shape] scratch; the set of the last search */
    struct elastic_set best;
    double bound;      /* no set is faster */
    int unknown;       /* boxes with too many labels so far */
    double open_bound; /* of the boxes that were given up */
    bool unproven, failed;
};

enum elastic_outcome { OUTCOME_NONE, OUTCOME_FOUND, OUTCOME_UNKNOWN };

/* Returns whether some set of shapes 0 to `to` of the order, with at most so many pipelines, does the batch
 * within the limit; the set is s->found. */
enum elastic_outcome elastic_find_set(struct instance_search *s, double limit, int to, int64_t pipelines);

/* Solves the linear program of one limit for them. Sets columns, prices and amounts; returns the bound of
 * micro-batches. */
double elastic_relax(struct instance_search *s, double limit, int to, int64_t pipelines, int *column_count);

/* The most instances of a shape on these nodes, with so many pipelines. */
int elastic_max_count(const struct instance_search *s, int shape, const int *nodes, int64_t pipelines);

int64_t elastic_copies_in(const struct instance_search *s, const int *counts);

#endif
