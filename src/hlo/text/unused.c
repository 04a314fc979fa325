/* Attributes that cost has no use for. They are checked, as XLA's own parser does. */
#include "hlo/text/text.h"

#include <string.h>

/* {0,1,…} as a path into a tuple. */
static bool read_path(struct hlo_reader *reader)
{
    struct hlo_ints ignored;
    return hlo_read_list(reader, &ignored);
}

/* (parameter, {path}[, may-alias|must-alias]) */
static bool read_buffer(struct hlo_reader *reader)
{
    int64_t parameter;
    if (!hlo_expect(reader, '(') || !hlo_read_integer(reader, &parameter) || !hlo_expect(reader, ',') ||
        !read_path(reader))
        return false;
    if (hlo_takes(reader, ',') && hlo_read_word(reader).length == 0)
        return hlo_expected(reader, "may-alias or must-alias");
    return hlo_expect(reader, ')');
}

bool hlo_read_buffers(struct hlo_reader *reader, bool of_outputs)
{
    if (!hlo_expect(reader, '{'))
        return false;
    for (int i = 0; !hlo_takes(reader, '}'); i++) {
        if (i && !hlo_expect(reader, ','))
            return false;
        if (of_outputs && (!read_path(reader) || !hlo_expect(reader, ':')))
            return false;
        if (!read_buffer(reader))
            return false;
    }
    return true;
}

bool hlo_read_predecessors(struct hlo_reader *reader)
{
    struct hlo_word name;
    if (!hlo_expect(reader, '{'))
        return false;
    for (int i = 0; !hlo_takes(reader, '}'); i++) {
        if ((i && !hlo_expect(reader, ',')) || !hlo_read_name(reader, "an instruction", &name))
            return false;
        if (!hlo_table_get(&reader->names[reader->scope], name.at, name.length))
            return hlo_fail(reader, name.at, "no instruction '%.*s' before this line in the computation",
                            (int)name.length, name.at);
    }
    return true;
}

/* devices=[2,2]0,1,2,3 or devices=[2,2]<=[4]: as many devices as the tiles need. */
static bool read_tiled(struct hlo_reader *reader)
{
    const char *at = reader->at;
    int64_t tiles, devices = 0, device;
    if (!hlo_read_product(reader, &tiles))
        return false;
    if (hlo_takes(reader, '<')) {
        if (!hlo_expect(reader, '=') || !hlo_read_product(reader, &devices))
            return false;
    } else
        do {
            if (!hlo_read_integer(reader, &device))
                return false;
            devices++;
        } while (hlo_takes(reader, ','));
    return tiles == devices ||
           hlo_fail(reader, at, "%lld devices for %lld tiles", (long long)devices, (long long)tiles);
}

bool hlo_read_sharding(struct hlo_reader *reader)
{
    const char *begin = reader->at, *tiled;
    if (!hlo_skip_value(reader))
        return false;
    const char *end = reader->at;
    while (begin < end && (tiled = memmem(begin, (size_t)(end - begin), "devices=[", 9))) {
        reader->at = tiled + 8;
        if (!read_tiled(reader))
            return false;
        begin = reader->at;
    }
    reader->at = end;
    return true;
}

static bool is_one_of(struct hlo_word word, const char *const *names)
{
    while (*names && !hlo_word_is(word, *names))
        names++;
    return *names != NULL;
}

/* {mode=highest} or {tolerance={…}} */
bool hlo_read_accuracy(struct hlo_reader *reader)
{
    static const char *const modes[] = {"default", "highest", NULL};
    if (!hlo_expect(reader, '{'))
        return false;
    hlo_skip_blank(reader);
    const char *at = reader->at;
    struct hlo_word name = hlo_read_word(reader);
    bool is_mode = hlo_word_is(name, "mode");
    if (!is_mode && !hlo_word_is(name, "tolerance"))
        return hlo_fail(reader, at, "expected mode= or tolerance=");
    if (!hlo_expect(reader, '='))
        return false;
    at = reader->at;
    if (!is_mode)
        return hlo_skip_value(reader) && hlo_expect(reader, '}');
    return is_one_of(hlo_read_word(reader), modes) ? hlo_expect(reader, '}')
                                                   : hlo_fail(reader, at, "expected default or highest");
}

bool hlo_read_api_version(struct hlo_reader *reader)
{
    static const char *const versions[] = {"API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                           "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI",
                                           NULL};
    const char *at = reader->at;
    return is_one_of(hlo_read_word(reader), versions) ||
           hlo_fail(reader, at, "no API version of custom calls");
}

/* {shape, …}: the shapes of the operands, with layouts. */
bool hlo_read_constraints(struct hlo_reader *reader, const struct hlo_draft *draft)
{
    size_t count = 0, operands = draft->callees - draft->operands;
    const char *at = reader->at;
    if (!hlo_expect(reader, '{'))
        return false;
    for (; !hlo_takes(reader, '}'); count++) {
        if (count && !hlo_expect(reader, ','))
            return false;
        const struct hlo_shape *shape = hlo_read_shape(reader);
        if (!shape)
            return false;
        const struct hlo_instruction *operand =
            count < operands ? reader->operands.at[draft->operands + count] : NULL;
        if (operand && !hlo_shape_equal(shape, operand->shape))
            return hlo_fail(reader, at, "the layout of operand %zu is for another shape", count);
    }
    return count == operands || hlo_fail(reader, at, "%zu layouts for %zu operands", count, operands);
}

/* {… log_mode=NAME …} of the module's debug_attributes. */
bool hlo_read_debug(struct hlo_reader *reader)
{
    static const char *const modes[] = {"default", "fusion_debugger", NULL};
    const char *begin = reader->at, *mode;
    if (!hlo_skip_value(reader))
        return false;
    const char *end = reader->at;
    while ((mode = memmem(begin, (size_t)(end - begin), "log_mode=", 9))) {
        begin = reader->at = mode + 9;
        if (!is_one_of(hlo_read_word(reader), modes))
            return hlo_fail(reader, begin, "expected default or fusion_debugger");
    }
    reader->at = end;
    return true;
}
