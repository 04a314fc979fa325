/* Draws plans. */
#ifndef REHEARSE_FIGURE_PLAN_H
#define REHEARSE_FIGURE_PLAN_H

#include "core/error.h"
#include "figure/style.h"
#include "plan/plan.h"

#include <stdbool.h>

enum figure_plan_kind { FIGURE_PLAN_AUTO, FIGURE_PLAN_STAGES, FIGURE_PLAN_ITERATION };
extern const char *const figure_plan_kinds[]; /* for a command-line option; ends with NULL */

struct figure_plan_options {
    const struct figure_style *style;
    enum figure_plan_kind kind;
    const char *title; /* NULL: model, time and proof */
};

/* Stages: two bars for each stage of each pipeline, forward and the rest of its work per micro-batch,
 * coloured by device type, with a dashed line at the slowest. Iteration: its parts, in this plan and its
 * alternatives. The default is the iteration for a plan with alternatives or without stage times. The ending
 * of `path` (.svg, .png, .pdf) sets the format. ERROR_INPUT: the plan lacks the data. */
bool figure_plan(const char *path, const struct plan *plan, const struct figure_plan_options *options,
                 struct error *err);

#endif
