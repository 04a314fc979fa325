/* Finds the readers of each value, through views. Values computed from constants are left out. */
#include "cost/derive/fuse_group.h"

#include "core/stop.h"

enum demand { DEMAND_RESULT = 1, DEMAND_PRODUCT = 2, DEMAND_BUFFER = 4 };

static bool is_expanding(const struct hlo_instruction *in)
{
    return in->opcode == HLO_BROADCAST && hlo_elements(in->shape) > hlo_elements(in->operands[0]->shape);
}

/* Returns whether it changes the order of dimensions longer than 1. */
static bool is_moving(const struct hlo_instruction *in)
{
    if (in->opcode != HLO_TRANSPOSE)
        return false;
    int64_t before = -1;
    const struct hlo_ints *order = &in->attributes->dimensions;
    for (int i = 0; i < order->count; i++) {
        if (in->shape->dims[i] <= 1)
            continue;
        if (order->at[i] < before)
            return true;
        before = order->at[i];
    }
    return false;
}

/* Returns whether a value that `user` reads must be in memory, in order. Products read transposed and
 * sliced operands as they are. */
static unsigned demand_of(const struct fuser *f, const unsigned *demands, const struct hlo_instruction *user,
                          int operand)
{
    switch (f->nodes[user->index].class) {
    case OP_VIEW: /* where a slice begins is no part of it */
        return operand == 0 || user->opcode != HLO_DYNAMIC_SLICE ? demands[user->index] : 0;
    case OP_PRODUCT:
    case OP_ATTENTION:
        return DEMAND_PRODUCT;
    case OP_MOVE:
        return user->opcode == HLO_DYNAMIC_UPDATE_SLICE && operand == 0 ? DEMAND_BUFFER : 0;
    case OP_ELEMENTWISE:
    case OP_REDUCE:
    case OP_INPUT:
        return 0;
    case OP_LOOP: /* constants begin in the loop's own memory, and the host counts */
        return f->nodes[user->operands[operand]->index].folded ||
                       (hlo_elements(user->operands[operand]->shape) == 1 &&
                        !hlo_type_is_float(user->operands[operand]->shape->type))
                   ? 0
                   : DEMAND_BUFFER;
    default:
        return DEMAND_BUFFER;
    }
}

static bool must_be_in_memory(const struct hlo_instruction *view, unsigned demand)
{
    if (is_expanding(view))
        return demand != 0;
    return (is_moving(view) || view->opcode == HLO_SLICE || view->opcode == HLO_DYNAMIC_SLICE) &&
           demand & (DEMAND_RESULT | DEMAND_BUFFER);
}

/* Of instructions before `first` nothing is asked: they have run. */
static void find_demands(struct fuser *f, unsigned *demands)
{
    const struct op_graph *graph = f->graph;
    for (int i = 0; i < graph->root_count; i++)
        demands[graph->roots[i]->index] |= DEMAND_RESULT;
    for (int i = graph->count; i-- > f->first;) {
        struct fuse_node *node = &f->nodes[i];
        const struct hlo_instruction *in = graph->at[i];
        if (stop_wanted_at((size_t)i))
            break;
        if (node->folded && demands[i] && node->class != OP_INPUT)
            node->folded = false;
        if (node->class == OP_VIEW && !node->folded && must_be_in_memory(in, demands[i]))
            node->class = OP_MOVE;
        if (in->opcode == HLO_CONVERT && demands[i] == DEMAND_PRODUCT && !node->folded &&
            hlo_type_bits(in->operands[0]->shape->type) <= 8 && hlo_type_bits(in->shape->type) == 16)
            node->class = OP_VIEW; /* widened where it is multiplied */
        for (int o = 0; o < in->operand_count; o++)
            demands[in->operands[o]->index] |= demand_of(f, demands, in, o);
    }
}

static void classify(struct fuser *f)
{
    for (int i = 0; i < f->graph->count; i++) {
        const struct hlo_instruction *in = f->graph->at[i];
        struct fuse_node *node = &f->nodes[i];
        if (stop_wanted_at((size_t)i))
            break;
        node->class = op_class(in);
        node->group = node->next = -1;
        node->escapes = f->kept && f->kept[i];
        bool simple = node->class == OP_VIEW || node->class == OP_ELEMENTWISE || node->class == OP_MOVE;
        bool made = in->opcode == HLO_IOTA || in->operand_count > 0;
        node->folded = op_is_splat(in) || (simple && made && in->opcode != HLO_RNG);
        for (int o = 0; node->folded && o < in->operand_count; o++)
            node->folded = f->nodes[in->operands[o]->index].folded;
        if (in->opcode == HLO_DYNAMIC_SLICE && !node->folded && fuse_is_placed(f, in, 1))
            node->class = OP_VIEW;
    }
}

/* A view's base is its operand's; of several views in a row the narrowest counts. */
static void find_bases(struct fuser *f)
{
    for (int i = 0; i < f->graph->count; i++) {
        const struct hlo_instruction *in = f->graph->at[i];
        struct fuse_node *node = &f->nodes[i];
        if (stop_wanted_at((size_t)i))
            break;
        node->base = node->part = i;
        node->bytes = hlo_leaf_bytes(in->shape);
        if (node->class != OP_VIEW)
            continue;
        const struct fuse_node *of = &f->nodes[in->operands[0]->index];
        node->base = of->base;
        node->part = of->part;
        node->moved = of->moved || is_moving(in);
        if (of->bytes <= node->bytes)
            node->bytes = of->bytes;
        else
            node->part = i;
    }
}

static bool add_edge(struct fuser *f, const struct fuse_node *read)
{
    f->edges = arena_grow(f->arena, f->edges, f->edge_count, &f->edge_room, sizeof *f->edges);
    if (!f->edges)
        return error_memory(f->err);
    f->edges[f->edge_count++] = (struct fuse_edge){read->base, read->part, read->bytes, read->moved};
    return true;
}

/* A reader that takes only some elements of its first operand reads as many as it makes; an update in
 * place reads none. */
static void narrow_edge(struct fuser *f, const struct hlo_instruction *reader)
{
    struct fuse_edge *edge = &f->edges[f->edge_count - 1];
    bool update = reader->opcode == HLO_DYNAMIC_UPDATE_SLICE;
    if (!update && reader->opcode != HLO_DYNAMIC_SLICE && reader->opcode != HLO_GATHER)
        return;
    int64_t bytes = update ? 0 : hlo_bytes(reader->shape);
    if (bytes < edge->bytes) {
        edge->bytes = bytes;
        edge->part = reader->index;
    }
}

static bool add_operand(struct fuser *f, const struct hlo_instruction *operand)
{
    const struct fuse_node *node = &f->nodes[operand->index];
    if (operand->opcode == HLO_TUPLE) {
        for (int i = 0; i < operand->operand_count; i++)
            if (!add_operand(f, operand->operands[i]))
                return false;
        return true;
    }
    return node->folded || add_edge(f, node);
}

static bool add_edges(struct fuser *f)
{
    for (int i = f->first; i < f->graph->count; i++)
        f->edge_room += f->graph->at[i]->operand_count;
    f->edges = ARENA_ARRAY(f->arena, (size_t)f->edge_room, struct fuse_edge);
    for (int i = 0; i < f->graph->count; i++) {
        const struct hlo_instruction *in = f->graph->at[i];
        struct fuse_node *node = &f->nodes[i];
        if (stop_obeyed_at((size_t)i, f->err))
            return false;
        node->edge_first = f->edge_count;
        for (int o = 0; fuse_runs(f, i) && o < in->operand_count; o++) {
            int before = f->edge_count;
            if (!add_operand(f, in->operands[o]))
                return false;
            if (o == 0 && f->edge_count > before)
                narrow_edge(f, in);
        }
        node->edge_count = f->edge_count - node->edge_first;
    }
    return true;
}

static bool add_readers(struct fuser *f)
{
    f->readers = ARENA_ARRAY(f->arena, (size_t)f->edge_count + 1, int);
    if (!f->readers)
        return error_memory(f->err);
    int sum = 0;
    for (int e = 0; e < f->edge_count; e++)
        f->nodes[f->edges[e].base].reader_count++;
    for (int i = 0; i < f->graph->count; i++) {
        if (stop_obeyed_at((size_t)i, f->err))
            return false;
        f->nodes[i].reader_first = sum;
        sum += f->nodes[i].reader_count;
        f->nodes[i].reader_count = 0;
    }
    for (int i = 0; i < f->graph->count; i++) {
        if (stop_obeyed_at((size_t)i, f->err))
            return false;
        for (int e = 0; e < f->nodes[i].edge_count; e++) {
            struct fuse_node *base = &f->nodes[f->edges[f->nodes[i].edge_first + e].base];
            f->readers[base->reader_first + base->reader_count++] = i;
        }
    }
    return true;
}

/* A result that is a view of something is that something in memory. */
static void mark_results(struct fuser *f)
{
    for (int i = 0; i < f->graph->root_count; i++)
        f->nodes[f->nodes[f->graph->roots[i]->index].base].escapes = true;
    for (int i = 0; i < f->graph->count; i++)
        if (f->nodes[i].escapes)
            f->nodes[f->nodes[i].base].escapes = true;
}

bool fuse_find_edges(struct fuser *f)
{
    size_t count = (size_t)f->graph->count + 1;
    f->nodes = ARENA_ARRAY(f->arena, count, struct fuse_node);
    unsigned *demands = ARENA_ARRAY(f->arena, count, unsigned);
    if (!f->nodes || !demands)
        return error_memory(f->err);
    classify(f);
    find_demands(f, demands);
    find_bases(f);
    mark_results(f);
    return add_edges(f) && add_readers(f);
}
