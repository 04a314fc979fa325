/* A training job as the options of `rehearse plan` describe it, and its split over devices that are alike. */
#ifndef REHEARSE_API_PLAN_SPLIT_H
#define REHEARSE_API_PLAN_SPLIT_H

#include "api/plan/command.h"
#include "api/plan/range.h"
#include "cluster/cluster.h"
#include "launch/launch.h"
#include "plan/budget.h"
#include "plan/plan.h"

/* The question, and its parts. */
struct split {
    const struct plan_options *options;
    struct cost_chosen chosen;
    struct table inside, across, network; /* of files */
    struct launch_options flags;          /* of a file */
    struct job_question question;         /* of the first point of a sweep */
    struct range batches, devices;
    int software_count; /* more: all are compared */
    struct budget_prices prices;
    const struct cluster *cluster; /* of a file; NULL: none */
    double until;                  /* clock_now seconds: the time limit of a single answer; 0: none */
};

/* Parses --global-batch, which must be there. */
bool split_parse_batch(const struct plan_options *options, struct range *batches, struct error *err);

/* Sets the job's model, sequence and software, and the user's tables. */
bool split_choose_model(struct split *split, struct error *err);

/* Sets the job's device type, links and precision, and the user's tables. */
bool split_choose_machine(struct split *split, struct error *err);

/* Sets what the job's link between nodes reaches, as --network has it; a link at a share of its rates is named "typical
 * (like NAME)", "0.6 (like NAME)" or "measured (like NAME)". */
bool split_choose_network(struct split *split, struct error *err);

/* Makes the question of the options: model, device type, links, and the values of --global-batch and --devices. */
bool split_ask(struct split *split, struct error *err);

/* Finds the best plan of the question for one batch and number of devices. On failure *plan holds nothing, on success
 * the caller releases it. Several threads may call it at once. */
bool split_plan(const struct split *split, int64_t batch, int devices, struct plan *plan, struct error *err);

/* Takes over the imbalance of experts. */
void split_imbalance(struct split *split);

/* Adds the budget of the whole training, where options ask for it. */
bool split_budget(const struct split *split, struct plan *plan, struct error *err);

#define SPLIT_BUDGET_COLUMNS 4

struct sweep_column;
struct sweep_cell;

/* Adds the columns of a budget that options ask for: days, dollars, dollars per million tokens, energy. Returns their
 * number. */
int split_budget_columns(const struct plan_options *options, struct sweep_column *columns);

/* Fills in the cells of these columns; the plan has the budget of its iteration time then. */
bool split_budget_cells(const struct split *split, struct plan *plan, struct sweep_cell *cells,
                        struct error *err);

/* Answers every combination of software, batches and devices. */
bool split_sweep(struct split *split, struct error *err);

/* Plans and delivers the job of one batch on all devices of a resolved group. */
bool split_on_group(struct split *split, const struct cluster_group *group, struct error *err);

/* Ends a split that was {0} but for its options at first, however far it came. */
void split_release(struct split *split);

#endif
