/* Inside `rehearse plan`: what its options say, and one function for each kind of objective.
 *
 * How to add an objective: its name to enum plan_kind, a function declared here in a file of its own, and in cmd_plan.c its
 * name, its planner, and a row in the table of scopes for each option that is its own. */
#ifndef REHEARSE_CLI_PLAN_COMMAND_H
#define REHEARSE_CLI_PLAN_COMMAND_H

#include "cli/plan/planning.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* In the order of the words of --objective; the first two are those of enum plan_objective. */
enum plan_kind { PLAN_BY_PIPELINE, PLAN_BY_OOBLECK, PLAN_BY_DAPPLE, PLAN_BY_ITERATION };

/* In the order of the words of --search; the first four are those of enum plan_search_method. */
enum plan_method { PLAN_EXACT, PLAN_DIVIDE, PLAN_FOLD_GREEDY, PLAN_FOLD_DP, PLAN_HPGO };

/* In the order of the words of --import. */
enum plan_import { PLAN_IMPORT_AUTO, PLAN_IMPORT_HPGO, PLAN_IMPORT_REHEARSE };

struct plan_options {
    struct planning_options planning; /* its objective is an enum plan_kind */
    const bool *given;                /* see command.h */
    int search;
    bool fold_exact_factors, fold_longest_only;

    const char *global_batch, *devices; /* ranges, see range.h */
    int rules;                          /* enum dapple_rules */
    int import;
    int64_t profile_batch;
    double state_factor, sample_memory;

    const char *model, *device, *software, *inside, *across, *links, *calibration;
    int64_t sequence, devices_per_node, top;
    int precision;   /* enum model_precision */
    double headroom; /* percent */
    struct option_list fix;
    bool explain, pareto;
    const char *plan; /* a file, instead of a search */
    int emit;         /* enum launch_format */
    const char *flags;

    const char *output, *figure;
    bool json, csv, dot;
};

/* Was this option on the command line? Defaults are not. */
bool plan_is_given(const struct plan_options *options, const char *name);

/* Delivers the plan of a file. */
bool plan_by_file(const struct plan_options *options, struct error *err);

/* Each finds a plan and delivers it as the options say. */
bool plan_by_pipeline(const struct plan_options *options, struct error *err); /* pipeline, oobleck */
bool plan_by_dapple(const struct plan_options *options, struct error *err);
bool plan_by_iteration(const struct plan_options *options, struct error *err);

#endif
