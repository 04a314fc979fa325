/* A training job on each of several groups of devices: pipelines of a group are alike and split as the search for one
 * kind splits them (plan/split), with its price, degrees, chunks, sharding and recomputation; groups share the batch.
 *
 * Problem. Choose groups, a part of the batch for each, and a job on each so that the iteration ends earliest. A job
 * takes job_time_of; its gradients are exchanged with the pipelines of all groups, over the slowest link between nodes.
 * Micro-batch, chunks, sharding and recomputation are the same everywhere, as a run of the software has one of each.
 * One group alone is a plan, too: its job is that of plan/split, to the last bit, with copies of shards and all else
 * that it can choose, so that further groups never make the plan slower.
 *
 * Search. Parts of the batch follow the groups' speeds and are then moved from the slowest group to others while that
 * helps; for each the search of plan/split finds the job, first with all settings open, then with those of each of
 * these jobs for all. That knows nothing of the exchange between groups, so all classes of settings follow whose bound
 * is below the best mix (mix_classes.c).
 *
 * Bound. By a deadline a group does at most job_sequences_by sequences beside others, with the settings that all have,
 * and one group alone takes no less than the bound of its own search. Where the time is over before all of that is
 * known, the bound is 0.
 *
 * Checked: against each group alone, and by brute force over all parts and jobs of small clusters
 * (tests/plan/fleet). */
#ifndef REHEARSE_PLAN_FLEET_MIX_H
#define REHEARSE_PLAN_FLEET_MIX_H

#include "plan/fleet/of_job.h"
#include "plan/fleet/plan.h"

struct mix_kind {
    int group;
    struct job_choice choice; /* its batch is the group's part */
};

struct mix_answer {
    struct arena arena; /* layouts of blocks */
    int kind_count;
    struct mix_kind kinds[FLEET_MAX_TYPES];
    struct fleet_time time;
    double lower_bound;
    double combinations;
    double alone[FLEET_MAX_TYPES]; /* seconds of the best job of each group alone; INFINITY: none fits */
    double with[FLEET_MAX_TYPES];  /* and of the best jobs found of which one is on the group */
    struct fleet_rivals rivals;    /* all that were found */
};

/* Finds the best jobs. Where some take `enough` already (INFINITY: none is known), only faster ones on two groups or
 * more are wanted. ERROR_INFEASIBLE if no group holds one, or none is faster: answer->lower_bound is set then, too. The
 * caller releases *answer. */
bool mix_plan(struct mix_answer *answer, const struct fleet_question *question, double enough,
              struct parallel *pool, struct error *err);
void mix_release(struct mix_answer *answer);

/* Sets times and memory of the kinds, and the seconds of the iteration. */
void mix_price(struct mix_answer *answer, const struct fleet_question *question);

/* ---- internals of the search: the jobs of one group, the mixes of them, and classes of settings (mix_classes.c)
 * ---- */

#define MIX_KNOWN 96 /* jobs of a group that are remembered, for one set of settings */

/* The best job of a group for a part of the batch. */
struct mix_known {
    int64_t batch;
    bool fits;
    struct job_choice choice; /* its layout of blocks: in the arena of the search */
};

struct mixer {
    const struct fleet_question *question;
    struct parallel *pool;
    struct arena arena; /* layouts of blocks of all jobs that are remembered */
    struct mix_answer *best;
    struct job_range ranges[JOB_DIMENSIONS]; /* settings that all groups share */
    struct mix_known known[FLEET_MAX_TYPES][MIX_KNOWN];
    int known_count[FLEET_MAX_TYPES];
    struct job_choice alone[FLEET_MAX_TYPES];
    int nodes[FLEET_MAX_TYPES]; /* of each group that may be used */
    int64_t unit;               /* sequences of a part */
    double combinations;
    double bound;      /* of the job found last */
    double time_limit; /* seconds of each search for a job; 0: none */
    bool late;         /* there was no time for all that a bound counts on */
    bool no_memory;
    struct error *err;
};

/* Returns the question of a group for a part of the batch, with the settings that all groups share. */
struct job_question mix_question(const struct mixer *m, int group, int64_t batch, bool alone);

/* Finds the best job of a question. False: none fits, or memory ran out. */
bool mix_find_job(struct mixer *m, const struct job_question *question, struct job_choice *choice);

/* Makes the mix the best one if it is faster. */
void mix_take(struct mixer *m, const struct mix_answer *mix);

/* Fixes the settings that all groups share to those of a job. */
void mix_fix(struct mixer *m, const struct job *job);

/* Searches the classes of settings with which jobs on two or more groups could be faster than the best mix, and lowers
 * the bound to that of all of them. */
bool mix_search_classes(struct mixer *m);

#endif
