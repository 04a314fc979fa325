/* The shapes of one plan. */
#include "core/unit.h"
#include "core/vector.h"
#include "elastic/kit_make.h"
#include "plan/fleet/best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A link by the name that the cluster file gives to the one between nodes is a node's, all others are a
 * device's. */
static double across_of(const struct plan *plan, const struct plan_device_type *type)
{
    if (type->across < 0 || type->across >= plan->link_count)
        return 0;
    const struct plan_link *link = &plan->links[type->across];
    double bandwidth = isfinite(link->bandwidth) ? link->bandwidth : 0;
    return strcmp(link->name, "inter_node") == 0 ? bandwidth / type->nodes.devices : bandwidth;
}

static bool take_types(struct elastic_maker *maker, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    const struct plan *plan = maker->plan;
    if (plan->type_count > ELASTIC_MAX_KINDS)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d device types, found %d", plan->path,
                         ELASTIC_MAX_KINDS, plan->type_count);
    kit->kind_count = plan->type_count;
    for (int t = 0; t < plan->type_count; t++) {
        if (plan->types[t].nodes.devices < 1)
            return error_set(err, ERROR_INPUT, "%s: expected the devices of a node of '%s'", plan->path,
                             plan->types[t].name);
        kit->kinds[t] = (struct elastic_kind){
            .name = arena_string(&kit->arena, plan->types[t].name),
            .nodes = plan->types[t].nodes,
        };
        if (!kit->kinds[t].name)
            return error_memory(err);
    }
    return true;
}

/* Finds each device type of the plan among the kinds: by name, the second of a name as the second. What
 * the cluster file leaves open is the plan's. */
static void match_types(struct elastic_maker *maker)
{
    struct elastic_kit *kit = maker->kit;
    const struct plan *plan = maker->plan;
    bool taken[ELASTIC_MAX_KINDS] = {false};
    for (int t = 0; t < plan->type_count; t++) {
        const struct plan_device_type *type = &plan->types[t];
        maker->kind_of[t] = -1;
        for (int k = 0; k < kit->kind_count && maker->kind_of[t] < 0; k++)
            if (!taken[k] && strcmp(kit->kinds[k].name, type->name) == 0 &&
                kit->kinds[k].nodes.devices == type->nodes.devices)
                maker->kind_of[t] = k;
        if (maker->kind_of[t] < 0)
            continue;
        struct elastic_kind *kind = &kit->kinds[maker->kind_of[t]];
        taken[maker->kind_of[t]] = true;
        if (!(kind->across > 0))
            kind->across = across_of(plan, type);
        if (!(kind->inside > 0) && type->inside >= 0 && isfinite(plan->links[type->inside].bandwidth))
            kind->inside = plan->links[type->inside].bandwidth;
        if (!(kind->latency > 0) && type->across >= 0 && isfinite(plan->links[type->across].latency))
            kind->latency = plan->links[type->across].latency;
        if (kind->nodes.memory == 0)
            kind->nodes.memory = type->nodes.memory;
    }
}

/* ---- one plan ---- */

static bool at_stage(const struct elastic_maker *maker, const struct plan_stage *stage, struct error *err,
                     const char *problem)
{
    return error_set(err, ERROR_INPUT, "%s:%d: %s", maker->plan->path, stage->line, problem);
}

/* Over how many ranks the plan shards a stage's optimizer states; 1: not at all. Jobs on groups shard them over their
 * own pipelines. */
static int64_t sharded_over(const struct plan *plan, const struct plan_pipeline *pipeline,
                            const struct plan_stage *stage)
{
    int64_t groups = plan->technique.replicate > 1 ? plan->technique.replicate : 1;
    int64_t pipelines = plan_is_mix(plan) ? pipeline->copies : plan_copies(plan);
    return plan->sharding >= 1 ? pipelines / groups * stage->degrees.data * stage->degrees.context : 1;
}

/* Bytes that a device of the stage holds after a reconfiguration: its parameters, and its optimizer
 * states, of which it has all where pipelines keep copies of them. */
static double device_state(const struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                           const struct plan_stage *stage)
{
    double optimizer = isfinite(stage->bytes.optimizer) ? stage->bytes.optimizer : 0;
    if (elastic_shard_pipelines(maker) > 1)
        return stage->bytes.parameters + optimizer;
    return stage->bytes.parameters + optimizer * (double)sharded_over(maker->plan, pipeline, stage);
}

static bool check_stage(const struct elastic_maker *maker, const struct plan_stage *stage, struct error *err)
{
    if (!isfinite(stage->bytes.parameters))
        return at_stage(maker, stage, err,
                        "expected the stage's parameter bytes, to size the copies after a loss");
    if (!(plan_stage_seconds(stage) > 0))
        return at_stage(maker, stage, err, "expected the stage's seconds");
    if (stage->type < 0 || stage->type >= maker->plan->type_count)
        return at_stage(maker, stage, err, "expected a device type");
    if (stage->degrees.tensor < 1 || stage->degrees.context < 1 || stage->degrees.data < 1 ||
        plan_stage_devices(stage) > PLAN_MAX_DEVICES)
        return at_stage(maker, stage, err, "expected degrees of at least 1 and not too many devices");
    return true;
}

/* Chunks share devices: they have the type and the degrees of the first. */
static bool check_chunks(const struct elastic_maker *maker, const struct plan_pipeline *pipeline, int columns,
                         struct error *err)
{
    for (int s = columns; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s], *first = &pipeline->stages[s % columns];
        if (stage->type != first->type || !degrees_are_equal(&stage->degrees, &first->degrees))
            return at_stage(maker, stage, err, "expected the device type and the degrees of the first chunk");
    }
    return true;
}

/* Every layer is in one stage, chunks have the same number of stages, and devices are not too many. */
static bool check_pipeline(const struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                           struct error *err)
{
    int next = 0, chunks = maker->plan->chunks > 1 ? maker->plan->chunks : 1;
    int64_t devices = 0;
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        if (!check_stage(maker, stage, err))
            return false;
        if (stage->layers.first != next || stage->layers.last < next)
            return error_set(err, ERROR_INPUT,
                             "%s:%d: expected a stage from layer %d on, found layers %d to %d",
                             maker->plan->path, stage->line, next, stage->layers.first, stage->layers.last);
        next = stage->layers.last + 1;
        devices += (int64_t)plan_stage_devices(stage) * pipeline->copies;
    }
    if (pipeline->copies < 1 || devices > PLAN_MAX_DEVICES)
        return error_set(err, ERROR_INPUT,
                         "%s:%d: expected at least one copy and at most %d devices, found %lld",
                         maker->plan->path, pipeline->line, PLAN_MAX_DEVICES, (long long)devices);
    if (pipeline->stage_count % chunks != 0)
        return error_set(err, ERROR_INPUT, "%s:%d: %d stages do not divide into %d chunks per device",
                         maker->plan->path, pipeline->line, pipeline->stage_count, chunks);
    return check_chunks(maker, pipeline, pipeline->stage_count / chunks, err);
}

/* Adds what the pipeline says about the bytes of its layers. Each tensor parallel rank has all norms and some biases,
 * so that pipelines of other degrees have slightly more of the same model: they count as the first pipeline does. */
static bool take_cuts(struct elastic_maker *maker, const struct plan_pipeline *pipeline, struct error *err)
{
    size_t first = maker->cut_count;
    double bytes = 0;
    int together = elastic_copies_together(maker, pipeline);
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        bytes += device_state(maker, pipeline, stage) * elastic_ways(maker, stage, together);
        struct elastic_cut cut = {stage->layers.last + 1, bytes};
        if (!VECTOR_ADD(maker->cuts, maker->cut_count, maker->cut_capacity, cut))
            return error_memory(err);
    }
    if (first == 0)
        maker->whole = bytes;
    else if (bytes > 0 && fabs(bytes - maker->whole) <= ELASTIC_SAME_STATE * maker->whole)
        for (size_t i = first; i < maker->cut_count; i++)
            maker->cuts[i].bytes *= maker->whole / bytes;
    return true;
}

/* The seconds of a micro-batch on the slowest device, chunks added up, and on all stages in a row. */
static double period_of(const struct plan *plan, const struct plan_pipeline *pipeline, double *sum)
{
    int columns = pipeline->stage_count / (plan->chunks > 1 ? plan->chunks : 1);
    double slowest = 0;
    *sum = 0;
    for (int c = 0; c < columns; c++) {
        double seconds = 0;
        for (int s = c; s < pipeline->stage_count; s += columns)
            seconds += plan_stage_seconds(&pipeline->stages[s]);
        slowest = fmax(slowest, seconds);
        *sum += seconds;
    }
    return slowest;
}

/* The exposed exchange of gradients among the plan's pipelines; 0: unknown, or there is one pipeline. */
static double exposed_of(const struct plan *plan)
{
    double seconds = 0;
    if (plan_copies(plan) < 2)
        return 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            seconds = fmax(seconds, plan->pipelines[p].stages[s].seconds.gradients); /* NAN is ignored */
    return seconds;
}

/* The slowest pipeline of the plan takes the plan's iteration time at the plan's micro-batches; what a
 * pipeline takes beside its stages is alike for all. */
static void set_lines(struct elastic_maker *maker, struct elastic_line *lines)
{
    const struct plan *plan = maker->plan;
    double slowest = 0;
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        double sum, period = period_of(plan, pipeline, &sum);
        int columns = pipeline->stage_count / (plan->chunks > 1 ? plan->chunks : 1);
        lines[p] = (struct elastic_line){
            .fill = sum - period, .period = period, .step = plan->chunks > 1 ? columns : 1};
        slowest = fmax(slowest, elastic_line_seconds(&lines[p], pipeline->microbatches));
    }
    double rest = plan->iteration_time > 0 ? plan->iteration_time - exposed_of(plan) - slowest : 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        lines[p].fill += rest;
}

static bool finish_shape(struct elastic_maker *maker, struct elastic_shape *shape,
                         const struct elastic_line *lines, const struct elastic_member *members, int count,
                         struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    shape->exposed = exposed_of(maker->plan);
    shape->exposed_of = shape->exposed > 0 ? (int)plan_copies(maker->plan) : 0;
    shape->lines = ARENA_ARRAY(&kit->arena, (size_t)count, struct elastic_line);
    if (!shape->lines)
        return error_memory(err);
    for (int i = 0; i < count; i++) {
        shape->lines[i] = lines[members[i].pipeline - maker->plan->pipelines];
        shape->lines[i].copies = members[i].copies;
    }
    shape->line_count = count;
    return true;
}

/* Returns whether instances of each pipeline alone need no more nodes than the plan has. */
static bool each_alone(const struct elastic_maker *maker, struct elastic_member *members)
{
    const struct plan *plan = maker->plan;
    int64_t devices[PLAN_MAX_TYPES] = {0};
    bool fits = true;
    for (int p = 0; p < plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &plan->pipelines[p];
        int together = elastic_copies_together(maker, pipeline);
        int64_t own[PLAN_MAX_TYPES] = {0};
        members[p] = (struct elastic_member){pipeline, together};
        for (int s = 0; s < pipeline->stage_count; s++)
            if (pipeline->stages[s].chunk == 0)
                own[pipeline->stages[s].type] += (int64_t)plan_stage_devices(&pipeline->stages[s]) * together;
        for (int t = 0; t < plan->type_count; t++) {
            int per_node = plan->types[t].nodes.devices > 0 ? plan->types[t].nodes.devices : 1;
            int64_t instances = (pipeline->copies + together - 1) / together;
            devices[t] += instances * ((own[t] + per_node - 1) / per_node);
            fits &= plan->types[t].nodes.count == 0 || devices[t] <= plan->types[t].nodes.count;
        }
    }
    return fits;
}

static bool add_shapes(struct elastic_maker *maker, const struct elastic_line *lines,
                       struct elastic_member *members, struct error *err)
{
    const struct plan *plan = maker->plan;
    if (plan->pipeline_count > 1 && !each_alone(maker, members)) {
        for (int p = 0; p < plan->pipeline_count; p++)
            members[p].copies = plan->pipelines[p].copies;
        struct elastic_shape *shape = elastic_add_shape(maker, members, plan->pipeline_count, err);
        return shape && finish_shape(maker, shape, lines, members, plan->pipeline_count, err);
    }
    for (int p = 0; p < plan->pipeline_count; p++) {
        struct elastic_member member = {&plan->pipelines[p],
                                        elastic_copies_together(maker, &plan->pipelines[p])};
        struct elastic_shape *shape = elastic_add_shape(maker, &member, 1, err);
        if (!shape || !finish_shape(maker, shape, lines, &member, 1, err) ||
            !elastic_add_hybrids(maker, member.pipeline, &lines[p], err))
            return false;
    }
    return true;
}

/* Returns a stage whose devices have no room for all of its optimizer states, or NULL. */
static const struct plan_stage *short_of_room(const struct plan *plan, double *needed, double *memory)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            const struct plan_stage *stage = &plan->pipelines[p].stages[s];
            int64_t over = sharded_over(plan, &plan->pipelines[p], stage);
            *memory = (double)plan->types[stage->type].nodes.memory *
                      (isfinite(plan->headroom) ? 1 - plan->headroom : 1);
            *needed = stage->bytes.total + stage->bytes.optimizer * (double)(over - 1);
            if (over >= 2 && *memory > 0 && *needed > *memory)
                return stage;
        }
    return NULL;
}

/* Where all pipelines keep all optimizer states, a device needs room for them. A plan whose devices have
 * none is left out. */
static bool has_room(struct elastic_maker *maker, bool *room, struct error *err)
{
    const struct plan *plan = maker->plan;
    double needed, memory;
    const struct plan_stage *stage = short_of_room(plan, &needed, &memory);
    maker->kit->replicable |= !stage && plan->sharding < 3;
    *room = true;
    if (maker->options->optimizer != ELASTIC_OPTIMIZER_REPLICATED)
        return true;
    if (plan->sharding == 3)
        return error_set(err, ERROR_INFEASIBLE,
                         "%s: ZeRO stage 3 shards parameters over all pipelines, too: no pipeline can keep "
                         "everything; plan with a lower stage ('--fix zero=1')",
                         plan->path);
    if (!stage)
        return true;
    char all[32], have[32];
    unit_format(all, sizeof all, needed, UNIT_BYTES, 3);
    unit_format(have, sizeof have, memory, UNIT_BYTES, 3);
    *room = false;
    error_set(&maker->small, ERROR_INFEASIBLE,
              "%s: with all optimizer states in each pipeline, a device of layers %d to %d needs %s, "
              "of which %s may be used; " ELASTIC_PLAN_COPIES,
              plan->path, stage->layers.first, stage->layers.last, all, have);
    return true;
}

static bool take_batch(struct elastic_maker *maker, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    const struct plan *plan = maker->plan;
    int64_t batch = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        batch += plan->pipelines[p].copies * plan->pipelines[p].microbatches;
    if (maker->options->batch > 0)
        batch = maker->options->batch;
    if (batch < 1 || batch > ELASTIC_MAX_BATCH)
        return error_set(err, ERROR_INPUT, "%s: no micro-batches in the plan: give --microbatches N",
                         plan->path);
    if (kit->batch > 0 && kit->batch != batch)
        return error_set(err, ERROR_USAGE,
                         "%s: plans with %lld and with %lld micro-batches: choose with --microbatches N",
                         plan->path, (long long)kit->batch, (long long)batch);
    kit->batch = batch;
    kit->microbatch = plan->microbatch;
    return true;
}

/* Checks that this is a further plan of the same model. */
static bool same_model(struct elastic_maker *maker, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    const struct plan *plan = maker->plan;
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    int layers = pipeline->stages[pipeline->stage_count - 1].layers.last + 1;
    if (kit->layer_count > 0 && kit->layer_count != layers)
        return error_set(err, ERROR_INPUT,
                         "%s: a plan of %d layers, but another has %d: all must be of one model", plan->path,
                         layers, kit->layer_count);
    kit->layer_count = layers;
    if (!kit->model && plan->model && !(kit->model = arena_string(&kit->arena, plan->model)))
        return error_memory(err);
    return true;
}

/* Returns whether the cluster has all device types of the plan's pipelines. */
static bool has_kinds(struct elastic_maker *maker)
{
    const struct plan *plan = maker->plan;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            int type = plan->pipelines[p].stages[s].type;
            if (maker->kind_of[type] >= 0)
                continue;
            error_set(&maker->small, ERROR_INFEASIBLE, "%s: the cluster has no nodes of %d x '%s'",
                      plan->path, plan->types[type].nodes.devices, plan->types[type].name);
            return false;
        }
    return true;
}

bool elastic_take_plan(struct elastic_maker *maker, const struct plan *plan, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    bool room;
    maker->plan = plan;
    if (plan->pipeline_count < 1 || plan->pipelines[0].stage_count < 1)
        return error_set(err, ERROR_INPUT, "%s: expected pipelines with stages", plan->path);
    for (int p = 0; p < plan->pipeline_count; p++)
        if (!check_pipeline(maker, &plan->pipelines[p], err))
            return false;
    if (kit->kind_count == 0 && !take_types(maker, err))
        return false;
    match_types(maker);
    if (!same_model(maker, err) || !take_batch(maker, err))
        return false;
    for (int p = 0; p < plan->pipeline_count; p++)
        if (!take_cuts(maker, &plan->pipelines[p], err))
            return false;
    if (!has_room(maker, &room, err))
        return false;
    bool shards = plan->sharding >= 1 && plan_copies(plan) > 1;
    kit->shards |= shards;
    if (shards && maker->options->optimizer == ELASTIC_OPTIMIZER_PLAN) {
        int group = elastic_shard_pipelines(maker);
        kit->sharded = plan->sharding == 3 ? elastic_all_states : "optimizer states";
        kit->sharded_over = group > 1 ? group : (int)plan_copies(plan);
        kit->shard_groups = group > 1 ? plan->technique.replicate : 1;
    }
    if (!room || !has_kinds(maker))
        return true;
    struct elastic_line *lines = calloc((size_t)plan->pipeline_count, sizeof *lines);
    struct elastic_member *members = calloc((size_t)plan->pipeline_count, sizeof *members);
    bool ok = lines && members ? true : error_memory(err);
    if (ok) {
        set_lines(maker, lines);
        ok = add_shapes(maker, lines, members, err);
    }
    free(lines);
    free(members);
    return ok;
}
