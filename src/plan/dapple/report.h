/* DAPPLE's plans as a readable report; conversion from and to a plan. */
#ifndef REHEARSE_PLAN_DAPPLE_REPORT_H
#define REHEARSE_PLAN_DAPPLE_REPORT_H

#include "core/text.h"
#include "plan/dapple/dapple.h"
#include "plan/plan.h"

struct dapple_report {
    const struct dapple_problem *problem;
    const struct dapple_split *plan;
    struct dapple_data_parallel data; /* for comparison */
    const char *import;               /* rule that made the chain from the graph: "hpgo" or "rehearse" */
    double seconds;                   /* of the search */
};

/* Bytes on each device of a stage, and of the fullest stage. HPGO's rules ignore memory. */
double dapple_max_memory(const struct dapple_problem *problem, const struct dapple_split *plan);

int dapple_idle(const struct dapple_split *plan); /* number of idle devices */

/* "dapple", "dapple-fixed" */
const char *dapple_rules_name(enum dapple_rules rules);

/* Add the number of devices of each stage, "8:4:1", its layers, "0-10:11-17:18", and its devices, numbered through the
 * cluster, "0-3+8-11:4-7:12". */
void dapple_add_shape(const struct dapple_split *plan, struct text *out);
void dapple_add_layers(const struct dapple_split *plan, struct text *out);
void dapple_add_devices(const struct dapple_split *plan, struct text *out);

void dapple_print(const struct dapple_report *report, struct text *out);

/* Fills in an initialised plan: `replicas` copies of a pipeline with data degrees. Releases it on failure. */
bool plan_of_dapple(struct plan *plan, const struct dapple_report *report, struct error *err);

/* Puts a plan's stages on the problem's machines and scores them. ERROR_INPUT if the plan is not DAPPLE's:
 * several kinds of pipelines, tensor degrees, unnamed devices. On failure *split holds nothing; on success
 * the caller releases it with dapple_split_release. */
bool dapple_of_plan(struct dapple_split *split, const struct dapple_problem *problem, const struct plan *plan,
                    struct error *err);

#endif
