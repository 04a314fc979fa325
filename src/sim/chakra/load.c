#include "core/vector.h"
#include "sim/chakra/parts.h"
#include "sim/chakra/wire.h"

#include <stdlib.h>
#include <string.h>

/* Protobuf's form: fields of GlobalMetadata, Node and AttributeProto by the numbers of Chakra's schema. */

struct reader {
    struct chakra *chakra;
    struct import_lines *lines;
    const char *at, *end; /* bytes at hand */
    char *message;
    size_t capacity;
    int64_t offset; /* of the message in the file */
    int64_t read;   /* bytes taken until now */
};

static bool damaged(const struct reader *reader, const char *what, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: byte %lld, message %zu: %s", reader->chakra->path,
                     (long long)reader->offset, reader->chakra->count + 1, what);
}

/* Makes bytes available; *ended at the end of the file. */
static bool fill(struct reader *reader, bool *ended, struct error *err)
{
    size_t length;
    *ended = false;
    if (reader->at < reader->end)
        return true;
    if (!import_lines_whole(reader->lines, &reader->at, &length, err))
        return false;
    reader->end = reader->at + length;
    *ended = length == 0;
    return true;
}

static bool read_length(struct reader *reader, uint64_t *length, bool *ended, struct error *err)
{
    char bytes[10];
    size_t count = 0;
    reader->offset = reader->read;
    do {
        if (!fill(reader, ended, err))
            return false;
        if (*ended)
            return count == 0 || damaged(reader, "the file ends within the length of a message", err);
        if (count == sizeof bytes)
            return damaged(reader, "the length of a message has more than ten bytes", err);
        bytes[count++] = *reader->at++;
        reader->read++;
    } while (bytes[count - 1] & 128);
    const char *at = bytes;
    return wire_varint(&at, bytes + count, length) ||
           damaged(reader, "the length of a message is too large", err);
}

static bool read_message(struct reader *reader, size_t *length, bool *ended, struct error *err)
{
    uint64_t wanted = 0;
    if (!read_length(reader, &wanted, ended, err))
        return false;
    if (*ended)
        return true;
    if (wanted > CHAKRA_MAX_MESSAGE)
        return damaged(reader, "a message of more than 16 MiB; is this an execution trace?", err);
    *length = (size_t)wanted;
    if (!VECTOR_ROOM(reader->message, reader->capacity, 1)) /* of a message without bytes, too */
        return error_memory(err);
    for (size_t have = 0; have < *length;) {
        bool early;
        if (!fill(reader, &early, err))
            return false;
        if (early)
            return damaged(reader, "the file ends within a message", err);
        size_t part = (size_t)(reader->end - reader->at);
        part = part < *length - have ? part : *length - have;
        if (!VECTOR_ROOM(reader->message, reader->capacity, have + part))
            return error_memory(err);
        memcpy(reader->message + have, reader->at, part);
        reader->at += part;
        reader->read += (int64_t)part;
        have += part;
    }
    return true;
}

/* --- attributes ----------------------------------------------------------------------------------------- */

struct attribute {
    const char *name, *text;
    size_t name_length, text_length;
    int64_t number;
    bool is_number;
};

static int64_t unfold(uint64_t value) /* zigzag */
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static bool read_attribute(const char *at, size_t length, struct attribute *attribute)
{
    const char *end = at + length;
    struct wire_field field;
    *attribute = (struct attribute){.name = ""};
    while (at < end) {
        if (!wire_next(&at, end, &field))
            return false;
        if (field.number == 1 && field.type == WIRE_BYTES) {
            attribute->name = field.bytes;
            attribute->name_length = field.length;
        } else if (field.number == 29 && field.type == WIRE_BYTES) {
            attribute->text = field.bytes;
            attribute->text_length = field.length;
        } else if (field.number >= 7 && field.number <= 27 && field.type != WIRE_BYTES) {
            bool folded = field.number >= 15 && field.number <= 18;
            attribute->is_number = true;
            attribute->number = folded                       ? unfold(field.value)
                                : field.type == WIRE_FIXED32 ? (int64_t)(int32_t)field.value
                                                             : (int64_t)field.value;
        }
    }
    return true;
}

static bool is_named(const struct attribute *attribute, const char *name)
{
    return attribute->name_length == strlen(name) &&
           memcmp(attribute->name, name, attribute->name_length) == 0;
}

static int32_t small(int64_t value)
{
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static void take_attribute(struct chakra_node *node, const struct attribute *attribute)
{
    if (!attribute->is_number)
        return;
    if (is_named(attribute, "is_cpu_op"))
        node->host = attribute->number != 0;
    else if (is_named(attribute, "tid"))
        node->thread = attribute->number;
    else if (is_named(attribute, "comm_type"))
        node->collective = small(attribute->number);
    else if (is_named(attribute, "comm_size"))
        node->bytes = attribute->number > 0 ? attribute->number : 0;
    else if (is_named(attribute, "comm_src"))
        node->from = small(attribute->number);
    else if (is_named(attribute, "comm_dst"))
        node->to = small(attribute->number);
    else if (is_named(attribute, "comm_tag"))
        node->tag = attribute->number >= 0 ? attribute->number : -1;
}

/* --- messages ------------------------------------------------------------------------------------------- */

/* Dependencies come as a packed list or one by one. */
static bool take_deps(struct reader *reader, const struct wire_field *field, uint32_t *count,
                      struct error *err)
{
    const char *at = field->bytes;
    uint64_t id = field->value;
    if (field->type == WIRE_VARINT) {
        ++*count;
        return chakra_keep_dep(reader->chakra, id, err);
    }
    if (field->type != WIRE_BYTES)
        return damaged(reader, "dependencies have a wrong type", err);
    for (const char *end = at + field->length; at < end; ++*count)
        if (!wire_varint(&at, end, &id))
            return damaged(reader, "a damaged list of dependencies", err);
        else if (!chakra_keep_dep(reader->chakra, id, err))
            return false;
    return true;
}

static bool take_time(struct reader *reader, uint64_t value, int64_t *time, struct error *err)
{
    *time = (int64_t)value;
    return value <= (uint64_t)INT64_MAX / 4000 || damaged(reader, "a time beyond 10,000 years", err);
}

static bool take_field(struct reader *reader, const struct wire_field *field, struct chakra_node *node,
                       struct error *err)
{
    struct attribute attribute;
    bool number = field->type == WIRE_VARINT, bytes = field->type == WIRE_BYTES;
    if (field->number == 1 && number)
        node->id = field->value;
    else if (field->number == 2 && bytes)
        return chakra_keep_name(reader->chakra, field->bytes, field->length, &node->name, err);
    else if (field->number == 3 && number)
        node->type = field->value < CHAKRA_TYPES ? (uint8_t)field->value : CHAKRA_INVALID;
    else if (field->number == 6 && number)
        return take_time(reader, field->value, &node->start, err);
    else if (field->number == 7 && number)
        return take_time(reader, field->value, &node->duration, err);
    else if (field->number == 10 && bytes) {
        if (!read_attribute(field->bytes, field->length, &attribute))
            return damaged(reader, "a damaged attribute", err);
        take_attribute(node, &attribute);
    }
    return true;
}

/* Data dependencies go first, whatever the order of the fields. */
static bool take_node(struct reader *reader, size_t length, struct error *err)
{
    struct chakra_node node = {
        .name = "", .collective = -1, .from = -1, .to = -1, .tag = -1, .deps = reader->chakra->dep_count};
    for (uint32_t pass = 0; pass < 2; pass++) {
        const char *at = reader->message, *end = at + length;
        struct wire_field field;
        while (at < end) {
            if (!wire_next(&at, end, &field))
                return damaged(reader, "a damaged node", err);
            if (field.number == 5 - pass &&
                !take_deps(reader, &field, pass == 0 ? &node.data_count : &node.control_count, err))
                return false;
            if (pass == 0 && !take_field(reader, &field, &node, err))
                return false;
        }
    }
    return chakra_keep_node(reader->chakra, &node, err);
}

static bool take_head(struct reader *reader, size_t length, struct error *err)
{
    const char *at = reader->message, *end = at + length;
    struct wire_field field;
    struct attribute attribute;
    while (at < end) {
        if (!wire_next(&at, end, &field))
            return damaged(reader, "not an execution trace: GlobalMetadata is damaged", err);
        if (field.number == 1 && field.type == WIRE_BYTES &&
            !chakra_keep_name(reader->chakra, field.bytes, field.length, &reader->chakra->version, err))
            return false;
        if (field.number != 2 || field.type != WIRE_BYTES)
            continue;
        if (!read_attribute(field.bytes, field.length, &attribute))
            return damaged(reader, "a damaged attribute", err);
        if (is_named(&attribute, "schema") && attribute.text &&
            !chakra_keep_name(reader->chakra, attribute.text, attribute.text_length, &reader->chakra->version,
                              err))
            return false;
    }
    return true;
}

static bool chakra_read_wire(struct chakra *chakra, struct import_lines *lines, struct error *err)
{
    struct reader reader = {.chakra = chakra, .lines = lines};
    bool head = true, read, ended = false;
    size_t length = 0;
    while ((read = read_message(&reader, &length, &ended, err)) && !ended) {
        if (!(head ? take_head : take_node)(&reader, length, err)) {
            read = false;
            break;
        }
        head = false;
    }
    free(reader.message);
    return read;
}

/* --- keeping -------------------------------------------------------------------------------------------- */

bool chakra_keep_name(struct chakra *chakra, const char *text, size_t length, const char **kept,
                      struct error *err)
{
    bool added;
    *kept = "";
    if (length == 0)
        return true;
    uint32_t id = hash_names_id(&chakra->names, text, length, &added);
    if (id == 0)
        return error_memory(err);
    if (added) {
        const char *copy = arena_copy(&chakra->arena, text, length);
        if (!copy || !VECTOR_ADD(chakra->texts, chakra->text_count, chakra->text_capacity, copy))
            return error_memory(err);
    }
    *kept = chakra->texts[id - 1];
    return true;
}

bool chakra_keep_node(struct chakra *chakra, const struct chakra_node *node, struct error *err)
{
    if (chakra->count == CHAKRA_MAX_NODES)
        return error_set(err, ERROR_INPUT, "%s: more than %zu nodes", chakra->path, CHAKRA_MAX_NODES);
    return VECTOR_ADD(chakra->nodes, chakra->count, chakra->capacity, *node) || error_memory(err);
}

bool chakra_keep_dep(struct chakra *chakra, uint64_t id, struct error *err)
{
    if (chakra->dep_count == CHAKRA_MAX_DEPS)
        return error_set(err, ERROR_INPUT, "%s: more than %zu dependencies", chakra->path, CHAKRA_MAX_DEPS);
    return VECTOR_ADD(chakra->deps, chakra->dep_count, chakra->dep_capacity, id) || error_memory(err);
}

/* --- ids ------------------------------------------------------------------------------------------------ */

/* Keys of the map are not 0: an id gets its complement, which is 0 only for the one id that is refused. */
bool chakra_ids_make(struct chakra_ids *ids, const struct chakra *chakra, struct error *err)
{
    *ids = (struct chakra_ids){.map = {.count = 0}};
    for (size_t i = 0; i < chakra->count; i++) {
        uint64_t id = chakra->nodes[i].id;
        int64_t *place = id == UINT64_MAX ? NULL : hash_map_place(&ids->map, ~id);
        if (place && *place == 0) {
            *place = (int64_t)i + 1;
            continue;
        }
        if (id == UINT64_MAX)
            error_set(err, ERROR_INPUT, "%s: node %zu: no node has the id 2^64 - 1", chakra->path, i);
        else if (place)
            error_set(err, ERROR_INPUT, "%s: node %zu: id %llu is that of node %lld, too", chakra->path, i,
                      (unsigned long long)id, (long long)*place - 1);
        else
            error_memory(err);
        chakra_ids_release(ids);
        return false;
    }
    return true;
}

int64_t chakra_ids_find(const struct chakra_ids *ids, uint64_t id)
{
    const int64_t *place = id == UINT64_MAX ? NULL : hash_map_find(&ids->map, ~id);
    return place ? *place - 1 : -1;
}

void chakra_ids_release(struct chakra_ids *ids)
{
    hash_map_release(&ids->map);
}

/* --- a file --------------------------------------------------------------------------------------------- */

void chakra_release(struct chakra *chakra)
{
    free(chakra->nodes);
    free(chakra->deps);
    free((void *)chakra->texts);
    hash_names_release(&chakra->names);
    arena_release(&chakra->arena);
    *chakra = (struct chakra){0};
}

/* Returns whether bytes begin with the message GlobalMetadata. One of 123 bytes begins as JSON does, with '{'. */
static bool is_wire(const char *bytes, size_t length)
{
    const char *at = bytes, *end = bytes + length;
    struct wire_field field;
    uint64_t message;
    if (!wire_varint(&at, end, &message) || message > (uint64_t)(end - at))
        return false;
    end = at + message;
    while (at < end)
        if (!wire_next(&at, end, &field) || field.number < 1 || field.number > 2 || field.type != WIRE_BYTES)
            return false;
    return true;
}

static bool read_file(struct chakra *chakra, struct import_lines *lines, struct error *err)
{
    const char *bytes;
    size_t length;
    if (!import_lines_peek(lines, &bytes, &length, err))
        return false;
    if (length == 0)
        return error_set(err, ERROR_INPUT, "%s: the file is empty", chakra->path);
    if (!VECTOR_ROOM(chakra->deps, chakra->dep_capacity,
                     1)) /* never NULL: a list of none begins somewhere, too */
        return error_memory(err);
    bool json = bytes[strspn(bytes, " \t\r\n")] == '{' && !is_wire(bytes, length);
    if (!(json ? chakra_read_json : chakra_read_wire)(chakra, lines, err))
        return false;
    return chakra->count > 0 || error_set(err, ERROR_INPUT, "%s: there is no node in it", chakra->path);
}

bool chakra_load(struct chakra *chakra, const char *path, const char *text, size_t length, struct error *err)
{
    struct import_lines lines;
    *chakra = (struct chakra){.version = ""};
    chakra->path = arena_string(&chakra->arena, path);
    bool opened = import_lines_open(&lines, path, text, length, err);
    bool read = chakra->path ? opened && read_file(chakra, &lines, err) : error_memory(err);
    import_lines_close(&lines);
    if (!read)
        chakra_release(chakra);
    return read;
}
