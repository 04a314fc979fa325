#include "hlo/mlir/mlir.h"

#include <stdlib.h>

static struct mlir_function *function_at(const struct mlir_reader *reader, size_t index)
{
    return (struct mlir_function *)reader->functions.items + index;
}

static struct mlir_function *add_function(struct mlir_reader *reader, const char *at)
{
    struct mlir_function *function = mlir_push(reader, &reader->functions, sizeof *function);
    if (function)
        *function = (struct mlir_function){
            .at = at,
            .public = true,
            .module = reader->module_number,
            .first = reader->computations.count,
            .first_call = reader->calls.count,
        };
    return function;
}

/* The values that a function returns must have the types that it declares. */
static bool check_results(struct mlir_reader *reader, const struct hlo_shape *const *types, size_t count)
{
    char given[128], found[128];
    const struct mlir_block *block = &reader->blocks[reader->depth];
    struct hlo_instruction *const *results = block->results.items;
    if (!block->terminator)
        return true;
    if (block->results.count != count && count)
        return mlir_error(reader, block->terminator, "expected %zu values, found %zu", count,
                          block->results.count);
    for (size_t i = 0; i < count; i++)
        if (results[i]->shape != types[i] && !hlo_shape_equal(results[i]->shape, types[i]))
            return mlir_error(reader, block->terminator, "value %zu has type %s, the function's type says %s",
                              i + 1, hlo_shape_text(results[i]->shape, found, sizeof found),
                              hlo_shape_text(types[i], given, sizeof given));
    return true;
}

/* The open block becomes the computation of the last function. */
static bool end_function(struct mlir_reader *reader, struct mlir_span name)
{
    size_t index = reader->functions.count - 1;
    struct hlo_computation *computation =
        mlir_end_body(reader, arena_copy(&reader->module->arena, name.at, name.length));
    if (!computation)
        return false;
    struct mlir_function *function = function_at(reader, index);
    function->name = name;
    function->computation = computation;
    function->count = reader->computations.count - function->first;
    function->call_count = reader->calls.count - function->first_call;
    return true;
}

/* (%a: type {…} loc(…), …), or only types when there is no body. */
static bool read_arguments(struct mlir_reader *reader)
{
    const char *start = (mlir_space(reader), reader->p);
    if (!mlir_need(reader, "("))
        return false;
    if (mlir_peek(reader) == '%' || mlir_peek(reader) == ')') {
        reader->p = start;
        return mlir_block_arguments(reader);
    }
    do {
        const struct hlo_shape *shape;
        if (!mlir_type(reader, &shape) || !mlir_take_dictionary(reader, NULL) || !mlir_skip_location(reader))
            return false;
    } while (mlir_take(reader, ','));
    return mlir_need(reader, ")");
}

/* -> type, or -> (type {…}, …) */
static bool read_result_types(struct mlir_reader *reader)
{
    if (!mlir_take_token(reader, "->"))
        return true;
    if (!mlir_take(reader, '('))
        return mlir_push_type(reader);
    if (mlir_take(reader, ')'))
        return true;
    do {
        if (!mlir_push_type(reader) || !mlir_take_dictionary(reader, NULL) || !mlir_skip_location(reader))
            return false;
    } while (mlir_take(reader, ','));
    return mlir_need(reader, ")");
}

/* func.func [public|private] @name(…) -> … [attributes {…}] [{…}], after 'func.func' */
static bool read_function(struct mlir_reader *reader, const char *at)
{
    struct mlir_span name;
    size_t first = reader->shapes.count;
    struct mlir_function *function = add_function(reader, at);
    if (!function)
        return false;
    if (mlir_take_word(reader, "private") || mlir_take_word(reader, "nested"))
        function->public = false;
    else
        mlir_take_word(reader, "public");
    if (!mlir_symbol(reader, &name) || !mlir_open_block(reader) || !read_arguments(reader) ||
        !read_result_types(reader))
        return false;
    function_at(reader, reader->functions.count - 1)->name = name;
    if (mlir_take_word(reader, "attributes") &&
        !(mlir_need(reader, "{") && mlir_dictionary(reader, NULL, '}')))
        return false;
    if (mlir_take(reader, '{')) {
        if (!mlir_block_body(reader) ||
            !check_results(reader, (const struct hlo_shape **)reader->shapes.items + first,
                           reader->shapes.count - first) ||
            !end_function(reader, name))
            return false;
    } else {
        mlir_drop_block(reader);
    }
    reader->shapes.count = first;
    return mlir_skip_location(reader);
}

/* "…"() <{…}> ({, after the name. */
static bool begin_generic(struct mlir_reader *reader, struct mlir_op *op)
{
    return mlir_need(reader, "(") && mlir_need(reader, ")") && mlir_properties(reader, op) &&
           mlir_need(reader, "(") && mlir_need(reader, "{");
}

/* The attributes of a generic operation of a module; its regions were read before. */
static bool end_generic(struct mlir_reader *reader, struct mlir_op *op)
{
    size_t count, first = reader->shapes.count;
    if (!mlir_take_dictionary(reader, op))
        return false;
    bool read = mlir_need(reader, ":") && mlir_push_types(reader, &count) && mlir_need(reader, "->") &&
                mlir_push_types(reader, &count) && mlir_skip_location(reader);
    reader->shapes.count = first;
    return read;
}

/* (…) -> (…) in `function_type`: only the results are pushed. */
static bool push_function_type(struct mlir_reader *reader, const struct mlir_op *op)
{
    const char *type = mlir_find(reader, op, "function_type|type");
    const char *after = reader->p;
    size_t count, first = reader->shapes.count;
    if (!type)
        return mlir_error(reader, op->at, "expected 'function_type'");
    reader->p = type;
    if (!mlir_push_types(reader, &count))
        return false;
    reader->shapes.count = first;
    if (!mlir_need(reader, "->") || !mlir_push_types(reader, &count))
        return false;
    reader->p = after;
    return true;
}

/* "func.func"() <{…}> ({…}) {…} : () -> () */
static bool read_generic_function(struct mlir_reader *reader, const char *at)
{
    struct mlir_op op = {.at = at, .first_attribute = reader->attributes.count};
    struct mlir_span name;
    size_t first = reader->shapes.count;
    if (!add_function(reader, at) || !begin_generic(reader, &op) || !mlir_open_block(reader) ||
        !mlir_block_label(reader) || !mlir_block_body(reader) || !mlir_need(reader, ")") ||
        !end_generic(reader, &op))
        return false;
    const char *symbol = mlir_find(reader, &op, "sym_name"),
               *visibility = mlir_find(reader, &op, "sym_visibility");
    if (!symbol || *symbol != '"')
        return mlir_error(reader, at, "expected 'sym_name'");
    function_at(reader, reader->functions.count - 1)->public =
        !visibility || !mlir_begins(reader, visibility, "\"private\"");
    const char *after = reader->p;
    reader->p = symbol;
    if (!mlir_string(reader, &name))
        return false;
    reader->p = after;
    bool declared =
        !reader->blocks[reader->depth].terminator && !reader->blocks[reader->depth].instructions.count;
    if (!push_function_type(reader, &op))
        return false;
    if (!declared && (!check_results(reader, (const struct hlo_shape **)reader->shapes.items + first,
                                     reader->shapes.count - first) ||
                      !end_function(reader, name)))
        return false;
    function_at(reader, reader->functions.count - 1)->name = name;
    reader->shapes.count = first;
    reader->attributes.count = op.first_attribute;
    if (declared)
        mlir_drop_block(reader);
    return true;
}

bool mlir_read_function(struct mlir_reader *reader, const char *at, bool generic)
{
    return generic ? read_generic_function(reader, at) : read_function(reader, at);
}

/* The name of a generic function, after its keyword; it is in the properties, or behind the region. */
static bool skip_generic_function(struct mlir_reader *reader, struct mlir_function *function,
                                  struct mlir_op *op)
{
    if (!mlir_need(reader, "(") || !mlir_need(reader, ")") || !mlir_properties(reader, op) ||
        mlir_peek(reader) != '(' || !mlir_skip_balanced(reader) || !end_generic(reader, op))
        return false;
    const char *symbol = mlir_find(reader, op, "sym_name"),
               *visibility = mlir_find(reader, op, "sym_visibility"), *after = reader->p;
    if (!symbol || *symbol != '"')
        return mlir_error(reader, op->at, "expected 'sym_name'");
    reader->p = symbol;
    if (!mlir_string(reader, &function->name))
        return false;
    reader->p = after;
    function->public = !visibility || !mlir_begins(reader, visibility, "\"private\"");
    function->has_body = true;
    return true;
}

/* Past a type, or the results of a function. */
static bool skip_results(struct mlir_reader *reader)
{
    if (!mlir_take_token(reader, "->"))
        return true;
    return mlir_peek(reader) == '(' ? mlir_skip_balanced(reader) : mlir_skip_value(reader);
}

static bool skip_function(struct mlir_reader *reader, struct mlir_function *function)
{
    if (mlir_take_word(reader, "private") || mlir_take_word(reader, "nested"))
        function->public = false;
    else
        mlir_take_word(reader, "public");
    if (!mlir_symbol(reader, &function->name))
        return false;
    if (mlir_peek(reader) != '(')
        return mlir_expected(reader, "'('");
    if (!mlir_skip_balanced(reader) || !skip_results(reader))
        return false;
    if (mlir_take_word(reader, "attributes") &&
        !(mlir_need(reader, "{") && mlir_dictionary(reader, NULL, '}')))
        return false;
    function->has_body = mlir_peek(reader) == '{';
    return (!function->has_body || mlir_skip_balanced(reader)) && mlir_skip_location(reader);
}

/* Notes where a function stands, for specialise.c to read it. */
static bool list_function(struct mlir_reader *reader, const char *at, bool generic)
{
    struct mlir_op op = {.at = at, .first_attribute = reader->attributes.count};
    struct mlir_function listed = {
        .at = at, .public = true, .module = reader->module_number, .generic = generic, .body = reader->p};
    if (generic ? !skip_generic_function(reader, &listed, &op) : !skip_function(reader, &listed))
        return false;
    reader->attributes.count = op.first_attribute;
    struct mlir_function *function = mlir_push(reader, &reader->functions, sizeof *function);
    if (function)
        *function = listed;
    return function != NULL;
}

static bool read_module_items(struct mlir_reader *reader, bool nested);

/* The counts of devices that jax and torch-xla write at the outermost module. */
static bool read_counts(struct mlir_reader *reader, struct mlir_op *op)
{
    int64_t replicas = 1, partitions = 1;
    const char *after = reader->p;
    if (!mlir_find_integer(reader, op, "mhlo.num_replicas", false, &replicas) ||
        !mlir_find_integer(reader, op, "mhlo.num_partitions", false, &partitions))
        return false;
    if (replicas < 1 || partitions < 1)
        return mlir_error(reader, op->at, "expected at least one replica and one partition");
    reader->p = after;
    reader->module->replica_count = replicas;
    reader->module->partition_count = partitions;
    return true;
}

static bool enter_module(struct mlir_reader *reader, const char *at)
{
    if (reader->module_depth == HLO_MAX_DEPTH)
        return mlir_error(reader, at, "modules nested deeper than %d", HLO_MAX_DEPTH);
    reader->module_depth++;
    return true;
}

/* module @name attributes {…} {…}, or "builtin.module"() ({…}) {…} : () -> (); after the first word. */
static bool read_module(struct mlir_reader *reader, const char *at, bool generic)
{
    struct mlir_op op = {.at = at, .first_attribute = reader->attributes.count};
    struct mlir_span name = {"", 0};
    int outer = reader->module_number;
    if (!enter_module(reader, at))
        return false;
    reader->module_number = (int)reader->modules++;
    if (generic) {
        if (!begin_generic(reader, &op) || !read_module_items(reader, true) || !mlir_need(reader, ")") ||
            !end_generic(reader, &op))
            return false;
    } else {
        if (mlir_peek(reader) == '@' && !mlir_symbol(reader, &name))
            return false;
        if (mlir_take_word(reader, "attributes") &&
            !(mlir_need(reader, "{") && mlir_dictionary(reader, &op, '}')))
            return false;
        if (!mlir_need(reader, "{") || !read_module_items(reader, true) || !mlir_skip_location(reader))
            return false;
    }
    reader->module_number = outer;
    reader->module_depth--;
    if (reader->module_depth == 0) {
        reader->module->name = arena_copy(&reader->module->arena, name.at, name.length);
        if (!reader->module->name)
            return error_memory(reader->err);
        if (!read_counts(reader, &op))
            return false;
    }
    reader->attributes.count = op.first_attribute;
    return true;
}

static bool read_alias(struct mlir_reader *reader)
{
    struct mlir_span name;
    const char *at = reader->p++;
    if (!mlir_word(reader, &name))
        return mlir_expected(reader, "an alias's name");
    name = (struct mlir_span){at, name.length + 1};
    return mlir_need(reader, "=") && mlir_add_alias(reader, name);
}

/* {-# dialect_resources: {…} #-}: the values of constants, to the end of it. */
static bool skip_resources(struct mlir_reader *reader)
{
    const char *c = memchr(reader->p + 3, '#', (size_t)(reader->end - reader->p - 3));
    while (c && !mlir_begins(reader, c, "#-}"))
        c = memchr(c + 1, '#', (size_t)(reader->end - c - 1));
    if (!c)
        return mlir_error(reader, reader->p, "unbalanced bracket");
    reader->p = c + 3;
    return true;
}

/* sdy.mesh @mesh = <[…]> {…}: only declares something */
static bool skip_declaration(struct mlir_reader *reader)
{
    struct mlir_span name;
    const char *at = (mlir_space(reader), reader->p);
    if (!mlir_symbol(reader, &name))
        return false;
    name = (struct mlir_span){at, (size_t)(reader->p - at)};
    if (!mlir_need(reader, "="))
        return false;
    mlir_space(reader);
    struct mlir_alias *mesh = mlir_push(reader, &reader->aliases, sizeof *mesh);
    if (!mesh)
        return false;
    *mesh = (struct mlir_alias){name, reader->p};
    return mlir_skip_plain_value(reader) && mlir_take_dictionary(reader, NULL) && mlir_skip_location(reader);
}

static bool read_module_item(struct mlir_reader *reader)
{
    struct mlir_span word = {0};
    char c = mlir_peek(reader);
    const char *at = reader->p;
    if (c == '#' || c == '!')
        return read_alias(reader);
    if (c == '{' && mlir_take_token(reader, "{-#"))
        return skip_resources(reader);
    bool generic = c == '"';
    if (generic && !mlir_string(reader, &word))
        return false;
    if (!generic && !mlir_word(reader, &word))
        return mlir_expected(reader, "a module or a function");
    if (mlir_same(word, "func.func") || mlir_same(word, "func") || mlir_same(word, "builtin.func"))
        return reader->sized ? list_function(reader, at, generic) : mlir_read_function(reader, at, generic);
    if (mlir_same(word, "module") || mlir_same(word, "builtin.module"))
        return read_module(reader, at, generic);
    if (mlir_same(word, "sdy.mesh") && !generic)
        return skip_declaration(reader);
    return mlir_error(reader, at, "expected a module or a function, found '%.*s'",
                      (int)(word.length < 100 ? word.length : 100), word.at);
}

/* Up to the end of the text, or of the module. */
static bool read_module_items(struct mlir_reader *reader, bool nested)
{
    for (;;) {
        mlir_space(reader);
        if (reader->p >= reader->end)
            return !nested || mlir_expected(reader, "'}'");
        if (nested && mlir_take(reader, '}'))
            return true;
        if (!read_module_item(reader))
            return false;
    }
}

#define LISTS 13

static void list_all(struct mlir_reader *reader, struct mlir_list *lists[LISTS])
{
    struct mlir_list *all[LISTS] = {
        &reader->bindings, &reader->results,  &reader->operands,     &reader->attributes, &reader->callees,
        &reader->shapes,   &reader->numbers,  &reader->computations, &reader->functions,  &reader->calls,
        &reader->aliases,  &reader->versions, &reader->known,
    };
    memcpy(lists, all, sizeof all);
}

/* Lists begin with memory, so that there is always a place to point at. */
static bool prepare(struct mlir_reader *reader)
{
    struct mlir_list *lists[LISTS];
    list_all(reader, lists);
    for (int i = 0; i < LISTS; i++)
        if (!(lists[i]->items = malloc(1)))
            return false;
    /* `%0 = op` for each: numbers that a text this long does not come to need no room */
    size_t max = (size_t)(reader->end - reader->text) / 4 + 1;
    reader->numbered_room = max < MLIR_NUMBERED ? (uint32_t)max : MLIR_NUMBERED;
    reader->numbered = calloc(reader->numbered_room, sizeof *reader->numbered);
    return reader->numbered != NULL;
}

static void release(struct mlir_reader *reader)
{
    struct mlir_list *lists[LISTS];
    list_all(reader, lists);
    for (int i = 0; i < LISTS; i++)
        free(lists[i]->items);
    for (int i = 0; i <= HLO_MAX_DEPTH; i++) {
        free(reader->blocks[i].instructions.items);
        free(reader->blocks[i].parameters.items);
        free(reader->blocks[i].results.items);
    }
    hlo_table_release(&reader->names);
    free(reader->numbered);
    free(reader);
}

static bool read_text(struct mlir_reader *reader)
{
    struct hlo_module *module = reader->module;
    module->replica_count = module->partition_count = 1;
    module->name = "";
    reader->place = (struct mlir_place){1, 1};
    reader->line_seen = reader->text;
    reader->modules = 1;
    if (reader->end - reader->text > 0 && (size_t)(reader->end - reader->text) > HLO_MAX_BYTES)
        return error_set(reader->err, ERROR_INPUT, "%s: larger than 1 GiB", module->path);
    return read_module_items(reader, false) && (reader->sized ? mlir_link_sized(reader) : mlir_link(reader));
}

/* Reads the text once. *is_open becomes true if it failed because the text leaves sizes open. */
static bool read_once(struct hlo_module *module, const char *path, struct mlir_span text,
                      const struct hlo_dims *dims, bool *is_open, struct error *err)
{
    *module = (struct hlo_module){.path = path, .is_stablehlo = true};
    struct mlir_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return error_memory(err);
    module->path = arena_string(&module->arena, path);
    reader->module = module;
    reader->err = err;
    reader->text = reader->p = text.at;
    reader->end = text.at + text.length;
    reader->sized = *is_open;
    reader->dims = dims;
    bool read = prepare(reader) && module->path ? read_text(reader) : error_memory(err);
    *is_open = reader->is_open;
    release(reader);
    if (!read)
        hlo_release(module);
    return read;
}

bool hlo_parse_mlir_sized(struct hlo_module *module, const char *path, const char *text, size_t length,
                          const struct hlo_dims *dims, struct error *err)
{
    struct mlir_span whole = {text, length};
    bool is_open = false;
    return read_once(module, path, whole, dims, &is_open, err) ||
           (is_open && read_once(module, path, whole, dims, &is_open, err));
}
