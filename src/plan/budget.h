/* The budget of a whole training: days, money and energy of a plan's iterations, and the cheapest of several plans that
 * keeps a deadline.
 *
 * Devices that the plan uses are paid for as long as the training takes; idle devices are not. Energy is that of the
 * boards (`power` of a device), not of processors, switches and cooling. It has two bounds, as published runs rarely
 * say how much a waiting device draws: the limit of each board for the whole time, and the limit only while it
 * computes. */
#ifndef REHEARSE_PLAN_BUDGET_H
#define REHEARSE_PLAN_BUDGET_H

#include "devices/tables.h"
#include "plan/plan.h"

#define BUDGET_MAX_PRICES 64

struct budget_price {
    char device[64]; /* "": every device that has no price of its own */
    double per_hour; /* dollars per device and hour */
};

struct budget_prices {
    int count; /* 0: nothing is said about money */
    struct budget_price prices[BUDGET_MAX_PRICES];
};

/* Reads "2.10/h", or a list by device "h100=2.10/h,a100-80gb=1.29/h"; "$" before and "/h" behind the number may be left
 * out. NULL: no prices. Errors begin with "--price: ". A name that ends in .yaml, .yml or .json is that of a file: a
 * map of prices by device, `default` for all others. */
bool budget_read_prices(const char *text, const struct tables *tables, struct budget_prices *prices,
                        struct error *err);

/* Reads the text of such a file; `path` says its syntax. */
bool budget_parse_prices(const char *path, const char *text, size_t length, const struct tables *tables,
                         struct budget_prices *prices, struct error *err);

/* Fills in plan->budget for a training on `tokens` tokens; 0: only what does not depend on how long it takes. Devices
 * are found in the tables by the names of the plan's device types. ERROR_USAGE: a type has no price, or the plan does
 * not say how many tokens an iteration has. */
bool budget_of(struct plan *plan, double tokens, const struct budget_prices *prices,
               const struct tables *tables, struct error *err);

/* Appends the budget as lines; nothing where none was asked for. */
/* "$8.101 million" */
void budget_print_dollars(double dollars, struct text *out);
void budget_print(const struct plan *plan, struct text *out);

/* Returns the seconds of a training on `tokens` tokens, whole iterations counted. */
double budget_seconds(double tokens, double tokens_per_iteration, double iteration_time);

#endif
