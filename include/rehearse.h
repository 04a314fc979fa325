/* librehearse: rehearse a training run before paying for it.
 *
 *     struct rh_error error;
 *     rh_profile *profile = rh_profile_load("profile.json", 0, &error);
 *     rh_cluster *cluster = profile ? rh_cluster_load("cluster.yaml", &error) : NULL;
 *     struct rh_plan_request request = {.microbatches = 50};
 *     rh_plan *plan = cluster ? rh_plan_find(profile, cluster, &request, &error) : NULL;
 *     if (!plan) {
 *         fprintf(stderr, "%s\n", error.text);
 *         return error.code;
 *     }
 *     printf("%g s, gap %g\n", rh_plan_iteration_time(plan), rh_plan_gap(plan));
 *
 * Times are seconds, sizes bytes. A function that makes something returns NULL and fills *error when it
 * fails; what it made belongs to the caller and ends with the matching rh_…_free (NULL is fine). Nothing
 * prints, exits or keeps global state; different objects may be used in different threads at the same
 * time. */
#ifndef REHEARSE_H
#define REHEARSE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why something failed: `code` is the exit code that the command line would have given (1 failed, 2 wrong
 * usage, 3 bad input, 4 no feasible answer), `text` one line with file, place and cause. */
struct rh_error {
    int code;
    char text[1024];
};

/* "0.1.0" */
const char *rh_version(void);

/* Layer times: a rehearse-profile/1 file, an Oobleck profile folder, or a folder of such folders named by device
 * type. microbatch_size chooses among the mb{N}.json of an Oobleck folder; 0: there is only one. */
typedef struct rh_profile rh_profile;
rh_profile *rh_profile_load(const char *path, int microbatch_size, struct rh_error *error);
void rh_profile_free(rh_profile *profile);

enum rh_precision { RH_PRECISION_MIXED, RH_PRECISION_FP32, RH_PRECISION_FP8 };
enum rh_recompute { RH_RECOMPUTE_NONE, RH_RECOMPUTE_SELECTIVE, RH_RECOMPUTE_FULL };

/* A model and devices by the names that `rehearse cost --list` shows; all else as the options of `rehearse cost`,
 * zero and NULL being their defaults. */
struct rh_model_request {
    const char *model;
    const char *const *devices;
    int device_count;
    int microbatch_size; /* sequences */
    int sequence;        /* tokens; 0: the model's */
    int tensor;          /* tensor parallel degree */
    enum rh_precision precision;
    enum rh_recompute recompute;
    const char *software;
};

/* Layer times computed, on every device, with all-reduce times for up to 8 devices of a node. */
rh_profile *rh_profile_of_model(const struct rh_model_request *request, struct rh_error *error);

/* As rehearse-profile/1. The caller frees it with free(); NULL when memory runs out. */
char *rh_profile_to_json(const rh_profile *profile);

/* A cluster: rehearse-cluster/1, YAML or JSON. */
typedef struct rh_cluster rh_cluster;
rh_cluster *rh_cluster_load(const char *path, struct rh_error *error);
void rh_cluster_free(rh_cluster *cluster);

enum rh_objective { RH_OBJECTIVE_PIPELINE, RH_OBJECTIVE_OOBLECK };
enum rh_search { RH_SEARCH_EXACT, RH_SEARCH_DIVIDE, RH_SEARCH_FOLD_GREEDY, RH_SEARCH_FOLD_DP };
enum rh_allreduce { RH_ALLREDUCE_PROFILE, RH_ALLREDUCE_MODEL, RH_ALLREDUCE_NONE };
enum rh_memory { RH_MEMORY_IN_FLIGHT, RH_MEMORY_REFERENCE };

/* As the options of `rehearse plan`; all zero is the default. */
struct rh_plan_request {
    enum rh_objective objective;
    enum rh_search search;
    enum rh_allreduce allreduce;
    int microbatches;  /* per iteration; 0: three for each stage */
    double time_limit; /* seconds; 0: none */
    int threads;       /* 0: one per processor */
    enum rh_memory memory;
};

/* One pipeline. */
typedef struct rh_plan rh_plan;
rh_plan *rh_plan_find(const rh_profile *profile, const rh_cluster *cluster,
                      const struct rh_plan_request *request, struct rh_error *error);
void rh_plan_free(rh_plan *plan);

double rh_plan_iteration_time(const rh_plan *plan);
double rh_plan_lower_bound(const rh_plan *plan); /* no plan takes less; 0: nothing is known */
double rh_plan_gap(const rh_plan *plan);         /* (iteration time - lower bound) / iteration time */
bool rh_plan_is_optimal(const rh_plan *plan);    /* proven */

struct rh_stage {
    int first_layer, last_layer; /* inclusive, from 0 */
    const char *device_type;     /* lives as long as the plan */
    int devices;
    int node;                 /* counted through the whole cluster, groups in order; -1: not known */
    double forward, backward; /* seconds per micro-batch */
    int64_t memory;           /* bytes over all its devices */
};

int rh_plan_stage_count(const rh_plan *plan);

/* Stage `index` from 0 to rh_plan_stage_count - 1; false outside of that. */
bool rh_plan_stage(const rh_plan *plan, int index, struct rh_stage *stage);

/* The plan as rehearse-plan/2, to be freed with free(); NULL: out of memory. */
char *rh_plan_to_json(const rh_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
