/* Internals of the search for jobs on several groups (mix.h): the jobs of one group, and the mixes of them. */
#ifndef REHEARSE_PLAN_FLEET_MIX_SEARCH_H
#define REHEARSE_PLAN_FLEET_MIX_SEARCH_H

#include "plan/fleet/mix.h"

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
    bool no_memory;
    struct error *err;
};

/* Returns the question of a group for a part of the batch, with the settings that all groups share. */
struct job_question mix_question(const struct mixer *m, int group, int64_t batch, bool alone);

/* Finds the best job of a question. False: none fits, or memory ran out. */
bool mix_find_job(struct mixer *m, const struct job_question *question, struct job_choice *choice);

/* Prices the groups' jobs for these parts; false: one does not fit. */
bool mix_make(struct mixer *m, unsigned groups, const int64_t *parts, struct mix_answer *mix);

/* Moves a part from the slowest kind to each other one in turn, as long as the mix gets faster. */
bool mix_balance(struct mixer *m, unsigned groups, int64_t *parts, struct mix_answer *mix);

/* Makes the mix the best one if it is faster. */
void mix_take(struct mixer *m, const struct mix_answer *mix);

/* Fixes the settings that all groups share to those of a job; mix_open: to `ranges` again. */
void mix_fix(struct mixer *m, const struct job *job);
void mix_open(struct mixer *m, const struct job_range *ranges);

/* Searches the classes of settings with which jobs on two or more groups could be faster than the best mix, and lowers the bound
 * to that of all of them. */
bool mix_search_classes(struct mixer *m);

#endif
