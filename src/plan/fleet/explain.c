#include "plan/fleet/explain.h"

#include "core/caller.h"
#include "core/stop.h"

#include <math.h>
#include <string.h>

#define ALL_SETS    5 /* types of a profile: of more, only sets without one of them are planned */
#define MAX_CHANGES (2 * FLEET_MAX_TYPES + 16)

/* Of all types: what there is more of. */
enum share { MORE_COMPUTE, MORE_BANDWIDTH, MORE_MEMORY, MORE_INSIDE, MORE_ACROSS, SHARES };

static const char *const shares[SHARES] = {"matrix units", "memory bandwidth", "memory", "links inside nodes",
                                           "links between nodes"};

struct explainer {
    struct plan *plan;
    struct fleet_best *best;
    const struct fleet_question *question;
    struct parallel *pool;
    struct progress *progress;
    struct error *err;
    /* of a changed question */
    struct cost_device devices[FLEET_MAX_TYPES];
    struct cost_link inside[FLEET_MAX_TYPES], across[FLEET_MAX_TYPES];
};

static bool settings_differ(const struct fleet_rival *a, const struct fleet_rival *b)
{
    return a->jobs != b->jobs || a->plan.microbatch != b->plan.microbatch ||
           a->plan.sharding != b->plan.sharding || strcmp(a->plan.recompute, b->plan.recompute) != 0;
}

/* Is the time of the question over? */
static bool is_late(const struct explainer *e)
{
    return stop_is_late(e->question->deadline);
}

/* Searches a changed question and adds what came of it. `left_out`: a group that the question lacks; -1: none. `same`:
 * on the same devices, so that its plans are rivals. */
static bool ask(struct explainer *e, const struct fleet_question *changed, const char *resource, double more,
                int left_out, bool same)
{
    struct plan_sensitivity *to = &e->plan->sensitivity[e->plan->sensitivity_count++];
    struct fleet_best found;
    struct error none;
    *to = (struct plan_sensitivity){arena_string(&e->plan->arena, resource), more, NAN, true};
    if (!to->resource)
        return error_memory(e->err);
    bool ok = fleet_find_best(&found, changed, e->pool, e->progress, &none);
    if (is_late(e)) /* it says nothing */
        e->plan->sensitivity_count--;
    if (!ok) {
        *e->err = none;
        return none.kind == ERROR_INFEASIBLE;
    }
    if (is_late(e)) {
        fleet_best_release(&found);
        return true;
    }
    to->iteration_time = more > 0.0 ? fmin(found.seconds, e->best->seconds) : found.seconds;
    to->split_differs = settings_differ(&found.rivals.items[0], &e->best->rivals.items[0]);
    for (int i = 0; i < found.rivals.count && same; i++) {
        struct fleet_rival *rival = &found.rivals.items[i];
        if (left_out >= 0) {
            memmove(rival->devices + left_out + 1, rival->devices + left_out,
                    (size_t)(FLEET_MAX_TYPES - 1 - left_out) * sizeof *rival->devices);
            rival->devices[left_out] = 0;
        }
        fleet_rivals_add(&e->best->rivals, rival);
    }
    fleet_best_release(&found);
    return true;
}

/* The same for a change of one group's nodes. */
static bool ask_group(struct explainer *e, const struct fleet_question *changed, int group, double more)
{
    struct text name = {0};
    plan_add_type_name(e->plan, group, &name);
    bool ok = name.failed ? error_memory(e->err)
                          : ask(e, changed, name.data, more, more < 0.0 ? group : -1, more < 0.0);
    text_release(&name);
    return ok;
}

static bool without(struct explainer *e, int group)
{
    struct fleet_question changed = *e->question;
    changed.group_count--;
    memmove(changed.groups + group, changed.groups + group + 1,
            (size_t)(changed.group_count - group) * sizeof *changed.groups);
    return ask_group(e, &changed, group, -1.0);
}

static bool with_a_node(struct explainer *e, int group)
{
    struct fleet_question changed = *e->question;
    changed.groups[group].nodes.count++;
    return ask_group(e, &changed, group, 1.0 / e->question->groups[group].nodes.count);
}

static bool with_share(struct explainer *e, enum share share, double more)
{
    struct fleet_question changed = *e->question;
    for (int g = 0; g < changed.group_count; g++) {
        struct cluster_group *group = &changed.groups[g];
        e->devices[g] = *group->type;
        e->inside[g] = *group->inside;
        e->across[g] = *group->across;
        for (int t = 0; t < COST_TYPE_COUNT && share == MORE_COMPUTE; t++)
            e->devices[g].peak[t] *= 1.0 + more;
        e->devices[g].bandwidth *= share == MORE_BANDWIDTH ? 1.0 + more : 1.0;
        e->inside[g].bandwidth *= share == MORE_INSIDE ? 1.0 + more : 1.0;
        e->across[g].bandwidth *= share == MORE_ACROSS ? 1.0 + more : 1.0;
        if (share == MORE_MEMORY)
            group->nodes.memory = e->devices[g].memory =
                (int64_t)((double)group->nodes.memory * (1.0 + more));
        group->type = &e->devices[g];
        group->inside = &e->inside[g];
        group->across = &e->across[g];
    }
    return ask(e, &changed, shares[share], more, -1, false);
}

/* Asks with one value of a setting, unless the question fixes it or the plan has it. */
static bool with_setting(struct explainer *e, enum job_dimension dimension, int64_t value, int64_t own)
{
    struct fleet_question changed = *e->question;
    struct text name = {0};
    if (changed.ranges[dimension].given || value == own || value < 0)
        return true;
    text_format(&name, "%s=", job_dimension_name(dimension));
    job_dimension_write(&name, dimension, value);
    changed.ranges[dimension] = (struct job_range){value, value, true};
    bool ok = name.failed ? error_memory(e->err) : ask(e, &changed, name.data, 0.0, -1, true);
    text_release(&name);
    return ok;
}

static bool with_settings(struct explainer *e)
{
    const struct fleet_rival own = e->best->rivals.items[0];
    enum recompute recompute = RECOMPUTE_NONE;
    bool ok = true;
    recompute_find(own.plan.recompute, &recompute);
    if (own.plan.microbatch > 1 && own.plan.microbatch % 2 == 0)
        ok = with_setting(e, JOB_MICROBATCH, own.plan.microbatch / 2, own.plan.microbatch);
    if (e->question->job.batch % (2 * own.plan.microbatch) == 0)
        ok = ok && with_setting(e, JOB_MICROBATCH, 2 * own.plan.microbatch, own.plan.microbatch);
    for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL && ok; r++)
        ok = with_setting(e, JOB_RECOMPUTE, r, recompute);
    for (int stage = 0; stage <= 3 && ok; stage++)
        ok = with_setting(e, JOB_SHARDING, stage, own.plan.sharding);
    return ok;
}

bool fleet_explain(struct plan *plan, struct fleet_best *best, const struct fleet_question *question,
                   double more, struct parallel *pool, struct progress *progress, struct error *err)
{
    struct explainer e = {
        .plan = plan, .best = best, .question = question, .pool = pool, .progress = progress, .err = err};
    plan->sensitivity = ARENA_ARRAY(&plan->arena, MAX_CHANGES, struct plan_sensitivity);
    bool ok = plan->sensitivity || error_memory(err);
    for (int g = 0; g < question->group_count && ok; g++)
        if (question->group_count > 1 && plan_type_works(plan, g))
            ok = without(&e, g);
    for (int g = 0; g < question->group_count && ok; g++)
        ok = with_a_node(&e, g);
    for (int s = 0; s < SHARES && ok; s++)
        ok = with_share(&e, (enum share)s, more);
    ok = ok && with_settings(&e);
    if (ok && is_late(&e))
        caller_warn("--explain: the time limit ended it after %d changes", plan->sensitivity_count);
    return ok;
}

/* ---- a measured profile ---- */

/* Of all types: what there is more of in a profile. */
enum measured { MEASURED_SPEED, MEASURED_MEMORY, MEASURED_INSIDE, MEASURED_ACROSS, MEASURED_SHARES };

static const char *const measured_shares[MEASURED_SHARES] = {"speed in layers", "memory",
                                                             "links inside nodes", "links between nodes"};

/* A profile's question that can be changed. */
struct changed {
    struct arena arena; /* of layer times */
    struct plan_problem problem;
    struct cluster cluster;
    struct cluster_group groups[FLEET_MAX_TYPES];
    struct fleet_profile_question question;
    int type_of[FLEET_MAX_TYPES]; /* of each group, in the question that was changed */
};

static void change(struct changed *changed, const struct fleet_profile_question *question)
{
    *changed =
        (struct changed){.problem = *question->problem, .cluster = *question->cluster, .question = *question};
    memcpy(changed->groups, question->cluster->groups,
           (size_t)question->cluster->group_count * sizeof *changed->groups);
    changed->cluster.groups = changed->groups;
    changed->question.problem = &changed->problem;
    changed->question.cluster = &changed->cluster;
    for (int g = 0; g < changed->problem.group_count; g++)
        changed->type_of[g] = g;
}

/* Keeps the groups of a set. */
static void keep_groups(struct changed *changed, unsigned set)
{
    int kept = 0;
    for (int g = 0; g < changed->problem.group_count; g++) {
        if (!(set >> g & 1))
            continue;
        changed->problem.groups[kept] = changed->problem.groups[g];
        changed->groups[kept] = changed->groups[g];
        changed->type_of[kept++] = g;
    }
    changed->problem.group_count = changed->cluster.group_count = kept;
}

/* Returns the seconds of layers times a factor; NULL: out of memory. */
static const double *scale(struct changed *changed, const double *seconds, double factor)
{
    int layers = changed->problem.layer_count;
    double *scaled = ARENA_ARRAY(&changed->arena, (size_t)layers + 1, double);
    for (int l = 0; scaled && l < layers; l++)
        scaled[l] = seconds[l] * factor;
    return scaled;
}

static bool raise(struct changed *changed, enum measured share, double more)
{
    double factor = 1.0 / (1.0 + more);
    changed->cluster.inter_node.bandwidth *= share == MEASURED_ACROSS ? 1.0 + more : 1.0;
    for (int g = 0; g < changed->problem.group_count; g++) {
        struct plan_group *group = &changed->problem.groups[g];
        if (share == MEASURED_MEMORY)
            group->nodes.memory = (int64_t)((double)group->nodes.memory * (1.0 + more));
        if (share == MEASURED_SPEED) {
            group->forward = scale(changed, group->forward, factor);
            group->backward = scale(changed, group->backward, factor);
            if (!group->forward || !group->backward)
                return false;
        }
        if (share != MEASURED_INSIDE)
            continue;
        changed->groups[g].intra_node.bandwidth *= 1.0 + more;
        for (int s = 1; s < group->splits; s++)
            if (!(group->allreduce[s] = scale(changed, group->allreduce[s], factor)))
                return false;
    }
    return true;
}

/* Plans a changed question; sets *seconds, INFINITY: nothing fits. A plan is a rival of others if `rivals` is given. */
static bool plan_changed(const struct changed *changed, struct fleet_rivals *rivals, double *seconds,
                         struct error *err)
{
    struct fleet_answer answer;
    struct error none;
    *seconds = INFINITY;
    if (stop_wanted())
        return error_set(err, ERROR_STOPPED, "stopped");
    if (!fleet_plan_profile(&answer, &changed->question, &none)) {
        if (none.kind != ERROR_INFEASIBLE)
            *err = none;
        return none.kind == ERROR_INFEASIBLE;
    }
    *seconds = answer.time.seconds;
    if (rivals) {
        struct fleet_rival found = fleet_rival_of(&answer), rival = found;
        memset(rival.devices, 0, sizeof rival.devices);
        for (int g = 0; g < changed->problem.group_count; g++)
            rival.devices[changed->type_of[g]] = found.devices[g];
        fleet_rivals_add(rivals, &rival);
    }
    fleet_answer_release(&answer);
    return true;
}

bool fleet_profile_rivals(struct fleet_rivals *rivals, const struct fleet_profile_question *question,
                          struct error *err)
{
    int types = question->problem->group_count;
    unsigned all = (1U << types) - 1;
    for (unsigned set = 1; set < all; set++) {
        struct changed changed;
        double unused;
        unsigned out = all & ~set;
        if (types > ALL_SETS && (out & (out - 1)) != 0)
            continue;
        change(&changed, question);
        keep_groups(&changed, set);
        if (!plan_changed(&changed, rivals, &unused, err))
            return false;
    }
    return true;
}

/* Adds what a change takes. More of something never makes the plan slower: where the search misses that, the plan's own
 * time counts. */
static bool add(struct plan *plan, const struct changed *changed, const char *resource, double more,
                struct error *err)
{
    double seconds;
    const char *name = arena_string(&plan->arena, resource);
    if (!name)
        return error_memory(err);
    if (!plan_changed(changed, NULL, &seconds, err))
        return false;
    plan->sensitivity[plan->sensitivity_count++] = (struct plan_sensitivity){
        .resource = name,
        .more = more,
        .iteration_time = isinf(seconds) ? NAN
                          : more > 0.0   ? fmin(seconds, plan->iteration_time)
                                         : seconds,
    };
    return true;
}

/* The same without a type, or with a node more of it. */
static bool add_type(struct plan *plan, const struct fleet_profile_question *question, int type, bool without,
                     struct error *err)
{
    struct changed changed;
    struct text name = {0};
    int nodes = question->problem->groups[type].nodes.count;
    change(&changed, question);
    if (without)
        keep_groups(&changed, ~(1U << type));
    else
        changed.problem.groups[type].nodes.count = changed.groups[type].nodes.count = nodes + 1;
    plan_add_type_name(plan, type, &name);
    bool ok =
        name.failed ? error_memory(err) : add(plan, &changed, name.data, without ? -1.0 : 1.0 / nodes, err);
    text_release(&name);
    return ok;
}

bool fleet_explain_profile(struct plan *plan, const struct fleet_profile_question *question, double more,
                           struct error *err)
{
    int types = question->problem->group_count;
    plan->sensitivity =
        ARENA_ARRAY(&plan->arena, (size_t)(2 * types + MEASURED_SHARES), struct plan_sensitivity);
    bool ok = plan->sensitivity || error_memory(err);
    for (int t = 0; t < types && ok && types > 1; t++)
        if (plan_type_works(plan, t))
            ok = add_type(plan, question, t, true, err);
    for (int t = 0; t < types && ok; t++)
        ok = add_type(plan, question, t, false, err);
    for (int s = 0; s < MEASURED_SHARES && ok; s++) {
        struct changed changed;
        change(&changed, question);
        ok = raise(&changed, (enum measured)s, more) || error_memory(err);
        ok = ok && add(plan, &changed, measured_shares[s], more, err);
        arena_release(&changed.arena);
    }
    return ok;
}
