/* The memory traffic of fusions with the memory around them; values inside are not in memory.
 *
 * XLA's base rules look at the users of each parameter. The GPU's follow the use of elements from the
 * root up: an operation that is not elementwise reads a share of its operand's elements (a slice less
 * than all, a broadcast each many times), and the operations that compute an operand run as often. */
#include "cost/count/rules.h"

#include <math.h>
#include <string.h>

#define MAX_ROOTS ((int64_t)1 << 26) /* entries of a fusion's sets: a bound on memory */

/* ---- Uses: GpuHloCostAnalysis::FusionCalculateUtilizations ---- */

/* How the instructions of a fusion use one another, from its root up; each entry by index. */
struct count_uses {
    double *use;     /* share of its elements computed; over 1 if some are recomputed */
    double *emitted; /* copies of it in the code */
    double *root_use, *root_emitted;
    struct count_roots {
        int count;
        int *at; /* sorted: instructions from which only elementwise ones lead to this one */
    } * roots;
};

static bool same_dimensions(const struct hlo_shape *a, const struct hlo_shape *b)
{
    if (!hlo_dims_match(a, b, -1) || a->type == HLO_TYPE_TUPLE || b->type == HLO_TYPE_TUPLE)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (hlo_minor(a, i) != hlo_minor(b, i))
            return false;
    return true;
}

/* Returns whether each element comes from the elements of the operands at the same position, or the
 * result is a tuple. */
static bool passes_elements(const struct module_count *count, const struct hlo_instruction *in)
{
    switch (in->opcode) {
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
        return true;
    case HLO_BITCAST:
        return count->rules != COUNT_XLA_FORK && same_dimensions(in->shape, in->operands[0]->shape);
    default:
        return count_is_elementwise(count->elementwise, in);
    }
}

static int merge(const struct count_roots *a, const struct count_roots *b, int *at)
{
    int i = 0, j = 0, count = 0;
    while (i < a->count || j < b->count) {
        if (j == b->count || (i < a->count && a->at[i] < b->at[j]))
            at[count++] = a->at[i++];
        else if (i == a->count || b->at[j] < a->at[i])
            at[count++] = b->at[j++];
        else {
            at[count++] = a->at[i++];
            j++;
        }
    }
    return count;
}

static bool holds(const struct count_roots *roots, const struct count_roots *others)
{
    int i = 0;
    for (int j = 0; j < others->count; j++) {
        while (i < roots->count && roots->at[i] < others->at[j])
            i++;
        if (i == roots->count || roots->at[i] != others->at[j])
            return false;
    }
    return true;
}

/* roots = roots united with others; sets that have become equal share their memory. */
static bool add_roots(struct count_roots *roots, const struct count_roots *others, struct arena *scratch,
                      int64_t *entries)
{
    if (holds(roots, others))
        return true;
    if (holds(others, roots)) {
        *roots = *others;
        return true;
    }
    int64_t room = (int64_t)roots->count + others->count;
    int *at = (*entries += room) <= MAX_ROOTS ? ARENA_ARRAY(scratch, (size_t)room, int) : NULL;
    if (!at)
        return false;
    roots->count = merge(roots, others, at);
    roots->at = at;
    return true;
}

/* Returns the share rounded up to whole elements: dynamic slices make it an average. The margin keeps a
 * whole number that division made a little larger. */
static double whole_elements(double share, double elements)
{
    if (!(elements > 0))
        return 0;
    double read = share * elements;
    return ceil(read - read * 1e-9) / elements;
}

static bool add_root(struct count_roots *roots, int root, struct arena *scratch, int64_t *entries)
{
    int *at = ARENA_NEW(scratch, int);
    if (!at)
        return false;
    *at = root;
    return add_roots(roots, &(struct count_roots){1, at}, scratch, entries);
}

static bool use_operand(struct count_uses *uses, const struct module_count *count,
                        const struct hlo_instruction *user, const struct instruction_count *user_count,
                        int operand, struct arena *scratch, int64_t *entries)
{
    const struct hlo_instruction *used = user->operands[operand];
    if (passes_elements(count, user))
        return add_roots(&uses->roots[used->index], &uses->roots[user->index], scratch, entries);
    double share = uses->use[user->index] * user_count->operand_use[operand];
    uses->root_use[used->index] += whole_elements(share, count_elements(used->shape));
    uses->root_emitted[used->index] += uses->emitted[user->index];
    return add_root(&uses->roots[used->index], used->index, scratch, entries);
}

static bool new_uses(struct count_uses *uses, size_t count, struct arena *scratch)
{
    uses->use = ARENA_ARRAY(scratch, count, double);
    uses->emitted = ARENA_ARRAY(scratch, count, double);
    uses->root_use = ARENA_ARRAY(scratch, count, double);
    uses->root_emitted = ARENA_ARRAY(scratch, count, double);
    uses->roots = ARENA_ARRAY(scratch, count, struct count_roots);
    return uses->use && uses->emitted && uses->root_use && uses->root_emitted && uses->roots;
}

static bool count_uses_find(struct count_uses *uses, const struct module_count *count,
                            const struct hlo_computation *fused, struct arena *scratch, struct error *err)
{
    const struct instruction_count *counts = count->computations[fused->index];
    int root = fused->root->index;
    int64_t entries = 0;
    if (!new_uses(uses, (size_t)fused->count, scratch) ||
        !add_root(&uses->roots[root], root, scratch, &entries))
        return error_memory(err);
    uses->root_use[root] = uses->root_emitted[root] = 1;
    for (int i = fused->count - 1; i >= 0; i--) {
        const struct hlo_instruction *user = fused->instructions[i];
        for (int j = 0; j < uses->roots[i].count; j++) {
            uses->use[i] += uses->root_use[uses->roots[i].at[j]];
            uses->emitted[i] += uses->root_emitted[uses->roots[i].at[j]];
        }
        for (int j = 0; j < user->operand_count; j++)
            if (!use_operand(uses, count, user, &counts[i], j, scratch, &entries))
                return error_set(err, ERROR_FAILED, "'%s' is too tangled to count", fused->name);
    }
    return true;
}

/* ---- Reads of a parameter: HloCostAnalysis::FusionParameterReadBytes ---- */

/* The bytes that users read of a value; some share one read of the whole. */
struct read_sum {
    double whole, bytes;
    bool shared;
};

static void read_whole(struct read_sum *reading)
{
    if (!reading->shared)
        reading->bytes += reading->whole;
    reading->shared = true;
}

/* Adds the read of a user that takes only a part, or overwrites one in place; returns false for others. */
static bool read_part(struct read_sum *reading, const struct hlo_instruction *value,
                      const struct hlo_instruction *user)
{
    switch (user->opcode) {
    case HLO_SLICE:
        reading->bytes += (double)hlo_bytes(user->shape);
        return true;
    case HLO_DYNAMIC_SLICE:
        if (user->operands[0] == value)
            reading->bytes += (double)hlo_bytes(user->shape);
        else
            read_whole(reading);
        return true;
    case HLO_DYNAMIC_UPDATE_SLICE:
        if (user->operands[0] != value)
            read_whole(reading);
        return true;
    default:
        return false;
    }
}

/* A nested fusion reads the bytes that its own users take of it, if it hands its parameter through. */
static double nested_reads(const struct counter *c, const struct hlo_users *users, double whole,
                           const struct hlo_instruction *fusion, int operand)
{
    const struct hlo_computation *nested = fusion->callees[0];
    const struct count_sum *sum = &c->sums[nested->index];
    if (operand >= nested->parameter_count || !sum->parameter_reads)
        return whole;
    const struct hlo_instruction *root = nested->root;
    bool simple = root->operand_count == 0 || root->operands[0] == nested->parameters[operand];
    struct read_sum reading = {.whole = (double)hlo_bytes(fusion->shape)};
    for (int i = users->start[fusion->index]; i < users->start[fusion->index + 1]; i++) {
        if ((simple && read_part(&reading, fusion, users->at[i])) || reading.shared)
            continue;
        reading.shared = true;
        reading.bytes += sum->parameter_reads[operand];
    }
    return reading.bytes;
}

static double value_reads(const struct counter *c, const struct hlo_users *users,
                          const struct hlo_instruction *value)
{
    struct read_sum reading = {.whole = (double)hlo_bytes(value->shape)};
    for (int i = users->start[value->index]; i < users->start[value->index + 1]; i++) {
        const struct hlo_instruction *user = users->at[i];
        if (user->opcode == HLO_FUSION && user->callee_count) {
            for (int j = 0; j < user->operand_count; j++)
                if (user->operands[j] == value)
                    reading.bytes += nested_reads(c, users, reading.whole, user, j);
        } else if (user->opcode == HLO_BROADCAST || user->opcode == HLO_RESHAPE) {
            reading.bytes += reading.whole;
        } else if (!read_part(&reading, value, user)) {
            read_whole(&reading);
        }
    }
    return reading.bytes;
}

/* ---- The fusion ---- */

struct fusion_context {
    const struct counter *c;
    const struct hlo_computation *fused;
    struct hlo_users users;
    struct count_uses uses; /* of the GPU's rules */
    struct arena scratch;
};

static double reads(const struct fusion_context *f, const struct hlo_instruction *value)
{
    if (!f->c->gpu)
        return value_reads(f->c, &f->users, value);
    double use = f->uses.use[value->index];
    return round((double)hlo_bytes(value->shape) * (f->c->repeated ? use : fmin(use, 1)));
}

/* Reads a tuple leaf by leaf, each through the get-tuple-element that takes it out. If there is none, the
 * tuple around it stands for it. */
static bool leaf_reads(struct fusion_context *f, const struct hlo_shape *shape,
                       const struct hlo_instruction *value, double *bytes)
{
    if (shape->type != HLO_TYPE_TUPLE) {
        *bytes += reads(f, value);
        return true;
    }
    const struct hlo_instruction **taken =
        ARENA_ARRAY(&f->scratch, (size_t)shape->part_count, const struct hlo_instruction *);
    if (!taken)
        return false;
    for (int i = f->users.start[value->index]; i < f->users.start[value->index + 1]; i++) {
        const struct hlo_instruction *user = f->users.at[i];
        int64_t index = user->attributes->index;
        if (user->opcode == HLO_GET_TUPLE_ELEMENT && index >= 0 && index < shape->part_count && !taken[index])
            taken[index] = user;
    }
    for (int i = 0; i < shape->part_count; i++)
        if (!leaf_reads(f, shape->parts[i], taken[i] ? taken[i] : value, bytes))
            return false;
    return true;
}

static bool count_parameters(struct fusion_context *f, const struct hlo_instruction *fusion,
                             struct instruction_count *n)
{
    struct count_sum *sum = &f->c->sums[f->fused->index];
    sum->parameter_reads = ARENA_ARRAY(f->c->scratch, (size_t)f->fused->parameter_count, double);
    if (!sum->parameter_reads)
        return false;
    for (int i = 0; i < f->fused->parameter_count; i++) {
        const struct hlo_instruction *parameter = f->fused->parameters[i];
        double bytes = 0;
        if (!leaf_reads(f, parameter->shape, parameter, &bytes))
            return false;
        sum->parameter_reads[i] = f->c->gpu ? 0 : value_reads(f->c, &f->users, parameter);
        n->bytes += bytes;
        count_set_operand(fusion, n, i, bytes);
        if (i < fusion->operand_count)
            n->operand_use[i] = f->c->gpu ? f->uses.use[parameter->index] : 1;
    }
    return true;
}

/* An output that is updated in place writes the update, and the place needs no reading. */
static double written_bytes(const struct fusion_context *f, const struct hlo_instruction *producer,
                            const struct hlo_shape *shape)
{
    if (producer->opcode != HLO_DYNAMIC_UPDATE_SLICE || shape->type == HLO_TYPE_TUPLE)
        return count_leaf_bytes(shape);
    count_of(f->c, f->fused)[producer->index].operand_use[0] = 0;
    return (double)hlo_bytes(producer->operands[1]->shape);
}

static void count_output(const struct fusion_context *f, const struct hlo_instruction *fusion,
                         struct instruction_count *n)
{
    const struct hlo_instruction *root = f->fused->root;
    double bytes = 0;
    if (root->opcode == HLO_TUPLE && fusion->shape->part_count == root->operand_count)
        for (int i = 0; i < root->operand_count; i++)
            bytes += written_bytes(f, root->operands[i], fusion->shape->parts[i]);
    else
        bytes = written_bytes(f, root, fusion->shape);
    n->output_bytes = bytes;
    n->bytes = bytes;
}

/* Constants of one element, and on a GPU slightly larger ones, are part of the code. */
static void count_constants(const struct fusion_context *f, struct instruction_count *n)
{
    double max = f->c->gpu ? 8 : 1;
    for (int i = 0; i < f->fused->count; i++) {
        const struct hlo_instruction *constant = f->fused->instructions[i];
        if (constant->opcode != HLO_CONSTANT || (double)hlo_elements(constant->shape) <= max)
            continue;
        double use = f->c->gpu ? f->uses.use[i] : 1;
        n->bytes += (double)hlo_bytes(constant->shape) * (f->c->repeated ? use : fmin(use, 1));
    }
}

/* An instruction that is computed several times takes that many times the operations. */
static void count_uses(const struct fusion_context *f, struct instruction_count *n)
{
    const struct instruction_count *counts = count_of(f->c, f->fused);
    n->flops = n->emitted = 0;
    for (int i = 0; i < f->fused->count; i++) {
        n->flops += f->uses.use[i] * counts[i].flops;
        n->emitted += f->uses.emitted[i];
    }
}

static bool count_fused(struct fusion_context *f, const struct hlo_instruction *fusion,
                        struct instruction_count *n)
{
    const struct count_sum *sum = &f->c->sums[f->fused->index];
    n->flops = sum->flops;
    n->transcendentals = sum->transcendentals;
    n->transferred = sum->transferred;
    n->unknown = sum->unknown;
    count_output(f, fusion, n);
    if (f->c->gpu) {
        if (!count_uses_find(&f->uses, f->c->out, f->fused, &f->scratch, f->c->err))
            return false;
        count_uses(f, n);
    }
    count_constants(f, n);
    return (hlo_find_users(&f->users, f->fused->instructions, f->fused->count, &f->scratch) &&
            count_parameters(f, fusion, n)) ||
           error_memory(f->c->err);
}

/* A custom fusion around a gather or a scatter is one. */
static bool count_custom(const struct counter *c, const struct hlo_instruction *fusion,
                         struct instruction_count *n)
{
    const struct hlo_computation *fused = fusion->callees[0];
    for (int i = 0; i < fused->count; i++) {
        const struct hlo_instruction *in = fused->instructions[i];
        if (in->opcode == HLO_GATHER) {
            count_gather(in, fusion, n);
            return true;
        }
        if (in->opcode == HLO_SCATTER) {
            count_scatter(c, in, fusion, n);
            return true;
        }
    }
    return false;
}

static void copy_counts(struct instruction_count *n, const struct count_sum *sum)
{
    struct instruction_count copy = *sum->fused;
    copy.operand_bytes = n->operand_bytes;
    copy.operand_use = n->operand_use;
    *n = copy;
    memcpy(n->operand_bytes, sum->fused->operand_bytes,
           (size_t)sum->fused_operands * sizeof *n->operand_bytes);
    memcpy(n->operand_use, sum->fused->operand_use, (size_t)sum->fused_operands * sizeof *n->operand_use);
}

bool count_fusion(const struct counter *c, const struct hlo_instruction *fusion, struct instruction_count *n)
{
    if (!fusion->callee_count)
        return true;
    if (fusion->attributes->fusion_kind == HLO_FUSION_CUSTOM && count_custom(c, fusion, n))
        return true;
    struct count_sum *sum = &c->sums[fusion->callees[0]->index];
    if (sum->fused && sum->fused_operands == fusion->operand_count) {
        copy_counts(n, sum);
        return true;
    }
    struct fusion_context f = {.c = c, .fused = fusion->callees[0]};
    bool done = count_fused(&f, fusion, n);
    arena_release(&f.scratch);
    sum->fused = n;
    sum->fused_operands = fusion->operand_count;
    return done;
}
