#include "hlo/mlir/mlir.h"

#define MAX_SPLAT 65536 /* numbers that one number stands for, in an attribute */

bool mlir_note(struct mlir_reader *r, struct mlir_op *op, struct mlir_span key, const char *value)
{
    struct mlir_attribute *attribute = mlir_push(r, &r->attributes, sizeof(struct mlir_attribute));
    if (!attribute)
        return false;
    *attribute = (struct mlir_attribute){key, value};
    op->attributes++;
    return true;
}

bool mlir_dictionary(struct mlir_reader *r, struct mlir_op *op, char end)
{
    if (mlir_take(r, end))
        return true;
    do {
        struct mlir_span key;
        bool quoted = mlir_peek(r) == '"';
        if (quoted && !mlir_string(r, &key))
            return false;
        if (!quoted && !mlir_word(r, &key))
            return mlir_expected(r, "an attribute's name");
        const char *value = NULL;
        if (mlir_take(r, '=')) {
            mlir_space(r);
            value = r->p;
            if (!mlir_skip_value(r))
                return false;
        }
        if (op && !mlir_note(r, op, key, value))
            return false;
    } while (mlir_take(r, ','));
    return mlir_need(r, (char[]){end, '\0'});
}

static const struct mlir_attribute *find(const struct mlir_reader *r, const struct mlir_op *op,
                                         const char *keys)
{
    const struct mlir_attribute *all = r->attributes.items;
    for (size_t i = 0; i < op->attributes; i++) {
        const struct mlir_attribute *attribute = &all[op->first_attribute + i];
        size_t length = attribute->key.length;
        for (const char *key = keys; key; key = strchr(key, '|')) {
            key += *key == '|';
            if (strcspn(key, "|") == length && memcmp(key, attribute->key.at, length) == 0)
                return attribute;
        }
    }
    return NULL;
}

bool mlir_has(const struct mlir_reader *r, const struct mlir_op *op, const char *key)
{
    return find(r, op, key) != NULL;
}

const char *mlir_find(const struct mlir_reader *r, const struct mlir_op *op, const char *keys)
{
    const struct mlir_attribute *attribute = find(r, op, keys);
    return attribute ? attribute->value : NULL;
}

/* Most aliases are locations, and nothing asks for them. */
static bool is_location(const struct mlir_reader *r, const char *value)
{
    return r->end - value > 4 && memcmp(value, "loc(", 4) == 0;
}

bool mlir_add_alias(struct mlir_reader *r, struct mlir_span name)
{
    mlir_space(r);
    const char *value = r->p;
    if (is_location(r, value))
        return mlir_skip_value(r);
    if (*name.at == '!' && mlir_take_word(r, "type")) /* as it was written until 2022 */
        value = (mlir_space(r), r->p);
    struct mlir_alias *alias = mlir_push(r, &r->aliases, sizeof(struct mlir_alias));
    if (!alias)
        return false;
    *alias = (struct mlir_alias){name, value};
    return mlir_skip_value(r);
}

static const char *known_alias(const struct mlir_reader *r, struct mlir_span name)
{
    const struct mlir_alias *aliases = r->aliases.items;
    for (size_t i = 0; i < r->aliases.count; i++)
        if (aliases[i].name.length == name.length && memcmp(aliases[i].name.at, name.at, name.length) == 0)
            return aliases[i].value;
    return NULL;
}

/* Notes the aliases of all lines that follow. */
static void seek_aliases(struct mlir_reader *r)
{
    const char *here = r->p, *c = here, *end = r->end;
    struct mlir_span name;
    r->aliases_sought = true;
    while ((c = memchr(c, '\n', (size_t)(end - c)))) {
        if (++c == end || (*c != '#' && *c != '!'))
            continue;
        r->p = c + 1;
        if (!mlir_word(r, &name) || !mlir_take(r, '='))
            continue;
        mlir_space(r);
        if (is_location(r, r->p))
            continue;
        struct mlir_alias *alias = mlir_push(r, &r->aliases, sizeof(struct mlir_alias));
        if (!alias)
            break;
        *alias = (struct mlir_alias){{c, name.length + 1}, r->p};
    }
    r->p = here;
}

const char *mlir_alias(struct mlir_reader *r, struct mlir_span name)
{
    const char *value = known_alias(r, name);
    if (!value && !r->aliases_sought) {
        seek_aliases(r);
        value = known_alias(r, name);
    }
    return value;
}

/* Goes to a value, through aliases. */
static bool go_to(struct mlir_reader *r, const char *value)
{
    struct mlir_span name;
    r->p = value;
    for (int hops = 0; mlir_peek(r) == '#'; hops++) {
        const char *start = r->p++;
        if (!mlir_word(r, &name) || (r->p < r->end && *r->p == '<') || memchr(name.at, '.', name.length) ||
            hops == HLO_MAX_DEPTH) {
            r->p = start;
            return true;
        }
        const char *found = mlir_alias(r, (struct mlir_span){start, name.length + 1});
        if (!found)
            return mlir_error(r, start, "unknown alias '%.*s'", (int)name.length + 1, start);
        r->p = found;
    }
    return true;
}

static bool push_number(struct mlir_reader *r, int64_t number)
{
    int64_t *slot = mlir_push(r, &r->numbers, sizeof(int64_t));
    if (slot)
        *slot = number;
    return slot != NULL;
}

static bool read_number(struct mlir_reader *r)
{
    int64_t number;
    if (mlir_take_word(r, "true"))
        return push_number(r, 1);
    if (mlir_take_word(r, "false"))
        return push_number(r, 0);
    return mlir_integer(r, &number) && (!mlir_take(r, ':') || mlir_skip_value(r)) && push_number(r, number);
}

/* Reads numbers up to `end`, nested lists flattened. *rows counts the lists of the first level. */
static bool read_list(struct mlir_reader *r, char end, int64_t *rows)
{
    int depth = 0;
    if (mlir_take(r, end))
        return true;
    for (;;) {
        while (mlir_take(r, '['))
            *rows += ++depth == 1;
        bool empty = depth && mlir_take(r, ']');
        depth -= empty;
        if (!empty && !read_number(r))
            return false;
        while (depth && mlir_take(r, ']'))
            depth--;
        if (!mlir_take(r, ','))
            break;
    }
    return depth ? mlir_expected(r, "']'") : mlir_need(r, (char[]){end, '\0'});
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Reads "0x…": elements of `bytes` bytes, the low byte first. */
static bool read_blob(struct mlir_reader *r, struct mlir_span blob, int bytes)
{
    if (blob.length < 2 || blob.at[0] != '0' || blob.at[1] != 'x')
        return mlir_error(r, blob.at, "expected numbers, found a string");
    for (size_t i = 2; i + 2 * (size_t)bytes <= blob.length; i += 2 * (size_t)bytes) {
        uint64_t number = 0;
        for (int b = 0; b < bytes; b++) {
            int high = nibble(blob.at[i + 2 * (size_t)b]), low = nibble(blob.at[i + 2 * (size_t)b + 1]);
            if (high < 0 || low < 0)
                return mlir_error(r, blob.at, "expected hexadecimal digits");
            number |= (uint64_t)(high * 16 + low) << (8 * b);
        }
        if (bytes < 8 && number >> (8 * bytes - 1))
            number |= ~(uint64_t)0 << (8 * bytes);
        if (!push_number(r, (int64_t)number))
            return false;
    }
    return true;
}

/* dense<…> : tensor<…>, after 'dense' */
static bool read_dense(struct mlir_reader *r, size_t first, int64_t *rows)
{
    const struct hlo_shape *shape;
    struct mlir_span blob = {0};
    bool list = false;
    const char *at = r->p;
    if (!mlir_need(r, "<"))
        return false;
    if (mlir_peek(r) == '"') {
        if (!mlir_string(r, &blob) || !mlir_need(r, ">"))
            return false;
    } else {
        list = mlir_peek(r) == '[';
        if (!read_list(r, '>', rows))
            return false;
    }
    if (!mlir_need(r, ":") || !mlir_type(r, &shape))
        return false;
    int64_t elements = hlo_elements(shape);
    int bits = hlo_type_bits(shape->type);
    if (blob.at && !read_blob(r, blob, bits < 8 ? 1 : bits > 64 ? 8 : bits / 8))
        return false;
    size_t count = r->numbers.count - first;
    if (!list && count == 1) {
        if (elements > MAX_SPLAT)
            return mlir_error(r, at, "more than %d numbers", MAX_SPLAT);
        int64_t number = ((int64_t *)r->numbers.items)[first];
        r->numbers.count = first;
        for (int64_t i = 0; i < elements; i++)
            if (!push_number(r, number))
                return false;
    } else if ((int64_t)count != elements) {
        return mlir_error(r, at, "expected %lld numbers, found %zu", (long long)elements, count);
    }
    *rows = shape->rank == 2 ? shape->dims[0] : 0;
    return true;
}

static bool read_ints(struct mlir_reader *r, const char *value, int64_t *rows)
{
    struct mlir_span word;
    size_t first = r->numbers.count;
    if (!go_to(r, value))
        return false;
    if (mlir_take(r, '['))
        return read_list(r, ']', rows);
    char c = mlir_peek(r);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(r);
    if (!mlir_word(r, &word))
        return mlir_expected(r, "a list of numbers");
    if (mlir_same(word, "dense"))
        return read_dense(r, first, rows);
    if (!mlir_same(word, "array") || !mlir_need(r, "<"))
        return mlir_expected(r, "a list of numbers");
    if (!mlir_word(r, &word))
        return mlir_expected(r, "a type");
    return mlir_take(r, '>') || (mlir_need(r, ":") && read_list(r, '>', rows));
}

bool mlir_read_ints(struct mlir_reader *r, const char *value, struct hlo_ints *values, int64_t *rows)
{
    size_t first = r->numbers.count;
    int64_t unused;
    rows = rows ? rows : &unused;
    *values = (struct hlo_ints){0};
    *rows = 0;
    if (!value)
        return true;
    if (!read_ints(r, value, rows))
        return false;
    size_t count = r->numbers.count - first;
    r->numbers.count = first;
    if (!count)
        return true;
    int64_t *copy = ARENA_ARRAY(&r->module->arena, count, int64_t);
    if (!copy || count > INT32_MAX)
        return error_memory(r->err);
    memcpy(copy, (int64_t *)r->numbers.items + first, count * sizeof *copy);
    *values = (struct hlo_ints){(int)count, copy};
    return true;
}

static bool missing(struct mlir_reader *r, const struct mlir_op *op, const char *keys)
{
    return mlir_op_error(r, op, "'%.*s' is missing", (int)strcspn(keys, "|"), keys);
}

bool mlir_find_ints(struct mlir_reader *r, const struct mlir_op *op, const char *keys, bool required,
                    struct hlo_ints *values)
{
    const char *value = mlir_find(r, op, keys);
    return value || !required ? mlir_read_ints(r, value, values, NULL) : missing(r, op, keys);
}

bool mlir_find_integer(struct mlir_reader *r, const struct mlir_op *op, const char *keys, bool required,
                       int64_t *value)
{
    const char *found = mlir_find(r, op, keys);
    if (!found)
        return !required || missing(r, op, keys);
    bool bracket = *found == '['; /* get_tuple_element %x[0] */
    return go_to(r, found + bracket) && mlir_integer(r, value);
}

bool mlir_find_enum(struct mlir_reader *r, const struct mlir_op *op, const char *keys, struct mlir_span *word)
{
    const char *found = mlir_find(r, op, keys);
    if (!found)
        return missing(r, op, keys);
    if (!go_to(r, found))
        return false;
    *word = (struct mlir_span){r->p, 0};
    bool more = true;
    for (int words = 0; words < 4 && more; words++) {
        mlir_take(r, '#');
        mlir_take(r, '<');
        mlir_take(r, '"');
        more = mlir_word(r, word) && !strchr(">,}\"", mlir_peek(r)) && found != word->at;
    }
    return true;
}

/* Copies text without the escapes \n \t \\ \" and \hh. */
static const char *unescape(struct mlir_reader *r, struct mlir_span text)
{
    char *copy = arena_alloc(&r->module->arena, text.length + 1, 1), *out = copy;
    if (!copy)
        return error_memory_null(r->err);
    for (size_t i = 0; i < text.length; i++) {
        char c = text.at[i];
        if (c == '\\' && i + 1 < text.length) {
            c = text.at[++i];
            int high = nibble(c), low = i + 1 < text.length ? nibble(text.at[i + 1]) : -1;
            if (high >= 0 && low >= 0) {
                c = (char)(high * 16 + low);
                i++;
            } else if (c == 'n' || c == 't') {
                c = c == 'n' ? '\n' : '\t';
            }
        }
        *out++ = c;
    }
    return copy;
}

bool mlir_find_text(struct mlir_reader *r, const struct mlir_op *op, const char *keys, const char **text)
{
    const char *value = mlir_find(r, op, keys);
    struct mlir_span found = {0};
    *text = NULL;
    if (!value)
        return true;
    if (!go_to(r, value))
        return false;
    char c = mlir_peek(r);
    const char *start = r->p;
    if (c == '"' ? !mlir_string(r, &found) : c == '@' ? !mlir_symbol(r, &found) : !mlir_skip_value(r))
        return false;
    if (!found.at)
        found = (struct mlir_span){start, (size_t)(r->p - start)};
    *text = c == '"' || c == '@' ? unescape(r, found) : arena_copy(&r->module->arena, found.at, found.length);
    return *text || error_memory(r->err);
}

bool mlir_find_field(struct mlir_reader *r, const char *fields, const char *key, const char **field)
{
    struct mlir_span name;
    *field = NULL;
    if (!go_to(r, fields))
        return false;
    if (mlir_take(r, '#') && !mlir_word(r, &name))
        return mlir_expected(r, "an attribute's name");
    bool is_dictionary = mlir_take(r, '{');
    if (!is_dictionary && !mlir_need(r, "<"))
        return false;
    mlir_take_word(r, "raw"); /* of #stablehlo.conv */
    while (mlir_word(r, &name)) {
        if (!mlir_need(r, "="))
            return false;
        mlir_space(r);
        const char *value = r->p;
        if (!mlir_skip_value(r))
            return false;
        if (mlir_same(name, key))
            *field = value;
        mlir_take(r, ',');
    }
    return mlir_need(r, is_dictionary ? "}" : ">");
}

bool mlir_read_scalar(struct mlir_reader *r, const char *value, bool *known, int64_t *number)
{
    struct mlir_span blob;
    *known = false;
    if (!go_to(r, value))
        return false;
    if (mlir_take_token(r, "dense<"))
        while (mlir_take(r, '['))
            ;
    char c = mlir_peek(r);
    if (c == '"' && mlir_string(r, &blob) && blob.length > 2 && blob.length <= 18) {
        size_t first = r->numbers.count;
        if (!read_blob(r, blob, (int)(blob.length - 2) / 2))
            return false;
        *known = r->numbers.count > first;
        *number = *known ? ((int64_t *)r->numbers.items)[first] : 0;
        r->numbers.count = first;
    } else if (mlir_take_word(r, "true") || mlir_take_word(r, "false")) {
        *known = true;
        *number = r->p[-2] == 'u';
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        *known = mlir_integer(r, number);
        c = r->p < r->end ? *r->p : '\0';
        if (!*known || c == '.' || c == 'e' || c == 'E')
            *known = false;
    }
    return true;
}

bool mlir_read_field(struct mlir_reader *r, const char *fields, const char *key, struct hlo_ints *values)
{
    const char *field;
    return mlir_find_field(r, fields, key, &field) && mlir_read_ints(r, field, values, NULL);
}

bool mlir_read_number(struct mlir_reader *r, const char *fields, const char *key, int64_t *number)
{
    struct hlo_ints found = {0};
    bool read = mlir_read_field(r, fields, key, &found);
    *number = found.count == 1 ? found.at[0] : 0;
    return read;
}
