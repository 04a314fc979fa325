/* HLO text into a module: what is read holds together, what is not says why. */
#include "hlo/module.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* Every instruction is where it says it is, behind its operands; every size can be had. */
static void check_instruction(const struct hlo_module *module, const struct hlo_computation *computation,
                              int at)
{
    const struct hlo_instruction *in = computation->instructions[at];
    char shape[64];
    require(in->index == at && in->name && in->shape && in->attributes && in->line > 0 && in->column > 0);
    require(in->opcode < HLO_OPCODE_COUNT);
    require(hlo_elements(in->shape) >= 0 && hlo_bytes(in->shape) >= 0 && hlo_leaf_bytes(in->shape) >= 0);
    require(hlo_shape_equal(in->shape, in->shape));
    require(strlen(hlo_shape_text(in->shape, shape, sizeof shape)) < sizeof shape);
    for (int i = 0; i < in->operand_count; i++)
        require(in->operands[i]->index < at &&
                computation->instructions[in->operands[i]->index] == in->operands[i]);
    for (int i = 0; i < in->callee_count; i++)
        require(in->callees[i]->index < computation->index &&
                module->computations[in->callees[i]->index] == in->callees[i]);
    require(hlo_trip_count(in) >= -1);
}

static void check_computation(const struct hlo_module *module, int at)
{
    const struct hlo_computation *computation = module->computations[at];
    require(computation->index == at && computation->count > 0);
    require(computation->instructions[computation->root->index] == computation->root);
    for (int i = 0; i < computation->count; i++)
        check_instruction(module, computation, i);
    for (int i = 0; i < computation->parameter_count; i++)
        require(computation->parameters[i]->opcode == HLO_PARAMETER &&
                computation->parameters[i]->parameter == i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hlo_module module;
    struct error err = {0};
    char *text = malloc(size ? size : 1); /* of its own, so that reading past its end is seen */
    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    bool ok = hlo_parse_text(&module, "fuzz.hlo", text, size, &err);
    free(text);
    if (!ok) {
        require(module.arena.last == NULL && err.text[0] && strchr(err.text, ':'));
        return 0;
    }
    require(module.count > 0 && module.entry && module.name);
    for (int i = 0; i < module.count; i++)
        check_computation(&module, i);
    hlo_release(&module);
    return 0;
}
