/* A readable report on pipelines over several device types. */
#ifndef REHEARSE_PLAN_FLEET_REPORT_H
#define REHEARSE_PLAN_FLEET_REPORT_H

#include "core/text.h"
#include "plan/fleet/of_job.h"

struct fleet_report {
    const struct fleet_answer *answer;
    const char *model;                  /* NULL: not known */
    const char *software;               /* NULL: a measured profile */
    const char *types[FLEET_MAX_TYPES]; /* device names */
    double memory[FLEET_MAX_TYPES];     /* bytes of each; INFINITY: no limit */
    int64_t batch;                      /* samples */
    int64_t sequence;                   /* tokens per sample; 0: unknown */
};

void fleet_print(const struct fleet_report *report, struct text *out);

/* Returns the number of devices of a type that no pipeline uses. */
int fleet_idle(const struct fleet_answer *answer, int type);

#endif
