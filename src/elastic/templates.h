/* Templates: the best pipeline for every possible number of surviving nodes, planned in advance (Oobleck,
 * SOSP'23).
 *
 * On a mixed cluster n nodes can be many mixes; a template is the best over all of them. */
#ifndef REHEARSE_ELASTIC_TEMPLATES_H
#define REHEARSE_ELASTIC_TEMPLATES_H

#include "core/error.h"
#include "core/json.h"
#include "plan/planning.h"

#include <stdbool.h>

#define TEMPLATES_MAX_MIXES 20000

struct plan_template {
    int nodes;
    bool feasible;
    /* the mix chosen: the cluster's groups with only so many nodes; shares the cluster's arrays */
    struct plan_problem problem;
    struct pipeline plan; /* nodes numbered within the template */
    struct error error;   /* the reason if infeasible */
};

struct template_set {
    int count;
    struct plan_template *templates; /* ascending in nodes */
    double planning_seconds;         /* sum of all */
};

/* Exact plans for first … last nodes of the problem's cluster; threads share the numbers of nodes. The
 * problem must outlive the set. */
bool templates_make(struct template_set *set, const struct plan_problem *problem, int first, int last,
                    const struct plan_search_options *options, struct error *err);
void templates_release(struct template_set *set);

/* rehearse-templates/2: a plan for each number of nodes, whose problem is the planning's. False: out of
 * memory. */
bool templates_write_json(const struct template_set *set, const struct planning *planning, struct json *json,
                          struct error *err);
void templates_print(const struct template_set *set, struct text *out);

#endif
