#include "cli/cost/counts.h"

const char *const cost_rules[] = {"rehearse", "xla", "xla-gpu", "xla-fork", NULL};

static void write_instruction(const struct hlo_instruction *instruction,
                              const struct instruction_count *count, struct json *json)
{
    json_open_flat(json, NULL, '{');
    json_string(json, "name", instruction->name);
    json_string(json, "opcode", hlo_opcode_name(instruction->opcode));
    json_number(json, "flops", count->flops);
    json_number(json, "transcendentals", count->transcendentals);
    json_number(json, "bytes", count->bytes);
    json_open_flat(json, "operand_bytes", '[');
    for (int i = 0; i < instruction->operand_count; i++)
        json_number(json, NULL, count->operand_bytes[i]);
    json_close(json);
    json_number(json, "output_bytes", count->output_bytes);
    if (count->unknown)
        json_bool(json, "unknown", true);
    json_close(json);
}

void cost_counts_write(const struct hlo_module *module, const struct module_count *count, struct json *json)
{
    const struct hlo_computation *entry = module->entry;
    json_open_document(json, "rehearse-counts/1");
    json_string(json, "file", module->path);
    json_string(json, "module", module->name);
    json_string(json, "rules", cost_rules[count->rules]);
    json_number(json, "flops", count->flops);
    json_number(json, "transcendentals", count->transcendentals);
    json_number(json, "bytes", count->bytes);
    json_open_flat(json, "unknown", '[');
    for (int i = 0; i < count->unknown_count; i++)
        json_string(json, NULL, count->unknown[i]);
    json_close(json);
    json_integer(json, "unbounded_loops", count->unbounded_loops);
    json_open(json, "instructions", '[');
    for (int i = 0; i < entry->count; i++)
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
        text_format(out, "%15s custom call '%s' is not known and not in the sums\n", "", count->unknown[i]);
    if (count->unbounded_loops > 0)
        text_format(out, "%15s %d loops whose number of turns cannot be told are counted once\n", "",
                    count->unbounded_loops);
}
