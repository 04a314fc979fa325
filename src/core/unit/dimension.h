/* The dimensions of options, and which of their numbers may stand without a unit.
 *
 * `--mtbf 50000` is meant in hours by some and in seconds by others, `--headroom 0.05` as a share and as percent. Each
 * dimension has the range in which a number without a unit is beyond doubt; outside of it the error names both readings
 * and how to write each. With its unit, every number is taken. 0 is always taken. */
#ifndef REHEARSE_CORE_UNIT_DIMENSION_H
#define REHEARSE_CORE_UNIT_DIMENSION_H

#include "core/error.h"
#include "core/unit.h"

#include <stdbool.h>
#include <stddef.h>

enum dimension {
    DIMENSION_NONE,      /* none was said */
    DIMENSION_NUMBER,    /* a factor, a shape, a number of things that have one name */
    DIMENSION_WITH_UNIT, /* its reader takes no number without a unit */
    DIMENSION_SHARE,     /* 0.15, 15% */
    DIMENSION_PERCENT,   /* 5, 5% */
    DIMENSION_TOKENS,    /* of a whole training */
    DIMENSION_SAMPLES,   /* of a batch */
    DIMENSION_LENGTH,    /* tokens of a sample */
    DIMENSION_DAYS,      /* days of a run */
    DIMENSION_LOSSES,    /* losses per 1000 node-days */
    DIMENSION_LIFE,      /* time between failures of a node */
    DIMENSION_REPAIR,    /* time until a node is back, or until the next save */
    DIMENSION_PASS,      /* a pass, a send, an iteration */
    DIMENSION_COST,      /* seconds that a loss costs: new processes, copies */
    DIMENSION_WAIT,      /* how long somebody waits for others, or for an answer */
    DIMENSION_SAMPLING,  /* between samples */
    DIMENSION_LAUNCH,    /* of a kernel, latency of a link */
    DIMENSION_MOMENT,    /* of a run: when, or how much of it */
    DIMENSION_DATA,      /* bytes of a data set, a sample's activations */
    DIMENSION_BUFFER,    /* of a buffer, a request */
    DIMENSION_MESSAGE,   /* of a message */
    DIMENSION_RATE,      /* bytes per second */
    DIMENSION_COUNT
};

/* A number as an option has it. */
struct dimension_number {
    char digits[64]; /* without a unit of the dimension's own */
    double factor;   /* of that unit; 1: there was none */
    bool has_unit;   /* one that leaves no doubt, of the dimension or of unit.h */
};

/* Splits `text` into the number and the dimension's own unit, if it has one: "15 tokens", "5%". */
struct dimension_number dimension_split(enum dimension dimension, const char *text);

/* Checks the value of a number, which `text` is. The message begins with the option. */
bool dimension_check(enum dimension dimension, const char *option, const char *text, double value,
                     struct error *err);

/* dimension_split, unit_parse and dimension_check. */
bool dimension_parse(enum dimension dimension, enum unit_kind unit, const char *option, const char *text,
                     double *value, struct error *err);

#endif
