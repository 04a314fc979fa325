/* Tables, shared by writer and reader, of the keys of rehearse-plan/2 that are plain struct members. Private
 * to plan_write.c and plan_read.c. */
#ifndef REHEARSE_PLAN_PLAN_FIELDS_H
#define REHEARSE_PLAN_PLAN_FIELDS_H

#include "core/fields.h"
#include "plan/plan.h"

/* The largest integer: every double up to it is exact, and so is every reader of JSON. */
#define PLAN_MAX_INTEGER (INT64_C(1) << 53)

/* The fields of a map. Numbers may be null: then they are NAN. */
struct plan_map {
    const struct field *fields;
    size_t count;
};

/* Of struct plan: the document itself, and maps in it. */
extern const struct plan_map plan_map_head, plan_map_made_by, plan_map_model, plan_map_training,
    plan_map_schedule, plan_map_iteration, plan_map_bottleneck;

/* Of struct plan_nearest, plan_budget, … */
extern const struct plan_map plan_map_nearest, plan_map_budget, plan_map_storage, plan_map_device_type,
    plan_map_link, plan_map_pipeline, plan_map_stage, plan_map_run, plan_map_seconds, plan_map_bytes,
    plan_map_transfer, plan_map_alternative, plan_map_sensitivity, plan_map_fleet, plan_map_idle;

#endif
