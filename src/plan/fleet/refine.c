#include "plan/fleet/refine.h"
#include "core/stop.h"
#include "core/vector.h"
#include "plan/fleet/near.h"
#include "plan/fleet/pack.h"
#include "plan/fleet/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fleet_near_release(struct fleet_near *found);

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
                const double *after = s->query->together[k].options[i].sums.after;
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

/* Lists them. *all is false if there are too many: some are missing then. False: out of memory. The caller releases
 * *found. */
static bool fleet_near_all(struct fleet_near *found, const struct fleet_near_query *query, bool *all)
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

static void fleet_near_release(struct fleet_near *found)
{
    free(found->pipelines);
    arena_release(&found->arena);
    *found = (struct fleet_near){0};
}

#define MAX_CELLS 1e5 /* of a table */
#define MAX_DEPTH 4   /* divisions of the range of seconds afterwards */
#define SHRINK    0.4 /* of the loss up to which pipelines are listed, if they are too many */
#define SHARE_MIN 0.02

struct refiner {
    const struct fleet_maker *maker;
    struct fleet_choice *best;
    struct fleet_problem *best_problem;
    double seconds;             /* of the best plan, or enough */
    struct fleet_effort effort; /* of this number of pipelines */
    bool optimal;
    struct error *err;
    /* of one number of pipelines */
    int pipelines;
    struct arena arena;
    struct fleet_problem problem;                      /* all pipelines alike */
    struct fleet_problem together[FLEET_MAX_TOGETHER]; /* 1, 2, ... of them alike */
    int together_count;
};

/* Do the options of two problems take equally long afterwards? */
static bool same_after(const struct fleet_problem *a, const struct fleet_problem *b)
{
    for (int o = 0; o < a->option_count; o++)
        if (memcmp(a->options[o].sums.after, b->options[o].sums.after,
                   ((size_t)a->layer_count + 1) * sizeof *a->options[o].sums.after) != 0)
            return false;
    return true;
}

/* Makes the problems of so many pipelines. Those of more alike pipelines than the last differ in nothing, or there are
 * too many: *exact is false then. */
static bool make_problems(struct refiner *r, bool *exact)
{
    struct fleet_spread spread = {r->pipelines, r->pipelines, r->pipelines, r->pipelines, 0};
    const struct fleet_maker *maker = r->maker;
    if (!maker->make(maker->context, &spread, &r->problem, &r->arena))
        return false;
    r->together_count = 0;
    *exact = true;
    for (int alike = 1; alike <= r->pipelines; alike++) {
        struct fleet_problem next;
        spread.alike = alike;
        if (!maker->make(maker->context, &spread, &next, &r->arena))
            return false;
        bool same = r->together_count > 0 && same_after(&r->together[r->together_count - 1], &next);
        if (same)
            break;
        *exact = r->together_count < FLEET_MAX_TOGETHER;
        if (!*exact)
            break;
        r->together[r->together_count++] = next;
    }
    return true;
}

/* Makes the copies of near pipelines the best plan. */
static bool take(struct refiner *r, const struct fleet_near *near, const int *copies)
{
    struct fleet_choice next = {.lower_bound = r->best->lower_bound, .columns = r->best->columns};
    struct fleet_problem problem = r->problem;
    int kinds = 0;
    for (int k = 0; k < near->count; k++)
        kinds += copies[k] > 0;
    next.pipelines = ARENA_ARRAY(&next.arena, (size_t)kinds + 1, struct fleet_pipeline);
    if (!next.pipelines)
        return error_memory(r->err);
    for (int k = 0; k < near->count; k++) {
        if (copies[k] == 0)
            continue;
        const struct fleet_near_pipeline *from = &near->pipelines[k];
        struct fleet_pipeline *to = &next.pipelines[next.pipeline_count++];
        to->stage_count = from->stage_count;
        to->copies = copies[k];
        to->stages = from->stages;
        if (!fleet_own_stages(to, &next.arena)) {
            arena_release(&next.arena);
            return error_memory(r->err);
        }
        fleet_pipeline_score(&problem, to);
    }
    fleet_share(next.pipelines, next.pipeline_count, problem.microbatches);
    if (!fleet_rescore(&next, &problem, r->maker)) {
        arena_release(&next.arena);
        return error_memory(r->err);
    }
    fleet_choice_release(r->best);
    *r->best = next;
    r->seconds = fmin(r->seconds, next.seconds); /* fewer nodes wait for each other than was assumed */
    *r->best_problem = problem;
    return true;
}

/* Chooses among the pipelines that are near enough. */
static bool choose(struct refiner *r, const struct fleet_near *near, double min, double max, bool *all)
{
    int *copies = calloc((size_t)near->count + 1, sizeof *copies);
    const struct fleet_pack_query query = {
        .problem = &r->problem,
        .near = near,
        .together = r->together_count,
        .pipelines = r->pipelines,
        .exactly = true,
        .max_after = max,
        .min_after = min,
    };
    double before = r->seconds;
    bool ok = copies && fleet_pack(&query, &r->seconds, copies, &r->effort, all);
    if (!ok)
        error_memory(r->err);
    else if (r->seconds < before)
        ok = take(r, near, copies);
    free(copies);
    return ok;
}

/* Lists the pipelines that lose at most `slack`, and chooses among them. *all: no better plan is of these pipelines. */
static bool list_and_choose(struct refiner *r, const struct fleet_relaxation *relaxed, double slack,
                            double min, double max, bool *all)
{
    const struct fleet_near_query query = {
        .problem = &r->problem,
        .together = r->together,
        .together_count = r->together_count,
        .deadline = r->seconds - min,
        .slack = slack,
        .prices = relaxed->prices,
        .after = max,
        .effort = &r->effort,
    };
    struct fleet_near near;
    bool done = true;
    if (!fleet_near_all(&near, &query, all))
        return error_memory(r->err);
    bool ok = choose(r, &near, min, max, &done);
    *all &= done;
    fleet_near_release(&near);
    return ok;
}

/* Decides the plans whose slowest pipeline takes from `min` to `max` seconds afterwards. Where too many pipelines could
 * be in a better plan, those that lose little are chosen from first: with a better plan fewer remain. */
static bool decide(struct refiner *r, double min, double max, int depth)
{
    double wanted = (double)r->problem.microbatches;
    for (double share = 1.0; r->effort.left > 0.0; share *= SHRINK) {
        if (stop_obeyed(r->err))
            return false;
        double deadline = r->seconds - min, before = r->seconds;
        struct fleet_relaxation relaxed;
        bool all;
        if (deadline <= 0.0)
            return true;
        if (!fleet_relax(&relaxed, &r->problem, deadline, max, r->err))
            return false;
        if (relaxed.value + r->pipelines * relaxed.above < wanted * (1.0 - 1e-9))
            return true; /* nothing does that much by then */
        double slack = fmax(relaxed.value - wanted + (r->pipelines - 1) * relaxed.above, 0.0);
        if (isinf(relaxed.value))
            break;
        if (!list_and_choose(r, &relaxed, share * slack, min, max, &all))
            return false;
        if (all && share == 1.0)
            return true;
        if (all && r->seconds == before)
            break; /* no better plan so near, and too many further away */
        if (all)
            share = 1.0 / SHRINK;
        if (share < SHARE_MIN)
            break;
    }
    if (depth < MAX_DEPTH && r->effort.left > 0.0 && r->seconds > min) {
        double middle = min + 0.25 * (fmin(max, r->seconds) - min);
        return decide(r, min, middle, depth + 1) && decide(r, middle, max, depth + 1);
    }
    r->optimal = false;
    return true;
}

/* `any`: the problem of any number of pipelines. */
static bool decide_number(struct refiner *r, const struct fleet_problem *any, int pipelines, double bound)
{
    bool exact, ok;
    if (bound >= r->seconds)
        return true;
    if (fleet_pack_cells(any, pipelines) > MAX_CELLS) {
        r->optimal = false;
        return true;
    }
    r->pipelines = pipelines;
    r->arena = (struct arena){0};
    ok = make_problems(r, &exact) || error_memory(r->err);
    if (ok && !exact)
        r->optimal = false;
    else if (ok)
        ok = decide(r, fleet_min_after(&r->problem, fleet_devices(&r->problem) / pipelines), INFINITY, 0);
    arena_release(&r->arena);
    return ok;
}

bool fleet_refine(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker,
                  double enough, const double *bounds, int bound_count, bool *optimal, struct error *err)
{
    struct refiner r = {
        .maker = maker,
        .best = plan,
        .best_problem = problem,
        .seconds = plan->pipeline_count > 0 ? fmin(plan->seconds, enough) : enough,
        .optimal = true,
        .err = err,
    };
    struct arena arena = {0};
    struct fleet_problem any;
    if (!maker->make(maker->context, &FLEET_SPREAD_ANY, &any, &arena)) {
        arena_release(&arena);
        return error_memory(err);
    }
    int64_t max = any.microbatches;
    int64_t devices = 0;
    for (int t = 0; t < any.type_count; t++)
        devices += any.types[t].devices;
    max = devices < max ? devices : max;
    arena_release(&arena);
    bool ok = true;
    if (maker->effort <= 0.0 || isinf(r.seconds) || fleet_pack_cells(&any, 1) > MAX_CELLS)
        r.optimal = false;
    else
        for (int64_t n = 1; n <= max && ok; n++) {
            r.effort.left = fmax(r.effort.left, 0.0) + maker->effort / (double)max;
            ok = decide_number(&r, &any, (int)n, bounds[n < bound_count ? n - 1 : bound_count - 1]);
        }
    *optimal =
        r.optimal && plan->seconds <= r.seconds * (1.0 + 1e-9); /* as it is priced, not as it was sought */
    return ok;
}
