/* StableHLO and MHLO text into a module, and XLA's HLO of it; what is read and made must hang together. */
#include "hlo/module.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_instruction(const struct hlo_module *module, const struct hlo_computation *computation,
                              const struct hlo_instruction *instruction, int index)
{
    require(instruction->index == index && instruction->name && instruction->shape &&
            instruction->attributes);
    require(instruction->line >= 1 && instruction->column >= 1);
    for (int i = 0; i < instruction->operand_count; i++) {
        const struct hlo_instruction *operand = instruction->operands[i];
        require(operand->index < index && computation->instructions[operand->index] == operand);
    }
    for (int i = 0; i < instruction->callee_count; i++) {
        const struct hlo_computation *callee = instruction->callees[i];
        require(callee->index < computation->index && module->computations[callee->index] == callee);
    }
    require(hlo_elements(instruction->shape) <= HLO_MAX_ELEMENTS && hlo_bytes(instruction->shape) >= 0);
}

static void check_module(const struct hlo_module *module)
{
    require(module->count > 0 && module->entry && module->replica_count >= 1 && module->partition_count >= 1);
    for (int c = 0; c < module->count; c++) {
        const struct hlo_computation *computation = module->computations[c];
        require(computation->index == c && computation->captured <= computation->parameter_count);
        require(computation->instructions[computation->root->index] == computation->root);
        for (int i = 0; i < computation->count; i++)
            check_instruction(module, computation, computation->instructions[i], i);
        for (int i = 0; i < computation->parameter_count; i++)
            require(computation->parameters[i]->parameter == i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hlo_dim sizes[] = {{.name = "b", .length = 1, .size = 6},
                              {.name = "s", .length = 1, .size = 4},
                              {.name = "0.0", .length = 3, .size = 7},
                              {.name = "0.1", .length = 3, .size = 10},
                              {.name = "1.0", .length = 3, .size = 5}};
    const struct hlo_dims dims = {sizeof sizes / sizeof *sizes, sizes};
    struct hlo_module module;
    struct error err = {0};
    char *text = malloc(size ? size : 1); /* of this size exactly: what is read beyond it is found */
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    if (hlo_parse_mlir_sized(&module, "fuzz.mlir", text, size, &dims, &err)) {
        check_module(&module);
        hlo_unpack(&module);
        if (hlo_as_xla(&module, &err))
            check_module(&module);
        else
            require_message(&err);
        hlo_release(&module);
    } else {
        require_message(&err);
    }
    free(text);
    return 0;
}
