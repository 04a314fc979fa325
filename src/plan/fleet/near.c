#include "plan/fleet/near.h"

#include "core/stop.h"
#include "core/vector.h"
#include "plan/fleet/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATIO      1.05  /* of the longest to the shortest cycle of an interval */
#define MAX_LABELS 60000 /* of an interval */
#define MAX_NEAR   3000  /* pipelines */

/* The stages before `layer`, in a pipeline with `behind` more of them. */
struct near_label {
    double fill, cycle, cost;
    double after[FLEET_MAX_TOGETHER];
    int devices[FLEET_MAX_TYPES];
    int before;       /* the label of one stage less; -1: none */
    int same;         /* the next label of the same layer; -1: the last */
    int option, from; /* of the last stage */
};

struct near_search {
    const struct fleet_near_query *query;
    struct fleet_pricer *pricer;
    struct fleet_near *found;
    struct near_label *labels;
    int label_count;
    size_t label_capacity;
    int *here, *next; /* [layers + 1] the first label at each layer; -1: none */
    bool full, no_memory;
};

/* Is `a` as good as `b` in any plan? */
static bool as_good(const struct near_search *s, const struct near_label *a, const struct near_label *b)
{
    if (a->fill > b->fill || a->cycle > b->cycle)
        return false;
    for (int i = 0; i < s->query->together_count; i++)
        if (a->after[i] > b->after[i])
            return false;
    for (int t = 0; t < s->pricer->problem->type_count; t++)
        if (a->devices[t] > b->devices[t])
            return false;
    return true;
}

/* Keeps a label unless another is as good; drops those that are not better than it. */
static void keep(struct near_search *s, int *list, const struct near_label *label)
{
    int *at = list;
    double compared = 0.0;
    for (int i = *list; i >= 0; i = s->labels[i].same, compared++)
        if (as_good(s, &s->labels[i], label)) {
            s->query->effort->left -= compared;
            return;
        }
    s->query->effort->left -= 2.0 * compared;
    while (*at >= 0) {
        if (as_good(s, label, &s->labels[*at]))
            *at = s->labels[*at].same;
        else
            at = &s->labels[*at].same;
    }
    if (s->label_count == MAX_LABELS || s->query->effort->left < 0.0 || stop_wanted()) {
        s->full = true;
        return;
    }
    int last = s->label_count; /* `list` may not lie in the labels */
    struct near_label own = *label;
    own.same = *list;
    if (VECTOR_ADD(s->labels, s->label_count, s->label_capacity, own))
        *list = last;
    else
        s->no_memory = true;
}

static bool replaces(const struct near_search *s, const struct fleet_near_pipeline *a,
                     const struct fleet_near_pipeline *b)
{
    bool as_good = a->fill <= b->fill && a->cycle <= b->cycle;
    for (int i = 0; i < s->query->together_count && as_good; i++)
        as_good = a->after[i] <= b->after[i];
    for (int t = 0; t < s->pricer->problem->type_count && as_good; t++)
        as_good = a->devices[t] <= b->devices[t];
    return as_good;
}

/* Adds a pipeline unless another replaces it; drops those that it replaces. */
static void add_pipeline(struct near_search *s, int label)
{
    struct fleet_near *found = s->found;
    const struct near_label *last = &s->labels[label];
    struct fleet_near_pipeline one = {.fill = last->fill, .cycle = last->cycle};
    memcpy(one.after, last->after, sizeof one.after);
    memcpy(one.devices, last->devices, sizeof last->devices);
    one.devices[s->pricer->problem->type_count] = 1;
    for (int i = label; i >= 0 && s->labels[i].from >= 0; i = s->labels[i].before)
        one.stage_count++;
    one.stages = ARENA_ARRAY(&found->arena, (size_t)one.stage_count, struct fleet_stage);
    if (!one.stages) {
        s->no_memory = true;
        return;
    }
    int end = s->pricer->problem->layer_count, stage = one.stage_count;
    for (int i = label; stage > 0; i = s->labels[i].before) {
        one.stages[--stage] = (struct fleet_stage){s->labels[i].option, s->labels[i].from, end};
        end = s->labels[i].from;
    }
    int kept = 0;
    s->query->effort->left -= found->count;
    for (int i = 0; i < found->count; i++)
        if (replaces(s, &found->pipelines[i], &one))
            return;
    for (int i = 0; i < found->count; i++)
        if (!replaces(s, &one, &found->pipelines[i]))
            found->pipelines[kept++] = found->pipelines[i];
    found->count = kept;
    if (found->count == MAX_NEAR)
        s->full = true;
    else if (!VECTOR_ADD(found->pipelines, found->count, found->capacity, one))
        s->no_memory = true;
}

/* Continues a label by all stages that a pipeline below the cutoff may have. */
static void continue_by(struct near_search *s, const struct fleet_path *path, int behind, int first, int from)
{
    const struct fleet_problem *problem = s->pricer->problem;
    size_t row = (size_t)problem->layer_count + 1;
    int layers = problem->layer_count;
    for (int i = 0; i < problem->option_count; i++) {
        const struct fleet_option *o = &problem->options[i];
        if (s->labels[from].devices[o->type] + o->tensor > problem->types[o->type].devices)
            continue;
        for (int last = behind > 1 ? first + 1 : layers; last <= layers - (behind - 1); last++) {
            const struct fleet_stage stage = {i, first, last};
            if (!fleet_path_within_time(path, i, first, last) ||
                !fleet_within_memory(problem, &stage, behind))
                break;
            struct near_label label = s->labels[from];
            double rest = behind > 1 ? s->pricer->best[(size_t)(behind - 1) * row + (size_t)last] : 0.0;
            double seconds = fleet_stage_seconds(problem, &stage);
            label.cost += fleet_path_cost(path, i, first, last);
            if (label.cost + rest >= path->cutoff)
                continue;
            label.fill += seconds;
            label.cycle = fmax(label.cycle, seconds);
            label.devices[o->type] += o->tensor;
            for (int k = 0; k < s->query->together_count; k++) {
                const double *after = s->query->together[k].options[i].after;
                label.after[k] = fmax(label.after[k], after[last] - after[first]);
            }
            label.before = from;
            label.option = i;
            label.from = first;
            keep(s, &s->next[last], &label);
        }
    }
}

/* All labels of pipelines within an interval of cycles; those of `behind` stages before those of fewer. */
static void list_interval(struct near_search *s, const struct fleet_path *path)
{
    int layers = s->pricer->problem->layer_count, rows = s->pricer->rows;
    size_t row = (size_t)layers + 1;
    s->label_count = 0;
    for (int l = 0; l <= layers; l++)
        s->here[l] = -1;
    for (int behind = rows; behind >= 1 && !s->full && !s->no_memory; behind--) {
        if (s->pricer->best[(size_t)behind * row] < path->cutoff)
            keep(s, &s->here[0], &(struct near_label){.before = -1, .from = -1});
        for (int l = 0; l <= layers; l++)
            s->next[l] = -1;
        for (int l = 0; l < layers; l++)
            for (int i = s->here[l]; i >= 0 && !s->full && !s->no_memory; i = s->labels[i].same)
                continue_by(s, path, behind, l, i);
        if (behind == 1)
            for (int i = s->next[layers]; i >= 0; i = s->labels[i].same)
                add_pipeline(s, i);
        int *swap = s->here;
        s->here = s->next;
        s->next = swap;
    }
}

static void list_all(struct near_search *s)
{
    const struct fleet_near_query *query = s->query;
    const struct fleet_problem *problem = s->pricer->problem;
    double own = fleet_rows(problem) > problem->type_count ? query->prices[problem->type_count] : 0.0;
    int count = s->pricer->cycle_count;
    struct fleet_pipeline unused = {0};
    for (int first = 0, last; first < count && s->pricer->cycles[first].min <= query->deadline;
         first = last + 1) {
        double min = s->pricer->cycles[first].min;
        for (last = first; last + 1 < count && s->pricer->cycles[last + 1].max <= min * RATIO; last++)
            ;
        struct fleet_path path = {
            .pricer = s->pricer,
            .slowest = s->pricer->cycles[last].max,
            .share = 1.0 / min,
            .prices = query->prices,
            .all = true,
            .cutoff = (query->deadline / min + 1.0 - own + query->slack) * (1.0 + 1e-9) + 1e-9,
        };
        if (isfinite(fleet_path_shortest(path, &unused)))
            list_interval(s, &path);
        if (s->full || s->no_memory)
            return;
    }
}

bool fleet_near_all(struct fleet_near *found, const struct fleet_near_query *query, bool *all)
{
    *found = (struct fleet_near){0};
    struct near_search s = {.query = query, .found = found, .pricer = fleet_pricer_new(query->problem)};
    int row = query->problem->layer_count + 1;
    s.here = malloc(2 * (size_t)row * sizeof *s.here);
    s.no_memory = !s.pricer || !s.here || !VECTOR_ROOM(s.labels, s.label_capacity, 1);
    int *lists = s.here;
    if (!s.no_memory) {
        s.next = s.here + row;
        fleet_pricer_limit(s.pricer, query->after);
        list_all(&s);
    }
    fleet_pricer_free(s.pricer);
    free(lists);
    free(s.labels);
    *all = !s.full;
    if (s.no_memory)
        fleet_near_release(found);
    return !s.no_memory;
}

void fleet_near_release(struct fleet_near *found)
{
    free(found->pipelines);
    arena_release(&found->arena);
    *found = (struct fleet_near){0};
}
