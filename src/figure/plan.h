/* Pictures of plans. */
#ifndef REHEARSE_FIGURE_PLAN_H
#define REHEARSE_FIGURE_PLAN_H

#include "core/error.h"
#include "figure/style.h"
#include "plan/plan.h"

#include <stdbool.h>

enum figure_plan_kind { FIGURE_PLAN_AUTO, FIGURE_PLAN_STAGES, FIGURE_PLAN_ITERATION };
extern const char *const figure_plan_kinds[]; /* for an option of the command line, ended by NULL */

struct figure_plan_options {
    const struct figure_style *style;
    enum figure_plan_kind kind;
    const char *title; /* NULL: model, time and proof */
};

/* Stages: a bar for each of each pipeline: forward, and the rest of what it does for a micro-batch, coloured by device type,
 * with a dashed line at the slowest. Iteration: its parts, in this plan and under the alternatives. By itself a plan with
 * alternatives, or without seconds of its stages, is drawn as the latter. The ending of `path` (.svg, .png, .pdf) chooses
 * the format. ERROR_INPUT: the plan does not say what is to be drawn. */
bool figure_plan(const char *path, const struct plan *plan, const struct figure_plan_options *options,
                 struct error *err);

#endif
