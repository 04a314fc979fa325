/* The rules: which nodes form instances after losses and returns. */
#include "core/vector.h"
#include "elastic/reconfigure_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts nodes of each kind. */
static void elastic_count_kinds(const struct elastic_kit *kit, const int *nodes, int count, int *kinds)
{
    memset(kinds, 0, (size_t)kit->kind_count * sizeof *kinds);
    for (int i = 0; i < count; i++)
        kinds[elastic_kind_of(kit, nodes[i])]++;
}

static bool fits(const struct elastic_kit *kit, const struct elastic_shape *shape, const int *kinds)
{
    for (int k = 0; k < kit->kind_count; k++)
        if (shape->need[k] > kinds[k])
            return false;
    return true;
}

/* The seconds of a micro-batch of the whole instance, on average over a large batch. */
static double pace_of(const struct elastic_shape *shape)
{
    double rate = 0;
    for (int l = 0; l < shape->line_count; l++)
        rate += shape->lines[l].copies / shape->lines[l].period;
    return 1 / rate;
}

/* The shape with most nodes that fits, the fastest of equals; -1: none. */
static int elastic_best_shape(const struct elastic_kit *kit, const int *kinds)
{
    int best = -1;
    for (int t = 0; t < kit->shape_count; t++) {
        const struct elastic_shape *shape = &kit->shapes[t];
        if (!fits(kit, shape, kinds))
            continue;
        if (best < 0 || shape->nodes > kit->shapes[best].nodes ||
            (shape->nodes == kit->shapes[best].nodes && pace_of(shape) < pace_of(&kit->shapes[best])))
            best = t;
    }
    return best;
}

int elastic_crew_shape(const struct elastic_crews *crews, const struct elastic_crew *crew)
{
    const struct elastic_kit *kit = crews->from->kit;
    int kinds[ELASTIC_MAX_KINDS];
    if (crew->shape >= 0)
        return crew->shape;
    elastic_count_kinds(kit, crew->nodes, crew->count, kinds);
    int own = crew->origin >= 0 ? crews->from->instances[crew->origin].shape : -1;
    bool whole =
        own >= 0 && memcmp(kinds, kit->shapes[own].need, (size_t)kit->kind_count * sizeof *kinds) == 0;
    return whole ? own : elastic_best_shape(kit, kinds);
}

/* ---- beginning ---- */

static bool add_crew(struct elastic_crews *crews, int origin, struct error *err)
{
    struct elastic_crew crew = {.origin = origin, .shape = -1};
    return VECTOR_ADD(crews->crews, crews->count, crews->capacity, crew) || error_memory(err);
}

static void enlist(struct elastic_crews *crews, struct elastic_crew *crew, int node)
{
    if (!VECTOR_ADD(crew->nodes, crew->count, crew->capacity, node))
        crews->failed = true;
}

/* Marks lost and returned nodes in the owners of the state afterwards. */
static bool mark_nodes(struct elastic_state *after, const struct elastic_change *change, struct error *err)
{
    if (change->lost_count > after->node_count)
        return error_set(err, ERROR_USAGE, "%d nodes cannot be lost: there are %d", change->lost_count,
                         after->node_count);
    for (int i = 0; i < change->lost_count; i++) {
        int node = change->lost[i];
        if (node < 0 || node >= after->node_count)
            return error_set(err, ERROR_USAGE, "no node %d: the cluster has nodes 0 to %d", node,
                             after->node_count - 1);
        if (after->owner[node] == ELASTIC_GONE)
            return error_set(err, ERROR_USAGE, "node %d cannot be lost: it is lost already", node);
        after->owner[node] = ELASTIC_GONE;
    }
    for (int i = 0; i < change->returned_count; i++) {
        int node = change->returned[i];
        if (node < 0 || node >= after->node_count)
            return error_set(err, ERROR_USAGE, "no node %d: the cluster has nodes 0 to %d", node,
                             after->node_count - 1);
        if (after->owner[node] != ELASTIC_GONE)
            return error_set(err, ERROR_USAGE, "node %d cannot return: it is not lost", node);
        after->owner[node] = ELASTIC_SPARE;
    }
    return true;
}

bool elastic_crews_init(struct elastic_crews *crews, const struct elastic_state *from,
                        const struct elastic_change *change, struct elastic_transition *out,
                        struct error *err)
{
    struct elastic_state *after = &out->after;
    *crews = (struct elastic_crews){.from = from, .out = out, .faults = change->faults};
    *after = (struct elastic_state){.kit = from->kit, .node_count = from->node_count};
    after->owner = calloc((size_t)from->node_count + 1, sizeof *after->owner);
    crews->spares = calloc((size_t)from->node_count + 1, sizeof *crews->spares);
    if (!after->owner || !crews->spares)
        return error_memory(err);
    memcpy(after->owner, from->owner, (size_t)from->node_count * sizeof *after->owner);
    if (!mark_nodes(after, change, err))
        return false;
    for (int n = 0; n < from->node_count; n++)
        if (after->owner[n] == ELASTIC_SPARE)
            crews->spares[crews->spare_count++] = n;
    for (int i = 0; i < from->instance_count; i++) {
        const struct elastic_instance *instance = &from->instances[i];
        if (!add_crew(crews, i, err))
            return false;
        struct elastic_crew *crew = &crews->crews[i];
        for (int p = 0; p < from->kit->shapes[instance->shape].nodes; p++)
            if (after->owner[instance->nodes[p]] == i)
                enlist(crews, crew, instance->nodes[p]);
            else
                crew->broken = true;
    }
    return !crews->failed || error_memory(err);
}

/* ---- rules ---- */

static int take_spare(struct elastic_crews *crews, int kind)
{
    for (int i = 0; i < crews->spare_count; i++)
        if (elastic_kind_of(crews->from->kit, crews->spares[i]) == kind) {
            int node = crews->spares[i];
            memmove(crews->spares + i, crews->spares + i + 1,
                    (size_t)(--crews->spare_count - i) * sizeof *crews->spares);
            return node;
        }
    return -1;
}

static void step(struct elastic_crews *crews, const struct elastic_crew *crew, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds "instance 2: …" to the steps; a new instance has no number yet. */
static void step(struct elastic_crews *crews, const struct elastic_crew *crew, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (crew->origin >= 0)
        text_format(&crews->out->steps, "instance %d ", crew->origin);
    text_vformat(&crews->out->steps, format, args);
    text_add(&crews->out->steps, "\n");
    va_end(args);
}

/* Spares take the lost places, if there are enough. Returns whether the instance is whole again. */
static bool replace(struct elastic_crews *crews, struct elastic_crew *crew)
{
    const struct elastic_kit *kit = crews->from->kit;
    const struct elastic_shape *shape = &kit->shapes[crews->from->instances[crew->origin].shape];
    int kinds[ELASTIC_MAX_KINDS], spare[ELASTIC_MAX_KINDS];
    elastic_count_kinds(kit, crew->nodes, crew->count, kinds);
    elastic_count_kinds(kit, crews->spares, crews->spare_count, spare);
    for (int k = 0; k < kit->kind_count; k++)
        if (shape->need[k] - kinds[k] > spare[k])
            return false;
    for (int k = 0; k < kit->kind_count; k++)
        for (; kinds[k] < shape->need[k]; kinds[k]++) {
            int node = take_spare(crews, k);
            enlist(crews, crew, node);
            step(crews, crew, "replaces a lost node by spare node %d", node);
        }
    crews->out->outcome.replaced++;
    return true;
}

/* The crew of most nodes, the last of equals, that has a shape without one of its nodes of this kind. */
static struct elastic_crew *find_lender(struct elastic_crews *crews, const struct elastic_crew *borrower,
                                        int kind)
{
    const struct elastic_kit *kit = crews->from->kit;
    struct elastic_crew *best = NULL;
    for (size_t i = 0; i < crews->count; i++) {
        struct elastic_crew *crew = &crews->crews[i];
        int kinds[ELASTIC_MAX_KINDS];
        if (crew == borrower || crew->merging || crew->count < 2 || (best && crew->count < best->count))
            continue;
        elastic_count_kinds(kit, crew->nodes, crew->count, kinds);
        if (kinds[kind]-- > 0 && elastic_best_shape(kit, kinds) >= 0)
            best = crew;
    }
    return best;
}

/* Takes the last node of this kind from a crew. */
static int give(const struct elastic_kit *kit, struct elastic_crew *crew, int kind)
{
    int at = crew->count - 1;
    while (elastic_kind_of(kit, crew->nodes[at]) != kind)
        at--;
    int node = crew->nodes[at];
    memmove(crew->nodes + at, crew->nodes + at + 1, (size_t)(--crew->count - at) * sizeof *crew->nodes);
    return node;
}

/* The shape that lacks the fewest nodes, the smallest of equals. */
static int nearest_shape(const struct elastic_kit *kit, const int *kinds)
{
    int best = 0, lacks = ELASTIC_MAX_NODES;
    for (int t = 0; t < kit->shape_count; t++) {
        int missing = 0;
        for (int k = 0; k < kit->kind_count; k++)
            missing += kit->shapes[t].need[k] > kinds[k] ? kit->shapes[t].need[k] - kinds[k] : 0;
        if (missing < lacks || (missing == lacks && kit->shapes[t].nodes < kit->shapes[best].nodes)) {
            lacks = missing;
            best = t;
        }
    }
    return best;
}

/* Borrows until a shape fits; what was borrowed stays even if that is not enough. */
static bool borrow(struct elastic_crews *crews, struct elastic_crew *crew)
{
    const struct elastic_kit *kit = crews->from->kit;
    int kinds[ELASTIC_MAX_KINDS];
    elastic_count_kinds(kit, crew->nodes, crew->count, kinds);
    const struct elastic_shape *shape = &kit->shapes[nearest_shape(kit, kinds)];
    for (int k = 0; k < kit->kind_count; k++)
        for (; kinds[k] < shape->need[k]; kinds[k]++) {
            int node = take_spare(crews, k);
            if (node < 0) {
                struct elastic_crew *lender = find_lender(crews, crew, k);
                if (!lender)
                    return false;
                node = give(kit, lender, k);
                step(crews, crew, "borrows node %d from instance %d", node, lender->origin);
                crews->out->outcome.borrowed++;
            } else
                step(crews, crew, "takes spare node %d", node);
            enlist(crews, crew, node);
        }
    return true;
}

static void join(struct elastic_crews *crews, struct elastic_crew *to, struct elastic_crew *from)
{
    for (int i = 0; i < from->count; i++)
        enlist(crews, to, from->nodes[i]);
    from->count = 0;
}

static void dismiss(struct elastic_crews *crews, struct elastic_crew *crew)
{
    if (crew->count > 0)
        step(crews, crew, "is dissolved: %d node%s spare", crew->count, crew->count == 1 ? " is" : "s are");
    for (int i = 0; i < crew->count; i++)
        crews->spares[crews->spare_count + i] = crew->nodes[i];
    crews->spare_count += crew->count;
    crew->count = 0;
}

/* The first instance that is none of the merged ones and has a larger shape with these nodes. */
static struct elastic_crew *find_host(struct elastic_crews *crews, const struct elastic_crew *guest)
{
    const struct elastic_kit *kit = crews->from->kit;
    for (size_t i = 0; i < crews->count; i++) {
        struct elastic_crew *crew = &crews->crews[i];
        int kinds[ELASTIC_MAX_KINDS], own = crew->count > 0 ? elastic_crew_shape(crews, crew) : -1;
        if (crew->merging || own < 0)
            continue;
        elastic_count_kinds(kit, crew->nodes, crew->count, kinds);
        for (int n = 0; n < guest->count; n++)
            kinds[elastic_kind_of(kit, guest->nodes[n])]++;
        if (kit->shapes[elastic_best_shape(kit, kinds)].nodes > kit->shapes[own].nodes)
            return crew;
    }
    return NULL;
}

/* Joins remainders, in order, until a shape fits. */
static void merge(struct elastic_crews *crews)
{
    struct elastic_crew *open = NULL;
    for (size_t i = 0; i < crews->count; i++) {
        struct elastic_crew *crew = &crews->crews[i];
        if (!crew->merging || crew->count == 0)
            continue;
        if (open) {
            step(crews, crew, "is merged into instance %d", open->origin);
            crews->out->outcome.merged++;
            join(crews, open, crew);
        } else
            open = crew;
        if (elastic_crew_shape(crews, open) >= 0)
            open = NULL;
    }
    if (!open)
        return;
    struct elastic_crew *host = find_host(crews, open);
    if (!host) {
        dismiss(crews, open);
        return;
    }
    step(crews, open, "is merged into instance %d", host->origin);
    crews->out->outcome.merged++;
    join(crews, host, open);
}

/* Nodes beyond the crew's shape become spares, the last first. */
static void trim(struct elastic_crews *crews, struct elastic_crew *crew)
{
    const struct elastic_kit *kit = crews->from->kit;
    int kinds[ELASTIC_MAX_KINDS], shape = elastic_crew_shape(crews, crew);
    if (crew->count == 0 || shape < 0)
        return;
    elastic_count_kinds(kit, crew->nodes, crew->count, kinds);
    for (int k = 0; k < kit->kind_count; k++)
        for (; kinds[k] > kit->shapes[shape].need[k]; kinds[k]--)
            crews->spares[crews->spare_count++] = give(kit, crew, k);
}

static void note_shapes(struct elastic_crews *crews)
{
    const struct elastic_kit *kit = crews->from->kit;
    for (size_t i = 0; i < crews->count; i++) {
        const struct elastic_crew *crew = &crews->crews[i];
        int shape = crew->count > 0 ? elastic_crew_shape(crews, crew) : -1;
        if (shape < 0 || crew->origin < 0 || shape == crews->from->instances[crew->origin].shape)
            continue;
        step(crews, crew, "is reinstantiated from %s to %s",
             kit->shapes[crews->from->instances[crew->origin].shape].name, kit->shapes[shape].name);
        crews->out->outcome.reinstantiated++;
    }
}

/* ---- spares and returned nodes ---- */

/* Gives a spare to the smallest instance that has a shape with it. Returns whether one had. */
static bool grow(struct elastic_crews *crews, int spare)
{
    const struct elastic_kit *kit = crews->from->kit;
    int kind = elastic_kind_of(kit, crews->spares[spare]);
    struct elastic_crew *best = NULL;
    for (size_t i = 0; i < crews->count; i++) {
        struct elastic_crew *crew = &crews->crews[i];
        int kinds[ELASTIC_MAX_KINDS];
        if (crew->count == 0 || (best && crew->count >= best->count))
            continue;
        elastic_count_kinds(kit, crew->nodes, crew->count, kinds);
        kinds[kind]++;
        int shape = elastic_best_shape(kit, kinds), own = elastic_crew_shape(crews, crew);
        if (kit->shapes[shape].nodes == crew->count + 1 &&
            pace_of(&kit->shapes[shape]) < pace_of(&kit->shapes[own]))
            best = crew;
    }
    if (!best)
        return false;
    step(crews, best, "takes node %d", crews->spares[spare]);
    enlist(crews, best, crews->spares[spare]);
    memmove(crews->spares + spare, crews->spares + spare + 1,
            (size_t)(--crews->spare_count - spare) * sizeof *crews->spares);
    return true;
}

/* The set of all crews, with one more instance of `shape` unless that is -1. */
static bool score_crews(const struct elastic_crews *crews, int shape, struct elastic_set *set, int *copies,
                        struct error *err)
{
    const struct elastic_kit *kit = crews->from->kit;
    memset(set, 0, sizeof *set);
    set->counts = calloc((size_t)kit->shape_count + 1, sizeof *set->counts);
    if (!set->counts)
        return error_memory(err);
    for (size_t i = 0; i < crews->count; i++)
        if (crews->crews[i].count > 0)
            set->counts[elastic_crew_shape(crews, &crews->crews[i])]++;
    if (shape >= 0)
        set->counts[shape]++;
    *copies = 0;
    for (int t = 0; t < kit->shape_count; t++)
        *copies += set->counts[t] * kit->shapes[t].copies;
    bool ok = elastic_set_score(set, kit, err);
    elastic_set_release(set);
    return ok;
}

/* Returns in *wanted whether a further instance makes iterations shorter, or copies enough. */
static bool is_wanted(const struct elastic_crews *crews, int shape, bool *wanted, struct error *err)
{
    struct elastic_set with, without;
    int copies, copies_with;
    if (!score_crews(crews, -1, &without, &copies, err) ||
        !score_crews(crews, shape, &with, &copies_with, err))
        return false;
    *wanted = with.seconds < without.seconds || (copies <= crews->faults && isfinite(with.seconds));
    return true;
}

static bool has_new_spares(const struct elastic_crews *crews)
{
    for (int s = 0; s < crews->spare_count; s++)
        if (crews->from->owner[crews->spares[s]] != ELASTIC_SPARE)
            return true;
    return false;
}

/* Spares that fit a shape become an instance where that helps. Spares that were there before had a reason:
 * they are used only beside nodes that came anew. */
static bool add_instances(struct elastic_crews *crews, struct error *err)
{
    const struct elastic_kit *kit = crews->from->kit;
    while (has_new_spares(crews)) {
        int kinds[ELASTIC_MAX_KINDS];
        bool wanted = false;
        elastic_count_kinds(kit, crews->spares, crews->spare_count, kinds);
        int shape = elastic_best_shape(kit, kinds);
        if (shape < 0)
            return true;
        if (!is_wanted(crews, shape, &wanted, err))
            return false;
        if (!wanted)
            return true;
        if (!add_crew(crews, -1, err))
            return false;
        struct elastic_crew *crew = &crews->crews[crews->count - 1];
        for (int k = 0; k < kit->kind_count; k++)
            for (int n = 0; n < kit->shapes[shape].need[k]; n++)
                enlist(crews, crew, take_spare(crews, k));
        step(crews, crew, "a new instance takes %s", kit->shapes[shape].name);
        crews->out->outcome.added++;
    }
    return true;
}

bool elastic_repair_crews(struct elastic_crews *crews, struct error *err)
{
    const struct elastic_kit *kit = crews->from->kit;
    for (size_t i = 0; i < crews->count; i++) {
        struct elastic_crew *crew = &crews->crews[i];
        if (crew->broken && crew->count == 0)
            step(crews, crew, "is lost with all its nodes");
        if (!crew->broken || crew->count == 0 || replace(crews, crew) || elastic_crew_shape(crews, crew) >= 0)
            continue;
        crew->merging = !borrow(crews, crew);
    }
    merge(crews);
    for (size_t i = 0; i < crews->count; i++)
        trim(crews, &crews->crews[i]);
    /* spares that were there before had a reason; nodes that came anew join an instance */
    for (int s = crews->spare_count - 1; s >= 0; s--)
        if (crews->from->owner[crews->spares[s]] != ELASTIC_SPARE)
            grow(crews, s);
    if (!add_instances(crews, err))
        return false;
    note_shapes(crews);
    if (crews->failed)
        return error_memory(err);
    for (size_t i = 0; i < crews->count; i++)
        if (crews->crews[i].count > 0)
            return true;
    const struct elastic_shape *smallest = &kit->shapes[0];
    for (int t = 1; t < kit->shape_count; t++)
        smallest = kit->shapes[t].nodes < smallest->nodes ? &kit->shapes[t] : smallest;
    return error_set(err, ERROR_INFEASIBLE, "no instance fits the %d nodes left: the smallest takes %s",
                     crews->spare_count, smallest->name);
}

/* ---- the fastest set ---- */

bool elastic_fastest_crews(struct elastic_crews *crews, int faults, struct error *err)
{
    const struct elastic_kit *kit = crews->from->kit;
    struct elastic_set set;
    int live[ELASTIC_MAX_KINDS] = {0};
    for (int n = 0; n < crews->from->node_count; n++)
        if (crews->out->after.owner[n] != ELASTIC_GONE)
            live[elastic_kind_of(kit, n)]++;
    bool made = false;
    for (; !made; faults--) {
        made = elastic_instances(&set, kit, live, faults, err);
        if (!made && (err->kind != ERROR_INFEASIBLE || faults == 0))
            return false;
    }
    /* whole instances that are in the set stay; all other nodes are free */
    for (size_t i = 0; i < crews->count; i++) {
        struct elastic_crew *crew = &crews->crews[i];
        int shape = crews->from->instances[i].shape;
        if (!crew->broken && set.counts[shape] > 0) {
            set.counts[shape]--;
            crew->shape = shape;
            continue;
        }
        /* nodes that hold something come before spares */
        memmove(crews->spares + crew->count, crews->spares,
                (size_t)crews->spare_count * sizeof *crews->spares);
        for (int n = 0; n < crew->count; n++)
            crews->spares[n] = crew->nodes[n];
        crews->spare_count += crew->count;
        crew->count = 0;
    }
    bool ok = true;
    for (int t = kit->shape_count - 1; ok && t >= 0; t--)
        for (int i = 0; ok && i < set.counts[t]; i++) {
            ok = add_crew(crews, -1, err);
            if (ok)
                crews->crews[crews->count - 1].shape = t;
            for (int k = 0; ok && k < kit->kind_count; k++)
                for (int n = 0; n < kit->shapes[t].need[k]; n++) {
                    struct elastic_crew *crew = &crews->crews[crews->count - 1];
                    enlist(crews, crew, take_spare(crews, k));
                }
            if (ok)
                step(crews, &crews->crews[crews->count - 1], "a new instance takes %s", kit->shapes[t].name);
            crews->out->outcome.added++;
        }
    elastic_set_release(&set);
    return ok && crews->failed ? error_memory(err) : ok;
}
