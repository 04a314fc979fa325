#include "hlo/mlir/mlir.h"

#include <stdlib.h>

static struct mlir_function *function_at(const struct mlir_reader *r, size_t index)
{
    return (struct mlir_function *)r->functions.items + index;
}

static struct mlir_function *add_function(struct mlir_reader *r, const char *at)
{
    struct mlir_function *function = mlir_push(r, &r->functions, sizeof *function);
    if (function)
        *function = (struct mlir_function){
            .at = at,
            .public = true,
            .module = r->module_number,
            .first = r->computations.count,
            .first_call = r->calls.count,
        };
    return function;
}

/* The values that a function returns must have the types that it declares. */
static bool check_results(struct mlir_reader *r, const struct hlo_shape *const *types, size_t count)
{
    char given[128], found[128];
    const struct mlir_block *block = &r->blocks[r->depth];
    struct hlo_instruction *const *results = block->results.items;
    if (!block->terminator)
        return true;
    if (block->results.count != count && count)
        return mlir_error(r, block->terminator, "expected %zu values, found %zu", count,
                          block->results.count);
    for (size_t i = 0; i < count; i++)
        if (results[i]->shape != types[i] && !hlo_shape_equal(results[i]->shape, types[i]))
            return mlir_error(r, block->terminator, "value %zu has type %s, the function's type says %s",
                              i + 1, hlo_shape_text(results[i]->shape, found, sizeof found),
                              hlo_shape_text(types[i], given, sizeof given));
    return true;
}

/* The open block becomes the computation of the last function. */
static bool end_function(struct mlir_reader *r, struct mlir_span name)
{
    size_t index = r->functions.count - 1;
    struct hlo_computation *computation =
        mlir_end_body(r, arena_copy(&r->module->arena, name.at, name.length));
    if (!computation)
        return false;
    struct mlir_function *function = function_at(r, index);
    function->name = name;
    function->computation = computation;
    function->count = r->computations.count - function->first;
    function->call_count = r->calls.count - function->first_call;
    return true;
}

/* (%a: type {…} loc(…), …), or only types when there is no body. */
static bool read_arguments(struct mlir_reader *r)
{
    const char *start = (mlir_space(r), r->p);
    if (!mlir_need(r, "("))
        return false;
    if (mlir_peek(r) == '%' || mlir_peek(r) == ')') {
        r->p = start;
        return mlir_block_arguments(r);
    }
    do {
        const struct hlo_shape *shape;
        if (!mlir_type(r, &shape) || !mlir_take_dictionary(r, NULL) || !mlir_skip_location(r))
            return false;
    } while (mlir_take(r, ','));
    return mlir_need(r, ")");
}

/* -> type, or -> (type {…}, …) */
static bool read_result_types(struct mlir_reader *r)
{
    if (!mlir_take_token(r, "->"))
        return true;
    if (!mlir_take(r, '('))
        return mlir_push_type(r);
    if (mlir_take(r, ')'))
        return true;
    do {
        if (!mlir_push_type(r) || !mlir_take_dictionary(r, NULL) || !mlir_skip_location(r))
            return false;
    } while (mlir_take(r, ','));
    return mlir_need(r, ")");
}

/* [public|private] @name of a function. */
static bool read_symbol(struct mlir_reader *r, bool *public, struct mlir_span *name)
{
    *public = !mlir_take_word(r, "private") && !mlir_take_word(r, "nested");
    if (*public)
        mlir_take_word(r, "public");
    return mlir_symbol(r, name);
}

/* attributes {…}, which nothing is taken of. */
static bool skip_attributes(struct mlir_reader *r)
{
    return !mlir_take_word(r, "attributes") || (mlir_need(r, "{") && mlir_dictionary(r, NULL, '}'));
}

/* The same of the attributes of a generic function; the reader stays where it is. */
static bool find_symbol(struct mlir_reader *r, const struct mlir_op *op, bool *public, struct mlir_span *name)
{
    const char *symbol = mlir_find(r, op, "sym_name"), *visibility = mlir_find(r, op, "sym_visibility");
    const char *after = r->p;
    if (!symbol || *symbol != '"')
        return mlir_error(r, op->at, "expected 'sym_name'");
    r->p = symbol;
    if (!mlir_string(r, name))
        return false;
    r->p = after;
    *public = !visibility || !mlir_begins(r, visibility, "\"private\"");
    return true;
}

/* func.func [public|private] @name(…) -> … [attributes {…}] [{…}], after 'func.func' */
static bool read_function(struct mlir_reader *r, const char *at)
{
    struct mlir_span name;
    size_t first = r->shapes.count;
    struct mlir_function *function = add_function(r, at);
    if (!function)
        return false;
    if (!read_symbol(r, &function->public, &name) || !mlir_open_block(r) || !read_arguments(r) ||
        !read_result_types(r))
        return false;
    function_at(r, r->functions.count - 1)->name = name;
    if (!skip_attributes(r))
        return false;
    if (mlir_take(r, '{')) {
        if (!mlir_block_body(r) ||
            !check_results(r, (const struct hlo_shape **)r->shapes.items + first, r->shapes.count - first) ||
            !end_function(r, name))
            return false;
    } else {
        mlir_drop_block(r);
    }
    r->shapes.count = first;
    return mlir_skip_location(r);
}

/* "…"() <{…}> ({, after the name. */
static bool begin_generic(struct mlir_reader *r, struct mlir_op *op)
{
    return mlir_need(r, "(") && mlir_need(r, ")") && mlir_properties(r, op) && mlir_need(r, "(") &&
           mlir_need(r, "{");
}

/* The attributes of a generic operation of a module; its regions were read before. */
static bool end_generic(struct mlir_reader *r, struct mlir_op *op)
{
    size_t count, first = r->shapes.count;
    if (!mlir_take_dictionary(r, op))
        return false;
    bool read = mlir_need(r, ":") && mlir_push_types(r, &count) && mlir_need(r, "->") &&
                mlir_push_types(r, &count) && mlir_skip_location(r);
    r->shapes.count = first;
    return read;
}

/* (…) -> (…) in `function_type`: only the results are pushed. */
static bool push_function_type(struct mlir_reader *r, const struct mlir_op *op)
{
    const char *type = mlir_find(r, op, "function_type|type");
    const char *after = r->p;
    size_t count, first = r->shapes.count;
    if (!type)
        return mlir_error(r, op->at, "expected 'function_type'");
    r->p = type;
    if (!mlir_push_types(r, &count))
        return false;
    r->shapes.count = first;
    if (!mlir_need(r, "->") || !mlir_push_types(r, &count))
        return false;
    r->p = after;
    return true;
}

/* "func.func"() <{…}> ({…}) {…} : () -> () */
static bool read_generic_function(struct mlir_reader *r, const char *at)
{
    struct mlir_op op = {.at = at, .first_attribute = r->attributes.count};
    struct mlir_span name;
    size_t first = r->shapes.count;
    if (!add_function(r, at) || !begin_generic(r, &op) || !mlir_open_block(r) || !mlir_block_label(r) ||
        !mlir_block_body(r) || !mlir_need(r, ")") || !end_generic(r, &op))
        return false;
    bool public;
    if (!find_symbol(r, &op, &public, &name))
        return false;
    function_at(r, r->functions.count - 1)->public = public;
    bool declared = !r->blocks[r->depth].terminator && !r->blocks[r->depth].instructions.count;
    if (!push_function_type(r, &op))
        return false;
    if (!declared &&
        (!check_results(r, (const struct hlo_shape **)r->shapes.items + first, r->shapes.count - first) ||
         !end_function(r, name)))
        return false;
    function_at(r, r->functions.count - 1)->name = name;
    r->shapes.count = first;
    r->attributes.count = op.first_attribute;
    if (declared)
        mlir_drop_block(r);
    return true;
}

bool mlir_read_function(struct mlir_reader *r, const char *at, bool generic)
{
    return generic ? read_generic_function(r, at) : read_function(r, at);
}

/* The name of a generic function, after its keyword; it is in the properties, or behind the region. */
static bool skip_generic_function(struct mlir_reader *r, struct mlir_function *function, struct mlir_op *op)
{
    if (!mlir_need(r, "(") || !mlir_need(r, ")") || !mlir_properties(r, op) || mlir_peek(r) != '(' ||
        !mlir_skip_balanced(r) || !end_generic(r, op))
        return false;
    function->has_body = true;
    return find_symbol(r, op, &function->public, &function->name);
}

/* Past a type, or the results of a function. */
static bool skip_results(struct mlir_reader *r)
{
    if (!mlir_take_token(r, "->"))
        return true;
    return mlir_peek(r) == '(' ? mlir_skip_balanced(r) : mlir_skip_value(r);
}

static bool skip_function(struct mlir_reader *r, struct mlir_function *function)
{
    if (!read_symbol(r, &function->public, &function->name))
        return false;
    if (mlir_peek(r) != '(')
        return mlir_expected(r, "'('");
    if (!mlir_skip_balanced(r) || !skip_results(r) || !skip_attributes(r))
        return false;
    function->has_body = mlir_peek(r) == '{';
    return (!function->has_body || mlir_skip_balanced(r)) && mlir_skip_location(r);
}

/* Notes where a function stands, for specialise.c to read it. */
static bool list_function(struct mlir_reader *r, const char *at, bool generic)
{
    struct mlir_op op = {.at = at, .first_attribute = r->attributes.count};
    struct mlir_function listed = {
        .at = at, .public = true, .module = r->module_number, .generic = generic, .body = r->p};
    if (generic ? !skip_generic_function(r, &listed, &op) : !skip_function(r, &listed))
        return false;
    r->attributes.count = op.first_attribute;
    struct mlir_function *function = mlir_push(r, &r->functions, sizeof *function);
    if (function)
        *function = listed;
    return function != NULL;
}

static bool read_module_items(struct mlir_reader *r, bool nested);

/* The counts of devices that jax and torch-xla write at the outermost module. */
static bool read_counts(struct mlir_reader *r, struct mlir_op *op)
{
    int64_t replicas = 1, partitions = 1;
    const char *after = r->p;
    if (!mlir_find_integer(r, op, "mhlo.num_replicas", false, &replicas) ||
        !mlir_find_integer(r, op, "mhlo.num_partitions", false, &partitions))
        return false;
    if (replicas < 1 || partitions < 1)
        return mlir_error(r, op->at, "expected at least one replica and one partition");
    r->p = after;
    r->module->replica_count = replicas;
    r->module->partition_count = partitions;
    return true;
}

static bool enter_module(struct mlir_reader *r, const char *at)
{
    if (r->module_depth == HLO_MAX_DEPTH)
        return mlir_error(r, at, "modules nested deeper than %d", HLO_MAX_DEPTH);
    r->module_depth++;
    return true;
}

/* module @name attributes {…} {…}, or "builtin.module"() ({…}) {…} : () -> (); after the first word. */
static bool read_module(struct mlir_reader *r, const char *at, bool generic)
{
    struct mlir_op op = {.at = at, .first_attribute = r->attributes.count};
    struct mlir_span name = {"", 0};
    int outer = r->module_number;
    if (!enter_module(r, at))
        return false;
    r->module_number = (int)r->modules++;
    if (generic) {
        if (!begin_generic(r, &op) || !read_module_items(r, true) || !mlir_need(r, ")") ||
            !end_generic(r, &op))
            return false;
    } else {
        if (mlir_peek(r) == '@' && !mlir_symbol(r, &name))
            return false;
        if (mlir_take_word(r, "attributes") && !(mlir_need(r, "{") && mlir_dictionary(r, &op, '}')))
            return false;
        if (!mlir_need(r, "{") || !read_module_items(r, true) || !mlir_skip_location(r))
            return false;
    }
    r->module_number = outer;
    r->module_depth--;
    if (r->module_depth == 0) {
        r->module->name = arena_copy(&r->module->arena, name.at, name.length);
        if (!r->module->name)
            return error_memory(r->err);
        if (!read_counts(r, &op))
            return false;
    }
    r->attributes.count = op.first_attribute;
    return true;
}

static bool read_alias(struct mlir_reader *r)
{
    struct mlir_span name;
    const char *at = r->p++;
    if (!mlir_word(r, &name))
        return mlir_expected(r, "an alias's name");
    name = (struct mlir_span){at, name.length + 1};
    return mlir_need(r, "=") && mlir_add_alias(r, name);
}

/* {-# dialect_resources: {…} #-}: the values of constants, to the end of it. */
static bool skip_resources(struct mlir_reader *r)
{
    const char *c = memchr(r->p + 3, '#', (size_t)(r->end - r->p - 3));
    while (c && !mlir_begins(r, c, "#-}"))
        c = memchr(c + 1, '#', (size_t)(r->end - c - 1));
    if (!c)
        return mlir_error(r, r->p, "unbalanced bracket");
    r->p = c + 3;
    return true;
}

/* sdy.mesh @mesh = <[…]> {…}: only declares something */
static bool skip_declaration(struct mlir_reader *r)
{
    struct mlir_span name;
    const char *at = (mlir_space(r), r->p);
    if (!mlir_symbol(r, &name))
        return false;
    name = (struct mlir_span){at, (size_t)(r->p - at)};
    if (!mlir_need(r, "="))
        return false;
    mlir_space(r);
    struct mlir_alias *mesh = mlir_push(r, &r->aliases, sizeof *mesh);
    if (!mesh)
        return false;
    *mesh = (struct mlir_alias){name, r->p};
    return mlir_skip_plain_value(r) && mlir_take_dictionary(r, NULL) && mlir_skip_location(r);
}

static bool read_module_item(struct mlir_reader *r)
{
    struct mlir_span word = {0};
    char c = mlir_peek(r);
    const char *at = r->p;
    if (c == '#' || c == '!')
        return read_alias(r);
    if (c == '{' && mlir_take_token(r, "{-#"))
        return skip_resources(r);
    bool generic = c == '"';
    if (generic && !mlir_string(r, &word))
        return false;
    if (!generic && !mlir_word(r, &word))
        return mlir_expected(r, "a module or a function");
    if (mlir_same(word, "func.func") || mlir_same(word, "func") || mlir_same(word, "builtin.func"))
        return r->sized ? list_function(r, at, generic) : mlir_read_function(r, at, generic);
    if (mlir_same(word, "module") || mlir_same(word, "builtin.module"))
        return read_module(r, at, generic);
    if (mlir_same(word, "sdy.mesh") && !generic)
        return skip_declaration(r);
    return mlir_error(r, at, "expected a module or a function, found '%.*s'",
                      (int)(word.length < 100 ? word.length : 100), word.at);
}

/* Up to the end of the text, or of the module. */
static bool read_module_items(struct mlir_reader *r, bool nested)
{
    for (;;) {
        mlir_space(r);
        if (r->p >= r->end)
            return !nested || mlir_expected(r, "'}'");
        if (nested && mlir_take(r, '}'))
            return true;
        if (!read_module_item(r))
            return false;
    }
}

#define LISTS 13

static void list_all(struct mlir_reader *r, struct mlir_list *lists[LISTS])
{
    struct mlir_list *all[LISTS] = {
        &r->bindings,     &r->results,   &r->operands, &r->attributes, &r->callees,  &r->shapes, &r->numbers,
        &r->computations, &r->functions, &r->calls,    &r->aliases,    &r->versions, &r->known,
    };
    memcpy(lists, all, sizeof all);
}

/* Lists begin with memory, so that there is always a place to point at. */
static bool prepare(struct mlir_reader *r)
{
    struct mlir_list *lists[LISTS];
    list_all(r, lists);
    for (int i = 0; i < LISTS; i++)
        if (!(lists[i]->items = malloc(1)))
            return false;
    /* `%0 = op` for each: numbers that a text this long does not come to need no room */
    size_t max = (size_t)(r->end - r->text) / 4 + 1;
    r->numbered_room = max < MLIR_NUMBERED ? (uint32_t)max : MLIR_NUMBERED;
    r->numbered = calloc(r->numbered_room, sizeof *r->numbered);
    return r->numbered != NULL;
}

static void release(struct mlir_reader *r)
{
    struct mlir_list *lists[LISTS];
    list_all(r, lists);
    for (int i = 0; i < LISTS; i++)
        free(lists[i]->items);
    for (int i = 0; i <= HLO_MAX_DEPTH; i++) {
        free(r->blocks[i].instructions.items);
        free(r->blocks[i].parameters.items);
        free(r->blocks[i].results.items);
    }
    hlo_table_release(&r->names);
    free(r->numbered);
    free(r);
}

static bool read_text(struct mlir_reader *r)
{
    struct hlo_module *module = r->module;
    module->replica_count = module->partition_count = 1;
    module->name = "";
    r->place = (struct mlir_place){1, 1};
    r->line_seen = r->text;
    r->modules = 1;
    if (r->end - r->text > 0 && (size_t)(r->end - r->text) > HLO_MAX_BYTES)
        return error_set(r->err, ERROR_INPUT, "%s: larger than 1 GiB", module->path);
    return read_module_items(r, false) && (r->sized ? mlir_link_sized(r) : mlir_link(r));
}

/* Reads the text once. *is_open becomes true if it failed because the text leaves sizes open. */
static bool read_once(struct hlo_module *module, const char *path, struct mlir_span text,
                      const struct hlo_dims *dims, bool *is_open, struct error *err)
{
    *module = (struct hlo_module){.path = path, .is_stablehlo = true};
    struct mlir_reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err);
    module->path = arena_string(&module->arena, path);
    r->module = module;
    r->err = err;
    r->text = r->p = text.at;
    r->end = text.at + text.length;
    r->sized = *is_open;
    r->dims = dims;
    bool read = prepare(r) && module->path ? read_text(r) : error_memory(err);
    *is_open = r->is_open;
    release(r);
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
