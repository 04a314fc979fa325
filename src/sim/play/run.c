/* The run of a plan by layers, and what the engine's figures mean. */
#include "core/stop.h"
#include "core/vector.h"
#include "sim/play/links.h"
#include "sim/play/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TASKS        ((size_t)1 << 20)
#define MAX_TASKS_OF_ALL ((size_t)1 << 24)

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

/* The caller ends the keeper with path_keeper_release, also after a failure. Tasks are of devices 0 to devices - 1; if they are
 * many, as where all devices are played one by one (`all`), at most half a GiB of them is kept, else at most 32 MiB. */
static bool path_keeper_open(struct path_keeper *keeper, int64_t devices, bool all,
                             const struct timeline_sink *next, struct error *err)
{
    size_t count = (size_t)devices * ENGINE_STREAMS;
    *keeper = (struct path_keeper){.next = next, .limit = all ? MAX_TASKS_OF_ALL : MAX_TASKS};
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
    keeper->lost = keeper->lost || keeper->count == keeper->limit || task->id != (int64_t)keeper->count;
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

static struct timeline_sink path_keeper_sink(struct path_keeper *keeper)
{
    return (struct timeline_sink){
        .context = keeper,
        .task = keep_task,
        .memory = keeper->next && keeper->next->memory ? pass_memory : NULL,
        .link = keeper->next && keeper->next->link ? pass_link : NULL,
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

/* Adds the path to the result; first[p] is the first device of pipeline p (NULL: they are numbered by place). Adds nothing if tasks were lost. */
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

static bool run(struct play_system *system, bool keep, struct sim_result *result, struct error *err)
{
    struct engine_result played = {.makespan = 0.0};
    struct path_keeper keeper = {.count = 0};
    const struct sim_options *options = system->model->options;
    bool ok = true;
    struct timeline_sink sink;
    if (keep) {
        ok = path_keeper_open(&keeper, system->layout.count, options->no_symmetry || options->jitter > 0,
                              options->sink, err);
        sink = path_keeper_sink(&keeper);
    }
    if (ok && keep && sink.link)
        ok = play_links_name(system, err);
    ok = ok && engine_run(&system->engine, keep ? &sink : NULL, &played, err);
    if (ok)
        set_seconds(system, &played, result);
    ok = ok &&
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
