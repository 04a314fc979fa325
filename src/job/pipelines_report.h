/* Pipelines over devices of several types, for people and for programs. */
#ifndef REHEARSE_JOB_PIPELINES_REPORT_H
#define REHEARSE_JOB_PIPELINES_REPORT_H

#include "core/json.h"
#include "job/fleet_job.h"

struct pipelines_report {
    const struct fleet_answer *answer;
    const char *model;                   /* NULL: not known */
    const char *software;                /* NULL: a measured profile */
    const char *types[FLEET_TYPES_MOST]; /* of devices */
    double memory[FLEET_TYPES_MOST];     /* bytes of each; INFINITY: no limit */
    int64_t batch;                       /* samples */
    int64_t sequence;                    /* tokens of a sample; 0: not known */
};

void pipelines_print(const struct pipelines_report *report, struct text *out);

/* rehearse-plan/1, objective "iteration", with `pipelines`; docs/plan.md. */
void pipelines_write_json(const struct pipelines_report *report, struct json *json, const char *key);

/* A graph of the stages of every kind of pipeline. */
void pipelines_write_dot(const struct pipelines_report *report, struct text *out);

/* Devices of a type that no pipeline uses. */
int pipelines_idle(const struct fleet_answer *answer, int type);

#endif
