#include "plan/fleet/lend.h"

#include "core/stop.h"

#include <math.h>

#define WHOLE_MAX 24 /* clusters in which whole groups are lent */

static int devices_of(const struct cluster_group *group)
{
    return group->nodes.count * group->nodes.devices;
}

bool fleet_may_lend(const struct fleet_question *question, int better, int worse)
{
    const struct cluster_group *a = &question->groups[better], *b = &question->groups[worse];
    bool allowed = better != worse && a->nodes.count > 0 && b->nodes.count > 0 &&
                   a->nodes.devices % b->nodes.devices == 0 && a->nodes.memory >= b->nodes.memory &&
                   a->type->bandwidth >= b->type->bandwidth && a->type->launch <= b->type->launch &&
                   a->inside->bandwidth >= b->inside->bandwidth &&
                   a->across->bandwidth >= b->across->bandwidth && a->network == b->network;
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        allowed = allowed && a->type->peak[t] >= b->type->peak[t];
    return allowed;
}

/* Returns the least number of devices that a group lends to another one. */
static int unit_of(const struct fleet_question *question, int better, int worse)
{
    const struct cluster_group *from = &question->groups[better];
    return from->nodes.count > 1 ? from->nodes.devices : question->groups[worse].nodes.devices;
}

static int given_by(const struct fleet_lending *lent, int group)
{
    int sum = 0;
    for (int h = 0; h < FLEET_MAX_TYPES; h++)
        sum += lent->devices[group][h];
    return sum;
}

static int taken_by(const struct fleet_lending *lent, int group)
{
    int sum = 0;
    for (int g = 0; g < FLEET_MAX_TYPES; g++)
        sum += lent->devices[g][group];
    return sum;
}

void fleet_lend(struct fleet_question *question, const struct fleet_lending *lent)
{
    int kept = 0;
    for (int g = 0; g < question->group_count; g++) {
        struct cluster_group group = question->groups[g];
        int given = given_by(lent, g), part = given % group.nodes.devices;
        group.nodes.count += (taken_by(lent, g) - given + part) / group.nodes.devices;
        group.nodes.devices -= part; /* of the one node */
        if (group.nodes.count > 0)
            question->groups[kept++] = group;
    }
    question->group_count = kept;
}

void fleet_lend_for(struct fleet_question *question, const int *wanted)
{
    struct fleet_lending lent = {{{0}}};
    int spare[FLEET_MAX_TYPES] = {0};
    for (int g = 0; g < question->group_count; g++)
        spare[g] = devices_of(&question->groups[g]) - wanted[g];
    for (int g = 0; g < question->group_count; g++)
        for (int h = 0; h < question->group_count; h++) {
            if (spare[g] >= 0 || spare[h] <= 0 || !fleet_may_lend(question, h, g))
                continue;
            int unit = unit_of(question, h, g), number = spare[h] < -spare[g] ? spare[h] : -spare[g];
            lent.devices[h][g] = number / unit * unit;
            spare[h] -= lent.devices[h][g];
            spare[g] += lent.devices[h][g];
        }
    fleet_lend(question, &lent);
}

/* ---- the search ---- */

struct lender {
    const struct fleet_question *question;
    struct parallel *pool;
    struct mix_answer *best;
    struct fleet_question *lending;
    struct fleet_lending *lent;
    double bound;
    bool whole; /* groups are lent as a whole, or not at all */
    int seen;   /* sets */
    bool plans; /* else they are counted */
    bool better;
};

/* A group that others are lent to keeps its own nodes where groups are lent as a whole, and whole ones where parts are. */
static bool is_possible(const struct lender *l, const struct fleet_lending *lent)
{
    bool possible = true;
    for (int g = 0; g < l->question->group_count; g++) {
        const struct cluster_group *group = &l->question->groups[g];
        if (taken_by(lent, g) > 0 &&
            (l->whole ? given_by(lent, g) > 0 : given_by(lent, g) % group->nodes.devices > 0))
            possible = false;
    }
    return possible;
}

/* Are all groups lent as a whole, or not at all? */
static bool is_whole(const struct lender *l, const struct fleet_lending *lent)
{
    bool whole = true;
    for (int g = 0; g < l->question->group_count; g++)
        for (int h = 0; h < l->question->group_count; h++)
            whole = whole &&
                    (lent->devices[g][h] == 0 ||
                     (lent->devices[g][h] == devices_of(&l->question->groups[g]) && given_by(lent, h) == 0));
    return whole;
}

/* Plans the cluster that results. */
static void plan_lent(struct lender *l, const struct fleet_lending *lent)
{
    struct fleet_question question = *l->question;
    struct mix_answer mix;
    struct error none;
    if (stop_wanted() || l->seen > WHOLE_MAX) {
        l->bound = 0.0;
        return;
    }
    fleet_lend(&question, lent);
    bool found = mix_plan(&mix, &question, l->whole ? INFINITY : l->best->time.seconds, l->pool, &none);
    l->bound = fmin(l->bound, mix.lower_bound);
    if (found && mix.time.seconds < l->best->time.seconds) {
        mix_release(l->best);
        *l->best = mix;
        *l->lending = question;
        *l->lent = *lent;
        l->better = true;
    } else if (found) {
        mix_release(&mix);
    } else if (none.kind != ERROR_INFEASIBLE) {
        l->bound = 0.0;
    }
}

/* Lends from a group to others from `lesser` on, in every way, then from the next group. */
static void lend_from(struct lender *l, int group, int lesser, struct fleet_lending *lent)
{
    const struct fleet_question *question = l->question;
    if (group == question->group_count) {
        if (!is_possible(l, lent))
            return;
        bool new = !is_whole(l, lent) || (l->whole && l->seen > 0); /* the first set lends nothing */
        l->seen++;
        if (l->plans && new)
            plan_lent(l, lent);
        return;
    }
    if (lesser == question->group_count) {
        lend_from(l, group + 1, 0, lent);
        return;
    }
    int left = devices_of(&question->groups[group]) - given_by(lent, group), unit = left + 1;
    if (fleet_may_lend(question, group, lesser))
        unit = !l->whole                                      ? unit_of(question, group, lesser)
               : left == devices_of(&question->groups[group]) ? left
                                                              : unit;
    for (int number = 0; number <= left && (l->plans || l->seen <= LEND_MAX); number += unit) {
        lent->devices[group][lesser] = number;
        lend_from(l, group, lesser + 1, lent);
    }
    lent->devices[group][lesser] = 0;
}

bool lend_plan(struct mix_answer *best, double *bound, struct fleet_question *lending,
               struct fleet_lending *lent, const struct fleet_question *question, struct parallel *pool)
{
    struct fleet_lending none = {{{0}}};
    struct lender l = {
        .question = question, .pool = pool, .best = best, .lending = lending, .lent = lent, .bound = *bound};
    lend_from(&l, 0, 0, &none);
    bool parts = l.seen <= LEND_MAX;
    l.seen = 0;
    l.plans = l.whole = true;
    lend_from(&l, 0, 0, &none);
    l.seen = 0;
    l.whole = false;
    if (parts)
        lend_from(&l, 0, 0, &none);
    *bound = l.bound;
    return l.better;
}
