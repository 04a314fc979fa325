/* Checks of a custom_call's layouts, aliases and configuration (StableHLO's specification, custom_call). */
#include "hlo/mlir/mlir.h"

typedef bool check_item(struct mlir_reader *r, const struct mlir_op *op, size_t index, const char *item);

/* Checks each item of a list [a, b, …] and counts them. */
static bool each_item(struct mlir_reader *r, const struct mlir_op *op, const char *list, check_item *check,
                      size_t *count)
{
    *count = 0;
    r->p = list + 1;
    while (!mlir_take(r, ']')) {
        if (*count && !mlir_need(r, ","))
            return false;
        mlir_space(r);
        const char *item = r->p;
        if (!mlir_skip_value(r))
            return false;
        const char *next = r->p;
        if (!check(r, op, (*count)++, item))
            return false;
        r->p = next;
    }
    return true;
}

static const char *find_list(struct mlir_reader *r, const struct mlir_op *op, const char *key)
{
    const char *list = mlir_find(r, op, key);
    return list && *list == '[' ? list : NULL;
}

/* Returns a part of the result: a single tuple counts as its parts. */
static const struct hlo_shape *result_part(struct mlir_reader *r, const struct mlir_op *op, size_t index)
{
    const struct hlo_shape *first = op->result_types ? mlir_result_type(r, op, 0) : NULL;
    if (op->result_types == 1 && first->type == HLO_TYPE_TUPLE)
        return index < (size_t)first->part_count ? first->parts[index] : NULL;
    return index < op->result_types ? mlir_result_type(r, op, index) : NULL;
}

static size_t result_parts(struct mlir_reader *r, const struct mlir_op *op)
{
    size_t count = 0;
    while (result_part(r, op, count))
        count++;
    return count;
}

/* Checks an order of the dimensions: dense<[1, 0]> : tensor<2xindex>. */
static bool check_layout(struct mlir_reader *r, const struct mlir_op *op, const char *layout,
                         const struct hlo_shape *shape)
{
    struct hlo_ints order;
    if (!shape)
        return true; /* counted by the caller */
    if (shape->type == HLO_TYPE_TUPLE)
        return mlir_op_error(r, op, "a layout for a tuple");
    if (!mlir_read_ints(r, layout, &order, NULL))
        return false;
    if (order.count != shape->rank)
        return mlir_op_error(r, op, "a layout of %d dimensions for %d", order.count, shape->rank);
    return mlir_in_range(r, op, "layout", order, shape->rank);
}

static bool operand_layout(struct mlir_reader *r, const struct mlir_op *op, size_t index, const char *layout)
{
    return check_layout(r, op, layout, index < op->operands ? mlir_operand_type(r, op, index) : NULL);
}

static bool result_layout(struct mlir_reader *r, const struct mlir_op *op, size_t index, const char *layout)
{
    return check_layout(r, op, layout, result_part(r, op, index));
}

static bool verify_layouts(struct mlir_reader *r, const struct mlir_op *op)
{
    const char *operands = find_list(r, op, "operand_layouts"), *results = find_list(r, op, "result_layouts");
    size_t of_operands, of_results;
    if (!operands && !results)
        return true;
    if (!operands || !results)
        return mlir_op_error(r, op, "layouts are for operands and results, or for none");
    if (!each_item(r, op, operands, operand_layout, &of_operands) ||
        !each_item(r, op, results, result_layout, &of_results))
        return false;
    return (of_operands == op->operands && of_results == result_parts(r, op)) ||
           mlir_op_error(r, op, "%zu layouts for %zu operands, %zu for %zu results", of_operands,
                         op->operands, of_results, result_parts(r, op));
}

/* Follows the numbers of a field into a tuple of tuples; *shape becomes the part, or NULL if there is
 * none. */
static bool follow(struct mlir_reader *r, const char *alias, const char *key, const struct hlo_shape **shape)
{
    struct hlo_ints path;
    if (!mlir_read_field(r, alias, key, &path))
        return false;
    for (int i = 0; i < path.count && *shape; i++)
        *shape = (*shape)->type == HLO_TYPE_TUPLE && path.at[i] >= 0 && path.at[i] < (*shape)->part_count
                     ? (*shape)->parts[path.at[i]]
                     : NULL;
    return true;
}

/* #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices =
 * [1]> */
static bool check_alias(struct mlir_reader *r, const struct mlir_op *op, size_t index, const char *alias)
{
    struct hlo_ints operand;
    if (!mlir_read_field(r, alias, "operand_index", &operand))
        return false;
    if (operand.count != 1 || operand.at[0] < 0 || (size_t)operand.at[0] >= op->operands)
        return mlir_op_error(r, op, "alias %zu: there is no such operand", index + 1);
    const struct hlo_shape *in = mlir_operand_type(r, op, (size_t)operand.at[0]);
    const struct hlo_shape *out = op->result_types == 1 ? mlir_result_type(r, op, 0) : NULL;
    bool single = out != NULL;
    if (!follow(r, alias, "operand_tuple_indices", &in) || !follow(r, alias, "output_tuple_indices", &out))
        return false;
    if (!in || (single && !out))
        return mlir_op_error(r, op, "alias %zu: there is no such part of the %s", index + 1,
                             in ? "result" : "operand");
    return !single || hlo_shape_equal(in, out) ||
           mlir_op_error(r, op, "alias %zu: operand and result are of different types", index + 1);
}

/* The typed interface (4) expects a dictionary, earlier ones a string. */
static bool verify_config(struct mlir_reader *r, const struct mlir_op *op)
{
    const char *config = mlir_find(r, op, "backend_config");
    int64_t version = 0;
    const char *given = mlir_find(r, op, "api_version");
    if (!config || !given || *given < '0' || *given > '9')
        return true;
    if (!mlir_find_integer(r, op, "api_version", false, &version))
        return false;
    bool dictionary = *config == '{';
    return version == 0 || *config == '#' || dictionary == (version == 4) ||
           mlir_op_error(r, op, "backend_config: version %lld expects a %s", (long long)version,
                         dictionary ? "string" : "dictionary");
}

bool mlir_verify_custom(struct mlir_reader *r, const struct mlir_op *op)
{
    const char *aliases = find_list(r, op, "output_operand_aliases");
    size_t count;
    return verify_layouts(r, op) && verify_config(r, op) &&
           (!aliases || each_item(r, op, aliases, check_alias, &count));
}
