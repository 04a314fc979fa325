#include "elastic/templates.h"

#include "core/clock.h"
#include "core/stop.h"
#include "core/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_TIME 1e-3 /* seconds for a mix once the time is up: enough for a simple bound */
#define SAME     (1 - 1e-9)

/* Mixes of n nodes are tried with the fastest kinds first, so that the first plan is good and most others are
 * dropped by their bound. */
struct mixes {
    const struct plan_problem *problem;
    const struct plan_search_options *options;
    int order[PLAN_MAX_GROUPS]; /* groups, fastest first */
    int after[PLAN_MAX_GROUPS]; /* [k]: nodes of the groups behind order[k] */
    struct template_set *set;
};

static double time_of_model(const struct plan_group *group, int layers)
{
    double seconds = 0;
    for (int i = 0; i < layers; i++)
        seconds += group->forward[i] + group->backward[i];
    return seconds / group->nodes.devices;
}

static void sort_groups(struct mixes *mixes)
{
    const struct plan_problem *problem = mixes->problem;
    for (int g = 0; g < problem->group_count; g++) {
        double time = time_of_model(&problem->groups[g], problem->layer_count);
        int at = g;
        for (; at > 0 && time_of_model(&problem->groups[mixes->order[at - 1]], problem->layer_count) > time;
             at--)
            mixes->order[at] = mixes->order[at - 1];
        mixes->order[at] = g;
    }
    for (int k = problem->group_count - 1, after = 0; k >= 0; k--) {
        mixes->after[k] = after;
        after += problem->groups[mixes->order[k]].nodes.count;
    }
}

/* Of `left` nodes, how many the group order[k] can give, and must where all behind it give what they have. */
static int max_of(const struct mixes *mixes, int k, int left)
{
    int nodes = mixes->problem->groups[mixes->order[k]].nodes.count;
    return nodes < left ? nodes : left;
}

static int min_of(const struct mixes *mixes, int k, int left)
{
    return left > mixes->after[k] ? left - mixes->after[k] : 0;
}

/* Adds the mixes of `left` nodes of the groups from order[k] on; gives up above TEMPLATES_MAX_MIXES. */
static int count_mixes(const struct mixes *mixes, int k, int left, int count)
{
    if (k == mixes->problem->group_count)
        return count + 1;
    for (int nodes = max_of(mixes, k, left); nodes >= min_of(mixes, k, left) && count <= TEMPLATES_MAX_MIXES;
         nodes--)
        count = count_mixes(mixes, k + 1, left - nodes, count);
    return count;
}

static bool few_mixes(const struct mixes *mixes, int first, int last, struct error *err)
{
    int count = 0;
    for (int n = first; n <= last && count <= TEMPLATES_MAX_MIXES; n++)
        count = count_mixes(mixes, 0, n, count);
    return count <= TEMPLATES_MAX_MIXES ||
           error_set(err, ERROR_INPUT,
                     "templates: %d to %d nodes have more than %d mixes of types: narrow the range, or plan "
                     "the expected mixes, one cluster file each",
                     first, last, TEMPLATES_MAX_MIXES);
}

/* Keeps the best plan in *result and lowers *bound to what is proven about this mix. `deadline`: clock_now
 * seconds; 0: none. */
static void try_mix(const struct mixes *mixes, const struct plan_problem *mix, double deadline,
                    struct plan_template *result, double *bound)
{
    struct plan_search_options options = *mixes->options;
    struct pipeline plan;
    struct error error;
    if (deadline > 0)
        options.time_limit = fmax(deadline - clock_now(), MIN_TIME);
    options.pool = NULL; /* threads share the templates */
    options.progress = NULL;
    options.better_than = result->feasible ? result->plan.iteration_time : 0;
    if (!plan_search_exact(mix, &options, &plan, &error)) {
        *bound = fmin(*bound, error.kind == ERROR_INFEASIBLE ? plan.lower_bound : 0);
        /* the fastest mix's says most, but that the machine could not says that nothing is known */
        if (error.kind == ERROR_FAILED || (!result->feasible && !*result->error.text))
            result->error = error;
        return;
    }
    *bound = fmin(*bound, plan.lower_bound);
    pipeline_release(&result->plan);
    result->feasible = true;
    result->problem = *mix;
    result->plan = plan;
}

/* All mixes of one number of nodes. */
struct kind_mixture {
    const struct mixes *mixes;
    struct plan_problem mix;
    struct plan_template *result;
    double deadline, bound;
};

/* Gives `left` nodes to the groups from order[k] on, in every way. */
static void try_mixes(struct kind_mixture *mixing, int k, int left)
{
    const struct mixes *mixes = mixing->mixes;
    if (k == mixes->problem->group_count) {
        try_mix(mixes, &mixing->mix, mixing->deadline, mixing->result, &mixing->bound);
        return;
    }
    int group = mixes->order[k];
    for (int nodes = max_of(mixes, k, left); nodes >= min_of(mixes, k, left) && !stop_wanted(); nodes--) {
        mixing->mix.groups[group].nodes.count = nodes;
        try_mixes(mixing, k + 1, left - nodes);
    }
}

/* The best mix's plan is optimal if no mix can do better, whichever was searched to the end. */
static void prove(struct pipeline *plan, double bound)
{
    plan->proven_optimal = bound >= plan->iteration_time * SAME;
    plan->lower_bound = plan->proven_optimal ? plan->iteration_time : fmin(bound, plan->iteration_time);
}

/* A search that was stopped may have missed that one node fewer is faster: that plan, and a node idle. */
static bool keep_fewer(struct plan_template *more, const struct plan_template *fewer,
                       const struct plan_problem *whole, struct error *err)
{
    double bound = more->feasible ? more->plan.lower_bound : 0, seconds = fewer->plan.iteration_time;
    if (!fewer->feasible || !plan_may_idle(whole) ||
        (more->feasible && more->plan.iteration_time <= seconds * (1 + (1 - SAME))))
        return true;
    struct pipeline_stage *stages = malloc((size_t)fewer->plan.stage_count * sizeof *stages);
    if (!stages)
        return error_memory(err);
    memcpy(stages, fewer->plan.stages, (size_t)fewer->plan.stage_count * sizeof *stages);
    pipeline_release(&more->plan);
    more->feasible = true;
    more->problem = fewer->problem;
    more->plan = fewer->plan;
    more->plan.stages = stages;
    int group = 0;
    while (more->problem.groups[group].nodes.count == whole->groups[group].nodes.count)
        group++;
    more->problem.groups[group].nodes.count++;
    if (!pipeline_assign_nodes(&more->problem, &more->plan, err))
        return false;
    prove(&more->plan, bound);
    return true;
}

static void make_templates(void *context, size_t first, size_t last, int thread)
{
    const struct mixes *mixes = context;
    double limit = mixes->options->time_limit;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        struct plan_template *result = &mixes->set->templates[i];
        struct kind_mixture mixing = {.mixes = mixes,
                                      .mix = *mixes->problem,
                                      .result = result,
                                      .deadline = limit > 0 ? clock_now() + limit : 0,
                                      .bound = INFINITY};
        try_mixes(&mixing, 0, result->nodes);
        if (result->feasible)
            prove(&result->plan, mixing.bound);
    }
}

bool templates_make(struct template_set *set, const struct plan_problem *problem, int first, int last,
                    const struct plan_search_options *options, struct error *err)
{
    struct mixes mixes = {.problem = problem, .options = options, .set = set};
    double started = clock_now();
    memset(set, 0, sizeof *set);
    if (first < 1 || last < first)
        return error_set(err, ERROR_USAGE, "templates: %d to %d nodes: invalid range", first, last);
    sort_groups(&mixes);
    if (!few_mixes(&mixes, first, last, err))
        return false;
    set->count = last - first + 1;
    set->templates = calloc((size_t)set->count, sizeof *set->templates);
    if (!set->templates)
        return error_memory(err);
    /* the largest take longest: they go first */
    for (int i = 0; i < set->count; i++)
        set->templates[i].nodes = last - i;
    parallel_while(options->pool, (size_t)set->count, 1, make_templates, stop_unwanted, &mixes);
    if (stop_obeyed(err)) {
        templates_release(set);
        return false;
    }
    for (int i = 0, j = set->count - 1; i < j; i++, j--) {
        struct plan_template swap = set->templates[i];
        set->templates[i] = set->templates[j];
        set->templates[j] = swap;
    }
    set->planning_seconds = clock_now() - started;
    for (int i = 1; i < set->count; i++)
        if (!keep_fewer(&set->templates[i], &set->templates[i - 1], problem, err)) {
            templates_release(set);
            return false;
        }
    for (int i = 0; i < set->count; i++)
        if (set->templates[i].error.kind == ERROR_FAILED) {
            *err = set->templates[i].error;
            templates_release(set);
            return false;
        }
    for (int i = 0; i < set->count; i++)
        if (set->templates[i].feasible)
            return true;
    *err = set->templates[0].error;
    templates_release(set);
    return false;
}

void templates_release(struct template_set *set)
{
    for (int i = 0; i < set->count; i++)
        pipeline_release(&set->templates[i].plan);
    free(set->templates);
    memset(set, 0, sizeof *set);
}

static bool write_plan(const struct plan_template *template, const struct planning *planning,
                       struct json *json, struct error *err)
{
    struct plan plan;
    plan_init(&plan);
    if (!plan_of_planning(&plan, planning, &template->problem, &template->plan, err))
        return false;
    plan_write_json(&plan, json, "plan");
    plan_release(&plan);
    return true;
}

bool templates_write_json(const struct template_set *set, const struct planning *planning, struct json *json,
                          struct error *err)
{
    bool ok = true;
    json_open_document(json, "rehearse-templates/2");
    json_number(json, "planning_seconds", set->planning_seconds);
    json_open(json, "templates", '[');
    for (int i = 0; ok && i < set->count && !stop_wanted(); i++) {
        const struct plan_template *template = &set->templates[i];
        json_open(json, NULL, '{');
        json_integer(json, "nodes", template->nodes);
        if (template->feasible)
            ok = write_plan(template, planning, json, err);
        else {
            json_null(json, "plan");
            json_string(json, "reason", template->error.text);
        }
        json_close(json);
    }
    json_close(json);
    json_close(json);
    return ok;
}

/* "2 x v100 + 1 x rtx-4090, 1 idle": the nodes that the pipeline uses. */
static void add_mix(const struct plan_template *template, struct text *out)
{
    const struct pipeline *plan = &template->plan;
    int used[PLAN_MAX_GROUPS] = {0}, idle = template->nodes;
    for (int i = 0; i < plan->stage_count; i++) {
        int same = 0;
        while (plan->stages[same].node != plan->stages[i].node)
            same++;
        used[plan->stages[i].group] += same == i;
        idle -= same == i;
    }
    const char *plus = "";
    for (int g = 0; g < template->problem.group_count; g++)
        if (used[g] > 0) {
            text_format(out, "%s%d x %s", plus, used[g], template->problem.groups[g].device);
            plus = " + ";
        }
    if (idle > 0)
        text_format(out, ", %d idle", idle);
}

void templates_print(const struct template_set *set, struct text *out)
{
    text_format(out, "%5s  %6s  %12s  %12s  %10s  %s\n", "nodes", "stages", "iteration", "slowest", "gap",
                "on");
    for (int i = 0; i < set->count; i++) {
        const struct plan_template *template = &set->templates[i];
        const struct pipeline *plan = &template->plan;
        if (!template->feasible) {
            text_format(out, "%5d  %s\n", template->nodes, template->error.text);
            continue;
        }
        const struct pipeline_stage *slowest = &plan->stages[plan->bottleneck];
        char time[32], period[32], gap[32] = "optimal";
        if (!plan->proven_optimal)
            snprintf(gap, sizeof gap, "%.3g %%", 100 * plan_gap_of(plan->iteration_time, plan->lower_bound));
        text_format(out, "%5d  %6d  %12s  %12s  %10s  ", template->nodes, plan->stage_count,
                    unit_format(time, sizeof time, plan->iteration_time, UNIT_TIME, 6),
                    unit_format(period, sizeof period, pipeline_stage_time(slowest), UNIT_TIME, 5), gap);
        add_mix(template, out);
        text_add(out, "\n");
    }
    char seconds[32];
    text_format(out, "\nplanned in %s\n",
                unit_format(seconds, sizeof seconds, set->planning_seconds, UNIT_TIME, 3));
}
