#include "plan/fleet/classes.h"
#include "core/stop.h"
#include "plan/fleet/nodes.h"
#include "plan/fleet/refine.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define MAX_CLASSES 10
#define ATTEMPTS    12   /* to find the number of pipelines that optimizer states are sharded over */
#define NEAR        1e-2 /* of the bound: a plan this close is not searched for again */
#define FEW_BANDS   8    /* of the seconds after the pipelines, in a class that is a part of another */
#define ONE_EFFORT  4    /* of a search's effort: to find the best of pipelines that are all alike */
#define EXACT       15   /* pipelines: classes of up to so many are divided */
#define MAX_MANY    12   /* divisions of classes of more */
#define MAX_DIVIDED (MAX_CLASSES + 3 * EXACT + 2 * MAX_MANY)
#define HARDLY      1e-3 /* of the best plan: a search ends where no plan could be faster by more (search.c) */
#define TIGHT       5e-3 /* of the best plan: classes whose bound is this close to it are not divided */
#define WIDE        5e-2 /* the same for classes of more pipelines */

/* How many pipelines of a class are alike. */
enum alike {
    ALIKE_ANY,
    ALIKE_ALL,
    ALIKE_MOST, /* more than half, not all */
    ALIKE_FEW,  /* at most half */
};

/* Plans by their number of pipelines: 1, 2 or 3, 4 to 7 and so on, the last class has all others; where that says too
 * little, each number of them on its own, by how many are alike. */
struct class
{
    int least, most; /* INT_MAX: any number */
    enum alike alike;
    struct fleet_claim claim;
};

/* No plan of a class is faster, or needs less memory, than with the fewest pipelines that exchange gradients, as many
 * of them alike as there may be, and the maximum number that states are sharded over. */
static struct fleet_spread spread_of(const struct class *class)
{
    if (class->most == INT_MAX)
        return (struct fleet_spread){INFINITY, class->least, INT_MAX, 0, 0};
    int alike = class->alike == ALIKE_FEW ? class->most / 2 : class->most - (class->alike == ALIKE_MOST);
    return (struct fleet_spread){class->most, class->least, alike, class->most, 0};
}

struct search {
    const struct fleet_maker *maker; /* restricted to a part of the devices */
    const struct fleet_maker *whole;
    struct fleet_part part;
    int devices; /* of the part */
    double enough;
    struct fleet_columns columns; /* of all classes so far */
    struct fleet_choice *best;
    struct fleet_problem *problem; /* of the best */
    struct fleet_nodes nodes;
};

static bool fits(const struct fleet_problem *problem, const struct fleet_choice *plan)
{
    for (int k = 0; k < plan->pipeline_count; k++)
        if (!fleet_pipeline_fits(problem, &plan->pipelines[k]))
            return false;
    return true;
}

static void take_better(struct search *s, struct fleet_choice *plan, const struct fleet_problem *problem)
{
    if (plan->seconds < s->enough) {
        fleet_choice_release(s->best);
        *s->best = *plan;
        *s->problem = *problem;
        s->enough = plan->seconds;
    } else {
        fleet_choice_release(plan);
    }
}

static double min_after_on(const struct fleet_problem *problem, int devices)
{
    double after = fleet_min_after(problem, devices);
    return isinf(after) ? 0.0 : after; /* nothing fits */
}

/* Sets the minimum seconds after the pipelines of a class's plans: the smallest pipeline has no more than its share of
 * the devices. If some are not like most, that is the smallest of these. False: out of memory. */
static bool set_min_after(const struct search *s, const struct class *class, struct fleet_problem *problem)
{
    problem->min_after = min_after_on(problem, s->devices / class->least);
    if (class->alike != ALIKE_MOST)
        return true;
    double min = INFINITY;
    bool made = true;
    for (int others = 1; others < class->most - class->most / 2 && made; others++) {
        struct fleet_spread spread = spread_of(class);
        struct arena arena = {0};
        struct fleet_problem unlike;
        spread.alike = others;
        made = s->maker->make(s->maker->context, &spread, &unlike, &arena);
        if (made)
            min = fmin(min, min_after_on(&unlike, (s->devices - (class->most - others)) / others));
        arena_release(&arena);
    }
    problem->min_after = fmax(problem->min_after, min);
    return made;
}

/* Searches a class of plans. Optimizer states are sharded over the plan's pipelines, whose number is its outcome: the
 * first attempt assumes the maximum of the class, which gives the bound; if the plan found does not fit with its own
 * number, further attempts assume fewer. False: out of memory. */
static bool search_class(struct search *s, const struct class *class, struct fleet_spread spread,
                         struct fleet_claim *claim, struct error *err)
{
    double after = 0.0;
    for (int attempt = 0; attempt < ATTEMPTS && spread.states >= 1.0; attempt++) {
        struct arena arena = {0};
        struct fleet_problem problem;
        struct fleet_choice plan;
        if (!s->maker->make(s->maker->context, &spread, &problem, &arena)) {
            arena_release(&arena);
            return error_memory(err);
        }
        if (attempt == 0 && !set_min_after(s, class, &problem)) {
            arena_release(&arena);
            return error_memory(err);
        }
        if (attempt > 0) { /* the bound is known */
            problem.bands = FLEET_MAX_BANDS / 2;
            problem.min_after = after;
        } else if (class->alike != ALIKE_ANY) {
            problem.bands = FEW_BANDS;
        }
        after = problem.min_after;
        bool found = fleet_search(&plan, &problem, s->enough, &s->columns, err);
        bool claimed = attempt > 0 || fleet_claim_make(claim, &plan, &problem, 1, &s->nodes.arena);
        arena_release(&arena);
        if (!claimed) {
            fleet_choice_release(&plan);
            return error_memory(err);
        }
        if (!found) {
            /* larger states never make a plan fit that did not, nor a slow plan fast enough */
            if (err->kind != ERROR_INFEASIBLE || attempt == 0 || plan.too_slow)
                return err->kind == ERROR_INFEASIBLE;
            spread.states = floor(spread.states / 2.0);
            continue;
        }
        if (!fleet_rescore(&plan, &problem, s->maker)) {
            fleet_choice_release(&plan);
            return error_memory(err);
        }
        if (fits(&problem, &plan)) {
            take_better(s, &plan, &problem);
            return true;
        }
        spread.states = fmin(spread.states - 1.0, fleet_pipelines(&plan));
        fleet_choice_release(&plan);
    }
    return true;
}

/* ---- pipelines that are all alike ---- */

/* One of so many alike pipelines, on its share of the devices. */
struct one_of {
    const struct search *search;
    int pipelines;
};

/* Makes its problem, whatever is said of the spread: only so many pipelines matter. Its share of the micro-batches is
 * the largest, and all nodes of the part wait for each other. */
static bool make_one(const void *context, const struct fleet_spread *spread, struct fleet_problem *problem,
                     struct arena *arena)
{
    const struct one_of *one = context;
    const struct fleet_maker *maker = one->search->maker;
    const struct fleet_spread alike = {one->pipelines, one->pipelines, one->pipelines, 1, 0};
    (void)spread;
    if (!maker->make(maker->context, &alike, problem, arena))
        return false;
    for (int t = 0; t < problem->type_count; t++)
        problem->types[t].devices /= one->pipelines;
    problem->microbatches = (problem->microbatches + one->pipelines - 1) / one->pipelines;
    return true;
}

/* Takes as many copies of the one pipeline of a plan, if they fit. */
static bool take_copies(struct search *s, struct fleet_choice *plan, int pipelines, struct error *err)
{
    struct fleet_problem problem;
    const struct fleet_spread spread = {pipelines, pipelines, pipelines, pipelines, 0};
    if (!s->maker->make(s->maker->context, &spread, &problem, &plan->arena)) {
        fleet_choice_release(plan);
        return error_memory(err);
    }
    bool enough = problem.microbatches >= pipelines;
    if (enough) {
        for (int k = 0; k < plan->pipeline_count; k++)
            plan->pipelines[k].copies *= pipelines;
        fleet_share(plan->pipelines, plan->pipeline_count, problem.microbatches);
        if (!fleet_rescore(plan, &problem, s->maker)) {
            fleet_choice_release(plan);
            return error_memory(err);
        }
    }
    if (enough && fits(&problem, plan))
        take_better(s, plan, &problem);
    else
        fleet_choice_release(plan);
    return true;
}

/* Searches plans of so many pipelines that are all alike: the fastest one on its share of the devices. */
static bool search_copies(struct search *s, int pipelines, struct fleet_claim *claim, struct error *err)
{
    const struct one_of one = {s, pipelines};
    const struct fleet_maker maker = {&one, make_one, s->maker->effort * ONE_EFFORT};
    struct arena arena = {0};
    struct fleet_problem problem;
    struct fleet_choice plan;
    bool optimal;
    if (!make_one(&one, NULL, &problem, &arena)) {
        arena_release(&arena);
        return error_memory(err);
    }
    if (fleet_devices(&problem) == 0 || problem.microbatches == 0) {
        arena_release(&arena);
        return true; /* no bound: there are none */
    }
    problem.min_after = min_after_on(&problem, fleet_devices(&problem));
    bool found = fleet_search(&plan, &problem, s->enough, NULL, err), ok = true;
    if (!found && err->kind != ERROR_INFEASIBLE) {
        arena_release(&arena);
        return false;
    }
    ok = fleet_claim_make(claim, &plan, &problem, pipelines, &s->nodes.arena) || error_memory(err);
    if (ok && claim->bound < s->enough * (1.0 - TIGHT)) {
        const double bounds[] = {claim->bound, INFINITY};
        ok = fleet_refine(&plan, &problem, &maker, s->enough, bounds, 2, &optimal, err);
        if (ok && optimal)
            claim->bound =
                fmax(claim->bound, plan.pipeline_count > 0 ? fmin(plan.seconds, s->enough) : s->enough);
    }
    if (ok && plan.pipeline_count > 0)
        ok = take_copies(s, &plan, pipelines, err);
    else
        fleet_choice_release(&plan);
    arena_release(&arena);
    return ok;
}

static bool search_alike(struct search *s, const struct class *class, struct fleet_claim *claim,
                         struct error *err)
{
    return class->alike == ALIKE_ALL ? search_copies(s, class->least, claim, err)
                                     : search_class(s, class, spread_of(class), claim, err);
}

/* ---- all classes ---- */

/* Makes the problem with a part of the devices. */
static bool fleet_make_part(const struct fleet_maker *maker, const struct fleet_part *part,
                            const struct fleet_spread *spread, struct fleet_problem *problem,
                            struct arena *arena)
{
    struct fleet_spread own = *spread;
    if (own.nodes == 0)
        own.nodes = part->nodes;
    if (!maker->make(maker->context, &own, problem, arena))
        return false;
    for (int t = 0; t < problem->type_count; t++)
        problem->types[t].devices = part->devices[t];
    return true;
}

/* The whole problem with a part of the devices. */
static bool make_part(const void *context, const struct fleet_spread *spread, struct fleet_problem *problem,
                      struct arena *arena)
{
    const struct search *s = context;
    return fleet_make_part(s->whole, &s->part, spread, problem, arena);
}

/* Makes the problem of any number of pipelines for its types alone: no options. */
static bool make_types(const struct fleet_maker *maker, struct fleet_problem *problem)
{
    struct arena arena = {0};
    bool made = maker->make(maker->context, &FLEET_SPREAD_ANY, problem, &arena);
    problem->option_count = 0;
    arena_release(&arena);
    return made;
}

/* Lists the classes that the devices have room for, those of few pipelines last; returns their number, 0: out of
 * memory. */
static int list_classes(struct search *s, struct class *list)
{
    struct fleet_problem problem;
    int classes = 1;
    if (!make_types(s->maker, &problem))
        return 0;
    s->devices = fleet_devices(&problem);
    while (classes < MAX_CLASSES && 1 << classes <= s->devices)
        classes++;
    for (int i = 0, k = classes - 1; k >= 0; k--, i++)
        list[i] = (struct class){1 << k, i > 0 ? (2 << k) - 1 : INT_MAX, ALIKE_ANY, {.bound = INFINITY}};
    return classes;
}

/* Searches the whole class. If the pipelines of a better plan turn out not to be alike, it is searched again as if none
 * were. */
static bool search_any(struct search *s, struct class *class, struct error *err)
{
    struct fleet_spread spread = spread_of(class);
    struct fleet_claim known;
    double before = s->enough;
    if (!search_class(s, class, spread, &class->claim, err))
        return false;
    if (spread.alike == 1 || s->enough >= before || s->enough <= class->claim.bound * (1.0 + NEAR))
        return true;
    spread.alike = 1;
    return search_class(s, class, spread, &known, err);
}

/* Finds plans of many pipelines that are all alike: the program's are many kinds, which exchange gradients slowly. */
static bool copy_many(struct search *s, const struct class *class, struct error *err)
{
    struct fleet_claim unused;
    for (int half = 2; half <= 3; half++) { /* the least number of the class, and half as many more */
        int pipelines = class->least / 2 * half;
        if (class->least > EXACT && pipelines <= s->devices && !search_copies(s, pipelines, &unused, err))
            return false;
    }
    return true;
}

static int most_of(const struct search *s, const struct class *class)
{
    return class->most < s->devices ? class->most : s->devices;
}

/* Divides a class by the number of its pipelines, and of those that are alike; of many, into two halves. Returns the
 * number of parts. */
static int divide(const struct class *class, int most, struct class *parts)
{
    int count = 0;
    if (most > EXACT && most > class->least) {
        int middle = class->least + (most - class->least) / 2;
        parts[count++] = (struct class){class->least, middle, ALIKE_ANY, {.bound = INFINITY}};
        parts[count++] = (struct class){middle + 1, most, ALIKE_ANY, {.bound = INFINITY}};
        return count;
    }
    for (int n = class->least; n <= most; n++) {
        parts[count++] = (struct class){n, n, ALIKE_ALL, {.bound = INFINITY}};
        if (n > 2)
            parts[count++] = (struct class){n, n, ALIKE_MOST, {.bound = INFINITY}};
        if (n > 1)
            parts[count++] = (struct class){n, n, ALIKE_FEW, {.bound = INFINITY}};
    }
    return count;
}

static int lowest_of(const struct class *list, int count)
{
    int lowest = 0;
    for (int i = 1; i < count; i++)
        if (list[i].claim.bound < list[lowest].claim.bound)
            lowest = i;
    return lowest;
}

/* Divides the class with the lowest bound, until that is close to the best plan. */
static bool tighten(struct search *s, struct class *list, int *count, struct error *err)
{
    for (int many = 0;;) {
        struct class *lowest = &list[lowest_of(list, *count)], parts[3 * EXACT];
        bool few = most_of(s, lowest) <= EXACT;
        if (lowest->alike != ALIKE_ANY || lowest->claim.bound >= s->enough * (1.0 - (few ? TIGHT : WIDE)) ||
            (!few && (lowest->most == INT_MAX || many++ == MAX_MANY)) || stop_wanted())
            return true;
        int number = divide(lowest, most_of(s, lowest), parts);
        for (int i = 0; i < number; i++) {
            if (!search_alike(s, &parts[i], &parts[i].claim, err))
                return false;
            parts[i].claim.bound = fmax(parts[i].claim.bound, lowest->claim.bound);
        }
        *lowest = parts[0];
        memcpy(list + *count, parts + 1, (size_t)(number - 1) * sizeof *parts);
        *count += number - 1;
    }
}

/* Sets bounds[n - 1] to that of plans of n pipelines, or of more if it is the last; returns how many are set. A last
 * class that was divided has each of its numbers. */
static int bound_numbers(const struct class *list, int count, double *bounds)
{
    int numbers = 1;
    for (int i = 0; i < count; i++)
        numbers = list[i].least > numbers ? list[i].least : numbers;
    for (int n = 1; n <= numbers; n++) {
        bounds[n - 1] = INFINITY;
        for (int i = 0; i < count; i++)
            if (n >= list[i].least && n <= list[i].most)
                bounds[n - 1] = fmin(bounds[n - 1], list[i].claim.bound);
    }
    return numbers;
}

/* Remembers what is known of the part. */
static bool know(struct search *s, const struct class *list, int count, double bound)
{
    struct fleet_claim claims[MAX_DIVIDED];
    for (int i = 0; i < count; i++)
        claims[i] = list[i].claim;
    return fleet_nodes_know(&s->nodes, &(struct fleet_known){s->part, bound, count, claims});
}

/* Begins with many pipelines, as a plan for these is found sooner. `closely`: the bound matters. */
static bool search_all(struct search *s, bool closely, double *bound, bool *optimal, struct error *err)
{
    struct class list[MAX_DIVIDED];
    double bounds[1 << MAX_CLASSES];
    int count = list_classes(s, list);
    if (count == 0)
        return error_memory(err);
    for (int i = 0; i < count; i++)
        if (!search_any(s, &list[i], err) || (closely && !copy_many(s, &list[i], err)))
            return false;
    if (closely && !tighten(s, list, &count, err))
        return false;
    *bound = fmin(*bound, list[lowest_of(list, count)].claim.bound);
    int numbers = bound_numbers(list, count, bounds);
    if (!fleet_refine(s->best, s->problem, s->maker, s->enough, bounds, numbers, optimal, err))
        return false;
    if (s->best->pipeline_count > 0)
        s->enough = fmin(s->enough, s->best->seconds);
    if (*optimal)
        *bound = fmax(*bound, s->enough);
    return know(s, list, count, *bound) || error_memory(err);
}

/* Plans for some of the types: all of them, then all but one, and so on, so that further types never make the plan
 * slower. A part whose plans are known to be slower is left out. *bound is that of all of them. */
static bool search_parts(struct search *s, unsigned types, int first, double *bound, struct error *err)
{
    const struct fleet_problem *all = s->nodes.all;
    bool optimal = false;
    s->part = fleet_part_of_types(all, types);
    *bound = INFINITY;
    double known = fleet_nodes_bound(&s->nodes, &s->part);
    if (isnan(known))
        return error_memory(err);
    if (known >= s->enough * (s->nodes.few ? 1.0 : 1.0 - HARDLY))
        *bound = known;
    else if (!search_all(s, first == 0, bound, &optimal, err))
        return false;
    for (int t = first; t < all->type_count && !(optimal && s->nodes.few); t++) {
        double unused;
        if ((types >> t & 1) && (types & ~(1U << t)) &&
            !search_parts(s, types & ~(1U << t), t + 1, &unused, err))
            return false;
    }
    return true;
}

/* Plans that leave nodes idle, whose devices wait less for each other: a bound for all of them, and for few nodes the
 * best one of each number of nodes. */
static bool search_fewer(struct search *s, double *bound, struct error *err)
{
    struct fleet_nodes *nodes = &s->nodes;
    bool ok = fleet_nodes_walk(nodes, *bound, err);
    while (ok && fleet_nodes_next(nodes, s->enough, err)) {
        bool optimal;
        double own = INFINITY;
        s->part = nodes->part;
        ok = search_all(s, true, &own, &optimal, err);
        nodes->bound = fmin(nodes->bound, own);
    }
    *bound = nodes->bound;
    return ok && !nodes->failed;
}

bool fleet_search_classes(struct fleet_choice *plan, struct fleet_problem *problem,
                          const struct fleet_maker *maker, double enough, struct error *err)
{
    struct search s = {.whole = maker, .enough = enough, .best = plan, .problem = problem};
    const struct fleet_maker part = {&s, make_part, maker->effort};
    double bound = INFINITY;
    *plan = (struct fleet_choice){0};
    s.maker = &part;
    struct fleet_problem all;
    bool ok = make_types(maker, &all) || error_memory(err);
    s.nodes.maker = maker;
    s.nodes.all = &all;
    ok = ok && fleet_nodes_begin(&s.nodes, err) &&
         search_parts(&s, (1U << all.type_count) - 1, 0, &bound, err) && search_fewer(&s, &bound, err);
    fleet_nodes_end(&s.nodes);
    fleet_columns_release(&s.columns);
    if (stop_wanted() && plan->pipeline_count > 0) { /* what is there by now */
        ok = true;
        bound = 0.0;
    }
    if (ok && plan->pipeline_count > 0) {
        plan->lower_bound = fmin(bound, plan->seconds);
        memcpy(problem->types, all.types, sizeof all.types); /* a part of them was enough */
        return true;
    }
    fleet_choice_release(plan);
    plan->lower_bound = bound;
    plan->too_slow = isfinite(enough);
    return ok ? error_set(err, ERROR_INFEASIBLE, "the model does not fit in any pipeline of these devices")
              : false;
}
