#include "hlo/text/text.h"

#include <stdlib.h>
#include <string.h>

struct hlo_begin hlo_begin_computation(struct hlo_reader *r)
{
    struct hlo_begin outer = r->begins;
    r->begins = (struct hlo_begin){r->instructions.count, r->parameters.count};
    return outer;
}

static bool number_parameters(struct hlo_reader *r, struct hlo_computation *computation)
{
    size_t begin = r->begins.parameter, end = r->parameters.count;
    int count = (int)(end - begin);
    r->parameters.count = begin;
    computation->parameter_count = count;
    if (count == 0)
        return true;
    computation->parameters = ARENA_ARRAY(&r->module->arena, (size_t)count, struct hlo_instruction *);
    if (!computation->parameters)
        return error_memory(r->err);
    for (size_t i = begin; i < end; i++) {
        struct hlo_instruction *in = r->parameters.at[i];
        if (in->parameter >= count || computation->parameters[in->parameter])
            return error_set(r->err, ERROR_INPUT,
                             "%s:%u:%u: parameter(%lld) among %d parameters, numbered from 0",
                             r->module->path, in->line, in->column, (long long)in->parameter, count);
        computation->parameters[in->parameter] = in;
    }
    return true;
}

struct hlo_computation *hlo_finish_computation(struct hlo_reader *r, const char *name,
                                               struct hlo_instruction *root)
{
    struct hlo_computation *computation = ARENA_NEW(&r->module->arena, struct hlo_computation);
    size_t count = r->instructions.count - r->begins.instruction;
    if (computation) {
        computation->name = name;
        computation->index = (int)r->finished.count;
        computation->count = (int)count;
        computation->instructions = hlo_pop_all(r, &r->instructions, r->begins.instruction);
        computation->root = root;
    }
    if (!computation || !computation->instructions)
        return error_memory_null(r->err);
    return number_parameters(r, computation) && hlo_chains_end(r, computation) &&
                   hlo_push(r, &r->finished, computation)
               ? computation
               : NULL;
}

static struct hlo_instruction *read_instructions(struct hlo_reader *r)
{
    struct hlo_instruction *root = NULL, *last = NULL;
    while (!hlo_takes(r, '}')) {
        bool is_root;
        const char *at = r->at;
        last = hlo_read_instruction(r, &is_root);
        if (!last)
            return NULL;
        if (is_root && root)
            return hlo_fail(r, at, "a second ROOT in the computation"), NULL;
        root = is_root ? last : root;
    }
    if (!last)
        return hlo_fail(r, r->at - 1, "a computation without instructions"), NULL;
    return root ? root : last;
}

struct hlo_computation *hlo_read_body(struct hlo_reader *r, const char *name)
{
    if (!hlo_expect(r, '{') || !hlo_enter(r))
        return NULL;
    r->scope++;
    struct hlo_begin outer = hlo_begin_computation(r);
    hlo_table_clear(&r->names[r->scope]);
    struct hlo_instruction *root = read_instructions(r);
    struct hlo_computation *computation = root ? hlo_finish_computation(r, name, root) : NULL;
    r->begins = outer;
    r->scope--;
    r->depth--;
    return computation;
}

/* (a: f32[2], b: f32[]) -> f32[2] */
static bool read_signature(struct hlo_reader *r, const struct hlo_shape **result, const char **result_at)
{
    struct hlo_word name;
    *result = NULL;
    if (!hlo_takes(r, '('))
        return true;
    for (int i = 0; !hlo_takes(r, ')'); i++)
        if ((i && !hlo_expect(r, ',')) || !hlo_read_name(r, "a parameter or ')'", &name) ||
            !hlo_expect(r, ':') || !hlo_read_shape(r))
            return false;
    if (!hlo_expect(r, '-') || !hlo_expect(r, '>'))
        return false;
    hlo_skip_blank(r);
    *result_at = r->at;
    *result = hlo_read_shape(r);
    return *result != NULL;
}

static bool result_is(struct hlo_reader *r, const struct hlo_computation *computation,
                      const struct hlo_shape *result, const char *at)
{
    char written[160], is[160];
    if (!result || hlo_shape_equal(result, computation->root->shape))
        return true;
    return hlo_fail(r, at, "the computation is said to give %s, its root gives %s",
                    hlo_shape_text(result, written, sizeof written),
                    hlo_shape_text(computation->root->shape, is, sizeof is));
}

static bool read_computation(struct hlo_reader *r)
{
    struct hlo_module *module = r->module;
    struct hlo_word name;
    const struct hlo_shape *result;
    const char *result_at = NULL, *before = r->at;
    if (!hlo_read_name(r, "a computation", &name))
        return false;
    bool is_entry = hlo_word_is(name, "ENTRY") && name.at == before;
    if (is_entry && !hlo_read_name(r, "a computation", &name))
        return false;
    if (is_entry && module->entry)
        return hlo_fail(r, name.at, "a second ENTRY");
    const char *copy = arena_copy(&module->arena, name.at, name.length);
    struct hlo_slot *slot = hlo_table_place(&r->computations, name.at, name.length);
    if (!copy || !slot)
        return error_memory(r->err);
    if (slot->value)
        return hlo_fail(r, name.at, "a second computation '%s'", copy);
    if (!read_signature(r, &result, &result_at))
        return false;
    struct hlo_computation *computation = hlo_read_body(r, copy);
    if (!computation || !result_is(r, computation, result, result_at))
        return false;
    slot = hlo_table_place(&r->computations, name.at, name.length);
    if (!slot)
        return error_memory(r->err);
    slot->value = computation;
    if (is_entry)
        module->entry = computation;
    while (hlo_takes(r, ',')) /* execution_thread="…" */
        if (hlo_read_word(r).length == 0 || !hlo_expect(r, '=') || !hlo_skip_value(r))
            return hlo_expected(r, "an attribute");
    return true;
}

static bool read_module_attribute(struct hlo_reader *r, struct hlo_word name)
{
    if (hlo_word_is(name, "input_output_alias"))
        return hlo_read_buffers(r, true);
    if (hlo_word_is(name, "buffer_donor"))
        return hlo_read_buffers(r, false);
    return hlo_word_is(name, "debug_attributes") ? hlo_read_debug(r) : hlo_skip_value(r);
}

static bool read_header(struct hlo_reader *r)
{
    struct hlo_module *module = r->module;
    struct hlo_word name;
    if (!hlo_read_name(r, "the module's name", &name))
        return false;
    module->name = arena_copy(&module->arena, name.at, name.length);
    if (!module->name)
        return error_memory(r->err);
    hlo_takes(r, ':');
    while (hlo_takes(r, ',')) {
        struct hlo_word attribute = hlo_read_word(r);
        const char *at = attribute.at;
        int64_t *count = hlo_word_is(attribute, "replica_count")    ? &module->replica_count
                         : hlo_word_is(attribute, "num_partitions") ? &module->partition_count
                                                                    : NULL;
        if (attribute.length == 0)
            return hlo_expected(r, "an attribute of the module");
        if (!hlo_expect(r, '=') ||
            !(count ? hlo_read_integer(r, count) : read_module_attribute(r, attribute)))
            return false;
        if (count && *count < 1)
            return hlo_fail(r, at, "expected 1 or more");
    }
    return true;
}

/* FileNames, FunctionNames, FileLocations, StackFrames: numbered lines. */
static bool skip_table(struct hlo_reader *r)
{
    static const char *const names[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
    const char *at = r->at;
    struct hlo_word word = hlo_read_word(r);
    int64_t number;
    int i = 0;
    while (i < 4 && !hlo_word_is(word, names[i]))
        i++;
    if (i == 4) {
        r->at = at;
        return false;
    }
    for (;;) {
        hlo_skip_blank(r);
        char c = hlo_peek(r);
        if (c < '0' || c > '9' || !hlo_read_integer(r, &number) || !hlo_skip_value(r))
            return true;
    }
}

static bool read_computations(struct hlo_reader *r)
{
    for (;;) {
        hlo_skip_blank(r);
        if (r->at == r->end)
            break;
        if (!skip_table(r) && !read_computation(r))
            return false;
    }
    if (r->finished.count == 0)
        return hlo_expected(r, "a computation");
    return true;
}

/* An instruction on its own: its operands become the parameters of a computation that has only it. */
static bool read_lone(struct hlo_reader *r)
{
    bool is_root;
    r->is_lone = true;
    r->scope = 1;
    hlo_table_clear(&r->names[1]);
    struct hlo_instruction *root;
    if (hlo_at_shape(r)) {
        const struct hlo_shape *shape = hlo_read_shape(r);
        root = shape ? hlo_read_operation(r, (struct hlo_word){r->at, 0}, shape) : NULL;
    } else
        root = hlo_read_instruction(r, &is_root);
    if (!root)
        return false;
    hlo_skip_blank(r);
    if (r->at < r->end)
        return hlo_expected(r, "the end after a single instruction");
    return hlo_finish_computation(r, "entry", root) != NULL;
}

static bool at_lone(struct hlo_reader *r)
{
    const char *at = r->at;
    if (hlo_at_shape(r))
        return true;
    if (hlo_peek(r) == '%')
        r->at++;
    struct hlo_word word = hlo_read_word(r);
    if (hlo_word_is(word, "ROOT"))
        word = hlo_read_word(r);
    bool is_lone = word.length > 0 && hlo_takes(r, '=');
    r->at = at;
    return is_lone;
}

static bool read_module(struct hlo_reader *r)
{
    struct hlo_module *module = r->module;
    module->name = basename(module->path);
    hlo_skip_blank(r);
    const char *at = r->at;
    bool has_header = hlo_word_is(hlo_read_word(r), "HloModule");
    if (!has_header)
        r->at = at;
    if (has_header && !read_header(r))
        return false;
    if (!(!has_header && at_lone(r) ? read_lone(r) : read_computations(r)))
        return false;
    module->count = (int)r->finished.count;
    module->computations = hlo_pop_all(r, &r->finished, 0);
    if (!module->computations)
        return error_memory(r->err);
    if (!module->entry)
        module->entry = module->computations[module->count - 1];
    return true;
}

static void release_reader(struct hlo_reader *r)
{
    hlo_table_release(&r->shapes);
    hlo_table_release(&r->lists);
    hlo_table_release(&r->attributes);
    hlo_table_release(&r->computations);
    hlo_table_release(&r->words);
    hlo_table_release(&r->starts);
    hlo_table_release(&r->wrapped);
    for (int i = 0; i < HLO_MAX_SCOPES; i++)
        hlo_table_release(&r->names[i]);
    free(r->instructions.at);
    free(r->parameters.at);
    free(r->operands.at);
    free(r->finished.at);
    free(r);
}

bool hlo_parse_text(struct hlo_module *module, const char *path, const char *text, size_t length,
                    struct error *err)
{
    memset(module, 0, sizeof *module);
    if (length > HLO_MAX_BYTES)
        return error_set(err, ERROR_INPUT, "%s: larger than the limit of %zu MiB", path, HLO_MAX_BYTES >> 20);
    struct hlo_reader *r = calloc(1, sizeof *r);
    module->path = arena_string(&module->arena, path);
    module->replica_count = module->partition_count = 1;
    if (r && module->path) {
        *r = (struct hlo_reader){.module = module,
                                 .err = err,
                                 .begin = text,
                                 .at = text,
                                 .end = text + length,
                                 .counted = text,
                                 .line_start = text,
                                 .line = 1};
    }
    bool ok = r && module->path ? read_module(r) : error_memory(err);
    if (r)
        release_reader(r);
    if (!ok)
        hlo_release(module);
    return ok;
}
