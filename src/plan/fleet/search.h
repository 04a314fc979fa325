/* Inside the search for the best pipelines (fleet.h): the price of a pipeline, the program of all of them, and the state
 * that choosing whole ones shares with the search for the deadline. */
#ifndef REHEARSE_PLAN_FLEET_SEARCH_H
#define REHEARSE_PLAN_FLEET_SEARCH_H

#include "plan/fleet/fleet.h"

/* The pipeline with the most m(T) - prices . devices, and that; -INFINITY: none fits, or none has more than `above`. It is
 * looked for as closely as `tolerance`: a share of the deadline, by how much later it would be for the best pipeline to be
 * as good. `late`: at a deadline that many seconds earlier no pipeline has more than 0. */
struct fleet_pricer;
struct fleet_pricer *fleet_pricer_new(const struct fleet_problem *problem);
void fleet_pricer_free(struct fleet_pricer *pricer);

/* Each stage's `after` at most; INFINITY to begin with. */
void fleet_pricer_limit(struct fleet_pricer *pricer, double after);

struct fleet_quest {
    double deadline, above, tolerance;
    const double *prices; /* of each row */
    const int *limits;    /* of each row at most; NULL: any */
    void (*found)(void *context,
                  const struct fleet_pipeline *pipeline); /* every one on the way that is nearly as good */
    void *context;
};
double fleet_price(struct fleet_pricer *pricer, const struct fleet_quest *quest, struct fleet_pipeline *best,
                   double *late);

/* The most whole micro-batches by the deadline of one pipeline that fits into these devices of each type, and no stage of
 * which takes longer afterwards; 0: none has more than `above`. Not always the most where there are many devices. */
struct fleet_fit_quest {
    const int *limits;
    double deadline, after, above;
};
double fleet_fit(const struct fleet_problem *problem, const struct fleet_pricer *pricer,
                 const struct fleet_fit_quest *quest, struct fleet_pipeline *best);

/* Cycles that pipelines can have: seconds of a stage. At most `most` of them between these, evenly chosen. */
int fleet_cycles(const struct fleet_pricer *pricer, double least, double deadline, int most, double *cycles);

/* Device seconds of a micro-batch: every layer where it takes the least. */
double fleet_least_work(const struct fleet_problem *problem);

/* max values . x, sum over columns x_k uses[k][row] <= limits[row], x >= 0. Sets x and the prices (duals); returns the
 * value. */
double fleet_program(int column_count, int row_count, const double *values, int (*uses)[FLEET_MAX_ROWS],
                     const double *limits, double *x, double *prices);

/* ---- the state of a search ---- */

#define FLEET_MAX_COLUMNS 4096
#define FLEET_COARSE      2e-2 /* of the deadline: how closely the least one is looked for at first */

struct fleet_searcher {
    const struct fleet_problem *problem;
    struct fleet_pricer *pricer;
    struct fleet_pipeline *columns;
    int (*uses)[FLEET_MAX_ROWS];
    double *values, *amounts; /* of columns, in the program */
    int *copies;              /* of columns, when whole ones are chosen */
    /* of the columns that fit into what is left */
    int *rest_columns;
    int (*rest_uses)[FLEET_MAX_ROWS];
    double *rest_values, *rest_amounts, rest_prices[FLEET_MAX_ROWS];
    int column_count;
    double limits[FLEET_MAX_ROWS], prices[FLEET_MAX_ROWS];
    double after; /* seconds of a stage at most */
    double sharp; /* of the deadline: how closely the least one is looked for */
    /* what may still be spent: for this deadline, and for the others */
    int pricings, pricings_left;
    double fits, fits_left;
    bool any; /* there is no plan near: whatever it takes to find one */
};

/* False: it is there already, or there is no room. */
bool fleet_add_column(struct fleet_searcher *s, const struct fleet_pipeline *pipeline);

/* The same for pipelines seen on the way: of them not as many. A fleet_quest's `found`. */
void fleet_offer_column(void *searcher, const struct fleet_pipeline *pipeline);

/* Micro-batches by a deadline. Parts of them, even of a first one, count in the program, as they do where its columns are
 * looked for. */
double fleet_done_by(const struct fleet_pipeline *pipeline, double deadline, bool whole);

/* Sets `values`: what each column does by the deadline. */
void fleet_value_columns(struct fleet_searcher *s, double deadline, bool whole);

/* The program's value, `amounts` and `prices` for a deadline. */
double fleet_solve(struct fleet_searcher *s, double deadline, bool whole);

/* Whole pipelines for a deadline as little above the program's as can be found, in *plan if they are faster than what is
 * there. *after: of the pipelines, of which `least` is of interest. */
bool fleet_choose(struct fleet_searcher *s, double deadline, double least, struct fleet_choice *plan,
                  double *after, struct error *err);

#endif
