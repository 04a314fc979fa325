/* The plans of a sweep: a given one, with other global batches; or the best one for each number of devices and batch. */
#ifndef REHEARSE_API_SWEEP_BASE_H
#define REHEARSE_API_SWEEP_BASE_H

#include "api/plan/split.h"
#include "plan/plan.h"

#include <pthread.h>

/* A plan, made by the first thread that needs it. */
struct sweep_base_plan {
    pthread_mutex_t lock;
    enum { BASE_OPEN, BASE_READY, BASE_FAILED } state;
    struct plan plan;
    struct error error;
};

struct sweep_base {
    struct split split; /* with a model: its question, and the values of both axes */
    bool is_given;
    struct plan given;  /* is_given: the plan as it was read */
    double utilisation; /* is_given: share of the devices' peak for one sample a second; NAN: unknown */
    int count;          /* batches x devices */
    struct sweep_base_plan *plans;
};

/* Reads the plan of the options (`plan`, a file, or `from`), or makes their question. Then all plans are open. The caller
 * ends *base with sweep_base_release, also after a failure; *options must outlive it. */
bool sweep_base_open(struct sweep_base *base, const struct plan_options *options, struct error *err);
void sweep_base_release(struct sweep_base *base);

/* Returns the plan for a batch and a number of devices, by their indices; NULL: there is none, as *err says. */
const struct plan *sweep_base_plan(struct sweep_base *base, int batch, int devices, struct error *err);

#endif
