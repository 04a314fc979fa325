#include "cli/plan/planning.h"

#include <stddef.h>

const char *const planning_objectives[] = {"pipeline", "oobleck", NULL};
const char *const planning_allreduces[] = {"profile", "model", "none", NULL};
const char *const planning_memories[] = {"in-flight", "reference", NULL};
