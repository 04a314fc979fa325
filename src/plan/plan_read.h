/* Internals of the reader of rehearse-plan/2. */
#ifndef REHEARSE_PLAN_PLAN_READ_H
#define REHEARSE_PLAN_PLAN_READ_H

#include "core/doc.h"
#include "plan/plan_fields.h"

struct plan_reader {
    struct doc doc;
    struct plan *plan; /* initialised, with room for PLAN_MAX_TYPES device types */
    struct error *err;
};

#endif
