#include "plan/fleet/idle.h"

#include "core/stop.h"

#include <math.h>

#define HALVINGS   40
#define EFFORT     1e8 /* stages that are looked at */
#define MAX_PLACES 32  /* in a pipeline, where a stage is put */
#define MAX_KINDS  8   /* of pipelines that are changed */

static bool stage_fits(const struct fleet_problem *problem, const struct fleet_stage *stage, int behind,
                       double cycle)
{
    const struct fleet_option *o = &problem->options[stage->option];
    return fleet_stage_seconds(problem, stage) <= cycle &&
           fleet_stage_memory(problem, stage, behind) <= problem->types[o->type].memory;
}

/* Is there a cut within a cycle? from[s][end]: the layer at which stage s begins, if it can end there; -1: it cannot. A
 * stage that begins at the last possible layer is the smallest with that end, so that no other need be tried. */
static bool cut_within(const struct fleet_problem *problem, const int *options, int count, double cycle,
                       int *from)
{
    int layers = problem->layer_count;
    size_t row = (size_t)layers + 1;
    for (int s = 0; s < count; s++) {
        int *own = from + (size_t)s * row, begin = s == 0 ? 0 : -1;
        const int *before = own - row;
        own[0] = -1;
        for (int end = 1; end <= layers; end++) {
            if (s > 0 && before[end - 1] >= 0)
                begin = end - 1;
            const struct fleet_stage stage = {options[s], begin, end};
            own[end] = begin >= 0 && stage_fits(problem, &stage, count - s, cycle) ? begin : -1;
        }
    }
    return from[(size_t)(count - 1) * row + (size_t)layers] >= 0;
}

bool fleet_cut(const struct fleet_problem *problem, const int *options, int count,
               struct fleet_pipeline *pipeline, int *work)
{
    double low = 0.0, high = 0.0;
    if (count < 1 || count > problem->layer_count)
        return false;
    for (int s = 0; s < count; s++) {
        const struct fleet_option *o = &problem->options[options[s]];
        double slowest = 0.0;
        for (int l = 0; l < problem->layer_count; l++)
            slowest = fmax(slowest, o->sums.send[l]);
        high = fmax(high, o->sums.seconds[problem->layer_count] + slowest);
    }
    if (!cut_within(problem, options, count, high, work))
        return false;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (cut_within(problem, options, count, middle, work))
            high = middle;
        else
            low = middle;
    }
    cut_within(problem, options, count, high, work);
    int end = problem->layer_count;
    for (int s = count - 1; s >= 0; s--) {
        int first = work[(size_t)s * ((size_t)problem->layer_count + 1) + (size_t)end];
        pipeline->stages[s] = (struct fleet_stage){options[s], first, end};
        end = first;
    }
    pipeline->stage_count = count;
    fleet_pipeline_score(problem, pipeline);
    return true;
}

/* The plan's kinds with one copy fewer of one of them, and a new pipeline. */
struct change {
    const struct fleet_choice *plan;
    const struct fleet_problem *problem;
    int type;
    int *options; /* of the new pipeline */
    int *work;    /* for its cut */
    struct fleet_pipeline made;
    struct fleet_pipeline *kinds; /* room for all */
    double best, effort, deadline;
};

/* Prices the new pipeline among all others; `without`: the kind that has a copy less, -1: none. */
static void price(struct change *c, int count, int without)
{
    int kinds = 0;
    double after;
    c->effort -= (double)HALVINGS * count * c->problem->layer_count;
    if (c->effort < 0.0 || (isfinite(c->best) && stop_is_late(c->deadline)) ||
        !fleet_cut(c->problem, c->options, count, &c->made, c->work) || c->made.devices[c->type] < 1)
        return;
    after = c->made.after;
    for (int k = 0; k < c->plan->pipeline_count; k++) {
        c->kinds[kinds] = c->plan->pipelines[k];
        c->kinds[kinds].copies -= k == without;
        if (c->kinds[kinds].copies < 1)
            continue;
        after = fmax(after, c->kinds[kinds++].after);
    }
    c->kinds[kinds] = c->made;
    c->kinds[kinds++].copies = 1;
    double seconds = fleet_share(c->kinds, kinds, c->problem->microbatches);
    if (c->kinds[kinds - 1].microbatches == 0)
        seconds =
            fmax(c->made.fill,
                 kinds > 1 ? fleet_share(c->kinds, kinds - 1, c->problem->microbatches - 1) : c->made.fill);
    c->best = fmin(c->best, seconds + after);
}

/* Puts an option before, behind and in the place of each stage of a kind. */
static void change_kind(struct change *c, int kind, int option)
{
    const struct fleet_pipeline *old = &c->plan->pipelines[kind];
    for (int at = 0; at <= old->stage_count; at += 1 + old->stage_count / MAX_PLACES)
        for (int instead = 0; instead <= 1; instead++) {
            int count = 0;
            if (instead &&
                (at == old->stage_count || c->problem->options[old->stages[at].option].type == c->type))
                continue;
            for (int s = 0; s < old->stage_count; s++) {
                if (s == at)
                    c->options[count++] = option;
                if (s != at || !instead)
                    c->options[count++] = old->stages[s].option;
            }
            if (at == old->stage_count)
                c->options[count++] = option;
            price(c, count, kind);
        }
}

double fleet_seconds_with(const struct fleet_choice *plan, const struct fleet_problem *problem, int type,
                          int left, double deadline)
{
    struct arena arena = {0};
    int longest = left;
    for (int k = 0; k < plan->pipeline_count; k++)
        if (longest <= plan->pipelines[k].stage_count)
            longest = plan->pipelines[k].stage_count + 1;
    size_t stages = (size_t)longest, row = (size_t)problem->layer_count + 1;
    struct change c = {.plan = plan,
                       .problem = problem,
                       .type = type,
                       .best = INFINITY,
                       .effort = EFFORT,
                       .deadline = deadline};
    c.options = ARENA_ARRAY(&arena, stages, int);
    c.work = ARENA_ARRAY(&arena, (stages < row ? stages : row) * row, int);
    c.made.stages = ARENA_ARRAY(&arena, stages, struct fleet_stage);
    c.kinds = ARENA_ARRAY(&arena, (size_t)plan->pipeline_count + 1, struct fleet_pipeline);
    bool ok = c.options && c.work && c.made.stages && c.kinds;
    for (int o = 0; o < problem->option_count && ok; o++) {
        const struct fleet_option *option = &problem->options[o];
        if (option->type != type || option->tensor > left)
            continue;
        for (int k = 0; k < plan->pipeline_count && k < MAX_KINDS; k++)
            change_kind(&c, k, o);
        for (int count = 1; count * option->tensor <= left && count <= problem->layer_count; count++) {
            for (int s = 0; s < count; s++)
                c.options[s] = o;
            price(&c, count, -1);
        }
    }
    arena_release(&arena);
    return ok ? c.best : NAN;
}
