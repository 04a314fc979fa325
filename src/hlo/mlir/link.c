/* Functions and their callers: computations in order, callees first, and the entry. */
#include "hlo/mlir/mlir.h"

#include <stdlib.h>

static struct mlir_function *function_at(const struct mlir_reader *r, size_t index)
{
    return (struct mlir_function *)r->functions.items + index;
}

static int compare_names(int module_a, struct mlir_span a, int module_b, struct mlir_span b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = (module_a > module_b) - (module_a < module_b);
    if (!order && shorter)
        order = memcmp(a.at, b.at, shorter);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int by_name(const void *a, const void *b)
{
    const struct mlir_function *x = *(struct mlir_function *const *)a, *y = *(struct mlir_function *const *)b;
    int order = compare_names(x->module, x->name, y->module, y->name);
    return order ? order : (x > y) - (x < y);
}

static struct mlir_function *find_function(struct mlir_function *const *sorted, size_t count, int module,
                                           struct mlir_span name)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_names(sorted[middle]->module, sorted[middle]->name, module, name);
        if (order == 0)
            return sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool check_unique(struct mlir_reader *r, struct mlir_function *const *sorted, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_names(sorted[i - 1]->module, sorted[i - 1]->name, sorted[i]->module, sorted[i]->name) ==
            0)
            return mlir_error(r, sorted[i]->at, "function '@%.*s' is defined twice",
                              (int)sorted[i]->name.length, sorted[i]->name.at);
    return true;
}

/* Checks the operands and result of a call against the parameters and root of the function. */
static bool check_call(struct mlir_reader *r, const struct mlir_call *call,
                       const struct hlo_computation *callee)
{
    const struct hlo_instruction *caller = call->instruction;
    if (caller->operand_count != callee->parameter_count)
        return mlir_error(r, call->at, "'@%.*s' takes %d operands, found %d", (int)call->name.length,
                          call->name.at, callee->parameter_count, caller->operand_count);
    for (int i = 0; i < caller->operand_count; i++)
        if (!hlo_shape_equal(caller->operands[i]->shape, callee->parameters[i]->shape))
            return mlir_error(r, call->at, "operand %d is not of the type that '@%.*s' takes", i + 1,
                              (int)call->name.length, call->name.at);
    if (!hlo_shape_equal(caller->shape, callee->root->shape))
        return mlir_error(r, call->at, "the result is not of the type that '@%.*s' returns",
                          (int)call->name.length, call->name.at);
    return true;
}

static bool visit(struct mlir_reader *r, struct mlir_function *const *sorted, struct mlir_function *function,
                  int depth);

static bool resolve(struct mlir_reader *r, struct mlir_function *const *sorted, struct mlir_call *call,
                    int depth)
{
    struct mlir_function *callee = find_function(sorted, r->functions.count, call->module, call->name);
    if ((!callee || !callee->computation) && !call->required)
        return true;
    if (!callee || !callee->computation)
        return mlir_error(r, call->at, "function '@%.*s' is %s", (int)call->name.length, call->name.at,
                          callee ? "only declared, it has no body" : "not defined");
    if (callee->open)
        return mlir_error(r, call->at, "function '@%.*s' calls itself", (int)call->name.length,
                          call->name.at);
    if (depth == HLO_MAX_DEPTH)
        return mlir_error(r, call->at, "calls nested deeper than %d", HLO_MAX_DEPTH);
    if (!visit(r, sorted, callee, depth + 1))
        return false;
    call->instruction->callees[call->instruction->callee_count++] = callee->computation;
    return !call->required || check_call(r, call, callee->computation);
}

/* Lists the functions that a function calls, then its regions, then itself. */
static bool visit(struct mlir_reader *r, struct mlir_function *const *sorted, struct mlir_function *function,
                  int depth)
{
    struct hlo_module *module = r->module;
    if (function->visited || !function->computation)
        return true;
    function->open = true;
    for (size_t i = 0; i < function->call_count; i++)
        if (!resolve(r, sorted, (struct mlir_call *)r->calls.items + function->first_call + i, depth))
            return false;
    for (size_t i = 0; i < function->count; i++) {
        struct hlo_computation *computation =
            ((struct hlo_computation **)r->computations.items)[function->first + i];
        computation->index = module->count;
        module->computations[module->count++] = computation;
    }
    function->open = false;
    function->visited = true;
    return true;
}

struct mlir_function *mlir_find_entry(const struct mlir_reader *r)
{
    struct mlir_function *first = NULL, *only = NULL;
    int public_count = 0;
    for (size_t i = 0; i < r->functions.count; i++) {
        struct mlir_function *function = function_at(r, i);
        if (!function->computation && !function->has_body)
            continue;
        if (mlir_same(function->name, "main"))
            return function;
        if (function->public && public_count++ == 0)
            only = function;
        first = first ? first : function;
    }
    return public_count == 1 ? only : first;
}

static bool link_functions(struct mlir_reader *r, struct mlir_function **sorted)
{
    size_t count = r->functions.count;
    for (size_t i = 0; i < count; i++)
        sorted[i] = function_at(r, i);
    qsort(sorted, count, sizeof(struct mlir_function *), by_name);
    if (!check_unique(r, sorted, count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!visit(r, sorted, function_at(r, i), 0))
            return false;
    return true;
}

bool mlir_link(struct mlir_reader *r)
{
    struct hlo_module *module = r->module;
    const struct mlir_function *entry = mlir_find_entry(r);
    if (!entry)
        return mlir_error(r, r->end, "expected a function with a body, found none");
    module->entry = entry->computation;
    struct mlir_function **sorted = malloc(r->functions.count * sizeof(struct mlir_function *));
    module->computations = ARENA_ARRAY(&module->arena, r->computations.count, struct hlo_computation *);
    if (!sorted || !module->computations) {
        free(sorted);
        return error_memory(r->err);
    }
    bool linked = link_functions(r, sorted);
    free(sorted);
    return linked;
}
