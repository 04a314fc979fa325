/* The answers of `rehearse elastic`, as tables and as rehearse-elastic/1. */
#ifndef REHEARSE_API_ELASTIC_REPORT_H
#define REHEARSE_API_ELASTIC_REPORT_H

#include "core/json.h"
#include "core/text.h"
#include "elastic/batch.h"
#include "elastic/reconfigure.h"

struct elastic_event {
    const char *what; /* "lose", "return" */
    int *nodes, count;
    struct elastic_transition way;
    double fastest; /* iteration seconds of the fastest set afterwards; INFINITY: not known */
    double downtime;
};

/* The worst and the mean downtime and iteration of all single losses that need no checkpoint, and the number
 * of nodes whose loss does. */
struct elastic_losses {
    double worst, mean, worst_iteration, mean_iteration;
    int checkpoints, nodes;
    struct elastic_loss *places; /* malloc'ed; NULL: not requested */
    int count;
};

struct elastic_report {
    struct elastic_kit kit;
    int faults;
    bool limited; /* nobody said how many faults, and the usual one cannot be survived: `faults` is 0, */
    struct error limit; /* and this is why */
    double setup;
    enum elastic_method method;
    struct elastic_set set;
    struct elastic_state state;
    struct elastic_losses losses;
    struct elastic_event *events;
    int event_count;
    /* set by elastic_report_complete */
    const char *faults_limit, *exists_once; /* NULL: none */
    struct elastic_share *shares;           /* malloc'ed */
    int share_count;
    double slowest;                      /* pipeline's seconds */
    const struct elastic_losses *summed; /* NULL: not requested */
};

/* Sets all that follows from the others. */
bool elastic_report_complete(struct elastic_report *report, struct error *err);

void elastic_report_print(const struct elastic_report *report, struct text *out);
/* Draws the speed of each policy over days, for a page. */
struct elastic_series;
struct report_drawing;
bool elastic_draw_series(const struct elastic_series *series, int count, double horizon,
                         struct report_drawing *drawing, struct error *err);

void elastic_report_json(const struct elastic_report *report, struct json *json);

#endif
