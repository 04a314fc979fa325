/* Reads `, name=value` behind an instruction. Attributes without effect on cost are skipped. */
#include "hlo/text/text.h"

#include <string.h>

static bool hlo_read_list(struct hlo_reader *r, struct hlo_ints *list);

/* Attributes that cost has no use for. They are checked, as XLA's own parser does. */

/* {0,1,…} as a path into a tuple. */
static bool read_path(struct hlo_reader *r)
{
    struct hlo_ints ignored;
    return hlo_read_list(r, &ignored);
}

/* (parameter, {path}[, may-alias|must-alias]) */
static bool read_buffer(struct hlo_reader *r)
{
    int64_t parameter;
    if (!hlo_expect(r, '(') || !hlo_read_integer(r, &parameter) || !hlo_expect(r, ',') || !read_path(r))
        return false;
    if (hlo_takes(r, ',') && hlo_read_word(r).length == 0)
        return hlo_expected(r, "may-alias or must-alias");
    return hlo_expect(r, ')');
}

bool hlo_read_buffers(struct hlo_reader *r, bool of_outputs)
{
    if (!hlo_expect(r, '{'))
        return false;
    for (int i = 0; !hlo_takes(r, '}'); i++) {
        if (i && !hlo_expect(r, ','))
            return false;
        if (of_outputs && (!read_path(r) || !hlo_expect(r, ':')))
            return false;
        if (!read_buffer(r))
            return false;
    }
    return true;
}

static bool hlo_read_predecessors(struct hlo_reader *r)
{
    struct hlo_word name;
    if (!hlo_expect(r, '{'))
        return false;
    for (int i = 0; !hlo_takes(r, '}'); i++) {
        if ((i && !hlo_expect(r, ',')) || !hlo_read_name(r, "an instruction", &name))
            return false;
        if (!hlo_table_get(&r->names[r->scope], name.at, name.length))
            return hlo_fail(r, name.at, "no instruction '%.*s' before this line in the computation",
                            (int)name.length, name.at);
    }
    return true;
}

/* devices=[2,2]0,1,2,3 or devices=[2,2]<=[4]: as many devices as the tiles need. */
static bool read_tiled(struct hlo_reader *r)
{
    const char *at = r->at;
    int64_t tiles, devices = 0, device;
    if (!hlo_read_product(r, &tiles))
        return false;
    if (hlo_takes(r, '<')) {
        if (!hlo_expect(r, '=') || !hlo_read_product(r, &devices))
            return false;
    } else
        do {
            if (!hlo_read_integer(r, &device))
                return false;
            devices++;
        } while (hlo_takes(r, ','));
    return tiles == devices ||
           hlo_fail(r, at, "%lld devices for %lld tiles", (long long)devices, (long long)tiles);
}

static bool hlo_read_sharding(struct hlo_reader *r)
{
    const char *begin = r->at, *tiled;
    if (!hlo_skip_value(r))
        return false;
    const char *end = r->at;
    while (begin < end && (tiled = memmem(begin, (size_t)(end - begin), "devices=[", 9))) {
        r->at = tiled + 8;
        if (!read_tiled(r))
            return false;
        begin = r->at;
    }
    r->at = end;
    return true;
}

/* Returns the number of the word among the names, which end in NULL; -1, with an error, if it is none. */
static int read_choice(struct hlo_reader *r, const char *what, const char *const *names)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    struct hlo_word word = hlo_read_word(r);
    for (int i = 0; names[i]; i++)
        if (hlo_word_is(word, names[i]))
            return i;
    r->at = at;
    hlo_expected(r, what);
    return -1;
}

/* {mode=highest} or {tolerance={…}} */
static bool hlo_read_accuracy(struct hlo_reader *r)
{
    static const char *const forms[] = {"tolerance", "mode", NULL}, *const modes[] = {"default", "highest",
                                                                                      NULL};
    int form = hlo_expect(r, '{') ? read_choice(r, "mode or tolerance", forms) : -1;
    return form >= 0 && hlo_expect(r, '=') &&
           (form == 0 ? hlo_skip_value(r) : read_choice(r, "default or highest", modes) >= 0) &&
           hlo_expect(r, '}');
}

static bool hlo_read_api_version(struct hlo_reader *r)
{
    static const char *const versions[] = {"API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                           "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI",
                                           NULL};
    return read_choice(r, "an API version of custom calls", versions) >= 0;
}

/* {shape, …}: the shapes of the operands, with layouts. */
static bool hlo_read_constraints(struct hlo_reader *r, const struct hlo_draft *draft)
{
    size_t count = 0, operands = draft->callees - draft->operands;
    const char *at = r->at;
    if (!hlo_expect(r, '{'))
        return false;
    for (; !hlo_takes(r, '}'); count++) {
        if (count && !hlo_expect(r, ','))
            return false;
        const struct hlo_shape *shape = hlo_read_shape(r);
        if (!shape)
            return false;
        const struct hlo_instruction *operand =
            count < operands ? r->operands.at[draft->operands + count] : NULL;
        if (operand && !hlo_shape_equal(shape, operand->shape))
            return hlo_fail(r, at, "the layout of operand %zu is for another shape", count);
    }
    return count == operands || hlo_fail(r, at, "%zu layouts for %zu operands", count, operands);
}

/* {… log_mode=NAME …} of the module's debug_attributes. */
bool hlo_read_debug(struct hlo_reader *r)
{
    static const char *const modes[] = {"default", "fusion_debugger", NULL};
    const char *begin = r->at, *mode;
    if (!hlo_skip_value(r))
        return false;
    const char *end = r->at;
    while ((mode = memmem(begin, (size_t)(end - begin), "log_mode=", 9))) {
        begin = r->at = mode + 9;
        if (read_choice(r, "default or fusion_debugger", modes) < 0)
            return false;
    }
    r->at = end;
    return true;
}

static bool read_direction(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    static const char *const names[] = {"EQ", "NE", "GE", "GT", "LE", "LT", NULL};
    int choice = read_choice(r, "a direction: EQ, NE, GE, GT, LE or LT", names);
    attributes->direction = (enum hlo_direction)choice;
    return choice >= 0;
}

static bool read_fusion_kind(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    static const char *const names[] = {"kLoop", "kInput", "kOutput", "kCustom", NULL};
    int choice = read_choice(r, "a kind of fusion: kLoop, kInput, kOutput or kCustom", names);
    attributes->fusion_kind = (enum hlo_fusion_kind)choice;
    return choice >= 0;
}

/* {highest,default}: CUDA's libraries take `high` for the default. */
static bool read_precision(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    const char *begin = r->at;
    if (!hlo_skip_value(r))
        return false;
    if (memmem(begin, (size_t)(r->at - begin), "highest", 7))
        attributes->algorithm = HLO_IN_F32;
    return true;
}

/* dot_bf16_bf16_f32_x3: the types of operands and sum, and the number of products; rng_default: of random bits. */
static bool read_algorithm(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    static const struct {
        const char *begin;
        enum hlo_algorithm algorithm;
    } all[] = {{"dot_bf16", HLO_IN_BF16},
               {"dot_f16", HLO_IN_F16},
               {"dot_tf32", HLO_IN_TF32},
               {"dot_f32", HLO_IN_F32}};
    struct hlo_word word = hlo_read_word(r);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (word.length > strlen(all[i].begin) && memcmp(word.at, all[i].begin, strlen(all[i].begin)) == 0)
            attributes->algorithm = all[i].algorithm;
    if (word.length > 3 && memcmp(word.at + word.length - 3, "_x", 2) == 0 &&
        word.at[word.length - 1] > '0' && word.at[word.length - 1] <= '9')
        attributes->products = word.at[word.length - 1] - '0';
    bool known = word.length > 4 && (memcmp(word.at, "dot_", 4) == 0 || memcmp(word.at, "rng_", 4) == 0);
    return known || hlo_fail(r, word.length ? word.at : r->at,
                             "expected the name of an algorithm, such as dot_bf16_bf16_f32_x3, found '%.*s'",
                             (int)(word.length < 40 ? word.length : 40), word.length ? word.at : "");
}

enum attribute_kind {
    LIST,
    INTEGER,
    LIST_OF_ONE, /* a number, kept as a list */
    TEXT,
    STRUCTURE, /* read by `read_fields` into the attributes */
    CALLEE,
    CALLEES,
    CONFIG,
    ACCURACY,
    CONSTRAINTS,
    THREAD,
    CHECKED, /* read by `check`; nothing of it is kept */
    SKIPPED,
};

/* In alphabetical order. */
static const struct attribute {
    const char *name;
    enum attribute_kind kind;
    size_t which; /* the place of the field, or of the callee among the callees */
    hlo_read_fields *read_fields;
    bool (*check)(struct hlo_reader *r);
} known[] = {
#define AT(field) .which = offsetof(struct hlo_attributes, field)
    {"algorithm", STRUCTURE, .read_fields = read_algorithm},
    {"api_version", CHECKED, .check = hlo_read_api_version},
    {"async_execution_thread", .kind = THREAD},
    {"backend_config", .kind = CONFIG},
    {"batch_group_count", INTEGER, AT(batch_groups)},
    {"body", CALLEE, .which = 1},
    {"branch_computations", CALLEES, .which = 0},
    {"called_computations", CALLEES, .which = 0},
    {"calls", CALLEE, .which = 0},
    {"condition", CALLEE, .which = 0},
    {"control-predecessors", CHECKED, .check = hlo_read_predecessors},
    {"custom_call_target", TEXT, AT(target)},
    {"dim_labels", STRUCTURE, .read_fields = hlo_read_labels},
    {"dimensions", LIST, AT(dimensions)},
    {"direction", STRUCTURE, .read_fields = read_direction},
    {"dynamic_slice_sizes", LIST, AT(sizes)},
    {"false_computation", CALLEE, .which = 1},
    {"feature_group_count", INTEGER, AT(feature_groups)},
    {"fft_length", LIST, AT(sizes)},
    {"frontend_attributes", .kind = SKIPPED},
    {"index", INTEGER, AT(index)},
    {"iota_dimension", LIST_OF_ONE, AT(dimensions)},
    {"k", INTEGER, AT(index)},
    {"kind", STRUCTURE, .read_fields = read_fusion_kind},
    {"lhs_batch_dims", LIST, AT(lhs_batch)},
    {"lhs_contracting_dims", LIST, AT(lhs_contracting)},
    {"lhs_ragged_dims", LIST, AT(lhs_ragged)},
    {"metadata", .kind = SKIPPED},
    {"offset_dims", LIST, AT(dimensions)},
    {"operand_layout_constraints", .kind = CONSTRAINTS},
    {"operand_precision", STRUCTURE, .read_fields = read_precision},
    {"padding", STRUCTURE, .read_fields = hlo_read_padding},
    {"replica_groups", STRUCTURE, .read_fields = hlo_read_groups},
    {"result_accuracy", .kind = ACCURACY},
    {"rhs_batch_dims", LIST, AT(rhs_batch)},
    {"rhs_contracting_dims", LIST, AT(rhs_contracting)},
    {"rhs_group_dims", LIST, AT(rhs_group)},
    {"scatter", CALLEE, .which = 1},
    {"select", CALLEE, .which = 0},
    {"sharding", CHECKED, .check = hlo_read_sharding},
    {"slice", STRUCTURE, .read_fields = hlo_read_slice},
    {"slice_sizes", LIST, AT(sizes)},
    {"source_target_pairs", STRUCTURE, .read_fields = hlo_read_pairs},
    {"to_apply", CALLEE, .which = 0},
    {"true_computation", CALLEE, .which = 0},
    {"update_window_dims", LIST, AT(dimensions)},
    {"window", STRUCTURE, .read_fields = hlo_read_window},
#undef AT
};

#define KNOWN_COUNT (sizeof known / sizeof *known)

static const struct attribute *search(struct hlo_word name)
{
    size_t low = 0, high = KNOWN_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *text = known[middle].name;
        int order = strncmp(text, name.at, name.length);
        if (order == 0 && text[name.length] == '\0')
            return &known[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Found by its text from the second time on. The '=' behind it keeps it apart from an opcode of that name. */
static const struct attribute *find_attribute(struct hlo_reader *r, struct hlo_word name)
{
    const struct attribute *attribute = hlo_table_get(&r->words, name.at, name.length + 1);
    if (attribute)
        return attribute;
    attribute = search(name);
    struct hlo_slot *slot = attribute ? hlo_table_place(&r->words, name.at, name.length + 1) : NULL;
    if (slot)
        slot->value = (void *)attribute;
    return attribute;
}

bool hlo_keep_ints(struct hlo_reader *r, const int64_t *numbers, int count, struct hlo_ints *list)
{
    *list = (struct hlo_ints){.count = count};
    if (count)
        list->at = hlo_keep(r, numbers, (size_t)count * sizeof *numbers);
    return !count || list->at;
}

static bool read_new_list(struct hlo_reader *r, struct hlo_ints *list)
{
    int64_t numbers[1024];
    const char *begin = r->at;
    list->count = 0;
    if (!hlo_expect(r, '{'))
        return false;
    while (!hlo_takes(r, '}')) {
        if (list->count && !hlo_expect(r, ','))
            return false;
        if (list->count == (int)(sizeof numbers / sizeof *numbers))
            return hlo_fail(r, begin, "more than the %zu numbers that are read in a list",
                            sizeof numbers / sizeof *numbers);
        if (!hlo_read_integer(r, &numbers[list->count++]))
            return false;
    }
    return hlo_keep_ints(r, numbers, list->count, list);
}

/* {1,0}: the same text gives the same list. */
static bool hlo_read_list(struct hlo_reader *r, struct hlo_ints *list)
{
    hlo_skip_blank(r);
    const char *begin = r->at;
    const char *end = hlo_peek(r) == '{' ? memchr(begin, '}', (size_t)(r->end - begin)) : NULL;
    if (!end)
        return read_new_list(r, list);
    const struct hlo_ints *before = hlo_table_get(&r->lists, begin, (size_t)(end - begin));
    if (before) {
        *list = *before;
        r->at = end + 1;
        return true;
    }
    struct hlo_ints *kept = ARENA_NEW(&r->module->arena, struct hlo_ints);
    if (!kept)
        return error_memory(r->err);
    if (!read_new_list(r, kept))
        return false;
    struct hlo_slot *slot = hlo_table_place(&r->lists, begin, (size_t)(end - begin));
    if (!slot)
        return error_memory(r->err);
    slot->value = kept;
    *list = *kept;
    return true;
}

static bool read_list_of_one(struct hlo_reader *r, struct hlo_ints *list)
{
    int64_t number;
    return hlo_read_integer(r, &number) && hlo_keep_ints(r, &number, 1, list);
}

/* A computation's name, or its body in place. */
static struct hlo_computation *read_callee(struct hlo_reader *r, const struct hlo_draft *draft)
{
    struct hlo_word name;
    hlo_skip_blank(r);
    if (hlo_peek(r) == '{')
        return hlo_read_body(r, draft->instruction->name);
    if (!hlo_read_name(r, "a computation's name or body", &name))
        return NULL;
    struct hlo_computation *callee = hlo_table_get(&r->computations, name.at, name.length);
    if (!callee)
        hlo_fail(r, name.at, "no computation '%.*s' before this line", (int)name.length, name.at);
    return callee;
}

/* Callees lie on the stack of operands, behind the operands; `which` of them may come in any order. */
static bool put_callee(struct hlo_reader *r, const struct hlo_draft *draft, size_t which, const char *at)
{
    struct hlo_computation *callee = read_callee(r, draft);
    struct hlo_stack *stack = &r->operands;
    if (!callee)
        return false;
    while (stack->count <= draft->callees + which)
        if (!hlo_push(r, stack, NULL))
            return false;
    if (stack->at[draft->callees + which])
        return hlo_fail(r, at, "a second computation to call in the same place");
    stack->at[draft->callees + which] = callee;
    return true;
}

static bool read_callees(struct hlo_reader *r, const struct hlo_draft *draft, const char *at)
{
    if (draft->callees > draft->operands && hlo_draft_opcode(draft) == HLO_CONDITIONAL) {
        const struct hlo_instruction *which = r->operands.at[draft->operands];
        if (which->shape->type == HLO_TYPE_PRED)
            return hlo_fail(r, at, "expected true_computation= and false_computation= to choose by a pred[]");
    }
    hlo_skip_blank(r);
    if (hlo_peek(r) != '{')
        return put_callee(r, draft, 0, at);
    r->at++;
    size_t count = 0;
    while (!hlo_takes(r, '}'))
        if ((count && !hlo_expect(r, ',')) || !put_callee(r, draft, count++, at))
            return false;
    return true;
}

/* The number in {"known_trip_count":{"n":"10"}}. */
static void find_trip_count(struct hlo_attributes *attributes)
{
    const char *at = strstr(attributes->backend_config, "\"known_trip_count\"");
    const char *n = at ? strstr(at, "\"n\"") : NULL;
    if (!n)
        return;
    n += 3;
    n += strspn(n, " :\"");
    int64_t count = 0;
    if (*n < '0' || *n > '9')
        return;
    for (; *n >= '0' && *n <= '9'; n++)
        if (__builtin_mul_overflow(count, 10, &count) || __builtin_add_overflow(count, *n - '0', &count))
            return;
    attributes->trip_count = count;
}

static bool read_config(struct hlo_reader *r, struct hlo_draft *draft)
{
    enum hlo_opcode opcode = hlo_draft_opcode(draft);
    if (opcode != HLO_CUSTOM_CALL && opcode != HLO_FUSION && opcode != HLO_WHILE)
        return hlo_skip_value(r);
    hlo_begin_attributes(draft);
    hlo_skip_blank(r);
    const char *begin = r->at;
    if (hlo_peek(r) == '"' || hlo_peek(r) == '\'') {
        if (!hlo_read_string(r, &draft->attributes.backend_config))
            return false;
    } else {
        if (!hlo_skip_value(r))
            return false;
        draft->attributes.backend_config = arena_copy(&r->module->arena, begin, (size_t)(r->at - begin));
        if (!draft->attributes.backend_config)
            return error_memory(r->err);
    }
    if (opcode == HLO_WHILE)
        find_trip_count(&draft->attributes);
    return true;
}

static bool read_accuracy(struct hlo_reader *r, const struct hlo_draft *draft, const char *at)
{
    if (!(hlo_operations[hlo_draft_opcode(draft)].traits & HLO_TRANSCENDENTAL))
        return hlo_fail(r, at, "result_accuracy= is for transcendental operations");
    return hlo_read_accuracy(r);
}

static bool read_value(struct hlo_reader *r, struct hlo_draft *draft, const struct attribute *attribute,
                       const char *at)
{
    struct hlo_attributes *attributes = &draft->attributes;
    void *field = (char *)attributes + attribute->which;
    switch (attribute->kind) {
    case LIST:
        return hlo_read_list(r, field);
    case INTEGER:
        return hlo_read_integer(r, field);
    case LIST_OF_ONE:
        return read_list_of_one(r, field);
    case TEXT:
        return hlo_read_string(r, field);
    case STRUCTURE:
        return attribute->read_fields(r, attributes);
    case CALLEE:
        return put_callee(r, draft, attribute->which, at);
    case CALLEES:
        return read_callees(r, draft, at);
    case CONFIG:
        return read_config(r, draft);
    case ACCURACY:
        return read_accuracy(r, draft, at);
    case CONSTRAINTS:
        return hlo_read_constraints(r, draft);
    case THREAD:
        return hlo_read_string(r, &draft->thread);
    case CHECKED:
        return attribute->check(r);
    case SKIPPED:
        break;
    }
    return hlo_skip_value(r);
}

/* The same words mean something else, of another form, on some operations. */
static bool is_foreign(const struct attribute *attribute, enum hlo_opcode opcode)
{
    if (attribute->read_fields == read_fusion_kind)
        return opcode != HLO_FUSION;
    return attribute->kind == LIST &&
           (opcode == HLO_COLLECTIVE_PERMUTE || opcode == HLO_COLLECTIVE_PERMUTE_START);
}

static bool read_attribute(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_word name = hlo_read_word(r);
    if (name.length == 0)
        return hlo_expected(r, "an attribute");
    const char *name_end = r->at;
    if (!hlo_expect(r, '='))
        return false;
    const struct attribute *attribute = *name_end == '=' ? find_attribute(r, name) : search(name);
    if (!attribute || attribute->kind == SKIPPED || is_foreign(attribute, hlo_draft_opcode(draft)))
        return hlo_skip_value(r);
    if (attribute->kind < CALLEE)
        hlo_begin_attributes(draft);
    return read_value(r, draft, attribute, name.at);
}

bool hlo_read_attributes(struct hlo_reader *r, struct hlo_draft *draft)
{
    while (hlo_takes(r, ','))
        if (!read_attribute(r, draft))
            return false;
    for (size_t i = draft->callees; i < r->operands.count; i++)
        if (!r->operands.at[i])
            return hlo_fail(r, draft->name_at, "a computation to call is missing");
    return true;
}
