/* Golden results of the reference planners, as the study of them recorded them, and the problems they belong
 * to.
 *
 * They lie in the folder that the environment variable REHEARSE_REFERENCE names, else in ../shared/reference
 * next to the source tree (REHEARSE_SOURCE_ROOT), below planning/. Tests that need them skip where they are
 * absent. */
#ifndef REHEARSE_TESTS_GOLDEN_H
#define REHEARSE_TESTS_GOLDEN_H

#include "core/arena.h"
#include "core/error.h"
#include "plan/pipeline.h"
#include "plan/problem.h"

#include <stdbool.h>

/* One result; times in seconds. Stages have layers, group, devices and times; node is -1. */
struct golden_plan {
    bool found; /* false: there is no plan, or the reference fails; the rest is 0 */
    int nodes;  /* of the cluster */
    double iteration_time, t1, t2, t3;
    int bottleneck;
    int stage_count;
    struct pipeline_stage *stages; /* NULL in virtual_templates */
};

struct golden_group {
    const char *device;
    int nodes; /* of a list of results: the most */
    int devices_per_node;
};

struct golden {
    struct arena arena;
    const char *name;    /* of the file */
    const char *profile; /* folder that profile_load reads */
    int microbatch_size, microbatches;
    int group_count;
    struct golden_group *groups;
    int plan_count; /* at least 1; more than one: one per number of nodes of the only group */
    struct golden_plan *plans;
    int virtual_count; /* virtual templates of folding; 0: not recorded */
    struct golden_plan *virtual_templates;
};

/* The planning/ folder, or NULL: not there, and the reason has been printed. */
const char *golden_folder(void);

/* The names of golden files whose name starts and ends like this, in alphabetical order; NULL when there are
 * none. They live as long as the arena. */
const char **golden_list(struct arena *arena, const char *start, const char *end, int *count);

bool golden_load(struct golden *golden, const char *name, struct error *err);
void golden_release(struct golden *golden);

/* The question that `golden->plans[index]` answers. */
bool golden_problem(const struct golden *golden, int index, enum plan_objective objective,
                    struct plan_problem *problem, struct error *err);

#endif
