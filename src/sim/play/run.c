/* The run of a plan by layers, and what the engine's figures mean. */
#include "core/stop.h"
#include "core/vector.h"
#include "sim/play/path.h"
#include "sim/play/system.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_KEPT 16 /* of what links carry, in a result */

/* Who uses a link. */
struct link_user {
    int rank; /* a device; -1: nobody */
    uint32_t causes;
};

/* Bits of the labels of an order's flows, by the group or the route that they have. */
struct flow_labels {
    uint32_t group[LAYER_GROUPS];
    uint32_t *routes;
};

static bool find_labels(const struct play_system *system, int number, struct arena *arena,
                        struct flow_labels *labels)
{
    const struct engine_order *order = &system->engine.orders[number];
    size_t routes = (size_t)system->orders.devices[number].route_count;
    bool *seen = calloc((size_t)system->engine.template_count + 1, sizeof *seen);
    labels->routes = ARENA_ARRAY(arena, routes + 1, uint32_t);
    for (size_t pass = 0; seen && labels->routes && pass < order->count; pass++) {
        uint32_t which = order->passes[pass].template;
        const struct engine_template *template = &system->engine.templates[which];
        for (int i = 0; i < template->count && !seen[which]; i++) {
            const struct engine_task *task = &template->tasks[i];
            uint32_t bit = UINT32_C(1) << play_cause_of(task->label);
            if (task->group > 0 && task->rate > 0.0)
                labels->group[task->group] |= bit;
            if (task->route > 0)
                labels->routes[task->route - 1] |= bit;
        }
        seen[which] = true;
    }
    bool ok = seen && labels->routes;
    free(seen);
    return ok;
}

static void note_route(const struct engine_route *route, int rank, uint32_t causes, struct link_user *users)
{
    for (int i = 0; i < route->count && causes != 0; i++) {
        struct link_user *user = &users[route->uses[i].link];
        user->causes |= causes;
        if (user->rank < 0)
            user->rank = rank;
    }
}

/* Returns the users of all links, in the arena; NULL: out of memory. */
static struct link_user *find_users(const struct play_system *system, struct arena *arena)
{
    const struct engine_system *engine = &system->engine;
    struct link_user *users = ARENA_ARRAY(arena, (size_t)engine->link_count + 1, struct link_user);
    struct flow_labels *labels = ARENA_ARRAY(arena, (size_t)engine->order_count, struct flow_labels);
    bool *known = ARENA_ARRAY(arena, (size_t)engine->group_count + 1, bool);
    for (int o = 0; labels && o < engine->order_count; o++)
        if (!find_labels(system, o, arena, &labels[o]))
            return NULL;
    if (!users || !labels || !known)
        return NULL;
    for (int l = 0; l < engine->link_count; l++)
        users[l].rank = -1;
    for (int d = 0; d < engine->device_count; d++) {
        const struct engine_device *device = &engine->devices[d];
        const struct flow_labels *own = &labels[device->order];
        for (int r = 0; r < device->route_count && r < system->orders.devices[device->order].route_count; r++)
            note_route(&engine->routes[device->routes[r]], device->rank, own->routes[r], users);
        for (int kind = 1; kind < LAYER_GROUPS; kind++) {
            int group = kind <= device->group_count ? device->groups[kind - 1] : 0;
            if (own->group[kind] == 0 || known[group] || engine->groups[group].route < 0)
                continue;
            known[group] = true;
            note_route(&engine->routes[engine->groups[group].route], device->rank, own->group[kind], users);
        }
    }
    return users;
}

/* Sets how many links of the whole system are like each of the system's, and the fabric's number of one of them. */
static bool find_alike(const struct play_system *system, struct arena *arena, int64_t **alike, int **first)
{
    const struct wires *wires = &system->wires;
    const int *class_of = system->symmetry.link_class;
    *alike = ARENA_ARRAY(arena, (size_t)system->engine.link_count + 1, int64_t);
    *first = ARENA_ARRAY(arena, (size_t)system->engine.link_count + 1, int);
    if (!*alike || !*first)
        return false;
    for (int l = wires->link_count - 1; l >= 0; l--) {
        int class = class_of ? class_of[l] : l;
        (*alike)[class]++;
        (*first)[class] = wires->fabric_link[l];
    }
    return true;
}

/* Links of hosts have names of their own. */
static const char *name_link(const struct play_system *system, int link, int fabric_link, int64_t alike,
                             struct arena *arena)
{
    char name[128];
    if (fabric_link < system->wires.fabric.link_count)
        fabric_describe(&system->wires.fabric, fabric_link, name, sizeof name);
    else
        snprintf(name, sizeof name, "%s", system->engine.links[link].name);
    return alike > 1 ? arena_format(arena, "%s (of %" PRId64 " alike)", name, alike)
                     : arena_string(arena, name);
}

/* Names the system's links, and gives each a device that uses it. */
static bool play_links_name(struct play_system *system, struct error *err)
{
    int count = system->engine.link_count, *first;
    int64_t *alike;
    struct engine_link *links = ARENA_ARRAY(&system->arena, (size_t)count + 1, struct engine_link);
    const struct link_user *users = find_users(system, &system->arena);
    if (!links || !users || !find_alike(system, &system->arena, &alike, &first))
        return error_memory(err);
    for (int l = 0; l < count; l++) {
        links[l] = system->engine.links[l];
        links[l].rank = users[l].rank;
        links[l].name = name_link(system, l, first[l], alike[l], &system->arena);
        if (!links[l].name)
            return error_memory(err);
    }
    system->engine.links = links;
    return true;
}

/* ---- of the result ---- */

struct ranked_link {
    double full, share;
    int number;
};

static int compare_links(const void *a, const void *b)
{
    const struct ranked_link *x = a, *y = b;
    if (x->full != y->full)
        return x->full > y->full ? -1 : 1;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool name_causes(uint32_t causes, struct sim_link *link, struct arena *arena)
{
    link->causes = ARENA_ARRAY(arena, SIM_CAUSES, const char *);
    for (int cause = 0; link->causes && cause < SIM_CAUSES; cause++)
        if (causes >> cause & 1)
            link->causes[link->cause_count++] = sim_cause_names[cause];
    return link->causes != NULL;
}

/* Keeps only links that carried something, and of equal ones of the whole system one. */
static bool keep(const struct play_system *system, const struct engine_result *played, struct arena *arena,
                 struct sim_result *result)
{
    int count = system->engine.link_count, kept = 0, *first;
    int64_t *alike;
    struct ranked_link *ranked = ARENA_ARRAY(arena, (size_t)count + 1, struct ranked_link);
    const struct link_user *users = find_users(system, arena);
    if (!ranked || !users || !find_alike(system, arena, &alike, &first))
        return false;
    for (int l = 0; l < count; l++)
        if (played->carried[l] > 0 && users[l].rank >= 0)
            ranked[kept++] = (struct ranked_link){
                played->full[l],
                (double)played->carried[l] / (system->engine.links[l].capacity * played->makespan), l};
    qsort(ranked, (size_t)kept, sizeof *ranked, compare_links);
    kept = kept < LINKS_KEPT ? kept : LINKS_KEPT;
    result->links = ARENA_ARRAY(&result->arena, (size_t)kept + 1, struct sim_link);
    if (!result->links)
        return false;
    for (int i = 0; i < kept; i++) {
        int l = ranked[i].number;
        double unit = system->engine.links[l].unit > 0.0 ? system->engine.links[l].unit : 1.0;
        struct sim_link *link = &result->links[result->link_count++];
        *link = (struct sim_link){
            .name = name_link(system, l, first[l], 1, &result->arena),
            .alike = alike[l],
            .capacity = unit * system->engine.links[l].capacity,
            .bytes = unit * (double)played->carried[l],
            .share = ranked[i].share,
            .full = ranked[i].full,
        };
        if (!link->name || !name_causes(users[l].causes, link, &result->arena))
            return false;
    }
    return true;
}

/* Adds the links that carried most to the result. */
static bool play_links_keep(const struct play_system *system, const struct engine_result *played,
                            struct sim_result *result, struct error *err)
{
    struct arena arena = {0};
    bool ok = keep(system, played, &arena, result) || error_memory(err);
    arena_release(&arena);
    return ok;
}

#define MAX_TASKS        (1 << 20)
#define MAX_TASKS_OF_ALL (1 << 24)

bool path_add_step(struct sim_result *result, int *room, const struct sim_step *add)
{
    if (add->seconds <= 0.0)
        return true;
    for (int i = 0; i < result->step_count; i++) {
        struct sim_step *step = &result->steps[i];
        if (step->pipeline == add->pipeline && step->stage == add->stage && step->link == add->link &&
            strcmp(step->what, add->what) == 0) {
            step->seconds += add->seconds;
            step->count += add->count;
            return true;
        }
    }
    struct sim_step *grown =
        arena_grow(&result->arena, result->steps, result->step_count, room, sizeof *grown);
    if (!grown)
        return false;
    result->steps = grown;
    result->steps[result->step_count++] = *add;
    return true;
}

static int compare_steps(const void *a, const void *b)
{
    const struct sim_step *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds > y->seconds ? -1 : 1;
    if (x->pipeline != y->pipeline)
        return x->pipeline - y->pipeline;
    return x->stage != y->stage ? x->stage - y->stage : strcmp(x->what, y->what);
}

void path_end(struct sim_result *result, const struct plan *plan)
{
    for (int i = 0; i < result->step_count; i++)
        if (result->steps[i].link >= 0)
            result->steps[i].link_name = plan->links[result->steps[i].link].name;
    if (result->step_count > 1)
        qsort(result->steps, (size_t)result->step_count, sizeof *result->steps, compare_steps);
}

/* Returns whether a system has more tasks than `limit`. */
static bool has_more_tasks(const struct engine_system *system, int64_t limit)
{
    for (int d = 0; d < system->device_count && limit >= 0; d++) {
        const struct engine_order *order = &system->orders[system->devices[d].order];
        for (size_t k = 0; k < order->count && limit >= 0; k++)
            limit -= system->templates[order->passes[k].template].count;
    }
    return limit < 0;
}

/* The caller ends the keeper with path_keeper_release, also after a failure. Tasks are of devices 0 to devices - 1; of
 * more than half a GiB where all devices are played one by one (`all`), or else 32 MiB, none is kept. */
static bool path_keeper_open(struct path_keeper *keeper, const struct engine_system *system, int64_t devices,
                             bool all, const struct timeline_sink *next, struct error *err)
{
    size_t count = (size_t)devices * ENGINE_STREAMS;
    *keeper = (struct path_keeper){.next = next,
                                   .lost = has_more_tasks(system, all ? MAX_TASKS_OF_ALL : MAX_TASKS)};
    keeper->last = malloc(count * sizeof *keeper->last);
    if (!keeper->last)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        keeper->last[i] = -1;
    return true;
}

static void path_keeper_release(struct path_keeper *keeper)
{
    free(keeper->last);
    free(keeper->tasks);
    *keeper = (struct path_keeper){.count = 0};
}

/* Names are those of labels: few, and the same pointers each time. */
static uint8_t number_name(struct path_keeper *keeper, const char *name)
{
    int i = 0;
    while (i < keeper->name_count && keeper->names[i] != name)
        i++;
    if (i == keeper->name_count && i < PATH_MAX_NAMES)
        keeper->names[keeper->name_count++] = name;
    return (uint8_t)(i < PATH_MAX_NAMES ? i : PATH_MAX_NAMES - 1);
}

static bool keep_task(void *context, const struct timeline_task *task, struct error *err)
{
    struct path_keeper *keeper = context;
    int32_t *last = &keeper->last[(size_t)task->device * ENGINE_STREAMS + (size_t)task->stream];
    keeper->lost = keeper->lost || task->id != (int64_t)keeper->count;
    if (!keeper->lost) {
        const struct kept_task kept = {
            .begin = task->begin,
            .end = task->end,
            .cause = task->cause >= 0 ? (int32_t)task->cause : *last,
            .device = task->device,
            .stage = task->stage,
            .kind = (uint8_t)task->kind,
            .stream = (uint8_t)task->stream,
            .name = number_name(keeper, task->name),
        };
        *last = (int32_t)task->id;
        if (!VECTOR_ADD(keeper->tasks, keeper->count, keeper->capacity, kept))
            return error_memory(err);
    }
    return !keeper->next || !keeper->next->task || keeper->next->task(keeper->next->context, task, err);
}

static bool pass_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    const struct path_keeper *keeper = context;
    return keeper->next->memory(keeper->next->context, memory, err);
}

static bool pass_link(void *context, const struct timeline_link *link, struct error *err)
{
    const struct path_keeper *keeper = context;
    return keeper->next->link(keeper->next->context, link, err);
}

static bool pass_group(void *context, const struct timeline_group *group, struct error *err)
{
    const struct path_keeper *keeper = context;
    return keeper->next->group(keeper->next->context, group, err);
}

static struct timeline_sink path_keeper_sink(struct path_keeper *keeper)
{
    return (struct timeline_sink){
        .context = keeper,
        .task = !keeper->lost || (keeper->next && keeper->next->task) ? keep_task : NULL,
        .memory = keeper->next && keeper->next->memory ? pass_memory : NULL,
        .link = keeper->next && keeper->next->link ? pass_link : NULL,
        .group = keeper->next && keeper->next->group ? pass_group : NULL,
    };
}

static int pipeline_of(const struct play_model *model, const int *first, int device)
{
    int p = 0;
    while (p + 1 < model->pipeline_count &&
           device >= (first ? first[p + 1] : model->pipelines[p + 1].first_device))
        p++;
    return p;
}

/* Returns the link of a transfer's step; -1: none is known. */
static int link_of(const struct play_model *model, const struct sim_step *step, enum timeline_kind kind)
{
    static const struct {
        enum sim_cause cause;
        enum plan_purpose purpose;
    } causes[] = {{SIM_TENSOR, PURPOSE_TENSOR},
                  {SIM_CONTEXT, PURPOSE_CONTEXT},
                  {SIM_EXPERT, PURPOSE_EXPERT},
                  {SIM_SHARDS, PURPOSE_SHARDS},
                  {SIM_GRADIENTS, PURPOSE_GRADIENTS}};
    const struct play_pipeline *pipeline = &model->pipelines[step->pipeline];
    if (step->stage < 0 || step->stage >= pipeline->order.stages)
        return -1;
    const struct play_stage *stage = &pipeline->stages[step->stage];
    const struct plan_stage *from = &pipeline->from->stages[stage->of];
    if (kind == TASK_SEND || kind == TASK_RECEIVE)
        return stage->link[0] >= 0 ? stage->link[0] : stage->link[1];
    for (size_t c = 0; kind == TASK_COLLECTIVE && c < sizeof causes / sizeof *causes; c++)
        for (int i = 0; strcmp(step->what, sim_cause_names[causes[c].cause]) == 0 && i < from->transfer_count;
             i++)
            if (from->transfers[i].purpose == causes[c].purpose)
                return from->transfers[i].link;
    return -1;
}

/* Adds the path to the result; first[p] is the first device of pipeline p (NULL: they are numbered by place). Adds
 * nothing if tasks were lost. */
static bool path_keeper_walk(const struct path_keeper *keeper, const struct play_model *model,
                             const int *first, struct sim_result *result, struct error *err)
{
    int64_t at = -1;
    int room = 0;
    bool ok = true;
    if (keeper->lost)
        return true;
    for (size_t i = 0; i < keeper->count; i++) { /* a checkpoint that is still written delays nobody */
        if (stop_obeyed_at(i, err))
            return false;
        if (keeper->tasks[i].stream == STREAM_COMPUTE &&
            (at < 0 || keeper->tasks[i].end > keeper->tasks[at].end))
            at = (int64_t)i;
    }
    /* a cause has a lower number, or it is no cause */
    for (size_t steps = 0; ok && at >= 0 && steps < keeper->count; steps++) {
        const struct kept_task *task = &keeper->tasks[at];
        if (stop_obeyed_at(steps, err))
            return false;
        int32_t cause = task->cause;
        double before = cause >= 0 ? keeper->tasks[cause].end : 0.0;
        struct sim_step step = {.pipeline = pipeline_of(model, first, task->device),
                                .stage = task->stage,
                                .what = keeper->names[task->name],
                                .seconds = task->end - task->begin,
                                .count = 1};
        step.link = link_of(model, &step, (enum timeline_kind)task->kind);
        ok = path_add_step(result, &room, &step);
        step.what = "under way"; /* of a message, or of a member of a group */
        step.link = -1;
        step.seconds = task->begin - before;
        ok = ok && path_add_step(result, &room, &step);
        at = cause;
    }
    const struct sim_step other = {-1, -1, "other", -1, model->other, 1, NULL};
    ok = ok && path_add_step(result, &room, &other);
    path_end(result, model->plan);
    return ok || error_memory(err);
}

static void set_figures(const struct play_system *system, const struct engine_result *played, int a,
                        struct sim_result *result)
{
    const struct play_model *model = system->model;
    struct layout_place at = system->layout.at[system->shown[a]];
    const struct play_device *device = &model->pipelines[at.pipeline].devices[at.place];
    const struct engine_figures *figures = &played->devices[a];
    struct sim_device *to = &result->devices[model->pipelines[at.pipeline].first_device + at.place];
    if (to->members > 0 && figures->end <= to->end)
        return; /* the latest of a place is shown */
    *to = (struct sim_device){.pipeline = at.pipeline,
                              .place = at.place,
                              .type = device->type,
                              .members = device->members,
                              .begin = figures->begin,
                              .end = figures->end};
    double sum = model->other;
    to->seconds[SIM_OTHER] = model->other;
    for (int label = 0; label < LAYER_LABELS; label++) {
        const struct engine_seconds *seconds = &played->seconds[(size_t)a * LAYER_LABELS + (size_t)label];
        double own = seconds->busy + seconds->exposed;
        if (play_cause_of(label) == SIM_SAVE) /* a checkpoint is that of all devices */
            own += seconds->waited;
        to->seconds[play_cause_of(label)] += own;
        sum += own;
    }
    to->seconds[SIM_BUBBLE] += result->seconds - sum;
    to->peak = device->state;
    to->peak.activations = (double)figures->peak_of[MEMORY_ACTIVATIONS];
    to->peak.total = (double)figures->peak + device->state.working;
    to->peak.time = figures->peak_time;
    if (to->peak.activations == 0.0 || figures->peak == figures->peak_of[MEMORY_ACTIVATIONS])
        to->peak.total = device->total > 0.0 ? device->total : NAN;
}

static bool keep_figures(const struct play_system *system, const struct engine_result *played,
                         struct sim_result *result, struct error *err)
{
    result->device_count = layout_rank_count(system->model);
    result->devices = ARENA_ARRAY(&result->arena, (size_t)result->device_count, struct sim_device);
    if (!result->devices)
        return error_memory(err);
    for (int a = 0; a < system->engine.device_count; a++)
        set_figures(system, played, a, result);
    play_summarise(result);
    return true;
}

static void set_seconds(const struct play_system *system, const struct engine_result *played,
                        struct sim_result *result)
{
    const struct play_model *model = system->model;
    double longest = 0.0, end = 0.0;
    for (int a = 0; a < system->engine.device_count; a++) {
        longest = fmax(longest, played->devices[a].end - played->devices[a].begin);
        end = fmax(end, played->devices[a].end);
    }
    result->iterations = model->host.iterations;
    result->shown = end + model->other;
    result->makespan = played->makespan + model->other;
    result->seconds = model->host.iterations > 1 ? result->shown
                      : model->post_validate     ? longest + model->other
                                                 : result->makespan;
    result->tasks = played->tasks;
}

static bool show_others(const struct play_system *system, const struct sim_result *result, struct error *err)
{
    const struct play_model *model = system->model;
    bool ok = true;
    for (int a = 0;
         ok && model->options->sink && model->options->sink->task && a < system->engine.device_count; a++)
        ok = play_show_other(model, system->engine.devices[a].rank, result->shown - model->other,
                             result->tasks + a, err);
    return ok;
}

static bool run(struct play_system *system, bool keep, struct sim_result *result, struct error *err)
{
    struct engine_result played = {.makespan = 0.0};
    struct path_keeper keeper = {.count = 0};
    const struct sim_options *options = system->model->options;
    bool ok = true;
    struct timeline_sink sink;
    if (keep) {
        ok = path_keeper_open(&keeper, &system->engine, system->layout.count,
                              options->no_symmetry || options->jitter > 0, options->sink, err);
        sink = path_keeper_sink(&keeper);
    }
    if (ok && keep && sink.link)
        ok = play_links_name(system, err);
    ok = ok && engine_run(&system->engine, keep ? &sink : NULL, &played, err);
    if (ok)
        set_seconds(system, &played, result);
    ok = ok && (!keep || show_others(system, result, err)) &&
         (!keep ||
          (keep_figures(system, &played, result, err) && play_links_keep(system, &played, result, err))) &&
         (!keep || path_keeper_walk(&keeper, system->model, system->by_place ? NULL : system->layout.first,
                                    result, err));
    path_keeper_release(&keeper);
    engine_result_release(&played);
    return ok;
}

bool play_layers(const struct play_model *model, bool keep, struct sim_result *result, struct error *err)
{
    struct play_system system;
    bool ok = play_system_make(&system, model, err) && run(&system, keep, result, err);
    play_system_release(&system);
    return ok;
}
