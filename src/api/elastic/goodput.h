/* The part of rh_elastic that plays policies over failures: its options, its answer. */
#ifndef REHEARSE_API_ELASTIC_GOODPUT_H
#define REHEARSE_API_ELASTIC_GOODPUT_H

#include "api/command.h"
#include "elastic/goodput.h"
#include "elastic/kit.h"

extern const char *const goodput_lives[]; /* ended by NULL */

/* What the closed form says of a restart from saves that training waits for, without waiting for nodes. */
struct goodput_expectation {
    bool holds; /* its assumption of rare losses */
    double ettr, exact;
};

/* One row of the answer; the last three are set by goodput_complete. */
struct goodput_row {
    struct elastic_variant variant;
    struct goodput goodput;
    int64_t spares;          /* INT64_MIN: the policy has none */
    const char *slow_policy; /* NULL: no node is ever slow */
    struct goodput_expectation closed;
    const struct goodput_expectation *expected; /* NULL: the closed form says nothing of it */
};

struct goodput_rows {
    const struct rh_elastic_request *given;
    int threads;
    struct elastic_costs costs;
    struct elastic_rates rates;
    struct failure_trace *traces; /* as given, or of the first seed */
    int trace_count;
    struct failure_model model;
    const struct failure_fact *fact; /* NULL: no named system */
    double losses_per_second;        /* of all nodes */
    bool drawn;                      /* from the model */
    double copies;                   /* seconds of copies in a reconfiguration, by the plan */
    double checkpoints;              /* share of single losses for which the plan needs a checkpoint */
    bool exists_once;                /* state is sharded over all nodes of the plan */
    bool mixed;                      /* nodes of several kinds */
    bool slow;                       /* nodes become slow */
    enum slow_answer slow_answers[SLOW_ANSWERS];
    int slow_answer_count;
    int count;
    struct goodput_row *rows;
    size_t row_capacity;
    /* set by goodput_complete; NAN and NULL: not drawn, unknown */
    double per_1000_days, mttf, repair, horizon;
    int seeds;
    const char *trace, *source;
};

/* Returns whether this part is asked at all. */
bool goodput_is_asked(const struct rh_elastic_request *given);

/* Plays the policies, and adds the answer to the report. `kit`: the job's plans; NULL: equal pipelines of nodes, stages
 * and iteration. */
bool goodput_answer(const struct rh_elastic_request *given, const struct api_call *call,
                    const struct elastic_kit *kit, struct api_report *report, struct error *err);

/* Adds the answer as text. */
void goodput_print(const struct goodput_rows *answer, struct text *out);

#endif
