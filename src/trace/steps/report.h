/* Steps as tables for people and as JSON for programs (rehearse-steps/1). */
#ifndef REHEARSE_TRACE_STEPS_REPORT_H
#define REHEARSE_TRACE_STEPS_REPORT_H

#include "core/error.h"
#include "core/text.h"
#include "trace/steps/stats.h"
#include "trace/steps/steps.h"

/* After steps_finish. */
bool steps_print(const struct steps *steps, const struct steps_model *model, struct text *out,
                 struct error *err);
bool steps_write_json(const struct steps *steps, const struct steps_model *model, struct json *json,
                      struct error *err);

#endif
