/* Internals of the search for the best pipelines (fleet.h): the pricing of a pipeline, the linear program
 * over all of them, and the state shared by rounding to whole pipelines and the search for the deadline. */
#ifndef REHEARSE_PLAN_FLEET_SEARCH_H
#define REHEARSE_PLAN_FLEET_SEARCH_H

#include "plan/fleet/fleet.h"

/* fleet_price finds the pipeline of maximum m(T) - prices . devices and returns that value; -INFINITY: none
 * fits, or none exceeds `above`. `tolerance` is the accuracy, as a share of the deadline: how much later the
 * deadline would be for the best pipeline to reach the same value. `late`: how many seconds the deadline can
 * shrink before every pipeline's value is <= 0. The stages of *best stay valid until the pricer's next use. */
struct fleet_pricer;
struct fleet_pricer *fleet_pricer_new(const struct fleet_problem *problem);
void fleet_pricer_free(struct fleet_pricer *pricer);

/* Returns the seconds of the shortest cycle of any pipeline; INFINITY: there is none. */
double fleet_pricer_min_cycle(const struct fleet_pricer *pricer);

/* Limits each stage's `after`; initially INFINITY. */
void fleet_pricer_limit(struct fleet_pricer *pricer, double after);

struct fleet_price_query {
    double deadline, above, tolerance;
    const double *prices; /* per row */
    const int *limits;    /* maximum per row; NULL: no limit */
    void (*found)(void *context,
                  const struct fleet_pipeline *pipeline); /* called for every nearly as good pipeline */
    void *context;
};
double fleet_price(struct fleet_pricer *pricer, const struct fleet_price_query *query,
                   struct fleet_pipeline *best, double *late);

/* Returns the maximum number of whole micro-batches by the deadline of one pipeline within these devices and
 * at most `after` afterwards; 0: none exceeds `above`. With many devices it may miss the maximum. Its stages are the
 * pricer's, too. */
struct fleet_fit_query {
    const int *limits;
    double deadline, after, above;
};
double fleet_fit(const struct fleet_problem *problem, const struct fleet_pricer *pricer,
                 const struct fleet_fit_query *query, struct fleet_pipeline *best);

/* Fills in at most `max` cycles from `shortest` seconds on, evenly chosen; returns their number. */
int fleet_cycles(const struct fleet_pricer *pricer, double shortest, double deadline, int max,
                 double *cycles);

/* Returns the minimum device seconds of a micro-batch: each layer with its cheapest option. */
double fleet_min_work(const struct fleet_problem *problem);

/* Solves max values . x, sum over columns x_k uses[k][row] <= limits[row], x >= 0. Sets x and the prices
 * (duals); returns the maximum. */
double fleet_program(int column_count, int row_count, const double *values, int (*uses)[FLEET_MAX_ROWS],
                     const double *limits, double *x, double *prices);

/* The linear program at a deadline: the prices, the price of all devices, and a bound on how much more than its price a
 * pipeline is worth. An INFINITE value: the program was not solved. */
struct fleet_relaxation {
    double prices[FLEET_MAX_ROWS], value, above;
};

/* Solves it over pipelines whose stages take at most `after` seconds afterwards. */
bool fleet_relax(struct fleet_relaxation *relaxed, const struct fleet_problem *problem, double deadline,
                 double after, struct error *err);

/* ---- the state of a search ---- */

#define FLEET_MAX_COLUMNS 4096
#define FLEET_COARSE      2e-2 /* of the deadline: initial accuracy of the earliest deadline */

struct fleet_searcher {
    struct arena arena; /* of all arrays but the columns */
    const struct fleet_problem *problem;
    struct fleet_pricer *pricer;
    struct arena stages; /* of the columns */
    struct fleet_pipeline *columns;
    int (*uses)[FLEET_MAX_ROWS];
    double *values, *amounts; /* of columns, in the program */
    int *copies;              /* of columns, for whole pipelines */
    /* the columns that fit into the remaining devices */
    int *rest_columns;
    int (*rest_uses)[FLEET_MAX_ROWS];
    double *rest_values, *rest_amounts, rest_prices[FLEET_MAX_ROWS];
    int column_count;
    size_t column_capacity;
    bool no_memory; /* for a column */
    double limits[FLEET_MAX_ROWS], prices[FLEET_MAX_ROWS];
    double after; /* maximum seconds of a stage */
    double sharp; /* of the deadline: accuracy of the earliest deadline */
    /* remaining budgets: for this deadline, and for the others */
    int pricings, pricings_left;
    double fits, fits_left;
    bool any; /* there is no plan close to the bound: ignore the budgets */
};

/* Returns false if the column exists already or there is no room. */
bool fleet_add_column(struct fleet_searcher *s, const struct fleet_pipeline *pipeline);

/* The same, with less room, for pipelines that a pricing passes; a fleet_price_query's `found`. */
void fleet_offer_column(void *searcher, const struct fleet_pipeline *pipeline);

/* Returns the micro-batches done by a deadline. The program counts fractions, as its pricing does. */
double fleet_done_by(const struct fleet_pipeline *pipeline, double deadline, bool whole);

/* Sets `values` to the micro-batches that each column does by the deadline. */
void fleet_value_columns(struct fleet_searcher *s, double deadline, bool whole);

/* Solves the program for a deadline: sets `amounts` and `prices`, returns its value. */
double fleet_solve(struct fleet_searcher *s, double deadline, bool whole);

/* Chooses whole pipelines for a deadline as close above the program's as possible, in *plan if they are
 * faster. *after: seconds after the pipelines, of interest from `min` on. */
bool fleet_choose(struct fleet_searcher *s, double deadline, double min, struct fleet_choice *plan,
                  double *after, struct error *err);

#endif
