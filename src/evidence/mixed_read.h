/* Tables of measured plans, and of layer times, of the planners for mixed devices that publish them.
 *
 * Plans (CSV, by column name):
 *   AMP: experiment, model, gbs, mbs, tp, dp, pp, partition (0|14|30: first layers and their number), real_s, outcome;
 *        ranks fill the nodes of the cluster in order, data parallel ranks next to tensor parallel ones;
 *   Sailor: cluster, model, gbs, mbs, dp, pp, tp, layers_per_stage (7|9|9), stage_gpus (stages separated by ';', their
 *        replicas by '+', each TYPExN:tpN in a node of its own), real_s_per_iter, max_mem_bytes.
 * Layer times, one layer per row:
 *   AMP: model, gpu, tp, layer, cost (forward seconds of one sample);
 *   Sailor: model, gpu, mbs_key, tp_key, layer, fwd_s, bwd_s, update_s (of all the layers of the model). */
#ifndef REHEARSE_EVIDENCE_MIXED_READ_H
#define REHEARSE_EVIDENCE_MIXED_READ_H

#include "core/csv.h"
#include "core/statistics.h"
#include "evidence/mixed_setup.h"

#define MIXED_MAX_ROWS 10000

struct mixed_row {
    const char *cluster; /* of the setup; NULL: none is called so */
    const char *label;   /* "mbs 4, tp 1, dp 4, pp 4: 9|6|6|9" */
    int line;
    const char *reason; /* why it is not modelled; NULL: it is */
    const char *mark;   /* why it is doubtful; NULL: it is not */
    struct mixed_plan plan;
    double measured;                          /* seconds; 0: not given */
    double measured_memory, predicted_memory; /* bytes on the fullest device; measured 0: not given */
    struct mixed_time predicted;
    double planner; /* seconds by the formula of fleet/fleet.h, where that was asked; 0: it was not */
    double error;   /* predicted / measured - 1; 0 where not given */
};

struct mixed_table {
    struct arena arena;
    struct csv plans, layers;
    struct mixed_setup setup;
    int count;
    struct mixed_row *rows; /* in the order of the table */
};

/* Reads and predicts. On failure *table holds nothing; on success the caller ends it with mixed_table_release. */
bool mixed_table_load(struct mixed_table *table, const char *plans, const char *layers, const char *setup,
                      struct error *err);
void mixed_table_release(struct mixed_table *table);

/* The same from plans, layers and setup that have been read; on failure they are still the caller's to end. */
bool mixed_table_make(struct mixed_table *table, struct error *err);

/* Sets `planner` of every row that is modelled, by the formula that pipelines are searched with (plan/fleet/fleet.h). */
bool fleet_score_measured(struct mixed_table *table, struct error *err);

/* Predicted values that are compared with measured ones. */
enum mixed_quantity {
    MIXED_SECONDS, /* of an iteration */
    MIXED_PLANNER, /* the same by the formula that pipelines are searched with */
    MIXED_MEMORY   /* bytes on the fullest device */
};

struct mixed_score {
    struct error_score errors;
    double rank; /* Spearman's correlation of predicted and measured; 0 for fewer than two rows */
};

/* Scores the measured rows of a cluster (NULL: all). `doubtful`: marked ones, too. */
bool mixed_table_score(const struct mixed_table *table, const char *cluster, enum mixed_quantity quantity,
                       bool doubtful, struct mixed_score *score, struct error *err);

#endif
