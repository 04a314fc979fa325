#include "explain/planned.h"

#include "devices/tables.h"
#include "sim/play.h"

#include <math.h>
#include <stdlib.h>

const char *const planned_keys[PLANNED_CLASSES] = {"compute", "gradients", "shards", "tensor", "context",
                                                   "expert",  "pipeline",  "other",  "skew",   "data",
                                                   "copies",  "host",      "unknown"};

/* ---- what a group is for ---- */

/* PLANNED_CLASSES: the texts do not tell. */
static enum planned_class class_by_text(const char *text)
{
    const struct found_word *word = text ? found_word_in(text) : NULL;
    if (word && word->degree != FOUND_DATA)
        return (enum planned_class)(PLANNED_TENSOR + (int)word->degree); /* in one order */
    return word && word->shards ? PLANNED_SHARDS : word && word->sums ? PLANNED_GRADIENTS : PLANNED_CLASSES;
}

/* By the distance of its ranks, in Megatron's order. */
static enum planned_class class_by_ranks(const struct explain_planned *planned,
                                         const struct ranks_group *group, bool sharded)
{
    int64_t tensor = planned->recorded.tensor, inner = tensor * planned->recorded.context;
    int64_t outer = inner * planned->recorded.data;
    if (group->rank_count < 2 || !group->ranks)
        return PLANNED_OTHER;
    int64_t stride = group->ranks[1] - group->ranks[0],
            span = group->ranks[group->rank_count - 1] - group->ranks[0];
    if (span < tensor)
        return PLANNED_TENSOR;
    if (stride >= outer)
        return PLANNED_PIPELINE;
    if (stride >= tensor && span < inner)
        return PLANNED_CONTEXT;
    return stride >= tensor ? sharded ? PLANNED_SHARDS : PLANNED_GRADIENTS : PLANNED_OTHER;
}

static enum planned_class class_of(struct explain_planned *planned, const struct explain *explain,
                                   const struct explain_kind *kind, bool sharded)
{
    const struct ranks_group *group = &explain->run.groups[kind->group];
    enum planned_class class = class_by_text(kind->name);
    if (class == PLANNED_CLASSES)
        class = class_by_text(group->description);
    if (class < PLANNED_CLASSES)
        return class;
    planned->guessed |= group->rank_count > 1;
    return class_by_ranks(planned, group, sharded);
}

/* ---- both sides ---- */

/* The plan counts what an early stage waits at the step's end, and what it exchanges then, as waiting for stages. */
static void count_as_waiting(struct explain_planned *planned, enum planned_class class, double most)
{
    struct planned_row *stages = &planned->classes[PLANNED_PIPELINE];
    double ended = fmax(0, fmin(stages->planned - stages->measured, most));
    stages->measured += ended;
    planned->classes[class].measured -= ended;
}

static void add_measured(struct explain_planned *planned, const struct explain *explain, bool sharded)
{
    static const enum planned_class class_of_share[EXPLAIN_SHARES] = {
        [SHARE_COMPUTE] = PLANNED_COMPUTE, [SHARE_COVERED] = PLANNED_COMPUTE,
        [SHARE_TRANSFER] = PLANNED_OTHER,  [SHARE_INNER] = PLANNED_OTHER,
        [SHARE_SKEW] = PLANNED_SKEW,       [SHARE_COPY] = PLANNED_COPIES,
        [SHARE_DATA] = PLANNED_DATA,       [SHARE_HOST] = PLANNED_HOST,
        [SHARE_LAUNCH] = PLANNED_HOST,     [SHARE_STREAM] = PLANNED_HOST,
        [SHARE_PEER] = PLANNED_PIPELINE,   [SHARE_UNKNOWN] = PLANNED_UNKNOWN};
    double each = 1e9 * (double)explain->step_count * (double)explain->lane_count;
    for (size_t lane = 0; lane < explain->lane_count; lane++) {
        int64_t shares[EXPLAIN_SHARES];
        explain_lane_shares(explain, lane, shares);
        for (int i = 0; i < EXPLAIN_SHARES; i++) {
            planned->classes[class_of_share[i]].measured += (double)shares[i] / each;
            planned->measured += (double)shares[i] / each;
        }
    }
    for (size_t i = 0; i < explain->kind_count; i++) {
        double exposed = (double)explain->kinds[i].transfer / each;
        planned->classes[class_of(planned, explain, &explain->kinds[i], sharded)].measured += exposed;
        planned->classes[PLANNED_OTHER].measured -= exposed;
    }
    count_as_waiting(planned, PLANNED_SKEW, planned->classes[PLANNED_SKEW].measured);
    const struct planned_row *gradients = &planned->classes[PLANNED_GRADIENTS];
    count_as_waiting(planned, PLANNED_GRADIENTS, gradients->measured - gradients->planned);
    if (fabs(planned->classes[PLANNED_OTHER].measured) < 1e-12 * planned->measured) /* rounding */
        planned->classes[PLANNED_OTHER].measured = 0;
}

static double compute_of(const struct sim_device *device)
{
    return device->seconds[SIM_FORWARD] + device->seconds[SIM_BACKWARD] + device->seconds[SIM_RECOMPUTE] +
           device->seconds[SIM_OPTIMIZER];
}

/* The members of a device of the plan that were recorded, as a share of them where ranks of its stage have no file. */
static double recorded_members(const struct explain_planned *planned, const struct sim_result *result,
                               int device)
{
    double recorded = 0, all = 0;
    if (planned->rank_count == 0 || planned->rank_count >= (size_t)planned->devices ||
        planned->mismatch_count > 0)
        return (double)result->devices[device].members;
    for (size_t i = 0; i < planned->rank_count; i++)
        recorded += planned->ranks[i].stage == result->devices[device].place;
    for (int i = 0; i < result->device_count; i++)
        if (result->devices[i].place == result->devices[device].place)
            all += (double)result->devices[i].members;
    return (double)result->devices[device].members * recorded / all;
}

static void add_planned(struct explain_planned *planned, const struct sim_result *result)
{
    static const enum planned_class classes[SIM_CAUSES] = {
        [SIM_FORWARD] = PLANNED_COMPUTE,   [SIM_BACKWARD] = PLANNED_COMPUTE,
        [SIM_RECOMPUTE] = PLANNED_COMPUTE, [SIM_TENSOR] = PLANNED_TENSOR,
        [SIM_CONTEXT] = PLANNED_CONTEXT,   [SIM_EXPERT] = PLANNED_EXPERT,
        [SIM_SHARDS] = PLANNED_SHARDS,     [SIM_SEND] = PLANNED_PIPELINE,
        [SIM_BUBBLE] = PLANNED_PIPELINE,   [SIM_GRADIENTS] = PLANNED_GRADIENTS,
        [SIM_OPTIMIZER] = PLANNED_COMPUTE, [SIM_LOAD] = PLANNED_DATA,
        [SIM_SAVE] = PLANNED_COPIES,       [SIM_OTHER] = PLANNED_HOST};
    double members = 0;
    for (int i = 0; i < result->device_count; i++)
        members += recorded_members(planned, result, i);
    for (int i = 0; i < result->device_count; i++)
        for (int cause = 0; cause < SIM_CAUSES; cause++)
            planned->classes[classes[cause]].planned +=
                result->devices[i].seconds[cause] * recorded_members(planned, result, i) / members;
}

/* ---- stages and ranks ---- */

static int by_difference(const void *a, const void *b)
{
    const struct planned_row *first = a, *second = b;
    double x = fabs(first->measured - first->planned), y = fabs(second->measured - second->planned);
    return x != y ? (x < y ? 1 : -1) : (first->class > second->class) - (first->class < second->class);
}

/* The stage of a rank: ranks of a stage follow each other, or else those of a pipeline do. */
static size_t stage_of(const struct explain_planned *planned, int64_t rank, bool by_pipeline)
{
    int64_t stages = (int64_t)planned->stage_count,
            inner = (int64_t)planned->degrees.tensor * planned->degrees.context;
    int64_t world = planned->devices > rank ? planned->devices : rank + 1;
    if (rank < 0)
        return 0;
    return (size_t)(by_pipeline ? rank / (inner > 0 ? inner : 1) % stages : rank * stages / world);
}

/* Sets stages of ranks and what is planned for them; returns how far all of them lie from it. */
static double place_ranks(struct explain_planned *planned, bool by_pipeline)
{
    double sum = 0;
    for (size_t i = 0; i < planned->rank_count; i++) {
        struct planned_row *row = &planned->ranks[i];
        row->stage = (int)stage_of(planned, row->rank, by_pipeline);
        row->planned = planned->stages[row->stage].planned;
        sum += fabs(row->measured - row->planned);
    }
    return sum;
}

static double planned_compute(const struct sim_result *result, int stage)
{
    double members = 0, sum = 0;
    for (int i = 0; i < result->device_count; i++)
        if (result->devices[i].place == stage) {
            members += (double)result->devices[i].members;
            sum += compute_of(&result->devices[i]) * (double)result->devices[i].members;
        }
    return members > 0 ? sum / members : 0;
}

static double measured_compute(const struct explain *explain, size_t lane)
{
    int64_t sums[EXPLAIN_SHARES];
    explain_lane_shares(explain, lane, sums);
    return (double)(sums[SHARE_COMPUTE] + sums[SHARE_COVERED]) / 1e9 / (double)explain->step_count;
}

/* Compute of each rank beside that of its stage, in the order of ranks that fits better. */
static bool add_ranks(struct explain_planned *planned, const struct explain *explain,
                      const struct sim_result *result, struct error *err)
{
    planned->stage_count = (size_t)planned->pipeline;
    planned->stages = calloc(planned->stage_count + 1, sizeof *planned->stages);
    planned->ranks = calloc(explain->lane_count + 1, sizeof *planned->ranks);
    if (!planned->stages || !planned->ranks)
        return error_memory(err);
    for (size_t i = 0; i < planned->stage_count; i++)
        planned->stages[i] =
            (struct planned_row){PLANNED_COMPUTE, (int)i, -1, NAN, planned_compute(result, (int)i)};
    for (size_t lane = 0; lane < explain->lane_count; lane++)
        planned->ranks[planned->rank_count++] =
            (struct planned_row){.class = PLANNED_COMPUTE,
                                 .rank = (int)explain->run.members[explain->lanes[lane].member].rank,
                                 .measured = measured_compute(explain, lane)};
    planned->by_pipeline = place_ranks(planned, true) < place_ranks(planned, false);
    place_ranks(planned, planned->by_pipeline);
    for (size_t i = 0; i < planned->stage_count; i++) {
        double sum = 0, count = 0;
        for (size_t j = 0; j < planned->rank_count; j++)
            if (planned->ranks[j].stage == (int)i) {
                sum += planned->ranks[j].measured;
                count++;
            }
        planned->stages[i].measured = count > 0 ? sum / count : NAN;
    }
    qsort(planned->ranks, planned->rank_count, sizeof *planned->ranks, by_difference);
    return true;
}

/* ---- the job ---- */

static void add_mismatch(struct explain_planned *planned, const char *what, int64_t recorded, int64_t plan)
{
    if (recorded > 0 && plan > 0 && recorded != plan)
        planned->mismatches[planned->mismatch_count++] = (struct planned_mismatch){what, recorded, plan};
}

/* Is what was recorded the job that was planned? */
static void match_job(struct explain_planned *planned, const struct explain *explain, const struct plan *plan)
{
    struct explain_found found;
    planned->recorded = planned->degrees;
    struct degrees *recorded = &planned->recorded;
    int *const places[FOUND_DEGREES] = {&recorded->tensor, &recorded->context, &recorded->expert,
                                        &recorded->pipeline, &recorded->data};
    explain_find_job(&found, explain);
    recorded->pipeline = planned->pipeline;
    if (explain->run.world > 0 || found.world > planned->devices)
        add_mismatch(planned, "devices", found.world, planned->devices);
    for (int i = 0; i < FOUND_DEGREES; i++) {
        if (found.assumed[i] || found.degrees[i] <= 0 || found.degrees[i] > 1 << 24)
            continue;
        add_mismatch(planned, found_degree_names[i], found.degrees[i], *places[i]);
        *places[i] = (int)found.degrees[i];
    }
    const struct architecture *model = plan->model ? architecture_find(plan->model) : NULL;
    add_mismatch(planned, "tokens of a micro-batch", found.tokens,
                 plan->microbatch * plan->sequence / planned->degrees.context);
    add_mismatch(planned, "hidden", found.hidden, model ? model->hidden : 0);
}

static bool compare(struct explain_planned *planned, const struct explain *explain, struct plan *plan,
                    struct error *err)
{
    const struct sim_options options = {.level = SIM_LAYERS, .plain = true, .prefetch = 0};
    struct sim_result result;
    if (!sim_play(plan, &options, &result, err))
        return false;
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    planned->degrees = pipeline->stages[0].degrees;
    planned->degrees.data *= pipeline->copies;
    planned->pipeline = 1;
    for (int i = 0; i < result.device_count; i++)
        if (result.devices[i].place >= planned->pipeline)
            planned->pipeline = result.devices[i].place + 1;
    for (int i = 0; i < PLANNED_CLASSES; i++)
        planned->classes[i] = (struct planned_row){(enum planned_class)i, -1, -1, 0, 0};
    planned->planned = result.seconds;
    for (int i = 0; i < result.device_count; i++)
        planned->devices += result.devices[i].members;
    match_job(planned, explain, plan);
    bool done = add_ranks(planned, explain, &result, err);
    if (done)
        add_planned(planned, &result);
    add_measured(planned, explain, plan->sharding >= 3);
    qsort(planned->classes, PLANNED_CLASSES, sizeof *planned->classes, by_difference);
    sim_result_release(&result);
    return done;
}

bool explain_plan(struct explain_planned *planned, const struct explain *explain, const char *path,
                  struct error *err)
{
    struct plan plan;
    *planned = (struct explain_planned){0};
    if (!plan_load(&plan, path, err))
        return false;
    bool done = compare(planned, explain, &plan, err);
    plan_release(&plan);
    if (!done) {
        free(planned->stages);
        free(planned->ranks);
        *planned = (struct explain_planned){0};
    }
    return done;
}
