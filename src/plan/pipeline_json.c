#include "core/doc.h"
#include "plan/pipeline.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT      "rehearse-plan/1"
#define MOST_STAGES PROFILE_MAX_LAYERS

static const char *const objective_names[] = {"pipeline", "oobleck"};

const char *plan_objective_name(enum plan_objective objective)
{
    return objective_names[objective];
}

/* ---- out ---- */

static void write_stage(const struct pipeline_stage *stage, const struct plan_problem *problem,
                        struct json *json)
{
    const struct plan_group *group = &problem->groups[stage->group];
    json_open_flat(json, NULL, '{');
    json_integer(json, "first_layer", stage->first_layer);
    json_integer(json, "last_layer", stage->last_layer);
    json_string(json, "device_type", group->device);
    json_integer(json, "devices", stage->devices);
    if (stage->node >= 0)
        json_integer(json, "node", stage->node);
    else
        json_null(json, "node");
    json_number(json, "forward", stage->forward);
    json_number(json, "backward", stage->backward);
    json_integer(json, "memory", stage->memory);
    if (group->memory)
        json_integer(json, "memory_limit", group->memory * stage->devices);
    json_close(json);
}

void pipeline_write_json(const struct pipeline *plan, const struct plan_problem *problem, struct json *json,
                         const char *key)
{
    json_open(json, key, '{');
    json_string(json, "format", FORMAT);
    json_string(json, "objective", plan_objective_name(plan->objective));
    json_string(json, "search", plan->search);
    json_integer(json, "microbatches", plan->microbatches);
    json_integer(json, "nodes", plan_problem_nodes(problem));
    json_integer(json, "devices", plan_problem_devices(problem));
    json_number(json, "iteration_time", plan->iteration_time);
    json_number(json, "t1", plan->t1);
    json_number(json, "t2", plan->t2);
    json_number(json, "t3", plan->t3);
    json_number(json, "lower_bound", plan->lower_bound);
    json_number(json, "gap", pipeline_gap(plan));
    json_bool(json, "proven_optimal", plan->proven_optimal);
    json_number(json, "planning_seconds", plan->planning_seconds);
    json_integer(json, "bottleneck", plan->bottleneck);
    json_open(json, "stages", '[');
    for (int i = 0; i < plan->stage_count; i++)
        write_stage(&plan->stages[i], problem, json);
    json_close(json);
    json_close(json);
}

/* ---- in ---- */

struct reader {
    struct doc doc;
    const struct plan_problem *problem;
    int64_t used[PLAN_MAX_GROUPS]; /* devices given away so far */
    struct error *err;
};

/* Is it a plan at all? */
static bool check_format(const struct doc *doc, struct error *err)
{
    return doc_is_map(doc, doc->root, err) && doc_is_format(doc, doc->root, FORMAT, err) &&
           doc_need(doc, doc->root, "stages", err);
}

static bool read_int(const struct reader *r, const struct doc_node *stage, const char *key, int least,
                     int *value)
{
    int64_t number;
    const struct doc_node *node = doc_need(&r->doc, stage, key, r->err);
    if (!node || !doc_integer(&r->doc, node, least, INT_MAX, &number, r->err))
        return false;
    *value = (int)number;
    return true;
}

static int first_node_of(const struct plan_problem *problem, int group)
{
    int node = 0;
    for (int g = 0; g < group; g++)
        node += problem->groups[g].nodes;
    return node;
}

static int64_t devices_of(const struct plan_group *group)
{
    return (int64_t)group->nodes * group->devices_per_node;
}

/* Groups may share a device type: the node tells which is meant, else the first that has devices left. */
static bool find_group(struct reader *r, const struct doc_node *at, const char *device,
                       struct pipeline_stage *stage)
{
    int match = -1;
    for (int g = 0; g < r->problem->group_count; g++) {
        const struct plan_group *group = &r->problem->groups[g];
        if (strcmp(group->device, device) != 0)
            continue;
        int first = first_node_of(r->problem, g);
        bool named = stage->node >= first && stage->node < first + group->nodes;
        bool room = r->used[g] + stage->devices <= devices_of(group);
        if (match < 0 || named ||
            (stage->node < 0 && room &&
             r->used[match] + stage->devices > devices_of(&r->problem->groups[match])))
            match = g;
        if (named)
            break;
    }
    if (match < 0)
        return doc_error(&r->doc, at, r->err, "the cluster has no '%s'", device);
    int first = first_node_of(r->problem, match);
    if (stage->node >= 0 && (stage->node < first || stage->node >= first + r->problem->groups[match].nodes))
        return doc_error(&r->doc, doc_find(at->parent, "node"), r->err, "node %d is no '%s'", stage->node,
                         device);
    r->used[match] += stage->devices;
    stage->group = match;
    return true;
}

static bool read_stage(struct reader *r, const struct doc_node *node, struct pipeline_stage *stage)
{
    const char *device;
    const struct doc_node *type = doc_need(&r->doc, node, "device_type", r->err);
    if (!type || !doc_string(&r->doc, type, &device, r->err) ||
        !read_int(r, node, "first_layer", 0, &stage->first_layer) ||
        !read_int(r, node, "last_layer", 0, &stage->last_layer) ||
        !read_int(r, node, "devices", 1, &stage->devices))
        return false;
    const struct doc_node *place = doc_find(node, "node");
    stage->node = -1;
    stage->line = (int)node->line;
    if (place && place->type != DOC_NULL && !read_int(r, node, "node", 0, &stage->node))
        return false;
    return find_group(r, type, device, stage);
}

static bool read_stages(struct reader *r, struct pipeline *plan)
{
    const struct doc_node *stages = doc_need(&r->doc, r->doc.root, "stages", r->err);
    if (!stages || !doc_is_list(&r->doc, stages, r->err))
        return false;
    if (stages->count == 0 || stages->count > MOST_STAGES)
        return doc_error(&r->doc, stages, r->err, "expected 1 to %d stages, found %u", MOST_STAGES,
                         stages->count);
    plan->stages = calloc(stages->count, sizeof *plan->stages);
    if (!plan->stages)
        return error_memory(r->err);
    for (const struct doc_node *node = stages->first_child; node; node = node->next)
        if (!read_stage(r, node, &plan->stages[plan->stage_count++]))
            return false;
    return true;
}

/* Ends the reader's document. */
static bool read_plan(struct reader *r, struct pipeline *plan)
{
    bool ok = check_format(&r->doc, r->err) && read_stages(r, plan);
    doc_release(&r->doc);
    if (!ok)
        pipeline_release(plan);
    return ok;
}

bool pipeline_load(struct pipeline *plan, const struct plan_problem *problem, const char *path,
                   struct error *err)
{
    struct reader r = {.problem = problem, .err = err};
    memset(plan, 0, sizeof *plan);
    plan->path = path;
    return doc_load(&r.doc, path, err) && read_plan(&r, plan);
}

bool pipeline_parse(struct pipeline *plan, const struct plan_problem *problem, const char *path,
                    const char *data, size_t length, struct error *err)
{
    struct reader r = {.problem = problem, .err = err};
    memset(plan, 0, sizeof *plan);
    plan->path = path;
    return doc_parse(&r.doc, DOC_JSON, path, data, length, err) && read_plan(&r, plan);
}

static bool read_header(const struct doc *doc, struct pipeline_header *header, struct error *err)
{
    const struct doc_node *node = doc_find(doc->root, "microbatches");
    int64_t number;
    header->has_microbatches = node;
    if (node) {
        if (!doc_integer(doc, node, 0, PLAN_MAX_MICROBATCHES, &number, err))
            return false;
        header->microbatches = (int)number;
    }
    node = doc_find(doc->root, "objective");
    const char *name;
    header->has_objective = node;
    if (!node)
        return true;
    if (!doc_string(doc, node, &name, err))
        return false;
    for (int i = 0; i < (int)(sizeof objective_names / sizeof *objective_names); i++)
        if (strcmp(name, objective_names[i]) == 0) {
            header->objective = (enum plan_objective)i;
            return true;
        }
    return doc_error(doc, node, err, "expected 'pipeline' or 'oobleck', found '%s'", name);
}

bool pipeline_load_header(struct pipeline_header *header, const char *path, struct error *err)
{
    struct doc doc;
    memset(header, 0, sizeof *header);
    if (!doc_load(&doc, path, err))
        return false;
    bool ok = check_format(&doc, err) && read_header(&doc, header, err);
    doc_release(&doc);
    return ok;
}
