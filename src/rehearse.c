/* The public face: include/rehearse.h in terms of the rooms. */
#include "rehearse.h"

#include "cluster/cluster.h"
#include "core/json.h"
#include "core/text.h"
#include "cost/model_profile.h"
#include "devices/tables.h"
#include "model/profile.h"
#include "plan/pipeline.h"
#include "plan/pipeline_plan.h"
#include "plan/search.h"

#include <stdio.h>
#include <stdlib.h>

struct rh_profile {
    struct profile profile;
};

struct rh_cluster {
    struct cluster cluster;
};

struct rh_plan {
    struct plan_problem problem;
    struct pipeline plan;
};

const char *rh_version(void)
{
    return REHEARSE_VERSION;
}

static void report(struct rh_error *error, const struct error *err)
{
    error->code = (int)err->kind;
    snprintf(error->text, sizeof error->text, "%s", err->text);
}

static void *allocate(size_t size, struct error *err)
{
    void *memory = calloc(1, size);
    if (!memory)
        error_memory(err);
    return memory;
}

rh_profile *rh_profile_load(const char *path, int microbatch_size, struct rh_error *error)
{
    struct error err;
    rh_profile *profile = allocate(sizeof *profile, &err);
    if (profile && profile_load(&profile->profile, path, microbatch_size, &err))
        return profile;
    report(error, &err);
    free(profile);
    return NULL;
}

_Static_assert((int)RH_PRECISION_FP8 == MODEL_FP8, "precisions");
_Static_assert((int)RH_RECOMPUTE_FULL == RECOMPUTE_FULL, "recomputation");

#define MODEL_DEVICES_PER_NODE 8
#define MODEL_NODES            16
#define MODEL_ACROSS           "ib-200g"

static bool price(struct profile *profile, const struct rh_model_request *request, struct error *err)
{
    const struct cost_device *devices[PROFILE_MAX_DEVICES];
    if (!tables_ready(err))
        return false;
    const struct architecture *model = request->model ? architecture_find(request->model) : NULL;
    const char *software = request->software ? request->software : "fsdp";
    struct model_options options = {
        .microbatch = request->microbatch_size > 0 ? request->microbatch_size : 1,
        .sequence = request->sequence,
        .precision = (enum model_precision)request->precision,
        .tensor = request->tensor > 0 ? request->tensor : 1,
        .recompute = (enum recompute)request->recompute,
        .software = software_find(software),
        .devices_per_node = MODEL_DEVICES_PER_NODE,
        .nodes = MODEL_NODES,
        .across = MODEL_ACROSS,
    };
    if (!model)
        return error_set(err, ERROR_USAGE, "unknown model '%s'", request->model ? request->model : "");
    if (!options.software)
        return error_set(err, ERROR_USAGE, "unknown software '%s'", software);
    if ((unsigned)request->precision > RH_PRECISION_FP8 || (unsigned)request->recompute > RH_RECOMPUTE_FULL)
        return error_set(err, ERROR_USAGE, "precision or recompute is not one of its enum's values");
    if (request->sequence < 0 || request->microbatch_size < 0 || request->tensor < 0)
        return error_set(err, ERROR_USAGE, "microbatch_size, sequence and tensor must not be negative");
    if (request->device_count < 1 || request->device_count > PROFILE_MAX_DEVICES)
        return error_set(err, ERROR_USAGE, "expected 1 to %d devices", PROFILE_MAX_DEVICES);
    for (int i = 0; i < request->device_count; i++) {
        devices[i] = tables_device(NULL, request->devices[i]);
        if (!devices[i])
            return error_set(err, ERROR_USAGE, "unknown device '%s'", request->devices[i]);
    }
    return model_profile(profile, model, devices, request->device_count, &options, err);
}

rh_profile *rh_profile_of_model(const struct rh_model_request *request, struct rh_error *error)
{
    struct error err;
    rh_profile *profile = allocate(sizeof *profile, &err);
    if (profile && price(&profile->profile, request, &err))
        return profile;
    report(error, &err);
    free(profile);
    return NULL;
}

/* Hands the text over to the caller; NULL: out of memory. */
static char *hand_over(struct text *text)
{
    if (!text->failed)
        return text->data;
    text_release(text);
    return NULL;
}

char *rh_profile_to_json(const rh_profile *profile)
{
    struct text text = {0};
    profile_write_json(&profile->profile, &text);
    return hand_over(&text);
}

void rh_profile_free(rh_profile *profile)
{
    if (profile)
        profile_release(&profile->profile);
    free(profile);
}

rh_cluster *rh_cluster_load(const char *path, struct rh_error *error)
{
    struct error err;
    rh_cluster *cluster = allocate(sizeof *cluster, &err);
    if (cluster && cluster_load(&cluster->cluster, path, &err))
        return cluster;
    report(error, &err);
    free(cluster);
    return NULL;
}

void rh_cluster_free(rh_cluster *cluster)
{
    if (cluster)
        cluster_release(&cluster->cluster);
    free(cluster);
}

static bool is_sane(const struct rh_plan_request *request, struct error *err)
{
    if ((unsigned)request->objective > RH_OBJECTIVE_OOBLECK ||
        (unsigned)request->search > RH_SEARCH_FOLD_DP || (unsigned)request->allreduce > RH_ALLREDUCE_NONE ||
        (unsigned)request->memory > RH_MEMORY_REFERENCE)
        return error_set(err, ERROR_USAGE,
                         "objective, search, allreduce or memory is not one of its enum's values");
    if (request->microbatches < 0 || request->threads < 0 || !(request->time_limit >= 0))
        return error_set(err, ERROR_USAGE, "microbatches, threads and time_limit must not be negative");
    return true;
}

/* The enums of both sides count the same. */
_Static_assert((int)RH_OBJECTIVE_OOBLECK == OBJECTIVE_OOBLECK, "objectives");
_Static_assert((int)RH_SEARCH_FOLD_DP == SEARCH_FOLD_DP, "searches");
_Static_assert((int)RH_ALLREDUCE_NONE == ALLREDUCE_NONE, "all-reduce");
_Static_assert((int)RH_MEMORY_REFERENCE == MEMORY_REFERENCE, "memory");

static bool find(rh_plan *plan, const rh_profile *profile, const rh_cluster *cluster,
                 const struct rh_plan_request *request, struct error *err)
{
    struct plan_search_options options = {.method = (enum plan_search_method)request->search,
                                          .time_limit = request->time_limit};
    if (!is_sane(request, err) ||
        !plan_problem_init(&plan->problem, &profile->profile, &cluster->cluster,
                           (enum plan_objective)request->objective, (enum plan_allreduce)request->allreduce,
                           request->microbatches, err))
        return false;
    plan->problem.memory = (enum memory_model)request->memory;
    options.pool = parallel_new(request->threads, err);
    if (!options.pool)
        return false;
    bool found = plan_search(&plan->problem, &options, &plan->plan, err);
    parallel_free(options.pool);
    return found;
}

rh_plan *rh_plan_find(const rh_profile *profile, const rh_cluster *cluster,
                      const struct rh_plan_request *request, struct rh_error *error)
{
    struct error err;
    rh_plan *plan = allocate(sizeof *plan, &err);
    if (plan && find(plan, profile, cluster, request, &err))
        return plan;
    report(error, &err);
    rh_plan_free(plan);
    return NULL;
}

void rh_plan_free(rh_plan *plan)
{
    if (plan) {
        pipeline_release(&plan->plan);
        plan_problem_release(&plan->problem);
    }
    free(plan);
}

double rh_plan_iteration_time(const rh_plan *plan)
{
    return plan->plan.iteration_time;
}

double rh_plan_lower_bound(const rh_plan *plan)
{
    return plan->plan.lower_bound;
}

double rh_plan_gap(const rh_plan *plan)
{
    return plan_gap_of(plan->plan.iteration_time, plan->plan.lower_bound);
}

bool rh_plan_is_optimal(const rh_plan *plan)
{
    return plan->plan.proven_optimal;
}

int rh_plan_stage_count(const rh_plan *plan)
{
    return plan->plan.stage_count;
}

bool rh_plan_stage(const rh_plan *plan, int index, struct rh_stage *stage)
{
    if (index < 0 || index >= plan->plan.stage_count)
        return false;
    const struct pipeline_stage *from = &plan->plan.stages[index];
    *stage = (struct rh_stage){
        .first_layer = from->first_layer,
        .last_layer = from->last_layer,
        .device_type = plan->problem.groups[from->group].device,
        .devices = from->devices,
        .node = from->node,
        .forward = from->forward,
        .backward = from->backward,
        .memory = from->memory,
    };
    return true;
}

char *rh_plan_to_json(const rh_plan *plan)
{
    struct text text = {0};
    struct json json = {.out = &text};
    struct plan document;
    struct error err;
    plan_init(&document);
    if (!plan_of_pipeline(&document, &plan->plan, &plan->problem, NULL, NULL, &err))
        return NULL;
    plan_write_json(&document, &json, NULL);
    plan_release(&document);
    return hand_over(&text);
}
