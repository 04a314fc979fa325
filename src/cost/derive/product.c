/* The gradients of products: two each. */
#include "cost/derive/work.h"

typedef struct hlo_instruction *value;

/* The dimensions of one operand of a dot. */
struct side {
    int batch, contracted, free;
    int64_t batches[HLO_MAX_RANK], contractions[HLO_MAX_RANK],
        frees[HLO_MAX_RANK]; /* ascending: the last two */
    const struct hlo_ints *batch_dims, *contracted_dims;
};

static struct side side_of(const struct hlo_shape *shape, const struct hlo_ints *batch,
                           const struct hlo_ints *contracted)
{
    struct side side = {.batch_dims = batch, .contracted_dims = contracted};
    for (int i = 0; i < batch->count; i++)
        side.batches[side.batch++] = batch->at[i];
    for (int i = 0; i < shape->rank; i++)
        if (hlo_ints_have(*contracted, i))
            side.contractions[side.contracted++] = i;
        else if (!hlo_ints_have(*batch, i))
            side.frees[side.free++] = i;
    return side;
}

static struct hlo_ints from_to(struct op_graph *graph, int first, int count)
{
    int64_t dims[HLO_MAX_RANK];
    for (int i = 0; i < count; i++)
        dims[i] = first + i;
    return op_graph_ints(graph, count, dims);
}

static int place_of(int64_t dim, const int64_t *dims, int count)
{
    for (int i = 0; i < count; i++)
        if (dims[i] == dim)
            return i;
    return 0;
}

/* Returns the gradient of `of`: the product of the dot's gradient with `other`, its other operand, summed
 * over the dimensions that only `other` has. The dot's dimensions are batch, free of the left, free of
 * the right. */
static value operand_gradient(struct op_graph *graph, value gradient, value of, value other,
                              const struct side *mine, const struct side *theirs, bool left,
                              const struct hlo_attributes *like)
{
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    struct hlo_ints batch = from_to(graph, 0, mine->batch);
    struct hlo_ints summed = from_to(graph, mine->batch + (left ? mine->free : 0), theirs->free);
    struct hlo_ints others = op_graph_ints(graph, theirs->free, theirs->frees);
    attributes->algorithm = like->algorithm;
    attributes->products = like->products;
    attributes->lhs_batch = left ? batch : *theirs->batch_dims;
    attributes->rhs_batch = left ? *theirs->batch_dims : batch;
    attributes->lhs_contracting = left ? summed : others;
    attributes->rhs_contracting = left ? others : summed;
    int64_t dims[HLO_MAX_RANK], order[HLO_MAX_RANK];
    int rank = 0, first = mine->batch + (left ? 0 : theirs->contracted);
    int contracted = mine->batch + (left ? mine->free : 0);
    for (int i = 0; i < mine->batch; i++)
        dims[rank++] = of->shape->dims[mine->batches[i]];
    for (int i = 0; left && i < mine->free; i++)
        dims[rank++] = of->shape->dims[mine->frees[i]];
    for (int i = 0; i < theirs->contracted; i++)
        dims[rank++] = other->shape->dims[theirs->contractions[i]];
    for (int i = 0; !left && i < mine->free; i++)
        dims[rank++] = of->shape->dims[mine->frees[i]];
    for (int i = 0; i < mine->batch; i++)
        order[mine->batches[i]] = i;
    for (int i = 0; i < mine->free; i++)
        order[mine->frees[i]] = first + i;
    for (int i = 0; i < mine->contracted; i++) /* in pairs, as the dot gives them */
        order[mine->contracted_dims->at[i]] =
            contracted + place_of(theirs->contracted_dims->at[i], theirs->contractions, theirs->contracted);
    const struct hlo_shape *shape = op_graph_shape(graph, of->shape->type, rank, dims);
    value dot = op_graph_make(graph, HLO_DOT, shape, 2,
                              left ? (value[]){gradient, other} : (value[]){other, gradient}, attributes);
    return op_graph_transpose(graph, dot, order);
}

static void derive_dot(struct deriver *d, value dot, value gradient)
{
    value lhs = dot->operands[0], rhs = dot->operands[1];
    const struct hlo_attributes *attributes = dot->attributes;
    struct side left = side_of(lhs->shape, &attributes->lhs_batch, &attributes->lhs_contracting);
    struct side right = side_of(rhs->shape, &attributes->rhs_batch, &attributes->rhs_contracting);
    /* gradients are multiplied in the type of the operands, however the sums are kept */
    if (d->needs[lhs->index])
        derive_give(d, lhs,
                    operand_gradient(d->graph, op_graph_convert(d->graph, gradient, rhs->shape->type), lhs,
                                     rhs, &left, &right, true, attributes));
    if (d->needs[rhs->index])
        derive_give(d, rhs,
                    operand_gradient(d->graph, op_graph_convert(d->graph, gradient, lhs->shape->type), rhs,
                                     lhs, &right, &left, false, attributes));
}

/* Of experts, the gradient of rows reads as many of them as the `forward` product. */
static value product(struct op_graph *graph, const struct hlo_shape *shape, value a, value b, int64_t batch,
                     int64_t m, int64_t n, int64_t k, const struct op_product *forward,
                     const struct hlo_attributes *of)
{
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    attributes->target = OP_TARGET_PRODUCT;
    attributes->algorithm = of->algorithm;
    attributes->products = of->products;
    int64_t unread = forward ? (int64_t)forward->unread : 0, groups = forward ? (int64_t)forward->groups : 0;
    attributes->sizes = op_graph_ints(graph, 6, (int64_t[]){batch, m, n, k, unread, groups});
    return op_graph_make(graph, HLO_CUSTOM_CALL, shape, 2, (value[]){a, b}, attributes);
}

/* As implicit GEMMs with as many operations as the forward one: rows are the input's positions for the
 * gradient of the input, the long dimension is the output's positions for that of the kernel. */
static void derive_sizes(struct deriver *d, value of, value gradient)
{
    value lhs = of->operands[0], rhs = of->operands[1];
    struct op_product p;
    if (!op_product_sizes(of, &p))
        return;
    gradient = op_graph_convert(d->graph, gradient, lhs->shape->type);
    int64_t m = p.size.m, n = p.size.k;
    if (of->opcode == HLO_CONVOLUTION) {
        int64_t features = hlo_labelled_size(lhs->shape, of->attributes->input_labels, HLO_LABEL_FEATURE);
        features = features ? features : 1;
        n = features / p.size.batch > 0 ? features / p.size.batch : 1;
        m = hlo_elements(lhs->shape) / features;
    }
    double k = (double)p.size.m / (double)m * (double)p.size.n * (double)p.size.k / (double)n;
    if (d->needs[lhs->index])
        derive_give(d, lhs,
                    product(d->graph, lhs->shape, gradient, rhs, p.size.batch, m, n, k < 1.0 ? 1 : (int64_t)k,
                            &p, of->attributes));
    if (d->needs[rhs->index])
        derive_give(d, rhs,
                    product(d->graph, rhs->shape, lhs, gradient, p.size.batch, p.size.n, p.size.k, p.size.m,
                            NULL, of->attributes));
}

/* A product that gives a matrix like `a`, or several. */
static value matrices(struct deriver *d, value a, value left, value right, int64_t k)
{
    int64_t m = a->shape->dims[a->shape->rank - 2], n = a->shape->dims[a->shape->rank - 1];
    return left && right ? product(d->graph, a->shape, left, right, hlo_elements(a->shape) / m / n, m, n,
                                   k > 0   ? k
                                   : m < n ? m
                                           : n,
                                   0, a->attributes)
                         : NULL;
}

/* As JAX's rules have it (jax/_src/lax/linalg.py): a solver solves again, and a product gives the gradient of its
 * matrix. A factorization takes a product and a solve, that of Cholesky two solves; the two steps of QR share what
 * is counted for each here. */
void derive_solver(struct deriver *d, value f, value gradient, bool solves)
{
    value a = f->operands[0], b = f->operands[solves];
    if (!solves)
        gradient = matrices(d, a, a, gradient, 0);
    for (int i = 0; i < (f->opcode == HLO_CHOLESKY ? 2 : 1); i++)
        gradient = op_graph_make(d->graph, HLO_TRIANGULAR_SOLVE, b->shape, 2, (value[]){a, gradient}, NULL);
    derive_give(d, b, gradient);
    if (solves && d->needs[a->index])
        derive_give(
            d, a,
            matrices(d, a, gradient, f,
                     hlo_elements(b->shape) * a->shape->dims[a->shape->rank - 1] / hlo_elements(a->shape)));
}

void derive_product(struct deriver *d, value of, value gradient)
{
    if (of->opcode == HLO_DOT)
        derive_dot(d, of, gradient);
    else
        derive_sizes(d, of, gradient);
}

/* One kernel, as FlashAttention has it (Dao 2023, arXiv:2307.08691, algorithm 2): from queries, keys, values,
 * the result and its gradient the gradients of the first three. */
void derive_attention(struct deriver *d, value attention, value gradient)
{
    const struct hlo_shape *tuple = op_graph_tuple_shape(d->graph, 3, attention->operands);
    struct hlo_attributes *attributes = op_graph_attributes(d->graph);
    attributes->target = OP_TARGET_ATTENTION_BACKWARD;
    attributes->sizes = attention->attributes->sizes;
    value *o = attention->operands;
    value backward = op_graph_make(d->graph, HLO_CUSTOM_CALL, tuple, 5,
                                   (value[]){o[0], o[1], o[2], attention, gradient}, attributes);
    for (int i = 0; i < 3; i++)
        derive_give(d, o[i], op_graph_tuple_part(d->graph, backward, i));
}
