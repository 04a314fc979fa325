/* Callers come before the computations that they call, so that what a region captures is known when its turn comes. */
#include "hlo/xla/translate.h"

#include "core/stop.h"

#define MAX_ROUNDS 8

static struct hlo_instruction *current(const struct translator *t, struct hlo_instruction *in)
{
    while (in->index >= 0 && t->now[in->index] && t->now[in->index] != in)
        in = t->now[in->index];
    return in;
}

/* What a region captures: the values that they have become, and constants as its own. */
static void capture(struct translator *t, struct hlo_computation *region)
{
    int own = region->parameter_count - region->captured, kept = own;
    for (int i = own; i < region->parameter_count; i++) {
        struct hlo_instruction *parameter = region->parameters[i];
        if (parameter->outside)
            parameter->outside = current(t, parameter->outside);
        if (parameter->outside && parameter->outside->opcode == HLO_CONSTANT) {
            const struct hlo_instruction *constant = parameter->outside;
            xla_become_constant(t, parameter, constant->number, constant->splat);
            parameter->has_value = constant->has_value;
            parameter->value = constant->value;
            parameter->outside = NULL;
            continue;
        }
        region->parameters[kept] = parameter;
        parameter->parameter = kept++;
    }
    region->captured = kept - own;
    region->parameter_count = kept;
}

/* Drops instructions whose results nobody reads, and numbers the others. */
static void drop_dead(struct translator *t)
{
    int kept = 0;
    bool *needed = ARENA_ARRAY(&t->scratch, (size_t)t->count, bool);
    if (!needed) {
        t->failed = true;
        return;
    }
    for (int i = 0; i < t->count; i++)
        t->list[i]->index = i;
    needed[t->computation->root->index] = true;
    for (int i = t->count - 1; i >= 0; i--) {
        const struct hlo_instruction *in = t->list[i];
        needed[i] = needed[i] || xla_has_effect(in, 0);
        for (int j = 0; needed[i] && j < in->operand_count; j++)
            needed[in->operands[j]->index] = true;
        for (int c = 0; needed[i] && c < in->callee_count; c++)
            for (int p = in->callees[c]->parameter_count - in->callees[c]->captured;
                 p < in->callees[c]->parameter_count; p++)
                if (in->callees[c]->parameters[p]->outside)
                    needed[in->callees[c]->parameters[p]->outside->index] = true;
    }
    for (int i = 0; i < t->count; i++)
        if (needed[i]) {
            t->list[kept] = t->list[i];
            t->list[kept]->index = kept;
            kept++;
        }
    t->changed |= kept != t->count;
    t->count = kept;
}

static void simplify(struct translator *t, struct hlo_computation *computation)
{
    xla_begin(t, computation);
    for (int i = 0; !t->failed && i < computation->count; i++) {
        struct hlo_instruction *in = computation->instructions[i];
        if (t->now[i])
            continue;
        for (int j = 0; j < in->operand_count; j++)
            in->operands[j] = current(t, in->operands[j]);
        struct hlo_instruction *is = xla_simplified(t, in);
        if (is == in && in->opcode == HLO_CONSTANT)
            is = xla_unique(t, in);
        for (int c = 0; c < in->callee_count; c++)
            capture(t, in->callees[c]);
        t->now[i] = is;
        if (is == in)
            xla_append(t, in);
        t->changed |= is != in;
    }
    if (t->failed)
        return;
    computation->root = current(t, computation->root);
    drop_dead(t);
    xla_keep_list(t);
}

bool hlo_as_xla(struct hlo_module *module, struct error *err)
{
    if (!module->is_stablehlo)
        return true;
    struct translator t = {.module = module, .changed = true};
    bool stopped = false;
    for (int i = 0; i < module->count; i++)
        for (int j = 0; j < module->computations[i]->count; j++)
            if (module->computations[i]->instructions[j]->opcode == HLO_BROADCAST)
                xla_join_broadcast(&t, module->computations[i]->instructions[j]);
    for (int round = 0; round < MAX_ROUNDS && t.changed && !t.failed && !stopped; round++) {
        t.changed = false;
        for (int i = module->count - 1; i >= 0 && !t.failed && !stopped; i--) {
            simplify(&t, module->computations[i]);
            stopped = stop_obeyed_at((size_t)i, err);
        }
    }
    for (int i = module->count - 1; i >= 0 && !t.failed && !stopped; i--)
        xla_write(&t, module->computations[i]);
    arena_release(&t.scratch);
    hlo_table_release(&t.constants);
    return !stopped && (!t.failed || error_memory(err));
}
