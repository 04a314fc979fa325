/* Options of scoring a plan. */
#ifndef REHEARSE_PLAN_SCORE_OPTIONS_H
#define REHEARSE_PLAN_SCORE_OPTIONS_H

#include "core/doc.h"
#include "plan/dapple/dapple.h"
#include "plan/parts.h"
#include "plan/planning.h"

struct score_options {
    const char *objective; /* NULL: as the plan says */
    /* files may be NULL; of the objective nothing is looked at; microbatches and memory -1: as the plan says */
    struct planning_options planning;
    struct plan_parts parts;
    int64_t global_batch; /* 0: as the plan says */
    double headroom;      /* share of the memory; NAN: as the plan says, or 5 % */
    const char *rules;    /* of dapple; NULL: as the plan says */
    struct dapple_input_options dapple;
    /* the plan's document, to name fields that do not follow from its decisions; NULL: none are named */
    const struct doc_node *said;
    /* Sets what known runs make of the time of a training job that expects something; NULL: what the file says
     * stays. */
    bool (*expect)(struct plan *scored, const struct plan_parts *parts, struct error *err);
};

#endif
