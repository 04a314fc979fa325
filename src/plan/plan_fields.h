/* Tables, shared by writer and reader, of the keys of rehearse-plan/2 that are plain struct members. Private
 * to plan_write.c, plan_read.c and plan_fleets.c. */
#ifndef REHEARSE_PLAN_PLAN_FIELDS_H
#define REHEARSE_PLAN_PLAN_FIELDS_H

#include "core/fields.h"
#include "plan/plan.h"

/* The largest integer: every double up to it is exact, and so is every reader of JSON. */
#define PLAN_MAX_INTEGER (INT64_C(1) << 53)

/* The maps of the document and their structs. */
enum plan_map {
    PLAN_MAP_HEAD,        /* struct plan, at the top */
    PLAN_MAP_MADE_BY,     /* struct plan */
    PLAN_MAP_MODEL,       /* struct plan */
    PLAN_MAP_TRAINING,    /* struct plan */
    PLAN_MAP_SCHEDULE,    /* struct plan */
    PLAN_MAP_ITERATION,   /* struct plan */
    PLAN_MAP_BOTTLENECK,  /* struct plan */
    PLAN_MAP_NEAREST,     /* struct plan_nearest */
    PLAN_MAP_BUDGET,      /* struct plan_budget */
    PLAN_MAP_TYPE,        /* struct plan_device_type */
    PLAN_MAP_LINK,        /* struct plan_link */
    PLAN_MAP_PIPELINE,    /* struct plan_pipeline */
    PLAN_MAP_STAGE,       /* struct plan_stage */
    PLAN_MAP_RUN,         /* struct plan_run */
    PLAN_MAP_SECONDS,     /* struct plan_seconds */
    PLAN_MAP_BYTES,       /* struct plan_bytes */
    PLAN_MAP_TRANSFER,    /* struct plan_transfer */
    PLAN_MAP_ALTERNATIVE, /* struct plan_alternative */
    PLAN_MAP_SENSITIVITY, /* struct plan_sensitivity */
    PLAN_MAP_FLEET,       /* struct plan_fleet */
    PLAN_MAP_IDLE,        /* struct plan_idle */
    PLAN_MAPS
};

/* Returns the fields of a map and sets their number. Numbers may be null: then they are NAN. */
const struct field *plan_fields_of(enum plan_map map, size_t *count);

#endif
