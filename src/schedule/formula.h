/* Closed formulas of makespans and memory, for devices that are alike and sends that take no time.
 *
 * p devices, m micro-batches, v chunks of a device; f, b, w: seconds of a device for the forward pass, the input
 * gradient and the weight gradient of a micro-batch, all its chunks together; T = f + b + w. x is the time of a pair of
 * a forward and a whole backward pass that overlap; T if they hide nothing. A formula stands beside what was played: it
 * is exact under its condition, and otherwise near. */
#ifndef REHEARSE_SCHEDULE_FORMULA_H
#define REHEARSE_SCHEDULE_FORMULA_H

#include "schedule/schedule.h"

struct formula_case {
    double p, m, v, f, b, w, x;
};

struct formula {
    const char *text;      /* "(m + p - 1) T"; NULL: the schedule has none */
    const char *condition; /* "m >= p"; NULL: always exact */
    double makespan;
    bool exact; /* the condition holds */
    /* Micro-batches that the fullest device keeps at most, all its chunks together, if nothing is freed before W. */
    const char *memory_text; /* NULL: none */
    double memory;
    bool memory_exact;
};

struct formula schedule_formula(const struct schedule *schedule, const struct formula_case *numbers);

#endif
