/* What is expected of a prediction, in seconds and for people. */
#ifndef REHEARSE_EVIDENCE_INTERVAL_H
#define REHEARSE_EVIDENCE_INTERVAL_H

#include "core/fields.h"
#include "core/text.h"
#include "evidence/neighbours.h"
#include "plan/plan.h"

/* Returns the interval of a job whose predicted time is `seconds`. */
struct plan_interval interval_of(const struct estimate *estimate, double seconds);

/* Multiplies all low and all high ends. */
void interval_scale(struct plan_interval *interval, double low, double high);

/* Returns whether a measured time lies inside. */
bool interval_holds(const struct plan_interval *interval, double seconds);

/* The first INTERVAL_ENDS are the interval itself; the others, as like known runs and as unlike them, are of jobs only. */
#define INTERVAL_ENDS   3
#define INTERVAL_FIELDS 7
extern const struct field interval_fields[INTERVAL_FIELDS];

/* Sets *nearest to the nearest similar run of an estimate, or to none, with strings in `arena`. */
bool estimate_nearest(const struct estimate *estimate, struct arena *arena, struct plan_nearest *nearest,
                      struct error *err);

/* Appends " (10.4 s by formula x 0.996 by known runs)", and the part of a run of the user's own; nothing if `factor` is
 * 1. */
void estimate_print_factors(const struct estimate *estimate, double formula, double factor, struct text *out);

/* Appends the known runs that moved the estimate most, and by how much. */
void estimate_print(const struct estimate *estimate, struct text *out);

#endif
