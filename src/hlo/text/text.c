#include "hlo/text/text.h"

#include <stdlib.h>
#include <string.h>

struct hlo_begin hlo_begin_computation(struct hlo_reader *reader)
{
    struct hlo_begin outer = reader->begins;
    reader->begins = (struct hlo_begin){reader->instructions.count, reader->parameters.count};
    return outer;
}

static bool number_parameters(struct hlo_reader *reader, struct hlo_computation *computation)
{
    size_t begin = reader->begins.parameter, end = reader->parameters.count;
    int count = (int)(end - begin);
    reader->parameters.count = begin;
    computation->parameter_count = count;
    if (count == 0)
        return true;
    computation->parameters = ARENA_ARRAY(&reader->module->arena, (size_t)count, struct hlo_instruction *);
    if (!computation->parameters)
        return error_memory(reader->err);
    for (size_t i = begin; i < end; i++) {
        struct hlo_instruction *in = reader->parameters.at[i];
        if (in->parameter >= count || computation->parameters[in->parameter])
            return error_set(reader->err, ERROR_INPUT,
                             "%s:%u:%u: parameter(%lld) among %d parameters, numbered from 0",
                             reader->module->path, in->line, in->column, (long long)in->parameter, count);
        computation->parameters[in->parameter] = in;
    }
    return true;
}

struct hlo_computation *hlo_finish_computation(struct hlo_reader *reader, const char *name,
                                               struct hlo_instruction *root)
{
    struct hlo_computation *computation = ARENA_NEW(&reader->module->arena, struct hlo_computation);
    size_t count = reader->instructions.count - reader->begins.instruction;
    if (computation) {
        computation->name = name;
        computation->index = (int)reader->finished.count;
        computation->count = (int)count;
        computation->instructions = hlo_pop_all(reader, &reader->instructions, reader->begins.instruction);
        computation->root = root;
    }
    if (!computation || !computation->instructions) {
        error_memory(reader->err);
        return NULL;
    }
    return number_parameters(reader, computation) && hlo_chains_end(reader, computation) &&
                   hlo_push(reader, &reader->finished, computation)
               ? computation
               : NULL;
}

static struct hlo_instruction *read_instructions(struct hlo_reader *reader)
{
    struct hlo_instruction *root = NULL, *last = NULL;
    while (!hlo_takes(reader, '}')) {
        bool is_root;
        const char *at = reader->at;
        last = hlo_read_instruction(reader, &is_root);
        if (!last)
            return NULL;
        if (is_root && root) {
            hlo_fail(reader, at, "a second ROOT in the computation");
            return NULL;
        }
        root = is_root ? last : root;
    }
    if (!last) {
        hlo_fail(reader, reader->at - 1, "a computation without instructions");
        return NULL;
    }
    return root ? root : last;
}

struct hlo_computation *hlo_read_body(struct hlo_reader *reader, const char *name)
{
    if (!hlo_expect(reader, '{') || !hlo_enter(reader))
        return NULL;
    reader->scope++;
    struct hlo_begin outer = hlo_begin_computation(reader);
    hlo_table_clear(&reader->names[reader->scope]);
    struct hlo_instruction *root = read_instructions(reader);
    struct hlo_computation *computation = root ? hlo_finish_computation(reader, name, root) : NULL;
    reader->begins = outer;
    reader->scope--;
    reader->depth--;
    return computation;
}

/* (a: f32[2], b: f32[]) -> f32[2] */
static bool read_signature(struct hlo_reader *reader, const struct hlo_shape **result, const char **result_at)
{
    struct hlo_word name;
    *result = NULL;
    if (!hlo_takes(reader, '('))
        return true;
    for (int i = 0; !hlo_takes(reader, ')'); i++)
        if ((i && !hlo_expect(reader, ',')) || !hlo_read_name(reader, "a parameter or ')'", &name) ||
            !hlo_expect(reader, ':') || !hlo_read_shape(reader))
            return false;
    if (!hlo_expect(reader, '-') || !hlo_expect(reader, '>'))
        return false;
    hlo_skip_blank(reader);
    *result_at = reader->at;
    *result = hlo_read_shape(reader);
    return *result != NULL;
}

static bool result_is(struct hlo_reader *reader, const struct hlo_computation *computation,
                      const struct hlo_shape *result, const char *at)
{
    char written[160], is[160];
    if (!result || hlo_shape_equal(result, computation->root->shape))
        return true;
    return hlo_fail(reader, at, "the computation is said to give %s, its root gives %s",
                    hlo_shape_text(result, written, sizeof written),
                    hlo_shape_text(computation->root->shape, is, sizeof is));
}

static bool read_computation(struct hlo_reader *reader)
{
    struct hlo_module *module = reader->module;
    struct hlo_word name;
    const struct hlo_shape *result;
    const char *result_at = NULL, *before = reader->at;
    if (!hlo_read_name(reader, "a computation", &name))
        return false;
    bool is_entry = hlo_word_is(name, "ENTRY") && name.at == before;
    if (is_entry && !hlo_read_name(reader, "a computation", &name))
        return false;
    if (is_entry && module->entry)
        return hlo_fail(reader, name.at, "a second ENTRY");
    const char *copy = arena_copy(&module->arena, name.at, name.length);
    struct hlo_slot *slot = hlo_table_place(&reader->computations, name.at, name.length);
    if (!copy || !slot)
        return error_memory(reader->err);
    if (slot->value)
        return hlo_fail(reader, name.at, "a second computation '%s'", copy);
    if (!read_signature(reader, &result, &result_at))
        return false;
    struct hlo_computation *computation = hlo_read_body(reader, copy);
    if (!computation || !result_is(reader, computation, result, result_at))
        return false;
    slot = hlo_table_place(&reader->computations, name.at, name.length);
    if (!slot)
        return error_memory(reader->err);
    slot->value = computation;
    if (is_entry)
        module->entry = computation;
    while (hlo_takes(reader, ',')) /* execution_thread="…" */
        if (hlo_read_word(reader).length == 0 || !hlo_expect(reader, '=') || !hlo_skip_value(reader))
            return hlo_expected(reader, "an attribute");
    return true;
}

static bool read_module_attribute(struct hlo_reader *reader, struct hlo_word name)
{
    if (hlo_word_is(name, "input_output_alias"))
        return hlo_read_buffers(reader, true);
    if (hlo_word_is(name, "buffer_donor"))
        return hlo_read_buffers(reader, false);
    return hlo_word_is(name, "debug_attributes") ? hlo_read_debug(reader) : hlo_skip_value(reader);
}

static bool read_header(struct hlo_reader *reader)
{
    struct hlo_module *module = reader->module;
    struct hlo_word name;
    if (!hlo_read_name(reader, "the module's name", &name))
        return false;
    module->name = arena_copy(&module->arena, name.at, name.length);
    if (!module->name)
        return error_memory(reader->err);
    hlo_takes(reader, ':');
    while (hlo_takes(reader, ',')) {
        struct hlo_word attribute = hlo_read_word(reader);
        const char *at = attribute.at;
        int64_t *count = hlo_word_is(attribute, "replica_count")    ? &module->replica_count
                         : hlo_word_is(attribute, "num_partitions") ? &module->partition_count
                                                                    : NULL;
        if (attribute.length == 0)
            return hlo_expected(reader, "an attribute of the module");
        if (!hlo_expect(reader, '=') ||
            !(count ? hlo_read_integer(reader, count) : read_module_attribute(reader, attribute)))
            return false;
        if (count && *count < 1)
            return hlo_fail(reader, at, "expected 1 or more");
    }
    return true;
}

/* FileNames, FunctionNames, FileLocations, StackFrames: numbered lines. */
static bool skip_table(struct hlo_reader *reader)
{
    static const char *const names[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
    const char *at = reader->at;
    struct hlo_word word = hlo_read_word(reader);
    int64_t number;
    int i = 0;
    while (i < 4 && !hlo_word_is(word, names[i]))
        i++;
    if (i == 4) {
        reader->at = at;
        return false;
    }
    for (;;) {
        hlo_skip_blank(reader);
        char c = hlo_peek(reader);
        if (c < '0' || c > '9' || !hlo_read_integer(reader, &number) || !hlo_skip_value(reader))
            return true;
    }
}

static bool read_computations(struct hlo_reader *reader)
{
    for (;;) {
        hlo_skip_blank(reader);
        if (reader->at == reader->end)
            break;
        if (!skip_table(reader) && !read_computation(reader))
            return false;
    }
    if (reader->finished.count == 0)
        return hlo_expected(reader, "a computation");
    return true;
}

/* An instruction on its own: its operands become the parameters of a computation that has only it. */
static bool read_lone(struct hlo_reader *reader)
{
    bool is_root;
    reader->is_lone = true;
    reader->scope = 1;
    hlo_table_clear(&reader->names[1]);
    struct hlo_instruction *root;
    if (hlo_at_shape(reader)) {
        const struct hlo_shape *shape = hlo_read_shape(reader);
        root = shape ? hlo_read_operation(reader, (struct hlo_word){reader->at, 0}, shape) : NULL;
    } else
        root = hlo_read_instruction(reader, &is_root);
    if (!root)
        return false;
    hlo_skip_blank(reader);
    if (reader->at < reader->end)
        return hlo_expected(reader, "the end after a single instruction");
    return hlo_finish_computation(reader, "entry", root) != NULL;
}

static bool at_lone(struct hlo_reader *reader)
{
    const char *at = reader->at;
    if (hlo_at_shape(reader))
        return true;
    if (hlo_peek(reader) == '%')
        reader->at++;
    struct hlo_word word = hlo_read_word(reader);
    if (hlo_word_is(word, "ROOT"))
        word = hlo_read_word(reader);
    bool is_lone = word.length > 0 && hlo_takes(reader, '=');
    reader->at = at;
    return is_lone;
}

static bool read_module(struct hlo_reader *reader)
{
    struct hlo_module *module = reader->module;
    module->name = basename(module->path);
    hlo_skip_blank(reader);
    const char *at = reader->at;
    bool has_header = hlo_word_is(hlo_read_word(reader), "HloModule");
    if (!has_header)
        reader->at = at;
    if (has_header && !read_header(reader))
        return false;
    if (!(!has_header && at_lone(reader) ? read_lone(reader) : read_computations(reader)))
        return false;
    module->count = (int)reader->finished.count;
    module->computations = hlo_pop_all(reader, &reader->finished, 0);
    if (!module->computations)
        return error_memory(reader->err);
    if (!module->entry)
        module->entry = module->computations[module->count - 1];
    return true;
}

static void release_reader(struct hlo_reader *reader)
{
    hlo_table_release(&reader->shapes);
    hlo_table_release(&reader->lists);
    hlo_table_release(&reader->attributes);
    hlo_table_release(&reader->computations);
    hlo_table_release(&reader->words);
    hlo_table_release(&reader->starts);
    hlo_table_release(&reader->wrapped);
    for (int i = 0; i < HLO_MAX_SCOPES; i++)
        hlo_table_release(&reader->names[i]);
    free(reader->instructions.at);
    free(reader->parameters.at);
    free(reader->operands.at);
    free(reader->finished.at);
    free(reader);
}

bool hlo_parse_text(struct hlo_module *module, const char *path, const char *text, size_t length,
                    struct error *err)
{
    memset(module, 0, sizeof *module);
    if (length > HLO_MAX_BYTES)
        return error_set(err, ERROR_INPUT, "%s: larger than the limit of %zu MiB", path, HLO_MAX_BYTES >> 20);
    struct hlo_reader *reader = calloc(1, sizeof *reader);
    module->path = arena_string(&module->arena, path);
    module->replica_count = module->partition_count = 1;
    if (reader && module->path) {
        *reader = (struct hlo_reader){.module = module,
                                      .err = err,
                                      .begin = text,
                                      .at = text,
                                      .end = text + length,
                                      .counted = text,
                                      .line_start = text,
                                      .line = 1};
    }
    bool ok = reader && module->path ? read_module(reader) : error_memory(err);
    if (reader)
        release_reader(reader);
    if (!ok)
        hlo_release(module);
    return ok;
}
