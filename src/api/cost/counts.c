/* Counts of `rehearse cost`: operations and bytes of a module. */
#include "api/cost/explain.h"
#include "core/fields.h"
#include "core/stop.h"

#include <math.h>

const char *const cost_rules[] = {"rehearse", "xla", "xla-gpu", "xla-fork", NULL};

static const struct field instruction_fields[] = {
    FIELD_OUT(struct instruction_count, "flops", flops, FIELD_DOUBLE),
    FIELD_OUT(struct instruction_count, "transcendentals", transcendentals, FIELD_DOUBLE),
    FIELD_OUT(struct instruction_count, "bytes", bytes, FIELD_DOUBLE),
    FIELD_OUT(struct instruction_count, "output_bytes", output_bytes, FIELD_DOUBLE),
    FIELD_OUT(struct instruction_count, "unknown", unknown, FIELD_FLAG),
};

static const struct field count_fields[] = {
    FIELD_WORDS(struct module_count, "rules", rules, cost_rules),
    FIELD_OUT(struct module_count, "flops", flops, FIELD_DOUBLE),
    FIELD_OUT(struct module_count, "transcendentals", transcendentals, FIELD_DOUBLE),
    FIELD_OUT(struct module_count, "bytes", bytes, FIELD_DOUBLE),
    FIELD_OUT(struct module_count, "unbounded_loops", unbounded_loops, FIELD_INT),
};

static void write_instruction(const struct hlo_instruction *instruction,
                              const struct instruction_count *count, struct json *json)
{
    json_open_flat(json, NULL, '{');
    json_string(json, "name", instruction->name);
    json_string(json, "opcode", hlo_opcode_name(instruction->opcode));
    fields_write(count, instruction_fields, 3, json);
    json_open_flat(json, "operand_bytes", '[');
    for (int i = 0; i < instruction->operand_count; i++)
        json_number(json, NULL, count->operand_bytes[i]);
    json_close(json);
    fields_write(count, instruction_fields + 3, count->unknown ? 2 : 1, json);
    json_close(json);
}

void cost_counts_write(const struct hlo_module *module, const struct module_count *count, struct json *json)
{
    const struct hlo_computation *entry = module->entry;
    json_open_document(json, "rehearse-counts/1");
    json_string(json, "file", module->path);
    json_string(json, "module", module->name);
    fields_write(count, count_fields, 4, json);
    json_open_flat(json, "unknown", '[');
    for (int i = 0; i < count->unknown_count; i++)
        json_string(json, NULL, count->unknown[i]);
    json_close(json);
    fields_write(count, count_fields + 4, 1, json);
    json_open(json, "instructions", '[');
    for (int i = 0; i < entry->count && !stop_wanted_at((size_t)i); i++)
        write_instruction(entry->instructions[i], &count->computations[entry->index][i], json);
    json_close(json);
    json_close(json);
}

void cost_counts_print_header(struct text *out)
{
    text_format(out, "%15s %15s %15s %12s  %s\n", "flops", "transcendentals", "bytes", "instructions",
                "file");
}

void cost_counts_print(const struct hlo_module *module, const struct module_count *count, struct text *out)
{
    int instructions = 0;
    for (int i = 0; i < module->count; i++)
        instructions += module->computations[i]->count;
    text_format(out, "%15.0f %15.0f %15.0f %12d  %s\n", count->flops, count->transcendentals, count->bytes,
                instructions, module->path);
    for (int i = 0; i < count->unknown_count; i++)
        text_format(out, "%15s unknown custom call '%s', not in the sums\n", "", count->unknown[i]);
    if (count->unbounded_loops > 0)
        text_format(out, "%15s %d loops of unknown trip count, counted once\n", "", count->unbounded_loops);
}
