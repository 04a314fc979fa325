/* Inside the reader of plans: one file for rehearse-plan/2, one for the five shapes of rehearse-plan/1. */
#ifndef REHEARSE_PLAN_PLAN_READ_H
#define REHEARSE_PLAN_PLAN_READ_H

#include "core/doc.h"
#include "plan/plan.h"

struct plan_reader {
    struct doc doc;
    struct plan *plan; /* initialised, with room for PLAN_MAX_TYPES device types */
    struct error *err;
};

/* Fills in the plan from a document of version 1. */
bool plan_read_version_1(struct plan_reader *r);

/* A string in the plan's arena; NULL for null and where there is none (`node` NULL). */
bool plan_copy_text(struct plan_reader *r, const struct doc_node *node, const char **text);

/* A device type by its name. A name that a plan without a cluster has not used yet is added. */
bool plan_find_type(struct plan_reader *r, const struct doc_node *node, int *type);

#endif
