/* What the files of the twin share: the job, its nodes, and the answers to a change. */
#ifndef REHEARSE_TESTS_POLICY_TWIN_JOB_H
#define REHEARSE_TESTS_POLICY_TWIN_JOB_H

#include "support/policy_twin.h"

/* A list gives its last item first; an item that leaves is replaced by the last. */
struct list {
    int count, items[POLICY_TWIN_MAX_NODES + 1];
};

static inline void push(struct list *list, int item)
{
    list->items[list->count++] = item;
}

static inline int pop(struct list *list)
{
    return list->items[--list->count];
}

static inline bool has(const struct list *list, int item)
{
    for (int i = 0; i < list->count; i++)
        if (list->items[i] == item)
            return true;
    return false;
}

static inline void drop(struct list *list, int item)
{
    for (int i = 0; i < list->count; i++)
        if (list->items[i] == item) {
            list->items[i] = list->items[--list->count];
            return;
        }
}

struct twin {
    const char *policy;
    const struct policy_setup *setup;
    const struct elastic_rates *rates;
    const struct elastic_costs *costs;
    int now;
    /* nodes */
    struct list spares, holes;
    int node_of[POLICY_TWIN_MAX_NODES + 1]; /* a cell's; -1: none */
    int cells, live;
    struct list lost_cells; /* of this episode, each once */
    int cells_then;         /* when it began */
    bool from_save;
    int pipelines, loss_times;
    double ready[POLICY_TWIN_MAX_NODES + 1];
    /* the job */
    int detect_left, restart_left;
    bool waits;
    double speed, iteration, wake;
    bool wake_at_save;
    double work, copied, saved;
    double origin;           /* work when the iterations began */
    int trained, block_left; /* since the last save; of the save */
    struct {
        double work;
        int at;
    } writes[8];
    int write_count, save_count;
    bool saved_now;
    /* slow nodes: their speed, 1: not slow; when the job knows, and whether it has dropped them */
    double pace[POLICY_TWIN_MAX_NODES + 1];
    int known_at[POLICY_TWIN_MAX_NODES + 1];
    bool known[POLICY_TWIN_MAX_NODES + 1], away[POLICY_TWIN_MAX_NODES + 1];
    bool orderly; /* this change was known before */
    int extra;    /* seconds of the save before it */
    double *spent;
};

bool policy_twin_is(const struct twin *twin, const char *name);
double policy_twin_best(const struct twin *twin, int nodes);
double policy_twin_equal(const struct twin *twin, int pipelines);
int policy_twin_whole_pipelines(const struct twin *twin);
void policy_twin_put(struct twin *twin, int cell);
void policy_twin_use_cells(struct twin *twin, int cells);
void policy_twin_lose_step(struct twin *twin, double iteration);
void policy_twin_lose_to(struct twin *twin, double work);
void policy_twin_stop(struct twin *twin, double detect, double restart);
void policy_twin_wait_for_nodes(struct twin *twin);
int policy_twin_apply(struct twin *twin, const struct list *lost, const struct list *back);
void policy_twin_use_pipelines(struct twin *twin, int pipelines);
void policy_twin_restart_all(struct twin *twin, bool noticed);
double policy_twin_slow_share(const struct twin *twin);
int policy_twin_useful(const struct twin *twin);
void policy_twin_set_bamboo(struct twin *twin);
int policy_twin_holes_of_replica(const struct twin *twin, int replica);
void policy_twin_form_quorum(struct twin *twin);
void policy_twin_react_oobleck(struct twin *twin, const struct list *lost, const struct list *back);
void policy_twin_react_bamboo(struct twin *twin, const struct list *lost, const struct list *back);
void policy_twin_react_recycle(struct twin *twin, const struct list *lost, const struct list *back);
void policy_twin_react_torchft(struct twin *twin, const struct list *lost, const struct list *back);

#endif
