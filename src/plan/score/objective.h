/* The table entry of an objective. Private to this folder. */
#ifndef REHEARSE_PLAN_SCORE_OBJECTIVE_H
#define REHEARSE_PLAN_SCORE_OBJECTIVE_H

#include "core/doc.h"
#include "core/text.h"
#include "plan/plan.h"
#include "plan/score/options.h"

struct score_request {
    struct plan *plan;
    const struct score_options *options;
    double headroom;
    void *question; /* owned by the objective */
};

/* open sets the question, close frees it; score and search fill in initialised plans and release them on
 * failure. Objectives of one name accept different plans; `takes` NULL: all. */
struct objective {
    const char *name;
    bool (*takes)(const struct plan *plan, const struct score_options *options);
    bool (*open)(struct score_request *scoring, struct error *err);
    bool (*score)(struct score_request *scoring, struct plan *scored, struct error *err);
    bool (*search)(struct score_request *scoring, struct plan *best, struct error *err);
    void (*close)(struct score_request *scoring);
    const char *beyond; /* NULL: the best plan says what its proof is about */
};

/* Appends the fields of a document that the scored plan has with other values, but for those of a search; without
 * `same_time` also but for seconds and bytes. Nothing: there are none. */
bool score_differ(const struct doc_node *said, const struct plan *scored, bool same_time, struct text *out,
                  struct error *err);

extern const struct objective objective_pipeline, objective_oobleck, objective_dapple, objective_job,
    objective_fleet;

#endif
