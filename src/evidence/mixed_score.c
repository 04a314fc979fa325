#include "evidence/mixed_read.h"

#include "plan/fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool of_cluster(const struct mixed_row *row, const char *cluster)
{
    return !row->reason && (!cluster || strcmp(row->cluster, cluster) == 0);
}

bool mixed_table_score(const struct mixed_table *table, const char *cluster, enum mixed_quantity quantity,
                       bool doubtful, struct mixed_score *score, struct error *err)
{
    int room = table->count + 1, count = 0;
    double *predicted = calloc((size_t)room, 4 * sizeof *predicted), *measured = predicted + room;
    if (!predicted)
        return error_memory(err);
    for (int i = 0; i < table->count; i++) {
        const struct mixed_row *row = &table->rows[i];
        predicted[count] = quantity == MIXED_SECONDS   ? row->predicted.seconds
                           : quantity == MIXED_PLANNER ? row->planner
                                                       : row->predicted_memory;
        measured[count] = quantity == MIXED_MEMORY ? row->measured_memory : row->measured;
        count += of_cluster(row, cluster) && measured[count] > 0.0 && predicted[count] > 0.0 &&
                 (!row->mark || doubtful);
    }
    score->rank = rank_correlation(predicted, measured, count, measured + room);
    for (int i = 0; i < count; i++)
        predicted[i] = predicted[i] / measured[i] - 1.0;
    score->errors = error_score_of(predicted, count);
    free(predicted);
    return true;
}

/* ---- the formula of the search ---- */

static const struct mixed_replica *replica_at(const struct mixed_plan *plan, int stage, int pipeline)
{
    return &plan->replicas[stage * plan->pipelines + pipeline];
}

/* Devices of the plan in a node: they share its port. */
static int devices_in(const struct mixed_plan *plan, int node)
{
    int count = 0;
    for (int i = 0; i < plan->stages * plan->pipelines; i++)
        count += plan->replicas[i].node == node ? plan->replicas[i].tensor : 0;
    return count;
}

/* Replicas of a stage in this node. */
static int replicas_in(const struct mixed_plan *plan, int stage, int node)
{
    int count = 0;
    for (int d = 0; d < plan->pipelines; d++)
        count += replica_at(plan, stage, d)->node == node;
    return count;
}

/* Adds the costs of a stage as a search counts them: every message between nodes, over a device's share of the port, and
 * 2 (D - 1) / D of the gradients between D pipelines. */
static bool add_stage(struct fleet_problem *problem, const struct mixed_plan *plan, int stage, int pipeline,
                      struct arena *arena)
{
    const struct mixed_replica *replica = replica_at(plan, stage, pipeline);
    const struct cluster_link *network = &plan->nodes[replica->node].network;
    const struct mixed_software *software = plan->software;
    int layers = plan->model->layer_count;
    double *none = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *seconds = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *after = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *send = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    if (!none || !seconds || !after || !send)
        return false;
    double bandwidth = network->bandwidth / devices_in(plan, replica->node) * replica->tensor;
    int together = replicas_in(plan, stage, replica->node);
    double ring = together < plan->pipelines ? bandwidth * together
                                             : plan->nodes[replica->node].inside.bandwidth * replica->tensor;
    double exchanged = 2.0 * (plan->pipelines - 1) / plan->pipelines * software->gradient_bytes / ring;
    for (int l = 0; l <= layers; l++) {
        /* the seconds of a stage beside its layers, with its first one */
        seconds[l] = replica->times->seconds[l] + (l > plan->first[stage] ? software->stage_seconds : 0.0);
        after[l] = plan->model->parameters[l] * exchanged +
                   (replica->times->update ? replica->times->update[l] : 0.0);
        send[l] =
            l > 0 && l < layers ? 2.0 * (plan->model->outputs[l - 1] / bandwidth + network->latency) : 0.0;
    }
    problem->options[problem->option_count++] = (struct fleet_option){
        .tensor = replica->tensor,
        .seconds = seconds,
        .kept = none,
        .held = none,
        .after = after,
        .send = send,
    };
    return true;
}

static bool score(struct mixed_row *row, struct error *err)
{
    const struct mixed_plan *plan = &row->plan;
    double slowest = 0.0, after = 0.0;
    for (int d = 0; d < plan->pipelines; d++) {
        struct arena arena = {0};
        struct fleet_problem problem = {.layer_count = plan->model->layer_count, .type_count = 1};
        struct fleet_pipeline pipeline = {
            .stage_count = plan->stages,
            .stages = ARENA_ARRAY(&arena, (size_t)plan->stages, struct fleet_stage),
        };
        bool made = pipeline.stages;
        for (int i = 0; i < plan->stages && made; i++) {
            made = add_stage(&problem, plan, i, d, &arena);
            pipeline.stages[i] = (struct fleet_stage){i, plan->first[i], plan->first[i + 1]};
        }
        if (made) {
            fleet_pipeline_score(&problem, &pipeline);
            slowest = fmax(slowest, pipeline.fill + (double)(plan->microbatches[d] - 1) * pipeline.cycle);
            after = fmax(after, pipeline.after);
        }
        arena_release(&arena);
        if (!made)
            return error_memory(err);
    }
    row->planner = slowest + after + plan->software->step_seconds;
    return true;
}

bool fleet_score_measured(struct mixed_table *table, struct error *err)
{
    for (int i = 0; i < table->count; i++) {
        struct mixed_row *row = &table->rows[i];
        if (!row->reason && row->plan.stages <= FLEET_MAX_OPTIONS && !score(row, err))
            return false;
    }
    return true;
}
