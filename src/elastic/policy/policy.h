/* Policies: what a training job does when nodes are lost or return.
 *
 * A policy is three functions (state, event) → step: how much work is lost, how long the job stops and
 * why, and how fast it goes on. policy/play.h plays any policy over a trace of failures; all policies are
 * played on the same trace, with the same costs and the same answers to "how fast is the job in this
 * state" (struct elastic_rates).
 *
 * Time is in seconds. Work is counted in seconds at full speed, that is, of all nodes without spares; a
 * speed is a share of it. */
#ifndef REHEARSE_ELASTIC_POLICY_POLICY_H
#define REHEARSE_ELASTIC_POLICY_POLICY_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- how fast a job is ---- */

/* Seconds per iteration of the whole batch in every state that policies ask for: made once, then read by
 * all threads. */
struct elastic_rates {
    int nodes;        /* of the cluster */
    int stages;       /* nodes of a pipeline; of a replica where a replica has no pipeline */
    int pipelines;    /* of `stages` nodes that the cluster has room for */
    int64_t batch;    /* micro-batches of an iteration over all pipelines */
    int microbatches; /* of the pipeline with the largest share */
    double full;      /* seconds of the fastest arrangement */
    /* [n], 0 … nodes: the best arrangement of n nodes (templates: unequal pipelines); 0: none */
    double *best;
    /* [d], 0 … pipelines: d equal pipelines of `stages` nodes that share the batch; 0: none */
    double *equal;
};

/* Answers for one number of nodes: seconds per iteration of the whole batch; 0: the model does not fit. */
typedef double elastic_seconds(void *context, int nodes);

/* Asks `seconds_of` for all numbers of nodes. More nodes never are slower: an arrangement may leave nodes
 * idle. `seconds_of` NULL: the nodes form as many equal pipelines as they can, with `full` seconds for all
 * nodes. Of equal pipelines, those that share the batch with fewer take (m' + stages - 1) / (m + stages -
 * 1) times as long, where m' is the largest share of the batch (1F1B). */
bool elastic_rates_make(struct elastic_rates *rates, int nodes, int stages, int64_t batch, double full,
                        elastic_seconds *seconds_of, void *context, struct error *err);
void elastic_rates_release(struct elastic_rates *rates);

/* ---- costs of a change ---- */

struct elastic_costs {
    double detect;      /* until the job knows of a loss */
    double restart;     /* new processes and communicators of the whole job */
    double load;        /* reading a checkpoint */
    double swap;        /* a spare that is ready takes a lost node's place: instead of restart */
    double reconfigure; /* new pipelines in running processes: Oobleck, Bamboo */
    double migrate; /* live migration of stages: Parcae; a replica copies a peer's state: torchft, ReCycle */
    double reroute; /* peers take a lost node's micro-batches: ReCycle; a shadow takes over: Bamboo */
    double notice;  /* seconds that a loss is known in advance, as of spot instances: Parcae */
    double save_block; /* training stops so long for a save that is written at once */
    double
        copy_block; /* training stops so long for a copy to the host's or a peer's memory, written behind */
    double save_write; /* from then on until a copy is on disk */
    double interval;   /* of training between saves; INFINITY: no saves */
};

/* ---- a policy ---- */

enum policy_loss {
    POLICY_KEEPS,      /* no work is lost */
    POLICY_LOSES_STEP, /* the iteration in progress is done again */
    POLICY_LOSES_COPY, /* back to the last copy in memory */
    POLICY_LOSES_SAVE, /* back to the last save on disk */
};

/* All events of one time. */
struct policy_change {
    double time;
    int lost_count, returned_count;
    const int *lost, *returned;
    bool stopped; /* the stop of an earlier change is not over, or the job waits */
};

/* The answer of a policy. It holds the last answer when the policy is called, with loss POLICY_KEEPS and
 * without `stops`, so that a policy only sets what changes. */
struct policy_step {
    enum policy_loss loss;
    /* training stops for detect + restart seconds from now on, instead of the rest of an earlier stop; false: it
     * goes on, or an earlier stop does */
    bool stops;
    double detect, restart; /* seconds; restart: of every kind (reconfiguration, migration, loading) */
    bool waits;             /* too few nodes: training stops until a later change */
    double speed;           /* share of full speed from the end of the stop on */
    double iteration;       /* work of an iteration, seconds at full speed */
    double wake;            /* the policy is called at this time even without a change; INFINITY: it is not */
    bool wake_at_save;      /* it is called when the next save is done */
};

struct policy_state;

/* How often the job saves, and for how long that stops it. */
enum policy_saving {
    POLICY_SAVES,  /* to disk, training waits for it: save_block */
    POLICY_COPIES, /* to memory (copy_block), then to disk behind training; the next save waits for the last */
    /* to memory, whose copies are of use; every so many-th to disk as the one before is there by then */
    POLICY_COPIES_OFTEN
};

struct elastic_policy {
    const char *name;    /* "oobleck" */
    const char *summary; /* one line: the reaction to a loss */
    const char *assumes; /* sentences: the modelled and the omitted effects */
    const char *source;
    enum policy_saving saving;
    bool fixed; /* the job has a fixed number of nodes: all but the spares */
    double (*healthy)(const struct policy_state *state); /* speed with all nodes */
    /* Begins with the nodes of the state that are there. */
    void (*begin)(struct policy_state *state, struct policy_step *step);
    void (*change)(struct policy_state *state, const struct policy_change *change, struct policy_step *step);
    void (*wake)(struct policy_state *state, double time, struct policy_step *step); /* NULL: never called */
};

/* All policies, in the order of the pages. */
const struct elastic_policy *const *elastic_policies(int *count);
const struct elastic_policy *elastic_policy_named(const char *name); /* NULL: none */

/* ---- the question ---- */

enum slow_answer { SLOW_IGNORED, SLOW_MOVED, SLOW_DROPPED, SLOW_ANSWERS };
extern const char *const slow_answer_names[SLOW_ANSWERS + 1]; /* "ignore"; ended by NULL */

struct policy_setup {
    const struct elastic_rates *rates;
    struct elastic_costs costs;
    int spares;                   /* nodes that `spares` holds back */
    int need;                     /* nodes without which a restart waits; 0: all but the spares */
    bool exists_once;             /* state is sharded over all nodes: peers have no copy of a lost node's */
    enum slow_answer slow_answer; /* to nodes that are slow (slow.h) */
    double slow_detect;           /* seconds until the job knows of one */
};

/* ---- the answer ---- */

enum elastic_cause {
    ELASTIC_TRAINED,  /* work that was kept */
    ELASTIC_LOST,     /* work that was lost: since the save, or the iteration in progress */
    ELASTIC_DETECT,   /* a loss was not yet known */
    ELASTIC_RESTART,  /* restart, reconfiguration, migration, loading */
    ELASTIC_WAIT,     /* too few nodes */
    ELASTIC_DEGRADED, /* slower than with all nodes */
    ELASTIC_SLOW,     /* waiting for nodes that are slow */
    ELASTIC_OVERHEAD, /* slower by design: spares, redundant computation */
    ELASTIC_SAVE,
    ELASTIC_CAUSE_COUNT
};
const char *elastic_cause_name(enum elastic_cause cause); /* "detect" */

/* One run. The seconds of all causes add up to the trace's horizon. */
struct elastic_result {
    double seconds[ELASTIC_CAUSE_COUNT];
    int64_t losses;   /* nodes lost */
    int64_t restarts; /* from a save or a copy */
    int64_t changes;  /* other stops */
    int64_t saves;
    int64_t slow; /* times that a node became slow */
};

#endif
