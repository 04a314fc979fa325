/* The training of a drill's node. Private to run/drill. */
#ifndef REHEARSE_RUN_DRILL_TRAIN_H
#define REHEARSE_RUN_DRILL_TRAIN_H

#include "run/drill/drill.h"

/* A cell: one of `units` equal parts of a segment of layers. */
struct train_cell {
    uint64_t *now,
        *next; /* words after the last iteration that counts, and after the next one; NULL: it is not held */
    uint64_t *sum;   /* of contributions to the next iteration */
    int64_t samples; /* in `sum` */
    uint64_t ids;    /* sum of their numbers */
    int parts;       /* instances whose contribution is there */
};

struct train {
    const struct elastic_kit *kit;
    int node;
    int cell_count;
    int64_t *words; /* of each cell */
    struct train_cell *cells;
    int64_t batch; /* samples of an iteration */
    int iteration; /* that count */
    bool has_next;
};

/* Samples of an instance in each iteration: `first` to `until`, exclusive. */
struct train_share {
    int64_t first, until;
};

bool train_init(struct train *train, const struct elastic_kit *kit, int node, double byte_share,
                struct error *err);
void train_release(struct train *train);

/* Returns whether a node holds a cell in a state, and the lowest node of an instance that holds it. */
bool train_holds(const struct train *train, const struct elastic_state *state, int node, int cell);
int train_holder(const struct train *train, const struct elastic_state *state, int instance, int cell);

/* Makes the cells that the node holds in the first state. */
bool train_begin(struct train *train, const struct elastic_state *state, struct error *err);

/* Splits the samples of an iteration; *shares is malloc'ed, one for each instance. */
bool train_split(const struct train *train, const struct elastic_state *state, struct train_share **shares,
                 double *seconds, struct error *err);

/* Clears the sums; then adds contributions of this node, or words of another one. */
void train_clear(struct train *train);
void train_contribute(const struct train *train, int cell, const struct train_share *share, uint64_t *words);
void train_add(struct train *train, int cell, const uint64_t *words, int64_t samples, uint64_t ids);
uint64_t train_ids(const struct train *train,
                   const struct train_share *share); /* sum of the numbers of its samples */

/* Computes `next` of all cells. False, with an error that names the cell, if samples are missing or doubled. */
bool train_step(struct train *train, struct error *err);
void train_count(struct train *train); /* it counts */

/* Takes a copy of a cell; drops those that the node does not hold in a state. */
bool train_put(struct train *train, int cell, const uint64_t *words, struct error *err);
void train_drop(struct train *train, const struct elastic_state *state);

/* Compares all cells with a training that never failed; returns how many; -1, with an error that names the first that
 * differs. */
int64_t train_compare(const struct train *train, struct error *err);

#endif
