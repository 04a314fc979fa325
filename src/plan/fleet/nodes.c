#include "plan/fleet/nodes.h"
#include "core/stop.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW         64 /* combinations of numbers of nodes that are searched one by one */
#define FEW_DEVICES 32
#define NARROW      0.005 /* of the seconds: a box in which waiting differs by no more is not halved */
#define MAX_BOXES   3000

/* ---- parts ---- */

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
            least = fmin(least, (o->sums.seconds[layer + 1] - o->sums.seconds[layer]) * o->tensor);
    }
    return least;
}

/* Sets a bound on the micro-batches per second of each device; 0: no option of its type is left. */
static void find_speeds(const struct fleet_problem *problem, double *speeds)
{
    double each = 0.0;
    for (int t = 0; t < problem->type_count; t++) {
        double sum = 0.0;
        for (int l = 0; l < problem->layer_count; l++)
            sum += work_on(problem, t, l);
        speeds[t] = sum > 0.0 ? 1.0 / sum : 0.0;
    }
    for (int l = 0; l < problem->layer_count; l++) {
        double least = INFINITY;
        for (int t = 0; t < problem->type_count; t++)
            if (speeds[t] > 0.0)
                least = fmin(least, speeds[t] * work_on(problem, t, l));
        each += least;
    }
    for (int t = 0; t < problem->type_count; t++)
        speeds[t] = speeds[t] > 0.0 ? speeds[t] / each * (1.0 + 1e-9) : 0.0;
}

/* Returns the minimum seconds of all micro-batches on all devices, weighted by their types' speeds. */
static double least_seconds(const struct fleet_problem *problem)
{
    double speeds[FLEET_MAX_TYPES], all = 0.0;
    find_speeds(problem, speeds);
    for (int t = 0; t < problem->type_count; t++)
        all += speeds[t] * problem->types[t].devices;
    return all > 0.0 ? (double)problem->microbatches / all : INFINITY;
}

/* ---- what is known ---- */

/* Returns the least price of a micro-batch's seconds: a pipeline's devices cost at least that, divided by its cycle. */
static double least_price(const struct fleet_problem *problem, const double *prices)
{
    double sum = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double least = INFINITY;
        for (int t = 0; t < problem->type_count; t++)
            least =
                fmin(least, isfinite(work_on(problem, t, l)) ? prices[t] * work_on(problem, t, l) : INFINITY);
        sum += least;
    }
    return sum;
}

static bool stage_fits(const struct fleet_problem *problem, int option, int first, int last)
{
    const struct fleet_type *type = &problem->types[problem->options[option].type];
    return fleet_stage_memory(problem, &(struct fleet_stage){option, first, last}, 1) <= type->memory;
}

/* Returns the seconds of the longest stage that fits into memory. */
static double longest_stage(const struct fleet_problem *problem)
{
    int layers = problem->layer_count;
    double longest = 0.0;
    for (int o = 0; o < problem->option_count; o++) {
        int last = 0;
        for (int first = 0; first < layers; first++) {
            last = last > first ? last : first;
            while (last < layers && stage_fits(problem, o, first, last + 1))
                last++;
            int end =
                stage_fits(problem, o, first, layers) ? layers : last; /* the last stage may need less */
            longest = fmax(longest, fleet_stage_seconds(problem, &(struct fleet_stage){o, first, end}));
        }
    }
    return longest;
}

bool fleet_claim_make(struct fleet_claim *claim, const struct fleet_choice *outcome,
                      const struct fleet_problem *problem, int copies, struct arena *arena)
{
    size_t count = (size_t)outcome->proof_count;
    *claim = (struct fleet_claim){
        .bound = outcome->lower_bound,
        .copies = copies,
        .microbatches = (double)problem->microbatches,
        .max_pipelines = problem->max_pipelines > 0 ? problem->max_pipelines : INFINITY,
        .proof_count = outcome->proof_count,
        .proofs = ARENA_ARRAY(arena, count + 1, struct fleet_proof),
        .beyond = ARENA_ARRAY(arena, count + 1, double),
    };
    if (!claim->proofs || !claim->beyond)
        return false;
    double longest = longest_stage(problem);
    find_speeds(problem, claim->speeds);
    for (size_t i = 0; i < count; i++) {
        const struct fleet_proof *proof = &outcome->proofs[i];
        double over = proof->deadline - least_price(problem, proof->prices) * (1.0 - 1e-9);
        claim->proofs[i] = *proof;
        claim->beyond[i] =
            over > 0.0 && longest > proof->cycle && proof->cycle > 0.0 ? over / proof->cycle : 0.0;
    }
    return true;
}

/* Returns a bound on plans of the class on fewer devices, whose layers take at least a share of their seconds. */
static double claim_seconds(const struct fleet_claim *claim, const struct fleet_part *part, int types,
                            double share)
{
    double least = INFINITY, pipelines = 0.0, speed = 0.0;
    for (int t = 0; t < types; t++) {
        pipelines += part->devices[t];
        speed += claim->speeds[t] * part->devices[t] / claim->copies;
    }
    pipelines = fmin(fmin(pipelines, claim->microbatches), claim->max_pipelines);
    for (int i = 0; i < claim->proof_count; i++) {
        const struct fleet_proof *proof = &claim->proofs[i];
        double done = pipelines * claim->beyond[i], deadline = proof->deadline;
        for (int t = 0; t < types; t++)
            done += proof->prices[t] * part->devices[t] / claim->copies;
        if (isfinite(claim->max_pipelines))
            done += proof->prices[types] * pipelines;
        double missing = claim->microbatches * (1.0 - 1e-9) - done;
        if (missing > 0.0)
            deadline += missing / speed;
        least = fmin(least, deadline * share + proof->after);
    }
    return fmax(claim->proof_count > 0 ? least * (1.0 - 1e-9) : 0.0, claim->bound * share);
}

/* Returns a bound on all plans of a known part that are on fewer devices. */
static double known_seconds(const struct fleet_known *known, const struct fleet_part *part, int types,
                            double share)
{
    double least = INFINITY;
    for (int i = 0; i < known->claim_count; i++)
        least = fmin(least, claim_seconds(&known->claims[i], part, types, share));
    return fmax(known->claim_count > 0 ? least : 0.0, known->bound * share);
}

bool fleet_nodes_know(struct fleet_nodes *n, const struct fleet_known *known)
{
    struct fleet_known own = *known;
    own.claims = ARENA_ARRAY(&n->arena, (size_t)own.claim_count + 1, struct fleet_claim);
    if (!own.claims)
        return false;
    memcpy(own.claims, known->claims, (size_t)own.claim_count * sizeof *own.claims);
    return VECTOR_ADD(n->known, n->known_count, n->known_capacity, own);
}

/* Returns the problem of all devices if so many nodes wait for each other; NULL: memory ran out. */
static const struct fleet_problem *problem_of(struct fleet_nodes *n, int nodes)
{
    struct fleet_spread spread = FLEET_SPREAD_ANY;
    struct fleet_problem **known = &n->waiting[nodes];
    if (*known)
        return *known;
    struct fleet_problem *made = ARENA_ARRAY(&n->arena, 1, struct fleet_problem);
    spread.nodes = nodes > 0 ? nodes : 1;
    if (!made || !n->maker->make(n->maker->context, &spread, made, &n->arena))
        return NULL;
    *known = made;
    return made;
}

/* Returns the least share of its seconds that a layer takes if as many nodes wait as in the one problem, not the
 * other. */
static double waiting_share(const struct fleet_problem *few, const struct fleet_problem *many)
{
    double share = 1.0;
    for (int i = 0; i < few->option_count; i++) {
        const double *a = few->options[i].sums.seconds, *b = many->options[i].sums.seconds;
        for (int l = 0; l < few->layer_count; l++)
            if (b[l + 1] - b[l] > a[l + 1] - a[l])
                share = fmin(share, (a[l + 1] - a[l]) / (b[l + 1] - b[l]) * (1.0 - 1e-12));
    }
    return share;
}

static int sum_of(const struct fleet_nodes *n, const int *nodes)
{
    int sum = 0;
    for (int t = 0; t < n->all->type_count; t++)
        sum += nodes[t];
    return sum;
}

static bool has_part(const struct fleet_nodes *n, const struct fleet_part *whole,
                     const struct fleet_part *part)
{
    bool has = true;
    for (int t = 0; t < n->all->type_count; t++)
        has &= part->devices[t] <= whole->devices[t];
    return has;
}

double fleet_nodes_bound(struct fleet_nodes *n, const struct fleet_part *part)
{
    const struct fleet_problem *few = problem_of(n, part->nodes);
    double bound = 0.0;
    if (!few)
        return NAN;
    struct fleet_problem own = *few;
    for (int t = 0; t < own.type_count; t++)
        own.types[t].devices = part->devices[t];
    bound = least_seconds(&own);
    for (int i = 0; i < n->known_count; i++) {
        const struct fleet_known *known = &n->known[i];
        const struct fleet_problem *many = problem_of(n, known->part.nodes);
        if (!many)
            return NAN;
        if (has_part(n, &known->part, part))
            bound = fmax(bound, known_seconds(known, part, n->all->type_count, waiting_share(few, many)));
    }
    return bound;
}

/* Adds a box, with its bound. */
static bool add_box(struct fleet_nodes *n, struct fleet_box box)
{
    const struct fleet_part part = part_of_box(n->all, &box);
    box.bound = fleet_nodes_bound(n, &part);
    return !isnan(box.bound) && VECTOR_ADD(n->boxes, n->count, n->capacity, box);
}

/* ---- the walk ---- */

/* Returns whether nodes are so few, or matter so little, that a search leaves no part of them out. */
static bool fleet_nodes_few(const struct fleet_problem *all)
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
    n->few = fleet_nodes_few(n->all);
    for (int t = 0; t < n->all->type_count; t++)
        n->nodes += nodes_of(&n->all->types[t]);
    n->waiting = ARENA_ARRAY(&n->arena, (size_t)n->nodes + 2, struct fleet_problem *);
    return n->waiting || error_memory(err);
}

bool fleet_nodes_walk(struct fleet_nodes *n, double bound, struct error *err)
{
    struct fleet_box all = {{0}, {0}, 0.0};
    n->bound = bound;
    if (n->nodes == 0 || isinf(bound)) /* what does not fit does not fit on fewer devices either */
        return true;
    for (int t = 0; t < n->all->type_count; t++)
        all.most[t] = nodes_of(&n->all->types[t]);
    return add_box(n, all) || error_memory(err);
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
    return add_box(n, low) && add_box(n, high);
}

static struct fleet_box take_lowest(struct fleet_nodes *n)
{
    int lowest = 0;
    for (int i = 1; i < n->count; i++)
        if (n->boxes[i].bound < n->boxes[lowest].bound)
            lowest = i;
    struct fleet_box box = n->boxes[lowest];
    n->boxes[lowest] = n->boxes[--n->count];
    return box;
}

/* Looks at the box with the lowest bound: halves it, bounds it, or says in *wanted that n->part is to be searched. */
static bool look_at(struct fleet_nodes *n, const struct fleet_box *box, bool *wanted, struct error *err)
{
    bool all = true, one = true;
    for (int t = 0; t < n->all->type_count; t++) {
        all &= box->most[t] == nodes_of(&n->all->types[t]);
        one &= box->most[t] == box->least[t];
    }
    const struct fleet_problem *low = problem_of(n, sum_of(n, box->least)),
                               *high = problem_of(n, sum_of(n, box->most));
    if (!low || !high)
        return error_memory(err);
    if (!one && ++n->seen < MAX_BOXES && waiting_share(low, high) < (n->few ? 1.0 - 1e-9 : 1.0 - NARROW))
        return split(n, box) || error_memory(err);
    *wanted = n->few && !all;
    n->part = part_of_box(n->all, box);
    if (!*wanted)
        n->bound = fmin(n->bound, box->bound);
    if (!n->few) /* the others' bounds are no lower */
        n->count = 0;
    return true;
}

bool fleet_nodes_next(struct fleet_nodes *n, double enough, struct error *err)
{
    bool wanted = false;
    while (n->count > 0 && !wanted && !n->failed && !stop_wanted()) {
        struct fleet_box box = take_lowest(n);
        if (box.bound >= enough || (!n->few && box.bound >= n->bound))
            n->count = 0;
        else
            n->failed = !look_at(n, &box, &wanted, err);
    }
    return wanted;
}

void fleet_nodes_end(struct fleet_nodes *n)
{
    free(n->boxes);
    free(n->known);
    arena_release(&n->arena);
}
