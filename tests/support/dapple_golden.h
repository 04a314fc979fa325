/* HPGO's recorded results, and the chains that it planned, from hybrid/ of the reference data. */
#ifndef REHEARSE_TESTS_DAPPLE_GOLDEN_H
#define REHEARSE_TESTS_DAPPLE_GOLDEN_H

#include "core/doc.h"
#include "plan/dapple/dapple.h"

struct dapple_golden {
    struct doc doc; /* owns the nodes */
    struct dapple_problem problem;
    struct dapple_cluster cluster;
    int machine_end[DAPPLE_MAX_DEVICES];
    char profile[64];              /* "vgg-19-pbs-32" */
    const struct doc_node *record; /* of the file's records; the caller walks ->next */
};

/* A chain as HPGO imported it (prepared/NAME.json). Fails the test on errors; false: it is not there. */
bool dapple_golden_chain(struct chain *chain, const char *profile);

/* Opens golden/NAME; record is the first. False: it is not there. */
bool dapple_golden_open(struct dapple_golden *golden, const char *name);

/* The problem of golden->record; its chain is the caller's to set. */
void dapple_golden_problem(struct dapple_golden *golden);

/* A number below record.output; NAN: none. */
double dapple_golden_output(const struct dapple_golden *golden, const char *key);

/* Names of all files of golden/ that end in .json and hold records of the planner. */
char **dapple_golden_list(int *count);

#endif
