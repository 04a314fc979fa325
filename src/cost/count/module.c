#include "core/doc.h"
#include "core/once.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "cost/count/count.h"
#include "cost/count/custom_calls.h"
#include "cost/count/rules.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The built-in cycles of elementwise operations: data/op-cycles.yaml. */

extern const char data_op_cycles[];
extern const size_t data_op_cycles_size;

static struct {
    struct arena arena;
    struct op_cycles *tables;
    int count;
} built_in;

static bool read_types(const struct doc *doc, enum hlo_type types[HLO_TYPE_COUNT], struct error *err)
{
    const struct doc_node *list = doc_need(doc, doc->root, "types", err);
    if (!list || !doc_is_list(doc, list, err))
        return false;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        enum hlo_type type = hlo_type_find(node->text, node->length);
        if (type == HLO_TYPE_COUNT || node->index >= HLO_TYPE_COUNT)
            return doc_error(doc, node, err, "expected an element type of HLO");
        types[node->index] = type;
    }
    return true;
}

static bool read_row(struct op_cycles *table, const struct doc *doc, const struct doc_node *row,
                     const enum hlo_type *types, struct error *err)
{
    enum hlo_opcode opcode = hlo_opcode_find(row->key, strlen(row->key));
    if (opcode == HLO_OPCODE_COUNT)
        return doc_error(doc, row, err, "expected an operation of HLO");
    for (const struct doc_node *node = row->first_child; node; node = node->next) {
        int64_t cycles = 0;
        if (node->type != DOC_NULL && !doc_integer(doc, node, 1, 1 << 20, &cycles, err))
            return false;
        table->elementwise[opcode][types[node->index]] = (int32_t)cycles;
    }
    return true;
}

static bool read_table(struct op_cycles *table, const struct doc *doc, const struct doc_node *node,
                       const enum hlo_type *types, struct error *err)
{
    const struct doc_node *capability = doc_need(doc, node, "capability", err);
    const struct doc_node *cycles = doc_need(doc, node, "cycles", err);
    const struct doc_node *fork = doc_find(node, "fork");
    if (!capability || !cycles || !doc_string(doc, capability, &table->capability, err))
        return false;
    table->capability = arena_string(&built_in.arena, table->capability);
    table->fork = fork && fork->boolean;
    for (const struct doc_node *row = cycles->first_child; row; row = row->next)
        if (!read_row(table, doc, row, types, err))
            return false;
    return table->capability || error_memory(err);
}

static bool read_tables(const struct doc *doc, struct error *err)
{
    enum hlo_type types[HLO_TYPE_COUNT] = {0};
    const struct doc_node *profiles = doc_need(doc, doc->root, "profiles", err);
    if (!profiles || !read_types(doc, types, err))
        return false;
    struct op_cycles *tables = ARENA_ARRAY(&built_in.arena, profiles->count, struct op_cycles);
    if (!tables)
        return error_memory(err);
    for (const struct doc_node *node = profiles->first_child; node; node = node->next)
        if (!read_table(&tables[node->index], doc, node, types, err))
            return false;
    built_in.tables = tables;
    built_in.count = (int)profiles->count;
    return true;
}

static bool read_built_in(struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_JSON, "op-cycles.yaml", data_op_cycles, data_op_cycles_size, err))
        return false;
    bool done = read_tables(&doc, err);
    doc_release(&doc);
    if (!done)
        arena_release(&built_in.arena);
    return done;
}

static struct once once = ONCE_INIT;

/* Reads the tables once; lookups cannot fail afterwards. */
static bool op_cycles_read(struct error *err)
{
    return once_read(&once, read_built_in, err);
}

static const struct op_cycles *find(const char *capability, bool fork)
{
    for (int i = 0; i < built_in.count; i++) {
        const struct op_cycles *table = &built_in.tables[i];
        if (!strcmp(table->capability, capability) && (table->fork || !fork))
            return table;
    }
    return NULL;
}

const struct op_cycles *op_cycles_find(const char *capability, bool fork)
{
    once_needed(&once, read_built_in);
    const struct op_cycles *table = capability ? find(capability, fork) : NULL;
    return table ? table : find("sm_86", fork);
}

double count_elements(const struct hlo_shape *shape)
{
    if (shape->type != HLO_TYPE_TUPLE)
        return (double)hlo_elements(shape);
    double elements = 0;
    for (int i = 0; i < shape->part_count; i++)
        elements += count_elements(shape->parts[i]);
    return elements;
}

const struct hlo_shape *count_first(const struct hlo_shape *shape)
{
    return shape->type == HLO_TYPE_TUPLE && shape->part_count ? shape->parts[0] : shape;
}

double count_leaf_bytes(const struct hlo_shape *shape)
{
    if (shape->type != HLO_TYPE_TUPLE)
        return (double)hlo_bytes(shape);
    double bytes = 0;
    for (int i = 0; i < shape->part_count; i++)
        bytes += count_leaf_bytes(shape->parts[i]);
    return bytes;
}

int count_ceil_log2(double n)
{
    if (!(n > 1))
        return 0;
    int exponent;
    double fraction = frexp(n, &exponent); /* n = fraction x 2^exponent, fraction in [0.5, 1) */
    return fraction > 0.5 ? exponent : exponent - 1;
}

/* Counts output and operands as read and written whole, and no operations. */
static void count_default(const struct counter *c, const struct hlo_instruction *in,
                          struct instruction_count *n)
{
    /* A tuple's output was its table of pointers once, and is the sum of its arrays today. */
    bool fork = c->options.rules == COUNT_XLA_FORK;
    n->output_bytes = fork ? (double)hlo_bytes(in->shape) : count_leaf_bytes(in->shape);
    n->bytes = n->output_bytes;
    for (int i = 0; i < in->operand_count; i++) {
        n->operand_bytes[i] = (double)hlo_bytes(in->operands[i]->shape);
        n->operand_use[i] = 1;
        n->bytes += n->operand_bytes[i];
    }
    n->emitted = 1;
}

void count_nothing(const struct hlo_instruction *in, struct instruction_count *n)
{
    n->bytes = n->output_bytes = 0;
    for (int i = 0; i < in->operand_count; i++)
        n->operand_bytes[i] = 0;
}

void count_set_operand(const struct hlo_instruction *in, struct instruction_count *n, int operand,
                       double bytes)
{
    if (operand < in->operand_count)
        n->operand_bytes[operand] = bytes;
}

static const struct count_sum *callee_sum(const struct counter *c, const struct hlo_instruction *in,
                                          int callee)
{
    return callee < in->callee_count ? &c->sums[in->callees[callee]->index] : NULL;
}

void count_add_function(const struct counter *c, const struct hlo_instruction *in,
                        struct instruction_count *n, int callee, double times)
{
    const struct count_sum *sum = callee_sum(c, in, callee);
    if (!sum)
        return;
    /* XLA makes a reduction of no elements to one take back an operation. */
    if (times < 0 && c->options.rules == COUNT_REHEARSE)
        times = 0;
    n->flops += times * sum->flops;
    n->transcendentals += times * sum->transcendentals;
    n->unknown |= sum->unknown;
}

void count_add_call(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n,
                    int callee, double times)
{
    const struct count_sum *sum = callee_sum(c, in, callee);
    if (!sum)
        return;
    count_add_function(c, in, n, callee, times);
    n->bytes += times * sum->bytes;
    n->output_bytes += times * sum->output_bytes;
    n->transferred += times * sum->transferred;
    n->emitted += sum->emitted;
    for (int i = 0; i < in->operand_count && i < sum->operand_count; i++) {
        n->operand_bytes[i] += times * sum->operand_bytes[i];
        n->operand_use[i] += sum->operand_use[i];
    }
}

void count_unknown(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n)
{
    double value = c->options.rules == COUNT_REHEARSE ? 0 : -1;
    n->flops = n->bytes = n->output_bytes = value;
    for (int i = 0; i < in->operand_count; i++)
        n->operand_bytes[i] = value;
    n->unknown = true;
}

static bool count_instruction(struct counter *c, const struct hlo_instruction *in,
                              struct instruction_count *n)
{
    const struct hlo_operation *op = &hlo_operations[in->opcode];
    if (in->operand_count < op->min && !(op->traits & HLO_CAPTURES)) /* the rules look at them */
        return error_set(c->err, ERROR_INPUT, "%s:%u:%u: %s of %d operands, expected at least %d",
                         c->module->path, in->line, in->column, op->name, in->operand_count, op->min);
    count_default(c, in, n);
    bool done =
        (c->gpu && count_gpu(c, in, n)) || (c->options.rules == COUNT_REHEARSE && count_rehearse(c, in, n));
    return done || count_xla(c, in, n);
}

static bool is_elementwise_computation(const bool *elementwise, const struct hlo_computation *computation)
{
    for (int i = 0; i < computation->count; i++) {
        const struct hlo_instruction *in = computation->instructions[i];
        if (in->opcode != HLO_PARAMETER && !count_is_elementwise(elementwise, in))
            return false;
    }
    return true;
}

bool count_is_elementwise(const bool *elementwise, const struct hlo_instruction *in)
{
    switch (in->opcode) {
    case HLO_COPY:
    case HLO_CONSTANT:
    case HLO_RNG:
        return true;
    case HLO_BITCAST_CONVERT:
        return hlo_type_bits(in->shape->type) == hlo_type_bits(in->operands[0]->shape->type);
    case HLO_FUSION:
        return in->callee_count && elementwise[in->callees[0]->index];
    default:
        return hlo_is_elementwise(in->opcode);
    }
}

/* Adds an instruction to the sums of its computation. */
static void add_up(const struct counter *c, struct count_sum *sum, const struct hlo_instruction *in,
                   const struct instruction_count *n)
{
    sum->flops += n->flops;
    sum->transcendentals += n->transcendentals;
    sum->bytes += n->bytes;
    sum->output_bytes += n->output_bytes;
    sum->transferred += n->transferred;
    sum->emitted += n->emitted;
    sum->unknown |= n->unknown;
    for (int i = 0; i < in->operand_count; i++) {
        sum->operand_bytes[i] += n->operand_bytes[i];
        sum->operand_use[i] += n->operand_use[i];
    }
    /* GpuHloCostAnalysis visits the wrapped computation with the visitor that sums up this one. */
    if (c->options.rules == COUNT_XLA_GPU && in->opcode == HLO_ASYNC_START && in->callee_count) {
        const struct count_sum *wrapped = &c->sums[in->callees[0]->index];
        sum->flops += wrapped->flops;
        sum->transcendentals += wrapped->transcendentals;
        sum->bytes += wrapped->bytes;
    }
}

/* Makes the counts of a computation, with the lists of its operands. */
static struct instruction_count *new_counts(struct counter *c, const struct hlo_computation *computation,
                                            int *max_operands)
{
    size_t operands = 0;
    for (int i = 0; i < computation->count; i++) {
        int count = computation->instructions[i]->operand_count;
        operands += (size_t)count;
        if (count > *max_operands)
            *max_operands = count;
    }
    struct instruction_count *counts =
        ARENA_ARRAY(&c->out->arena, (size_t)computation->count, struct instruction_count);
    double *room = ARENA_ARRAY(&c->out->arena, operands * 2, double);
    if (!counts || !room)
        return NULL;
    for (int i = 0; i < computation->count && !stop_wanted_at((size_t)i); i++) {
        int count = computation->instructions[i]->operand_count;
        counts[i].operand_bytes = room;
        counts[i].operand_use = room + count;
        room += 2 * (size_t)count;
    }
    return counts;
}

static bool count_computation(struct counter *c, const struct hlo_computation *computation)
{
    struct count_sum *sum = &c->sums[computation->index];
    struct instruction_count *counts = new_counts(c, computation, &sum->operand_count);
    sum->operand_bytes = ARENA_ARRAY(c->scratch, (size_t)sum->operand_count, double);
    sum->operand_use = ARENA_ARRAY(c->scratch, (size_t)sum->operand_count, double);
    if (!counts || !sum->operand_bytes || !sum->operand_use)
        return error_memory(c->err);
    c->out->computations[computation->index] = counts;
    c->elementwise[computation->index] = is_elementwise_computation(c->elementwise, computation);
    for (int i = 0; i < computation->count; i++) {
        const struct hlo_instruction *in = computation->instructions[i];
        if (stop_obeyed_at((size_t)i, c->err) || !count_instruction(c, in, &counts[i]))
            return false;
        add_up(c, sum, in, &counts[i]);
    }
    return true;
}

/* Returns how often a callee runs when its caller does; 0 if it is no sequence of operations of its own. */
static double calls_of(const struct counter *c, const struct hlo_instruction *in, int callee)
{
    switch (in->opcode) {
    case HLO_CALL:
    case HLO_CONDITIONAL:
    case HLO_ASYNC_START:
        return 1;
    case HLO_WHILE: {
        int64_t trips = c->options.rules == COUNT_REHEARSE ? hlo_trip_count(in) : -1;
        if (trips < 0)
            return 1;
        return (double)trips + (callee == 0 ? 1 : 0); /* the condition once more than the body */
    }
    default:
        return 0;
    }
}

/* Callers come after their callees, so one walk from the last to the first sees all of a computation's
 * callers before itself. */
static bool find_runs(struct counter *c)
{
    double *runs = ARENA_ARRAY(c->scratch, (size_t)c->module->count, double);
    if (!runs)
        return error_memory(c->err);
    runs[c->module->entry->index] = 1;
    for (int i = c->module->count - 1; i >= 0; i--) {
        const struct hlo_computation *computation = c->module->computations[i];
        struct instruction_count *counts = count_of(c, computation);
        for (int j = 0; j < computation->count && runs[i] > 0; j++) {
            const struct hlo_instruction *in = computation->instructions[j];
            if (stop_obeyed_at((size_t)j, c->err))
                return false;
            counts[j].runs = runs[i];
            for (int k = 0; k < in->callee_count; k++)
                runs[in->callees[k]->index] += runs[i] * calls_of(c, in, k);
        }
    }
    return true;
}

/* Lists the targets of custom calls that no table knows, sorted, each once. */
static bool find_unknown(struct counter *c)
{
    struct module_count *out = c->out;
    int found = 0, room = 0;
    for (int i = 0; i < c->module->count; i++) {
        const struct hlo_computation *computation = c->module->computations[i];
        for (int j = 0; j < computation->count; j++) {
            const struct hlo_instruction *in = computation->instructions[j];
            if (stop_obeyed_at((size_t)j, c->err))
                return false;
            if (in->opcode != HLO_CUSTOM_CALL || !count_of(c, computation)[j].unknown)
                continue;
            const char *target = in->attributes->target;
            out->unknown = arena_grow(&out->arena, out->unknown, found, &room, sizeof *out->unknown);
            target = out->unknown ? arena_string(&out->arena, target ? target : "") : NULL;
            if (!target)
                return error_memory(c->err);
            out->unknown[found++] = target;
        }
    }
    if (found)
        qsort(out->unknown, (size_t)found, sizeof *out->unknown, order_texts);
    for (int i = 0; i < found; i++)
        if (!i || strcmp(out->unknown[i], out->unknown[out->unknown_count - 1]) != 0)
            out->unknown[out->unknown_count++] = out->unknown[i];
    return true;
}

static void find_unbounded_loops(struct counter *c)
{
    for (int i = 0; i < c->module->count; i++) {
        const struct hlo_computation *computation = c->module->computations[i];
        for (int j = 0; j < computation->count; j++)
            if (computation->instructions[j]->opcode == HLO_WHILE &&
                hlo_trip_count(computation->instructions[j]) < 0)
                c->out->unbounded_loops++;
    }
}

static bool sum_up(struct counter *c)
{
    const struct count_sum *sum = &c->sums[c->module->entry->index];
    c->out->flops = sum->flops;
    c->out->transcendentals = sum->transcendentals;
    c->out->bytes = sum->bytes;
    return (isfinite(sum->flops) && isfinite(sum->transcendentals) && isfinite(sum->bytes)) ||
           error_set(c->err, ERROR_INPUT, "%s: its operations are too many to count: over %.0e",
                     c->module->path, DBL_MAX);
}

static bool count_module(struct counter *c)
{
    size_t count = (size_t)c->module->count;
    c->out->rules = c->options.rules;
    c->out->computations = ARENA_ARRAY(&c->out->arena, count, struct instruction_count *);
    c->elementwise = ARENA_ARRAY(&c->out->arena, count, bool);
    c->out->elementwise = c->elementwise;
    c->sums = ARENA_ARRAY(c->scratch, count, struct count_sum);
    if (!c->out->computations || !c->elementwise || !c->sums || (c->gpu && !c->cycles))
        return error_memory(c->err);
    for (int i = 0; i < c->module->count; i++)
        if (!count_computation(c, c->module->computations[i]))
            return false;
    find_unbounded_loops(c);
    return sum_up(c) && find_runs(c) && find_unknown(c);
}

bool module_count(struct module_count *count, const struct hlo_module *module,
                  const struct count_options *options, struct error *err)
{
    memset(count, 0, sizeof *count);
    count->custom_calls = options->custom_calls;
    if (!op_cycles_read(err) || !custom_calls_read(err))
        return false;
    bool fork = options->rules == COUNT_XLA_FORK;
    struct arena scratch = {0};
    struct counter c = {.module = module, .out = count, .options = *options, .scratch = &scratch, .err = err};
    c.gpu = fork || options->rules == COUNT_XLA_GPU;
    c.repeated = c.gpu ? !options->once_per_operand : options->repeated_reads;
    if (c.gpu)
        c.cycles = options->cycles ? options->cycles : op_cycles_find(NULL, fork);
    bool done = count_module(&c);
    arena_release(&scratch);
    if (!done)
        module_count_release(count);
    return done;
}

void module_count_release(struct module_count *count)
{
    arena_release(&count->arena);
    memset(count, 0, sizeof *count);
}
