/* Losses and returns of nodes over time, and nodes that become slow: read from a file, or drawn from a model.
 *
 * A node is a number. All events of one time are one change: nodes that are lost together (a batch), and
 * nodes that return. A node that is lost and returns at the same time was replaced, and its memory is
 * lost. */
#ifndef REHEARSE_ELASTIC_FAILURES_H
#define REHEARSE_ELASTIC_FAILURES_H

#include "core/error.h"
#include "core/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAILURES_MAX_NODES  (1 << 20)
#define FAILURES_MAX_EVENTS (1 << 25) /* that are drawn */
#define FAILURES_MAX_READ   (1 << 22) /* of a file */
#define FAILURES_YEAR       (365 * SECONDS_PER_DAY)

struct failure_event {
    double time; /* seconds, from 0 on */
    int32_t node;
    int32_t returned; /* 0: lost */
};

/* From `time` on a node that is there has this share of its full speed; 1: all of it. A loss ends it. */
struct failure_slowdown {
    double time;
    int32_t node;
    double speed;
};

struct failure_trace {
    int nodes;      /* numbered from 0 */
    int present;    /* nodes 0 … present-1 are there at the beginning, the others come later */
    double horizon; /* seconds; no event is later */
    bool counted;   /* only numbers of nodes were given: the seed chose those that leave */
    int count;
    struct failure_event *events; /* ascending in time; a node's losses and returns alternate */
    size_t capacity;
    int slow_count;
    struct failure_slowdown *slow; /* ascending in time */
    size_t slow_capacity;
};

/* An empty trace ({0}) is ready for use; making another one reuses its memory. */
void failures_release(struct failure_trace *trace);

/* Returns the index behind the events that have the time of event `first`. */
int failures_end_of_change(const struct failure_trace *trace, int first);

/* ---- files ---- */

/* Reads a table with a header line in one of two forms:
 *
 *     t_s,event,node       add or remove (also: returned, lost) of a node by its name; with a column `speed`
 *                          also slow (the share of its full speed) and recovered
 *     t_s,available        the number of nodes from then on
 *
 * `nodes`: size of the cluster; 0: the largest number of nodes that are there at once. If the first event
 * is a loss, all nodes are there at the beginning (`nodes` must be given), else none is. A name that
 * returns keeps no place: a node that comes takes the lowest free number. Where only numbers are given,
 * the nodes that leave are drawn by `seed`. Time that goes backwards, a node that comes or goes twice, and
 * more nodes than there are, are errors with their line. */
bool failures_load(struct failure_trace *trace, const char *path, int nodes, uint64_t seed,
                   struct error *err);

/* The same for text; `path` is for messages. */
bool failures_parse(struct failure_trace *trace, const char *path, const char *data, size_t length, int nodes,
                    uint64_t seed, struct error *err);

/* ---- models ---- */

enum failure_distribution { FAILURE_EXPONENTIAL, FAILURE_WEIBULL, FAILURE_FIXED };

struct failure_model {
    int nodes;
    double rate; /* losses of a node per second that it is there (of nodes lost with others, too) */
    enum failure_distribution life; /* of the seconds until a node is lost; its mean is 1 / rate */
    double shape;                   /* of Weibull's distribution: below 1, young nodes are lost more often */
    double repair; /* mean seconds until a lost node, or one in its place, is there; 0: at once */
    enum failure_distribution repair_time; /* exponential or fixed */
    /* mean number of nodes that are lost together, geometric, at neighbouring numbers; >= 1. All begin a
     * new life when they return, so that lives which are not exponential make losses rarer or more
     * frequent than `rate` */
    double batch;
    /* Nodes become slow and recover, apart from their losses: */
    double slow_rate;  /* times that a node becomes slow, per second that it is not */
    double slow_speed; /* its share of full speed then */
    double slow_time;  /* mean seconds until it has recovered, exponential */
};

/* Draws a trace. The numbers depend only on the model and on (seed, node, number of the life): a node's
 * first life is the same in a cluster of another size. Sets ERROR_INPUT for a model that has more than
 * FAILURES_MAX_EVENTS events, of losses or of slow nodes. */
bool failures_draw(struct failure_trace *trace, const struct failure_model *model, double horizon,
                   uint64_t seed, struct error *err);

/* ---- facts ---- */

/* Rates of published systems. */
struct failure_fact {
    const char *name;  /* "rsc-1" */
    const char *title; /* "Meta RSC-1" */
    int gpus;          /* of the system, or of the run */
    double rate;       /* per 1000 node-days of nodes with 8 GPUs */
    const char *source;
};

const struct failure_fact *failure_facts(int *count);
const struct failure_fact *failure_fact_named(const char *name); /* NULL: none */

/* Failures per 1000 node-days, as published, and per second of a node, as above. */
double failure_rate_of_node_days(double per_1000_node_days);

/* ---- closed forms (arXiv 2410.21680) ---- */

/* Mean seconds between failures of a job on `nodes` nodes. */
double failure_mttf(double nodes, double rate);

/* The expected share of effective training time, E[ETTR] = (1 - N r (u0 + dt/2)) / (1 + w/dt): failures
 * come at rate N r, each costs u0 seconds of restart and half an interval dt of training, a save costs w
 * seconds. *holds: the terms that it neglects stay below 2 %: (N r (u0 + (dt + w)/2))^2 / 2, of several
 * failures in one restart and interval, and N r w / 2, of failures that hit a save. */
#define FAILURE_FEW       0.15 /* failures per restart and half an interval */
#define FAILURE_FEW_SAVES 0.03 /* failures per save */
double failure_expected_ettr(double nodes, double rate, double restart, double interval, double save,
                             bool *holds);

/* The interval sqrt(2 w / (N r)) that is best to first order. */
double failure_best_interval(double nodes, double rate, double save);

/* The same share without that assumption, for exponential lives and failures that also hit restarts and
 * saves (Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS 2006):
 * dt N r / (exp(N r u0) (exp(N r (dt + w)) - 1)). */
double failure_exact_ettr(double nodes, double rate, double restart, double interval, double save);

#endif
