#include "plan/fleet/explain.h"

#include "core/unit.h"

#include <math.h>
#include <string.h>

#define SAME        5e-4 /* of an iteration: no change, as it is shown */
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
    return a->jobs != b->jobs || a->microbatch != b->microbatch || a->sharding != b->sharding ||
           strcmp(a->recompute, b->recompute) != 0;
}

/* Searches a changed question and adds what came of it. `left_out`: a group that the question lacks; -1: none. `same`: on the
 * same devices, so that its plans are rivals. */
static bool ask(struct explainer *e, const struct fleet_question *changed, const char *resource, double more,
                int left_out, bool same)
{
    struct plan_sensitivity *to = &e->plan->sensitivity[e->plan->sensitivity_count++];
    struct fleet_best found;
    struct error none;
    *to = (struct plan_sensitivity){arena_string(&e->plan->arena, resource), more, NAN, true};
    if (!to->resource)
        return error_memory(e->err);
    if (!fleet_find_best(&found, changed, e->pool, e->progress, &none)) {
        *e->err = none;
        return none.kind == ERROR_INFEASIBLE;
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
    changed.groups[group].nodes++;
    return ask_group(e, &changed, group, 1.0 / e->question->groups[group].nodes);
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
            group->memory = e->devices[g].memory = (int64_t)((double)group->memory * (1.0 + more));
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
    int64_t recompute = RECOMPUTE_NONE;
    bool ok = true;
    for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL; r++)
        if (strcmp(recompute_name((enum recompute)r), own.recompute) == 0)
            recompute = r;
    if (own.microbatch > 1 && own.microbatch % 2 == 0)
        ok = with_setting(e, JOB_MICROBATCH, own.microbatch / 2, own.microbatch);
    if (e->question->job.batch % (2 * own.microbatch) == 0)
        ok = ok && with_setting(e, JOB_MICROBATCH, 2 * own.microbatch, own.microbatch);
    for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL && ok; r++)
        ok = with_setting(e, JOB_RECOMPUTE, r, recompute);
    for (int stage = 0; stage <= 3 && ok; stage++)
        ok = with_setting(e, JOB_SHARDING, stage, own.sharding);
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
    return ok && with_settings(&e);
}

/* ---- a table ---- */

static void print_change(const struct plan *plan, const struct plan_sensitivity *change, struct text *out)
{
    struct unit_texts texts = {0};
    double longer = change->iteration_time / plan->iteration_time - 1.0;
    text_format(out, "  %-22s", change->resource);
    if (isnan(change->iteration_time))
        text_add(out, "        does not fit\n");
    else if (fabs(longer) < SAME)
        text_format(out, " %10s  no change\n", unit_text(&texts, change->iteration_time, UNIT_TIME));
    else
        text_format(out, " %10s  %5.1f %% %s%s\n", unit_text(&texts, change->iteration_time, UNIT_TIME),
                    100.0 * fabs(longer), longer > 0.0 ? "more" : "less",
                    change->split_differs && change->more != 0.0 ? ", with other settings" : "");
}

static void print_kind(double kind, struct text *out)
{
    if (kind < 0.0)
        text_add(out, "\niteration time without\n");
    else if (kind == 0.0)
        text_add(out, "\niteration time with another setting (--fix)\n");
    else if (kind > 1.0)
        text_add(out, "\niteration time with a node more of\n");
    else
        text_format(out, "\niteration time with %.0f %% more of all devices'\n", 100.0 * kind);
}

void fleet_print_changes(const struct plan *plan, struct text *out)
{
    double last = NAN;
    for (int i = 0; i < plan->sensitivity_count; i++) {
        const struct plan_sensitivity *change = &plan->sensitivity[i];
        bool is_type = false;
        for (int t = 0; t < plan->type_count; t++)
            is_type |= strncmp(plan->types[t].name, change->resource, strlen(plan->types[t].name)) == 0;
        double kind = change->more > 0.0 && is_type ? 2.0 : change->more;
        if (kind != last)
            print_kind(kind, out);
        last = kind;
        print_change(plan, change, out);
    }
}
