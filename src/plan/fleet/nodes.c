#include "plan/fleet/nodes.h"

#include "core/stop.h"
#include "core/vector.h"
#include "plan/fleet/search.h"

#include <math.h>
#include <stdlib.h>

#define FEW          64 /* combinations of numbers of nodes that are searched one by one */
#define FEW_DEVICES  32
#define NARROW       0.005 /* of the seconds: a box in which waiting differs by no more is not halved */
#define MAX_PROGRAMS 4     /* bounds by the linear program */
#define MAX_BOXES    3000

/* ---- parts ---- */

bool fleet_make_part(const struct fleet_maker *maker, const struct fleet_part *part,
                     const struct fleet_spread *spread, struct fleet_problem *problem, struct arena *arena)
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

static int nodes_of(const struct fleet_type *type)
{
    return type->per_node > 0 ? (type->devices + type->per_node - 1) / type->per_node : 0;
}

struct fleet_part fleet_part_of_types(const struct fleet_problem *all, unsigned types)
{
    struct fleet_part part = {.nodes = 0};
    for (int t = 0; t < all->type_count; t++)
        if (types >> t & 1) {
            part.devices[t] = all->types[t].devices;
            part.nodes += nodes_of(&all->types[t]);
        }
    part.nodes = part.nodes > 0 ? part.nodes : 1;
    return part;
}

static struct fleet_part part_of_box(const struct fleet_problem *all, const struct fleet_box *box)
{
    struct fleet_part part = {.nodes = 0};
    for (int t = 0; t < all->type_count; t++) {
        int most = box->most[t] * all->types[t].per_node;
        part.devices[t] = most < all->types[t].devices ? most : all->types[t].devices;
        part.nodes += box->least[t];
    }
    part.nodes = part.nodes > 0 ? part.nodes : 1;
    return part;
}

/* ---- bounds of a box ---- */

/* Returns the device seconds of a layer on the fastest option of a type; INFINITY: it has none. */
static double work_on(const struct fleet_problem *problem, int type, int layer)
{
    double least = INFINITY;
    for (int i = 0; i < problem->option_count; i++) {
        const struct fleet_option *o = &problem->options[i];
        if (o->type == type && fleet_offers(problem, o))
            least = fmin(least, (o->seconds[layer + 1] - o->seconds[layer]) * o->tensor);
    }
    return least;
}

/* Returns the minimum seconds of all micro-batches on all devices, weighted by their types' speeds. */
static double least_seconds(const struct fleet_problem *problem)
{
    double weights[FLEET_MAX_TYPES], all = 0.0, each = 0.0;
    for (int t = 0; t < problem->type_count; t++) {
        double sum = 0.0;
        for (int l = 0; l < problem->layer_count; l++)
            sum += work_on(problem, t, l);
        weights[t] = sum > 0.0 ? 1.0 / sum : 0.0; /* 0: no option is left */
        all += weights[t] * problem->types[t].devices;
    }
    for (int l = 0; l < problem->layer_count; l++) {
        double least = INFINITY;
        for (int t = 0; t < problem->type_count; t++)
            if (weights[t] > 0.0)
                least = fmin(least, weights[t] * work_on(problem, t, l));
        each += least;
    }
    return all > 0.0 ? (double)problem->microbatches * each / all * (1.0 - 1e-9) : INFINITY;
}

/* Sets the least share of its seconds that a layer takes if as many nodes wait as the box has at least, not at most. */
static bool waiting_share(const struct fleet_nodes *n, const struct fleet_box *box, double *share)
{
    struct fleet_part low = part_of_box(n->all, box), high = low;
    struct fleet_problem a, b;
    struct fleet_spread spread = FLEET_SPREAD_ANY;
    struct arena arena = {0};
    high.nodes = 0;
    for (int t = 0; t < n->all->type_count; t++)
        high.nodes += box->most[t];
    high.nodes = high.nodes > 0 ? high.nodes : 1;
    spread.nodes = 0;
    *share = 1.0;
    bool made = fleet_make_part(n->maker, &low, &spread, &a, &arena) &&
                fleet_make_part(n->maker, &high, &spread, &b, &arena);
    for (int i = 0; made && i < a.option_count; i++)
        for (int l = 0; l < a.layer_count && fleet_offers(&a, &a.options[i]); l++) {
            double few = a.options[i].seconds[l + 1] - a.options[i].seconds[l];
            double many = b.options[i].seconds[l + 1] - b.options[i].seconds[l];
            if (many > few)
                *share = fmin(*share, few / many * (1.0 - 1e-12));
        }
    arena_release(&arena);
    return made;
}

/* Sets a bound of a box; the linear program's, too, if `program`. */
static bool bound_box(struct fleet_nodes *n, const struct fleet_part *part, bool program, double *bound,
                      struct error *err)
{
    struct fleet_problem problem;
    struct fleet_spread spread = FLEET_SPREAD_ANY;
    struct arena arena = {0};
    double tight = 0.0;
    spread.nodes = 0;
    bool ok = fleet_make_part(n->maker, part, &spread, &problem, &arena) || error_memory(err);
    if (ok)
        *bound = least_seconds(&problem);
    if (ok && program && isfinite(*bound))
        ok = fleet_bound(&tight, &problem, err);
    arena_release(&arena);
    *bound = fmax(*bound, tight);
    return ok;
}

/* ---- the walk ---- */

bool fleet_nodes_few(const struct fleet_problem *all)
{
    double numbers = 1.0, devices = 0.0;
    for (int t = 0; t < all->type_count; t++) {
        numbers *= nodes_of(&all->types[t]) + 1.0;
        devices += all->types[t].devices;
    }
    return numbers == 1.0 || (numbers <= FEW && devices <= FEW_DEVICES);
}

bool fleet_nodes_begin(struct fleet_nodes *n, struct error *err)
{
    struct fleet_box all = {{0}, {0}};
    bool matter = false;
    n->whole = n->bound;
    n->few = fleet_nodes_few(n->all);
    for (int t = 0; t < n->all->type_count; t++) {
        all.most[t] = nodes_of(&n->all->types[t]);
        matter |= all.most[t] > 0;
    }
    if (!matter || isinf(n->bound)) /* what does not fit does not fit on fewer devices either */
        return true;
    return VECTOR_ADD(n->boxes, n->count, n->capacity, all) || error_memory(err);
}

static bool split(struct fleet_nodes *n, const struct fleet_box *box)
{
    int widest = 0;
    double width = 0.0;
    struct fleet_box low = *box, high = *box;
    for (int t = 0; t < n->all->type_count; t++) {
        double own = (box->most[t] + 1.0) / (box->least[t] + 1.0);
        if (own > width) {
            width = own;
            widest = t;
        }
    }
    int middle = box->least[widest] + (box->most[widest] - box->least[widest]) / 2;
    low.most[widest] = middle;
    high.least[widest] = middle + 1;
    return VECTOR_ADD(n->boxes, n->count, n->capacity, low) &&
           VECTOR_ADD(n->boxes, n->count, n->capacity, high);
}

/* Looks at a box: leaves it out, halves it, bounds it, or says in *wanted that n->part is to be searched. */
static bool look_at(struct fleet_nodes *n, const struct fleet_box *box, double enough, bool *wanted,
                    struct error *err)
{
    struct fleet_part part = part_of_box(n->all, box);
    double bound, share;
    bool all = true, one = true;
    *wanted = false;
    for (int t = 0; t < n->all->type_count; t++) {
        all &= box->most[t] == nodes_of(&n->all->types[t]);
        one &= box->most[t] == box->least[t];
    }
    if (!bound_box(n, &part, false, &bound, err))
        return false;
    if (bound >= enough || (!n->few && bound >= n->bound))
        return true;
    if (!waiting_share(n, box, &share))
        return error_memory(err);
    if (!one && ++n->seen < MAX_BOXES && share < (n->few ? 1.0 - 1e-9 : 1.0 - NARROW))
        return split(n, box) || error_memory(err);
    if (all) {
        n->bound = fmin(n->bound, fmax(n->whole * share, bound));
        return true;
    }
    if (n->few) {
        n->part = part;
        *wanted = true;
        return true;
    }
    if (n->programs++ < MAX_PROGRAMS && !bound_box(n, &part, true, &bound, err))
        return false;
    n->bound = fmin(n->bound, bound);
    return true;
}

bool fleet_nodes_next(struct fleet_nodes *n, double enough, struct error *err)
{
    bool wanted = false;
    while (n->count > 0 && !wanted && !n->failed && !stop_wanted()) {
        struct fleet_box box = n->boxes[--n->count];
        n->failed = !look_at(n, &box, enough, &wanted, err);
    }
    return wanted;
}

void fleet_nodes_end(struct fleet_nodes *n)
{
    free(n->boxes);
}
