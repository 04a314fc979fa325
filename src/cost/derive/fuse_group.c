/* Which instructions become one kernel. */
#include "cost/derive/fuse_group.h"

#include "core/stop.h"

#include <stdlib.h>

/* A row that a group of threads keeps at hand between reducing it and using the result: 64 Ki numbers, about
 * what a cluster's shared memory holds. Longer ones are read again by the next kernel. */
#define MAX_ROW ((int64_t)1 << 16)

/* Groups looked through for a way from one to another; where it takes more they stay apart. */
#define MAX_SEARCH 2048

/* ---- dimensions of reductions ---- */

/* [outer, width, inner] -> [outer, inner], when the reduced dimensions are neighbours. */
static bool reduced_dims(const struct hlo_instruction *reduce, struct fuse_group *group)
{
    const struct hlo_shape *shape = reduce->operands[0]->shape;
    int stage = 0; /* before, in, after the reduced dimensions */
    group->shape.outer = group->shape.width = group->shape.inner = 1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        bool reduced = hlo_ints_have(reduce->attributes->dimensions, i);
        if (dim == 1)
            continue;
        if (reduced ? stage == 2 : stage == 1)
            stage++;
        else if (reduced && stage == 0)
            stage = 1;
        if (stage > 2 || (reduced && stage == 2))
            return false;
        *(stage == 0 ? &group->shape.outer : stage == 1 ? &group->shape.width : &group->shape.inner) *= dim;
    }
    return true;
}

static enum fuse_reduction reduction_of(const struct hlo_instruction *in, struct fuse_group *group)
{
    if (in->opcode != HLO_REDUCE)
        return REDUCTION_NONE;
    bool rows = reduced_dims(in, group) && group->shape.width <= MAX_ROW &&
                (group->shape.outer > 1 || group->shape.inner == 1);
    return rows ? REDUCTION_ROWS : REDUCTION_ACROSS;
}

static int64_t row_count(const struct fuse_group *group)
{
    return group->shape.outer * group->shape.inner;
}

/* ---- the order of groups ---- */

/* Positions are a topological order of the groups. Joining keeps it up, as Pearce and Kelly 2006 do for
 * edges ("A dynamic topological sort algorithm for directed acyclic graphs"): only groups between the two
 * are visited and moved. */

struct search {
    struct fuse_reach *found;
    int count;
    int low, high; /* positions, both excluded */
    int target;    /* reached by way of another group: a cycle if the two were one */
    bool around;
};

static void reach(struct fuser *f, struct search *search, int from, int group)
{
    if (group < 0 || group == from)
        return;
    struct fuse_group *at = &f->groups[group];
    if (group == search->target && from >= 0)
        search->around = true;
    if (at->position <= search->low || at->position >= search->high || at->seen == f->search)
        return;
    at->seen = f->search;
    search->found[search->count++] = (struct fuse_reach){at->position, group};
}

static void reach_sources(struct fuser *f, struct search *search, int from, int of)
{
    for (int n = f->groups[of].head; n >= 0; n = f->nodes[n].next)
        for (int e = 0; e < f->nodes[n].edge_count; e++)
            reach(f, search, from, f->nodes[f->edges[f->nodes[n].edge_first + e].base].group);
}

static void reach_readers(struct fuser *f, struct search *search, int of)
{
    for (int n = f->groups[of].head; n >= 0; n = f->nodes[n].next)
        for (int r = 0; r < f->nodes[n].reader_count; r++)
            reach(f, search, -1, f->nodes[f->readers[f->nodes[n].reader_first + r]].group);
}

/* Returns whether the groups between two positions have fewer instructions than `limit`. */
static bool few_between(const struct fuser *f, int low, int high, int limit)
{
    if (high - low > limit)
        return false;
    for (int p = low + 1; p < high && limit > 0; p++)
        limit -= f->at_position[p] >= 0 ? f->groups[f->at_position[p]].count : 0;
    return limit > 0;
}

/* As reach_readers from `a` on, by the sources of the groups in between, in their order. */
static void reach_from_sources(struct fuser *f, struct search *search, int a)
{
    for (int p = search->low + 1; p < search->high; p++) {
        int group = f->at_position[p];
        bool found = false;
        for (int n = group < 0 ? -1 : f->groups[group].head; n >= 0 && !found; n = f->nodes[n].next)
            for (int e = 0; e < f->nodes[n].edge_count && !found; e++) {
                int source = f->nodes[f->edges[f->nodes[n].edge_first + e].base].group;
                found = source >= 0 && (source == a || f->groups[source].seen == f->search);
            }
        if (found)
            reach(f, search, -1, group);
    }
}

/* Finds the groups that must run between `a` and `b`. Returns false if a path leads from one to the other
 * through a third, or if it is too far to tell. */
static bool can_meet(struct fuser *f, int a, int b)
{
    int low = f->groups[a].position, high = f->groups[b].position;
    struct search back = {.found = f->before, .low = low, .high = high, .target = a};
    f->search++;
    reach_sources(f, &back, -1, b);
    for (int i = 0; i < back.count && !back.around; i++) {
        if (back.count > MAX_SEARCH)
            return false;
        reach_sources(f, &back, back.found[i].group, back.found[i].group);
    }
    if (back.around)
        return false;
    struct search ahead = {.found = f->after, .low = low, .high = high, .target = -1};
    bool few = few_between(f, low, high, f->groups[a].count);
    f->search++;
    if (few)
        reach_from_sources(f, &ahead, a);
    else
        reach_readers(f, &ahead, a);
    for (int i = 0; i < ahead.count; i++) {
        if (ahead.count > MAX_SEARCH)
            return false;
        if (!few)
            reach_readers(f, &ahead, ahead.found[i].group);
    }
    f->before_count = back.count;
    f->after_count = ahead.count;
    return true;
}

int fuse_by_position(const void *a, const void *b)
{
    const struct fuse_reach *x = a, *y = b;
    return (x->position > y->position) - (x->position < y->position);
}

static void place(struct fuser *f, int group, int position)
{
    f->groups[group].position = position;
    f->at_position[position] = group;
}

/* Orders the groups that `b` needs, the joined one, and the groups that need `a`, in the positions that all of them
 * had but the first, which stays empty: what grows stands next to what comes. */
static void reorder(struct fuser *f, int a, int b, int joined)
{
    int befores = f->before_count, afters = f->after_count;
    qsort(f->before, (size_t)befores, sizeof *f->before, fuse_by_position);
    qsort(f->after, (size_t)afters, sizeof *f->after, fuse_by_position);
    int places[2 * MAX_SEARCH + 2], count = 0, i = 0, j = 0;
    while (i < befores || j < afters) {
        bool left = j == afters || (i < befores && f->before[i].position < f->after[j].position);
        places[count++] = left ? f->before[i++].position : f->after[j++].position;
    }
    places[count] = f->groups[b].position;
    f->at_position[f->groups[a].position] = -1;
    count = 0;
    for (i = 0; i < befores; i++)
        place(f, f->before[i].group, places[count++]);
    place(f, joined, places[count++]);
    for (j = 0; j < afters; j++)
        place(f, f->after[j].group, places[count++]);
}

/* ---- may two groups be one? ---- */

static int64_t result_elements(const struct hlo_instruction *in)
{
    const struct hlo_shape *shape = in->shape;
    return hlo_elements(shape->part_count ? shape->parts[0] : shape);
}

/* Sums across rows are known after all rows have been read: only operations of the same size as the sums may follow.
 * Rows stay rows only in their order. */
static bool read_allows(const struct fuser *f, bool rows, const struct fuse_edge *edge, int reader)
{
    const struct fuse_node *base = &f->nodes[edge->base];
    if (rows && edge->moved)
        return false;
    int64_t elements = op_elements(f->graph->at[reader]), read = result_elements(f->graph->at[edge->base]);
    if (base->late && (f->nodes[reader].class == OP_REDUCE || elements > read))
        return false;
    return elements >= f->groups[base->group].elements || elements == read;
}

/* Checks every read of `a`'s results by `reader`. */
static bool reader_allows(const struct fuser *f, bool rows, int a, int reader)
{
    const struct fuse_edge *edges = &f->edges[f->nodes[reader].edge_first];
    for (int e = 0; e < f->nodes[reader].edge_count; e++)
        if (f->nodes[edges[e].base].group == a && !read_allows(f, rows, &edges[e], reader))
            return false;
    return true;
}

/* Checks every read of `a`'s results in `b`, from the side that has fewer instructions. */
static bool reads_allow(const struct fuser *f, int a, int b)
{
    bool rows =
        f->groups[a].shape.reduction == REDUCTION_ROWS || f->groups[b].shape.reduction == REDUCTION_ROWS;
    if (f->groups[b].count <= f->groups[a].count) {
        for (int n = f->groups[b].head; n >= 0; n = f->nodes[n].next)
            if (!reader_allows(f, rows, a, n))
                return false;
        return true;
    }
    for (int n = f->groups[a].head; n >= 0; n = f->nodes[n].next)
        for (int r = 0; r < f->nodes[n].reader_count; r++) {
            int reader = f->readers[f->nodes[n].reader_first + r];
            if (f->nodes[reader].group == b && !reader_allows(f, rows, a, reader))
                return false;
        }
    return true;
}

/* Returns whether all results of `a` are used in `b` alone. */
static bool only_read_by(const struct fuser *f, int a, int b)
{
    for (int n = f->groups[a].head; n >= 0; n = f->nodes[n].next) {
        const struct fuse_node *node = &f->nodes[n];
        if (node->escapes)
            return false;
        for (int r = 0; r < node->reader_count; r++) {
            int reader = f->nodes[f->readers[node->reader_first + r]].group;
            if (reader != a && reader != b)
                return false;
        }
    }
    return true;
}

/* Returns whether the sizes of two groups allow to join them. */
static bool sizes_allow(const struct fuser *f, int a, int b)
{
    const struct fuse_group *from = &f->groups[a], *to = &f->groups[b];
    bool plain = from->shape.reduction == REDUCTION_NONE && to->shape.reduction == REDUCTION_NONE;
    if (from->shape.kind == OP_PRODUCT || to->shape.kind == OP_PRODUCT)
        return from->shape.kind != to->shape.kind && plain && !from->gathers && !to->gathers &&
               from->elements == to->elements;
    if (from->elements == to->elements)
        return from->shape.reduction != REDUCTION_ROWS || to->shape.reduction != REDUCTION_ROWS ||
               (from->shape.outer == to->shape.outer && from->shape.width == to->shape.width &&
                from->shape.inner == to->shape.inner);
    if (from->elements > to->elements)
        return to->shape.reduction == REDUCTION_NONE &&
               (from->shape.reduction == REDUCTION_ACROSS ||
                (from->shape.reduction == REDUCTION_ROWS && to->elements == row_count(from)));
    return from->shape.reduction == REDUCTION_NONE &&
           ((to->shape.reduction == REDUCTION_ROWS && from->elements == row_count(to)) ||
            only_read_by(f, a, b));
}

static bool can_join(struct fuser *f, int a, int b)
{
    const struct fuse_group *from = &f->groups[a], *to = &f->groups[b];
    bool kinds = (from->shape.kind == OP_ELEMENTWISE || from->shape.kind == OP_PRODUCT) &&
                 (to->shape.kind == OP_ELEMENTWISE || to->shape.kind == OP_PRODUCT);
    return kinds && sizes_allow(f, a, b) && reads_allow(f, a, b) && reads_allow(f, b, a) &&
           (f->groups[a].position < f->groups[b].position ? can_meet(f, a, b) : can_meet(f, b, a));
}

/* Joins two groups: the larger takes the smaller one's nodes. Returns its number. Must follow can_join. */
static int join(struct fuser *f, int a, int b)
{
    bool ahead = f->groups[a].position < f->groups[b].position;
    int into = f->groups[a].count >= f->groups[b].count ? a : b, other = into == a ? b : a;
    struct fuse_group *to = &f->groups[into], *from = &f->groups[other];
    reorder(f, ahead ? a : b, ahead ? b : a, into);
    for (int n = from->head; n >= 0; n = f->nodes[n].next)
        f->nodes[n].group = into;
    f->nodes[to->tail].next = from->head;
    to->tail = from->tail;
    to->count += from->count;
    bool theirs = from->shape.kind == OP_PRODUCT ||
                  (to->shape.kind != OP_PRODUCT && from->shape.reduction == REDUCTION_ROWS &&
                   to->shape.reduction != REDUCTION_ROWS);
    if (theirs ||
        (to->shape.kind != OP_PRODUCT && to->shape.reduction == REDUCTION_NONE && from->shape.reduction)) {
        to->shape = from->shape;
    }
    if (from->elements > to->elements)
        to->elements = from->elements;
    to->gathers = to->gathers || from->gathers;
    from->head = from->tail = -1;
    from->count = 0;
    return into;
}

/* ---- the passes ---- */

static int new_group(struct fuser *f, int index)
{
    const struct hlo_instruction *in = f->graph->at[index];
    struct fuse_node *node = &f->nodes[index];
    bool joins = node->class == OP_ELEMENTWISE || node->class == OP_MOVE || node->class == OP_REDUCE;
    struct fuse_group *group = &f->groups[f->group_count];
    *group = (struct fuse_group){
        .shape.kind = joins ? OP_ELEMENTWISE : node->class,
        .elements = op_elements(in),
        .shape.hero = index,
        .head = index,
        .tail = index,
        .count = 1,
        .gathers = node->class == OP_MOVE && op_class(in) != OP_VIEW && in->opcode != HLO_RNG &&
                   in->opcode != HLO_IOTA &&
                   !(in->opcode == HLO_DYNAMIC_UPDATE_SLICE && fuse_is_placed(f, in, 2)),
        .position = index,
    };
    group->shape.reduction = reduction_of(in, group);
    node->group = f->group_count;
    f->at_position[index] = f->group_count;
    return f->group_count++;
}

static void find_late(struct fuser *f, int index)
{
    struct fuse_node *node = &f->nodes[index];
    node->late = f->groups[node->group].shape.reduction == REDUCTION_ACROSS;
    for (int e = 0; !node->late && e < node->edge_count; e++) {
        int base = f->edges[node->edge_first + e].base;
        node->late = f->nodes[base].late && node->class == OP_ELEMENTWISE &&
                     op_elements(f->graph->at[index]) <= result_elements(f->graph->at[base]);
    }
}

/* Joins an instruction to the groups of its operands, the latest first, which is the nearest. */
static void join_sources(struct fuser *f, int index)
{
    const struct fuse_node *node = &f->nodes[index];
    int bound = index;
    for (;;) {
        int latest = -1;
        for (int e = 0; e < node->edge_count; e++) {
            int base = f->edges[node->edge_first + e].base;
            if (base < bound && base > latest)
                latest = base;
        }
        if (latest < 0)
            return;
        bound = latest;
        int source = f->nodes[latest].group;
        if (source >= 0 && source != node->group && can_join(f, source, node->group))
            join(f, source, node->group);
    }
}

/* Returns whether a group makes wide numbers of narrow ones for a product alone, as of weights and their scales:
 * then the product does it itself (XLA's GemmFusion takes elementwise operations before a product where they read
 * less than they make). */
static bool widens(const struct fuser *f, int a, int product)
{
    int64_t read = 0, made = 0;
    bool narrow = false;
    for (int n = f->groups[a].head; n >= 0; n = f->nodes[n].next) {
        const struct hlo_instruction *in = f->graph->at[n];
        made = hlo_type_bits(in->shape->type) == 16 ? 2 * f->groups[a].elements : made;
        narrow |= in->opcode == HLO_CONVERT && hlo_type_bits(in->operands[0]->shape->type) <= 8;
        for (int e = 0; e < f->nodes[n].edge_count; e++) {
            const struct fuse_edge *edge = &f->edges[f->nodes[n].edge_first + e];
            read += f->nodes[edge->base].group == a ? 0 : edge->bytes;
        }
    }
    return narrow && f->groups[a].shape.kind == OP_ELEMENTWISE && !f->groups[a].shape.reduction &&
           !f->groups[a].gathers && 4 * read <= 3 * made && only_read_by(f, a, product);
}

static void join_widening(struct fuser *f, int index)
{
    const struct fuse_node *node = &f->nodes[index];
    int64_t elements = f->groups[node->group].elements;
    for (int e = 0; e < node->edge_count; e++) {
        int group = f->nodes[f->edges[node->edge_first + e].base].group;
        if (group >= 0 && group != node->group && widens(f, group, node->group) &&
            can_meet(f, group, node->group))
            f->groups[join(f, group, node->group)].elements = elements;
    }
}

/* Two groups of the same size that read the same array whole read it once when they are one. */
static void join_readers(struct fuser *f, int base)
{
    const struct fuse_node *node = &f->nodes[base];
    int64_t elements = hlo_elements(f->graph->at[base]->shape);
    int before = -1;
    for (int r = 0; r < node->reader_count; r++) {
        int group = f->nodes[f->readers[node->reader_first + r]].group;
        if (group < 0 || f->groups[group].shape.kind != OP_ELEMENTWISE ||
            f->groups[group].elements != elements)
            continue;
        if (before >= 0 && before != group && can_join(f, before, group))
            before = join(f, before, group);
        else
            before = group;
    }
}

bool fuse_find_groups(struct fuser *f)
{
    size_t count = (size_t)f->graph->count + 1;
    f->groups = ARENA_ARRAY(f->arena, count - (size_t)f->first, struct fuse_group);
    f->before = ARENA_ARRAY(f->arena, count - (size_t)f->first, struct fuse_reach);
    f->after = ARENA_ARRAY(f->arena, count - (size_t)f->first, struct fuse_reach);
    f->at_position = ARENA_ARRAY(f->arena, count, int);
    if (!f->groups || !f->before || !f->after || !f->at_position)
        return error_memory(f->err);
    for (size_t i = 0; i < count; i++)
        f->at_position[i] = -1;
    for (int i = f->first; i < f->graph->count; i++) {
        if (stop_obeyed_at((size_t)i, f->err))
            return false;
        if (!fuse_runs(f, i))
            continue;
        new_group(f, i);
        find_late(f, i);
        enum op_class kind = f->groups[f->nodes[i].group].shape.kind;
        if (kind == OP_ELEMENTWISE && !f->unfused)
            join_sources(f, i);
        else if (kind == OP_PRODUCT && !f->unfused)
            join_widening(f, i);
    }
    for (int i = 0; !f->unfused && i < f->graph->count; i++) {
        if (stop_obeyed_at((size_t)i, f->err))
            return false;
        if (f->nodes[i].class != OP_VIEW && f->nodes[i].reader_count > 1)
            join_readers(f, i);
    }
    return true;
}
