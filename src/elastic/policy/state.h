/* The state of a job for its policy: nodes in cells, spares, and what was lost since the last arrangement.
 *
 * A cell is a place for a node: cell c is stage c % stages of pipeline c / stages. A node that is there
 * and has no cell is a spare. Every function takes time proportional to the cells that change. */
#ifndef REHEARSE_ELASTIC_POLICY_STATE_H
#define REHEARSE_ELASTIC_POLICY_STATE_H

#include "elastic/policy/policy.h"
#include "texts.h"

struct slow_node {
    double speed;     /* share of full speed; 1: not slow */
    double known_at;  /* when the job will know, or knew */
    int place;        /* among the slow nodes */
    bool known, away; /* away: the job has dropped it */
};

struct slow_pipeline {
    double speed, known; /* of its slowest node, and of the slowest that the job knows of */
};

struct policy_state {
    const struct policy_setup *setup;
    const struct elastic_rates *rates;
    int nodes;                              /* of the cluster */
    int live;                               /* nodes that are there */
    int *cell;                              /* [node] its cell, CELL_SPARE or CELL_GONE */
    int cells;                              /* in use: 0 … cells-1 */
    int *node;                              /* [cell] its node; -1: a hole */
    int *spares, *spare_place, spare_count; /* nodes; place of a node among them */
    int *holes, *hole_place, hole_count;    /* cells; place of a cell among them */
    int *stage_holes;                       /* [stage] of cells in use */
    int *pipeline_holes;                    /* [pipeline] */
    /* cells lost since the job last ran: an episode ends when a stop is over */
    int episode, *lost_in; /* [cell] the last episode in which its node was lost */
    int *lost, lost_count;
    int arranged;   /* cells in use when the episode began */
    bool from_save; /* no copy of some state is left */
    int pipelines;  /* in use */
    int losses;     /* changes with losses so far: Parcae's forecast */
    double *ready;  /* [pipeline] torchft: a replica takes part from this time on; INFINITY: it is broken */
    /* of 2 * nodes + 2: the lists of a change until the policy has applied it, then the policy's */
    int *room;
    /* slow.h */
    struct slow_node *slow; /* [node] */
    int *slow_nodes, slow_count;
    struct slow_pipeline *slow_pipelines; /* [pipeline] room: all 1 between calls */
};

#define CELL_SPARE (-1)
#define CELL_GONE  (-2)

/* Memory for jobs on clusters of up to `nodes` nodes; reused from run to run. */
bool policy_state_make(struct policy_state *state, int nodes, struct error *err);
void policy_state_release(struct policy_state *state);

/* Begins: nodes 0 … present-1 are spares, no cell is in use. */
void policy_state_begin(struct policy_state *state, const struct policy_setup *setup, int present);

/* Begins a new episode, with a copy of all state, unless the job is still stopped; takes the change's
 * nodes from their cells and adds returned ones to the spares. Returns the number of cells in use that
 * lost their node. */
int policy_state_apply(struct policy_state *state, const struct policy_change *change);

/* Uses cells 0 … cells-1: nodes of further cells become spares, new cells are holes. */
void policy_state_resize(struct policy_state *state, int cells);

/* Puts spares into holes while there are both. Returns the number of holes that were filled. */
int policy_state_fill(struct policy_state *state);

/* Puts a spare into one hole. */
void policy_state_fill_hole(struct policy_state *state, int cell);

/* Speeds as shares of the fastest arrangement; 0: none. */
double policy_speed_best(const struct policy_state *state, int nodes);
double policy_speed_equal(const struct policy_state *state, int pipelines);

/* Pipelines of equal length that the nodes which are there suffice for. */
int policy_pipelines_of(const struct policy_state *state);

/* Uses as many of them as there can be, and fills them. */
void policy_use_pipelines(struct policy_state *state);

/* The step: training stops; the seconds are for a loss that the job must first notice, or not. */
void policy_stop(struct policy_step *step, double detect, double restart);

/* The policies, one table each; state.c lists them. */
extern const struct elastic_policy policy_restart, policy_restart_async, policy_restart_memory,
    policy_spares;                                               /* restart.c */
extern const struct elastic_policy policy_varuna, policy_parcae; /* morph.c */
extern const struct elastic_policy policy_oobleck, policy_bamboo, policy_recycle, policy_torchft;

#endif
