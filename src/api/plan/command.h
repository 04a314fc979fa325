/* Inside rh_plan_find: its options, and its planners.
 *
 * How to add a planner: a function that makes its question from the options, searches and delivers, declared at the end
 * of this file and written in a file of its own, and a row in the table of planners.c. A new objective also has a name
 * in enum plan_kind and plan_objectives, a new word of --search in enum plan_method and plan_searches. */
#ifndef REHEARSE_API_PLAN_COMMAND_H
#define REHEARSE_API_PLAN_COMMAND_H

#include "api/command.h"
#include "api/plan/planning.h"
#include "core/error.h"

#include <stdbool.h>

/* The objectives; the first two are those of enum plan_objective. */
enum plan_kind { PLAN_BY_PIPELINE, PLAN_BY_OOBLECK, PLAN_BY_DAPPLE, PLAN_BY_ITERATION };

/* The words of --search; the first four are those of enum plan_search_method. */
enum plan_method { PLAN_EXACT, PLAN_DIVIDE, PLAN_FOLD_GREEDY, PLAN_FOLD_DP, PLAN_HPGO };

/* In the order of the words of --import. */
enum plan_import { PLAN_IMPORT_AUTO, PLAN_IMPORT_HPGO, PLAN_IMPORT_REHEARSE };

/* A request, and what its words mean. Other commands that search or price jobs fill in what they have of it. */
struct plan_options {
    struct rh_plan_request asked;
    struct planning_options planning; /* its objective is an enum plan_kind */
    const bool *given;                /* the rows of api_plan_options that were; NULL: nobody asks */
    rh_handle **made;                 /* where the answer goes */
    int search, import, rules;        /* enum plan_method, plan_import, dapple_rules */
    int precision;                    /* enum model_precision */
    int emit, launcher;               /* enum launch_format, launch_launcher */
    bool csv, dot;                    /* the form that will be asked for */
};

/* Was this option of api_plan_options given? Defaults are not. "csv" and "dot" are options, too. */
bool plan_is_given(const struct plan_options *options, const char *name);

/* A planner: one row of the table in planners.c. */
struct planner {
    const char *name;        /* as plans name it in made_by.planner */
    unsigned objectives;     /* that it minimises: bits of enum plan_kind */
    enum plan_method method; /* its word of --search */
    enum plan_taker taker;   /* its bit in the rows of options */
    bool (*search)(const struct plan_options *options, struct error *err); /* finds and delivers a plan */
};

extern const char *const plan_objectives[],
    *const plan_searches[]; /* in the order of the enums, ended by NULL */

bool plan_by_pipeline(const struct plan_options *options, struct error *err);
bool plan_by_dapple(const struct plan_options *options, struct error *err);
bool plan_by_split(const struct plan_options *options, struct error *err);
bool plan_by_fleet(const struct plan_options *options, struct error *err);

#endif
